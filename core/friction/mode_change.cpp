#include "friction/mode_change.hpp"
#include "friction/holding_margin.hpp"
#include "friction/row_response.hpp"
#include "friction/rows_at_rest.hpp"
#include "friction/switching_values.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double stuck_drift = 100.0; // rest tolerances: faster stuck rows were hit; slower ones drifted by projection
constexpr double short_flight = 10.0; // position tolerances: a row that would leave its stop by less stays on it
constexpr double barely = 0.1;        // position tolerances: a row that friction stops within this stays at rest
constexpr double rest_factor = 10.0;  // position tolerances, as a velocity: slower rows are on their stops
constexpr double zero_acceleration = 1e-9;  // of the largest acceleration
constexpr double rounding = 1e-13;          // of the size of an effort or its acceleration: smaller sums are rounding
constexpr double min_effort_scale = 1e-3;   // of the size of efforts: scale of margins, so that a release is definite
constexpr double immobile_response = 1e-12; // of the response of a row without loops: a smaller response is none
constexpr int max_load_rounds = 30;         // of load-dependent limits
constexpr double difference_step = 1e-4;    // of efforts, for derivatives of loads
constexpr double max_gain = 0.9;            // from here on friction and loads may have several solutions, or none
constexpr int max_stalled_changes = 3;      // changes within min_progress: then modes are not determined here
constexpr double min_progress = 1e-9;       // of the run: less time between changes is no progress

std::size_t at(int k) { return std::size_t(k); }

// the parameter of a row's mode; rows that are driven or locked by the user have friction by the sign of the velocity
constexpr double by_velocity_sign = 2.0;

void point_at_marks(Conditions &c, FrictionRun &f) {
  const auto pointer = [](const std::vector<unsigned char> &marks) -> const unsigned char * {
    return std::find(marks.begin(), marks.end(), 1) == marks.end() ? nullptr : marks.data();
  };
  c.acceleration_prescribed = pointer(f.current_prescribed[0]);
  c.velocity_prescribed = pointer(f.current_prescribed[1]);
  c.position_prescribed = pointer(f.current_prescribed[2]);
  c.cut_velocity_locked = pointer(f.current_cut_locked);
  c.parameters = f.parameters.data();
}

// A change that is being made.
class Change {
public:
  Change(const RunContext &i, FrictionRun &f) : i(i), f(f), n(f.count()), log(f.changes.emplace_back()) {
    const std::size_t size = std::size_t(n);
    for (std::vector<double> *each : {&s, &u, &side, &sign, &free_accelerations, &sizes, &friction, &static_friction})
      each->assign(size, 0.0);
    for (std::vector<unsigned char> *each : {&at_rest, &sliding})
      each->assign(size, 0);
    slow = f.rest_tol_factor;
    least = rest_factor * f.position_tol * f.rest_tol_factor;
  }

  bool undecided = false, failed = false;

  void make(const std::vector<std::int32_t> &passed) {
    before = f.modes;
    release();
    log.t = i.run.t;
    log.velocities_jumped = false;
    read_motion();
    find_rows_at_rest(passed);
    find_closed_stops(passed);
    if (any([&](int k) { return f.movable[at(k)] && side[at(k)] * u[at(k)] > least; }))
      apply_impact();
    else if (any([&](int k) { return f.movable[at(k)] && side[at(k)] * u[at(k)] < -least; }))
      stop_short_flights();
    if (undecided || failed)
      return;
    read_motion();
    settle_on_stops();
    decide();
    if (undecided || failed)
      return;
    apply_modes(i, f);
    stop_locked_rows();
    log.modes = f.modes, log.holding = f.holding;
  }

  FrictionModes before;

private:
  const RunContext &i;
  FrictionRun &f;
  const int n;
  FrictionChange &log;
  std::vector<double> s, u, side, sign, free_accelerations, sizes, friction, static_friction;
  std::vector<unsigned char> at_rest, sliding, broke_away;
  double slow, least;

