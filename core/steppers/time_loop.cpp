// The time loop, behind the border of steppers/run.hpp: steps taken, judged, sampled and recorded, whatever the
// stepper.
#include "contact/contact_watch.hpp"
#include "elements/elements.hpp"
#include "events/event_actions.hpp"
#include "events/event_values.hpp"
#include "friction/mode_change.hpp"
#include "friction/switching_values.hpp"
#include "steppers/methods/explicit_runge_kutta.hpp"
#include "steppers/methods/registry.hpp"
#include "steppers/methods/step_size_control.hpp"
#include "steppers/simd_batch.hpp"
#include "steppers/simd_fixed_steps.hpp"
#include "steppers/switching/crossing_search.hpp"
#include "steppers/switching/monitor.hpp"
#include "steppers/switching/step_to_event.hpp"
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
      : stepper(*steppers[run.method]), adaptive(stepper.adaptive && !(run.fixed_step > 0.0)),
        at{m, run, work, memory + lay_out(m, memory, work)} {
    run.conditions.law_branches = m.switching_count && adaptive && stepper.holds_branches ? work.branches : nullptr;
  }
  TimeLoop(const TimeLoop &) = delete;
};

const char *name(int method) { return method >= 0 && method < stepper_count ? steppers[method]->name : nullptr; }

std::size_t bytes(const ModelData &m, int method) {
  RunWorkspace work;
  return lay_out(m, nullptr, work) + steppers[method]->bytes(m);
}

// Near a singular position the loops pass rounding of coordinates on to velocities and accelerations, divided by their
// slack and its root. A step of a little other length, whose stages lie elsewhere, may do; if none of these does, it is
// taken with the error that rounding explains.
constexpr int max_near_tries = 6;
constexpr double retry_lengths[max_near_tries] = {0.87, 1.12, 0.75, 1.25, 0.65, 1.4};

