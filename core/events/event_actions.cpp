#include "events/event_actions.hpp"
#include "constraints/loop_constraints.hpp"
#include "constraints/loop_response.hpp"
#include "scalar/dense_lu.hpp"
#include "steppers/run_report.hpp"
#include "system/drives.hpp"
#include "system/projection.hpp"
#include "tree/outputs.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr int max_locked = 6;            // velocities of one joint
constexpr double max_open_loop = 1e-2;   // rad or m: a loop open by more is not closed by a correction
constexpr double least_response = 1e-10; // of the response without loops: less does not determine an impulse

std::size_t at(int k) { return std::size_t(k); }

std::vector<unsigned char> copy_marks(const unsigned char *marks, int count, unsigned char other) {
  return marks ? std::vector<unsigned char>(marks, marks + count) : std::vector<unsigned char>(at(count), other);
}

// the conditions of the run point at what actions change
void point_at_conditions(const RunContext &i, EventRun &e) {
  Conditions &c = i.run.conditions;
  const auto marked = [](const std::vector<unsigned char> &marks, unsigned char mark) -> const unsigned char * {
    return std::find(marks.begin(), marks.end(), mark) == marks.end() ? nullptr : marks.data();
  };
  c.acceleration_prescribed = marked(e.prescribed[0], 1);
  c.velocity_prescribed = marked(e.prescribed[1], 1);
  c.position_prescribed = marked(e.prescribed[2], 1);
  c.constraint_active = marked(e.constraint_active, 0);
  c.parameters = e.parameters.data();
}

// Actions that are being made.
class Actions {
public:
  Actions(const RunContext &i, EventRun &e) : i(i), e(e), m(i.m), loops(i.work.motion.system.loops) {}

  bool failed = false; // a callback has failed

  // Evaluates the loop constraints at the state of the run, with residuals and drifts where they are wanted; returns the
  // targets of the rows and their rates.
  const double *evaluate_loops(double *residual, double *drift) {
    SystemWorkspace<double> &system = i.work.motion.system;
    loops.ws.t = i.run.interval.clamp(i.run.t);
    set_targets(m, loops.ws.t, system.callback_laws, system.targets);
    evaluate_loop_constraints<double>(m, loops.ws, i.work.q, nullptr,
                                      {.residual = residual,
                                       .values = loops.values,
                                       .leverage = loops.leverage,
                                       .drift = drift,
                                       .opening = &loops.opening,
                                       .active = i.run.conditions.constraint_active,
                                       .held = cut_held()});
    return system.targets;
  }

  // whether velocities are held that move, or rows have rates of their own
  bool do_work() {
    for (int k = 0; k < m.nv; ++k)
      if (held() && held()[k] && i.work.v[k] != 0.0)
        return true;
    if (!m.nc)
      return false;
    const double *targets = evaluate_loops(nullptr, loops.drift);
    for (int row = 0; row < m.nc; ++row)
      if (targets[m.nc + row] - loops.drift[row] != 0.0)
        return true;
    return false;
  }

  // makes one action; false if it is not determined here
  bool make(const EventAction &action, bool &acted) {
    switch (action.kind) {
    case ActionKind::bounce_coordinate:
    case ActionKind::bounce_point:
      return bounce(action, acted);
    case ActionKind::lock:
      acted = true;
      return lock(action);
    case ActionKind::release:
      for (std::vector<unsigned char> &marks : e.prescribed)
        std::fill(marks.begin() + action.index, marks.begin() + action.end, 0);
      break;
    case ActionKind::set:
      e.parameters[at(action.index)] = action.value;
      break;
    case ActionKind::open:
      e.constraint_active[at(action.index)] = 0;
      break;
    case ActionKind::close:
      acted = true;
      return close(action.index);
    }
    acted = true;
    point_at_conditions(i, e);
    return true;
  }

  // kinetic energy and total energy, J
  bool energies(double &kinetic, double &total) {
    double parts[energy_count];
    Report out;
    out.energy = parts;
    failed = failed || !evaluate_report(i, e.report_memory.block->data, i.run.t, i.work.q, i.work.v, i.work.x, out);
    kinetic = parts[0], total = parts[0] + parts[1] + parts[2];
    return !failed;
  }

private:
  const RunContext &i;
  EventRun &e;
  const ModelData &m;
  LoopWorkspace<double> &loops;

  const unsigned char *held() const { return i.run.conditions.velocity_prescribed; }
  const unsigned char *cut_held() const { return i.run.conditions.cut_velocity_locked; }

