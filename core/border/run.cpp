#include "border/run.hpp"
#include "kernels/dispatch.hpp"
#include "runs/evaluate_states.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

using namespace dalembert;
using namespace dalembert::border;

namespace {

constexpr const char *kind_names[] = {"coordinate", "speed", "state", "parameter", "input", "output", "event"};
constexpr std::int64_t most_steps = std::numeric_limits<std::int64_t>::max();

int method_of(const IntegratorSet &integrators, const char *wanted) {
  for (int k = 0; integrators.name(k); ++k)
    if (!std::strcmp(integrators.name(k), wanted))
      return k;
  return -1;
}

bool record_nothing(void *, double, const double *, const double *, const double *, const double *) { return true; }

StateReader make_reader(const ModelFile &file, const ModelData &m) {
  StateReader reader;
  for (const SourceRow &source : file.sources) {
    bool fits = false;
    if (source.kind == SourceKind::state) {
      fits = reader.add_state(source.number, m);
    } else if (source.kind == SourceKind::report) {
      const auto part = std::find_if(std::begin(report_names), std::end(report_names), [&](const char *name) {
        return !std::strcmp(name, file.text_at(source.number));
      });
      if (part == std::end(report_names))
        throw VersionError("an output needs a part of the report that is unknown");
      fits = reader.add_part(int(part - std::begin(report_names)), m);
    } else {
      const Kernel kernel = source.kind == SourceKind::pose       ? Kernel::point_poses
                            : source.kind == SourceKind::velocity ? Kernel::point_velocities
                                                                  : Kernel::point_accelerations;
      const double *nodes = source.nodes < 0 ? nullptr : file.frames.data() + source.nodes;
      fits = reader.add_points(kernel, {source.body, 1, file.frames.data() + source.frame, nodes, source.width}, m);
    }
    if (!fits)
      throw FileError("a source of the outputs does not fit the model");
  }
  std::vector<StateReader::Term> terms;
  for (const TermRow &term : file.terms)
    terms.push_back({term.out, term.source, term.index, term.factor});
  if (!reader.set_terms(file.names[DAL_OUTPUT].size(), std::move(terms), m))
    throw FileError("an output does not fit its sources");
  return reader;
}

} // namespace

dal_model::dal_model(const void *bytes, std::size_t size) {
  read_model_file(bytes, size, file);
  data = complete(file.tables);
  check_references(file, data);
  make_reader(file, data); // which checks it
  prescribed = prescribed_dofs(data, {});
  for (int kind = 0; kind < kind_count; ++kind)
    for (std::size_t k = 0; k < file.names[kind].size(); ++k)
      index[kind].emplace(file.text_at(file.names[kind][k].name), std::int64_t(k));
}

dal_run::dal_run(dal_model *given, const dal_options &chosen)
    : model(given), options(chosen), kernels(best_kernels()), integrators(best_integrators()) {
  const SettingsRow &settings = model->file.settings;
  const bool automatic = options.method < 0 ? settings.detect_stiffness : false;
  chosen_method = options.method < 0 ? settings.method : options.method;
  const char *name = integrators.name(chosen_method);
  if (!name || !std::strcmp(name, "moreau"))
    throw CallError{DAL_BAD_VALUE, "there is no such method"};
  std::size_t bytes = integrators.bytes(model->data, chosen_method);
  if (automatic)
    bytes = std::max(bytes, integrators.bytes(model->data, method_of(integrators, "radau")));
  memory = std::make_unique<Block>(bytes, Block::Zeros{});
  tolerances = model->file.atol;
  for (double &tolerance : tolerances)
    tolerance *= options.atol_factor;
  reader = make_reader(model->file, model->data);
  outputs.resize(reader.count());
  model->users.fetch_add(1);
  reset();
}

void dal_run::reset() {
  const ModelFile &file = model->file;
  q = file.q, v = file.v, x = file.x;
  parameters = file.tables.parameters, mapped = file.tables.mapped_parameters;
  efforts.assign(std::size_t(model->data.nv), 0.0);
  for (const NameRow &name : model->names(DAL_INPUT))
    slot(name, DAL_INPUT) = name.value;
  started = failed = is_put = changed = outputs_known = false;
  message.clear();
}

int dal_run::unstart() {
  if (!started)
    return DAL_OK;
  q = q_set, v = v_set, x = x_set;
  if (friction)
    parameters = friction->parameters;
  started = is_put = changed = outputs_known = false;
  friction.reset();
  return DAL_OK;
}

