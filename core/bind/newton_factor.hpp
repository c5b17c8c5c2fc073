// The bound factorization of the Newton system of implicit steps at one state.
#pragma once

#include <nanobind/nanobind.h>

namespace dalembert::bind {

void add_newton_factor(nanobind::module_ &module);

} // namespace dalembert::bind
