#include "tree/inverse_dynamics.hpp"
#include "tree/joint_maps.hpp"

namespace dalembert::DALEMBERT_ISA {

// (1) for one body
template <class T, class B> DALEMBERT_INLINE Load<T> inertia_load(const B &b, const Vec3<T> &w, const Motion<T> &A) {
  const auto &h = as_vec(b.h);
  const auto &J = as_sym(b.J);
  return {mul(J, A.w) + cross(h, A.v) + cross(w, mul(J, w)),
          scale(b.mass, A.v) + cross(A.w, h) + cross(w, cross(w, h))};
}

template <class T>
void start_inverse(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, const T *a, T *tau) {
  start_at_ground(m, ws, true);
  compute_poses(m, ws, q);
  compute_velocities(m, ws, q, v);
  compute_accelerations(m, ws, a);
  for (int i = 1; i <= m.nb; ++i) {
    if (m.bodies[i].form == JointForm::modal)
      ws.p_A[i] = flexible_load(m, ws, q, v, a, i, tau + m.bodies[i].v);
    else
      ws.p_A[i] = table_entry<T>(m, m.bodies[i], [&](const auto &b) { return inertia_load(b, ws.w[i], ws.A[i]); });
  }
}

template <class T> void finish_inverse(const ModelData &m, Workspace<T> &ws, const T *a, T *tau) {
  for (int i = m.nb; i > 0; --i) {
    const BodyData &b = m.bodies[i];
    if (b.form == JointForm::modal || b.form == JointForm::node)
      add_modal_force(b, ws.H + b.H, ws.p_A[i], tau + b.by);
    else
      joint_force(b, ws.H + b.H, ws.p_A[i], tau + b.v);
    for (int k = b.v; a && b.armature && k < b.v + b.nv; ++k)
      tau[k] = tau[k] + armature_of<T>(m, k) * a[k];
    if (b.parent)
      add_to_parent(ws.X[i], ws.p_A[i], ws.p_A[b.parent]);
  }
}

template <class T> void inverse_dynamics(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, const T *a,
                                         const T *loads, T *tau) {
  start_inverse(m, ws, q, v, a, tau);
  if (loads)
    subtract_loads(m, ws, loads);
  finish_inverse(m, ws, a, tau);
}

template void start_inverse(const ModelData &, Workspace<double> &, const double *, const double *, const double *,
                            double *);
template void start_inverse(const ModelData &, Workspace<Pack> &, const Pack *, const Pack *, const Pack *, Pack *);
template void start_inverse(const ModelData &, Workspace<Dual> &, const Dual *, const Dual *, const Dual *, Dual *);
template void start_inverse(const ModelData &, Workspace<Traced> &, const Traced *, const Traced *, const Traced *, Traced *);
template void finish_inverse(const ModelData &, Workspace<double> &, const double *, double *);
template void finish_inverse(const ModelData &, Workspace<Pack> &, const Pack *, Pack *);
template void finish_inverse(const ModelData &, Workspace<Dual> &, const Dual *, Dual *);
template void finish_inverse(const ModelData &, Workspace<Traced> &, const Traced *, Traced *);
template void inverse_dynamics(const ModelData &, Workspace<double> &, const double *, const double *, const double *,
                               const double *, double *);
template void inverse_dynamics(const ModelData &, Workspace<Pack> &, const Pack *, const Pack *, const Pack *,
                               const Pack *, Pack *);
template void inverse_dynamics(const ModelData &, Workspace<Dual> &, const Dual *, const Dual *, const Dual *,
                               const Dual *, Dual *);

} // namespace dalembert::DALEMBERT_ISA
