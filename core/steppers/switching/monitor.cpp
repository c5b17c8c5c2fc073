#include "steppers/switching/monitor.hpp"
#include "tree/manifold.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double beside = 1e-6;       // of a step: distance of two points whose difference is a rate
constexpr double shortest = 1e-7;     // of a step: parts that are not halved any more
constexpr double small_part = 1.0 / 1024.0; // of a step: parts in which functions count as cubics
constexpr double unseen = 1.0;        // tolerances: what a step may miss after a change of a branch that is not held
constexpr int most_pieces = 8;        // between such changes in a step
constexpr double first_parts = 1.0 / 32.0; // of the part in which a departure is found: how closely it is known that it is the first
constexpr int most_parts = 200;       // of a step, before the functions themselves count as cubics
constexpr double widest = 8.0;        // times what is seen of a function: bounds that say that it is known between points
constexpr double rounding = 1e-12;    // of the size of a function at the ends of a step: less beyond the end of a branch is none
constexpr double touching = 1e-6;     // of its size in the part: a function that begins so near to the end of its branch

SwitchingRoom &room_of(const Integration &i) { return i.room.switching; }

const double *sides_of(const Integration &i) { return i.run.conditions.sides ? i.room.sides : room_of(i).base; }

// what watched elements take at a state, and its rates; later: a little time, backwards at the end of a step
bool look(const Integration &i, double t, const double *q, const double *v, const double *x, const double *a, const double *dx, double later,
          const SwitchingPoint &point) {
  SteppingRoom &room = i.room;
  return look_with_rates<double>(i.m, i.run.conditions, room.motion.system, t, q, v, x, a, dx, later, [&](double at) { return i.run.stretch.seen(at); },
                                 {room.qs, room.vs, room.xs, room.change}, point.y, point.rate);
}

bool look_at_begin(const Integration &i, double h) {
  SteppingRoom &room = i.room;
  if (i.run.monitor_known)
    return true;
  i.run.monitor_known = 1;
  return look(i, i.run.t, room.q, room.v, room.x, room.a, room.dx, beside * h, room_of(i).begin);
}

bool look_at_end(const Integration &i, double h) {
  SteppingRoom &room = i.room;
  return look(i, i.run.t + h, room.q1, room.v1, room.x1, room.a1, room.dx1, -beside * h, room_of(i).end);
}

// the same at a fraction of the step, from its dense output; loops are left as the interpolation has them
Outcome look_within(const Stepper &stepper, const Integration &i, double h, double s, const SwitchingPoint &point) {
  SteppingRoom &room = i.room;
  const double further = s + beside <= 1.0 ? beside : -beside;
  for (const bool second : {false, true}) {
    const double at = second ? s + further : s, t = i.run.t + at * h;
    stepper.at(i, h, at, room.z);
    if (!displaced(i, t, room.z, room.qs, room.vs, room.xs) ||
        !look_at_watched(i.m, i.run.conditions, room.motion.system, {i.run.stretch.seen(t), room.qs, room.vs, room.xs},
                         room_of(i).active, second ? room_of(i).beside : point.y))
      return Outcome::host;
  }
  for (int k = 0; k < i.m.watch_inputs; ++k)
    point.rate[k] = (room_of(i).beside[k] - point.y[k]) / (further * h);
  return Outcome::reached;
}

// switching functions at a point, or a little time after it
void evaluate(const Integration &i, const SwitchingPoint &point, double time, double *margins) {
  SwitchingRoom &room = room_of(i);
  for (int k = 0; k < i.m.watch_inputs; ++k)
    room.beside[k] = point.y[k] + time * point.rate[k];
  switching_functions<double>(i.m, sides_of(i), room.active, room.beside, room.numbers, room.given, margins);
}

double slack_of(const Integration &i, int k) { return i.run.conditions.sides ? i.room.slack[k] : 0.0; }

double inside_of(const Integration &i, int k, const Interval &margin) {
  return inside(i.m, i.m.thresholds[k], room_of(i).base[k], margin) + slack_of(i, k);
}

