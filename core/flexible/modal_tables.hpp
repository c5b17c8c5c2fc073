// The numbers of a flexible body, as they stand in ModelData::modal_values; flexible/body.hpp has the equations.
#pragma once

#include "scalar/spatial_inertia.hpp"
#include "tree/workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// the numbers of a flexible body, in the order in which they stand
struct ModalTables {
  int n;
  const double *mass, *h0, *J0;          // 1, 3, 6
  const double *E0, *F0, *J1;            // n x 3, n x 3, n x 6
  const double *G, *stiffness, *damping; // n x n
  int width, rows;                       // n rounded up to eights; 12, or 15 where there is E1
  // n x rows x width: F1_rs, J2_rs, F1_rs - F1_sr, E1_rs as rows over r, by s
  const double *bilinear;
  const double *h1, *N1, *N2, *Q, *C1, *C2; // of the source: n x 3, n x 6, n x n x 6, n x n x 3, n x 9, n x n x 9
  const double *T3, *R2, *R3, *L;           // n x n x n, n x n x 3, n x n x n x 3, n x n x 3
};

DALEMBERT_INLINE ModalTables modal_tables(const ModelData &m, const ModalData &body) {
  const double *at = m.modal_values + body.table;
  const std::ptrdiff_t n = body.modes;
  const auto take = [&at](std::ptrdiff_t count) {
    const double *begin = at;
    at += count;
    return begin;
  };
  ModalTables t{};
  t.n = body.modes;
  t.stiffness = m.modal_values + body.elastic, t.damping = t.stiffness + n * n;
  t.mass = take(1), t.h0 = take(3), t.J0 = take(6);
  t.E0 = take(3 * n), t.F0 = take(3 * n), t.J1 = take(6 * n);
  t.G = take(n * n);
  t.width = (t.n + 7) / 8 * 8, t.rows = body.second ? 15 : 12;
  t.bilinear = take(n * t.rows * t.width);
  if (body.source) {
    t.h1 = take(3 * n), t.N1 = take(6 * n), t.N2 = take(6 * n * n), t.Q = take(3 * n * n), t.C1 = take(9 * n),
    t.C2 = take(9 * n * n);
    t.T3 = take(n * n * n), t.R2 = take(3 * n * n), t.R3 = take(3 * n * n * n), t.L = take(3 * n * n);
  }
  return t;
}

template <class T> DALEMBERT_INLINE void add_scaled(Vec3<T> &to, const T &s, const double *a) {
  to.x = to.x + s * a[0], to.y = to.y + s * a[1], to.z = to.z + s * a[2];
}
template <class T> DALEMBERT_INLINE void add_scaled(Sym3<T> &to, const T &s, const double *a) {
  to.xx = to.xx + s * a[0], to.xy = to.xy + s * a[1], to.xz = to.xz + s * a[2];
  to.yy = to.yy + s * a[3], to.yz = to.yz + s * a[4], to.zz = to.zz + s * a[5];
}
template <class T> DALEMBERT_INLINE void add_scaled(Sym3<T> &to, const T &s, const Sym3<T> &a) {
  to.xx = to.xx + s * a.xx, to.xy = to.xy + s * a.xy, to.xz = to.xz + s * a.xz;
  to.yy = to.yy + s * a.yy, to.yz = to.yz + s * a.yz, to.zz = to.zz + s * a.zz;
}

} // namespace dalembert::DALEMBERT_ISA
