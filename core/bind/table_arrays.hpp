// The tables of a model as NumPy arrays, field by field.
#pragma once

#include "model/tables.hpp"
#include <nanobind/nanobind.h>

namespace dalembert::bind {

// Copies rows out of a dict of arrays; a table that is left out is empty. Throws where a name or a type is none of
// ours.
void fill_tables(Tables &tables, const nanobind::dict &arrays);

// adds `tables` (a NumPy dtype by name), `numbers` (of names, by enumeration), `joints` and `constraints` (the
// libraries)
void add_schema(nanobind::module_ &module);

} // namespace dalembert::bind
