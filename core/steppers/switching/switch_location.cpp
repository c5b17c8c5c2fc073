#include "steppers/switching/switch_location.hpp"
#include "steppers/switching/monitor.hpp"
#include <limits>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double slight = 0.1;     // tolerances: a change of branch that matters less is not stepped up to
constexpr int looks = 8;           // parts of a step in which a motion that slides is looked at
constexpr double seen_before = 0.3; // of a step: a branch that is held for so long is seen by stages; of others the middle is looked at
constexpr double far_beyond = 1e-3; // of the way that a step is inside a branch
constexpr double together = 1e-9; // of a step: thresholds no further apart are passed together
constexpr double precise = 1e-10;  // of a step: to which the place is found, before a last step puts it right
constexpr int most_in_a_row = 20;  // steps that end at thresholds: after that kinks are left to the control of errors
constexpr int most_exits = 16;     // in a step that stands as it is
constexpr double most_levels = 100.0; // of whole numbers in a step: what passes more is left to the control of errors
constexpr int most_rounds = 12;    // of branches that change each other

bool evaluate(const Integration &i) {
  SteppingRoom &room = i.room;
  return rates(i, i.run.t, room.q, room.v, room.x, room.a, room.dx);
}

bool left(const Integration &i, int k) { return exit_of(i, k) < -i.room.slack[k]; }

// the side beyond a threshold where its margin is, or, of one along which the motion slides, the side on which it leaves
double other_side(const Integration &i, int k, double margin) {
  const double side = i.room.sides[k];
  if (i.m.thresholds[k].whole) { // the nearer end
    const double to_next = inside(i.m, i.m.thresholds[k], side, {std::numeric_limits<double>::max(), margin});
    const double to_last = inside(i.m, i.m.thresholds[k], side, {margin, std::numeric_limits<double>::lowest()});
    return to_last < to_next ? side - 1.0 : side + 1.0;
  }
  return side != 0.0 ? -side : i.room.motion.system.sides[k] < 0.0 ? -1.0 : 1.0;
}

// From here on a law follows a threshold that changes too often to be stepped up to.
void let_go(const Integration &i, int k) {
  i.room.sides[k] = std::numeric_limits<double>::quiet_NaN();
  if (!i.run.let_go)
    i.run.let_go = k + 1, i.run.let_go_time = i.run.t;
}

// how far inside its branches the state of the last evaluation is: the least of all
double least_exit(const Integration &i) {
  double least = never;
  for (int k = 0; k < i.m.threshold_count; ++k)
    least = std::min(least, exit_of(i, k) + i.room.slack[k]);
  return least;
}

// the same at a fraction of the step
Outcome least_at(const Stepper &stepper, const Integration &i, double h, double s, double &least) {
  SteppingRoom &room = i.room;
  const bool end = s >= 1.0;
  const Outcome outcome = end ? Outcome::reached : interpolate(stepper, i, h, s);
  if (outcome != Outcome::reached)
    return outcome;
  if (!rates(i, i.run.t + s * h, end ? room.q1 : room.qs, end ? room.v1 : room.vs, end ? room.x1 : room.xs, room.error, room.error + i.m.nv))
    return Outcome::host;
  least = least_exit(i);
  return Outcome::reached;
}

// Whether it makes no difference that the step went on, from a fraction of it, on branches that it has left at its end. If so,
// those that fit are taken.
Outcome changes_slightly(const Integration &i, double h, double from, bool &slightly) {
  const ModelData &m = i.m;
  SteppingRoom &room = i.room;
  const int n = increments(m);
  double *before = room.error3, *after = room.error; // rates
  slightly = false;
  for (int k = 0; k < m.threshold_count; ++k)
    if (left(i, k) && (is_mixed(m.thresholds[k], room.sides[k]) || room.sides[k] != room.sides[k]))
      return Outcome::reached;
  copy(room.sides, m.threshold_count, room.passed);
  for (int k = 0; k < m.threshold_count; ++k)
    if (left(i, k))
      room.sides[k] = side_of(m, m.thresholds[k], room.motion.system.margins[k]);
  if (!rates(i, i.run.t + h, room.q1, room.v1, room.x1, after, after + m.nv))
    return Outcome::host;
  const bool consistent = least_exit(i) >= 0.0;
  for (int f = 0; f < m.nv; ++f)
    before[f] = 0.0, before[m.nv + f] = (after[f] - room.a1[f]) * (1.0 - from) * h;
  for (int k = 0; k < m.nx; ++k)
    before[2 * m.nv + k] = (after[m.nv + k] - room.dx1[k]) * (1.0 - from) * h;
  const double size = measure(i, before, room.q1, room.v1, room.x1) * std::sqrt(double(n));
  slightly = consistent && size < slight;
  if (slightly) {
    copy(after, m.nv, room.a1);
    copy(after + m.nv, m.nx, room.dx1);
    for (int k = 0; k < m.threshold_count; ++k)
      room.slack[k] = room.sides[k] == room.passed[k] ? room.slack[k] : 0.0;
  } else {
    copy(room.passed, m.threshold_count, room.sides);
  }
  return Outcome::reached;
}

} // namespace

