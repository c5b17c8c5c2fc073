// Laws with unknowns: numbers that make residuals of the law vanish, found within the evaluation (Sol 1983, section
// 7.3: equilibrium at internal nodes; (3.4.5): implicit laws).
//
// Newton's method with the exact Jacobian, which the law gives, from the starting values of the law. Steps are
// shortened until the next simplified correction is smaller (the natural monotonicity test, Deuflhard 2004, section
// 3.3), which does not depend on the units of the residuals. Other scalars: with u found for the values, du = -J^-1 dr
// is exact.
#pragma once

#include "elements/program.hpp"
#include "scalar/dense_lu.hpp"

namespace dalembert::DALEMBERT_ISA {

// where the residuals stand among the outputs; then their derivatives, then where to begin
DALEMBERT_INLINE int first_residual(const ElementData &e) { return e.measures + e.states + 1 + e.signals; }

// What a law with unknowns, which follow the n inputs, gives beside them; NaN where there is no solution. last: as in
// run_program
template <class T> void solve_law(const ModelData &m, const ElementData &e, T *in, int n, T *values, double *numbers,
                                  T *outputs, ProgramPart last);

} // namespace dalembert::DALEMBERT_ISA
