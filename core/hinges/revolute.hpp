// Revolute: a turn by q about local z. H = [z; 0], constant in F. Walked from either end the same:
// the compiler of the model turns both frames by pi about x.
#pragma once

#include "../workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

struct Revolute {
  static constexpr int nq = 1, nv = 1;

  template <class T> static DALEMBERT_INLINE void position(const BodyData &b, const T *q, Pose<T> &X, Motion<T> *) {
    T s, c;
    sincos(q[0], s, c);
    X = {turn_z(as_mat(b.R_PJ), c, s), lift<T>(as_vec(b.p_PJ))};
  }
};

} // namespace dalembert::DALEMBERT_ISA