void dal_run::set_tolerance(double rtol) {
  options.rtol = rtol;
  options.atol_factor = rtol / model->file.settings.rtol;
  tolerances = model->file.atol;
  for (double &tolerance : tolerances)
    tolerance *= options.atol_factor;
}

double &dal_run::slot(const NameRow &name, dal_kind kind) {
  if (kind == DAL_INPUT && name.flags & is_effort)
    return efforts[std::size_t(name.place)];
  const std::size_t place = std::size_t(name.place);
  if (place >= parameters.size())
    return mapped[place - parameters.size()];
  return friction && started ? friction->parameters[place] : parameters[place];
}

double dal_run::stored(const NameRow &name, dal_kind kind, double value) const {
  if (!std::isfinite(value))
    throw CallError{DAL_BAD_VALUE, std::string("the value of '") + model->file.text_at(name.name) + "' is not finite"};
  if ((kind == DAL_PARAMETER || kind == DAL_INPUT) && value < name.least)
    throw CallError{DAL_BAD_VALUE, std::string("the value of '") + model->file.text_at(name.name) +
                                       "' is below its least one"};
  return name.flags & is_cosine ? std::cos(value) : value;
}

void dal_run::set(dal_kind kind, std::int64_t index, double value) {
  const std::vector<NameRow> &names = model->names(kind);
  if (index < 0 || std::size_t(index) >= names.size())
    throw CallError{DAL_BAD_NAME, std::string("there is no such ") + kind_names[kind]};
  const NameRow &name = names[std::size_t(index)];
  if (kind == DAL_OUTPUT || kind == DAL_EVENT)
    throw CallError{DAL_BAD_CALL, std::string("'") + model->file.text_at(name.name) + "' cannot be set"};
  const double now = stored(name, kind, value);
  if (started && !(kind == DAL_INPUT || name.flags & is_tunable))
    throw CallError{DAL_BAD_CALL, std::string("'") + model->file.text_at(name.name) +
                                      "' is set before the start only: dal_reset begins again"};
  outputs_known = false;
  if (kind <= DAL_STATE) {
    (kind == DAL_COORDINATE ? q : kind == DAL_SPEED ? v : x)[std::size_t(index)] = now;
    return;
  }
  double &place = slot(name, kind);
  changed = changed || place != now;
  place = now;
}

void dal_run::check_started() const {
  if (!started)
    throw CallError{DAL_BAD_CALL, "the run was not started: dal_start comes first"};
}

dal_run::State dal_run::state() {
  if (!started || is_put)
    return {started ? put_time : model->file.settings.t, q.data(), v.data(), x.data()};
  const double *parts[6];
  integrators.state(data, run, memory->data, parts);
  return {run.t, parts[0], parts[1], parts[2]};
}

void dal_run::refresh_outputs() {
  if (outputs_known)
    return;
  check_started();
  const State now = state();
  const Conditions &under = is_put ? conditions : run.conditions;
  if (!reader.read(kernels, data, pool, under, now, outputs.data()))
    throw CallError{DAL_NOT_FINITE, "the outputs cannot be evaluated"};
  outputs_known = true;
}

double dal_run::get(dal_kind kind, std::int64_t index) {
  const std::vector<NameRow> &names = model->names(kind);
  if (index < 0 || std::size_t(index) >= names.size())
    throw CallError{DAL_BAD_NAME, std::string("there is no such ") + kind_names[kind]};
  const std::size_t place = std::size_t(index);
  switch (kind) {
  case DAL_COORDINATE:
    return state().q[place];
  case DAL_SPEED:
    return state().v[place];
  case DAL_STATE:
    return state().x[place];
  case DAL_PARAMETER:
  case DAL_INPUT: {
    const double now = slot(names[place], kind);
    return names[place].flags & is_cosine ? std::acos(now) : now;
  }
  case DAL_OUTPUT:
    refresh_outputs();
    return outputs[place];
  default:
    break;
  }
  std::vector<double> all(names.size());
  read(kind, all.data());
  return all[place];
}