  template <class Test> bool any(Test &&test) const {
    for (int k = 0; k < n; ++k)
      if (test(k))
        return true;
    return false;
  }
  double *q() { return i.work.q; }
  double *v() { return i.work.v; }

  // limits of friction for the loads in f.signals
  void set_limits() {
    for (int k = 0; k < n; ++k) {
      const FrictionLimits limits = friction_limits(f, f.rows[at(k)], f.signals.data());
      friction[at(k)] = limits.sliding, static_friction[at(k)] = limits.at_rest;
    }
  }

  // Loads under the present conditions; false if friction and loads have no common solution there.
  bool evaluate_loads() {
    if (!f.has_load_friction)
      return true;
    Report out;
    out.signals = f.signals.data(), out.a = i.work.a1;
    failed = failed || !evaluate_report(i, f, i.run.t, q(), v(), i.work.x, out);
    return !failed && all_finite(f.signals.data(), i.m.signal_count) && all_finite(i.work.a1, i.m.nv);
  }

  void read_motion() { row_motion(i, f, i.run.t, q(), v(), s.data(), u.data()); }

  // takes the locks of stuck rows away
  void release() {
    for (int k = 0; k < 3; ++k)
      f.current_prescribed[k] = f.prescribed[k];
    f.current_cut_locked = f.cut_locked;
    point_at_marks(i.run.conditions, f);
  }

  // writes signs of sliding (0: no friction) into the parameters
  void set_signs(const std::vector<double> &signs) {
    for (int k = 0; k < n; ++k)
      if (const int mode = f.rows[at(k)].mode; mode >= 0)
        f.parameters[at(mode)] = signs[at(k)];
  }

  void find_rows_at_rest(const std::vector<std::int32_t> &passed) {
    for (int k = 0; k < n; ++k) {
      const double tolerance = f.rows[at(k)].rest_tol * slow * (before.stuck[at(k)] ? stuck_drift : 1.0);
      at_rest[at(k)] = f.movable[at(k)] && std::fabs(u[at(k)]) <= tolerance;
    }
    for (const std::int32_t number : passed)
      if (number < int(f.switches.size()) && f.switches[at(number)].kind == SwitchKind::rest) {
        const int k = f.switches[at(number)].row; // it comes to rest, or begins to move with others
        at_rest[at(k)] = before.sign[at(k)] != 0.0 && f.movable[at(k)];
      }
  }

  void find_closed_stops(const std::vector<std::int32_t> &passed) {
    std::vector<unsigned char> low(at(n)), high(at(n));
    for (int k = 0; k < n; ++k) {
      const FrictionRow &row = f.rows[at(k)];
      low[at(k)] = f.movable[at(k)] && s[at(k)] <= row.lower + 2.0 * f.position_tol;
      high[at(k)] = f.movable[at(k)] && s[at(k)] >= row.upper - 2.0 * f.position_tol;
    }
    for (const std::int32_t number : passed)
      if (number < int(f.switches.size())) {
        const RowSwitch &which = f.switches[at(number)];
        if (which.kind == SwitchKind::lower)
          low[at(which.row)] = 1;
        else if (which.kind == SwitchKind::upper)
          high[at(which.row)] = 1;
      }
    for (int k = 0; k < n; ++k) {
      side[at(k)] = high[at(k)] ? 1.0 : low[at(k)] ? -1.0 : 0.0;
      if (low[at(k)] && high[at(k)]) // a range of zero width
        side[at(k)] = u[at(k)] < 0.0 ? -1.0 : 1.0;
    }
  }

  // accelerations of the rows without stop forces, with the friction of sliding rows
  void evaluate_free_accelerations() {
    for (int k = 0; k < n; ++k) {
      const bool still = side[at(k)] != 0.0 || std::fabs(u[at(k)]) <= f.rows[at(k)].rest_tol * slow;
      sign[at(k)] = f.movable[at(k)] && !still && f.rows[at(k)].mode >= 0 ? (u[at(k)] > 0.0) - (u[at(k)] < 0.0) : 0.0;
    }
    set_signs(sign);
    failed = failed || !evaluate_rows(i, f, i.run.t, q(), v(), i.work.x, free_accelerations.data());
    if (!failed && !all_finite(free_accelerations.data(), n)) { // friction and loads have no common solution
      set_signs(std::vector<double>(at(n), 0.0));
      failed = !evaluate_rows(i, f, i.run.t, q(), v(), i.work.x, free_accelerations.data());
    }
    undecided = undecided || !all_finite(free_accelerations.data(), n);
  }

