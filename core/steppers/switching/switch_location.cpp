#include "steppers/switching/switch_location.hpp"
#include "steppers/switching/monitor.hpp"
#include <limits>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double slight = 0.1; // tolerances: a change of branch that matters less is not stepped up to
constexpr int looks = 8;       // parts of a step in which a motion that slides is looked at
// of a step: a branch that is held for so long is seen by stages; of others the middle is looked at
constexpr double seen_before = 0.3;
constexpr double far_beyond = 1e-3; // of the way that a step is inside a branch
constexpr double together = 1e-9;   // of a step: switching functions no further apart are passed together
constexpr double precise = 1e-10;   // of a step: to which the place is found, before a last step puts it right
// steps that end at switching functions: after that kinks are left to the control of errors
constexpr int max_in_a_row = 20;
constexpr int max_exits = 16;        // in a step that stands as it is
constexpr double max_levels = 100.0; // of whole numbers in a step: what passes more is left to the control of errors
constexpr int max_rounds = 12;       // of branches that change each other

bool evaluate(const RunContext &i) {
  RunWorkspace &work = i.work;
  return rates(i, i.run.t, work.q, work.v, work.x, work.a, work.dx);
}

bool left(const RunContext &i, int k) { return exit_of(i, k) < -i.work.slack[k]; }

// the side beyond a switching function where its margin is, or, of one along which the motion slides, the side on which
// it leaves
double other_side(const RunContext &i, int k, double margin) {
  const double side = i.work.branches[k];
  if (i.m.switching_functions[k].whole) { // the nearer end
    const double to_next = inside(i.m, i.m.switching_functions[k], side, {std::numeric_limits<double>::max(), margin});
    const double to_last =
        inside(i.m, i.m.switching_functions[k], side, {margin, std::numeric_limits<double>::lowest()});
    return to_last < to_next ? side - 1.0 : side + 1.0;
  }
  return side != 0.0 ? -side : i.work.motion.system.sides[k] < 0.0 ? -1.0 : 1.0;
}

// From here on a law follows a switching function that changes too often to be stepped up to.
void let_go(const RunContext &i, int k) {
  i.work.branches[k] = std::numeric_limits<double>::quiet_NaN();
  if (!i.run.released_function)
    i.run.released_function = k + 1, i.run.release_time = i.run.t;
}

// how far inside its branches the state of the last evaluation is: the least of all
double least_exit(const RunContext &i) {
  double least = never;
  for (int k = 0; k < i.m.switching_count; ++k)
    least = std::min(least, exit_of(i, k) + i.work.slack[k]);
  return least;
}

// the same at a fraction of the step
Outcome least_at(const Stepper &stepper, const RunContext &i, double h, double s, double &least) {
  RunWorkspace &work = i.work;
  const bool end = s >= 1.0;
  const Outcome outcome = end ? Outcome::reached : interpolate(stepper, i, h, s);
  if (outcome != Outcome::reached)
    return outcome;
  if (!rates(i, i.run.t + s * h, end ? work.q1 : work.qs, end ? work.v1 : work.vs, end ? work.x1 : work.xs, work.error,
             work.error + i.m.nv))
    return Outcome::callback_failed;
  least = least_exit(i);
  return Outcome::reached;
}

