// Revolute: a turn by q about local z. H = [z; 0], constant in F. Walked from either end the same:
// the compiler of the model turns both frames by pi about x.
#pragma once

#include "joints/joint.hpp"

namespace dalembert::DALEMBERT_ISA {

struct Revolute {
  static constexpr const char *name = "Revolute";
  static constexpr int nq = 1, nv = 1;
  static constexpr JointForm form = JointForm::about_z;
  static constexpr MotionMapDependence series = MotionMapDependence::forward;

  template <class T, class B> static DALEMBERT_INLINE void position(const B &b, const T *q, Pose<T> &X, Motion<T> *) {
    T s, c;
    sincos(q[0], s, c);
    X = {turn_z(as_mat(b.R_PJ), c, s), lift<T>(as_vec(b.p_PJ))};
  }
  template <class T> static void rows(const auto &, const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    rows_along(m, true, true, true, rows);
    rows_parallel(m, rows);
  }
  template <class T> static void joint_motion(const auto &, const RelativeMotion<T> &m, JointMotion<T> &f) {
    f.q[0] = turn_about_z(m.R);
    f.D[0] = turning(unit_axis<T>(2));
    f.still();
  }
};

} // namespace dalembert::DALEMBERT_ISA
