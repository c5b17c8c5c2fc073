// Exponential, logarithm, hyperbolic tangent, arctangents and powers, the same operations for one number and for each
// lane of a register, so that a state has the same bits in a batch as alone.
//
// Errors, in units of the last digit, against quadruple precision (tests/core/test_elementary_functions.py): exp 1.0,
// log 0.9, tanh 1.4, atan 1.0, atan2 1.6, pow 1.5. Not a number, infinities, zeros with their sign and denormal numbers
// go in and out as in the C library.
//
// exp: reduction by multiples of ln 2 in two parts, then the Taylor polynomial of degree 13. log: fdlibm's polynomial in
// f / (2 + f) (Ng 1993). tanh, atan: rational functions of Cephes (Moshier 1989), tanh beyond 0.625 by exp. pow:
// exp(y log x) with log x and the product as sums of two numbers (Dekker 1971), log m = 2 s + 2 s^3 / 3 + ..., s = f / (2
// + f).
#pragma once

#include "scalar/pack.hpp"
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace dalembert::DALEMBERT_ISA::elementary {

constexpr double integer_bias = 6755399441055744.0; // 1.5 * 2^52: numbers beside it are whole, in their lowest bits

// ---- numbers by their bits

DALEMBERT_INLINE std::uint64_t bits_of(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
DALEMBERT_INLINE double from_bits(std::uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
// 2^k of whole numbers k, -1022 to 1023
DALEMBERT_INLINE double power_of_two(double k) { return from_bits(bits_of(k + (integer_bias + 1023.0)) << 52); }
// x = m 2^k, 1 <= m < 2, for positive normal x
DALEMBERT_INLINE void split(double x, double &m, double &k) {
  const std::uint64_t bits = bits_of(x);
  m = from_bits((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  k = from_bits((bits >> 52) | 0x4330000000000000ull) - (4503599627370496.0 + 1023.0);
}
// the sign of s on a number that is not negative
DALEMBERT_INLINE double with_sign(double x, double s) {
  return from_bits(bits_of(x) | (bits_of(s) & 0x8000000000000000ull));
}
DALEMBERT_INLINE double magnitude(double x) { return from_bits(bits_of(x) & 0x7fffffffffffffffull); }
DALEMBERT_INLINE bool is_less(double a, double b) { return a < b; }
DALEMBERT_INLINE bool is_same(double a, double b) { return a == b; }
// a b - c, rounded once
DALEMBERT_INLINE double product_less(double a, double b, double c) { return std::fma(a, b, -c); }
DALEMBERT_INLINE double choose(bool c, double a, double b) { return c ? a : b; }

#if defined(__GNUC__)
using PackBits = std::uint64_t __attribute__((vector_size(8 * W)));
DALEMBERT_INLINE Pack power_of_two(Pack k) {
  return Pack(Pack::Register(PackBits((k + Pack(integer_bias + 1023.0)).r) << 52));
}
DALEMBERT_INLINE void split(Pack x, Pack &m, Pack &k) {
  const PackBits bits = PackBits(x.r);
  m = Pack(Pack::Register((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull));
  k = Pack(Pack::Register((bits >> 52) | 0x4330000000000000ull)) - Pack(4503599627370496.0 + 1023.0);
}
DALEMBERT_INLINE Pack with_sign(Pack x, Pack s) {
  return Pack(Pack::Register(PackBits(x.r) | (PackBits(s.r) & 0x8000000000000000ull)));
}
DALEMBERT_INLINE Pack magnitude(Pack x) { return Pack(Pack::Register(PackBits(x.r) & 0x7fffffffffffffffull)); }
DALEMBERT_INLINE auto is_less(Pack a, Pack b) { return a.r < b.r; }
DALEMBERT_INLINE auto is_same(Pack a, Pack b) { return a.r == b.r; }
#if defined(__AVX512F__) && DALEMBERT_LANES == 8
DALEMBERT_INLINE Pack product_less(Pack a, Pack b, Pack c) {
  return Pack(Pack::Register(_mm512_fmsub_pd(__m512d(a.r), __m512d(b.r), __m512d(c.r))));
}
#elif defined(__FMA__) && DALEMBERT_LANES == 4
DALEMBERT_INLINE Pack product_less(Pack a, Pack b, Pack c) {
  return Pack(Pack::Register(_mm256_fmsub_pd(__m256d(a.r), __m256d(b.r), __m256d(c.r))));
}
#else
DALEMBERT_INLINE Pack product_less(Pack a, Pack b, Pack c) {
  for (int i = 0; i < W; ++i)
    a.set(i, std::fma(a[i], b[i], -c[i]));
  return a;
}
#endif
template <class Mask> DALEMBERT_INLINE Pack choose(Mask c, Pack a, Pack b) { return Pack(c ? a.r : b.r); }
#endif

// sum of c[k] x^k
template <std::size_t N, class T> DALEMBERT_INLINE T polynomial(const double (&c)[N], const T &x) {
  T sum(c[N - 1]);
  for (std::size_t k = N - 1; k-- > 0;)
    sum = sum * x + T(c[k]);
  return sum;
}

// ---- functions

template <class T> DALEMBERT_INLINE T exponential(T x) {
  constexpr double taylor[] = {1.0 / 2,         1.0 / 6,          1.0 / 24,          1.0 / 120,
                               1.0 / 720,       1.0 / 5040,       1.0 / 40320,       1.0 / 362880,
                               1.0 / 3628800.0, 1.0 / 39916800.0, 1.0 / 479001600.0, 1.0 / 6227020800.0};
  x = choose(is_less(T(720.0), x), T(720.0), x);
  x = choose(is_less(x, T(-760.0)), T(-760.0), x);
  const T k = (x * T(1.44269504088896340736) + T(integer_bias)) - T(integer_bias);
  const T r = (x - k * T(6.93147180369123816490e-01)) - k * T(1.90821492927058770002e-10);
  const T y = T(1.0) + (r + r * r * polynomial(taylor, r));
  const T half = (k * T(0.5) + T(integer_bias)) - T(integer_bias); // 2^k may be no number where the result is one
  return y * power_of_two(half) * power_of_two(k - half);
}

template <class T> DALEMBERT_INLINE T logarithm(const T &x) {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double odd[] = {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                            2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                            1.479819860511658591e-01};
  const auto denormal = is_less(x, T(2.2250738585072014e-308));
  T m, k;
  split(choose(denormal, x * T(18014398509481984.0), x), m, k);
  k = choose(denormal, k - T(54.0), k);
  const auto large = is_less(T(1.41421356237309504880), m);
  m = choose(large, m * T(0.5), m);
  k = choose(large, k + T(1.0), k);
  const T f = m - T(1.0), s = f / (T(2.0) + f), z = s * s, half = T(0.5) * f * f;
  T y = k * T(6.93147180369123816490e-01) -
        ((half - (s * (half + z * polynomial(odd, z)) + k * T(1.90821492927058770002e-10))) - f);
  y = choose(is_less(x, T(infinity)), y, x + T(0.0)); // infinity and not a number are their own
  y = choose(is_less(x, T(0.0)), T(nan), y);
  return choose(is_less(T(0.0), magnitude(x)), y, choose(is_less(x, T(1.0)), T(-infinity), y));
}

template <class T> DALEMBERT_INLINE T hyperbolic_tangent(const T &x) {
  constexpr double p[] = {-1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1},
                   q[] = {4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1.0};
  const T a = magnitude(x), z = a * a;
  const T near = a + a * (z * polynomial(p, z) / polynomial(q, z));
  const T far = T(1.0) - T(2.0) / (exponential(a + a) + T(1.0));
  return with_sign(choose(is_less(a, T(0.625)), near, far), x);
}

template <class T> DALEMBERT_INLINE T arctangent(const T &x) {
  constexpr double p[] = {-6.485021904942025371773e1, -1.228866684490136173410e2, -7.500855792314704667340e1,
                          -1.615753718733365076637e1, -8.750608600031904122785e-1},
                   q[] = {1.945506571482613964425e2, 4.853903996359136964868e2, 4.328810604912902668951e2,
                          1.650270098316988542046e2, 2.485846490142306297962e1, 1.0};
  const T a = magnitude(x);
  const auto steep = is_less(T(2.41421356237309504880), a), middle = is_less(T(0.66), a);
  const T t = choose(steep, T(-1.0) / a, choose(middle, (a - T(1.0)) / (a + T(1.0)), a));
  const T base = choose(steep, T(1.57079632679489661923), choose(middle, T(0.785398163397448309616), T(0.0)));
  const T rest = choose(steep, T(6.123233995736765886130e-17), choose(middle, T(3.061616997868382943065e-17), T(0.0)));
  const T z = t * t;
  return with_sign(base + ((t * (z * polynomial(p, z) / polynomial(q, z)) + t) + rest), x);
}

// Angle of the point (x, y), -pi to pi, from the ratio of the smaller to the larger of both.
template <class T> DALEMBERT_INLINE T arctangent2(const T &y, const T &x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const T a = magnitude(y), b = magnitude(x), one(1.0);
  const auto steep = is_less(b, a);
  const T small = choose(steep, b, a), large = choose(steep, a, b);
  T ratio = choose(is_less(T(0.0), large), small / large, small); // 0 at the origin; not a number goes on
  ratio = choose(is_same(small, T(infinity)), one, ratio);
  T angle = arctangent(ratio);
  angle = choose(steep, T(1.57079632679489661923) - (angle - T(6.123233995736765886130e-17)), angle);
  const auto behind = is_less(with_sign(one, x), T(0.0));
  angle = choose(behind, T(3.14159265358979323846) - (angle - T(1.224646799147353177226e-16)), angle);
  return choose(is_same(x, x), choose(is_same(y, y), with_sign(angle, y), y), x);
}

// ---- powers, by sums high + low of two numbers

template <class T> struct TwoNumbers { T high, low; };
template <class T> DALEMBERT_INLINE TwoNumbers<T> exact_product(const T &a, const T &b) {
  const T high = a * b;
  return {high, product_less(a, b, high)};
}
// a b + c, rounded once wherever it is compiled
template <class T> DALEMBERT_INLINE T product_and(const T &a, const T &b, const T &c) { return product_less(a, b, -c); }
// |a| >= |b|
template <class T> DALEMBERT_INLINE TwoNumbers<T> ordered_sum(const T &a, const T &b) {
  const T sum = a + b;
  return {sum, b - (sum - a)};
}
template <class T> DALEMBERT_INLINE TwoNumbers<T> product(const TwoNumbers<T> &a, const TwoNumbers<T> &b) {
  const TwoNumbers<T> main = exact_product(a.high, b.high);
  return ordered_sum(main.high, product_and(a.high, b.low, product_and(a.low, b.high, main.low)));
}

// x positive, normal and finite; y finite
template <class T> DALEMBERT_INLINE T positive_power(const T &x, T y) {
  constexpr double odd[] = {2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13, 2.0 / 15,
                            2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23, 2.0 / 25, 2.0 / 27};
  T m, k;
  split(x, m, k);
  const auto large = is_less(T(1.41421356237309504880), m);
  m = choose(large, m * T(0.5), m);
  k = choose(large, k + T(1.0), k);
  // s = f / (m + 1)
  const T f = m - T(1.0), divisor = m + T(1.0), cut = m - (divisor - T(1.0)), s0 = f / divisor;
  const TwoNumbers<T> back = exact_product(s0, divisor);
  const TwoNumbers<T> s = ordered_sum(s0, product_and(-s0, cut, (f - back.high) - back.low) / divisor);
  const TwoNumbers<T> z = product(s, s), cube = product(s, z);
  const TwoNumbers<T> third = product(cube, TwoNumbers<T>{T(6.66666666666666629659e-01), T(3.70074341541718826e-17)});
  const T fifth = cube.high * z.high, k_low = k * T(1.90821492927058770002e-10);
  // k ln 2 (the high part has 21 trailing zeros) + 2 s + 2 s^3 / 3 + rest
  const T main = k * T(6.93147180369123816490e-01);
  const TwoNumbers<T> ends = ordered_sum(choose(is_same(k, T(0.0)), s.high + s.high, main),
                                         choose(is_same(k, T(0.0)), T(0.0), s.high + s.high));
  const TwoNumbers<T> more = ordered_sum(ends.high, third.high);
  const T small = ((s.low + s.low) + third.low) + (ends.low + more.low);
  const TwoNumbers<T> rest = ordered_sum(k_low, product_and(fifth, polynomial(odd, z.high), small));
  const TwoNumbers<T> sum = ordered_sum(more.high, rest.high), log = ordered_sum(sum.high, sum.low + rest.low);
  y = choose(is_less(T(1e25), magnitude(y)), with_sign(T(1e25), y), y); // beyond, only x = 1 gives a number
  TwoNumbers<T> exponent = exact_product(y, log.high);
  exponent.low = product_and(y, log.low, exponent.low);
  const T value = exponential(exponent.high);
  return choose(is_less(value, T(std::numeric_limits<double>::infinity())), product_and(value, exponent.low, value), value);
}

// of a negative x: the sign of odd y; not a number where y is not whole
template <class T> DALEMBERT_INLINE T ordinary_power(const T &x, const T &y) {
  const T size = positive_power(magnitude(x), y), half = y * T(0.5);
  const auto beyond = is_less(T(4503599627370496.0), magnitude(y)); // all of these are whole, and even from 2^53 on
  const T nearest = choose(beyond, y, (y + T(integer_bias)) - T(integer_bias));
  const T nearest_half =
      choose(is_less(T(9007199254740992.0), magnitude(y)), half, (half + T(integer_bias)) - T(integer_bias));
  const T fits = choose(is_same(nearest, y), size, T(std::numeric_limits<double>::quiet_NaN()));
  return choose(is_less(x, T(0.0)), choose(is_same(nearest_half, half), fits, -fits), size);
}

#if !defined(__GNUC__)
template <class F> inline Pack each_lane(Pack x, F f) {
  for (int i = 0; i < W; ++i)
    x.set(i, f(x[i]));
  return x;
}
inline Pack exponential(Pack x) { return each_lane(x, [](double a) { return exponential(a); }); }
inline Pack logarithm(Pack x) {
  return each_lane(x, [](double a) { return logarithm(a); });
}
inline Pack hyperbolic_tangent(Pack x) {
  return each_lane(x, [](double a) { return hyperbolic_tangent(a); });
}
inline Pack arctangent2(Pack y, Pack x) {
  for (int i = 0; i < W; ++i)
    y.set(i, arctangent2(y[i], x[i]));
  return y;
}
inline Pack ordinary_power(Pack x, Pack y) {
  for (int i = 0; i < W; ++i)
    x.set(i, ordinary_power(x[i], y[i]));
  return x;
}
inline Pack arctangent(Pack x) {
  return each_lane(x, [](double a) { return arctangent(a); });
}
#endif

} // namespace dalembert::DALEMBERT_ISA::elementary
