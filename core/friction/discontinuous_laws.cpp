#include "friction/discontinuous_laws.hpp"
#include "friction/holding_margin.hpp"
#include "friction/row_response.hpp"
#include "friction/switching_values.hpp"
#include "numerics/largest.hpp"
#include "system/sliding_modes.hpp"
#include "tree/manifold.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double middle = 1e-300;          // side of equal parts of both branches; 0 would be a sliding mode
constexpr double difference_step = 1e-6;   // rad, m, or per s: of differences of switching functions
constexpr double second_difference = 1e-4; // s: of second differences over time
constexpr double direction_tol = 1e-6;     // relative: part of a jump that may act across its slope
constexpr double near_zero = 10.0;         // tolerances: a switching function this close to zero is at its jump
constexpr double none = std::numeric_limits<double>::quiet_NaN(); // no branch is held

std::size_t at(int k) { return std::size_t(k); }

bool may_jump(const SwitchingFunctionData &function) { return function.table < 0 && !function.followed; }

double dot(const double *a, const double *b, int n) {
  double sum = 0.0;
  for (int k = 0; k < n; ++k)
    sum += a[k] * b[k];
  return sum;
}

// switching functions at a state
void evaluate_functions(Change &c, double t, const double *q, const double *v, const double *x, double *out) {
  SystemWorkspace<double> &system = c.i.work.motion.system;
  evaluate_switching_functions(c.i.m, c.i.run.conditions, system, {c.i.run.interval.clamp(t), q, v, x});
  std::copy_n(system.switching_values, c.i.m.switching_count, out);
}

// Slopes of all switching functions over coordinates, or over velocities, (switching_count x nv), by differences.
void find_slopes(Change &c, bool over_coordinates, std::vector<double> &slopes) {
  const ModelData &m = c.i.m;
  DiscontinuousLaws &laws = c.f.laws;
  const int nv = m.nv, count = m.switching_count;
  std::fill_n(laws.move.begin(), nv, 0.0);
  std::copy_n(c.v(), nv, laws.v.begin());
  for (int e = 0; e < nv; ++e) {
    for (const double sign : {-1.0, 1.0}) {
      laws.move[at(e)] = over_coordinates ? sign * difference_step : 0.0;
      laws.v[at(e)] = c.v()[e] + (over_coordinates ? 0.0 : sign * difference_step);
      integrate<double>(m, c.q(), laws.move.data(), laws.q.data());
      evaluate_functions(c, c.i.run.t, laws.q.data(), laws.v.data(), c.i.work.x,
                         sign < 0.0 ? laws.below.data() : laws.above.data());
    }
    laws.move[at(e)] = 0.0, laws.v[at(e)] = c.v()[e];
    for (int k = 0; k < count; ++k)
      slopes[at(k * nv + e)] = (laws.above[at(k)] - laws.below[at(k)]) / (2.0 * difference_step);
  }
  for (int k = 0; k < count; ++k) {
    const double least = direction_tol * largest(slopes.data() + k * nv, nv);
    for (int e = 0; e < nv; ++e)
      if (double &slope = slopes[at(k * nv + e)]; !(std::fabs(slope) > least))
        slope = 0.0;
  }
}

double sum_of_sizes(const double *x, int n) {
  double sum = 0.0;
  for (int k = 0; k < n; ++k)
    sum += std::fabs(x[k]);
  return sum;
}

