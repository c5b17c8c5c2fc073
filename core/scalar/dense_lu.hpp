// Dense LU factorisation with row exchanges, in place and without allocation; for double and complex numbers.
#pragma once

#include "scalar/isa.hpp"
#include <complex>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace dalembert::DALEMBERT_ISA {

// A (n x n, row major) becomes L and U; row k was exchanged with row exchange[k]. False if singular.
template <class T> inline bool factor_lu(T *A, std::int32_t *exchange, int n) {
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (std::abs(A[std::ptrdiff_t(i) * n + k]) > std::abs(A[std::ptrdiff_t(pivot) * n + k]))
        pivot = i;
    exchange[k] = pivot;
    T *row = A + std::ptrdiff_t(k) * n;
    if (pivot != k)
      for (int j = 0; j < n; ++j)
        std::swap(row[j], A[std::ptrdiff_t(pivot) * n + j]);
    if (!(std::abs(row[k]) > 0.0))
      return false;
    const T inverse = 1.0 / row[k];
    for (int i = k + 1; i < n; ++i) {
      T *other = A + std::ptrdiff_t(i) * n;
      const T factor = other[k] *= inverse;
      if (factor == T(0.0))
        continue;
      for (int j = k + 1; j < n; ++j)
        other[j] -= factor * row[j];
    }
  }
  return true;
}

template <class T> inline void solve_lu(const T *A, const std::int32_t *exchange, int n, T *b) {
  for (int k = 0; k < n; ++k)
    std::swap(b[k], b[exchange[k]]);
  for (int i = 1; i < n; ++i)
    for (int j = 0; j < i; ++j)
      b[i] -= A[std::ptrdiff_t(i) * n + j] * b[j];
  for (int i = n - 1; i >= 0; --i) {
    for (int j = i + 1; j < n; ++j)
      b[i] -= A[std::ptrdiff_t(i) * n + j] * b[j];
    b[i] /= A[std::ptrdiff_t(i) * n + i];
  }
}

} // namespace dalembert::DALEMBERT_ISA
