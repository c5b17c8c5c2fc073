// Unit quaternions (w, x, y, z), scalar first, as coordinates of spherical and free joints.
//
//     R(q) = 1 + (2/|q|^2) (w q~ + q~ q~)          any length but zero is accepted           (1)
//     q' = 1/2 q o (0, omega)                      omega in axes of the turned frame         (2)
#pragma once

#include "tree/workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> DALEMBERT_INLINE Mat3<T> rotation_of(const T *q) {
  const T w = q[0], x = q[1], y = q[2], z = q[3];
  const T s = 2.0 / (w * w + x * x + y * y + z * z);
  const T sx = s * x, sy = s * y, sz = s * z;
  const T wx = w * sx, wy = w * sy, wz = w * sz, xx = x * sx, xy = x * sy, xz = x * sz, yy = y * sy, yz = y * sz,
          zz = z * sz;
  return {1.0 - (yy + zz), xy - wz, xz + wy, xy + wz, 1.0 - (xx + zz), yz - wx, xz - wy, yz + wx, 1.0 - (xx + yy)};
}

template <class T> DALEMBERT_INLINE void quaternion_rate(const T *q, const T *omega, T *rate) {
  rate[0] = -0.5 * (q[1] * omega[0] + q[2] * omega[1] + q[3] * omega[2]);
  rate[1] = 0.5 * (q[0] * omega[0] + q[2] * omega[2] - q[3] * omega[1]);
  rate[2] = 0.5 * (q[0] * omega[1] + q[3] * omega[0] - q[1] * omega[2]);
  rate[3] = 0.5 * (q[0] * omega[2] + q[1] * omega[1] - q[2] * omega[0]);
}

// q o exp(phi / 2), normalised: the attitude after turning by the rotation vector phi (turned axes)
template <class T> DALEMBERT_INLINE void quaternion_turn(const T *q, const Vec3<T> &phi, T *out) {
  const T square = dot(phi, phi);
  const auto small = less(square, T(1e-6));
  const T angle = root(select(small, T(1.0), square));
  T s, c;
  sincos(0.5 * angle, s, c);
  // sin(x/2)/x and cos(x/2) by series where the angle is small: next terms are below 1e-20
  const T k = select(small, 0.5 - square / 48.0 + square * square / 3840.0, s / angle);
  const T w = select(small, 1.0 - square / 8.0 + square * square / 384.0, c);
  const T x = k * phi.x, y = k * phi.y, z = k * phi.z;
  const T r0 = q[0] * w - q[1] * x - q[2] * y - q[3] * z, r1 = q[0] * x + q[1] * w + q[2] * z - q[3] * y,
          r2 = q[0] * y - q[1] * z + q[2] * w + q[3] * x, r3 = q[0] * z + q[1] * y - q[2] * x + q[3] * w;
  const T norm = 1.0 / root(r0 * r0 + r1 * r1 + r2 * r2 + r3 * r3);
  out[0] = r0 * norm, out[1] = r1 * norm, out[2] = r2 * norm, out[3] = r3 * norm;
}

// rotation vector phi, |phi| <= pi, of the unit quaternion [w; e], w >= 0
template <class T> DALEMBERT_INLINE Vec3<T> turn_of_quaternion(const T &w, const Vec3<T> &e) {
  const T square = dot(e, e), scale_w = w * w;
  const auto small = less(square, scale_w * 1e-8);
  const T sine = root(select(small, T(1.0), square));
  const T ratio = square / select(small, scale_w, T(1.0));
  const T k = select(small, 2.0 * (1.0 - ratio / 3.0 + ratio * ratio / 5.0) / select(small, w, T(1.0)),
                     2.0 * arctan2(sine, w) / sine);
  return scale(k, e);
}

// rotation vector phi, |phi| <= pi, with q1 = q0 o exp(phi / 2)
template <class T> DALEMBERT_INLINE Vec3<T> quaternion_difference(const T *q0, const T *q1) {
  T w = q0[0] * q1[0] + q0[1] * q1[1] + q0[2] * q1[2] + q0[3] * q1[3];
  Vec3<T> e{q0[0] * q1[1] - q0[1] * q1[0] - q0[2] * q1[3] + q0[3] * q1[2],
            q0[0] * q1[2] + q0[1] * q1[3] - q0[2] * q1[0] - q0[3] * q1[1],
            q0[0] * q1[3] - q0[1] * q1[2] + q0[2] * q1[1] - q0[3] * q1[0]};
  // q and -q are one attitude: take the shorter way
  const auto longer = less(w, T(0.0));
  w = select(longer, -w, w);
  e = {select(longer, -e.x, e.x), select(longer, -e.y, e.y), select(longer, -e.z, e.z)};
  return turn_of_quaternion(w, e);
}

// the quaternion of R with a scalar that is not negative, from the largest of its squares
template <class T> inline void quaternion_of(const Mat3<T> &R, T *q) {
  const T squares[4] = {1.0 + R.xx + R.yy + R.zz, 1.0 + R.xx - R.yy - R.zz, 1.0 - R.xx + R.yy - R.zz,
                        1.0 - R.xx - R.yy + R.zz};
  const T rows[4][4] = {{squares[0], R.zy - R.yz, R.xz - R.zx, R.yx - R.xy},
                        {R.zy - R.yz, squares[1], R.yx + R.xy, R.xz + R.zx},
                        {R.xz - R.zx, R.yx + R.xy, squares[2], R.zy + R.yz},
                        {R.yx - R.xy, R.xz + R.zx, R.zy + R.yz, squares[3]}};
  T best = squares[0], norm(0.0);
  for (int i = 0; i < 4; ++i)
    q[i] = rows[0][i];
  for (int k = 1; k < 4; ++k) {
    const auto better = less(best, squares[k]);
    best = select(better, squares[k], best);
    for (int i = 0; i < 4; ++i)
      q[i] = select(better, rows[k][i], q[i]);
  }
  for (int i = 0; i < 4; ++i)
    norm = norm + q[i] * q[i];
  norm = select(less(q[0], T(0.0)), T(-1.0), T(1.0)) / root(norm);
  for (int i = 0; i < 4; ++i)
    q[i] = q[i] * norm;
}

// Rotation vector of R, |phi| <= pi. At half a turn the difference of R and its transpose vanishes, and with it the
// direction of the axis; the sum, from which quaternions take it there, does not.
template <class T> inline Vec3<T> rotation_vector(const Mat3<T> &R) {
  T q[4];
  quaternion_of(R, q);
  return turn_of_quaternion<T>(q[0], {q[1], q[2], q[3]});
}

} // namespace dalembert::DALEMBERT_ISA