// Whether it makes no difference that the step went on, from a fraction of it, on branches that it has left at its end.
// If so, those that fit are taken.
Outcome changes_slightly(const RunContext &i, double h, double from, bool &slightly) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  const int n = increments(m);
  double *before = work.error3, *after = work.error; // rates
  slightly = false;
  for (int k = 0; k < m.switching_count; ++k)
    if (left(i, k) && (is_mixed(m.switching_functions[k], work.branches[k]) || work.branches[k] != work.branches[k]))
      return Outcome::reached;
  copy(work.branches, m.switching_count, work.passed);
  for (int k = 0; k < m.switching_count; ++k)
    if (left(i, k))
      work.branches[k] = side_of(m, m.switching_functions[k], work.motion.system.switching_values[k]);
  if (!rates(i, i.run.t + h, work.q1, work.v1, work.x1, after, after + m.nv))
    return Outcome::callback_failed;
  const bool consistent = least_exit(i) >= 0.0;
  for (int f = 0; f < m.nv; ++f)
    before[f] = 0.0, before[m.nv + f] = (after[f] - work.a1[f]) * (1.0 - from) * h;
  for (int k = 0; k < m.nx; ++k)
    before[2 * m.nv + k] = (after[m.nv + k] - work.dx1[k]) * (1.0 - from) * h;
  const double size = measure(i, before, work.q1, work.v1, work.x1) * std::sqrt(double(n));
  slightly = consistent && size < slight;
  if (slightly) {
    copy(after, m.nv, work.a1);
    copy(after + m.nv, m.nx, work.dx1);
    for (int k = 0; k < m.switching_count; ++k)
      work.slack[k] = work.branches[k] == work.passed[k] ? work.slack[k] : 0.0;
  } else {
    copy(work.passed, m.switching_count, work.branches);
  }
  return Outcome::reached;
}

} // namespace

double exit_of(const RunContext &i, int k) {
  const RunWorkspace &work = i.work;
  const double side = work.branches[k], margin = work.motion.system.switching_values[k];
  if (side != side || (side != 0.0 && is_mixed(i.m.switching_functions[k], side)))
    return never;
  if (side == 0.0 && !i.m.switching_functions[k].whole)
    return 1.0 - std::fabs(work.motion.system.sides[k]);
  return inside(i.m, i.m.switching_functions[k], side, Interval(margin));
}

bool record_exits(const RunContext &i, const SystemState<double> &state, double *a, double *dx) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  bool beyond = false;
  for (int k = 0; k < m.switching_count; ++k) {
    const double exit = exit_of(i, k), margin = work.motion.system.switching_values[k];
    work.least[k] = std::min(work.least[k], exit);
    work.lowest[k] = std::min(work.lowest[k], margin);
    work.highest[k] = std::max(work.highest[k], margin);
    beyond |= exit < 0.0;
  }
  if (!beyond || (all_finite(a, m.nv) && all_finite(dx, m.nx)))
    return true;
  for (int k = 0; k < m.switching_count; ++k)
    work.strayed[k] = std::min(work.strayed[k], exit_of(i, k));
  release_branches(i);
  const bool done = dynamics(m, i.run.conditions, work.motion, state, a, dx);
  restore_branches(i);
  return done;
}

void release_branches(const RunContext &i) {
  RunWorkspace &work = i.work;
  copy(work.branches, i.m.switching_count, work.held);
  for (int k = 0; k < i.m.switching_count; ++k)
    if (exit_of(i, k) < 0.0 && !is_sliding_mode(i.m, work.branches, k))
      work.branches[k] = std::numeric_limits<double>::quiet_NaN();
}

void restore_branches(const RunContext &i) { copy(i.work.held, i.m.switching_count, i.work.branches); }

void clear_exits(const RunContext &i) {
  if (!i.run.conditions.law_branches)
    return;
  std::fill_n(i.work.least, i.m.switching_count, never);
  std::fill_n(i.work.lowest, i.m.switching_count, never);
  std::fill_n(i.work.highest, i.m.switching_count, -never);
  std::fill_n(i.work.strayed, i.m.switching_count, 0.0);
}

bool strays(const RunContext &i) {
  const RunWorkspace &work = i.work;
  for (int k = 0; i.run.conditions.law_branches && k < i.m.switching_count; ++k) {
    const double within = work.branches[k] < 0.0 ? -work.lowest[k] : work.highest[k];
    if (work.strayed[k] < -far_beyond * std::max(0.0, within))
      return true;
  }
  return false;
}

