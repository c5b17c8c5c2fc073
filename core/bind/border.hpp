// The C border in Python: models from files and their runs.
#pragma once

#include <nanobind/nanobind.h>

namespace dalembert::bind {

void add_border(nanobind::module_ &module);

} // namespace dalembert::bind
