#include "constraints/closure_fronts.hpp"
#include "constraints/front_steps.hpp"
#include "constraints/loop_dynamics.hpp"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace dalembert::DALEMBERT_ISA {

// calls f(row, degree of freedom, entry) for the entries of P
template <class F> static void visit_entries(const ModelData &m, const double *values, F &&f) {
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &c = m.loop_constraints[k];
    for (int j = 0; j < c.rows; ++j)
      for (int s = 0; s < c.supports; ++s)
        f(c.row + j, m.support[c.support + s], values[c.values + j * c.supports + s]);
  }
}

static void evaluate_rows(const ModelData &m, LoopWorkspace<double> &work, const double *q) {
  evaluate_loop_constraints<double>(m, work.ws, q, nullptr,
                                    {.values = work.values, .leverage = work.leverage, .opening = &work.opening});
}

static std::vector<unsigned char> still_marks(const ModelData &m, const double *inertia) {
  std::vector<unsigned char> marks(std::size_t(m.nv));
  for (int f = 0; f < m.nv; ++f)
    marks[std::size_t(f)] = !(inertia[f] > 0.0);
  return marks;
}

void closure_step(const ModelData &m, LoopWorkspace<double> &work, const double *q, const double *r,
                  const double *compliance, const double *inertia, double *dq, double *rates, double *pull,
                  double *sizes) {
  evaluate_rows(m, work, q);
  const std::vector<unsigned char> still = still_marks(m, inertia);
  for (int i = 0; i < m.nc; ++i) {
    const bool wanted = compliance[i] > 0.0;
    work.leverage[i] = wanted ? 1.0 : 0.0;
    work.rhs[i] = wanted ? -r[i] : 0.0;
    rates[i] = work.y[i] = 0.0;
  }
  std::fill_n(pull, m.nv, 0.0);
  std::fill_n(dq, m.nv, 0.0);
  double pivot = 1.0;
  factor_matrices<double>(m, work.ws, work.fronts, m.all_loop_plan, work.values, work.leverage, 0.0, still.data(),
                          {inertia, compliance}, pivot);
  solve_fronts<double>(m, work.fronts, nullptr, work.rhs, dq, work.y);
  std::vector<double> by_row(std::size_t(m.nc)), by_column(std::size_t(m.nv));
  visit_entries(m, work.values, [&](int i, int f, double entry) {
    if (!(compliance[i] > 0.0))
      return;
    rates[i] += entry * dq[f];
    if (still[std::size_t(f)])
      return;
    pull[f] += entry * r[i] / compliance[i];
    const double size = std::fabs(entry) / std::sqrt(compliance[i] * inertia[f]);
    by_row[std::size_t(i)] += size;
    by_column[std::size_t(f)] += size;
  });
  const auto largest = [](const std::vector<double> &sums) {
    return sums.empty() ? 0.0 : *std::max_element(sums.begin(), sums.end());
  };
  sizes[0] = largest(by_row);
  sizes[1] = largest(by_column);
}

// rows that are wanted by their roots, in the metric of inertia; returns their rank
static int factor_wanted(const ModelData &m, LoopWorkspace<double> &work, const double *q, const double *wanted,
                          const double *inertia, double least) {
  evaluate_rows(m, work, q);
  const std::vector<unsigned char> still = still_marks(m, inertia);
  for (int i = 0; i < m.nc; ++i)
    if (wanted[i] == 0.0)
      work.leverage[i] = 0.0;
  double pivot = 1.0;
  return factor_roots(m, work.ws, work.fronts, m.all_loop_plan, work.values, work.leverage, least, still.data(),
                      {inertia, nullptr}, pivot);
}

void independent_parts(const ModelData &m, LoopWorkspace<double> &work, const double *q, const double *wanted,
                       const double *inertia, double least, double *parts) {
  factor_wanted(m, work, q, wanted, inertia, least);
  std::fill_n(parts, m.nc, 0.0);
  const FrontWorkspace<double> &f = work.fronts;
  for (int k = 0; k < m.all_loop_plan.row_count; ++k)
    if (f.left_inverse[k] > 0.0)
      parts[f.left_row[k]] = std::sqrt(1.0 / (f.left_inverse[k] * f.size[f.left_row[k]]));
}

