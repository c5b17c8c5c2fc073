// The end of a step of given length at an event: where velocities jump within steps, dense output of a whole step is not
// the motion up to a time within it. The step is repeated from its beginning, with other lengths, until it ends there.
#pragma once

#include "steppers/switching/crossing_search.hpp"

namespace dalembert::DALEMBERT_ISA {

// After a step of length h by contacts (work.q1, v1, x1) with a crossing within it: takes the step again, so that it
// ends at the crossing, and sets h and the fraction, 1, to that. crossing.found becomes false, and the step is one of
// the length given, if shorter steps have no crossing.
Outcome end_step_at_event(const Stepper &stepper, const RunContext &i, double &h, Crossing &crossing);

} // namespace dalembert::DALEMBERT_ISA
