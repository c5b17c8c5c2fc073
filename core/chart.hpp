// A chart of the configuration manifold around q0, in which steppers work: q = q0 (+) xi, as `integrate` defines it.
//
// Angles and displacements are their own chart. For an attitude q0 o exp(xi / 2) with angular velocity omega in axes of
// the turned frame (Iserles, Munthe-Kaas, Norsett, Zanna 2000, section B.2), and a position p0 + R0 xi_u:
//
//     xi' = omega + 1/2 xi x omega + c xi x (xi x omega)       c = (1 - (phi/2) cot(phi/2)) / phi^2               (1)
//     omega = xi' - (1 - cos phi) / phi^2 xi x xi' + (phi - sin phi) / phi^3 xi x (xi x xi')                      (2)
//     xi_u' = exp(xi) u                                                                                           (3)
#pragma once

#include "manifold.hpp"

namespace dalembert::DALEMBERT_ISA {

// (1 - cos x) / x^2, (x - sin x) / x^3 and the c of (1), as functions of the square of x
template <class T> struct TurnSeries {
  T a, b, c;
};
template <class T> DALEMBERT_INLINE TurnSeries<T> turn_series(const T &square) {
  const auto small = less(square, T(1e-2));
  const T s2 = select(small, square, T(0.0));
  const T x = root(select(small, T(1.0), square));
  T sine, cosine;
  sincos(x, sine, cosine);
  // series to the twelfth power of the angle: the next terms are below 1e-17
  const T a = 0.5 - s2 * (1.0 / 24.0 - s2 * (1.0 / 720.0 - s2 * (1.0 / 40320.0 - s2 * (1.0 / 3628800.0 - s2 / 479001600.0))));
  const T b = 1.0 / 6.0 - s2 * (1.0 / 120.0 - s2 * (1.0 / 5040.0 - s2 * (1.0 / 362880.0 - s2 * (1.0 / 39916800.0 - s2 / 6227020800.0))));
  const T c = 1.0 / 12.0 + s2 * (1.0 / 720.0 + s2 * (1.0 / 30240.0 + s2 * (1.0 / 1209600.0 + s2 * (1.0 / 47900160.0 + s2 * 5.2841901386874932e-10))));
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
template <class T> inline T turn_square(const ModelData &m, const T *xi) {
  T most(0.0);
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    if (!has_quaternion(b))
      continue;
    const T square = xi[b.v] * xi[b.v] + xi[b.v + 1] * xi[b.v + 1] + xi[b.v + 2] * xi[b.v + 2];
    most = select(less(most, square), square, most);
  }
  return most;
}

// (1), (3): xi' from v at xi
template <class T> inline void chart_rate(const ModelData &m, const T *xi, const T *v, T *rate) {
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    if (!has_quaternion(b)) {
      for (int k = b.v; k < b.v + b.nv; ++k)
        rate[k] = v[k];
      continue;
    }
    const Vec3<T> x{xi[b.v], xi[b.v + 1], xi[b.v + 2]}, w{v[b.v], v[b.v + 1], v[b.v + 2]};
    const Vec3<T> once = cross(x, w);
    const Vec3<T> r = w + scale(0.5, once) + scale(turn_series(dot(x, x)).c, cross(x, once));
    if (b.nv == 6) {
      const Vec3<T> u = turned(x, Vec3<T>{v[b.v + 3], v[b.v + 4], v[b.v + 5]});
      rate[b.v + 3] = u.x, rate[b.v + 4] = u.y, rate[b.v + 5] = u.z;
    }
    rate[b.v] = r.x, rate[b.v + 1] = r.y, rate[b.v + 2] = r.z;
  }
}

// (2), (3): v from xi' at xi
template <class T> inline void chart_speed(const ModelData &m, const T *xi, const T *rate, T *v) {
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    if (!has_quaternion(b)) {
      for (int k = b.v; k < b.v + b.nv; ++k)
        v[k] = rate[k];
      continue;
    }
    const Vec3<T> x{xi[b.v], xi[b.v + 1], xi[b.v + 2]}, r{rate[b.v], rate[b.v + 1], rate[b.v + 2]};
    const TurnSeries<T> s = turn_series(dot(x, x));
    const Vec3<T> once = cross(x, r);
    const Vec3<T> w = r - scale(s.a, once) + scale(s.b, cross(x, once));
    if (b.nv == 6) {
      const Vec3<T> u = turned(-x, Vec3<T>{rate[b.v + 3], rate[b.v + 4], rate[b.v + 5]});
      v[b.v + 3] = u.x, v[b.v + 4] = u.y, v[b.v + 5] = u.z;
    }
    v[b.v] = w.x, v[b.v + 1] = w.y, v[b.v + 2] = w.z;
  }
}

} // namespace dalembert::DALEMBERT_ISA
