#include "bind/batch.hpp"
#include "bind/kernel_methods.hpp"
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

namespace dalembert::bind {

namespace {

// Runs that a control is asked about together, and runs in one go. Both depend on nothing but the number of runs, so that the
// same ensemble asks the same questions on any number of threads.
constexpr std::size_t max_together = 512, max_in_one_go = 1024;

// In lanes of a control: all registers together take no more than this, so that the runs of large models are fewer.
constexpr std::size_t max_bytes = std::size_t(64) << 20;

double *data_of(const nb::object &array) { return static_cast<double *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(array.ptr()))); }

nb::object empty(std::size_t rows, std::size_t columns) {
  const npy_intp shape[2] = {npy_intp(rows), npy_intp(columns)};
  PyObject *array = PyArray_SimpleNew(2, const_cast<npy_intp *>(shape), NPY_DOUBLE);
  if (!array)
    throw nb::python_error();
  return nb::steal(array);
}

nb::object reshaped(const nb::object &array, std::initializer_list<std::size_t> shape) {
  nb::list sizes;
  for (const std::size_t size : shape)
    sizes.append(size);
  return array.attr("reshape")(nb::tuple(sizes));
}

nb::object copied(const double *data, std::ptrdiff_t rows, std::size_t width) { return doubles(data, {rows, npy_intp(width)}); }

} // namespace

nb::object doubles(const double *data, std::initializer_list<npy_intp> shape) {
  PyObject *array = PyArray_SimpleNew(int(shape.size()), const_cast<npy_intp *>(shape.begin()), NPY_DOUBLE);
  if (!array)
    throw nb::python_error();
  auto *to = reinterpret_cast<PyArrayObject *>(array);
  if (PyArray_SIZE(to))
    std::memcpy(PyArray_DATA(to), data, std::size_t(PyArray_SIZE(to)) * sizeof(double));
  return nb::steal(array);
}

Batch::Batch(const BoundModel &model, const Run &run, Scope &scope, const BatchRequest &task)
    : model(model), run(run), scope(scope), task(task), m(model.data), samples{task.times.data(), std::ptrdiff_t(task.times.size()), 0},
      n(m.nq ? task.q.size() / std::size_t(m.nq) : 0), nq(std::size_t(m.nq)), nv(std::size_t(m.nv)), nx(std::size_t(m.nx)),
      q_array(empty(n, task.times.size() * nq)), v_array(empty(n, task.times.size() * nv)), x_array(empty(n, task.times.size() * nx)),
      outcomes_array(empty(n, 1)), reached_array(empty(n, 1)), counts_array(empty(n, 5)),
      q(data_of(q_array)), v(data_of(v_array)), x(data_of(x_array)), outcomes(data_of(outcomes_array)), reached(data_of(reached_array)),
      counts(data_of(counts_array)), begun(n, 0) {
  std::fill_n(outcomes, n, double(Outcome::stopped)); // until they have begun
  std::fill_n(reached, n, task.begin);
  std::fill_n(counts, 5 * n, 0.0);
}

nb::tuple Batch::take() const {
  const std::size_t times = std::size_t(samples.count);
  return nb::make_tuple(reshaped(outcomes_array, {n}), reshaped(reached_array, {n}), counts_array, reshaped(q_array, {n, times, nq}),
                        reshaped(v_array, {n, times, nv}), reshaped(x_array, {n, times, nx}));
}

void Batch::clear(std::size_t k) {
  if (begun[k])
    return;
  begun[k] = 1;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const std::size_t times = std::size_t(samples.count);
  std::fill_n(q + k * times * nq, times * nq, none);
  std::fill_n(v + k * times * nv, times * nv, none);
  std::fill_n(x + k * times * nx, times * nx, none);
}

void Batch::report(std::size_t k, Outcome outcome, double t, const Counts &c) {
  outcomes[k] = double(outcome);
  reached[k] = t;
  const std::int64_t columns[5] = {c.steps, c.rejected, c.evaluations, c.jacobians, c.missed};
  for (std::size_t j = 0; j < 5; ++j)
    counts[5 * k + j] = double(columns[j]);
}

bool Batch::record(std::size_t k, std::size_t sample, const double *q_1, const double *v_1, const double *x_1) {
  const std::size_t place = k * std::size_t(samples.count) + sample;
  std::copy_n(q_1, nq, q + place * nq);
  std::copy_n(v_1, nv, v + place * nv);
  std::copy_n(x_1, nx, x + place * nx);
  return true;
}

void Batch::make() {
  const bool controlled = run.conditions.callbacks, asked = task.batched_control.is_valid();
  const bool lanes = !std::strcmp(model.integrators->name(run.method), "dop853") && controlled == asked &&
                     model.integrators->supports_simd_batch(m, run, task.numbers.has_value());
  if (lanes && asked)
    run_with_batched_control();
  else if (lanes)
    run_simd();
  std::vector<std::size_t> alone;
  for (std::size_t k = 0; k < n; ++k)
    if (!lanes || outcomes[k] == double(Outcome::stiff))
      alone.push_back(k);
  if (!alone.empty())
    run_sequentially(alone);
  for (std::size_t k = 0; k < n; ++k) // that it was stopped before
    clear(k);
}

