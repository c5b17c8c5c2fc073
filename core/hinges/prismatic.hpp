// Prismatic: a displacement by q along local z. H = [0; z].
#pragma once

#include "../workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

struct Prismatic {
  static constexpr int nq = 1, nv = 1;

  template <class T> static DALEMBERT_INLINE void position(const BodyData &b, const T *q, Pose<T> &X, Motion<T> *) {
    const Mat3<double> &R = as_mat(b.R_PJ);
    const Vec3<double> &p = as_vec(b.p_PJ);
    X = {lift<T>(R), {p.x + R.xz * q[0], p.y + R.yz * q[0], p.z + R.zz * q[0]}};
  }
};

} // namespace dalembert::DALEMBERT_ISA
