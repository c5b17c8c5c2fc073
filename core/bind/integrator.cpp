#include "integrator.hpp"
#include "build.hpp"
#include "methods.hpp"
#include <cstring>
#include <algorithm>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <limits>
#include <memory>
#include <optional>
#include <string>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

using Bytes = nb::ndarray<const unsigned char, nb::c_contig, nb::device::cpu>;

nb::object doubles(const double *data, std::initializer_list<npy_intp> shape) {
  PyObject *array = PyArray_SimpleNew(int(shape.size()), const_cast<npy_intp *>(shape.begin()), NPY_DOUBLE);
  if (!array)
    throw nb::python_error();
  auto *to = reinterpret_cast<PyArrayObject *>(array);
  if (PyArray_SIZE(to))
    std::memcpy(PyArray_DATA(to), data, std::size_t(PyArray_SIZE(to)) * sizeof(double));
  return nb::steal(array);
}

// rows of numbers as they come in
struct Records {
  std::size_t nq, nv, nx;
  bool rates; // accelerations too
  std::vector<double> t, q, v, x, a;

  static bool record(void *self, double t, const double *q, const double *v, const double *x, const double *a) {
    Records &r = *static_cast<Records *>(self);
    r.t.push_back(t);
    r.q.insert(r.q.end(), q, q + r.nq);
    r.v.insert(r.v.end(), v, v + r.nv);
    r.x.insert(r.x.end(), x, x + r.nx);
    if (a)
      r.a.insert(r.a.end(), a, a + r.nv);
    return true;
  }
  nb::tuple take() {
    const npy_intp n = npy_intp(t.size());
    nb::tuple result = nb::make_tuple(doubles(t.data(), {n}), doubles(q.data(), {n, npy_intp(nq)}), doubles(v.data(), {n, npy_intp(nv)}),
                                      doubles(x.data(), {n, npy_intp(nx)}), doubles(a.data(), {npy_intp(nv ? a.size() / nv : 0), npy_intp(nv)}));
    for (std::vector<double> *each : {&t, &q, &v, &x, &a})
      each->clear();
    return result;
  }
};

// samples of many runs
struct Batch {
  std::size_t n, samples, nq, nv, nx;
  std::vector<double> q, v, x, outcomes, counts;

  void allocate() {
    constexpr double none = std::numeric_limits<double>::quiet_NaN(); // where a run has failed
    q.assign(n * samples * nq, none);
    v.assign(n * samples * nv, none);
    x.assign(n * samples * nx, none);
    outcomes.assign(n, 0.0);
    counts.assign(n * 4, 0.0);
  }
  void report(std::size_t k, Outcome outcome, const Counts &c) {
    outcomes[k] = double(outcome);
    const std::int64_t columns[4] = {c.steps, c.rejected, c.evaluations, c.jacobians};
    for (std::size_t j = 0; j < 4; ++j)
      counts[4 * k + j] = double(columns[j]);
  }
  nb::tuple take() {
    const npy_intp rows = npy_intp(n), times = npy_intp(samples);
    return nb::make_tuple(doubles(outcomes.data(), {rows}), doubles(counts.data(), {rows, 4}), doubles(q.data(), {rows, times, npy_intp(nq)}),
                          doubles(v.data(), {rows, times, npy_intp(nv)}), doubles(x.data(), {rows, times, npy_intp(nx)}));
  }
};

// writes samples of one run to its place in a batch
struct BatchRow {
  Batch &out;
  std::size_t run, next;
  static bool record(void *self, double, const double *q, const double *v, const double *x, const double *) {
    BatchRow &row = *static_cast<BatchRow *>(self);
    const std::size_t place = row.run * row.out.samples + row.next++;
    std::copy_n(q, row.out.nq, row.out.q.data() + place * row.out.nq);
    std::copy_n(v, row.out.nv, row.out.v.data() + place * row.out.nv);
    std::copy_n(x, row.out.nx, row.out.x.data() + place * row.out.nx);
    return true;
  }
};

