#include "friction/switching_values.hpp"
#include "friction/holding_margin.hpp"
#include "friction/row_response.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

FrictionLimits friction_limits(const FrictionRun &f, const FrictionRow &row, const double *signals) {
  if (row.friction < 0)
    return {0.0, 0.0};
  const double now = f.parameters[std::size_t(row.friction)];
  const double ratio = row.sliding_friction > 0.0 ? now / row.sliding_friction : 1.0;
  const double by_load =
      row.load >= 0 && signals ? f.parameters[std::size_t(row.coefficient)] * signals[row.load] : 0.0;
  return {now + by_load, std::max(now, ratio * row.static_friction) + row.static_ratio * by_load};
}

bool evaluate_report(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v, const double *x,
                     const Report &out) {
  ReportWorkspace work;
  lay_out(i.m, f.report_memory.block->data, work);
  ++i.run.counts.evaluations;
  return report(i.m, i.run.conditions, work, {i.run.interval.clamp(t), q, v, x}, out);
}

bool switching_values(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v, const double *x,
                      double *values) {
  const FrictionModes &modes = f.modes;
  row_motion(i, f, t, q, v, f.s.data(), f.u.data());
  for (std::size_t number = 0; number < f.switches.size(); ++number) {
    const std::size_t k = std::size_t(f.switches[number].row);
    const FrictionRow &row = f.rows[k];
    const bool free = f.movable[k] && !modes.stuck[k];
    double value = 1.0;
    if (f.switches[number].kind == SwitchKind::lower) {
      if (free && modes.side[k] >= 0.0)
        value = f.s[k] - row.lower + f.position_tol;
    } else if (f.switches[number].kind == SwitchKind::upper) {
      if (free && modes.side[k] <= 0.0)
        value = row.upper - f.s[k] + f.position_tol;
    } else if (f.movable[k]) {
      const bool locked = std::find(modes.locked.begin(), modes.locked.end(), int(k)) != modes.locked.end();
      if ((modes.immobile[k] || modes.stuck[k]) && !locked) // at rest because other rows are locked
        value = row.rest_tol * f.rest_tol_factor - std::fabs(f.u[k]);
      else if (modes.sign[k] != 0.0)
        value = modes.sign[k] * f.u[k];
    }
    values[number] = value;
  }
  values[f.switches.size()] = 1.0;
  if (!f.holding.holds)
    return true;
  Report out;
  out.constraint_effort = f.efforts.data();
  out.signals = f.has_load_friction ? f.signals.data() : nullptr;
  if (!evaluate_report(i, f, t, q, v, x, out))
    return false;
  std::vector<double> &held = f.held_efforts, &limits = f.limits;
  held.resize(modes.locked.size());
  limits.resize(f.rows.size());
  for (std::size_t k = 0; k < modes.locked.size(); ++k)
    held[k] = f.efforts[std::size_t(f.rows[std::size_t(modes.locked[k])].place)];
  for (std::size_t k = 0; k < f.rows.size(); ++k)
    limits[k] = friction_limits(f, f.rows[k], out.signals).at_rest;
  values[f.switches.size()] = holding_margin(f.holding, modes, held.data(), limits.data());
  return true;
}

bool modes_stay(const FrictionRun &f) {
  for (std::size_t number = 0; number < f.switches.size(); ++number) {
    const std::size_t k = std::size_t(f.switches[number].row);
    const bool slides = f.modes.sign[k] != 0.0;
    const double least = f.switches[number].kind != SwitchKind::rest ? 3.0 * f.position_tol // a closed stop
                         : slides                                    ? f.rows[k].rest_tol * f.rest_tol_factor
                                                                     : 0.0;
    if (!(f.values[number] > least))
      return false;
  }
  return f.values[f.switches.size()] > 0.0;
}

} // namespace dalembert::DALEMBERT_ISA
