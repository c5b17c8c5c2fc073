// The bound factorization of the mass matrix at one configuration.
#pragma once

#include <nanobind/nanobind.h>

namespace dalembert::bind {

void add_mass_factor(nanobind::module_ &module);

} // namespace dalembert::bind
