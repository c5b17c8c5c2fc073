#include "bind/integrator.hpp"
#include "bind/batch.hpp"
#include "bind/contact.hpp"
#include "bind/contact_events.hpp"
#include "bind/events.hpp"
#include "bind/friction.hpp"
#include "bind/kernel_methods.hpp"
#include "bind/records.hpp"
#include "bind/state_reader.hpp"
#include "runs/gradients.hpp"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

constexpr std::size_t live_rows = 2048;      // of a live run that are recorded before they are taken
constexpr std::int64_t max_live_steps = 512; // in one call of such a run

class Integrator {
public:
  Integrator(nb::object owner, nb::object conditions, int method, double rtol, const Doubles &atol, double max_step,
             double fixed_step, double spectral_radius, bool project, bool detect_stiffness)
      : owner(owner), chosen(conditions), model(checked(owner, conditions, method)),
        scope(model->data, *nb::inst_ptr<BoundConditions>(conditions.ptr()), true),
        memory(model->integrators->bytes(model->data, method)),
        records{std::size_t(model->data.nq), std::size_t(model->data.nv), std::size_t(model->data.nx)} {
    std::memset(memory.data, 0, memory.size);
    run = Run{};
    run.method = method;
    run.rtol = rtol;
    if (atol.size() != std::size_t(2 * model->data.nv + model->data.nx))
      throw nb::value_error("the tolerances do not fit the model");
    tolerances.assign(atol.data(), atol.data() + atol.size());
    run.atol = tolerances.data();
    run.max_step = max_step;
    run.fixed_step = fixed_step;
    run.spectral_radius = spectral_radius;
    run.project = project;
    run.detect_stiffness = detect_stiffness;
    run.conditions = scope.conditions;
    run.fixed_branches = scope.conditions.law_branches;
  }
  Integrator(const Integrator &) = delete;

  int start(double t, const Doubles &q, const Doubles &v, const Doubles &x) {
    check(q, v, x, 1);
    restart();
    run.initial_branches = sides_at(t);
    const int outcome = guarded(
        [&] { return model->integrators->start(model->data, run, memory.data, t, q.data(), v.data(), x.data()); });
    const double *parts[6];
    model->integrators->state(model->data, run, memory.data, parts);
    if (parts[5])
      Records::switched(&records, t, parts[5], model->data.switching_count);
    return outcome;
  }

  int advance(double until, std::int64_t max_steps, std::optional<Doubles> times, const Flag *flag) {
    Samples samples{nullptr, 0, 0};
    if (times)
      samples = {times->data(), std::ptrdiff_t(times->size()), 0};
    SignalCheck signals(flag);
    Recorder recorder{&Records::record, &records, signals.stop(), &Records::switched, &Records::stepped};
    const CallbackFlag callback_flag(scope, flag);
    const int outcome = guarded([&] {
      const Outcome found =
          model->integrators->advance(model->data, run, memory.data, until, max_steps, samples, recorder);
      return found == Outcome::callback_failed && signals.stop_requested() ? Outcome::stopped : found;
    });
    if (signals.raise())
      throw nb::python_error();
    return outcome;
  }

  // As `advance`, for a caller that advances by short times: Ctrl-C raises, and with keep = false no step is recorded,
  // nor more than the last change of friction.
  int advance_live(double until, std::int64_t max_steps, bool keep) {
    int outcome = apply_parameters(keep);
    if (outcome != int(Outcome::reached))
      return outcome;
    if (keep && records.t.capacity() < live_rows)
      records.reserve(live_rows);
    Samples samples{nullptr, 0, 0};
    SignalCheck signals;
    Recorder recorder{keep ? &Records::record : &Records::drop, &records, signals.stop(),
                      keep ? &Records::switched : nullptr};
    outcome = guarded([&] {
      return model->integrators->advance(model->data, run, memory.data, until, max_steps, samples, recorder);
    });
    if (!keep && friction && friction->changes.size() > 1)
      friction->changes.erase(friction->changes.begin(), friction->changes.end() - 1);
    if (signals.raise())
      throw nb::python_error();
    return outcome;
  }
  bool has_full_records() const { return records.t.size() + max_live_steps > live_rows; }

  // Sets parameters of elements from the present state on; the next `advance_live` begins under them. Returns -1, or
  // the index of the first value that is not finite or below its bound: then none is set.
  std::int64_t set_parameters(const Places &places, const Doubles &bounds, const Doubles &values) {
    const std::size_t n = places.size();
    if (values.size() != n || bounds.size() != n)
      throw nb::value_error("the values do not fit the parameters");
    for (std::size_t k = 0; k < n; ++k) {
      if (places.data()[k] < 0 || places.data()[k] >= model->data.parameter_count)
        throw nb::value_error("there is no such parameter");
      if (!std::isfinite(values.data()[k]) || values.data()[k] < bounds.data()[k])
        return std::int64_t(k);
    }
    for (std::size_t k = 0; k < n; ++k)
      set_parameter(places.data()[k], values.data()[k]);
    return -1;
  }

