// Position, velocity and acceleration of one frame F, when those of its parent are known.
//
// With X = (R, p) the pose of F in its parent P, H v the joint's relative motion and bias its
// remaining rate, in axes of F (Luh, Walker, Paul 1980; Slaats 1991, (3.15), (3.25), (3.35) with
// the rotation of the joint frame that (3.39) omits, erratum):
//
//     w = R^T w_P + H_w v                                                                    (1)
//     u = R^T (u_P + w_P x p) + H_v v                                                        (2)
//     alpha = R^T alpha_P + c_w + H_w a                                                      (3)
//     acc = R^T (acc_P + alpha_P x p) + c_v + H_v a                                          (4)
//     c_w = (R^T w_P) x (H_w v) + bias_w                                                     (5)
//     c_v = R^T (w_P x (w_P x p)) + 2 (R^T w_P) x (H_v v) + bias_v                           (6)
//
// Accelerations are classical: acc is the rate of the velocity of the origin of F.
#pragma once

#include "tree/joint_maps.hpp"

namespace dalembert::DALEMBERT_ISA {

// (1), (5), (6) for one body, after its position
template <class T>
DALEMBERT_INLINE void velocity(const ModelData &m, const BodyData &b, Workspace<T> &ws, const T *q, const T *v, int i) {
  const Pose<T> &X = ws.X[i];
  const Vec3<T> w_P = ws.w[b.parent];
  const Vec3<T> w = mul_t(X.R, w_P);
  Motion<T> c;
  c.v = mul_t(X.R, cross(w_P, cross(w_P, X.p)));
  switch (b.form) {
  case JointForm::about_z: {
    const T s = v[b.v];
    c.w = {w.y * s, -(w.x * s), T(0.0)};
    ws.w[i] = {w.x, w.y, w.z + s};
    break;
  }
  case JointForm::along_z: {
    const T s = 2.0 * v[b.v];
    c.w = zero3<T>();
    c.v.x = c.v.x + w.y * s;
    c.v.y = c.v.y - w.x * s;
    ws.w[i] = w;
    break;
  }
  case JointForm::none:
    c.w = zero3<T>();
    ws.w[i] = w;
    break;
  case JointForm::custom: {
    const Motion<T> r = relative(ws.H + b.H, v + b.v, b.nv), bias = custom_bias(m, ws, b, v + b.v);
    c.w = cross(w, r.w) + bias.w;
    c.v += scale(2.0, cross(w, r.v)) + bias.v;
    ws.w[i] = w + r.w;
    break;
  }
  case JointForm::modal:
  case JointForm::node: {
    c.w = zero3<T>();
    ws.w[i] = w;
    if (!b.moves)
      break;
    const Motion<T> r = relative(ws.H + b.H, v + b.by, b.moves), bias = flexible_bias(m, b, ws, q, v, i);
    c.w = cross(w, r.w) + bias.w;
    c.v += scale(2.0, cross(w, r.v)) + bias.v;
    ws.w[i] = w + r.w;
    break;
  }
  case JointForm::columns:
    visit_general(b.kind, [&](auto joint) {
      using Kind = decltype(joint);
      const Motion<T> *H = ws.H + b.H;
      const Motion<T> r = relative(H, v + b.v, Kind::nv), bias = Kind::bias(v + b.v, r, H);
      c.w = cross(w, r.w) + bias.w;
      c.v += scale(2.0, cross(w, r.v)) + bias.v;
      ws.w[i] = w + r.w;
    });
  }
  ws.c[i] = c;
}

// (2) for one body, after its velocity()
template <class T> DALEMBERT_INLINE void linear_velocity(const BodyData &b, Workspace<T> &ws, const T *v, int i) {
  const Pose<T> &X = ws.X[i];
  Motion<T> motion{zero3<T>(), mul_t(X.R, ws.u[b.parent] + cross(ws.w[b.parent], X.p))};
  add_joint_motion(b, ws.H + b.H, v + b.by, motion);
  ws.u[i] = motion.v;
}

// (3), (4) for one body while its joint does not accelerate
template <class T> DALEMBERT_INLINE void bias_acceleration(const BodyData &b, Workspace<T> &ws, int i) {
  const Pose<T> &X = ws.X[i];
  const Motion<T> &P = ws.A[b.parent], &c = ws.c[i];
  ws.A[i] = {mul_t(X.R, P.w) + c.w, mul_t(X.R, P.v + cross(P.w, X.p)) + c.v};
}

// (3), (4) for one body
template <class T> DALEMBERT_INLINE void acceleration(const BodyData &b, Workspace<T> &ws, const T *a, int i) {
  bias_acceleration(b, ws, i);
  add_joint_motion(b, ws.H + b.H, a + b.by, ws.A[i]);
}

// ground: at rest; gravity enters as an upward acceleration of the base when `weight` is true
template <class T> DALEMBERT_INLINE void ground(const ModelData &m, Workspace<T> &ws, bool weight) {
  ws.w[0] = ws.u[0] = zero3<T>();
  ws.A[0].w = ws.A[0].v = zero3<T>();
  if (weight)
    ws.A[0].v = {-gravity_of<T>(m, 0), -gravity_of<T>(m, 1), -gravity_of<T>(m, 2)};
  ws.X_W[0] = {lift<T>(Mat3<double>{1, 0, 0, 0, 1, 0, 0, 0, 1}), zero3<T>()};
}

template <class T> DALEMBERT_INLINE void world_pose(const BodyData &b, Workspace<T> &ws, int i) {
  ws.X_W[i] = compose(ws.X_W[b.parent], ws.X[i]);
}

} // namespace dalembert::DALEMBERT_ISA
