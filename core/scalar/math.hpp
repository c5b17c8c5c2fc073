// Elementary functions for every scalar: sine and cosine together, square root, arctangent, and
// selection between two values without a branch.
//
// sincos: Cody-Waite reduction by multiples of pi/2 in three parts and the minimax polynomials of
// Cephes' sin and cos kernels on [-pi/4, pi/4]; error below 1 ulp for |x| < 1e5. Larger arguments
// go to the C library lane by lane.
#pragma once

#include "scalar/dual.hpp"
#include "scalar/elementary.hpp"
#include <cmath>
#include <cstring>
#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace dalembert::DALEMBERT_ISA {

// ---- selection: condition ? a : b

DALEMBERT_INLINE bool less(double a, double b) { return a < b; }
DALEMBERT_INLINE double select(bool c, double a, double b) { return c ? a : b; }

#if defined(__GNUC__)
DALEMBERT_INLINE auto less(Pack a, Pack b) { return a.r < b.r; }
template <class Mask> DALEMBERT_INLINE Pack select(Mask c, Pack a, Pack b) { return Pack(c ? a.r : b.r); }
#else
struct Mask {
  bool m[W];
};
inline Mask less(Pack a, Pack b) {
  Mask c;
  for (int i = 0; i < W; ++i)
    c.m[i] = a.r[i] < b.r[i];
  return c;
}
inline Pack select(Mask c, Pack a, Pack b) {
  for (int i = 0; i < W; ++i)
    a.r[i] = c.m[i] ? a.r[i] : b.r[i];
  return a;
}
#endif
DALEMBERT_INLINE bool less(const Dual &a, const Dual &b) { return a.value < b.value; }
DALEMBERT_INLINE Dual select(bool c, const Dual &a, const Dual &b) { return c ? a : b; }

// ---- conditions, of one state or of each lane

DALEMBERT_INLINE bool both(bool a, bool b) { return a && b; }
DALEMBERT_INLINE bool either(bool a, bool b) { return a || b; }
DALEMBERT_INLINE bool opposite(bool a) { return !a; }
DALEMBERT_INLINE unsigned bits(bool a) { return a ? 1u : 0u; } // a bit for each lane that fulfils it
#if defined(__GNUC__)
using PackMask = decltype(Pack::Register{} < Pack::Register{});
DALEMBERT_INLINE PackMask both(PackMask a, PackMask b) { return a & b; }
DALEMBERT_INLINE PackMask either(PackMask a, PackMask b) { return a | b; }
DALEMBERT_INLINE PackMask opposite(PackMask a) { return ~a; }
DALEMBERT_INLINE unsigned bits(PackMask a) {
  unsigned found = 0;
  for (int i = 0; i < W; ++i)
    found |= a[i] ? 1u << i : 0u;
  return found;
}
#else
template <class F> Mask lanewise(const Mask &a, const Mask &b, F f) {
  Mask c;
  for (int i = 0; i < W; ++i)
    c.m[i] = f(a.m[i], b.m[i]);
  return c;
}
inline Mask both(const Mask &a, const Mask &b) {
  return lanewise(a, b, [](bool x, bool y) { return x && y; });
}
inline Mask either(const Mask &a, const Mask &b) {
  return lanewise(a, b, [](bool x, bool y) { return x || y; });
}
inline Mask opposite(const Mask &a) {
  return lanewise(a, a, [](bool x, bool) { return !x; });
}
inline unsigned bits(const Mask &a) {
  unsigned found = 0;
  for (int i = 0; i < W; ++i)
    found |= a.m[i] ? 1u << i : 0u;
  return found;
}
#endif

DALEMBERT_INLINE double value_of(double x) { return x; }
DALEMBERT_INLINE double value_of(const Dual &x) { return x.value; }

// ---- lane by lane through the C library, for the rare cases

