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
struct Work {
  SteppingRoom room;
  const Stepper &stepper;
  const bool adaptive; // it chooses its steps
  Integration at;

  Work(const ModelData &m, Run &run, std::byte *memory)
      : stepper(*steppers[run.method]), adaptive(stepper.adaptive && !(run.fixed_step > 0.0)), at{m, run, room, memory + lay_out(m, memory, room)} {
    run.conditions.sides = m.threshold_count && adaptive && stepper.holds_branches ? room.sides : nullptr;
  }
  Work(const Work &) = delete;
};

const char *name(int method) { return method >= 0 && method < stepper_count ? steppers[method]->name : nullptr; }

std::size_t bytes(const ModelData &m, int method) {
  SteppingRoom room;
  return lay_out(m, nullptr, room) + steppers[method]->bytes(m);
}

// Near a singular position the loops pass rounding of coordinates on to speeds and accelerations, divided by their slack
// and its root. A step of a little other length, whose stages lie elsewhere, may do; if none of these does, it is taken
// with the error that rounding explains.
constexpr int most_near_tries = 6;
constexpr double near_lengths[most_near_tries] = {0.87, 1.12, 0.75, 1.25, 0.65, 1.4};

void set_noise(const Integration &i, double h, double slack) {
  const auto largest = [](const double *x, int n) {
    double most = 0.0;
    for (int k = 0; k < n; ++k)
      most = std::max(most, std::fabs(x[k]));
    return most;
  };
  const double size = 1.0 + largest(i.room.q, i.m.nq), speed = largest(i.room.v, i.m.nv), floor = std::max(slack, 1e-10);
  const double rounding = 30.0 * 2.2e-16 * size;
  i.run.noise[1] = rounding * speed * speed * h / floor;
  i.run.noise[0] = i.run.noise[1] * h + rounding * speed * h / std::sqrt(floor);
}

Outcome take_step(Work &work, double h, double &error) {
  const Integration &i = work.at;
  error = 0.0;
  work.room.near = false;
  if (!work.adaptive)
    return work.stepper.step(i, h, error);
  double &slack = work.room.motion.system.loops.slack;
  slack = 1.0;
  const Outcome outcome = work.stepper.step(i, h, error);
  i.run.usual_slack = std::max(i.run.usual_slack, slack);
  if (!(slack < close_to_singular * i.run.usual_slack) || !i.run.project || outcome == Outcome::host)
    return outcome;
  if (work.stepper.implicit && outcome == Outcome::reached && error <= 1.0) // it has passed as it is
    return outcome;
  work.room.near = true;
  if (i.run.near_tries > most_near_tries)
    set_noise(i, h, slack);
  const Outcome again = work.stepper.step(i, h, error);
  i.run.noise[0] = i.run.noise[1] = 0.0;
  return again;
}

// the end of a step becomes the beginning of the next
void move_on(Work &work, double h, double t1) {
  SteppingRoom &room = work.room;
  Run &run = work.at.run;
  work.stepper.move_on(work.at);
  std::swap(room.q, room.q1);
  std::swap(room.v, room.v1);
  std::swap(room.x, room.x1);
  std::swap(room.a, room.a1);
  std::swap(room.dx, room.dx1);
  run.begin = run.t;
  run.length = h;
  run.t = t1;
  ++run.counts.steps;
}

// A first step from sizes of the state and its first two rates (Hairer, Norsett, Wanner 1993, section II.4).
double first_step(Work &work, double until) {
  const Integration &i = work.at;
  const ModelData &m = i.m;
  const Run &run = i.run;
  SteppingRoom &room = work.room;
  const int n = increments(m), order = work.stepper.order;
  first_stage(i);
  double size = 0.0;
  for (int f = 0; f < m.nv; ++f) {
    const double sq = run.atol[f] + run.rtol * position_size(m, room.q, f), sv = run.atol[m.nv + f] + run.rtol * std::fabs(room.v[f]);
    size += std::pow(position_size(m, room.q, f) / sq, 2) + std::pow(room.v[f] / sv, 2);
  }
  const double slope = measure(i, room.K, room.q, room.v, room.x);
  size = n ? std::sqrt(size / n) : 0.0;
  double h = size < 1e-5 || slope < 1e-5 ? 1e-6 : 0.01 * size / slope;
  h = std::min({h, until - run.t, run.max_step});
  for (int k = 0; k < n; ++k)
    room.z[k] = h * room.K[k];
  double *K1 = room.K + n;
  double bend = 0.0;
  if (displaced(i, run.t + h, room.z, room.qs, room.vs, room.xs) &&
      rates_in_chart(i, run.t + h, room.z, room.qs, room.vs, room.xs, K1) == Outcome::reached && all_finite(K1, n)) {
    for (int k = 0; k < n; ++k)
      room.error[k] = (K1[k] - room.K[k]) / h;
    bend = measure(i, room.error, room.q, room.v, room.x);
  }
  return first_length(h, slope, bend, order, until - run.t, run.max_step);
}

