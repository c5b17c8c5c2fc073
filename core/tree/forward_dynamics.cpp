#include "tree/forward_dynamics.hpp"
#include "flexible/low_rank_modes.hpp"
#include "tree/joint_maps.hpp"
#include "tree/joint_pivots.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T, class B> DALEMBERT_INLINE void start_inertia(const B &b, ArticulatedInertia<T> &I) {
  I.J = lift<T>(as_sym(b.J));
  const T zero(0.0), m(b.mass), x(b.h[0]), y(b.h[1]), z(b.h[2]);
  I.H = {zero, -z, y, z, zero, -x, -y, x, zero};
  I.M = {m, zero, zero, m, zero, m};
}

// inertia of one body by itself; of a flexible one also its modal inertia
template <class T>
DALEMBERT_INLINE void start_body(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, int i) {
  const BodyData &b = m.bodies[i];
  ArticulatedInertia<T> &I = ws.I_A[i];
  if (b.form != JointForm::modal)
    return table_entry<T>(m, b, [&](const auto &numbers) { start_inertia(numbers, I); });
  modal_inertia(m, ws, q, i, v);
  if (m.modal[b.modal].rank)
    start_low_rank(m, ws, i);
  else
    start_modal(m, ws, i);
  const RigidInertia<T> &C = ws.I_C[i];
  const T zero(0.0);
  I.J = C.J;
  I.H = {zero, -C.h.z, C.h.y, C.h.z, zero, -C.h.x, -C.h.y, C.h.x, zero};
  I.M = {C.m, zero, zero, C.m, zero, C.m};
}

// the unit factor of a body's block of degrees of freedom, strictly lower triangle by rows
template <class T> DALEMBERT_INLINE T *factor_of(const ModelData &m, const Workspace<T> &ws, int i) {
  const BodyData &b = m.bodies[i];
  return b.form == JointForm::modal ? ws.modal_factor + m.modal[b.modal].factors : ws.L + 15 * i;
}

// (1): the pivots of joint i and the inertia that is left when its degrees of freedom yield
template <class T> DALEMBERT_INLINE void eliminate(const ModelData &m, const BodyData &b, const Motion<T> *H,
                                                   const ArticulatedInertia<T> &I, const double *regularizing,
                                                   const T *step_damping, const T *step_stiffness,
                                                   const unsigned char *given, Pivot<T> *pivot, T *L,
                                                   ArticulatedInertia<T> &left) {
  const double *extra = regularizing && b.is_regularized ? regularizing + b.v : nullptr;
  const T *damping = step_damping ? step_damping + b.v : nullptr,
          *stiffness = step_damping ? step_stiffness + b.v : nullptr;
  left = I;
  if (b.nv == 1) {
    if (given && given[0]) {
      *pivot = {{zero3<T>(), zero3<T>()}, T(0.0)};
      return;
    }
    if (b.form == JointForm::about_z)
      pivot->z = {{I.J.xz, I.J.yz, I.J.zz}, {I.H.zx, I.H.zy, I.H.zz}};
    else if (b.form == JointForm::along_z)
      pivot->z = {{I.H.xz, I.H.yz, I.H.zz}, {I.M.xz, I.M.yz, I.M.zz}};
    else
      return factor_block<1>(m, b, H, I, extra, nullptr, pivot, L, damping, stiffness),
             subtract_dyad(left, pivot->inverse, pivot->z.n, pivot->z.f);
    T inertia = b.form == JointForm::about_z ? I.J.zz : I.M.zz;
    if (b.armature)
      inertia = inertia + armature_of<T>(m, b.v);
    if (damping)
      inertia = inertia + step_inertia(*damping, *stiffness, inertia);
    pivot->inverse = 1.0 / (extra ? inertia + *extra : inertia);
    subtract_dyad(left, pivot->inverse, pivot->z.n, pivot->z.f);
  } else if (b.nv) {
    visit_columns(b.nv, [&](auto n) {
      constexpr int N = decltype(n)::count;
      factor_block<N>(m, b, H, I, extra, given, pivot, L, damping, stiffness);
      if (b.parent)
        for (int k = 0; k < N; ++k)
          subtract_dyad(left, pivot[k].inverse, pivot[k].z.n, pivot[k].z.f);
    });
  }
}