// Laws at their jumps at rest, with slopes; branches of those that the motion is passing are the ones beyond.
void find_candidates(Change &c) {
  const ModelData &m = c.i.m;
  FrictionRun &f = c.f;
  DiscontinuousLaws &laws = f.laws;
  const int nv = m.nv;
  double rest = std::numeric_limits<double>::infinity();
  for (const FrictionRow &row : f.rows)
    rest = std::min(rest, near_zero * row.rest_tol);
  const double reach = near_zero * f.position_tol;
  laws.count = 0;
  std::fill(laws.mean.begin(), laws.mean.end(), none);
  for (int k = 0; k < m.switching_count; ++k) {
    if (!may_jump(m.switching_functions[k]))
      continue;
    const bool whole = m.switching_functions[k].whole;
    const double *over_q = laws.over_q.data() + k * nv, *over_v = laws.over_v.data() + k * nv;
    const bool by_speed = sum_of_sizes(over_v, nv) > direction_tol * sum_of_sizes(over_q, nv);
    const double *slope = by_speed ? over_v : over_q, extent = sum_of_sizes(slope, nv);
    const double level = whole ? std::nearbyint(laws.values[at(k)]) : 0.0, value = laws.values[at(k)] - level;
    if (!(extent > 0.0) || !(std::fabs(value) <= (by_speed ? rest : reach) * extent))
      continue;
    const double rate = dot(over_q, c.v(), nv);
    if (!by_speed && std::fabs(rate) > rest * extent) {
      laws.mean[at(k)] = whole ? level + (rate > 0.0 ? 0.0 : -1.0) : sign_of(rate);
      continue;
    }
    if (whole)
      continue;
    const int j = laws.count++;
    laws.functions[at(j)] = k, laws.by_coordinates[at(j)] = !by_speed, laws.offsets[at(j)] = value;
    std::copy_n(slope, nv, laws.G.begin() + j * nv);
    laws.mean[at(k)] = middle;
  }
}

// Half of the jump of a law along its slope; zero where it pushes across it, or away.
double strength_of(Change &c, int law) {
  const int nv = c.i.m.nv, k = c.f.laws.functions[at(law)];
  DiscontinuousLaws &laws = c.f.laws;
  const double *response = laws.D.data() + law * nv, own = dot(response, response, nv);
  laws.sides = laws.mean;
  for (const double side : {-1.0, 1.0}) {
    laws.sides[at(k)] = side;
    use_branches(c, laws.sides);
    c.failed = c.failed || !rates(c.i, c.i.run.t, c.q(), c.v(), c.i.work.x, c.i.work.a1, c.i.work.dx1);
    std::copy_n(c.i.work.a1, nv, side < 0.0 ? laws.v.begin() : laws.move.begin());
  }
  for (int e = 0; e < nv; ++e)
    laws.move[at(e)] -= laws.v[at(e)];
  if (c.failed || !(own > 0.0))
    return 0.0;
  const double part = dot(laws.move.data(), response, nv) / own, jump = largest(laws.move.data(), nv);
  double across = 0.0;
  for (int e = 0; e < nv; ++e)
    across = std::max(across, std::fabs(laws.move[at(e)] - part * response[e]));
  return part < 0.0 && across <= direction_tol * jump ? -0.5 * part : 0.0;
}

// drops laws that do not push back
void keep_strong_laws(Change &c) {
  DiscontinuousLaws &laws = c.f.laws;
  const int nv = c.i.m.nv;
  for (int j = 0; j < laws.count; ++j)
    laws.strength[at(j)] = strength_of(c, j);
  int kept = 0;
  for (int j = 0; j < laws.count; ++j) {
    if (!(laws.strength[at(j)] > 0.0)) {
      laws.mean[at(laws.functions[at(j)])] = none;
      continue;
    }
    laws.functions[at(kept)] = laws.functions[at(j)], laws.strength[at(kept)] = laws.strength[at(j)];
    laws.by_coordinates[at(kept)] = laws.by_coordinates[at(j)], laws.offsets[at(kept)] = laws.offsets[at(j)];
    std::copy_n(laws.G.begin() + j * nv, nv, laws.G.begin() + kept * nv);
    std::copy_n(laws.D.begin() + j * nv, nv, laws.D.begin() + kept * nv);
    ++kept;
  }
  laws.count = kept;
}

