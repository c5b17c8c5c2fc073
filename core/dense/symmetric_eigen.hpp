// Eigenvalues and eigenvectors of small symmetric matrices by Jacobi's rotations: A = V diag(w) V^T.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace dalembert::dense {

// A (n x n) becomes diagonal; the columns of V (n x n) are the eigenvectors. Row major.
inline void diagonalize(double *A, double *V, int n) {
  constexpr int max_sweeps = 30;     // convergence is quadratic: a dozen is never reached
  constexpr double rounding = 1e-17; // of the largest entry
  const auto at = [n](double *M, int i, int j) -> double & { return M[std::ptrdiff_t(i) * n + j]; };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      at(V, i, j) = i == j ? 1.0 : 0.0;
  double largest = 0.0;
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t(n) * n; ++i)
    largest = std::max(largest, std::fabs(A[i]));
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    bool rotated = false;
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        const double off = at(A, p, q), a = at(A, p, p), b = at(A, q, q);
        if (!(std::fabs(off) > rounding * largest)) {
          at(A, p, q) = at(A, q, p) = 0.0;
          continue;
        }
        rotated = true;
        const double theta = 0.5 * (b - a) / off;
        const double t = (theta >= 0.0 ? 1.0 : -1.0) / (std::fabs(theta) + std::sqrt(theta * theta + 1.0));
        const double c = 1.0 / std::sqrt(t * t + 1.0), s = t * c;
        for (int k = 0; k < n; ++k) {
          const double x = at(A, k, p), y = at(A, k, q);
          at(A, k, p) = c * x - s * y;
          at(A, k, q) = s * x + c * y;
        }
        for (int k = 0; k < n; ++k) {
          const double x = at(A, p, k), y = at(A, q, k);
          at(A, p, k) = c * x - s * y;
          at(A, q, k) = s * x + c * y;
        }
        at(A, p, q) = at(A, q, p) = 0.0;
        for (int k = 0; k < n; ++k) {
          const double x = at(V, k, p), y = at(V, k, q);
          at(V, k, p) = c * x - s * y;
          at(V, k, q) = s * x + c * y;
        }
      }
    if (!rotated)
      return;
  }
}

} // namespace dalembert::dense