  Factored factor() {
    loops.ws.t = i.run.interval.clamp(i.run.t);
    if (!m.nc) {
      factorize<double>(m, loops.ws, i.work.q, held());
      return {};
    }
    evaluate_loop_constraints<double>(m, loops.ws, i.work.q, nullptr,
                                      {.values = loops.values,
                                       .leverage = loops.leverage,
                                       .opening = &loops.opening,
                                       .active = i.run.conditions.constraint_active,
                                       .held = cut_held()});
    return factor_loops(m, loops, i.work.q, held());
  }
  double dot_row(const double *row, const double *v) const {
    double sum = 0.0;
    for (int k = 0; k < m.nv; ++k)
      sum += row[k] * v[k];
    return sum;
  }

  // the row of a bounce, in e.row
  void set_row(const EventAction &action) {
    if (action.kind == ActionKind::bounce_coordinate) {
      std::fill(e.row.begin(), e.row.end(), 0.0);
      e.row[at(action.index)] = 1.0;
      return;
    }
    double *jacobian = e.response.data(); // 6 x nv
    point_jacobians(m, loops.ws, e.points[at(action.index)].data, i.work.q, jacobian);
    for (int k = 0; k < m.nv; ++k)
      e.row[at(k)] = action.normal[0] * jacobian[3 * m.nv + k] + action.normal[1] * jacobian[4 * m.nv + k] +
                     action.normal[2] * jacobian[5 * m.nv + k];
  }

  bool bounce(const EventAction &action, bool &acted) {
    set_row(action);
    const double speed = dot_row(e.row.data(), i.work.v);
    if (speed == 0.0 || (action.kind == ActionKind::bounce_point && speed > 0.0)) // it moves away
      return true;
    const Factored factored = factor();
    double *d = e.response.data();
    const double own = respond_to_row(m, loops, factored, held(), e.row.data(), d, i.work.motion.system.lambda);
    const double response = dot_row(e.row.data(), d);
    if (!(response > least_response * own))
      return false;
    const double size = -(1.0 + action.value) * speed / response;
    for (int k = 0; k < m.nv; ++k)
      i.work.v[k] += size * d[k];
    acted = true;
    return all_finite(i.work.v, m.nv);
  }

  // (2)
  bool lock(const EventAction &action) {
    std::int32_t which[max_locked], exchange[max_locked];
    int n = 0;
    for (int k = action.index; k < action.end; ++k)
      if (!(held() && held()[k]))
        which[n++] = k;
    const Factored factored = factor();
    double impulses[max_locked];
    for (int j = 0; j < n; ++j) {
      std::fill(e.row.begin(), e.row.end(), 0.0);
      e.row[at(which[j])] = 1.0;
      double *d = e.response.data() + std::ptrdiff_t(j) * m.nv;
      const double own = respond_to_row(m, loops, factored, held(), e.row.data(), d, i.work.motion.system.lambda);
      if (!(d[which[j]] > least_response * own))
        return false;
      impulses[j] = -i.work.v[which[j]];
    }
    for (int a = 0; a < n; ++a)
      for (int b = 0; b < n; ++b)
        e.matrix[at(a * n + b)] = e.response[at(b * m.nv + which[a])];
    if (!factor_lu(e.matrix.data(), exchange, n))
      return false;
    for (int a = 0; a < n; ++a)
      if (!(std::fabs(e.matrix[at(a * n + a)]) > least_response * std::fabs(e.response[at(a * m.nv + which[a])])))
        return false;
    solve_lu(e.matrix.data(), exchange, n, impulses);
    for (int k = 0; k < m.nv; ++k)
      for (int j = 0; j < n; ++j)
        i.work.v[k] += impulses[j] * e.response[at(j * m.nv + k)];
    for (int k = action.index; k < action.end; ++k) {
      i.work.v[k] = 0.0;
      for (std::vector<unsigned char> &marks : e.prescribed)
        marks[at(k)] = 1;
    }
    point_at_conditions(i, e);
    return all_finite(i.work.v, m.nv);
  }

  // (3); not if the loop is open
  bool close(int constraint) {
    e.constraint_active[at(constraint)] = 1;
    point_at_conditions(i, e);
    const double *targets = evaluate_loops(loops.rhs, nullptr);
    const LoopConstraintData &rows = m.loop_constraints[constraint];
    for (int k = rows.row; k < rows.row + rows.rows; ++k)
      if (m.holonomic[k] && !(std::fabs(targets[k] - loops.rhs[k]) <= max_open_loop))
        return false;
    project_velocities(m, i.run.conditions, i.work.motion.system, i.work.q, i.work.v, i.work.change, held());
    return all_finite(i.work.v, m.nv);
  }
};

bool needs_impulse(ActionKind kind) {
  return kind == ActionKind::bounce_coordinate || kind == ActionKind::bounce_point || kind == ActionKind::lock ||
         kind == ActionKind::close;
}

