// Flexible bodies: small deformation by modes, in a frame B that moves freely.
//
// A body of nm modes with coordinates eta takes these places in the list of bodies:
//
//     carrier  massless, at the end of the body's hinge: the node d that the hinge holds, turned to the hinge's axes
//     modal    frame B, with all the mass; its freedoms are eta, its pose in the carrier is the inverse of that of node d
//     nodes    massless frames of the other nodes that something attaches to, children of B; no freedoms of their own
//
// so that hinges, markers, chords, elements and loads see plain bodies, and each elimination is that of Jain & Rodriguez
// 1990, (7.9): first the modes, then the hinge (erratum: (7.6) has the two exchanged), 6 x 6 between bodies.
//
// A node with rest place l and shapes lambda_r (slopes), gamma_r (displacements), and, with geometric stiffening,
// turns f_rs and displacements g_rs of second order, has in B
//
//     p = l + gamma eta + 1/2 eta g eta     R = exp(theta~), theta = lambda eta + 1/2 eta f eta
//     omega = J(theta) theta',  J = 1 + a theta~ + b theta~^2     v = (gamma + g eta) eta'                          (1)
//
// (With the tables of the source, omega = theta': right to first order only, and not the rate of any attitude.)
//
// The body's inertia against [eta''; alpha; acc of B], all integrals over the undeformed body, rows r, s summed over:
//
//     M = [G, F^T, E^T; F, J, h~; E, -h~, m]
//     E_r = E0_r + E1_rs eta_s       F_r = F0_r + F1_rs eta_s      h = h0 + 1/2 (E0_r + E_r) eta_r
//     J = J0 + 1/2 (J1_r + K_r) eta_r     K_r = dJ/deta_r = J1_r + 2 J2_rs eta_s                                    (2)
//
// and what velocities leave, from Lagrange's equations in quasi-velocities, so that energy and momentum are kept whatever
// the integrals are:
//
//     b_r = omega . (F1_rs - F1_sr) eta'_s - 1/2 omega . K_r omega
//     b_omega = omega x (J omega + F_r eta'_r) + K_r eta'_r omega + F1_rs eta'_r eta'_s
//     b_v = omega x (omega x h) + 2 omega x E_r eta'_r + E1_rs eta'_r eta'_s                                        (3)
//
// For point masses, (2) and (3) are (B.8) and (B.50) of the source (errata corrected); otherwise the source keeps the
// direction of nodal inertias in some terms and turns them in others. Its tables are there for comparison.
#pragma once

#include <cstring>
#include <type_traits>

#include "scalar/pack.hpp"
#include "tree/workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// the numbers of a flexible body, in the order in which they stand
struct ModalTables {
  int n;
  const double *mass, *h0, *J0;                // 1, 3, 6
  const double *E0, *F0, *J1;                  // n x 3, n x 3, n x 6
  const double *G, *stiffness, *damping;       // n x n
  int width, rows;                             // n rounded up to eights; 12, or 15 where there is E1
  const double *bilinear;                      // n x rows x width: F1_rs, J2_rs, F1_rs - F1_sr, E1_rs as rows over r, by s
  const double *h1, *N1, *N2, *Q, *C1, *C2;    // of the source: n x 3, n x 6, n x n x 6, n x n x 3, n x 9, n x n x 9
  const double *T3, *R2, *R3, *L;              // n x n x n, n x n x 3, n x n x n x 3, n x n x 3
};

DALEMBERT_INLINE ModalTables modal_tables(const ModelData &m, const ModalData &body) {
  const double *at = m.modal_numbers + body.table;
  const std::ptrdiff_t n = body.modes;
  const auto take = [&at](std::ptrdiff_t count) {
    const double *begin = at;
    at += count;
    return begin;
  };
  ModalTables t{};
  t.n = body.modes;
  t.stiffness = m.modal_numbers + body.elastic, t.damping = t.stiffness + n * n;
  t.mass = take(1), t.h0 = take(3), t.J0 = take(6);
  t.E0 = take(3 * n), t.F0 = take(3 * n), t.J1 = take(6 * n);
  t.G = take(n * n);
  t.width = (t.n + 7) / 8 * 8, t.rows = body.second ? 15 : 12;
  t.bilinear = take(n * t.rows * t.width);
  if (body.source) {
    t.h1 = take(3 * n), t.N1 = take(6 * n), t.N2 = take(6 * n * n), t.Q = take(3 * n * n), t.C1 = take(9 * n), t.C2 = take(9 * n * n);
    t.T3 = take(n * n * n), t.R2 = take(3 * n * n), t.R3 = take(3 * n * n * n), t.L = take(3 * n * n);
  }
  return t;
}

