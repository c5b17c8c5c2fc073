// Small dense problems of one state, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace dalembert::bind {

void add_dense(nanobind::module_ &module);

} // namespace dalembert::bind
