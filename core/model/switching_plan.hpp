// Switching functions that follow from the tables of a model: where tables of numbers break, at which numbers laws
// change branches, and which elements have to be looked at along a step (system/switching.hpp).
#pragma once

#include "model/tables.hpp"

namespace dalembert {

// Bounds of tables, and along each variable the places where value or slope jump.
void find_table_breaks(Tables &t, ModelData &m);

// Switching functions of all elements, once their programs stand in order.
void find_switching_functions(Tables &t, ModelData &m);

// The elements that have some or give signals to those, once bodies, ports and inputs are complete.
void find_watched(Tables &t, ModelData &m);

} // namespace dalembert
