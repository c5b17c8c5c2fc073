// Fixed: no relative motion, F = J.
#pragma once

#include "joints/joint.hpp"

namespace dalembert::DALEMBERT_ISA {

struct Fixed {
  static constexpr const char *name = "Fixed";
  static constexpr int nq = 0, nv = 0;
  static constexpr JointForm form = JointForm::none;
  static constexpr MotionMapDependence series = MotionMapDependence::forward;

  template <class T, class B> static DALEMBERT_INLINE void position(const B &b, const T *, Pose<T> &X, Motion<T> *) {
    X = {lift<T>(as_mat(b.R_PJ)), lift<T>(as_vec(b.p_PJ))};
  }
  template <class T> static void rows(const auto &, const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    rows_along(m, true, true, true, rows);
    rows_attitude(m, rows);
  }
  template <class T> static void joint_motion(const auto &, const RelativeMotion<T> &, JointMotion<T> &f) { f.still(); }
};

} // namespace dalembert::DALEMBERT_ISA
