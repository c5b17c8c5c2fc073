#include "numerics/bounded_qp.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace dalembert {

namespace {
constexpr double roundoff = 1e-13; // of the sum of the terms of w: smaller values are rounding
} // namespace

void BoundedQp::reserve(int n) {
  const std::size_t size = std::size_t(n);
  for (std::vector<double> *each : {&x, &w, &z, &rest})
    each->resize(size);
  barred.resize(size);
  free.reserve(n);
}

void BoundedQp::put(int k, double value) {
  moved = moved || x[std::size_t(k)] != value;
  x[std::size_t(k)] = value;
}

// Solves for the free unknowns; those that meet a bound stay there and leave the free set.
void BoundedQp::settle(int n, const double *A, const double *b, const double *lower, const double *upper) {
  while (free.size()) {
    const std::vector<int> &set = free.members();
    const int count = free.size();
    const auto residual = [&](const double *y) { // -(b + A x) with y in place of the free unknowns
      for (int i = 0; i < count; ++i) {
        const int k = set[std::size_t(i)];
        double sum = -b[k];
        for (int j = 0; j < n; ++j)
          if (!free.contains(j))
            sum -= A[k * n + j] * x[std::size_t(j)];
        for (int j = 0; y && j < count; ++j)
          sum -= A[k * n + set[std::size_t(j)]] * y[j];
        rest[std::size_t(i)] = sum;
      }
    };
    residual(nullptr);
    free.solve(rest.data());
    std::copy_n(rest.begin(), count, z.begin());
    residual(z.data()); // one step of refinement
    free.solve(rest.data());
    double part = 1.0;
    for (int i = 0; i < count; ++i) {
      z[std::size_t(i)] += rest[std::size_t(i)];
      const int k = set[std::size_t(i)];
      const double step = z[std::size_t(i)] - x[std::size_t(k)];
      if (step != 0.0)
        part = std::min(part, ((step > 0.0 ? upper[k] : lower[k]) - x[std::size_t(k)]) / step);
    }
    if (part >= 1.0) {
      for (int i = 0; i < count; ++i)
        put(set[std::size_t(i)], z[std::size_t(i)]);
      return;
    }
    part = std::max(part, 0.0);
    for (int i = count - 1; i >= 0; --i) {
      const int k = set[std::size_t(i)];
      const double step = z[std::size_t(i)] - x[std::size_t(k)];
      const double bound = step > 0.0 ? upper[k] : lower[k];
      const bool meets = step != 0.0 && (bound - x[std::size_t(k)]) / step <= part;
      put(k, meets ? bound : x[std::size_t(k)] + part * step);
      if (meets)
        free.remove(i);
    }
  }
}

bool BoundedQp::solve(int n, const double *A, const double *b, const double *lower, const double *upper,
                      const double *noise) {
  if (x.size() < std::size_t(n))
    reserve(n);
  free.reset(A, n);
  std::fill_n(barred.begin(), n, 0);
  for (int k = 0; k < n; ++k)
    x[std::size_t(k)] = std::min(std::max(0.0, lower[k]), upper[k]);
  for (int round = 0; round < 20 * n + 20; ++round) {
    int best = -1;
    double most = -1.0;
    for (int k = 0; k < n; ++k) {
      double sum = b[k], size = std::fabs(b[k]);
      for (int j = 0; j < n; ++j) {
        sum += A[k * n + j] * x[std::size_t(j)];
        size += std::fabs(A[k * n + j] * x[std::size_t(j)]);
      }
      const double least = std::max(roundoff * size, noise ? noise[k] : 0.0);
      w[std::size_t(k)] = std::fabs(sum) > least ? sum : 0.0;
      if (free.contains(k) || barred[std::size_t(k)])
        continue;
      const bool wanting =
          (sum < -least && x[std::size_t(k)] < upper[k]) || (sum > least && x[std::size_t(k)] > lower[k]);
      const double pull = std::fabs(sum) / std::sqrt(std::max(A[k * n + k], 1e-300));
      if (wanting && pull > most)
        best = k, most = pull;
    }
    if (best < 0)
      return true;
    if (!free.append(best)) {
      barred[std::size_t(best)] = 1;
      continue;
    }
    moved = false;
    settle(n, A, b, lower, upper);
    if (!moved) // rounding sent it back at once
      barred[std::size_t(best)] = 1;
    else
      std::fill_n(barred.begin(), n, 0);
  }
  return false;
}

} // namespace dalembert
