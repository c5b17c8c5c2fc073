// Change of modes at a state: stick, slip, impact and separation of all rows of dry friction and stops.
//
// Rows at rest and closed stops are found first. Stops that are reached act with an impulse (friction/impacts.hpp). The
// modes of all rows at rest are then one problem (friction/stick_slip.hpp), with limits that may depend on loads
// (friction/load_limits.hpp). Progress is judged by the changes so far (friction/progress.hpp). Nothing is allocated in a
// change, except for what is reported of it.
#pragma once

#include "friction/friction_run.hpp"
#include "steppers/run_workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// memory for evaluations with holding efforts, and sizes of the workspace; conditions of the run follow the modes from
// here on
void prepare_friction(const RunContext &i, FrictionRun &f);

// writes modes into the parameters and marks of locked degrees of freedom of the run's conditions
void apply_modes(const RunContext &i, FrictionRun &f);

// pointers of the conditions to the marks and parameters of friction
void set_condition_marks(Conditions &c, FrictionRun &f);

enum class ModeChange {
  made,      // modes and state of the run are those after the change
  undecided, // modes cannot be determined (f.failure): state and modes are those before
  callback_failed,
};

// Determines the modes at the state of the run (i.work.q, v, x), with impulses where stops are reached. passed: the
// switching functions that crossed zero. The change is added to f.changes.
ModeChange change_modes(const RunContext &i, FrictionRun &f, const std::vector<std::int32_t> &passed);

// Stops sliding rows by impulses where no friction is consistent with their load, so that no step is possible; undecided
// if there are none.
ModeChange stop_jammed_rows(const RunContext &i, FrictionRun &f);

} // namespace dalembert::DALEMBERT_ISA
