// Free: six degrees of freedom. Coordinates: quaternion of C, then c, the pose of the user's second marker
// in the first. Velocities: [omega; u] of the second marker, in its own axes.
//
//     forward     R = C       p = c           [omega; v] = [omega; u]                        (1)
//     reversed    R = C^T     p = -C^T c      omega_F = -C omega
//                                             v_F = -C u + (C omega) x c                     (2)
//
// In both the bias is omega_F x v_F: the remaining terms of (2), -C (omega x u) and
// (C omega) x (C u), cancel.
#pragma once

#include "joints/joint.hpp"
#include "joints/quaternion.hpp"

namespace dalembert::DALEMBERT_ISA {

template <bool Reversed> struct Free {
  static constexpr const char *name = "Free";
  static constexpr bool reversed = Reversed;
  static constexpr int nq = 7, nv = 6;
  static constexpr JointForm form = JointForm::columns;
  static constexpr MotionMapDependence series = Reversed ? MotionMapDependence::inboard : MotionMapDependence::outboard;

  template <class T, class B> static DALEMBERT_INLINE void position(const B &b, const T *q, Pose<T> &X, Motion<T> *H) {
    const Mat3<T> C = rotation_of(q);
    const Vec3<T> o = zero3<T>(), c{q[4], q[5], q[6]};
    const auto &R = as_mat(b.R_PJ);
    if constexpr (Reversed) {
      X.R = mul_bt(lift<T>(R), C);
      X.p = lift<T>(as_vec(b.p_PJ)) - mul(X.R, c);
      for (int k = 0; k < 3; ++k) {
        const Vec3<T> axis = axis_of(C, k);
        H[k] = {-axis, cross(axis, c)};
        H[k + 3] = {o, -axis};
      }
    } else {
      X.R = mul(R, C);
      X.p = lift<T>(as_vec(b.p_PJ)) + mul(R, c);
      for (int k = 0; k < 3; ++k) {
        H[k] = turning(unit_axis<T>(k));
        H[k + 3] = sliding(unit_axis<T>(k));
      }
    }
  }
  template <class T> static DALEMBERT_INLINE Motion<T> bias(const T *, const Motion<T> &rel, const Motion<T> *) {
    return {zero3<T>(), cross(rel.w, rel.v)};
  }

  template <class T> static void rows(const auto &, const RelativeMotion<T> &, LoopConstraintRows<T> &) {}
  template <class T> static void joint_motion(const auto &, const RelativeMotion<T> &m, JointMotion<T> &f) {
    quaternion_of(m.R, f.q);
    f.q[4] = m.p.x, f.q[5] = m.p.y, f.q[6] = m.p.z;
    for (int k = 0; k < 3; ++k) {
      f.D[k] = turning(axis_of(m.R, k));
      f.D[k + 3] = sliding(axis_of(m.R, k));
    }
    f.bias = {zero3<T>(), cross(m.w, m.v)}; // the axes of u turn with B
  }
};

} // namespace dalembert::DALEMBERT_ISA