// rates w_0 of (1) under the present conditions; first rates of functions of velocities
void evaluate_law_rates(Change &c) {
  const ModelData &m = c.i.m;
  const RunContext &i = c.i;
  DiscontinuousLaws &laws = c.f.laws;
  c.failed = c.failed || !rates(i, i.run.t, c.q(), c.v(), i.work.x, i.work.a1, i.work.dx1);
  c.require_finite(i.work.a1, m.nv);
  c.require_finite(i.work.dx1, m.nx);
  if (c.stopped())
    return;
  evaluate_functions(c, i.run.t, c.q(), c.v(), i.work.x, laws.values.data());
  for (const bool by_coordinates : {false, true}) {
    const double step = by_coordinates ? second_difference : difference_step;
    for (const double time : {-step, step}) {
      for (int e = 0; e < m.nv; ++e) {
        laws.move[at(e)] = time * c.v()[e] + 0.5 * time * time * i.work.a1[e];
        laws.v[at(e)] = c.v()[e] + time * i.work.a1[e];
      }
      for (int k = 0; k < m.nx; ++k)
        laws.x[at(k)] = i.work.x[k] + time * i.work.dx1[k];
      integrate<double>(m, c.q(), laws.move.data(), laws.q.data());
      evaluate_functions(c, i.run.t + time, laws.q.data(), laws.v.data(), laws.x.data(),
                         time < 0.0 ? laws.below.data() : laws.above.data());
    }
    for (int j = 0; j < laws.count; ++j) {
      const std::size_t k = at(laws.functions[at(j)]);
      if (bool(laws.by_coordinates[at(j)]) == by_coordinates)
        laws.rates[at(j)] = by_coordinates ? (laws.above[k] - 2.0 * laws.values[k] + laws.below[k]) / (step * step)
                                           : (laws.above[k] - laws.below[k]) / (2.0 * step);
    }
  }
}

// the problem of rows at rest and laws, rows first
void set_up_combined(Change &c) {
  const int nv = c.i.m.nv, m = c.f.problem.count, n = c.f.laws.count;
  const RowsAtRest &rows = c.f.problem;
  RowsAtRest &all = c.f.combined;
  const DiscontinuousLaws &laws = c.f.laws;
  all.resize(m + n);
  const auto slope = [&](int j) { return j < m ? c.f.J.data() + c.w.rows[at(j)] * nv : laws.G.data() + (j - m) * nv; };
  const auto response = [&](int j) {
    return j < m ? c.f.D.data() + c.w.rows[at(j)] * nv : laws.D.data() + (j - m) * nv;
  };
  for (int j = 0; j < m + n; ++j) {
    for (int k = 0; k <= j; ++k)
      all.A[at(j * (m + n) + k)] = all.A[at(k * (m + n) + j)] =
          j < m ? rows.A[at(j * m + k)] : 0.5 * (dot(slope(j), response(k), nv) + dot(slope(k), response(j), nv));
    const bool row = j < m;
    all.side[at(j)] = row ? rows.side[at(j)] : 0.0;
    all.pinned[at(j)] = row ? rows.pinned[at(j)] : 0;
    all.group[at(j)] = row ? rows.group[at(j)] : -1;
    all.noise[at(j)] = row ? rows.noise[at(j)] : 0.0;
    all.a0[at(j)] = row ? rows.a0[at(j)] : laws.rates[at(j - m)];
    all.friction[at(j)] = row ? rows.friction[at(j)] : laws.strength[at(j - m)];
    all.static_friction[at(j)] = row ? rows.static_friction[at(j)] : laws.strength[at(j - m)];
  }
}

} // namespace

void reserve_laws(const ModelData &m, FrictionRun &f) {
  DiscontinuousLaws &laws = f.laws;
  laws.possible = false;
  for (int k = 0; k < m.switching_count; ++k)
    laws.possible = laws.possible || may_jump(m.switching_functions[k]);
  const std::size_t count = laws.possible ? at(m.switching_count) : 0, nv = at(m.nv), n = f.rows.size();
  laws.functions.resize(count), laws.by_coordinates.resize(count);
  for (std::vector<double> *each : {&laws.strength, &laws.offsets, &laws.rates, &laws.values, &laws.above, &laws.below})
    each->resize(count);
  for (std::vector<double> *each : {&laws.sides, &laws.mean, &laws.held})
    each->assign(count, none);
  for (std::vector<double> *each : {&laws.G, &laws.D, &laws.over_q, &laws.over_v})
    each->resize(count * nv);
  laws.q.resize(at(m.nq)), laws.v.resize(nv), laws.move.resize(nv), laws.x.resize(at(m.nx));
  laws.efforts.resize(nv + at(m.cut_nv));
  laws.helping.reserve(count);
  for (FrictionModes *each : {&f.modes, &f.change.before, &f.change.start, &f.change.last})
    each->holding_laws.reserve(count), each->sliding_laws.reserve(count);
  if (count)
    f.combined.reserve(int(n + count));
}

