// The Python classes of models and of points.
#pragma once

#include <nanobind/nanobind.h>

namespace dalembert::bind {

void add_model(nanobind::module_ &module);

} // namespace dalembert::bind
