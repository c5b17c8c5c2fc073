// One step of the loop: its length chosen, the step taken and judged by its error, and the length of the next.
#pragma once

#include "steppers/time_loop/time_loop.hpp"

namespace dalembert::DALEMBERT_ISA {

Outcome take_step(TimeLoop &loop, double h, double &error);

// the end of a step becomes the beginning of the next
void advance_state(TimeLoop &loop, double h, double t1);

// A first step from sizes of the state and its first two rates (Hairer, Norsett, Wanner 1993, section II.4).
double first_step(TimeLoop &loop, double until);

// Chooses the length of the next step.
Outcome choose_length(TimeLoop &loop, double until, Attempt &attempt);

// After a step that was rejected: chooses its next length. Returns the outcome of the step where a shorter one is of no
// use.
Outcome reduce_step(TimeLoop &loop, Outcome step, const Attempt &attempt, double until);

// A step whose error estimate is of no use is tried again at half its length.
void halve_step(TimeLoop &loop, Attempt &attempt);

// Takes the step and judges it by its error. Steps of a given length are taken whatever their error is.
Outcome take_and_judge(TimeLoop &loop, Attempt &attempt, double until);

// The length of the next step, after one that was accepted.
void lengthen(TimeLoop &loop, const Attempt &attempt);

} // namespace dalembert::DALEMBERT_ISA
