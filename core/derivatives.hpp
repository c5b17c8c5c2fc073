// Exact first derivatives of inverse and forward dynamics.
//
// Inverse dynamics runs on dual numbers, W directions of the tangent space at a time: direction k
// seeds q with N(q) e_k, or v with e_k. Forward dynamics follows from M a + b = tau:
//
//     da/dq = -M^-1 (d tau / dq at constant a)      da/dv likewise      da/dtau = M^-1         (1)
//
// with M^-1 applied by the articulated-body factors to W columns at once.
#pragma once

#include "aba.hpp"
#include "manifold.hpp"

namespace dalembert::DALEMBERT_ISA {

template <int W> struct DerivativeRoom {
  Workspace<Dual<W>> dual;
  Dual<W> *q, *v, *a, *tau, *loads;
};

template <int W> inline std::size_t lay_out(const ModelData &m, std::byte *base, DerivativeRoom<W> &room) {
  Arena arena{base};
  arena.take<std::byte>(lay_out(m, base, room.dual));
  room.q = arena.take<Dual<W>>(std::size_t(m.nq));
  room.v = arena.take<Dual<W>>(std::size_t(m.nv));
  room.a = arena.take<Dual<W>>(std::size_t(m.nv));
  room.tau = arena.take<Dual<W>>(std::size_t(m.nv));
  room.loads = arena.take<Dual<W>>(6 * std::size_t(m.nb));
  return arena.used;
}

// d tau / dq and d tau / dv, each nv x nv
template <int W>
inline void d_inverse_dynamics(const ModelData &m, DerivativeRoom<W> &room, const double *q, const double *v, const double *a,
                               const double *loads, double *by_q, double *by_v) {
  const int nv = m.nv;
  for (int k = 0; k < m.nq; ++k)
    room.q[k] = q[k];
  for (int k = 0; k < nv; ++k) {
    room.v[k] = v[k];
    room.a[k] = a[k];
  }
  if (loads)
    for (int k = 0; k < 6 * m.nb; ++k)
      room.loads[k] = loads[k];
  const auto collect = [&](int first, double *matrix) {
    inverse_dynamics<Dual<W>>(m, room.dual, room.q, room.v, room.a, loads ? room.loads : nullptr, room.tau);
    const int count = nv - first < W ? nv - first : W;
    for (int r = 0; r < nv; ++r)
      for (int l = 0; l < count; ++l)
        matrix[std::ptrdiff_t(r) * nv + first + l] = room.tau[r].slope[l];
  };
  // the hinge that owns each direction, walked along with the directions
  int owner = 1;
  for (int first = 0; first < nv; first += W) {
    const int count = nv - first < W ? nv - first : W;
    int i = owner;
    for (int l = 0; l < count; ++l) {
      while (first + l >= m.bodies[i].v + m.bodies[i].nv)
        ++i;
      const BodyData &b = m.bodies[i];
      double unit[6] = {}, rate[7];
      unit[first + l - b.v] = 1.0;
      hinge_rates(b, q + b.q, unit, rate);
      for (int k = 0; k < b.nq; ++k)
        room.q[b.q + k].slope.set(l, rate[k]);
    }
    collect(first, by_q);
    for (int j = owner; j <= i; ++j)
      for (int k = 0; k < m.bodies[j].nq; ++k)
        room.q[m.bodies[j].q + k].slope = Pack<W>(0.0);
    owner = i;
  }
  for (int first = 0; first < nv; first += W) {
    const int count = nv - first < W ? nv - first : W;
    for (int l = 0; l < count; ++l)
      room.v[first + l].slope.set(l, 1.0);
    collect(first, by_v);
    for (int l = 0; l < count; ++l)
      room.v[first + l].slope = Pack<W>(0.0);
  }
}

// replaces the matrix X (nv x nv) by scale * M^-1 X, after factorize
template <int W>
inline void solve_columns(const ModelData &m, const Workspace<double> &ws, Side<Pack<W>> &side, Pack<W> *x, double factor,
                          double *X) {
  const int nv = m.nv;
  for (int first = 0; first < nv; first += W) {
    const int count = nv - first < W ? nv - first : W;
    for (int r = 0; r < nv; ++r) {
      Pack<W> row(0.0);
      for (int l = 0; l < count; ++l)
        row.set(l, X[std::ptrdiff_t(r) * nv + first + l]);
      x[r] = row;
    }
    solve(m, ws, side, x, x);
    for (int r = 0; r < nv; ++r)
      for (int l = 0; l < count; ++l)
        X[std::ptrdiff_t(r) * nv + first + l] = factor * x[r][l];
  }
}

} // namespace dalembert::DALEMBERT_ISA
