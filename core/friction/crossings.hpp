// Zero crossings of the switching functions of friction and stops within a step.
//
// The functions are evaluated at the end of the step and at inner points of a cubic interpolation. Where a sign
// changes, or may change by a parabola through three neighbours, dense output is evaluated and the first crossing is
// located to rounding. Where the holding efforts change so fast that points do not predict those between them, more
// points are taken.
#pragma once

#include "friction/friction_run.hpp"
#include "steppers/stepper.hpp"

namespace dalembert::DALEMBERT_ISA {

struct Crossing {
  bool found = false;
  double fraction = 1.0; // of the step; its state stands in work.qs, vs, xs unless it is 1
};

// Finds the first crossing in the step from work.q to work.q1 of length h; f.passed are the functions that cross there.
// Without one, f.values become those at the end of the step.
Outcome find_crossing(const Stepper &stepper, const RunContext &i, FrictionRun &f, double h, Crossing &crossing);

} // namespace dalembert::DALEMBERT_ISA