class Integrator {
public:
  Integrator(nb::object owner, int method, double rtol, double atol, double max_step, double fixed_step, double spectral_radius,
             double damping, double stiffness, bool project, bool watch)
      : owner(owner), model(bound(owner.ptr())), memory(model->integrators->bytes(model->data, static_cast<Method>(method))),
        parameters(model->parameters), records{std::size_t(model->data.nq), std::size_t(model->data.nv), std::size_t(model->data.nx), true, {}, {}, {}, {}, {}} {
    std::memset(memory.data, 0, memory.size);
    run = Run{};
    run.method = static_cast<Method>(method);
    run.rtol = rtol;
    run.atol = atol;
    run.max_step = max_step;
    run.fixed_step = fixed_step;
    run.spectral_radius = spectral_radius;
    run.stabilization[0] = damping;
    run.stabilization[1] = stiffness;
    run.project = project;
    run.watch = watch;
    attach();
  }
  Integrator(const Integrator &) = delete;

  // marks of prescribed accelerations, speeds and positions; parameters; which chords hold
  void set_marks(const Bytes &given_, const Bytes &paced_, const Bytes &placed_) {
    const std::size_t nv = std::size_t(model->data.nv);
    if (given_.size() != nv || paced_.size() != nv || placed_.size() != nv)
      throw nb::value_error("the marks do not fit the model");
    given.assign(given_.data(), given_.data() + nv);
    paced.assign(paced_.data(), paced_.data() + nv);
    placed.assign(placed_.data(), placed_.data() + nv);
    attach();
  }
  void set_active(const Bytes &active_) {
    if (active_.size() != std::size_t(model->data.chord_count))
      throw nb::value_error("the marks do not fit the chords");
    active.assign(active_.data(), active_.data() + active_.size());
    attach();
  }
  void set_parameters(const Doubles &values) {
    if (values.size() != parameters.size())
      throw nb::value_error("the parameters do not fit the model");
    std::memcpy(parameters.data(), values.data(), values.size() * sizeof(double));
  }
  // function(t, q, v, x, laws, tau, loads) fills the last three
  void set_host(nb::object function, bool pushes) {
    host_function = function;
    host = {&Integrator::consult, this, pushes};
    const ModelData &m = model->data;
    std::vector<double> zeros(std::size_t(std::max({3 * m.hosted_laws, m.nv, 6 * m.users, 1})), 0.0);
    host_laws = doubles(zeros.data(), {m.hosted_laws, 3});
    host_tau = doubles(zeros.data(), {m.nv});
    host_loads = doubles(zeros.data(), {m.users, 6});
    attach();
  }

  // laws that are functions: addresses of compiled ones, or Python functions; each with numbers of inputs and outputs
  void set_functions(const nb::list &functions, const Integers &sizes) {
    function_calls.clear();
    function_selves.clear();
    hosted.clear();
    if (sizes.size() != 2 * functions.size())
      throw nb::value_error("every function needs its numbers of inputs and outputs");
    for (std::size_t k = 0; k < functions.size(); ++k) {
      const nb::object function = functions[k];
      const std::int32_t inputs = sizes.data()[2 * k], outputs = sizes.data()[2 * k + 1];
      if (inputs < 0 || inputs > most_inputs || outputs < 1 || outputs > most_outputs)
        throw nb::value_error("a law takes or gives more numbers than there is room for");
      if (PyLong_Check(function.ptr())) {
        using Plain = void (*)(const double *, double *);
        plain.push_back(reinterpret_cast<Plain>(static_cast<std::uintptr_t>(nb::cast<std::uint64_t>(function))));
        function_calls.push_back([](void *self, const double *in, double *out) { reinterpret_cast<Plain>(self)(in, out); });
        function_selves.push_back(reinterpret_cast<void *>(plain.back()));
        continue;
      }
      hosted.push_back(std::make_unique<HostedLaw>(HostedLaw{this, function, inputs, outputs}));
      function_calls.push_back(&Integrator::call_hosted);
      function_selves.push_back(hosted.back().get());
    }
    attach();
  }

  int start(double t, const Doubles &q, const Doubles &v, const Doubles &x) {
    check(q, v, x, 1);
    run.started = 0;
    run.stiff_signs = run.calm_signs = run.rejected_last = 0;
    return guarded([&] { return model->integrators->start(model->data, run, memory.data, t, q.data(), v.data(), x.data()); });
  }

  int advance(double until, std::int64_t most_steps, std::optional<Doubles> times) {
    Samples samples{nullptr, 0, 0};
    if (times)
      samples = {times->data(), std::ptrdiff_t(times->size()), 0};
    Recorder recorder{&Records::record, &records};
    return guarded([&] { return model->integrators->advance(model->data, run, memory.data, until, most_steps, samples, recorder); });
  }

