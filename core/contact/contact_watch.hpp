// Watching contacts over a step: the first time at which the modes no longer hold.
//
// Modes hold while gaps of open points are positive, closed points push, sticking points are within their cones, sliding
// ones have not reversed, and the features of closed points are still nearest to each other. The step is sampled; gaps
// are watched between samples by the cubic through their values and rates, so that none is missed that closes and opens
// again. A pair that is too far away to meet within the step is not sampled.
#pragma once

#include "contact/contact_modes.hpp"
#include "steppers/stepper.hpp"

namespace dalembert::DALEMBERT_ISA {

// The fraction of the step of length h, which has just been made, at which a mode ends; 1 and `found` false: none does.
struct ContactEnd {
  bool found = false;
  double fraction = 1.0;
  bool coarse = false; // forces vary so much in the step that a change may be between the samples
};
Outcome find_contact_end(const Stepper &stepper, const RunContext &i, double h, ContactEnd &end);

// The longest step from the state of the run that does not pass over the top of a hop that has just begun, s.
double longest_contact_step(const RunContext &i, ContactEvents &e);

// Directions of slip at a state, where a step begins or forces are evaluated. True if a point slid at a velocity of rest
// throughout the last step: its mode has to be determined again.
bool set_slip_directions(const RunContext &i, ContactEvents &e, const double *q, const double *v);

} // namespace dalembert::DALEMBERT_ISA
