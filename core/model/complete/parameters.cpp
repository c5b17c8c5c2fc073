#include "model/complete/parts.hpp"
#include "model/parameter_access.hpp"

namespace dalembert {

static void note_row(const Tables &t, const ModelData &m, const PoseMap &map) {
  std::int64_t size = 0;
  switch (map.target) {
  case PoseTarget::joint:
  case PoseTarget::body:
    size = m.nb + 1;
    break;
  case PoseTarget::constraint_a:
  case PoseTarget::constraint_b:
  case PoseTarget::constraint_marker:
    size = m.loop_constraint_count;
    break;
  case PoseTarget::port_a:
  case PoseTarget::port_b:
    size = m.port_count;
    break;
  case PoseTarget::marker:
    size = std::int64_t(t.markers.size());
    break;
  }
  require(within(map.row, 0, size), "a map refers to something out of range");
}

static std::int64_t rows_of(const ModelData &m, ScalarTarget target) {
  switch (target) {
  case ScalarTarget::pitch:
    return m.nb + 1;
  case ScalarTarget::armature:
    return m.armature ? m.nv : 0;
  case ScalarTarget::constraint:
    return m.loop_constraint_count;
  case ScalarTarget::coupled:
    return m.support_count;
  case ScalarTarget::law:
  case ScalarTarget::law_term:
    return m.law_value_count;
  case ScalarTarget::offset:
    return m.drive_count;
  case ScalarTarget::elastic:
    return std::int64_t(DALEMBERT_ISA::elastic_count(m));
  case ScalarTarget::joint:
    return m.joint_constant_count;
  case ScalarTarget::gravity:
    return 3;
  }
  return 0;
}

void complete_parameter_maps(Tables &t, ModelData &m) {
  m.law_value_count = std::int64_t(t.law_values.size());
  m.support_count = std::int64_t(t.support.size());
  m.modal_value_count = std::int64_t(t.modal_values.size());
  m.joint_constant_count = std::int64_t(t.joints.constants.size());
  const std::int32_t numbers = count_of(t.mapped_parameters.size()), markers = count_of(t.marker_maps.size());
  if (!numbers)
    return;
  const char *const wrong = "a map refers to something out of range";
  for (const MarkerMap &map : t.marker_maps)
    require(map.number == -1 || within(map.number, 0, numbers - 5), wrong);
  require(count_of(t.frame_maps.size()) == m.users, "there is one frame for each body");
  for (const FrameMap &map : t.frame_maps)
    require(within(map.marker, 0, markers), wrong);
  for (const InertiaMap &map : t.inertia_maps)
    require(within(map.body, 1, m.nb + 1) && within(map.user, 1, m.users + 1) && within(map.number, 0, numbers - 9),
            wrong);
  for (const PoseMap &map : t.pose_maps) {
    require(within(map.marker, -1, markers) && within(map.base, -1, m.users + 1), wrong);
    note_row(t, m, map);
  }
  for (ScalarMap &map : t.scalar_maps) {
    if (map.target == ScalarTarget::coupled) { // rows of the coupled coordinates stand among the supports
      require(within(map.row, 0, count_of(t.coupling_terms.size())), wrong);
      map.row = t.coupling_index[std::size_t(map.row)];
    }
    if (map.target == ScalarTarget::joint) { // constants have moved since programs were put in order
      require(within(map.row, 0, count_of(t.joints.moved.size())) && t.joints.moved[std::size_t(map.row)] >= 0, wrong);
      map.row = t.joints.moved[std::size_t(map.row)];
    }
    require(within(map.number, 0, numbers) && within(map.second, -1, numbers) &&
                within(map.row, 0, rows_of(m, map.target)),
            wrong);
  }
  m.parameter_maps = {numbers,
                      markers,
                      count_of(t.inertia_maps.size()),
                      count_of(t.pose_maps.size()),
                      count_of(t.scalar_maps.size()),
                      t.mapped_parameters.data(),
                      t.mapped_parameters.data(),
                      pointer(t.marker_maps),
                      pointer(t.frame_maps),
                      pointer(t.inertia_maps),
                      pointer(t.pose_maps),
                      pointer(t.scalar_maps)};
}

} // namespace dalembert
