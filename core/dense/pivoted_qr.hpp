// Householder's factorisation with column pivoting of a dense matrix, and least-norm solutions by it.
//
//     B Pi = Q R,    |R_00| >= |R_11| >= ...                                                                       (1)
//
// G. H. Golub and C. F. Van Loan, Matrix Computations, 5.4.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace dalembert::dense {

// Columns are contiguous. Column j of B Pi is column order[j] of B. Below the diagonal of R are the vectors of the
// reflections, whose first entry is 1.
struct PivotedQr {
  int rows = 0, columns = 0;
  std::vector<double> B, beta;
  std::vector<int> order;

  int steps() const { return std::min(rows, columns); }
  double *column(int j) { return B.data() + std::ptrdiff_t(j) * rows; }
  const double *column(int j) const { return B.data() + std::ptrdiff_t(j) * rows; }
  double pivot(int k) const { return std::fabs(column(k)[k]); }

  // B is set to zero and has to be filled
  void resize(int n_rows, int n_columns) {
    rows = n_rows, columns = n_columns;
    B.assign(std::size_t(rows) * std::size_t(columns), 0.0);
    beta.assign(std::size_t(steps()), 0.0);
    order.resize(std::size_t(columns));
  }

  void factor() {
    for (int j = 0; j < columns; ++j)
      order[std::size_t(j)] = j;
    for (int k = 0; k < steps(); ++k) {
      int best = k;
      double largest = -1.0;
      for (int j = k; j < columns; ++j) {
        const double square = squares(column(j), k);
        if (square > largest)
          largest = square, best = j;
      }
      if (best != k) {
        std::swap_ranges(column(k), column(k) + rows, column(best));
        std::swap(order[std::size_t(k)], order[std::size_t(best)]);
      }
      reflect(k, std::sqrt(largest));
    }
  }

  // x (rows) becomes Q^T x
  void apply_transposed(double *x) const {
    for (int k = 0; k < steps(); ++k)
      reflect_by(k, x);
  }
  // x (rows) becomes Q x
  void apply(double *x) const {
    for (int k = steps() - 1; k >= 0; --k)
      reflect_by(k, x);
  }

private:
  double squares(const double *x, int k) const {
    double sum = 0.0;
    for (int i = k; i < rows; ++i)
      sum += x[i] * x[i];
    return sum;
  }

  void reflect_by(int k, double *x) const {
    const double *w = column(k);
    double sum = x[k];
    for (int i = k + 1; i < rows; ++i)
      sum += w[i] * x[i];
    sum *= beta[std::size_t(k)];
    x[k] -= sum;
    for (int i = k + 1; i < rows; ++i)
      x[i] -= sum * w[i];
  }

  void reflect(int k, double length) {
    double *w = column(k);
    if (!(length > 0.0))
      return; // beta is zero: no reflection
    const double alpha = w[k] > 0.0 ? -length : length, first = w[k] - alpha;
    for (int i = k + 1; i < rows; ++i)
      w[i] /= first;
    beta[std::size_t(k)] = -first / alpha;
    w[k] = alpha;
    for (int j = k + 1; j < columns; ++j)
      reflect_by(k, column(j));
  }
};

// The shortest x (n) with A x = b (k), A (k x n, k <= n) of full row rank, by the factors of A^T.
inline void least_norm(const PivotedQr &qr, const double *b, double *x) {
  const int k = qr.columns;
  std::fill_n(x, qr.rows, 0.0);
  for (int i = 0; i < k; ++i) { // R^T y = Pi^T b
    const double *r = qr.column(i);
    double rest = b[qr.order[std::size_t(i)]];
    for (int j = 0; j < i; ++j)
      rest -= r[j] * x[j];
    x[i] = rest / r[i];
  }
  qr.apply(x);
}

} // namespace dalembert::dense
