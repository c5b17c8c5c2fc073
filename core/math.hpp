// Elementary functions for every scalar: sine and cosine together, square root, arctangent, and
// selection between two values without a branch.
//
// sincos: Cody-Waite reduction by multiples of pi/2 in three parts and the minimax polynomials of
// Cephes' sin and cos kernels on [-pi/4, pi/4]; error below 1 ulp for |x| < 1e5. Larger arguments
// go to the C library lane by lane.
#pragma once

#include "dual.hpp"
#include <cmath>
#include <cstring>

namespace dalembert::DALEMBERT_ISA {

// ---- selection: condition ? a : b

DALEMBERT_INLINE bool less(double a, double b) { return a < b; }
DALEMBERT_INLINE double select(bool c, double a, double b) { return c ? a : b; }

#if defined(__GNUC__)
template <int W> DALEMBERT_INLINE auto less(Pack<W> a, Pack<W> b) { return a.r < b.r; }
template <int W, class Mask> DALEMBERT_INLINE Pack<W> select(Mask c, Pack<W> a, Pack<W> b) {
  return Pack<W>(c ? a.r : b.r);
}
#else
template <int W> struct Mask {
  bool m[W];
};
template <int W> Mask<W> less(Pack<W> a, Pack<W> b) {
  Mask<W> c;
  for (int i = 0; i < W; ++i)
    c.m[i] = a.r[i] < b.r[i];
  return c;
}
template <int W> Pack<W> select(Mask<W> c, Pack<W> a, Pack<W> b) {
  for (int i = 0; i < W; ++i)
    a.r[i] = c.m[i] ? a.r[i] : b.r[i];
  return a;
}
#endif
template <int W> DALEMBERT_INLINE bool less(const Dual<W> &a, const Dual<W> &b) { return a.value < b.value; }
template <int W> DALEMBERT_INLINE Dual<W> select(bool c, const Dual<W> &a, const Dual<W> &b) { return c ? a : b; }

DALEMBERT_INLINE double value_of(double x) { return x; }
template <int W> DALEMBERT_INLINE double value_of(const Dual<W> &x) { return x.value; }

// ---- lane by lane through the C library, for the rare cases

template <int W, class F> inline Pack<W> by_lane(Pack<W> a, F f) {
  for (int i = 0; i < W; ++i)
    a.set(i, f(a[i]));
  return a;
}

template <class T> DALEMBERT_INLINE bool any_beyond(const T &x, double bound) {
  if constexpr (requires { x[0]; }) {
    bool beyond = false;
    for (int i = 0; i < T::lanes; ++i)
      beyond |= !(x[i] > -bound && x[i] < bound);
    return beyond;
  } else {
    return !(x > -bound && x < bound);
  }
}

// ---- sine and cosine

template <class T> DALEMBERT_INLINE void sincos_reduced(const T &x, T &s, T &c) {
  // adding and subtracting 1.5 * 2^52 rounds to the nearest integer, whose low bits then tell the quadrant
  constexpr double round = 6755399441055744.0;
  const T shifted = x * 0.63661977236758134308 + round;
  const T k = shifted - round;
  const T r = ((x - k * 1.57079632673412561417e+00) - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21;
  const T z = r * r;
  const T sine =
      r + r * z *
              (-1.66666666666666307295e-1 +
               z * (8.33333333332211858878e-3 +
                    z * (-1.98412698295895385996e-4 +
                         z * (2.75573136213857245213e-6 + z * (-2.50507477628578072866e-8 + z * 1.58962301576546568060e-10)))));
  const T cosine =
      (1.0 - 0.5 * z) +
      z * z *
          (4.16666666666665929218e-2 +
           z * (-1.38888888888730564116e-3 +
                z * (2.48015872888517045348e-5 +
                     z * (-2.75573141792967388112e-7 + z * (2.08757008419747316778e-9 - z * 1.13585365213876817300e-11)))));
  // k mod 4 = 0: (s, c)   1: (c, -s)   2: (-s, -c)   3: (-c, s), found from k/2 and k/4 without integer registers
  const T half = k * 0.5;
  const T odd = half - ((half - 0.25 + round) - round); // 0.5 if k is odd, else 0 (ties cannot occur)
  const T quarter = k * 0.25;
  const T turn = quarter - ((quarter - 0.375 + round) - round); // (k mod 4) / 4
  const auto swap = less(T(0.25), odd);
  const T first = select(swap, cosine, sine), second = select(swap, sine, cosine);
  s = select(less(T(0.4), turn), -first, first);
  // the cosine is negative in quadrants 1 and 2
  const T centred = turn - 0.375;
  c = select(less(centred * centred, T(0.03)), -second, second);
}

DALEMBERT_INLINE void sincos(double x, double &s, double &c) {
  if (any_beyond(x, 1e5)) {
    s = std::sin(x);
    c = std::cos(x);
  } else {
    sincos_reduced(x, s, c);
  }
}
template <int W> DALEMBERT_INLINE void sincos(Pack<W> x, Pack<W> &s, Pack<W> &c) {
  if (any_beyond(x, 1e5)) {
    s = by_lane(x, [](double a) { return std::sin(a); });
    c = by_lane(x, [](double a) { return std::cos(a); });
  } else {
    sincos_reduced(x, s, c);
  }
}
template <int W> DALEMBERT_INLINE void sincos(const Dual<W> &x, Dual<W> &s, Dual<W> &c) {
  double sv, cv;
  sincos(x.value, sv, cv);
  s = Dual<W>(sv, cv * x.slope);
  c = Dual<W>(cv, -sv * x.slope);
}

// ---- square root and arctangent

DALEMBERT_INLINE double root(double x) { return std::sqrt(x); }
template <int W> DALEMBERT_INLINE Pack<W> root(Pack<W> x) {
  return by_lane(x, [](double a) { return std::sqrt(a); });
}
template <int W> DALEMBERT_INLINE Dual<W> root(const Dual<W> &x) {
  const double r = std::sqrt(x.value);
  return {r, x.slope * (0.5 / r)};
}

DALEMBERT_INLINE double arctan2(double y, double x) { return std::atan2(y, x); }
template <int W> DALEMBERT_INLINE Pack<W> arctan2(Pack<W> y, Pack<W> x) {
  for (int i = 0; i < W; ++i)
    y.set(i, std::atan2(y[i], x[i]));
  return y;
}

template <int W> DALEMBERT_INLINE Dual<W> arctan2(const Dual<W> &y, const Dual<W> &x) {
  const double square = x.value * x.value + y.value * y.value;
  return {std::atan2(y.value, x.value), (y.slope * x.value - x.slope * y.value) / square};
}

// ---- what laws are made of

DALEMBERT_INLINE double exponential(double x) { return std::exp(x); }
template <int W> inline Pack<W> exponential(Pack<W> x) {
  return by_lane(x, [](double a) { return exponential(a); });
}
template <int W> inline Dual<W> exponential(const Dual<W> &a) {
  const double x = a.value, y = exponential(x);
  return {y, a.slope * (y)};
}
DALEMBERT_INLINE double logarithm(double x) { return std::log(x); }
template <int W> inline Pack<W> logarithm(Pack<W> x) {
  return by_lane(x, [](double a) { return logarithm(a); });
}
template <int W> inline Dual<W> logarithm(const Dual<W> &a) {
  const double x = a.value;
  return {logarithm(x), a.slope * (1.0 / x)};
}
DALEMBERT_INLINE double hyperbolic_tangent(double x) { return std::tanh(x); }
template <int W> inline Pack<W> hyperbolic_tangent(Pack<W> x) {
  return by_lane(x, [](double a) { return hyperbolic_tangent(a); });
}
template <int W> inline Dual<W> hyperbolic_tangent(const Dual<W> &a) {
  const double x = a.value, y = hyperbolic_tangent(x);
  return {y, a.slope * (1.0 - y * y)};
}
DALEMBERT_INLINE double arctangent(double x) { return std::atan(x); }
template <int W> inline Pack<W> arctangent(Pack<W> x) {
  return by_lane(x, [](double a) { return arctangent(a); });
}
template <int W> inline Dual<W> arctangent(const Dual<W> &a) {
  const double x = a.value;
  return {arctangent(x), a.slope * (1.0 / (1.0 + x * x))};
}
DALEMBERT_INLINE double absolute(double x) { return std::fabs(x); }
template <int W> inline Pack<W> absolute(Pack<W> x) {
  return by_lane(x, [](double a) { return absolute(a); });
}
template <int W> inline Dual<W> absolute(const Dual<W> &a) {
  const double x = a.value;
  return {absolute(x), a.slope * (x < 0.0 ? -1.0 : 1.0)};
}
DALEMBERT_INLINE double power(double x, double y) { return std::pow(x, y); }
template <int W> inline Pack<W> power(Pack<W> x, Pack<W> y) {
  for (int i = 0; i < W; ++i)
    x.set(i, std::pow(x[i], y[i]));
  return x;
}
// an exponent that varies needs a positive base
template <int W> inline Dual<W> power(const Dual<W> &x, const Dual<W> &y) {
  const double value = std::pow(x.value, y.value), by_x = y.value == 0.0 ? 0.0 : y.value * std::pow(x.value, y.value - 1.0);
  Pack<W> slope = x.slope * by_x;
  if (x.value > 0.0)
    slope = slope + y.slope * (value * std::log(x.value));
  return {value, slope};
}

} // namespace dalembert::DALEMBERT_ISA
