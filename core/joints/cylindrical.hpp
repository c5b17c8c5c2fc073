// Cylindrical: a turn by q0 about local z and a displacement by q1 along it. H = [z 0; 0 z].
#pragma once

#include "joints/joint.hpp"

namespace dalembert::DALEMBERT_ISA {

struct Cylindrical {
  static constexpr const char *name = "Cylindrical";
  static constexpr int nq = 2, nv = 2;
  static constexpr JointForm form = JointForm::columns;
  static constexpr MotionMapDependence series = MotionMapDependence::forward;

  template <class T, class B> static DALEMBERT_INLINE void position(const B &b, const T *q, Pose<T> &X, Motion<T> *H) {
    T s, c;
    sincos(q[0], s, c);
    const auto &R = as_mat(b.R_PJ);
    const auto &p = as_vec(b.p_PJ);
    X = {turn_z(R, c, s), {p.x + R.xz * q[1], p.y + R.yz * q[1], p.z + R.zz * q[1]}};
    const Vec3<T> z{T(0.0), T(0.0), T(1.0)};
    H[0] = turning(z);
    H[1] = sliding(z);
  }
  template <class T> static DALEMBERT_INLINE Motion<T> bias(const T *, const Motion<T> &, const Motion<T> *) {
    return {zero3<T>(), zero3<T>()};
  }

  template <class T> static void rows(const auto &, const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    rows_along(m, true, true, false, rows);
    rows_parallel(m, rows);
  }
  template <class T> static void joint_motion(const auto &, const RelativeMotion<T> &m, JointMotion<T> &f) {
    f.q[0] = turn_about_z(m.R);
    f.q[1] = m.p.z;
    f.D[0] = turning(unit_axis<T>(2));
    f.D[1] = sliding(unit_axis<T>(2));
    f.still();
  }
};

} // namespace dalembert::DALEMBERT_ISA
