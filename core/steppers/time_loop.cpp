// The time loop, behind the border of steppers/run.hpp: steps taken, judged, sampled and recorded, whatever the stepper.
#include "steppers/methods/step_size_control.hpp"
#include "steppers/methods/explicit_runge_kutta.hpp"
#include "steppers/simd_batch.hpp"
#include "steppers/switching/monitor.hpp"
#include "steppers/methods/registry.hpp"
#include "steppers/switching/switch_location.hpp"
#include "tree/chart.hpp"
#include <algorithm>
#include <utility>

namespace dalembert::DALEMBERT_ISA {
namespace {

// a simulation with its memory in place
struct TimeLoop {
  RunWorkspace work;
  const Stepper &stepper;
  const bool adaptive; // it chooses its steps
  RunContext at;

  TimeLoop(const ModelData &m, Run &run, std::byte *memory)
      : stepper(*steppers[run.method]), adaptive(stepper.adaptive && !(run.fixed_step > 0.0)), at{m, run, work, memory + lay_out(m, memory, work)} {
    run.conditions.law_branches = m.switching_count && adaptive && stepper.holds_branches ? work.branches : nullptr;
  }
  TimeLoop(const TimeLoop &) = delete;
};

const char *name(int method) { return method >= 0 && method < stepper_count ? steppers[method]->name : nullptr; }

std::size_t bytes(const ModelData &m, int method) {
  RunWorkspace work;
  return lay_out(m, nullptr, work) + steppers[method]->bytes(m);
}

// Near a singular position the loops pass rounding of coordinates on to speeds and accelerations, divided by their slack
// and its root. A step of a little other length, whose stages lie elsewhere, may do; if none of these does, it is taken
// with the error that rounding explains.
constexpr int max_near_tries = 6;
constexpr double retry_lengths[max_near_tries] = {0.87, 1.12, 0.75, 1.25, 0.65, 1.4};

void set_noise(const RunContext &i, double h, double slack) {
  const auto largest = [](const double *x, int n) {
    double most = 0.0;
    for (int k = 0; k < n; ++k)
      most = std::max(most, std::fabs(x[k]));
    return most;
  };
  const double size = 1.0 + largest(i.work.q, i.m.nq), velocity = largest(i.work.v, i.m.nv), floor = std::max(slack, 1e-10);
  const double rounding = 30.0 * 2.2e-16 * size;
  i.run.noise[1] = rounding * velocity * velocity * h / floor;
  i.run.noise[0] = i.run.noise[1] * h + rounding * velocity * h / std::sqrt(floor);
}

Outcome take_step(TimeLoop &loop, double h, double &error) {
  const RunContext &i = loop.at;
  error = 0.0;
  loop.work.near = false;
  if (!loop.adaptive)
    return loop.stepper.step(i, h, error);
  double &slack = loop.work.motion.system.loops.min_pivot;
  slack = 1.0;
  const Outcome outcome = loop.stepper.step(i, h, error);
  i.run.usual_min_pivot = std::max(i.run.usual_min_pivot, slack);
  if (!(slack < close_to_singular * i.run.usual_min_pivot) || !i.run.project || outcome == Outcome::callback_failed)
    return outcome;
  if (loop.stepper.implicit && outcome == Outcome::reached && error <= 1.0) // it has passed as it is
    return outcome;
  loop.work.near = true;
  if (i.run.near_singular_rejections > max_near_tries)
    set_noise(i, h, slack);
  const Outcome again = loop.stepper.step(i, h, error);
  i.run.noise[0] = i.run.noise[1] = 0.0;
  return again;
}

// the end of a step becomes the beginning of the next
void advance_state(TimeLoop &loop, double h, double t1) {
  RunWorkspace &work = loop.work;
  Run &run = loop.at.run;
  loop.stepper.advance_state(loop.at);
  std::swap(work.q, work.q1);
  std::swap(work.v, work.v1);
  std::swap(work.x, work.x1);
  std::swap(work.a, work.a1);
  std::swap(work.dx, work.dx1);
  run.begin = run.t;
  run.length = h;
  run.t = t1;
  ++run.counts.steps;
}

// A first step from sizes of the state and its first two rates (Hairer, Norsett, Wanner 1993, section II.4).
double first_step(TimeLoop &loop, double until) {
  const RunContext &i = loop.at;
  const ModelData &m = i.m;
  const Run &run = i.run;
  RunWorkspace &work = loop.work;
  const int n = increments(m), order = loop.stepper.order;
  first_stage(i);
  double size = 0.0;
  for (int f = 0; f < m.nv; ++f) {
    const double sq = run.atol[f] + run.rtol * position_size(m, work.q, f), sv = run.atol[m.nv + f] + run.rtol * std::fabs(work.v[f]);
    size += std::pow(position_size(m, work.q, f) / sq, 2) + std::pow(work.v[f] / sv, 2);
  }
  const double slope = measure(i, work.K, work.q, work.v, work.x);
  size = n ? std::sqrt(size / n) : 0.0;
  double h = size < 1e-5 || slope < 1e-5 ? 1e-6 : 0.01 * size / slope;
  h = std::min({h, until - run.t, run.max_step});
  for (int k = 0; k < n; ++k)
    work.z[k] = h * work.K[k];
  double *K1 = work.K + n;
  double bend = 0.0;
  if (displaced(i, run.t + h, work.z, work.qs, work.vs, work.xs) &&
      rates_in_chart(i, run.t + h, work.z, work.qs, work.vs, work.xs, K1) == Outcome::reached && all_finite(K1, n)) {
    for (int k = 0; k < n; ++k)
      work.error[k] = (K1[k] - work.K[k]) / h;
    bend = measure(i, work.error, work.q, work.v, work.x);
  }
  return first_length(h, slope, bend, order, until - run.t, run.max_step);
}

// samples that lie in the step just made, before it is moved on from
Outcome sample(TimeLoop &loop, double h, double t1, Samples &samples, const Recorder &recorder) {
  RunWorkspace &work = loop.work;
  bool prepared = false;
  while (samples.next < samples.count && samples.times[samples.next] <= t1) {
    const double t = samples.times[samples.next];
    const double *q = work.q1, *v = work.v1, *x = work.x1;
    if (t < t1) {
      Outcome outcome = prepared ? Outcome::reached : loop.stepper.prepare(loop.at, h);
      prepared = true;
      if (outcome == Outcome::reached)
        outcome = interpolate(loop.stepper, loop.at, h, (t - loop.at.run.t) / h);
      if (outcome != Outcome::reached)
        return outcome;
      q = work.qs, v = work.vs, x = work.xs;
    }
    ++samples.next;
    if (!recorder.record(recorder.self, t, q, v, x, nullptr))
      return Outcome::stopped;
  }
  return Outcome::reached;
}

// The state arrays are swapped from step to step; a block that is laid out anew must find them in their first places.
void settle(const ModelData &m, std::byte *memory, const RunWorkspace &work) {
  RunWorkspace fresh;
  lay_out(m, memory, fresh);
  if (fresh.q == work.q)
    return;
  const auto exchange = [](double *a, double *b, int count) {
    for (int k = 0; k < count; ++k)
      std::swap(a[k], b[k]);
  };
  exchange(fresh.q, fresh.q1, m.nq);
  exchange(fresh.v, fresh.v1, m.nv);
  exchange(fresh.x, fresh.x1, m.nx);
  exchange(fresh.a, fresh.a1, m.nv);
  exchange(fresh.dx, fresh.dx1, m.nx);
}

Outcome start(const ModelData &m, Run &run, std::byte *memory, double t, const double *q, const double *v, const double *x) {
  TimeLoop loop(m, run, memory);
  RunWorkspace &work = loop.work;
  for (int f = 0; f < m.nv; ++f)
    work.change[f] = 0.0;
  integrate<double>(m, q, work.change, work.q);
  copy(v, m.nv, work.v);
  copy(x, m.nx, work.x);
  run.t = run.begin = t;
  run.length = 0.0;
  run.interval = SmoothInterval::around(run.discontinuities, t);
  run.arrived = 0;
  run.step_to_switch = 0.0;
  run.consecutive_switches = run.switches_without_step = 0;
  if (!impose_drives(loop.at, t, work.q, work.v, work.x))
    return Outcome::callback_failed;
  const Outcome outcome = project_onto_constraints(loop.at, t, work.q, work.v);
  if (outcome != Outcome::reached)
    return outcome;
  if (run.conditions.law_branches && !begin_sides(loop.at))
    return Outcome::callback_failed;
  if (!rates(loop.at, t, work.q, work.v, work.x, work.a, work.dx))
    return Outcome::callback_failed;
  loop.stepper.begin(loop.at);
  reset_monitor(loop.at);
  return all_finite(work.a, m.nv) && all_finite(work.dx, m.nx) ? Outcome::reached : Outcome::not_finite;
}

// from a break on: the state and its rates as they are after it
Outcome pass_break(TimeLoop &loop) {
  RunWorkspace &work = loop.work;
  Run &run = loop.at.run;
  const ModelData &m = loop.at.m;
  run.interval = SmoothInterval::around(run.discontinuities, run.t);
  run.arrived = 0;
  if (!impose_drives(loop.at, run.t, work.q, work.v, work.x))
    return Outcome::callback_failed;
  const Outcome outcome = project_onto_constraints(loop.at, run.t, work.q, work.v);
  if (outcome != Outcome::reached)
    return outcome;
  if (!rates(loop.at, run.t, work.q, work.v, work.x, work.a, work.dx))
    return Outcome::callback_failed;
  if (run.conditions.law_branches && !update_branches(loop.at))
    return Outcome::callback_failed;
  loop.stepper.begin(loop.at);
  reset_monitor(loop.at);
  return all_finite(work.a, m.nv) && all_finite(work.dx, m.nx) ? Outcome::reached : Outcome::not_finite;
}

// at a threshold: the branches and rates after it
Outcome pass_switch(TimeLoop &loop, const Recorder &recorder) {
  RunWorkspace &work = loop.work;
  Run &run = loop.at.run;
  const ModelData &m = loop.at.m;
  run.step_to_switch = 0.0;
  if (!switch_branches(loop.at))
    return Outcome::callback_failed;
  loop.stepper.begin(loop.at);
  reset_monitor(loop.at);
  if (recorder.switched)
    recorder.switched(recorder.self, run.t, work.branches, m.switching_count);
  return all_finite(work.a, m.nv) && all_finite(work.dx, m.nx) ? Outcome::reached : Outcome::not_finite;
}

// After a step that was rejected: its next length; or the outcome, if there is no use in trying on.
Outcome reduce_step(TimeLoop &loop, Outcome step, double h, double error, double until) {
  Run &run = loop.at.run;
  ++run.counts.rejected;
  run.worst = error;
  if (loop.work.near && loop.adaptive && run.near_singular_rejections < max_near_tries) {
    run.near_step = run.near_singular_rejections ? run.near_step : h;
    run.step = run.near_step * retry_lengths[run.near_singular_rejections++];
    return Outcome::reached;
  }
  run.near_singular_rejections += loop.work.near;
  run.rejected_last = 1;
  if (!loop.adaptive)
    return step;
  run.step = step != Outcome::reached ? 0.25 * h : h * reduced_step(error, loop.stepper.order);
  if (step != Outcome::reached && run.step < 1e-13 * std::max(std::fabs(until), std::fabs(run.t)))
    return step;
  return Outcome::reached;
}

// a step that cannot be judged by its error is tried again at half its length
void halve(TimeLoop &loop, double h) {
  Run &run = loop.at.run;
  ++run.counts.rejected;
  run.rejected_last = 1;
  run.step = 0.5 * h;
}

// The length of the next step, after one that was accepted.
void lengthen(TimeLoop &loop, double h, double error) {
  Run &run = loop.at.run;
  const bool was_noisy = run.near_singular_rejections > max_near_tries;
  run.counts.noisy += was_noisy;
  run.near_singular_rejections = 0;
  if (!loop.adaptive)
    return;
  run.step = loop.stepper.accept(loop.at, h, error);
  run.rejected_last = 0;
  if (was_noisy) // shorter steps would not be better ones
    run.step = std::max(run.step, run.near_step);
}

Outcome advance(const ModelData &m, Run &run, std::byte *memory, double until, std::int64_t max_steps, Samples &samples,
                const Recorder &recorder) {
  TimeLoop loop(m, run, memory);
  RunWorkspace &work = loop.work;
  const Stepper &stepper = loop.stepper;
  if (!run.started) {
    run.step = loop.adaptive ? first_step(loop, std::min(until, run.interval.end)) : run.fixed_step;
    run.old_error = 1e-4;
    run.started = 1;
  }
  run.error_control_off = stepper.tableau && stepper.adaptive && !loop.adaptive; // steps of a given length are taken as they are
  Outcome outcome = Outcome::paused;
  for (std::int64_t taken = 0; taken < max_steps;) {
    if (!(until > run.t)) {
      outcome = Outcome::reached;
      break;
    }
    if (recorder.stop()) {
      outcome = Outcome::stopped;
      break;
    }
    if (run.arrived) {
      const Outcome passed = pass_break(loop);
      if (passed != Outcome::reached) {
        outcome = passed;
        break;
      }
      if (run.conditions.law_branches && recorder.switched)
        recorder.switched(recorder.self, run.t, work.branches, m.switching_count);
    }
    const double goal = std::min(until, run.interval.end), left = goal - run.t;
    const double shortest = 4e-16 * std::max(std::fabs(run.t), 1e-12 * std::fabs(until));
    double h = std::min(run.step, run.max_step);
    const bool cuts = run.step_to_switch > 0.0 && run.step_to_switch < left, last = !cuts && h * 1.0000001 >= left;
    if (cuts)
      h = run.step_to_switch;
    else if (last)
      h = left;
    else if (2.0 * h > left && loop.adaptive)
      h = 0.5 * left; // two equal steps rather than one and a splinter
    if (!last && !cuts && !(h > shortest)) {
      outcome = Outcome::underflow;
      break;
    }
    if (!cuts)
      run.step_to_switch = 0.0;
    clear_exits(loop.at);
    double error;
    const Outcome step = take_step(loop, h, error);
    if (step == Outcome::callback_failed) {
      outcome = step;
      break;
    }
    if (step != Outcome::reached || error > 1.0) {
      run.step_to_switch = 0.0;
      const Outcome next = reduce_step(loop, step, h, error, until);
      if (next == Outcome::reached && loop.adaptive)
        continue;
      outcome = next;
      break;
    }
    if (cuts && h > 1e3 * shortest && strays(loop.at)) {
      run.step_to_switch = 0.0;
      halve(loop, h);
      continue;
    }
    if (cuts && improve_switch_time(loop.at, h))
      continue;
    bool arrives = cuts, monitored = false; // arrives: at a threshold
    if (run.conditions.law_branches && !cuts) {
      SwitchLocation passage = SwitchLocation::none;
      const Outcome watched = locate_switch(stepper, loop.at, h, passage);
      if (watched != Outcome::reached) {
        outcome = watched;
        break;
      }
      if (passage == SwitchLocation::here) {
        const Outcome passed = ++run.switches_without_step > max_switches_without_step ? Outcome::underflow : pass_switch(loop, recorder);
        if (passed == Outcome::reached)
          continue;
        outcome = passed;
        break;
      }
      if (passage == SwitchLocation::again && recorder.switched)
        recorder.switched(recorder.self, run.t, work.branches, m.switching_count);
      if (passage == SwitchLocation::inside || passage == SwitchLocation::again || passage == SwitchLocation::unseen)
        continue; // a shorter step ends there
      if (passage == SwitchLocation::astray && h > 1e3 * shortest) {
        halve(loop, h);
        continue;
      }
      arrives = passage == SwitchLocation::end;
      monitored = passage == SwitchLocation::none;
      if (passage == SwitchLocation::slight && recorder.switched)
        recorder.switched(recorder.self, last ? goal : run.t + h, work.branches, m.switching_count);
    }
    if (m.switching_count && !run.conditions.law_branches) {
      Departure found;
      const Outcome looked = find_passage(stepper, loop.at, h, found);
      if (looked != Outcome::reached) {
        outcome = looked;
        break;
      }
      monitored = true;
      const bool passes = found.kind != Departure::Kind::none;
      if (passes && loop.adaptive && run.lead_in_steps < max_led_in) {
        ++run.lead_in_steps;
        ++run.counts.rejected;
        run.step = found.high * h;
        continue;
      }
      if (passes && !loop.adaptive && !ends_beyond(loop.at, found.function) && !run.counts.missed++)
        run.missed_time = run.t + found.high * h, run.missed_function = found.function;
    }
    run.switches_without_step = run.lead_in_steps = 0;
    run.consecutive_switches = arrives ? run.consecutive_switches + 1 : 0;
    ++taken;
    const double t1 = last ? goal : run.t + h;
    run.arrived = t1 == run.interval.end;
    lengthen(loop, h, error);
    const bool stiff = run.detect_stiffness && stepper.tableau && detects_stiffness(loop.at, *stepper.tableau, h);
    const Outcome sampled = samples.times ? sample(loop, h, t1, samples, recorder) : Outcome::reached;
    if (sampled != Outcome::reached) {
      outcome = sampled;
      break;
    }
    advance_state(loop, h, t1);
    if (monitored)
      move_monitor(loop.at);
    else
      reset_monitor(loop.at);
    if (samples.times && recorder.stepped)
      recorder.stepped(recorder.self, run.t);
    if (!samples.times && !recorder.record(recorder.self, run.t, work.q, work.v, work.x, work.a)) {
      outcome = Outcome::stopped;
      break;
    }
    if (arrives) {
      const Outcome passed = pass_switch(loop, recorder);
      if (passed != Outcome::reached) {
        outcome = passed;
        break;
      }
    }
    if (stiff) {
      outcome = Outcome::stiff;
      break;
    }
  }
  run.error_control_off = false;
  settle(m, memory, work);
  return outcome;
}

void state(const ModelData &m, const Run &run, std::byte *memory, const double **parts) {
  RunWorkspace work;
  lay_out(m, memory, work);
  parts[0] = work.q, parts[1] = work.v, parts[2] = work.x, parts[3] = work.a, parts[4] = work.dx;
  parts[5] = run.conditions.law_branches ? work.branches : nullptr;
}

Outcome dense(const ModelData &m, Run &run, std::byte *memory, double h, const double *q1, const double *v1, const double *x1,
              const double *fractions, std::ptrdiff_t count, const Recorder &recorder) {
  TimeLoop loop(m, run, memory);
  RunWorkspace &work = loop.work;
  Outcome outcome = Outcome::reached;
  if (loop.stepper.dense_from_stages) { // once more; that they were accurate enough is known
    double error;
    run.error_control_off = true;
    outcome = take_step(loop, h, error);
    run.error_control_off = false;
    if (outcome != Outcome::reached)
      return outcome;
  }
  copy(q1, m.nq, work.q1);
  copy(v1, m.nv, work.v1);
  copy(x1, m.nx, work.x1);
  if (!rates(loop.at, run.t + h, work.q1, work.v1, work.x1, work.a1, work.dx1))
    return Outcome::callback_failed;
  outcome = loop.stepper.prepare(loop.at, h);
  for (std::ptrdiff_t k = 0; k < count && outcome == Outcome::reached; ++k) {
    outcome = interpolate(loop.stepper, loop.at, h, fractions[k]);
    if (outcome == Outcome::reached)
      recorder.record(recorder.self, run.t + fractions[k] * h, work.qs, work.vs, work.xs, nullptr);
  }
  return outcome;
}

} // namespace

extern const IntegratorSet integrators;
const IntegratorSet integrators{name, bytes, start, advance, state, dense, W, supports_simd_batch, simd_batch_bytes, run_simd_batch};

} // namespace dalembert::DALEMBERT_ISA
