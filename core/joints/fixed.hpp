// Fixed: no relative motion, F = J.
#pragma once

#include "joints/joint.hpp"

namespace dalembert::DALEMBERT_ISA {

struct Fixed {
  static constexpr const char *name = "Fixed";
  static constexpr int nq = 0, nv = 0;
  static constexpr Form form = Form::none;
  static constexpr Series series = Series::forward;

  template <class T, class B> static DALEMBERT_INLINE void position(const B &b, const T *, Pose<T> &X, Motion<T> *) {
    X = {lift<T>(as_mat(b.R_PJ)), lift<T>(as_vec(b.p_PJ))};
  }
  template <class T> static void rows(const auto &, const RelativeMotion<T> &m, ChordRows<T> &rows) {
    rows_along(m, true, true, true, rows);
    rows_attitude(m, rows);
  }
  template <class T> static void face(const auto &, const RelativeMotion<T> &, HingeFace<T> &f) { f.still(); }
};

} // namespace dalembert::DALEMBERT_ISA
