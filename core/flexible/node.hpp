// Nodes of flexible bodies: (1) of flexible/body.hpp, and the two pseudo-joints that nodes and modal bodies stand at.
#pragma once

#include "flexible/modal_tables.hpp"

namespace dalembert::DALEMBERT_ISA {

// ---- a node in the frame of its body

// (1 - cos x) / x^2 and (x - sin x) / x^3 with their derivatives by s = x^2; to round-off for |x| < pi
template <class T> struct SlopeSeries { T a, b, a1, b1; };
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
  const double *at = m.modal_values + b.shape;
  return {at, at + 3, body.second ? at + 3 + 6 * body.modes : nullptr};
}

// (1): pose in B; columns of [omega; v] per unit of each modal velocity, axes of B
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
  const Mat3<T> R{one + f.a * x.x * x.x,        f.a * x.x * x.y - sine * x.z, f.a * x.x * x.z + sine * x.y,
                  f.a * x.x * x.y + sine * x.z, one + f.a * x.y * x.y,        f.a * x.y * x.z - sine * x.x,
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
  // theta, theta', and what eta' leaves of theta'', v'
  Vec3<T> x = zero3<T>(), u = zero3<T>(), du = zero3<T>(), dv = zero3<T>();
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

// ---- the two pseudo-joints: pose in the parent, columns in axes of F

template <class T>
DALEMBERT_INLINE void node_position(const ModelData &m, const BodyData &b, Workspace<T> &ws, const T *q, int i) {
  Motion<T> *H = ws.H + b.H;
  ws.X[i] = node_pose(m, b, q + m.bodies[b.parent].q, H);
  for (int r = 0; r < b.moves; ++r)
    H[r] = {mul_t(ws.X[i].R, H[r].w), mul_t(ws.X[i].R, H[r].v)};
}

// B seen from node d: with C, c the pose of d in B and w, u its velocity there, -w and -(u - w x c) in axes of B
template <class T>
DALEMBERT_INLINE void modal_position(const ModelData &m, const BodyData &b, Workspace<T> &ws, const T *q, int i) {
  Pose<T> &X = ws.X[i];
  if (!b.moves) { // clamped at d
    X.R = lift<T>(as_mat(b.R_PJ));
    X.p = lift<T>(as_vec(b.p_PJ)) - mul(X.R, as_vec(m.modal_values + b.shape));
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
template <class T> inline Motion<T> flexible_bias(const ModelData &m, const BodyData &b, const Workspace<T> &ws,
                                                  const T *q, const T *v, int i) {
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

} // namespace dalembert::DALEMBERT_ISA
