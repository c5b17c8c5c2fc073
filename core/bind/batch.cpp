#include "bind/batch.hpp"
#include "bind/kernel_methods.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace dalembert::bind {

namespace {

double *data_of(const nb::object &array) {
  return static_cast<double *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(array.ptr())));
}

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

nb::object copied(const double *data, std::ptrdiff_t rows, std::size_t width) {
  return doubles(data, {rows, npy_intp(width)});
}

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

BatchArrays::BatchArrays(const ModelData &m, std::size_t runs, std::size_t samples)
    : runs(runs), samples(samples), nq(std::size_t(m.nq)), nv(std::size_t(m.nv)), nx(std::size_t(m.nx)),
      q(empty(runs, samples * nq)), v(empty(runs, samples * nv)), x(empty(runs, samples * nx)),
      outcomes(empty(runs, 1)), reached(empty(runs, 1)), counts(empty(runs, batch_counts)) {}

BatchResults BatchArrays::results() const {
  return {data_of(outcomes), data_of(reached), data_of(counts), data_of(q), data_of(v), data_of(x)};
}

nb::tuple BatchArrays::take() const {
  return nb::make_tuple(reshaped(outcomes, {runs}), reshaped(reached, {runs}), counts, reshaped(q, {runs, samples, nq}),
                        reshaped(v, {runs, samples, nv}), reshaped(x, {runs, samples, nx}));
}

bool PythonControl::evaluate(std::ptrdiff_t rows, const std::ptrdiff_t *runs, const double *t, const double *q,
                             const double *v, const double *x, double *tau, unsigned char *failed) {
  const Acquired acquired;
  if (scope.failed() || signals.stop_requested())
    return false;
  try {
    npy_intp count = rows, shape[2] = {rows, npy_intp(nv)};
    nb::object numbers = nb::steal(PyArray_SimpleNew(1, &count, NPY_INTP)),
               forces = nb::steal(PyArray_ZEROS(2, shape, NPY_DOUBLE, 0));
    if (!numbers || !forces)
      throw nb::python_error();
    std::copy_n(runs, rows, static_cast<npy_intp *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(numbers.ptr()))));
    const nb::object given[] = {
        doubles(t, {rows}), copied(q, rows, nq), copied(v, rows, nv), copied(x, rows, nx), numbers, forces};
    PyObject *arguments[std::size(given)];
    std::transform(std::begin(given), std::end(given), arguments, [](const nb::object &each) { return each.ptr(); });
    nb::object refused = nb::steal(
        acquire_or_block([&] { return PyObject_Vectorcall(function.ptr(), arguments, std::size(given), nullptr); }));
    if (!refused)
      throw nb::python_error();
    std::copy_n(static_cast<const double *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(forces.ptr()))),
                std::size_t(rows) * nv, tau);
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

bool CompiledControl::evaluate(std::ptrdiff_t rows, const std::ptrdiff_t *runs, const double *t, const double *q,
                               const double *v, const double *x, double *tau, unsigned char *failed) const {
  std::fill_n(tau, rows * nv, 0.0);
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    const std::int64_t run = numbers ? numbers[runs[row]] : std::int64_t(runs[row]);
    failed[row] = !scope.control_forces(run, t[row], q + row * nq, v + row * nv, x + row * nx, tau + row * nv);
  }
  return true;
}

nb::dict CompiledControl::errors(const std::vector<Scope::ControlFailure> &failures, std::size_t count) const {
  nb::dict found;
  for (const Scope::ControlFailure &failure : failures) {
    const std::ptrdiff_t row = numbers ? std::find(numbers, numbers + count, failure.run) - numbers : failure.run;
    found[nb::int_(row)] = scope.error_of(failure);
  }
  return found;
}

SampledFunction::SampledFunction(const ModelData &m, nb::handle function, const std::int64_t *numbers)
    : function(function), numbers(numbers), nq(m.nq), nv(m.nv), nx(m.nx) {
  if (function.is_none())
    return;
  call = reinterpret_cast<ControlFunction>(nb::cast<std::uintptr_t>(function.attr("address")));
  data = reinterpret_cast<const double *>(nb::cast<std::uintptr_t>(function.attr("data_address")));
}

bool SampledFunction::evaluate(std::ptrdiff_t rows, const std::ptrdiff_t *runs, const double *t, const double *q,
                               const double *v, const double *x, double *tau, unsigned char *failed) {
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    const std::int64_t run = numbers ? numbers[runs[row]] : std::int64_t(runs[row]);
    double *own = tau + row * nv;
    call(t[row], run, q + row * nq, v + row * nv, x + row * nx, own, data);
    if (std::all_of(own, own + nv, [](double force) { return std::isfinite(force); }))
      continue;
    failed[row] = 1;
    failures.push_back({runs[row], run, t[row]});
  }
  return true;
}

void SampledFunction::add_errors(nb::dict &errors) const {
  for (const Failure &failure : failures)
    errors[nb::int_(failure.row)] = function.attr("error")(failure.t, failure.run);
}

void PythonControl::start(std::size_t run) {
  const Acquired acquired;
  if (!host.is_valid())
    return;
  try {
    nb::setattr(host, "place", nb::int_(run));
  } catch (nb::python_error &error) {
    error.restore();
    scope.keep_error();
  }
}

void PythonControl::take_error(std::size_t run) {
  const Acquired acquired;
  if (nb::object error = scope.take_error(); error.is_valid())
    errors.emplace_back(run, std::move(error));
}

} // namespace dalembert::bind