  nb::tuple take() { return records.take(); }

  nb::tuple state() {
    const double *parts[4];
    model->integrators->state(model->data, run, memory.data, parts);
    const ModelData &m = model->data;
    return nb::make_tuple(run.t, doubles(parts[0], {m.nq}), doubles(parts[1], {m.nv}), doubles(parts[2], {m.nx}), doubles(parts[3], {m.nv}));
  }

  // (outcome, t, q, v, x) at fractions of the step of length h from the state that start() has set to q, v, x
  nb::tuple dense(double h, const Doubles &q, const Doubles &v, const Doubles &x, const Doubles &fractions) {
    check(q, v, x, 1);
    Records found{records.nq, records.nv, records.nx, false, {}, {}, {}, {}, {}};
    Recorder recorder{&Records::record, &found};
    const int outcome = guarded([&] {
      return model->integrators->dense(model->data, run, memory.data, h, q.data(), v.data(), x.data(), fractions.data(),
                                       std::ptrdiff_t(fractions.size()), recorder);
    });
    nb::tuple taken = found.take();
    return nb::make_tuple(outcome, taken[0], taken[1], taken[2], taken[3]);
  }

  // (outcome, a, tau, lambda, dx), a row per state
  nb::tuple evaluate(const Doubles &t, const Doubles &q, const Doubles &v, const Doubles &x, std::optional<Doubles> tau,
                     std::optional<Doubles> loads) {
    const ModelData &m = model->data;
    const std::size_t n = t.size();
    check(q, v, x, n);
    if ((tau && tau->size() != n * std::size_t(m.nv)) || (loads && loads->size() != n * 6 * std::size_t(m.users)))
      throw nb::value_error("the hinge forces or loads do not fit the states");
    std::vector<double> a(n * std::size_t(m.nv)), forces(a.size()), lambda(n * std::size_t(m.nc)), dx(n * std::size_t(m.nx));
    const int outcome = guarded([&] {
      Outcome each = Outcome::reached;
      for (std::size_t k = 0; k < n && each == Outcome::reached; ++k)
        each = model->integrators->evaluate(m, run, memory.data, t.data()[k], at(q, k, m.nq), at(v, k, m.nv), at(x, k, m.nx),
                                            tau ? at(*tau, k, m.nv) : nullptr, loads ? at(*loads, k, 6 * m.users) : nullptr,
                                            a.data() + k * std::size_t(m.nv), forces.data() + k * std::size_t(m.nv),
                                            lambda.data() + k * std::size_t(m.nc), dx.data() + k * std::size_t(m.nx));
      return each;
    });
    const npy_intp rows = npy_intp(n);
    return nb::make_tuple(outcome, doubles(a.data(), {rows, m.nv}), doubles(forces.data(), {rows, m.nv}), doubles(lambda.data(), {rows, m.nc}),
                          doubles(dx.data(), {rows, m.nx}));
  }

  // (outcome, da/dq, da/dv) at a state; for a stepper that has a Jacobian
  nb::tuple jacobian(double t, const Doubles &q, const Doubles &v, const Doubles &x) {
    const ModelData &m = model->data;
    check(q, v, x, 1);
    if (run.method != Method::radau)
      throw nb::value_error("this method keeps no Jacobian");
    const std::size_t nv = std::size_t(m.nv);
    std::vector<double> by_q(nv * nv), by_v(nv * nv);
    const int outcome = guarded(
        [&] { return model->integrators->jacobian(m, run, memory.data, t, q.data(), v.data(), x.data(), by_q.data(), by_v.data()); });
    return nb::make_tuple(outcome, doubles(by_q.data(), {m.nv, m.nv}), doubles(by_v.data(), {m.nv, m.nv}));
  }

