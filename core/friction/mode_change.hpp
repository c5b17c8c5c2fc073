// Change of modes at a state: stick, slip, impact and separation of all rows of dry friction and stops.
//
// Closed stops act together in an impact, with u+ = u + A x, 0 <= x, 0 <= u+ + e u, x (u+ + e u) = 0; u are velocities
// away from the stops, e their restitutions. Friction has no impulse: rows stuck by friction are released in it. A
// flight within the position tolerance is neglected: such a rebound is plastic, and a row that the impact of another row
// moves so slowly stays on its stop. The modes of all rows at rest are then one problem (friction/rows_at_rest.hpp).
#pragma once

#include "friction/friction_run.hpp"
#include "steppers/run_workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// memory for evaluations with holding efforts, and sizes of the workspace; conditions of the run follow the modes from
// here on
void prepare_friction(const RunContext &i, FrictionRun &f);

// writes modes into the parameters and marks of locked degrees of freedom of the run's conditions
void apply_modes(const RunContext &i, FrictionRun &f);

enum class ModeChange {
  made,      // modes and state of the run are those after the change
  undecided, // modes cannot be determined here: state and modes are those before
  callback_failed,
};

// Determines the modes at the state of the run (i.work.q, v, x), with impulses where stops are reached. passed: the
// switching functions that crossed zero. The change is added to f.changes.
ModeChange change_modes(const RunContext &i, FrictionRun &f, const std::vector<std::int32_t> &passed);

} // namespace dalembert::DALEMBERT_ISA
