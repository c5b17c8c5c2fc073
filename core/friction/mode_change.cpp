#include "friction/mode_change.hpp"
#include "friction/change.hpp"
#include "friction/discontinuous_laws.hpp"
#include "friction/holding_margin.hpp"
#include "friction/impacts.hpp"
#include "friction/load_limits.hpp"
#include "friction/progress.hpp"
#include "friction/row_response.hpp"
#include "friction/slow_groups.hpp"
#include "friction/stick_slip.hpp"
#include "friction/switching_values.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double jam_hold_time = 1e-7; // of the run: a jammed row is held this long so that integration passes the jam
constexpr double rest_factor = 10.0;   // position tolerances, as a velocity: slower rows are on their stops

std::size_t at(int k) { return std::size_t(k); }

// the parameter of a row's mode; rows that are driven or locked by the user have friction by the sign of the velocity
constexpr double by_velocity_sign = 2.0;

// marks rows with all rows of their vector groups
void mark_with_group(const FrictionRun &f, int row, std::vector<unsigned char> &marks, bool value) {
  const std::int32_t group = f.rows[at(row)].group;
  marks[at(row)] = value;
  if (group >= 0)
    for (const std::int32_t k : f.groups[at(group)])
      marks[at(k)] = value;
}

void find_rows_at_rest(Change &c, const std::vector<std::int32_t> &passed) {
  ChangeWorkspace &w = c.w;
  const auto each_rest = [&](auto &&use) {
    for (const std::int32_t number : passed)
      if (number < int(c.f.switches.size()) && c.f.switches[at(number)].kind == SwitchKind::rest)
        use(c.f.switches[at(number)].row);
  };
  mark_slow_rows(c);
  std::fill(w.marks.begin(), w.marks.end(), 0);
  each_rest([&](int k) {
    if (was_sliding(c, k))
      mark_with_group(c.f, k, w.marks, true);
  });
  for (const int k : w.jammed)
    w.marks[at(k)] = 1;
  stop_slow_groups(c);
  for (int k = 0; k < c.n; ++k) // they come to rest
    if (w.marks[at(k)])
      w.at_rest[at(k)] = c.f.movable[at(k)];
  each_rest([&](int k) { // or begin to move with others
    if (!was_sliding(c, k))
      mark_with_group(c.f, k, w.at_rest, false);
  });
}

void find_closed_stops(Change &c, const std::vector<std::int32_t> &passed) {
  const FrictionRun &f = c.f;
  ChangeWorkspace &w = c.w;
  for (int k = 0; k < c.n; ++k) {
    const FrictionRow &row = f.rows[at(k)];
    w.low[at(k)] = f.movable[at(k)] && w.s[at(k)] <= row.lower + 2.0 * f.position_tol;
    w.high[at(k)] = f.movable[at(k)] && w.s[at(k)] >= row.upper - 2.0 * f.position_tol;
  }
  for (const std::int32_t number : passed)
    if (number < int(f.switches.size())) {
      const RowSwitch &which = f.switches[at(number)];
      if (which.kind == SwitchKind::lower)
        w.low[at(which.row)] = 1;
      else if (which.kind == SwitchKind::upper)
        w.high[at(which.row)] = 1;
    }
  for (int k = 0; k < c.n; ++k) {
    w.side[at(k)] = w.high[at(k)] ? 1.0 : w.low[at(k)] ? -1.0 : 0.0;
    if (w.low[at(k)] && w.high[at(k)]) // a range of zero width
      w.side[at(k)] = w.u[at(k)] < 0.0 ? -1.0 : 1.0;
  }
}

// stops that remain closed, with tree coordinates exactly on them
void settle_on_stops(Change &c) {
  ChangeWorkspace &w = c.w;
  for (int k = 0; k < c.n; ++k) {
    const bool on_stop = c.f.movable[at(k)] && std::fabs(w.u[at(k)]) <= c.least;
    if (w.side[at(k)] * w.u[at(k)] < -c.least || !(w.at_rest[at(k)] || (on_stop && w.side[at(k)] != 0.0)))
      w.side[at(k)] = 0.0;
    const FrictionRow &row = c.f.rows[at(k)];
    if (w.side[at(k)] == 0.0 || row.coordinate < 0 || row.coordinate >= c.i.m.nq)
      continue;
    const double stop = w.side[at(k)] < 0.0 ? row.lower : row.upper;
    w.responds = w.responds && c.q()[row.coordinate] == stop;
    c.q()[row.coordinate] = stop;
  }
}

