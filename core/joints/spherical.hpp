// Spherical: the attitude C of the user's second marker in the first, by a quaternion; velocities are
// the angular velocity in axes of the second marker.
//
//     forward     R = C       omega = v            in F                                      (1)
//     reversed    R = C^T     omega = -C v         in F, the first marker                    (2)
//
// Neither leaves a bias: the rate of C v is C (v' + v x v).
#pragma once

#include "joints/joint.hpp"
#include "joints/quaternion.hpp"

namespace dalembert::DALEMBERT_ISA {

template <bool Reversed> struct Spherical {
  static constexpr const char *name = "Spherical";
  static constexpr bool reversed = Reversed;
  static constexpr int nq = 4, nv = 3;
  static constexpr JointForm form = JointForm::columns;
  static constexpr MotionMapDependence series = Reversed ? MotionMapDependence::inboard : MotionMapDependence::outboard;

  template <class T, class B> static DALEMBERT_INLINE void position(const B &b, const T *q, Pose<T> &X, Motion<T> *H) {
    const Mat3<T> C = rotation_of(q);
    X.p = lift<T>(as_vec(b.p_PJ));
    if constexpr (Reversed) {
      X.R = mul_bt(lift<T>(as_mat(b.R_PJ)), C);
      for (int k = 0; k < 3; ++k)
        H[k] = turning(-axis_of(C, k));
    } else {
      X.R = mul(as_mat(b.R_PJ), C);
      for (int k = 0; k < 3; ++k)
        H[k] = turning(unit_axis<T>(k));
    }
  }
  template <class T> static DALEMBERT_INLINE Motion<T> bias(const T *, const Motion<T> &, const Motion<T> *) {
    return {zero3<T>(), zero3<T>()};
  }

  template <class T> static void rows(const auto &, const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    rows_along(m, true, true, true, rows);
  }
  template <class T> static void joint_motion(const auto &, const RelativeMotion<T> &m, JointMotion<T> &f) {
    quaternion_of(m.R, f.q);
    for (int k = 0; k < 3; ++k)
      f.D[k] = turning(axis_of(m.R, k));
    f.still();
  }
};

} // namespace dalembert::DALEMBERT_ISA
