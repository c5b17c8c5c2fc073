#include "model/complete/parts.hpp"
#include <algorithm>

namespace dalembert {

ModelData complete(Tables &t) {
  ModelData m{};
  require(t.gravity.size() == 3, "gravity has three components");
  std::copy(t.gravity.begin(), t.gravity.end(), m.gravity);
  complete_curves(t, m);
  complete_tables(t, m);
  m.joints = complete_programs(t.joints, 64, t.tables, {});
  m.inner_starts = pointer(t.inner_starts);
  complete_modal(t, m);
  complete_bodies(t, m);
  find_low_ranks(t, m);
  complete_armature(t, m);
  complete_lent(t, m);
  std::vector<std::int64_t> way_lengths;
  complete_loop_constraints(t, m, way_lengths);
  complete_rows(t, m, way_lengths);
  complete_loop_plans(t, m);
  complete_laws(t, m);
  complete_elements(t, m);
  complete_fronts(t, m);
  complete_parameter_maps(t, m);
  return m;
}

} // namespace dalembert
