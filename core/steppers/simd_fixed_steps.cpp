#include "steppers/simd_fixed_steps.hpp"
#include "scalar/arena.hpp"
#include "steppers/lane_runs.hpp"
#include "steppers/methods/runge_kutta.hpp"
#include "system/drives.hpp"
#include "system/dynamics.hpp"
#include "system/projection.hpp"
#include "tree/chart.hpp"
#include <cmath>
#include <initializer_list>
#include <utility>

namespace dalembert::DALEMBERT_ISA {

namespace {

using P = Pack;

struct FixedStepWorkspace {
  SystemWorkspace<P> system;
  P *q, *v, *x, *a, *dx; // state of the runs, rates there
  P *q1, *v1, *x1;       // where the step leads
  P *qs, *vs, *xs;       // a stage
  P *z, *K;              // n: increment; stages x n: rates [xi'; a; x']
  P *change;             // nv
  P *control, *inputs;   // nv, input_count: of the control sequences
  double *parameters;
  ParameterTables<P> own;
  ParameterTables<double> one;
};

std::size_t lay_out(const ModelData &m, std::byte *base, FixedStepWorkspace &work) {
  Arena arena{base};
  arena.skip(DALEMBERT_ISA::lay_out(m, base, work.system));
  const std::size_t nq = std::size_t(m.nq), nv = std::size_t(m.nv), nx = std::size_t(m.nx), n = 2 * nv + nx;
  for (P **each : {&work.q, &work.q1, &work.qs})
    *each = arena.take<P>(nq);
  for (P **each : {&work.v, &work.v1, &work.vs, &work.a, &work.change, &work.control})
    *each = arena.take<P>(nv);
  for (P **each : {&work.x, &work.x1, &work.xs, &work.dx})
    *each = arena.take<P>(nx);
  work.inputs = arena.take<P>(std::size_t(m.input_count));
  work.z = arena.take<P>(n);
  work.K = arena.take<P>(std::size_t(rk4_tableau.stages) * n);
  work.parameters = arena.take<double>(std::size_t(W) * std::size_t(m.parameter_count));
  arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), work.own));
  arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), work.one));
  return arena.used;
}

class FixedStepRuns : LaneRuns {
public:
  FixedStepRuns(const ModelData &model, const Run &asked, std::byte *memory, double begin, double until,
                const Samples &samples, const RunQueue &feed)
      : LaneRuns(model, asked, begin, until, samples, feed) {
    lay_out(m, memory, work);
  }

  // runs of the queue, a register full at a time
  void make() {
    while (load()) {
      start();
      while (running && t < until) {
        if (feed.stop())
          return end(running, Outcome::stopped);
        step();
      }
      end(running, Outcome::reached);
    }
  }

private:
  const Tableau &tableau = rk4_tableau;
  FixedStepWorkspace work;
  unsigned alone = 0; // lanes that have to go by themselves

  int n() const { return 2 * m.nv + m.nx; }

  bool load() {
    alone = 0;
    load_states({work.q, work.v, work.x, work.parameters, work.own, work.one});
    return running;
  }

  void end(unsigned lanes, Outcome outcome) {
    for (int lane = 0; lane < W; ++lane)
      if (lanes & running & 1u << lane)
        feed.ended(feed.self, inputs[lane], outcome, t, counts);
    running &= ~lanes;
  }

  void start() {
    begin();
    for (int f = 0; f < m.nv; ++f)
      work.z[f] = P(0.0);
    integrate<P>(m, work.q, work.z, work.q1); // attitudes of length one
    std::swap(work.q, work.q1);
    enter();
    record(work.q, work.v, work.x);
  }

  // the state and its rates where a run begins, or after a discontinuity
  void enter() {
    impose_drives(m, P(interval.clamp(t)), work.system.callback_laws, work.q, work.v);
    project(t, work.q, work.v);
    rates(t, work.q, work.v, work.x, work.a, work.dx);
    P zero(0.0);
    for (int f = 0; f < m.nv; ++f)
      zero = zero + 0.0 * work.a[f];
    for (int k = 0; k < m.nx; ++k)
      zero = zero + 0.0 * work.dx[k];
    end_lanes(zero);
  }

