// Prismatic: a displacement by q along local z. H = [0; z].
#pragma once

#include "joints/joint.hpp"

namespace dalembert::DALEMBERT_ISA {

struct Prismatic {
  static constexpr const char *name = "Prismatic";
  static constexpr int nq = 1, nv = 1;
  static constexpr JointForm form = JointForm::along_z;
  static constexpr MotionMapDependence series = MotionMapDependence::forward;

  template <class T, class B> static DALEMBERT_INLINE void position(const B &b, const T *q, Pose<T> &X, Motion<T> *) {
    const auto &R = as_mat(b.R_PJ);
    const auto &p = as_vec(b.p_PJ);
    X = {lift<T>(R), {p.x + R.xz * q[0], p.y + R.yz * q[0], p.z + R.zz * q[0]}};
  }
  template <class T> static void rows(const auto &, const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    rows_along(m, true, true, false, rows);
    rows_attitude(m, rows);
  }
  template <class T> static void joint_motion(const auto &, const RelativeMotion<T> &m, JointMotion<T> &f) {
    f.q[0] = m.p.z;
    f.D[0] = sliding(unit_axis<T>(2));
    f.still();
  }
};

} // namespace dalembert::DALEMBERT_ISA
