#include "tree/dual_derivatives.hpp"
#include "tree/manifold.hpp"

namespace dalembert::DALEMBERT_ISA {

std::size_t lay_out(const ModelData &m, std::byte *base, DualWorkspace &work) {
  Arena arena{base};
  arena.skip(lay_out(m, base, work.ws));
  work.q = arena.take<Dual>(std::size_t(m.nq));
  work.v = arena.take<Dual>(std::size_t(m.nv));
  work.a = arena.take<Dual>(std::size_t(m.nv));
  work.tau = arena.take<Dual>(std::size_t(m.nv));
  work.loads = arena.take<Dual>(6 * std::size_t(m.users));
  return arena.used;
}

void d_inverse_dynamics_by_duals(const ModelData &m, DualWorkspace &work, const double *q, const double *v,
                                 const double *a, const double *loads, double *by_q, double *by_v) {
  const int nv = m.nv;
  for (int k = 0; k < m.nq; ++k)
    work.q[k] = q[k];
  for (int k = 0; k < nv; ++k) {
    work.v[k] = v[k];
    work.a[k] = a[k];
  }
  for (int k = 0; loads && k < 6 * m.users; ++k)
    work.loads[k] = loads[k];
  const auto collect = [&](int first, int count, double *matrix) {
    inverse_dynamics<Dual>(m, work.ws, work.q, work.v, work.a, loads ? work.loads : nullptr, work.tau);
    for (int r = 0; r < nv; ++r)
      for (int l = 0; l < count; ++l)
        matrix[std::ptrdiff_t(r) * nv + first + l] = work.tau[r].slope[l];
  };
  for (int first = 0; first < nv; first += W) {
    const int count = nv - first < W ? nv - first : W;
    seed_directions(m, q, work.q, first, count, true);
    collect(first, count, by_q);
    seed_directions(m, q, work.q, first, count, false);
    for (int l = 0; l < count; ++l)
      work.v[first + l].slope.set(l, 1.0);
    collect(first, count, by_v);
    for (int l = 0; l < count; ++l)
      work.v[first + l].slope = Pack(0.0);
  }
}

} // namespace dalembert::DALEMBERT_ISA
