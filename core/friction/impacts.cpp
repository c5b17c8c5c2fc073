#include "friction/impacts.hpp"
#include "friction/row_response.hpp"
#include "friction/switching_values.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double short_flight = 10.0;    // position tolerances: a row that would leave its stop by less stays on it
constexpr double impact_rounding = 1e-9; // relative: of energies and velocities in an impact
constexpr double immobile = 1e-12;       // of the response without loops: a smaller response is none
constexpr double barely = 0.1;           // position tolerances: a row that friction stops within this stays at rest

std::size_t at(int k) { return std::size_t(k); }

bool is_short(double speed, double pressed, double flight) {
  return pressed > 0.0 && speed * speed < 2.0 * pressed * flight;
}

// accelerations of the rows without stop forces, with the friction of sliding rows
void evaluate_free_accelerations(Change &c) {
  const RunContext &i = c.i;
  ChangeWorkspace &w = c.w;
  find_signs(c, w.sign, [&](int k) { return w.side[at(k)] != 0.0 || w.speed[at(k)] <= c.rest_tol(k); });
  write_signs(c.f, w.sign);
  double *a = w.free_accelerations.data();
  c.failed = c.failed || !evaluate_rows(i, c.f, i.run.t, c.q(), c.v(), i.work.x, a);
  if (!c.failed && !all_finite(a, c.n)) { // friction and loads have no common solution
    write_signs(c.f, w.zero);
    c.failed = !evaluate_rows(i, c.f, i.run.t, c.q(), c.v(), i.work.x, a);
  }
  c.require_finite(a, c.n);
}

// Accelerations of each row back to its stop while the others stay on theirs. Rows that were stuck may be held by their
// friction too, groups of them as if each row had its own limit.
void find_pressing_accelerations(Change &c) {
  ChangeWorkspace &w = c.w;
  const FrictionRun &f = c.f;
  BoundedQp &qp = c.f.qp;
  const std::size_t m = w.stops.size();
  std::fill_n(w.pressed.begin(), m, 0.0);
  const auto holds = [&](int k) { return w.before.stuck[at(k)] && f.rows[at(k)].friction >= 0; };
  w.chosen = w.stops;
  for (int k = 0; k < c.n; ++k)
    if (w.side[at(k)] == 0.0 && holds(k))
      w.chosen.push_back(k);
  const std::size_t count = w.chosen.size();
  std::vector<double> &lower = w.stop_lower, &upper = w.stop_x, &a = w.stop_b;
  const auto outward = [&](int k) { return w.side[at(k)] == 0.0 ? 1.0 : -w.side[at(k)]; };
  for (std::size_t j = 0; j < count; ++j) {
    const int k = w.chosen[j];
    const double limit = holds(k) ? friction_limits(f, f.rows[at(k)], f.signals.data()).at_rest : 0.0;
    lower[j] = -limit;
    upper[j] = j < m ? std::numeric_limits<double>::infinity() : limit;
    a[j] = outward(k) * w.free_accelerations[at(k)];
    for (std::size_t l = 0; l < count; ++l)
      w.squared[j * count + l] = outward(k) * outward(w.chosen[l]) * f.A[at(k * c.n + w.chosen[l])];
  }
  if (!qp.solve(int(count), w.squared.data(), a.data(), lower.data(), upper.data(), nullptr)) {
    c.undecided = true;
    return;
  }
  const std::vector<int> &set = qp.free.members();
  for (std::size_t j = 0; j < set.size(); ++j) {
    if (at(set[j]) >= m)
      continue;
    std::fill_n(w.impulses.begin(), set.size(), 0.0);
    w.impulses[j] = 1.0;
    qp.free.solve(w.impulses.data());
    w.pressed[at(set[j])] = (qp.x[at(set[j])] - lower[at(set[j])]) / w.impulses[j];
  }
}

// closed stops: rows along their normals, which point away from the stops
void find_closed_stops(Change &c, bool movable_only) {
  ChangeWorkspace &w = c.w;
  w.stops.clear();
  for (int k = 0; k < c.n; ++k)
    if (w.side[at(k)] != 0.0 && (c.f.movable[at(k)] || !movable_only))
      w.stops.push_back(k);
  for (std::size_t j = 0; j < w.stops.size(); ++j) {
    const int k = w.stops[j];
    w.stop_u[j] = -w.side[at(k)] * w.u[at(k)];
    w.stop_a[j] = -w.side[at(k)] * w.free_accelerations[at(k)];
    for (std::size_t l = 0; l < w.stops.size(); ++l)
      w.stop_A[j * w.stops.size() + l] = w.side[at(k)] * w.side[at(w.stops[l])] * c.f.A[at(k * c.n + w.stops[l])];
  }
  find_pressing_accelerations(c);
}

