// Forward dynamics by the articulated-body recursion, O(nb), and solves with the mass matrix.
//
// Inward, each hinge's freedoms are eliminated from the inertia of everything it carries
// (Featherstone 1983; Slaats 1991, (3.53), (3.54) with the sign of Q_r corrected, erratum;
// Jain & Rodriguez 1990, (6.1), (7.2)). With D = H^T I_A H = L diag(d) L^T and Z = L^-1 (I_A H)^T:
//
//     I_a = I_A - Z^T diag(1/d) Z                                                              (1)
//     y = L^-1 (tau - H^T p_A)                                                                 (2)
//     p_a = p_A + I_a c + Z^T diag(1/d) y                                                      (3)
//     I_A and p_A of the parent += I_a and p_a seen from the parent                            (4)
//
// and outward, with A' the acceleration of F while the hinge does not accelerate:
//
//     a = L^-T diag(1/d) (y - Z A')          A = A' + H a                                      (5)
//
// Freedoms whose acceleration is given (Slaats 1991, section 4.1; Passerello & Huston 1972,
// chapter III) are not eliminated: their part of H a joins c, their row of D is replaced by that of
// the unit matrix, and tau = H^T (I_A A + p_A) is what the drive has to supply.
//
// About 520 multiplications per revolute body.
#pragma once

#include "rnea.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> DALEMBERT_INLINE void start_inertia(const BodyData &b, ArticulatedInertia<T> &I) {
  I.J = lift<T>(as_sym(b.J));
  const T zero(0.0), m(b.mass), x(b.h[0]), y(b.h[1]), z(b.h[2]);
  I.H = {zero, -z, y, z, zero, -x, -y, x, zero};
  I.M = {m, zero, zero, m, zero, m};
}

// inertia of one body by itself; of a flexible one also its modal inertia
template <class T> DALEMBERT_INLINE void start_body(const ModelData &m, Workspace<T> &ws, const T *q, int i) {
  const BodyData &b = m.bodies[i];
  ArticulatedInertia<T> &I = ws.I_A[i];
  if (b.kind != Hinge::modal)
    return start_inertia(b, I);
  modal_inertia(m, ws, q, i);
  start_modal(m, ws, i);
  const RigidInertia<T> &C = ws.I_C[i];
  const T zero(0.0);
  I.J = C.J;
  I.H = {zero, -C.h.z, C.h.y, C.h.z, zero, -C.h.x, -C.h.y, C.h.x, zero};
  I.M = {C.m, zero, zero, C.m, zero, C.m};
}

// the unit factor of a body's block of freedoms, strictly lower triangle by rows
template <class T> DALEMBERT_INLINE T *factor_of(const ModelData &m, const Workspace<T> &ws, int i) {
  const BodyData &b = m.bodies[i];
  return b.kind == Hinge::modal ? ws.modal_factor + m.modal[b.modal].factors : ws.L + 15 * i;
}

// D = L diag(d) L^T in place, then Z = L^-1 U; `given` marks rows that stand aside
template <int N, class T>
DALEMBERT_INLINE void factor_block(const Motion<T> *H, const ArticulatedInertia<T> &I, const unsigned char *given,
                                   Pivot<T> *pivot, T *L) {
  Load<T> U[N];
  T D[N][N];
  for (int k = 0; k < N; ++k)
    U[k] = mul(I, H[k].w, H[k].v);
  for (int r = 0; r < N; ++r)
    for (int k = 0; k <= r; ++k)
      D[r][k] = dot(H[r].w, U[k].n) + dot(H[r].v, U[k].f);
  if (given) {
    for (int r = 0; r < N; ++r)
      if (given[r]) {
        for (int k = 0; k < N; ++k)
          (k <= r ? D[r][k] : D[k][r]) = T(0.0);
        D[r][r] = T(1.0);
        U[r] = {zero3<T>(), zero3<T>()};
      }
  }
  for (int r = 0; r < N; ++r) {
    for (int k = 0; k < r; ++k) {
      T s = D[r][k];
      for (int l = 0; l < k; ++l)
        s = s - D[r][l] * D[k][l];
      D[r][k] = s; // L_rk d_k until the pivots divide it
    }
    T d = D[r][r];
    for (int k = 0; k < r; ++k) {
      const T l = D[r][k] * pivot[k].inverse;
      d = d - l * D[r][k];
      D[r][k] = l;
    }
    D[r][r] = d;
    pivot[r].inverse = 1.0 / d;
    Load<T> z = U[r];
    for (int k = 0; k < r; ++k) {
      z.n -= scale(D[r][k], pivot[k].z.n);
      z.f -= scale(D[r][k], pivot[k].z.f);
    }
    pivot[r].z = z;
    for (int k = 0; k < r; ++k)
      L[r * (r - 1) / 2 + k] = D[r][k];
  }
}

