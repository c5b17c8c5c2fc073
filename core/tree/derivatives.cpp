#include "tree/derivatives.hpp"

namespace dalembert::DALEMBERT_ISA {

// (1), (2) for the degrees of freedom of body i, and its motion about O
template <class T> DALEMBERT_INLINE void dofs(const BodyData &b, const Pose<T> &X, const Motion<T> *H, const T *v,
                                              const T *a, const Motion<T> &V_P, const Motion<T> &A_P, Dof<T> *dof,
                                              Motion<T> &V, Motion<T> &A) {
  for (int k = 0; k < b.nv; ++k) {
    const Motion<T> h = column(b, H, k);
    const Vec3<T> w = mul(X.R, h.w);
    dof[k].S = {w, mul(X.R, h.v) + cross(X.p, w)};
  }
  V = V_P;
  A = A_P;
  const MotionMapDependence series = b.series;
  if (series == MotionMapDependence::forward || series == MotionMapDependence::backward) {
    for (int step = 0; step < b.nv; ++step) {
      const int k = series == MotionMapDependence::forward ? step : b.nv - 1 - step;
      Dof<T> &d = dof[k];
      d.psi = d.rate = cross_motion(V, d.S);
      d.chi = cross_motion(A, d.S) + cross_motion(V, d.psi);
      A = A + scale(a[k], d.S) + scale(v[k], d.rate);
      V = V + scale(v[k], d.S);
    }
    return;
  }
  for (int k = 0; k < b.nv; ++k)
    V = V + scale(v[k], dof[k].S);
  for (int k = 0; k < b.nv; ++k) {
    Dof<T> &d = dof[k];
    d.rate = cross_motion(series == MotionMapDependence::outboard ? V : V_P, d.S);
    A = A + scale(a[k], d.S) + scale(v[k], d.rate);
  }
  const Motion<T> &V_ref = series == MotionMapDependence::outboard ? V_P : V,
                  &A_ref = series == MotionMapDependence::outboard ? A_P : A;
  for (int k = 0; k < b.nv; ++k) {
    Dof<T> &d = dof[k];
    d.psi = cross_motion(V_ref, d.S);
    d.chi = cross_motion(A_ref, d.S) + cross_motion(V_ref, d.psi);
  }
}

// a body's own share of the composite quantities, about O
template <class T> DALEMBERT_INLINE void own_share(const ModelData &m, const BodyData &b, const Pose<T> &X,
                                                   const Motion<T> &V, const Motion<T> &A, Carried<T> &c) {
  c.I = {T(0.0), zero3<T>(), {T(0.0), T(0.0), T(0.0), T(0.0), T(0.0), T(0.0)}};
  add_to_parent(X, rigid_inertia<T>(m, b), c.I);
  const Load<T> momentum = mul(c.I, V.w, V.v);
  c.momentum_n = momentum.n;
  c.momentum_f = momentum.f;
  c.f = mul(c.I, A.w, A.v) + cross_load(V, momentum);
  // Q = w~ J + (w~ J)^T - v h^T - h v^T + 2 (v.h) 1
  const Vec3<T> &w = V.w, &v = V.v, &h = c.I.h;
  const Sym3<T> &J = c.I.J;
  const T vh = 2.0 * dot(v, h);
  c.Q.xx = 2.0 * (w.y * J.xz - w.z * J.xy - v.x * h.x) + vh;
  c.Q.yy = 2.0 * (w.z * J.xy - w.x * J.yz - v.y * h.y) + vh;
  c.Q.zz = 2.0 * (w.x * J.yz - w.y * J.xz - v.z * h.z) + vh;
  c.Q.xy = (w.y * J.yz - w.z * J.yy) + (w.z * J.xx - w.x * J.xz) - v.x * h.y - h.x * v.y;
  c.Q.xz = (w.y * J.zz - w.z * J.yz) + (w.x * J.xy - w.y * J.xx) - v.x * h.z - h.x * v.z;
  c.Q.yz = (w.z * J.xz - w.x * J.zz) + (w.x * J.yy - w.y * J.xy) - v.y * h.z - h.y * v.z;
}

template <class T> DALEMBERT_INLINE void add(Sym3<T> &a, const Sym3<T> &b) {
  a = {a.xx + b.xx, a.xy + b.xy, a.xz + b.xz, a.yy + b.yy, a.yz + b.yz, a.zz + b.zz};
}

template <class T> DALEMBERT_INLINE void add_carried(const Carried<T> &from, Carried<T> &to, bool loads) {
  to.I.m = to.I.m + from.I.m;
  to.I.h += from.I.h;
  add(to.I.J, from.I.J);
  add(to.Q, from.Q);
  to.momentum_n += from.momentum_n;
  to.momentum_f += from.momentum_f;
  to.f = to.f + from.f;
  if (loads) {
    to.given = to.given + from.given;
    const Mat3<T> &a = to.tensor, &b = from.tensor;
    to.tensor = {a.xx + b.xx, a.xy + b.xy, a.xz + b.xz, a.yx + b.yx, a.yy + b.yy,
                 a.yz + b.yz, a.zx + b.zx, a.zy + b.zy, a.zz + b.zz};
  }
}

// 2 B s
template <class T> DALEMBERT_INLINE Load<T> twice_B(const Carried<T> &c, const Motion<T> &s) {
  return {mul(c.Q, s.w) - cross(c.momentum_n, s.w), scale(-2.0, cross(c.momentum_f, s.w))};
}

// A s of (5)
template <class T> DALEMBERT_INLINE Vec3<T> moved_moment(const Carried<T> &c, const Motion<T> &s) {
  const T trace = c.tensor.xx + c.tensor.yy + c.tensor.zz;
  return mul(c.tensor, s.w) - scale(trace, s.w) + cross(s.v, c.given.f);
}

namespace {

using T = double;

// Loads of each degree of freedom, component by component: rows of nv numbers.
struct LoadColumns {
  const int nv;
  T *const F, *const G, *const D, *const Y, *const Z;

