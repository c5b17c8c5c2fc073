// Motion of the rows of dry friction and stops, and their response to efforts on each other.
//
// With J the rows and Y = M^-1 J' less what the loops take out, at one configuration,
//
//     A = J Y     accelerations of the rows for unit efforts on them; jumps of their velocities for unit impulses     (1)
//
// on the articulated-body factors of the trees and the factors of the loops (constraints/loop_dynamics.hpp).
#pragma once

#include "friction/friction_run.hpp"
#include "steppers/run_workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// coordinates (rad or m; NaN for none) and velocities (rad/s or m/s) of all rows
void row_motion(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v, double *s, double *u);

// accelerations of the rows for those of the trees
void row_accelerations(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v, const double *a,
                       double *out);

// J, D (Y'), A and `own`, the response of each row to itself without loops, at a configuration, of some rows; A of pairs
// of them. prescribed: marks (nv) of velocities that do not respond.
void respond(const RunContext &i, FrictionRun &f, double t, const double *q,
             const std::vector<unsigned char> &prescribed, const std::vector<int> &rows);

// Responses D (count x nv) to efforts along vectors (count x nv), as of `respond`.
void respond_to_vectors(const RunContext &i, FrictionRun &f, double t, const double *q,
                        const std::vector<unsigned char> &prescribed, int count, const double *vectors, double *D);

// Accelerations of the rows under the present conditions, without efforts of the rows that are not sliding; false if a
// callback has failed. They are not finite where the equations of motion have no solution.
bool evaluate_rows(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v, const double *x,
                   double *accelerations);

// Accelerations as of `evaluate_rows`, and the size of efforts on some rows without cancellation (N m or N): no
// acceleration J_k a exceeds |J_k M^-1/2| |M^1/2 a|, and a are those of gravity on all bodies and those of the trees with
// all loops open. Rounding of an effort is a part of it. After `respond`; false if a callback has failed.
bool evaluate_rows_and_sizes(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v,
                             const double *x, const std::vector<int> &rows, double *accelerations, double *sizes);

} // namespace dalembert::DALEMBERT_ISA
