// Laws of time: value, rate and second rate.
#pragma once

#include "math.hpp"
#include "model.hpp"
#include <limits>

namespace dalembert::DALEMBERT_ISA {

struct LawValue {
  double value, rate, second;
};

// Horner, with two derivatives
inline LawValue polynomial(const double *c, int count, double t) {
  LawValue s{0.0, 0.0, 0.0};
  for (int k = count - 1; k >= 0; --k) {
    s.second = s.second * t + 2.0 * s.rate;
    s.rate = s.rate * t + s.value;
    s.value = s.value * t + c[k];
  }
  return s;
}

// outside a table there is no value: NaN
inline LawValue table(const LawData &law, const double *ends, double t) {
  const int count = law.count;
  const double slack = 1e-12 * (ends[count] - ends[0]);
  if (!(t >= ends[0] - slack && t <= ends[count] + slack)) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    return {none, none, none};
  }
  int low = 0, high = count; // the piece that begins at or before t
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (t >= ends[middle] ? low : high) = middle;
  }
  return polynomial(ends + count + 1 + low * (law.degree + 1), law.degree + 1, t - ends[low]);
}

// start + rise (s - sin(2 pi s) / 2 pi): Passerello & Huston 1972, (5.1)
inline LawValue ramp(double start, double end, double duration, double begin, double t) {
  constexpr double turn = 6.283185307179586;
  const double s = (t - begin) / duration, rise = end - start;
  if (s <= 0.0)
    return {start, 0.0, 0.0};
  if (s >= 1.0)
    return {end, 0.0, 0.0};
  double sine, cosine;
  sincos(turn * s, sine, cosine);
  return {start + rise * (s - sine / turn), rise / duration * (1.0 - cosine), rise * turn / (duration * duration) * sine};
}

// hosted: three numbers for each law that is given from outside
inline LawValue law_at(const ModelData &m, int number, double t, const double *hosted) {
  const LawData &law = m.laws[number];
  const double *c = m.law_numbers + law.first;
  switch (law.kind) {
  case LawKind::constant:
    return {c[0], 0.0, 0.0};
  case LawKind::polynomial:
    return polynomial(c, law.count, t);
  case LawKind::harmonic: {
    double s, k;
    sincos(c[1] * t + c[2], s, k);
    return {c[3] + c[0] * s, c[0] * c[1] * k, -c[0] * c[1] * c[1] * s};
  }
  case LawKind::ramp:
    return ramp(c[0], c[1], c[2], c[3], t);
  case LawKind::table:
    return table(law, c, t);
  case LawKind::hosted:
    return {hosted[3 * law.first], hosted[3 * law.first + 1], hosted[3 * law.first + 2]};
  }
  return {0.0, 0.0, 0.0};
}

} // namespace dalembert::DALEMBERT_ISA