// ---- in lanes

RunQueue Batch::Feed::plain() {
  const auto take = [](void *self, SimdRunInput &one) {
    Feed &feed = *static_cast<Feed *>(self);
    Batch &all = feed.batch;
    const std::size_t k = feed.next++, samples = k * std::size_t(all.samples.count);
    if (k >= feed.last)
      return false;
    const BatchRequest &task = all.task;
    all.clear(k);
    one.number = std::ptrdiff_t(k);
    one.q = row_of(task.q, k, all.m.nq), one.v = row_of(task.v, k, all.m.nv), one.x = row_of(task.x, k, all.m.nx);
    one.variant = task.numbers ? &feed.own.made(all.described(), row_of(*task.numbers, k, all.m.recipes.numbers)) : nullptr;
    one.parameters = task.parameters ? row_of(*task.parameters, k, all.m.parameter_count) : nullptr;
    one.samples_q = all.q + samples * all.nq;
    one.samples_v = all.v + samples * all.nv;
    one.samples_x = all.x + samples * all.nx;
    one.discontinuities = task.breaks_of(k, all.run.discontinuities);
    return true;
  };
  const auto ended = [](void *self, const SimdRunInput &one, Outcome outcome, double t, const Counts &c) {
    static_cast<Feed *>(self)->batch.report(std::size_t(one.number), outcome, t, c);
  };
  return {this, take, ended, batch.task.attention.stop()};
}

// every thread has a register full of runs, and takes up the next as soon as one has come to its end
void Batch::run_simd() {
  const int parts = workers((n + std::size_t(model.integrators->lanes) - 1) / std::size_t(model.integrators->lanes));
  std::vector<std::unique_ptr<Block>> blocks;
  for (int k = 0; k < parts; ++k)
    blocks.push_back(std::make_unique<Block>(model.integrators->simd_batch_bytes(m, 1)));
  std::atomic<std::size_t> next{0};
  const auto part = [&](int worker) {
    Feed feed{*this, next, n};
    model.integrators->run_simd_batch(m, run, blocks[std::size_t(worker)]->data, task.begin, task.until, samples, feed.plain(), 1, nullptr);
  };
  ThreadPool::run(parts, part, &task.attention);
}

// every thread has many registers full of runs, which go side by side
void Batch::run_with_batched_control() {
  const std::size_t width = std::size_t(model.integrators->lanes), goes = (n + max_in_one_go - 1) / max_in_one_go;
  const std::size_t largest = (n + goes - 1) / goes, each = model.integrators->simd_batch_bytes(m, 2) - model.integrators->simd_batch_bytes(m, 1);
  const std::size_t wanted = (std::min(largest, max_together) + width - 1) / width;
  const int packs = int(std::clamp<std::size_t>(max_bytes / each, 1, wanted)), parts = workers(goes);
  std::vector<std::unique_ptr<Block>> blocks;
  for (int k = 0; k < parts; ++k)
    blocks.push_back(std::make_unique<Block>(model.integrators->simd_batch_bytes(m, packs)));
  const auto asks = [](void *self, auto... given) { return static_cast<Batch *>(self)->ask(given...); };
  const BatchedControl control{this, asks};
  std::atomic<std::size_t> next_go{0};
  const auto part = [&](int worker) {
    for (std::size_t go = next_go++; go < goes; go = next_go++) {
      std::atomic<std::size_t> next{go * n / goes};
      Feed feed{*this, next, (go + 1) * n / goes};
      model.integrators->run_simd_batch(m, run, blocks[std::size_t(worker)]->data, task.begin, task.until, samples, feed.plain(), packs, &control);
    }
  };
  ThreadPool::run(parts, part, &task.attention);
}