template <class T> DALEMBERT_INLINE void add_scaled(Vec3<T> &to, const T &s, const double *a) {
  to.x = to.x + s * a[0], to.y = to.y + s * a[1], to.z = to.z + s * a[2];
}
template <class T> DALEMBERT_INLINE void add_scaled(Sym3<T> &to, const T &s, const double *a) {
  to.xx = to.xx + s * a[0], to.xy = to.xy + s * a[1], to.xz = to.xz + s * a[2];
  to.yy = to.yy + s * a[3], to.yz = to.yz + s * a[4], to.zz = to.zz + s * a[5];
}
template <class T> DALEMBERT_INLINE void add_scaled(Sym3<T> &to, const T &s, const Sym3<T> &a) {
  to.xx = to.xx + s * a.xx, to.xy = to.xy + s * a.xy, to.xz = to.xz + s * a.xz;
  to.yy = to.yy + s * a.yy, to.yz = to.yz + s * a.yz, to.zz = to.zz + s * a.zz;
}

// ---- a node in the frame of its body

// (1 - cos x) / x^2 and (x - sin x) / x^3 with their derivatives by s = x^2; to round-off for |x| < pi
template <class T> struct SlopeSeries {
  T a, b, a1, b1;
};
constexpr int slope_terms = 14;
constexpr auto slope_coefficients = [] {
  struct {
    double a[slope_terms], b[slope_terms];
  } c{};
  double factorial = 1.0, sign = 1.0;
  for (int k = 0; k < slope_terms; ++k, sign = -sign) {
    factorial *= k ? (2.0 * k + 1.0) * (2.0 * k + 2.0) : 2.0;
    c.a[k] = sign / factorial;
    c.b[k] = sign / (factorial * (2.0 * k + 3.0));
  }
  return c;
}();
template <class T> DALEMBERT_INLINE SlopeSeries<T> slope_series(const T &s) {
  SlopeSeries<T> f{T(0.0), T(0.0), T(0.0), T(0.0)};
  for (int k = slope_terms - 1; k >= 0; --k) {
    f.a1 = f.a1 * s + f.a;
    f.b1 = f.b1 * s + f.b;
    f.a = f.a * s + slope_coefficients.a[k];
    f.b = f.b * s + slope_coefficients.b[k];
  }
  return f;
}

// the numbers of a node: rest place (3), then of each mode slope and displacement (6), then f_rs and g_rs (6)
struct NodeShapes {
  const double *rest, *mode, *second;
};
DALEMBERT_INLINE NodeShapes node_shapes(const ModelData &m, const BodyData &b) {
  const ModalData &body = m.modal[b.modal];
  const double *at = m.modal_numbers + b.shape;
  return {at, at + 3, body.second ? at + 3 + 6 * body.modes : nullptr};
}

