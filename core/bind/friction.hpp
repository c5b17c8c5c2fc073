// Dry friction and stops at the border: rows and modes come in as arrays, changes go out.
#pragma once

#include "bind/batch.hpp"
#include "friction/friction_run.hpp"
#include "friction/mode_log.hpp"
#include "steppers/run.hpp"

namespace dalembert::bind {

// Rows, their switching functions and modes of a run, from arrays by name (see `FrictionRun`): `indices` (n, 6),
// `numbers` (n, 7), `switches` (k, 2), `sign`, `side`, `stuck`, `immobile` (n,), `locked`, `dependent`, `coupling`,
// `unbounded_below`, `unbounded_above`, `scale`, `change_times`, and numbers `position_tol`, `span`, `weight`,
// `max_step`, `stuck_step`, `rest_tol_factor`, `undetermined`, `pauses`. The run has the locks of stuck rows in its conditions.
void fill_friction(const ModelData &m, const Run &run, const nanobind::dict &given, FrictionRun &friction);

// the changes since the last call, each a dict of arrays by the same names, with `t`, `velocities_jumped`, `impacts`
// (k, 3) of row, side, speed, and `unloaded`
nanobind::list take_changes(FrictionRun &friction);

// Modes of many runs, which are cleared: `times` (changes,), `signs` and `codes` (changes, rows), see friction/mode_log.hpp, and
// `offsets` (runs + 1,) of the changes of each run; `impacts` (k, 5) of run, t, row, side, speed; `unloaded` (k, 2) of
// run, row.
nanobind::dict take_modes(std::vector<ModeLog> &modes, std::size_t rows);

// bounded quadratic programs, for checks of the solver
void add_friction(nanobind::module_ &module);

} // namespace dalembert::bind
