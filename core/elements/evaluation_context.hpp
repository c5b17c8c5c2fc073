// Inputs of the evaluation of elements besides positions and velocities.
#pragma once

#include "elements/law_branches.hpp"
#include "elements/time_laws.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> struct EvaluationContext {
  T t;
  const double *parameters;    // of the elements
  const double *callback_laws; // laws given from outside: see law_at
  std::ptrdiff_t apart = 0;  // of packs: numbers between the parameters of one lane and the next; 0: all have the same
  const T *x = nullptr;      // states of elements
  T *dx = nullptr;           // their rates, where they are wanted
  T *values = nullptr;       // space for programs
  double *numbers = nullptr; // the same for numbers
  const Functions *functions = nullptr;
  T *signals = nullptr;        // of elements
  const T *feedback = nullptr; // loads that connections transmit
  const T *inputs = nullptr;   // in place of the laws that they come from; null: those laws
  const T *control = nullptr;  // nv: joint forces from outside that actuators give; null: none
  T *requested_effort =
      nullptr;               // ModelData::actuator_count: demand on the actuators at each bounded joint, all together
  LawBranches<T> branches{}; // of all elements
  // 4 nv: damping and stiffness that elements along one coordinate of a tree have at each degree of freedom (their slopes
  // by its rate and by its position), of all elements, then of those that actuators bound; null: not wanted
  T *joint_slopes = nullptr;
  Dual *duals = nullptr; // of numbers, for them: space for programs
  const T *varied = nullptr; // parameters with slopes, in place of `parameters`; null: these are constant
};

// parameter k; in a pack, that of each lane
template <class T> DALEMBERT_INLINE T parameter(const EvaluationContext<T> &at, int k) {
  if constexpr (requires { at.t[0]; }) {
    if (!at.apart)
      return T(at.parameters[k]);
    T value;
    for (int lane = 0; lane < T::lanes; ++lane)
      value.set(lane, at.parameters[lane * at.apart + k]);
    return value;
  } else {
    return at.varied ? at.varied[k] : T(at.parameters[k]);
  }
}

} // namespace dalembert::DALEMBERT_ISA