// (1) for a flexible body and its nodes
template <class T>
inline void eliminate_modes(const ModelData &m, Workspace<T> &ws, int i, ArticulatedInertia<T> &left) {
  const BodyData &b = m.bodies[i];
  left = ws.I_A[i];
  const bool low = m.modal[b.modal].rank;
  if (b.form == JointForm::node)
    return low ? hand_over_low_rank(m, ws, left, i) : hand_over(m, ws, left, i);
  if (low) {
    complete_low_rank(m, ws, left, i);
    factor_low_rank(m, ws, i);
  } else {
    complete_modal(m, ws, left, i);
    factor_modal(m, ws, i);
  }
  for (int k = 0; k < b.nv; ++k) {
    const Pivot<T> &pivot = ws.pivot[b.v + k];
    subtract_dyad(left, pivot.inverse, pivot.z.n, pivot.z.f);
  }
}

// (2) for a flexible body: y holds the forces that the modes have met so far
template <class T, class R> DALEMBERT_INLINE void reduce_modal_force(const ModelData &m, const BodyData &b,
                                                                     const Motion<T> *H, const T *L, const Load<R> &p,
                                                                     const R *tau, R *y) {
  add_modal_force(b, H, p, y);
  if (const int rank = m.modal[b.modal].rank)
    return reduce_low_rank(b.nv, rank, L, tau, y);
  for (int r = 0; r < b.nv; ++r) {
    R s = tau[r] - y[r];
    for (int k = 0; k < r; ++k)
      s = s - L[r * (r - 1) / 2 + k] * y[k];
    y[r] = s;
  }
}

