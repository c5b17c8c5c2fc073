#include "friction/load_limits.hpp"
#include "friction/discontinuous_laws.hpp"
#include "friction/holding_margin.hpp"
#include "friction/mode_change.hpp"
#include "friction/row_response.hpp"
#include "friction/stick_slip.hpp"
#include "friction/switching_values.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr int max_load_rounds = 30;        // of load-dependent limits
constexpr double difference_step = 1e-4;   // of efforts, for derivatives of loads
constexpr double jamming_gain = 0.99;      // from here on friction and loads may have no common solution
constexpr double same_direction = 1e-7;    // rad: slip directions that differ by less are equal
constexpr double zero_acceleration = 1e-9; // of the largest acceleration
constexpr double least_effort = 1e-9;      // of the largest effort: scale of margins
constexpr double takes_part = 0.1;         // of the largest part in the direction of the gain: a row jams
constexpr int max_combined_rows = 6;       // 3^6 combinations
constexpr int max_squarings = 50;

std::size_t at(int k) { return std::size_t(k); }

// modes in which all rows at rest stick
void hold_all(Change &c) {
  FrictionRun &f = c.f;
  f.independent.reset(f.A.data(), c.n);
  for (const int k : c.w.rows) {
    f.modes.stuck[at(k)] = 1;
    if (f.independent.append(k))
      f.modes.locked.push_back(k);
  }
}

bool same_modes(const FrictionModes &a, const FrictionModes &b) {
  for (std::size_t k = 0; k < a.sign.size(); ++k)
    if (!(std::fabs(a.sign[k] - b.sign[k]) <= same_direction))
      return false;
  return a.stuck == b.stuck && a.side == b.side;
}

// ---- gain

// The spectral radius of K (m x m), by squaring; the size of each row in its direction. K is overwritten.
double spectral_radius(int m, std::vector<double> &K, std::vector<double> &squared, std::vector<double> &parts) {
  double exponent = 0.0, power = 1.0;
  for (int round = 0; round < max_squarings; ++round) {
    double most = 0.0;
    for (int k = 0; k < m * m; ++k)
      most = std::max(most, std::fabs(K[at(k)]));
    if (!(most > 0.0))
      return 0.0;
    exponent += std::log(most) / power;
    power *= 2.0;
    for (int k = 0; k < m * m; ++k)
      K[at(k)] /= most;
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < m; ++j) {
        double sum = 0.0;
        for (int l = 0; l < m; ++l)
          sum += K[at(i * m + l)] * K[at(l * m + j)];
        squared[at(i * m + j)] = sum;
      }
    std::copy_n(squared.begin(), m * m, K.begin());
  }
  int best = 0;
  double longest = -1.0;
  for (int j = 0; j < m; ++j) {
    double square = 0.0;
    for (int i = 0; i < m; ++i)
      square += K[at(i * m + j)] * K[at(i * m + j)];
    if (square > longest)
      longest = square, best = j;
  }
  for (int i = 0; i < m; ++i)
    parts[at(i)] = std::fabs(K[at(i * m + best)]);
  return std::exp(exponent);
}

// The gain of (1) of the rows w.slides under the present conditions with friction w.friction; w.sums: part of each row.
double friction_gain(Change &c) {
  FrictionRun &f = c.f;
  ChangeWorkspace &w = c.w;
  const int m = int(w.slides.size());
  std::fill(w.sums.begin(), w.sums.end(), 1.0);
  if (!m)
    return 0.0;
  const double infinite = std::numeric_limits<double>::infinity();
  w.parameters = f.parameters;
  double size = 1e-9;
  for (int j = -1; j < m; ++j) {
    fix_friction(c, w.parameters);
    const double step = difference_step * size;
    if (j >= 0)
      f.parameters[at(f.rows[at(w.slides[at(j)])].friction)] += step;
    const bool known = evaluate_loads(c);
    f.parameters = w.parameters;
    if (!known)
      return infinite;
    if (j < 0) {
      w.base_signals = f.signals;
      for (int k = 0; k < c.n; ++k) {
        size = std::max(size, std::fabs(w.friction[at(k)]));
        if (const int load = f.rows[at(k)].load; load >= 0)
          size = std::max(size, std::fabs(f.signals[at(load)]));
      }
      continue;
    }
    for (int k = 0; k < m; ++k) {
      const FrictionRow &row = f.rows[at(w.slides[at(k)])];
      const double change = f.signals[at(row.load)] - w.base_signals[at(row.load)];
      w.gain[at(k * m + j)] = w.parameters[at(row.coefficient)] * change / step;
    }
  }
  return spectral_radius(m, w.gain, w.squared, w.sums);
}

