// Zero crossings within a step: of the switching functions of friction and stops, and of events.
//
// The functions are evaluated at the end of the step and at inner points of a polynomial through both ends. Where a
// sign changes, or may change by a parabola through three neighbours, dense output is evaluated and the first crossing
// is located to rounding. Formulas of events are bounded between these points (steppers/switching/formula_search.hpp).
// Where other functions change so fast that points do not predict those between them, more points are taken, with
// jittered spacing, so that no periodic function is missed.
//
// Functions of friction (friction/switching_values.hpp) come first, those of events (events/event_values.hpp) follow.
#pragma once

#include "steppers/stepper.hpp"

namespace dalembert::DALEMBERT_ISA {

struct Crossing {
  bool found = false;    // of a function that changes the run
  double fraction = 1.0; // of the step
};

// Values of all functions of the run at a state, in friction and events. Outcome::not_finite: efforts of stuck rows are
// not finite.
Outcome evaluate_crossing_functions(const RunContext &i, double t, const double *q, const double *v, const double *x);

// Finds the first crossing of a function that changes the run, in the step from work.q to work.q1 of length h, and
// all crossings of other events up to it. `passed` of friction and events are the functions that cross there,
// EventRun::recorded the others in order of time. Without one, values become those at the end of the step. The
// stepper is prepared for dense output if there is a crossing of any kind.
Outcome find_crossing(const Stepper &stepper, const RunContext &i, double h, Crossing &crossing);

} // namespace dalembert::DALEMBERT_ISA
