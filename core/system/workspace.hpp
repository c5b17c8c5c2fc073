// Workspace of evaluations of the whole system, for one thread and one scalar.
#pragma once

#include "constraints/loop_dynamics.hpp"
#include "elements/evaluation_context.hpp"
#include "system/conditions.hpp"

namespace dalembert::DALEMBERT_ISA {

// Damping and stiffness of joints within a step of length h, whose velocities are `from` at its begin: accelerations are
// those with forces of elements along single coordinates of trees at the mean position and velocity of the step, to first
// order (tree/joint_pivots.hpp). The factors of the equations stand with them in the workspace.
template <class T> struct JointTerms {
  double h = 0.0;          // 0: none
  const T *from = nullptr; // nv
  T *slopes;               // 4 nv: EvaluationContext::joint_slopes; then h c, h^2 k / 4
  Dual *duals;             // of numbers: space for programs
};

template <class T> struct SystemWorkspace {
  LoopWorkspace<T> loops;
  T *tau;                // nv: all joint forces but those of drives
  T *efforts;            // nv: those of them that no element gives
  T *control;            // nv: those of them that actuators give
  T *inputs;             // input_count: set by a control sequence, if there is one
  double *parameters;    // parameter_count: numbers of the elements, if there is a control sequence
  T *requested_effort;   // actuator_count: demands on actuators
  T *cut;                // cut_nv: efforts at cut joints
  T *targets;            // 3 x nc: residual, rate and second rate that drives demand of the rows
  T *lambda;             // nc
  T *values;             // space for programs
  T *signals, *unused;   // of the elements; nx: rates of states that not wanted for
  T *feedback;           // loads that connections transmit
  T *passed;             // nv: joint forces that go with a motion
  T *switching_values;   // switching_count: the numbers that decide between branches, where sides are held
  double *sides;         // switching_count: those of the conditions, with the mixtures found
  bool sliding = false;  // `sides` count, not those of the conditions
  double *numbers;       // space for programs
  double *callback_laws; // 3 per callback law
  double *loads;         // users x 6: from outside
  JointTerms<T> joint_terms;
};

template <class T> std::size_t lay_out(const ModelData &m, std::byte *base, SystemWorkspace<T> &work);

// what the evaluation of elements needs besides positions and velocities
template <class T> inline EvaluationContext<T> evaluation_context(const Conditions &c, const SystemWorkspace<T> &work,
                                                                  const SystemState<T> &s, T *dx) {
  EvaluationContext<T> at{s.t, c.parameters, work.callback_laws, c.parameter_stride};
  at.x = s.x;
  at.dx = dx;
  at.values = work.values;
  at.numbers = work.numbers;
  at.functions = &c.functions;
  at.signals = work.signals;
  at.feedback = work.feedback;
  at.inputs = s.inputs;
  if constexpr (std::is_same_v<T, double>)
    if (c.sequence) {
      at.inputs = s.inputs ? s.inputs : work.inputs;
      at.parameters = work.parameters;
    }
  if constexpr (std::is_same_v<T, Pack>) // SIMD batches have no callbacks
    at.control = s.control;
  else
    at.control = work.control;
  at.requested_effort = work.requested_effort;
  if (c.law_branches)
    at.branches = {work.sliding ? work.sides : c.law_branches, c.law_branch_stride, work.switching_values};
  return at;
}

} // namespace dalembert::DALEMBERT_ISA
