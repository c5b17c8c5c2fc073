#include "steppers/switching/monitor.hpp"
#include "tree/manifold.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double beside = 1e-6;             // of a step: distance of two points whose difference is a rate
constexpr double shortest = 1e-7;           // of a step: parts that are not halved any more
constexpr double small_part = 1.0 / 1024.0; // of a step: parts in which functions count as cubics
constexpr double unseen = 1.0; // tolerances: what a step may miss after a change of a branch that is not held
constexpr int max_pieces = 8;  // between such changes in a step
// of the part in which a departure is found: how closely it is known that it is the first
constexpr double first_parts = 1.0 / 32.0;
constexpr int max_parts = 200; // of a step, before the functions themselves count as cubics
// times what is seen of a function: wider bounds do not count as known between points
constexpr double widest = 8.0;
// of the size of a function at the ends of a step: less beyond the end of a branch is none
constexpr double rounding = 1e-12;
// of its size in the part: a function that begins so near to the end of its branch
constexpr double touching = 1e-6;

SwitchingWorkspace &workspace_of(const RunContext &i) { return i.work.switching; }

const double *sides_of(const RunContext &i) {
  return i.run.conditions.law_branches ? i.work.branches : workspace_of(i).base;
}

// what monitored elements take at a state, and its rates; later: a little time, backwards at the end of a step
bool look(const RunContext &i, double t, const double *q, const double *v, const double *x, const double *a,
          const double *dx, double later, const SwitchingPoint &point) {
  RunWorkspace &work = i.work;
  return look_with_rates<double>(
      i.m, i.run.conditions, work.motion.system, t, q, v, x, a, dx, later,
      [&](double at) { return i.run.interval.clamp(at); }, {work.qs, work.vs, work.xs, work.change}, point.y,
      point.rate);
}

bool look_at_begin(const RunContext &i, double h) {
  RunWorkspace &work = i.work;
  if (i.run.monitor_known)
    return true;
  i.run.monitor_known = 1;
  return look(i, i.run.t, work.q, work.v, work.x, work.a, work.dx, beside * h, workspace_of(i).begin);
}

bool look_at_end(const RunContext &i, double h) {
  RunWorkspace &work = i.work;
  return look(i, i.run.t + h, work.q1, work.v1, work.x1, work.a1, work.dx1, -beside * h, workspace_of(i).end);
}

// the same at a fraction of the step, from its dense output; loops are left as the interpolation has them
Outcome look_within(const Stepper &stepper, const RunContext &i, double h, double s, const SwitchingPoint &point) {
  RunWorkspace &work = i.work;
  const double further = s + beside <= 1.0 ? beside : -beside;
  for (const bool second : {false, true}) {
    const double at = second ? s + further : s, t = i.run.t + at * h;
    stepper.at(i, h, at, work.z);
    if (!displaced(i, t, work.z, work.qs, work.vs, work.xs) ||
        !look_at_watched(i.m, i.run.conditions, work.motion.system,
                         {i.run.interval.clamp(t), work.qs, work.vs, work.xs}, workspace_of(i).active,
                         second ? workspace_of(i).beside : point.y))
      return Outcome::callback_failed;
  }
  for (int k = 0; k < i.m.monitor_inputs; ++k)
    point.rate[k] = (workspace_of(i).beside[k] - point.y[k]) / (further * h);
  return Outcome::reached;
}

// switching functions at a point, or a little time after it
void evaluate(const RunContext &i, const SwitchingPoint &point, double time, double *switching_values) {
  SwitchingWorkspace &work = workspace_of(i);
  for (int k = 0; k < i.m.monitor_inputs; ++k)
    work.beside[k] = point.y[k] + time * point.rate[k];
  switching_function_values<double>(i.m, sides_of(i), work.active, work.beside, work.numbers, work.given,
                                    switching_values);
}

double slack_of(const RunContext &i, int k) { return i.run.conditions.law_branches ? i.work.slack[k] : 0.0; }

double inside_of(const RunContext &i, int k, const Interval &margin) {
  return inside(i.m, i.m.switching_functions[k], workspace_of(i).base[k], margin) + slack_of(i, k);
}

// the largest angle between frames of an element in the step
double turn_of(const RunContext &i, double h) {
  const SwitchingWorkspace &work = workspace_of(i);
  return max_turn_of(i.m, work.begin, work.end, h,
                     [&](int f) { return h * std::max(std::fabs(i.work.v[f]), std::fabs(i.work.v1[f])); });
}