  void set_parameter(std::int64_t place, double value) {
    if (place < 0 || place >= model->data.parameter_count)
      throw nb::value_error("there is no such parameter");
    double *now = own_parameters() + place;
    if (*now == value)
      return;
    *now = value;
    const auto same = [&](const ParameterLog::Value &each) { return each.place == place; };
    const auto known = std::find_if(set_values.begin(), set_values.end(), same);
    if (known != set_values.end())
      known->value = value;
    else
      set_values.push_back({std::int32_t(place), value});
  }
  // (place, value) of parameters that were set and under which nothing has been evaluated yet, a row each
  nb::object new_parameters() const {
    std::vector<double> rows;
    for (const ParameterLog::Value &each : set_values)
      rows.insert(rows.end(), {double(each.place), each.value});
    return doubles(rows.data(), {npy_intp(set_values.size()), 2});
  }
  bool has_new_parameters() const { return !set_values.empty(); }
  nb::object parameters() const { return doubles(run.conditions.parameters, {npy_intp(model->data.parameter_count)}); }
  nb::tuple take_parameter_changes() { return log.take(); }

  // numbers of the present state
  void read(StateReader &reader, const nb::ndarray<double, nb::c_contig, nb::device::cpu> &out) {
    if (out.size() != reader.count())
      throw nb::value_error("the array does not fit the columns");
    const double *parts[6];
    model->integrators->state(model->data, run, memory.data, parts);
    const bool done = reader.read(*model, run.conditions, {run.t, parts[0], parts[1], parts[2]}, out.data());
    if (scope.raise())
      throw nb::python_error();
    if (!done)
      throw std::runtime_error("a callback has failed");
  }
  bool calls_python() const { return scope.calls_python(); }

  nb::tuple take() { return records.take(); }

  nb::object take_steps() {
    nb::object times = doubles(records.steps.data(), {npy_intp(records.steps.size())});
    records.steps.clear();
    return times;
  }

  // times (n,) and from each on the sides of switching functions, (n, switching_count): those at starts too
  nb::tuple take_branches() {
    const npy_intp n = npy_intp(records.switch_times.size());
    nb::tuple result = nb::make_tuple(doubles(records.switch_times.data(), {n}),
                                      doubles(records.switch_sides.data(), {n, model->data.switching_count}));
    records.switch_times.clear();
    records.switch_sides.clear();
    return result;
  }

  // the sides that switching functions have in steps that are taken again, from times on
  void set_branches(const Doubles &times, const Doubles &sides) {
    if (!std::is_sorted(times.data(), times.data() + times.size()) ||
        sides.size() != times.size() * std::size_t(model->data.switching_count))
      throw nb::value_error("the branches do not fit the switching functions");
    known_times.assign(times.data(), times.data() + times.size());
    known_sides.assign(sides.data(), sides.data() + sides.size());
  }

  // t, q, v, x, a, dx
  nb::tuple state() {
    const double *parts[6];
    model->integrators->state(model->data, run, memory.data, parts);
    const ModelData &m = model->data;
    return nb::make_tuple(run.t, doubles(parts[0], {m.nq}), doubles(parts[1], {m.nv}), doubles(parts[2], {m.nx}),
                          doubles(parts[3], {m.nv}), doubles(parts[4], {m.nx}));
  }

  // (q, v, x) at fractions of steps that were taken from rows of t, q, v, x to the next; `rows` in order. They end
  // where a step could not be taken again.
  nb::tuple dense(const Doubles &t, const Doubles &q, const Doubles &v, const Doubles &x, const Places &rows,
                  const Doubles &fractions) {
    const ModelData &m = model->data;
    const std::size_t n = t.size(), wanted = fractions.size();
    check(q, v, x, n);
    if (rows.size() != wanted || std::any_of(rows.data(), rows.data() + wanted,
                                             [&](std::int64_t k) { return k < 0 || std::size_t(k) + 1 >= n; }))
      throw nb::value_error("the rows do not fit");
    Records found{records.nq, records.nv, records.nx};
    Recorder recorder{&Records::record, &found};
    SignalCheck signals;
    guarded([&] {
      Outcome outcome = Outcome::reached;
      for (std::size_t first = 0, last; first < wanted && outcome == Outcome::reached && !signals.stop_requested();
           first = last) {
        const std::size_t k = std::size_t(rows.data()[first]);
        for (last = first; last < wanted && rows.data()[last] == rows.data()[first];)
          ++last;
        restart();
        run.initial_branches = sides_at(t.data()[k]);
        outcome = model->integrators->start(m, run, memory.data, t.data()[k], row_of(q, k, m.nq), row_of(v, k, m.nv),
                                            row_of(x, k, m.nx));
        if (outcome == Outcome::reached)
          outcome = model->integrators->dense(m, run, memory.data, t.data()[k + 1] - t.data()[k],
                                              row_of(q, k + 1, m.nq), row_of(v, k + 1, m.nv), row_of(x, k + 1, m.nx),
                                              fractions.data() + first, std::ptrdiff_t(last - first), recorder);
      }
      return outcome;
    });
    if (signals.raise())
      throw nb::python_error();
    nb::tuple taken = found.take();
    return nb::make_tuple(taken[1], taken[2], taken[3]);
  }