// (1): pose in B; columns of [omega; v] per unit of each modal speed, axes of B
template <class T> inline Pose<T> node_pose(const ModelData &m, const BodyData &b, const T *eta, Motion<T> *columns) {
  const ModalData &body = m.modal[b.modal];
  const NodeShapes shapes = node_shapes(m, b);
  const int n = body.modes;
  Vec3<T> p = lift<T>(as_vec(shapes.rest)), theta = zero3<T>();
  for (int r = 0; r < n; ++r) {
    add_scaled(theta, eta[r], shapes.mode + 6 * r);
    add_scaled(p, eta[r], shapes.mode + 6 * r + 3);
    columns[r] = {lift<T>(as_vec(shapes.mode + 6 * r)), lift<T>(as_vec(shapes.mode + 6 * r + 3))};
  }
  if (shapes.second)
    for (int r = 0; r < n; ++r) {
      Vec3<T> turn = zero3<T>(), shift = zero3<T>();
      for (int s = 0; s < n; ++s) {
        add_scaled(turn, eta[s], shapes.second + 6 * (r * n + s));
        add_scaled(shift, eta[s], shapes.second + 6 * (r * n + s) + 3);
      }
      columns[r].w += turn;
      columns[r].v += shift;
      theta += scale(0.5 * eta[r], turn);
      p += scale(0.5 * eta[r], shift);
    }
  const T square = dot(theta, theta);
  const SlopeSeries<T> f = slope_series(square);
  const T sine = 1.0 - square * f.b, one = 1.0 - square * f.a; // sin x / x, cos x
  const Vec3<T> &x = theta;
  const Mat3<T> R{one + f.a * x.x * x.x,          f.a * x.x * x.y - sine * x.z, f.a * x.x * x.z + sine * x.y,
                  f.a * x.x * x.y + sine * x.z, one + f.a * x.y * x.y,          f.a * x.y * x.z - sine * x.x,
                  f.a * x.x * x.z - sine * x.y, f.a * x.y * x.z + sine * x.x, one + f.a * x.z * x.z};
  if (!body.source)
    for (int r = 0; r < n; ++r) {
      const Vec3<T> once = cross(x, columns[r].w);
      columns[r].w += scale(f.a, once) + scale(f.b, cross(x, once));
    }
  return {R, p};
}

// what is left of the rates of [omega; v] seen from B when eta'' = 0, axes of B
template <class T> inline Motion<T> node_bias(const ModelData &m, const BodyData &b, const T *eta, const T *rate) {
  const ModalData &body = m.modal[b.modal];
  const NodeShapes shapes = node_shapes(m, b);
  const int n = body.modes;
  Vec3<T> x = zero3<T>(), u = zero3<T>(), du = zero3<T>(), dv = zero3<T>(); // theta, theta', and what eta' leaves of theta'', v'
  for (int r = 0; r < n; ++r) {
    add_scaled(x, eta[r], shapes.mode + 6 * r);
    add_scaled(u, rate[r], shapes.mode + 6 * r);
  }
  if (shapes.second)
    for (int r = 0; r < n; ++r) {
      Vec3<T> turn = zero3<T>(), turning = zero3<T>(), shifting = zero3<T>();
      for (int s = 0; s < n; ++s) {
        add_scaled(turn, eta[s], shapes.second + 6 * (r * n + s));
        add_scaled(turning, rate[s], shapes.second + 6 * (r * n + s));
        add_scaled(shifting, rate[s], shapes.second + 6 * (r * n + s) + 3);
      }
      x += scale(0.5 * eta[r], turn);
      u += scale(rate[r], turn);
      du += scale(rate[r], turning);
      dv += scale(rate[r], shifting);
    }
  if (body.source)
    return {zero3<T>(), dv};
  const SlopeSeries<T> f = slope_series(dot(x, x));
  const T along = 2.0 * dot(x, u);
  const Vec3<T> once = cross(x, u), more = cross(x, du);
  Vec3<T> dw = scale(f.a1 * along, once) + scale(f.b1 * along, cross(x, once)) + scale(f.b, cross(u, once));
  dw += du + scale(f.a, more) + scale(f.b, cross(x, more));
  return {dw, dv};
}

// ---- the two pseudo-hinges: pose in the parent, columns in axes of F

template <class T> DALEMBERT_INLINE void node_position(const ModelData &m, const BodyData &b, Workspace<T> &ws, const T *q, int i) {
  Motion<T> *H = ws.H + b.H;
  ws.X[i] = node_pose(m, b, q + m.bodies[b.parent].q, H);
  for (int r = 0; r < b.moves; ++r)
    H[r] = {mul_t(ws.X[i].R, H[r].w), mul_t(ws.X[i].R, H[r].v)};
}

