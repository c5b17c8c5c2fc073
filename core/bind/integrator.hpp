// The bound integrator: one simulation of a model, its memory, its records.
#pragma once

#include <nanobind/nanobind.h>

namespace dalembert::bind {

void add_integrator(nanobind::module_ &module);

} // namespace dalembert::bind