// Notes friction that depends on its own load so strongly that accelerations may not be unique.
void note_gain(Change &c) {
  ChangeWorkspace &w = c.w;
  w.slides.clear();
  for (int k = 0; k < c.n; ++k)
    if (c.f.modes.sign[at(k)] != 0.0 && c.f.rows[at(k)].load >= 0)
      w.slides.push_back(k);
  if (w.slides.empty())
    return;
  set_limits(c);
  const double gain = friction_gain(c);
  if (!(gain >= 1.0))
    return;
  c.log.gain = gain;
  c.log.gain_rows.assign(w.slides.begin(), w.slides.end());
}

// ---- combinations of modes

// way of a row in a combination: 0 sticks, 1 or -1 slips
int way(int code, int place) {
  for (; place > 0; --place)
    code /= 3;
  return code % 3 == 2 ? -1 : code % 3;
}

// modes of a combination, with the limits of its holding efforts
void combine(Change &c, int code) {
  FrictionRun &f = c.f;
  RowsAtRest &problem = f.problem;
  const int m = int(c.w.rows.size());
  f.modes = c.w.start;
  std::fill(c.w.static_friction.begin(), c.w.static_friction.end(), 0.0);
  f.independent.reset(problem.A.data(), m);
  problem.independent.clear();
  for (int j = 0; j < m; ++j) {
    const int direction = way(code, m - 1 - j);
    problem.x[at(j)] = 0.0, problem.slips[at(j)] = direction != 0, problem.direction[at(j)] = direction;
    if (!direction && f.independent.append(j))
      problem.independent.push_back(j);
  }
  release_rows(c);
  take_decision(c);
  apply_modes(c.i, f);
}

// whether the modes of a combination are consistent with efforts and accelerations
bool is_consistent(Change &c, int code) {
  FrictionRun &f = c.f;
  ChangeWorkspace &w = c.w;
  const RunContext &i = c.i;
  Report out;
  out.signals = f.signals.data(), out.a = i.work.a1, out.constraint_effort = f.efforts.data();
  c.failed = c.failed || !evaluate_report(i, f, i.run.t, c.q(), c.v(), i.work.x, out);
  if (c.failed || !all_finite(f.signals.data(), i.m.signal_count) || !all_finite(i.work.a1, i.m.nv))
    return false;
  set_limits(c);
  if (f.holding.holds) {
    double most = 0.0;
    for (const double effort : f.efforts)
      most = std::max(most, std::fabs(effort));
    for (int k = 0; k < c.n; ++k)
      f.holding.scale[at(k)] =
          std::max(f.holding.scale[at(k)], std::max(w.static_friction[at(k)], least_effort * most));
    f.held_efforts.resize(f.modes.locked.size());
    for (std::size_t k = 0; k < f.modes.locked.size(); ++k)
      f.held_efforts[k] = f.efforts[at(f.rows[at(f.modes.locked[k])].place)];
    if (holding_margin(f.margins, f.holding, f.modes, f.held_efforts.data(), w.static_friction.data()) < 0.0)
      return false;
  }
  row_accelerations(i, f, i.run.t, c.q(), c.v(), i.work.a1, w.free_accelerations.data());
  double least = 1e-300;
  for (const double a : w.free_accelerations)
    least = std::max(least, std::fabs(a));
  const int m = int(w.rows.size());
  for (int j = 0; j < m; ++j)
    if (const int direction = way(code, m - 1 - j);
        direction && w.free_accelerations[at(w.rows[at(j)])] * direction < -zero_acceleration * least)
      return false;
  return true;
}

