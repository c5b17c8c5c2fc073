#include "friction/switching_values.hpp"
#include "friction/discontinuous_laws.hpp"
#include "friction/holding_margin.hpp"
#include "friction/progress.hpp"
#include "friction/row_response.hpp"
#include "tree/forward_dynamics.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

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
  return evaluate_report(i, f.report_memory.block->data, t, q, v, x, out);
}

void slip_speeds(const FrictionRun &f, const double *u, double *speeds) {
  for (std::size_t k = 0; k < f.rows.size(); ++k)
    speeds[k] = std::fabs(u[k]);
  for (const std::vector<std::int32_t> &group : f.groups) {
    double square = 0.0;
    for (const std::int32_t k : group)
      square += u[k] * u[k];
    for (const std::int32_t k : group)
      speeds[k] = std::sqrt(square);
  }
}

bool has_movable_group(const FrictionRun &f, int row) {
  const std::int32_t group = f.rows[std::size_t(row)].group;
  if (group < 0)
    return f.movable[std::size_t(row)];
  const std::vector<std::int32_t> &rows = f.groups[std::size_t(group)];
  return std::any_of(rows.begin(), rows.end(), [&](std::int32_t k) { return f.movable[std::size_t(k)]; });
}

namespace {

constexpr double group_rest = 0.9; // of the rest tolerance: slower groups come to rest

// Whether a row is at rest because other rows are locked.
bool rests_with_others(const FrictionModes &modes, int k) {
  return (modes.immobile[std::size_t(k)] || modes.stuck[std::size_t(k)]) &&
         std::find(modes.locked.begin(), modes.locked.end(), k) == modes.locked.end();
}

// of a row, or of the group that it begins
double rest_value(const FrictionRun &f, int row, double tol_factor, bool laws_changed) {
  const FrictionModes &modes = f.modes;
  const std::size_t k = std::size_t(row);
  const double slow = f.rows[k].rest_tol * tol_factor;
  if (!has_movable_group(f, row))
    return 1.0;
  if (laws_changed && modes.sign[k] != 0.0 && f.speed[k] <= slow) // a sliding mode has begun, perhaps at rest
    return -1.0;
  if (f.rows[k].group < 0)
    return rests_with_others(modes, row) ? slow - std::fabs(f.u[k])
           : modes.sign[k] != 0.0        ? modes.sign[k] * f.u[k]
                                         : 1.0;
  const std::vector<std::int32_t> &group = f.groups[std::size_t(f.rows[k].group)];
  const auto slides = [&](std::int32_t j) { return modes.sign[std::size_t(j)] != 0.0; };
  const auto rests = [&](std::int32_t j) { return rests_with_others(modes, j); };
  if (std::any_of(group.begin(), group.end(), slides))
    return f.speed[k] - group_rest * slow;
  return std::any_of(group.begin(), group.end(), rests) ? std::min(1.0, slow - f.speed[k]) : 1.0;
}

// of an open stop; 1: it is closed, or has no function
double gap_value(const FrictionRun &f, const RowSwitch &which) {
  const std::size_t k = std::size_t(which.row);
  const FrictionRow &row = f.rows[k];
  const double side = f.modes.side[k];
  if (!f.movable[k] || f.modes.stuck[k] || (which.kind == SwitchKind::lower ? side < 0.0 : side > 0.0))
    return 1.0;
  return (which.kind == SwitchKind::lower ? f.s[k] - row.lower : row.upper - f.s[k]) + f.position_tol;
}

// what holds locked degrees of freedom, in f.efforts; false if a callback has failed
bool evaluate_efforts(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v, const double *x,
                      Margin margin) {
  if (!found_with_accelerations(i, f)) {
    Report out;
    out.constraint_effort = f.efforts.data();
    out.signals = f.has_load_friction ? f.signals.data() : nullptr;
    return evaluate_report(i, f, t, q, v, x, out);
  }
  const SystemWorkspace<double> &system = i.work.motion.system;
  const double *a = margin == Margin::of_last_rates ? i.work.a1 : i.work.error;
  if (margin == Margin::evaluated && !rates(i, t, q, v, x, i.work.error, i.work.error + i.m.nv))
    return false;
  supplied_forces(i.m, system.loops.ws, system.tau, i.run.conditions.acceleration_prescribed, a, f.efforts.data());
  for (int k = 0; k < i.m.nv; ++k)
    f.efforts[std::size_t(k)] -= system.tau[k];
  return true;
}

} // namespace

