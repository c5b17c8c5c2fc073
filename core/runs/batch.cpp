#include "runs/batch.hpp"
#include "contact/contact_steps.hpp"
#include "runs/memory_pool.hpp"
#include "runs/run_variant.hpp"
#include "runs/thread_pool.hpp"
#include "steppers/sample_times.hpp"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

namespace dalembert {

namespace {

// Runs whose states a batched control receives in one call, and runs in one group. Both depend on nothing but the
// number of runs, so that the same ensemble makes the same calls on any number of threads.
constexpr std::size_t max_together = 512, max_in_one_group = 1024;

// SIMD batches with a control: all registers together take no more than this, so that the runs of large models are
// fewer.
constexpr std::size_t max_bytes = std::size_t(64) << 20;

// Memory of runs with a sampled control that advance together.
constexpr std::size_t max_sampled_bytes = std::size_t(512) << 20;

constexpr std::int64_t steps_between_checks = 4096; // of stagnation

const double *row_of(const double *array, std::size_t row, std::size_t width) { return array + row * width; }

// whether events are to be looked at outside: their actions, outputs that are noise or not finite, accumulations
bool needs_caller(const EventRun &events, Outcome outcome) {
  return (outcome == Outcome::event && !events.ended) || events.failure.event >= 0 || events.came_again;
}

class Batch;

// the place of the samples of one run
struct Row {
  Batch &batch;
  std::size_t run, next;
};

// A run by itself, with what it does not share with others.
struct Member {
  const std::size_t number;
  const ModelData *m;
  Run run;
  Samples left;
  Row row;
  Recorder recorder;
  StagnationMonitor stagnation;
  ModeLog *modes = nullptr;
  RunVariant own{};
  ControlSequence sequence{};
  FrictionRun friction{};
  EventRun events{};
  ContactSteps contacts{};
  Callbacks callbacks{};
  std::vector<double> effects, tau{}; // samples of its control
  SampledForces forces{};
  std::unique_ptr<Block> memory{};
  bool has_ended = false;

  Member(Batch &batch, std::size_t number);
  Member(const Member &) = delete;

  void add_forces(double effect, const double *sample, int nv) {
    effects.push_back(effect);
    tau.insert(tau.end(), sample, sample + nv);
    forces = {effects.data(), tau.data(), std::ptrdiff_t(effects.size())};
  }
};

class Batch {
public:
  Batch(const IntegratorSet &integrators, const ModelData &m, const ModelData &described, const Run &run,
        const BatchRequest &request, const BatchResults &to)
      : integrators(integrators), m(m), described(described), run(run), request(request), to(to), n(request.count),
        nq(std::size_t(m.nq)), nv(std::size_t(m.nv)), nx(std::size_t(m.nx)), times(std::size_t(request.samples.count)),
        begun(n, 0) {
    std::fill_n(to.outcomes, n, double(Outcome::stopped)); // until they have begun
    std::fill_n(to.reached, n, request.begin);
    std::fill_n(to.counts, batch_counts * n, 0.0);
  }
  Batch(const Batch &) = delete;

  void make();

private:
  void run_simd();
  using RunLanes = void (*)(const ModelData &, const Run &, std::byte *, double, double, const Samples &,
                            const RunQueue &);
  void run_fixed_steps(std::size_t bytes, RunLanes run_lanes);
  void add_statistics(const ContactSteps &contacts);
  bool has_common_steps() const;
  const double *sequence_of(std::size_t k) const;
  void run_with_batched_control();
  void run_sequentially(const std::vector<std::size_t> &which);
  void run_by_samples();
  void run_by_samples(std::size_t first, std::size_t last);
  void run_scalar(Block &work, std::size_t k);
  Outcome begin(Member &one, const Block &work);
  Outcome advance_scalar(Member &one, const Block &work, double until) const;
  void describe_friction(std::size_t k, FrictionRun &friction) const;
  Outcome continue_implicitly(Member &one, const Block &work, double until);
  void finish(Member &one, Outcome outcome);