  // Runs from many states, sampled at times: (outcomes, times reached, counts, q, v, x), a row per run. Parameters of
  // elements and mapped parameters: none, or a row per run. Those that lanes can hold run in lanes; others, and those
  // that cannot go on there, one by one; both on threads. With a control, runs are in SIMD batches if one call can
  // receive many states (`together`). Once the flag is set, runs end where they are, `stopped`.
  nb::tuple batch(double begin, double until, const Doubles &times, const Doubles &q, const Doubles &v,
                  const Doubles &x, std::optional<Doubles> parameters, std::optional<Doubles> numbers, int threads,
                  std::optional<Doubles> breaks, std::optional<Places> spans, const Flag *flag,
                  nb::object batched_control, std::optional<Doubles> sequences, std::optional<Doubles> friction_rows,
                  std::optional<Places> run_numbers, std::optional<Doubles> sample_times,
                  std::optional<Doubles> effect_times, nb::object sampled_function) {
    const ModelData &m = model->data;
    const std::size_t n = m.nq ? q.size() / std::size_t(m.nq) : 0;
    check(q, v, x, n);
    if (parameters && parameters->size() != n * std::size_t(m.parameter_count))
      throw nb::value_error("the parameters do not fit the runs");
    if (numbers && numbers->size() != n * std::size_t(m.parameter_maps.count))
      throw nb::value_error("the mapped parameters do not fit the runs");
    if (breaks && !(spans && spans->size() == n + 1 && std::size_t(spans->data()[n]) == breaks->size()))
      throw nb::value_error("the discontinuity times do not fit the runs");
    const ControlSequence *control_shape = run.conditions.sequence;
    if (sequences && !(control_shape && sequences->size() == n * std::size_t(control_shape->rows()) *
                                                                 std::size_t(control_shape->channels)))
      throw nb::value_error("the control sequences do not fit the runs");
    if (friction_rows && !(friction && friction_rows->size() == n * (friction_columns * friction->rows.size() + 1)))
      throw nb::value_error("the rows of friction do not fit the runs");
    SignalCheck signals(flag);
    const CallbackFlag callback_flag(scope, flag);
    PythonControl control(m, scope, batched_control, nb::inst_ptr<BoundConditions>(chosen.ptr())->code.callback,
                          signals);
    if (run_numbers && run_numbers->size() != n)
      throw nb::value_error("the numbers of the runs do not fit");
    const std::int64_t *numbers_of_runs = run_numbers ? run_numbers->data() : nullptr;
    CompiledControl compiled(m, scope, numbers_of_runs);
    SampledFunction sampled(m, sampled_function, numbers_of_runs);
    const bool is_compiled = scope.has_compiled_control();
    const BatchedControl batched = !sampled_function.is_none() ? sampled.plain()
                                   : is_compiled               ? compiled.plain()
                                                               : control.plain();
    BatchRequest request{.count = n,
                         .begin = begin,
                         .until = until,
                         .samples = {times.data(), std::ptrdiff_t(times.size()), 0},
                         .q = q.data(),
                         .v = v.data(),
                         .x = x.data()};
    request.parameters = parameters ? parameters->data() : nullptr;
    request.numbers = numbers ? numbers->data() : nullptr;
    request.discontinuities = breaks ? breaks->data() : nullptr;
    request.spans = spans ? spans->data() : nullptr;
    request.sequences = sequences ? sequences->data() : nullptr;
    request.threads = threads;
    request.control = batched_control.is_none() && !is_compiled && sampled_function.is_none() ? nullptr : &batched;
    if (sample_times && !(effect_times && effect_times->size() == sample_times->size() && request.control))
      throw nb::value_error("the samples of the control do not fit");
    const SampleTimes sampling{sample_times ? sample_times->data() : nullptr,
                               effect_times ? effect_times->data() : nullptr,
                               std::ptrdiff_t(sample_times ? sample_times->size() : 0)};
    request.sampling = sample_times ? &sampling : nullptr;
    request.run_numbers = numbers_of_runs;
    request.stop = signals.stop();
    request.self = &control;
    request.starting = [](void *self, std::size_t run) { static_cast<PythonControl *>(self)->start(run); };
    request.failed = [](void *self, std::size_t run) { static_cast<PythonControl *>(self)->take_error(run); };
    request.friction = friction_rows ? friction_rows->data() : nullptr;
    const BatchArrays made(m, n, times.size());
    modes.assign(friction ? n : 0, {});
    BatchResults results = made.results();
    results.modes = friction ? modes.data() : nullptr;
    event_logs.assign(events ? n : 0, {});
    results.events = events ? event_logs.data() : nullptr;
    sampled_forces.assign(n * std::size_t(sampling.count) * std::size_t(m.nv), 0.0);
    results.tau = sampled_forces.data();
    const ModelData &described = model->family.is_valid() ? bound(model->family.ptr())->data : m;
    std::vector<Scope::ControlFailure> failures;
    guarded([&] {
      run_batch(*model->integrators, m, described, run, request, results);
      failures = scope.take_failures();
      return Outcome::reached;
    });
    if (signals.raise())
      throw nb::python_error();
    errors = compiled.errors(failures, n);
    for (auto &[number, error] : control.errors)
      errors[nb::int_(number)] = error;
    sampled.add_errors(errors);
    return made.take();
  }