double exit_of(const Integration &i, int k) {
  const SteppingRoom &room = i.room;
  const double side = room.sides[k], margin = room.motion.system.margins[k];
  if (side != side || (side != 0.0 && is_mixed(i.m.thresholds[k], side)))
    return never;
  if (side == 0.0 && !i.m.thresholds[k].whole)
    return 1.0 - std::fabs(room.motion.system.sides[k]);
  return inside(i.m, i.m.thresholds[k], side, Interval(margin));
}

bool note_exits(const Integration &i, const StateOf<double> &state, double *a, double *dx) {
  const ModelData &m = i.m;
  SteppingRoom &room = i.room;
  bool beyond = false;
  for (int k = 0; k < m.threshold_count; ++k) {
    const double exit = exit_of(i, k), margin = room.motion.system.margins[k];
    room.least[k] = std::min(room.least[k], exit);
    room.lowest[k] = std::min(room.lowest[k], margin);
    room.highest[k] = std::max(room.highest[k], margin);
    beyond |= exit < 0.0;
  }
  if (!beyond || (all_finite(a, m.nv) && all_finite(dx, m.nx)))
    return true;
  for (int k = 0; k < m.threshold_count; ++k)
    room.strayed[k] = std::min(room.strayed[k], exit_of(i, k));
  follow_left(i);
  const bool done = dynamics(m, i.run.conditions, room.motion, state, a, dx);
  hold_again(i);
  return done;
}

void follow_left(const Integration &i) {
  SteppingRoom &room = i.room;
  copy(room.sides, i.m.threshold_count, room.held);
  for (int k = 0; k < i.m.threshold_count; ++k)
    if (exit_of(i, k) < 0.0 && !slides_at(i.m, room.sides, k))
      room.sides[k] = std::numeric_limits<double>::quiet_NaN();
}

void hold_again(const Integration &i) { copy(i.room.held, i.m.threshold_count, i.room.sides); }

void forget_exits(const Integration &i) {
  if (!i.run.conditions.sides)
    return;
  std::fill_n(i.room.least, i.m.threshold_count, never);
  std::fill_n(i.room.lowest, i.m.threshold_count, never);
  std::fill_n(i.room.highest, i.m.threshold_count, -never);
  std::fill_n(i.room.strayed, i.m.threshold_count, 0.0);
}

bool strays(const Integration &i) {
  const SteppingRoom &room = i.room;
  for (int k = 0; i.run.conditions.sides && k < i.m.threshold_count; ++k) {
    const double within = room.sides[k] < 0.0 ? -room.lowest[k] : room.highest[k];
    if (room.strayed[k] < -far_beyond * std::max(0.0, within))
      return true;
  }
  return false;
}

