// Position, velocity and acceleration of the frames F, outward from ground.
//
// With X = (R, p) the pose of F in its parent P, H v the hinge's relative motion and bias its
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

#include "hinge.hpp"

namespace dalembert::DALEMBERT_ISA {

// (1), (5), (6) for one body, after its position
template <class T> DALEMBERT_INLINE void velocity(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, int i) {
  const BodyData &b = m.bodies[i];
  const Pose<T> &X = ws.X[i];
  const Vec3<T> w_P = ws.w[b.parent];
  const Vec3<T> w = mul_t(X.R, w_P);
  Motion<T> c;
  c.v = mul_t(X.R, cross(w_P, cross(w_P, X.p)));
  switch (b.kind) {
  case Hinge::revolute: {
    const T s = v[b.v];
    c.w = {w.y * s, -(w.x * s), T(0.0)};
    ws.w[i] = {w.x, w.y, w.z + s};
    break;
  }
  case Hinge::prismatic: {
    const T s = 2.0 * v[b.v];
    c.w = zero3<T>();
    c.v.x = c.v.x + w.y * s;
    c.v.y = c.v.y - w.x * s;
    ws.w[i] = w;
    break;
  }
  case Hinge::fixed:
    c.w = zero3<T>();
    ws.w[i] = w;
    break;
  case Hinge::custom: {
    const Motion<T> r = relative(ws.H + b.H, v + b.v, b.nv), bias = custom_bias(m, ws, b, v + b.v);
    c.w = cross(w, r.w) + bias.w;
    c.v += scale(2.0, cross(w, r.v)) + bias.v;
    ws.w[i] = w + r.w;
    break;
  }
  case Hinge::modal:
  case Hinge::node: {
    c.w = zero3<T>();
    ws.w[i] = w;
    if (!b.moves)
      break;
    const Motion<T> r = relative(ws.H + b.H, v + b.by, b.moves), bias = flexible_bias(m, ws, q, v, i);
    c.w = cross(w, r.w) + bias.w;
    c.v += scale(2.0, cross(w, r.v)) + bias.v;
    ws.w[i] = w + r.w;
    break;
  }
  default:
    visit_general(b.kind, [&](auto hinge) {
      using Kind = decltype(hinge);
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
template <class T> DALEMBERT_INLINE void linear_velocity(const ModelData &m, Workspace<T> &ws, const T *v, int i) {
  const BodyData &b = m.bodies[i];
  const Pose<T> &X = ws.X[i];
  Motion<T> motion{zero3<T>(), mul_t(X.R, ws.u[b.parent] + cross(ws.w[b.parent], X.p))};
  add_hinge_motion(b, ws.H + b.H, v + b.by, motion);
  ws.u[i] = motion.v;
}

// (3), (4) for one body while its hinge does not accelerate
template <class T> DALEMBERT_INLINE void coasting(const ModelData &m, Workspace<T> &ws, int i) {
  const Pose<T> &X = ws.X[i];
  const Motion<T> &P = ws.A[m.bodies[i].parent], &c = ws.c[i];
  ws.A[i] = {mul_t(X.R, P.w) + c.w, mul_t(X.R, P.v + cross(P.w, X.p)) + c.v};
}

// (3), (4) for one body
template <class T> DALEMBERT_INLINE void acceleration(const ModelData &m, Workspace<T> &ws, const T *a, int i) {
  const BodyData &b = m.bodies[i];
  coasting(m, ws, i);
  add_hinge_motion(b, ws.H + b.H, a + b.by, ws.A[i]);
}

// ground: at rest; gravity enters as an upward acceleration of the base when `weight` is true
template <class T> DALEMBERT_INLINE void ground(const ModelData &m, Workspace<T> &ws, bool weight) {
  ws.w[0] = ws.u[0] = zero3<T>();
  ws.A[0].w = ws.A[0].v = zero3<T>();
  if (weight)
    ws.A[0].v = {T(-m.gravity[0]), T(-m.gravity[1]), T(-m.gravity[2])};
  ws.X_W[0] = {lift<T>(Mat3<double>{1, 0, 0, 0, 1, 0, 0, 0, 1}), zero3<T>()};
}

template <class T> DALEMBERT_INLINE void world_pose(const ModelData &m, Workspace<T> &ws, int i) {
  ws.X_W[i] = compose(ws.X_W[m.bodies[i].parent], ws.X[i]);
}

// given loads come as moment and force on each body at the origin of the user's frame, in world axes; they leave p_A,
// moved to the origin of F and turned into its axes
template <class T> inline void subtract_loads(const ModelData &m, Workspace<T> &ws, const T *loads) {
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    world_pose(m, ws, i);
    if (!b.user)
      continue;
    const T *g = loads + 6 * (b.user - 1);
    const Vec3<T> f = mul_t(ws.X_W[i].R, Vec3<T>{g[3], g[4], g[5]});
    ws.p_A[i].f -= f;
    ws.p_A[i].n -= mul_t(ws.X_W[i].R, Vec3<T>{g[0], g[1], g[2]}) + cross(as_vec(b.p_FB), f);
  }
}

// what inverse_dynamics and forward_dynamics call to bring in loads: numbers, which may be null
template <class T> struct GivenLoads {
  const T *loads;
  void operator()(const ModelData &m, Workspace<T> &ws) const {
    if (loads)
      subtract_loads(m, ws, loads);
  }
};

} // namespace dalembert::DALEMBERT_ISA