namespace {

bool run_slides(const RunContext &i) {
  for (int k = 0; k < i.m.switching_count; ++k)
    if (is_sliding_mode(i.m, i.work.branches, k))
      return true;
  return false;
}

// a part of a step in which a branch is left, and how far inside its branches the state is at both ends of it
struct Exit {
  Departure part;
  double above = 0.0, below = 0.0;
};

// The next part of the step, from a fraction on, in which a branch is left, on the loops too.
Outcome next_exit(const Stepper &stepper, const RunContext &i, double h, double from, Exit &exit) {
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

constexpr int sliding = -2; // in place of a switching function

// Of a motion that slides: the part of the step, before another exit, in which it leaves, if it does.
Outcome find_slide_end(const Stepper &stepper, const RunContext &i, double h, Exit &exit) {
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

// What it makes of the motion, in tolerances, that laws do not follow branches that are left at a fraction of the step,
// from another fraction on.
Outcome jump_at(const Stepper &stepper, const RunContext &i, double h, double s, double from, double &jump) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  double *before = work.error3, *after = work.error;
  Outcome outcome = interpolate(stepper, i, h, s);
  if (outcome != Outcome::reached)
    return outcome;
  const double t = i.run.t + s * h;
  if (!rates(i, t, work.qs, work.vs, work.xs, before, before + m.nv))
    return Outcome::callback_failed;
  release_branches(i);
  const bool done = rates(i, t, work.qs, work.vs, work.xs, after, after + m.nv);
  restore_branches(i);
  if (!done)
    return Outcome::callback_failed;
  for (int k = m.nv + m.nx; k-- > 0;)
    before[m.nv + k] = (after[k] - before[k]) * (1.0 - from) * h;
  std::fill_n(before, m.nv, 0.0);
  jump = measure(i, before, work.q1, work.v1, work.x1) * std::sqrt(double(increments(m)));
  return Outcome::reached;
}

// Where branches have been left, at the last evaluation: they are marked, and the monitor looks for the ends of those
// after them.
void follow_base(const RunContext &i) {
  RunWorkspace &work = i.work;
  for (int k = 0; k < i.m.switching_count; ++k) {
    work.passed[k] = left(i, k) ? 1.0 : 0.0;
    if (double &base = work.switching.base[k]; base == base)
      base = side_of(i.m, i.m.switching_functions[k], work.motion.system.switching_values[k]);
  }
}

// The first exit of the step just made, and whether all branches that are left stay left until its end, to little
// effect.
Outcome find_exit(const Stepper &stepper, const RunContext &i, double h, bool seen, Exit &first, bool &for_good) {
  first = {};
  for_good = false;
  Outcome outcome = monitored_branches(i, h) ? Outcome::reached : Outcome::callback_failed;
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
    if (outcome != Outcome::reached || slide.part.function == sliding) {
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
    for (int k = 0; k < i.m.switching_count; ++k)
      for_good &= i.work.passed[k] == 0.0 || i.m.switching_functions[k].whole || left(i, k);
    for_good &= exits < max_exits;
    if (outcome == Outcome::reached && for_good)
      outcome = next_exit(stepper, i, h, begin, next);
    for_good &= next.part.kind != Departure::Kind::followed;
    if (outcome == Outcome::reached && for_good)
      outcome = jump_at(stepper, i, h, 0.5 * (begin + (next.part.kind == Departure::Kind::none ? 1.0 : next.part.low)),
                        first.part.low, jump);
    if (outcome != Outcome::reached)
      return outcome;
    for_good &= jump < slight;
  }
  return first.part.low > 0.0 ? least_at(stepper, i, h, first.part.low, first.above) : outcome;
}

// Switching functions with levels that pass by too fast to be stepped up to are released; whether there are any.
bool release_fast_levels(const RunContext &i) {
  const ModelData &m = i.m;
  const RunWorkspace &work = i.work;
  bool any = false;
  for (int k = 0; k < m.switching_count; ++k) {
    const SwitchingFunctionData &function = m.switching_functions[k];
    if (function.whole &&
        std::fabs(side_of(m, function, work.motion.system.switching_values[k]) - work.branches[k]) > max_levels) {
      let_go(i, k);
      any = true;
    }
  }
  return any;
}

// the part of the step in which no table is passed over
double visible_part(const RunContext &i) {
  double part = 1.0;
  for (int k = 0; k < i.m.switching_count; ++k) {
    const double most = max_move(i.m, i.m.switching_functions[k]), range = i.work.highest[k] - i.work.lowest[k];
    if (range > 1.5 * most)
      part = std::min(part, most / range);
  }
  return part;
}

// A fraction of a step at which branches are left, between two others, and the least of exits there: they are negative
// from it on.
struct Bracket {
  double low, high;    // fractions
  double above, below; // exits at them
};

// Narrows a bracket by inverse quadratic interpolation with bisection (Chandrupatla 1997). a and b are points around
// the root, a the newer one, c the one before.
Outcome narrow(const Stepper &stepper, const RunContext &i, double h, Bracket &bracket) {
  double a = bracket.low, at_a = bracket.above, b = bracket.high, at_b = bracket.below, c = bracket.low,
         at_c = bracket.above;
  for (int round = 0; round < 60 && bracket.high - bracket.low > precise; ++round) {
    double part = 0.5;
    const double xi = (a - b) / (c - b), phi = (at_a - at_b) / (at_c - at_b);
    if (round && c != a && c != b && phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi)
      part =
          at_a / (at_b - at_a) * at_c / (at_b - at_c) + (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b);
    else if (!round && bracket.above > 0.0)
      part = at_a / (at_a - at_b);
    const double least = 0.5 * precise / std::fabs(b - a);
    const double s = a + std::min(1.0 - least, std::max(least, part)) * (b - a);
    double value;
    const Outcome outcome = least_at(stepper, i, h, s, value);
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
      bracket.high = s, bracket.below = value;
    else
      bracket.low = s;
  }
  return Outcome::reached;
}

// marks the branches that are left at the state of the last evaluation; whether there are any
bool mark_left(const RunContext &i) {
  bool any = false;
  for (int k = 0; k < i.m.switching_count; ++k) {
    i.work.passed[k] = left(i, k) ? 1.0 : 0.0;
    any |= left(i, k);
  }
  return any;
}

// Locates the switch in a part of the step and marks the branches that are left there.
Outcome locate_in(const Stepper &stepper, const RunContext &i, double h, Bracket &bracket, SwitchLocation &location) {
  Outcome outcome = narrow(stepper, i, h, bracket);
  double value;
  const double beyond = std::min(1.0, bracket.high + together), after = beyond - bracket.high;
  if (outcome == Outcome::reached)
    outcome = least_at(stepper, i, h, beyond, value);
  if (outcome != Outcome::reached)
    return outcome;
  if (!mark_left(i)) { // so short is it left
    outcome = least_at(stepper, i, h, bracket.high, value);
    if (outcome != Outcome::reached)
      return outcome;
    mark_left(i);
  }
  i.run.switch_slope = after > 0.5 * together ? (value - bracket.below) / (after * h) : 0.0;
  const double shortest = 4e-16 * std::fabs(i.run.t);
  if (bracket.high * h <= shortest)
    location = SwitchLocation::here;
  else
    location = bracket.high >= 1.0 - together ? SwitchLocation::end : SwitchLocation::inside;
  i.run.step_to_switch = location == SwitchLocation::inside ? bracket.high * h : 0.0;
  return Outcome::reached;
}

// A branch that is not held changes to and fro: a few shorter steps lead into it; what is left is for the error
// control.
SwitchLocation lead_in(const RunContext &i, double length, SwitchLocation otherwise) {
  if (i.run.lead_in_steps++ >= max_led_in)
    return otherwise;
  i.run.step = length;
  return SwitchLocation::unseen;
}

} // namespace

Outcome locate_switch(const Stepper &stepper, const RunContext &i, double h, SwitchLocation &location) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  const bool astray = strays(i);
  location = astray ? SwitchLocation::astray : SwitchLocation::none;
  bool any = false;
  for (int k = 0; k < m.switching_count; ++k) {
    any |= work.least[k] < -work.slack[k];
    work.kept[k] = exit_of(i, k);
  }
  if (release_fast_levels(i)) {
    location = SwitchLocation::again;
    return Outcome::reached;
  }
  if (const double part = visible_part(i); part < 1.0) {
    i.run.step = part * h;
    location = SwitchLocation::unseen;
    return Outcome::reached;
  }
  Exit exit; // the part of the step in which a branch is left
  bool for_good = false, slightly = false;
  Outcome outcome = find_exit(stepper, i, h, any, exit, for_good);
  if (outcome != Outcome::reached)
    return outcome;
  if (exit.part.kind == Departure::Kind::none) {
    for (int k = 0; k < m.switching_count && !any; ++k) // at its end
      work.slack[k] = work.kept[k] > 0.0 ? 0.0 : work.slack[k];
    return outcome;
  }
  if (exit.part.kind == Departure::Kind::followed) {
    location = lead_in(i, exit.part.high * h, location);
    return outcome;
  }
  if (for_good && !astray) { // whether it matters
    double end;
    outcome = least_at(stepper, i, h, 1.0, end);
    if (outcome == Outcome::reached)
      outcome = changes_slightly(i, h, exit.part.low, slightly);
  }
  if (slightly)
    location = SwitchLocation::slight;
  if (outcome != Outcome::reached || slightly)
    return outcome;
  Bracket bracket{exit.part.low, exit.part.high, exit.above, exit.below};
  return locate_in(stepper, i, h, bracket, location);
}

