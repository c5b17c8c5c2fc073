// Generalised alpha on the index-3 equations, with controlled damping of high frequencies (Chung, Hulbert
// 1993; on Lie groups Bruls, Cardona, Arnold 2012). Order 2. With A the acceleration-like variable of the method:
//
//     xi1 = h v + h^2 ((1/2 - beta) A + beta A1)          v1 = v + h ((1 - gamma) A + gamma A1)                     (1)
//     (1 - alpha_m) A1 + alpha_m A = (1 - alpha_f) a1 + alpha_f a                                                   (2)
//     R(q1, v1, a1) - P^T lambda = 0          phi(q1) = target                                                      (3)
//
// Newton's method on (3) for xi1 and lambda, from where A1 = A leads, with one matrix; where that does not converge,
// once more from the beginning of the step, with a matrix in every round, where with (1) and (2) dv1 = gamma' dxi, da1
// = beta' dxi:
//
//     [ (beta' M + gamma' C + K) / beta'   -P^T ] [ dxi            ]
//     [ P                                  -eps ] [ dlambda / beta' ] = -[ R / beta'; phi ]                         (4)
//
// where rows that bind velocities only have, for phi,
//
//     P dxi = (target - P v1) / gamma'                                                                              (5)
//
// scaled so that its parts do not differ by powers of h (Bottasso, Bauchau, Cardona 2007). The small eps, a part of P
// M^-1 P^T of its row, makes rows that repeat others harmless; it does not change the solution, on which dlambda = 0.
// Rows that can move nothing (a second weld between two bodies) are left out. Velocities are put onto the loops after
// the step, those of driven degrees of freedom left as they are, which stands for the stabilising multipliers of the
// index-2 form.
//
// Steps have a given length, or one that keeps their error within the tolerance. A stands for the acceleration at
// t + d h, d = alpha_m - alpha_f; where the length changes from h0 to h, a step begins from
//
//     B = A + d (h - h0) A'        A' = (A1 - B) / h of the step before                                             (6)
//
// and with Taylor's series of (1), A' for the third and its difference quotient A'' for the fourth rate of positions,
// the error of a step is
//
//     e_q = (d / 2 + beta - 1/6) h^3 A'          e_v = (d^2 / 2 + (1/2 + d) gamma - 1/6) h^3 A''                    (7)
//
// and that of element states, by the trapezoidal rule, h^3 x''' / 12. What of e_v the loops do not permit is no error
// of the step: velocities are put onto them, and the multipliers make up for A across them, which follows changes of h
// otherwise.
#pragma once

#include "steppers/stepper.hpp"

namespace dalembert::DALEMBERT_ISA {

extern const Stepper alpha_stepper;

} // namespace dalembert::DALEMBERT_ISA