// samples that lie in the step just made, before it is moved on from
Outcome sample(Work &work, double h, double t1, Samples &samples, const Recorder &recorder) {
  SteppingRoom &room = work.room;
  bool prepared = false;
  while (samples.next < samples.count && samples.times[samples.next] <= t1) {
    const double t = samples.times[samples.next];
    const double *q = room.q1, *v = room.v1, *x = room.x1;
    if (t < t1) {
      Outcome outcome = prepared ? Outcome::reached : work.stepper.prepare(work.at, h);
      prepared = true;
      if (outcome == Outcome::reached)
        outcome = interpolate(work.stepper, work.at, h, (t - work.at.run.t) / h);
      if (outcome != Outcome::reached)
        return outcome;
      q = room.qs, v = room.vs, x = room.xs;
    }
    ++samples.next;
    if (!recorder.record(recorder.self, t, q, v, x, nullptr))
      return Outcome::stopped;
  }
  return Outcome::reached;
}

// The state arrays are swapped from step to step; a block that is laid out anew must find them in their first places.
void settle(const ModelData &m, std::byte *memory, const SteppingRoom &room) {
  SteppingRoom fresh;
  lay_out(m, memory, fresh);
  if (fresh.q == room.q)
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
  Work work(m, run, memory);
  SteppingRoom &room = work.room;
  for (int f = 0; f < m.nv; ++f)
    room.change[f] = 0.0;
  integrate<double>(m, q, room.change, room.q);
  copy(v, m.nv, room.v);
  copy(x, m.nx, room.x);
  run.t = run.begin = t;
  run.length = 0.0;
  run.stretch = Stretch::around(run.breaks, t);
  run.arrived = 0;
  run.cut = 0.0;
  run.in_a_row = run.stalls = 0;
  if (!impose_drives(work.at, t, room.q, room.v, room.x))
    return Outcome::host;
  const Outcome outcome = onto_loops(work.at, t, room.q, room.v);
  if (outcome != Outcome::reached)
    return outcome;
  if (run.conditions.sides && !begin_sides(work.at))
    return Outcome::host;
  if (!rates(work.at, t, room.q, room.v, room.x, room.a, room.dx))
    return Outcome::host;
  work.stepper.begin(work.at);
  forget_monitor(work.at);
  return all_finite(room.a, m.nv) && all_finite(room.dx, m.nx) ? Outcome::reached : Outcome::not_finite;
}

// from a break on: the state and its rates as they are after it
Outcome pass_break(Work &work) {
  SteppingRoom &room = work.room;
  Run &run = work.at.run;
  const ModelData &m = work.at.m;
  run.stretch = Stretch::around(run.breaks, run.t);
  run.arrived = 0;
  if (!impose_drives(work.at, run.t, room.q, room.v, room.x))
    return Outcome::host;
  const Outcome outcome = onto_loops(work.at, run.t, room.q, room.v);
  if (outcome != Outcome::reached)
    return outcome;
  if (!rates(work.at, run.t, room.q, room.v, room.x, room.a, room.dx))
    return Outcome::host;
  if (run.conditions.sides && !settle_sides(work.at))
    return Outcome::host;
  work.stepper.begin(work.at);
  forget_monitor(work.at);
  return all_finite(room.a, m.nv) && all_finite(room.dx, m.nx) ? Outcome::reached : Outcome::not_finite;
}

// at a threshold: the branches and rates after it
Outcome pass_threshold(Work &work, const Recorder &recorder) {
  SteppingRoom &room = work.room;
  Run &run = work.at.run;
  const ModelData &m = work.at.m;
  run.cut = 0.0;
  if (!change_sides(work.at))
    return Outcome::host;
  work.stepper.begin(work.at);
  forget_monitor(work.at);
  if (recorder.switched)
    recorder.switched(recorder.self, run.t, room.sides, m.threshold_count);
  return all_finite(room.a, m.nv) && all_finite(room.dx, m.nx) ? Outcome::reached : Outcome::not_finite;
}

