#include "dense/loop_efforts.hpp"

namespace dalembert::dense {

constexpr double max_opening = 1e-6;     // relative to the terms of a row: what is beyond opens the loop
constexpr double clearly_zero = 1e-11;   // pivots, relative to the largest or to 1: rounding of a redundant row
constexpr double clearly_nonzero = 1e-7; // the same, of an independent row or actuator
constexpr double rounding_force = 1e-12; // of the largest force

// whether P w + rest vanishes, relative to its terms
static bool vanishes(const LoopEffortProblem &p, const double *w, const double *rest, std::vector<double> &size) {
  size.assign(2 * std::size_t(p.nc), 0.0);
  double *gap = size.data() + p.nc, largest = 0.0;
  for (int i = 0; i < p.nc; ++i) {
    const double *row = p.P + std::ptrdiff_t(i) * p.nv;
    double sum = rest[i], terms = std::fabs(rest[i]);
    for (int j = 0; j < p.nv; ++j)
      sum += row[j] * w[j], terms += std::fabs(row[j] * w[j]);
    gap[i] = std::fabs(sum), size[std::size_t(i)] = terms;
    largest = std::max(largest, terms);
  }
  const double least = 1e-3 * largest + 1e-6; // rounding spreads between rows
  for (int i = 0; i < p.nc; ++i)
    if (!(gap[i] <= max_opening * std::max(size[std::size_t(i)], least)))
      return false;
  return true;
}

static bool is_closed(const LoopEffortProblem &p, std::vector<double> &work) {
  for (int i = 0; i < p.nc; ++i)
    if (p.holonomic[i] && !(std::fabs(p.gap[i]) * p.row_scale[i] <= max_opening))
      return false;
  return vanishes(p, p.v, p.drift, work) && vanishes(p, p.a, p.bias, work);
}

// the rank of the scaled rows, or -1 where it is not clear
static int factor_rows(const LoopEffortProblem &p, PivotedQr &qr) {
  qr.resize(p.nv, p.nc);
  for (int i = 0; i < p.nc; ++i)
    for (int j = 0; j < p.nv; ++j)
      qr.column(i)[j] = p.row_scale[i] * p.P[std::ptrdiff_t(i) * p.nv + j] * p.column_scale[j];
  qr.factor();
  const double largest = std::max(1.0, qr.steps() ? qr.pivot(0) : 0.0);
  int rank = 0;
  while (rank < qr.steps() && qr.pivot(rank) > clearly_nonzero * largest)
    ++rank;
  for (int k = rank; k < qr.steps(); ++k)
    if (!(qr.pivot(k) < clearly_zero * largest))
      return -1;
  return rank;
}

// u: the shortest that give every degree of freedom its force; false if they may not
static bool solve_actuators(const LoopEffortProblem &p, int rank, LoopEffortWorkspace &work, double *u) {
  const int dofs = p.nv - rank;
  work.actuators.resize(p.m, dofs);
  work.x.resize(std::size_t(p.nv));
  double *x = work.x.data();
  for (int i = 0; i < p.m; ++i) {
    for (int j = 0; j < p.nv; ++j)
      x[j] = p.column_scale[j] * p.C[std::ptrdiff_t(i) * p.nv + j];
    work.loops.apply_transposed(x);
    for (int k = 0; k < dofs; ++k)
      work.actuators.column(k)[i] = x[rank + k];
  }
  work.actuators.factor();
  if (dofs && !(work.actuators.pivot(dofs - 1) > clearly_nonzero * work.actuators.pivot(0)))
    return false;
  for (int j = 0; j < p.nv; ++j)
    x[j] = p.column_scale[j] * p.force[j];
  work.loops.apply_transposed(x);
  least_norm(work.actuators, x + rank, u);
  return true;
}

// lam: the shortest, scaled, that supply what the actuators do not
static void solve_multipliers(const LoopEffortProblem &p, int rank, LoopEffortWorkspace &work, const double *u,
                              double *lambda) {
  double largest = 0.0, *x = work.x.data();
  for (int j = 0; j < p.nv; ++j)
    largest = std::max(largest, std::fabs(p.force[j]));
  for (int j = 0; j < p.nv; ++j) {
    double rest = p.force[j];
    for (int i = 0; i < p.m; ++i)
      rest -= p.C[std::ptrdiff_t(i) * p.nv + j] * u[i];
    x[j] = std::fabs(rest) < rounding_force * largest ? 0.0 : p.column_scale[j] * rest;
  }
  work.loops.apply_transposed(x);
  work.multipliers.resize(p.nc, rank);
  for (int k = 0; k < rank; ++k)
    for (int i = k; i < p.nc; ++i)
      work.multipliers.column(k)[work.loops.order[std::size_t(i)]] = work.loops.column(i)[k];
  work.multipliers.factor();
  least_norm(work.multipliers, x, lambda);
  for (int i = 0; i < p.nc; ++i)
    lambda[i] *= p.row_scale[i];
}

LoopEffortOutcome solve_loop_efforts(const LoopEffortProblem &problem, LoopEffortWorkspace &work, double *u,
                                     double *lambda) {
  if (!is_closed(problem, work.y))
    return {};
  const int rank = factor_rows(problem, work.loops);
  if (rank < 0 || problem.m < problem.nv - rank || !solve_actuators(problem, rank, work, u))
    return {};
  solve_multipliers(problem, rank, work, u, lambda);
  return {true, rank < problem.nc, problem.m == problem.nv - rank};
}

} // namespace dalembert::dense
