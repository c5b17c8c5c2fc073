// Exact derivatives of accelerations: A_q = da/dq in directions of the tangent space and A_v = da/dv.
//
// With R = inverse dynamics - forces of the elements, M da = -dR. dR comes from the kernels themselves, run on dual
// numbers: a column per direction, as many at once as a register holds.
#pragma once

#include "dual_derivatives.hpp"
#include "rates.hpp"

namespace dalembert::DALEMBERT_ISA {

template <int W> struct RatesJacobianRoom {
  DualRoom<W> duals;
  Dual<W> *forces;  // nv
  Side<Pack<W>> side;
  Pack<W> *x;
  double *A_q, *A_v; // nv x nv
};

template <int W> inline std::size_t lay_out(const ModelData &m, std::byte *base, RatesJacobianRoom<W> &room) {
  Arena arena{base};
  arena.take<std::byte>(lay_out(m, base, room.duals));
  const std::size_t n = std::size_t(m.nb) + 1, nv = std::size_t(m.nv);
  room.forces = arena.take<Dual<W>>(nv);
  room.side = {arena.take<Load<Pack<W>>>(n), arena.take<Pack<W>>(nv), arena.take<Motion<Pack<W>>>(n)};
  room.x = arena.take<Pack<W>>(nv);
  room.A_q = arena.take<double>(nv * nv);
  room.A_v = arena.take<double>(nv * nv);
  return arena.used;
}

// seeds lanes [0, count) of dual coordinates with the directions [first, first + count) of the tangent space
template <int W> inline void seed_directions(const ModelData &m, const double *q, Dual<W> *duals, int first, int count, bool on) {
  int i = 1;
  for (int l = 0; l < count; ++l) {
    while (first + l >= m.bodies[i].v + m.bodies[i].nv)
      ++i;
    const BodyData &b = m.bodies[i];
    double unit[6] = {}, rate[7];
    unit[first + l - b.v] = 1.0;
    hinge_rates(b, q + b.q, unit, rate);
    for (int k = 0; k < b.nq; ++k)
      duals[b.q + k].slope.set(l, on ? rate[k] : 0.0);
  }
}

// A_q and A_v at a state whose accelerations a are known. ws: factors of the mass matrix are left there.
template <int W>
inline void rates_jacobian(const ModelData &m, const Run &run, RatesRoom<W> &rates, RatesJacobianRoom<W> &room, double t, const double *q,
                           const double *v, const double *a) {
  using D = Dual<W>;
  const int nv = m.nv;
  DualRoom<W> &d = room.duals;
  for (int k = 0; k < m.nq; ++k)
    d.q[k] = q[k];
  for (int f = 0; f < nv; ++f) {
    d.v[f] = v[f];
    d.a[f] = a[f];
  }
  factorize<double>(m, rates.loops.ws, q, run.marks.given);
  const Surroundings<D> at{D(t), run.parameters, rates.hosted};
  const auto columns = [&](int first, int count, double *matrix) {
    inverse_dynamics<D>(m, d.ws, d.q, d.v, d.a, ElementLoads<D>{at, d.v, nullptr}, d.tau);
    for (int f = 0; f < nv; ++f)
      room.forces[f] = D(0.0);
    add_coordinate_forces<D>(m, at, d.q, d.v, room.forces);
    for (int f = 0; f < nv; ++f)
      room.x[f] = room.forces[f].slope - d.tau[f].slope;
    solve(m, rates.loops.ws, room.side, room.x, room.x, 1, m.nb, run.marks.given);
    for (int f = 0; f < nv; ++f)
      for (int l = 0; l < count; ++l)
        matrix[std::ptrdiff_t(f) * nv + first + l] = room.x[f][l];
  };
  for (int first = 0; first < nv; first += W) {
    const int count = nv - first < W ? nv - first : W;
    seed_directions(m, q, d.q, first, count, true);
    columns(first, count, room.A_q);
    seed_directions(m, q, d.q, first, count, false);
    for (int l = 0; l < count; ++l)
      d.v[first + l].slope.set(l, 1.0);
    columns(first, count, room.A_v);
    for (int l = 0; l < count; ++l)
      d.v[first + l].slope = Pack<W>(0.0);
  }
}

} // namespace dalembert::DALEMBERT_ISA
