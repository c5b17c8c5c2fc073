// NumPy arrays at the border: cheap when they already are float64 and contiguous, converted when
// they can be, refused by name when they cannot.
#pragma once

#include "kernels/kernels.hpp"
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL dalembert_numpy
#ifndef DALEMBERT_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <algorithm>
#include <cmath>
#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>

namespace dalembert::bind {

// owns one reference
struct Reference {
  PyObject *object = nullptr;
  Reference() = default;
  explicit Reference(PyObject *o) : object(o) {}
  Reference(const Reference &) = delete;
  Reference &operator=(const Reference &) = delete;
  Reference(Reference &&other) noexcept : object(other.object) { other.object = nullptr; }
  ~Reference() { Py_XDECREF(object); }
  void reset(PyObject *o) {
    Py_XDECREF(object);
    object = o;
  }
  PyObject *release() {
    PyObject *o = object;
    object = nullptr;
    return o;
  }
};

// an array of any numbers
inline nanobind::object new_array(std::initializer_list<npy_intp> shape, int type = NPY_DOUBLE) {
  PyObject *array = PyArray_SimpleNew(int(shape.size()), const_cast<npy_intp *>(shape.begin()), type);
  if (!array)
    throw nanobind::python_error();
  return nanobind::steal(array);
}
inline nanobind::object zeros(std::initializer_list<npy_intp> shape) {
  PyObject *array = PyArray_ZEROS(int(shape.size()), const_cast<npy_intp *>(shape.begin()), NPY_DOUBLE, 0);
  if (!array)
    throw nanobind::python_error();
  return nanobind::steal(array);
}
template <class S = double> S *data_of(const nanobind::object &array) {
  return static_cast<S *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(array.ptr())));
}

// true if every number is finite: 0 x is 0 for those and NaN for the others
inline bool all_finite(const double *x, std::ptrdiff_t n) {
  double sums[8] = {};
  std::ptrdiff_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k)
      sums[k] += 0.0 * x[i + k];
  for (; i < n; ++i)
    sums[0] += 0.0 * x[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7])) == 0.0;
}

inline bool any_infinite(PyArrayObject *array) {
  const auto *x = static_cast<const double *>(PyArray_DATA(array));
  return std::any_of(x, x + PyArray_SIZE(array), [](double number) { return std::isinf(number); });
}

// raises through the Python method `self.<hook>(...)`, which knows the names; always returns nullptr
inline PyObject *raise_through(PyObject *self, const char *hook, const char *kernel, const char *argument,
                               PyObject *value) {
  Reference result(PyObject_CallMethod(self, hook, "ssO", kernel, argument, value ? value : Py_None));
  if (result.object)
    PyErr_Format(PyExc_SystemError, "%s refused '%s' without a reason", kernel, argument);
  return nullptr;
}

// a float64 C-contiguous aligned view or copy, or nullptr if that cannot be had: a lack of memory stays raised, all
// else is cleared
inline PyArrayObject *as_doubles(PyObject *value, Reference &holder) {
  if (PyArray_Check(value)) {
    auto *array = reinterpret_cast<PyArrayObject *>(value);
    if (PyArray_TYPE(array) == NPY_DOUBLE && PyArray_ISCARRAY_RO(array))
      return array;
  }
  Reference any(PyArray_FromAny(value, nullptr, 0, 0, 0, nullptr));
  const auto forget = [] {
    if (!PyErr_ExceptionMatches(PyExc_MemoryError))
      PyErr_Clear();
  };
  if (!any.object) {
    forget();
    return nullptr;
  }
  const int type = PyArray_TYPE(reinterpret_cast<PyArrayObject *>(any.object));
  if (!PyTypeNum_ISINTEGER(type) && !PyTypeNum_ISFLOAT(type))
    return nullptr;
  holder.reset(PyArray_FROMANY(any.object, NPY_DOUBLE, 0, 0, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST));
  if (!holder.object)
    forget();
  return reinterpret_cast<PyArrayObject *>(holder.object);
}

// shape of one state's share of an array
struct Shape {
  int dimensions; // 0, 1 or 2
  std::ptrdiff_t rows, columns;
  std::ptrdiff_t size() const { return dimensions == 2 ? rows * columns : rows; }
};

// fills `input`; `count` is the number of states found so far (-1: no batch). False: refuse. finite: whether every
// number has to be.
inline bool read_input(PyArrayObject *array, Shape shape, Input &input, npy_intp &count, bool finite = true) {
  const int extra = PyArray_NDIM(array) - shape.dimensions;
  const npy_intp *dims = PyArray_DIMS(array);
  if (extra < 0 || extra > 1 || (shape.dimensions && dims[extra] != shape.rows) ||
      (shape.dimensions == 2 && dims[extra + 1] != shape.columns))
    return false;
  input.data = static_cast<const double *>(PyArray_DATA(array));
  input.size = shape.size();
  input.stride = 0;
  if (!extra)
    return !finite || all_finite(input.data, input.size);
  // the numbers of a batch are looked at where they are loaded, on all threads
  if (count >= 0 && count != dims[0])
    return false;
  count = dims[0];
  input.stride = input.size;
  return true;
}

} // namespace dalembert::bind