  // ---- closed stops: rows along their normals, which point away from the stops

  struct ClosedStops {
    std::vector<int> rows;
    std::vector<double> A, u, a, pressed, zero, unlimited;
  };

  ClosedStops closed_stops(bool movable_only) {
    ClosedStops c;
    for (int k = 0; k < n; ++k)
      if (side[at(k)] != 0.0 && (f.movable[at(k)] || !movable_only))
        c.rows.push_back(k);
    const int m = int(c.rows.size());
    for (const int k : c.rows) {
      c.u.push_back(-side[at(k)] * u[at(k)]);
      c.a.push_back(-side[at(k)] * free_accelerations[at(k)]);
      for (const int j : c.rows)
        c.A.push_back(side[at(k)] * side[at(j)] * f.A[at(k * n + j)]);
    }
    c.zero.assign(at(m), 0.0);
    c.unlimited.assign(at(m), std::numeric_limits<double>::infinity());
    find_pressing_accelerations(c);
    return c;
  }

  // accelerations of each row back to its stop while the others stay on theirs
  void find_pressing_accelerations(ClosedStops &c) {
    const int m = int(c.rows.size());
    c.pressed.assign(at(m), 0.0);
    if (!f.qp.solve(m, c.A.data(), c.a.data(), c.zero.data(), c.unlimited.data(), nullptr)) {
      undecided = true;
      return;
    }
    const std::vector<int> set = f.qp.free.members();
    std::vector<double> column(set.size());
    for (std::size_t j = 0; j < set.size(); ++j) {
      std::fill(column.begin(), column.end(), 0.0);
      column[j] = 1.0;
      f.qp.free.solve(column.data());
      c.pressed[at(set[j])] = f.qp.x[at(set[j])] / column[j];
    }
  }

  static bool is_short(double speed, double pressed, double flight) {
    return pressed > 0.0 && speed * speed < 2.0 * pressed * flight;
  }

  void apply_impact() {
    respond(i, f, i.run.t, q(), f.prescribed[1]);
    evaluate_free_accelerations();
    if (undecided || failed)
      return;
    ClosedStops c = closed_stops(false);
    const int m = int(c.rows.size());
    const double flight = short_flight * f.position_tol;
    std::vector<double> e(at(m)), b(at(m)), low(at(m), 0.0), x(at(m));
    std::vector<unsigned char> stays(at(m), 0);
    for (int j = 0; j < m; ++j) {
      e[at(j)] = f.rows[at(c.rows[at(j)])].restitution;
      if (c.u[at(j)] >= -least || is_short(e[at(j)] * c.u[at(j)], c.pressed[at(j)], flight))
        e[at(j)] = 0.0;
    }
    for (int round = 0; round <= m && !undecided; ++round) {
      for (int j = 0; j < m; ++j) {
        b[at(j)] = (stays[at(j)] ? 1.0 : 1.0 + e[at(j)]) * c.u[at(j)];
        low[at(j)] = stays[at(j)] ? -c.unlimited[at(j)] : 0.0;
      }
      undecided = !f.qp.solve(m, c.A.data(), b.data(), low.data(), c.unlimited.data(), nullptr);
      std::copy_n(f.qp.x.begin(), m, x.begin());
      bool more = false;
      for (int j = 0; j < m; ++j) {
        double away = c.u[at(j)];
        for (int k = 0; k < m; ++k)
          away += c.A[at(j * m + k)] * x[at(k)];
        if (!stays[at(j)] && away > least && is_short(away, c.pressed[at(j)], flight))
          stays[at(j)] = more = true;
      }
      if (!more)
        break;
    }
    if (undecided)
      return;
    for (int j = 0; j < m; ++j) {
      const int k = c.rows[at(j)];
      for (int dof = 0; dof < i.m.nv; ++dof)
        v()[dof] += -side[at(k)] * x[at(j)] * f.D[at(k * i.m.nv + dof)];
      if (c.u[at(j)] < -least)
        log.impacts.push_back({k, std::int32_t(side[at(k)]), -c.u[at(j)]});
    }
    log.velocities_jumped = true;
    rest_after_impact();
  }