// B seen from node d: with C, c the pose of d in B and w, u its velocity there, -w and -(u - w x c) in axes of B
template <class T> DALEMBERT_INLINE void modal_position(const ModelData &m, const BodyData &b, Workspace<T> &ws, const T *q, int i) {
  Pose<T> &X = ws.X[i];
  if (!b.moves) { // clamped at d
    X.R = lift<T>(as_mat(b.R_PJ));
    X.p = lift<T>(as_vec(b.p_PJ)) - mul(X.R, as_vec(m.modal_numbers + b.shape));
    return;
  }
  Motion<T> *H = ws.H + b.H;
  const Pose<T> d = node_pose(m, b, q + b.q, H);
  X.R = mul_bt(lift<T>(as_mat(b.R_PJ)), d.R);
  X.p = lift<T>(as_vec(b.p_PJ)) - mul(X.R, d.p);
  for (int r = 0; r < b.moves; ++r)
    H[r] = {-H[r].w, cross(H[r].w, d.p) - H[r].v};
}

// bias of either, in axes of F: rates seen from the parent at eta'' = 0
template <class T> inline Motion<T> flexible_bias(const ModelData &m, const BodyData &b, const Workspace<T> &ws, const T *q, const T *v, int i) {
  const T *eta = q + (b.form == JointForm::node ? m.bodies[b.parent].q : b.q), *rate = v + b.by;
  const Motion<T> seen = node_bias(m, b, eta, rate);
  if (b.form == JointForm::node)
    return {mul_t(ws.X[i].R, seen.w), mul_t(ws.X[i].R, seen.v)};
  // -w' and -(u' - w' x c - 2 w x u + w x (w x c)), with c = -R^T (p - p_PJ) and w, u from the columns
  const Vec3<T> c = mul_t(ws.X[i].R, lift<T>(as_vec(b.p_PJ)) - ws.X[i].p);
  Vec3<T> w = zero3<T>(), u = zero3<T>();
  const Motion<T> *H = ws.H + b.H;
  for (int r = 0; r < b.moves; ++r) {
    w -= scale(rate[r], H[r].w);
    u -= scale(rate[r], H[r].v);
  }
  const Vec3<T> turn = cross(w, c);
  u += turn;
  return {-seen.w, -(seen.v - cross(seen.w, c) - scale(2.0, cross(w, u)) + cross(w, turn))};
}

// ---- inertia and gyroscopic loads

// sums over s of what is bilinear in modes, of one r, or of as many as a register holds
template <class V> struct BilinearSums {
  Vec3<V> turn, along, shift, push; // F1_rs eta_s, F1_rs eta'_s, E1_rs eta_s, E1_rs eta'_s
  Sym3<V> bend;                     // J2_rs eta_s
  V gyro;                           // omega . (F1_rs - F1_sr) eta'_s
};

// `row` reads a row of the tables at the places r; rate and w only if `moving`
template <bool moving, class V, class T, class Read>
DALEMBERT_INLINE void sum_bilinear(const ModalTables &t, const T *eta, const T *rate, const Vec3<T> &w, const Read &row, BilinearSums<V> &o) {
  const Vec3<V> zero{V(0.0), V(0.0), V(0.0)};
  o = {zero, zero, zero, zero, {V(0.0), V(0.0), V(0.0), V(0.0), V(0.0), V(0.0)}, V(0.0)};
  const double *at = t.bilinear;
  const std::ptrdiff_t width = t.width;
  for (int s = 0; s < t.n; ++s, at += t.rows * width) {
    const V e(eta[s]);
    const auto x = row(at), y = row(at + width), z = row(at + 2 * width);
    o.turn = {o.turn.x + e * x, o.turn.y + e * y, o.turn.z + e * z};
    Sym3<V> &J = o.bend;
    J.xx = J.xx + e * row(at + 3 * width), J.xy = J.xy + e * row(at + 4 * width), J.xz = J.xz + e * row(at + 5 * width);
    J.yy = J.yy + e * row(at + 6 * width), J.yz = J.yz + e * row(at + 7 * width), J.zz = J.zz + e * row(at + 8 * width);
    if constexpr (moving) {
      const V u(rate[s]);
      o.along = {o.along.x + u * x, o.along.y + u * y, o.along.z + u * z};
      o.gyro = o.gyro + V(rate[s] * w.x) * row(at + 9 * width) + V(rate[s] * w.y) * row(at + 10 * width) + V(rate[s] * w.z) * row(at + 11 * width);
    }
    if (t.rows > 12) {
      const auto a = row(at + 12 * width), b = row(at + 13 * width), c = row(at + 14 * width);
      o.shift = {o.shift.x + e * a, o.shift.y + e * b, o.shift.z + e * c};
      if constexpr (moving) {
        const V u(rate[s]);
        o.push = {o.push.x + u * a, o.push.y + u * b, o.push.z + u * c};
      }
    }
  }
}