// After a step that was rejected: its next length; or the outcome, if there is no use in trying on.
Outcome shorten(Work &work, Outcome step, double h, double error, double until) {
  Run &run = work.at.run;
  ++run.counts.rejected;
  run.worst = error;
  if (work.room.near && work.adaptive && run.near_tries < most_near_tries) {
    run.near_step = run.near_tries ? run.near_step : h;
    run.step = run.near_step * near_lengths[run.near_tries++];
    return Outcome::reached;
  }
  run.near_tries += work.room.near;
  run.rejected_last = 1;
  if (!work.adaptive)
    return step;
  run.step = step != Outcome::reached ? 0.25 * h : h * shrink(error, work.stepper.order);
  if (step != Outcome::reached && run.step < 1e-13 * std::max(std::fabs(until), std::fabs(run.t)))
    return step;
  return Outcome::reached;
}

// a step that cannot be judged by its error is tried again at half its length
void halve(Work &work, double h) {
  Run &run = work.at.run;
  ++run.counts.rejected;
  run.rejected_last = 1;
  run.step = 0.5 * h;
}

// The length of the next step, after one that was accepted.
void lengthen(Work &work, double h, double error) {
  Run &run = work.at.run;
  const bool was_noisy = run.near_tries > most_near_tries;
  run.counts.noisy += was_noisy;
  run.near_tries = 0;
  if (!work.adaptive)
    return;
  run.step = work.stepper.accept(work.at, h, error);
  run.rejected_last = 0;
  if (was_noisy) // shorter steps would not be better ones
    run.step = std::max(run.step, run.near_step);
}