  // Gradients of an output of each of many runs with fixed steps: (outcomes, by q, v and x at the begin, by the values
  // of the control, by parameters). q, v, x: states at times; q_bar, v_bar, x_bar: derivatives of the output by them,
  // those by q along `integrate`. Directions of parameters: see runs/gradients.hpp, the last `wanted` are results.
  nb::tuple gradients(const Doubles &times, const Doubles &q, const Doubles &v, const Doubles &x, const Doubles &q_bar,
                      const Doubles &v_bar, const Doubles &x_bar, std::optional<Doubles> parameters,
                      std::optional<Doubles> numbers, const Doubles &sequences, const Doubles &directions, int wanted,
                      int threads, const Flag *flag) {
    const ModelData &m = model->data;
    const std::size_t samples = times.size(), rows = samples && m.nq ? q.size() / std::size_t(m.nq) : 0,
                      n = samples ? rows / samples : 0, width = std::size_t(m.parameter_count + m.parameter_maps.count);
    const ControlSequence *control = run.conditions.sequence;
    const std::size_t channels = control ? std::size_t(control->rows()) * std::size_t(control->channels) : 0;
    check(q, v, x, n * samples);
    if (q_bar.size() != v.size() || v_bar.size() != v.size() || x_bar.size() != x.size() ||
        sequences.size() != n * channels || (width && directions.size() % width))
      throw nb::value_error("the arrays do not fit the runs");
    GradientRequest request{.count = n,
                            .samples = {times.data(), std::ptrdiff_t(samples), 0},
                            .q = q.data(),
                            .v = v.data(),
                            .x = x.data(),
                            .q_bar = q_bar.data(),
                            .v_bar = v_bar.data(),
                            .x_bar = x_bar.data()};
    request.parameters = parameters ? parameters->data() : nullptr;
    request.numbers = numbers ? numbers->data() : nullptr;
    request.sequences = sequences.data();
    request.directions = {directions.data(), int(width ? directions.size() / width : 0)};
    request.threads = threads;
    SignalCheck signals(flag);
    request.stop = signals.stop();
    const auto zeros = [](std::size_t rows, std::size_t columns) { return std::vector<double>(rows * columns, 0.0); };
    const std::size_t nv = std::size_t(m.nv), nx = std::size_t(m.nx);
    std::vector<double> outcomes = zeros(n, 1), by_q = zeros(n, nv), by_v = zeros(n, nv), by_x = zeros(n, nx),
                        by_control = zeros(n, channels), by_parameters = zeros(n, std::size_t(wanted));
    const GradientResults results{outcomes.data(),   by_q.data(),          by_v.data(),        by_x.data(),
                                  by_control.data(), by_parameters.data(), std::size_t(wanted)};
    const ModelData &described = model->family.is_valid() ? bound(model->family.ptr())->data : m;
    guarded([&] {
      run_gradients(best_adjoints(), m, described, run, request, results);
      return Outcome::reached;
    });
    if (signals.raise())
      throw nb::python_error();
    const npy_intp count = npy_intp(n);
    return nb::make_tuple(doubles(outcomes.data(), {count}), doubles(by_q.data(), {count, m.nv}),
                          doubles(by_v.data(), {count, m.nv}), doubles(by_x.data(), {count, m.nx}),
                          doubles(by_control.data(), {count, npy_intp(control ? control->rows() : 0),
                                                      npy_intp(control ? control->channels : 0)}),
                          doubles(by_parameters.data(), {count, wanted}));
  }

  // modes of friction and stops in the last batch
  nb::dict take_modes() { return bind::take_modes(modes, friction ? friction->rows.size() : 0); }

  // events of each run in the last batch: numbers of events of each, and those of all runs in sequence as `take_events`
  nb::tuple take_event_logs() { return bind::take_logs(event_logs, model->data.nq + model->data.nv + model->data.nx); }

  // joint forces of the samples of the control in the last batch, in sequence; not a number where a run has ended
  nb::object take_sampled_forces() {
    nb::object found = doubles(sampled_forces.data(), {npy_intp(sampled_forces.size())});
    sampled_forces.clear();
    return found;
  }

  // errors of the control in the last batch, by run
  nb::dict take_errors() { return std::exchange(errors, nb::dict()); }

  // Events are located here from now on; before `start`, or after `restore`.
  void set_events(const nb::dict &given) {
    events = std::make_unique<EventRun>();
    fill_events(model->data, given, *events);
    run.events = events.get();
    model->integrators->prepare_events(model->data, run, memory.data);
  }
  // events since the last call: see bind/events.hpp
  nb::tuple take_events() {
    const npy_intp width = model->data.nq + model->data.nv + model->data.nx;
    return events ? bind::take_log(events->log, width) : nb::make_tuple();
  }
  // events that occur at the time reached, and recorded ones at the same time
  nb::tuple occurring_events() { return nb::make_tuple(events->passed, events->also); }
  // an event whose output is noise, and a time; or -1
  std::pair<int, double> noisy_event() { return {events ? events->noisy : -1, events ? events->noise_time : 0.0}; }
  void ignore_event(int event) {
    if (!events || event < 0 || event >= events->count())
      throw nb::value_error("there is no such event");
    events->ignored[std::size_t(event)] = 1;
    events->values[std::size_t(event)] = 1.0;
    events->noisy = -1;
  }
  // an event whose output is not finite, a time and the output; or -1
  nb::tuple event_failure() {
    const EventFailure failure = events ? events->failure : EventFailure{};
    return nb::make_tuple(failure.event, failure.t, failure.value);
  }
  nb::object event_values() {
    return events ? doubles(events->values.data(), {npy_intp(events->values.size())}) : nb::none();
  }
  void set_event_values(const Doubles &values) {
    if (!events || values.size() != events->values.size())
      throw nb::value_error("the values do not fit the events");
    std::copy_n(values.data(), values.size(), events->values.begin());
  }