// the largest angle between frames of an element in the step
double turn_of(const Integration &i, double h) {
  return most_turn_of(i.m, [&](int f) { return h * std::max(std::fabs(i.room.v[f]), std::fabs(i.room.v1[f])); });
}

// Of the functions that bounds of the whole step keep on their sides nothing more is looked at within it.
void narrow(const Integration &i) {
  const ModelData &m = i.m;
  SwitchingRoom &room = room_of(i);
  for (int k = 0; k < m.watched_count; ++k) {
    const ElementData &e = m.elements[m.watched[k].element];
    bool wanted = e.signals > 0; // which another one may take
    for (int j = e.threshold; j < e.threshold + e.thresholds; ++j) {
      if (inside_of(i, j, room.bounds[j]) >= 0.0)
        room.base[j] = std::numeric_limits<double>::quiet_NaN();
      wanted |= room.base[j] == room.base[j];
    }
    room.active[k] = wanted;
  }
}

// Whether a function keeps inside its branch as a cubic between two points, misses it in the middle by less than it is away, and has
// no bounds much wider than what is seen of it.
bool keeps_inside(const Integration &i, int k, const SwitchingPoint &a, const SwitchingPoint &middle, const SwitchingPoint &b, double h,
                  const Interval &bounds) {
  SwitchingRoom &room = room_of(i);
  const double little = beside * h;
  double e[3], slope[3];
  const SwitchingPoint *points[3] = {&a, &middle, &b};
  for (int p = 0; p < 3; ++p) {
    evaluate(i, *points[p], 0.0, room.margins);
    e[p] = inside_of(i, k, Interval(room.margins[k]));
    evaluate(i, *points[p], little, room.beyond);
    slope[p] = (inside_of(i, k, Interval(room.beyond[k])) - e[p]) / little;
  }
  const double seen = std::max({std::fabs(e[0]), std::fabs(e[1]), std::fabs(e[2])}), noise = rounding * seen;
  if (bounds.is_finite() && bounds.high - bounds.low > widest * seen)
    return false;
  const double half = 0.5 * (e[0] + e[2]) + 0.125 * h * (slope[0] - slope[2]);
  return std::min({e[0], e[1], e[2], e[0] + h * slope[0] / 3.0, e[2] - h * slope[2] / 3.0}) >= -noise &&
         std::fabs(e[1] - half) <= std::max(noise, 0.5 * std::fabs(e[1]));
}

// whether no function leaves its side between two points; middle: null where it is not known; small: as cubics functions count only in
// small parts
bool is_clear(const Integration &i, const SwitchingPoint &a, const SwitchingPoint *middle, const SwitchingPoint &b, double h, bool small, bool tired) {
  const ModelData &m = i.m;
  SwitchingRoom &room = room_of(i);
  if (middle)
    range_between(m, a, *middle, b, h, room.active, room.range);
  else
    range_between(m, a, b, h, room.range);
  switching_functions<Interval>(m, sides_of(i), middle ? room.active : nullptr, room.range, room.values, room.signals, room.bounds);
  for (int k = 0; k < m.threshold_count; ++k) {
    if (room.base[k] != room.base[k] || inside_of(i, k, room.bounds[k]) >= 0.0)
      continue;
    if (!middle || !(small || tired))
      return false;
    const bool bounded = room.bounds[k].is_finite();
    bool touches = tired || !bounded;
    if (!touches) {
      evaluate(i, a, 0.0, room.margins);
      touches = inside_of(i, k, Interval(room.margins[k])) <= touching * std::max(std::fabs(room.bounds[k].low), std::fabs(room.bounds[k].high));
    }
    if (!touches || !keeps_inside(i, k, a, *middle, b, h, tired ? Interval::line() : room.bounds[k]))
      return false;
  }
  return true;
}