void dependences(const ModelData &m, LoopWorkspace<double> &work, const double *q, const double *wanted,
                 const double *inertia, double least, double *y) {
  factor_wanted(m, work, q, wanted, inertia, least);
  std::fill_n(y, std::size_t(m.nc) * std::size_t(m.nc), 0.0);
  FrontWorkspace<double> &f = work.fronts;
  std::vector<double> a(std::size_t(m.nv));
  for (int k = 0; k < m.all_loop_plan.row_count; ++k) {
    const int row = f.left_row[k];
    if (f.left_inverse[k] > 0.0 || wanted[row] == 0.0)
      continue;
    double *mine = y + std::ptrdiff_t(row) * m.nc;
    std::fill(a.begin(), a.end(), 0.0);
    mine[row] = 1.0;
    for (int round = 0; round < 2; ++round) { // forces P^T y that the kept rows balance; what is left of them, once more
      std::fill_n(work.rhs, m.nc, 0.0);
      for (int i = 0; i < m.nv; ++i)
        f.tau[i] = -inertia[i] * a[std::size_t(i)];
      visit_entries(m, work.values, [&](int i, int j, double entry) {
        if (mine[i] != 0.0)
          f.tau[j] += entry * mine[i];
        work.rhs[i] -= entry * a[std::size_t(j)];
      });
      solve_fronts<double>(m, f, f.tau, work.rhs, a.data(), mine);
    }
  }
}

void motions(const ModelData &m, LoopWorkspace<double> &work, const double *q, const double *wanted,
             const double *inertia, double least, double *count, double *v) {
  constexpr int more = 4;
  const int rank = factor_wanted(m, work, q, wanted, inertia, least);
  int moving = 0;
  for (int f = 0; f < m.nv; ++f)
    moving += inertia[f] > 0.0;
  *count = moving - rank;
  std::fill_n(v, std::size_t(m.nv) * std::size_t(m.nv), 0.0);
  std::uint64_t state = 1; // of a linear congruential generator (Knuth 1981, 3.3.4)
  for (int k = 0; k < std::min(moving - rank + more, m.nv); ++k, v += m.nv) {
    for (int f = 0; f < m.nv; ++f) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const double random = double(state >> 11) / double(1ull << 52) - 1.0;
      v[f] = inertia[f] > 0.0 ? random / std::sqrt(inertia[f]) : 0.0;
    }
    for (int round = 0; round < 3; ++round) { // each takes out the rounding of the last
      std::fill_n(work.rhs, m.nc, 0.0);
      visit_entries(m, work.values, [&](int i, int f, double entry) { work.rhs[i] -= entry * v[f]; });
      solve_fronts<double>(m, work.fronts, nullptr, work.rhs, v, work.y);
    }
  }
}

void velocity_change(const ModelData &m, LoopWorkspace<double> &work, const double *q, const double *v,
                     const double *rates, const double *held, double *dv, double *missed, double *terms) {
  evaluate_rows(m, work, q);
  for (int i = 0; i < m.nc; ++i) {
    missed[i] = -rates[i];
    terms[i] = std::fabs(rates[i]);
  }
  visit_entries(m, work.values, [&](int i, int f, double entry) {
    missed[i] += entry * v[f];
    terms[i] += std::fabs(entry * v[f]);
  });
  std::vector<unsigned char> still(std::size_t(m.nv));
  for (int f = 0; f < m.nv; ++f)
    still[std::size_t(f)] = held[f] != 0.0;
  const Factored factored = factor_loops<double>(m, work, q, still.data());
  std::fill_n(dv, m.nv, 0.0);
  std::fill_n(work.y, m.nc, 0.0);
  for (int round = 0; round < 2; ++round) { // the second takes out the rounding of the first
    for (int i = 0; i < m.nc; ++i)
      work.rhs[i] = -missed[i];
    visit_entries(m, work.values, [&](int i, int f, double entry) { work.rhs[i] -= entry * dv[f]; });
    solve_rows(m, work, factored, dv, work.y);
  }
}

} // namespace dalembert::DALEMBERT_ISA
