// Derivatives of inverse dynamics by dual numbers: the same source as the kernel itself, run with
// a scalar that carries W directional derivatives. Direction k of the tangent space seeds q with
// N(q) e_k, or v with e_k. Slower than the recursions of derivatives.hpp, and their oracle.
#pragma once

#include "manifold.hpp"
#include "rnea.hpp"

namespace dalembert::DALEMBERT_ISA {

template <int W> struct DualRoom {
  Workspace<Dual<W>> ws;
  Dual<W> *q, *v, *a, *tau, *loads;
};

template <int W> inline std::size_t lay_out(const ModelData &m, std::byte *base, DualRoom<W> &room) {
  Arena arena{base};
  arena.take<std::byte>(lay_out(m, base, room.ws));
  room.q = arena.take<Dual<W>>(std::size_t(m.nq));
  room.v = arena.take<Dual<W>>(std::size_t(m.nv));
  room.a = arena.take<Dual<W>>(std::size_t(m.nv));
  room.tau = arena.take<Dual<W>>(std::size_t(m.nv));
  room.loads = arena.take<Dual<W>>(6 * std::size_t(m.users));
  return arena.used;
}

// dtau/dq and dtau/dv, each nv x nv
template <int W>
inline void d_inverse_dynamics_by_duals(const ModelData &m, DualRoom<W> &room, const double *q, const double *v, const double *a,
                                        const double *loads, double *by_q, double *by_v) {
  const int nv = m.nv;
  for (int k = 0; k < m.nq; ++k)
    room.q[k] = q[k];
  for (int k = 0; k < nv; ++k) {
    room.v[k] = v[k];
    room.a[k] = a[k];
  }
  if (loads)
    for (int k = 0; k < 6 * m.users; ++k)
      room.loads[k] = loads[k];
  const auto collect = [&](int first, int count, double *matrix) {
    inverse_dynamics<Dual<W>>(m, room.ws, room.q, room.v, room.a, GivenLoads<Dual<W>>{loads ? room.loads : nullptr}, room.tau);
    for (int r = 0; r < nv; ++r)
      for (int l = 0; l < count; ++l)
        matrix[std::ptrdiff_t(r) * nv + first + l] = room.tau[r].slope[l];
  };
  int owner = 1; // the hinge that owns a direction, walked along with the directions
  for (int first = 0; first < nv; first += W) {
    const int count = nv - first < W ? nv - first : W;
    int i = owner;
    for (int l = 0; l < count; ++l) {
      while (first + l >= m.bodies[i].v + m.bodies[i].nv)
        ++i;
      seed_freedom(m.bodies[i], q, first + l - m.bodies[i].v, l, room.q, true);
    }
    collect(first, count, by_q);
    for (int j = owner; j <= i; ++j)
      for (int k = 0; k < m.bodies[j].nq; ++k)
        room.q[m.bodies[j].q + k].slope = Pack<W>(0.0);
    owner = i;
  }
  for (int first = 0; first < nv; first += W) {
    const int count = nv - first < W ? nv - first : W;
    for (int l = 0; l < count; ++l)
      room.v[first + l].slope.set(l, 1.0);
    collect(first, count, by_v);
    for (int l = 0; l < count; ++l)
      room.v[first + l].slope = Pack<W>(0.0);
  }
}

} // namespace dalembert::DALEMBERT_ISA
