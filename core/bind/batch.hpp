// Many runs of a model for Python: arrays, and the errors of its control by run (runs/batch.hpp).
#pragma once

#include "bind/bound_model.hpp"
#include "runs/batch.hpp"
#include "runs/growing_array.hpp"
#include <cstdlib>
#include <nanobind/ndarray.h>
#include <optional>
#include <utility>
#include <vector>

namespace dalembert::bind {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;

nb::object doubles(const double *data, std::initializer_list<npy_intp> shape);
// the same of records of doubles, which are given away where they are many; `records` is empty after it
template <class S> nb::object take_doubles(GrowingArray<S> &records, std::initializer_list<npy_intp> shape) {
  constexpr std::size_t many = std::size_t(1) << 18; // bytes
  if (records.size() * sizeof(S) < many) {
    nb::object copied = doubles(reinterpret_cast<const double *>(records.data()), shape);
    records.clear();
    return copied;
  }
  void *memory = records.release();
  nb::capsule owner(memory, [](void *given) noexcept { std::free(given); });
  PyObject *array =
      PyArray_SimpleNewFromData(int(shape.size()), const_cast<npy_intp *>(shape.begin()), NPY_DOUBLE, memory);
  if (!array)
    throw nb::python_error();
  nb::object found = nb::steal(array);
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject *>(array), owner.release().ptr()))
    throw nb::python_error();
  return found;
}
inline const double *row_of(const Doubles &array, std::size_t row, std::int32_t width) {
  return array.data() + row * std::size_t(width);
}

// the arrays that a batch fills: (outcomes, times reached, counts, q, v, x), a row per run
class BatchArrays {
public:
  BatchArrays(const ModelData &m, std::size_t runs, std::size_t samples);
  BatchResults results() const;
  nb::tuple take() const;

private:
  const std::size_t runs, samples, nq, nv, nx;
  nb::object q, v, x, outcomes, reached, counts;
};

// control(t, q, v, x, runs, tau) in Python, of many states at once: fills tau, returns errors by row
class PythonControl {
public:
  // host: the callbacks of runs by themselves, may be none
  PythonControl(const ModelData &m, Scope &scope, nb::handle function, nb::handle host, SignalCheck &signals)
      : scope(scope), function(function), host(host), signals(signals), nq(std::size_t(m.nq)), nv(std::size_t(m.nv)),
        nx(std::size_t(m.nx)) {}
  BatchedControl plain() {
    return {this, [](void *self, auto... given) { return static_cast<PythonControl *>(self)->evaluate(given...); }};
  }
  // tells the callbacks which run they serve
  void start(std::size_t run);
  // the error of a callback that has ended a run
  void take_error(std::size_t run);

  std::vector<std::pair<std::size_t, nb::object>> errors; // by run

private:
  bool evaluate(std::ptrdiff_t rows, const std::ptrdiff_t *runs, const double *t, const double *q, const double *v,
                const double *x, double *tau, unsigned char *failed);

  Scope &scope;
  const nb::handle function, host;
  SignalCheck &signals;
  const std::size_t nq, nv, nx;
};

// a compiled control, one state after the other, on any thread
class CompiledControl {
public:
  // numbers: of the runs in their ensemble; null: those of their rows
  CompiledControl(const ModelData &m, Scope &scope, const std::int64_t *numbers)
      : scope(scope), numbers(numbers), nq(m.nq), nv(m.nv), nx(m.nx) {}
  BatchedControl plain() {
    return {this, [](void *self, auto... given) { return static_cast<CompiledControl *>(self)->evaluate(given...); },
            true};
  }
  // the errors by row, of all runs that failed
  nb::dict errors(const std::vector<Scope::ControlFailure> &failures, std::size_t count) const;

private:
  bool evaluate(std::ptrdiff_t rows, const std::ptrdiff_t *runs, const double *t, const double *q, const double *v,
                const double *x, double *tau, unsigned char *failed) const;

  Scope &scope;
  const std::int64_t *numbers;
  const std::ptrdiff_t nq, nv, nx;
};

// a compiled control that is sampled, one state after the other
class SampledFunction {
public:
  // function: a CompiledControl, or none
  SampledFunction(const ModelData &m, nb::handle function, const std::int64_t *numbers);
  BatchedControl plain() {
    return {this, [](void *self, auto... given) { return static_cast<SampledFunction *>(self)->evaluate(given...); }};
  }
  // the errors by row, of all runs that failed
  void add_errors(nb::dict &errors) const;

private:
  struct Failure {
    std::ptrdiff_t row;
    std::int64_t run;
    double t;
  };
  bool evaluate(std::ptrdiff_t rows, const std::ptrdiff_t *runs, const double *t, const double *q, const double *v,
                const double *x, double *tau, unsigned char *failed);

  nb::handle function;
  ControlFunction call = nullptr;
  const double *data = nullptr;
  const std::int64_t *numbers; // of the runs in their ensemble; null: those of their rows
  const std::ptrdiff_t nq, nv, nx;
  std::vector<Failure> failures;
};

} // namespace dalembert::bind
