// Switching functions of dry friction and stops: each falls below zero where modes change.
//
//     sliding row       sign u
//     sliding group     |u| - 0.9 rest tolerance
//     row at rest with locked rows       rest tolerance - |u|
//     open stop         gap + position tolerance
//     held rows         time left of the hold (friction/progress.hpp)
//     stuck rows        margin of the holding efforts (friction/holding_margin.hpp)
#pragma once

#include "friction/friction_run.hpp"
#include "steppers/run_report.hpp"

namespace dalembert::DALEMBERT_ISA {

// Sliding and static friction of a row for signals, N m or N; null: without its part by load. Static friction keeps its
// ratio to sliding friction if the parameter has another value than described.
struct FrictionLimits {
  double sliding, at_rest;
};
FrictionLimits friction_limits(const FrictionRun &f, const FrictionRow &row, const double *signals);

// slip speeds for velocities u of the rows: absolute values, and norms of vector groups
void slip_speeds(const FrictionRun &f, const double *u, double *speeds);

// whether a row, or a row of its group, is neither driven nor locked by the user
bool has_movable_group(const FrictionRun &f, int row);

// Evaluates parts of a report under the conditions of the run; false if a callback has failed.
bool evaluate_report(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v, const double *x,
                     const Report &out);

// Where the margin of holding efforts is found: not at all, then it is 1; by an evaluation of the equations of motion;
// or from the last one, which was that at the end of an explicit step, if `found_with_accelerations`.
enum class Margin { none, evaluated, of_last_rates };

// Whether forces that hold stuck rows follow from the recursion of the accelerations alone.
bool found_with_accelerations(const RunContext &i, const FrictionRun &f);

// Values of the switching functions at a state; false if a callback has failed. The margin is NaN where efforts of
// stuck rows are not finite: accelerations of rows at rest do not show it.
bool switching_values(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v, const double *x,
                      double *values, Margin margin = Margin::evaluated);

// Whether a switching function is that of a row, or of a group, that does not slide: it begins with the value that it has.
bool watches_rest(const FrictionRun &f, int function);

// Whether the modes stay as they are where loads have changed at once at a time t, s: f.values, evaluated under the new loads, are
// beyond the tolerances within which change_modes determines them.
bool modes_stay(const FrictionRun &f, double t);

} // namespace dalembert::DALEMBERT_ISA