bool found_with_accelerations(const RunContext &i, const FrictionRun &f) {
  return !i.m.nc && !i.m.feedback_count && !i.m.switching_count && !f.has_load_friction && !i.run.contact_events;
}

bool switching_values(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v, const double *x,
                      double *values, Margin margin) {
  const FrictionModes &modes = f.modes;
  row_motion(i, f, t, q, v, f.s.data(), f.u.data());
  slip_speeds(f, f.u.data(), f.speed.data());
  const bool laws_changed = sliding_laws_changed(i, f);
  const double tol_factor = rest_tol_factor(f, t);
  for (std::size_t number = 0; number < f.switches.size(); ++number) {
    const RowSwitch &which = f.switches[number];
    values[number] = which.kind == SwitchKind::rest ? rest_value(f, which.row, tol_factor, laws_changed)
                                                     : gap_value(f, which);
  }
  values[f.review_function()] = std::min(f.progress.next_review - t, 1.0);
  values[f.margin_function()] = 1.0;
  if (!f.holding.holds || margin == Margin::none)
    return true;
  if (!evaluate_efforts(i, f, t, q, v, x, margin))
    return false;
  const double *signals = f.has_load_friction ? f.signals.data() : nullptr;
  std::vector<double> &held = f.held_efforts;
  held.resize(modes.locked.size());
  bool finite = true;
  for (std::size_t k = 0; k < modes.locked.size(); ++k) {
    held[k] = f.efforts[std::size_t(f.rows[std::size_t(modes.locked[k])].place)];
    finite = finite && std::isfinite(held[k]);
  }
  for (std::size_t k = 0; k < f.rows.size(); ++k) {
    f.limits[k] = friction_limits(f, f.rows[k], signals).at_rest;
    finite = finite && !std::isnan(f.limits[k]);
  }
  if (finite && !evaluate_law_limits(i, f, t, q, v, x, held.data(), f.limits.data() + f.rows.size()))
    return false;
  values[f.margin_function()] = finite ? holding_margin(f.margins, f.holding, modes, held.data(), f.limits.data())
                                       : std::numeric_limits<double>::quiet_NaN(); // of a law that is not finite
  return true;
}

bool watches_rest(const FrictionRun &f, int function) {
  if (function >= int(f.switches.size()) || f.switches[std::size_t(function)].kind != SwitchKind::rest)
    return false;
  const std::int32_t row = f.switches[std::size_t(function)].row, group = f.rows[std::size_t(row)].group;
  const auto slides = [&](std::int32_t k) { return f.modes.sign[std::size_t(k)] != 0.0; };
  if (group < 0)
    return !slides(row);
  const std::vector<std::int32_t> &rows = f.groups[std::size_t(group)];
  return std::none_of(rows.begin(), rows.end(), slides);
}

bool modes_stay(const FrictionRun &f, double t) {
  for (std::size_t number = 0; number < f.switches.size(); ++number) {
    const std::size_t k = std::size_t(f.switches[number].row);
    const bool slides = f.modes.sign[k] != 0.0;
    const double least = f.switches[number].kind != SwitchKind::rest ? 3.0 * f.position_tol // a closed stop
                         : slides                                    ? f.rows[k].rest_tol * rest_tol_factor(f, t)
                                                                     : 0.0;
    if (!(f.values[number] > least))
      return false;
  }
  return f.values[std::size_t(f.review_function())] > 0.0 && f.values[std::size_t(f.margin_function())] > 0.0;
}

} // namespace dalembert::DALEMBERT_ISA
