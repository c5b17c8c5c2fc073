// Products of the three rows of a contact on a block of velocities (numerics/cone_sweeps.hpp). N: number of velocities, 0:
// any. Sums run over four numbers at once.
#pragma once

#include "scalar/isa.hpp"
#include <cstring>

namespace dalembert::DALEMBERT_ISA {

namespace block_rows {

#if defined(__GNUC__)
typedef double Part __attribute__((vector_size(32)));
#else
struct Part {
  double r[4];
  double operator[](int k) const { return r[k]; }
  Part operator*(const Part &other) const {
    return {r[0] * other.r[0], r[1] * other.r[1], r[2] * other.r[2], r[3] * other.r[3]};
  }
  Part operator+(const Part &other) const {
    return {r[0] + other.r[0], r[1] + other.r[1], r[2] + other.r[2], r[3] + other.r[3]};
  }
};
#endif

DALEMBERT_INLINE Part part(const double *x) {
  Part p;
  std::memcpy(&p, x, sizeof p);
  return p;
}
DALEMBERT_INLINE double sum(const Part &p) { return (p[0] + p[2]) + (p[1] + p[3]); }

} // namespace block_rows

// x . y
template <int N> DALEMBERT_INLINE double block_dot(const double *x, const double *y, int size) {
  double found = 0.0;
  if constexpr (N) {
    for (int k = 0; k < N; ++k)
      found += x[k] * y[k];
    return found;
  }
  using namespace block_rows;
  int k = 0;
  if (size >= 4) {
    Part sums = part(x) * part(y);
    for (k = 4; k + 4 <= size; k += 4)
      sums = sums + part(x + k) * part(y + k);
    found = sum(sums);
  }
  for (; k < size; ++k)
    found += x[k] * y[k];
  return found;
}

// u += J v
template <int N> DALEMBERT_INLINE void add_block_velocity(const double *J, const double *v, int size, double u[3]) {
  const int n = N ? N : size;
  for (int e = 0; e < 3; ++e)
    u[e] += block_dot<N>(J + e * n, v, n);
}

// D += J Y', rows of D at a distance of `stride`; `upper`: its upper triangle alone
template <int N> DALEMBERT_INLINE void add_block_product(const double *J, const double *Y, int size, double *D,
                                                         std::ptrdiff_t stride, bool upper = false) {
  const int n = N ? N : size;
  for (int r = 0; r < 3; ++r)
    for (int c = upper ? r : 0; c < 3; ++c)
      D[r * stride + c] += block_dot<N>(J + r * n, Y + c * n, n);
}

// v += Y' step
template <int N> DALEMBERT_INLINE void add_block_impulse(const double *Y, const double *step, int size, double *v) {
  const int n = N ? N : size;
  for (int j = 0; j < n; ++j)
    v[j] += Y[j] * step[0] + Y[n + j] * step[1] + Y[2 * n + j] * step[2];
}

} // namespace dalembert::DALEMBERT_ISA