  // (outcome, tau, loads, energies), a row per state
  nb::tuple forces(const Doubles &t, const Doubles &q, const Doubles &v, const Doubles &x) {
    const ModelData &m = model->data;
    const std::size_t n = t.size();
    check(q, v, x, n);
    std::vector<double> tau(n * std::size_t(m.nv)), loads(n * 6 * std::size_t(m.users)), energies(3 * n);
    const int outcome = guarded([&] {
      Outcome each = Outcome::reached;
      for (std::size_t k = 0; k < n && each == Outcome::reached; ++k)
        each = model->integrators->forces(m, run, memory.data, t.data()[k], at(q, k, m.nq), at(v, k, m.nv), at(x, k, m.nx),
                                          tau.data() + k * std::size_t(m.nv), loads.data() + k * 6 * std::size_t(m.users), energies.data() + 3 * k);
      return each;
    });
    const npy_intp rows = npy_intp(n);
    return nb::make_tuple(outcome, doubles(tau.data(), {rows, m.nv}), doubles(loads.data(), {rows, m.users, 6}), doubles(energies.data(), {rows, 3}));
  }

  // Runs from many states, sampled at times: (outcomes, counts, q, v, x), a row per run. Parameters: none, or a row per
  // run. Trees run in lanes, others, and those that stability holds back, one by one; both on threads.
  nb::tuple batch(double begin, double until, const Doubles &times, const Doubles &q, const Doubles &v, const Doubles &x,
                  std::optional<Doubles> numbers, int threads) {
    const ModelData &m = model->data;
    const std::size_t n = m.nq ? q.size() / std::size_t(m.nq) : 0, samples = times.size();
    check(q, v, x, n);
    if (numbers && numbers->size() != n * parameters.size())
      throw nb::value_error("the parameters do not fit the runs");
    Batch out{n, samples, std::size_t(m.nq), std::size_t(m.nv), std::size_t(m.nx), {}, {}, {}, {}, {}};
    out.allocate();
    const bool lanes = !m.nc && !m.feedback_count && !run.host && run.method == Method::dop853;
    guarded([&] {
      std::vector<std::size_t> alone;
      if (lanes)
        in_lanes(begin, until, times, q, v, x, numbers, threads, out);
      for (std::size_t k = 0; k < n; ++k)
        if (!lanes || out.outcomes[k] == double(Outcome::stiff))
          alone.push_back(k);
      if (!alone.empty())
        one_by_one(begin, until, times, q, v, x, numbers, run.host ? 1 : threads, out, alone);
      return Outcome::reached;
    });
    return out.take();
  }

  // everything a run needs to go on as if it had not stopped
  nb::bytes checkpoint() const {
    std::string blob(sizeof run + memory.size, '\0');
    std::memcpy(blob.data(), &run, sizeof run);
    std::memcpy(blob.data() + sizeof run, memory.data, memory.size);
    return nb::bytes(blob.data(), blob.size());
  }
  void restore(const nb::bytes &blob) {
    if (blob.size() != sizeof run + memory.size)
      throw nb::value_error("the checkpoint is of another model, method or version");
    std::memcpy(static_cast<void *>(&run), blob.c_str(), sizeof run);
    std::memcpy(memory.data, blob.c_str() + sizeof run, memory.size);
    attach();
  }

  // which chords hold
  nb::list active_chords() const {
    nb::list marks;
    for (std::int32_t k = 0; k < model->data.chord_count; ++k)
      marks.append(active.empty() || active[std::size_t(k)] != 0);
    return marks;
  }

  // what the garbage collector has to know: a user's function may lead back here
  int visit(visitproc visit, void *arg) {
    Py_VISIT(owner.ptr());
    Py_VISIT(host_function.ptr());
    for (const auto &law : hosted)
      Py_VISIT(law->function.ptr());
    return 0;
  }
  void let_go() {
    host_function.reset();
    function_calls.clear();
    function_selves.clear();
    hosted.clear();
    attach();
  }

  Run run;

private:
  nb::object owner; // keeps the model alive
  const BoundModel *model;
  Block memory;
  std::vector<double> parameters;
  std::vector<unsigned char> given, paced, placed, active;
  Host host{};
  nb::object host_function, host_laws, host_tau, host_loads;
  PyObject *raised = nullptr; // by the host
  struct HostedLaw {
    Integrator *owner;
    nb::object function;
    int inputs, outputs;
  };
  std::vector<void (*)(void *, const double *, double *)> function_calls;
  std::vector<void *> function_selves;
  std::vector<void (*)(const double *, double *)> plain;
  std::vector<std::unique_ptr<HostedLaw>> hosted;
  Records records;