// What other branches at marked switching functions, seen from a state, make of motion in a time, in tolerances; after
// an evaluation of the state with those that are held, whose rates stand in a1 and dx1.
static double jumps(const RunContext &i, double t, const double *q, const double *v, const double *x, double time) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  double *rate = work.error, *z = work.error3;
  std::copy_n(work.branches, m.switching_count, work.kept);
  for (int k = 0; k < m.switching_count; ++k)
    if (work.passed[k] != 0.0)
      work.branches[k] = other_side(i, k, work.motion.system.switching_values[k]);
  const bool done = rates(i, t, q, v, x, rate, rate + m.nv);
  std::copy_n(work.kept, m.switching_count, work.branches);
  for (int f = 0; f < m.nv; ++f)
    z[f] = 0.0, z[m.nv + f] = time * (rate[f] - work.a1[f]);
  for (int k = 0; k < m.nx; ++k)
    z[2 * m.nv + k] = time * (rate[m.nv + k] - work.dx1[k]);
  return done ? measure(i, z, q, v, x) * std::sqrt(double(increments(m))) : never;
}

bool improve_switch_time(const RunContext &i, double h) {
  Run &run = i.run;
  RunWorkspace &work = i.work;
  double rest = never;
  for (int k = 0; k < i.m.switching_count; ++k)
    if (i.work.passed[k] != 0.0)
      rest = std::min(rest, exit_of(i, k) + i.work.slack[k]);
  const double change = run.switch_slope < 0.0 ? -rest / run.switch_slope : 0.0;
  run.switch_slope = 0.0;
  if (!(std::fabs(change) < 1e-3 * h) || !(std::fabs(change) > 1e-11 * h))
    return false;
  run.step_to_switch = h + change;
  return jumps(i, run.t + h, work.q1, work.v1, work.x1, change) > 1e-3 * slight;
}

