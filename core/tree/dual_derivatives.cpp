#include "tree/dual_derivatives.hpp"
#include "tree/manifold.hpp"

namespace dalembert::DALEMBERT_ISA {

std::size_t lay_out(const ModelData &m, std::byte *base, DualRoom &room) {
  Arena arena{base};
  arena.skip(lay_out(m, base, room.ws));
  room.q = arena.take<Dual>(std::size_t(m.nq));
  room.v = arena.take<Dual>(std::size_t(m.nv));
  room.a = arena.take<Dual>(std::size_t(m.nv));
  room.tau = arena.take<Dual>(std::size_t(m.nv));
  room.loads = arena.take<Dual>(6 * std::size_t(m.users));
  return arena.used;
}

void d_inverse_dynamics_by_duals(const ModelData &m, DualRoom &room, const double *q, const double *v, const double *a,
                                 const double *loads, double *by_q, double *by_v) {
  const int nv = m.nv;
  for (int k = 0; k < m.nq; ++k)
    room.q[k] = q[k];
  for (int k = 0; k < nv; ++k) {
    room.v[k] = v[k];
    room.a[k] = a[k];
  }
  for (int k = 0; loads && k < 6 * m.users; ++k)
    room.loads[k] = loads[k];
  const auto collect = [&](int first, int count, double *matrix) {
    inverse_dynamics<Dual>(m, room.ws, room.q, room.v, room.a, loads ? room.loads : nullptr, room.tau);
    for (int r = 0; r < nv; ++r)
      for (int l = 0; l < count; ++l)
        matrix[std::ptrdiff_t(r) * nv + first + l] = room.tau[r].slope[l];
  };
  for (int first = 0; first < nv; first += W) {
    const int count = nv - first < W ? nv - first : W;
    seed_directions(m, q, room.q, first, count, true);
    collect(first, count, by_q);
    seed_directions(m, q, room.q, first, count, false);
    for (int l = 0; l < count; ++l)
      room.v[first + l].slope.set(l, 1.0);
    collect(first, count, by_v);
    for (int l = 0; l < count; ++l)
      room.v[first + l].slope = Pack(0.0);
  }
}

} // namespace dalembert::DALEMBERT_ISA