// the sums of all modes, one by one given to take(r, sums); numbers are taken as many at once as a register holds
template <bool moving, class T, class ArgumentKind>
DALEMBERT_INLINE void each_bilinear(const ModalTables &t, const T *eta, const T *rate, const Vec3<T> &w, const ArgumentKind &take) {
  if constexpr (std::is_same_v<T, double>) {
    BilinearSums<Pack> some;
    for (int begin = 0; begin < t.n; begin += W) {
      sum_bilinear<moving>(t, eta, rate, w, [begin](const double *row) {
        Pack found;
        std::memcpy(&found, row + begin, sizeof(Pack));
        return found;
      }, some);
      for (int k = 0; k < W && begin + k < t.n; ++k) {
        const auto vec = [k](const Vec3<Pack> &a) { return Vec3<double>{a.x[k], a.y[k], a.z[k]}; };
        const Sym3<Pack> &J = some.bend;
        take(begin + k, BilinearSums<double>{vec(some.turn), vec(some.along), vec(some.shift), vec(some.push), {J.xx[k], J.xy[k], J.xz[k], J.yy[k], J.yz[k], J.zz[k]}, some.gyro[k]});
      }
    }
  } else {
    BilinearSums<T> one;
    for (int r = 0; r < t.n; ++r) {
      sum_bilinear<moving>(t, eta, rate, w, [r](const double *row) { return row[r]; }, one);
      take(r, one);
    }
  }
}

// (2): m, h, J into I_C, [F_r; E_r] into modal_own, J2_rs eta_s into modal_bend; with v, also what modal_bias takes from
// the tables, into modal_rates
template <class T> inline void modal_inertia(const ModelData &m, Workspace<T> &ws, const T *q, int i, const T *v = nullptr) {
  const BodyData &b = m.bodies[i];
  const ModalData &body = m.modal[b.modal];
  const ModalTables t = modal_tables(m, body);
  const T *eta = q + b.q;
  Load<T> *own = ws.modal_own + body.loads;
  RigidInertia<T> I{T(*t.mass), lift<T>(as_vec(t.h0)), lift<T>(as_sym(t.J0))};
  if (body.order_zero) {
    for (int r = 0; r < t.n; ++r)
      own[r] = {lift<T>(as_vec(t.F0 + 3 * r)), lift<T>(as_vec(t.E0 + 3 * r))};
    ws.I_C[i] = I;
    return;
  }
  const auto take = [&](int r, const BilinearSums<T> &sums) {
    own[r] = {lift<T>(as_vec(t.F0 + 3 * r)) + sums.turn, lift<T>(as_vec(t.E0 + 3 * r)) + sums.shift};
    ws.modal_bend[body.loads + r] = sums.bend;
    if (v)
      ws.modal_rates[body.loads + r] = {sums.along, sums.push, sums.gyro};
    add_scaled(I.J, eta[r], sums.bend);
    add_scaled(I.J, eta[r], t.J1 + 6 * r);
    add_scaled(I.h, eta[r], (t.h1 ? t.h1 : t.E0) + 3 * r);
    I.h += scale(0.5 * eta[r], sums.shift);
  };
  if (v)
    each_bilinear<true>(t, eta, v + b.v, ws.w[i], take);
  else
    each_bilinear<false>(t, eta, static_cast<const T *>(nullptr), ws.w[i], take);
  ws.I_C[i] = I;
}

