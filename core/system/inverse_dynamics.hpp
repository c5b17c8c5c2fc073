// Inverse dynamics of a given motion: joint forces beside those of elements, and the loads that connections pass on in it.
//
// Where elements take loads z that connections transmit, these follow from the motion and from the elements themselves,
// z = T(z); they are found by going round, and are not finite where that does not settle.
#pragma once

#include "system/derivatives/derivatives.hpp"

namespace dalembert::DALEMBERT_ISA {

// accelerations a (nv) and multipliers lambda (nc; null: zero) are given; s.prescribed counts for nothing. All return
// false if what is evaluated outside has failed.
struct PrescribedMotion {
  SystemState<double> s;
  const double *a, *lambda;
};

bool required_forces(const ModelData &m, const Conditions &c, MotionWorkspace &work, const PrescribedMotion &motion,
                     double *tau);
// of all connections, 6 each
bool loads_of_motion(const ModelData &m, const Conditions &c, MotionWorkspace &work, const PrescribedMotion &motion,
                     double *loads);
// derivatives of tau by positions, velocities and accelerations, nv x nv each; for open systems
bool d_required_forces(const ModelData &m, const Conditions &c, MotionWorkspace &work,
                       DerivativesWorkspace &derivatives, const PrescribedMotion &motion, double *const by[3]);

} // namespace dalembert::DALEMBERT_ISA
