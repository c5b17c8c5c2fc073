// The bound rows of closure equations in natural coordinates.
#pragma once

#include <nanobind/nanobind.h>

namespace dalembert::bind {

void add_natural(nanobind::module_ &module);

} // namespace dalembert::bind
