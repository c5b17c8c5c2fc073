#include "steppers/simd_runs.hpp"
#include "steppers/lane_state.hpp"
#include "steppers/methods/runge_kutta.hpp"
#include "system/drives.hpp"
#include "system/projection.hpp"
#include "tree/chart.hpp"
#include <algorithm>
#include <initializer_list>
#include <limits>

namespace dalembert::DALEMBERT_ISA {

std::size_t lay_out_shared(const ModelData &m, std::byte *base, SimdRunWorkspace &work) {
  Arena arena{base};
  arena.skip(lay_out(m, base, work.system));
  arena.skip(lay_out(m, arena.here(), work.one));
  arena.skip(lay_out(m, arena.here(), work.switching));
  return arena.used;
}

std::size_t lay_out_pack(const ModelData &m, std::byte *base, SimdRunWorkspace &work) {
  using P = Pack;
  Arena arena{base};
  const std::size_t nq = std::size_t(m.nq), nv = std::size_t(m.nv), nx = std::size_t(m.nx);
  for (P **each : {&work.q, &work.q1, &work.qs})
    *each = arena.take<P>(nq);
  for (P **each : {&work.v, &work.v1, &work.vs, &work.a, &work.change, &work.control})
    *each = arena.take<P>(nv);
  for (P **each : {&work.x, &work.x1, &work.xs, &work.dx})
    *each = arena.take<P>(nx);
  work.inputs = arena.take<P>(std::size_t(m.input_count));
  const std::size_t n = 2 * nv + nx;
  work.z = arena.take<P>(n);
  work.e = arena.take<P>(n);
  work.K = arena.take<P>(16 * n);
  work.D = arena.take<P>(7 * n);
  work.switching_values = arena.take<P>(std::size_t(m.switching_count));
  for (P **each : {&work.begin_y, &work.begin_rate, &work.end_y, &work.end_rate})
    *each = arena.take<P>(std::size_t(m.monitor_inputs));
  work.sides = arena.take<double>(std::size_t(m.switching_count));
  work.parameters = arena.take<double>(std::size_t(W) * std::size_t(m.parameter_count));
  arena.skip(lay_out(m, arena.here(), work.own));
  return arena.used;
}

SimdRuns::SimdRuns(const ModelData &model, const Run &asked, const SimdRunWorkspace &memory, double begin, double until,
                   const Samples &samples, const RunQueue &feed)
    : m(model), run(asked), work(memory), from(begin), until(until), samples(samples), feed(feed) {
  std::fill_n(work.sides, m.switching_count, std::numeric_limits<double>::quiet_NaN());
  run.conditions.law_branches = m.switching_count ? work.sides : nullptr; // so that switching functions are evaluated
  std::fill_n(work.a, m.nv, P(0.0)); // lanes in which no run begins stay where they are
  std::fill_n(work.dx, m.nx, P(0.0));
  for (int lane = 0; lane < W; ++lane)
    t[lane] = begin, h[lane] = step[lane] = 0.0, accepted[lane] = false;
}

// ---- asking for rates

void SimdRuns::request(RunRequest what, unsigned lanes, const P &time, const P *q, const P *v, const P *x, P *a,
                       P *dx) {
  request_now = what, requested = lanes & running;
  at_t = time, at_q = q, at_v = v, at_x = x;
  to_a = a, to_dx = dx;
}

void SimdRuns::evaluate(const P *control) {
  SystemState<P> state{clamped(at_t), at_q, at_v, at_x};
  state.control = control;
  if (run.conditions.sequence)
    set_control(state);
  alone |= requested & solve_accelerations(m, run.conditions, work.system, state, to_a, to_dx);
  if (m.switching_count)
    check_branches(request_now == RunRequest::entering ? requested & ~fresh : requested);
}

// joint forces and inputs of the control sequences of all lanes, each at its own time
void SimdRuns::set_control(SystemState<P> &state) {
  const ControlSequence &control = *run.conditions.sequence;
  for (int lane = 0; lane < W; ++lane) {
    if (!control.linear && control.is_in(control_row[lane], state.t[lane]))
      continue;
    const ControlValues now(control, runs[lane].control, state.t[lane]);
    control_row[lane] = now.interval;
    set_lane_control(m, now, lane, work.control, work.inputs, work.parameters);
  }
  state.control = work.control, state.inputs = work.inputs;
}

void SimdRuns::continue_run() {
  switch (request_now) {
  case RunRequest::entering:
    return start_evaluated();
  case RunRequest::probe:
    return first_step_evaluated();
  case RunRequest::stage:
    return number + 1 < tableau.stages ? request_stage_rates(RunRequest::stage, running, number + 1)
                                       : request_end_rates();
  case RunRequest::end:
    return accept_or_reject();
  case RunRequest::closed:
    return finish_step();
  case RunRequest::dense:
    return number < 15 ? request_stage_rates(RunRequest::dense, inner, number + 1) : sample();
  case RunRequest::nothing:
    return;
  }
}

void SimdRuns::leave_batch(unsigned lanes, Outcome outcome) {
  for (int lane = 0; lane < W; ++lane)
    if (on(lanes & running, lane))
      end_lane(lane, outcome);
}

void SimdRuns::end_lane(int lane, Outcome outcome) {
  running &= ~(1u << lane);
  h[lane] = 0.0; // it stays where it is until another run takes its place
  feed.ended(feed.self, runs[lane], outcome, t[lane], counts[lane]);
}

// ---- runs that begin

void SimdRuns::set_lane(int lane) {
  const SimdRunInput &mine = runs[lane];
  LaneState{work.q, work.v, work.x, work.parameters, work.own, work.one}.take(mine, lane, m, run.conditions);
  broken |= mine.discontinuities.count > 0;
  interval[lane] = SmoothInterval::around(mine.discontinuities, from);
  control_row[lane] = -1;
  t[lane] = from, h[lane] = 0.0, old_error[lane] = 1e-4, rejected[lane] = accepted[lane] = false, next[lane] = 0;
  stiffness[lane] = {};
  stagnation[lane] = StagnationMonitor{0, from};
  usual_min_pivot[lane] = 0.0;
  counts[lane] = Counts{};
  alone &= ~(1u << lane);
  monitored &= ~(1u << lane);
  unclear[lane] = 0;
}

// the next runs into lanes that are free; returns these lanes
unsigned SimdRuns::load_run() {
  unsigned taken = 0;
  for (int lane = 0; lane < W && !dry; ++lane) {
    if (on(running, lane))
      continue;
    dry = !feed.next(feed.self, runs[lane]);
    if (dry)
      break;
    set_lane(lane);
    for (int other = lane + 1; other < W && !filled; ++other) { // until others come, the first stands in all lanes
      runs[other] = runs[lane];
      set_lane(other);
    }
    filled = true;
    taken |= 1u << lane;
  }
  running |= taken;
  return taken;
}

// Requests rates at the states of some lanes, after drives and constraints have been imposed.
void SimdRuns::enter(unsigned lanes, unsigned beginning) {
  fresh = beginning;
  monitored &= ~lanes;
  for (int k = 0; k < m.nq; ++k)
    work.qs[k] = work.q[k];
  if (fresh) {
    for (int f = 0; f < m.nv; ++f)
      work.z[f] = P(0.0);
    integrate<P>(m, work.q, work.z, work.q1); // attitudes of length one
    for (int k = 0; k < m.nq; ++k)
      for (int lane = 0; lane < W; ++lane)
        if (on(fresh, lane))
          work.qs[k].set(lane, work.q1[k][lane]);
  }
  for (int f = 0; f < m.nv; ++f)
    work.vs[f] = work.v[f];
  const P now = packed(t);
  impose_drives(m, clamped(now), work.system.callback_laws, work.qs, work.vs);
  if (m.nc && run.project)
    alone |= project_onto_constraints(now, work.qs, work.vs) & lanes;
  request(RunRequest::entering, lanes, now, work.qs, work.vs, work.x, work.K + m.nv, work.K + 2 * m.nv);
}

void SimdRuns::start_evaluated() {
  const P *a = work.K + m.nv, *dx = work.K + 2 * m.nv;
  for (int lane = 0; lane < W; ++lane) {
    if (!on(requested, lane))
      continue;
    for (int k = 0; k < m.nq; ++k)
      work.q[k].set(lane, work.qs[k][lane]);
    for (int f = 0; f < m.nv; ++f) {
      work.v[f].set(lane, work.vs[f][lane]);
      work.a[f].set(lane, a[f][lane]);
    }
    for (int k = 0; k < m.nx; ++k)
      work.dx[k].set(lane, dx[k][lane]);
    if (!on(fresh, lane))
      continue;
    for (int k = 0; k < m.switching_count; ++k)
      work.switching_values[k].set(lane, work.system.switching_values[k][lane]);
    if (samples.count && samples.times[0] <= from) {
      put(lane, work.q, work.v, work.x);
      next[lane] = 1;
    }
  }
  if (!fresh)
    return next_step();
  check_branches(fresh);
  probe();
}

// a trial of a first step
void SimdRuns::probe() {
  set_first_stage(m, work.v, work.a, work.dx, work.K);
  const P size = state_size<P>(m, run, {work.q, work.v, work.x}), rate = measure(work.K, work.q, work.v, work.x);
  P length;
  for (int lane = 0; lane < W; ++lane) {
    const double left = std::min(until, interval[lane].end) - t[lane];
    slope[lane] = rate[lane];
    trial[lane] = on(fresh, lane) ? trial_length(size[lane], rate[lane], left, run.max_step) : 0.0;
    length.set(lane, trial[lane]);
  }
  for (int k = 0; k < n(); ++k)
    work.z[k] = length * work.K[k];
  const P time = packed(t) + length;
  displace(time, work.z, work.qs, work.vs, work.xs);
  P *K1 = work.K + n();
  chart_rate<P>(m, work.z, work.vs, K1);
  request(RunRequest::probe, fresh, time, work.qs, work.vs, work.xs, K1 + m.nv, K1 + 2 * m.nv);
}

void SimdRuns::first_step_evaluated() {
  const P length = packed(trial), *K1 = work.K + n();
  for (int k = 0; k < n(); ++k)
    work.e[k] = (K1[k] - work.K[k]) / length;
  const P bend = measure(work.e, work.q, work.v, work.x);
  for (int lane = 0; lane < W; ++lane) {
    const double left = std::min(until, interval[lane].end) - t[lane];
    if (on(fresh, lane))
      step[lane] = first_length(trial[lane], slope[lane], std::isfinite(bend[lane]) ? bend[lane] : 0.0, tableau.order,
                                left, run.max_step);
  }
  fresh = 0;
  next_step();
}

// ---- a step

// lengths of the next steps; lanes that are through, or have to go by themselves, end
void SimdRuns::choose_lengths() {
  for (int lane = 0; lane < W; ++lane) {
    if (!on(running, lane))
      continue;
    const double goal = std::min(until, interval[lane].end), rest = goal - t[lane];
    h[lane] = std::min(step[lane], run.max_step);
    ends[lane] = h[lane] * 1.0000001 >= rest;
    h[lane] = ends[lane] ? rest : 2.0 * h[lane] > rest ? 0.5 * rest : h[lane];
    const bool left = rest > 0.0,
               splinter = !(h[lane] > 4e-16 * std::max(std::fabs(t[lane]), 1e-12 * std::fabs(until)));
    const bool slow = stagnation[lane].is_stagnant(counts[lane].steps, t[lane], until);
    if (left && !ends[lane] && splinter)
      end_lane(lane, Outcome::underflow);
    else if (on(alone, lane) || stiffness[lane].detected() || slow)
      end_lane(lane, Outcome::stiff); // it goes on by itself
    else if (!left)
      end_lane(lane, Outcome::reached);
    t1[lane] = ends[lane] ? goal : t[lane] + h[lane]; // the sum may miss the end by its rounding
  }
}

void SimdRuns::next_step() {
  request_now = RunRequest::nothing;
  if (feed.stop())
    return leave_batch(running, Outcome::stopped);
  choose_lengths();
  if (const unsigned taken = load_run())
    return enter(taken, taken);
  if (!running)
    return;
  work.system.loops.min_pivot = P(1.0);
  set_first_stage(m, work.v, work.a, work.dx, work.K);
  request_stage_rates(RunRequest::stage, running, 1);
}

void SimdRuns::request_stage_rates(RunRequest what, unsigned lanes, int i) {
  number = i;
  const P length = packed(h), time = packed(t) + length * tableau.c[i];
  combine_stage(tableau, i, length, work.K, n(), work.z);
  displace(time, work.z, work.qs, work.vs, work.xs);
  P *K = work.K + std::ptrdiff_t(i) * n();
  chart_rate<P>(m, work.z, work.vs, K);
  request(what, lanes, time, work.qs, work.vs, work.xs, K + m.nv, K + 2 * m.nv);
}

void SimdRuns::request_end_rates() {
  const P length = packed(h), time = packed(t) + length;
  combine(tableau.b, tableau.stages, length, work.K, n(), work.z);
  displace(time, work.z, work.q1, work.v1, work.x1);
  chart_rate<P>(m, work.z, work.v1, end());
  request(RunRequest::end, running, time, work.q1, work.v1, work.x1, end() + m.nv, end() + 2 * m.nv);
}

// which lanes accept their step
void SimdRuns::accept_or_reject() {
  judge();
  unsigned passed = 0;
  for (int lane = 0; lane < W; ++lane) {
    accepted[lane] = on(running, lane) && error[lane] <= 1.0;
    passed |= accepted[lane] ? 1u << lane : 0u;
  }
  if (!(m.nc && run.project))
    return finish_step();
  // after the error has been judged, as in steppers/methods/explicit_runge_kutta.cpp
  alone |= project_onto_constraints(at_t, work.q1, work.v1) & passed;
  difference<P>(m, work.q, work.q1, work.z);
  chart_rate<P>(m, work.z, work.v1, end());
  request(RunRequest::closed, running, at_t, work.q1, work.v1, work.x1, end() + m.nv, end() + 2 * m.nv);
}

void SimdRuns::finish_step() {
  if (m.nc)
    check_pivots();
  if (m.switching_count)
    monitor();
  for (int lane = 0; lane < W; ++lane) {
    counts[lane].evaluations += on(running, lane) ? tableau.stages : 0;
    counts[lane].steps += accepted[lane];
    counts[lane].rejected += on(running, lane) && !accepted[lane];
  }
  if (run.detect_stiffness)
    count_stiffness();
  inner = 0;
  for (int lane = 0; lane < W; ++lane)
    if (accepted[lane] && next[lane] < samples.count && samples.times[next[lane]] < t1[lane])
      inner |= 1u << lane;
  if (inner)
    return request_stage_rates(RunRequest::dense, inner, 13);
  sample();
}

// samples of each accepted lane within its step, from the dense output, and on to the next step
void SimdRuns::sample() {
  if (inner)
    prepare_dop853<P>(m, {work.q, work.v, work.x}, {work.q1, work.v1, work.x1}, packed(h), work.K, work.D);
  for (int lane = 0; lane < W; ++lane)
    for (; accepted[lane] && next[lane] < samples.count && samples.times[next[lane]] <= t1[lane]; ++next[lane])
      store(lane, samples.times[next[lane]], samples.times[next[lane]] < t1[lane]);
  advance_state();
  if (!(broken && stop_at_discontinuities()))
    next_step();
}

// accepted lanes move to the end of their step, others try a shorter one
void SimdRuns::advance_state() {
  for (int lane = 0; lane < W; ++lane) {
    if (!on(running, lane))
      continue;
    if (!accepted[lane]) {
      rejected[lane] = true;
      if (unclear[lane]) {
        step[lane] = 0.5 * h[lane];
        continue;
      }
      const bool finite_error = std::isfinite(error[lane]);
      step[lane] = finite_error ? h[lane] * reduced_step(error[lane], tableau.order) : 0.25 * h[lane];
      if (!finite_error && step[lane] < 1e-13 * std::max(std::fabs(until), std::fabs(t[lane])))
        end_lane(lane, Outcome::not_finite);
      continue;
    }
    step[lane] = next_length(step[lane], h[lane], error[lane], old_error[lane], rejected[lane], tableau.order);
    rejected[lane] = false;
    old_error[lane] = std::max(error[lane], 1e-4);
    t[lane] = t1[lane];
    for (int k = 0; k < m.nq; ++k)
      work.q[k].set(lane, work.q1[k][lane]);
    for (int f = 0; f < m.nv; ++f) {
      work.v[f].set(lane, work.v1[f][lane]);
      work.a[f].set(lane, end()[m.nv + f][lane]);
    }
    for (int k = 0; k < m.nx; ++k) {
      work.x[k].set(lane, work.x1[k][lane]);
      work.dx[k].set(lane, end()[2 * m.nv + k][lane]);
    }
    for (int k = 0; k < m.monitor_inputs; ++k) {
      work.begin_y[k].set(lane, work.end_y[k][lane]);
      work.begin_rate[k].set(lane, work.end_rate[k][lane]);
    }
  }
}

// lanes that have come to a break go on with the state and its rates as they are after it; false if there are none
bool SimdRuns::stop_at_discontinuities() {
  unsigned there = 0;
  for (int lane = 0; lane < W; ++lane)
    if (on(running, lane) && accepted[lane] && t[lane] == interval[lane].end && t[lane] < until) {
      there |= 1u << lane;
      interval[lane] = SmoothInterval::around(runs[lane].discontinuities, t[lane]);
    }
  if (there)
    enter(there, 0);
  return there;
}

// ---- what lanes compute

Pack SimdRuns::clamped(const P &time) const {
  if (!broken)
    return time;
  P inside;
  for (int lane = 0; lane < W; ++lane)
    inside.set(lane, interval[lane].clamp(time[lane]));
  return inside;
}

Pack SimdRuns::packed(const double *numbers) const {
  P p;
  for (int lane = 0; lane < W; ++lane)
    p.set(lane, numbers[lane]);
  return p;
}

// Lanes in which a law leaves the branch that it was on where the run began: their steps have to end there. Until then
// the branches that are held are those that fit.
void SimdRuns::check_branches(unsigned lanes) {
  for (int k = 0; k < m.switching_count; ++k) {
    const P &now = work.system.switching_values[k], &then = work.switching_values[k];
    if (!m.switching_functions[k].whole)
      alone |= lanes & bits(opposite(less(P(0.0), now * then)));
    else
      for (int lane = 0; lane < W; ++lane)
        alone |= side_of(m, m.switching_functions[k], now[lane]) != side_of(m, m.switching_functions[k], then[lane])
                     ? lanes & 1u << lane
                     : 0u;
  }
}

// what switching functions take at a state and, from that a little later, its rates
void SimdRuns::look(const P &time, const P *q, const P *v, const P *x, const P *a, const P *dx, const P &later, P *y,
                    P *rate) {
  look_with_rates<P>(
      m, run.conditions, work.system, time, q, v, x, a, dx, later, [this](const P &t) { return clamped(t); },
      {work.qs, work.vs, work.xs, work.change}, y, rate);
}

// Steps that pass are those along which bounds keep switching functions on their sides; others are halved, and a lane
// that still does not pass goes by itself.
void SimdRuns::monitor() {
  constexpr double little = 1e-6; // of a step
  constexpr int max_halvings = 6;
  unsigned passed = 0;
  for (int lane = 0; lane < W; ++lane)
    passed |= accepted[lane] ? 1u << lane : 0u;
  if (!passed)
    return;
  P length;
  for (int lane = 0; lane < W; ++lane)
    length.set(lane, on(passed, lane) ? h[lane] : 1.0); // elsewhere it has no effect
  if (passed & ~monitored) {
    look(packed(t), work.q, work.v, work.x, work.a, work.dx, little * length, work.end_y, work.end_rate);
    for (int k = 0; k < m.monitor_inputs; ++k)
      for (int lane = 0; lane < W; ++lane)
        if (on(passed & ~monitored, lane)) {
          work.begin_y[k].set(lane, work.end_y[k][lane]);
          work.begin_rate[k].set(lane, work.end_rate[k][lane]);
        }
    monitored |= passed;
  }
  look(packed(t1), work.q1, work.v1, work.x1, end() + m.nv, end() + 2 * m.nv, -little * length, work.end_y,
       work.end_rate);
  for (int lane = 0; lane < W; ++lane) {
    if (!accepted[lane])
      continue;
    accepted[lane] = stays_inside(lane);
    unclear[lane] = accepted[lane] ? 0 : unclear[lane] + 1;
    alone |= unclear[lane] > max_halvings ? 1u << lane : 0u;
  }
}

bool SimdRuns::stays_inside(int lane) {
  SwitchingWorkspace &mine = work.switching;
  for (int k = 0; k < m.monitor_inputs; ++k) {
    mine.begin.y[k] = work.begin_y[k][lane], mine.begin.rate[k] = work.begin_rate[k][lane];
    mine.end.y[k] = work.end_y[k][lane], mine.end.rate[k] = work.end_rate[k][lane];
  }
  for (int k = 0; k < m.switching_count; ++k)
    mine.switching_values[k] = work.switching_values[k][lane];
  const auto turn = [&](int f) { return h[lane] * std::max(std::fabs(work.v[f][lane]), std::fabs(work.v1[f][lane])); };
  return max_turn_of(m, mine.begin, mine.end, h[lane], turn) <= max_turn && keeps_sides(m, mine, work.sides, h[lane]);
}

// positions and velocities onto the loops; returns the lanes in which that fails
unsigned SimdRuns::project_onto_constraints(const P &time, P *q, P *v) {
  work.system.loops.ws.t = clamped(time);
  set_targets(m, work.system.loops.ws.t, work.system.callback_laws, work.system.targets);
  return project_simd(m, run.conditions, work.system, q, v, work.change);
}

// lanes that come near a singular position, where steps of their own kind are needed
void SimdRuns::check_pivots() {
  for (int lane = 0; lane < W; ++lane) {
    const double slack = work.system.loops.min_pivot[lane];
    usual_min_pivot[lane] = std::max(usual_min_pivot[lane], slack);
    if (!(slack >= close_to_singular * usual_min_pivot[lane]))
      alone |= 1u << lane;
  }
}

// the state z away, at a time
void SimdRuns::displace(const P &time, const P *z, P *q, P *v, P *x) const {
  integrate<P>(m, work.q, z, q);
  for (int k = 0; k < m.nx; ++k)
    x[k] = work.x[k] + z[2 * m.nv + k];
  for (int f = 0; f < m.nv; ++f)
    v[f] = work.v[f] + z[m.nv + f];
  impose_drives(m, clamped(time), work.system.callback_laws, q, v);
}

// norm of increments in units of the tolerance
Pack SimdRuns::measure(const P *z, const P *q1, const P *v1, const P *x1) const {
  return norm<P>(m, run, {work.q, work.v, work.x}, {q1, v1, x1}, z);
}

// Errors of the steps, in units of the tolerance.
void SimdRuns::judge() {
  const auto size = [this](const P *z, bool) { return measure(z, work.q1, work.v1, work.x1); };
  const P estimate = step_error(tableau, packed(h), work.K, n(), work.e, size), turn = turn_square<P>(m, work.z);
  for (int lane = 0; lane < W; ++lane)
    error[lane] = finite(lane) ? std::max(estimate[lane], turn_error(turn[lane], tableau.order))
                               : std::numeric_limits<double>::quiet_NaN();
}

// Counts accepted steps that stability bounds.
void SimdRuns::count_stiffness() {
  const StiffnessEstimate<P> found = estimate_stiffness(tableau, packed(h), work.K, n(), work.e, work.z);
  for (int lane = 0; lane < W; ++lane)
    if (accepted[lane])
      stiffness[lane].add(is_stiff(tableau, h[lane], found.rates[lane], found.states[lane]));
}

void SimdRuns::store(int lane, double time, bool inside) {
  const P *q = work.q1, *v = work.v1, *x = work.x1;
  if (inside) {
    const double s = (time - t[lane]) / h[lane];
    dop853_at(work.D, n(), s, work.z);
    displace(P(time), work.z, work.qs, work.vs, work.xs);
    if (m.nc && run.project)
      alone |= project_onto_constraints(P(time), work.qs, work.vs) & 1u << lane;
    q = work.qs, v = work.vs, x = work.xs;
  }
  put(lane, q, v, x);
}

void SimdRuns::put(int lane, const P *q, const P *v, const P *x) {
  const SimdRunInput &mine = runs[lane];
  for (int k = 0; k < m.nx; ++k)
    mine.samples_x[next[lane] * m.nx + k] = x[k][lane];
  for (int k = 0; k < m.nq; ++k)
    mine.samples_q[next[lane] * m.nq + k] = q[k][lane];
  for (int f = 0; f < m.nv; ++f)
    mine.samples_v[next[lane] * m.nv + f] = v[f][lane];
}

bool SimdRuns::finite(int lane) const {
  double zero = 0.0;
  for (int k = 0; k < n(); ++k)
    zero += 0.0 * work.z[k][lane];
  return zero == 0.0;
}

} // namespace dalembert::DALEMBERT_ISA
