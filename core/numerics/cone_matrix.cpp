#include "numerics/cone_sweeps.hpp"
#include "numerics/block_rows.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr int free_body = 6;

} // namespace

void assemble_cone_matrix(const ConeBlocks &p, double *D) {
  const std::ptrdiff_t n = 3 * p.m;
  std::fill_n(D, n * n, 0.0);
  for (int i = 0; i < p.m; ++i)
    for (int j = 0; j <= i; ++j) {
      double *block = D + 3 * i * n + 3 * j;
      bool coupled = false;
      for (int x = 2 * i; x < 2 * i + 2; ++x)
        for (int y = 2 * j; y < 2 * j + 2; ++y) {
          if (p.block[x] < 0 || p.block[x] != p.block[y])
            continue;
          coupled = true;
          const int size = p.size(p.block[x]);
          if (size == free_body)
            add_block_product<free_body>(p.J + p.at[x], p.Y + p.at[y], size, block, n);
          else
            add_block_product<0>(p.J + p.at[x], p.Y + p.at[y], size, block, n);
        }
      for (int r = 0; r < 3 && coupled && i != j; ++r)
        for (int c = 0; c < 3; ++c)
          D[(3 * j + c) * n + 3 * i + r] = block[r * n + c];
    }
}

} // namespace dalembert::DALEMBERT_ISA
