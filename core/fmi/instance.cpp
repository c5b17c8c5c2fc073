#include "fmi/instance.hpp"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace dalembert::fmi {

namespace {

constexpr double off_loops = 1e-9; // larger violations ask for an event, in which the state is put back

enum Kind : std::uint32_t { time, coordinate, speed, state, parameter, input, output, indicator, rate };

bool read_file(const std::string &path, std::vector<char> &bytes) {
  std::ifstream file(std::filesystem::u8path(path), std::ios::binary);
  bytes.assign(std::istreambuf_iterator<char>(file), {});
  return !bytes.empty();
}

std::string token_of(const dal_model *model) {
  char text[20];
  const auto end = std::to_chars(text, text + sizeof text, dal_checksum(model), 16);
  return {text, end.ptr};
}

} // namespace

std::unique_ptr<Instance> Instance::make(const std::string &resources, const std::string &token, bool co_simulation,
                                         Log log) {
  auto made = std::make_unique<Instance>();
  made->log = std::move(log);
  made->co_simulation = co_simulation;
  std::vector<char> bytes;
  char text[256];
  const char slash = resources.empty() || resources.back() == '/' || resources.back() == '\\' ? '\0' : '/';
  if (!read_file(resources + (slash ? "/" : "") + "model.dalm", bytes)) {
    made->refuse("the resources of the FMU have no model.dalm");
    return nullptr;
  }
  if (dal_open(bytes.data(), bytes.size(), &made->model, text, sizeof text) != DAL_OK) {
    made->refuse(text);
    return nullptr;
  }
  if (token != "{" + token_of(made->model) + "}") {
    made->refuse("the instantiation token is that of another model");
    return nullptr;
  }
  if (dal_run_new(made->model, nullptr, &made->run) != DAL_OK) {
    made->refuse("the run cannot be made");
    return nullptr;
  }
  made->start = dal_start_time(made->model);
  made->take_states();
  return made;
}

Instance::~Instance() {
  dal_run_free(run);
  dal_close(model);
}

Status Instance::check(int code) {
  if (code >= 0)
    return Status::ok;
  log(code <= DAL_UNDERFLOW ? Status::discard : Status::error, dal_message(run));
  return code <= DAL_UNDERFLOW ? Status::discard : Status::error;
}

void Instance::take_states() {
  const std::size_t nq = std::size_t(dal_count(model, DAL_COORDINATE)), nv = std::size_t(dal_count(model, DAL_SPEED));
  z.resize(nq + nv + std::size_t(dal_count(model, DAL_STATE)));
  dal_read(run, DAL_COORDINATE, z.data()), dal_read(run, DAL_SPEED, z.data() + nq);
  dal_read(run, DAL_STATE, z.data() + nq + nv);
  t = dal_time(run);
  moved = false;
}

Status Instance::enter_initialization(bool has_tolerance, double tolerance, double begin) {
  if (phase != Phase::made)
    return refuse("initialization begins once, after the instance is made or reset");
  if (has_tolerance && tolerance > 0.0 && tolerance < 1.0)
    run->set_tolerance(tolerance);
  start = begin;
  phase = Phase::initializing;
  return Status::ok;
}

// starts the run with the values that are set, if it was not started yet
Status Instance::begin() {
  if (dal_is_started(run))
    return Status::ok;
  const Status status = check(dal_start(run, start));
  if (status == Status::ok)
    take_states();
  return status == Status::discard ? Status::error : status;
}

Status Instance::exit_initialization() {
  if (phase != Phase::initializing)
    return refuse("the instance is not in initialization");
  const Status status = begin();
  if (status == Status::ok)
    phase = Phase::running;
  return status;
}

Status Instance::reset() {
  const Status status = check(dal_reset(run));
  phase = Phase::made;
  take_states();
  return status;
}

Status Instance::terminate() {
  phase = Phase::ended;
  return Status::ok;
}

Status Instance::put() {
  if (!moved)
    return Status::ok;
  const std::size_t nq = std::size_t(dal_count(model, DAL_COORDINATE)), nv = std::size_t(dal_count(model, DAL_SPEED));
  const Status status = check(dal_put(run, t, z.data(), z.data() + nq, z.data() + nq + nv));
  moved = moved && status != Status::ok;
  return status;
}

Status Instance::value(std::uint32_t reference, double &found) {
  const std::uint32_t kind = reference >> 20;
  const std::int64_t k = reference & 0xfffffu;
  if (reference == time) {
    found = phase == Phase::made || phase == Phase::initializing ? start : co_simulation ? dal_time(run) : t;
    return Status::ok;
  }
  if (kind == time || kind > rate)
    return refuse("there is no variable of this value reference");
  if (kind == rate) {
    if (std::size_t(k) >= z.size())
      return refuse("there is no variable of this value reference");
    std::vector<double> rates(z.size());
    const Status status = get_rates(rates.data(), rates.size());
    found = rates[std::size_t(k)];
    return status;
  }
  static constexpr dal_kind kinds[] = {DAL_OUTPUT, DAL_COORDINATE, DAL_SPEED, DAL_STATE, DAL_PARAMETER,
                                       DAL_INPUT,  DAL_OUTPUT,     DAL_EVENT};
  if (kind == parameter || kind == input)
    return check(dal_get(run, kinds[kind], k, &found));
  if (phase == Phase::initializing || (phase == Phase::made && kind > state))
    if (const Status status = begin(); status != Status::ok) // values that follow from those that are set
      return status;
  if (const Status status = put(); status != Status::ok)
    return status;
  return check(dal_get(run, kinds[kind], k, &found));
}

