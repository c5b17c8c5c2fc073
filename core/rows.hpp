// What rows of closures are made of.
#pragma once

#include "workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// with R, p the pose of B in A, and w, v its velocity seen from A: see chords.hpp, (1)
template <class T> struct ChordRows {
  T residual[6], bias[6], drift[6]; // drift: rate of the row while nothing moves, of rows that depend on time
  Motion<T> g[6];
  int count = 0;
  bool moving = true; // whether the bias is wanted

  void add(const T &phi, const Vec3<T> &g_w, const Vec3<T> &g_v, const T &b, const T &rate = T(0.0)) {
    residual[count] = phi;
    g[count] = {g_w, g_v};
    drift[count] = rate;
    bias[count++] = b;
  }
};

template <class T> struct RelativeMotion {
  Mat3<T> R;
  Vec3<T> p, w, v;
};

template <class T> inline Vec3<T> unit_axis(int k) { return {T(k == 0), T(k == 1), T(k == 2)}; }

template <class T> inline const T &component(const Vec3<T> &a, int k) { return k == 0 ? a.x : k == 1 ? a.y : a.z; }

template <class T> inline T larger(const T &a, const T &b) { return select(less(a, b), b, a); }

template <class T> inline void quaternion_of(const Mat3<T> &R, T *q) {
  const T squares[4] = {1.0 + R.xx + R.yy + R.zz, 1.0 + R.xx - R.yy - R.zz, 1.0 - R.xx + R.yy - R.zz, 1.0 - R.xx - R.yy + R.zz};
  int k = 0;
  for (int i = 1; i < 4; ++i)
    if (less(squares[k], squares[i]))
      k = i;
  const T rows[4][4] = {{squares[0], R.zy - R.yz, R.xz - R.zx, R.yx - R.xy},
                        {R.zy - R.yz, squares[1], R.yx + R.xy, R.xz + R.zx},
                        {R.xz - R.zx, R.yx + R.xy, squares[2], R.zy + R.yz},
                        {R.yx - R.xy, R.xz + R.zx, R.zy + R.yz, squares[3]}};
  T norm(0.0);
  for (const T &c : rows[k])
    norm = norm + c * c;
  norm = (less(rows[k][0], T(0.0)) ? -1.0 : 1.0) / root(norm);
  for (int i = 0; i < 4; ++i)
    q[i] = rows[k][i] * norm;
}

} // namespace dalembert::DALEMBERT_ISA
