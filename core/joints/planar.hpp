// Planar: displacements x, y in the plane of the user's first marker and a turn about its normal z.
//
//     forward     C = Rz(angle)     c = (x, y, 0)         velocity along the axes of J         (1)
//     reversed    the inverse pose; F is now the first marker, and in its axes
//                 omega = -z angle'     v = -(x', y', 0) + angle' z x (x, y, 0)                (2)
//
// The rate of v seen from J is the rate of its components in F plus omega x v: zero for (1).
#pragma once

#include "joints/joint.hpp"

namespace dalembert::DALEMBERT_ISA {

template <bool Reversed> struct Planar {
  static constexpr const char *name = "Planar";
  static constexpr bool reversed = Reversed;
  static constexpr int nq = 3, nv = 3;
  static constexpr JointForm form = JointForm::columns;
  static constexpr MotionMapDependence series = Reversed ? MotionMapDependence::backward : MotionMapDependence::forward;

  template <class T, class B> static DALEMBERT_INLINE void position(const B &b, const T *q, Pose<T> &X, Motion<T> *H) {
    T s, c;
    sincos(q[2], s, c);
    const auto &R = as_mat(b.R_PJ);
    const auto &p = as_vec(b.p_PJ);
    const Vec3<T> o = zero3<T>();
    const T one(1.0), zero(0.0);
    if constexpr (Reversed) {
      X.R = turn_z(R, c, -s);
      X.p = lift<T>(p) - mul(X.R, Vec3<T>{q[0], q[1], zero});
      H[0] = {o, {-one, zero, zero}};
      H[1] = {o, {zero, -one, zero}};
      H[2] = {{zero, zero, -one}, {-q[1], q[0], zero}};
    } else {
      X.R = turn_z(R, c, s);
      X.p = {p.x + R.xx * q[0] + R.xy * q[1], p.y + R.yx * q[0] + R.yy * q[1], p.z + R.zx * q[0] + R.zy * q[1]};
      H[0] = {o, {c, -s, zero}};
      H[1] = {o, {s, c, zero}};
      H[2] = {{zero, zero, one}, o};
    }
  }
  template <class T> static DALEMBERT_INLINE Motion<T> bias(const T *v, const Motion<T> &rel, const Motion<T> *) {
    if constexpr (Reversed)
      return {zero3<T>(), Vec3<T>{-(v[2] * v[1]), v[2] * v[0], T(0.0)} + cross(rel.w, rel.v)};
    else
      return {zero3<T>(), zero3<T>()};
  }

  template <class T> static void rows(const auto &, const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    rows_along(m, false, false, true, rows);
    rows_parallel(m, rows);
  }
  template <class T> static void joint_motion(const auto &, const RelativeMotion<T> &m, JointMotion<T> &f) {
    f.q[0] = m.p.x, f.q[1] = m.p.y, f.q[2] = turn_about_z(m.R);
    f.D[0] = sliding(unit_axis<T>(0));
    f.D[1] = sliding(unit_axis<T>(1));
    f.D[2] = turning(unit_axis<T>(2));
    f.still();
  }
};

} // namespace dalembert::DALEMBERT_ISA
