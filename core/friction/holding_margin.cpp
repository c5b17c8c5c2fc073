#include "friction/holding_margin.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert {

namespace {

constexpr double breakaway = 1e-9; // of the bounds: an effort breaks away beyond this, so that its sign is definite
constexpr double coupling_floor = 1e-9;  // of the largest entry of C': smaller entries are zero
constexpr double least_thickness = 1e-8; // of an ellipsoid, of its scale: rounding of an effort stays inside
constexpr double unlimited = std::numeric_limits<double>::infinity();

std::size_t at(int k) { return std::size_t(k); }

double least_coupling(const HoldingLimits &holding) {
  double most = 0.0;
  for (const double entry : holding.coupling)
    most = std::max(most, std::fabs(entry));
  return coupling_floor * most;
}

// Joins the sets of two rows; sets are numbered by their members until the end.
void join(HoldingLimits &holding, std::int32_t a, std::int32_t b) {
  if (a == b)
    return;
  for (std::vector<std::int32_t> *each : {&holding.set_of_locked, &holding.set_of_dependent})
    std::replace(each->begin(), each->end(), std::max(a, b), std::min(a, b));
}

double finite(double bound) { return std::isfinite(bound) ? std::fabs(bound) : 0.0; }

double lower_bound(const HoldingLimits &holding, const double *limits, int row) {
  return holding.unbounded_below[at(row)] ? -unlimited : -limits[row];
}
double upper_bound(const HoldingLimits &holding, const double *limits, int row) {
  return holding.unbounded_above[at(row)] ? unlimited : limits[row];
}

// the margin of one row between bounds
double row_margin(double h, double lower, double upper, double scale) {
  const double wide = std::max(scale, std::max(finite(lower), finite(upper)));
  return std::min(upper - h, h - lower) / (wide > 0.0 ? wide : 1e-30) + breakaway;
}

// of one vector group
double group_margin(const HoldingWorkspace &work, const HoldingLimits &holding, const double *limits) {
  double square = 0.0;
  for (std::size_t k = 0; k < work.locked.size(); ++k) {
    const int row = work.rows[k];
    const double scale = holding.scale[at(row)];
    const double wide = limits[row] > 0.0 ? limits[row] : scale > 0.0 ? 1e-30 * scale : 1.0;
    square += (work.h[k] / wide) * (work.h[k] / wide);
  }
  return 1.0 + breakaway - std::sqrt(square);
}

// of rows that hold together in any way
double coupled_margin(HoldingWorkspace &work, const HoldingLimits &holding, const double *limits) {
  const int l = int(work.locked.size()), n = int(work.rows.size()), r = n - l;
  const std::size_t columns = holding.dependent.size();
  double widest = 0.0;
  for (int k = 0; k < n; ++k) {
    const int row = work.rows[at(k)];
    work.lower[at(k)] = lower_bound(holding, limits, row), work.upper[at(k)] = upper_bound(holding, limits, row);
    work.wide[at(k)] = std::max(holding.scale[at(row)], std::max(finite(work.lower[at(k)]), finite(work.upper[at(k)])));
    widest = std::max(widest, work.wide[at(k)]);
  }
  int groups = 0;
  for (int k = 0; k < n; ++k) {
    work.wide[at(k)] = work.wide[at(k)] > 0.0 ? work.wide[at(k)] : std::max(widest, 1e-30);
    work.f[at(k)] = std::max(limits[work.rows[at(k)]], least_thickness * work.wide[at(k)]);
    work.group[at(k)] = -1;
    const std::int32_t mine = holding.group[at(work.rows[at(k)])];
    for (int j = 0; j < k && mine >= 0; ++j)
      if (holding.group[at(work.rows[at(j)])] == mine)
        work.group[at(k)] = work.group[at(j)];
    if (mine >= 0 && work.group[at(k)] < 0)
      work.group[at(k)] = groups++;
  }
  for (int i = 0; i < l; ++i)
    for (int j = 0; j < r; ++j)
      work.coupling[at(i * r + j)] = holding.coupling[at(work.locked[at(i)]) * columns + at(work.dependent[at(j)])];
  return breakaway - work.widening.solve({l, r, work.h.data(), work.lower.data(), work.upper.data(), work.f.data(),
                                          work.wide.data(), work.coupling.data(), work.group.data(), groups});
}

} // namespace

