// Exact first derivatives of inverse and forward dynamics by analytic recursions, O(nv depth).
//
// In spatial vectors about one point O at rest (world axes; O is where the first body of the tree
// happens to be, so that large distances cost no digits), with x and x* the cross products of
// motions with motions and with loads, freedom k has a motion S_k and (Singh, Russell, Wensing 2022,
// extended here to hinges whose motion map changes with their own coordinates):
//
//     S'_k = v_fix x S_k         v_fix: velocity of the frame in which S_k is constant          (1)
//     psi_k = v_ref x S_k        chi_k = a_ref x S_k + v_ref x psi_k                            (2)
//
// v_ref, a_ref is the motion of what a displacement along k leaves alone. Three forms of hinge:
//
//     outboard   S fixed in the body:      v_fix = v_body       v_ref = v_parent   (spherical, free)
//     inboard    S fixed in the parent:    v_fix = v_parent     v_ref = v_body     (the same, reversed)
//     in series  one turn or slide after another: both the velocity between them   (all others)
//
// With I, f the inertia and load of everything outboard (composite body), and 2 B = x* I - I x + (I v) x*,
// which for rigid bodies is [Q, 0; -2 l~, 0] with l the linear momentum (6 + 3 + 3 numbers):
//
//     F_k = I S_k    y_k = 2 B^T S_k    e_k = 2 B psi_k + I chi_k    d_k = 2 B S_k + I (psi_k + S'_k)   (3)
//
//     j inboard of k:    dtau_k/dq_j = y_k . psi_j + F_k . chi_j        dtau_j/dq_k = S_j . (e_k + S_k x* f)
//                        dtau_k/dv_j = y_k . S_j + F_k . (psi_j + S'_j)    dtau_j/dv_k = S_j . d_k
//                        M_jk = S_j . F_k                                                          (4)
//
// Given loads keep their direction and act at points of bodies: with phi, t and T = sum p phi^T the
// composite force, moment and moment tensor, a displacement s moves them by
// A s = [(T - tr T) s_w + s_v x phi; 0], so that dtau_j/dq_k has -S_j . A S_k more and dtau_k/dq_j
// has z_k . S_j, z_k = -(S_k x* [t; phi] + A^T S_k).                                             (5)
//
// Forward dynamics follows from M a + b = tau:
//
//     da/dq = -M^-1 (dtau/dq at constant a)        da/dv likewise        da/dtau = M^-1           (6)
#pragma once

#include "aba.hpp"
#include "crba.hpp"

