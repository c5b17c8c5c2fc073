// Inverse dynamics: recursive Newton-Euler, O(nb).
//
// Given q, v, a (and loads on bodies), computes the joint forces tau, and the load F that each
// joint passes to its outboard body. Slaats 1991, SL-27; Jain & Rodriguez 1990, (4.1) with n_m = 0;
// Luh, Walker, Paul 1980.
//
//     f = m acc + alpha x h + w x (w x h)          n = J alpha + h x acc + w x J w             (1)
//     F_i = [n; f] - F_ext + sum over children of F_child, moved to F_i                        (2)
//     tau_i = H_i^T F_i                                                                        (3)
//
// A degree of freedom with an armature (the inertia of its drive train) opposes its own acceleration: tau += armature
// a.
//
// About 230 multiplications per revolute body.
#pragma once

#include "tree/kinematics.hpp"

namespace dalembert::DALEMBERT_ISA {

// Outward: motions, and in p_A the loads (1). a may be null (a = 0). tau: forces of the modes of flexible bodies.
template <class T> void start_inverse(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, const T *a, T *tau);

// Inward: (2), (3), after loads on the bodies have been taken from p_A; leaves there what each joint passes to its
// body.
template <class T> void finish_inverse(const ModelData &m, Workspace<T> &ws, const T *a, T *tau);

// Both, with loads given on the bodies (users x 6, as subtract_loads takes them) or null.
template <class T>
void inverse_dynamics(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, const T *a, const T *loads, T *tau);

} // namespace dalembert::DALEMBERT_ISA