  void attach() {
    run.parameters = parameters.data();
    run.marks = given.empty() ? Marks{nullptr, nullptr, nullptr} : Marks{given.data(), paced.data(), placed.data()};
    run.active = active.empty() ? nullptr : active.data();
    run.host = host_function.is_valid() ? &host : nullptr;
    run.functions = {function_calls.data(), function_selves.data()};
  }
  static const double *at(const Doubles &array, std::size_t row, std::int32_t width) { return array.data() + row * std::size_t(width); }
  void check(const Doubles &q, const Doubles &v, const Doubles &x, std::size_t n) const {
    const ModelData &m = model->data;
    if (q.size() != n * std::size_t(m.nq) || v.size() != n * std::size_t(m.nv) || x.size() != n * std::size_t(m.nx))
      throw nb::value_error("the state does not fit the model");
  }
  template <class F> int guarded(F &&f) {
    Outcome outcome;
    {
      nb::gil_scoped_release released;
      outcome = f();
    }
    if (raised) {
      PyObject *error = raised;
      raised = nullptr;
      PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error)), error);
      Py_DECREF(error);
      throw nb::python_error();
    }
    return int(outcome);
  }
  void in_lanes(double begin, double until, const Doubles &times, const Doubles &q, const Doubles &v, const Doubles &x,
                const std::optional<Doubles> &numbers, int threads, Batch &out) {
    const ModelData &m = model->data;
    const std::size_t width = std::size_t(model->integrators->lanes), groups = (out.n + width - 1) / width;
    const int workers = int(std::min<std::size_t>(std::size_t(std::max(threads, 1)), groups));
    std::vector<std::unique_ptr<Block>> blocks;
    for (int k = 0; k < workers; ++k)
      blocks.push_back(std::make_unique<Block>(model->integrators->bytes_lanes(m)));
    std::atomic<std::size_t> next{0};
    Crew::run(workers, [&](int worker) {
      for (std::size_t group = next++; group < groups; group = next++) {
        LaneTask task{};
        const std::size_t first = group * width;
        task.count = int(std::min(width, out.n - first));
        task.parameters = numbers ? numbers->data() + first * parameters.size() : parameters.data();
        task.apart = numbers ? std::ptrdiff_t(parameters.size()) : 0;
        std::vector<double> padded; // a last group that is not full repeats its last run
        if (numbers && task.count < int(width)) {
          for (std::size_t lane = 0; lane < width; ++lane) {
            const double *row = numbers->data() + (first + std::min(lane, std::size_t(task.count) - 1)) * parameters.size();
            padded.insert(padded.end(), row, row + parameters.size());
          }
          task.parameters = padded.data();
        }
        for (int lane = 0; lane < task.count; ++lane) {
          const std::size_t k = first + std::size_t(lane);
          task.q[lane] = at(q, k, m.nq);
          task.v[lane] = at(v, k, m.nv);
          task.x[lane] = at(x, k, m.nx);
          task.samples_x[lane] = out.x.data() + k * out.samples * out.nx;
          task.samples_q[lane] = out.q.data() + k * out.samples * out.nq;
          task.samples_v[lane] = out.v.data() + k * out.samples * out.nv;
        }
        Samples samples{times.data(), std::ptrdiff_t(times.size()), 0};
        model->integrators->run_lanes(m, run, blocks[std::size_t(worker)]->data, begin, until, samples, task);
        for (int lane = 0; lane < task.count; ++lane)
          out.report(first + std::size_t(lane), task.outcome[lane], task.counts[lane]);
      }
    });
  }

  // some or all of the runs, each by itself
  void one_by_one(double begin, double until, const Doubles &times, const Doubles &q, const Doubles &v, const Doubles &x,
                  const std::optional<Doubles> &numbers, int threads, Batch &out, const std::vector<std::size_t> &which) {
    const int workers = int(std::min<std::size_t>(std::size_t(std::max(threads, 1)), std::max<std::size_t>(which.size(), 1)));
    std::vector<std::unique_ptr<Block>> blocks;
    for (int k = 0; k < workers; ++k)
      blocks.push_back(std::make_unique<Block>(memory.size));
    std::atomic<std::size_t> next{0};
    Crew::run(workers, [&](int worker) {
      for (std::size_t k = next++; k < which.size(); k = next++)
        run_alone(begin, until, times, q, v, x, numbers, blocks[std::size_t(worker)]->data, out, which[k]);
    });
  }

  void run_alone(double begin, double until, const Doubles &times, const Doubles &q, const Doubles &v, const Doubles &x,
                 const std::optional<Doubles> &numbers, std::byte *room, Batch &out, std::size_t k) {
    const ModelData &m = model->data;
    Run mine = run;
    mine.started = 0;
    mine.counts = Counts{};
    mine.parameters = numbers ? numbers->data() + k * parameters.size() : parameters.data();
    BatchRow row{out, k, 0};
    Recorder recorder{&BatchRow::record, &row};
    Samples samples{times.data(), std::ptrdiff_t(times.size()), 0};
    std::memset(room, 0, memory.size);
    Outcome outcome = model->integrators->start(m, mine, room, begin, at(q, k, m.nq), at(v, k, m.nv), at(x, k, m.nx));
    if (outcome == Outcome::reached && samples.count && samples.times[0] <= begin) {
      const double *parts[4];
      model->integrators->state(m, mine, room, parts);
      BatchRow::record(&row, begin, parts[0], parts[1], parts[2], nullptr);
      samples.next = 1;
    }
    constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
    if (outcome == Outcome::reached)
      outcome = model->integrators->advance(m, mine, room, until, all, samples, recorder);
    if (outcome == Outcome::stiff) { // on with implicit steps
      const double *parts[4];
      model->integrators->state(m, mine, room, parts);
      Block implicit(model->integrators->bytes(m, Method::radau));
      std::memset(implicit.data, 0, implicit.size);
      mine.method = Method::radau;
      mine.watch = false;
      mine.started = 0;
      outcome = model->integrators->start(m, mine, implicit.data, mine.t, parts[0], parts[1], parts[2]);
      if (outcome == Outcome::reached)
        outcome = model->integrators->advance(m, mine, implicit.data, until, all, samples, recorder);
    }
    out.report(k, outcome, mine.counts);
  }

  static void fetch(const nb::object &array, double *to) {
    auto *from = reinterpret_cast<PyArrayObject *>(array.ptr());
    if (PyArray_SIZE(from))
      std::memcpy(to, PyArray_DATA(from), std::size_t(PyArray_SIZE(from)) * sizeof(double));
  }
  // keeps the first error that Python raised, for when the core has returned
  void keep_error() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace)
      PyException_SetTraceback(value, trace);
    if (raised)
      Py_DECREF(value);
    else
      raised = value;
    Py_XDECREF(type);
    Py_XDECREF(trace);
  }
  // a law in Python: f(*inputs) -> a number, or several
  static void call_hosted(void *self, const double *in, double *out) {
    HostedLaw &law = *static_cast<HostedLaw *>(self);
    nb::gil_scoped_acquire acquired;
    for (int k = 0; k < law.outputs; ++k)
      out[k] = k < law.outputs - 1 ? std::numeric_limits<double>::quiet_NaN() : 0.0; // energy may be left out
    PyObject *arguments[most_inputs];
    bool complete = true;
    for (int k = 0; k < law.inputs; ++k)
      complete &= (arguments[k] = PyFloat_FromDouble(in[k])) != nullptr;
    PyObject *result = complete ? PyObject_Vectorcall(law.function.ptr(), arguments, std::size_t(law.inputs), nullptr) : nullptr;
    for (int k = 0; k < law.inputs; ++k)
      Py_XDECREF(arguments[k]);
    if (result && PyFloat_CheckExact(result)) {
      out[0] = PyFloat_AS_DOUBLE(result);
    } else if (result) {
      PyObject *numbers = PySequence_Fast(result, "a law gives a number or a sequence of numbers");
      const Py_ssize_t count = numbers ? PySequence_Fast_GET_SIZE(numbers) : 0;
      if (numbers && count != law.outputs && count != law.outputs - 1)
        PyErr_Format(PyExc_ValueError, "a law gave %zd numbers where %d are needed", count, law.outputs - 1);
      for (Py_ssize_t k = 0; numbers && !PyErr_Occurred() && k < count; ++k)
        out[k] = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(numbers, k));
      Py_XDECREF(numbers);
    }
    Py_XDECREF(result);
    if (PyErr_Occurred())
      law.owner->keep_error();
  }
  static bool consult(void *self, double t, const double *q, const double *v, const double *x, double *laws, double *tau, double *loads) {
    Integrator &me = *static_cast<Integrator *>(self);
    const ModelData &m = me.model->data;
    if (me.raised) // it has failed before: nothing is asked any more
      return false;
    nb::gil_scoped_acquire acquired;
    try {
      me.host_function(t, doubles(q, {m.nq}), doubles(v, {m.nv}), doubles(x, {m.nx}), me.host_laws, me.host_tau, me.host_loads);
      fetch(me.host_laws, laws);
      if (me.host.pushes) {
        fetch(me.host_tau, tau);
        fetch(me.host_loads, loads);
      }
      return true;
    } catch (nb::python_error &error) {
      error.restore();
      me.keep_error();
      return false;
    }
  }
};

