// Stick or slip of all rows at rest or on stops at a state: modes, locks and limits of holding efforts.
#pragma once

#include "friction/change.hpp"

namespace dalembert::DALEMBERT_ISA {

// Determines the modes of all rows from w.at_rest and w.side; rows marked in w.held are held without limits.
void decide(Change &c);

// Stick or slip of the rows w.rows with limits of friction w.friction and w.static_friction (friction/rows_at_rest.hpp).
void decide_with_limits(Change &c);

// the problem f.problem of the rows w.rows
void set_up_rows_at_rest(Change &c);

// modes and limits of holding efforts of the solution in f.problem
void take_decision(Change &c);

} // namespace dalembert::DALEMBERT_ISA
