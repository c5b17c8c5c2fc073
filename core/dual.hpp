// Dual<W>: a value and its derivatives in W directions at once; arithmetic by the chain rule, so
// a kernel run on duals returns exact directional derivatives (no step size, no truncation).
#pragma once

#include "pack.hpp"

namespace dalembert::DALEMBERT_ISA {

template <int W> struct Dual {
  double value;
  Pack<W> slope;
  Dual() = default;
  DALEMBERT_INLINE Dual(double s) : value(s), slope(0.0) {}
  DALEMBERT_INLINE Dual(double v, Pack<W> d) : value(v), slope(d) {}
};

template <int W> DALEMBERT_INLINE Dual<W> operator+(const Dual<W> &a, const Dual<W> &b) {
  return {a.value + b.value, a.slope + b.slope};
}
template <int W> DALEMBERT_INLINE Dual<W> operator-(const Dual<W> &a, const Dual<W> &b) {
  return {a.value - b.value, a.slope - b.slope};
}
template <int W> DALEMBERT_INLINE Dual<W> operator*(const Dual<W> &a, const Dual<W> &b) {
  return {a.value * b.value, a.value * b.slope + b.value * a.slope};
}
template <int W> DALEMBERT_INLINE Dual<W> operator/(const Dual<W> &a, const Dual<W> &b) {
  const double inverse = 1.0 / b.value, quotient = a.value * inverse;
  return {quotient, (a.slope - quotient * b.slope) * inverse};
}
template <int W> DALEMBERT_INLINE Dual<W> operator-(const Dual<W> &a) { return {-a.value, -a.slope}; }

template <int W> DALEMBERT_INLINE Dual<W> operator+(const Dual<W> &a, double b) { return {a.value + b, a.slope}; }
template <int W> DALEMBERT_INLINE Dual<W> operator+(double a, const Dual<W> &b) { return {a + b.value, b.slope}; }
template <int W> DALEMBERT_INLINE Dual<W> operator-(const Dual<W> &a, double b) { return {a.value - b, a.slope}; }
template <int W> DALEMBERT_INLINE Dual<W> operator-(double a, const Dual<W> &b) { return {a - b.value, -b.slope}; }
template <int W> DALEMBERT_INLINE Dual<W> operator*(const Dual<W> &a, double b) { return {a.value * b, a.slope * b}; }
template <int W> DALEMBERT_INLINE Dual<W> operator*(double a, const Dual<W> &b) { return {a * b.value, a * b.slope}; }
template <int W> DALEMBERT_INLINE Dual<W> operator/(const Dual<W> &a, double b) { return {a.value / b, a.slope / b}; }
template <int W> DALEMBERT_INLINE Dual<W> operator/(double a, const Dual<W> &b) { return Dual<W>(a) / b; }

} // namespace dalembert::DALEMBERT_ISA