void dal_run::read(dal_kind kind, double *values) {
  const std::size_t count = model->names(kind).size();
  if (kind == DAL_OUTPUT) {
    refresh_outputs();
    std::copy(outputs.begin(), outputs.end(), values);
  } else if (kind == DAL_EVENT) {
    check_started();
    StateReader margins;
    margins.add_part(int(ReportPart::switching_functions), data);
    std::vector<StateReader::Term> terms;
    for (std::size_t k = 0; k < count; ++k)
      terms.push_back({std::int32_t(k), 0, model->names(DAL_EVENT)[k].place, 1.0});
    margins.set_terms(count, std::move(terms), data);
    Conditions under = is_put ? conditions : run.conditions;
    const std::vector<double> free(std::size_t(data.switching_count), std::numeric_limits<double>::quiet_NaN());
    if (!under.law_branches) // functions are evaluated where branches are followed; none is held
      under.law_branches = free.data();
    if (!margins.read(kernels, data, pool, under, state(), values))
      throw CallError{DAL_NOT_FINITE, "the switching functions cannot be evaluated"};
  } else {
    for (std::size_t k = 0; k < count; ++k)
      values[k] = get(kind, std::int64_t(k));
  }
}

// ---- start and steps

void dal_run::use_parameters() {
  if (mapped == model->file.tables.mapped_parameters) {
    data = model->data;
    return;
  }
  own = {};
  data = with_parameters(model->data, mapped.data(), own);
}

void dal_run::set_conditions() {
  const auto pointer = [](const std::vector<unsigned char> &marks) { return marks.empty() ? nullptr : marks.data(); };
  conditions = Conditions{};
  conditions.parameters = parameters.data();
  conditions.acceleration_prescribed = pointer(model->prescribed.acceleration);
  conditions.velocity_prescribed = pointer(model->prescribed.velocity);
  conditions.position_prescribed = pointer(model->prescribed.position);
  conditions.cut_velocity_locked = pointer(model->prescribed.cut_velocity);
  conditions.stabilization[0] = model->file.settings.damping, conditions.stabilization[1] = model->file.settings.stiffness;
  const std::vector<NameRow> &inputs = model->names(DAL_INPUT);
  if (std::any_of(inputs.begin(), inputs.end(), [](const NameRow &name) { return name.flags & is_effort; })) {
    forces_from = -std::numeric_limits<double>::infinity();
    forces = {&forces_from, efforts.data(), 1};
    conditions.sampled_forces = &forces;
  }
}

void dal_run::make_friction() {
  const ModelFile &file = model->file;
  if (file.friction_rows.empty())
    return;
  const std::size_t n = file.friction_rows.size();
  friction = std::make_unique<FrictionRun>();
  friction->rows = file.friction_rows, friction->switches = file.friction_switches;
  friction->position_tol = file.friction.position_tol, friction->span = file.friction.span;
  friction->weight = file.friction.weight;
  friction->longest_step = run.max_step;
  friction->longest_stuck_step = std::min(run.max_step, file.friction.stuck_step);
  friction->undetermined = true;
  friction->modes.resize(n), friction->holding.resize(n);
  friction->progress.held.assign(n, 0);
  const auto copy = [](const unsigned char *marks, std::int32_t count) {
    return marks ? std::vector<unsigned char>(marks, marks + count)
                 : std::vector<unsigned char>(std::size_t(count), 0);
  };
  friction->prescribed[0] = copy(conditions.acceleration_prescribed, data.nv);
  friction->prescribed[1] = copy(conditions.velocity_prescribed, data.nv);
  friction->prescribed[2] = copy(conditions.position_prescribed, data.nv);
  friction->cut_locked = copy(conditions.cut_velocity_locked, data.cut_nv);
}

// A new integrator of a method, at a state.
void dal_run::begin(int method, double t, const double *q0, const double *v0, const double *x0) {
  const SettingsRow &settings = model->file.settings;
  const Counts before = run.counts;
  run = Run{};
  run.counts = before;
  run.method = method;
  run.rtol = options.rtol > 0.0 ? options.rtol : settings.rtol;
  run.atol = tolerances.data();
  run.max_step = options.max_step > 0.0 ? options.max_step : settings.max_step;
  run.fixed_step = options.fixed_step > 0.0 ? options.fixed_step : settings.fixed_step;
  run.spectral_radius = settings.spectral_radius;
  run.project = settings.project;
  run.detect_stiffness = options.method < 0 && method == settings.method && settings.detect_stiffness;
  run.conditions = conditions;
  const std::vector<double> &breaks = model->file.breaks;
  run.discontinuities = {breaks.data(), std::ptrdiff_t(breaks.size())};
  memory->open();
  std::memset(memory->data, 0, memory->size);
  if (friction) {
    if (started)
      parameters = friction->parameters;
    run.friction = friction.get();
    integrators.prepare_friction(data, run, memory->data);
  }
  check(integrators.start(data, run, memory->data, t, q0, v0, x0));
}

