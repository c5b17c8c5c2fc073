// Position, velocity and acceleration of all frames F, outward from ground; equation numbers are those of
// tree/frame_motion.hpp.
#pragma once

#include "tree/workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// ground at rest; gravity enters as an upward acceleration of the base when `weight` is true
template <class T> void start_at_ground(const ModelData &m, Workspace<T> &ws, bool weight);

// frames in their parents, X, and motion maps H
template <class T> void compute_poses(const ModelData &m, Workspace<T> &ws, const T *q);

// (1), (5), (6): angular velocities and what is left of accelerations, after compute_poses
template <class T> void compute_velocities(const ModelData &m, Workspace<T> &ws, const T *q, const T *v);

// frames in the world
template <class T> void place_in_world(const ModelData &m, Workspace<T> &ws);

// (2): velocities of the origins, after compute_velocities
template <class T> void move_in_world(const ModelData &m, Workspace<T> &ws, const T *v);

// all of these: frames in the world, with velocities
template <class T> inline void place_and_move(const ModelData &m, Workspace<T> &ws, const T *q, const T *v) {
  start_at_ground(m, ws, false);
  compute_poses(m, ws, q);
  place_in_world(m, ws);
  compute_velocities(m, ws, q, v);
  move_in_world(m, ws, v);
}

// (3), (4): accelerations, after compute_velocities; a may be null (no joint accelerates)
template <class T> void compute_accelerations(const ModelData &m, Workspace<T> &ws, const T *a);

// given loads come as moment and force on each body at the origin of the user's frame, in world axes; they leave p_A,
// moved to the origin of F and turned into its axes
template <class T> void subtract_loads(const ModelData &m, Workspace<T> &ws, const T *loads);

template <class T> DALEMBERT_INLINE Vec3<T> point_in_world(const Workspace<T> &ws, int body, const Vec3<T> &p) {
  return ws.X_W[body].p + mul(ws.X_W[body].R, p);
}
template <class T> DALEMBERT_INLINE Vec3<T> point_velocity(const Workspace<T> &ws, int body, const Vec3<T> &p) {
  return mul(ws.X_W[body].R, ws.u[body] + cross(ws.w[body], p));
}

} // namespace dalembert::DALEMBERT_ISA