// the impulses of (1) for restitutions w.restitution; false if there are none
bool solve_impulses(Change &c) {
  ChangeWorkspace &w = c.w;
  const int m = int(w.stops.size());
  const double flight = short_flight * c.f.position_tol, unlimited = std::numeric_limits<double>::infinity();
  std::fill_n(w.stays.begin(), m, 0);
  for (int round = 0; round <= m; ++round) {
    for (int j = 0; j < m; ++j) {
      w.stop_b[at(j)] = (w.stays[at(j)] ? 1.0 : 1.0 + w.restitution[at(j)]) * w.stop_u[at(j)];
      w.stop_lower[at(j)] = w.stays[at(j)] ? -unlimited : 0.0;
    }
    if (!c.f.qp.solve(m, w.stop_A.data(), w.stop_b.data(), w.stop_lower.data(), w.unlimited.data(), nullptr))
      return false;
    std::copy_n(c.f.qp.x.begin(), m, w.stop_x.begin());
    bool more = false;
    for (int j = 0; j < m; ++j) {
      double away = w.stop_u[at(j)];
      for (int k = 0; k < m; ++k)
        away += w.stop_A[at(j * m + k)] * w.stop_x[at(k)];
      if (!w.stays[at(j)] && away > c.least && is_short(away, w.pressed[at(j)], flight))
        w.stays[at(j)] = more = true;
    }
    if (!more)
      return true;
  }
  return true;
}

// Whether the impulses satisfy (1), and the energy does not grow, within rounding.
bool is_dissipative(const Change &c) {
  const ChangeWorkspace &w = c.w;
  const int m = int(w.stops.size());
  double gain = 0.0, size = 0.0, least = 0.0, fastest = 0.0;
  for (int j = 0; j < m; ++j) {
    double jump = 0.0;
    for (int k = 0; k < m; ++k)
      jump += w.stop_A[at(j * m + k)] * w.stop_x[at(k)];
    const double after = w.stop_u[at(j)] + jump;
    gain += 0.5 * w.stop_x[at(j)] * (w.stop_u[at(j)] + after);
    size += std::fabs(w.stop_x[at(j)] * w.stop_u[at(j)]);
    fastest = std::max(fastest, std::max(std::fabs(after), std::fabs(w.stop_u[at(j)])));
    if (w.stop_A[at(j * m + j)] > immobile * c.f.own[at(w.stops[at(j)])]) // a drive may move it on
      least = std::min(least, after + (w.stays[at(j)] ? 0.0 : w.restitution[at(j)] * w.stop_u[at(j)]));
  }
  return gain <= impact_rounding * size && least >= -impact_rounding * fastest;
}

void find_impulses(Change &c) {
  ChangeWorkspace &w = c.w;
  const int m = int(w.stops.size());
  const double flight = short_flight * c.f.position_tol;
  double common = 1.0;
  for (int j = 0; j < m; ++j)
    if (w.stop_u[at(j)] < -c.least)
      common = std::min(common, c.f.rows[at(w.stops[at(j)])].restitution);
  for (const double most : {1.0, common, 0.0}) {
    for (int j = 0; j < m; ++j) {
      double &e = w.restitution[at(j)];
      e = std::min(most, c.f.rows[at(w.stops[at(j)])].restitution);
      if (w.stop_u[at(j)] >= -c.least || is_short(e * w.stop_u[at(j)], w.pressed[at(j)], flight))
        e = 0.0;
    }
    if (solve_impulses(c) && (most == 0.0 || is_dissipative(c)))
      return;
  }
  c.undecided = true;
}

// Stuck rows that the impact hardly moves are stopped, with the rows that stay on their stops.
void rest_after_impact(Change &c) {
  ChangeWorkspace &w = c.w;
  const FrictionRun &f = c.f;
  read_motion(c);
  c.undecided = c.undecided || !evaluate_loads(c);
  set_limits(c);
  w.chosen.clear();
  bool some = false;
  for (int k = 0; k < c.n; ++k) {
    const bool candidate = f.movable[at(k)] && w.before.stuck[at(k)] && f.rows[at(k)].friction >= 0;
    const double brake = candidate ? w.friction[at(k)] * f.A[at(k * c.n + k)] : 0.0;
    const bool hardly = candidate && w.speed[at(k)] * w.speed[at(k)] < 2.0 * barely * f.position_tol * brake;
    w.at_rest[at(k)] = hardly;
    some = some || hardly;
    if (hardly || (f.movable[at(k)] && w.side[at(k)] != 0.0 && std::fabs(w.u[at(k)]) <= c.least))
      w.chosen.push_back(k);
  }
  if (some) {
    stop_rows(c, w.chosen);
    read_motion(c);
  }
  for (int k = 0; k < c.n; ++k)
    w.at_rest[at(k)] = f.movable[at(k)] && (w.at_rest[at(k)] || w.speed[at(k)] <= c.rest_tol(k));
}