  // Modes of dry friction and stops are determined here from now on, beginning with those given; before `start`, or
  // after `restore`.
  void set_friction(const nb::dict &given) {
    friction = std::make_unique<FrictionRun>();
    fill_friction(model->data, run, given, *friction);
    run.friction = friction.get();
    model->integrators->prepare_friction(model->data, run, memory.data);
  }
  // Rigid contact by steps; before `start`, or after `restore`.
  void set_contacts(const nb::dict &given) {
    contacts = std::make_unique<ContactSteps>();
    fill_contacts(model->data, given, *contacts);
    contact_scene = given["scene"];
    run.contacts = contacts.get();
  }
  nb::object take_contact_log() {
    return contacts ? nb::object(bind::take_contact_log(model->data, *contacts)) : nb::none();
  }
  nb::object contact_statistics() { return contacts ? nb::object(bind::contact_statistics(*contacts)) : nb::none(); }
  nb::object contact_memory() { return contacts ? nb::object(bind::contact_memory(*contacts)) : nb::none(); }
  void set_contact_memory(const nb::bytes &blob) {
    if (!contacts)
      throw nb::value_error("the run has no contacts");
    bind::set_contact_memory(*contacts, blob);
  }

  // Rigid contact by events; before `start`, or after `restore`.
  void set_contact_events(const nb::dict &given) {
    contact_events = std::make_unique<ContactEvents>();
    fill_contact_events(model->data, given, *contact_events);
    contact_scene = given["scene"];
    run.contact_events = contact_events.get();
  }
  // closed points and their modes, for a resumed run or for forces
  nb::bytes contact_modes() { return bind::contact_modes(events_of_contacts().closed); }
  void set_contact_modes(const nb::bytes &blob) { bind::set_contact_modes(events_of_contacts(), blob); }
  void set_known_contact_modes(const Doubles &times, const nb::list &modes) {
    bind::set_known_contact_modes(events_of_contacts(), times, modes);
  }
  nb::list take_contact_changes() { return bind::take_contact_changes(events_of_contacts()); }
  nb::dict contact_failure() { return bind::contact_failure(events_of_contacts()); }
  // contact points that carry load at states, in the modes that are set: see bind/contact_events.hpp
  nb::tuple contact_forces(const Doubles &t, const Doubles &q, const Doubles &v, const Doubles &x) {
    const ModelData &m = model->data;
    const std::size_t count = t.size();
    if (q.size() != count * std::size_t(m.nq) || v.size() != count * std::size_t(m.nv) ||
        x.size() != count * std::size_t(m.nx))
      throw nb::value_error("the arrays do not fit the times");
    ContactEvents &contacts = events_of_contacts();
    const SmoothInterval interval = run.interval;
    ContactForces forces;
    for (std::size_t k = 0; k < count; ++k) {
      run.interval = SmoothInterval::around(run.discontinuities, t.data()[k]);
      const bool done =
          model->integrators->contact_forces(m, run, memory.data, t.data()[k], q.data() + k * std::size_t(m.nq),
                                             v.data() + k * std::size_t(m.nv), x.data() + k * std::size_t(m.nx));
      run.interval = interval;
      if (!done)
        throw nb::python_error();
      forces.add(m, contacts, k);
    }
    return forces.arrays();
  }

  nb::object take_changes() { return friction ? bind::take_changes(*friction) : nb::none(); }
  nb::object friction_progress() { return friction ? nb::object(bind::friction_progress(*friction)) : nb::none(); }
  // why modes could not be determined at the last change
  nb::object friction_failure() { return friction ? nb::object(bind::friction_failure(*friction)) : nb::none(); }
  // switching functions that crossed zero there
  std::vector<std::int32_t> passed() { return friction ? friction->passed : std::vector<std::int32_t>(); }
  // values of the switching functions of friction at the time reached
  nb::object friction_values() {
    if (!friction)
      return nb::none();
    return doubles(friction->values.data(), {npy_intp(friction->values.size())});
  }
  void set_friction_values(const Doubles &values) {
    if (!friction || values.size() != friction->values.size())
      throw nb::value_error("the values do not fit the switching functions");
    std::copy_n(values.data(), values.size(), friction->values.begin());
  }

  // everything a run needs to go on as if it had not stopped
  nb::bytes checkpoint() const {
    std::string blob(sizeof run + memory.size, '\0');
    memory.open();
    std::memcpy(blob.data(), &run, sizeof run);
    std::memcpy(blob.data() + sizeof run, memory.data, memory.size);
    return nb::bytes(blob.data(), blob.size());
  }
  void restore(const nb::bytes &blob) {
    if (blob.size() != sizeof run + memory.size)
      throw nb::value_error("the checkpoint is of another model, method or version");
    Run kept;
    std::memcpy(static_cast<void *>(&kept), blob.c_str(), sizeof kept);
    if (kept.method != run.method)
      throw nb::value_error("the checkpoint is of another method");
    run = kept;
    memory.open();
    std::memcpy(memory.data, blob.c_str() + sizeof run, memory.size);
    run.conditions = scope.conditions;
    run.atol = tolerances.data();
    run.discontinuities = {breaks.data(), std::ptrdiff_t(breaks.size())};
    run.initial_branches = nullptr;
    run.fixed_branches = scope.conditions.law_branches;
    friction.reset();
    run.friction = nullptr;
    contacts.reset();
    run.contacts = nullptr;
    contact_events.reset();
    run.contact_events = nullptr;
    events.reset();
    run.events = nullptr;
  }