// rows that are held because they jam, or because their modes change without progress
void hold_rows(Change &c) {
  ChangeWorkspace &w = c.w;
  if (!w.jammed.empty()) {
    std::fill(w.held.begin(), w.held.end(), 0);
    for (const int k : w.jammed)
      w.held[at(k)] = 1;
    c.f.progress.next_review = c.i.run.t + jam_hold_time * c.f.span;
    return;
  }
  for (int k = 0; k < c.n; ++k)
    w.marks[at(k)] = c.f.movable[at(k)] && (w.at_rest[at(k)] || w.side[at(k)] != 0.0);
  c.undecided = !hold_undecided_rows(c.f, c.i.run.t, w.marks, w.held, c.log.hold);
}

// removes the remaining velocities of locked rows
void stop_locked_rows(Change &c) {
  ChangeWorkspace &w = c.w;
  const std::vector<std::int32_t> &locked = c.f.modes.locked;
  if (locked.empty())
    return;
  read_motion(c);
  if (std::any_of(locked.begin(), locked.end(), [&](std::int32_t k) { return w.u[at(k)] != 0.0; })) {
    w.chosen.assign(locked.begin(), locked.end());
    find_response(c, c.f.prescribed[1], w.chosen);
    stop_rows(c, w.chosen);
  }
  for (const std::int32_t k : locked)
    if (const int place = c.f.rows[at(k)].place; place < c.i.m.nv)
      c.v()[place] = 0.0;
}

// Signs of rows that slide on, by the velocities that they have once locked rows are stopped: where drives and locks
// determine all velocities, rest of a group is only assumed on the way.
void renew_signs(Change &c) {
  ChangeWorkspace &w = c.w;
  FrictionModes &modes = c.f.modes;
  read_motion(c);
  bool any = false;
  for (int k = 0; k < c.n; ++k) {
    const bool slides_on = w.sliding[at(k)] && c.f.rows[at(k)].group < 0 && modes.sign[at(k)] != 0.0;
    if (!slides_on || !(modes.sign[at(k)] * w.u[at(k)] < 0.0))
      continue;
    modes.sign[at(k)] = -modes.sign[at(k)];
    any = true;
  }
  if (any)
    apply_modes(c.i, c.f);
}

// Stops jammed rows by impulses along them.
void stop_jammed_rows(Change &c) {
  if (c.w.jammed.empty())
    return;
  read_motion(c);
  find_response(c, c.f.prescribed[1], c.w.jammed);
  stop_rows(c, c.w.jammed);
  c.log.velocities_jumped = true;
  c.log.jams.assign(c.w.jammed.begin(), c.w.jammed.end());
}

// Determines state and modes, unless sliding rows jam (w.jams).
void determine(Change &c, const std::vector<std::int32_t> &passed) {
  ChangeWorkspace &w = c.w;
  const auto approaches = [&](int k) { return c.f.movable[at(k)] && w.side[at(k)] * w.u[at(k)] > c.least; };
  const auto leaves = [&](int k) { return c.f.movable[at(k)] && w.side[at(k)] * w.u[at(k)] < -c.least; };
  release_rows(c);
  stop_jammed_rows(c);
  read_motion(c);
  find_rows_at_rest(c, passed);
  find_closed_stops(c, passed);
  if (c.any(approaches))
    apply_impact(c);
  else if (c.any(leaves))
    stop_short_flights(c);
  if (c.stopped())
    return;
  read_motion(c);
  settle_on_stops(c);
  hold_rows(c);
  w.jams.clear();
  if (!c.stopped())
    decide(c);
}

void make_change(Change &c, const std::vector<std::int32_t> &passed) {
  ChangeWorkspace &w = c.w;
  read_motion(c);
  find_starting_groups(c);
  if (!c.stopped())
    determine(c, passed);
  if (!c.stopped() && !w.jams.empty()) {
    c.undecided = !w.jammed.empty();
    w.jammed = w.jams;
    if (!c.undecided)
      determine(c, passed);
    c.undecided = c.undecided || !w.jams.empty();
  }
  if (c.stopped())
    return;
  apply_modes(c.i, c.f);
  move_to_jumps(c);
  stop_locked_rows(c);
  renew_signs(c);
  c.undecided = !record_progress(c.f, c.i.run.t, w.before, c.log.impacts);
}

