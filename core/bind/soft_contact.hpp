// Compliant contact of two solids for Python: bristles of a pair, and the law at given relative motions.
#pragma once

#include <nanobind/nanobind.h>

namespace dalembert::bind {

void add_soft_contact(nanobind::module_ &module);

} // namespace dalembert::bind