namespace {

bool run_slides(const Integration &i) {
  for (int k = 0; k < i.m.threshold_count; ++k)
    if (slides_at(i.m, i.room.sides, k))
      return true;
  return false;
}

// a part of a step in which a branch is left, and how far inside its branches the state is at both ends of it
struct Exit {
  Departure part;
  double above = 0.0, below = 0.0;
};

// The next part of the step, from a fraction on, in which a branch is left, on the loops too.
Outcome next_exit(const Stepper &stepper, const Integration &i, double h, double from, Exit &exit) {
  Outcome outcome = Outcome::reached;
  for (; outcome == Outcome::reached && from < 1.0; from = exit.part.high) {
    outcome = find_departure(stepper, i, h, from, exit.part);
    if (outcome != Outcome::reached || exit.part.kind != Departure::Kind::held)
      return outcome;
    outcome = least_at(stepper, i, h, exit.part.high, exit.below);
    if (outcome == Outcome::reached && exit.below < 0.0)
      return outcome;
  }
  exit.part = {};
  return outcome;
}

constexpr int sliding = -2; // in place of a threshold

// Of a motion that slides: the part of the step, before another exit, in which it leaves, if it does.
Outcome find_slide_end(const Stepper &stepper, const Integration &i, double h, Exit &exit) {
  const double end = exit.part.kind == Departure::Kind::none ? 1.0 : exit.part.low;
  double above = 0.0, below = 0.0;
  Outcome outcome = Outcome::reached;
  for (int part = 1; part <= looks && outcome == Outcome::reached; ++part, above = below) {
    const double low = double(part - 1) / looks * end, high = double(part) / looks * end;
    outcome = high > 0.0 ? least_at(stepper, i, h, high, below) : Outcome::reached;
    if (outcome == Outcome::reached && below < 0.0) {
      exit = {{Departure::Kind::held, low, high, sliding}, above, below};
      return outcome;
    }
  }
  return outcome;
}

// What it makes of the motion, in tolerances, that laws do not follow branches that are left at a fraction of the step, from another
// fraction on.
Outcome jump_at(const Stepper &stepper, const Integration &i, double h, double s, double from, double &jump) {
  const ModelData &m = i.m;
  SteppingRoom &room = i.room;
  double *before = room.error3, *after = room.error;
  Outcome outcome = interpolate(stepper, i, h, s);
  if (outcome != Outcome::reached)
    return outcome;
  const double t = i.run.t + s * h;
  if (!rates(i, t, room.qs, room.vs, room.xs, before, before + m.nv))
    return Outcome::host;
  follow_left(i);
  const bool done = rates(i, t, room.qs, room.vs, room.xs, after, after + m.nv);
  hold_again(i);
  if (!done)
    return Outcome::host;
  for (int k = m.nv + m.nx; k-- > 0;)
    before[m.nv + k] = (after[k] - before[k]) * (1.0 - from) * h;
  std::fill_n(before, m.nv, 0.0);
  jump = measure(i, before, room.q1, room.v1, room.x1) * std::sqrt(double(increments(m)));
  return Outcome::reached;
}

// Where branches have been left, at the last evaluation: they are marked, and the monitor looks for the ends of those after them.
void follow_base(const Integration &i) {
  SteppingRoom &room = i.room;
  for (int k = 0; k < i.m.threshold_count; ++k) {
    room.passed[k] = left(i, k) ? 1.0 : 0.0;
    if (double &base = room.switching.base[k]; base == base)
      base = side_of(i.m, i.m.thresholds[k], room.motion.system.margins[k]);
  }
}

// The first exit of the step just made, and whether all branches that are left stay left until its end, to little effect.
Outcome find_exit(const Stepper &stepper, const Integration &i, double h, bool seen, Exit &first, bool &for_good) {
  first = {};
  for_good = false;
  Outcome outcome = watch_sides(i, h) ? Outcome::reached : Outcome::host;
  if (outcome != Outcome::reached)
    return outcome;
  const bool clear = stays_inside(i, h, outcome);
  if (outcome != Outcome::reached || (clear && !seen))
    return outcome;
  outcome = stepper.prepare(i, h);
  if (outcome == Outcome::reached)
    outcome = next_exit(stepper, i, h, 0.0, first);
  if (outcome != Outcome::reached || first.part.kind == Departure::Kind::followed)
    return outcome;
  if (seen && run_slides(i)) { // known by evaluations alone
    Exit slide = first;
    outcome = find_slide_end(stepper, i, h, slide);
    if (outcome != Outcome::reached || slide.part.threshold == sliding) {
      first = slide;
      return outcome;
    }
    if (first.part.kind != Departure::Kind::none)
      outcome = least_at(stepper, i, h, first.part.high, first.below);
  }
  if (outcome != Outcome::reached || first.part.kind == Departure::Kind::none)
    return outcome;
  Exit next = first;
  double defect = 0.0;
  if (first.part.low < seen_before)
    outcome = defect_at(stepper, i, h, 0.5 * first.part.high, defect);
  if (outcome == Outcome::reached)
    outcome = least_at(stepper, i, h, first.part.high, first.below);
  if (outcome != Outcome::reached)
    return outcome;
  for_good = defect < slight;
  for (int exits = 0; for_good && next.part.kind != Departure::Kind::none; ++exits) {
    const double begin = next.part.high;
    follow_base(i);
    double end, jump = 0.0;
    outcome = least_at(stepper, i, h, 1.0, end);
    for (int k = 0; k < i.m.threshold_count; ++k)
      for_good &= i.room.passed[k] == 0.0 || i.m.thresholds[k].whole || left(i, k);
    for_good &= exits < most_exits;
    if (outcome == Outcome::reached && for_good)
      outcome = next_exit(stepper, i, h, begin, next);
    for_good &= next.part.kind != Departure::Kind::followed;
    if (outcome == Outcome::reached && for_good)
      outcome = jump_at(stepper, i, h, 0.5 * (begin + (next.part.kind == Departure::Kind::none ? 1.0 : next.part.low)), first.part.low, jump);
    if (outcome != Outcome::reached)
      return outcome;
    for_good &= jump < slight;
  }
  return first.part.low > 0.0 ? least_at(stepper, i, h, first.part.low, first.above) : outcome;
}

} // namespace

