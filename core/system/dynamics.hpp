// The equations of motion of the system as described: accelerations and rates of element states at a state, with
// elements, drives, locks, loops and whatever is evaluated outside.
//
//     M a + b = tau + P^T lambda     P a + gamma = what drives demand     a = what drives demand where degrees of
//                                    freedom are given
//
// tau and b hold what elements do to joints and bodies. Loads that connections transmit may be inputs of elements: the
// workspace holds those that an evaluation takes (SystemWorkspace::feedback); system/load_feedback.hpp finds the ones
// that fit.
#pragma once

#include "system/workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// Evaluates the callbacks for laws, joint forces and loads, and adds those of the state to the joint forces; without
// callbacks, these alone. False: the callbacks has failed.
bool evaluate_callbacks(const ModelData &m, const Conditions &c, SystemWorkspace<double> &work,
                        const SystemState<double> &s);

// Accelerations a (nv), rates dx (nx; may be null), multipliers in work.lambda, joint forces of elements and from
// outside in work.tau, for the feedback that stands in the workspace. SIMD batches must have no callbacks; returns the
// lanes in which the rows of the loops come near to depending on each other: these have to be done by themselves. None
// for numbers.
template <class T> unsigned solve_accelerations(const ModelData &m, const Conditions &c, SystemWorkspace<T> &work,
                                                const SystemState<T> &s, T *a, T *dx);

// Switching functions of laws at a state, in work.switching_values; what else stands in the workspace is
// lost.
void evaluate_switching_functions(const ModelData &m, const Conditions &c, SystemWorkspace<double> &work,
                                  const SystemState<double> &s);

// Residuals at a motion with accelerations a and multipliers lambda: in work.passed what every joint has to supply (all
// joint forces), in work.tau what elements and the outside give there, in work.cut the same at cut joints; in p_A of
// the workspace what each joint passes to its body. seconds: null, or second rates of the rows (nc). The frames stand
// in the world with their velocities and accelerations (weight included); unless in_world, only where loop constraints
// or elements look at them.
template <class T> void motion_residuals(const ModelData &m, const Conditions &c, SystemWorkspace<T> &work,
                                         const EvaluationContext<T> &at, const SystemState<T> &s, const T *a,
                                         const T *lambda, T *seconds, bool in_world = true);

// What the rows of one loop constraint, no coupling, do to its end B for known multipliers: [moment; force] at its
// origin, world axes. seconds: null, or second rates of its rows. The frames stand in the world with their velocities
// and accelerations.
template <class T> Load<T> loop_constraint_load(const ModelData &m, Workspace<T> &ws,
                                                const LoopConstraintData &constraint, const T *lambda, T *seconds);

// Load of each loop constraint's rows on its second frame B at its origin, world axes, [moment; force], after
// `motion_residuals`: of the multipliers, and of efforts at its own coordinates. Zero for couplings and loop
// constraints that do not hold.
template <class T>
void loop_constraint_loads(const ModelData &m, const Conditions &c, SystemWorkspace<T> &work, const T *lambda, T *out);

} // namespace dalembert::DALEMBERT_ISA
