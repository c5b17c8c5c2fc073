#include "steppers/lanes.hpp"
#include "steppers/control.hpp"
#include "steppers/room.hpp"
#include "steppers/tableaus.hpp"
#include "system/drives.hpp"
#include "system/projection.hpp"
#include "tree/chart.hpp"
#include "varied.hpp"
#include <algorithm>
#include <initializer_list>
#include <limits>

namespace dalembert::DALEMBERT_ISA {

namespace {

struct LaneRoom {
  using P = Pack;
  SystemRoom<P> system;
  P *q, *q1, *qs, *v, *v1, *vs, *x, *x1, *xs, *a, *dx; // a state, where a step leads, a stage
  P *z, *e, *K, *D;                                    // increments, error, rates of stages, dense output
  P *change;                                           // nv
  P *margins;                                          // threshold_count: where the runs begin
  double *sides;                                       // threshold_count: none are held
  Numbers<P> own;                                      // of the model of each lane
  Numbers<double> one;                                 // and of one of them
};

std::size_t lay_out(const ModelData &m, std::byte *base, LaneRoom &room) {
  using P = Pack;
  Arena arena{base};
  arena.skip(DALEMBERT_ISA::lay_out(m, base, room.system));
  const std::size_t nq = std::size_t(m.nq), nv = std::size_t(m.nv);
  for (P **each : {&room.q, &room.q1, &room.qs})
    *each = arena.take<P>(nq);
  for (P **each : {&room.v, &room.v1, &room.vs, &room.a, &room.change})
    *each = arena.take<P>(nv);
  for (P **each : {&room.x, &room.x1, &room.xs, &room.dx})
    *each = arena.take<P>(std::size_t(m.nx));
  const std::size_t n = 2 * nv + std::size_t(m.nx);
  room.z = arena.take<P>(n);
  room.e = arena.take<P>(n);
  room.K = arena.take<P>(16 * n);
  room.D = arena.take<P>(7 * n);
  room.margins = arena.take<P>(std::size_t(m.threshold_count));
  room.sides = arena.take<double>(std::size_t(m.threshold_count));
  arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), room.own));
  arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), room.one));
  return arena.used;
}

struct LaneStepper {
  using P = Pack;
  const ModelData &m;
  const Run &run;
  LaneRoom &room;
  LaneTask &task;
  const Tableau &tableau;
  double t[W], step[W], h[W], old_error[W], error[W];
  bool rejected[W], done[W], ends[W], accepted[W];
  double t1[W];
  std::ptrdiff_t next[W];
  int stiff_signs[W], calm_signs[W];
  double usual_slack[W];
  Stretch stretch[W];
  Pace pace[W];
  bool broken;    // there are breaks
  bool begun;     // margins of thresholds are known
  unsigned alone; // lanes that have to run by themselves

  int n() const { return 2 * m.nv + m.nx; }

  void set_lane(int lane, const double *q, const double *v, const double *x) {
    for (int k = 0; k < m.nx; ++k)
      room.x[k].set(lane, x[k]);
    for (int k = 0; k < m.nq; ++k)
      room.q[k].set(lane, q[k]);
    for (int f = 0; f < m.nv; ++f)
      room.v[f].set(lane, v[f]);
  }

  P seen(const P &time) const {
    if (!broken)
      return time;
    P inside;
    for (int lane = 0; lane < W; ++lane)
      inside.set(lane, stretch[lane].seen(time[lane]));
    return inside;
  }

  // rates of speeds and of element states; lanes that cannot go on here are noted
  void accelerations(const P &time, const P *q, const P *v, const P *x, P *a, P *dx) {
    alone |= solve_motion(m, run.conditions, room.system, StateOf<P>{seen(time), q, v, x}, a, dx);
    if (m.threshold_count && begun)
      mind_thresholds();
  }