// (2): y = L^-1 (tau - H^T p), zero where the acceleration is given
template <class T, class R> DALEMBERT_INLINE void reduce_force(const BodyData &b, const Motion<T> *H, const T *L,
                                                               const unsigned char *given, const Load<R> &p,
                                                               const R *tau, R *y) {
  if (b.form == JointForm::about_z) {
    y[0] = tau[0] - p.n.z;
  } else if (b.form == JointForm::along_z) {
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

// (5): accelerations of joint i from A', left in a
template <class T, class R> DALEMBERT_INLINE void back_substitute(const ModelData &m, const BodyData &b,
                                                                  const Pivot<T> *pivot, const T *L, const R *y,
                                                                  const Motion<R> &A, R *a) {
  if (b.form == JointForm::modal && m.modal[b.modal].rank)
    return back_substitute_low_rank(b.nv, m.modal[b.modal].rank, pivot, L, y, A, a);
  for (int r = b.nv - 1; r >= 0; --r) {
    R s = pivot[r].inverse * (y[r] - (dot(pivot[r].z.n, A.w) + dot(pivot[r].z.f, A.v)));
    for (int k = r + 1; k < b.nv; ++k)
      s = s - L[k * (k - 1) / 2 + r] * a[k];
    a[r] = s;
  }
}

template <class T> void start_forward(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, bool placed) {
  start_at_ground(m, ws, true);
  if (!placed) {
    compute_poses(m, ws, q);
    compute_velocities(m, ws, q, v);
  }
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    start_body(m, ws, q, v, i);
    const Vec3<T> &w = ws.w[i];
    if (b.form == JointForm::modal) {
      for (int k = b.v; k < b.v + b.nv; ++k)
        ws.y[k] = T(0.0);
      ws.p_A[i] = modal_bias(m, ws, w, q, v, i, ws.y + b.v);
    } else {
      ws.p_A[i] = table_entry<T>(m, b, [&](const auto &own) -> Load<T> {
        return {cross(w, mul(as_sym(own.J), w)), cross(w, cross(w, as_vec(own.h)))};
      });
    }
  }
}

// (1)-(4) for a turn about z that is free: the z row and column of I_a vanish, so only what is left is computed, and
// the moment about z is tau
template <class T> DALEMBERT_INLINE void eliminate_turn(const BodyData &b, Workspace<T> &ws, const T *tau, int i) {
  const ArticulatedInertia<T> &I = ws.I_A[i];
  const Load<T> &p = ws.p_A[i];
  const Motion<T> &c = ws.c[i];
  const Vec3<T> zn{I.J.xz, I.J.yz, I.J.zz}, zf{I.H.zx, I.H.zy, I.H.zz};
  const T inverse = 1.0 / zn.z, y = tau[b.v] - p.n.z;
  ws.pivot[b.v] = {{zn, zf}, inverse};
  ws.y[b.v] = y;
  if (!b.parent)
    return;
  ArticulatedInertia<T> left;
  const T dx = inverse * zn.x, dy = inverse * zn.y;
  const Vec3<T> df = scale(inverse, zf);
  left.J.xx = I.J.xx - dx * zn.x, left.J.xy = I.J.xy - dx * zn.y, left.J.yy = I.J.yy - dy * zn.y;
  left.H.xx = I.H.xx - dx * zf.x, left.H.xy = I.H.xy - dx * zf.y, left.H.xz = I.H.xz - dx * zf.z;
  left.H.yx = I.H.yx - dy * zf.x, left.H.yy = I.H.yy - dy * zf.y, left.H.yz = I.H.yz - dy * zf.z;
  left.M.xx = I.M.xx - df.x * zf.x, left.M.xy = I.M.xy - df.x * zf.y, left.M.xz = I.M.xz - df.x * zf.z;
  left.M.yy = I.M.yy - df.y * zf.y, left.M.yz = I.M.yz - df.y * zf.z, left.M.zz = I.M.zz - df.z * zf.z;
  const Load<T> p_a{
      {p.n.x + dx * y +
           (left.J.xx * c.w.x + left.J.xy * c.w.y + left.H.xx * c.v.x + left.H.xy * c.v.y + left.H.xz * c.v.z),
       p.n.y + dy * y +
           (left.J.xy * c.w.x + left.J.yy * c.w.y + left.H.yx * c.v.x + left.H.yy * c.v.y + left.H.yz * c.v.z),
       tau[b.v]},
      {p.f.x + df.x * y +
           (left.H.xx * c.w.x + left.H.yx * c.w.y + left.M.xx * c.v.x + left.M.xy * c.v.y + left.M.xz * c.v.z),
       p.f.y + df.y * y +
           (left.H.xy * c.w.x + left.H.yy * c.w.y + left.M.xy * c.v.x + left.M.yy * c.v.y + left.M.yz * c.v.z),
       p.f.z + df.z * y +
           (left.H.xz * c.w.x + left.H.yz * c.w.y + left.M.xz * c.v.x + left.M.yz * c.v.y + left.M.zz * c.v.z)}};
  add_to_parent_without_z(ws.X[i], left, ws.I_A[b.parent]);
  add_to_parent(ws.X[i], p_a, ws.p_A[b.parent]);
}

// given accelerations are part of the bias
template <class T> DALEMBERT_INLINE void add_given(const BodyData &b, const Motion<T> *H, const unsigned char *given,
                                                   const T *a, Motion<T> &c) {
  for (int k = 0; k < b.nv; ++k) {
    if (!given[k])
      continue;
    if (b.form == JointForm::about_z)
      c.w.z = c.w.z + a[b.v];
    else if (b.form == JointForm::along_z)
      c.v.z = c.v.z + a[b.v];
    else
      c.w += scale(a[b.v + k], H[k].w), c.v += scale(a[b.v + k], H[k].v);
  }
}

// (1)-(4) for any joint
template <class T> DALEMBERT_INLINE void eliminate_joint(const ModelData &m, const BodyData &b, Workspace<T> &ws,
                                                         const T *tau, const unsigned char *given, const T *a, int i) {
  const ArticulatedInertia<T> &I = ws.I_A[i];
  const Load<T> &p = ws.p_A[i];
  Motion<T> &c = ws.c[i];
  Pivot<T> *pivot = ws.pivot + b.v;
  const unsigned char *mine = given ? given + b.v : nullptr;
  const Motion<T> *H = ws.H + b.H;
  T *L = factor_of(m, ws, i);
  ArticulatedInertia<T> left;
  if (is_flexible(b))
    eliminate_modes(m, ws, i, left);
  else
    eliminate(m, b, H, I, ws.regularizing_inertia, ws.step_damping, ws.step_stiffness, mine, pivot, L, left);
  if (mine && !is_flexible(b))
    add_given(b, H, mine, a, c);
  if (b.form == JointForm::modal)
    reduce_modal_force(m, b, H, L, p, tau + b.v, ws.y + b.v);
  else if (b.form != JointForm::node)
    reduce_force(b, H, L, mine, p, tau + b.v, ws.y + b.v);
  if (!b.parent)
    return;
  Load<T> p_a = mul(left, c.w, c.v);
  p_a.n += p.n;
  p_a.f += p.f;
  for (int k = 0; k < b.nv; ++k) {
    const T s = pivot[k].inverse * ws.y[b.v + k];
    p_a.n += scale(s, pivot[k].z.n);
    p_a.f += scale(s, pivot[k].z.f);
  }
  if (b.form == JointForm::node)
    add_modal_force(b, H, p_a, ws.y + b.by);
  add_to_parent(ws.X[i], left, ws.I_A[b.parent]);
  add_to_parent(ws.X[i], p_a, ws.p_A[b.parent]);
}

// (5) for one body
template <class T> DALEMBERT_INLINE void accelerate(const ModelData &m, const BodyData &b, Workspace<T> &ws,
                                                    const unsigned char *given, T *a, int i) {
  const Pose<T> &X = ws.X[i];
  const Motion<T> &P = ws.A[b.parent], &c = ws.c[i];
  Motion<T> A{mul_t(X.R, P.w) + c.w, mul_t(X.R, P.v + cross(P.w, X.p)) + c.v};
  const Pivot<T> *pivot = ws.pivot + b.v;
  if (b.form == JointForm::about_z && !given) {
    const T s = pivot->inverse * (ws.y[b.v] - (dot(pivot->z.n, A.w) + dot(pivot->z.f, A.v)));
    a[b.v] = s;
    A.w.z = A.w.z + s;
    ws.A[i] = A;
    return;
  }
  const Motion<T> *H = ws.H + b.H;
  if (is_flexible(b)) {
    back_substitute(m, b, pivot, factor_of(m, ws, i), ws.y + b.v, A, a + b.v);
    add_joint_motion(b, H, a + b.by, A);
    ws.A[i] = A;
    return;
  }
  T solved[6];
  back_substitute(m, b, pivot, ws.L + 15 * i, ws.y + b.v, A, solved);
  add_joint_motion(b, H, solved, A);
  ws.A[i] = A;
  for (int k = 0; k < b.nv; ++k)
    if (!given || !given[b.v + k])
      a[b.v + k] = solved[k];
}

template <class T>
void supplied_forces(const ModelData &m, const Workspace<T> &ws, const T *tau, const unsigned char *given, const T *a,
                     T *tau_out) {
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    if (b.form == JointForm::modal)
      for (int k = b.v; k < b.v + b.nv; ++k)
        tau_out[k] = tau[k];
    if (is_flexible(b))
      continue;
    T required_forces[6];
    Load<T> F = mul(ws.I_A[i], ws.A[i].w, ws.A[i].v);
    F.n += ws.p_A[i].n;
    F.f += ws.p_A[i].f;
    joint_force(b, ws.H + b.H, F, required_forces);
    for (int k = 0; k < b.nv; ++k) {
      const T whole = b.armature ? required_forces[k] + armature_of<T>(m, b.v + k) * a[b.v + k] : required_forces[k];
      tau_out[b.v + k] = given[b.v + k] ? whole : tau[b.v + k];
    }
  }
}

