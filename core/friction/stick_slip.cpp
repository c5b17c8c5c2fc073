#include "friction/stick_slip.hpp"
#include "friction/discontinuous_laws.hpp"
#include "friction/holding_margin.hpp"
#include "friction/load_limits.hpp"
#include "friction/row_response.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double zero_acceleration = 1e-9;  // of the largest acceleration
constexpr double rounding = 1e-13;          // of the size of an effort or its acceleration: smaller sums are rounding
constexpr double min_effort_scale = 1e-3;   // of the size of efforts: scale of margins, so that a release is definite
constexpr double immobile_response = 1e-12; // of the response of a row without loops: a smaller response is none

std::size_t at(int k) { return std::size_t(k); }

// Rows that no effort can move reverse with the motion of others, or stay at rest with them.
void leave_out_immobile(Change &c) {
  FrictionRun &f = c.f;
  ChangeWorkspace &w = c.w;
  const auto passing = [&](int k) { return f.A[at(k * c.n + k)] < immobile_response * f.own[at(k)]; };
  if (std::none_of(w.rows.begin(), w.rows.end(), passing))
    return;
  write_signs(f, f.modes.sign);
  c.failed = !evaluate_rows(c.i, f, c.i.run.t, c.q(), c.v(), c.i.work.x, w.free_accelerations.data());
  c.undecided = c.undecided || !all_finite(w.free_accelerations.data(), c.n);
  double most = 1.0;
  for (const double a : w.free_accelerations)
    most = std::max(most, std::fabs(a));
  for (const int k : w.rows) {
    if (!passing(k))
      continue;
    const double a = w.free_accelerations[at(k)];
    if (!(std::fabs(a) > zero_acceleration * most))
      f.modes.immobile[at(k)] = 1;
    else if (f.rows[at(k)].mode >= 0 && f.rows[at(k)].group < 0)
      f.modes.sign[at(k)] = sign_of(a);
  }
  w.rows.erase(std::remove_if(w.rows.begin(), w.rows.end(), passing), w.rows.end());
}

} // namespace

void set_up_rows_at_rest(Change &c) {
  FrictionRun &f = c.f;
  ChangeWorkspace &w = c.w;
  RowsAtRest &problem = f.problem;
  const int m = int(w.rows.size());
  problem.resize(m);
  write_signs(f, f.modes.sign);
  if (f.has_load_friction) {
    w.parameters = f.parameters;
    fix_friction(c, w.parameters);
  }
  c.failed = c.failed || !evaluate_rows_and_sizes(c.i, f, c.i.run.t, c.q(), c.v(), c.i.work.x, w.rows,
                                                  w.free_accelerations.data(), w.sizes.data());
  c.undecided = c.undecided || !all_finite(w.free_accelerations.data(), c.n) || !all_finite(w.sizes.data(), c.n);
  if (f.has_load_friction)
    f.parameters = w.parameters;
  for (int j = 0; j < m; ++j) {
    const int k = w.rows[at(j)];
    const FrictionRow &row = f.rows[at(k)];
    for (int l = 0; l < m; ++l)
      problem.A[at(j * m + l)] = f.A[at(k * c.n + w.rows[at(l)])];
    problem.side[at(j)] = w.side[at(k)];
    problem.pinned[at(j)] = (row.lower == row.upper && w.side[at(k)] != 0.0) || w.held[at(k)];
    problem.group[at(j)] = w.side[at(k)] == 0.0 && !w.held[at(k)] ? row.group : -1;
    problem.noise[at(j)] = rounding * w.sizes[at(k)] * f.own[at(k)];
    problem.a0[at(j)] = w.free_accelerations[at(k)];
    // rows of sliding groups have their friction already
    problem.friction[at(j)] = w.sliding[at(k)] ? 0.0 : w.friction[at(k)];
    const bool slips = f.has_load_friction && w.broke_away[at(j)];
    problem.static_friction[at(j)] = w.sliding[at(k)] ? 0.0 : slips ? w.friction[at(k)] : w.static_friction[at(k)];
  }
  problem.dissolve_single_groups();
}