Outcome watch_thresholds(const Stepper &stepper, const Integration &i, double h, Passage &passage) {
  const ModelData &m = i.m;
  SteppingRoom &room = i.room;
  passage = Passage::none;
  const bool astray = strays(i);
  bool any = false;
  for (int k = 0; k < m.threshold_count; ++k)
    any |= room.least[k] < -room.slack[k];
  for (int k = 0; k < m.threshold_count; ++k)
    room.kept[k] = exit_of(i, k);
  for (int k = 0; k < m.threshold_count; ++k)
    if (m.thresholds[k].whole && std::fabs(side_of(m, m.thresholds[k], room.motion.system.margins[k]) - room.sides[k]) > most_levels) {
      let_go(i, k);
      passage = Passage::again;
    }
  if (passage == Passage::again)
    return Outcome::reached;
  double reach = 1.0; // of the step, in which tables are seen
  for (int k = 0; k < m.threshold_count; ++k)
    if (const double most = most_move(m, m.thresholds[k]); room.highest[k] - room.lowest[k] > 1.5 * most)
      reach = std::min(reach, most / (room.highest[k] - room.lowest[k]));
  if (reach < 1.0) {
    i.run.step = reach * h;
    passage = Passage::unseen;
    return Outcome::reached;
  }
  // which part of the step
  Exit exit;
  bool for_good = false;
  Outcome outcome = find_exit(stepper, i, h, any, exit, for_good);
  if (outcome != Outcome::reached)
    return outcome;
  if (exit.part.kind == Departure::Kind::none) {
    for (int k = 0; k < m.threshold_count && !any; ++k) // at its end
      room.slack[k] = room.kept[k] > 0.0 ? 0.0 : room.slack[k];
    passage = astray ? Passage::astray : Passage::none;
    return outcome;
  }
  if (exit.part.kind == Departure::Kind::followed) {
    const bool enough = i.run.led_in++ >= most_led_in; // what is left is for the control of errors
    i.run.step = enough ? i.run.step : exit.part.high * h;
    passage = !enough ? Passage::unseen : astray ? Passage::astray : Passage::none;
    return outcome;
  }
  double low = exit.part.low, high = exit.part.high, above = exit.above, below = exit.below;
  // whether it matters
  bool slightly = false;
  if (for_good && !astray) {
    double end;
    outcome = least_at(stepper, i, h, 1.0, end);
    if (outcome == Outcome::reached)
      outcome = changes_slightly(i, h, low, slightly);
  }
  if (slightly)
    passage = Passage::slight;
  if (outcome != Outcome::reached || slightly)
    return outcome;
  // where: inverse quadratic interpolation with halving (Chandrupatla 1997); a, b: around it, b the newer, c the one before
  double a = low, at_a = above, b = high, at_b = below, c = low, at_c = above;
  double left_there = below;
  for (int round = 0; round < 60 && high - low > precise; ++round) {
    double part = 0.5;
    const double xi = (a - b) / (c - b), phi = (at_a - at_b) / (at_c - at_b);
    if (round && c != a && c != b && phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi)
      part = at_a / (at_b - at_a) * at_c / (at_b - at_c) + (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b);
    else if (!round && above > 0.0)
      part = at_a / (at_a - at_b);
    const double least = 0.5 * precise / std::fabs(b - a);
    const double s = a + std::min(1.0 - least, std::max(least, part)) * (b - a);
    double value;
    outcome = least_at(stepper, i, h, s, value);
    if (outcome != Outcome::reached)
      return outcome;
    if ((value < 0.0) == (at_a < 0.0)) {
      c = a, at_c = at_a;
    } else {
      c = b, at_c = at_b;
      b = a, at_b = at_a;
    }
    a = s, at_a = value;
    if (value < 0.0)
      high = s, left_there = value;
    else
      low = s;
  }
  double value;
  outcome = least_at(stepper, i, h, std::min(1.0, high + together), value);
  if (outcome != Outcome::reached)
    return outcome;
  for (int k = 0; k < m.threshold_count; ++k)
    room.passed[k] = left(i, k) ? 1.0 : 0.0;
  const double after = std::min(1.0, high + together) - high;
  i.run.cut_slope = after > 0.5 * together ? (value - left_there) / (after * h) : 0.0;
  const double shortest = 4e-16 * std::fabs(i.run.t);
  passage = high * h <= shortest ? Passage::here : high >= 1.0 - together ? Passage::end : Passage::inside;
  i.run.cut = passage == Passage::inside ? high * h : 0.0;
  return Outcome::reached;
}