template <class T>
void finish_forward(const ModelData &m, Workspace<T> &ws, const T *tau, const unsigned char *given, T *a, T *tau_out) {
  for (int i = m.nb; i > 0; --i) {
    const BodyData &b = m.bodies[i];
    if (b.form == JointForm::about_z && !given && !b.armature && !b.is_regularized && !ws.step_damping)
      eliminate_turn(b, ws, tau, i);
    else
      eliminate_joint(m, b, ws, tau, given, a, i);
  }
  for (int i = 1; i <= m.nb; ++i)
    accelerate(m, m.bodies[i], ws, given, a, i);
  if (tau_out && given)
    supplied_forces(m, ws, tau, given, a, tau_out);
  for (int k = 0; tau_out && !given && k < m.nv; ++k)
    tau_out[k] = tau[k];
}

template <class T> void forward_dynamics(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, const T *tau,
                                         const T *loads, const unsigned char *given, T *a, T *tau_out) {
  start_forward(m, ws, q, v);
  if (loads)
    subtract_loads(m, ws, loads);
  finish_forward(m, ws, tau, given, a, tau_out);
}

template <class T> void factorize(const ModelData &m, Workspace<T> &ws, const T *q, const unsigned char *given) {
  compute_poses(m, ws, q);
  for (int i = 1; i <= m.nb; ++i)
    start_body(m, ws, q, static_cast<const T *>(nullptr), i);
  for (int i = m.nb; i > 0; --i) {
    const BodyData &b = m.bodies[i];
    ArticulatedInertia<T> left;
    if (is_flexible(b))
      eliminate_modes(m, ws, i, left);
    else
      eliminate(m, b, ws.H + b.H, ws.I_A[i], ws.regularizing_inertia, ws.step_damping, ws.step_stiffness,
                given ? given + b.v : nullptr, ws.pivot + b.v, ws.L + 15 * i, left);
    if (b.parent)
      add_to_parent(ws.X[i], left, ws.I_A[b.parent]);
  }
}

