#include "friction/holding_margin.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert {

namespace {

constexpr double breakaway = 1e-9; // of the bounds: an effort breaks away beyond this, so that its sign is definite
constexpr double coupling_floor = 1e-9; // of the largest entry of C': smaller entries are zero

double coupling_size(const HoldingLimits &holding) {
  double most = 0.0;
  for (const double entry : holding.coupling)
    most = std::max(most, std::fabs(entry));
  return coupling_floor * most;
}

} // namespace

bool has_separate_margins(const HoldingLimits &holding, const FrictionModes &modes) {
  const std::size_t columns = holding.dependent.size();
  const double least = coupling_size(holding);
  for (std::size_t column = 0; column < columns; ++column) {
    int coupled = 0;
    for (std::size_t line = 0; line < modes.locked.size(); ++line)
      coupled += std::fabs(holding.coupling[line * columns + column]) > least;
    if (coupled > 1)
      return false;
  }
  return true;
}

double holding_margin(const HoldingLimits &holding, const FrictionModes &modes, const double *efforts,
                      const double *limits) {
  const std::size_t columns = holding.dependent.size();
  const double least = coupling_size(holding), unlimited = std::numeric_limits<double>::infinity();
  const auto lower = [&](std::size_t row) { return holding.unbounded_below[row] ? -unlimited : -limits[row]; };
  const auto upper = [&](std::size_t row) { return holding.unbounded_above[row] ? unlimited : limits[row]; };
  double margin = 1.0;
  for (std::size_t line = 0; line < modes.locked.size(); ++line) {
    const std::size_t row = std::size_t(modes.locked[line]);
    double low = lower(row), high = upper(row);
    for (std::size_t column = 0; column < columns; ++column) { // one degree of freedom: limits add up
      const double factor = holding.coupling[line * columns + column];
      const std::size_t other = std::size_t(holding.dependent[column]);
      if (std::fabs(factor) > least) {
        low += std::min(factor * lower(other), factor * upper(other));
        high += std::max(factor * lower(other), factor * upper(other));
      }
    }
    double wide = holding.scale[row];
    for (const double bound : {low, high})
      wide = std::isfinite(bound) ? std::max(wide, std::fabs(bound)) : wide;
    wide = wide > 0.0 ? wide : 1e-30;
    margin = std::min(margin, std::min(high - efforts[line], efforts[line] - low) / wide + breakaway);
  }
  return margin;
}

} // namespace dalembert