void set_law_branches(FrictionRun &f) {
  std::fill(f.laws.sides.begin(), f.laws.sides.end(), none);
  for (const std::int32_t k : f.modes.holding_laws)
    f.laws.sides[at(k)] = middle;
  for (const std::int32_t k : f.modes.sliding_laws)
    f.laws.sides[at(k)] = 0.0;
}

void use_branches(Change &c, const std::vector<double> &sides) {
  const bool any = std::any_of(sides.begin(), sides.end(), [](double side) { return side == side; });
  c.i.run.conditions.law_branches = any ? sides.data() : nullptr;
}

void find_discontinuous_laws(Change &c) {
  FrictionRun &f = c.f;
  DiscontinuousLaws &laws = f.laws;
  laws.count = 0;
  laws.helping.clear();
  f.modes.holding_laws.clear(), f.modes.sliding_laws.clear();
  if (!laws.possible || c.w.rows.empty())
    return;
  write_signs(f, f.modes.sign);
  std::fill(laws.sides.begin(), laws.sides.end(), none);
  c.i.run.conditions.law_branches = laws.sides.data(); // so that switching functions are evaluated
  evaluate_functions(c, c.i.run.t, c.q(), c.v(), c.i.work.x, laws.values.data());
  find_slopes(c, true, laws.over_q);
  find_slopes(c, false, laws.over_v);
  find_candidates(c);
  if (laws.count) {
    respond_to_vectors(c.i, f, c.i.run.t, c.q(), f.prescribed[0], laws.count, laws.G.data(), laws.D.data());
    keep_strong_laws(c);
  }
  c.i.run.conditions.law_branches = nullptr;
}

bool solve_with_laws(Change &c) {
  FrictionRun &f = c.f;
  FreeSet &set = f.independent;
  RowsAtRest &rows = f.problem, &all = f.combined;
  DiscontinuousLaws &laws = f.laws;
  laws.helping.clear();
  f.modes.holding_laws.clear(), f.modes.sliding_laws.clear();
  if (!laws.count)
    return rows.solve(set);
  evaluate_law_rates(c);
  if (c.stopped())
    return false;
  set_up_combined(c);
  if (!all.solve(set))
    return false;
  const int m = rows.count;
  set.reset(all.A.data(), all.count);
  for (const std::int32_t j : all.independent)
    if (j < m)
      set.append(j);
  for (int j = 0; j < m; ++j) {
    rows.x[at(j)] = all.x[at(j)], rows.slips[at(j)] = all.slips[at(j)];
    rows.direction[at(j)] = all.direction[at(j)], rows.broke_away[at(j)] = all.broke_away[at(j)];
    if (!rows.slips[at(j)] && !set.contains(j))
      set.append(j);
  }
  rows.independent.assign(set.members().begin(), set.members().end());
  for (int j = 0; j < laws.count; ++j) {
    if (all.slips[at(m + j)])
      continue;
    const bool helps = set.size() && set.depends(m + j);
    if (helps)
      laws.helping.push_back(j);
    (helps ? f.modes.holding_laws : f.modes.sliding_laws).push_back(laws.functions[at(j)]);
  }
  return true;
}

