#include "tree/kinematics.hpp"
#include "tree/frame_motion.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> void start_at_ground(const ModelData &m, Workspace<T> &ws, bool weight) { ground(m, ws, weight); }

template <class T> void compute_poses(const ModelData &m, Workspace<T> &ws, const T *q) {
  for (int i = 1; i <= m.nb; ++i)
    position(m, m.bodies[i], ws, q, i);
}

template <class T> void compute_velocities(const ModelData &m, Workspace<T> &ws, const T *q, const T *v) {
  for (int i = 1; i <= m.nb; ++i)
    velocity(m, m.bodies[i], ws, q, v, i);
}

template <class T> void place_in_world(const ModelData &m, Workspace<T> &ws) {
  for (int i = 1; i <= m.nb; ++i)
    world_pose(m.bodies[i], ws, i);
}

template <class T> void move_in_world(const ModelData &m, Workspace<T> &ws, const T *v) {
  for (int i = 1; i <= m.nb; ++i)
    linear_velocity(m.bodies[i], ws, v, i);
}

template <class T> void compute_accelerations(const ModelData &m, Workspace<T> &ws, const T *a) {
  for (int i = 1; i <= m.nb; ++i)
    if (a)
      acceleration(m.bodies[i], ws, a, i);
    else
      bias_acceleration(m.bodies[i], ws, i);
}

template <class T> void subtract_loads(const ModelData &m, Workspace<T> &ws, const T *loads) {
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    world_pose(m.bodies[i], ws, i);
    if (!b.user)
      continue;
    const T *g = loads + 6 * (b.user - 1);
    const Vec3<T> f = mul_t(ws.X_W[i].R, Vec3<T>{g[3], g[4], g[5]});
    ws.p_A[i].f -= f;
    ws.p_A[i].n -= mul_t(ws.X_W[i].R, Vec3<T>{g[0], g[1], g[2]}) +
                   table_entry<T>(m, b, [&](const auto &numbers) { return cross(as_vec(numbers.p_FB), f); });
  }
}

template void start_at_ground(const ModelData &, Workspace<double> &, bool);
template void start_at_ground(const ModelData &, Workspace<Pack> &, bool);
template void start_at_ground(const ModelData &, Workspace<Dual> &, bool);
template void start_at_ground(const ModelData &, Workspace<Traced> &, bool);
template void compute_poses(const ModelData &, Workspace<double> &, const double *);
template void compute_poses(const ModelData &, Workspace<Pack> &, const Pack *);
template void compute_poses(const ModelData &, Workspace<Dual> &, const Dual *);
template void compute_poses(const ModelData &, Workspace<Traced> &, const Traced *);
template void compute_velocities(const ModelData &, Workspace<double> &, const double *, const double *);
template void compute_velocities(const ModelData &, Workspace<Pack> &, const Pack *, const Pack *);
template void compute_velocities(const ModelData &, Workspace<Dual> &, const Dual *, const Dual *);
template void compute_velocities(const ModelData &, Workspace<Traced> &, const Traced *, const Traced *);
template void place_in_world(const ModelData &, Workspace<double> &);
template void place_in_world(const ModelData &, Workspace<Pack> &);
template void place_in_world(const ModelData &, Workspace<Dual> &);
template void place_in_world(const ModelData &, Workspace<Traced> &);
template void move_in_world(const ModelData &, Workspace<double> &, const double *);
template void move_in_world(const ModelData &, Workspace<Pack> &, const Pack *);
template void move_in_world(const ModelData &, Workspace<Dual> &, const Dual *);
template void move_in_world(const ModelData &, Workspace<Traced> &, const Traced *);
template void compute_accelerations(const ModelData &, Workspace<double> &, const double *);
template void compute_accelerations(const ModelData &, Workspace<Pack> &, const Pack *);
template void compute_accelerations(const ModelData &, Workspace<Dual> &, const Dual *);
template void compute_accelerations(const ModelData &, Workspace<Traced> &, const Traced *);
template void subtract_loads(const ModelData &, Workspace<double> &, const double *);
template void subtract_loads(const ModelData &, Workspace<Pack> &, const Pack *);
template void subtract_loads(const ModelData &, Workspace<Dual> &, const Dual *);
template void subtract_loads(const ModelData &, Workspace<Traced> &, const Traced *);

} // namespace dalembert::DALEMBERT_ISA