  LoadColumns(T *columns, int nv) : nv(nv), F(columns), G(F + 6 * nv), D(G + 6 * nv), Y(D + 6 * nv), Z(Y + 3 * nv) {}
  DALEMBERT_INLINE void put(T *to, const Load<T> &L) const {
    to[0] = L.n.x, to[nv] = L.n.y, to[2 * nv] = L.n.z;
    to[3 * nv] = L.f.x, to[4 * nv] = L.f.y, to[5 * nv] = L.f.z;
  }
  DALEMBERT_INLINE Load<T> at(const T *from) const {
    return {{from[0], from[nv], from[2 * nv]}, {from[3 * nv], from[4 * nv], from[5 * nv]}};
  }
};

// Outward pass: poses about the root, motions, own shares of what bodies carry.
void carry_outward(const ModelData &m, Workspace<T> &ws, DerivativeWorkspace<T> &work, const T *v, const T *a,
                   const T *loads) {
  work.V[0] = {zero3<T>(), zero3<T>()};
  work.A[0] = ws.A[0];
  int root = 0;
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    if (!b.parent)
      root = i;
    const Pose<T> X{ws.X_W[i].R, ws.X_W[i].p - ws.X_W[root].p};
    dofs(b, X, ws.H + b.H, v + b.v, a + b.v, work.V[b.parent], work.A[b.parent], work.dof + b.v, work.V[i], work.A[i]);
    Carried<T> &c = work.carried[i];
    own_share(m, b, X, work.V[i], work.A[i], c);
    if (loads) {
      const T *g = loads + 6 * (i - 1);
      const Vec3<T> p = X.p + mul(X.R, as_vec(b.p_FB)), f{g[3], g[4], g[5]};
      c.given = {Vec3<T>{g[0], g[1], g[2]} + cross(p, f), f};
      c.tensor = {p.x * f.x, p.x * f.y, p.x * f.z, p.y * f.x, p.y * f.y, p.y * f.z, p.z * f.x, p.z * f.y, p.z * f.z};
    }
  }
}

// Columns of the degrees of freedom of one body.
DALEMBERT_INLINE void fill_columns(const BodyData &b, const Carried<T> &c, const DerivativeWorkspace<T> &work,
                                   const LoadColumns &of, bool loads) {
  const int nv = of.nv;
  for (int k = b.v; k < b.v + b.nv; ++k) {
    const Dof<T> &d = work.dof[k];
    const Motion<T> sum = d.psi + d.rate;
    const Load<T> e = twice_B(c, d.psi) + mul(c.I, d.chi.w, d.chi.v);
    Load<T> g = e + cross_load(d.S, c.f);
    of.put(of.F + k, mul(c.I, d.S.w, d.S.v));
    of.put(of.D + k, twice_B(c, d.S) + mul(c.I, sum.w, sum.v));
    const Vec3<T> y = mul(c.Q, d.S.w) + cross(c.momentum_n, d.S.w) + scale(2.0, cross(c.momentum_f, d.S.v));
    of.Y[k] = y.x, of.Y[nv + k] = y.y, of.Y[2 * nv + k] = y.z;
    if (loads) {
      g.n -= moved_moment(c, d.S);
      const T trace = c.tensor.xx + c.tensor.yy + c.tensor.zz;
      const Load<T> back{mul_t(c.tensor, d.S.w) - scale(trace, d.S.w), cross(c.given.f, d.S.w)};
      of.put(of.Z + k, -(cross_load(d.S, c.given) + back));
    }
    of.put(of.G + k, g);
    work.inward[k] = e;
  }
}

// whether a displacement along k turns S_j of the same joint as well
DALEMBERT_INLINE bool turns_with(MotionMapDependence series, int j, int k) {
  return series == MotionMapDependence::outboard || (series == MotionMapDependence::forward && k <= j) ||
         (series == MotionMapDependence::backward && k >= j);
}

// (3) and (4) within one joint.
DALEMBERT_INLINE void derive_within_joint(const BodyData &b, const DerivativeWorkspace<T> &work, const LoadColumns &of,
                                          bool loads, T *by_q, T *by_v, T *M) {
  const std::ptrdiff_t nv = of.nv;
  for (int j = b.v; j < b.v + b.nv; ++j)
    for (int k = b.v; k < b.v + b.nv; ++k) {
      const Motion<T> &S = work.dof[j].S;
      const bool turns = turns_with(b.series, j, k);
      T value = turns ? dot(S, work.inward[k]) : dot(S, of.at(of.G + k));
      if (loads && turns)
        value = value + dot(work.dof[k].S, of.at(of.Z + j));
      by_q[j * nv + k] = value;
      by_v[j * nv + k] = dot(S, of.at(of.D + k));
      if (k >= j)
        M[j * nv + k] = dot(S, of.at(of.F + k));
    }
}

// (3) and (4) between a joint and everything further out: k runs over a range.
DALEMBERT_INLINE void derive_with_outer(const BodyData &b, const DerivativeWorkspace<T> &work, const LoadColumns &of,
                                        bool loads, T *by_q, T *by_v, T *M) {
  const int nv = of.nv;
  const T *const F = of.F, *const G = of.G, *const D = of.D, *const Y = of.Y;
  for (int j = b.v; j < b.v + b.nv; ++j) {
    const Dof<T> d = work.dof[j];
    const Motion<T> S = d.S, psi = d.psi, chi = d.chi, sum = d.psi + d.rate;
    T *upper_q = by_q + std::ptrdiff_t(j) * nv, *upper_v = by_v + std::ptrdiff_t(j) * nv,
      *row = M + std::ptrdiff_t(j) * nv;
    T *lower_q = work.lower_q + std::ptrdiff_t(j) * nv, *lower_v = work.lower_v + std::ptrdiff_t(j) * nv;
#if defined(__GNUC__)
#pragma GCC ivdep // rows of different arrays
#endif
    for (int k = b.v + b.nv; k < b.v_end; ++k) {
      const Load<T> f{{F[k], F[nv + k], F[2 * nv + k]}, {F[3 * nv + k], F[4 * nv + k], F[5 * nv + k]}};
      const Load<T> g{{G[k], G[nv + k], G[2 * nv + k]}, {G[3 * nv + k], G[4 * nv + k], G[5 * nv + k]}};
      const Load<T> e{{D[k], D[nv + k], D[2 * nv + k]}, {D[3 * nv + k], D[4 * nv + k], D[5 * nv + k]}};
      const Vec3<T> y{Y[k], Y[nv + k], Y[2 * nv + k]};
      row[k] = dot(S, f);
      upper_q[k] = dot(S, g);
      upper_v[k] = dot(S, e);
      lower_q[k] = dot(psi.w, y) + dot(chi, f);
      lower_v[k] = dot(S.w, y) + dot(sum, f);
    }
    if (loads)
      for (int k = b.v + b.nv; k < b.v_end; ++k)
        lower_q[k] = lower_q[k] + dot(S, of.at(of.Z + k));
  }
}

// Below the diagonal: columns that were computed as rows.
void copy_lower(const ModelData &m, const DerivativeWorkspace<T> &work, T *by_q, T *by_v) {
  const std::ptrdiff_t nv = m.nv;
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    for (int k = b.v + b.nv; k < b.v_end; ++k)
      for (int j = b.v; j < b.v + b.nv; ++j) {
        by_q[k * nv + j] = work.lower_q[j * nv + k];
        by_v[k * nv + j] = work.lower_v[j * nv + k];
      }
  }
}

} // namespace

