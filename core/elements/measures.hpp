// Measures of elements, and the loads of their forces.
//
//     place       p of B in A            rate: velocity seen from A              force on B
//     attitude    rotation vector of B   rate: angular velocity seen from A      moment on B
//     distance    |p|                    its rate                                tension's opposite, along p
//     joint       its coordinate         its velocity                               effort
//     load        nothing                velocity of B                           force and moment on B
//
// The first three in axes of A, acting at the origin of B, with the opposite on A at the same point. The power of an
// element on the rest is force times rate. A joint that closes a loop is seen by its face (joints/joint.hpp).
#pragma once

#include "constraints/loop_constraints.hpp"
#include "tree/kinematics.hpp"

namespace dalembert::DALEMBERT_ISA {

DALEMBERT_INLINE int measures_of(Measure measure) {
  return measure == Measure::joint || measure == Measure::distance ? 1 : measure == Measure::place ? 3 : 6;
}

// what is measured, its rates, and the axes it is measured in
template <class T> struct Measured {
  T s[6], rate[6];
  Mat3<T> R_A;
  Vec3<T> point;     // origin of B in the world
  Vec3<T> direction; // of a distance, axes of the world
  Motion<T> effort;  // of a cut joint: [moment; force] on B per unit of effort, axes of the world
};

template <class T>
inline void measure_cut_joint(const ModelData &m, Workspace<T> &ws, const PortData &port, Measured<T> &now) {
  const LoopConstraintData &constraint = m.loop_constraints[port.constraint];
  const LoopConstraintPose<T> place = loop_constraint_pose(m, ws, constraint);
  JointMotion<T> joint_motion;
  loop_joint_motion(m, ws, constraint, place.relative, joint_motion);
  // an attitude: its velocities have no coordinates of their own
  now.s[0] = constraint.nq == constraint.nv ? joint_motion.q[port.part] : T(0.0);
  now.rate[0] = face_speed(joint_motion, place.relative, port.part);
  now.effort = {mul(place.A.R, joint_motion.D[port.part].w), mul(place.A.R, joint_motion.D[port.part].v)};
}

template <class T, class P>
inline void measure_velocity(const Workspace<T> &ws, const PortData &port, const P &numbers, Measured<T> &now) {
  const Pose<T> &X = ws.X_W[port.body_b];
  const Vec3<T> p_B = lift<T>(as_vec(numbers.p_FB));
  Vec3<T> v = point_velocity(ws, port.body_b, p_B), w = mul(X.R, ws.w[port.body_b]);
  now.point = point_in_world(ws, port.body_b, p_B);
  if (port.measure == Measure::load_body) {
    now.R_A = mul(X.R, lift<T>(as_mat(numbers.R_FB)));
    v = mul_t(now.R_A, v), w = mul_t(now.R_A, w);
  }
  for (T &each : now.s)
    each = T(0.0);
  now.rate[0] = v.x, now.rate[1] = v.y, now.rate[2] = v.z, now.rate[3] = w.x, now.rate[4] = w.y, now.rate[5] = w.z;
}

template <class T, class P> inline void measure_between(const Workspace<T> &ws, const PortData &port, const P &numbers,
                                                        Measured<T> &now, bool turns) {
  const Vec3<T> p_A = lift<T>(as_vec(numbers.p_FA)), p_B = lift<T>(as_vec(numbers.p_FB));
  now.point = point_in_world(ws, port.body_b, p_B);
  const bool still = !port.body_a; // A is on ground
  const Vec3<T> r = now.point - (still ? p_A : point_in_world(ws, port.body_a, p_A));
  Vec3<T> relative = point_velocity(ws, port.body_b, p_B);
  if (!still)
    relative = relative - point_velocity(ws, port.body_a, p_A);
  if (port.measure == Measure::distance) {
    const T square = dot(r, r);
    const auto gone = less(square, T(1e-300)); // no direction: no force
    const T length = root(select(gone, T(1.0), square));
    now.direction = scale(select(gone, T(0.0), 1.0 / length), r);
    now.s[0] = select(gone, T(0.0), length);
    now.rate[0] = dot(now.direction, relative);
    return;
  }
  now.R_A = lift<T>(as_mat(numbers.R_FA));
  Vec3<T> w_A = zero3<T>();
  if (!still) {
    w_A = mul(ws.X_W[port.body_a].R, ws.w[port.body_a]);
    now.R_A = mul(ws.X_W[port.body_a].R, now.R_A);
    relative = relative - cross(w_A, r);
  }
  const Vec3<T> p = mul_t(now.R_A, r), u = mul_t(now.R_A, relative);
  now.s[0] = p.x, now.s[1] = p.y, now.s[2] = p.z;
  now.rate[0] = u.x, now.rate[1] = u.y, now.rate[2] = u.z;
  if (port.measure == Measure::pose) {
    const Pose<T> &B = ws.X_W[port.body_b];
    const Vec3<T> phi = turns ? rotation_vector(mul_ta(now.R_A, mul(B.R, lift<T>(as_mat(numbers.R_FB))))) : zero3<T>();
    const Vec3<T> w = mul_t(now.R_A, mul(B.R, ws.w[port.body_b]) - w_A);
    now.s[3] = phi.x, now.s[4] = phi.y, now.s[5] = phi.z;
    now.rate[3] = w.x, now.rate[4] = w.y, now.rate[5] = w.z;
  }
}

// turns: the rotation vector of a pose is wanted
template <class T> DALEMBERT_INLINE void measure(const ModelData &m, Workspace<T> &ws, const PortData &port, const T *q,
                                                 const T *v, Measured<T> &now, bool turns) {
  if (port.measure != Measure::joint) {
    table_entry<T>(m, port, [&](const auto &numbers) {
      if (port.measure >= Measure::load_world)
        measure_velocity(ws, port, numbers, now);
      else
        measure_between(ws, port, numbers, now, turns);
    });
  } else if (port.constraint >= 0) {
    measure_cut_joint(m, ws, port, now);
  } else {
    now.s[0] = port.coordinate >= 0 ? q[port.coordinate] : T(0.0);
    now.rate[0] = v[port.dof];
  }
}

// a load on a body: [moment; force] at the point p of F, in axes of F
template <class T> DALEMBERT_INLINE Load<T> at_origin(const Vec3<T> &p, const Vec3<T> &n, const Vec3<T> &f) {
  return {n + cross(p, f), f};
}

// [moment n; force f] on body_b at its point p_B, which is there in the world, world axes, and the opposite on body_a
// at the same point in space: calls push(body, load in F), not for ground
template <class T, class ApplyForce>
inline void apply_force_pair(const Workspace<T> &ws, int body_a, int body_b, const Vec3<T> &p_B, const Vec3<T> &point,
                             const Vec3<T> &n, const Vec3<T> &f, ApplyForce &&apply_force) {
  const Pose<T> &A = ws.X_W[body_a], &B = ws.X_W[body_b];
  if (body_b)
    apply_force(body_b, at_origin(p_B, mul_t(B.R, n), mul_t(B.R, f)));
  if (body_a)
    apply_force(body_a, at_origin(mul_t(A.R, point - A.p), mul_t(A.R, -n), mul_t(A.R, -f)));
}

// [moment; force] of a port on B, at its origin, world axes
template <class T> inline Load<T> port_load(const PortData &port, const Measured<T> &now, const T *force) {
  switch (port.measure) {
  case Measure::joint:
    return {scale(force[0], now.effort.w), scale(force[0], now.effort.v)};
  case Measure::distance:
    return {zero3<T>(), scale(force[0], now.direction)};
  case Measure::place:
    return {zero3<T>(), mul(now.R_A, Vec3<T>{force[0], force[1], force[2]})};
  case Measure::load_world:
    return {{force[3], force[4], force[5]}, {force[0], force[1], force[2]}};
  default:
    return {mul(now.R_A, Vec3<T>{force[3], force[4], force[5]}), mul(now.R_A, Vec3<T>{force[0], force[1], force[2]})};
  }
}

} // namespace dalembert::DALEMBERT_ISA