Status Instance::get(const std::uint32_t *references, std::size_t count, double *values, std::size_t value_count) {
  if (count != value_count)
    return refuse("the values do not fit the value references");
  Status worst = Status::ok;
  for (std::size_t j = 0; j < count; ++j)
    worst = std::max(worst, value(references[j], values[j]));
  return worst;
}

Status Instance::set(const std::uint32_t *references, std::size_t count, const double *values,
                     std::size_t value_count) {
  if (count != value_count)
    return refuse("the values do not fit the value references");
  for (std::size_t j = 0; j < count; ++j) {
    const std::uint32_t kind = references[j] >> 20;
    const std::int64_t k = references[j] & 0xfffffu;
    static constexpr dal_kind kinds[] = {DAL_OUTPUT, DAL_COORDINATE, DAL_SPEED, DAL_STATE, DAL_PARAMETER, DAL_INPUT};
    if (kind < coordinate || kind > input)
      return refuse("this variable cannot be set");
    // before the run, values that were read in initialization are those of another start
    if (phase == Phase::initializing && dal_is_started(run) && kind != input)
      if (const Status status = check(run->unstart()); status != Status::ok)
        return status;
    if (const Status status = check(dal_set(run, kinds[kind], k, values[j])); status != Status::ok)
      return status;
    if (phase == Phase::made && kind <= state)
      take_states();
  }
  return Status::ok;
}

Status Instance::do_step(double from, double length, double &reached) {
  reached = dal_time(run);
  if (phase != Phase::running || !co_simulation)
    return refuse("a step is taken in co-simulation, after the initialization");
  const double slip = std::fabs(from - reached);
  if (!(length >= 0.0) || !(slip <= 1e-9 * std::max(1.0, std::fabs(from))))
    return refuse("the step does not begin where the last one has ended");
  const int code = dal_advance(run, std::max(from + length, reached));
  reached = dal_time(run);
  return check(code);
}

// ---- model exchange

Status Instance::set_time(double now) {
  if (!std::isfinite(now))
    return refuse("the time is not finite");
  moved = moved || now != t;
  t = now;
  return Status::ok;
}

Status Instance::set_states(const double *states, std::size_t count) {
  if (count != z.size())
    return refuse("the states do not fit the model");
  std::copy(states, states + count, z.begin());
  moved = true;
  return Status::ok;
}

Status Instance::get_states(double *states, std::size_t count) {
  if (count != z.size())
    return refuse("the states do not fit the model");
  if (phase == Phase::initializing)
    if (const Status status = begin(); status != Status::ok)
      return status;
  std::copy(z.begin(), z.end(), states);
  return Status::ok;
}

Status Instance::get_rates(double *rates, std::size_t count) {
  if (count != z.size())
    return refuse("the rates do not fit the model");
  if (phase == Phase::initializing)
    if (const Status status = begin(); status != Status::ok)
      return status;
  if (const Status status = put(); status != Status::ok)
    return status;
  const std::size_t nq = std::size_t(dal_count(model, DAL_COORDINATE)), nv = std::size_t(dal_count(model, DAL_SPEED));
  return check(dal_derivatives(run, rates, rates + nq, rates + nq + nv));
}

Status Instance::get_indicators(double *values, std::size_t count) {
  if (count != indicator_count())
    return refuse("the event indicators do not fit the model");
  if (!count)
    return Status::ok;
  if (const Status status = put(); status != Status::ok)
    return status;
  return check(dal_read(run, DAL_EVENT, values));
}

Status Instance::completed_step(bool &event) {
  event = false;
  if (const Status status = put(); status != Status::ok)
    return status;
  double positions = 0.0, rates = 0.0;
  const Status status = check(dal_drift(run, &positions, &rates));
  event = positions > off_loops || rates > off_loops;
  return status;
}

Status Instance::update_events(Events &events) {
  if (phase == Phase::initializing)
    return refuse("the instance is in initialization");
  const std::vector<double> before = z;
  moved = true; // also where only the time has come to a jump of a law
  if (const Status status = put(); status != Status::ok)
    return status;
  if (const Status status = check(dal_project(run, nullptr, nullptr, nullptr)); status != Status::ok)
    return status == Status::discard ? Status::error : status;
  take_states();
  events.states_changed = z != before;
  const std::vector<double> &breaks = model->file.breaks;
  const auto next = std::upper_bound(breaks.begin(), breaks.end(), t);
  events.has_next = next != breaks.end();
  events.next = events.has_next ? *next : 0.0;
  return Status::ok;
}

// ---- saved states

namespace {

struct SavedHead {
  std::int32_t phase, moved;
  double start, t;
};

} // namespace

Status Instance::save(std::string &saved) {
  const SavedHead head{std::int32_t(phase), moved, start, t};
  saved.assign(reinterpret_cast<const char *>(&head), sizeof head);
  saved.append(reinterpret_cast<const char *>(z.data()), z.size() * sizeof(double));
  const std::size_t before = saved.size();
  saved.resize(before + dal_state_bytes(run));
  return check(dal_state_get(run, saved.data() + before, saved.size() - before));
}

Status Instance::restore(const char *bytes, std::size_t size) {
  SavedHead head;
  const std::size_t own = sizeof head + z.size() * sizeof(double);
  if (size < own)
    return refuse("the saved state does not fit the model");
  const Status status = check(dal_state_set(run, bytes + own, size - own));
  if (status != Status::ok)
    return status;
  std::memcpy(&head, bytes, sizeof head);
  std::memcpy(z.data(), bytes + sizeof head, z.size() * sizeof(double));
  phase = Phase(head.phase), moved = head.moved, start = head.start, t = head.t;
  return Status::ok;
}

} // namespace dalembert::fmi
