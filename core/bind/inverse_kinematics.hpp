// The bound rows and descents of inverse kinematics.
#pragma once

#include <nanobind/nanobind.h>

namespace dalembert::bind {

void add_inverse_kinematics(nanobind::module_ &module);

} // namespace dalembert::bind
