// Kinematic motion in natural coordinates: the Form of kinematics/sweep.hpp.
//
// Driven coordinates are given at times (k), values (k, 4, driven): themselves and three rates. Between two times,
// where only the way matters, they follow the cubic that fits values and rates at both.
#pragma once

#include "kinematics/sweep.hpp"
#include "natural/rows.hpp"

namespace dalembert::natural {

// row_scale: count; column_scale: n
SweepStatus sweep_rows(const Rows &rows, const double *values, const double *row_scale, const double *column_scale,
                       double floor, SweepCall &call);

} // namespace dalembert::natural