template <class F> inline Pack by_lane(Pack a, F f) {
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

// the larger of two
template <class T> DALEMBERT_INLINE T larger(const T &a, const T &b) { return select(less(a, b), b, a); }

// ---- whole numbers: the nearest one, constant where slopes are evaluated

DALEMBERT_INLINE double nearest(double x) { return std::nearbyint(x); }
inline Pack nearest(Pack x) {
  return by_lane(x, [](double a) { return std::nearbyint(a); });
}
DALEMBERT_INLINE Dual nearest(const Dual &x) { return Dual(std::nearbyint(x.value)); }

// ---- sine and cosine

template <class T> DALEMBERT_INLINE void sincos_reduced(const T &x, T &s, T &c) {
  // adding and subtracting 1.5 * 2^52 rounds to the nearest integer, whose low bits then tell the quadrant
  constexpr double round = 6755399441055744.0;
  const T shifted = x * 0.63661977236758134308 + round;
  const T k = shifted - round;
  const T r = ((x - k * 1.57079632673412561417e+00) - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21;
  const T z = r * r;
  const T sine = r + r * z *
                         (-1.66666666666666307295e-1 +
                          z * (8.33333333332211858878e-3 +
                               z * (-1.98412698295895385996e-4 +
                                    z * (2.75573136213857245213e-6 +
                                         z * (-2.50507477628578072866e-8 + z * 1.58962301576546568060e-10)))));
  const T cosine =
      (1.0 - 0.5 * z) + z * z *
                            (4.16666666666665929218e-2 +
                             z * (-1.38888888888730564116e-3 +
                                  z * (2.48015872888517045348e-5 +
                                       z * (-2.75573141792967388112e-7 +
                                            z * (2.08757008419747316778e-9 - z * 1.13585365213876817300e-11)))));
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
DALEMBERT_INLINE void sincos(Pack x, Pack &s, Pack &c) {
  sincos_reduced(x, s, c);
  if (any_beyond(x, 1e5))
    for (int i = 0; i < W; ++i)
      if (any_beyond(x[i], 1e5)) { // those alone: what a lane computes does not depend on its neighbours
        s.set(i, std::sin(x[i]));
        c.set(i, std::cos(x[i]));
      }
}
DALEMBERT_INLINE void sincos(const Dual &x, Dual &s, Dual &c) {
  double sv, cv;
  sincos(x.value, sv, cv);
  s = Dual(sv, cv * x.slope);
  c = Dual(cv, -sv * x.slope);
}

// ---- square root and arctangent

DALEMBERT_INLINE double root(double x) { return std::sqrt(x); }
#if defined(__AVX512F__) && DALEMBERT_LANES == 8
DALEMBERT_INLINE Pack root(Pack x) { return Pack(Pack::Register(_mm512_sqrt_pd(__m512d(x.r)))); }
#elif defined(__AVX__) && DALEMBERT_LANES == 4
DALEMBERT_INLINE Pack root(Pack x) { return Pack(Pack::Register(_mm256_sqrt_pd(__m256d(x.r)))); }
#else
inline Pack root(Pack x) {
  return by_lane(x, [](double a) { return std::sqrt(a); });
}
#endif
// the slope of a factor that has none, as on the branch max(s, 0) = 0 of what a root is taken of, is none however steep
// the function
DALEMBERT_INLINE Pack times_steep(const Pack &slope, double factor) {
  const Pack zero(0.0);
  return std::isfinite(factor) ? slope * factor : select(less(slope * slope, Pack(1e-300)), zero, slope * factor);
}
DALEMBERT_INLINE Dual root(const Dual &x) {
  const double r = std::sqrt(x.value);
  return {r, times_steep(x.slope, 0.5 / r)};
}

inline double arctan2(double y, double x) { return elementary::arctangent2(y, x); }
inline Pack arctan2(Pack y, Pack x) { return elementary::arctangent2(y, x); }

DALEMBERT_INLINE Dual arctan2(const Dual &y, const Dual &x) {
  const double square = x.value * x.value + y.value * y.value;
  return {arctan2(y.value, x.value), (y.slope * x.value - x.slope * y.value) / square};
}

// ---- what laws are made of

inline double exponential(double x) { return elementary::exponential(x); }
inline Pack exponential(Pack x) { return elementary::exponential(x); }
inline Dual exponential(const Dual &a) {
  const double x = a.value, y = exponential(x);
  return {y, a.slope * (y)};
}
inline double logarithm(double x) { return elementary::logarithm(x); }
inline Pack logarithm(Pack x) { return elementary::logarithm(x); }
inline Dual logarithm(const Dual &a) {
  const double x = a.value;
  return {logarithm(x), a.slope * (1.0 / x)};
}
inline double hyperbolic_tangent(double x) { return elementary::hyperbolic_tangent(x); }
inline Pack hyperbolic_tangent(Pack x) { return elementary::hyperbolic_tangent(x); }
inline Dual hyperbolic_tangent(const Dual &a) {
  const double x = a.value, y = hyperbolic_tangent(x);
  return {y, a.slope * (1.0 - y * y)};
}
inline double arctangent(double x) { return elementary::arctangent(x); }
inline Pack arctangent(Pack x) { return elementary::arctangent(x); }
inline Dual arctangent(const Dual &a) {
  const double x = a.value;
  return {arctangent(x), a.slope * (1.0 / (1.0 + x * x))};
}
DALEMBERT_INLINE double absolute(double x) { return std::fabs(x); }
DALEMBERT_INLINE Pack absolute(Pack x) { return select(less(x, Pack(0.0)), -x, x); }
inline Dual absolute(const Dual &a) {
  const double x = a.value;
  return {absolute(x), a.slope * (x < 0.0 ? -1.0 : 1.0)};
}
DALEMBERT_INLINE double whole(double x) { return std::floor(x); }
inline Pack whole(Pack x) {
  return by_lane(x, [](double a) { return whole(a); });
}
inline Dual whole(const Dual &a) { return Dual(whole(a.value)); }
// the whole turns in an angle, rad: without them it lies between minus and plus half a turn
template <class T> DALEMBERT_INLINE T whole_turns(const T &angle) {
  constexpr double turn = 6.283185307179586476925;
  return turn * whole(angle * (1.0 / turn) + 0.5);
}
// whether the logarithms of elementary::ordinary_power have their digits: not of zeros, denormal numbers, infinities
inline bool is_ordinary(double x, double y) {
  const double a = std::fabs(x);
  return a >= 2.2250738585072014e-308 && a <= 1.7976931348623157e308 && std::fabs(y) <= 1.7976931348623157e308;
}
inline double power(double x, double y) {
  if (y == 1.5 && x >= 0.0)
    return x * std::sqrt(x); // Hertz
  return is_ordinary(x, y) ? elementary::ordinary_power(x, y) : std::pow(x, y);
}
inline Pack power(Pack x, Pack y) {
  bool hertz = true, ordinary = true;
  for (int i = 0; i < W; ++i)
    hertz &= y[i] == 1.5 && x[i] >= 0.0, ordinary &= y[i] != 1.5 && is_ordinary(x[i], y[i]);
  if (hertz)
    return x * root(x);
  if (ordinary)
    return elementary::ordinary_power(x, y);
  for (int i = 0; i < W; ++i)
    x.set(i, power(x[i], y[i]));
  return x;
}
// an exponent that varies needs a positive base
inline Dual power(const Dual &x, const Dual &y) {
  const double value = power(x.value, y.value),
               by_x = y.value == 0.0 ? 0.0 : y.value * std::pow(x.value, y.value - 1.0);
  Pack slope = times_steep(x.slope, by_x);
  if (x.value > 0.0)
    slope = slope + y.slope * (value * std::log(x.value));
  return {value, slope};
}

} // namespace dalembert::DALEMBERT_ISA
