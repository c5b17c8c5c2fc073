#include "model/complete/parts.hpp"
#include "model/parameter_access.hpp"

namespace dalembert {

static void note_row(const Tables &t, const ModelData &m, const PoseMap &recipe) {
  std::int64_t size = 0;
  switch (recipe.target) {
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
  require(within(recipe.row, 0, size), "a recipe refers to something out of range");
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
    return m.law_number_count;
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
  m.law_number_count = std::int64_t(t.law_numbers.size());
  m.support_count = std::int64_t(t.support.size());
  m.modal_number_count = std::int64_t(t.modal_numbers.size());
  m.joint_constant_count = std::int64_t(t.joints.constants.size());
  const std::int32_t numbers = count_of(t.numbers.size()), markers = count_of(t.marker_recipes.size());
  if (!numbers)
    return;
  const char *const wrong = "a recipe refers to something out of range";
  for (const MarkerMap &recipe : t.marker_recipes)
    require(recipe.number == -1 || within(recipe.number, 0, numbers - 5), wrong);
  require(count_of(t.frame_recipes.size()) == m.users, "there is one frame for each body");
  for (const FrameMap &recipe : t.frame_recipes)
    require(within(recipe.marker, 0, markers), wrong);
  for (const InertiaMap &recipe : t.inertia_recipes)
    require(within(recipe.body, 1, m.nb + 1) && within(recipe.user, 1, m.users + 1) &&
                within(recipe.number, 0, numbers - 9),
            wrong);
  for (const PoseMap &recipe : t.pose_recipes) {
    require(within(recipe.marker, -1, markers) && within(recipe.base, -1, m.users + 1), wrong);
    note_row(t, m, recipe);
  }
  for (ScalarMap &recipe : t.scalar_recipes) {
    if (recipe.target == ScalarTarget::coupled) { // rows of the coupled coordinates stand among the supports
      require(within(recipe.row, 0, count_of(t.coupled.size())), wrong);
      recipe.row = t.coupled_place[std::size_t(recipe.row)];
    }
    if (recipe.target == ScalarTarget::joint) { // constants have moved since programs were put in order
      require(within(recipe.row, 0, count_of(t.joints.moved.size())) && t.joints.moved[std::size_t(recipe.row)] >= 0,
              wrong);
      recipe.row = t.joints.moved[std::size_t(recipe.row)];
    }
    require(within(recipe.number, 0, numbers) && within(recipe.second, -1, numbers) &&
                within(recipe.row, 0, rows_of(m, recipe.target)),
            wrong);
  }
  m.recipes = {numbers,
               markers,
               count_of(t.inertia_recipes.size()),
               count_of(t.pose_recipes.size()),
               count_of(t.scalar_recipes.size()),
               t.numbers.data(),
               t.numbers.data(),
               pointer(t.marker_recipes),
               pointer(t.frame_recipes),
               pointer(t.inertia_recipes),
               pointer(t.pose_recipes),
               pointer(t.scalar_recipes)};
}

} // namespace dalembert