bool initialize_branches(const RunContext &i) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  std::fill_n(work.slack, m.switching_count, 0.0);
  std::fill_n(work.passed, m.switching_count, 0.0);
  if (i.run.initial_branches) {
    copy(i.run.initial_branches, m.switching_count, work.branches);
    return true;
  }
  std::fill_n(work.branches, m.switching_count, std::numeric_limits<double>::quiet_NaN());
  if (!evaluate(i))
    return false;
  bool ties = false;
  for (int k = 0; k < m.switching_count; ++k) {
    const double margin = work.motion.system.switching_values[k];
    work.branches[k] = m.switching_functions[k].followed ? std::numeric_limits<double>::quiet_NaN()
                                                         : side_of(m, m.switching_functions[k], margin);
    if (m.switching_functions[k].followed)
      continue;
    if (const double *fixed = i.run.fixed_branches; fixed && is_mixed(m.switching_functions[k], fixed[k])) {
      work.branches[k] = fixed[k];
      continue;
    }
    work.passed[k] = margin == 0.0 && !m.switching_functions[k].whole ? 1.0 : 0.0;
    ties |= work.passed[k] != 0.0;
  }
  return ties ? switch_branches(i) : true;
}

bool update_branches(const RunContext &i) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  for (int round = 0; round < max_rounds; ++round) {
    bool changed = false;
    for (int k = 0; k < m.switching_count; ++k) {
      if (!left(i, k))
        continue;
      const double mixture = work.motion.system.sides[k];
      work.branches[k] = is_sliding_mode(m, work.branches, k)
                             ? (mixture < 0.0 ? -1.0 : 1.0)
                             : side_of(m, m.switching_functions[k], work.motion.system.switching_values[k]);
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
bool rate_on(const RunContext &i, int k, double side, double &rate) {
  RunWorkspace &work = i.work;
  const double kept = work.branches[k];
  work.branches[k] = side;
  if (!evaluate(i))
    return false;
  switching_rates(i.m, i.run.conditions, work.motion.system, work.motion.sliding,
                  {i.run.interval.clamp(i.run.t), work.q, work.v, work.x}, work.a, work.dx, work.motion.sliding.above);
  rate = work.motion.sliding.above[k];
  work.branches[k] = kept;
  return true;
}

// by how much the rates of the state differ from those in work.error, in tolerances, for a step of the usual length
double jump_of(const RunContext &i) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  double *z = work.error3;
  for (int f = 0; f < m.nv; ++f)
    z[f] = 0.0, z[m.nv + f] = i.run.step * (work.a[f] - work.error[f]);
  for (int k = 0; k < m.nx; ++k)
    z[2 * m.nv + k] = i.run.step * (work.dx[k] - work.error[m.nv + k]);
  return measure(i, z, work.q, work.v, work.x) * std::sqrt(double(increments(m)));
}

// whether mixtures of a law's branches can be had
bool may_slide(const ModelData &m, const double *sides, int k) {
  const ElementData &e = m.elements[m.switching_functions[k].element];
  int count = 0;
  for (int j = 0; j < m.switching_count; ++j)
    count += is_sliding_mode(m, sides, j);
  return e.form == LawForm::program && !e.unknowns && e.switching_functions <= max_mixed && count < max_sliding;
}

} // namespace