void dal_run::start(double t) {
  if (!std::isfinite(t))
    throw CallError{DAL_BAD_VALUE, "the time is not finite"};
  if (is_put || started) { // values of the run become those of the start
    const State now = state();
    std::vector<double> a(now.q, now.q + data.nq), b(now.v, now.v + data.nv), c(now.x, now.x + data.nx);
    q.swap(a), v.swap(b), x.swap(c);
    if (friction)
      parameters = friction->parameters;
  }
  started = failed = is_put = changed = outputs_known = false;
  q_set = q, v_set = v, x_set = x;
  friction.reset();
  use_parameters();
  set_conditions();
  run = Run{};
  run.max_step = options.max_step > 0.0 ? options.max_step : model->file.settings.max_step;
  make_friction();
  begin(chosen_method, t, q.data(), v.data(), x.data());
  started = true;
}

bool dal_run::apply_changes() {
  if (is_put) {
    const double t = put_time;
    is_put = false;
    begin(run.method, t, q.data(), v.data(), x.data());
    changed = false;
  }
  if (!changed)
    return true;
  changed = false;
  check(integrators.change_parameters(data, run, memory->data));
  return true;
}

int dal_run::advance(double until) {
  check_started();
  if (failed)
    throw CallError{DAL_BAD_CALL, "the run has failed: start it again, or set an earlier state"};
  const double now = is_put ? put_time : run.t;
  if (!std::isfinite(until) || until < now)
    throw CallError{DAL_BAD_VALUE, "the time is not finite, or before that of the run"};
  if (until > model->file.settings.horizon)
    throw CallError{DAL_BEYOND, "times of jumps are known up to t = " + std::to_string(model->file.settings.horizon) +
                                    " s only: export the model with a later horizon"};
  apply_changes();
  outputs_known = false;
  const Recorder recorder{&record_nothing, nullptr};
  const std::int64_t most = options.max_steps > 0 ? options.max_steps : most_steps;
  constexpr std::int64_t look = 5000; // steps between two looks at whether they become too short
  const std::int64_t first = run.counts.steps;
  StagnationMonitor monitor{first, run.t};
  while (run.t < until) {
    Samples samples{nullptr, 0, 0};
    const std::int64_t left = most - (run.counts.steps - first);
    const Outcome outcome =
        integrators.advance(data, run, memory->data, until, std::min(left, look), samples, recorder);
    if (friction && friction->changes.size() > 1)
      friction->changes.erase(friction->changes.begin(), friction->changes.end() - 1);
    if (outcome == Outcome::paused) {
      if (left <= look)
        return DAL_PAUSED;
      if (monitor.is_stagnant(run.counts.steps, run.t, until))
        fail(Outcome::stagnated);
      continue;
    }
    if (outcome == Outcome::stiff) { // as simulations in Python do
      const State here = state();
      const std::vector<double> q1(here.q, here.q + data.nq), v1(here.v, here.v + data.nv), x1(here.x, here.x + data.nx);
      begin(method_of(integrators, "radau"), here.t, q1.data(), v1.data(), x1.data());
    } else {
      check(outcome);
    }
  }
  return DAL_OK;
}

void dal_run::fail(Outcome outcome) {
  failed = started;
  const std::string at = "at t = " + std::to_string(run.t) + " s ";
  switch (outcome) {
  case Outcome::underflow:
    throw CallError{DAL_UNDERFLOW, at + "no step is small enough"};
  case Outcome::not_finite:
  case Outcome::callback_failed:
    throw CallError{DAL_NOT_FINITE, at + "accelerations are not finite"};
  case Outcome::loops_open:
    throw CallError{DAL_APART, at + "the loops cannot be closed"};
  case Outcome::newton_failed:
    throw CallError{DAL_UNSOLVED, at + "the equations of an implicit step cannot be solved"};
  case Outcome::undecided:
    throw CallError{DAL_UNSOLVED, at + "modes of friction and stops cannot be determined"};
  case Outcome::stagnated:
    throw CallError{DAL_CRAWLS, at + "steps have become so short that the end is out of reach"};
  default:
    throw CallError{DAL_BAD_CALL, at + "the run has stopped"};
  }
}
