// Runs for those who integrate themselves, and saved states of runs.
#include "border/run.hpp"
#include "runs/evaluate_states.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

using namespace dalembert;
using namespace dalembert::border;

void dal_run::put(double t, const double *q1, const double *v1, const double *x1) {
  check_started();
  if (friction)
    throw CallError{DAL_BAD_CALL, "friction and stops have modes, which belong to a run: use dal_advance"};
  const auto finite = [](const double *values, std::int32_t count) {
    return std::all_of(values, values + count, [](double value) { return std::isfinite(value); });
  };
  if (!std::isfinite(t) || !finite(q1, data.nq) || !finite(v1, data.nv) || !finite(x1, data.nx))
    throw CallError{DAL_BAD_VALUE, "the state is not finite"};
  std::copy(q1, q1 + data.nq, q.begin()), std::copy(v1, v1 + data.nv, v.begin()), std::copy(x1, x1 + data.nx, x.begin());
  put_time = t, is_put = true, failed = false, outputs_known = false;
}

void dal_run::derivatives(double *dq, double *a, double *dx) {
  check_started();
  const State now = state();
  Call call;
  call.take(ArgumentKind::q) = {now.q, 0, data.nq};
  call.take(ArgumentKind::v) = {now.v, 0, data.nv};
  if (dq) {
    call.kernel = Kernel::coordinate_rates;
    call.outputs = 1;
    call.out[0] = {dq, 0, data.nq};
    evaluate(call);
  }
  if (!a && !dx)
    return;
  call.kernel = Kernel::report;
  call.outputs = int(ReportPart::count);
  for (int k = 0; k < call.outputs; ++k)
    call.out[k] = {nullptr, 0, 0};
  if (a)
    call.out[int(ReportPart::a)] = {a, 0, data.nv};
  if (dx)
    call.out[int(ReportPart::dx)] = {dx, 0, data.nx};
  call.take(ArgumentKind::t) = {&now.t, 0, 1};
  call.take(ArgumentKind::x) = {now.x, 0, data.nx};
  call.conditions = is_put ? &conditions : &run.conditions;
  evaluate(call);
  const auto finite = [](const double *values, std::int32_t count) {
    return !values || std::all_of(values, values + count, [](double value) { return std::isfinite(value); });
  };
  if (!finite(a, data.nv) || !finite(dx, data.nx))
    throw CallError{DAL_NOT_FINITE, "accelerations are not finite"};
}

void dal_run::project(double *q1, double *v1, double *x1) {
  check_started();
  if (!is_put) {
    const State now = state();
    put(now.t, std::vector<double>(now.q, now.q + data.nq).data(), std::vector<double>(now.v, now.v + data.nv).data(),
        std::vector<double>(now.x, now.x + data.nx).data());
  }
  apply_changes();
  const State now = state();
  if (q1)
    std::copy(now.q, now.q + data.nq, q1);
  if (v1)
    std::copy(now.v, now.v + data.nv, v1);
  if (x1)
    std::copy(now.x, now.x + data.nx, x1);
}

void dal_run::drift(double &positions, double &rates) {
  check_started();
  const State now = state();
  positions = rates = 0.0;
  std::vector<double> residual(std::size_t(data.nc)), residual_rate(std::size_t(data.nc));
  Call call;
  call.kernel = Kernel::report;
  call.outputs = int(ReportPart::count);
  for (int k = 0; k < call.outputs; ++k)
    call.out[k] = {nullptr, 0, 0};
  call.out[int(ReportPart::residual)] = {residual.data(), 0, data.nc};
  call.out[int(ReportPart::residual_rate)] = {residual_rate.data(), 0, data.nc};
  call.take(ArgumentKind::q) = {now.q, 0, data.nq};
  call.take(ArgumentKind::v) = {now.v, 0, data.nv};
  call.take(ArgumentKind::x) = {now.x, 0, data.nx};
  call.take(ArgumentKind::t) = {&now.t, 0, 1};
  call.conditions = is_put ? &conditions : &run.conditions;
  evaluate(call);
  if (data.nq != data.nv) { // quaternions whose length is not one
    std::vector<double> unit(std::size_t(data.nq)), still(std::size_t(data.nv));
    Call normalized;
    normalized.kernel = Kernel::integrate;
    normalized.outputs = 1;
    normalized.out[0] = {unit.data(), 0, data.nq};
    normalized.take(ArgumentKind::q) = {now.q, 0, data.nq};
    normalized.take(ArgumentKind::v) = {still.data(), 0, data.nv};
    evaluate(normalized);
    for (std::int32_t k = 0; k < data.nq; ++k)
      positions = std::max(positions, std::fabs(unit[std::size_t(k)] - now.q[k]));
  }
  for (std::int32_t k = 0; k < data.nc; ++k) {
    if (data.holonomic[k])
      positions = std::max(positions, std::fabs(residual[std::size_t(k)]));
    rates = std::max(rates, std::fabs(residual_rate[std::size_t(k)]));
  }
}

void dal_run::motion_many(std::int64_t n, const double *q1, const double *v1, const double *tau, double *a) {
  check_started();
  if (n < 0)
    throw CallError{DAL_BAD_VALUE, "the number of states is negative"};
  if (n == 0 || data.nv == 0)
    return;
  BlockPool packs;
  const State now = state();
  Call call;
  call.kernel = Kernel::motion;
  call.outputs = 1;
  call.out[0] = {a, data.nv, data.nv};
  call.take(ArgumentKind::q) = {q1, data.nq, data.nq};
  call.take(ArgumentKind::v) = {v1, data.nv, data.nv};
  call.take(ArgumentKind::x) = {now.x, 0, data.nx};
  call.take(ArgumentKind::t) = {&now.t, 0, 1};
  if (tau)
    call.take(ArgumentKind::tau) = {tau, data.nv, data.nv};
  call.conditions = is_put ? &conditions : &run.conditions;
  evaluate_states(kernels, data, call, n, 1, {pool, packs}, Stop{});
}