  // where steps have to end; before the run has come to the first that was not among them
  void set_discontinuities(const Doubles &times) {
    if (!std::is_sorted(times.data(), times.data() + times.size()))
      throw nb::value_error("discontinuity times come in order");
    breaks.assign(times.data(), times.data() + times.size());
    run.discontinuities = {breaks.data(), std::ptrdiff_t(breaks.size())};
    if (!run.arrived)
      run.interval = SmoothInterval::around(run.discontinuities, run.t);
  }

  // what the garbage collector has to know
  int visit(visitproc visit, void *arg) {
    Py_VISIT(owner.ptr());
    Py_VISIT(chosen.ptr());
    Py_VISIT(errors.ptr());
    return 0;
  }

  Run run;
  std::atomic<std::thread::id> user{}; // the thread whose call lasts

private:
  nb::object owner, chosen; // keep model and conditions alive
  const BoundModel *model;
  Scope scope;
  Block memory;
  Records records;
  std::unique_ptr<FrictionRun> friction;
  std::unique_ptr<ContactSteps> contacts;
  std::unique_ptr<ContactEvents> contact_events;
  nb::object contact_scene;
  std::unique_ptr<EventRun> events;
  std::vector<ModeLog> modes;                  // of the runs of a batch
  std::vector<EventLog> event_logs;            // of the runs of a batch
  std::vector<double> sampled_forces;          // of the runs of a batch
  std::vector<double> tolerances;              // absolute ones
  std::vector<double> element_parameters;      // once some were set, without friction
  std::vector<ParameterLog::Value> set_values; // since the last evaluation
  ParameterLog log;
  nb::dict errors;

  ContactEvents &events_of_contacts() {
    if (!contact_events)
      throw nb::value_error("the run has no contacts by events");
    return *contact_events;
  }

  // the callbacks reads_only at a flag while this lasts
  struct CallbackFlag {
    Scope &scope;
    CallbackFlag(Scope &scope, const Flag *flag) : scope(scope) { scope.flag = flag; }
    ~CallbackFlag() { scope.flag = nullptr; }
  };
  std::vector<double> breaks;
  std::vector<double> known_times, known_sides;

  // parameters of the run that can be changed: with friction those with its modes
  double *own_parameters() {
    if (friction)
      return friction->parameters.data();
    if (element_parameters.empty()) {
      element_parameters.assign(run.conditions.parameters, run.conditions.parameters + model->data.parameter_count);
      run.conditions.parameters = element_parameters.data();
    }
    return element_parameters.data();
  }

  // the run goes on under the parameters that were set
  int apply_parameters(bool keep) {
    if (set_values.empty())
      return int(Outcome::reached);
    const std::size_t friction_changes = friction ? friction->changes.size() : 0;
    const double pivot = run.usual_min_pivot;
    const int outcome = guarded([&] { return model->integrators->change_parameters(model->data, run, memory.data); });
    if (outcome != int(Outcome::reached))
      return outcome;
    if (keep) {
      for (const ParameterLog::Value &each : set_values)
        log.values.push_back(each);
      log.changes.push_back({run.t, friction_changes, pivot, log.values.size()});
      const double *parts[6];
      model->integrators->state(model->data, run, memory.data, parts);
      Records::record(&records, run.t, parts[0], parts[1], parts[2], parts[3]);
      if (parts[5])
        Records::switched(&records, run.t, parts[5], model->data.switching_count);
    }
    set_values.clear();
    return outcome;
  }

  const double *sides_at(double t) const {
    const auto row = std::upper_bound(known_times.begin(), known_times.end(), t) - known_times.begin();
    return row ? known_sides.data() + (row - 1) * model->data.switching_count : nullptr;
  }

  void restart() {
    run.started = 0;
    run.stiffness = {};
    run.rejected_last = 0;
  }
  static const BoundModel *checked(const nb::object &owner, const nb::object &conditions, int method) {
    if (!is_made(owner.ptr(), model_type()) || !is_made(conditions.ptr(), conditions_type()))
      throw nb::type_error("give a model, and conditions");
    const BoundModel *model = bound(owner.ptr());
    const BoundConditions *chosen = nb::inst_ptr<BoundConditions>(conditions.ptr());
    if (!of_one_family(*chosen->owner, *model))
      throw nb::value_error("the conditions belong to another model");
    model = chosen->owner; // with the mapped parameters of the conditions
    if (!model->integrators->name(method))
      throw nb::value_error("there is no such method");
    return model;
  }
  void check(const Doubles &q, const Doubles &v, const Doubles &x, std::size_t n) const {
    const ModelData &m = model->data;
    if (q.size() != n * std::size_t(m.nq) || v.size() != n * std::size_t(m.nv) || x.size() != n * std::size_t(m.nx))
      throw nb::value_error("the state does not fit the model");
  }
  template <class F> int guarded(F &&f) {
    Outcome outcome;
    {
      const Released released;
      outcome = f();
    }
    if (scope.raise())
      throw nb::python_error();
    return int(outcome);
  }
};

// An integrator belongs to one call at a time. Others are refused, for they would work in the same memory; from a
// callback in Python, the thread of the call may read it.
class ExclusiveUse {
public:
  ExclusiveUse(Integrator &integrator, bool reads_only) : user(integrator.user) {
    std::thread::id found{};
    mine = user.compare_exchange_strong(found, std::this_thread::get_id(), std::memory_order_acq_rel);
    if (!mine && !(reads_only && found == std::this_thread::get_id()))
      throw std::runtime_error("the integrator is at work in another call; every thread needs one of its own");
  }
  ~ExclusiveUse() {
    if (mine)
      user.store({}, std::memory_order_release);
  }
  ExclusiveUse(const ExclusiveUse &) = delete;

private:
  std::atomic<std::thread::id> &user;
  bool mine;
};