// (1): the pivots of hinge i and the inertia that is left when its freedoms yield
template <class T>
DALEMBERT_INLINE void eliminate(const BodyData &b, const Motion<T> *H, const ArticulatedInertia<T> &I,
                                const unsigned char *given, Pivot<T> *pivot, T *L, ArticulatedInertia<T> &left) {
  left = I;
  if (b.nv == 1) {
    if (given && given[0]) {
      *pivot = {{zero3<T>(), zero3<T>()}, T(0.0)};
      return;
    }
    if (b.kind == Hinge::revolute)
      pivot->z = {{I.J.xz, I.J.yz, I.J.zz}, {I.H.zx, I.H.zy, I.H.zz}};
    else if (b.kind == Hinge::prismatic)
      pivot->z = {{I.H.xz, I.H.yz, I.H.zz}, {I.M.xz, I.M.yz, I.M.zz}};
    else
      return factor_block<1>(H, I, nullptr, pivot, L), subtract_dyad(left, pivot->inverse, pivot->z.n, pivot->z.f);
    pivot->inverse = 1.0 / (b.kind == Hinge::revolute ? I.J.zz : I.M.zz);
    subtract_dyad(left, pivot->inverse, pivot->z.n, pivot->z.f);
  } else if (b.nv) {
    visit_columns(b.nv, [&](auto n) {
      constexpr int N = decltype(n)::count;
      factor_block<N>(H, I, given, pivot, L);
      if (b.parent)
        for (int k = 0; k < N; ++k)
          subtract_dyad(left, pivot[k].inverse, pivot[k].z.n, pivot[k].z.f);
    });
  }
}

// (1) for a flexible body and its nodes
template <class T> inline void eliminate_modes(const ModelData &m, Workspace<T> &ws, int i, ArticulatedInertia<T> &left) {
  const BodyData &b = m.bodies[i];
  left = ws.I_A[i];
  if (b.kind == Hinge::node)
    return hand_over(m, ws, left, i);
  complete_modal(m, ws, left, i);
  factor_modal(m, ws, i);
  for (int k = 0; k < b.nv; ++k) {
    const Pivot<T> &pivot = ws.pivot[b.v + k];
    subtract_dyad(left, pivot.inverse, pivot.z.n, pivot.z.f);
  }
}

DALEMBERT_INLINE bool is_flexible(const BodyData &b) { return b.kind == Hinge::modal || b.kind == Hinge::node; }

// (2) for a flexible body: y holds the forces that the modes have met so far
template <class T, class R>
DALEMBERT_INLINE void reduce_modal_force(const BodyData &b, const Motion<T> *H, const T *L, const Load<R> &p, const R *tau, R *y) {
  add_modal_force(b, H, p, y);
  for (int r = 0; r < b.nv; ++r) {
    R s = tau[r] - y[r];
    for (int k = 0; k < r; ++k)
      s = s - L[r * (r - 1) / 2 + k] * y[k];
    y[r] = s;
  }
}

// (2): y = L^-1 (tau - H^T p), zero where the acceleration is given
template <class T, class R>
DALEMBERT_INLINE void reduce_force(const BodyData &b, const Motion<T> *H, const T *L, const unsigned char *given,
                                   const Load<R> &p, const R *tau, R *y) {
  if (b.kind == Hinge::revolute) {
    y[0] = tau[0] - p.n.z;
  } else if (b.kind == Hinge::prismatic) {
    y[0] = tau[0] - p.f.z;
  } else {
    for (int r = 0; r < b.nv; ++r) {
      R s = tau[r] - (dot(H[r].w, p.n) + dot(H[r].v, p.f));
      if (given && given[r])
        s = R(0.0);
      for (int k = 0; k < r; ++k)
        s = s - L[r * (r - 1) / 2 + k] * y[k];
      y[r] = s;
    }
  }
}

