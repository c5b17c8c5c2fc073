// Switching functions of laws in a run. Within a step every law keeps the branch on which the step began, so that the
// integrated equations are smooth. Where a switching function leaves its branch the step ends, and the next begins on
// the other branch. If forces drive the motion back from there, it is a sliding mode (system/sliding_modes.hpp). A
// branch is left at -slack: the value of the switching function where the branch began, zero as a rule.
#pragma once

#include "steppers/stepper.hpp"

namespace dalembert::DALEMBERT_ISA {

// where a step leaves a branch
enum class SwitchLocation {
  none,
  slight, // so slight a change that the step stands as it is; the branches at its end are those after it
  here,   // where it begins
  inside, // at Run::step_to_switch
  end,
  again,  // levels pass by too fast to be stepped up to: they are released, and the step has to be taken again
  astray, // none, but stages strayed: see `strays`
  // a branch that is not held changes to and fro between stages, or a table is passed over: Run::step is short enough
  unseen,
};

constexpr int max_led_in = 4; // steps in a row that are shortened to lead into a change of a branch that is not held
constexpr int max_switches_without_step = 60; // switching functions passed without a step between them

// Releases the branches that the state of the last evaluation has left, and holds them again as they were.
void release_branches(const RunContext &i);
void restore_branches(const RunContext &i);

// before a step
void clear_exits(const RunContext &i);

// Whether stages of the step lie far beyond the end of a branch that has no value there, though the step does not: what
// they were evaluated by then is another law, and the estimate of its error is of no use.
bool strays(const RunContext &i);

// Locates the first switch within the step just made. Switching functions that change there are marked.
Outcome locate_switch(const Stepper &stepper, const RunContext &i, double h, SwitchLocation &passage);

// After the step to a switching function, which was found on the dense output of a longer one: whether a step of a
// little other length, in Run::step_to_switch, comes nearer to it.
bool improve_switch_time(const RunContext &i, double h);

// The branches at the state where the run is: those that are given, or those that fit the state. False: a callback has
// failed.
bool initialize_branches(const RunContext &i);

// At the state where the run is: branches on the other sides of marked switching functions, or mixtures, and rates
// there.
bool switch_branches(const RunContext &i);

// After switching functions may have jumped: branches that fit them, and rates there.
bool update_branches(const RunContext &i);

} // namespace dalembert::DALEMBERT_ISA