// the actions of one event, with their energies in the last row of the log
ActionOutcome act(const RunContext &i, EventRun &e, const EventFunction &event) {
  const ModelData &m = i.m;
  if (!event.actions) // it ends the run
    return ActionOutcome::made;
  Actions actions(i, e);
  double kinetic, total, after, total_after;
  bool jumps = false;
  unsigned char acted = 0;
  for (int k = event.action; k < event.action + event.actions; ++k)
    jumps = jumps || needs_impulse(e.actions[at(k)].kind);
  if (jumps && actions.do_work())
    return ActionOutcome::outside;
  if (!actions.energies(kinetic, total))
    return ActionOutcome::callback_failed;
  for (int k = event.action; k < event.action + event.actions; ++k) {
    bool made = false;
    if (!actions.make(e.actions[at(k)], made))
      return ActionOutcome::outside;
    acted = static_cast<unsigned char>(acted | (made << (k - event.action)));
  }
  if (!actions.energies(after, total_after))
    return ActionOutcome::callback_failed;
  e.log.energy.back() = total_after - total;
  e.log.dissipated.back() = jumps ? kinetic - after : 0.0;
  e.log.acted.back() = acted;
  return all_finite(i.work.v, m.nv) ? ActionOutcome::made : ActionOutcome::outside;
}

} // namespace

void prepare_actions(const RunContext &i, EventRun &e) {
  const ModelData &m = i.m;
  const Conditions &c = i.run.conditions;
  e.prescribed[0] = copy_marks(c.acceleration_prescribed, m.nv, 0);
  e.prescribed[1] = copy_marks(c.velocity_prescribed, m.nv, 0);
  e.prescribed[2] = copy_marks(c.position_prescribed, m.nv, 0);
  e.constraint_active = copy_marks(c.constraint_active, m.loop_constraint_count, 1);
  e.parameters.assign(c.parameters, c.parameters + m.parameter_count);
  e.recent.assign(e.functions.size() * EventRun::recent_count, -1e300);
  e.row.assign(at(m.nv), 0.0);
  e.response.assign(at(6 * m.nv), 0.0);
  e.matrix.assign(max_locked * max_locked, 0.0);
}

ActionOutcome apply_actions(const RunContext &i, EventRun &e) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  for (const std::int32_t number : e.passed)
    if (!e.functions[at(number)].acts_here)
      return ActionOutcome::outside;
  const std::size_t logged = e.log.t.size();
  e.before.assign(work.q, work.q + m.nq);
  e.before.insert(e.before.end(), work.v, work.v + m.nv);
  e.before.insert(e.before.end(), work.x, work.x + m.nx);
  const std::vector<unsigned char> marks[3] = {e.prescribed[0], e.prescribed[1], e.prescribed[2]};
  const std::vector<unsigned char> active = e.constraint_active;
  const std::vector<double> parameters = e.parameters;
  ActionOutcome outcome = ActionOutcome::made;
  for (std::size_t k = 0; k < e.passed.size() && outcome == ActionOutcome::made; ++k) {
    const AllStates states = all_states(i, work.x);
    e.log.add(m.nq, m.nv, states.count, e.passed[k], i.run.t, work.q, work.v, states.x);
    outcome = act(i, e, e.functions[at(e.passed[k])]);
  }
  if (outcome != ActionOutcome::outside)
    return outcome;
  copy(e.before.data() + m.nq, m.nv, work.v);
  for (int k = 0; k < 3; ++k)
    e.prescribed[k] = marks[k];
  e.constraint_active = active, e.parameters = parameters;
  point_at_conditions(i, e);
  e.log.resize(logged, m.nq + m.nv + all_states(i, work.x).count);
  return outcome;
}

bool ends_without_actions(const RunContext &i, EventRun &e) {
  for (const std::int32_t number : e.passed) {
    const EventFunction &event = e.functions[at(number)];
    if (!(event.acts_here && event.ends && !event.actions))
      return false;
  }
  const AllStates states = all_states(i, i.work.x);
  for (const std::int32_t number : e.passed)
    e.log.add(i.m.nq, i.m.nv, states.count, number, i.run.t, i.work.q, i.work.v, states.x);
  return true;
}

bool comes_again_soon(const RunContext &i, EventRun &e) {
  bool soon = false;
  for (const std::int32_t number : e.passed) {
    double *times = e.recent.data() + std::ptrdiff_t(number) * EventRun::recent_count;
    soon = soon || i.run.t - times[EventRun::recent_count - 1] < e.soon;
    std::copy_backward(times, times + EventRun::recent_count - 1, times + EventRun::recent_count);
    times[0] = i.run.t;
  }
  return soon;
}

} // namespace dalembert::DALEMBERT_ISA