// load on B by which the body itself opposes [eta''; alpha; acc]; a: eta'', or null
template <class T> DALEMBERT_INLINE Load<T> modal_load(const ModelData &m, const Workspace<T> &ws, const Motion<T> &A, const T *a, int i) {
  const ModalData &body = m.modal[m.bodies[i].modal];
  const Load<T> *own = ws.modal_own + body.loads;
  Load<T> F = mul(ws.I_C[i], A.w, A.v);
  for (int r = 0; a && r < body.modes; ++r) {
    F.n += scale(a[r], own[r].n);
    F.f += scale(a[r], own[r].f);
  }
  return F;
}

// the terms of (B.28), (B.41), (B.49) of the source, errata corrected
template <class T>
inline Load<T> source_bias(const ModalTables &t, const RigidInertia<T> &I, const Vec3<T> &w, const T *eta, const T *rate, T *modal) {
  const int n = t.n;
  Load<T> F{cross(w, mul(I.J, w)), cross(w, cross(w, I.h))};
  Vec3<T> drift = zero3<T>();
  for (int r = 0; r < n; ++r) {
    Sym3<T> N = lift<T>(as_sym(t.N1 + 6 * r));
    Mat3<T> C = lift<T>(as_mat(t.C1 + 9 * r));
    Vec3<T> turn = zero3<T>(), twice = zero3<T>(), push = zero3<T>();
    T spin(0.0);
    for (int s = 0; s < n; ++s) {
      const std::ptrdiff_t rs = std::ptrdiff_t(r) * n + s;
      add_scaled(N, eta[s], t.N2 + 6 * rs);
      const double *c = t.C2 + 9 * rs;
      C = {C.xx + eta[s] * c[0], C.xy + eta[s] * c[1], C.xz + eta[s] * c[2], C.yx + eta[s] * c[3], C.yy + eta[s] * c[4],
           C.yz + eta[s] * c[5], C.zx + eta[s] * c[6], C.zy + eta[s] * c[7], C.zz + eta[s] * c[8]};
      add_scaled(turn, rate[s], t.Q + 3 * rs);
      add_scaled(twice, rate[s], t.R2 + 3 * rs);
      add_scaled(push, rate[s], t.L + 3 * rs);
      for (int k = 0; k < n; ++k) {
        spin = spin + (rate[s] * rate[k]) * t.T3[rs * n + k];
        add_scaled(twice, rate[s] * eta[k], t.R3 + 3 * (rs * n + k));
      }
    }
    modal[r] = modal[r] + spin - dot(w, mul(N, w)) - dot(w, turn);
    F.n += scale(rate[r], mul(C, w) + twice);
    F.f += scale(rate[r], push);
    add_scaled(drift, rate[r], t.E0 + 3 * r);
  }
  F.f += scale(2.0, cross(w, drift));
  return F;
}

// an entry of the stiffness or damping of a flexible body, which stands there in the tables, at that place of the body's
template <class T> DALEMBERT_INLINE auto elastic_of(const ModelData &m, const double *there, int modal, int place) {
  if constexpr (varies<T>) {
    if (!m.varied)
      return T(*there);
    for (int k = 0; k < modal; ++k)
      place += 2 * m.modal[k].modes * m.modal[k].modes;
    return parameters_of<T>(m)->elastic[place];
  } else {
    return *there;
  }
}