  // Stuck rows that the impact hardly moves are stopped, with the rows that stay on their stops.
  void rest_after_impact() {
    read_motion();
    undecided = undecided || !evaluate_loads();
    set_limits();
    std::vector<int> chosen;
    bool some = false;
    for (int k = 0; k < n; ++k) {
      const double brake = friction[at(k)] * f.A[at(k * n + k)];
      const bool hardly = f.movable[at(k)] && before.stuck[at(k)] && f.rows[at(k)].friction >= 0 &&
                          u[at(k)] * u[at(k)] < 2.0 * barely * f.position_tol * brake;
      at_rest[at(k)] = hardly;
      some = some || hardly;
      if (hardly || (f.movable[at(k)] && side[at(k)] != 0.0 && std::fabs(u[at(k)]) <= least))
        chosen.push_back(k);
    }
    if (some) {
      stop_rows(chosen);
      read_motion();
    }
    for (int k = 0; k < n; ++k)
      at_rest[at(k)] = f.movable[at(k)] && (at_rest[at(k)] || std::fabs(u[at(k)]) <= f.rows[at(k)].rest_tol * slow);
  }

  // rows that would leave their stops by less than the position tolerance stay on them
  void stop_short_flights() {
    respond(i, f, i.run.t, q(), f.prescribed[1]);
    evaluate_free_accelerations();
    if (undecided || failed)
      return;
    const ClosedStops c = closed_stops(true);
    std::vector<int> chosen;
    for (std::size_t j = 0; j < c.rows.size(); ++j)
      if (c.u[j] > 0.0 && is_short(c.u[j], c.pressed[j], short_flight * f.position_tol)) {
        chosen.push_back(c.rows[j]);
        at_rest[at(c.rows[j])] = 1;
      }
    if (!chosen.empty())
      stop_rows(chosen);
  }

  // Sets the velocities of rows to zero by impulses along an independent set of them; after `respond`.
  void stop_rows(const std::vector<int> &chosen) {
    f.independent.reset(f.A.data(), n);
    for (const int k : chosen)
      f.independent.append(k);
    const std::vector<int> &set = f.independent.members();
    std::vector<double> impulse(set.size());
    for (std::size_t j = 0; j < set.size(); ++j)
      impulse[j] = -u[at(set[j])];
    f.independent.solve(impulse.data());
    for (std::size_t j = 0; j < set.size(); ++j)
      for (int dof = 0; dof < i.m.nv; ++dof)
        v()[dof] += impulse[j] * f.D[at(set[j] * i.m.nv + dof)];
  }

  // stops that remain closed, with tree coordinates exactly on them
  void settle_on_stops() {
    for (int k = 0; k < n; ++k) {
      const bool on_stop = f.movable[at(k)] && std::fabs(u[at(k)]) <= least;
      if (side[at(k)] * u[at(k)] < -least || !(at_rest[at(k)] || (on_stop && side[at(k)] != 0.0)))
        side[at(k)] = 0.0;
      const FrictionRow &row = f.rows[at(k)];
      if (side[at(k)] != 0.0 && row.coordinate >= 0 && row.coordinate < i.m.nq)
        q()[row.coordinate] = side[at(k)] < 0.0 ? row.lower : row.upper;
    }
  }

  // ---- rows at rest