// Sliding rows without a friction that is consistent with their load: while stuck rows hold, or without them.
void find_jams(Change &c) {
  ChangeWorkspace &w = c.w;
  read_motion(c);
  for (int k = 0; k < c.n; ++k)
    w.sliding[at(k)] = c.f.movable[at(k)] && c.f.modes.sign[at(k)] != 0.0;
  find_jammed_rows(c);
  release_rows(c);
  const bool held = !c.f.modes.locked.empty();
  c.f.modes.locked.clear();
  if (held && w.jams.empty() && !c.failed)
    find_jammed_rows(c);
}

void find_groups(FrictionRun &f) {
  f.groups.clear();
  for (std::size_t k = 0; k < f.rows.size(); ++k)
    if (const std::int32_t group = f.rows[k].group; group >= 0) {
      f.groups.resize(std::max(f.groups.size(), std::size_t(group) + 1));
      f.groups[std::size_t(group)].push_back(std::int32_t(k));
    }
}

// constraints and parts of rows of cut joints
void find_cut_rows(const ModelData &m, FrictionRun &f) {
  const std::size_t n = f.rows.size();
  f.constraint.assign(n, -1), f.part.assign(n, 0);
  f.has_cut_rows = false;
  for (std::size_t k = 0; k < n; ++k) {
    const int place = f.rows[k].place - m.nv;
    for (int c = 0; c < m.loop_constraint_count; ++c)
      if (const LoopConstraintData &constraint = m.loop_constraints[c];
          place >= constraint.v && place < constraint.v + constraint.nv)
        f.constraint[k] = c, f.part[k] = place - constraint.v, f.has_cut_rows = true;
  }
}

void find_movable_rows(const ModelData &m, FrictionRun &f) {
  f.movable.resize(f.rows.size());
  for (std::size_t k = 0; k < f.rows.size(); ++k) {
    const int place = f.rows[k].place;
    const std::vector<unsigned char> &marks = place < m.nv ? f.prescribed[0] : f.cut_locked;
    const std::size_t index = std::size_t(place < m.nv ? place : place - m.nv);
    f.movable[k] = !(index < marks.size() && marks[index]);
  }
}

void restore_state(const RunContext &i, const std::vector<double> &state) {
  std::copy_n(state.begin(), i.m.nq, i.work.q);
  std::copy_n(state.begin() + i.m.nq, i.m.nv, i.work.v);
}

} // namespace

void set_condition_marks(Conditions &c, FrictionRun &f) {
  const auto pointer = [](const std::vector<unsigned char> &marks) -> const unsigned char * {
    return std::find(marks.begin(), marks.end(), 1) == marks.end() ? nullptr : marks.data();
  };
  c.acceleration_prescribed = pointer(f.current_prescribed[0]);
  c.velocity_prescribed = pointer(f.current_prescribed[1]);
  c.position_prescribed = pointer(f.current_prescribed[2]);
  c.cut_velocity_locked = pointer(f.current_cut_locked);
  c.parameters = f.parameters.data();
}

void prepare_friction(const RunContext &i, FrictionRun &f) {
  const ModelData &m = i.m;
  const std::size_t n = f.rows.size(), nv = std::size_t(m.nv);
  ReportWorkspace report;
  if (!f.report_memory.block)
    f.report_memory.block = std::make_unique<Block>(lay_out(m, nullptr, report));
  find_cut_rows(m, f);
  find_groups(f);
  f.opened.assign(std::size_t(m.loop_constraint_count), 0);
  f.cut_q.resize(std::size_t(m.cut_nq)), f.cut_v.resize(std::size_t(m.cut_nv)), f.cut_a.resize(std::size_t(m.cut_nv));
  for (std::vector<double> *each : {&f.s, &f.u, &f.speed, &f.own})
    each->resize(n);
  f.A.resize(n * n), f.J.resize(n * nv), f.D.resize(n * nv);
  f.efforts.resize(nv + std::size_t(m.cut_nv));
  f.held_efforts.reserve(n), f.passed.reserve(std::size_t(f.function_count()));
  f.signals.assign(std::size_t(m.signal_count), 0.0);
  f.has_load_friction = std::any_of(f.rows.begin(), f.rows.end(), [](const FrictionRow &row) { return row.load >= 0; });
  f.qp.reserve(int(n));
  reserve_change(m, f);
  reserve_laws(m, f);
  const std::size_t most = n + f.laws.sides.size(); // rows, and laws that hold
  f.limits.resize(most), f.independent.reserve(int(most));
  reserve_margins(f.margins, int(most));
  f.holding.extend(most), f.change.held_before.extend(most);
  if (f.laws.possible)
    i.run.fixed_branches = f.laws.sides.data();
  reserve_progress(f.progress, n);
  f.modes.locked.reserve(n);
  f.values.resize(std::size_t(f.function_count()), 1.0);
  for (int k = 0; k < 3; ++k)
    f.prescribed[k].resize(nv);
  f.cut_locked.resize(std::size_t(m.cut_nv));
  find_movable_rows(m, f);
  f.parameters.assign(i.run.conditions.parameters, i.run.conditions.parameters + m.parameter_count);
  if (f.holding.holds)
    find_holding_sets(f.holding, f.modes);
  apply_modes(i, f);
}