// (3), with elastic and damping forces: loads on B, and modal forces added to `modal` (n); after modal_inertia with v
template <class T>
inline Load<T> modal_bias(const ModelData &m, const Workspace<T> &ws, const Vec3<T> &w, const T *q, const T *v, int i, T *modal) {
  const BodyData &b = m.bodies[i];
  const ModalData &body = m.modal[b.modal];
  const ModalTables t = modal_tables(m, body);
  const int n = t.n;
  const T *eta = q + b.q, *rate = v + b.v;
  const Load<T> *own = ws.modal_own + body.loads;
  const RigidInertia<T> &I = ws.I_C[i];
  for (int r = 0; r < n; ++r) {
    T force(0.0);
    for (int s = 0; s < n; ++s)
      force = force + elastic_of<T>(m, t.stiffness + r * n + s, b.modal, r * n + s) * eta[s] +
              elastic_of<T>(m, t.damping + r * n + s, b.modal, n * n + r * n + s) * rate[s];
    modal[r] = modal[r] + force;
  }
  if (body.order_zero) {
    const double *spin = t.N1 ? t.N1 : t.J1;
    for (int r = 0; r < n; ++r)
      modal[r] = modal[r] - (t.N1 ? 1.0 : 0.5) * dot(w, mul(as_sym(spin + 6 * r), w));
    return {cross(w, mul(I.J, w)), cross(w, cross(w, I.h))};
  }
  if (body.source)
    return source_bias(t, I, w, eta, rate, modal);
  Vec3<T> momentum = mul(I.J, w), drift = zero3<T>(), turn = zero3<T>(), push = zero3<T>();
  for (int r = 0; r < n; ++r) {
    const ModalRate<T> &sums = ws.modal_rates[body.loads + r];
    const Vec3<T> Kw = mul(as_sym(t.J1 + 6 * r), w) + scale(2.0, mul(ws.modal_bend[body.loads + r], w));
    modal[r] = modal[r] + sums.gyro - 0.5 * dot(w, Kw);
    momentum += scale(rate[r], own[r].n);
    drift += scale(rate[r], own[r].f);
    turn += scale(rate[r], Kw + sums.along);
    push += scale(rate[r], sums.push);
  }
  return {cross(w, momentum) + turn, cross(w, cross(w, I.h)) + scale(2.0, cross(w, drift)) + push};
}

// inertia of the modes times eta''
template <class T>
DALEMBERT_INLINE T modal_product(const ModalTables &t, const T *a, int r) {
  T sum(0.0);
  for (int s = 0; s < t.n; ++s)
    sum = sum + t.G[r * t.n + s] * a[s];
  return sum;
}

// load on B by which the body opposes its motion, weight included; modal forces into `modal`
template <class T>
inline Load<T> flexible_load(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, const T *a, int i, T *modal) {
  const BodyData &b = m.bodies[i];
  const ModalData &body = m.modal[b.modal];
  const ModalTables t = modal_tables(m, body);
  modal_inertia(m, ws, q, i, v);
  const Motion<T> &A = ws.A[i];
  for (int r = 0; r < t.n; ++r) {
    const Load<T> &own = ws.modal_own[body.loads + r];
    modal[r] = dot(own.n, A.w) + dot(own.f, A.v);
    if (a)
      modal[r] = modal[r] + modal_product(t, a + b.v, r);
  }
  Load<T> F = modal_load(m, ws, A, a ? a + b.v : nullptr, i);
  const Load<T> left = modal_bias(m, ws, ws.w[i], q, v, i, modal);
  F.n += left.n;
  F.f += left.f;
  return F;
}

// ---- composites and articulated inertias of modal bodies

// before the nodes hand over: the body's own part
template <class T> inline void start_modal(const ModelData &m, Workspace<T> &ws, int i) {
  const ModalData &body = m.modal[m.bodies[i].modal];
  const ModalTables t = modal_tables(m, body);
  for (int r = 0; r < t.n; ++r)
    ws.modal_load[body.loads + r] = ws.modal_own[body.loads + r];
  for (int k = 0; k < t.n * t.n; ++k)
    ws.modal_square[body.squares + k] = T(t.G[k]);
}

// node i hands its inertia (rigid or articulated) to the modes of its body; the 6 x 6 part goes by add_to_parent
template <class T, class Inertia> inline void hand_over(const ModelData &m, Workspace<T> &ws, const Inertia &I, int i) {
  const BodyData &b = m.bodies[i];
  if (b.last == i)
    return; // it carries nothing
  const ModalData &body = m.modal[b.modal];
  const int n = body.modes;
  const Motion<T> *H = ws.H + b.H;
  Load<T> *U = ws.modal_load + body.loads;
  T *square = ws.modal_square + body.squares;
  for (int r = 0; r < n; ++r) {
    const Load<T> L = mul(I, H[r].w, H[r].v);
    add_to_parent(ws.X[i], L, U[r]);
    for (int s = 0; s <= r; ++s)
      square[r * n + s] = square[r * n + s] + dot(H[s].w, L.n) + dot(H[s].v, L.f);
  }
}