void d_inverse_dynamics(const ModelData &m, Workspace<double> &ws, DerivativeWorkspace<double> &work, const double *q,
                        const double *v, const double *a, const double *loads, double *by_q, double *by_v, double *M) {
  const int nv = m.nv;
  start_at_ground(m, ws, true);
  compute_poses(m, ws, q);
  place_in_world(m, ws);
  carry_outward(m, ws, work, v, a, loads);
  for (std::ptrdiff_t k = 0; k < std::ptrdiff_t(nv) * nv; ++k)
    by_q[k] = by_v[k] = M[k] = 0.0;
  const LoadColumns columns(work.columns, nv);
  for (int i = m.nb; i > 0; --i) { // inward
    const BodyData &b = m.bodies[i];
    const Carried<double> &c = work.carried[i];
    fill_columns(b, c, work, columns, loads != nullptr);
    derive_within_joint(b, work, columns, loads != nullptr, by_q, by_v, M);
    derive_with_outer(b, work, columns, loads != nullptr, by_q, by_v, M);
    if (b.parent)
      add_carried(c, work.carried[b.parent], loads != nullptr);
  }
  for (int k = 0; m.armature && k < nv; ++k)
    M[std::ptrdiff_t(k) * (nv + 1)] += m.armature[k];
  mirror(M, nv);
  copy_lower(m, work, by_q, by_v);
}

