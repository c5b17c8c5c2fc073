// LU factorisation with row exchanges of a square matrix whose rows are zero outside a range of columns.
//
// Rows of either factor are stored densely, in whole registers; only the ranges of columns that elimination can reach are
// read and written, so that the cost of a banded matrix is that of its band. G. H. Golub and C. F. Van Loan, Matrix
// Computations, 4.3.
#pragma once

#include "scalar/isa.hpp"
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace dalembert::dense {

class EnvelopeLu {
public:
  // space for n unknowns
  DALEMBERT_INLINE void reserve(int n) {
    const std::size_t size = std::size_t(n);
    if (rows.size() >= size)
      return;
    values.resize(size * std::size_t(padded(n)) + chunk), lower_values.resize(values.size());
    rows.resize(size), lower.resize(size);
    for (std::vector<int> *each : {&first, &last, &exchange})
      each->resize(size);
  }
  DALEMBERT_INLINE void begin(int n_unknowns) {
    n = n_unknowns;
    for (int i = 0; i < n; ++i) {
      rows[at(i)] = values.data() + std::ptrdiff_t(i) * padded(n);
      lower[at(i)] = lower_values.data() + std::ptrdiff_t(i) * padded(n);
    }
  }
  // row i, set to zero, with entries in columns [from, to)
  DALEMBERT_INLINE double *row(int i, int from, int to) {
    first[at(i)] = from, last[at(i)] = to;
    std::fill_n(rows[at(i)], padded(n), 0.0);
    return rows[at(i)];
  }

  // false if the matrix is singular
  DALEMBERT_INLINE bool factor() {
    for (int k = 0; k < n; ++k) {
      int pivot = -1;
      for (int i = k; i < n; ++i)
        if (first[at(i)] <= k && (pivot < 0 || std::fabs(rows[at(i)][k]) > std::fabs(rows[at(pivot)][k])))
          pivot = i;
      if (pivot < 0 || !(std::fabs(rows[at(pivot)][k]) > 0.0))
        return false;
      exchange[at(k)] = pivot;
      if (pivot != k) {
        std::swap(rows[at(k)], rows[at(pivot)]), std::swap(lower[at(k)], lower[at(pivot)]);
        std::swap(first[at(k)], first[at(pivot)]), std::swap(last[at(k)], last[at(pivot)]);
      }
      const double over = 1.0 / rows[at(k)][k];
      for (int i = k + 1; i < n; ++i)
        if (first[at(i)] <= k)
          eliminate(k, i, over);
    }
    return true;
  }

  // b becomes the solution
  DALEMBERT_INLINE void solve(double *b) const {
    for (int k = 0; k < n; ++k)
      std::swap(b[k], b[exchange[at(k)]]);
    for (int i = 1; i < n; ++i)
      b[i] -= product(lower[at(i)], b, first[at(i)], i);
    for (int i = n - 1; i >= 0; --i)
      b[i] = (b[i] - product(rows[at(i)], b, i + 1, last[at(i)])) / rows[at(i)][i];
  }

private:
  static constexpr int chunk = 8; // numbers that are eliminated at once
  static DALEMBERT_INLINE std::size_t at(int k) { return std::size_t(k); }
  static DALEMBERT_INLINE int padded(int n) { return (n + chunk - 1) / chunk * chunk; }
  static DALEMBERT_INLINE double product(const double *x, const double *y, int from, int to) {
    double sums[2] = {0.0, 0.0};
    int j = from;
    for (; j + 2 <= to; j += 2)
      sums[0] += x[j] * y[j], sums[1] += x[j + 1] * y[j + 1];
    return j < to ? sums[0] + sums[1] + x[j] * y[j] : sums[0] + sums[1];
  }
  // rows are zero before their pivots
  DALEMBERT_INLINE void eliminate(int k, int i, double over) {
    const double *DALEMBERT_RESTRICT pivot = rows[at(k)];
    double *DALEMBERT_RESTRICT other = rows[at(i)];
    const double factor = other[k] * over;
    lower[at(i)][k] = factor;
    if (factor == 0.0)
      return;
    const int end = last[at(k)];
    last[at(i)] = std::max(last[at(i)], end);
    for (int j = k / chunk * chunk; j < end; j += chunk)
      subtract(factor, pivot + j, other + j);
    other[k] = 0.0;
  }
  static DALEMBERT_INLINE void subtract(double factor, const double *DALEMBERT_RESTRICT from,
                                        double *DALEMBERT_RESTRICT to) {
#if defined(__GNUC__)
    typedef double Chunk __attribute__((vector_size(64), aligned(8), may_alias));
    *reinterpret_cast<Chunk *>(to) -= factor * *reinterpret_cast<const Chunk *>(from);
#else
    for (int j = 0; j < chunk; ++j)
      to[j] -= factor * from[j];
#endif
  }

  int n = 0;
  std::vector<double> values, lower_values; // n x n each, with padding
  std::vector<double *> rows, lower;
  std::vector<int> first, last, exchange; // ranges of columns; row k was exchanged with row exchange[k]
};

} // namespace dalembert::dense
