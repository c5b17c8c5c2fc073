#include "friction/load_limits.hpp"
#include "friction/mode_change.hpp"
#include "friction/stick_slip.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr int max_load_rounds = 30;      // of load-dependent limits
constexpr double difference_step = 1e-4; // of efforts, for derivatives of loads
constexpr double max_gain = 0.9;         // from here on friction and loads may have several solutions, or none
constexpr double same_direction = 1e-7;  // rad: slip directions that differ by less are equal

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

// Friction of sliding rows depends on its own load with the gain K of (1): modes are not determined here where its norm
// is too large.
void check_gain(Change &c) {
  FrictionRun &f = c.f;
  ChangeWorkspace &w = c.w;
  w.slides.clear();
  for (int k = 0; k < c.n; ++k)
    if (f.modes.sign[at(k)] != 0.0 && f.rows[at(k)].load >= 0)
      w.slides.push_back(k);
  if (w.slides.empty())
    return;
  set_limits(c);
  w.parameters = f.parameters;
  double size = 1e-9;
  for (int k = 0; k < c.n; ++k)
    size = std::max(size, std::fabs(w.friction[at(k)]));
  const double step = difference_step * size;
  std::fill(w.sums.begin(), w.sums.end(), 0.0);
  for (int j = -1; j < int(w.slides.size()); ++j) {
    fix_friction(c, w.parameters);
    if (j >= 0)
      f.parameters[at(f.rows[at(w.slides[at(j)])].friction)] += step;
    c.undecided = c.undecided || !evaluate_loads(c);
    if (c.undecided)
      break;
    if (j < 0)
      w.base_signals = f.signals;
    for (std::size_t k = 0; j >= 0 && k < w.slides.size(); ++k) {
      const FrictionRow &row = f.rows[at(w.slides[k])];
      const double change = f.signals[at(row.load)] - w.base_signals[at(row.load)];
      w.sums[k] += std::fabs(w.parameters[at(row.coefficient)] * change / step);
    }
  }
  f.parameters = w.parameters;
  for (std::size_t k = 0; k < w.slides.size(); ++k)
    c.undecided = c.undecided || !(w.sums[k] < max_gain);
}

} // namespace

void fix_friction(Change &c, const std::vector<double> &parameters) {
  c.f.parameters = parameters;
  for (int k = 0; k < c.n; ++k)
    if (const FrictionRow &row = c.f.rows[at(k)]; row.load >= 0)
      c.f.parameters[at(row.coefficient)] = 0.0, c.f.parameters[at(row.friction)] = c.w.friction[at(k)];
}

void decide_with_loads(Change &c) {
  FrictionRun &f = c.f;
  ChangeWorkspace &w = c.w;
  w.start = f.modes;
  std::fill(w.broke_away.begin(), w.broke_away.end(), 0);
  hold_all(c);
  apply_modes(c.i, f);
  c.undecided = !evaluate_loads(c);
  for (int round = 0; round < max_load_rounds && !c.stopped(); ++round) {
    if (w.rows.empty() || (round > 1 && same_modes(f.modes, w.last)))
      return check_gain(c);
    w.last = f.modes;
    f.modes = w.start;
    set_limits(c);
    release_rows(c);
    decide_with_limits(c);
    if (c.stopped())
      return;
    for (std::size_t k = 0; k < w.rows.size(); ++k) // sliding friction for all further loads
      w.broke_away[k] = w.broke_away[k] || f.problem.broke_away[k];
    apply_modes(c.i, f);
    c.undecided = !evaluate_loads(c);
  }
  c.undecided = true;
}

} // namespace dalembert::DALEMBERT_ISA