template <auto method, bool reads_only, class R, class... A>
R call_exclusively(Integrator &integrator, A... arguments) {
  const ExclusiveUse use(integrator, reads_only);
  return (integrator.*method)(static_cast<A &&>(arguments)...);
}
// a method for one call at a time, as a function that can be bound
template <auto method, bool reads_only = false> struct Exclusive {
  template <class R, class... A> static constexpr auto of(R (Integrator::*)(A...)) {
    return &call_exclusively<method, reads_only, R, A...>;
  }
  template <class R, class... A> static constexpr auto of(R (Integrator::*)(A...) const) {
    return &call_exclusively<method, reads_only, R, A...>;
  }
  static constexpr auto call = of(method);
};

int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<Integrator>(self)->visit(visit, arg) : 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {0, nullptr},
};

} // namespace

void add_integrator(nb::module_ &module) {
  nb::class_<Flag>(module, "Flag")
      .def(nb::init<>())
      .def_prop_rw(
          "set", [](const Flag &flag) { return flag.set.load(); }, [](Flag &flag, bool set) { flag.set.store(set); });
  nb::class_<Integrator>(module, "Integrator", nb::type_slots(slots))
      .def(nb::init<nb::object, nb::object, int, double, const Doubles &, double, double, double, bool, bool>(),
           nb::arg("model"), nb::arg("conditions"), nb::arg("method"), nb::arg("rtol"), nb::arg("atol"),
           nb::arg("max_step"), nb::arg("fixed_step"), nb::arg("spectral_radius"), nb::arg("project"),
           nb::arg("detect_stiffness"))
      .def("start", Exclusive<&Integrator::start>::call, nb::arg("t"), nb::arg("q"), nb::arg("v"), nb::arg("x"))
      .def("advance", Exclusive<&Integrator::advance>::call, nb::arg("until"), nb::arg("max_steps"),
           nb::arg("times") = nb::none(), nb::arg("flag") = nb::none())
      .def("advance_live", Exclusive<&Integrator::advance_live>::call, nb::arg("until"), nb::arg("max_steps"),
           nb::arg("keep"))
      .def_prop_ro("has_full_records", [](const Integrator &i) { return i.has_full_records(); })
      .def("set_parameters", Exclusive<&Integrator::set_parameters>::call, nb::arg("places"), nb::arg("bounds"),
           nb::arg("values"))
      .def("set_parameter", Exclusive<&Integrator::set_parameter>::call, nb::arg("place"), nb::arg("value"))
      .def_prop_ro("new_parameters", [](const Integrator &i) { return i.new_parameters(); })
      .def_prop_ro("has_new_parameters", [](const Integrator &i) { return i.has_new_parameters(); })
      .def_prop_ro("parameters", [](const Integrator &i) { return i.parameters(); })
      .def("take_parameter_changes", Exclusive<&Integrator::take_parameter_changes>::call)
      .def("read", Exclusive<&Integrator::read, true>::call, nb::arg("reader"), nb::arg("out"))
      .def_prop_ro("calls_python", [](const Integrator &i) { return i.calls_python(); })
      .def("take_records", Exclusive<&Integrator::take, true>::call)
      .def("take_steps", Exclusive<&Integrator::take_steps, true>::call)
      .def("take_branches", Exclusive<&Integrator::take_branches, true>::call)
      .def("set_branches", Exclusive<&Integrator::set_branches>::call, nb::arg("times"), nb::arg("branches"))
      .def("state", Exclusive<&Integrator::state, true>::call)
      .def("dense_output", Exclusive<&Integrator::dense>::call, nb::arg("t"), nb::arg("q"), nb::arg("v"), nb::arg("x"),
           nb::arg("rows"), nb::arg("fractions"))
      .def("run_batch", Exclusive<&Integrator::batch>::call, nb::arg("begin"), nb::arg("until"), nb::arg("times"),
           nb::arg("q"), nb::arg("v"), nb::arg("x"), nb::arg("parameters").none(), nb::arg("mapped_parameters").none(),
           nb::arg("threads"), nb::arg("discontinuities") = nb::none(), nb::arg("discontinuity_offsets") = nb::none(),
           nb::arg("flag") = nb::none(), nb::arg("batched_control") = nb::none(), nb::arg("sequences") = nb::none(),
           nb::arg("friction") = nb::none(), nb::arg("run_numbers") = nb::none(), nb::arg("sample_times") = nb::none(),
           nb::arg("effect_times") = nb::none(), nb::arg("sampled_function") = nb::none())
      .def("gradients", Exclusive<&Integrator::gradients>::call, nb::arg("times"), nb::arg("q"), nb::arg("v"),
           nb::arg("x"), nb::arg("q_bar"), nb::arg("v_bar"), nb::arg("x_bar"), nb::arg("parameters").none(),
           nb::arg("mapped_parameters").none(), nb::arg("sequences"), nb::arg("directions"), nb::arg("wanted"),
           nb::arg("threads"), nb::arg("flag") = nb::none())
      .def("take_modes", Exclusive<&Integrator::take_modes, true>::call)
      .def("take_event_logs", Exclusive<&Integrator::take_event_logs, true>::call)
      .def("take_sampled_forces", Exclusive<&Integrator::take_sampled_forces, true>::call)
      .def("take_errors", Exclusive<&Integrator::take_errors, true>::call)
      .def("set_discontinuities", Exclusive<&Integrator::set_discontinuities>::call, nb::arg("times"))
      .def("set_events", Exclusive<&Integrator::set_events>::call, nb::arg("given"))
      .def("take_events", Exclusive<&Integrator::take_events, true>::call)
      .def("occurring_events", Exclusive<&Integrator::occurring_events, true>::call)
      .def("noisy_event", Exclusive<&Integrator::noisy_event, true>::call)
      .def("ignore_event", Exclusive<&Integrator::ignore_event>::call, nb::arg("event"))
      .def("event_failure", Exclusive<&Integrator::event_failure, true>::call)
      .def_prop_rw(
          "event_values", [](Integrator &i) { return i.event_values(); },
          [](Integrator &i, const Doubles &values) { i.set_event_values(values); })
      .def("set_friction", Exclusive<&Integrator::set_friction>::call, nb::arg("given"))
      .def("set_contacts", Exclusive<&Integrator::set_contacts>::call, nb::arg("given"))
      .def("take_contact_log", Exclusive<&Integrator::take_contact_log, true>::call)
      .def("contact_statistics", Exclusive<&Integrator::contact_statistics, true>::call)
      .def("contact_memory", Exclusive<&Integrator::contact_memory, true>::call)
      .def("set_contact_events", Exclusive<&Integrator::set_contact_events>::call, nb::arg("given"))
      .def("contact_modes", Exclusive<&Integrator::contact_modes, true>::call)
      .def("set_contact_modes", Exclusive<&Integrator::set_contact_modes>::call, nb::arg("modes"))
      .def("set_known_contact_modes", Exclusive<&Integrator::set_known_contact_modes>::call, nb::arg("times"),
           nb::arg("modes"))
      .def("take_contact_changes", Exclusive<&Integrator::take_contact_changes, true>::call)
      .def("contact_failure", Exclusive<&Integrator::contact_failure, true>::call)
      .def("contact_forces", Exclusive<&Integrator::contact_forces>::call, nb::arg("t"), nb::arg("q"), nb::arg("v"),
           nb::arg("x"))
      .def("set_contact_memory", Exclusive<&Integrator::set_contact_memory>::call, nb::arg("memory"))
      .def("take_changes", Exclusive<&Integrator::take_changes, true>::call)
      .def("passed", Exclusive<&Integrator::passed, true>::call)
      .def("friction_progress", Exclusive<&Integrator::friction_progress, true>::call)
      .def("friction_failure", Exclusive<&Integrator::friction_failure, true>::call)
      .def_prop_rw(
          "friction_values", [](Integrator &i) { return i.friction_values(); },
          [](Integrator &i, const Doubles &values) { i.set_friction_values(values); })
      .def("checkpoint", Exclusive<&Integrator::checkpoint, true>::call)
      .def("restore", Exclusive<&Integrator::restore>::call, nb::arg("blob"))
      .def_prop_ro("t", [](const Integrator &i) { return i.run.t; })
      .def_prop_ro("step", [](const Integrator &i) { return i.run.step; })
      .def(
          "set_first_step",
          [](Integrator &i, double step) { i.run.step = step, i.run.old_error = 1e-4, i.run.started = 1; },
          nb::arg("step"))
      .def_prop_rw(
          "usual_min_pivot", [](const Integrator &i) { return i.run.usual_min_pivot; },
          [](Integrator &i, double slack) { i.run.usual_min_pivot = slack; })
      .def_prop_ro("worst_error", [](const Integrator &i) { return std::make_pair(i.run.worst_dof, i.run.worst); })
      .def_prop_ro("counts",
                   [](const Integrator &i) {
                     const Counts &c = i.run.counts;
                     return nb::make_tuple(c.steps, c.rejected, c.evaluations, c.jacobians, c.factorizations,
                                           c.projections, c.noisy, c.missed);
                   })
      .def_prop_ro("missed_crossing",
                   [](const Integrator &i) { return std::make_pair(i.run.missed_time, i.run.missed_function); })
      .def_prop_ro("release",
                   [](const Integrator &i) { return std::make_pair(i.run.release_time, i.run.released_function - 1); });
  module.attr("max_live_steps") = max_live_steps;
  nb::list methods;
  for (int k = 0; const char *name = best_integrators().name(k); ++k)
    methods.append(name);
  module.attr("methods") = nb::tuple(methods);
  nb::dict outcomes;
  for (const auto &[name, outcome] : {std::pair{"reached", Outcome::reached},
                                      {"paused", Outcome::paused},
                                      {"step_underflow", Outcome::underflow},
                                      {"not_finite", Outcome::not_finite},
                                      {"callback_failed", Outcome::callback_failed},
                                      {"loops_open", Outcome::loops_open},
                                      {"stiff", Outcome::stiff},
                                      {"stopped", Outcome::stopped},
                                      {"newton_failed", Outcome::newton_failed},
                                      {"stagnated", Outcome::stagnated},
                                      {"undecided", Outcome::undecided},
                                      {"event", Outcome::event},
                                      {"contact_failed", Outcome::contact_failed}})
    outcomes[name] = int(outcome);
  module.attr("outcomes") = outcomes;
}

} // namespace dalembert::bind
