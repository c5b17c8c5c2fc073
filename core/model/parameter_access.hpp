// Table entries as kernels read them, for any scalar.
//
// For double they are the tables themselves. For dual numbers and for SIMD batches, ModelData::varied may point to
// tables in their place: entries with slopes by the parameters, or those of the model of each lane. `table_entry`
// chooses between the two.
#pragma once

#include "model/model_data.hpp"
#include "scalar/arena.hpp"
#include "scalar/spatial_inertia.hpp"
#include "scalar/traced.hpp"
#include <type_traits>

namespace dalembert::DALEMBERT_ISA {

template <class S> struct BodyParameters { S R_PJ[9], p_PJ[3], mass, h[3], J[6], R_FB[9], p_FB[3], pitch; };
template <class S> struct EndpointParameters { // of loop constraints and ports
  S R_FA[9], p_FA[3], R_FB[9], p_FB[3];
};
template <class S> struct LoopConstraintParameters : EndpointParameters<S> { S R_FM[9], parameter; };
template <class S> struct MarkerParameters { S R_FM[9], p_FM[3]; };

template <class S> struct ParameterTables {
  BodyParameters<S> *bodies; // nb + 1
  LoopConstraintParameters<S> *loop_constraints;
  EndpointParameters<S> *ports;
  MarkerParameters<S> *markers;
  S *armature, *support_factor, *law_values, *offsets;
  S *joint_constants;       // of the programs of joints
  S *elastic;               // of each flexible body stiffness, then damping, n x n each
  S *gravity;               // 3
  Pose<S> *marked, *framed; // X_M of all markers, X_FB of all bodies of the user
};

inline std::size_t elastic_count(const ModelData &m) {
  std::size_t count = 0;
  for (int k = 0; k < m.modal_count; ++k)
    count += 2 * std::size_t(m.modal[k].modes) * std::size_t(m.modal[k].modes);
  return count;
}
// where the stiffness of a flexible body stands in ModelData::modal_values (flexible/body.hpp); its damping follows
inline std::int64_t elastic_place(const ModalData &body) { return body.elastic; }

template <class S> inline std::size_t lay_out(const ModelData &m, std::byte *base, ParameterTables<S> &n) {
  Arena arena{base};
  if (!m.parameter_maps.count)
    return 0;
  n.bodies = arena.take<BodyParameters<S>>(std::size_t(m.nb) + 1);
  n.loop_constraints = arena.take<LoopConstraintParameters<S>>(std::size_t(m.loop_constraint_count));
  n.ports = arena.take<EndpointParameters<S>>(std::size_t(m.port_count));
  n.markers = arena.take<MarkerParameters<S>>(std::size_t(m.users));
  n.armature = arena.take<S>(m.armature ? std::size_t(m.nv) : 0);
  n.support_factor = arena.take<S>(std::size_t(m.support_count));
  n.law_values = arena.take<S>(std::size_t(m.law_value_count));
  n.offsets = arena.take<S>(std::size_t(m.drive_count));
  n.joint_constants = arena.take<S>(std::size_t(m.joint_constant_count));
  n.elastic = arena.take<S>(elastic_count(m));
  n.gravity = arena.take<S>(3);
  n.marked = arena.take<Pose<S>>(std::size_t(m.parameter_maps.markers));
  n.framed = arena.take<Pose<S>>(std::size_t(m.users) + 1);
  return arena.used;
}

template <class T> inline const ParameterTables<T> *parameters_of(const ModelData &m) {
  return static_cast<const ParameterTables<T> *>(m.varied);
}
template <class T> constexpr bool varies = differentiates<T> || std::is_same_v<T, Pack>;

// calls f with the numbers of a row: those of the tables, or dual numbers, or those of each lane, in their place
template <class T, class F> DALEMBERT_INLINE decltype(auto) table_entry(const ModelData &m, const BodyData &b, F &&f) {
  if constexpr (varies<T>)
    if (m.varied)
      return f(parameters_of<T>(m)->bodies[&b - m.bodies]);
  return f(b);
}
template <class T, class F>
DALEMBERT_INLINE decltype(auto) table_entry(const ModelData &m, const LoopConstraintData &constraint, F &&f) {
  if constexpr (varies<T>)
    if (m.varied)
      return f(parameters_of<T>(m)->loop_constraints[&constraint - m.loop_constraints]);
  return f(constraint);
}
template <class T, class F>
DALEMBERT_INLINE decltype(auto) table_entry(const ModelData &m, const PortData &port, F &&f) {
  if constexpr (varies<T>)
    if (m.varied)
      return f(parameters_of<T>(m)->ports[&port - m.ports]);
  return f(port);
}

// single numbers: of type double unless T varies
template <class T> DALEMBERT_INLINE auto parameter_of(const ModelData &m, const LoopConstraintData &constraint) {
  if constexpr (varies<T>)
    return m.varied ? parameters_of<T>(m)->loop_constraints[&constraint - m.loop_constraints].parameter
                    : T(constraint.parameter);
  else
    return constraint.parameter;
}
template <class T> DALEMBERT_INLINE auto factor_of(const ModelData &m, std::int32_t place) {
  if constexpr (varies<T>)
    return m.varied ? parameters_of<T>(m)->support_factor[place] : T(m.support_factor[place]);
  else
    return m.support_factor[place];
}
template <class T> DALEMBERT_INLINE auto armature_of(const ModelData &m, std::int32_t dof) {
  if constexpr (varies<T>)
    return m.varied ? parameters_of<T>(m)->armature[dof] : T(m.armature[dof]);
  else
    return m.armature[dof];
}
template <class T> DALEMBERT_INLINE auto offset_of(const ModelData &m, const DriveData &drive) {
  if constexpr (varies<T>)
    return m.varied ? parameters_of<T>(m)->offsets[&drive - m.drives] : T(drive.offset);
  else
    return drive.offset;
}
template <class T> DALEMBERT_INLINE T gravity_of(const ModelData &m, int axis) {
  if constexpr (varies<T>)
    return m.varied ? parameters_of<T>(m)->gravity[axis] : T(m.gravity[axis]);
  else
    return T(m.gravity[axis]);
}

} // namespace dalembert::DALEMBERT_ISA
