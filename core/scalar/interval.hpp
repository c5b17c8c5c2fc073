// Interval arithmetic (Moore 1966): a range that holds every value that an expression takes while its arguments stay in
// theirs. A program run on intervals bounds a switching function along a step.
//
// Rounding is not directed: bounds are good to a few roundings, for which the caller has to allow. Where an operation
// is not defined on a part of its argument, as a root of a negative number, that part is left out; where nothing is
// known, the result is the whole line.
#pragma once

#include "scalar/isa.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace dalembert::DALEMBERT_ISA {

struct Interval {
  double low, high;

  Interval() = default;
  DALEMBERT_INLINE Interval(double x) : low(x), high(x) {}
  DALEMBERT_INLINE Interval(double low, double high) : low(low), high(high) {}

  static Interval line() { return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()}; }
  bool holds(double x) const { return low <= x && x <= high; }
  bool is_finite() const { return std::isfinite(low) && std::isfinite(high); }
};

inline Interval hull(const Interval &a, const Interval &b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

// bounds that are no numbers, as of infinity less infinity, become the whole line
inline Interval bounded(double low, double high) { return low <= high ? Interval(low, high) : Interval::line(); }

inline Interval operator+(const Interval &a, const Interval &b) { return bounded(a.low + b.low, a.high + b.high); }
inline Interval operator-(const Interval &a, const Interval &b) { return bounded(a.low - b.high, a.high - b.low); }
inline Interval operator-(const Interval &a) { return {-a.high, -a.low}; }
inline Interval operator*(const Interval &a, const Interval &b) {
  const auto product = [](double x, double y) { return x == 0.0 || y == 0.0 ? 0.0 : x * y; }; // zero times infinity too
  const double p[4] = {product(a.low, b.low), product(a.low, b.high), product(a.high, b.low), product(a.high, b.high)};
  return bounded(*std::min_element(p, p + 4), *std::max_element(p, p + 4));
}
inline Interval operator/(const Interval &a, const Interval &b) {
  return b.low > 0.0 || b.high < 0.0 ? a * Interval(1.0 / b.high, 1.0 / b.low) : Interval::line();
}

// ---- decisions: yes, no, or either

enum class Decision { no, yes, open };

inline Decision less(const Interval &a, const Interval &b) {
  return a.high < b.low ? Decision::yes : a.low >= b.high ? Decision::no : Decision::open;
}
inline Interval select(Decision c, const Interval &a, const Interval &b) {
  return c == Decision::yes ? a : c == Decision::no ? b : hull(a, b);
}

// ---- functions

template <class F> inline Interval rising(const Interval &x, F f) { return bounded(f(x.low), f(x.high)); }

inline Interval root(const Interval &x) {
  return rising({std::max(x.low, 0.0), std::max(x.high, 0.0)}, [](double a) { return std::sqrt(a); });
}
inline Interval exponential(const Interval &x) {
  return rising(x, [](double a) { return std::exp(a); });
}
inline Interval logarithm(const Interval &x) {
  return rising({std::max(x.low, 0.0), std::max(x.high, 0.0)}, [](double a) { return std::log(a); });
}
inline Interval hyperbolic_tangent(const Interval &x) {
  return rising(x, [](double a) { return std::tanh(a); });
}
inline Interval arctangent(const Interval &x) {
  return rising(x, [](double a) { return std::atan(a); });
}
inline Interval whole(const Interval &x) {
  return rising(x, [](double a) { return std::floor(a); });
}
inline Interval absolute(const Interval &x) {
  const double most = std::max(std::fabs(x.low), std::fabs(x.high));
  return {x.holds(0.0) ? 0.0 : std::min(std::fabs(x.low), std::fabs(x.high)), most};
}

// the cosine of x + shift, shift in quarter turns
inline Interval cosine(const Interval &x, double shift) {
  constexpr double half = 3.14159265358979323846;
  const double low = x.low + shift * 0.5 * half, high = x.high + shift * 0.5 * half;
  if (!(high - low < 2.0 * half))
    return {-1.0, 1.0};
  // extremes: 1 at even halves of a turn, -1 at odd ones
  const double first = std::ceil(low / half), last = std::floor(high / half);
  Interval y = hull(Interval(std::cos(low)), Interval(std::cos(high)));
  for (double k = first; k <= last; k += 1.0)
    y = hull(y, Interval(std::fmod(k, 2.0) == 0.0 ? 1.0 : -1.0));
  return y;
}
inline void sincos(const Interval &x, Interval &s, Interval &c) {
  s = cosine(x, -1.0);
  c = cosine(x, 0.0);
}

// where x and y may both be zero, or the ray of half a turn is crossed, every angle
inline Interval arctan2(const Interval &y, const Interval &x) {
  if (x.low <= 0.0 && y.holds(0.0))
    return {-3.14159265358979323846, 3.14159265358979323846};
  const double corners[4] = {std::atan2(y.low, x.low), std::atan2(y.low, x.high), std::atan2(y.high, x.low),
                             std::atan2(y.high, x.high)};
  return bounded(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4));
}

inline Interval power(const Interval &x, const Interval &y) {
  const double n = y.low;
  if (y.low != y.high || n != std::floor(n)) // a base below zero has no value
    return x.high < 0.0 ? Interval::line() : exponential(y * logarithm(x));
  if (n < 0.0)
    return Interval(1.0) / power(x, Interval(-n));
  if (std::fmod(n, 2.0) != 0.0)
    return rising(x, [n](double a) { return std::pow(a, n); });
  return rising(absolute(x), [n](double a) { return std::pow(a, n); });
}

} // namespace dalembert::DALEMBERT_ISA