  // Lanes in which a law leaves the branch that it was on where the run began: their steps have to end there. Until then the
  // branches that are held are those that fit.
  void mind_thresholds() {
    for (int k = 0; k < m.threshold_count; ++k) {
      const P &now = room.system.margins[k], &then = room.margins[k];
      if (!m.thresholds[k].whole)
        alone |= bits(opposite(less(P(0.0), now * then)));
      else
        for (int lane = 0; lane < W; ++lane)
          alone |= std::floor(now[lane]) != std::floor(then[lane]) ? 1u << lane : 0u;
    }
  }

  // positions and speeds onto the loops; returns the lanes in which that fails
  unsigned onto_loops(const P &time, P *q, P *v) {
    room.system.loops.ws.t = seen(time);
    set_targets(m, room.system.loops.ws.t, room.system.hosted, room.system.targets);
    return project_lanes(m, run.conditions, room.system, q, v, room.change);
  }

  // lanes that come near a singular position, where steps of their own kind are needed
  void mind_slack() {
    for (int lane = 0; lane < W; ++lane) {
      const double slack = room.system.loops.slack[lane];
      usual_slack[lane] = std::max(usual_slack[lane], slack);
      if (!(slack >= close_to_singular * usual_slack[lane]))
        alone |= 1u << lane;
    }
    room.system.loops.slack = P(1.0);
  }

  P packed(const double *numbers) const {
    P p;
    for (int lane = 0; lane < W; ++lane)
      p.set(lane, numbers[lane]);
    return p;
  }

