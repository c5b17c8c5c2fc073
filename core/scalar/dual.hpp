// Dual: a value and its derivatives in W directions at once; arithmetic by the chain rule, so
// a kernel run on duals returns exact directional derivatives (no step size, no truncation).
#pragma once

#include "scalar/pack.hpp"

namespace dalembert::DALEMBERT_ISA {

struct Dual {
  double value;
  Pack slope;
  Dual() = default;
  DALEMBERT_INLINE Dual(double s) : value(s), slope(0.0) {}
  DALEMBERT_INLINE Dual(double v, Pack d) : value(v), slope(d) {}
};

DALEMBERT_INLINE Dual operator+(const Dual &a, const Dual &b) { return {a.value + b.value, a.slope + b.slope}; }
DALEMBERT_INLINE Dual operator-(const Dual &a, const Dual &b) { return {a.value - b.value, a.slope - b.slope}; }
DALEMBERT_INLINE Dual operator*(const Dual &a, const Dual &b) {
  return {a.value * b.value, a.value * b.slope + b.value * a.slope};
}
DALEMBERT_INLINE Dual operator/(const Dual &a, const Dual &b) {
  const double inverse = 1.0 / b.value, quotient = a.value * inverse;
  return {quotient, (a.slope - quotient * b.slope) * inverse};
}
DALEMBERT_INLINE Dual operator-(const Dual &a) { return {-a.value, -a.slope}; }

DALEMBERT_INLINE Dual operator+(const Dual &a, double b) { return {a.value + b, a.slope}; }
DALEMBERT_INLINE Dual operator+(double a, const Dual &b) { return {a + b.value, b.slope}; }
DALEMBERT_INLINE Dual operator-(const Dual &a, double b) { return {a.value - b, a.slope}; }
DALEMBERT_INLINE Dual operator-(double a, const Dual &b) { return {a - b.value, -b.slope}; }
DALEMBERT_INLINE Dual operator*(const Dual &a, double b) { return {a.value * b, a.slope * b}; }
DALEMBERT_INLINE Dual operator*(double a, const Dual &b) { return {a * b.value, a * b.slope}; }
DALEMBERT_INLINE Dual operator/(const Dual &a, double b) { return {a.value / b, a.slope / b}; }
DALEMBERT_INLINE Dual operator/(double a, const Dual &b) { return Dual(a) / b; }

} // namespace dalembert::DALEMBERT_ISA