  // Stick or slip of all rows at rest, or on stops.
  void decide() {
    FrictionModes &modes = f.modes;
    std::vector<int> undecided_rows;
    for (int k = 0; k < n; ++k) {
      const FrictionRow &row = f.rows[at(k)];
      const bool resting = at_rest[at(k)] || side[at(k)] != 0.0, rubs = row.mode >= 0;
      sliding[at(k)] = f.movable[at(k)] && !resting && rubs;
      modes.sign[at(k)] = sliding[at(k)] ? (u[at(k)] > 0.0) - (u[at(k)] < 0.0) : 0.0;
      const bool open = resting && f.movable[at(k)] && (rubs || side[at(k)] != 0.0);
      modes.side[at(k)] = open ? side[at(k)] : 0.0;
      modes.stuck[at(k)] = modes.immobile[at(k)] = 0;
      if (open)
        undecided_rows.push_back(k);
    }
    modes.locked.clear();
    f.holding.holds = false;
    f.holding.dependent.clear();
    f.holding.coupling.clear();
    if (!undecided_rows.empty()) {
      respond(i, f, i.run.t, q(), f.prescribed[0]);
      leave_out_immobile(undecided_rows);
    }
    if (undecided || failed)
      return;
    if (f.has_load_friction) {
      decide_with_loads(undecided_rows);
    } else if (!undecided_rows.empty()) {
      set_limits();
      decide_with_limits(undecided_rows);
    }
  }

  // stick or slip with the present limits of friction
  void decide_with_limits(const std::vector<int> &rows) {
    set_up(rows);
    if (undecided || failed)
      return;
    undecided = !problem.solve(f.qp, f.independent);
    if (undecided)
      return;
    log.unloaded.clear();
    note_unloaded_stops(rows);
    take_decision(rows);
  }

  // ---- load-dependent limits

  // Limits for the loads of one solution give the next solution, until the modes repeat.
  void decide_with_loads(const std::vector<int> &rows) {
    const FrictionModes start = f.modes;
    problem.resize(int(rows.size()));
    broke_away.assign(rows.size(), 0);
    hold_all(rows);
    apply_modes(i, f);
    undecided = !evaluate_loads();
    FrictionModes last;
    for (int round = 0; round < max_load_rounds && !undecided && !failed; ++round) {
      if (rows.empty() || (round > 1 && same_modes(f.modes, last)))
        return check_gain();
      last = f.modes;
      f.modes = start;
      set_limits();
      release();
      decide_with_limits(rows);
      for (std::size_t k = 0; k < rows.size() && !undecided; ++k) // sliding friction for all further loads
        broke_away[k] = broke_away[k] || problem.broke_away[k];
      if (undecided || failed)
        return;
      apply_modes(i, f);
      undecided = !evaluate_loads();
    }
    undecided = true;
  }

  // modes in which all rows at rest stick
  void hold_all(const std::vector<int> &rows) {
    f.independent.reset(f.A.data(), n);
    for (const int k : rows) {
      f.modes.stuck[at(k)] = 1;
      if (f.independent.append(k))
        f.modes.locked.push_back(k);
    }
  }

  static bool same_modes(const FrictionModes &a, const FrictionModes &b) {
    return a.stuck == b.stuck && a.side == b.side && a.sign == b.sign;
  }

  // Friction of sliding rows depends on its own load with the gain K_kj = mu_k dN_k / df_j. The solution is known to be
  // unique if a norm of K is below one; otherwise modes are not determined here.
  void check_gain() {
    std::vector<int> slides;
    for (int k = 0; k < n; ++k)
      if (f.modes.sign[at(k)] != 0.0 && f.rows[at(k)].load >= 0)
        slides.push_back(k);
    if (slides.empty())
      return;
    set_limits();
    const std::vector<double> kept = f.parameters;
    double size = 1e-9;
    for (int k = 0; k < n; ++k)
      size = std::max(size, std::fabs(friction[at(k)]));
    const double step = difference_step * size;
    std::vector<double> sums(slides.size(), 0.0), base;
    for (int j = -1; j < int(slides.size()); ++j) {
      fix_friction(kept);
      if (j >= 0)
        f.parameters[at(f.rows[at(slides[at(j)])].friction)] += step;
      undecided = undecided || !evaluate_loads();
      if (undecided)
        break;
      if (j < 0)
        base = f.signals;
      for (std::size_t k = 0; j >= 0 && k < slides.size(); ++k) {
        const FrictionRow &row = f.rows[at(slides[k])];
        sums[k] += std::fabs(kept[at(row.coefficient)] * (f.signals[at(row.load)] - base[at(row.load)]) / step);
      }
    }
    f.parameters = kept;
    for (const double sum : sums)
      undecided = undecided || !(sum < max_gain);
  }

