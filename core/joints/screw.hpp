// Screw: a turn by q about local z with an advance of pitch q along it. H = [z; pitch z].
//
// Where it closes a loop: phi = p_z - pitch theta, modulo a turn, with theta = atan2(s, c), s = R_yx - R_xy, c = R_xx +
// R_yy.
#pragma once

#include "joints/joint.hpp"

namespace dalembert::DALEMBERT_ISA {

struct Screw {
  static constexpr const char *name = "Screw";
  static constexpr int nq = 1, nv = 1;
  static constexpr JointForm form = JointForm::columns;
  static constexpr MotionMapDependence series = MotionMapDependence::forward;
  static constexpr double turn = 6.283185307179586;

  template <class T, class B> static DALEMBERT_INLINE void position(const B &b, const T *q, Pose<T> &X, Motion<T> *H) {
    T s, c;
    sincos(q[0], s, c);
    const auto &R = as_mat(b.R_PJ);
    const auto &p = as_vec(b.p_PJ);
    const T d = b.pitch * q[0];
    X = {turn_z(R, c, s), {p.x + R.xz * d, p.y + R.yz * d, p.z + R.zz * d}};
    H[0] = {{T(0.0), T(0.0), T(1.0)}, {T(0.0), T(0.0), T(b.pitch)}};
  }
  template <class T> static DALEMBERT_INLINE Motion<T> bias(const T *, const Motion<T> &, const Motion<T> *) {
    return {zero3<T>(), zero3<T>()};
  }

  template <class T> static void rows(const T &pitch, const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    rows_along(m, true, true, false, rows);
    rows_parallel(m, rows);
    const Mat3<T> &R = m.R;
    const Vec3<T> &w = m.w;
    const T s = R.yx - R.xy, c = R.xx + R.yy, n = s * s + c * c;
    const T a = -c * R.zx + s * R.zy, b = -c * R.zy - s * R.zx;
    const T s_rate = w.z * c - w.x * R.zx - w.y * R.zy, c_rate = -w.z * s + w.y * R.zx - w.x * R.zy;
    const T zx_rate = w.x * R.yx - w.y * R.xx, zy_rate = w.x * R.yy - w.y * R.xy,
            n_rate = 2.0 * (c * c_rate + s * s_rate);
    const T a_rate = -c_rate * R.zx - c * zx_rate + s_rate * R.zy + s * zy_rate;
    const T b_rate = -c_rate * R.zy - c * zy_rate - s_rate * R.zx - s * zx_rate;
    const T theta_bias = ((a_rate * n - a * n_rate) * w.x + (b_rate * n - b * n_rate) * w.y) / (n * n);
    const T gap = m.p.z - pitch * arctan2(s, c);
    const auto climbs = less(T(0.0), absolute(pitch));
    const T phi = select(climbs, gap - turn * pitch * nearest(gap / (turn * select(climbs, pitch, T(1.0)))), gap);
    rows.add(phi, scale(-pitch, Vec3<T>{a / n, b / n, T(1.0)}), unit_axis<T>(2), -pitch * theta_bias);
  }
  // whole turns follow from the advance
  template <class T> static void joint_motion(const T &pitch, const RelativeMotion<T> &m, JointMotion<T> &f) {
    const T theta = turn_about_z(m.R);
    const auto climbs = less(T(0.0), absolute(pitch));
    f.q[0] = select(climbs, theta + turn * nearest((m.p.z / select(climbs, pitch, T(1.0)) - theta) / turn), theta);
    f.D[0] = turning(unit_axis<T>(2));
    f.still();
  }
};

} // namespace dalembert::DALEMBERT_ISA
