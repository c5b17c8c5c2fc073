// Explicit Runge-Kutta steps in the chart around the beginning of the step.
//
//     z_i = h sum_j a_ij K_j          K_i = [xi'; a; x'] at the state z_i away                                  (1)
//
// Where a step ends off the loops it is put back onto them after its error has been judged, so that the estimate is
// that of the method; rates are then evaluated anew.
#pragma once

#include "steppers/methods/runge_kutta.hpp"
#include "steppers/stepper.hpp"

namespace dalembert::DALEMBERT_ISA {

// Tries a step of length h. On return q1, v1, x1, a1 hold its end, on the loops, and `error` its error in units of the
// tolerance (0 where the method has no estimate); above 1 the end is not completed.
Outcome explicit_step(const RunContext &i, const Tableau &tableau, double h, double &error);

// the length of the next step
double explicit_accept(const RunContext &i, int order, double h, double error);

// After an accepted step: whether the equations are stiff.
bool detects_stiffness(const RunContext &i, const Tableau &tableau, double h);

extern const Stepper dop853_stepper, dopri5_stepper, rk4_stepper, euler_stepper;

} // namespace dalembert::DALEMBERT_ISA
