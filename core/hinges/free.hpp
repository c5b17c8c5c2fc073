// Free: six freedoms. Coordinates: quaternion of C, then c, the pose of the user's second marker
// in the first. Speeds: [omega; u] of the second marker, in its own axes.
//
//     forward     R = C       p = c           [omega; v] = [omega; u]                        (1)
//     reversed    R = C^T     p = -C^T c      omega_F = -C omega
//                                             v_F = -C u + (C omega) x c                     (2)
//
// In both the bias is omega_F x v_F: the remaining terms of (2), -C (omega x u) and
// (C omega) x (C u), cancel.
#pragma once

#include "../workspace.hpp"
#include "quaternion.hpp"

namespace dalembert::DALEMBERT_ISA {

template <bool Reversed> struct Free {
  static constexpr int nq = 7, nv = 6;

  template <class T> static DALEMBERT_INLINE void position(const BodyData &b, const T *q, Pose<T> &X, Motion<T> *H) {
    const Mat3<T> C = rotation_of(q);
    const Vec3<T> o = zero3<T>(), c{q[4], q[5], q[6]};
    const Mat3<double> &R = as_mat(b.R_PJ);
    if constexpr (Reversed) {
      X.R = mul_bt(lift<T>(R), C);
      X.p = lift<T>(as_vec(b.p_PJ)) - mul(X.R, c);
      const Vec3<T> columns[3] = {{C.xx, C.yx, C.zx}, {C.xy, C.yy, C.zy}, {C.xz, C.yz, C.zz}};
      for (int k = 0; k < 3; ++k) {
        H[k] = {-columns[k], cross(columns[k], c)};
        H[k + 3] = {o, -columns[k]};
      }
    } else {
      X.R = mul(R, C);
      X.p = lift<T>(as_vec(b.p_PJ)) + mul(R, c);
      const T one(1.0), zero(0.0);
      const Vec3<T> axes[3] = {{one, zero, zero}, {zero, one, zero}, {zero, zero, one}};
      for (int k = 0; k < 3; ++k) {
        H[k] = {axes[k], o};
        H[k + 3] = {o, axes[k]};
      }
    }
  }

  template <class T> static DALEMBERT_INLINE Motion<T> bias(const T *, const Motion<T> &rel, const Motion<T> *) {
    return {zero3<T>(), cross(rel.w, rel.v)};
  }
};

} // namespace dalembert::DALEMBERT_ISA
