// Efforts of actuators and multipliers of loops for a motion of one state:
//
//     C^T u + P^T lam = f                                                                                          (1)
//
// with f the generalised forces that the motion needs, C the rows of the actuated velocities, P those of the loops. With
// (S P D)^T Pi = Q R, scales S of rows and D of velocities, and Q_2 the columns of Q beyond the rank, the efforts follow
// from Q_2^T D C^T u = Q_2^T D f, the shortest if there are more of them than degrees of freedom; the multipliers are
// the shortest of the scaled rows. Sol 1983, (6.3.7)-(6.3.8) with erratum 22; Slaats 1991, section 4.1.
#pragma once

#include "dense/pivoted_qr.hpp"

namespace dalembert::dense {

struct LoopEffortProblem {
  int nv, nc, m;                    // velocities, rows of loops, actuators
  const double *P, *C;              // nc x nv, m x nv
  const double *row_scale;          // nc
  const double *column_scale;       // nv
  const bool *holonomic;            // nc: rows on positions
  const double *gap, *drift, *bias; // nc: position, P v + drift and P a + bias vanish
  const double *v, *a, *force;      // nv
};

struct LoopEffortWorkspace {
  PivotedQr loops, multipliers, actuators;
  std::vector<double> x, y;
};

// Without `regular`, the decision and the message are left to the caller: the motion opens the loops, a rank is close to
// rounding, or the actuators do not reach every degree of freedom.
struct LoopEffortOutcome {
  bool regular = false;
  bool redundant_rows = false;
  bool determined = false; // as many actuators as degrees of freedom
};

// u (m) and lam (nc)
LoopEffortOutcome solve_loop_efforts(const LoopEffortProblem &problem, LoopEffortWorkspace &work, double *u,
                                     double *lambda);

} // namespace dalembert::dense
