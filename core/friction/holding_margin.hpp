// Margin of the efforts that hold stuck rows, relative to their sizes: negative where the rows are released.
//
// Locked rows l hold with efforts h, and dependent rows r help, J_r = C J_l: the set holds if there are efforts within
// their bounds, or ellipsoids of vector groups, with
//
//     lam_l + C' lam_r = h                                                                                         (1)
//
// Rows that C' or a group couples are one set, and the margin is the least of all sets. Uncoupled rows have the distance
// from their bounds, dependent rows of one locked row add to its bounds, a group alone has 1 - |h / f|; of other sets the
// margin is the largest narrowing of all bounds (numerics/bound_widening.hpp).
#pragma once

#include "friction/friction_run.hpp"

namespace dalembert {

// space for n rows
void reserve_margins(HoldingWorkspace &work, int n);

// Finds the sets of rows that hold together.
void find_holding_sets(HoldingLimits &holding, const FrictionModes &modes);

// efforts: of the locked rows, N m or N; limits: static friction of all rows
double holding_margin(HoldingWorkspace &work, const HoldingLimits &holding, const FrictionModes &modes,
                      const double *efforts, const double *limits);

} // namespace dalembert