// What other branches at marked thresholds, seen from a state, make of motion in a time, in tolerances; after an evaluation of
// the state with those that are held, whose rates stand in a1 and dx1.
static double jumps(const Integration &i, double t, const double *q, const double *v, const double *x, double time) {
  const ModelData &m = i.m;
  SteppingRoom &room = i.room;
  double *rate = room.error, *z = room.error3;
  std::copy_n(room.sides, m.threshold_count, room.kept);
  for (int k = 0; k < m.threshold_count; ++k)
    if (room.passed[k] != 0.0)
      room.sides[k] = other_side(i, k, room.motion.system.margins[k]);
  const bool done = rates(i, t, q, v, x, rate, rate + m.nv);
  std::copy_n(room.kept, m.threshold_count, room.sides);
  for (int f = 0; f < m.nv; ++f)
    z[f] = 0.0, z[m.nv + f] = time * (rate[f] - room.a1[f]);
  for (int k = 0; k < m.nx; ++k)
    z[2 * m.nv + k] = time * (rate[m.nv + k] - room.dx1[k]);
  return done ? measure(i, z, q, v, x) * std::sqrt(double(increments(m))) : never;
}

bool comes_nearer(const Integration &i, double h) {
  Run &run = i.run;
  SteppingRoom &room = i.room;
  double rest = never;
  for (int k = 0; k < i.m.threshold_count; ++k)
    if (i.room.passed[k] != 0.0)
      rest = std::min(rest, exit_of(i, k) + i.room.slack[k]);
  const double change = run.cut_slope < 0.0 ? -rest / run.cut_slope : 0.0;
  run.cut_slope = 0.0;
  if (!(std::fabs(change) < 1e-3 * h) || !(std::fabs(change) > 1e-11 * h))
    return false;
  run.cut = h + change;
  return jumps(i, run.t + h, room.q1, room.v1, room.x1, change) > 1e-3 * slight;
}

bool begin_sides(const Integration &i) {
  const ModelData &m = i.m;
  SteppingRoom &room = i.room;
  std::fill_n(room.slack, m.threshold_count, 0.0);
  std::fill_n(room.passed, m.threshold_count, 0.0);
  if (i.run.begin_sides) {
    copy(i.run.begin_sides, m.threshold_count, room.sides);
    return true;
  }
  std::fill_n(room.sides, m.threshold_count, std::numeric_limits<double>::quiet_NaN());
  if (!evaluate(i))
    return false;
  bool ties = false;
  for (int k = 0; k < m.threshold_count; ++k) {
    const double margin = room.motion.system.margins[k];
    room.sides[k] = m.thresholds[k].followed ? std::numeric_limits<double>::quiet_NaN() : side_of(m, m.thresholds[k], margin);
    if (m.thresholds[k].followed)
      continue;
    if (const double *fixed = i.run.fixed_sides; fixed && is_mixed(m.thresholds[k], fixed[k])) {
      room.sides[k] = fixed[k];
      continue;
    }
    room.passed[k] = margin == 0.0 && !m.thresholds[k].whole ? 1.0 : 0.0;
    ties |= room.passed[k] != 0.0;
  }
  return ties ? change_sides(i) : true;
}

