// Small changes along a motion, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace dalembert::bind {

void add_variations(nanobind::module_ &module);

} // namespace dalembert::bind