void set_noise(const RunContext &i, double h, double slack) {
  const auto largest = [](const double *x, int n) {
    double most = 0.0;
    for (int k = 0; k < n; ++k)
      most = std::max(most, std::fabs(x[k]));
    return most;
  };
  const double size = 1.0 + largest(i.work.q, i.m.nq), velocity = largest(i.work.v, i.m.nv),
               floor = std::max(slack, 1e-10);
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
  release_bristles(loop.at.m, work.motion.system.loops.ws, work.q, work.v, work.x);
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
  const int n = increments(m);
  set_first_stage(m, work.v, work.a, work.dx, work.K);
  const double left = until - run.t, slope = measure(i, work.K, work.q, work.v, work.x);
  const double h = trial_length(state_size<double>(m, run, {work.q, work.v, work.x}), slope, left, run.max_step);
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
  return first_length(h, slope, bend, loop.stepper.order, left, run.max_step);
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

// Dense output of the step of length h from the state of the run to q1, v1, x1, which has been taken before: stages are
// evaluated once more where the stepper needs them.
Outcome prepare_dense(TimeLoop &loop, double h, const double *q1, const double *v1, const double *x1) {
  RunWorkspace &work = loop.work;
  const ModelData &m = loop.at.m;
  Run &run = loop.at.run;
  if (loop.stepper.dense_from_stages) { // that they were accurate enough is known
    double error;
    const bool before = std::exchange(run.error_control_off, true);
    const Outcome outcome = take_step(loop, h, error);
    run.error_control_off = before;
    if (outcome != Outcome::reached)
      return outcome;
  }
  copy(q1, m.nq, work.q1);
  copy(v1, m.nv, work.v1);
  copy(x1, m.nx, work.x1);
  if (!rates(loop.at, run.t + h, work.q1, work.v1, work.x1, work.a1, work.dx1))
    return Outcome::callback_failed;
  return loop.stepper.prepare(loop.at, h);
}

// Samples in a step that ends at t1 because modes change there, in the state `end` (q, v, x): as dense output of the
// recorded states gives them.
Outcome sample_before_change(TimeLoop &loop, double t1, const std::vector<double> &end, Samples &samples,
                             const Recorder &recorder) {
  RunWorkspace &work = loop.work;
  const double h = t1 - loop.at.run.t, *q1 = end.data(), *v1 = q1 + loop.at.m.nq;
  Outcome outcome = Outcome::reached;
  for (bool prepared = false; samples.next < samples.count && samples.times[samples.next] < t1; prepared = true) {
    const double t = samples.times[samples.next++];
    if (!prepared)
      outcome = prepare_dense(loop, h, q1, v1, v1 + loop.at.m.nv);
    if (outcome == Outcome::reached)
      outcome = interpolate(loop.stepper, loop.at, h, (t - loop.at.run.t) / h);
    if (outcome != Outcome::reached)
      return outcome;
    if (!recorder.record(recorder.self, t, work.qs, work.vs, work.xs, nullptr))
      return Outcome::stopped;
  }
  return outcome;
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

// at a state from which the method begins afresh
Outcome restart(TimeLoop &loop) {
  loop.stepper.begin(loop.at);
  reset_monitor(loop.at);
  return all_finite(loop.work.a, loop.at.m.nv) && all_finite(loop.work.dx, loop.at.m.nx) ? Outcome::reached
                                                                                         : Outcome::not_finite;
}

// Modes of contacts by events at the state of the run, and its velocities after impacts.
Outcome change_contact_modes(TimeLoop &loop) {
  Run &run = loop.at.run;
  run.step_to_contact = 0.0;
  if (!run.contact_events)
    return Outcome::reached;
  if (run.contact_events->repeats) {
    run.contact_events->set_known_modes(run.t);
    set_slip_directions(loop.at, *run.contact_events, loop.work.q, loop.work.v);
    return Outcome::reached;
  }
  const double *branches = std::exchange(run.conditions.law_branches, nullptr); // those that fit the state
  const Outcome outcome = change_contacts(loop.at, *run.contact_events);
  run.conditions.law_branches = branches;
  return outcome;
}

// At a state that a change has led to: the state put onto drives and loops, modes of contacts, its rates, and the
// functions that are searched for crossings.
Outcome begin_after_change(TimeLoop &loop) {
  Run &run = loop.at.run;
  RunWorkspace &work = loop.work;
  if (!impose_drives(loop.at, run.t, work.q, work.v, work.x))
    return Outcome::callback_failed;
  std::vector<ClosedPoint> closed; // what holds them after the change is not known yet
  if (run.contact_events)
    closed.swap(run.contact_events->closed);
  Outcome outcome = project_onto_constraints(loop.at, run.t, work.q, work.v);
  if (run.contact_events)
    closed.swap(run.contact_events->closed);
  if (outcome == Outcome::reached)
    outcome = change_contact_modes(loop);
  if (outcome != Outcome::reached)
    return outcome;
  if (run.conditions.law_branches && !initialize_branches(loop.at))
    return Outcome::callback_failed;
  if (!rates(loop.at, run.t, work.q, work.v, work.x, work.a, work.dx))
    return Outcome::callback_failed;
  outcome = restart(loop);
  if (outcome != Outcome::reached)
    return outcome;
  return evaluate_crossing_functions(loop.at, run.t, work.q, work.v, work.x);
}

// At a state at which modes of friction and stops change, or at which sliding rows jam: the modes, the state and its
// rates after it.
Outcome change_friction_modes(TimeLoop &loop, bool jams = false) {
  Run &run = loop.at.run;
  RunWorkspace &work = loop.work;
  const ModelData &m = loop.at.m;
  FrictionRun &friction = *run.friction;
  const double *branches = std::exchange(run.conditions.law_branches, nullptr); // those that fit the state
  const ModeChange change =
      jams ? stop_jammed_rows(loop.at, friction) : change_modes(loop.at, friction, friction.passed);
  run.conditions.law_branches = branches;
  switch (change) {
  case ModeChange::undecided:
    return Outcome::undecided;
  case ModeChange::callback_failed:
    return Outcome::callback_failed;
  case ModeChange::made:
    break;
  }
  const Outcome outcome = begin_after_change(loop);
  std::vector<double> &after = friction.changes.back().after; // also where the motion cannot begin
  after.assign(work.q, work.q + m.nq);
  after.insert(after.end(), work.v, work.v + m.nv);
  after.insert(after.end(), work.x, work.x + m.nx);
  if (outcome != Outcome::reached)
    return outcome;
  for (const std::int32_t number : friction.passed) // its sign just after counts
    if (!watches_rest(friction, number))
      friction.values[std::size_t(number)] = 0.0;
  return Outcome::reached;
}

Outcome start(const ModelData &m, Run &run, std::byte *memory, double t, const double *q, const double *v,
              const double *x) {
  TimeLoop loop(m, run, memory);
  RunWorkspace &work = loop.work;
  if (run.contact_events && run.contact_events->rows.block_start.empty())
    find_blocks(m, run.contact_events->rows);
  for (int f = 0; f < m.nv; ++f)
    work.change[f] = 0.0;
  integrate<double>(m, q, work.change, work.q);
  copy(v, m.nv, work.v);
  copy(x, m.nx, work.x);
  run.t = run.begin = t;
  run.length = 0.0;
  run.interval = SmoothInterval::around(run.discontinuities, t);
  run.arrived = 0;
  run.step_to_switch = run.step_to_contact = 0.0;
  run.consecutive_switches = run.switches_without_step = 0;
  if (!run.friction || !run.friction->undetermined)
    return begin_after_change(loop);
  if (!impose_drives(loop.at, t, work.q, work.v, work.x))
    return Outcome::callback_failed;
  const Outcome outcome = project_onto_constraints(loop.at, t, work.q, work.v);
  if (outcome != Outcome::reached)
    return outcome;
  run.friction->undetermined = false;
  return change_friction_modes(loop);
}

void set_events(const ModelData &m, Run &run, std::byte *memory) {
  TimeLoop loop(m, run, memory);
  prepare_events(loop.at, *run.events);
}

// Parameters of elements have changed at the state of the run: modes of friction, branches and rates under them. The
// next step is as long as it would have been.
Outcome change_parameters(const ModelData &m, Run &run, std::byte *memory) {
  TimeLoop loop(m, run, memory);
  RunWorkspace &work = loop.work;
  run.interval = SmoothInterval::around(run.discontinuities, run.t);
  run.arrived = 0;
  run.step_to_switch = 0.0;
  run.initial_branches = nullptr;
  run.consecutive_switches = run.switches_without_step = 0;
  if (!impose_drives(loop.at, run.t, work.q, work.v, work.x))
    return Outcome::callback_failed;
  if (run.conditions.law_branches && !initialize_branches(loop.at))
    return Outcome::callback_failed;
  if (run.friction) {
    FrictionRun &friction = *run.friction;
    if (!switching_values(loop.at, friction, run.t, work.q, work.v, work.x, friction.values.data()))
      return Outcome::callback_failed;
    if (!modes_stay(friction, run.t)) {
      friction.passed.clear();
      return change_friction_modes(loop);
    }
  }
  if (!rates(loop.at, run.t, work.q, work.v, work.x, work.a, work.dx))
    return Outcome::callback_failed;
  return restart(loop);
}

void set_friction(const ModelData &m, Run &run, std::byte *memory) {
  TimeLoop loop(m, run, memory);
  prepare_friction(loop.at, *run.friction);
}

// reports the branches that are held from a time on
void report_branches(const TimeLoop &loop, const Recorder &recorder, double t) {
  if (loop.at.run.conditions.law_branches && recorder.switched)
    recorder.switched(recorder.self, t, loop.work.branches, loop.at.m.switching_count);
}

// at a discontinuity: the state and its rates after it
Outcome pass_discontinuity(TimeLoop &loop, const Recorder &recorder) {
  RunWorkspace &work = loop.work;
  Run &run = loop.at.run;
  run.interval = SmoothInterval::around(run.discontinuities, run.t);
  run.arrived = 0;
  if (!impose_drives(loop.at, run.t, work.q, work.v, work.x))
    return Outcome::callback_failed;
  Outcome outcome = project_onto_constraints(loop.at, run.t, work.q, work.v);
  if (outcome == Outcome::reached)
    outcome = change_contact_modes(loop);
  if (outcome != Outcome::reached)
    return outcome;
  if (!rates(loop.at, run.t, work.q, work.v, work.x, work.a, work.dx))
    return Outcome::callback_failed;
  if (run.conditions.law_branches && !update_branches(loop.at))
    return Outcome::callback_failed;
  outcome = restart(loop);
  if (outcome == Outcome::reached)
    report_branches(loop, recorder, run.t);
  return outcome;
}

// at a switching function: the branches and rates after it
Outcome pass_switch(TimeLoop &loop, const Recorder &recorder) {
  loop.at.run.step_to_switch = 0.0;
  if (!switch_branches(loop.at))
    return Outcome::callback_failed;
  Outcome outcome = Outcome::reached;
  if (Run &run = loop.at.run; run.contact_events) {
    const RunWorkspace &work = loop.work;
    outcome = change_contact_modes(loop);
    if (outcome == Outcome::reached && !rates(loop.at, run.t, work.q, work.v, work.x, work.a, work.dx))
      outcome = Outcome::callback_failed;
  }
  if (outcome == Outcome::reached)
    outcome = restart(loop);
  report_branches(loop, recorder, loop.at.run.t);
  return outcome;
}

// ---- one step of the loop: choose its length, take it, judge it, pass switching functions, record it

// A step that is being tried.
struct Attempt {
  double goal;             // time of the next discontinuity, or the end of the run
  double shortest;         // a step of this length is lost in the rounding of time
  double h;                // length
  double error = 0.0;      // in units of the tolerance
  bool last = false;       // ends at `goal`
  bool to_switch = false;  // ends at a switching function, which was located in a longer step
  bool to_contact = false; // ends where modes of contacts do, which was located in a longer step
  bool accepted = true;    // false: it has to be tried again, at another length
  bool switches = false;   // branches change at its end
  bool monitored = false;  // inputs of switching functions are known at its end
  bool branches = false;   // held branches are other ones at its end

  double end(double t) const { return last ? goal : std::min(goal, t + h); }
};

// The difference of the recorded times of a step, so that dense output repeats the same step; not above the chosen
// length, so that a step that is rejected becomes shorter.
double recorded_length(double t, double h, double end) {
  const double length = (end - t > h ? std::nextafter(end, t) : end) - t;
  return length > 0.0 ? length : h;
}

// Chooses the length of the next step.
Outcome choose_length(TimeLoop &loop, double until, Attempt &attempt) {
  Run &run = loop.at.run;
  attempt.goal = std::min(until, run.interval.end);
  attempt.shortest = 4e-16 * std::max(std::fabs(run.t), 1e-12 * std::fabs(until));
  const double left = attempt.goal - run.t, wanted = std::min(run.step, run.max_step);
  attempt.to_switch = run.step_to_switch > 0.0 && run.step_to_switch < left;
  attempt.to_contact = !attempt.to_switch && run.step_to_contact > 0.0 && run.step_to_contact <= left;
  attempt.last = !attempt.to_switch && !attempt.to_contact && wanted * 1.0000001 >= left;
  if (attempt.to_switch)
    attempt.h = run.step_to_switch;
  else if (attempt.to_contact)
    attempt.h = run.step_to_contact;
  else if (attempt.last)
    attempt.h = left;
  else // two equal steps rather than one and a splinter
    attempt.h = 2.0 * wanted > left && loop.adaptive ? 0.5 * left : wanted;
  if (!attempt.last)
    attempt.h = recorded_length(run.t, attempt.h, attempt.end(run.t));
  if (!attempt.last && !attempt.to_switch && !attempt.to_contact && !(attempt.h > attempt.shortest))
    return Outcome::underflow;
  if (!attempt.to_switch)
    run.step_to_switch = 0.0;
  return Outcome::reached;
}

// After a step that was rejected: chooses its next length. Returns the outcome of the step where a shorter one is of no
// use.
Outcome reduce_step(TimeLoop &loop, Outcome step, const Attempt &attempt, double until) {
  Run &run = loop.at.run;
  ++run.counts.rejected;
  run.worst = attempt.error;
  if (loop.work.near && loop.adaptive && run.near_singular_rejections < max_near_tries) {
    run.near_step = run.near_singular_rejections ? run.near_step : attempt.h;
    run.step = run.near_step * retry_lengths[run.near_singular_rejections++];
    return Outcome::reached;
  }
  run.near_singular_rejections += loop.work.near;
  run.rejected_last = 1;
  if (!loop.adaptive)
    return step;
  run.step = step != Outcome::reached ? 0.25 * attempt.h : attempt.h * reduced_step(attempt.error, loop.stepper.order);
  if (step != Outcome::reached && run.step < 1e-13 * std::max(std::fabs(until), std::fabs(run.t)))
    return step;
  return Outcome::reached;
}

// A step whose error estimate is of no use is tried again at half its length.
void halve_step(TimeLoop &loop, Attempt &attempt) {
  Run &run = loop.at.run;
  ++run.counts.rejected;
  run.rejected_last = 1;
  run.step = 0.5 * attempt.h;
  attempt.accepted = false;
}

// Takes the step and judges it by its error. Steps of a given length are taken whatever their error is.
Outcome take_and_judge(TimeLoop &loop, Attempt &attempt, double until) {
  Run &run = loop.at.run;
  clear_exits(loop.at);
  const Outcome step = take_step(loop, attempt.h, attempt.error);
  if (step == Outcome::callback_failed)
    return step;
  if (step != Outcome::reached || (loop.adaptive && attempt.error > 1.0)) {
    run.step_to_switch = run.step_to_contact = 0.0;
    attempt.accepted = false;
    return reduce_step(loop, step, attempt, until);
  }
  if (!attempt.to_switch)
    return Outcome::reached;
  if (attempt.h > 1e3 * attempt.shortest && strays(loop.at)) {
    run.step_to_switch = 0.0;
    halve_step(loop, attempt);
  } else if (improve_switch_time(loop.at, attempt.h)) {
    attempt.accepted = false;
  }
  return Outcome::reached;
}

// Branches that are held: where the step leaves one, it has to end there.
Outcome pass_held_branches(TimeLoop &loop, Attempt &attempt, const Recorder &recorder) {
  Run &run = loop.at.run;
  SwitchLocation location = SwitchLocation::none;
  const Outcome outcome = locate_switch(loop.stepper, loop.at, attempt.h, location);
  if (outcome != Outcome::reached)
    return outcome;
  switch (location) {
  case SwitchLocation::none:
    attempt.monitored = true;
    break;
  case SwitchLocation::slight:
    attempt.branches = true;
    break;
  case SwitchLocation::end:
    attempt.switches = true;
    break;
  case SwitchLocation::astray:
    if (attempt.h > 1e3 * attempt.shortest)
      halve_step(loop, attempt);
    break;
  case SwitchLocation::here:
    attempt.accepted = false;
    return ++run.switches_without_step > max_switches_without_step ? Outcome::underflow : pass_switch(loop, recorder);
  case SwitchLocation::again:
    report_branches(loop, recorder, run.t);
    attempt.accepted = false;
    break;
  case SwitchLocation::inside:
  case SwitchLocation::unseen:
    attempt.accepted = false; // a shorter step ends there
    break;
  }
  return Outcome::reached;
}

// No branch is held: the step must not pass over a change of sign and back. Steps of a given length do, and count it.
Outcome monitor_branches(TimeLoop &loop, Attempt &attempt) {
  Run &run = loop.at.run;
  Departure found;
  const Outcome outcome = find_passage(loop.stepper, loop.at, attempt.h, found);
  attempt.monitored = true;
  if (outcome != Outcome::reached || found.kind == Departure::Kind::none)
    return outcome;
  if (loop.adaptive && run.lead_in_steps < max_led_in) {
    ++run.lead_in_steps;
    ++run.counts.rejected;
    run.step = found.high * attempt.h;
    attempt.accepted = false;
  } else if (!loop.adaptive && !ends_beyond(loop.at, found.function) && !run.counts.missed++) {
    run.missed_time = run.t + found.high * attempt.h, run.missed_function = found.function;
  }
  return Outcome::reached;
}

Outcome pass_switching_functions(TimeLoop &loop, Attempt &attempt, const Recorder &recorder) {
  attempt.switches = attempt.to_switch;
  if (!loop.at.m.switching_count)
    return Outcome::reached;
  if (!loop.at.run.conditions.law_branches)
    return monitor_branches(loop, attempt);
  return attempt.to_switch ? Outcome::reached : pass_held_branches(loop, attempt, recorder);
}

// The length of the next step, after one that was accepted.
void lengthen(TimeLoop &loop, const Attempt &attempt) {
  Run &run = loop.at.run;
  const bool was_noisy = run.near_singular_rejections > max_near_tries;
  run.counts.noisy += was_noisy;
  run.near_singular_rejections = 0;
  if (!loop.adaptive)
    return;
  run.step = loop.stepper.accept(loop.at, attempt.h, attempt.error);
  run.rejected_last = 0;
  if (was_noisy) // shorter steps would not be better ones
    run.step = std::max(run.step, run.near_step);
}

// Moves the run to the end of an accepted step: samples, the record of the step, branches after it.
Outcome record_step(TimeLoop &loop, const Attempt &attempt, Samples &samples, const Recorder &recorder) {
  Run &run = loop.at.run;
  RunWorkspace &work = loop.work;
  const Stepper &stepper = loop.stepper;
  const double t1 = attempt.end(run.t);
  run.switches_without_step = run.lead_in_steps = 0;
  run.consecutive_switches = attempt.switches ? run.consecutive_switches + 1 : 0;
  run.arrived = t1 == run.interval.end;
  lengthen(loop, attempt);
  const bool stiff = run.detect_stiffness && stepper.tableau && detects_stiffness(loop.at, *stepper.tableau, attempt.h);
  Outcome outcome = samples.times ? sample(loop, attempt.h, t1, samples, recorder) : Outcome::reached;
  if (outcome != Outcome::reached)
    return outcome;
  advance_state(loop, attempt.h, t1);
  if (attempt.branches)
    report_branches(loop, recorder, t1);
  if (attempt.monitored)
    move_monitor(loop.at);
  else
    reset_monitor(loop.at);
  if (samples.times && recorder.stepped)
    recorder.stepped(recorder.self, run.t);
  if (!samples.times && !recorder.record(recorder.self, run.t, work.q, work.v, work.x, work.a))
    return Outcome::stopped;
  if (attempt.switches)
    outcome = pass_switch(loop, recorder);
  return outcome == Outcome::reached && stiff ? Outcome::stiff : outcome;
}

// Records a state on a side of a change of modes: as a step, or as the samples at its time that are left.
bool record_at_change(const TimeLoop &loop, bool after, Samples &samples, const Recorder &recorder) {
  const RunWorkspace &work = loop.work;
  const double t = loop.at.run.t;
  if (!samples.times)
    return recorder.record(recorder.self, t, work.q, work.v, work.x, work.a);
  if (!after && recorder.stepped)
    recorder.stepped(recorder.self, t);
  for (; after && samples.next < samples.count && samples.times[samples.next] <= t; ++samples.next)
    if (!recorder.record(recorder.self, t, work.q, work.v, work.x, nullptr))
      return false;
  return true;
}

// Adds events of the step just made that do not change the run to their log.
Outcome log_recorded_events(TimeLoop &loop, const Attempt &attempt) {
  const ModelData &m = loop.at.m;
  RunWorkspace &work = loop.work;
  EventRun &events = *loop.at.run.events;
  for (const RecordedCrossing &each : events.recorded) {
    const bool inside = each.fraction < 1.0;
    if (inside)
      if (const Outcome outcome = interpolate(loop.stepper, loop.at, attempt.h, each.fraction);
          outcome != Outcome::reached)
        return outcome;
    const double t = loop.at.run.t;
    events.log.add(m.nq, m.nv, m.nx, each.function, inside ? t + each.fraction * attempt.h : attempt.end(t),
                   inside ? work.qs : work.q1, inside ? work.vs : work.v1, inside ? work.xs : work.x1);
  }
  return Outcome::reached;
}

// Applies the actions of events at the state of the run: the state before and after it.
Outcome pass_events(TimeLoop &loop, bool fresh, Samples &samples, const Recorder &recorder) {
  Run &run = loop.at.run;
  const RunWorkspace &work = loop.work;
  EventRun &events = *run.events;
  if (run.friction) { // its modes after an action are determined outside
    events.ended = ends_without_actions(loop.at, events);
    return events.ended && !record_at_change(loop, true, samples, recorder) ? Outcome::stopped : Outcome::event;
  }
  const double *branches = std::exchange(run.conditions.law_branches, nullptr); // those that fit the state
  const std::size_t logged = events.log.acted.size();
  const ActionOutcome made = apply_actions(loop.at, events);
  run.conditions.law_branches = branches;
  if (made != ActionOutcome::made)
    return made == ActionOutcome::outside ? Outcome::event : Outcome::callback_failed;
  const double *before = events.before.data(), *v = before + loop.at.m.nq;
  if (fresh && samples.times && recorder.stepped)
    recorder.stepped(recorder.self, run.t);
  if (fresh && !samples.times && !recorder.record(recorder.self, run.t, before, v, v + loop.at.m.nv, work.a))
    return Outcome::stopped;
  const Outcome outcome = begin_after_change(loop);
  if (outcome != Outcome::reached)
    return outcome;
  run.started = 0; // a short step shows whether the event comes again soon
  run.stiffness = {};
  run.rejected_last = 0;
  for (const std::vector<std::int32_t> *numbers : {&events.passed, &events.also})
    for (const std::int32_t number : *numbers) // its sign just after counts
      events.values[std::size_t(number)] = 0.0;
  report_branches(loop, recorder, run.t);
  const bool acted = std::any_of(events.log.acted.begin() + std::ptrdiff_t(logged), events.log.acted.end(),
                                 [](unsigned char each) { return each != 0; });
  if ((acted || !fresh || samples.times) && !record_at_change(loop, true, samples, recorder))
    return Outcome::stopped;
  events.ended = std::any_of(events.passed.begin(), events.passed.end(),
                             [&](std::int32_t number) { return events.functions[std::size_t(number)].ends; });
  if (events.ended)
    return Outcome::event;
  events.came_again = comes_again_soon(loop.at, events);
  return events.came_again ? Outcome::paused : Outcome::reached;
}

// Ends the step where an event occurs, or modes of friction and stops change: the state before, the state and the modes
// after it.
Outcome pass_crossing(TimeLoop &loop, const Attempt &attempt, const Crossing &crossing, Samples &samples,
                      const Recorder &recorder) {
  Run &run = loop.at.run;
  RunWorkspace &work = loop.work;
  const bool inside = crossing.fraction < 1.0;
  if (inside)
    if (const Outcome outcome = interpolate(loop.stepper, loop.at, attempt.h, crossing.fraction);
        outcome != Outcome::reached)
      return outcome;
  const double t1 = inside ? run.t + crossing.fraction * attempt.h : attempt.end(run.t);
  run.switches_without_step = run.consecutive_switches = run.lead_in_steps = 0;
  run.step_to_switch = 0.0;
  run.initial_branches = nullptr;
  lengthen(loop, attempt);
  const ModelData &m = loop.at.m;
  std::vector<double> &end = run.friction ? run.friction->change.state : run.events->before;
  end.assign(inside ? work.qs : work.q1, (inside ? work.qs : work.q1) + m.nq);
  end.insert(end.end(), inside ? work.vs : work.v1, (inside ? work.vs : work.v1) + m.nv);
  end.insert(end.end(), inside ? work.xs : work.x1, (inside ? work.xs : work.x1) + m.nx);
  Outcome outcome = samples.times ? sample_before_change(loop, t1, end, samples, recorder) : Outcome::reached;
  if (outcome != Outcome::reached)
    return outcome;
  copy(end.data(), m.nq, work.q);
  copy(end.data() + m.nq, m.nv, work.v);
  copy(end.data() + m.nq + m.nv, m.nx, work.x);
  const bool fresh = t1 > run.t;
  run.begin = run.t;
  run.length = t1 - run.t;
  run.t = t1;
  run.interval = SmoothInterval::around(run.discontinuities, t1);
  run.arrived = 0;
  run.counts.steps += fresh;
  if (run.events && !run.events->passed.empty())
    return pass_events(loop, fresh, samples, recorder);
  if (fresh && !record_at_change(loop, false, samples, recorder))
    return Outcome::stopped;
  FrictionRun &friction = *run.friction;
  outcome = change_friction_modes(loop);
  if (outcome != Outcome::reached)
    return outcome;
  if (run.events)
    for (const std::int32_t number : run.events->also)
      run.events->values[std::size_t(number)] = 0.0;
  report_branches(loop, recorder, t1);
  if (!record_at_change(loop, true, samples, recorder))
    return Outcome::stopped;
  return friction.pauses ? Outcome::paused : Outcome::reached;
}

// By contacts in steps: the step is taken again, so that it ends at the event found in it.
Outcome shorten_to_event(TimeLoop &loop, Attempt &attempt, Crossing &crossing) {
  if (!(crossing.fraction < 1.0))
    return Outcome::reached;
  const double whole = attempt.h;
  Outcome outcome = end_step_at_event(loop.stepper, loop.at, attempt.h, crossing);
  if (outcome != Outcome::reached || !crossing.found)
    return outcome;
  attempt.last = false;
  for (RecordedCrossing &each : loop.at.run.events->recorded)
    each.fraction = std::min(1.0, each.fraction * whole / attempt.h);
  return loop.stepper.prepare(loop.at, attempt.h);
}

// Where a mode of a contact ends in the step just made, it has to end there.
Outcome watch_contacts(TimeLoop &loop, Attempt &attempt) {
  Run &run = loop.at.run;
  if (attempt.to_contact)
    return Outcome::reached;
  ContactEnd end;
  const Outcome outcome = find_contact_end(loop.stepper, loop.at, attempt.h, end);
  if (outcome == Outcome::reached && end.coarse && loop.adaptive && attempt.h > 1e3 * attempt.shortest) {
    halve_step(loop, attempt);
    return outcome;
  }
  if (outcome != Outcome::reached || !end.found)
    return outcome;
  run.step_to_contact = std::max(end.fraction * attempt.h, attempt.shortest);
  attempt.accepted = false;
  return Outcome::reached;
}

// After a step at whose end modes of contacts change: the state and its rates after it.
Outcome pass_contact_change(TimeLoop &loop, Samples &samples, const Recorder &recorder) {
  Run &run = loop.at.run;
  ContactEvents &contacts = *run.contact_events;
  const std::int64_t before = contacts.change_count;
  const double step = run.step;
  Outcome outcome = begin_after_change(loop);
  if (outcome != Outcome::reached)
    return outcome;
  run.stiffness = {};
  run.rejected_last = 0;
  if (loop.adaptive)
    run.step = std::min(step, longest_contact_step(loop.at, contacts));
  report_branches(loop, recorder, run.t);
  return contacts.change_count == before || record_at_change(loop, true, samples, recorder) ? Outcome::reached
                                                                                            : Outcome::stopped;
}

// One round of the loop: a step that is accepted and recorded (`taken` grows), or one that has to be tried again.
Outcome try_step(TimeLoop &loop, double until, std::int64_t &taken, Samples &samples, const Recorder &recorder) {
  if (recorder.stop())
    return Outcome::stopped;
  Run &run = loop.at.run;
  if (!run.started) {
    run.step = loop.adaptive ? first_step(loop, std::min(until, run.interval.end)) : run.fixed_step;
    run.old_error = 1e-4;
    run.started = 1;
  }
  Outcome outcome = run.arrived ? pass_discontinuity(loop, recorder) : Outcome::reached;
  Attempt attempt;
  if (outcome == Outcome::reached)
    outcome = choose_length(loop, until, attempt);
  if (outcome == Outcome::reached)
    outcome = take_and_judge(loop, attempt, until);
  if (outcome == Outcome::reached && attempt.accepted)
    outcome = pass_switching_functions(loop, attempt, recorder);
  if (outcome == Outcome::reached && attempt.accepted && run.contact_events)
    outcome = watch_contacts(loop, attempt);
  if (outcome != Outcome::reached || !attempt.accepted)
    return outcome;
  run.step_to_contact = 0.0;
  if (run.friction || run.events) {
    Crossing crossing;
    outcome = find_crossing(loop.stepper, loop.at, attempt.h, crossing);
    if (outcome == Outcome::not_finite) // efforts of stuck rows
      return reduce_step(loop, outcome, attempt, until);
    if (outcome == Outcome::reached && crossing.found && run.contacts)
      outcome = shorten_to_event(loop, attempt, crossing);
    if (outcome == Outcome::reached && run.events)
      outcome = run.events->noisy >= 0 ? Outcome::event : log_recorded_events(loop, attempt);
    if (outcome != Outcome::reached)
      return outcome;
    if (crossing.found) {
      ++taken;
      return pass_crossing(loop, attempt, crossing, samples, recorder);
    }
  }
  ++taken;
  outcome = record_step(loop, attempt, samples, recorder);
  if (!run.contact_events || outcome != Outcome::reached)
    return outcome;
  if (attempt.to_contact || set_slip_directions(loop.at, *run.contact_events, loop.work.q, loop.work.v))
    return pass_contact_change(loop, samples, recorder);
  return Outcome::reached;
}

// After a step that failed: rows that jam are stopped. Returns the failure if none does.
Outcome pass_jam(TimeLoop &loop, Outcome failure, double until, Samples &samples, const Recorder &recorder) {
  Run &run = loop.at.run;
  const bool may_jam = failure == Outcome::underflow || failure == Outcome::not_finite ||
                       failure == Outcome::newton_failed || failure == Outcome::loops_open;
  if (!may_jam || !run.friction)
    return failure;
  const Outcome outcome = change_friction_modes(loop, true);
  if (outcome == Outcome::undecided)
    return failure;
  if (outcome != Outcome::reached)
    return outcome;
  run.step_to_switch = 0.0;
  run.initial_branches = nullptr;
  run.near_singular_rejections = run.rejected_last = 0;
  run.step = loop.adaptive ? first_step(loop, std::min(until, run.interval.end)) : run.fixed_step;
  run.old_error = 1e-4;
  report_branches(loop, recorder, run.t);
  if (!record_at_change(loop, true, samples, recorder))
    return Outcome::stopped;
  return run.friction->pauses ? Outcome::paused : Outcome::reached;
}

Outcome advance(const ModelData &m, Run &run, std::byte *memory, double until, std::int64_t max_steps, Samples &samples,
                const Recorder &recorder) {
  TimeLoop loop(m, run, memory);
  // steps of a given length are taken as they are
  run.error_control_off = loop.stepper.tableau && loop.stepper.adaptive && !loop.adaptive;
  Outcome outcome = Outcome::reached;
  std::int64_t taken = 0;
  while (outcome == Outcome::reached && taken < max_steps && until > run.t) {
    outcome = try_step(loop, until, taken, samples, recorder);
    if (outcome != Outcome::reached)
      outcome = pass_jam(loop, outcome, until, samples, recorder);
  }
  if (outcome == Outcome::reached && taken >= max_steps)
    outcome = Outcome::paused;
  run.error_control_off = false;
  settle(m, memory, loop.work);
  return outcome;
}

void state(const ModelData &m, const Run &run, std::byte *memory, const double **parts) {
  RunWorkspace work;
  lay_out(m, memory, work);
  parts[0] = work.q, parts[1] = work.v, parts[2] = work.x, parts[3] = work.a, parts[4] = work.dx;
  parts[5] = run.conditions.law_branches ? work.branches : nullptr;
}

Outcome dense(const ModelData &m, Run &run, std::byte *memory, double h, const double *q1, const double *v1,
              const double *x1, const double *fractions, std::ptrdiff_t count, const Recorder &recorder) {
  TimeLoop loop(m, run, memory);
  RunWorkspace &work = loop.work;
  Outcome outcome = prepare_dense(loop, h, q1, v1, x1);
  for (std::ptrdiff_t k = 0; k < count && outcome == Outcome::reached; ++k) {
    outcome = interpolate(loop.stepper, loop.at, h, fractions[k]);
    if (outcome == Outcome::reached)
      recorder.record(recorder.self, run.t + fractions[k] * h, work.qs, work.vs, work.xs, nullptr);
  }
  return outcome;
}

bool contact_forces(const ModelData &m, Run &run, std::byte *memory, double t, const double *q, const double *v,
                    const double *x) {
  TimeLoop loop(m, run, memory);
  ContactEvents &contacts = *run.contact_events;
  if (contacts.rows.block_start.empty())
    find_blocks(m, contacts.rows);
  if (contacts.repeats)
    contacts.set_known_modes(t), set_slip_directions(loop.at, contacts, q, v);
  contacts.a.resize(std::size_t(m.nv)), contacts.dx.resize(std::size_t(m.nx));
  const double *branches = std::exchange(run.conditions.law_branches, nullptr); // those that fit the state
  const bool done = rates(loop.at, t, q, v, x, contacts.a.data(), contacts.dx.data());
  if (done)
    put_forces_into_cones(loop.at, contacts);
  run.conditions.law_branches = branches;
  return done;
}

} // namespace

extern const IntegratorSet integrators;
const IntegratorSet integrators{name,
                                bytes,
                                start,
                                set_events,
                                set_friction,
                                change_parameters,
                                advance,
                                state,
                                dense,
                                contact_forces,
                                W,
                                supports_simd_batch,
                                simd_batch_bytes,
                                run_simd_batch,
                                supports_fixed_steps,
                                fixed_step_bytes,
                                run_fixed_steps};

} // namespace dalembert::DALEMBERT_ISA
