// Generalised alpha on the index-3 equations, with a fixed step and controlled damping of high frequencies (Chung, Hulbert
// 1993; on Lie groups Bruls, Cardona, Arnold 2012). Order 2. With A the acceleration-like variable of the method:
//
//     xi1 = h v + h^2 ((1/2 - beta) A + beta A1)          v1 = v + h ((1 - gamma) A + gamma A1)                      (1)
//     (1 - alpha_m) A1 + alpha_m A = (1 - alpha_f) a1 + alpha_f a                                                    (2)
//     R(q1, v1, a1) - P^T lambda = 0          phi(q1) = target                                                       (3)
//
// Newton's method on (3) for xi1 and lambda, from where A1 = A leads, with one matrix; where that does not converge, once
// more from the beginning of the step, with a matrix in every round, where with (1) and (2) dv1 = gamma' dxi, da1 = beta' dxi:
//
//     [ (beta' M + gamma' C + K) / beta'   -P^T ] [ dxi            ]
//     [ P                                  -eps ] [ dlambda / beta' ] = -[ R / beta'; phi ]                            (4)
//
// where rows that bind speeds only have, for phi,
//
//     P dxi = (target - P v1) / gamma'                                                                                (5)
//
// scaled so that its parts do not differ by powers of h (Bottasso, Bauchau, Cardona 2007). The small eps, a
// part of P M^-1 P^T of its row, makes rows that repeat others harmless; it does not change the solution, on which dlambda = 0.
// Rows that can move nothing (a second weld between two bodies) are left out. Speeds are put onto the loops after the
// step, those of driven freedoms left as they are, which stands for the stabilising multipliers of the index-2 form.
#pragma once

#include "steppers/stepper.hpp"

namespace dalembert::DALEMBERT_ISA {

extern const Stepper alpha_stepper;

} // namespace dalembert::DALEMBERT_ISA
