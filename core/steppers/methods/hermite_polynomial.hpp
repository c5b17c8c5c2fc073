// Values between the ends of steps, by polynomials through values and rates at some of these ends (Hermite).
//
//     y(t) = sum_j l_j(t)^2 [ (1 - 2 s_j (t - t_j)) y_j + (t - t_j) y_j' ]     s_j = sum_k 1 / (t_j - t_k), k /= j
//
// with l_j Lagrange's polynomials through the ends.
#pragma once

#include <algorithm>
#include <cstddef>

namespace dalembert {

constexpr int max_ends = 16;

struct HermitePolynomial {
  std::ptrdiff_t ends;               // of steps, in order
  const double *at, *values, *rates; // ends; ends x columns each
  std::ptrdiff_t columns;

  // by the `points` ends around t, which are not more than max_ends
  void operator()(double t, int points, double *out) const {
    const std::ptrdiff_t step = std::upper_bound(at, at + ends, t) - at - 1;
    const std::ptrdiff_t first = std::clamp<std::ptrdiff_t>(step - points / 2 + 1, 0, ends - points);
    const double *node = at + first, unit = node[points - 1] - node[0];
    double away[max_ends];
    for (int j = 0; j < points; ++j)
      away[j] = (t - node[j]) / unit;
    std::fill_n(out, columns, 0.0);
    for (int j = 0; j < points; ++j) {
      double slope = 0.0, lagrange = 1.0;
      for (int k = 0; k < points; ++k)
        if (k != j) {
          const double apart = unit / (node[j] - node[k]);
          slope += apart, lagrange *= away[k] * apart;
        }
      const double by_value = (1.0 - 2.0 * slope * away[j]) * lagrange * lagrange,
                   by_rate = away[j] * lagrange * lagrange * unit;
      const double *value = values + (first + j) * columns, *rate = rates + (first + j) * columns;
      for (std::ptrdiff_t c = 0; c < columns; ++c)
        out[c] += by_value * value[c] + by_rate * rate[c];
    }
  }
};

} // namespace dalembert
