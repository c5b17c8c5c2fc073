// Many runs of a tree at once, a register full of them side by side, each with steps of its own (explicit methods).
//
// Every lane has its own time and step; a lane that is done steps by zero until the others are. What a lane computes does
// not depend on its neighbours.
#pragma once

#include "../aba.hpp"
#include "../chart.hpp"
#include "../rates.hpp"
#include "control.hpp"
#include "tableaus.hpp"

namespace dalembert::DALEMBERT_ISA {

template <int W> struct LaneRoom {
  using P = Pack<W>;
  Workspace<P> ws;
  P *q, *q1, *qs, *v, *v1, *vs, *x, *x1, *xs, *a, *dx, *tau; // a state, where a step leads, a stage
  P *z, *e, *K, *D;                       // increments, error, rates of stages, dense output
  P *values, *signals;                    // room for programs; signals of elements
  double *numbers;                        // room for programs
};

template <int W> inline std::size_t lay_out(const ModelData &m, std::byte *base, LaneRoom<W> &room) {
  using P = Pack<W>;
  Arena arena{base};
  arena.take<std::byte>(lay_out(m, base, room.ws));
  const std::size_t nq = std::size_t(m.nq), nv = std::size_t(m.nv);
  for (P **each : {&room.q, &room.q1, &room.qs})
    *each = arena.take<P>(nq);
  for (P **each : {&room.v, &room.v1, &room.vs, &room.a, &room.tau})
    *each = arena.take<P>(nv);
  for (P **each : {&room.x, &room.x1, &room.xs, &room.dx})
    *each = arena.take<P>(std::size_t(m.nx));
  const std::size_t n = 2 * nv + std::size_t(m.nx);
  room.z = arena.take<P>(n);
  room.e = arena.take<P>(n);
  room.K = arena.take<P>(16 * n);
  room.D = arena.take<P>(7 * n);
  room.values = arena.take<P>(std::size_t(m.most_values));
  room.signals = arena.take<P>(std::size_t(m.signal_count));
  room.numbers = arena.take<double>(std::size_t(m.most_values));
  return arena.used;
}

template <int W> struct LaneStepper {
  using P = Pack<W>;
  const ModelData &m;
  const Run &run;
  LaneRoom<W> &room;
  LaneTask &task;
  const Tableau &tableau;
  double t[W], step[W], h[W], old_error[W], error[W];
  bool rejected[W], done[W];
  std::ptrdiff_t next[W];
  int stiff_signs[W], calm_signs[W];

  int n() const { return 2 * m.nv + m.nx; }

  void set_lane(int lane, const double *q, const double *v, const double *x) {
    for (int k = 0; k < m.nx; ++k)
      room.x[k].set(lane, x[k]);
    for (int k = 0; k < m.nq; ++k)
      room.q[k].set(lane, q[k]);
    for (int f = 0; f < m.nv; ++f)
      room.v[f].set(lane, v[f]);
  }

  // positions and speeds of driven hinges
  void impose(const P &time, P *q, P *v) const {
    for (int k = 0; k < m.drive_count; ++k) {
      const DriveData &drive = m.drives[k];
      if (drive.level > 1)
        continue;
      for (int lane = 0; lane < W; ++lane) {
        const LawValue wanted = demand(m, drive, time[lane], nullptr);
        if (drive.level == 0)
          q[drive.coordinate].set(lane, wanted.value);
        v[drive.freedom].set(lane, wanted.rate);
      }
    }
  }

  // rates of speeds and of element states
  void accelerations(const P &time, const P *q, const P *v, const P *x, P *a, P *dx) const {
    Surroundings<P> at{time, task.parameters, nullptr, task.apart};
    at.x = x;
    at.dx = dx;
    at.values = room.values;
    at.numbers = room.numbers;
    at.functions = &run.functions;
    at.signals = room.signals;
    for (int k = 0; k < m.drive_count; ++k)
      for (int lane = 0; lane < W; ++lane)
        a[m.drives[k].freedom].set(lane, demand(m, m.drives[k], time[lane], nullptr).second);
    forward_dynamics<P>(m, room.ws, q, v, room.tau, ElementLoads<P>{at, q, v, nullptr, nullptr, room.tau}, run.marks.given, a, nullptr);
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
    impose(time, q, v);
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
  void measure(const P *z, const P *q1, const P *v1, const P *x1, double *size) const {
    P sum(0.0);
    const auto absolute = [](const P &x) { return select(less(x, P(0.0)), -x, x); };
    const auto larger = [](const P &a, const P &b) { return select(less(a, b), b, a); };
    for (int f = 0; f < m.nv; ++f) {
      const int c = m.coordinate[f];
      const P place = c < 0 ? P(1.0) : larger(absolute(room.q[c]), absolute(q1[c]));
      const P speed = larger(absolute(room.v[f]), absolute(v1[f]));
      const P x = z[f] / (run.atol + run.rtol * place), y = z[m.nv + f] / (run.atol + run.rtol * speed);
      sum = sum + x * x + y * y;
    }
    for (int k = 0; k < m.nx; ++k) {
      const P x = z[2 * m.nv + k] / (run.atol + run.rtol * larger(absolute(room.x[k]), absolute(x1[k])));
      sum = sum + x * x;
    }
    for (int lane = 0; lane < W; ++lane)
      size[lane] = n() ? std::sqrt(sum[lane] / n()) : 0.0;
  }

  void judge(const P &length) {
    combine(tableau.e, tableau.estimated, length, room.e);
    measure(room.e, room.q1, room.v1, room.x1, error);
    if (tableau.e3) {
      double coarse[W];
      combine(tableau.e3, tableau.estimated, length, room.e);
      measure(room.e, room.q1, room.v1, room.x1, coarse);
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
  void sample(const Samples &samples, const bool *accepted, const double *ends_at, const P &now, const P &length) {
    bool prepared = false;
    for (int lane = 0; lane < task.count; ++lane) {
      const double end = ends_at[lane];
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
    measure(room.e, room.q, room.v, room.x, size);
    measure(room.K, room.q, room.v, room.x, slope);
    for (int lane = 0; lane < W; ++lane) {
      step[lane] = std::min({size[lane] < 1e-5 || slope[lane] < 1e-5 ? 1e-6 : 0.01 * size[lane] / slope[lane], until - t[lane], run.max_step});
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
    measure(room.e, room.q, room.v, room.x, bend);
    for (int lane = 0; lane < W; ++lane)
      step[lane] = first_length(step[lane], slope[lane], std::isfinite(bend[lane]) ? bend[lane] : 0.0, order, until - t[lane], run.max_step);
  }

  void go(double begin, double until, const Samples &samples) {
    for (int lane = 0; lane < W; ++lane) {
      const int source = lane < task.count ? lane : task.count - 1;
      set_lane(lane, task.q[source], task.v[source], task.x[source]);
      t[lane] = begin, old_error[lane] = 1e-4, rejected[lane] = done[lane] = false, next[lane] = 0;
      stiff_signs[lane] = calm_signs[lane] = 0;
    }
    for (int lane = 0; lane < task.count; ++lane) {
      task.outcome[lane] = Outcome::reached;
      task.counts[lane] = Counts{};
    }
    for (int f = 0; f < m.nv; ++f)
      room.z[f] = P(0.0);
    integrate<P>(m, room.q, room.z, room.q);
    impose(P(begin), room.q, room.v);
    accelerations(P(begin), room.q, room.v, room.x, room.a, room.dx);
    for (int lane = 0; lane < task.count; ++lane)
      if (samples.count && samples.times[0] <= begin) {
        put(lane, room.q, room.v, room.x);
        next[lane] = 1;
      }
    first_steps(until);
    const int s = tableau.stages;
    for (;;) {
      bool left = false;
      bool ends[W];
      for (int lane = 0; lane < W; ++lane) {
        const double rest = until - t[lane];
        h[lane] = std::min(step[lane], run.max_step);
        ends[lane] = h[lane] * 1.0000001 >= rest;
        h[lane] = ends[lane] ? rest : 2.0 * h[lane] > rest ? 0.5 * rest : h[lane];
        if (!done[lane] && rest > 0.0 && !ends[lane] && !(h[lane] > 4e-16 * std::max(std::fabs(t[lane]), 1e-12 * std::fabs(until)))) {
          done[lane] = true;
          if (lane < task.count)
            task.outcome[lane] = Outcome::underflow;
        }
        done[lane] |= !(rest > 0.0);
        h[lane] = done[lane] ? 0.0 : h[lane];
        left |= !done[lane] && lane < task.count;
      }
      if (!left)
        return;
      const P now = packed(t), length = packed(h);
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
      P *end = room.K + std::ptrdiff_t(s) * n();
      chart_rate<P>(m, room.z, room.v1, end);
      accelerations(now + length, room.q1, room.v1, room.x1, end + m.nv, end + 2 * m.nv);
      judge(length);
      bool accepted[W];
      double t1[W];
      for (int lane = 0; lane < W; ++lane) {
        t1[lane] = ends[lane] ? until : t[lane] + h[lane]; // the sum may miss the end by its rounding
        accepted[lane] = !done[lane] && sound[lane] && error[lane] <= 1.0;
        Counts unused{}, &counts = lane < task.count ? task.counts[lane] : unused;
        counts.evaluations += done[lane] ? 0 : s;
        counts.steps += accepted[lane];
        counts.rejected += !done[lane] && !accepted[lane];
      }
      if (run.watch)
        mind_stiffness(length);
      sample(samples, accepted, t1, now, length);
      for (int lane = 0; lane < W; ++lane) {
        if (done[lane])
          continue;
        if (!accepted[lane]) {
          rejected[lane] = true;
          const bool judged = sound[lane] && std::isfinite(error[lane]);
          step[lane] = judged ? h[lane] * shrink(error[lane], tableau.order) : 0.25 * h[lane];
          if (!judged && step[lane] < 1e-13 * std::max(std::fabs(until), std::fabs(t[lane]))) {
            done[lane] = true;
            if (lane < task.count)
              task.outcome[lane] = Outcome::not_finite;
          }
          continue;
        }
        step[lane] = next_length(step[lane], h[lane], error[lane], old_error[lane], rejected[lane], tableau.order);
        rejected[lane] = false;
        old_error[lane] = std::max(error[lane], 1e-4);
        t[lane] = t1[lane];
        if (stiff_signs[lane] >= 15) {
          done[lane] = true;
          if (lane < task.count)
            task.outcome[lane] = Outcome::stiff;
          continue;
        }
        for (int k = 0; k < m.nq; ++k)
          room.q[k].set(lane, room.q1[k][lane]);
        for (int f = 0; f < m.nv; ++f) {
          room.v[f].set(lane, room.v1[f][lane]);
          room.a[f].set(lane, end[m.nv + f][lane]);
        }
        for (int k = 0; k < m.nx; ++k) {
          room.x[k].set(lane, room.x1[k][lane]);
          room.dx[k].set(lane, end[2 * m.nv + k][lane]);
        }
      }
    }
  }
};

} // namespace dalembert::DALEMBERT_ISA
