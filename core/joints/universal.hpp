// Universal: a turn about local x of J, then about local y of F (Slaats 1991, section 3.3).
//
//     C = Rx(q1) Ry(q2)     omega = (cos q2, 0, sin q2) v1 + (0, 1, 0) v2       in F          (1)
//     bias = v1 v2 (-sin q2, 0, cos q2)                                                      (2)
//
// Walked from the other end, in frames turned by pi about (1, -1, 0), the inverse pose is again
// Rx Ry with the two coordinates exchanged.
#pragma once

#include "joints/joint.hpp"

namespace dalembert::DALEMBERT_ISA {

template <bool Reversed> struct Universal {
  static constexpr const char *name = "Universal";
  static constexpr bool reversed = Reversed;
  static constexpr int nq = 2, nv = 2;
  static constexpr JointForm form = JointForm::columns;
  static constexpr MotionMapDependence series = Reversed ? MotionMapDependence::backward : MotionMapDependence::forward;
  static constexpr int one = Reversed ? 1 : 0, two = 1 - one; // where the coordinates of (1) stand

  template <class T, class B> static DALEMBERT_INLINE void position(const B &b, const T *q, Pose<T> &X, Motion<T> *H) {
    T s1, c1, s2, c2;
    sincos(q[one], s1, c1);
    sincos(q[two], s2, c2);
    X = {turn_y(turn_x(as_mat(b.R_PJ), c1, s1), c2, s2), lift<T>(as_vec(b.p_PJ))};
    H[one] = {{c2, T(0.0), s2}, zero3<T>()};
    H[two] = {{T(0.0), T(1.0), T(0.0)}, zero3<T>()};
  }
  template <class T> static DALEMBERT_INLINE Motion<T> bias(const T *v, const Motion<T> &, const Motion<T> *H) {
    const T vv = v[0] * v[1];
    return {{-(vv * H[one].w.z), T(0.0), vv * H[one].w.x}, zero3<T>()};
  }

  template <class T> static void rows(const auto &, const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    rows_along(m, true, true, true, rows);
    row_tilt(m, axis_of(m.R, 1), 0, rows);
  }
  // x of A and y of B, at right angles where the loop is closed; what remains of the acceleration is across both
  template <class T> static void joint_motion(const auto &, const RelativeMotion<T> &m, JointMotion<T> &f) {
    f.q[0] = arctan2(m.R.zy, m.R.yy);
    f.q[1] = arctan2(m.R.xz, m.R.xx);
    f.D[0] = turning(unit_axis<T>(0));
    f.D[1] = turning(axis_of(m.R, 1));
    f.still();
  }
};

} // namespace dalembert::DALEMBERT_ISA