// ---- saved states

namespace {

constexpr char magic[8] = {'D', 'A', 'L', 'S', 'T', 'A', 'T', '1'};

struct Writer {
  std::string bytes;
  template <class T> void operator()(const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  template <class T> void operator()(const std::vector<T> &values) {
    (*this)(std::uint64_t(values.size()));
    bytes.append(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
  }
};

struct Reader {
  const char *at, *end;
  void take(void *to, std::size_t size) {
    if (size > std::size_t(end - at))
      throw CallError{DAL_BAD_VALUE, "the saved state ends too early"};
    if (size)
      std::memcpy(to, at, size);
    at += size;
  }
  template <class T> void operator()(T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    take(static_cast<void *>(&value), sizeof value);
  }
  template <class T> void operator()(std::vector<T> &values) {
    std::uint64_t count;
    (*this)(count);
    if (count > std::size_t(end - at) / sizeof(T))
      throw CallError{DAL_BAD_VALUE, "the saved state ends too early"};
    values.resize(std::size_t(count));
    take(values.data(), values.size() * sizeof(T));
  }
};

// what belongs to friction and stops at a state
template <class Archive, class Friction> void go_through(Archive &archive, Friction &f) {
  archive(f.modes.sign), archive(f.modes.side), archive(f.modes.stuck), archive(f.modes.immobile);
  archive(f.modes.locked), archive(f.modes.holding_laws), archive(f.modes.sliding_laws);
  archive(f.holding.holds), archive(f.holding.dependent), archive(f.holding.unbounded_below);
  archive(f.holding.unbounded_above), archive(f.holding.coupling), archive(f.holding.scale), archive(f.holding.group);
  archive(f.progress.times), archive(f.progress.changed), archive(f.progress.rest_tol_factor);
  archive(f.progress.hold_time), archive(f.progress.held_until), archive(f.progress.next_review);
  archive(f.progress.held);
  archive(f.values), archive(f.passed), archive(f.parameters);
}

std::uint64_t build_sum() {
  const char text[] = __DATE__ __TIME__;
  return checksum(text, sizeof text) ^ sizeof(Run);
}

} // namespace

std::string dal_run::saved() const {
  Writer writer;
  writer.bytes.assign(magic, sizeof magic);
  writer(build_sum()), writer(model->file.sum), writer(started), writer(failed), writer(is_put), writer(changed);
  writer(put_time), writer(q), writer(v), writer(x), writer(parameters), writer(mapped), writer(efforts);
  if (started) {
    writer(run);
    writer(friction != nullptr);
    if (friction)
      go_through(writer, *friction);
    memory->open();
    writer.bytes.append(reinterpret_cast<const char *>(memory->data), memory->size);
  }
  return std::move(writer.bytes);
}

void dal_run::restore(const char *bytes, std::size_t size) {
  Reader reader{bytes, bytes + size};
  char mark[sizeof magic];
  reader(mark);
  std::uint64_t build, sum;
  reader(build), reader(sum);
  if (std::memcmp(mark, magic, sizeof magic) || build != build_sum())
    throw CallError{DAL_BAD_VERSION, "the bytes are no state of this build of the library"};
  if (sum != model->file.sum)
    throw CallError{DAL_BAD_VALUE, "the state is of another model"};
  bool was_started, has_friction;
  reader(was_started), reader(failed), reader(is_put), reader(changed), reader(put_time);
  const std::size_t sizes[] = {q.size(), v.size(), x.size(), parameters.size(), mapped.size(), efforts.size()};
  std::vector<double> *const parts[] = {&q, &v, &x, &parameters, &mapped, &efforts};
  for (int k = 0; k < 6; ++k) {
    reader(*parts[k]);
    if (parts[k]->size() != sizes[k])
      throw CallError{DAL_BAD_VALUE, "the state does not fit the model"};
  }
  started = outputs_known = false;
  if (!was_started)
    return;
  friction.reset();
  use_parameters();
  set_conditions();
  Run kept;
  reader(kept), reader(has_friction);
  run = kept;
  run.conditions = conditions;
  run.atol = tolerances.data();
  run.discontinuities = {model->file.breaks.data(), std::ptrdiff_t(model->file.breaks.size())};
  run.initial_branches = run.fixed_branches = nullptr;
  run.friction = nullptr, run.events = nullptr, run.contacts = nullptr, run.contact_events = nullptr;
  make_friction();
  if (has_friction != bool(friction) || !integrators.name(run.method) ||
      memory->size < integrators.bytes(data, run.method))
    throw CallError{DAL_BAD_VALUE, "the state does not fit the model"};
  if (friction) {
    go_through(reader, *friction);
    friction->undetermined = false;
  }
  memory->open();
  reader.take(memory->data, memory->size);
  if (friction) {
    const std::vector<double> values = friction->values, under = friction->parameters;
    run.friction = friction.get();
    integrators.prepare_friction(data, run, memory->data);
    if (values.size() != friction->values.size() || under.size() != friction->parameters.size())
      throw CallError{DAL_BAD_VALUE, "the state does not fit the model"};
    friction->values = values, friction->parameters = under;
  }
  started = true;
}