// Of the functions that bounds of the whole step keep on their sides nothing more is looked at within it.
void narrow(const RunContext &i) {
  const ModelData &m = i.m;
  SwitchingWorkspace &work = workspace_of(i);
  for (int k = 0; k < m.monitored_count; ++k) {
    const ElementData &e = m.elements[m.monitored[k].element];
    bool wanted = e.signals > 0; // which another one may take
    for (int j = e.first_switching; j < e.first_switching + e.switching_functions; ++j) {
      if (inside_of(i, j, work.bounds[j]) >= 0.0)
        work.base[j] = std::numeric_limits<double>::quiet_NaN();
      wanted |= work.base[j] == work.base[j];
    }
    work.active[k] = wanted;
  }
}

// Whether a function keeps inside its branch as a cubic between two points, misses it in the middle by less than it is
// away, and has no bounds much wider than what is seen of it.
bool keeps_inside(const RunContext &i, int k, const SwitchingPoint &a, const SwitchingPoint &middle,
                  const SwitchingPoint &b, double h, const Interval &bounds) {
  SwitchingWorkspace &work = workspace_of(i);
  const double little = beside * h;
  double e[3], slope[3];
  const SwitchingPoint *points[3] = {&a, &middle, &b};
  for (int p = 0; p < 3; ++p) {
    evaluate(i, *points[p], 0.0, work.switching_values);
    e[p] = inside_of(i, k, Interval(work.switching_values[k]));
    evaluate(i, *points[p], little, work.beyond);
    slope[p] = (inside_of(i, k, Interval(work.beyond[k])) - e[p]) / little;
  }
  const double seen = std::max({std::fabs(e[0]), std::fabs(e[1]), std::fabs(e[2])}), noise = rounding * seen;
  if (bounds.is_finite() && bounds.high - bounds.low > widest * seen)
    return false;
  const double half = 0.5 * (e[0] + e[2]) + 0.125 * h * (slope[0] - slope[2]);
  return std::min({e[0], e[1], e[2], e[0] + h * slope[0] / 3.0, e[2] - h * slope[2] / 3.0}) >= -noise &&
         std::fabs(e[1] - half) <= std::max(noise, 0.5 * std::fabs(e[1]));
}

// whether no function leaves its side between two points; middle: null where it is not known; small: as cubics
// functions count only in small parts
bool is_clear(const RunContext &i, const SwitchingPoint &a, const SwitchingPoint *middle, const SwitchingPoint &b,
              double h, bool small, bool tired) {
  const ModelData &m = i.m;
  SwitchingWorkspace &work = workspace_of(i);
  if (middle)
    range_between(m, a, *middle, b, h, work.active, work.range);
  else
    range_between(m, a, b, h, work.range);
  switching_function_values<Interval>(m, sides_of(i), middle ? work.active : nullptr, work.range, work.values,
                                      work.signals, work.bounds);
  for (int k = 0; k < m.switching_count; ++k) {
    if (work.base[k] != work.base[k] || inside_of(i, k, work.bounds[k]) >= 0.0)
      continue;
    if (!middle || !(small || tired))
      return false;
    const bool bounded = work.bounds[k].is_finite();
    bool touches = tired || !bounded;
    if (!touches) {
      evaluate(i, a, 0.0, work.switching_values);
      touches = inside_of(i, k, Interval(work.switching_values[k])) <=
                touching * std::max(std::fabs(work.bounds[k].low), std::fabs(work.bounds[k].high));
    }
    if (!touches || !keeps_inside(i, k, a, *middle, b, h, tired ? Interval::line() : work.bounds[k]))
      return false;
  }
  return true;
}

// which function is beyond the end of its branch at a point: one of those that are held, before others
Departure::Kind beyond(const RunContext &i, const SwitchingPoint &point, int &which) {
  const ModelData &m = i.m;
  SwitchingWorkspace &work = workspace_of(i);
  evaluate(i, point, 0.0, work.switching_values);
  Departure::Kind kind = Departure::Kind::none;
  for (int k = 0; k < m.switching_count; ++k) {
    if (work.base[k] != work.base[k] ||
        !(inside_of(i, k, Interval(work.switching_values[k])) < -rounding * work.size[k]))
      continue;
    const bool held = i.run.conditions.law_branches && i.work.branches[k] == i.work.branches[k];
    if (held || kind == Departure::Kind::none)
      which = k, kind = held ? Departure::Kind::held : Departure::Kind::followed;
    if (held)
      break;
  }
  return kind;
}

// Whether functions that are beyond their ends at the end of a part, as `beyond` has found them, went there by one
// level, and bounds of the part, as `is_clear` has found them, keep all others on their sides.
bool is_single(const RunContext &i) {
  const ModelData &m = i.m;
  const SwitchingWorkspace &work = workspace_of(i);
  for (int k = 0; k < m.switching_count; ++k) {
    if (work.base[k] != work.base[k] || inside_of(i, k, work.bounds[k]) >= 0.0)
      continue;
    if (inside_of(i, k, Interval(work.switching_values[k])) >= 0.0)
      return false;
    if (m.switching_functions[k].whole &&
        std::fabs(side_of(m, m.switching_functions[k], work.switching_values[k]) - work.base[k]) > 1.0)
      return false;
  }
  return true;
}

} // namespace