  void combine(const double *weights, int stages, const P &length, P *out) const {
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
  void displace(const P &time, const P *z, P *q, P *v, P *x) const {
    integrate<P>(m, room.q, z, q);
    for (int k = 0; k < m.nx; ++k)
      x[k] = room.x[k] + z[2 * m.nv + k];
    for (int f = 0; f < m.nv; ++f)
      v[f] = room.v[f] + z[m.nv + f];
    impose(m, seen(time), room.system.hosted, q, v);
  }

  void stage(int i, const P &now, const P &length) {
    const P time = now + length * tableau.c[i];
    combine(tableau.a + std::ptrdiff_t(i) * tableau.width, i, length, room.z);
    displace(time, room.z, room.qs, room.vs, room.xs);
    P *K = room.K + std::ptrdiff_t(i) * n();
    chart_rate<P>(m, room.z, room.vs, K);
    accelerations(time, room.qs, room.vs, room.xs, K + m.nv, K + 2 * m.nv);
  }

  // root mean square of z in units of the tolerance, lane by lane
  void weigh(const P *z, const P *q1, const P *v1, const P *x1, double *size) const {
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

  void judge(const P &length) {
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

  // Which lanes stability holds back, as looks_stiff of explicit.hpp; needs z of the whole step.
  void mind_stiffness(const P &length) {
    const int last = tableau.stages - 1;
    const P *end = room.K + std::ptrdiff_t(tableau.stages) * n(), *before = room.K + std::ptrdiff_t(last) * n();
    combine(tableau.a + std::ptrdiff_t(last) * tableau.width, last, length, room.e);
    P slope(0.0), apart(0.0);
    for (int k = 0; k < n(); ++k) {
      const P rise = end[k] - before[k], run_of = room.z[k] - room.e[k];
      slope = slope + rise * rise;
      apart = apart + run_of * run_of;
    }
    for (int lane = 0; lane < W; ++lane) {
      if (apart[lane] > 0.0 && h[lane] * std::sqrt(slope[lane] / apart[lane]) > tableau.stability) {
        calm_signs[lane] = 0;
        ++stiff_signs[lane];
      } else if (++calm_signs[lane] >= 6) {
        stiff_signs[lane] = 0;
      }
    }
  }

  // samples of each accepted lane within its step, from the dense output
  void sample(const Samples &samples, const P &now, const P &length) {
    bool prepared = false;
    for (int lane = 0; lane < task.count; ++lane) {
      const double end = t1[lane];
      for (; accepted[lane] && next[lane] < samples.count && samples.times[next[lane]] <= end; ++next[lane]) {
        const double time = samples.times[next[lane]];
        if (!prepared && time < end) {
          prepare(now, length);
          prepared = true;
        }
        store(lane, time, time < end);
      }
    }
  }

  void prepare(const P &now, const P &length) {
    for (int i = 13; i < 16; ++i)
      stage(i, now, length);
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

  void store(int lane, double time, bool inside) {
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

  void put(int lane, const P *q, const P *v, const P *x) {
    for (int k = 0; k < m.nx; ++k)
      task.samples_x[lane][next[lane] * m.nx + k] = x[k][lane];
    for (int k = 0; k < m.nq; ++k)
      task.samples_q[lane][next[lane] * m.nq + k] = q[k][lane];
    for (int f = 0; f < m.nv; ++f)
      task.samples_v[lane][next[lane] * m.nv + f] = v[f][lane];
  }

  bool finite(int lane) const {
    double zero = 0.0;
    for (int k = 0; k < n(); ++k)
      zero += 0.0 * room.z[k][lane];
    return zero == 0.0;
  }

  // a first step as the scalar stepper chooses it
  void first_steps(double until) {
    double size[W], slope[W], bend[W];
    P length;
    const int order = tableau.order;
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
      step[lane] = std::min({size[lane] < 1e-5 || slope[lane] < 1e-5 ? 1e-6 : 0.01 * size[lane] / slope[lane], std::min(until, stretch[lane].end) - t[lane], run.max_step});
      length.set(lane, step[lane]);
    }
    for (int k = 0; k < n(); ++k)
      room.z[k] = length * room.K[k];
    const P time = packed(t) + length;
    displace(time, room.z, room.qs, room.vs, room.xs);
    P *K1 = room.K + n();
    chart_rate<P>(m, room.z, room.vs, K1);
    accelerations(time, room.qs, room.vs, room.xs, K1 + m.nv, K1 + 2 * m.nv);
    for (int k = 0; k < n(); ++k)
      room.e[k] = (K1[k] - room.K[k]) / length;
    weigh(room.e, room.q, room.v, room.x, bend);
    for (int lane = 0; lane < W; ++lane)
      step[lane] = first_length(step[lane], slope[lane], std::isfinite(bend[lane]) ? bend[lane] : 0.0, order, std::min(until, stretch[lane].end) - t[lane], run.max_step);
  }

  void end_lane(int lane, Outcome outcome) {
    done[lane] = true;
    if (lane < task.count)
      task.outcome[lane] = outcome;
  }

  void begin(double from, double until, const Samples &samples) {
    broken = begun = false;
    for (int lane = 0; lane < W; ++lane) {
      const int source = lane < task.count ? lane : task.count - 1;
      broken |= task.breaks[source].count > 0;
      stretch[lane] = Stretch::around(task.breaks[source], from);
      set_lane(lane, task.q[source], task.v[source], task.x[source]);
      t[lane] = from, old_error[lane] = 1e-4, rejected[lane] = done[lane] = false, next[lane] = 0;
      stiff_signs[lane] = calm_signs[lane] = 0;
      pace[lane] = Pace{0, from};
      usual_slack[lane] = 0.0;
    }
    alone = 0;
    room.system.loops.slack = P(1.0);
    for (int lane = 0; lane < task.count; ++lane) {
      task.outcome[lane] = Outcome::reached;
      task.counts[lane] = Counts{};
    }
    for (int f = 0; f < m.nv; ++f)
      room.z[f] = P(0.0);
    integrate<P>(m, room.q, room.z, room.q);
    impose(m, seen(P(from)), room.system.hosted, room.q, room.v);
    if (m.nc && run.project)
      alone |= onto_loops(P(from), room.q, room.v);
    accelerations(P(from), room.q, room.v, room.x, room.a, room.dx);
    std::copy_n(room.system.margins, m.threshold_count, room.margins);
    begun = true;
    mind_thresholds();
    for (int lane = 0; lane < task.count; ++lane)
      if (samples.count && samples.times[0] <= from) {
        put(lane, room.q, room.v, room.x);
        next[lane] = 1;
      }
    first_steps(until);
  }

  // lengths of the next steps; false if no lane is left
  bool choose_lengths(double until) {
    bool left = false;
    for (int lane = 0; lane < W; ++lane) {
      const double goal = std::min(until, stretch[lane].end), rest = goal - t[lane];
      h[lane] = std::min(step[lane], run.max_step);
      ends[lane] = h[lane] * 1.0000001 >= rest;
      h[lane] = ends[lane] ? rest : 2.0 * h[lane] > rest ? 0.5 * rest : h[lane];
      if (!done[lane] && rest > 0.0 && !ends[lane] && !(h[lane] > 4e-16 * std::max(std::fabs(t[lane]), 1e-12 * std::fabs(until))))
        end_lane(lane, Outcome::underflow);
      const bool slow = lane < task.count && pace[lane].crawls(task.counts[lane].steps, t[lane], until);
      if (!done[lane] && (alone >> lane & 1u || stiff_signs[lane] >= 15 || slow))
        end_lane(lane, Outcome::stiff); // it goes on by itself
      done[lane] |= !(rest > 0.0);
      h[lane] = done[lane] ? 0.0 : h[lane];
      t1[lane] = ends[lane] ? goal : t[lane] + h[lane]; // the sum may miss the end by its rounding
      left |= !done[lane] && lane < task.count;
    }
    return left;
  }

  // rates at the end of the step, in the place of a stage
  P *end() const { return room.K + std::ptrdiff_t(tableau.stages) * n(); }

  void rates_at_end(const P &time) {
    chart_rate<P>(m, room.z, room.v1, end());
    accelerations(time, room.q1, room.v1, room.x1, end() + m.nv, end() + 2 * m.nv);
  }

  // tries a step in every lane: q1, v1, x1, the rates there, and which lanes accept it
  void try_step(const P &now, const P &length) {
    const int s = tableau.stages;
    for (int f = 0; f < m.nv; ++f) {
      room.K[f] = room.v[f];
      room.K[m.nv + f] = room.a[f];
    }
    for (int k = 0; k < m.nx; ++k)
      room.K[2 * m.nv + k] = room.dx[k];
    for (int i = 1; i < s; ++i)
      stage(i, now, length);
    combine(tableau.b, s, length, room.z);
    bool sound[W];
    for (int lane = 0; lane < W; ++lane)
      sound[lane] = finite(lane);
    displace(now + length, room.z, room.q1, room.v1, room.x1);
    rates_at_end(now + length);
    judge(length);
    unsigned passed = 0;
    for (int lane = 0; lane < W; ++lane) {
      error[lane] = sound[lane] ? error[lane] : std::numeric_limits<double>::quiet_NaN();
      accepted[lane] = !done[lane] && error[lane] <= 1.0;
      passed |= accepted[lane] ? 1u << lane : 0u;
    }
    if (m.nc && run.project) { // after the error has been judged, as in explicit.cpp
      alone |= onto_loops(now + length, room.q1, room.v1) & passed;
      difference<P>(m, room.q, room.q1, room.z);
      rates_at_end(now + length);
    }
  }

  void count() {
    for (int lane = 0; lane < task.count; ++lane) {
      Counts &counts = task.counts[lane];
      counts.evaluations += done[lane] ? 0 : tableau.stages;
      counts.steps += accepted[lane];
      counts.rejected += !done[lane] && !accepted[lane];
    }
  }

  // accepted lanes move to the end of their step, others try a shorter one
  void move_on(double until) {
    for (int lane = 0; lane < W; ++lane) {
      if (done[lane])
        continue;
      if (!accepted[lane]) {
        rejected[lane] = true;
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
    }
  }

  // lanes that have come to a break go on with the state and its rates as they are after it
  void pass_breaks(double until) {
    unsigned there = 0;
    for (int lane = 0; lane < W; ++lane)
      if (!done[lane] && accepted[lane] && t[lane] == stretch[lane].end && t[lane] < until) {
        there |= 1u << lane;
        stretch[lane] = Stretch::around(task.breaks[lane < task.count ? lane : task.count - 1], t[lane]);
      }
    if (!there)
      return;
    const P now = packed(t);
    for (int k = 0; k < m.nq; ++k)
      room.qs[k] = room.q[k];
    for (int f = 0; f < m.nv; ++f)
      room.vs[f] = room.v[f];
    impose(m, seen(now), room.system.hosted, room.qs, room.vs);
    if (m.nc && run.project)
      alone |= onto_loops(now, room.qs, room.vs) & there;
    P *a = room.K + m.nv, *dx = room.K + 2 * m.nv;
    accelerations(now, room.qs, room.vs, room.x, a, dx);
    for (int lane = 0; lane < W; ++lane) {
      if (!(there >> lane & 1u))
        continue;
      for (int k = 0; k < m.nq; ++k)
        room.q[k].set(lane, room.qs[k][lane]);
      for (int f = 0; f < m.nv; ++f) {
        room.v[f].set(lane, room.vs[f][lane]);
        room.a[f].set(lane, a[f][lane]);
      }
      for (int k = 0; k < m.nx; ++k)
        room.dx[k].set(lane, dx[k][lane]);
    }
  }

  void go(double from, double until, const Samples &samples) {
    begin(from, until, samples);
    while (choose_lengths(until)) {
      if (task.stop()) {
        for (int lane = 0; lane < task.count; ++lane)
          if (!done[lane])
            end_lane(lane, Outcome::stopped);
        break;
      }
      const P now = packed(t), length = packed(h);
      try_step(now, length);
      if (m.nc)
        mind_slack();
      count();
      if (run.watch)
        mind_stiffness(length);
      sample(samples, now, length);
      move_on(until);
      if (broken)
        pass_breaks(until);
    }
    for (int lane = 0; lane < task.count; ++lane)
      task.reached[lane] = t[lane];
  }
};

} // namespace

bool runs_in_lanes(const ModelData &m, const Run &run, bool own) {
  // rows that are searched for lane by lane know the tables alone
  const bool searched = std::any_of(m.chords, m.chords + m.chord_count, [](const ChordData &c) { return c.form == ChordForm::chain || c.curve >= 0; });
  return !m.feedback_count && !run.conditions.host && !run.conditions.answers && !run.conditions.active && !(own && searched);
}

std::size_t bytes_lanes(const ModelData &m) {
  LaneRoom room;
  return lay_out(m, nullptr, room);
}

void run_lanes(const ModelData &m, const Run &run, std::byte *memory, double begin, double until, const Samples &samples, LaneTask &task) {
  LaneRoom room;
  lay_out(m, memory, room);
  ModelData model = m;
  if (task.own[0]) {
    for (int lane = 0; lane < W; ++lane) {
      start_numbers(*task.own[std::min(lane, task.count - 1)], room.one);
      put_lane(m, room.one, lane, room.own);
    }
    model.varied = &room.own;
  }
  Run mine = run;
  std::fill_n(room.sides, m.threshold_count, std::numeric_limits<double>::quiet_NaN());
  mine.conditions.sides = m.threshold_count ? room.sides : nullptr; // so that margins are told
  LaneStepper stepper{model, mine, room, task, dop853_tableau, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, false, false, 0};
  stepper.go(begin, until, samples);
}

} // namespace dalembert::DALEMBERT_ISA
