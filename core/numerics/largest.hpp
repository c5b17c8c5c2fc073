#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace dalembert {

// Largest of n numbers in size; NaN if one is. Static: each instruction set has its own.
static inline double largest(const double *x, std::ptrdiff_t n) {
  double most = 0.0;
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    if (x[k] != x[k])
      return x[k];
    if (std::fabs(x[k]) > most)
      most = std::fabs(x[k]);
  }
  return most;
}
static inline double largest(const std::vector<double> &x) { return largest(x.data(), std::ptrdiff_t(x.size())); }

} // namespace dalembert
