#include "steppers/time_loop/changes.hpp"

#include "contact/contact_watch.hpp"
#include "events/event_actions.hpp"
#include "events/event_values.hpp"
#include "friction/mode_change.hpp"
#include "friction/switching_values.hpp"
#include "steppers/switching/monitor.hpp"
#include "steppers/switching/step_to_event.hpp"
#include "steppers/switching/switch_location.hpp"
#include "steppers/time_loop/pair_list.hpp"
#include "steppers/time_loop/samples.hpp"
#include "steppers/time_loop/step_attempt.hpp"
#include <algorithm>
#include <utility>

namespace dalembert::DALEMBERT_ISA {

Outcome restart(TimeLoop &loop) {
  loop.stepper.begin(loop.at);
  reset_monitor(loop.at);
  return all_finite(loop.work.a, loop.at.m.nv) && all_finite(loop.work.dx, loop.at.m.nx) ? Outcome::reached
                                                                                         : Outcome::not_finite;
}

namespace {

// Modes of contacts by events at the state of the run, and its velocities after impacts.
Outcome change_contact_modes(TimeLoop &loop) {
  Run &run = loop.at.run;
  run.step_to_contact = 0.0;
  if (!run.contact_events)
    return Outcome::reached;
  if (run.contact_events->repeats) {
    run.contact_events->set_known_modes(run.t);
    if (run.contact_events->starts_closed)
      project_onto_contacts(loop.at, *run.contact_events, run.t, loop.work.q, loop.work.v);
    set_slip_directions(loop.at, *run.contact_events, loop.work.q, loop.work.v);
    return Outcome::reached;
  }
  const double *branches = std::exchange(run.conditions.law_branches, nullptr); // those that fit the state
  const Outcome outcome = change_contacts(loop.at, *run.contact_events);
  run.conditions.law_branches = branches;
  return outcome;
}

} // namespace

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

namespace {

// Changes modes once: the modes, the state and its rates after it, and the values of all functions.
Outcome change_friction_modes_once(TimeLoop &loop, bool jams) {
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
  return outcome;
}

} // namespace

Outcome change_friction_modes(TimeLoop &loop, bool jams) {
  constexpr double clearly = -1e-3; // of the limits: rows that stuck rows are beyond, not by rounding
  constexpr int max_changes = 3;    // what these leave is for the steps
  FrictionRun &friction = *loop.at.run.friction;
  Outcome outcome = change_friction_modes_once(loop, jams);
  // rows that are stopped change the slip directions of groups, and so efforts
  for (int count = 1; count < max_changes && outcome == Outcome::reached &&
                      friction.values[std::size_t(friction.margin_function())] < clearly;
       ++count) {
    friction.passed.assign(1, friction.margin_function());
    outcome = change_friction_modes_once(loop, false);
  }
  if (outcome != Outcome::reached)
    return outcome;
  for (const std::int32_t number : friction.passed) // its sign just after counts
    if (!watches_rest(friction, number))
      friction.values[std::size_t(number)] = 0.0;
  for (std::size_t number = 0; number < friction.switches.size(); ++number) // likewise of a stop that is just left
    if (friction.switches[number].kind != SwitchKind::rest)
      friction.values[number] = std::max(friction.values[number], 0.0);
  return Outcome::reached;
}

void report_branches(const TimeLoop &loop, const Recorder &recorder, double t) {
  if (loop.at.run.conditions.law_branches && recorder.switched)
    recorder.switched(recorder.self, t, loop.work.branches, loop.at.m.switching_count);
}

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
    outcome = list_touching(loop);
  if (outcome == Outcome::reached)
    report_branches(loop, recorder, run.t);
  return outcome;
}

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

namespace {

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

} // namespace

Outcome pass_switching_functions(TimeLoop &loop, Attempt &attempt, const Recorder &recorder) {
  attempt.switches = attempt.to_switch;
  if (!loop.at.m.switching_count)
    return Outcome::reached;
  if (!loop.at.run.conditions.law_branches)
    return monitor_branches(loop, attempt);
  return attempt.to_switch ? Outcome::reached : pass_held_branches(loop, attempt, recorder);
}

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

namespace {

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

} // namespace

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

} // namespace dalembert::DALEMBERT_ISA
