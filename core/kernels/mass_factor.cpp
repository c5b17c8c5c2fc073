// A factorisation of the mass matrix that is kept for many right-hand sides.
#include "kernels/evaluate.hpp"

namespace dalembert::DALEMBERT_ISA {

namespace {

struct FactorMemory {
  Workspace<double> ws;
  Side<Pack> side;
  Pack *x;
};

std::size_t lay_out(const ModelData &m, std::byte *base, FactorMemory &f) {
  Arena arena{base};
  arena.skip(DALEMBERT_ISA::lay_out(m, base, f.ws));
  f.side = load_right_hand_side<Pack>(m, arena);
  f.x = arena.take<Pack>(std::size_t(m.nv));
  return arena.used;
}

} // namespace

std::size_t bytes_factor(const ModelData &m) {
  FactorMemory f;
  return lay_out(m, nullptr, f);
}

void factor(const ModelData &m, std::byte *memory, const double *q) {
  FactorMemory f;
  lay_out(m, memory, f);
  factorize<double>(m, f.ws, q);
}

void factor_solve(const ModelData &m, std::byte *memory, const double *x, double *a, std::ptrdiff_t count) {
  FactorMemory f;
  lay_out(m, memory, f);
  const std::ptrdiff_t nv = m.nv;
  if (count == 1) {
    Side<double> side{f.ws.p_A, f.ws.y, f.ws.A};
    return solve<double, double>(m, f.ws, side, x, a, 1, m.nb);
  }
  for (std::ptrdiff_t first = 0; first < count; first += W) {
    const int width = int(count - first < W ? count - first : W);
    for (std::ptrdiff_t k = 0; k < nv; ++k) {
      Pack row(0.0);
      for (int lane = 0; lane < width; ++lane)
        row.set(lane, x[(first + lane) * nv + k]);
      f.x[k] = row;
    }
    solve<double, Pack>(m, f.ws, f.side, f.x, f.x, 1, m.nb);
    for (int lane = 0; lane < width; ++lane)
      for (std::ptrdiff_t k = 0; k < nv; ++k)
        a[(first + lane) * nv + k] = f.x[k][lane];
  }
}

void sparse_mass_matrix(const ModelData &m, std::byte *memory, const double *q, std::int64_t size,
                        const std::int64_t *diagonal, const std::int64_t *row_end, const std::int64_t *below,
                        double *values) {
  FactorMemory f;
  lay_out(m, memory, f);
  sparse_mass_matrix(m, f.ws, q, SparsePattern{size, diagonal, row_end, below}, values);
}

void factor_pivots(const ModelData &m, std::byte *memory, double *pivots) {
  FactorMemory f;
  lay_out(m, memory, f);
  for (int k = 0; k < m.nv; ++k)
    pivots[k] = 1.0 / f.ws.pivot[k].inverse;
}

} // namespace dalembert::DALEMBERT_ISA
