// Spherical: the attitude C of the user's second marker in the first, by a quaternion; speeds are
// the angular velocity in axes of the second marker.
//
//     forward     R = C       omega = v            in F                                      (1)
//     reversed    R = C^T     omega = -C v         in F, the first marker                    (2)
//
// Neither leaves a bias: the rate of C v is C (v' + v x v).
#pragma once

#include "../workspace.hpp"
#include "quaternion.hpp"

namespace dalembert::DALEMBERT_ISA {

template <bool Reversed> struct Spherical {
  static constexpr int nq = 4, nv = 3;

  template <class T> static DALEMBERT_INLINE void position(const BodyData &b, const T *q, Pose<T> &X, Motion<T> *H) {
    const Mat3<T> C = rotation_of(q);
    const Vec3<T> o = zero3<T>();
    X.p = lift<T>(as_vec(b.p_PJ));
    if constexpr (Reversed) {
      X.R = mul_bt(lift<T>(as_mat(b.R_PJ)), C);
      H[0] = {{-C.xx, -C.yx, -C.zx}, o};
      H[1] = {{-C.xy, -C.yy, -C.zy}, o};
      H[2] = {{-C.xz, -C.yz, -C.zz}, o};
    } else {
      X.R = mul(as_mat(b.R_PJ), C);
      const T one(1.0), zero(0.0);
      H[0] = {{one, zero, zero}, o};
      H[1] = {{zero, one, zero}, o};
      H[2] = {{zero, zero, one}, o};
    }
  }

  template <class T> static DALEMBERT_INLINE Motion<T> bias(const T *, const Motion<T> &, const Motion<T> *) {
    return {zero3<T>(), zero3<T>()};
  }
};

} // namespace dalembert::DALEMBERT_ISA
