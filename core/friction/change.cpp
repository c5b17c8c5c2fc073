#include "friction/change.hpp"
#include "friction/mode_change.hpp"
#include "friction/row_response.hpp"
#include "friction/switching_values.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {
constexpr double onset_speed = 1e-6; // of the rest tolerance: speed of a vector group along its direction at the onset
std::size_t at(int k) { return std::size_t(k); }
} // namespace

void reserve_change(const ModelData &m, FrictionRun &f) {
  ChangeWorkspace &w = f.change;
  const std::size_t n = f.rows.size();
  for (std::vector<double> *each : {&w.s,          &w.u,           &w.speed,
                                    &w.side,       &w.sign,        &w.free_accelerations,
                                    &w.sizes,      &w.friction,    &w.static_friction,
                                    &w.impulses,   &w.sums,        &w.stop_u,
                                    &w.stop_a,     &w.pressed,     &w.zero,
                                    &w.unlimited,  &w.restitution, &w.stop_b,
                                    &w.stop_lower, &w.stop_x})
    each->assign(n, 0.0);
  std::fill(w.unlimited.begin(), w.unlimited.end(), std::numeric_limits<double>::infinity());
  for (std::vector<unsigned char> *each :
       {&w.at_rest, &w.sliding, &w.starting, &w.broke_away, &w.low, &w.high, &w.held, &w.marks, &w.stays})
    each->assign(n, 0);
  for (FrictionModes *each : {&w.before, &w.start, &w.last})
    each->resize(n);
  w.held_before.resize(n);
  for (std::vector<double> *each : {&w.stop_A, &w.gain, &w.squared})
    each->assign(n * n, 0.0);
  if (f.has_load_friction) // rows can jam
    w.jammed_A.resize(n * n), w.jammed_D.resize(n * at(m.nv));
  for (std::vector<int> *each : {&w.rows, &w.others, &w.chosen, &w.slides, &w.stops, &w.responding, &w.jams, &w.jammed})
    each->reserve(n);
  w.state.reserve(at(m.nq + m.nv + m.nx));
  w.parameters.reserve(at(m.parameter_count)), w.base_signals.reserve(at(m.signal_count));
  w.responding_marks.reserve(at(m.nv));
  f.problem.reserve(int(n));
}

void read_motion(Change &c) {
  row_motion(c.i, c.f, c.i.run.t, c.q(), c.v(), c.w.s.data(), c.w.u.data());
  slip_speeds(c.f, c.w.u.data(), c.w.speed.data());
}

void release_rows(Change &c) {
  for (int k = 0; k < 3; ++k)
    c.f.current_prescribed[k] = c.f.prescribed[k];
  c.f.current_cut_locked = c.f.cut_locked;
  set_condition_marks(c.i.run.conditions, c.f);
}

void write_signs(FrictionRun &f, const std::vector<double> &signs) {
  for (std::size_t k = 0; k < f.rows.size(); ++k)
    if (const FrictionRow &row = f.rows[k]; row.mode >= 0)
      f.parameters[at(row.mode)] = row.group < 0 ? signs[k] : onset_speed * row.rest_tol * signs[k];
}

void set_limits(Change &c) {
  for (int k = 0; k < c.n; ++k) {
    const FrictionLimits limits = friction_limits(c.f, c.f.rows[at(k)], c.f.signals.data());
    c.w.friction[at(k)] = limits.sliding, c.w.static_friction[at(k)] = limits.at_rest;
  }
}

bool evaluate_loads(Change &c) {
  if (!c.f.has_load_friction)
    return true;
  const RunContext &i = c.i;
  Report out;
  out.signals = c.f.signals.data(), out.a = i.work.a1;
  c.failed = c.failed || !evaluate_report(i, c.f, i.run.t, c.q(), c.v(), i.work.x, out);
  return !c.failed && all_finite(c.f.signals.data(), i.m.signal_count) && all_finite(i.work.a1, i.m.nv);
}

void find_response(Change &c, const std::vector<unsigned char> &prescribed, const std::vector<int> &rows) {
  ChangeWorkspace &w = c.w;
  const auto known = [&](int k) {
    return std::find(w.responding.begin(), w.responding.end(), k) != w.responding.end();
  };
  if (w.responds && w.responding_marks == prescribed && std::all_of(rows.begin(), rows.end(), known))
    return;
  respond(c.i, c.f, c.i.run.t, c.q(), prescribed, rows);
  w.responding.assign(rows.begin(), rows.end());
  w.responding_marks = prescribed;
  w.responds = true;
}

void stop_rows(Change &c, const std::vector<int> &chosen) {
  FrictionRun &f = c.f;
  f.independent.reset(f.A.data(), c.n);
  for (const int k : chosen)
    f.independent.append(k);
  const std::vector<int> &set = f.independent.members();
  std::vector<double> &impulse = c.w.impulses;
  for (std::size_t j = 0; j < set.size(); ++j)
    impulse[j] = -c.w.u[at(set[j])];
  f.independent.solve(impulse.data());
  for (std::size_t j = 0; j < set.size(); ++j)
    for (int dof = 0; dof < c.i.m.nv; ++dof)
      c.v()[dof] += impulse[j] * f.D[at(set[j] * c.i.m.nv + dof)];
}

} // namespace dalembert::DALEMBERT_ISA
