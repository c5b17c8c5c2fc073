// Dry friction and stops at the border: rows and modes come in as arrays, changes go out.
#pragma once

#include "bind/batch.hpp"
#include "friction/friction_run.hpp"
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

// bounded quadratic programs, for checks of the solver
void add_friction(nanobind::module_ &module);

} // namespace dalembert::bind