bool Batch::ask(std::ptrdiff_t rows, const std::ptrdiff_t *runs, const double *t, const double *q_0, const double *v_0, const double *x_0, double *tau,
                unsigned char *failed) {
  const Acquired acquired;
  if (scope.failed() || task.attention.asked())
    return false;
  try {
    npy_intp count = rows, shape[2] = {rows, npy_intp(nv)};
    nb::object numbers = nb::steal(PyArray_SimpleNew(1, &count, NPY_INTP)), forces = nb::steal(PyArray_ZEROS(2, shape, NPY_DOUBLE, 0));
    if (!numbers || !forces)
      throw nb::python_error();
    std::copy_n(runs, rows, static_cast<npy_intp *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(numbers.ptr()))));
    const nb::object given[] = {doubles(t, {rows}), copied(q_0, rows, nq), copied(v_0, rows, nv), copied(x_0, rows, nx), numbers, forces};
    PyObject *arguments[std::size(given)];
    std::transform(std::begin(given), std::end(given), arguments, [](const nb::object &each) { return each.ptr(); });
    nb::object refused = nb::steal(acquire_or_block([&] { return PyObject_Vectorcall(task.batched_control.ptr(), arguments, std::size(given), nullptr); }));
    if (!refused)
      throw nb::python_error();
    std::copy_n(static_cast<const double *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(forces.ptr()))), std::size_t(rows) * nv, tau);
    for (nb::handle pair : nb::cast<nb::dict>(refused).items()) { // row: error
      const std::size_t row = nb::cast<std::size_t>(pair[0]);
      failed[row] = 1;
      errors.emplace_back(std::size_t(runs[row]), nb::borrow(pair[1]));
    }
    return true;
  } catch (nb::python_error &error) {
    error.restore();
  } catch (const nb::cast_error &) {
    PyErr_SetString(PyExc_TypeError, "a control of many states tells its errors as a dict by row");
  }
  scope.keep_error();
  return false;
}

// ---- one by one

// some or all of the runs, each by itself; what Python evaluates has one thread
void Batch::run_sequentially(const std::vector<std::size_t> &which) {
  const int parts = run.conditions.callbacks ? 1 : workers(which.size());
  std::vector<std::unique_ptr<Block>> blocks;
  for (int k = 0; k < parts; ++k)
    blocks.push_back(std::make_unique<Block>(model.integrators->bytes(m, run.method)));
  std::atomic<std::size_t> next{0};
  const auto part = [&](int worker) {
    for (std::size_t k = next++; k < which.size(); k = next++)
      run_scalar(*blocks[std::size_t(worker)], which[k]);
  };
  ThreadPool::run(parts, part, &task.attention);
}

// the number of a method
int Batch::method_called(const char *wanted) const {
  int method = 0;
  while (std::strcmp(model.integrators->name(method), wanted))
    ++method;
  return method;
}

void Batch::run_scalar(Block &work, std::size_t k) {
  RunVariant own;
  const ModelData &mine = task.numbers ? own.made(described(), row_of(*task.numbers, k, m.recipes.numbers)) : m;
  const IntegratorSet &steppers = *model.integrators;
  constexpr std::int64_t some = 4096;
  Run one = run;
  one.started = 0;
  one.counts = Counts{};
  one.discontinuities = task.breaks_of(k, run.discontinuities);
  if (task.parameters)
    one.conditions.parameters = row_of(*task.parameters, k, m.parameter_count);
  clear(k);
  Row row{*this, k, 0};
  const auto record = [](void *self, double, const double *q_1, const double *v_1, const double *x_1, const double *) {
    Row &to = *static_cast<Row *>(self);
    return to.batch.record(to.run, to.next++, q_1, v_1, x_1);
  };
  Recorder recorder{record, &row, task.attention.stop()};
  Samples left = samples;
  work.open();
  std::memset(work.data, 0, work.size);
  const double *parts[6];
  if (task.attention.asked()) // what it had done in lanes, if anything, is kept
    return report(k, Outcome::stopped, std::max(reached[k], task.begin), one.counts);
  Outcome outcome = steppers.start(mine, one, work.data, task.begin, row_of(task.q, k, m.nq), row_of(task.v, k, m.nv), row_of(task.x, k, m.nx));
  if (outcome == Outcome::reached && left.count && left.times[0] <= task.begin) {
    steppers.state(mine, one, work.data, parts);
    row.next = 1;
    this->record(k, 0, parts[0], parts[1], parts[2]);
    left.next = 1;
  }
  StagnationMonitor pace{0, task.begin};
  const auto advance = [&](std::byte *memory) {
    Outcome found;
    do
      found = steppers.advance(mine, one, memory, task.until, some, left, recorder);
    while (found == Outcome::paused && !pace.is_stagnant(one.counts.steps, one.t, task.until));
    return found == Outcome::paused ? Outcome::stagnated : found;
  };
  if (outcome == Outcome::reached)
    outcome = advance(work.data);
  if (outcome == Outcome::stiff) { // on with implicit steps
    steppers.state(mine, one, work.data, parts);
    one.method = method_called("radau");
    Block implicit(steppers.bytes(mine, one.method));
    implicit.open();
    std::memset(implicit.data, 0, implicit.size);
    one.detect_stiffness = false;
    one.started = 0;
    outcome = steppers.start(mine, one, implicit.data, one.t, parts[0], parts[1], parts[2]);
    if (outcome == Outcome::reached)
      outcome = advance(implicit.data);
  }
  if (outcome == Outcome::callback_failed && task.attention.asked())
    outcome = Outcome::stopped;
  report(k, outcome, one.t, one.counts);
  if (outcome == Outcome::callback_failed) {
    const Acquired acquired;
    if (nb::object error = scope.take_error(); error.is_valid())
      errors.emplace_back(k, std::move(error));
  }
}

} // namespace dalembert::bind