  // lanes that cannot go on: those where 0 is not 0 are not finite
  void end_lanes(const P &zero) {
    end(not_zero(zero), Outcome::not_finite);
    end(alone, Outcome::stiff);
  }

  void step() {
    const double goal = std::min(until, interval.end), left = goal - t, wanted = std::min(run.fixed_step, run.max_step);
    const bool last = wanted * 1.0000001 >= left;
    const double h = last ? left : wanted, t1 = last ? goal : std::min(goal, t + h), end_time = t + h;
    set_first_stage(m, work.v, work.a, work.dx, work.K);
    for (int i = 1; i < tableau.stages; ++i) {
      P *K = work.K + std::ptrdiff_t(i) * n();
      const double time = t + tableau.c[i] * h;
      combine_stage(tableau, i, P(h), work.K, n(), work.z);
      displace(time, work.qs, work.vs, work.xs);
      chart_rate<P>(m, work.z, work.vs, K);
      rates(time, work.qs, work.vs, work.xs, K + m.nv, K + 2 * m.nv);
    }
    combine(tableau.b, tableau.stages, P(h), work.K, n(), work.z);
    P zero(0.0);
    for (int k = 0; k < n(); ++k)
      zero = zero + 0.0 * work.z[k];
    displace(end_time, work.q1, work.v1, work.x1);
    project(end_time, work.q1, work.v1);
    const bool there = t1 == interval.end;
    if (!there && t1 < until) {
      rates(end_time, work.q1, work.v1, work.x1, work.a, work.dx);
      for (int f = 0; f < m.nv; ++f)
        zero = zero + 0.0 * work.a[f];
    }
    end_lanes(zero);
    ++counts.steps;
    std::swap(work.q, work.q1), std::swap(work.v, work.v1), std::swap(work.x, work.x1);
    t = t1;
    record(work.q, work.v, work.x);
    if (there && t < until) {
      interval = SmoothInterval::around(run.discontinuities, t);
      enter();
    }
  }

  void displace(double time, P *q, P *v, P *x) {
    integrate<P>(m, work.q, work.z, q);
    for (int f = 0; f < m.nv; ++f)
      v[f] = work.v[f] + work.z[m.nv + f];
    for (int k = 0; k < m.nx; ++k)
      x[k] = work.x[k] + work.z[2 * m.nv + k];
    impose_drives(m, P(interval.clamp(time)), work.system.callback_laws, q, v);
  }

  void project(double time, P *q, P *v) {
    if (!m.nc || !run.project)
      return;
    work.system.loops.ws.t = P(interval.clamp(time));
    set_targets(m, work.system.loops.ws.t, work.system.callback_laws, work.system.targets);
    alone |= project_simd(m, run.conditions, work.system, q, v, work.change);
  }

  void rates(double time, const P *q, const P *v, const P *x, P *a, P *dx) {
    ++counts.evaluations;
    SystemState<P> state{P(interval.clamp(time)), q, v, x};
    if (run.conditions.sequence) {
      set_control(interval.clamp(time), work.control, work.inputs, work.parameters);
      state.control = work.control, state.inputs = work.inputs;
    }
    alone |= solve_accelerations(m, run.conditions, work.system, state, a, dx);
  }
};

} // namespace

bool supports_fixed_steps(const ModelData &m, const Run &run, bool own) {
  return supports_simd_batch(m, run, own) && !run.conditions.callbacks && !m.switching_count;
}

std::size_t fixed_step_bytes(const ModelData &m) {
  FixedStepWorkspace work;
  return lay_out(m, nullptr, work);
}

void run_fixed_steps(const ModelData &m, const Run &run, std::byte *memory, double begin, double until,
                     const Samples &samples, const RunQueue &feed) {
  FixedStepRuns(m, run, memory, begin, until, samples, feed).make();
}

} // namespace dalembert::DALEMBERT_ISA
