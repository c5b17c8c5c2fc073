// Distances of convex solids, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace dalembert::bind {

void add_geometry(nanobind::module_ &module);

} // namespace dalembert::bind