// The first consistent combination of modes, those with most stuck rows first.
void try_combinations(Change &c) {
  ChangeWorkspace &w = c.w;
  const int m = int(w.rows.size());
  int codes = 1;
  for (int j = 0; j < m; ++j)
    codes *= m <= max_combined_rows ? 3 : 0;
  const auto slipping = [&](int code) {
    int count = 0;
    for (int j = 0; j < m; ++j) // rows of vector groups stick
      count += way(code, m - 1 - j) ? (c.f.problem.group[at(j)] >= 0 ? m + 1 : 1) : 0;
    return count;
  };
  c.f.modes = w.start;
  release_rows(c);
  if (m)
    set_up_rows_at_rest(c);
  c.undecided = c.not_finite = false; // whether the last modes were consistent does not matter
  for (int count = 0; count <= m && codes > 0; ++count)
    for (int code = 0; code < codes && !c.failed; ++code) {
      if (slipping(code) != count)
        continue;
      combine(c, code);
      if (w.released && c.f.modes.stuck == w.before.stuck) // these cannot all be held any longer
        continue;
      if (is_consistent(c, code))
        return note_gain(c);
    }
  c.undecided = true;
}

} // namespace

void fix_friction(Change &c, const std::vector<double> &parameters) {
  c.f.parameters = parameters;
  for (int k = 0; k < c.n; ++k)
    if (const FrictionRow &row = c.f.rows[at(k)]; row.load >= 0)
      c.f.parameters[at(row.coefficient)] = 0.0, c.f.parameters[at(row.friction)] = c.w.friction[at(k)];
}

void find_jammed_rows(Change &c) {
  FrictionRun &f = c.f;
  ChangeWorkspace &w = c.w;
  w.jams.clear(), w.slides.clear();
  for (int k = 0; k < c.n; ++k)
    if (w.sliding[at(k)] && f.rows[at(k)].load >= 0)
      w.slides.push_back(k);
  if (w.slides.empty())
    return;
  double gain = 0.0;
  for (const bool with_friction : {false, true}) { // loads may turn where friction is large: then its gain changes
    with_friction ? apply_modes(c.i, f) : write_signs(f, w.zero);
    const bool known = evaluate_loads(c);
    if (!known && with_friction)
      return;
    set_limits(c);
    if (!known)
      std::fill(w.friction.begin(), w.friction.end(), 1.0);
    apply_modes(c.i, f);
    gain = friction_gain(c);
    if (gain >= jamming_gain)
      break;
  }
  if (!(gain >= jamming_gain))
    return;
  const double most = *std::max_element(w.sums.begin(), w.sums.begin() + std::ptrdiff_t(w.slides.size()));
  for (std::size_t k = 0; k < w.slides.size(); ++k)
    if (w.sums[k] > takes_part * most)
      w.jams.push_back(w.slides[k]);
  c.log.jam_gain = gain;
}

void decide_with_loads(Change &c) {
  FrictionRun &f = c.f;
  ChangeWorkspace &w = c.w;
  w.start = f.modes;
  w.jams.clear();
  std::fill(w.broke_away.begin(), w.broke_away.end(), 0);
  hold_all(c);
  apply_modes(c.i, f);
  bool consistent = evaluate_loads(c);
  for (int round = 0; round < max_load_rounds && consistent && !c.stopped(); ++round) {
    if (w.rows.empty() || (round > 1 && same_modes(f.modes, w.last)))
      return note_gain(c);
    w.last = f.modes;
    f.modes = w.start;
    set_limits(c);
    release_rows(c);
    decide_with_limits(c);
    if (c.stopped())
      break;
    for (std::size_t k = 0; k < w.rows.size(); ++k) // sliding friction for all further loads
      w.broke_away[k] = w.broke_away[k] || f.problem.broke_away[k];
    apply_modes(c.i, f);
    use_branches(c, f.laws.sides);
    consistent = evaluate_loads(c);
  }
  if (c.failed)
    return;
  f.modes = w.start;
  f.holding.holds = false;
  c.i.run.conditions.law_branches = nullptr;
  f.laws.helping.clear();
  if (!consistent || c.undecided) {
    release_rows(c);
    find_jammed_rows(c);
    if (!w.jams.empty() || c.failed)
      return;
  }
  try_combinations(c);
}

} // namespace dalembert::DALEMBERT_ISA
