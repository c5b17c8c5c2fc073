// Thresholds of laws in a run: within a step every law keeps the branch on which the step began, so that what is integrated is
// smooth. Where a margin leaves its branch the step ends, and the next begins on the branch to which the margin moves; if
// forces drive it back from there, the motion slides (system/sliding_modes.hpp). A branch is left at -slack: the margin that was left
// over where it began, mostly zero.
#pragma once

#include "steppers/stepper.hpp"

namespace dalembert::DALEMBERT_ISA {

// where a step meets thresholds
enum class SwitchLocation {
  none,
  slight, // so slight a change that the step stands as it is; the branches at its end are those after it
  here,   // where it begins
  inside, // Run::cut says where
  end,
  again,  // levels pass by too fast to be stepped up to: they are let go, and the step has to be taken again
  astray, // none, but stages strayed: see below
  unseen, // a branch that is not held changes to and fro between stages, or a table is passed over: Run::step is one that sees it
};

constexpr int max_led_in = 4;  // steps in a row that are shortened to lead into a change of a branch that is not held
constexpr int max_switches_without_step = 60; // thresholds passed without a step between them

// Lets laws follow thresholds that the state of the last evaluation has left, and holds them again as they were.
void release_branches(const RunContext &i);
void restore_branches(const RunContext &i);

// before a step
void clear_exits(const RunContext &i);

// Whether stages of the step lie far beyond the end of a branch that has no value there, though the step does not: what
// they were evaluated by then is another law, and the estimate of its error says nothing.
bool strays(const RunContext &i);

// Looks through the step just made, before it is moved on from; where thresholds are passed they are marked.
Outcome locate_switch(const Stepper &stepper, const RunContext &i, double h, SwitchLocation &passage);

// After the step to a threshold, which was found on the dense output of a longer one: whether a step of a little other length,
// in Run::cut, comes nearer to it.
bool improve_switch_time(const RunContext &i, double h);

// The branches at the state where the run is: those that are given, or as the state says. False: what is outside failed.
bool initialize_branches(const RunContext &i);

// At the state where the run is: branches on the other sides of marked thresholds, or mixtures, and rates there.
bool switch_branches(const RunContext &i);

// After margins may have jumped: branches that fit them, and rates there.
bool update_branches(const RunContext &i);

} // namespace dalembert::DALEMBERT_ISA