void apply_modes(const RunContext &i, FrictionRun &f) {
  for (int k = 0; k < 3; ++k)
    f.current_prescribed[k] = f.prescribed[k];
  f.current_cut_locked = f.cut_locked;
  for (const std::int32_t k : f.modes.locked) {
    const int place = f.rows[at(k)].place;
    if (place >= i.m.nv)
      f.current_cut_locked[at(place - i.m.nv)] = 1;
    else
      f.current_prescribed[0][at(place)] = f.current_prescribed[1][at(place)] = f.current_prescribed[2][at(place)] = 1;
  }
  write_signs(f, f.modes.sign);
  set_law_branches(f);
  for (int k = 0; k < f.count(); ++k)
    if (const FrictionRow &row = f.rows[at(k)]; row.mode >= 0 && !has_movable_group(f, k))
      f.parameters[at(row.mode)] = by_velocity_sign;
  set_condition_marks(i.run.conditions, f);
  i.run.max_step = f.holding.holds ? f.longest_stuck_step : f.longest_step;
}

// Names the rows at rest, and the sliding rows that cannot be stopped; without any of them, those with friction by load.
static void name_failed_rows(FrictionRun &f) {
  const ChangeWorkspace &w = f.change;
  std::vector<std::int32_t> &failed = f.failed_rows;
  failed.assign(w.rows.begin(), w.rows.end());
  failed.insert(failed.end(), w.jams.begin(), w.jams.end());
  for (int k = 0; failed.empty() && k < f.count(); ++k)
    if (f.rows[at(k)].load >= 0 && f.modes.sign[at(k)] != 0.0)
      failed.push_back(k);
  std::sort(failed.begin(), failed.end());
  failed.erase(std::unique(failed.begin(), failed.end()), failed.end());
}

static ModeChange change_modes(const RunContext &i, FrictionRun &f, const std::vector<std::int32_t> &passed,
                               bool jams) {
  RunWorkspace &work = i.work;
  ChangeWorkspace &w = f.change;
  w.state.assign(work.q, work.q + i.m.nq);
  w.state.insert(w.state.end(), work.v, work.v + i.m.nv);
  const AllStates states = all_states(i, work.x);
  w.state.insert(w.state.end(), states.x, states.end());
  w.before = f.modes, w.held_before = f.holding;
  w.responds = false;
  f.failure = FrictionFailure::none;
  FrictionChange &log = f.changes.emplace_back();
  log.t = i.run.t;
  log.velocities_jumped = false;
  const double slow = rest_tol_factor(f, i.run.t);
  Change change{i, f, w, log, f.count(), slow, rest_factor * f.position_tol * slow};
  w.jammed.clear();
  w.released = std::find(passed.begin(), passed.end(), f.margin_function()) != passed.end();
  if (jams) {
    find_jams(change);
    w.jammed = w.jams;
    change.undecided = w.jams.empty();
  }
  if (!change.stopped())
    make_change(change, passed);
  if (!change.stopped()) {
    log.modes = f.modes, log.before = w.state, log.passed = passed;
    return ModeChange::made;
  }
  if (change.undecided && f.failure == FrictionFailure::none) {
    f.failure = change.not_finite ? FrictionFailure::not_finite : FrictionFailure::no_solution;
    name_failed_rows(f);
  }
  f.changes.pop_back();
  f.modes = w.before, f.holding = w.held_before;
  restore_state(i, w.state);
  apply_modes(i, f);
  return change.failed ? ModeChange::callback_failed : ModeChange::undecided;
}

ModeChange change_modes(const RunContext &i, FrictionRun &f, const std::vector<std::int32_t> &passed) {
  return change_modes(i, f, passed, false);
}

ModeChange stop_jammed_rows(const RunContext &i, FrictionRun &f) {
  f.passed.clear();
  return f.has_load_friction ? change_modes(i, f, f.passed, true) : ModeChange::undecided;
}

} // namespace dalembert::DALEMBERT_ISA
