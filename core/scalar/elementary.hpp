// Exponential, logarithm, hyperbolic tangent and arctangent, the same operations for one number and for each lane of a
// register, so that a state has the same bits in a batch as alone.
//
// Errors, in units of the last digit, against quadruple precision (tests/core/test_elementary_functions.py): exp 1.0,
// log 0.9, tanh 1.4, atan 1.0. Not a number, infinities, zeros with their sign and denormal numbers go in and out as in
// the C library.
//
// exp: reduction by multiples of ln 2 in two parts, then the Taylor polynomial of degree 13. log: fdlibm's polynomial in
// f / (2 + f) (Ng 1993). tanh, atan: rational functions of Cephes (Moshier 1989), tanh beyond 0.625 by exp.
#pragma once

#include "scalar/pack.hpp"
#include <cstdint>
#include <cstring>
#include <limits>

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
inline Pack arctangent(Pack x) {
  return each_lane(x, [](double a) { return arctangent(a); });
}
#endif

} // namespace dalembert::DALEMBERT_ISA::elementary