void reserve_margins(HoldingWorkspace &work, int n) {
  work.widening.reserve(n);
  for (std::vector<int> *each : {&work.rows, &work.locked, &work.dependent})
    each->reserve(at(n));
  work.group.resize(at(n));
  for (std::vector<double> *each : {&work.h, &work.lower, &work.upper, &work.f, &work.wide})
    each->resize(at(n));
  work.coupling.resize(at(n * n));
}

void find_holding_sets(HoldingLimits &holding, const FrictionModes &modes) {
  const int l = int(modes.locked.size()), r = int(holding.dependent.size());
  const double least = least_coupling(holding);
  holding.set_of_locked.resize(at(l)), holding.set_of_dependent.assign(at(r), -1);
  for (int k = 0; k < l; ++k)
    holding.set_of_locked[at(k)] = k;
  for (int c = 0; c < r; ++c)
    for (int k = 0; k < l; ++k)
      if (std::fabs(holding.coupling[at(k * r + c)]) > least) {
        if (holding.set_of_dependent[at(c)] < 0)
          holding.set_of_dependent[at(c)] = holding.set_of_locked[at(k)];
        else
          join(holding, holding.set_of_dependent[at(c)], holding.set_of_locked[at(k)]);
      }
  const auto group_of = [&](int k) {
    return holding.group[at(k < l ? modes.locked[at(k)] : holding.dependent[at(k - l)])];
  };
  const auto set_of = [&](int k) { return k < l ? holding.set_of_locked[at(k)] : holding.set_of_dependent[at(k - l)]; };
  for (int a = 0; a < l + r; ++a)
    for (int b = 0; b < a; ++b)
      if (group_of(a) >= 0 && group_of(a) == group_of(b) && set_of(a) >= 0 && set_of(b) >= 0)
        join(holding, set_of(a), set_of(b));
  holding.sets = l;
}

double holding_margin(HoldingWorkspace &work, const HoldingLimits &holding, const FrictionModes &modes,
                      const double *efforts, const double *limits) {
  double margin = 1.0;
  for (int set = 0; set < holding.sets; ++set) {
    work.rows.clear(), work.locked.clear(), work.dependent.clear();
    for (int k = 0; k < int(modes.locked.size()); ++k)
      if (holding.set_of_locked[at(k)] == set) {
        work.h[work.locked.size()] = efforts[k];
        work.locked.push_back(k), work.rows.push_back(modes.locked[at(k)]);
      }
    if (work.locked.empty())
      continue;
    for (int k = 0; k < int(holding.dependent.size()); ++k)
      if (holding.set_of_dependent[at(k)] == set)
        work.dependent.push_back(k), work.rows.push_back(holding.dependent[at(k)]);
    const std::int32_t group = holding.group[at(work.rows[0])];
    bool grouped = false, one_group = group >= 0 && work.dependent.empty();
    for (const int row : work.rows) {
      grouped = grouped || holding.group[at(row)] >= 0;
      one_group = one_group && holding.group[at(row)] == group;
    }
    double part = 1.0;
    if (one_group) {
      part = group_margin(work, holding, limits);
    } else if (work.locked.size() == 1 && !grouped) { // one degree of freedom: bounds add up
      const int row = work.rows[0];
      double lower = lower_bound(holding, limits, row), upper = upper_bound(holding, limits, row);
      for (const int k : work.dependent) {
        const double factor = holding.coupling[at(work.locked[0]) * holding.dependent.size() + at(k)];
        const int other = holding.dependent[at(k)];
        const double a = factor * lower_bound(holding, limits, other), b = factor * upper_bound(holding, limits, other);
        lower += std::min(a, b), upper += std::max(a, b);
      }
      part = row_margin(work.h[0], lower, upper, holding.scale[at(row)]);
    } else {
      part = coupled_margin(work, holding, limits);
    }
    margin = std::min(margin, part);
  }
  return margin;
}

} // namespace dalembert
