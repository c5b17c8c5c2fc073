// A chart of the configuration manifold around q0, in which steppers work: q = q0 (+) xi, as `integrate` defines it.
//
// Angles and displacements are their own chart. For an attitude q0 o exp(xi / 2) with angular velocity omega in axes of
// the turned frame (Iserles, Munthe-Kaas, Norsett, Zanna 2000, section B.2), and a position p0 + R0 xi_u:
//
//     xi' = omega + 1/2 xi x omega + c xi x (xi x omega)       c = (1 - (phi/2) cot(phi/2)) / phi^2               (1)
//     omega = xi' - (1 - cos phi) / phi^2 xi x xi' + (phi - sin phi) / phi^3 xi x (xi x xi')                      (2)
//     xi_u' = exp(xi) u                                                                                           (3)
#pragma once

#include "tree/manifold.hpp"

namespace dalembert::DALEMBERT_ISA {

// (1 - cos x) / x^2, (x - sin x) / x^3 and the c of (1), as functions of the square of x
template <class T> struct TurnSeries { T a, b, c; };
template <class T> DALEMBERT_INLINE TurnSeries<T> turn_series(const T &square) {
  const auto small = less(square, T(1e-2));
  const T s2 = select(small, square, T(0.0));
  const T x = root(select(small, T(1.0), square));
  T sine, cosine;
  sincos(x, sine, cosine);
  // series to the twelfth power of the angle: the next terms are below 1e-17
  const T a =
      0.5 - s2 * (1.0 / 24.0 - s2 * (1.0 / 720.0 - s2 * (1.0 / 40320.0 - s2 * (1.0 / 3628800.0 - s2 / 479001600.0))));
  const T b =
      1.0 / 6.0 -
      s2 * (1.0 / 120.0 - s2 * (1.0 / 5040.0 - s2 * (1.0 / 362880.0 - s2 * (1.0 / 39916800.0 - s2 / 6227020800.0))));
  const T c =
      1.0 / 12.0 +
      s2 * (1.0 / 720.0 +
            s2 * (1.0 / 30240.0 + s2 * (1.0 / 1209600.0 + s2 * (1.0 / 47900160.0 + s2 * 5.2841901386874932e-10))));
  const T one_less_cosine = select(small, T(1.0), 1.0 - cosine);
  const T inverse = 1.0 / (x * x);
  return {select(small, a, one_less_cosine * inverse), select(small, b, (x - sine) * inverse / x),
          select(small, c, (1.0 - 0.5 * (x * sine) / one_less_cosine) * inverse)};
}

// rotation of a vector by exp(xi)
template <class T> DALEMBERT_INLINE Vec3<T> turned(const Vec3<T> &xi, const Vec3<T> &u) {
  const T square = dot(xi, xi);
  const TurnSeries<T> s = turn_series(square);
  const Vec3<T> once = cross(xi, u);
  return u + scale(1.0 - square * s.b, once) + scale(s.a, cross(xi, once));
}

// largest square of the angles by which attitudes turn
template <class T> T turn_square(const ModelData &m, const T *xi);
// (1), (3): xi' from v at xi
template <class T> void chart_rate(const ModelData &m, const T *xi, const T *v, T *rate);
// (2), (3): v from xi' at xi
template <class T> void chart_speed(const ModelData &m, const T *xi, const T *rate, T *v);

} // namespace dalembert::DALEMBERT_ISA