  // constant friction in place of load-dependent friction, for the present limits
  void fix_friction(const std::vector<double> &parameters) {
    f.parameters = parameters;
    for (int k = 0; k < n; ++k)
      if (const FrictionRow &row = f.rows[at(k)]; row.load >= 0)
        f.parameters[at(row.coefficient)] = 0.0, f.parameters[at(row.friction)] = friction[at(k)];
  }

  // Rows that no effort can move reverse with the motion of others, or stay at rest with them.
  void leave_out_immobile(std::vector<int> &rows) {
    const auto passing = [&](int k) { return f.A[at(k * n + k)] < immobile_response * f.own[at(k)]; };
    if (std::none_of(rows.begin(), rows.end(), passing))
      return;
    set_signs(f.modes.sign);
    failed = !evaluate_rows(i, f, i.run.t, q(), v(), i.work.x, free_accelerations.data());
    undecided = undecided || !all_finite(free_accelerations.data(), n);
    double most = 1.0;
    for (const double a : free_accelerations)
      most = std::max(most, std::fabs(a));
    std::vector<int> others;
    for (const int k : rows) {
      if (!passing(k)) {
        others.push_back(k);
        continue;
      }
      const double a = free_accelerations[at(k)];
      if (!(std::fabs(a) > zero_acceleration * most))
        f.modes.immobile[at(k)] = 1;
      else if (f.rows[at(k)].mode >= 0)
        f.modes.sign[at(k)] = (a > 0.0) - (a < 0.0);
    }
    rows = others;
  }

  void set_up(const std::vector<int> &rows) {
    const int m = int(rows.size());
    problem.resize(m);
    set_signs(f.modes.sign);
    const std::vector<double> kept = f.parameters;
    if (f.has_load_friction)
      fix_friction(kept);
    failed = failed || !effort_sizes(i, f, i.run.t, q(), v(), i.work.x, sizes.data());
    failed = failed || !evaluate_rows(i, f, i.run.t, q(), v(), i.work.x, free_accelerations.data());
    undecided = undecided || !all_finite(free_accelerations.data(), n) || !all_finite(sizes.data(), n);
    f.parameters = kept;
    for (int j = 0; j < m; ++j) {
      const int k = rows[at(j)];
      const FrictionRow &row = f.rows[at(k)];
      for (int l = 0; l < m; ++l)
        problem.A[at(j * m + l)] = f.A[at(k * n + rows[at(l)])];
      problem.side[at(j)] = side[at(k)];
      problem.pinned[at(j)] = row.lower == row.upper && side[at(k)] != 0.0;
      problem.noise[at(j)] = rounding * sizes[at(k)] * f.own[at(k)];
      problem.a0[at(j)] = free_accelerations[at(k)];
      problem.friction[at(j)] = friction[at(k)];
      const bool slips = f.has_load_friction && broke_away[at(j)];
      problem.static_friction[at(j)] = slips ? friction[at(k)] : static_friction[at(k)];
    }
  }

  // stops without friction whose load is zero within rounding
  void note_unloaded_stops(const std::vector<int> &rows) {
    const auto small = [&](int j) {
      const int k = rows[at(j)];
      return !problem.slips[at(j)] && side[at(k)] != 0.0 && !problem.pinned[at(j)] && static_friction[at(k)] == 0.0 &&
             std::fabs(problem.x[at(j)]) <= rounding * sizes[at(k)] && sizes[at(k)] > 0.0;
    };
    f.independent.reset(problem.A.data(), problem.count);
    for (const std::int32_t j : problem.independent)
      if (small(j))
        f.independent.append(j);
    if (!f.independent.size())
      return;
    for (int j = 0; j < problem.count; ++j)
      if (small(j) && (f.independent.contains(j) || f.independent.depends(j)))
        log.unloaded.push_back(rows[at(j)]);
  }

