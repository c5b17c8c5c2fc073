// Closure and rank of many coupled loops by the elimination of constraints/loop_fronts.hpp, in a metric of the degrees
// of freedom by themselves: no masses take part. Only for models with a plan for it (uses_fronts).
//
// inertia: nv, the weight of each degree of freedom; one that is not positive stands still.
#pragma once

#include "constraints/loop_workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// The step dq that makes
//
//     sum over degrees of freedom of inertia dq^2  +  sum over rows of (P dq + r)^2 / compliance
//
// least: that of Levenberg; rows with a compliance that is not positive are left out. rates: P dq; pull: P^T (r /
// compliance); sizes: largest sums of |P| / sqrt(compliance inertia) over a row and over a column.
void closure_step(const ModelData &m, LoopWorkspace<double> &work, const double *q, const double *r,
                  const double *compliance, const double *inertia, double *dq, double *rates, double *pull,
                  double *sizes);

// What is left of each row beside those it was eliminated after, as a part of its lever arms: zero for rows that were
// dropped, because less than `least` was left of them, and for those not wanted (zero). The number of others is the
// rank.
void independent_parts(const ModelData &m, LoopWorkspace<double> &work, const double *q, const double *wanted,
                       const double *inertia, double least, double *parts);

// For each row that independent_parts drops, the combination of rows that vanishes for every motion: its own coefficient
// is 1, and of the others only those have one that were kept; y^T P = 0. Rows of zeros for the others. nc x nc
void dependences(const ModelData &m, LoopWorkspace<double> &work, const double *q, const double *wanted,
                 const double *inertia, double least, double *y);

// Random motions P v = 0, projected in the metric of inertia: as many as there are independent ones, `count`, and four
// more, which are combinations of these; then rows of zeros. v: nv x nv
void motions(const ModelData &m, LoopWorkspace<double> &work, const double *q, const double *wanted,
             const double *inertia, double least, double *count, double *v);

// The change dv of velocities v of least kinetic energy after which P (v + dv) = rates; those marked in held (nv) do not
// change. missed: P v - rates; terms: sums of the magnitudes that it is made of.
void velocity_change(const ModelData &m, LoopWorkspace<double> &work, const double *q, const double *v,
                     const double *rates, const double *held, double *dv, double *missed, double *terms);

} // namespace dalembert::DALEMBERT_ISA