int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<Integrator>(self)->visit(visit, arg) : 0;
}

int clear(PyObject *self) {
  if (nb::inst_ready(self))
    nb::inst_ptr<Integrator>(self)->let_go();
  return 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {0, nullptr},
};

} // namespace

void add_integrator(nb::module_ &module) {
  nb::class_<Integrator>(module, "Integrator", nb::type_slots(slots))
      .def(nb::init<nb::object, int, double, double, double, double, double, double, double, bool, bool>(), nb::arg("model"), nb::arg("method"),
           nb::arg("rtol"), nb::arg("atol"), nb::arg("max_step"), nb::arg("fixed_step"), nb::arg("spectral_radius"), nb::arg("damping"),
           nb::arg("stiffness"), nb::arg("project"), nb::arg("watch"))
      .def("set_marks", &Integrator::set_marks, nb::arg("given"), nb::arg("paced"), nb::arg("placed"))
      .def("set_active", &Integrator::set_active, nb::arg("active"))
      .def("set_parameters", &Integrator::set_parameters, nb::arg("values"))
      .def("set_host", &Integrator::set_host, nb::arg("function"), nb::arg("pushes"))
      .def("set_functions", &Integrator::set_functions, nb::arg("functions"), nb::arg("sizes"))
      .def("start", &Integrator::start, nb::arg("t"), nb::arg("q"), nb::arg("v"), nb::arg("x"))
      .def("advance", &Integrator::advance, nb::arg("until"), nb::arg("most_steps"), nb::arg("times") = nb::none())
      .def("take", &Integrator::take)
      .def("state", &Integrator::state)
      .def("dense", &Integrator::dense, nb::arg("h"), nb::arg("q"), nb::arg("v"), nb::arg("x"), nb::arg("fractions"))
      .def("evaluate", &Integrator::evaluate, nb::arg("t"), nb::arg("q"), nb::arg("v"), nb::arg("x"), nb::arg("tau") = nb::none(),
           nb::arg("loads") = nb::none())
      .def("jacobian", &Integrator::jacobian, nb::arg("t"), nb::arg("q"), nb::arg("v"), nb::arg("x"))
      .def("forces", &Integrator::forces, nb::arg("t"), nb::arg("q"), nb::arg("v"), nb::arg("x"))
      .def("batch", &Integrator::batch, nb::arg("begin"), nb::arg("until"), nb::arg("times"), nb::arg("q"), nb::arg("v"), nb::arg("x"),
           nb::arg("parameters").none(), nb::arg("threads"))
      .def("checkpoint", &Integrator::checkpoint)
      .def("restore", &Integrator::restore, nb::arg("blob"))
      .def_prop_ro("active", &Integrator::active_chords)
      .def_prop_ro("t", [](const Integrator &i) { return i.run.t; })
      .def_prop_rw("step", [](const Integrator &i) { return i.run.step; }, [](Integrator &i, double step) { i.run.step = step; })
      .def_prop_rw("usual_slack", [](const Integrator &i) { return i.run.usual_slack; },
                   [](Integrator &i, double slack) { i.run.usual_slack = slack; })
      .def_prop_ro("worst", [](const Integrator &i) { return std::make_pair(i.run.worst_freedom, i.run.worst); })
      .def_prop_ro("counts", [](const Integrator &i) {
        const Counts &c = i.run.counts;
        return nb::make_tuple(c.steps, c.rejected, c.evaluations, c.jacobians, c.factorizations, c.projections, c.noisy);
      });
}

} // namespace dalembert::bind