// (5): accelerations of hinge i from A', left in a
template <class T, class R>
DALEMBERT_INLINE void back_substitute(const BodyData &b, const Pivot<T> *pivot, const T *L, const R *y, const Motion<R> &A, R *a) {
  for (int r = b.nv - 1; r >= 0; --r) {
    R s = pivot[r].inverse * (y[r] - (dot(pivot[r].z.n, A.w) + dot(pivot[r].z.f, A.v)));
    for (int k = r + 1; k < b.nv; ++k)
      s = s - L[k * (k - 1) / 2 + r] * a[k];
    a[r] = s;
  }
}

// forward dynamics. loads: takes from p_A what acts on the bodies. given: null, or one mark per freedom whose acceleration stands in a on entry;
// tau_out: null, or the hinge forces that go with a.
// Placed: frames and velocities stand in the workspace already.
template <class T, bool Placed = false, class Loads>
inline void forward_dynamics(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, const T *tau, const Loads &loads,
                             const unsigned char *given, T *a, T *tau_out) {
  ground(m, ws, true);
  // outward: frames, velocities, inertias and gyroscopic loads
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    if constexpr (!Placed) {
      position(m, ws, q, i);
      velocity(m, ws, q, v, i);
    }
    start_body(m, ws, q, i);
    const Vec3<T> &w = ws.w[i];
    if (b.kind == Hinge::modal) {
      for (int k = b.v; k < b.v + b.nv; ++k)
        ws.y[k] = T(0.0);
      ws.p_A[i] = modal_bias(m, ws, w, q, v, i, ws.y + b.v);
    } else {
      ws.p_A[i] = {cross(w, mul(as_sym(b.J), w)), cross(w, cross(w, as_vec(b.h)))};
    }
  }
  loads(m, ws);
  // inward: eliminate
  for (int i = m.nb; i > 0; --i) {
    const BodyData &b = m.bodies[i];
    const ArticulatedInertia<T> &I = ws.I_A[i];
    const Load<T> &p = ws.p_A[i];
    Motion<T> &c = ws.c[i];
    Pivot<T> *pivot = ws.pivot + b.v;
    if (b.kind == Hinge::revolute && !given) {
      // the z row and column of I_a vanish: only what is left is computed, and the moment about z is tau
      const Vec3<T> zn{I.J.xz, I.J.yz, I.J.zz}, zf{I.H.zx, I.H.zy, I.H.zz};
      const T inverse = 1.0 / zn.z, y = tau[b.v] - p.n.z;
      *pivot = {{zn, zf}, inverse};
      ws.y[b.v] = y;
      if (!b.parent)
        continue;
      ArticulatedInertia<T> left;
      const T dx = inverse * zn.x, dy = inverse * zn.y;
      const Vec3<T> df = scale(inverse, zf);
      left.J.xx = I.J.xx - dx * zn.x, left.J.xy = I.J.xy - dx * zn.y, left.J.yy = I.J.yy - dy * zn.y;
      left.H.xx = I.H.xx - dx * zf.x, left.H.xy = I.H.xy - dx * zf.y, left.H.xz = I.H.xz - dx * zf.z;
      left.H.yx = I.H.yx - dy * zf.x, left.H.yy = I.H.yy - dy * zf.y, left.H.yz = I.H.yz - dy * zf.z;
      left.M.xx = I.M.xx - df.x * zf.x, left.M.xy = I.M.xy - df.x * zf.y, left.M.xz = I.M.xz - df.x * zf.z;
      left.M.yy = I.M.yy - df.y * zf.y, left.M.yz = I.M.yz - df.y * zf.z, left.M.zz = I.M.zz - df.z * zf.z;
      const Load<T> p_a{{p.n.x + dx * y + (left.J.xx * c.w.x + left.J.xy * c.w.y + left.H.xx * c.v.x + left.H.xy * c.v.y + left.H.xz * c.v.z),
                         p.n.y + dy * y + (left.J.xy * c.w.x + left.J.yy * c.w.y + left.H.yx * c.v.x + left.H.yy * c.v.y + left.H.yz * c.v.z),
                         tau[b.v]},
                        {p.f.x + df.x * y + (left.H.xx * c.w.x + left.H.yx * c.w.y + left.M.xx * c.v.x + left.M.xy * c.v.y + left.M.xz * c.v.z),
                         p.f.y + df.y * y + (left.H.xy * c.w.x + left.H.yy * c.w.y + left.M.xy * c.v.x + left.M.yy * c.v.y + left.M.yz * c.v.z),
                         p.f.z + df.z * y + (left.H.xz * c.w.x + left.H.yz * c.w.y + left.M.xz * c.v.x + left.M.yz * c.v.y + left.M.zz * c.v.z)}};
      add_to_parent_without_z(ws.X[i], left, ws.I_A[b.parent]);
      add_to_parent(ws.X[i], p_a, ws.p_A[b.parent]);
      continue;
    }
    const unsigned char *mine = given ? given + b.v : nullptr;
    const Motion<T> *H = ws.H + b.H;
    T *L = factor_of(m, ws, i);
    ArticulatedInertia<T> left;
    if (is_flexible(b))
      eliminate_modes(m, ws, i, left);
    else
      eliminate(b, H, I, mine, pivot, L, left);
    if (mine && !is_flexible(b)) {
      // given accelerations are part of the bias
      for (int k = 0; k < b.nv; ++k)
        if (mine[k]) {
          if (b.kind == Hinge::revolute)
            c.w.z = c.w.z + a[b.v];
          else if (b.kind == Hinge::prismatic)
            c.v.z = c.v.z + a[b.v];
          else
            c.w += scale(a[b.v + k], H[k].w), c.v += scale(a[b.v + k], H[k].v);
        }
    }
    if (b.kind == Hinge::modal)
      reduce_modal_force(b, H, L, p, tau + b.v, ws.y + b.v);
    else if (b.kind != Hinge::node)
      reduce_force(b, H, L, mine, p, tau + b.v, ws.y + b.v);
    if (!b.parent)
      continue;
    Load<T> p_a = mul(left, c.w, c.v);
    p_a.n += p.n;
    p_a.f += p.f;
    for (int k = 0; k < b.nv; ++k) {
      const T s = pivot[k].inverse * ws.y[b.v + k];
      p_a.n += scale(s, pivot[k].z.n);
      p_a.f += scale(s, pivot[k].z.f);
    }
    if (b.kind == Hinge::node)
      add_modal_force(b, H, p_a, ws.y + b.by);
    add_to_parent(ws.X[i], left, ws.I_A[b.parent]);
    add_to_parent(ws.X[i], p_a, ws.p_A[b.parent]);
  }
  // outward: accelerations
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    const Pose<T> &X = ws.X[i];
    const Motion<T> &P = ws.A[b.parent], &c = ws.c[i];
    Motion<T> A{mul_t(X.R, P.w) + c.w, mul_t(X.R, P.v + cross(P.w, X.p)) + c.v};
    const Pivot<T> *pivot = ws.pivot + b.v;
    if (b.kind == Hinge::revolute && !given) {
      const T s = pivot->inverse * (ws.y[b.v] - (dot(pivot->z.n, A.w) + dot(pivot->z.f, A.v)));
      a[b.v] = s;
      A.w.z = A.w.z + s;
      ws.A[i] = A;
      continue;
    }
    const Motion<T> *H = ws.H + b.H;
    if (is_flexible(b)) {
      back_substitute(b, pivot, factor_of(m, ws, i), ws.y + b.v, A, a + b.v);
      add_hinge_motion(b, H, a + b.by, A);
      ws.A[i] = A;
      continue;
    }
    T solved[6];
    back_substitute(b, pivot, ws.L + 15 * i, ws.y + b.v, A, solved);
    add_hinge_motion(b, H, solved, A);
    ws.A[i] = A;
    for (int k = 0; k < b.nv; ++k)
      if (!given || !given[b.v + k])
        a[b.v + k] = solved[k];
  }
  if (tau_out)
    for (int i = 1; i <= m.nb; ++i) {
      const BodyData &b = m.bodies[i];
      if (b.kind == Hinge::modal)
        for (int k = b.v; k < b.v + b.nv; ++k)
          tau_out[k] = tau[k];
      if (is_flexible(b))
        continue;
      T supplied[6];
      Load<T> F = mul(ws.I_A[i], ws.A[i].w, ws.A[i].v);
      F.n += ws.p_A[i].n;
      F.f += ws.p_A[i].f;
      hinge_force(b, ws.H + b.H, F, supplied);
      for (int k = 0; k < b.nv; ++k)
        tau_out[b.v + k] = given && given[b.v + k] ? supplied[k] : tau[b.v + k];
    }
}

