// Parameter maps: parameters that may change without compiling again, and the entries of the tables that follow from
// them (model/parameter_maps.hpp).
#pragma once

#include <cstdint>

namespace dalembert {

// A marker on a body of the user: its pose in the user's frame, constant or by mapped parameters: place (3), rotation
// vector (3).
struct MarkerMap {
  double R[9], p[3];
  std::int32_t number; // the first of them; -1: constant
};
// where frame F of a body of the user is: at the marker that its joint carries, turned by constant axes
struct FrameMap {
  double axes[9];
  std::int32_t marker;
};
// mass, centre of mass (3) and inertia about it (xx xy xz yy yz zz), axes of the user's frame
struct InertiaMap {
  std::int32_t body, user, number; // place in the list; the user's number; the first mapped parameter
};
// a marker turned by constant axes, seen from F
enum class PoseTarget : std::int32_t {
  joint,
  body,
  constraint_a,
  constraint_b,
  constraint_marker,
  port_a,
  port_b,
  marker
};
struct PoseMap {
  double axes[9];
  std::int32_t marker;
  std::int32_t base; // the user's number of the body whose F it is seen from; -1: from the user's frame
  PoseTarget target;
  std::int32_t row; // of that table
};
// factor times one mapped parameter, or times two; law_term: added to what the entry of a law is already
enum class ScalarTarget : std::int32_t {
  pitch,
  armature,
  constraint,
  coupled,
  law,
  offset,
  elastic,
  joint,
  gravity,
  law_term
};
struct ScalarMap {
  double factor;
  std::int32_t number, second; // second: -1 if there is none
  ScalarTarget target;
  // of that table; of elastic entries, their place among those of all flexible bodies; of joints,
  std::int32_t row;
  // of the constants of their programs
};

struct ParameterMaps {
  std::int32_t count, markers, inertias, poses, scalars;
  // mapped parameters, as they are and as poses of markers stand in their parameter maps
  const double *values, *described;
  const MarkerMap *marker;
  const FrameMap *frame; // one for each body of the user
  const InertiaMap *inertia;
  const PoseMap *pose;
  const ScalarMap *scalar;
};

} // namespace dalembert
