// Radau IIA of order 5 with error control, for stiff systems (Hairer, Wanner 1996, section IV.8).
//
//     Z_i = h sum_j a_ij f(t + c_j h, z_j)          z_3 is the end of the step                                     (1)
//
// Newton's method on (1) is decoupled by the eigenvectors of the matrix a^-1 into one real and one complex system with
// (mu 1 - J), mu = eigenvalue / h. As the first rows of J are [0 1 0], each reduces to one of nv + nx equations:
//
//     [ (mu - A_v) (mu - B) - A_q   -A_x     ] [ dxi ]   [ r2 + (mu - A_v) r1 ]
//     [ -X_v (mu - B) - X_q         mu - X_x ] [ dx  ] = [ r3 - X_v r1        ]     dv = (mu - B) dxi - r1        (2)
//
// with B = d xi'/d xi at the beginning of the step, which only the charts of attitudes have.
//
// J is kept from step to step for as long as Newton's method converges well; both factorisations as long as the step
// does not change.
#pragma once

#include "steppers/stepper.hpp"

namespace dalembert::DALEMBERT_ISA {

extern const Stepper radau_stepper;

} // namespace dalembert::DALEMBERT_ISA
