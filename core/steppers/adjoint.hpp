// The discrete adjoint of a run by rk4 with fixed steps: exact derivatives of the steps as they are taken, transposed.
//
// A step leads from y = (q, v, x) by stages z_i = h sum_j a_ij K_j in the chart around q, rates K_i = [xi'; a; x'] at
// q (+) xi_i, v + dv_i, x + dx_i, to the end z = h sum b_i K_i, and from there onto the loops. Derivatives l of an
// output by the end become those by the beginning, stages backwards (Sandu 2006), with
//
//     dq_i = E dq + T dxi_i       T = 1 - a X + b X X     E = exp(-xi) = 1 - X T      (attitudes; 1 for others)     (1)
//     end = [T^T lq; lv; lx]      w_i = h (b_i end + sum_{j>i} a_ji B_j)                                            (2)
//     (aq, av, ax, ap) = [a x']_{q,v,x,p}^T w_i     B_i = [Cxi^T w_xi + T^T aq; Cv^T w_xi + av; ax]                 (3)
//     l = [E^T lq; lv; lx] + sum_i [E^T aq; Cv^T w_xi + av; ax]        gradient by p += sum_i ap                    (4)
//
// Cxi, Cv: derivatives of chart_rate. The projection onto the loops, rounds d of the positions, then velocities
// v1 = v + e, has with K = [M -P^T; P 0] the transpose
//
//     K^T [u; m] = [T^T lq; 0]:   lq <- E^T lq - d_q (u . (M d - P^T l) + m . (P d + phi))                          (5)
//     K^T [u; m] = [lv; 0]:       lv <- M u,   lq <- lq - d_q (u . (M e - P^T l) + m . P v1)                        (6)
//
// speeds first. The derivatives in (5) and (6) are those of the residuals of the equations of motion, which are affine
// in accelerations and multipliers, on dual numbers. Loops that are closed already are left out.
#pragma once

#include "steppers/run.hpp"

namespace dalembert {

struct AdjointRun {
  const double *q, *v, *x;             // at the samples, a row each
  const double *q_bar, *v_bar, *x_bar; // derivatives of the output by them: nv (as `integrate` moves q), nv, nx
  double *q_grad, *v_grad, *x_grad;    // results at the begin: nv, nv, nx
  double *control;                     // rows x channels of the control sequence
  double *parameters;                  // one for each direction
};

// directions of parameters: rows of numbers of the elements and of the tables (system/derivatives/derivatives.hpp)
struct AdjointDirections {
  const double *rows;
  int count;
};

struct AdjointSet {
  std::size_t (*bytes)(const ModelData &, int directions);
  // Samples are ends of steps. Directions: first those of the parameters that the control sequence sets, in the order
  // of the parameters, then those whose derivatives are wanted.
  Outcome (*run)(const ModelData &, const Run &, std::byte *memory, const Samples &, const AdjointDirections &,
                 const AdjointRun &);
};

const AdjointSet &best_adjoints();

} // namespace dalembert
