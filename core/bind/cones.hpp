// Cone problems, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace dalembert::bind {

void add_cones(nanobind::module_ &module);

} // namespace dalembert::bind
