// Laws that the core knows by name, for one measure s with rate s':
//
//     linear      f = -k (s - rest) - c s'                                      E = 1/2 k (s - rest)^2               (1)
//     limits      f = max(0, k (lower - s) - c s') below, min(0, k (upper - s) - c s') above, E = 1/2 k depth^2      (2)
//     given       f = inputs                                                    E = 0                                (3)
//     dry         f = -friction m, m the mode where it is -1, 0 or 1, else the sign of s'; or tanh(s' / slip) where a
//                 slip is given                                                 E = 0                                (4)
//
// Inputs in the order of ElementData: t, s, s', parameters (or further inputs).
#pragma once

#include "scalar/math.hpp"

namespace dalembert::DALEMBERT_ISA {

// what a law gives: its force, what it stores, and the rate of that
template <class T> struct Answer {
  T force, energy, rate;
};

// (1): stiffness, damping, rest
template <class T> DALEMBERT_INLINE Answer<T> linear_law(const T *in) {
  const T stretch = in[1] - in[5], elastic = in[3] * stretch;
  return {-(elastic + in[4] * in[2]), 0.5 * (elastic * stretch), elastic * in[2]};
}

// (2): lower, upper, stiffness, damping
template <class T> DALEMBERT_INLINE Answer<T> limits_law(const T *in) {
  const T &s = in[1], &rate = in[2], &lower = in[3], &upper = in[4];
  const T zero(0.0);
  const auto below = less(s, lower), above = less(upper, s);
  const T depth = select(below, lower - s, select(above, upper - s, zero));
  const T damping = select(below, in[6], select(above, in[6], zero));
  const T elastic = in[5] * depth, whole = elastic - damping * rate;
  const T push = select(below, select(less(whole, zero), zero, whole), select(above, select(less(zero, whole), zero, whole), zero));
  return {push, 0.5 * (elastic * depth), -(elastic * rate)};
}

// (4): friction, mode, slip
template <class T> DALEMBERT_INLINE Answer<T> dry_law(const T *in) {
  const T &rate = in[2], &mode = in[4], &slip = in[5];
  const T zero(0.0), one(1.0);
  const T sign = select(less(zero, rate), one, select(less(rate, zero), -one, zero));
  T sense = select(less(absolute(mode), T(1.5)), mode, sign);
  const auto smooth = less(zero, slip);
  if (bits(smooth))
    sense = select(smooth, hyperbolic_tangent(rate / select(smooth, slip, one)), sense);
  return {-(in[3] * sense), zero, zero};
}

} // namespace dalembert::DALEMBERT_ISA
