// Fixed: no relative motion, F = J.
#pragma once

#include "../workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

struct Fixed {
  static constexpr int nq = 0, nv = 0;

  template <class T> static DALEMBERT_INLINE void position(const BodyData &b, const T *, Pose<T> &X, Motion<T> *) {
    X = {lift<T>(as_mat(b.R_PJ)), lift<T>(as_vec(b.p_PJ))};
  }
};

} // namespace dalembert::DALEMBERT_ISA