bool settle_sides(const Integration &i) {
  const ModelData &m = i.m;
  SteppingRoom &room = i.room;
  for (int round = 0; round < most_rounds; ++round) {
    bool changed = false;
    for (int k = 0; k < m.threshold_count; ++k) {
      if (!left(i, k))
        continue;
      const double mixture = room.motion.system.sides[k];
      room.sides[k] = slides_at(m, room.sides, k) ? (mixture < 0.0 ? -1.0 : 1.0) : side_of(m, m.thresholds[k], room.motion.system.margins[k]);
      changed = true;
    }
    if (!changed)
      return true;
    if (!evaluate(i))
      return false;
  }
  return true;
}

namespace {

// the rate of a margin with a law on one side of it
bool rate_on(const Integration &i, int k, double side, double &rate) {
  SteppingRoom &room = i.room;
  const double kept = room.sides[k];
  room.sides[k] = side;
  if (!evaluate(i))
    return false;
  margin_rates(i.m, i.run.conditions, room.motion.system, room.motion.sliding, {i.run.stretch.seen(i.run.t), room.q, room.v, room.x}, room.a,
               room.dx, room.motion.sliding.above);
  rate = room.motion.sliding.above[k];
  room.sides[k] = kept;
  return true;
}

// by how much the rates of the state differ from those in room.error, in tolerances, for a step of the usual length
double jump_of(const Integration &i) {
  const ModelData &m = i.m;
  SteppingRoom &room = i.room;
  double *z = room.error3;
  for (int f = 0; f < m.nv; ++f)
    z[f] = 0.0, z[m.nv + f] = i.run.step * (room.a[f] - room.error[f]);
  for (int k = 0; k < m.nx; ++k)
    z[2 * m.nv + k] = i.run.step * (room.dx[k] - room.error[m.nv + k]);
  return measure(i, z, room.q, room.v, room.x) * std::sqrt(double(increments(m)));
}

// whether mixtures of a law's branches can be had
bool may_slide(const ModelData &m, const double *sides, int k) {
  const ElementData &e = m.elements[m.thresholds[k].element];
  int count = 0;
  for (int j = 0; j < m.threshold_count; ++j)
    count += slides_at(m, sides, j);
  return e.form == LawForm::program && !e.unknowns && e.thresholds <= most_mixed && count < most_sliding;
}

} // namespace

bool change_sides(const Integration &i) {
  const ModelData &m = i.m;
  SteppingRoom &room = i.room;
  if (!evaluate(i))
    return false;
  std::copy_n(room.motion.system.margins, m.threshold_count, room.kept);
  for (int k = 0; k < m.threshold_count; ++k) { // mixtures that have come to their ends, and whole numbers
    if (room.passed[k] == 0.0)
      continue;
    if (m.thresholds[k].whole || slides_at(m, room.sides, k)) {
      room.sides[k] = other_side(i, k, room.kept[k]);
      room.passed[k] = 2.0;
    }
  }
  for (int k = 0; k < m.threshold_count; ++k) {
    if (room.passed[k] != 1.0)
      continue;
    const double old = room.sides[k];
    double here, beyond;
    if (!rate_on(i, k, old, here))
      return false;
    copy(room.a, m.nv, room.error);
    copy(room.dx, m.nx, room.error + m.nv);
    if (!rate_on(i, k, -old, beyond))
      return false;
    if (i.run.in_a_row > most_in_a_row && jump_of(i) < slight) {
      let_go(i, k);
      continue;
    }
    const double size = 1e-9 * (std::fabs(here) + std::fabs(beyond));
    const bool returns = -old * beyond < -size, leaves = -old * here > size;
    if (returns && leaves && may_slide(m, room.sides, k))
      room.sides[k] = 0.0;
    else if (leaves || room.kept[k] != 0.0 || -old * beyond > size) // at the start, from zero, it may as well stay
      room.sides[k] = -old;
  }
  for (int k = 0; k < m.threshold_count; ++k)
    room.slack[k] = room.passed[k] != 0.0 ? never : room.slack[k];
  if (!evaluate(i) || !settle_sides(i))
    return false;
  for (int k = 0; k < m.threshold_count; ++k) {
    if (room.passed[k] == 0.0)
      continue;
    room.slack[k] = std::max(0.0, -exit_of(i, k));
    room.passed[k] = 0.0;
  }
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
