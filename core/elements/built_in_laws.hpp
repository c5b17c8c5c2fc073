// Laws that the core knows by name, for one measure s with rate s'; dry friction also for several:
//
//     linear      f = -k (s - rest) - c s'                                      E = 1/2 k (s - rest)^2              (1)
//     limits      f = max(0, k (lower - s) - c s') below, min(0, k (upper - s) - c s') above, E = 1/2 k depth^2     (2)
//     inputs      f = inputs                                                    E = 0                               (3)
//     dry friction  |f_i / F_i| <= 1, F_i = friction_i + coefficient load_i     E = 0                               (4)
//       of one measure    f = -F m, m the mode where it is -1, 0 or 1, else the sign of s'
//       of several        f_i = -F_i p_i / |p|, p_i = F_i (s'_i + m_i): against the motion, with the largest power of
//                         all admissible ones (equal F: a ball). The modes m, a small velocity, give the direction in
//                         which slip starts from rest; all zero: stick. From m_0 = 1.5 on there are none.
//       where a slip is given, tanh(velocity / slip) in place of the jump
//     bushing     f = -k_p p - c_p p',  m = -(g + phi x g / 2 + a phi x (phi x g)) - c_r w, g = k_r phi             (5)
//                 E = 1/2 (p . k_p p + phi . g); a as in tree/chart.hpp, so that m . w = -g . phi' (Bushing in Python)
//
// Inputs in the order of ElementData: t, s, s', parameters (or further inputs).
#pragma once

#include "elements/law_branches.hpp"
#include "tree/chart.hpp"

namespace dalembert::DALEMBERT_ISA {

// what a law gives: its force, what it stores, and the rate of that
template <class T> struct Answer { T force, energy, rate; };

// (1): stiffness, damping, rest
template <class T> DALEMBERT_INLINE Answer<T> linear_law(const T *in) {
  const T stretch = in[1] - in[5], elastic = in[3] * stretch;
  return {-(elastic + in[4] * in[2]), 0.5 * (elastic * stretch), elastic * in[2]};
}

// (2): lower, upper, stiffness, damping; its switching functions are the two limits
template <class T> DALEMBERT_INLINE Answer<T> limits_law(const T *in, const LawBranches<T> &branches = {}) {
  const T &s = in[1], &rate = in[2], &lower = in[3], &upper = in[4];
  const T zero(0.0);
  const bool held = branches.held != nullptr;
  const auto below = held ? less(branches.switching_value(0, s - lower), zero) : less(s, lower);
  const auto above = held ? less(zero, branches.switching_value(1, s - upper)) : less(upper, s);
  const T depth = select(below, lower - s, select(above, upper - s, zero));
  const T damping = select(below, in[6], select(above, in[6], zero));
  const T elastic = in[5] * depth, whole = elastic - damping * rate;
  const T push = select(below, select(less(whole, zero), zero, whole),
                        select(above, select(less(zero, whole), zero, whole), zero));
  return {push, 0.5 * (elastic * depth), -(elastic * rate)};
}

// (4) of one measure: friction F
template <class T> DALEMBERT_INLINE T dry_one(const T &F, const T &rate, const T &mode, const T &slip) {
  const T zero(0.0), one(1.0);
  const T sign = select(less(zero, rate), one, select(less(rate, zero), -one, zero));
  T sense = select(less(absolute(mode), T(1.5)), mode, sign);
  const auto smooth = less(zero, slip);
  if (bits(smooth))
    sense = select(smooth, hyperbolic_tangent(rate / select(smooth, slip, one)), sense);
  return -(F * sense);
}

// (4) of several: frictions F
template <class T>
inline void vector_friction_law(int n, const T *F, const T *rate, const T *mode, const T &slip, T *force) {
  const T zero(0.0), one(1.0);
  const auto free = less(mode[0], T(1.5));
  T p[max_ports], square = zero, largest = zero, given = zero;
  for (int i = 0; i < n; ++i) {
    p[i] = F[i] * (rate[i] + select(free, mode[i], zero));
    square = square + p[i] * p[i];
    largest = larger(largest, F[i]);
    given = given + absolute(mode[i]);
  }
  const auto moving = less(zero, square), smooth = less(zero, slip), slides = less(zero, given);
  const T size = root(select(moving, square, one));
  T factor = select(moving, 1.0 / size, zero);
  if (bits(smooth)) {
    const T scale = select(less(zero, largest), largest, one) * select(smooth, slip, one);
    factor = select(smooth, select(moving, hyperbolic_tangent(size / scale) / size, 1.0 / scale), factor);
  }
  for (int i = 0; i < n; ++i)
    force[i] = select(slides, -(F[i] * (p[i] * factor)), zero);
}

// (4): friction and mode of each measure, coefficient, slip, and, if it has any, loads
template <class T> inline void friction_law(const T *in, int n, bool loaded, T *force) {
  const T *rate = in + 1 + n, *friction = rate + n, *mode = friction + n, *load = mode + n + 2;
  T F[max_ports];
  for (int i = 0; i < n; ++i)
    F[i] = loaded ? friction[i] + mode[n] * load[i] : friction[i];
  if (n == 1)
    force[0] = dry_one(F[0], rate[0], mode[0], mode[2]);
  else
    vector_friction_law(n, F, rate, mode, mode[n + 1], force);
}

// (5): stiffnesses and dampings, those that `present` has a bit for; six forces, then what is stored
template <class T> inline void bushing_law(const T *in, unsigned present, T *out) {
  const T *s = in + 1, *rate = in + 7, *given = in + 13;
  const auto next = [&](int bit) { return present >> bit & 1u ? *given++ : T(0.0); };
  T g[6];
  for (int i = 0; i < 6; ++i)
    g[i] = next(i) * s[i];
  const Vec3<T> phi{s[3], s[4], s[5]}, moment{g[3], g[4], g[5]}, once = cross(phi, moment);
  const Vec3<T> turned = moment + scale(0.5, once) + scale(turn_series(dot(phi, phi)).c, cross(phi, once));
  const T elastic[6] = {g[0], g[1], g[2], turned.x, turned.y, turned.z};
  out[6] = T(0.0);
  for (int i = 0; i < 6; ++i) {
    out[6] = out[6] + g[i] * s[i];
    out[i] = -(elastic[i] + next(6 + i) * rate[i]);
  }
  out[6] = 0.5 * out[6];
}

} // namespace dalembert::DALEMBERT_ISA
