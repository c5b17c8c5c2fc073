// Elementary rows of loop constraints: equations between two frames A and B.
//
// With R, p the pose of B in A and omega, v its velocity seen from A, in axes of A (Sol 1983, (5.3.5)-(5.3.15), with
// the term that (5.3.14) omits, erratum: alpha seen from A is alpha_B - alpha_A - omega_A x omega):
//
//     residual  phi(R, p)          phi' = g_w . omega + g_v . v          phi'' = g_w . alpha + g_v . a + bias       (1)
//
//     along e          phi = e . p                        g_v = e
//     tilt about       phi = e . r, r a column of R       g_w = r x e         bias = e . (omega x (omega x r))
//     attitude         phi = 2 sgn(q0) vec q              g_w = q0 e + vec q x e      bias = e . (q0' omega + omega x
//                      vec q')
#pragma once

#include "joints/quaternion.hpp"
#include "scalar/math.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> struct LoopConstraintRows {
  T residual[6], bias[6], drift[6]; // drift: rate of the row while nothing moves, of rows that depend on time
  Motion<T> g[6];
  int count = 0;
  bool moving = true; // whether the bias is wanted

  DALEMBERT_INLINE void add(const T &phi, const Vec3<T> &g_w, const Vec3<T> &g_v, const T &b, const T &rate = T(0.0)) {
    residual[count] = phi;
    g[count] = {g_w, g_v};
    drift[count] = rate;
    bias[count++] = b;
  }
};

// leaves those rows whose bits are set; 0: all
template <class T> DALEMBERT_INLINE void keep_rows(int bits, LoopConstraintRows<T> &rows) {
  if (!bits)
    return;
  const int all = rows.count;
  rows.count = 0;
  for (int k = 0; k < all; ++k)
    if (bits >> k & 1)
      rows.add(rows.residual[k], rows.g[k].w, rows.g[k].v, rows.bias[k], rows.drift[k]);
}

template <class T> struct RelativeMotion {
  Mat3<T> R;
  Vec3<T> p, w, v;
};

template <class T> DALEMBERT_INLINE Vec3<T> unit_axis(int k) { return {T(k == 0), T(k == 1), T(k == 2)}; }

template <class T> DALEMBERT_INLINE const T &component(const Vec3<T> &a, int k) {
  return k == 0 ? a.x : k == 1 ? a.y : a.z;
}

// p has no component along axis k
template <class T> DALEMBERT_INLINE void row_along(const RelativeMotion<T> &m, int k, LoopConstraintRows<T> &rows) {
  rows.add(component(m.p, k), zero3<T>(), unit_axis<T>(k), T(0.0));
}
template <class T>
DALEMBERT_INLINE void rows_along(const RelativeMotion<T> &m, bool x, bool y, bool z, LoopConstraintRows<T> &rows) {
  const bool wanted[3] = {x, y, z};
  for (int k = 0; k < 3; ++k)
    if (wanted[k])
      row_along(m, k, rows);
}

// column r of R has no component along axis k
template <class T>
DALEMBERT_INLINE void row_tilt(const RelativeMotion<T> &m, const Vec3<T> &r, int k, LoopConstraintRows<T> &rows) {
  rows.add(component(r, k), cross(r, unit_axis<T>(k)), zero3<T>(), component(cross(m.w, cross(m.w, r)), k));
}

// the z axis of B is along that of A
template <class T> DALEMBERT_INLINE void rows_parallel(const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
  const Vec3<T> z{m.R.xz, m.R.yz, m.R.zz};
  row_tilt(m, z, 0, rows);
  row_tilt(m, z, 1, rows);
}

template <class T> inline void rows_attitude(const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
  T q[4];
  quaternion_of(m.R, q);
  const Vec3<T> e{q[1], q[2], q[3]};
  const T scalar_rate = -0.5 * dot(m.w, e);
  const Vec3<T> bias = scale(scalar_rate, m.w) + scale(0.5, cross(m.w, cross(m.w, e)));
  for (int k = 0; k < 3; ++k)
    rows.add(2.0 * component(e, k), scale(q[0], unit_axis<T>(k)) + cross(e, unit_axis<T>(k)), zero3<T>(),
             component(bias, k));
}

} // namespace dalembert::DALEMBERT_ISA