  // modes and limits of holding efforts
  void take_decision(const std::vector<int> &rows) {
    FrictionModes &modes = f.modes;
    HoldingLimits &holding = f.holding;
    const int m = problem.count;
    holding.dependent.clear();
    for (int j = 0; j < m; ++j) {
      const int k = rows[at(j)];
      modes.stuck[at(k)] = !problem.slips[at(j)];
      if (!problem.slips[at(j)])
        continue;
      if (f.rows[at(k)].mode >= 0)
        modes.sign[at(k)] = problem.direction[at(j)];
      modes.side[at(k)] = 0.0;
    }
    for (const std::int32_t j : problem.independent)
      modes.locked.push_back(rows[at(j)]);
    holding.holds = !modes.locked.empty();
    if (!holding.holds)
      return;
    std::fill(holding.unbounded_below.begin(), holding.unbounded_below.end(), 0);
    std::fill(holding.unbounded_above.begin(), holding.unbounded_above.end(), 0);
    std::fill(holding.scale.begin(), holding.scale.end(), 0.0);
    std::vector<int> others;
    f.independent.reset(problem.A.data(), m);
    for (const std::int32_t j : problem.independent)
      f.independent.append(j);
    for (int j = 0; j < m; ++j) {
      const int k = rows[at(j)];
      holding.unbounded_below[at(k)] = problem.unbounded_below(j);
      holding.unbounded_above[at(k)] = problem.unbounded_above(j);
      holding.scale[at(k)] =
          std::max(std::max(std::fabs(problem.x[at(j)]), static_friction[at(k)]), min_effort_scale * sizes[at(k)]);
      if (!problem.slips[at(j)] && !f.independent.contains(j)) {
        others.push_back(j);
        holding.dependent.push_back(k);
      }
    }
    const std::size_t lines = problem.independent.size(), columns = others.size();
    holding.coupling.assign(lines * columns, 0.0);
    std::vector<double> column(lines);
    for (std::size_t c = 0; c < columns; ++c) {
      for (std::size_t l = 0; l < lines; ++l)
        column[l] = problem.A[at(problem.independent[l] * m + others[c])];
      f.independent.solve(column.data());
      for (std::size_t l = 0; l < lines; ++l)
        holding.coupling[l * columns + c] = column[l];
    }
  }

  // removes the remaining velocities of locked rows
  void stop_locked_rows() {
    if (f.modes.locked.empty())
      return;
    read_motion();
    if (any([&](int k) { return u[at(k)] != 0.0 && std::count(f.modes.locked.begin(), f.modes.locked.end(), k); })) {
      respond(i, f, i.run.t, q(), f.prescribed[1]);
      stop_rows({f.modes.locked.begin(), f.modes.locked.end()});
    }
    for (const std::int32_t k : f.modes.locked)
      if (const int place = f.rows[at(k)].place; place < i.m.nv)
        v()[place] = 0.0;
  }

  RowsAtRest problem;
};

} // namespace