bool monitored_branches(const RunContext &i, double h) {
  const ModelData &m = i.m;
  std::fill_n(workspace_of(i).active, m.monitored_count, static_cast<unsigned char>(1));
  const RunWorkspace &work = i.work;
  SwitchingWorkspace &mine = workspace_of(i);
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const bool known = i.run.conditions.law_branches != nullptr;
  bool follows = !known;
  for (int k = 0; k < m.switching_count; ++k) {
    const double side = known ? work.branches[k] : none;
    mine.base[k] =
        side == 0.0 || is_mixed(m.switching_functions[k], side) ? (m.switching_functions[k].whole ? side : none) : side;
    follows |= side != side;
  }
  if (!look_at_begin(i, h))
    return false;
  if (!follows)
    return true;
  // those that follow begin where the function is, or goes
  if (!known)
    std::fill_n(mine.base, m.switching_count, none);
  evaluate(i, mine.begin, 0.0, mine.switching_values);
  evaluate(i, mine.begin, beside * h, mine.beyond);
  for (int k = 0; k < m.switching_count; ++k) {
    const SwitchingFunctionData &function = m.switching_functions[k];
    if (known && work.branches[k] == work.branches[k])
      continue;
    const double side =
        side_of(m, function, mine.switching_values[k] == 0.0 ? mine.beyond[k] : mine.switching_values[k]);
    const Interval range(std::min(work.lowest[k], mine.switching_values[k]),
                         std::max(work.highest[k], mine.switching_values[k]));
    const bool seen = known && !function.followed && inside(m, function, side, range) < 0.0;
    mine.base[k] = seen ? none : side;
  }
  return true;
}

bool stays_inside(const RunContext &i, double h, Outcome &outcome) {
  SwitchingWorkspace &work = workspace_of(i);
  outcome = look_at_end(i, h) ? Outcome::reached : Outcome::callback_failed;
  if (outcome != Outcome::reached || turn_of(i, h) > max_turn)
    return false;
  if (is_clear(i, work.begin, nullptr, work.end, h, false, false))
    return true;
  narrow(i);
  return false;
}

static Outcome find_first(const Stepper &stepper, const RunContext &i, double h, double from, Departure &found) {
  const double longest = 1.0 / std::max(1.0, std::ceil(turn_of(i, h) / max_turn)),
               least = std::max(shortest, 4e-16 * std::fabs(i.run.t) / h);
  const SwitchingWorkspace &work = workspace_of(i);
  SwitchingPoint begin = work.parts[0], middle = work.parts[1], end = work.parts[2];
  if (from > 0.0) {
    const Outcome outcome = look_within(stepper, i, h, from, begin);
    if (outcome != Outcome::reached)
      return outcome;
  } else {
    copy(work.begin.y, i.m.monitor_inputs, begin.y);
    copy(work.begin.rate, i.m.monitor_inputs, begin.rate);
  }
  evaluate(i, work.begin, 0.0, work.switching_values);
  evaluate(i, work.end, 0.0, work.beyond);
  for (int k = 0; k < i.m.switching_count; ++k)
    work.size[k] = std::max(std::fabs(work.switching_values[k]), std::fabs(work.beyond[k]));
  found = {};
  double a = from, length = longest;
  bool known = false; // the end of the part
  double b = a;
  for (int parts = 0; a < 1.0; ++parts) {
    const bool tired = parts > max_parts;
    Outcome outcome = Outcome::reached;
    if (!known) {
      b = a + length > 1.0 - 1e-3 * length ? 1.0 : a + length;
      outcome = look_within(stepper, i, h, b, end);
    }
    if (outcome == Outcome::reached)
      outcome = look_within(stepper, i, h, 0.5 * (a + b), middle);
    if (outcome != Outcome::reached)
      return outcome;
    bool passes = is_clear(i, begin, &middle, end, (b - a) * h, b - a <= small_part * longest, tired);
    if (!passes) {
      int which = -1;
      const Departure::Kind kind = beyond(i, end, which);
      if (kind != Departure::Kind::none &&
          ((b - a <= first_parts * longest && is_single(i)) || tired || b - a <= least)) {
        found = {kind, a, b, which};
        return Outcome::reached;
      }
      passes = b - a <= (tired ? 1e-2 * longest : least); // it touches the end of a branch, if at all, for no time
    }
    if (passes) {
      std::swap(begin, end);
      length = std::min(longest, 2.0 * (b - a));
      a = b, known = false;
    } else {
      std::swap(end, middle);
      b = 0.5 * (a + b), known = true;
      length = b - a;
    }
  }
  return Outcome::reached;
}

