// Screw: a turn by q about local z with an advance of pitch q along it. H = [z; pitch z].
#pragma once

#include "../workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

struct Screw {
  static constexpr int nq = 1, nv = 1;

  template <class T> static DALEMBERT_INLINE void position(const BodyData &b, const T *q, Pose<T> &X, Motion<T> *H) {
    T s, c;
    sincos(q[0], s, c);
    const Mat3<double> &R = as_mat(b.R_PJ);
    const Vec3<double> &p = as_vec(b.p_PJ);
    const T d = b.pitch * q[0];
    X = {turn_z(R, c, s), {p.x + R.xz * d, p.y + R.yz * d, p.z + R.zz * d}};
    H[0] = {{T(0.0), T(0.0), T(1.0)}, {T(0.0), T(0.0), T(b.pitch)}};
  }

  template <class T> static DALEMBERT_INLINE Motion<T> bias(const T *, const Motion<T> &, const Motion<T> *) {
    return {zero3<T>(), zero3<T>()};
  }
};

} // namespace dalembert::DALEMBERT_ISA