void prepare_friction(const RunContext &i, FrictionRun &f) {
  const ModelData &m = i.m;
  const std::size_t n = f.rows.size(), nv = std::size_t(m.nv);
  ReportWorkspace report;
  if (!f.report_memory.block)
    f.report_memory.block = std::make_unique<Block>(lay_out(m, nullptr, report));
  f.constraint.assign(n, -1), f.part.assign(n, 0);
  f.has_cut_rows = false;
  for (std::size_t k = 0; k < n; ++k) {
    const int place = f.rows[k].place - m.nv;
    for (int c = 0; c < m.loop_constraint_count; ++c)
      if (const LoopConstraintData &constraint = m.loop_constraints[c];
          place >= constraint.v && place < constraint.v + constraint.nv)
        f.constraint[k] = c, f.part[k] = place - constraint.v, f.has_cut_rows = true;
  }
  f.opened.assign(std::size_t(m.loop_constraint_count), 0);
  f.cut_q.resize(std::size_t(m.cut_nq)), f.cut_v.resize(std::size_t(m.cut_nv)), f.cut_a.resize(std::size_t(m.cut_nv));
  f.s.resize(n), f.u.resize(n), f.own.resize(n), f.A.resize(n * n), f.J.resize(n * nv), f.D.resize(n * nv);
  f.efforts.resize(nv + std::size_t(m.cut_nv));
  f.signals.assign(std::size_t(m.signal_count), 0.0);
  f.has_load_friction = std::any_of(f.rows.begin(), f.rows.end(), [](const FrictionRow &row) { return row.load >= 0; });
  f.qp.reserve(int(n)), f.independent.reserve(int(n));
  f.values.resize(std::size_t(f.function_count()), 1.0);
  for (std::vector<unsigned char> *each : {&f.holding.unbounded_below, &f.holding.unbounded_above})
    each->resize(n);
  f.holding.scale.resize(n);
  f.movable.resize(n);
  for (std::size_t k = 0; k < n; ++k) {
    const int place = f.rows[k].place;
    f.movable[k] = place < m.nv
                       ? !(std::size_t(place) < f.prescribed[0].size() && f.prescribed[0][std::size_t(place)])
                       : !(std::size_t(place - m.nv) < f.cut_locked.size() && f.cut_locked[std::size_t(place - m.nv)]);
  }
  f.parameters.assign(i.run.conditions.parameters, i.run.conditions.parameters + m.parameter_count);
  for (int k = 0; k < 3; ++k)
    f.prescribed[k].resize(nv);
  f.cut_locked.resize(std::size_t(m.cut_nv));
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
  for (int k = 0; k < f.count(); ++k)
    if (const int mode = f.rows[at(k)].mode; mode >= 0)
      f.parameters[at(mode)] = f.movable[at(k)] ? f.modes.sign[at(k)] : by_velocity_sign;
  point_at_marks(i.run.conditions, f);
  i.run.max_step = f.holding.holds ? f.longest_stuck_step : f.longest_step;
}

ModeChange change_modes(const RunContext &i, FrictionRun &f, const std::vector<std::int32_t> &passed) {
  const std::size_t made = f.change_times.size();
  if (made >= max_stalled_changes && i.run.t - f.change_times[made - max_stalled_changes] <= min_progress * f.span)
    return ModeChange::undecided;
  RunWorkspace &work = i.work;
  f.state.assign(work.q, work.q + i.m.nq);
  f.state.insert(f.state.end(), work.v, work.v + i.m.nv);
  f.state.insert(f.state.end(), work.x, work.x + i.m.nx);
  const HoldingLimits held = f.holding;
  bool undecided = false, failed = false;
  FrictionModes before;
  {
    Change change(i, f);
    change.make(passed);
    undecided = change.undecided || (f.holding.holds && !change.failed && !has_separate_margins(f.holding, f.modes));
    failed = change.failed;
    before = change.before;
  }
  if (!undecided && !failed) {
    f.rest_tol_factor = 1.0;
    if (made >= 4 * max_stalled_changes)
      f.change_times.erase(f.change_times.begin(), f.change_times.end() - max_stalled_changes);
    f.change_times.push_back(i.run.t);
    f.changes.back().before = f.state;
    return ModeChange::made;
  }
  f.changes.pop_back();
  f.modes = before, f.holding = held;
  std::copy_n(f.state.begin(), i.m.nq, work.q);
  std::copy_n(f.state.begin() + i.m.nq, i.m.nv, work.v);
  apply_modes(i, f);
  return failed ? ModeChange::callback_failed : ModeChange::undecided;
}

} // namespace dalembert::DALEMBERT_ISA