namespace dalembert::DALEMBERT_ISA {

// x and x* of (2), (4)
template <class T> DALEMBERT_INLINE Motion<T> cross_motion(const Motion<T> &a, const Motion<T> &b) {
  return {cross(a.w, b.w), cross(a.w, b.v) + cross(a.v, b.w)};
}
template <class T> DALEMBERT_INLINE Load<T> cross_load(const Motion<T> &a, const Load<T> &F) {
  return {cross(a.w, F.n) + cross(a.v, F.f), cross(a.w, F.f)};
}
template <class T> DALEMBERT_INLINE Motion<T> operator+(const Motion<T> &a, const Motion<T> &b) { return {a.w + b.w, a.v + b.v}; }
template <class T> DALEMBERT_INLINE Load<T> operator+(const Load<T> &a, const Load<T> &b) { return {a.n + b.n, a.f + b.f}; }
template <class T> DALEMBERT_INLINE Load<T> operator-(const Load<T> &a) { return {-a.n, -a.f}; }
template <class T> DALEMBERT_INLINE T dot(const Motion<T> &a, const Load<T> &F) { return dot(a.w, F.n) + dot(a.v, F.f); }
template <class T> DALEMBERT_INLINE Motion<T> scale(const T &s, const Motion<T> &a) { return {scale(s, a.w), scale(s, a.v)}; }

// composite quantities of one body
template <class T> struct Carried {
  RigidInertia<T> I;
  Sym3<T> Q;         // symmetric part of the upper left block of 2 B
  Vec3<T> momentum_n, momentum_f; // angular and linear momentum; 2 B = [Q - n~, 0; -2 f~, 0]
  Load<T> f;
  Load<T> given;     // t, phi
  Mat3<T> tensor;    // T
};

// motions and loads of one freedom
template <class T> struct Freedom {
  Motion<T> S, rate, psi, chi;
};

template <class T> struct DerivativeRoom {
  Carried<T> *carried;  // nb + 1
  Motion<T> *V;         // nb + 1: velocity about O
  Motion<T> *A;         // nb + 1: spatial acceleration about O, weight included
  Freedom<T> *freedom;  // nv
  Load<T> *inward;      // nv: e_k without S_k x* f
  T *columns;           // 27 nv, component major: F (6), g (6), d (6), y (3), z (6, only with loads)
  T *lower_q, *lower_v; // nv x nv: row j holds column j of the lower triangle
};

template <class T> inline std::size_t lay_out(const ModelData &m, std::byte *base, DerivativeRoom<T> &room) {
  Arena arena{base};
  const std::size_t n = std::size_t(m.nb) + 1, nv = std::size_t(m.nv);
  room.carried = arena.take<Carried<T>>(n);
  room.V = arena.take<Motion<T>>(n);
  room.A = arena.take<Motion<T>>(n);
  room.freedom = arena.take<Freedom<T>>(nv);
  room.inward = arena.take<Load<T>>(nv);
  room.columns = arena.take<T>(27 * nv);
  room.lower_q = arena.take<T>(nv * nv);
  room.lower_v = arena.take<T>(nv * nv);
  return arena.used;
}

enum class Series { outboard, inboard, forward, backward };

DALEMBERT_INLINE Series series_of(Hinge kind) {
  switch (kind) {
  case Hinge::spherical:
  case Hinge::free:
    return Series::outboard;
  case Hinge::spherical_reversed:
  case Hinge::free_reversed:
    return Series::inboard;
  case Hinge::universal_reversed:
  case Hinge::planar_reversed:
    return Series::backward;
  default:
    return Series::forward;
  }
}

// (1), (2) for the freedoms of body i, and its motion about O
template <class T>
DALEMBERT_INLINE void freedoms(const BodyData &b, const Pose<T> &X, const Motion<T> *H, const T *v, const T *a, const Motion<T> &V_P,
                               const Motion<T> &A_P, Freedom<T> *freedom, Motion<T> &V, Motion<T> &A) {
  for (int k = 0; k < b.nv; ++k) {
    const Motion<T> h = column(b, H, k);
    const Vec3<T> w = mul(X.R, h.w);
    freedom[k].S = {w, mul(X.R, h.v) + cross(X.p, w)};
  }
  V = V_P;
  A = A_P;
  const Series series = series_of(b.kind);
  if (series == Series::forward || series == Series::backward) {
    for (int step = 0; step < b.nv; ++step) {
      const int k = series == Series::forward ? step : b.nv - 1 - step;
      Freedom<T> &d = freedom[k];
      d.psi = d.rate = cross_motion(V, d.S);
      d.chi = cross_motion(A, d.S) + cross_motion(V, d.psi);
      A = A + scale(a[k], d.S) + scale(v[k], d.rate);
      V = V + scale(v[k], d.S);
    }
    return;
  }
  for (int k = 0; k < b.nv; ++k)
    V = V + scale(v[k], freedom[k].S);
  for (int k = 0; k < b.nv; ++k) {
    Freedom<T> &d = freedom[k];
    d.rate = cross_motion(series == Series::outboard ? V : V_P, d.S);
    A = A + scale(a[k], d.S) + scale(v[k], d.rate);
  }
  const Motion<T> &V_ref = series == Series::outboard ? V_P : V, &A_ref = series == Series::outboard ? A_P : A;
  for (int k = 0; k < b.nv; ++k) {
    Freedom<T> &d = freedom[k];
    d.psi = cross_motion(V_ref, d.S);
    d.chi = cross_motion(A_ref, d.S) + cross_motion(V_ref, d.psi);
  }
}

// a body's own share of the composite quantities, about O
template <class T> DALEMBERT_INLINE void own_share(const BodyData &b, const Pose<T> &X, const Motion<T> &V, const Motion<T> &A, Carried<T> &c) {
  c.I = {T(0.0), zero3<T>(), {T(0.0), T(0.0), T(0.0), T(0.0), T(0.0), T(0.0)}};
  add_to_parent(X, rigid_inertia<T>(b), c.I);
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
    to.tensor = {a.xx + b.xx, a.xy + b.xy, a.xz + b.xz, a.yx + b.yx, a.yy + b.yy, a.yz + b.yz, a.zx + b.zx, a.zy + b.zy, a.zz + b.zz};
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

// dtau/dq, dtau/dv and M, each nv x nv; loads may be null
template <class T>
inline void d_inverse_dynamics(const ModelData &m, Workspace<T> &ws, DerivativeRoom<T> &room, const T *q, const T *v, const T *a,
                               const T *loads, T *by_q, T *by_v, T *M) {
  const int nv = m.nv;
  ground(m, ws, true);
  room.V[0] = {zero3<T>(), zero3<T>()};
  room.A[0] = ws.A[0];
  // outward: poses about O, motions, own shares
  int root = 0;
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    position(m, ws, q, i);
    world_pose(m, ws, i);
    if (!b.parent)
      root = i;
    const Pose<T> X{ws.X_W[i].R, ws.X_W[i].p - ws.X_W[root].p};
    freedoms(b, X, ws.H + b.H, v + b.v, a + b.v, room.V[b.parent], room.A[b.parent], room.freedom + b.v, room.V[i], room.A[i]);
    Carried<T> &c = room.carried[i];
    own_share(b, X, room.V[i], room.A[i], c);
    if (loads) {
      const T *g = loads + 6 * (i - 1);
      const Vec3<T> p = X.p + mul(X.R, as_vec(b.p_FB)), f{g[3], g[4], g[5]};
      c.given = {Vec3<T>{g[0], g[1], g[2]} + cross(p, f), f};
      c.tensor = {p.x * f.x, p.x * f.y, p.x * f.z, p.y * f.x, p.y * f.y, p.y * f.z, p.z * f.x, p.z * f.y, p.z * f.z};
    }
  }
  for (std::ptrdiff_t k = 0; k < std::ptrdiff_t(nv) * nv; ++k)
    by_q[k] = by_v[k] = M[k] = T(0.0);
  T *F = room.columns, *G = F + 6 * nv, *D = G + 6 * nv, *Y = D + 6 * nv, *Z = Y + 3 * nv;
  const auto put = [nv](T *to, const Load<T> &L) {
    to[0] = L.n.x, to[nv] = L.n.y, to[2 * nv] = L.n.z;
    to[3 * nv] = L.f.x, to[4 * nv] = L.f.y, to[5 * nv] = L.f.z;
  };
  // inward: (3) and (4)
  for (int i = m.nb; i > 0; --i) {
    const BodyData &b = m.bodies[i];
    const Carried<T> &c = room.carried[i];
    for (int k = b.v; k < b.v + b.nv; ++k) {
      const Freedom<T> &d = room.freedom[k];
      const Motion<T> sum = d.psi + d.rate;
      const Load<T> e = twice_B(c, d.psi) + mul(c.I, d.chi.w, d.chi.v);
      Load<T> g = e + cross_load(d.S, c.f);
      put(F + k, mul(c.I, d.S.w, d.S.v));
      put(D + k, twice_B(c, d.S) + mul(c.I, sum.w, sum.v));
      const Vec3<T> y = mul(c.Q, d.S.w) + cross(c.momentum_n, d.S.w) + scale(2.0, cross(c.momentum_f, d.S.v));
      Y[k] = y.x, Y[nv + k] = y.y, Y[2 * nv + k] = y.z;
      if (loads) {
        g.n -= moved_moment(c, d.S);
        const T trace = c.tensor.xx + c.tensor.yy + c.tensor.zz;
        const Load<T> back{mul_t(c.tensor, d.S.w) - scale(trace, d.S.w), cross(c.given.f, d.S.w)};
        put(Z + k, -(cross_load(d.S, c.given) + back));
      }
      put(G + k, g);
      room.inward[k] = e;
    }
    const auto load_at = [nv](const T *from) {
      return Load<T>{{from[0], from[nv], from[2 * nv]}, {from[3 * nv], from[4 * nv], from[5 * nv]}};
    };
    // within the hinge: does a displacement along k turn S_j as well?
    const Series series = series_of(b.kind);
    for (int j = b.v; j < b.v + b.nv; ++j)
      for (int k = b.v; k < b.v + b.nv; ++k) {
        const Motion<T> &S = room.freedom[j].S;
        const bool turns = series == Series::outboard || (series == Series::forward && k <= j) || (series == Series::backward && k >= j);
        T value = turns ? dot(S, room.inward[k]) : dot(S, load_at(G + k));
        if (loads && turns)
          value = value + dot(room.freedom[k].S, load_at(Z + j));
        by_q[std::ptrdiff_t(j) * nv + k] = value;
        by_v[std::ptrdiff_t(j) * nv + k] = dot(S, load_at(D + k));
        if (k >= j)
          M[std::ptrdiff_t(j) * nv + k] = dot(S, load_at(F + k));
      }
    // with everything further out: k runs over a range
    for (int j = b.v; j < b.v + b.nv; ++j) {
      const Freedom<T> d = room.freedom[j];
      const Motion<T> S = d.S, psi = d.psi, chi = d.chi, sum = d.psi + d.rate;
      T *upper_q = by_q + std::ptrdiff_t(j) * nv, *upper_v = by_v + std::ptrdiff_t(j) * nv, *row = M + std::ptrdiff_t(j) * nv;
      T *lower_q = room.lower_q + std::ptrdiff_t(j) * nv, *lower_v = room.lower_v + std::ptrdiff_t(j) * nv;
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
          lower_q[k] = lower_q[k] + dot(S, load_at(Z + k));
    }
    if (b.parent)
      add_carried(c, room.carried[b.parent], loads != nullptr);
  }
  // below the diagonal: columns that were computed as rows
  mirror(M, nv);
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    for (int k = b.v + b.nv; k < b.v_end; ++k)
      for (int j = b.v; j < b.v + b.nv; ++j) {
        by_q[std::ptrdiff_t(k) * nv + j] = room.lower_q[std::ptrdiff_t(j) * nv + k];
        by_v[std::ptrdiff_t(k) * nv + j] = room.lower_v[std::ptrdiff_t(j) * nv + k];
      }
  }
}

