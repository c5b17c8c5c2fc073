// The monitor of switching functions: no step passes over a change of branch that begins and ends within it.
//
// Stages evaluate a law at a few points of a step only, and where nothing accelerates steps grow without bound: a
// contact may begin and end between two of them. So before a step is accepted its switching functions are bounded along
// it (system/switching.hpp). Mostly both ends and the rates there do. If not, parts of the step are looked at on its
// dense output, halved until bounds keep away from the end of a branch, or one is found beyond it:
//
//   - parts are so short that frames turn by less than `max_turn`: a shaft may make many turns in a step, whose ends
//     and
//     middle would look alike;
//   - what lies within the step is known by points that are looked at: the ranges between them are those of cubics,
//     widened by
//     what these miss in the middle;
//   - a part in which the function itself, as a cubic through values and rates, stays away from the end of its branch,
//     is passed
//     where bounds are of no use: next to a crossing that the step begins at, where bounds are infinite, and after
//     `max_parts`.
//
// Steps in which the inputs of switching functions do not move cost a look at their end.
#pragma once

#include "steppers/stepper.hpp"

namespace dalembert::DALEMBERT_ISA {

// the first part of a step, by fractions of it, in which a switching function leaves its side
struct Departure {
  enum class Kind { none, held, followed }; // of a branch that is held, or of one that only the monitor looks at
  Kind kind = Kind::none;
  double low = 0.0, high = 1.0;
  int function = -1;
};

// Before the search: the sides that the step must not leave unseen. Not of those that are not held and that stages have
// seen beyond their ends, or along which the motion slides. False: what is outside has failed.
bool monitored_branches(const RunContext &i, double h);

// whether bounds from both ends of the step just made show that it leaves none of them
bool stays_inside(const RunContext &i, double h, Outcome &outcome);

// Looks through the step from a fraction on; `stepper.prepare` has been called. Where a branch that is not held
// changes, the dense output has to obey the equations of motion behind the change; if it does not, a shorter step has
// to lead there.
Outcome find_departure(const Stepper &stepper, const RunContext &i, double h, double from, Departure &found);

// By how much the dense output misses the equations of motion at a fraction of the step, as a change of velocities and
// states in all of it, in tolerances.
Outcome defect_at(const Stepper &stepper, const RunContext &i, double h, double s, double &defect);

// For methods that hold no branches: the first part of the step just made in which a branch changes, and whether it is
// another one at its end too.
Outcome find_passage(const Stepper &stepper, const RunContext &i, double h, Departure &found);
bool ends_beyond(const RunContext &i, int function);

// The end of the step becomes the beginning of the next; or what is known is forgotten, because rates have jumped.
void move_monitor(const RunContext &i);
void reset_monitor(const RunContext &i);

} // namespace dalembert::DALEMBERT_ISA