// which function is beyond the end of its branch at a point: one of those that are held, before others
Departure::Kind beyond(const Integration &i, const SwitchingPoint &point, int &which) {
  const ModelData &m = i.m;
  SwitchingRoom &room = room_of(i);
  evaluate(i, point, 0.0, room.margins);
  Departure::Kind kind = Departure::Kind::none;
  for (int k = 0; k < m.threshold_count; ++k) {
    if (room.base[k] != room.base[k] || !(inside_of(i, k, Interval(room.margins[k])) < -rounding * room.size[k]))
      continue;
    const bool held = i.run.conditions.sides && i.room.sides[k] == i.room.sides[k];
    if (held || kind == Departure::Kind::none)
      which = k, kind = held ? Departure::Kind::held : Departure::Kind::followed;
    if (held)
      break;
  }
  return kind;
}

// Whether functions that are beyond their ends at the end of a part, as `beyond` has found them, went there by one level, and bounds of
// the part, as `is_clear` has found them, keep all others on their sides.
bool is_single(const Integration &i) {
  const ModelData &m = i.m;
  const SwitchingRoom &room = room_of(i);
  for (int k = 0; k < m.threshold_count; ++k) {
    if (room.base[k] != room.base[k] || inside_of(i, k, room.bounds[k]) >= 0.0)
      continue;
    if (inside_of(i, k, Interval(room.margins[k])) >= 0.0)
      return false;
    if (m.thresholds[k].whole && std::fabs(side_of(m, m.thresholds[k], room.margins[k]) - room.base[k]) > 1.0)
      return false;
  }
  return true;
}

} // namespace

bool watch_sides(const Integration &i, double h) {
  const ModelData &m = i.m;
  std::fill_n(room_of(i).active, m.watched_count, static_cast<unsigned char>(1));
  const SteppingRoom &room = i.room;
  SwitchingRoom &mine = room_of(i);
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const bool known = i.run.conditions.sides != nullptr;
  bool follows = !known;
  for (int k = 0; k < m.threshold_count; ++k) {
    const double side = known ? room.sides[k] : none;
    mine.base[k] = side == 0.0 || is_mixed(m.thresholds[k], side) ? (m.thresholds[k].whole ? side : none) : side;
    follows |= side != side;
  }
  if (!look_at_begin(i, h))
    return false;
  if (!follows)
    return true;
  // those that follow begin where the function is, or goes
  if (!known)
    std::fill_n(mine.base, m.threshold_count, none);
  evaluate(i, mine.begin, 0.0, mine.margins);
  evaluate(i, mine.begin, beside * h, mine.beyond);
  for (int k = 0; k < m.threshold_count; ++k) {
    const ThresholdData &threshold = m.thresholds[k];
    if (known && room.sides[k] == room.sides[k])
      continue;
    const double side = side_of(m, threshold, mine.margins[k] == 0.0 ? mine.beyond[k] : mine.margins[k]);
    const Interval range(std::min(room.lowest[k], mine.margins[k]), std::max(room.highest[k], mine.margins[k]));
    const bool seen = known && !threshold.followed && inside(m, threshold, side, range) < 0.0;
    mine.base[k] = seen ? none : side;
  }
  return true;
}

bool stays_inside(const Integration &i, double h, Outcome &outcome) {
  SwitchingRoom &room = room_of(i);
  outcome = look_at_end(i, h) ? Outcome::reached : Outcome::host;
  if (outcome != Outcome::reached || turn_of(i, h) > most_turn)
    return false;
  if (is_clear(i, room.begin, nullptr, room.end, h, false, false))
    return true;
  narrow(i);
  return false;
}

