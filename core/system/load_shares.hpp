// Loads of least norm, (1) of system/self_stress.hpp, of many redundant connections, without their states of
// self-stress.
//
// They are those of compliant connections: each is a spring of compliance W = diag(1, 1, 1, L^2, L^2, L^2) about its
// second marker, in series with its degrees of freedom, and bodies displaced by x:
//
//     x_i = X x_p + S theta - W F_i          J_b x_b - J_a x_a + C lambda = 0,   C = J W J^T                       (1)
//     F_i = f_i + sum of X^T F_c - J^T lambda          S^T F_i = tau_i                                              (2)
//
// f being what the bodies demand in the motion. C of a coupling is 1 / scale^2. This is eliminated within the trees as
// in constraints/loop_fronts.hpp, all rows, with C in E where rows leave, and before each joint
//
//     T = (1 + G W)^-1     E += B^T W T B     rho -= B^T W T g     G := T G     B := T B     g := T g               (3)
//     outward:  x' = X x_p + S theta,   x_i = T^T x' + W T (B lambda - g)          (B, g before (3))                (4)
//
// G of a body is little but for its neighbours: freedoms without stiffness get a pivot by it. Its effect is taken out
// by rounds with the residuals of (1) and (2): six for 100 cells of a scissor, more for longer ladders. No decision on rank is made: E is positive definite.
#pragma once

#include "constraints/loop_workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// Multipliers (nc) that fit the motion become those of least norm; loads: connections x 6, those that go with them
// before, world axes. After solve_accelerations at the same state, for models with a plan (uses_fronts). Returns false
// if the rounds do not settle; the multipliers are left as they were then.
bool share_loads(const ModelData &m, const LoopWorkspace<double> &loops, const double *loads, double *lambda);

} // namespace dalembert::DALEMBERT_ISA
