// The bound rows and descents of inverse kinematics.
#pragma once

#include <nanobind/nanobind.h>

namespace dalembert::bind {

void add_reach(nanobind::module_ &module);

} // namespace dalembert::bind