namespace {

// stops without friction whose load is zero within rounding
void note_unloaded_stops(Change &c) {
  const RowsAtRest &problem = c.f.problem;
  const ChangeWorkspace &w = c.w;
  FreeSet &set = c.f.independent;
  const auto small = [&](int j) {
    const int k = w.rows[at(j)];
    return !problem.slips[at(j)] && w.side[at(k)] != 0.0 && !problem.pinned[at(j)] && w.static_friction[at(k)] == 0.0 &&
           std::fabs(problem.x[at(j)]) <= rounding * w.sizes[at(k)] && w.sizes[at(k)] > 0.0;
  };
  c.log.unloaded.clear();
  set.reset(problem.A.data(), problem.count);
  for (const std::int32_t j : problem.independent)
    if (small(j))
      set.append(j);
  if (!set.size())
    return;
  for (int j = 0; j < problem.count; ++j)
    if (small(j) && (set.contains(j) || set.depends(j)))
      c.log.unloaded.push_back(w.rows[at(j)]);
}

// limits of holding efforts
void set_holding_limits(Change &c) {
  FrictionRun &f = c.f;
  ChangeWorkspace &w = c.w;
  const RowsAtRest &problem = f.problem;
  HoldingLimits &holding = f.holding;
  const int m = problem.count;
  std::fill(holding.unbounded_below.begin(), holding.unbounded_below.end(), 0);
  std::fill(holding.unbounded_above.begin(), holding.unbounded_above.end(), 0);
  std::fill(holding.scale.begin(), holding.scale.end(), 0.0);
  std::fill(holding.group.begin(), holding.group.end(), -1);
  f.independent.reset(problem.A.data(), m);
  for (const std::int32_t j : problem.independent)
    f.independent.append(j);
  w.others.clear();
  for (int j = 0; j < m; ++j) {
    const int k = w.rows[at(j)];
    holding.unbounded_below[at(k)] = problem.unbounded_below(j);
    holding.unbounded_above[at(k)] = problem.unbounded_above(j);
    holding.group[at(k)] = problem.group[at(j)];
    holding.scale[at(k)] =
        std::max(std::max(std::fabs(problem.x[at(j)]), w.static_friction[at(k)]), min_effort_scale * w.sizes[at(k)]);
    if (!problem.slips[at(j)] && !f.independent.contains(j)) {
      w.others.push_back(j);
      holding.dependent.push_back(k);
    }
  }
  const std::size_t lines = problem.independent.size(), columns = w.others.size();
  holding.coupling.assign(lines * columns, 0.0);
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t l = 0; l < lines; ++l)
      w.impulses[l] = problem.A[at(problem.independent[l] * m + w.others[column])];
    f.independent.solve(w.impulses.data());
    for (std::size_t l = 0; l < lines; ++l)
      holding.coupling[l * columns + column] = w.impulses[l];
  }
  find_holding_sets(holding, f.modes);
  add_holding_laws(c);
}

} // namespace

void take_decision(Change &c) {
  FrictionRun &f = c.f;
  FrictionModes &modes = f.modes;
  const RowsAtRest &problem = f.problem;
  f.holding.dependent.clear();
  for (int j = 0; j < problem.count; ++j) {
    const int k = c.w.rows[at(j)];
    modes.stuck[at(k)] = !problem.slips[at(j)];
    if (!problem.slips[at(j)])
      continue;
    if (f.rows[at(k)].mode >= 0 && !c.w.sliding[at(k)])
      modes.sign[at(k)] = problem.direction[at(j)];
    modes.side[at(k)] = 0.0;
  }
  for (const std::int32_t j : problem.independent)
    modes.locked.push_back(c.w.rows[at(j)]);
  f.holding.holds = !modes.locked.empty();
  if (f.holding.holds)
    set_holding_limits(c);
}

void decide_with_limits(Change &c) {
  use_branches(c, c.f.laws.mean);
  set_up_rows_at_rest(c);
  if (!c.stopped())
    c.undecided = !solve_with_laws(c);
  c.i.run.conditions.law_branches = nullptr;
  if (c.stopped())
    return;
  note_unloaded_stops(c);
  take_decision(c);
}

void decide(Change &c) {
  FrictionRun &f = c.f;
  ChangeWorkspace &w = c.w;
  FrictionModes &modes = f.modes;
  const auto resting = [&](int k) { return w.at_rest[at(k)] || w.side[at(k)] != 0.0; };
  find_signs(c, modes.sign, resting);
  w.sliding = w.marks;
  w.rows.clear();
  for (int k = 0; k < c.n; ++k) {
    const bool open = resting(k) && f.movable[at(k)] && (f.rows[at(k)].mode >= 0 || w.side[at(k)] != 0.0);
    modes.side[at(k)] = open ? w.side[at(k)] : 0.0;
    modes.stuck[at(k)] = modes.immobile[at(k)] = 0;
    if (open)
      w.rows.push_back(k);
  }
  modes.locked.clear();
  f.holding.holds = false;
  f.holding.dependent.clear(), f.holding.coupling.clear();
  if (!w.rows.empty()) {
    find_response(c, f.prescribed[0], w.rows);
    leave_out_immobile(c);
  }
  if (!c.stopped())
    find_discontinuous_laws(c);
  if (c.stopped())
    return;
  if (f.has_load_friction) {
    decide_with_loads(c);
  } else if (!w.rows.empty()) {
    set_limits(c);
    decide_with_limits(c);
  }
}

} // namespace dalembert::DALEMBERT_ISA