void solve_columns(const ModelData &m, const Workspace<double> &ws, Side<Pack> &side, Pack *x, double factor,
                   double *X) {
  const int nv = m.nv;
  for (int first = 0; first < nv; first += W) {
    const int count = nv - first < W ? nv - first : W;
    for (int r = 0; r < nv; ++r) {
      Pack row(0.0);
      for (int l = 0; l < count; ++l)
        row.set(l, X[std::ptrdiff_t(r) * nv + first + l]);
      x[r] = row;
    }
    solve(m, ws, side, x, x, 1, m.nb);
    for (int r = 0; r < nv; ++r)
      for (int l = 0; l < count; ++l)
        X[std::ptrdiff_t(r) * nv + first + l] = factor * x[r][l];
  }
}

void minus_product(const double *A, double *X, double *work, int n) {
  const std::ptrdiff_t wide = padded(n);
  for (int r = 0; r < n; ++r) {
    std::memcpy(work + r * wide, X + std::ptrdiff_t(r) * n, std::size_t(n) * sizeof(double));
    for (std::ptrdiff_t c = n; c < wide; ++c)
      work[r * wide + c] = 0.0;
  }
  for (int c = 0; c < n; c += 2 * W) {
    const std::size_t width = std::size_t(n - c < 2 * W ? n - c : 2 * W);
    for (int r = 0; r < n; r += 4) {
      const double *a[4];
      for (int t = 0; t < 4; ++t)
        a[t] = A + std::ptrdiff_t(r + t < n ? r + t : n - 1) * n;
      Pack sum[4][2];
      for (auto &pair : sum)
        pair[0] = pair[1] = Pack(0.0);
      const double *b = work + c;
      for (int k = 0; k < n; ++k, b += wide) {
        Pack left, right;
        std::memcpy(&left, b, sizeof left);
        std::memcpy(&right, b + W, sizeof right);
        for (int t = 0; t < 4; ++t) {
          sum[t][0] = sum[t][0] - a[t][k] * left;
          sum[t][1] = sum[t][1] - a[t][k] * right;
        }
      }
      double tile[4][2 * W]; // a copy, so that the sums themselves can stay in registers
      for (int t = 0; t < 4; ++t) {
        std::memcpy(tile[t], &sum[t][0], W * sizeof(double));
        std::memcpy(tile[t] + W, &sum[t][1], W * sizeof(double));
      }
      for (int t = 0; t < 4 && r + t < n; ++t)
        std::memcpy(X + std::ptrdiff_t(r + t) * n + c, tile[t], width * sizeof(double));
    }
  }
}

} // namespace dalembert::DALEMBERT_ISA
