// Forward dynamics by the articulated-body recursion, O(nb), and solves with the mass matrix.
//
// Inward, each joint's degrees of freedom are eliminated from the inertia of everything it carries
// (Featherstone 1983; Slaats 1991, (3.53), (3.54) with the sign of Q_r corrected, erratum;
// Jain & Rodriguez 1990, (6.1), (7.2)). With D = H^T I_A H = L diag(d) L^T and Z = L^-1 (I_A H)^T:
//
//     I_a = I_A - Z^T diag(1/d) Z                                                              (1)
//     y = L^-1 (tau - H^T p_A)                                                                 (2)
//     p_a = p_A + I_a c + Z^T diag(1/d) y                                                      (3)
//     I_A and p_A of the parent += I_a and p_a seen from the parent                            (4)
//
// and outward, with A' the acceleration of F while the joint does not accelerate:
//
//     a = L^-T diag(1/d) (y - Z A')          A = A' + H a                                      (5)
//
// Degrees of freedom whose acceleration is given (Slaats 1991, section 4.1; Passerello & Huston 1972,
// chapter III) are not eliminated: their part of H a joins c, their row of D is replaced by that of
// the unit matrix, and tau = H^T (I_A A + p_A) is what the drive has to supply.
//
// A degree of freedom with an armature (the inertia of its drive train) has it on the diagonal of D.
//
// About 520 multiplications per revolute body.
#pragma once

#include "tree/inverse_dynamics.hpp"

namespace dalembert::DALEMBERT_ISA {

// Outward: frames, velocities, inertias and, in p_A, gyroscopic loads. placed: frames and velocities stand in the
// workspace already.
template <class T>
void start_forward(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, bool placed = false);

// Inward, then outward, after loads on the bodies have been taken from p_A. given: null, or one mark per degree of
// freedom whose acceleration stands in a on entry; tau_out: null, or the joint forces that go with a.
template <class T>
void finish_forward(const ModelData &m, Workspace<T> &ws, const T *tau, const unsigned char *given, T *a, T *tau_out);

// After `finish_forward`: joint forces that go with a, those of drives where accelerations are given, tau elsewhere.
template <class T>
void supplied_forces(const ModelData &m, const Workspace<T> &ws, const T *tau, const unsigned char *given, const T *a,
                     T *tau_out);

// All of it, with loads given on the bodies (users x 6, as subtract_loads takes them) or null.
template <class T> void forward_dynamics(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, const T *tau,
                                         const T *loads, const unsigned char *given, T *a, T *tau_out);

// pivots of the mass matrix at q: M = (1 + H Phi K) D (1 + H Phi K)^T (Jain & Rodriguez 1990, Lemma 6.1)
// given: null, or marks of degrees of freedom that stand still
template <class T>
void factorize(const ModelData &m, Workspace<T> &ws, const T *q, const unsigned char *given = nullptr);

// space for one right-hand side, of a scalar R that may carry several at once
template <class R> struct Side {
  Load<R> *p;
  R *y;
  Motion<R> *A;
};
template <class R> inline Side<R> load_right_hand_side(const ModelData &m, Arena &arena) {
  const std::size_t n = std::size_t(m.nb) + 1;
  return {arena.take<Load<R>>(n), arena.take<R>(std::size_t(m.nv)), arena.take<Motion<R>>(n)};
}

// Inward half of a solve with M, for the bodies [first, last], which must be whole trees: y = L^-1 x in the factors of
// M = L d L^T over all degrees of freedom, so that x . M^-1 x = sum of y^2 / d. After finish_forward with given
// accelerations, the same marks make those degrees of freedom stand still.
template <class T, class R> void solve_inward(const ModelData &m, const Workspace<T> &ws, Side<R> &side, const R *x,
                                              int first, int last, const unsigned char *given = nullptr);

// outward half: a = L^-T d^-1 y
template <class T, class R>
void solve_outward(const ModelData &m, const Workspace<T> &ws, Side<R> &side, R *a, int first, int last);

// M a = x after factorize; x and a may be the same array
template <class T, class R> inline void solve(const ModelData &m, const Workspace<T> &ws, Side<R> &side, const R *x,
                                              R *a, int first, int last, const unsigned char *given = nullptr) {
  solve_inward(m, ws, side, x, first, last, given);
  solve_outward(m, ws, side, a, first, last);
}

} // namespace dalembert::DALEMBERT_ISA
