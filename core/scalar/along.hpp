// Along<T>: a number and its rate along a motion, each of any scalar T. Kernels run on it return rates; with T = Dual,
// rates and their derivatives.
#pragma once

#include "scalar/math.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> struct Along {
  T value, rate;
  Along() = default;
  DALEMBERT_INLINE Along(double s) : value(s), rate(0.0) {}
  DALEMBERT_INLINE Along(const T &v, const T &r) : value(v), rate(r) {}

  friend DALEMBERT_INLINE Along operator+(const Along &a, const Along &b) {
    return {a.value + b.value, a.rate + b.rate};
  }
  friend DALEMBERT_INLINE Along operator-(const Along &a, const Along &b) {
    return {a.value - b.value, a.rate - b.rate};
  }
  friend DALEMBERT_INLINE Along operator-(const Along &a) { return {-a.value, -a.rate}; }
  friend DALEMBERT_INLINE Along operator*(const Along &a, const Along &b) {
    return {a.value * b.value, a.value * b.rate + b.value * a.rate};
  }
  friend DALEMBERT_INLINE Along operator/(const Along &a, const Along &b) {
    const T quotient = a.value / b.value;
    return {quotient, (a.rate - quotient * b.rate) / b.value};
  }
  friend DALEMBERT_INLINE Along operator+(const Along &a, double b) { return {a.value + b, a.rate}; }
  friend DALEMBERT_INLINE Along operator+(double a, const Along &b) { return {a + b.value, b.rate}; }
  friend DALEMBERT_INLINE Along operator-(const Along &a, double b) { return {a.value - b, a.rate}; }
  friend DALEMBERT_INLINE Along operator-(double a, const Along &b) { return {a - b.value, -b.rate}; }
  friend DALEMBERT_INLINE Along operator*(const Along &a, double b) { return {a.value * b, a.rate * b}; }
  friend DALEMBERT_INLINE Along operator*(double a, const Along &b) { return {a * b.value, a * b.rate}; }
  friend DALEMBERT_INLINE Along operator/(const Along &a, double b) { return {a.value / b, a.rate / b}; }
  friend DALEMBERT_INLINE Along operator/(double a, const Along &b) { return Along(a) / b; }

  friend DALEMBERT_INLINE auto less(const Along &a, const Along &b) { return less(a.value, b.value); }
  friend DALEMBERT_INLINE Along select(bool c, const Along &a, const Along &b) { return c ? a : b; }
  friend DALEMBERT_INLINE Along root(const Along &a) {
    const T r = root(a.value);
    return {r, 0.5 * (a.rate / r)};
  }
  friend DALEMBERT_INLINE void sincos(const Along &a, Along &s, Along &c) {
    T sine, cosine;
    sincos(a.value, sine, cosine);
    s = {sine, cosine * a.rate}, c = {cosine, -(sine * a.rate)};
  }
};

} // namespace dalembert::DALEMBERT_ISA