// replaces the columns of X (nv x nv) by factor * M^-1 X, W at a time, after the factors of M are known
template <int W>
inline void solve_columns(const ModelData &m, const Workspace<double> &ws, Side<Pack<W>> &side, Pack<W> *x, double factor, double *X) {
  const int nv = m.nv;
  for (int first = 0; first < nv; first += W) {
    const int count = nv - first < W ? nv - first : W;
    for (int r = 0; r < nv; ++r) {
      Pack<W> row(0.0);
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

// length of a row in minus_product: n rounded up to whole tiles, and an odd number of registers so that the rows of a
// tile do not fall on the same lines of the cache
template <int W> DALEMBERT_INLINE int padded(int n) { return (n + 2 * W - 1) / (2 * W) * (2 * W) + W; }

// X <- -A X for n x n matrices; room holds n rows of padded<W>(n) numbers. Tiles of 4 rows by 2 registers.
template <int W> inline void minus_product(const double *A, double *X, double *room, int n) {
  const std::ptrdiff_t wide = padded<W>(n);
  for (int r = 0; r < n; ++r) {
    std::memcpy(room + r * wide, X + std::ptrdiff_t(r) * n, std::size_t(n) * sizeof(double));
    for (std::ptrdiff_t c = n; c < wide; ++c)
      room[r * wide + c] = 0.0;
  }
  for (int c = 0; c < n; c += 2 * W) {
    const std::size_t width = std::size_t(n - c < 2 * W ? n - c : 2 * W);
    for (int r = 0; r < n; r += 4) {
      const double *a[4];
      for (int t = 0; t < 4; ++t)
        a[t] = A + std::ptrdiff_t(r + t < n ? r + t : n - 1) * n;
      Pack<W> sum[4][2];
      for (auto &pair : sum)
        pair[0] = pair[1] = Pack<W>(0.0);
      const double *b = room + c;
      for (int k = 0; k < n; ++k, b += wide) {
        Pack<W> left, right;
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