bool switch_branches(const RunContext &i) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  if (!evaluate(i))
    return false;
  std::copy_n(work.motion.system.switching_values, m.switching_count, work.kept);
  for (int k = 0; k < m.switching_count; ++k) { // mixtures that have come to their ends, and whole numbers
    if (work.passed[k] == 0.0)
      continue;
    if (m.switching_functions[k].whole || is_sliding_mode(m, work.branches, k)) {
      work.branches[k] = other_side(i, k, work.kept[k]);
      work.passed[k] = 2.0;
    }
  }
  for (int k = 0; k < m.switching_count; ++k) {
    if (work.passed[k] != 1.0)
      continue;
    const double old = work.branches[k];
    double here, beyond;
    if (!rate_on(i, k, old, here))
      return false;
    copy(work.a, m.nv, work.error);
    copy(work.dx, m.nx, work.error + m.nv);
    if (!rate_on(i, k, -old, beyond))
      return false;
    if (std::max(i.run.consecutive_switches, i.run.switches_without_step) > max_in_a_row && jump_of(i) < slight) {
      let_go(i, k);
      continue;
    }
    const double size = 1e-9 * (std::fabs(here) + std::fabs(beyond));
    const bool returns = -old * beyond<-size, leaves = -old * here> size;
    if (returns && leaves && may_slide(m, work.branches, k))
      work.branches[k] = 0.0;
    else if (leaves || work.kept[k] != 0.0 || -old * beyond > size) // at the start, from zero, it may as well stay
      work.branches[k] = -old;
  }
  for (int k = 0; k < m.switching_count; ++k)
    work.slack[k] = work.passed[k] != 0.0 ? never : work.slack[k];
  if (!evaluate(i) || !update_branches(i))
    return false;
  for (int k = 0; k < m.switching_count; ++k) {
    if (work.passed[k] == 0.0)
      continue;
    work.slack[k] = std::max(0.0, -exit_of(i, k));
    work.passed[k] = 0.0;
  }
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