  friend struct Member;
  void report(std::size_t k, Outcome outcome, double t, const Counts &c);
  void record(std::size_t k, std::size_t sample, const double *q, const double *v, const double *x);
  // not a number, where it will not get to; by the thread that takes it up
  void clear(std::size_t k);
  int method_called(const char *wanted) const;
  int workers(std::size_t parts) const {
    return int(std::min<std::size_t>(std::size_t(std::max(request.threads, 1)), parts));
  }
  std::vector<std::unique_ptr<Block>> blocks(int count, std::size_t bytes) const;
  DiscontinuityTimes discontinuities_of(std::size_t k) const;

  const IntegratorSet &integrators;
  const ModelData &m, &described;
  const Run &run;
  const BatchRequest &request;
  const BatchResults &to;
  const std::size_t n, nq, nv, nx, times;
  std::vector<unsigned char> begun;
  std::mutex contact_statistics;

  // runs from one number to another, one after the other, for lanes of a SIMD batch
  struct Queue {
    Batch &batch;
    std::atomic<std::size_t> &next;
    std::size_t last;
    RunVariant own{};
    RunQueue plain();
  };
};

void Batch::clear(std::size_t k) {
  if (begun[k])
    return;
  begun[k] = 1;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  std::fill_n(to.q + k * times * nq, times * nq, none);
  std::fill_n(to.v + k * times * nv, times * nv, none);
  std::fill_n(to.x + k * times * nx, times * nx, none);
}

void Batch::report(std::size_t k, Outcome outcome, double t, const Counts &c) {
  to.outcomes[k] = double(outcome);
  to.reached[k] = t;
  const std::int64_t columns[batch_counts] = {c.steps, c.rejected, c.evaluations, c.jacobians, c.missed,
                                              c.factorizations};
  for (std::size_t j = 0; j < batch_counts; ++j)
    to.counts[batch_counts * k + j] = double(columns[j]);
}

void Batch::record(std::size_t k, std::size_t sample, const double *q, const double *v, const double *x) {
  const std::size_t row = k * times + sample;
  std::copy_n(q, nq, to.q + row * nq);
  std::copy_n(v, nv, to.v + row * nv);
  std::copy_n(x, nx, to.x + row * nx);
}

DiscontinuityTimes Batch::discontinuities_of(std::size_t k) const {
  if (!request.discontinuities)
    return run.discontinuities;
  const std::int64_t *span = request.spans + k;
  return {request.discontinuities + span[0], std::ptrdiff_t(span[1] - span[0])};
}

// values of the control of a run
const double *Batch::sequence_of(std::size_t k) const {
  const ControlSequence *control = run.conditions.sequence;
  if (!control || !request.sequences)
    return control ? control->values : nullptr;
  return row_of(request.sequences, k, std::size_t(control->rows()) * std::size_t(control->channels));
}

std::vector<std::unique_ptr<Block>> Batch::blocks(int count, std::size_t bytes) const {
  std::vector<std::unique_ptr<Block>> all;
  for (int k = 0; k < count; ++k)
    all.push_back(std::make_unique<Block>(bytes));
  return all;
}

// the number of a method
int Batch::method_called(const char *wanted) const {
  int method = 0;
  while (std::strcmp(integrators.name(method), wanted))
    ++method;
  return method;
}

void Batch::make() {
  if (request.sampling) {
    run_by_samples();
    for (std::size_t k = 0; k < n; ++k)
      clear(k);
    return;
  }
  const bool controlled = run.conditions.callbacks, batched = request.control;
  const bool alone_only = run.friction || run.events || run.contacts; // with changes of their own
  const bool simd = !alone_only && !std::strcmp(integrators.name(run.method), "dop853") && controlled == batched &&
                    integrators.supports_simd_batch(m, run, request.numbers);
  const bool fixed = n && !alone_only && !std::strcmp(integrators.name(run.method), "rk4") && has_common_steps() &&
                     integrators.supports_fixed_steps(m, run, request.numbers);
  const bool contacts = n && run.contacts && !run.friction && !run.events && has_common_steps() &&
                        integrators.supports_contact_lanes(m, run, request.numbers);
  if (fixed)
    run_fixed_steps(integrators.fixed_step_bytes(m), integrators.run_fixed_steps);
  else if (contacts)
    run_fixed_steps(integrators.contact_lanes_bytes(m), integrators.run_contact_lanes);
  else if (simd && batched && !request.control->on_any_thread)
    run_with_batched_control();
  else if (simd)
    run_simd();
  std::vector<std::size_t> alone;
  for (std::size_t k = 0; k < n; ++k)
    if (!(simd || fixed || contacts) || to.outcomes[k] == double(Outcome::stiff))
      alone.push_back(k);
  if (!alone.empty())
    run_sequentially(alone);
  for (std::size_t k = 0; k < n; ++k) // that were stopped before they began
    clear(k);
}

// ---- SIMD batches

RunQueue Batch::Queue::plain() {
  const auto take = [](void *self, SimdRunInput &one) {
    Queue &queue = *static_cast<Queue *>(self);
    Batch &all = queue.batch;
    const std::size_t k = queue.next++, samples = k * all.times;
    if (k >= queue.last)
      return false;
    const BatchRequest &request = all.request;
    all.clear(k);
    one.number = std::ptrdiff_t(k);
    one.q = row_of(request.q, k, all.nq), one.v = row_of(request.v, k, all.nv), one.x = row_of(request.x, k, all.nx);
    const std::size_t numbers = std::size_t(all.m.parameter_maps.count),
                      parameters = std::size_t(all.m.parameter_count);
    one.variant = request.numbers ? &queue.own.made(all.described, row_of(request.numbers, k, numbers)) : nullptr;
    const ControlSequence *control = all.run.conditions.sequence;
    one.parameters = request.parameters                    ? row_of(request.parameters, k, parameters)
                     : control && control->sets_parameters ? all.run.conditions.parameters
                                                           : nullptr;
    one.samples_q = all.to.q + samples * all.nq;
    one.samples_v = all.to.v + samples * all.nv;
    one.samples_x = all.to.x + samples * all.nx;
    one.control = all.sequence_of(k);
    one.discontinuities = all.discontinuities_of(k);
    return true;
  };
  const auto ended = [](void *self, const SimdRunInput &one, Outcome outcome, double t, const Counts &c) {
    static_cast<Queue *>(self)->batch.report(std::size_t(one.number), outcome, t, c);
  };
  const auto touched = [](void *self, const ContactSteps &contacts) {
    static_cast<Queue *>(self)->batch.add_statistics(contacts);
  };
  return {this, take, ended, batch.request.stop, touched};
}

// every thread has a register full of runs, and takes up the next as soon as one has come to its end
void Batch::run_simd() {
  const std::size_t width = std::size_t(integrators.lanes);
  const int parts = workers((n + width - 1) / width);
  const auto memory = blocks(parts, integrators.simd_batch_bytes(m, 1));
  std::atomic<std::size_t> next{0};
  const auto part = [&](int worker) {
    Queue queue{*this, next, n};
    integrators.run_simd_batch(m, run, memory[std::size_t(worker)]->data, request.begin, request.until, request.samples,
                               queue.plain(), 1, request.control);
  };
  ThreadPool::run(parts, part, request.stop);
}

// rk4: whether all samples are discontinuities, common to all runs, so that steps end there
bool Batch::has_common_steps() const {
  const DiscontinuityTimes first = discontinuities_of(0);
  for (std::size_t k = 1; request.discontinuities && k < n; ++k) {
    const DiscontinuityTimes other = discontinuities_of(k);
    if (!std::equal(first.times, first.times + first.count, other.times, other.times + other.count))
      return false;
  }
  const double *samples = request.samples.times;
  return std::all_of(samples, samples + request.samples.count, [&](double t) {
    const double *last = first.times + first.count, *next = std::lower_bound(first.times, last, t);
    return t == request.begin || t == request.until || (next != last && is_same_time(*next, t)) ||
           (next != first.times && is_same_time(next[-1], t));
  });
}

void Batch::add_statistics(const ContactSteps &contacts) {
  const std::lock_guard<std::mutex> alone(contact_statistics);
  run.contacts->add_statistics(contacts);
}

// every thread has a register full of runs, which take the same steps
void Batch::run_fixed_steps(std::size_t bytes, RunLanes run_lanes) {
  const std::size_t width = std::size_t(integrators.lanes);
  const int parts = workers((n + width - 1) / width);
  const auto memory = blocks(parts, bytes);
  std::atomic<std::size_t> next{0};
  Run common = run;
  common.discontinuities = discontinuities_of(0);
  const auto part = [&](int worker) {
    Queue queue{*this, next, n};
    run_lanes(m, common, memory[std::size_t(worker)]->data, request.begin, request.until, request.samples,
              queue.plain());
  };
  ThreadPool::run(parts, part, request.stop);
}

// every thread has many registers full of runs, which advance side by side
void Batch::run_with_batched_control() {
  const std::size_t width = std::size_t(integrators.lanes), groups = (n + max_in_one_group - 1) / max_in_one_group;
  const std::size_t largest = (n + groups - 1) / groups,
                    each = integrators.simd_batch_bytes(m, 2) - integrators.simd_batch_bytes(m, 1);
  const std::size_t wanted = (std::min(largest, max_together) + width - 1) / width;
  const int packs = int(std::clamp<std::size_t>(max_bytes / each, 1, wanted)), parts = workers(groups);
  const auto memory = blocks(parts, integrators.simd_batch_bytes(m, packs));
  std::atomic<std::size_t> next_group{0};
  const auto part = [&](int worker) {
    for (std::size_t group = next_group++; group < groups; group = next_group++) {
      std::atomic<std::size_t> next{group * n / groups};
      Queue queue{*this, next, (group + 1) * n / groups};
      integrators.run_simd_batch(m, run, memory[std::size_t(worker)]->data, request.begin, request.until,
                                 request.samples, queue.plain(), packs, request.control);
    }
  };
  ThreadPool::run(parts, part, request.stop);
}

// ---- one by one

// some or all of the runs, each by itself; callbacks have one thread
void Batch::run_sequentially(const std::vector<std::size_t> &which) {
  const Callbacks *callbacks = run.conditions.callbacks;
  const int parts = callbacks && !callbacks->on_any_thread ? 1 : workers(which.size());
  const auto memory = blocks(parts, integrators.bytes(m, run.method));
  std::atomic<std::size_t> next{0};
  const auto part = [&](int worker) {
    for (std::size_t k = next++; k < which.size(); k = next++)
      run_scalar(*memory[std::size_t(worker)], which[k]);
  };
  ThreadPool::run(parts, part, request.stop);
}

// to a time, unless the run stagnates
Outcome Batch::advance_scalar(Member &one, const Block &work, double until) const {
  Outcome outcome;
  do {
    outcome = integrators.advance(*one.m, one.run, work.data, until, steps_between_checks, one.left, one.recorder);
    if (one.modes)
      one.modes->take(*one.run.friction);
    if (one.modes && one.modes->has_strong_gain) // such a run is made alone, with its notes
      return Outcome::undecided;
    if (one.run.events && needs_caller(*one.run.events, outcome))
      return Outcome::undecided;
  } while (outcome == Outcome::paused && !one.stagnation.is_stagnant(one.run.counts.steps, one.run.t, request.until));
  return outcome == Outcome::paused ? Outcome::stagnated : outcome;
}

// friction and stops of a run, with undetermined modes
void Batch::describe_friction(std::size_t k, FrictionRun &friction) const {
  friction = *run.friction;
  if (!request.friction)
    return;
  const double *given = row_of(request.friction, k, friction_columns * friction.rows.size() + 1);
  for (FrictionRow &row : friction.rows) {
    row.sliding_friction = given[0], row.static_friction = given[1], row.static_ratio = given[2];
    row.lower = given[3], row.upper = given[4], row.restitution = given[5], row.rest_tol = given[6];
    given += friction_columns;
  }
  friction.weight = *given;
}

Member::Member(Batch &batch, std::size_t number)
    : number(number), m(&batch.m), run(batch.run), left(batch.request.samples), row{batch, number, 0},
      recorder{[](void *self, double, const double *q, const double *v, const double *x, const double *) {
                 Row &place = *static_cast<Row *>(self);
                 place.batch.record(place.run, place.next++, q, v, x);
                 return true;
               },
               &row, batch.request.stop},
      stagnation{0, batch.request.begin} {
  const BatchRequest &request = batch.request;
  if (request.numbers)
    m = &own.made(batch.described, row_of(request.numbers, number, std::size_t(batch.m.parameter_maps.count)));
  run.started = 0;
  run.counts = Counts{};
  run.discontinuities = batch.discontinuities_of(number);
  Conditions &conditions = run.conditions;
  if (conditions.sequence) {
    sequence = *conditions.sequence;
    sequence.values = batch.sequence_of(number);
    conditions.sequence = &sequence;
  }
  if (request.parameters)
    conditions.parameters = row_of(request.parameters, number, std::size_t(batch.m.parameter_count));
  if (run.friction) {
    batch.describe_friction(number, friction);
    run.friction = &friction;
    modes = batch.to.modes ? batch.to.modes + number : nullptr;
  }
  if (run.events) {
    events = *run.events;
    run.events = &events;
  }
  if (run.contacts) {
    contacts = run.contacts->fresh();
    contacts.logs = false;
    run.contacts = &contacts;
  }
  if (conditions.callbacks) {
    callbacks = *conditions.callbacks;
    callbacks.run = request.run_numbers ? request.run_numbers[number] : std::int64_t(number);
    conditions.callbacks = &callbacks;
  }
  if (request.sampling)
    conditions.sampled_forces = &forces;
}

// starts a run in its memory
Outcome Batch::begin(Member &one, const Block &work) {
  const std::size_t k = one.number;
  work.open();
  std::memset(work.data, 0, work.size);
  if (run.friction)
    integrators.prepare_friction(*one.m, one.run, work.data);
  if (run.events)
    integrators.prepare_events(*one.m, one.run, work.data);
  const Outcome outcome = integrators.start(*one.m, one.run, work.data, request.begin, row_of(request.q, k, nq),
                                            row_of(request.v, k, nv), row_of(request.x, k, nx));
  if (outcome == Outcome::reached && one.left.count && one.left.times[0] <= request.begin) {
    const double *parts[6];
    integrators.state(*one.m, one.run, work.data, parts);
    one.recorder.record(one.recorder.self, request.begin, parts[0], parts[1], parts[2], nullptr);
    one.left.next = 1;
  }
  return outcome;
}

// a run that turned out to be stiff; its memory is another one from here on
Outcome Batch::continue_implicitly(Member &one, const Block &work, double until) {
  const double *parts[6];
  integrators.state(*one.m, one.run, work.data, parts);
  one.run.method = method_called("radau");
  auto implicit = std::make_unique<Block>(integrators.bytes(*one.m, one.run.method));
  implicit->open();
  std::memset(implicit->data, 0, implicit->size);
  one.run.detect_stiffness = false;
  one.run.started = 0;
  one.run.usual_min_pivot = 0.0;
  const Outcome outcome = integrators.start(*one.m, one.run, implicit->data, one.run.t, parts[0], parts[1], parts[2]);
  one.memory = std::move(implicit);
  return outcome == Outcome::reached ? advance_scalar(one, *one.memory, until) : outcome;
}

// reports the end of a run
void Batch::finish(Member &one, Outcome outcome) {
  const std::size_t k = one.number;
  one.has_ended = true;
  if (outcome == Outcome::callback_failed && request.stop())
    outcome = Outcome::stopped;
  if (run.events && outcome == Outcome::callback_failed && one.events.failure.event >= 0)
    outcome = Outcome::undecided;
  if (to.events)
    to.events[k] = std::move(one.events.log);
  if (run.contacts)
    add_statistics(one.contacts);
  if (to.tau)
    std::copy(one.tau.begin(), one.tau.end(), to.tau + k * std::size_t(request.sampling->count) * nv);
  report(k, outcome, one.run.t, one.run.counts);
  if (outcome == Outcome::callback_failed && request.failed)
    request.failed(request.self, k);
}

void Batch::run_scalar(Block &work, std::size_t k) {
  Member one(*this, k);
  clear(k);
  if (request.stop()) // samples of a SIMD batch, if there are any, are kept
    return report(k, Outcome::stopped, std::max(to.reached[k], request.begin), one.run.counts);
  if (run.conditions.callbacks && request.starting)
    request.starting(request.self, k);
  Outcome outcome = begin(one, work);
  if (outcome == Outcome::reached)
    outcome = advance_scalar(one, work, request.until);
  if (outcome == Outcome::stiff)
    outcome = continue_implicitly(one, work, request.until);
  finish(one, outcome);
}

// ---- a sampled control

// Groups of runs depend on nothing but the number of runs and the model, so that the same ensemble makes the same calls
// on any number of threads.
void Batch::run_by_samples() {
  const std::size_t fitting = std::max<std::size_t>(max_sampled_bytes / integrators.bytes(m, run.method), 1),
                    groups = (n + fitting - 1) / fitting;
  std::fill_n(to.tau, n * std::size_t(request.sampling->count) * nv, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t group = 0; group < groups; ++group)
    run_by_samples(group * n / groups, (group + 1) * n / groups);
}

void Batch::run_by_samples(std::size_t first, std::size_t last) {
  const SampleTimes &samples = *request.sampling;
  std::vector<std::unique_ptr<Member>> members;
  for (std::size_t k = first; k < last && !request.stop(); ++k) {
    clear(k);
    members.push_back(std::make_unique<Member>(*this, k));
    members.back()->memory = std::make_unique<Block>(integrators.bytes(m, run.method));
  }
  const Callbacks *callbacks = run.conditions.callbacks;
  std::vector<double> t, q, v, x, tau;
  std::vector<std::ptrdiff_t> numbers;
  std::vector<unsigned char> failed;
  std::vector<Member *> active;
  for (const auto &each : members)
    active.push_back(each.get());
  for (std::ptrdiff_t sample = 0; sample < samples.count && !active.empty(); ++sample) {
    const std::size_t rows = active.size();
    t.clear(), q.clear(), v.clear(), x.clear(), numbers.clear();
    for (const Member *one : active) {
      const std::size_t k = one->number;
      const double *parts[6] = {row_of(request.q, k, nq), row_of(request.v, k, nv), row_of(request.x, k, nx)};
      if (sample)
        integrators.state(*one->m, one->run, one->memory->data, parts);
      t.push_back(sample ? one->run.t : request.begin);
      q.insert(q.end(), parts[0], parts[0] + nq);
      v.insert(v.end(), parts[1], parts[1] + nv);
      x.insert(x.end(), parts[2], parts[2] + nx);
      numbers.push_back(std::ptrdiff_t(k));
    }
    tau.assign(rows * nv, 0.0);
    failed.assign(rows, 0);
    const bool goes_on = request.control->evaluate(request.control->self, std::ptrdiff_t(rows), numbers.data(),
                                                   t.data(), q.data(), v.data(), x.data(), tau.data(), failed.data());
    const double until =
        sample + 1 < samples.count ? std::min(samples.times[sample + 1], request.until) : request.until;
    std::vector<Outcome> outcomes(rows, Outcome::stopped);
    for (std::size_t k = 0; k < rows && goes_on; ++k)
      if (failed[k])
        outcomes[k] = Outcome::callback_failed;
      else
        active[k]->add_forces(samples.effects[sample], tau.data() + k * nv, m.nv);
    std::atomic<std::size_t> next{0};
    const auto part = [&](int) {
      for (std::size_t k = next++; k < rows; k = next++) {
        Member &one = *active[k];
        if (failed[k] || request.stop())
          continue;
        Outcome outcome = sample ? Outcome::reached : begin(one, *one.memory);
        if (outcome == Outcome::reached)
          outcome = advance_scalar(one, *one.memory, until);
        if (outcome == Outcome::stiff)
          outcome = continue_implicitly(one, *one.memory, until);
        outcomes[k] = outcome;
      }
    };
    if (goes_on)
      ThreadPool::run(callbacks && !callbacks->on_any_thread ? 1 : workers(rows), part, request.stop);
    std::vector<Member *> left;
    for (std::size_t k = 0; k < rows; ++k)
      if (outcomes[k] == Outcome::reached && active[k]->run.t < request.until)
        left.push_back(active[k]);
      else
        finish(*active[k], outcomes[k]);
    active = std::move(left);
  }
}

} // namespace

void run_batch(const IntegratorSet &integrators, const ModelData &m, const ModelData &described, const Run &run,
               const BatchRequest &request, const BatchResults &results) {
  Batch(integrators, m, described, run, request, results).make();
}

} // namespace dalembert