void add_holding_laws(Change &c) {
  FrictionRun &f = c.f;
  const DiscontinuousLaws &laws = f.laws;
  const std::vector<std::int32_t> &locked = f.problem.independent;
  if (laws.helping.empty())
    return;
  HoldingLimits &holding = f.holding;
  const std::size_t lines = locked.size(), before = holding.dependent.size(), columns = before + laws.helping.size();
  holding.coupling.resize(lines * columns);
  for (std::size_t l = lines; l-- > 0;) // wider rows, from the last
    for (std::size_t column = before; column-- > 0;)
      holding.coupling[l * columns + column] = holding.coupling[l * before + column];
  FreeSet &set = f.independent;
  set.reset(f.combined.A.data(), f.combined.count);
  for (const std::int32_t j : locked)
    set.append(j);
  for (std::size_t j = 0; j < laws.helping.size(); ++j) {
    const int law = laws.helping[j], place = f.problem.count + law;
    for (std::size_t l = 0; l < lines; ++l)
      c.w.impulses[l] = f.combined.A[at(locked[l] * f.combined.count + place)];
    set.solve(c.w.impulses.data());
    for (std::size_t l = 0; l < lines; ++l)
      holding.coupling[l * columns + before + j] = c.w.impulses[l];
    holding.dependent.push_back(std::int32_t(at(c.n) + j));
    holding.scale[at(c.n) + j] = laws.strength[at(law)];
  }
  find_holding_sets(holding, f.modes);
}

void move_to_jumps(Change &c) {
  DiscontinuousLaws &laws = c.f.laws;
  const int nv = c.i.m.nv;
  std::fill_n(laws.move.begin(), nv, 0.0);
  bool moves = false;
  for (const int j : laws.helping) {
    const double *slope = laws.G.data() + j * nv, *response = laws.D.data() + j * nv;
    if (!laws.by_coordinates[at(j)] || laws.offsets[at(j)] == 0.0)
      continue;
    const double part = -laws.offsets[at(j)] / dot(slope, response, nv);
    for (int e = 0; e < nv; ++e)
      laws.move[at(e)] += part * response[e];
    moves = true;
  }
  if (!moves)
    return;
  integrate<double>(c.i.m, c.q(), laws.move.data(), laws.q.data());
  std::copy_n(laws.q.begin(), c.i.m.nq, c.q());
  c.w.responds = false;
}

bool evaluate_law_limits(const RunContext &i, FrictionRun &f, double t, const double *q, const double *v,
                         const double *x, const double *held, double *limits) {
  DiscontinuousLaws &laws = f.laws;
  const double *present = i.run.conditions.law_branches;
  const std::size_t columns = f.holding.dependent.size(), count = f.modes.holding_laws.size();
  Report out;
  out.constraint_effort = laws.efforts.data();
  bool done = true;
  for (std::size_t j = 0; j < count && done; ++j) {
    if (present)
      std::copy_n(present, i.m.switching_count, laws.held.begin());
    else
      std::fill(laws.held.begin(), laws.held.end(), none);
    laws.held[at(f.modes.holding_laws[j])] = 1.0;
    i.run.conditions.law_branches = laws.held.data();
    done = evaluate_report(i, f, t, q, v, x, out);
    double sum = 0.0, square = 0.0;
    for (std::size_t l = 0; l < f.modes.locked.size(); ++l) {
      const double share = f.holding.coupling[l * columns + columns - count + j];
      sum += share * (laws.efforts[at(f.rows[at(f.modes.locked[l])].place)] - held[l]);
      square += share * share;
    }
    limits[j] = square > 0.0 ? std::max(0.0, sum / square) : 0.0;
  }
  i.run.conditions.law_branches = present;
  return done;
}

bool sliding_laws_changed(const RunContext &i, const FrictionRun &f) {
  const double *sides = i.run.conditions.law_branches;
  if (!f.laws.possible || !sides)
    return false;
  for (int k = 0; k < i.m.switching_count; ++k) {
    const bool known =
        std::find(f.modes.sliding_laws.begin(), f.modes.sliding_laws.end(), k) != f.modes.sliding_laws.end();
    if (is_sliding_mode(i.m, sides, k) != known)
      return true;
  }
  return false;
}

} // namespace dalembert::DALEMBERT_ISA
