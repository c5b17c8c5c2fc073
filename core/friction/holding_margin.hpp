// Margin of the efforts that hold stuck rows, relative to their sizes: negative where the rows are released.
#pragma once

#include "friction/friction_run.hpp"

namespace dalembert {

// Whether margins of these limits are found here: every dependent row depends on one locked row only.
bool has_separate_margins(const HoldingLimits &holding, const FrictionModes &modes);

// efforts: of the locked rows, N m or N; limits: static friction of all rows
double holding_margin(const HoldingLimits &holding, const FrictionModes &modes, const double *efforts,
                      const double *limits);

} // namespace dalembert