Outcome defect_at(const Stepper &stepper, const RunContext &i, double h, double s, double &defect) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  const double aside = std::min({1e-3, s, 1.0 - s});
  double *rate = work.error, *change = work.error3;
  std::fill_n(change, increments(m), 0.0);
  for (const double sign : {-1.0, 1.0, 0.0}) {
    const double at = s + sign * aside, t = i.run.t + at * h;
    stepper.at(i, h, at, work.z);
    if (!displaced(i, t, work.z, work.qs, work.vs, work.xs))
      return Outcome::callback_failed;
    for (int f = 0; f < m.nv; ++f)
      change[m.nv + f] += sign * work.vs[f] / (2.0 * aside);
    for (int k = 0; k < m.nx; ++k)
      change[2 * m.nv + k] += sign * work.xs[k] / (2.0 * aside);
  }
  if (!rates(i, i.run.t + s * h, work.qs, work.vs, work.xs, rate, rate + m.nv))
    return Outcome::callback_failed;
  for (int k = 0; k < m.nv + m.nx; ++k)
    change[m.nv + k] -= h * rate[k];
  defect = measure(i, change, work.q1, work.v1, work.x1) * std::sqrt(double(increments(m)));
  return Outcome::reached;
}

Outcome find_departure(const Stepper &stepper, const RunContext &i, double h, double from, Departure &found) {
  SwitchingWorkspace &work = workspace_of(i);
  Outcome outcome = find_first(stepper, i, h, from, found);
  for (int pieces = 0; outcome == Outcome::reached && found.kind == Departure::Kind::followed; ++pieces) {
    const Departure first = found;
    if (pieces == max_pieces) { // it changes so often that the control of errors has to see to it
      found = {};
      return outcome;
    }
    for (int k = 0; k < i.m.switching_count; ++k) // as `beyond` has left them
      if (work.base[k] == work.base[k] && inside_of(i, k, Interval(work.switching_values[k])) < 0.0)
        work.base[k] = side_of(i.m, i.m.switching_functions[k], work.switching_values[k]);
    outcome = find_first(stepper, i, h, first.high, found);
    double defect = 0.0;
    const double end = found.kind == Departure::Kind::none ? 1.0 : found.low, middle = 0.5 * (first.high + end);
    for (const double at : {first.high, middle}) { // the middle may be all there is
      double here = 0.0;
      if (outcome == Outcome::reached && at < 1.0)
        outcome = defect_at(stepper, i, h, at, here);
      defect = here <= defect ? defect : here;
    }
    if (outcome == Outcome::reached && !(defect < unseen)) {
      found = first;
      return outcome;
    }
  }
  return outcome;
}

Outcome find_passage(const Stepper &stepper, const RunContext &i, double h, Departure &found) {
  found = {};
  Outcome outcome = monitored_branches(i, h) ? Outcome::reached : Outcome::callback_failed;
  if (outcome != Outcome::reached)
    return outcome;
  const bool clear = stays_inside(i, h, outcome);
  if (outcome != Outcome::reached)
    return outcome;
  SwitchingWorkspace &work = workspace_of(i);
  evaluate(i, work.begin, 0.0, work.switching_values);
  evaluate(i, work.end, 0.0, work.beyond);
  for (int k = 0; k < i.m.switching_count && !(i.run.fixed_step > 0.0); ++k) { // what tables have is to be seen too
    const double most = max_move(i.m, i.m.switching_functions[k]),
                 move = std::fabs(work.beyond[k] - work.switching_values[k]);
    if (move > 1.5 * most && most / move < found.high)
      found = {Departure::Kind::followed, 0.0, most / move, k};
  }
  if (clear || found.kind != Departure::Kind::none)
    return outcome;
  outcome = stepper.prepare(i, h);
  if (outcome != Outcome::reached)
    return outcome;
  return i.run.fixed_step > 0.0 ? find_first(stepper, i, h, 0.0, found) : find_departure(stepper, i, h, 0.0, found);
}

bool ends_beyond(const RunContext &i, int function) {
  SwitchingWorkspace &work = workspace_of(i);
  evaluate(i, work.end, 0.0, work.switching_values);
  return inside_of(i, function, Interval(work.switching_values[function])) < 0.0;
}

void move_monitor(const RunContext &i) {
  SwitchingWorkspace &work = workspace_of(i);
  copy(work.end.y, i.m.monitor_inputs, work.begin.y);
  copy(work.end.rate, i.m.monitor_inputs, work.begin.rate);
  i.run.monitor_known = 1;
}

void reset_monitor(const RunContext &i) { i.run.monitor_known = 0; }

} // namespace dalembert::DALEMBERT_ISA
