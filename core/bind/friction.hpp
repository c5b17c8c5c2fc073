// Dry friction and stops at the border: rows and modes come in as arrays, changes go out.
#pragma once

#include "bind/batch.hpp"
#include "friction/friction_run.hpp"
#include "friction/mode_log.hpp"
#include "steppers/run.hpp"

namespace dalembert::bind {

// Rows, their switching functions and modes of a run, from arrays by name (see `FrictionRun`): `indices` (n, 7),
// `numbers` (n, 7), `switches` (k, 2), `sign`, `side`, `stuck`, `immobile` (n,), `locked`, `dependent`, `coupling`,
// `unbounded_below`, `unbounded_above`, `scale`, `holding_group`, `passed`, progress as of `friction_progress`, and
// numbers `position_tol`, `span`, `weight`, `max_step`, `stuck_step`, `undetermined`, `pauses`. The run has the locks of
// stuck rows in its conditions.
void fill_friction(const ModelData &m, const Run &run, const nanobind::dict &given, FrictionRun &friction);

// The k changes since the last call as arrays by name; none if there are none. `t`, `velocities_jumped` (k,), states
// `before` and `after` (k, nq + nv + nx), modes `sign`, `side`, `stuck`, `immobile` (k, n), `locked` and `unloaded`: rows of
// all changes and their number in each, `impacts` (j, 4) of change, row, side, speed; limits of the holding efforts after
// the last change: `dependent`, `unbounded_below`, `unbounded_above`, `coupling`, `scale`, `holding_group`; `holds`: a list
// of change, rows held, changes without progress, time in s; `jams` and `gains`: lists of change, rows, gain of friction on
// its own load.
nanobind::object take_changes(FrictionRun &friction);

// Modes of many runs, which are cleared: `times` (changes,), `signs` and `codes` (changes, rows), see friction/mode_log.hpp, and
// `offsets` (runs + 1,) of the changes of each run; `impacts` (k, 5) of run, t, row, side, speed; `unloaded` (k, 2) of
// run, row; `holds`, a list of run, t, rows, changes without progress and length of a hold.
nanobind::dict take_modes(std::vector<ModeLog> &modes, std::size_t rows);

// `change_times` (k,), `changed` (k, n), `held` (n,), and `hold`: rest_tol_factor, hold_time, held_until, next_review
nanobind::dict friction_progress(const FrictionRun &friction);

// kind (empty: none), rows, changes without progress, and their time in s
nanobind::tuple friction_failure(const FrictionRun &friction);

// quadratic programs and widening of bounds, for checks of the solvers
void add_friction(nanobind::module_ &module);

} // namespace dalembert::bind