Outcome advance(const ModelData &m, Run &run, std::byte *memory, double until, std::int64_t most_steps, Samples &samples,
                const Recorder &recorder) {
  Work work(m, run, memory);
  SteppingRoom &room = work.room;
  const Stepper &stepper = work.stepper;
  if (!run.started) {
    run.step = work.adaptive ? first_step(work, std::min(until, run.stretch.end)) : run.fixed_step;
    run.old_error = 1e-4;
    run.started = 1;
  }
  run.judged = stepper.tableau && stepper.adaptive && !work.adaptive; // steps of a given length are taken as they are
  Outcome outcome = Outcome::paused;
  for (std::int64_t taken = 0; taken < most_steps;) {
    if (!(until > run.t)) {
      outcome = Outcome::reached;
      break;
    }
    if (recorder.stop()) {
      outcome = Outcome::stopped;
      break;
    }
    if (run.arrived) {
      const Outcome passed = pass_break(work);
      if (passed != Outcome::reached) {
        outcome = passed;
        break;
      }
      if (run.conditions.sides && recorder.switched)
        recorder.switched(recorder.self, run.t, room.sides, m.threshold_count);
    }
    const double goal = std::min(until, run.stretch.end), left = goal - run.t;
    const double shortest = 4e-16 * std::max(std::fabs(run.t), 1e-12 * std::fabs(until));
    double h = std::min(run.step, run.max_step);
    const bool cuts = run.cut > 0.0 && run.cut < left, last = !cuts && h * 1.0000001 >= left;
    if (cuts)
      h = run.cut;
    else if (last)
      h = left;
    else if (2.0 * h > left && work.adaptive)
      h = 0.5 * left; // two equal steps rather than one and a splinter
    if (!last && !cuts && !(h > shortest)) {
      outcome = Outcome::underflow;
      break;
    }
    if (!cuts)
      run.cut = 0.0;
    forget_exits(work.at);
    double error;
    const Outcome step = take_step(work, h, error);
    if (step == Outcome::host) {
      outcome = step;
      break;
    }
    if (step != Outcome::reached || error > 1.0) {
      run.cut = 0.0;
      const Outcome next = shorten(work, step, h, error, until);
      if (next == Outcome::reached && work.adaptive)
        continue;
      outcome = next;
      break;
    }
    if (cuts && h > 1e3 * shortest && strays(work.at)) {
      run.cut = 0.0;
      halve(work, h);
      continue;
    }
    if (cuts && comes_nearer(work.at, h))
      continue;
    bool arrives = cuts, monitored = false; // arrives: at a threshold
    if (run.conditions.sides && !cuts) {
      Passage passage = Passage::none;
      const Outcome watched = watch_thresholds(stepper, work.at, h, passage);
      if (watched != Outcome::reached) {
        outcome = watched;
        break;
      }
      if (passage == Passage::here) {
        const Outcome passed = ++run.stalls > most_stalls ? Outcome::underflow : pass_threshold(work, recorder);
        if (passed == Outcome::reached)
          continue;
        outcome = passed;
        break;
      }
      if (passage == Passage::again && recorder.switched)
        recorder.switched(recorder.self, run.t, room.sides, m.threshold_count);
      if (passage == Passage::inside || passage == Passage::again || passage == Passage::unseen)
        continue; // a shorter step ends there
      if (passage == Passage::astray && h > 1e3 * shortest) {
        halve(work, h);
        continue;
      }
      arrives = passage == Passage::end;
      monitored = passage == Passage::none;
      if (passage == Passage::slight && recorder.switched)
        recorder.switched(recorder.self, last ? goal : run.t + h, room.sides, m.threshold_count);
    }
    if (m.threshold_count && !run.conditions.sides) {
      Departure found;
      const Outcome looked = find_passage(stepper, work.at, h, found);
      if (looked != Outcome::reached) {
        outcome = looked;
        break;
      }
      monitored = true;
      const bool passes = found.kind != Departure::Kind::none;
      if (passes && work.adaptive && run.led_in < most_led_in) {
        ++run.led_in;
        ++run.counts.rejected;
        run.step = found.high * h;
        continue;
      }
      if (passes && !work.adaptive && !ends_beyond(work.at, found.threshold) && !run.counts.missed++)
        run.missed_time = run.t + found.high * h, run.missed_threshold = found.threshold;
    }
    run.stalls = run.led_in = 0;
    run.in_a_row = arrives ? run.in_a_row + 1 : 0;
    ++taken;
    const double t1 = last ? goal : run.t + h;
    run.arrived = t1 == run.stretch.end;
    lengthen(work, h, error);
    const bool stiff = run.watch && stepper.tableau && looks_stiff(work.at, *stepper.tableau, h);
    const Outcome sampled = samples.times ? sample(work, h, t1, samples, recorder) : Outcome::reached;
    if (sampled != Outcome::reached) {
      outcome = sampled;
      break;
    }
    move_on(work, h, t1);
    if (monitored)
      move_monitor(work.at);
    else
      forget_monitor(work.at);
    if (samples.times && recorder.stepped)
      recorder.stepped(recorder.self, run.t);
    if (!samples.times && !recorder.record(recorder.self, run.t, room.q, room.v, room.x, room.a)) {
      outcome = Outcome::stopped;
      break;
    }
    if (arrives) {
      const Outcome passed = pass_threshold(work, recorder);
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
  run.judged = false;
  settle(m, memory, room);
  return outcome;
}

void state(const ModelData &m, const Run &run, std::byte *memory, const double **parts) {
  SteppingRoom room;
  lay_out(m, memory, room);
  parts[0] = room.q, parts[1] = room.v, parts[2] = room.x, parts[3] = room.a, parts[4] = room.dx;
  parts[5] = run.conditions.sides ? room.sides : nullptr;
}

Outcome dense(const ModelData &m, Run &run, std::byte *memory, double h, const double *q1, const double *v1, const double *x1,
              const double *fractions, std::ptrdiff_t count, const Recorder &recorder) {
  Work work(m, run, memory);
  SteppingRoom &room = work.room;
  Outcome outcome = Outcome::reached;
  if (work.stepper.dense_from_stages) { // once more; that they were accurate enough is known
    double error;
    run.judged = true;
    outcome = take_step(work, h, error);
    run.judged = false;
    if (outcome != Outcome::reached)
      return outcome;
  }
  copy(q1, m.nq, room.q1);
  copy(v1, m.nv, room.v1);
  copy(x1, m.nx, room.x1);
  if (!rates(work.at, run.t + h, room.q1, room.v1, room.x1, room.a1, room.dx1))
    return Outcome::host;
  outcome = work.stepper.prepare(work.at, h);
  for (std::ptrdiff_t k = 0; k < count && outcome == Outcome::reached; ++k) {
    outcome = interpolate(work.stepper, work.at, h, fractions[k]);
    if (outcome == Outcome::reached)
      recorder.record(recorder.self, run.t + fractions[k] * h, room.qs, room.vs, room.xs, nullptr);
  }
  return outcome;
}

} // namespace

extern const IntegratorSet integrators;
const IntegratorSet integrators{name, bytes, start, advance, state, dense, W, runs_in_lanes, bytes_lanes, run_lanes};

} // namespace dalembert::DALEMBERT_ISA