// the lower triangle of modal_square and the loads of modal body i, when its frame moves with the modes too:
// U_r becomes U_r + I H_r, square_rs + H_r . U_s + U_r . H_s + H_r . I H_s
template <class T, class Inertia> inline void complete_modal(const ModelData &m, Workspace<T> &ws, const Inertia &I, int i) {
  const BodyData &b = m.bodies[i];
  if (!b.moves)
    return;
  const ModalData &body = m.modal[b.modal];
  const int n = body.modes;
  const Motion<T> *H = ws.H + b.H;
  Load<T> *U = ws.modal_load + body.loads;
  T *square = ws.modal_square + body.squares;
  for (int r = 0; r < n; ++r) {
    for (int s = r; s < n; ++s) // U_s of later modes are still without I H_s
      square[s * n + r] = square[s * n + r] + dot(H[r].w, U[s].n) + dot(H[r].v, U[s].f);
    const Load<T> L = mul(I, H[r].w, H[r].v);
    U[r].n += L.n;
    U[r].f += L.f;
    for (int s = r; s < n; ++s)
      square[s * n + r] = square[s * n + r] + dot(H[s].w, U[r].n) + dot(H[s].v, U[r].f);
  }
}

// pivots of the modes: square = L d L^T, z = L^-1 U; L packed by rows
template <class T> inline void factor_modal(const ModelData &m, Workspace<T> &ws, int i) {
  const BodyData &b = m.bodies[i];
  const ModalData &body = m.modal[b.modal];
  const int n = body.modes;
  const Load<T> *U = ws.modal_load + body.loads;
  T *D = ws.modal_square + body.squares, *L = ws.modal_factor + body.factors;
  Pivot<T> *pivot = ws.pivot + b.v;
  for (int r = 0; r < n; ++r) {
    T *row = D + r * n;
    for (int k = 0; k < r; ++k) {
      T s = row[k];
      for (int l = 0; l < k; ++l)
        s = s - row[l] * L[k * (k - 1) / 2 + l];
      row[k] = s; // L_rk d_k
    }
    T d = row[r];
    Load<T> z = U[r];
    for (int k = 0; k < r; ++k) {
      const T l = row[k] * pivot[k].inverse;
      d = d - l * row[k];
      L[r * (r - 1) / 2 + k] = l;
      z.n -= scale(l, pivot[k].z.n);
      z.f -= scale(l, pivot[k].z.f);
    }
    pivot[r] = {z, 1.0 / d};
  }
}

// ---- energies

// kinetic energy of modal body i beside that of its rigid part, and strain energy
template <class T> inline T modal_kinetic(const ModelData &m, const Workspace<T> &ws, const T *v, int i) {
  const BodyData &b = m.bodies[i];
  const ModalTables t = modal_tables(m, m.modal[b.modal]);
  const Load<T> *own = ws.modal_own + m.modal[b.modal].loads;
  T sum(0.0);
  for (int r = 0; r < t.n; ++r)
    sum = sum + v[b.v + r] * (dot(own[r].n, ws.w[i]) + dot(own[r].f, ws.u[i]) + 0.5 * modal_product(t, v + b.v, r));
  return sum;
}
template <class T> inline T quadratic_form(const double *A, const T *x, int n) {
  T sum(0.0);
  for (int r = 0; r < n; ++r)
    for (int s = 0; s < n; ++s)
      sum = sum + (x[r] * x[s]) * A[r * n + s];
  return sum;
}
template <class T> inline T strain_energy(const ModelData &m, const T *q, int i) {
  const BodyData &b = m.bodies[i];
  return 0.5 * quadratic_form(modal_tables(m, m.modal[b.modal]).stiffness, q + b.q, b.nv);
}
// power that the damping of all flexible bodies takes
template <class T> inline T modal_loss(const ModelData &m, const T *v) {
  T sum(0.0);
  for (int i = 1; m.modal_count && i <= m.nb; ++i)
    if (m.bodies[i].form == JointForm::modal)
      sum = sum + quadratic_form(modal_tables(m, m.modal[m.bodies[i].modal]).damping, v + m.bodies[i].v, m.bodies[i].nv);
  return sum;
}

} // namespace dalembert::DALEMBERT_ISA
