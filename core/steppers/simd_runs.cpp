#include "steppers/simd_runs.hpp"
#include "steppers/methods/step_size_control.hpp"
#include "system/drives.hpp"
#include "system/projection.hpp"
#include "tree/chart.hpp"
#include <algorithm>
#include <initializer_list>
#include <limits>

namespace dalembert::DALEMBERT_ISA {

std::size_t lay_out_shared(const ModelData &m, std::byte *base, LaneRoom &room) {
  Arena arena{base};
  arena.skip(lay_out(m, base, room.system));
  arena.skip(lay_out(m, arena.here(), room.one));
  arena.skip(lay_out(m, arena.here(), room.switching));
  return arena.used;
}

std::size_t lay_out_pack(const ModelData &m, std::byte *base, LaneRoom &room) {
  using P = Pack;
  Arena arena{base};
  const std::size_t nq = std::size_t(m.nq), nv = std::size_t(m.nv), nx = std::size_t(m.nx);
  for (P **each : {&room.q, &room.q1, &room.qs})
    *each = arena.take<P>(nq);
  for (P **each : {&room.v, &room.v1, &room.vs, &room.a, &room.change})
    *each = arena.take<P>(nv);
  for (P **each : {&room.x, &room.x1, &room.xs, &room.dx})
    *each = arena.take<P>(nx);
  const std::size_t n = 2 * nv + nx;
  room.z = arena.take<P>(n);
  room.e = arena.take<P>(n);
  room.K = arena.take<P>(16 * n);
  room.D = arena.take<P>(7 * n);
  room.margins = arena.take<P>(std::size_t(m.threshold_count));
  for (P **each : {&room.begin_y, &room.begin_rate, &room.end_y, &room.end_rate})
    *each = arena.take<P>(std::size_t(m.watch_inputs));
  room.sides = arena.take<double>(std::size_t(m.threshold_count));
  room.parameters = arena.take<double>(std::size_t(W) * std::size_t(m.parameter_count));
  arena.skip(lay_out(m, arena.here(), room.own));
  return arena.used;
}

LanePack::LanePack(const ModelData &model, const Run &asked, const LaneRoom &memory, double begin, double until, const Samples &samples,
                   const LaneFeed &feed)
    : m(model), run(asked), room(memory), from(begin), until(until), samples(samples), feed(feed) {
  std::fill_n(room.sides, m.threshold_count, std::numeric_limits<double>::quiet_NaN());
  run.conditions.sides = m.threshold_count ? room.sides : nullptr; // so that margins are told
  std::fill_n(room.a, m.nv, P(0.0)); // lanes in which no run begins stay where they are
  std::fill_n(room.dx, m.nx, P(0.0));
  for (int lane = 0; lane < W; ++lane)
    t[lane] = begin, h[lane] = step[lane] = 0.0, accepted[lane] = false;
}

// ---- asking for rates

void LanePack::want(Wants what, unsigned lanes, const P &time, const P *q, const P *v, const P *x, P *a, P *dx) {
  wants = what, minded = lanes & running;
  when = time, at_q = q, at_v = v, at_x = x;
  to_a = a, to_dx = dx;
}

void LanePack::evaluate(const P *control) {
  StateOf<P> state{seen(when), at_q, at_v, at_x};
  state.control = control;
  alone |= minded & solve_motion(m, run.conditions, room.system, state, to_a, to_dx);
  if (m.threshold_count)
    mind_thresholds(wants == Wants::entering ? minded & ~fresh : minded);
}

void LanePack::go_on() {
  switch (wants) {
  case Wants::entering:
    return entered();
  case Wants::probe:
    return probed();
  case Wants::stage:
    return number + 1 < tableau.stages ? ask_stage(Wants::stage, running, number + 1) : ask_end();
  case Wants::end:
    return judge_step();
  case Wants::closed:
    return finish_step();
  case Wants::dense:
    return number < 15 ? ask_stage(Wants::dense, inner, number + 1) : sample();
  case Wants::nothing:
    return;
  }
}

void LanePack::give_up(unsigned lanes, Outcome outcome) {
  for (int lane = 0; lane < W; ++lane)
    if (on(lanes & running, lane))
      end_lane(lane, outcome);
}

void LanePack::end_lane(int lane, Outcome outcome) {
  running &= ~(1u << lane);
  h[lane] = 0.0; // it stays where it is until another run takes its place
  feed.ended(feed.self, runs[lane], outcome, t[lane], counts[lane]);
}

// ---- runs that begin

void LanePack::set_lane(int lane) {
  const LaneRun &mine = runs[lane];
  for (int k = 0; k < m.nq; ++k)
    room.q[k].set(lane, mine.q[k]);
  for (int f = 0; f < m.nv; ++f)
    room.v[f].set(lane, mine.v[f]);
  for (int k = 0; k < m.nx; ++k)
    room.x[k].set(lane, mine.x[k]);
  if (mine.parameters) {
    std::copy_n(mine.parameters, m.parameter_count, room.parameters + std::ptrdiff_t(lane) * m.parameter_count);
    run.conditions.parameters = room.parameters;
    run.conditions.apart = m.parameter_count;
  }
  if (mine.own) {
    start_numbers(*mine.own, room.one);
    put_lane(m, room.one, lane, room.own);
    m.varied = &room.own;
  }
  broken |= mine.breaks.count > 0;
  stretch[lane] = Stretch::around(mine.breaks, from);
  t[lane] = from, h[lane] = 0.0, old_error[lane] = 1e-4, rejected[lane] = accepted[lane] = false, next[lane] = 0;
  stiff_signs[lane] = calm_signs[lane] = 0;
  pace[lane] = Pace{0, from};
  usual_slack[lane] = 0.0;
  counts[lane] = Counts{};
  alone &= ~(1u << lane);
  watched &= ~(1u << lane);
  unclear[lane] = 0;
}

// the next runs into lanes that are free; returns these lanes
unsigned LanePack::take_up() {
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

// Asks for rates at the states of some lanes as drives, loops and breaks want them.
void LanePack::enter(unsigned lanes, unsigned beginning) {
  fresh = beginning;
  watched &= ~lanes;
  for (int k = 0; k < m.nq; ++k)
    room.qs[k] = room.q[k];
  if (fresh) {
    for (int f = 0; f < m.nv; ++f)
      room.z[f] = P(0.0);
    integrate<P>(m, room.q, room.z, room.q1); // attitudes of length one
    for (int k = 0; k < m.nq; ++k)
      for (int lane = 0; lane < W; ++lane)
        if (on(fresh, lane))
          room.qs[k].set(lane, room.q1[k][lane]);
  }
  for (int f = 0; f < m.nv; ++f)
    room.vs[f] = room.v[f];
  const P now = packed(t);
  impose(m, seen(now), room.system.hosted, room.qs, room.vs);
  if (m.nc && run.project)
    alone |= onto_loops(now, room.qs, room.vs) & lanes;
  want(Wants::entering, lanes, now, room.qs, room.vs, room.x, room.K + m.nv, room.K + 2 * m.nv);
}

void LanePack::entered() {
  const P *a = room.K + m.nv, *dx = room.K + 2 * m.nv;
  for (int lane = 0; lane < W; ++lane) {
    if (!on(minded, lane))
      continue;
    for (int k = 0; k < m.nq; ++k)
      room.q[k].set(lane, room.qs[k][lane]);
    for (int f = 0; f < m.nv; ++f) {
      room.v[f].set(lane, room.vs[f][lane]);
      room.a[f].set(lane, a[f][lane]);
    }
    for (int k = 0; k < m.nx; ++k)
      room.dx[k].set(lane, dx[k][lane]);
    if (!on(fresh, lane))
      continue;
    for (int k = 0; k < m.threshold_count; ++k)
      room.margins[k].set(lane, room.system.margins[k][lane]);
    if (samples.count && samples.times[0] <= from) {
      put(lane, room.q, room.v, room.x);
      next[lane] = 1;
    }
  }
  if (!fresh)
    return next_step();
  mind_thresholds(fresh);
  probe();
}

// a first step as the scalar stepper chooses it: a trial of it
void LanePack::probe() {
  double size[W];
  P length;
  for (int f = 0; f < m.nv; ++f) {
    room.K[f] = room.v[f];
    room.K[m.nv + f] = room.a[f];
    room.e[f] = m.coordinate[f] < 0 ? P(1.0) : room.q[m.coordinate[f]];
    room.e[m.nv + f] = room.v[f];
  }
  for (int k = 0; k < m.nx; ++k) {
    room.K[2 * m.nv + k] = room.dx[k];
    room.e[2 * m.nv + k] = room.x[k];
  }
  weigh(room.e, room.q, room.v, room.x, size);
  weigh(room.K, room.q, room.v, room.x, slope);
  for (int lane = 0; lane < W; ++lane) {
    const double left = std::min(until, stretch[lane].end) - t[lane];
    const double wanted = size[lane] < 1e-5 || slope[lane] < 1e-5 ? 1e-6 : 0.01 * size[lane] / slope[lane];
    trial[lane] = on(fresh, lane) ? std::min({wanted, left, run.max_step}) : 0.0;
    length.set(lane, trial[lane]);
  }
  for (int k = 0; k < n(); ++k)
    room.z[k] = length * room.K[k];
  const P time = packed(t) + length;
  displace(time, room.z, room.qs, room.vs, room.xs);
  P *K1 = room.K + n();
  chart_rate<P>(m, room.z, room.vs, K1);
  want(Wants::probe, fresh, time, room.qs, room.vs, room.xs, K1 + m.nv, K1 + 2 * m.nv);
}

void LanePack::probed() {
  double bend[W];
  const P length = packed(trial), *K1 = room.K + n();
  for (int k = 0; k < n(); ++k)
    room.e[k] = (K1[k] - room.K[k]) / length;
  weigh(room.e, room.q, room.v, room.x, bend);
  for (int lane = 0; lane < W; ++lane) {
    const double left = std::min(until, stretch[lane].end) - t[lane];
    if (on(fresh, lane))
      step[lane] = first_length(trial[lane], slope[lane], std::isfinite(bend[lane]) ? bend[lane] : 0.0, tableau.order, left, run.max_step);
  }
  fresh = 0;
  next_step();
}

// ---- a step

// lengths of the next steps; lanes that are through, or have to go by themselves, end
void LanePack::choose_lengths() {
  for (int lane = 0; lane < W; ++lane) {
    if (!on(running, lane))
      continue;
    const double goal = std::min(until, stretch[lane].end), rest = goal - t[lane];
    h[lane] = std::min(step[lane], run.max_step);
    ends[lane] = h[lane] * 1.0000001 >= rest;
    h[lane] = ends[lane] ? rest : 2.0 * h[lane] > rest ? 0.5 * rest : h[lane];
    const bool left = rest > 0.0, splinter = !(h[lane] > 4e-16 * std::max(std::fabs(t[lane]), 1e-12 * std::fabs(until)));
    const bool slow = pace[lane].crawls(counts[lane].steps, t[lane], until);
    if (left && !ends[lane] && splinter)
      end_lane(lane, Outcome::underflow);
    else if (on(alone, lane) || stiff_signs[lane] >= 15 || slow)
      end_lane(lane, Outcome::stiff); // it goes on by itself
    else if (!left)
      end_lane(lane, Outcome::reached);
    t1[lane] = ends[lane] ? goal : t[lane] + h[lane]; // the sum may miss the end by its rounding
  }
}

void LanePack::next_step() {
  wants = Wants::nothing;
  if (feed.stop())
    return give_up(running, Outcome::stopped);
  choose_lengths();
  if (const unsigned taken = take_up())
    return enter(taken, taken);
  if (!running)
    return;
  room.system.loops.slack = P(1.0);
  for (int f = 0; f < m.nv; ++f) {
    room.K[f] = room.v[f];
    room.K[m.nv + f] = room.a[f];
  }
  for (int k = 0; k < m.nx; ++k)
    room.K[2 * m.nv + k] = room.dx[k];
  ask_stage(Wants::stage, running, 1);
}

void LanePack::ask_stage(Wants what, unsigned lanes, int i) {
  number = i;
  const P length = packed(h), time = packed(t) + length * tableau.c[i];
  combine(tableau.a + std::ptrdiff_t(i) * tableau.width, i, length, room.z);
  displace(time, room.z, room.qs, room.vs, room.xs);
  P *K = room.K + std::ptrdiff_t(i) * n();
  chart_rate<P>(m, room.z, room.vs, K);
  want(what, lanes, time, room.qs, room.vs, room.xs, K + m.nv, K + 2 * m.nv);
}

void LanePack::ask_end() {
  const P length = packed(h), time = packed(t) + length;
  combine(tableau.b, tableau.stages, length, room.z);
  displace(time, room.z, room.q1, room.v1, room.x1);
  chart_rate<P>(m, room.z, room.v1, end());
  want(Wants::end, running, time, room.q1, room.v1, room.x1, end() + m.nv, end() + 2 * m.nv);
}

// which lanes accept their step
void LanePack::judge_step() {
  judge(packed(h));
  unsigned passed = 0;
  for (int lane = 0; lane < W; ++lane) {
    error[lane] = finite(lane) ? error[lane] : std::numeric_limits<double>::quiet_NaN();
    accepted[lane] = on(running, lane) && error[lane] <= 1.0;
    passed |= accepted[lane] ? 1u << lane : 0u;
  }
  if (!(m.nc && run.project))
    return finish_step();
  alone |= onto_loops(when, room.q1, room.v1) & passed; // after the error has been judged, as in steppers/methods/explicit_runge_kutta.cpp
  difference<P>(m, room.q, room.q1, room.z);
  chart_rate<P>(m, room.z, room.v1, end());
  want(Wants::closed, running, when, room.q1, room.v1, room.x1, end() + m.nv, end() + 2 * m.nv);
}

void LanePack::finish_step() {
  if (m.nc)
    mind_slack();
  if (m.threshold_count)
    monitor();
  for (int lane = 0; lane < W; ++lane) {
    counts[lane].evaluations += on(running, lane) ? tableau.stages : 0;
    counts[lane].steps += accepted[lane];
    counts[lane].rejected += on(running, lane) && !accepted[lane];
  }
  if (run.watch)
    mind_stiffness(packed(h));
  inner = 0;
  for (int lane = 0; lane < W; ++lane)
    if (accepted[lane] && next[lane] < samples.count && samples.times[next[lane]] < t1[lane])
      inner |= 1u << lane;
  if (inner)
    return ask_stage(Wants::dense, inner, 13);
  sample();
}

// samples of each accepted lane within its step, from the dense output, and on to the next step
void LanePack::sample() {
  if (inner)
    prepare_dense(packed(h));
  for (int lane = 0; lane < W; ++lane)
    for (; accepted[lane] && next[lane] < samples.count && samples.times[next[lane]] <= t1[lane]; ++next[lane])
      store(lane, samples.times[next[lane]], samples.times[next[lane]] < t1[lane]);
  move_on();
  if (!(broken && reach_breaks()))
    next_step();
}

// accepted lanes move to the end of their step, others try a shorter one
void LanePack::move_on() {
  for (int lane = 0; lane < W; ++lane) {
    if (!on(running, lane))
      continue;
    if (!accepted[lane]) {
      rejected[lane] = true;
      if (unclear[lane]) {
        step[lane] = 0.5 * h[lane];
        continue;
      }
      const bool judged = std::isfinite(error[lane]);
      step[lane] = judged ? h[lane] * shrink(error[lane], tableau.order) : 0.25 * h[lane];
      if (!judged && step[lane] < 1e-13 * std::max(std::fabs(until), std::fabs(t[lane])))
        end_lane(lane, Outcome::not_finite);
      continue;
    }
    step[lane] = next_length(step[lane], h[lane], error[lane], old_error[lane], rejected[lane], tableau.order);
    rejected[lane] = false;
    old_error[lane] = std::max(error[lane], 1e-4);
    t[lane] = t1[lane];
    for (int k = 0; k < m.nq; ++k)
      room.q[k].set(lane, room.q1[k][lane]);
    for (int f = 0; f < m.nv; ++f) {
      room.v[f].set(lane, room.v1[f][lane]);
      room.a[f].set(lane, end()[m.nv + f][lane]);
    }
    for (int k = 0; k < m.nx; ++k) {
      room.x[k].set(lane, room.x1[k][lane]);
      room.dx[k].set(lane, end()[2 * m.nv + k][lane]);
    }
    for (int k = 0; k < m.watch_inputs; ++k) {
      room.begin_y[k].set(lane, room.end_y[k][lane]);
      room.begin_rate[k].set(lane, room.end_rate[k][lane]);
    }
  }
}

// lanes that have come to a break go on with the state and its rates as they are after it; false if there are none
bool LanePack::reach_breaks() {
  unsigned there = 0;
  for (int lane = 0; lane < W; ++lane)
    if (on(running, lane) && accepted[lane] && t[lane] == stretch[lane].end && t[lane] < until) {
      there |= 1u << lane;
      stretch[lane] = Stretch::around(runs[lane].breaks, t[lane]);
    }
  if (there)
    enter(there, 0);
  return there;
}

// ---- what lanes compute

Pack LanePack::seen(const P &time) const {
  if (!broken)
    return time;
  P inside;
  for (int lane = 0; lane < W; ++lane)
    inside.set(lane, stretch[lane].seen(time[lane]));
  return inside;
}

Pack LanePack::packed(const double *numbers) const {
  P p;
  for (int lane = 0; lane < W; ++lane)
    p.set(lane, numbers[lane]);
  return p;
}

// Lanes in which a law leaves the branch that it was on where the run began: their steps have to end there. Until then the
// branches that are held are those that fit.
void LanePack::mind_thresholds(unsigned lanes) {
  for (int k = 0; k < m.threshold_count; ++k) {
    const P &now = room.system.margins[k], &then = room.margins[k];
    if (!m.thresholds[k].whole)
      alone |= lanes & bits(opposite(less(P(0.0), now * then)));
    else
      for (int lane = 0; lane < W; ++lane)
        alone |= side_of(m, m.thresholds[k], now[lane]) != side_of(m, m.thresholds[k], then[lane]) ? lanes & 1u << lane : 0u;
  }
}

// what switching functions take at a state and, from that a little later, its rates
void LanePack::look(const P &time, const P *q, const P *v, const P *x, const P *a, const P *dx, const P &later, P *y, P *rate) {
  look_with_rates<P>(m, run.conditions, room.system, time, q, v, x, a, dx, later, [this](const P &t) { return seen(t); },
                     {room.qs, room.vs, room.xs, room.change}, y, rate);
}

// Steps that pass are those along which bounds keep switching functions on their sides; others are halved, and a lane that still
// does not pass goes by itself.
void LanePack::monitor() {
  constexpr double little = 1e-6; // of a step
  constexpr int most_halvings = 6;
  unsigned passed = 0;
  for (int lane = 0; lane < W; ++lane)
    passed |= accepted[lane] ? 1u << lane : 0u;
  if (!passed)
    return;
  P length;
  for (int lane = 0; lane < W; ++lane)
    length.set(lane, on(passed, lane) ? h[lane] : 1.0); // elsewhere nobody looks
  if (passed & ~watched) {
    look(packed(t), room.q, room.v, room.x, room.a, room.dx, little * length, room.end_y, room.end_rate);
    for (int k = 0; k < m.watch_inputs; ++k)
      for (int lane = 0; lane < W; ++lane)
        if (on(passed & ~watched, lane)) {
          room.begin_y[k].set(lane, room.end_y[k][lane]);
          room.begin_rate[k].set(lane, room.end_rate[k][lane]);
        }
    watched |= passed;
  }
  look(packed(t1), room.q1, room.v1, room.x1, end() + m.nv, end() + 2 * m.nv, -little * length, room.end_y, room.end_rate);
  for (int lane = 0; lane < W; ++lane) {
    if (!accepted[lane])
      continue;
    accepted[lane] = stays_inside(lane);
    unclear[lane] = accepted[lane] ? 0 : unclear[lane] + 1;
    alone |= unclear[lane] > most_halvings ? 1u << lane : 0u;
  }
}

bool LanePack::stays_inside(int lane) {
  SwitchingRoom &mine = room.switching;
  for (int k = 0; k < m.watch_inputs; ++k) {
    mine.begin.y[k] = room.begin_y[k][lane], mine.begin.rate[k] = room.begin_rate[k][lane];
    mine.end.y[k] = room.end_y[k][lane], mine.end.rate[k] = room.end_rate[k][lane];
  }
  for (int k = 0; k < m.threshold_count; ++k)
    mine.margins[k] = room.margins[k][lane];
  const auto turn = [&](int f) { return h[lane] * std::max(std::fabs(room.v[f][lane]), std::fabs(room.v1[f][lane])); };
  return most_turn_of(m, turn) <= most_turn && keeps_sides(m, mine, room.sides, h[lane]);
}

// positions and speeds onto the loops; returns the lanes in which that fails
unsigned LanePack::onto_loops(const P &time, P *q, P *v) {
  room.system.loops.ws.t = seen(time);
  set_targets(m, room.system.loops.ws.t, room.system.hosted, room.system.targets);
  return project_lanes(m, run.conditions, room.system, q, v, room.change);
}

// lanes that come near a singular position, where steps of their own kind are needed
void LanePack::mind_slack() {
  for (int lane = 0; lane < W; ++lane) {
    const double slack = room.system.loops.slack[lane];
    usual_slack[lane] = std::max(usual_slack[lane], slack);
    if (!(slack >= close_to_singular * usual_slack[lane]))
      alone |= 1u << lane;
  }
}

void LanePack::combine(const double *weights, int stages, const P &length, P *out) const {
  for (int k = 0; k < n(); ++k)
    out[k] = P(0.0);
  for (int j = 0; j < stages; ++j) {
    if (weights[j] == 0.0)
      continue;
    const P w = length * weights[j];
    const P *rate = room.K + std::ptrdiff_t(j) * n();
    for (int k = 0; k < n(); ++k)
      out[k] = out[k] + w * rate[k];
  }
}

// the state z away, at a time
void LanePack::displace(const P &time, const P *z, P *q, P *v, P *x) const {
  integrate<P>(m, room.q, z, q);
  for (int k = 0; k < m.nx; ++k)
    x[k] = room.x[k] + z[2 * m.nv + k];
  for (int f = 0; f < m.nv; ++f)
    v[f] = room.v[f] + z[m.nv + f];
  impose(m, seen(time), room.system.hosted, q, v);
}

// root mean square of z in units of the tolerance, lane by lane
void LanePack::weigh(const P *z, const P *q1, const P *v1, const P *x1, double *size) const {
  P sum(0.0);
  for (int f = 0; f < m.nv; ++f) {
    const int c = m.coordinate[f];
    const P place = c < 0 ? P(1.0) : larger(absolute(room.q[c]), absolute(q1[c]));
    const P speed = larger(absolute(room.v[f]), absolute(v1[f]));
    const P x = z[f] / (run.atol[f] + run.rtol * place), y = z[m.nv + f] / (run.atol[m.nv + f] + run.rtol * speed);
    sum = sum + x * x + y * y;
  }
  for (int k = 0; k < m.nx; ++k) {
    const P x = z[2 * m.nv + k] / (run.atol[2 * m.nv + k] + run.rtol * larger(absolute(room.x[k]), absolute(x1[k])));
    sum = sum + x * x;
  }
  for (int lane = 0; lane < W; ++lane)
    size[lane] = n() ? std::sqrt(sum[lane] / n()) : 0.0;
}

void LanePack::judge(const P &length) {
  combine(tableau.e, tableau.estimated, length, room.e);
  weigh(room.e, room.q1, room.v1, room.x1, error);
  if (tableau.e3) {
    double coarse[W];
    combine(tableau.e3, tableau.estimated, length, room.e);
    weigh(room.e, room.q1, room.v1, room.x1, coarse);
    for (int lane = 0; lane < W; ++lane)
      error[lane] = both_estimates(error[lane], coarse[lane]);
  }
  const P turn = turn_square<P>(m, room.z);
  for (int lane = 0; lane < W; ++lane)
    error[lane] = std::max(error[lane], turn_error(turn[lane], tableau.order));
}

// Which lanes stability holds back, as looks_stiff of steppers/methods/explicit_runge_kutta.hpp; needs z of the whole step.
void LanePack::mind_stiffness(const P &length) {
  const int last = tableau.stages - 1;
  const P *before = room.K + std::ptrdiff_t(last) * n();
  combine(tableau.a + std::ptrdiff_t(last) * tableau.width, last, length, room.e);
  P rise_square(0.0), apart(0.0);
  for (int k = 0; k < n(); ++k) {
    const P rise = end()[k] - before[k], run_of = room.z[k] - room.e[k];
    rise_square = rise_square + rise * rise;
    apart = apart + run_of * run_of;
  }
  for (int lane = 0; lane < W; ++lane) {
    if (apart[lane] > 0.0 && h[lane] * std::sqrt(rise_square[lane] / apart[lane]) > tableau.stability) {
      calm_signs[lane] = 0;
      ++stiff_signs[lane];
    } else if (++calm_signs[lane] >= 6) {
      stiff_signs[lane] = 0;
    }
  }
}

void LanePack::prepare_dense(const P &length) {
  P *F0 = room.D, *F1 = F0 + n(), *F2 = F1 + n();
  difference<P>(m, room.q, room.q1, F0);
  for (int f = 0; f < m.nv; ++f)
    F0[m.nv + f] = room.v1[f] - room.v[f];
  for (int k = 0; k < m.nx; ++k)
    F0[2 * m.nv + k] = room.x1[k] - room.x[k];
  const P *begin = room.K, *end = room.K + std::ptrdiff_t(12) * n();
  for (int k = 0; k < n(); ++k) {
    F1[k] = length * begin[k] - F0[k];
    F2[k] = 2.0 * F0[k] - length * (begin[k] + end[k]);
  }
  for (int r = 0; r < 4; ++r)
    combine(dop853::dense[r], 16, length, room.D + (3 + r) * n());
}

void LanePack::store(int lane, double time, bool inside) {
  const P *q = room.q1, *v = room.v1, *x = room.x1;
  if (inside) {
    const double s = (time - t[lane]) / h[lane];
    for (int k = 0; k < n(); ++k) {
      P sum(0.0);
      for (int r = 6; r >= 0; --r)
        sum = (sum + room.D[std::ptrdiff_t(r) * n() + k]) * (r % 2 ? 1.0 - s : s);
      room.z[k] = sum;
    }
    displace(P(time), room.z, room.qs, room.vs, room.xs);
    if (m.nc && run.project)
      alone |= onto_loops(P(time), room.qs, room.vs) & 1u << lane;
    q = room.qs, v = room.vs, x = room.xs;
  }
  put(lane, q, v, x);
}

void LanePack::put(int lane, const P *q, const P *v, const P *x) {
  const LaneRun &mine = runs[lane];
  for (int k = 0; k < m.nx; ++k)
    mine.samples_x[next[lane] * m.nx + k] = x[k][lane];
  for (int k = 0; k < m.nq; ++k)
    mine.samples_q[next[lane] * m.nq + k] = q[k][lane];
  for (int f = 0; f < m.nv; ++f)
    mine.samples_v[next[lane] * m.nv + f] = v[f][lane];
}

bool LanePack::finite(int lane) const {
  double zero = 0.0;
  for (int k = 0; k < n(); ++k)
    zero += 0.0 * room.z[k][lane];
  return zero == 0.0;
}

} // namespace dalembert::DALEMBERT_ISA
