// Discontinuous force laws at rest: rows beside those of friction.
//
// A law may jump where a velocity is zero, as -c sign(ds) does, or where a coordinate has some value, as -c sign(s). Its
// switching function m selects the branch; on m = 0 it gives any mixture of both. If it pushes back along m,
//
//     second rate of m:   w = w_0 + g a,      effort along g:   lam in [-c, c]                                     (1)
//
// with g the slope of m over the velocities, or over the coordinates if it does not depend on velocities, then it acts
// as friction: w = 0, or lam is on a bound and w points away from it. Such laws are rows of the stick-slip problem
// (friction/rows_at_rest.hpp), and help to hold rows at rest. Laws that push in other directions are left to the sliding
// modes of the integrator (system/sliding_modes.hpp).
#pragma once

#include "friction/change.hpp"

namespace dalembert::DALEMBERT_ISA {

// Sizes of the workspace; finds whether the model has such laws.
void reserve_laws(const ModelData &m, FrictionRun &f);

// Branches that laws have in the modes of the run: mixtures of laws that help to hold rows, and sliding modes.
void set_law_branches(FrictionRun &f);

// Evaluations of a change have these branches (switching_count) from here on; not a number: those that fit the state.
void use_branches(Change &c, const std::vector<double> &sides);

// Finds the laws at their jumps that push back along their switching functions, with the friction of sliding rows;
// after the response of the rows at rest was found.
void find_discontinuous_laws(Change &c);

// Solves the problem f.problem of rows at rest together with the laws found, under the present conditions: laws that help
// to hold rows, and laws in sliding mode. False if it has no solution.
bool solve_with_laws(Change &c);

// Adds laws that help to hold rows to the limits of holding efforts, as rows after all others.
void add_holding_laws(Change &c);

// Moves the state to where laws jump that help to hold rows.
void move_to_jumps(Change &c);

// Half of the jumps of laws that help to hold rows, `limits` (holding_laws), at a state in which locks have efforts
// `held`; false if a callback has failed.
bool evaluate_law_limits(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v,
                         const double *x, const double *held, double *limits);

// Whether a sliding mode of a law has begun or ended since modes were determined.
bool sliding_laws_changed(const RunContext &i, const FrictionRun &f);

} // namespace dalembert::DALEMBERT_ISA
