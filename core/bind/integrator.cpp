#include "bind/integrator.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace dalembert::bind {

Integrator::Integrator(nb::object owner, nb::object conditions, int method, double rtol, const Doubles &atol,
                       double max_step, double fixed_step, double spectral_radius, bool project, bool detect_stiffness)
    : owner(owner), chosen(conditions), model(checked(owner, conditions, method)),
      scope(model->data, *nb::inst_ptr<BoundConditions>(conditions.ptr()), true),
      memory(model->integrators->bytes(model->data, method), Block::Zeros{}),
      records{std::size_t(model->data.nq), std::size_t(model->data.nv), std::size_t(model->data.nx)} {
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

int Integrator::start(double t, const Doubles &q, const Doubles &v, const Doubles &x) {
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

int Integrator::start_again(double t, const Doubles &q, const Doubles &v, const Doubles &x) {
  if (friction || contacts || contact_events)
    throw nb::value_error("modes of friction and contact are set anew");
  Run fresh{};
  fresh.method = run.method;
  fresh.rtol = run.rtol;
  fresh.max_step = run.max_step;
  fresh.fixed_step = run.fixed_step;
  fresh.atol = run.atol;
  fresh.spectral_radius = run.spectral_radius;
  fresh.project = run.project;
  fresh.detect_stiffness = run.detect_stiffness;
  fresh.conditions = run.conditions;
  fresh.fixed_branches = run.fixed_branches;
  fresh.discontinuities = run.discontinuities;
  fresh.events = run.events;
  fresh.released_function = run.released_function;
  fresh.release_time = run.release_time;
  fresh.missed_function = run.missed_function;
  fresh.missed_time = run.missed_time;
  fresh.counts = run.counts;
  run = fresh;
  memory.open();
  std::memset(memory.data, 0, memory.size);
  return start(t, q, v, x);
}

int Integrator::advance(double until, std::int64_t max_steps, std::optional<Doubles> times, const Flag *flag) {
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

int Integrator::advance_live(double until, std::int64_t max_steps, bool keep) {
  int outcome = apply_parameters(keep);
  if (outcome != int(Outcome::reached))
    return outcome;
  if (keep && records.t.capacity() < live_rows)
    records.reserve(live_rows);
  Samples samples{nullptr, 0, 0};
  SignalCheck signals;
  Recorder recorder{keep ? &Records::record : &Records::drop, &records, signals.stop(),
                    keep ? &Records::switched : nullptr};
  outcome = guarded(
      [&] { return model->integrators->advance(model->data, run, memory.data, until, max_steps, samples, recorder); });
  if (!keep && friction && friction->changes.size() > 1)
    friction->changes.erase(friction->changes.begin(), friction->changes.end() - 1);
  if (signals.raise())
    throw nb::python_error();
  return outcome;
}

std::int64_t Integrator::set_parameters(const Places &places, const Doubles &bounds, const Doubles &values) {
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

void Integrator::set_parameter(std::int64_t place, double value) {
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

nb::object Integrator::new_parameters() const {
  std::vector<double> rows;
  for (const ParameterLog::Value &each : set_values)
    rows.insert(rows.end(), {double(each.place), each.value});
  return doubles(rows.data(), {npy_intp(set_values.size()), 2});
}

void Integrator::read(StateReader &reader, const nb::ndarray<double, nb::c_contig, nb::device::cpu> &out) {
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

nb::object Integrator::take_steps() {
  nb::object times = doubles(records.steps.data(), {npy_intp(records.steps.size())});
  records.steps.clear();
  return times;
}

nb::tuple Integrator::take_branches() {
  const npy_intp n = npy_intp(records.switch_times.size());
  nb::tuple result = nb::make_tuple(doubles(records.switch_times.data(), {n}),
                                    doubles(records.switch_sides.data(), {n, model->data.switching_count}));
  records.switch_times.clear();
  records.switch_sides.clear();
  return result;
}

void Integrator::set_branches(const Doubles &times, const Doubles &sides) {
  if (!std::is_sorted(times.data(), times.data() + times.size()) ||
      sides.size() != times.size() * std::size_t(model->data.switching_count))
    throw nb::value_error("the branches do not fit the switching functions");
  known_times.assign(times.data(), times.data() + times.size());
  known_sides.assign(sides.data(), sides.data() + sides.size());
}

nb::tuple Integrator::state() {
  const double *parts[6];
  model->integrators->state(model->data, run, memory.data, parts);
  const ModelData &m = model->data;
  return nb::make_tuple(run.t, doubles(parts[0], {m.nq}), doubles(parts[1], {m.nv}), doubles(parts[2], {m.nx}),
                        doubles(parts[3], {m.nv}), doubles(parts[4], {m.nx}));
}

nb::tuple Integrator::motion() {
  const double *parts[6];
  model->integrators->state(model->data, run, memory.data, parts);
  const ModelData &m = model->data;
  return nb::make_tuple(run.t, doubles(parts[0], {m.nq}), doubles(parts[1], {m.nv}), doubles(parts[2], {m.nx}));
}

nb::tuple Integrator::dense(const Doubles &t, const Doubles &q, const Doubles &v, const Doubles &x, const Places &rows,
                            const Doubles &fractions) {
  const ModelData &m = model->data;
  const std::size_t n = t.size(), wanted = fractions.size();
  check(q, v, x, n);
  if (rows.size() != wanted ||
      std::any_of(rows.data(), rows.data() + wanted, [&](std::int64_t k) { return k < 0 || std::size_t(k) + 1 >= n; }))
    throw nb::value_error("the rows do not fit");
  Records found{records.nq, records.nv, records.nx};
  Recorder recorder{&Records::record, &found};
  SignalCheck signals;
  run.lists_pairs = false;
  guarded([&] {
    Outcome outcome = Outcome::reached;
    for (std::size_t first = 0, last; first < wanted && outcome == Outcome::reached && !signals.stop_requested();
         first = last) {
      const std::size_t k = std::size_t(rows.data()[first]);
      for (last = first; last < wanted && rows.data()[last] == rows.data()[first];)
        ++last;
      restart();
      run.initial_branches = sides_at(t.data()[k]);
      const bool projects = std::exchange(run.project, false); // rows are ends of steps, and stay as they are
      outcome = model->integrators->start(m, run, memory.data, t.data()[k], row_of(q, k, m.nq), row_of(v, k, m.nv),
                                          row_of(x, k, m.nx));
      run.project = projects;
      if (outcome == Outcome::reached)
        outcome = model->integrators->dense(m, run, memory.data, t.data()[k + 1] - t.data()[k], row_of(q, k + 1, m.nq),
                                            row_of(v, k + 1, m.nv), row_of(x, k + 1, m.nx), fractions.data() + first,
                                            std::ptrdiff_t(last - first), recorder);
    }
    return outcome;
  });
  if (signals.raise())
    throw nb::python_error();
  nb::tuple taken = found.take();
  return nb::make_tuple(taken[1], taken[2], taken[3]);
}

nb::bytes Integrator::checkpoint() const {
  std::string blob(sizeof run + memory.size, '\0');
  memory.open();
  std::memcpy(blob.data(), &run, sizeof run);
  std::memcpy(blob.data() + sizeof run, memory.data, memory.size);
  return nb::bytes(blob.data(), blob.size());
}

void Integrator::restore(const nb::bytes &blob) {
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

void Integrator::set_discontinuities(const Doubles &times) {
  if (!std::is_sorted(times.data(), times.data() + times.size()))
    throw nb::value_error("discontinuity times come in order");
  breaks.assign(times.data(), times.data() + times.size());
  run.discontinuities = {breaks.data(), std::ptrdiff_t(breaks.size())};
  if (!run.arrived)
    run.interval = SmoothInterval::around(run.discontinuities, run.t);
}

int Integrator::visit(visitproc visit, void *arg) {
  Py_VISIT(owner.ptr());
  Py_VISIT(chosen.ptr());
  Py_VISIT(errors.ptr());
  Py_VISIT(contact_scene.ptr());
  return 0;
}

double *Integrator::own_parameters() {
  if (friction)
    return friction->parameters.data();
  if (element_parameters.empty()) {
    element_parameters.assign(run.conditions.parameters, run.conditions.parameters + model->data.parameter_count);
    run.conditions.parameters = element_parameters.data();
  }
  return element_parameters.data();
}

int Integrator::apply_parameters(bool keep) {
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

const double *Integrator::sides_at(double t) const {
  const auto row = std::upper_bound(known_times.begin(), known_times.end(), t) - known_times.begin();
  return row ? known_sides.data() + (row - 1) * model->data.switching_count : nullptr;
}

void Integrator::restart() {
  run.started = 0;
  run.stiffness = {};
  run.rejected_last = 0;
}

const BoundModel *Integrator::checked(const nb::object &owner, const nb::object &conditions, int method) {
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

void Integrator::check(const Doubles &q, const Doubles &v, const Doubles &x, std::size_t n) const {
  const ModelData &m = model->data;
  if (q.size() != n * std::size_t(m.nq) || v.size() != n * std::size_t(m.nv) || x.size() != n * std::size_t(m.nx))
    throw nb::value_error("the state does not fit the model");
}

} // namespace dalembert::bind