// pivots of the mass matrix at q: M = (1 + H Phi K) D (1 + H Phi K)^T (Jain & Rodriguez 1990, Lemma 6.1)
// given: null, or marks of freedoms that stand still
template <class T>
inline void factorize(const ModelData &m, Workspace<T> &ws, const T *q, const unsigned char *given = nullptr) {
  for (int i = 1; i <= m.nb; ++i) {
    position(m, ws, q, i);
    start_body(m, ws, q, i);
  }
  for (int i = m.nb; i > 0; --i) {
    const BodyData &b = m.bodies[i];
    ArticulatedInertia<T> left;
    if (is_flexible(b))
      eliminate_modes(m, ws, i, left);
    else
      eliminate(b, ws.H + b.H, ws.I_A[i], given ? given + b.v : nullptr, ws.pivot + b.v, ws.L + 15 * i, left);
    if (b.parent)
      add_to_parent(ws.X[i], left, ws.I_A[b.parent]);
  }
}

// room for one right-hand side, of a scalar R that may carry several at once
template <class R> struct Side {
  Load<R> *p;
  R *y;
  Motion<R> *A;
};

// Inward half of a solve with M, for the bodies [first, last], which must be whole trees: y = L^-1 x in the factors of
// M = L d L^T over all freedoms, so that x . M^-1 x = sum of y^2 / d. After forward_dynamics with given accelerations, the
// same marks make those freedoms stand still.
template <class T, class R>
inline void solve_inward(const ModelData &m, const Workspace<T> &ws, Side<R> &side, const R *x, int first, int last,
                         const unsigned char *given = nullptr) {
  for (int i = first; i <= last; ++i) {
    side.p[i] = {zero3<R>(), zero3<R>()};
    const BodyData &b = m.bodies[i];
    if (b.kind == Hinge::modal)
      for (int k = b.v; k < b.v + b.nv; ++k)
        side.y[k] = R(0.0);
  }
  for (int i = last; i >= first; --i) {
    const BodyData &b = m.bodies[i];
    const Pivot<T> *pivot = ws.pivot + b.v;
    if (b.kind == Hinge::modal)
      reduce_modal_force(b, ws.H + b.H, factor_of(m, ws, i), side.p[i], x + b.v, side.y + b.v);
    else if (b.kind == Hinge::node)
      add_modal_force(b, ws.H + b.H, side.p[i], side.y + b.by);
    else
      reduce_force(b, ws.H + b.H, ws.L + 15 * i, given ? given + b.v : nullptr, side.p[i], x + b.v, side.y + b.v);
    if (!b.parent)
      continue;
    Load<R> p = side.p[i];
    for (int k = 0; k < b.nv; ++k) {
      const R s = pivot[k].inverse * side.y[b.v + k];
      p.n += scale(s, pivot[k].z.n);
      p.f += scale(s, pivot[k].z.f);
    }
    const Vec3<R> f = mul(ws.X[i].R, p.f);
    side.p[b.parent].f += f;
    side.p[b.parent].n += mul(ws.X[i].R, p.n) + cross(ws.X[i].p, f);
  }
}

// outward half: a = L^-T d^-1 y
template <class T, class R>
inline void solve_outward(const ModelData &m, const Workspace<T> &ws, Side<R> &side, R *a, int first, int last) {
  side.A[0] = {zero3<R>(), zero3<R>()};
  for (int i = first; i <= last; ++i) {
    const BodyData &b = m.bodies[i];
    const Pose<T> &X = ws.X[i];
    const Motion<R> &P = side.A[b.parent];
    Motion<R> A{mul_t(X.R, P.w), mul_t(X.R, P.v + cross(P.w, X.p))};
    back_substitute(b, ws.pivot + b.v, factor_of(m, ws, i), side.y + b.v, A, a + b.v);
    add_hinge_motion(b, ws.H + b.H, a + b.by, A);
    side.A[i] = A;
  }
}

// M a = x after factorize; x and a may be the same array
template <class T, class R>
inline void solve(const ModelData &m, const Workspace<T> &ws, Side<R> &side, const R *x, R *a, int first, int last,
                  const unsigned char *given = nullptr) {
  solve_inward(m, ws, side, x, first, last, given);
  solve_outward(m, ws, side, a, first, last);
}

} // namespace dalembert::DALEMBERT_ISA
