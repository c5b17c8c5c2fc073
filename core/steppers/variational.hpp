// Small changes y of a motion that is known: y' = A(t) y + B(t) dp, forwards, and l' = -A^T l backwards.
//
// Matrices are known at s places of each block of time, the same fractions of it (Gauss's), and in between by the
// polynomials through these, with Lagrange's L_j:
//
//     A(t) = sum L_j(t) A_j          B(t) = sum L_j(t) B_j                                                          (1)
//
// Steps of dop853 lie within blocks; the solution of (1) costs products only. Backwards the same steps are transposed
// (Sandu 2006), so that both ways give the same derivatives to rounding. With K_i the rates of stage i and their
// adjoints k_i:
//
//     Y_i = y + h sum_{j<i} a_ij K_j       K_i = A_i Y_i + B_i dp       y1 = y + h sum b_i K_i                      (2)
//     k_i = h (b_i l1 + sum_{j>i} a_ji A_j^T k_j)       l = l1 + sum A_i^T k_i       dJ/dp = sum B_i^T k_i          (3)
//
// B is not needed backwards: dJ/dp = sum over all places of B_j^T w_j, w_j = sum L_j(t_i) k_i.                      (4)
#pragma once

#include <cstddef>
#include <cstdint>

namespace dalembert {

struct Variations {
  // y has n rows; of its rates the last `rows` are given by matrices of n + numbers columns, those before them are the
  // first of these rows of y: positions whose rates are velocities
  int n, rows, numbers;
  // rows of y before this one, and those from it on, are measured apart: positions, and velocities with states
  int split;
  int places;             // s
  const double *place;    // s, in -1..1
  const double *matrices; // blocks x s x rows x (n + numbers)
  const double *block_begin, *block_end;
  std::ptrdiff_t steps;
  const std::int64_t *block; // of each step
  const double *begin, *length;
  const std::int64_t *kept; // where among what is kept the end of a step stands; negative: nowhere
};

struct VariationSet {
  // y0 and what is kept: n x columns; the first `numbers` columns are of one number each. Steps are taken in parts, as
  // many as keep the error of the first `judged` columns together, each with its weight, below rtol of what they are
  // about there, by the method's own estimate.
  void (*forward)(const Variations &, int columns, const double *y0, int judged, const double *weights, double rtol,
                  double *kept, std::int64_t *parts);
  // seeds: dJ/dy, n x columns, at what is kept; l: n x columns, at the begin; w of (4): blocks x s x rows x columns, or
  // null
  void (*backward)(const Variations &, int columns, const double *seeds, double *l, double *w);
};

const VariationSet &best_variations();

} // namespace dalembert