static Outcome find_first(const Stepper &stepper, const Integration &i, double h, double from, Departure &found) {
  const double longest = 1.0 / std::max(1.0, std::ceil(turn_of(i, h) / most_turn)), least = std::max(shortest, 4e-16 * std::fabs(i.run.t) / h);
  const SwitchingRoom &room = room_of(i);
  SwitchingPoint begin = room.parts[0], middle = room.parts[1], end = room.parts[2];
  if (from > 0.0) {
    const Outcome outcome = look_within(stepper, i, h, from, begin);
    if (outcome != Outcome::reached)
      return outcome;
  } else {
    copy(room.begin.y, i.m.watch_inputs, begin.y);
    copy(room.begin.rate, i.m.watch_inputs, begin.rate);
  }
  evaluate(i, room.begin, 0.0, room.margins);
  evaluate(i, room.end, 0.0, room.beyond);
  for (int k = 0; k < i.m.threshold_count; ++k)
    room.size[k] = std::max(std::fabs(room.margins[k]), std::fabs(room.beyond[k]));
  found = {};
  double a = from, length = longest;
  bool known = false; // the end of the part
  double b = a;
  for (int parts = 0; a < 1.0; ++parts) {
    const bool tired = parts > most_parts;
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
      if (kind != Departure::Kind::none && ((b - a <= first_parts * longest && is_single(i)) || tired || b - a <= least)) {
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

Outcome defect_at(const Stepper &stepper, const Integration &i, double h, double s, double &defect) {
  const ModelData &m = i.m;
  SteppingRoom &room = i.room;
  const double aside = std::min({1e-3, s, 1.0 - s});
  double *rate = room.error, *change = room.error3;
  std::fill_n(change, increments(m), 0.0);
  for (const double sign : {-1.0, 1.0, 0.0}) {
    const double at = s + sign * aside, t = i.run.t + at * h;
    stepper.at(i, h, at, room.z);
    if (!displaced(i, t, room.z, room.qs, room.vs, room.xs))
      return Outcome::host;
    for (int f = 0; f < m.nv; ++f)
      change[m.nv + f] += sign * room.vs[f] / (2.0 * aside);
    for (int k = 0; k < m.nx; ++k)
      change[2 * m.nv + k] += sign * room.xs[k] / (2.0 * aside);
  }
  if (!rates(i, i.run.t + s * h, room.qs, room.vs, room.xs, rate, rate + m.nv))
    return Outcome::host;
  for (int k = 0; k < m.nv + m.nx; ++k)
    change[m.nv + k] -= h * rate[k];
  defect = measure(i, change, room.q1, room.v1, room.x1) * std::sqrt(double(increments(m)));
  return Outcome::reached;
}

Outcome find_departure(const Stepper &stepper, const Integration &i, double h, double from, Departure &found) {
  SwitchingRoom &room = room_of(i);
  Outcome outcome = find_first(stepper, i, h, from, found);
  for (int pieces = 0; outcome == Outcome::reached && found.kind == Departure::Kind::followed; ++pieces) {
    const Departure first = found;
    if (pieces == most_pieces) { // it changes so often that the control of errors has to see to it
      found = {};
      return outcome;
    }
    for (int k = 0; k < i.m.threshold_count; ++k) // as `beyond` has left them
      if (room.base[k] == room.base[k] && inside_of(i, k, Interval(room.margins[k])) < 0.0)
        room.base[k] = side_of(i.m, i.m.thresholds[k], room.margins[k]);
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

Outcome find_passage(const Stepper &stepper, const Integration &i, double h, Departure &found) {
  found = {};
  Outcome outcome = watch_sides(i, h) ? Outcome::reached : Outcome::host;
  if (outcome != Outcome::reached)
    return outcome;
  const bool clear = stays_inside(i, h, outcome);
  if (outcome != Outcome::reached)
    return outcome;
  SwitchingRoom &room = room_of(i);
  evaluate(i, room.begin, 0.0, room.margins);
  evaluate(i, room.end, 0.0, room.beyond);
  for (int k = 0; k < i.m.threshold_count && !(i.run.fixed_step > 0.0); ++k) { // what tables have is to be seen too
    const double most = most_move(i.m, i.m.thresholds[k]), move = std::fabs(room.beyond[k] - room.margins[k]);
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

bool ends_beyond(const Integration &i, int threshold) {
  SwitchingRoom &room = room_of(i);
  evaluate(i, room.end, 0.0, room.margins);
  return inside_of(i, threshold, Interval(room.margins[threshold])) < 0.0;
}

void move_monitor(const Integration &i) {
  SwitchingRoom &room = room_of(i);
  copy(room.end.y, i.m.watch_inputs, room.begin.y);
  copy(room.end.rate, i.m.watch_inputs, room.begin.rate);
  i.run.monitor_known = 1;
}

void forget_monitor(const Integration &i) { i.run.monitor_known = 0; }

} // namespace dalembert::DALEMBERT_ISA
