// Laws of time: value, rate and second rate, for any scalar.
#pragma once

#include "model/model_data.hpp"
#include "model/parameter_access.hpp"
#include "scalar/math.hpp"
#include <limits>

namespace dalembert::DALEMBERT_ISA {

template <class T> struct LawValue { T value, rate, second; };

// Horner, with two derivatives
template <class T, class S> inline LawValue<T> polynomial(const S *c, int count, const T &t) {
  LawValue<T> s{T(0.0), T(0.0), T(0.0)};
  for (int k = count - 1; k >= 0; --k) {
    s.second = s.second * t + 2.0 * s.rate;
    s.rate = s.rate * t + s.value;
    s.value = s.value * t + c[k];
  }
  return s;
}

// the piece of a table that begins at or before t; -1 outside, where there is no value
inline int piece_of(const LawData &law, const double *ends, double t) {
  const int count = law.count;
  const double slack = 1e-12 * (ends[count] - ends[0]);
  if (!(t >= ends[0] - slack && t <= ends[count] + slack))
    return -1;
  int low = 0, high = count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (t >= ends[middle] ? low : high) = middle;
  }
  return low;
}

// own: coefficients in place of those that follow the ends
template <class T, class S> inline LawValue<T> table(const LawData &law, const double *ends, const S *own, const T &t) {
  const int piece = piece_of(law, ends, value_of(t));
  if (piece < 0) {
    const T none(std::numeric_limits<double>::quiet_NaN());
    return {none, none, none};
  }
  return polynomial(own + piece * (law.degree + 1), law.degree + 1, t - ends[piece]);
}

// the same with coefficients of one lane
template <class P>
inline LawValue<double> table_of_lane(const LawData &law, const double *ends, const P *own, int lane, double t) {
  const int piece = piece_of(law, ends, t);
  if (piece < 0)
    return table(law, ends, ends, t);
  LawValue<double> s{0.0, 0.0, 0.0};
  for (int k = law.degree; k >= 0; --k) {
    const double from = t - ends[piece];
    s.second = s.second * from + 2.0 * s.rate;
    s.rate = s.rate * from + s.value;
    s.value = s.value * from + own[piece * (law.degree + 1) + k][lane];
  }
  return s;
}

// x - sin x, without loss of digits where both are nearly the same
template <class T> inline T sine_lag(const T &x, const T &sine) {
  const T square = x * x; // below 1/4 the next term of the series is 1e-17 of the first
  const T series =
      square * x / 6.0 *
      (1.0 -
       square / 20.0 * (1.0 - square / 42.0 * (1.0 - square / 72.0 * (1.0 - square / 110.0 * (1.0 - square / 156.0)))));
  return select(less(square, T(0.25)), series, x - sine);
}

// start + rise (s - sin(2 pi s) / 2 pi): Passerello & Huston 1972, (5.1); by half the angle, since 1 - cos = 2 sin^2 of
// it
template <class T, class S>
inline LawValue<T> ramp(const S &start, const S &end, const S &duration, const S &begin, const T &t) {
  constexpr double turn = 6.283185307179586;
  const T s = (t - begin) / duration;
  const S rise = end - start;
  T half_sine, half_cosine;
  sincos(0.5 * turn * s, half_sine, half_cosine);
  const T sine = 2.0 * half_sine * half_cosine;
  const T zero(0.0), one(1.0);
  const auto before = opposite(less(zero, s)), after = opposite(less(s, one)), still = either(before, after);
  return {select(before, T(start), select(after, T(end), start + rise * (sine_lag<T>(turn * s, sine) / turn))),
          select(still, zero, rise / duration * (2.0 * half_sine * half_sine)),
          select(still, zero, rise * turn / (duration * duration) * sine)};
}

// laws that are formulas, with numbers c
template <class T, class S> inline LawValue<T> formula(const LawData &law, const S *c, const T &t) {
  switch (law.kind) {
  case LawKind::constant:
    return {T(c[0]), T(0.0), T(0.0)};
  case LawKind::polynomial:
    return polynomial(c, law.count, t);
  case LawKind::harmonic: {
    T s, k;
    sincos(c[1] * t + c[2], s, k);
    return {c[3] + c[0] * s, c[0] * c[1] * k, -(c[0] * c[1] * c[1]) * s};
  }
  default:
    return ramp(c[0], c[1], c[2], c[3], t);
  }
}

// callback_laws: three numbers for each law that is given from outside, value, rate and second rate
template <class T> inline LawValue<T> law_at(const ModelData &m, int number, const T &t, const double *callback_laws) {
  const LawData &law = m.laws[number];
  const double *c = m.law_values + law.first;
  if constexpr (requires { t[0]; })
    if (law.kind == LawKind::table) { // each lane in a piece of its own
      LawValue<T> all;
      const T *own = m.varied ? parameters_of<T>(m)->law_values + law.first + law.count + 1 : nullptr;
      for (int lane = 0; lane < T::lanes; ++lane) {
        const LawValue<double> one =
            own ? table_of_lane(law, c, own, lane, t[lane]) : table(law, c, c + law.count + 1, t[lane]);
        all.value.set(lane, one.value), all.rate.set(lane, one.rate), all.second.set(lane, one.second);
      }
      return all;
    }
  switch (law.kind) {
  case LawKind::constant:
  case LawKind::polynomial:
  case LawKind::harmonic:
  case LawKind::ramp:
    if constexpr (varies<T>)
      if (m.varied)
        return formula(law, parameters_of<T>(m)->law_values + law.first, t);
    return formula(law, c, t);
  case LawKind::table:
    if constexpr (!requires { t[0]; }) {
      if constexpr (varies<T>)
        if (m.varied)
          return table(law, c, parameters_of<T>(m)->law_values + law.first + law.count + 1, t);
      return table(law, c, c + law.count + 1, t);
    }
    break;
  case LawKind::callback: {
    const double *h = callback_laws + 3 * law.first;
    LawValue<T> given{T(h[0]), T(h[1]), T(h[2])};
    if constexpr (requires { t.slope; })
      given.value.slope = t.slope * h[1], given.rate.slope = t.slope * h[2];
    return given;
  }
  }
  return {T(0.0), T(0.0), T(0.0)};
}

} // namespace dalembert::DALEMBERT_ISA
