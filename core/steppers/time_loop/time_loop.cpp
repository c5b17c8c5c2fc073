// The time loop, behind the border of steppers/run.hpp: steps taken, judged, sampled and recorded, whatever the
// stepper.
#include "steppers/time_loop/time_loop.hpp"

#include "contact/contact_watch.hpp"
#include "events/event_values.hpp"
#include "friction/mode_change.hpp"
#include "friction/switching_values.hpp"
#include "steppers/methods/explicit_runge_kutta.hpp"
#include "steppers/simd_batch.hpp"
#include "steppers/simd_contact_steps.hpp"
#include "steppers/simd_fixed_steps.hpp"
#include "steppers/switching/crossing_search.hpp"
#include "steppers/switching/monitor.hpp"
#include "steppers/switching/switch_location.hpp"
#include "steppers/time_loop/changes.hpp"
#include "steppers/time_loop/pair_list.hpp"
#include "steppers/time_loop/samples.hpp"
#include "steppers/time_loop/step_attempt.hpp"
#include <algorithm>
#include <utility>

namespace dalembert::DALEMBERT_ISA {
namespace {

const char *name(int method) { return method >= 0 && method < stepper_count ? steppers[method]->name : nullptr; }

std::size_t bytes(const ModelData &m, int method) {
  RunWorkspace work;
  return ListedPairs::bytes(m) + lay_out(m, nullptr, work) + steppers[method]->bytes(m);
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

Outcome start(const ModelData &m, Run &run, std::byte *memory, double t, const double *q, const double *v,
              const double *x) {
  ListedPairs(m, memory).begin(run, steppers[run.method]->implicit, x);
  TimeLoop loop(m, run, memory);
  RunWorkspace &work = loop.work;
  normalize_attitudes(m, q, work.q);
  copy(v, m.nv, work.v);
  loop.pairs.compress(x, work.x);
  run.t = run.begin = t;
  run.length = 0.0;
  run.interval = SmoothInterval::around(run.discontinuities, t);
  run.arrived = 0;
  run.step_to_switch = run.step_to_contact = 0.0;
  run.consecutive_switches = run.switches_without_step = 0;
  if (!run.friction || !run.friction->undetermined) {
    if (!loop.pairs.all_touching_listed(work.motion.system.loops.ws, work.q, work.v)) {
      loop.pairs.update(); // nothing but the state is known yet
      loop.place_in_memory();
      normalize_attitudes(m, q, work.q);
      copy(v, m.nv, work.v);
      loop.pairs.compress(x, work.x);
    }
    const Outcome outcome = begin_after_change(loop);
    return outcome == Outcome::reached ? list_touching(loop) : outcome; // drives may have moved bodies
  }
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
  if (outcome == Outcome::reached)
    outcome = drop_far_pairs(loop);
  return outcome == Outcome::reached && stiff ? Outcome::stiff : outcome;
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
    outcome = prove_pairs_open(loop, attempt);
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

// A recorder of all element states and switching functions of a run that evaluates a part of them.
struct WholeRecorder {
  const Recorder &to;
  const TimeLoop &loop;

  Recorder recorder() {
    Recorder mine = to;
    if (!loop.pairs.acts())
      return mine;
    mine.self = this;
    mine.record = [](void *self, double t, const double *q, const double *v, const double *x, const double *a) {
      const WholeRecorder &me = *static_cast<WholeRecorder *>(self);
      return me.to.record(me.to.self, t, q, v, me.loop.pairs.expand(x, ListedPairs::Use::record), a);
    };
    if (to.switched)
      mine.switched = [](void *self, double t, const double *sides, int) {
        const WholeRecorder &me = *static_cast<WholeRecorder *>(self);
        me.to.switched(me.to.self, t, me.loop.pairs.expand_sides(sides), me.loop.pairs.function_count());
      };
    if (to.stepped)
      mine.stepped = [](void *self, double t) {
        const WholeRecorder &me = *static_cast<WholeRecorder *>(self);
        me.to.stepped(me.to.self, t);
      };
    return mine;
  }
};

Outcome advance(const ModelData &m, Run &run, std::byte *memory, double until, std::int64_t max_steps, Samples &samples,
                const Recorder &given) {
  TimeLoop loop(m, run, memory);
  WholeRecorder whole{given, loop};
  const Recorder recorder = whole.recorder();
  // steps of a given length are taken as they are
  run.error_control_off = loop.stepper.tableau && loop.stepper.adaptive && !loop.adaptive;
  const std::int32_t released = run.released_function;
  const std::int64_t missed = run.counts.missed;
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
  if (run.released_function != released)
    run.released_function = loop.pairs.function_of_all(run.released_function);
  if (run.counts.missed && !missed)
    run.missed_function = loop.pairs.function_of_all(run.missed_function + 1) - 1;
  settle(loop.at.m, loop.memory, loop.work);
  return outcome;
}

void state(const ModelData &m, const Run &run, std::byte *memory, const double **parts) {
  const ListedPairs pairs(m, memory);
  RunWorkspace work;
  lay_out(pairs.model(), memory + ListedPairs::bytes(m), work);
  parts[0] = work.q, parts[1] = work.v, parts[2] = pairs.expand(work.x, ListedPairs::Use::state);
  parts[3] = work.a, parts[4] = pairs.expand(work.dx, ListedPairs::Use::rates);
  parts[5] = m.switching_count && run.conditions.law_branches ? pairs.expand_sides(work.branches) : nullptr;
}

Outcome dense(const ModelData &m, Run &run, std::byte *memory, double h, const double *q1, const double *v1,
              const double *x1, const double *fractions, std::ptrdiff_t count, const Recorder &recorder) {
  TimeLoop loop(m, run, memory);
  RunWorkspace &work = loop.work;
  Outcome outcome = list_all_pairs(loop);
  if (outcome == Outcome::reached)
    outcome = prepare_dense(loop, h, q1, v1, x1);
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
  if (contacts.repeats)
    contacts.set_known_modes(t), set_slip_directions(loop.at, contacts, q, v);
  contacts.a.resize(std::size_t(m.nv)), contacts.dx.resize(std::size_t(m.nx));
  const double *branches = std::exchange(run.conditions.law_branches, nullptr); // those that fit the state
  const bool done = rates(loop.at, t, q, v, x, contacts.a.data(), contacts.dx.data());
  if (done)
    put_forces_into_cones(loop.at, contacts), set_joint_efforts(loop.at, contacts);
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
                                run_fixed_steps,
                                supports_contact_lanes,
                                contact_lanes_bytes,
                                run_contact_lanes};

} // namespace dalembert::DALEMBERT_ISA
