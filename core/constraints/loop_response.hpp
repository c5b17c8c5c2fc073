// Response of velocities to impulses, or of accelerations to efforts, at one configuration, while the rows of the loops
// hold: d = M^-1 r less what the loops take out, on the articulated-body factors of the trees and the factors of the
// loops (constraints/loop_dynamics.hpp).
#pragma once

#include "constraints/loop_dynamics.hpp"
#include "tree/forward_dynamics.hpp"

namespace dalembert::DALEMBERT_ISA {

// d (nv), the response of the trees, loses what the rows of the loops do not permit
inline void take_out_loops(const ModelData &m, LoopWorkspace<double> &loops, const Factored &factored,
                           const unsigned char *prescribed, double *d, double *lambda) {
  for (int pass = 0; pass < 2; ++pass) { // the second refines
    for (int k = 0; k < m.loop_constraint_count; ++k) {
      const LoopConstraintData &constraint = m.loop_constraints[k];
      for (int j = 0; j < constraint.rows; ++j) {
        const double *row = loops.values + constraint.values + j * constraint.supports;
        double sum = 0.0;
        for (int e = 0; e < constraint.supports; ++e)
          sum -= row[e] * d[m.support[constraint.support + e]];
        loops.rhs[constraint.row + j] = sum;
      }
    }
    solve_rows(m, loops, factored, d, lambda);
  }
  correct_for_regularization(m, loops, factored, prescribed, d, lambda);
}

// Response d (nv) to a unit effort along a row (nv), after the factors of the trees and of the loops at the
// configuration. prescribed: marks (nv) of velocities that do not respond; null: none. Returns row . d of the trees
// without loops.
inline double respond_to_row(const ModelData &m, LoopWorkspace<double> &loops, const Factored &factored,
                             const unsigned char *prescribed, const double *row, double *d, double *lambda) {
  for (int e = 0; e < m.nv; ++e)
    loops.x[e] = Pack(prescribed && prescribed[e] ? 0.0 : row[e]);
  solve(m, loops.ws, loops.side, loops.x, loops.x, 1, m.nb, prescribed);
  double own = 0.0;
  for (int e = 0; e < m.nv; ++e) {
    d[e] = prescribed && prescribed[e] ? 0.0 : loops.x[e][0];
    own += row[e] * d[e];
  }
  if (m.nc)
    take_out_loops(m, loops, factored, prescribed, d, lambda);
  return own;
}

} // namespace dalembert::DALEMBERT_ISA