template <class T, class R> void solve_inward(const ModelData &m, const Workspace<T> &ws, Side<R> &side, const R *x,
                                              int first, int last, const unsigned char *given) {
  for (int i = first; i <= last; ++i) {
    side.p[i] = {zero3<R>(), zero3<R>()};
    const BodyData &b = m.bodies[i];
    if (b.form == JointForm::modal)
      for (int k = b.v; k < b.v + b.nv; ++k)
        side.y[k] = R(0.0);
  }
  for (int i = last; i >= first; --i) {
    const BodyData &b = m.bodies[i];
    const Pivot<T> *pivot = ws.pivot + b.v;
    if (b.form == JointForm::modal)
      reduce_modal_force(m, b, ws.H + b.H, factor_of(m, ws, i), side.p[i], x + b.v, side.y + b.v);
    else if (b.form == JointForm::node)
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

template <class T, class R>
void solve_outward(const ModelData &m, const Workspace<T> &ws, Side<R> &side, R *a, int first, int last) {
  side.A[0] = {zero3<R>(), zero3<R>()};
  for (int i = first; i <= last; ++i) {
    const BodyData &b = m.bodies[i];
    const Pose<T> &X = ws.X[i];
    const Motion<R> &P = side.A[b.parent];
    Motion<R> A{mul_t(X.R, P.w), mul_t(X.R, P.v + cross(P.w, X.p))};
    back_substitute(m, b, ws.pivot + b.v, factor_of(m, ws, i), side.y + b.v, A, a + b.v);
    add_joint_motion(b, ws.H + b.H, a + b.by, A);
    side.A[i] = A;
  }
}

template void start_forward(const ModelData &, Workspace<double> &, const double *, const double *, bool);
template void start_forward(const ModelData &, Workspace<Pack> &, const Pack *, const Pack *, bool);
template void finish_forward(const ModelData &, Workspace<double> &, const double *, const unsigned char *, double *,
                             double *);
template void finish_forward(const ModelData &, Workspace<Pack> &, const Pack *, const unsigned char *, Pack *, Pack *);
template void supplied_forces(const ModelData &, const Workspace<double> &, const double *, const unsigned char *,
                              const double *, double *);
template void forward_dynamics(const ModelData &, Workspace<double> &, const double *, const double *, const double *,
                               const double *, const unsigned char *, double *, double *);
template void forward_dynamics(const ModelData &, Workspace<Pack> &, const Pack *, const Pack *, const Pack *,
                               const Pack *, const unsigned char *, Pack *, Pack *);
template void factorize(const ModelData &, Workspace<double> &, const double *, const unsigned char *);
template void factorize(const ModelData &, Workspace<Pack> &, const Pack *, const unsigned char *);
template void solve_inward(const ModelData &, const Workspace<double> &, Side<double> &, const double *, int, int,
                           const unsigned char *);
template void solve_inward(const ModelData &, const Workspace<double> &, Side<Pack> &, const Pack *, int, int,
                           const unsigned char *);
template void solve_inward(const ModelData &, const Workspace<Pack> &, Side<Pack> &, const Pack *, int, int,
                           const unsigned char *);
template void solve_outward(const ModelData &, const Workspace<double> &, Side<double> &, double *, int, int);
template void solve_outward(const ModelData &, const Workspace<double> &, Side<Pack> &, Pack *, int, int);
template void solve_outward(const ModelData &, const Workspace<Pack> &, Side<Pack> &, Pack *, int, int);

} // namespace dalembert::DALEMBERT_ISA
