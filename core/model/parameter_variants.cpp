#include "model/parameter_maps.hpp"
#include "model/tables.hpp"

namespace dalembert {

namespace {

using DALEMBERT_ISA::ParameterTables;

template <std::size_t N> void copy(const double (&from)[N], double (&to)[N]) { std::copy(from, from + N, to); }

// the entries of the tables that may have changed
void take(const ModelData &m, const ParameterTables<double> &n, VariantTables &own) {
  for (std::size_t i = 0; i < own.bodies.size(); ++i) {
    const auto &from = n.bodies[i];
    BodyData &to = own.bodies[i];
    copy(from.R_PJ, to.R_PJ), copy(from.p_PJ, to.p_PJ), copy(from.h, to.h), copy(from.J, to.J);
    copy(from.R_FB, to.R_FB), copy(from.p_FB, to.p_FB);
    to.mass = from.mass, to.pitch = from.pitch;
  }
  const auto ends = [](const auto &from, auto &to) {
    copy(from.R_FA, to.R_FA), copy(from.p_FA, to.p_FA), copy(from.R_FB, to.R_FB), copy(from.p_FB, to.p_FB);
  };
  for (std::size_t k = 0; k < own.loop_constraints.size(); ++k) {
    ends(n.loop_constraints[k], own.loop_constraints[k]);
    copy(n.loop_constraints[k].R_FM, own.loop_constraints[k].R_FM);
    own.loop_constraints[k].parameter = n.loop_constraints[k].parameter;
  }
  for (std::size_t k = 0; k < own.ports.size(); ++k)
    ends(n.ports[k], own.ports[k]);
  for (std::size_t k = 0; k < own.markers.size(); ++k)
    copy(n.markers[k].R_FM, own.markers[k].R_FM), copy(n.markers[k].p_FM, own.markers[k].p_FM);
  for (std::size_t k = 0; k < own.drives.size(); ++k)
    own.drives[k].offset = n.offsets[k];
  const double *elastic = n.elastic;
  for (int k = 0; !own.modal_values.empty() && k < m.modal_count; ++k) {
    const std::ptrdiff_t count = 2 * std::ptrdiff_t(m.modal[k].modes) * m.modal[k].modes;
    std::copy(elastic, elastic + count, own.modal_values.begin() + DALEMBERT_ISA::elastic_place(m.modal[k]));
    elastic += count;
  }
}

} // namespace

ModelData with_parameters(const ModelData &m, const double *numbers, VariantTables &own) {
  ModelData varied = m;
  const auto copied = [](auto &to, const auto *from, std::size_t count) {
    to.assign(from, from + (from ? count : 0));
    return to.empty() ? nullptr : to.data();
  };
  varied.parameter_maps.values = copied(own.numbers, numbers, std::size_t(m.parameter_maps.count));
  varied.bodies = copied(own.bodies, m.bodies, std::size_t(m.nb) + 1);
  varied.markers = copied(own.markers, m.markers, std::size_t(m.users));
  varied.loop_constraints = copied(own.loop_constraints, m.loop_constraints, std::size_t(m.loop_constraint_count));
  varied.ports = copied(own.ports, m.ports, std::size_t(m.port_count));
  varied.drives = copied(own.drives, m.drives, std::size_t(m.drive_count));
  varied.armature = copied(own.armature, m.armature, std::size_t(m.nv));
  varied.support_factor = copied(own.support_factor, m.support_factor, std::size_t(m.support_count));
  varied.law_values = copied(own.law_values, m.law_values, std::size_t(m.law_value_count));
  varied.joints.constants = copied(own.joint_constants, m.joints.constants, std::size_t(m.joint_constant_count));
  const bool elastic = std::any_of(m.parameter_maps.scalar, m.parameter_maps.scalar + m.parameter_maps.scalars,
                                   [](const ScalarMap &map) { return map.target == ScalarTarget::elastic; });
  if (elastic)
    varied.modal_values = copied(own.modal_values, m.modal_values, std::size_t(m.modal_value_count));
  ParameterTables<double> n;
  std::vector<double> memory(DALEMBERT_ISA::lay_out(m, nullptr, n) / sizeof(double) + 8);
  DALEMBERT_ISA::lay_out(m, reinterpret_cast<std::byte *>(memory.data()), n);
  // these stand in the new tables themselves
  n.joint_constants = own.joint_constants.data();
  n.armature = own.armature.data(), n.support_factor = own.support_factor.data(), n.law_values = own.law_values.data();
  DALEMBERT_ISA::start_numbers(m, n);
  DALEMBERT_ISA::apply_parameter_maps(m, numbers, n);
  take(m, n, own);
  std::copy(n.gravity, n.gravity + 3, varied.gravity);
  return varied;
}

} // namespace dalembert