void apply_stop_impulses(Change &c) {
  const ChangeWorkspace &w = c.w;
  for (std::size_t j = 0; j < w.stops.size(); ++j) {
    const int k = w.stops[j];
    for (int dof = 0; dof < c.i.m.nv; ++dof)
      c.v()[dof] += -w.side[at(k)] * w.stop_x[j] * c.f.D[at(k * c.i.m.nv + dof)];
  }
}

// the response of closed stops, and of stuck and jammed rows
void respond_at_stops(Change &c) {
  ChangeWorkspace &w = c.w;
  w.others = w.jammed;
  for (int k = 0; k < c.n; ++k)
    if ((w.side[at(k)] != 0.0 || w.before.stuck[at(k)]) &&
        std::find(w.jammed.begin(), w.jammed.end(), k) == w.jammed.end())
      w.others.push_back(k);
  find_response(c, c.f.prescribed[1], w.others);
}

// Jammed rows hold in an impact, since their friction grows with its impulses by a gain above one: the response of the
// others while these rows s do not move, A - A_s A_ss^-1 A_s'.
void hold_jammed_rows(Change &c) {
  ChangeWorkspace &w = c.w;
  FrictionRun &f = c.f;
  if (w.jammed.empty())
    return;
  f.independent.reset(f.A.data(), c.n);
  for (const int k : w.jammed)
    f.independent.append(k);
  const std::vector<int> &set = f.independent.members();
  const std::vector<double> &A = w.jammed_A, &D = w.jammed_D;
  std::copy(f.A.begin(), f.A.end(), w.jammed_A.begin());
  std::copy(f.D.begin(), f.D.end(), w.jammed_D.begin());
  for (const int k : w.others) {
    for (std::size_t j = 0; j < set.size(); ++j)
      w.impulses[j] = -A[at(k * c.n + set[j])];
    f.independent.solve(w.impulses.data());
    for (std::size_t j = 0; j < set.size(); ++j) {
      for (const int l : w.others)
        f.A[at(k * c.n + l)] += w.impulses[j] * A[at(set[j] * c.n + l)];
      for (int dof = 0; dof < c.i.m.nv; ++dof)
        f.D[at(k * c.i.m.nv + dof)] += w.impulses[j] * D[at(set[j] * c.i.m.nv + dof)];
    }
  }
  w.responds = false; // others need it without these holds
}

} // namespace

void apply_impact(Change &c) {
  ChangeWorkspace &w = c.w;
  respond_at_stops(c);
  hold_jammed_rows(c);
  evaluate_free_accelerations(c);
  if (c.stopped())
    return;
  find_closed_stops(c, false);
  find_impulses(c);
  if (c.stopped())
    return;
  apply_stop_impulses(c);
  for (std::size_t j = 0; j < w.stops.size(); ++j)
    if (const int k = w.stops[j]; w.stop_u[j] < -c.least)
      c.log.impacts.push_back({k, std::int32_t(w.side[at(k)]), -w.stop_u[j]});
  c.log.velocities_jumped = true;
  rest_after_impact(c);
}

void stop_short_flights(Change &c) {
  ChangeWorkspace &w = c.w;
  respond_at_stops(c);
  evaluate_free_accelerations(c);
  if (c.stopped())
    return;
  find_closed_stops(c, true);
  bool some = false;
  for (std::size_t j = 0; j < w.stops.size(); ++j) {
    some = some || (w.stop_u[j] > 0.0 && is_short(w.stop_u[j], w.pressed[j], short_flight * c.f.position_tol));
    w.restitution[j] = 0.0;
  }
  if (!some)
    return;
  c.undecided = !solve_impulses(c); // the others stay on their stops, or leave them
  if (c.stopped())
    return;
  apply_stop_impulses(c);
  for (std::size_t j = 0; j < w.stops.size(); ++j)
    if (w.stays[j])
      w.at_rest[at(w.stops[j])] = 1;
}

} // namespace dalembert::DALEMBERT_ISA
