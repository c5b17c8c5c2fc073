#include "methods.hpp"
#include "docs.hpp"
#include <cstring>
#include <thread>
#include <vector>

namespace dalembert::bind {

namespace {

using E = Extent;

constexpr Argument q{"q", E::q}, v{"v", E::v}, a{"a", E::v}, x{"x", E::v};
constexpr Argument tau{"tau", E::v, true, true};
constexpr Argument tau_needed{"tau", E::v};
constexpr Argument loads{"loads", E::loads, true, false, true};
constexpr Argument rows{"rows", E::rows, true, false, true};
constexpr Argument lam{"lam", E::rows};
constexpr Argument t{"t", E::one, true, false, true};
constexpr Argument q0{"q0", E::q}, q1{"q1", E::q};

constexpr Spec specs[] = {
    {.kernel = Kernel::forward_dynamics, .name = "forward_dynamics",
     .arguments = {q, v, tau, loads}, .results = {E::v}, .inputs = 4, .outputs = 1, .inverts = true, .doc = docs::forward_dynamics},
    {.kernel = Kernel::constrained_dynamics, .name = "_constrained_dynamics",
     .arguments = {q, v, tau, loads, rows, t}, .results = {E::v, E::rows}, .inputs = 6, .outputs = 2, .inverts = true},
    {.kernel = Kernel::constraint_residual, .name = "constraint_residual",
     .arguments = {q, t}, .results = {E::rows}, .inputs = 2, .outputs = 1, .doc = docs::constraint_residual},
    {.kernel = Kernel::constraint_jacobian, .name = "constraint_jacobian",
     .arguments = {q, t}, .results = {E::rows_v}, .inputs = 2, .outputs = 1, .doc = docs::constraint_jacobian},
    {.kernel = Kernel::constraint_bias, .name = "constraint_bias",
     .arguments = {q, v, t}, .results = {E::rows}, .inputs = 3, .outputs = 1, .doc = docs::constraint_bias},
    {.kernel = Kernel::constraint_drift, .name = "constraint_drift",
     .arguments = {q, t}, .results = {E::rows}, .inputs = 2, .outputs = 1, .doc = docs::constraint_drift},
    {.kernel = Kernel::row_pivots, .name = "_row_pivots",
     .arguments = {q}, .results = {E::rows}, .inputs = 1, .outputs = 1, .inverts = true},
    {.kernel = Kernel::chord_loads, .name = "_chord_loads",
     .arguments = {q, lam, t}, .results = {E::chords_six}, .inputs = 3, .outputs = 1},
    {.kernel = Kernel::inverse_dynamics, .name = "inverse_dynamics",
     .arguments = {q, v, a, loads}, .results = {E::v}, .inputs = 4, .outputs = 1, .open = true, .doc = docs::inverse_dynamics},
    {.kernel = Kernel::bias_forces, .name = "bias_forces",
     .arguments = {q, v, loads}, .results = {E::v}, .inputs = 3, .outputs = 1, .doc = docs::bias_forces},
    {.kernel = Kernel::mixed_dynamics, .name = "_mixed_dynamics",
     .arguments = {q, v, tau_needed, a, loads, rows, t}, .results = {E::v, E::v}, .inputs = 7, .outputs = 2, .inverts = true, .given = true},
    {.kernel = Kernel::mass_matrix, .name = "mass_matrix",
     .arguments = {q}, .results = {E::matrix}, .inputs = 1, .outputs = 1, .doc = docs::mass_matrix},
    {.kernel = Kernel::composite_diagonal, .name = "_composite_diagonal",
     .arguments = {q}, .results = {E::v}, .inputs = 1, .outputs = 1},
    {.kernel = Kernel::solve_mass_matrix, .name = "solve_mass_matrix",
     .arguments = {q, x}, .results = {E::v}, .inputs = 2, .outputs = 1, .inverts = true, .doc = docs::solve_mass_matrix},
    {.kernel = Kernel::poses, .name = "_poses", .arguments = {q}, .results = {E::bodies_pose}, .inputs = 1, .outputs = 1},
    {.kernel = Kernel::velocities, .name = "velocities",
     .arguments = {q, v}, .results = {E::bodies_six}, .inputs = 2, .outputs = 1, .doc = docs::velocities},
    {.kernel = Kernel::accelerations, .name = "accelerations",
     .arguments = {q, v, a}, .results = {E::bodies_six}, .inputs = 3, .outputs = 1, .doc = docs::accelerations},
    {.kernel = Kernel::marker_pose, .name = "_marker_pose",
     .arguments = {q}, .results = {E::pose}, .inputs = 1, .outputs = 1, .marker = true},
    {.kernel = Kernel::marker_velocity, .name = "_marker_velocity",
     .arguments = {q, v}, .results = {E::six}, .inputs = 2, .outputs = 1, .marker = true},
    {.kernel = Kernel::marker_acceleration, .name = "_marker_acceleration",
     .arguments = {q, v, a}, .results = {E::six}, .inputs = 3, .outputs = 1, .marker = true},
    {.kernel = Kernel::marker_jacobian, .name = "_marker_jacobian",
     .arguments = {q}, .results = {E::six_v}, .inputs = 1, .outputs = 1, .marker = true},
    {.kernel = Kernel::energy, .name = "_energy", .arguments = {q, v}, .results = {E::two}, .inputs = 2, .outputs = 1},
    {.kernel = Kernel::center_of_mass, .name = "center_of_mass",
     .arguments = {q}, .results = {E::three}, .inputs = 1, .outputs = 1, .inverts = true, .doc = docs::center_of_mass},
    {.kernel = Kernel::centroidal_matrix, .name = "centroidal_momentum_matrix",
     .arguments = {q}, .results = {E::six_v}, .inputs = 1, .outputs = 1, .inverts = true, .doc = docs::centroidal_momentum_matrix},
    {.kernel = Kernel::reactions, .name = "reactions",
     .arguments = {q, v, a, loads}, .results = {E::bodies_six}, .inputs = 4, .outputs = 1, .open = true, .doc = docs::reactions},
    {.kernel = Kernel::reactions, .name = "_tree_reactions",
     .arguments = {q, v, a, loads}, .results = {E::bodies_six}, .inputs = 4, .outputs = 1},
    {.kernel = Kernel::integrate, .name = "integrate",
     .arguments = {q, v}, .results = {E::q}, .inputs = 2, .outputs = 1, .doc = docs::integrate},
    {.kernel = Kernel::difference, .name = "difference",
     .arguments = {q0, q1}, .results = {E::v}, .inputs = 2, .outputs = 1, .doc = docs::difference},
    {.kernel = Kernel::coordinate_rates, .name = "coordinate_rates",
     .arguments = {q, v}, .results = {E::q}, .inputs = 2, .outputs = 1, .doc = docs::coordinate_rates},
    {.kernel = Kernel::d_inverse_dynamics, .name = "d_inverse_dynamics",
     .arguments = {q, v, a, loads}, .results = {E::matrix, E::matrix, E::matrix}, .inputs = 4, .outputs = 3, .open = true, .doc = docs::d_inverse_dynamics},
    {.kernel = Kernel::d_inverse_by_duals, .name = "_d_inverse_dynamics_by_duals",
     .arguments = {q, v, a, loads}, .results = {E::matrix, E::matrix}, .inputs = 4, .outputs = 2, .open = true},
    {.kernel = Kernel::d_forward_dynamics, .name = "d_forward_dynamics",
     .arguments = {q, v, tau, loads}, .results = {E::matrix, E::matrix, E::matrix}, .inputs = 4, .outputs = 3, .open = true, .inverts = true, .doc = docs::d_forward_dynamics},
};
constexpr std::size_t spec_count = sizeof specs / sizeof *specs;

std::atomic<int> threads{0};

// a single state of a model with fewer bodies is done before another thread could have had the GIL
constexpr std::int32_t worth_releasing = 256;

struct GilRelease {
  PyThreadState *state = PyEval_SaveThread();
  ~GilRelease() { PyEval_RestoreThread(state); }
};

// the object given for each argument, and for out
struct Given {
  PyObject *inputs[max_inputs] = {};
  PyObject *out = nullptr;
  PyObject *marker = nullptr;
  PyObject *marks = nullptr;
};

// sorts positional and keyword arguments; false with TypeError set
bool sort_arguments(const Spec &spec, PyObject *const *args, Py_ssize_t positional, PyObject *names, Given &given) {
  PyObject **places[max_inputs + 2];
  const char *titles[max_inputs + 2];
  int count = 0;
  if (spec.marker)
    places[count] = &given.marker, titles[count++] = "marker";
  for (int k = 0; k < spec.inputs; ++k)
    if (!spec.arguments[std::size_t(k)].keyword)
      places[count] = &given.inputs[k], titles[count++] = spec.arguments[std::size_t(k)].name;
  if (spec.given)
    places[count] = &given.marks, titles[count++] = "given";
  if (positional > count) {
    PyErr_Format(PyExc_TypeError, "%s() takes %d positional arguments but %zd were given", spec.name, count, positional);
    return false;
  }
  for (Py_ssize_t k = 0; k < positional; ++k)
    *places[k] = args[k];
  const Py_ssize_t keywords = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    PyObject *name = PyTuple_GET_ITEM(names, k);
    PyObject **place = nullptr;
    for (int j = 0; j < count; ++j)
      if (!PyUnicode_CompareWithASCIIString(name, titles[j]))
        place = places[j];
    for (int j = 0; j < spec.inputs; ++j)
      if (spec.arguments[std::size_t(j)].keyword && !PyUnicode_CompareWithASCIIString(name, spec.arguments[std::size_t(j)].name))
        place = &given.inputs[j];
    if (!place && spec.outputs == 1 && !PyUnicode_CompareWithASCIIString(name, "out"))
      place = &given.out;
    if (!place || *place) {
      PyErr_Format(PyExc_TypeError, place ? "%s() got two values for '%U'" : "%s() has no argument '%U'", spec.name, name);
      return false;
    }
    *place = args[positional + k];
  }
  for (int k = 0; k < spec.inputs; ++k) {
    const Argument &argument = spec.arguments[std::size_t(k)];
    if (given.inputs[k] == Py_None && argument.optional)
      given.inputs[k] = nullptr;
    if (!given.inputs[k] && !argument.optional) {
      PyErr_Format(PyExc_TypeError, "%s() misses its argument '%s'", spec.name, argument.name);
      return false;
    }
  }
  if (given.out == Py_None)
    given.out = nullptr;
  if ((spec.marker && !given.marker) || (spec.given && !given.marks)) {
    PyErr_Format(PyExc_TypeError, "%s() misses its argument '%s'", spec.name, spec.marker ? "marker" : "given");
    return false;
  }
  return true;
}

// a marker comes as 13 numbers: body, rotation, position in F
bool read_marker(const BoundModel &model, PyObject *value, MarkerData &marker) {
  Reference holder;
  PyArrayObject *array = as_doubles(value, holder);
  if (!array || PyArray_SIZE(array) != 13)
    return false;
  const double *numbers = static_cast<const double *>(PyArray_DATA(array));
  if (!(numbers[0] >= 0.0 && numbers[0] <= model.data.nb))
    return false;
  marker.body = static_cast<std::int32_t>(numbers[0]);
  std::memcpy(marker.R_FM, numbers + 1, sizeof marker.R_FM);
  std::memcpy(marker.p_FM, numbers + 10, sizeof marker.p_FM);
  return true;
}

bool overlaps(PyArrayObject *array, const Input &input, npy_intp count) {
  const auto *begin = static_cast<const double *>(PyArray_DATA(array)), *end = begin + PyArray_SIZE(array);
  const double *last = input.data + (input.stride && count > 0 ? count * input.stride : input.size);
  return begin < last && input.data < end;
}

PyObject *call_kernel(const Spec &spec, PyObject *self, PyObject *const *args, Py_ssize_t positional, PyObject *names) {
  Given given;
  if (!sort_arguments(spec, args, positional, names, given))
    return nullptr;
  const BoundModel &model = *bound(self);
  if (model.data.nc && spec.open)
    return raise_through(self, "_refuse_chords", spec.name, "", nullptr);

  Call call;
  call.kernel = spec.kernel;
  call.inputs = spec.inputs;
  call.outputs = spec.outputs;
  call.given = nullptr;
  npy_intp count = -1;
  Reference holders[max_inputs], zeros, marks;
  for (int k = 0; k < spec.inputs; ++k) {
    const Argument &argument = spec.arguments[std::size_t(k)];
    const Shape shape = shape_of(argument.extent, model.data);
    Input &input = call.in[k];
    input = {nullptr, 0, shape.size()};
    if (!given.inputs[k]) {
      if (argument.zero) {
        npy_intp size = shape.size();
        zeros.reset(PyArray_ZEROS(1, &size, NPY_DOUBLE, 0));
        if (!zeros.object)
          return nullptr;
        input.data = static_cast<const double *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(zeros.object)));
      }
      continue;
    }
    PyArrayObject *array = as_doubles(given.inputs[k], holders[k]);
    if (!array || !read_input(array, shape, input, count))
      return raise_through(self, "_refuse", spec.name, argument.name, given.inputs[k]);
  }
  if (spec.marker && !read_marker(model, given.marker, call.marker))
    return raise_through(self, "_refuse", spec.name, "marker", given.marker);
  if (spec.given) {
    marks.reset(PyArray_FROMANY(given.marks, NPY_BOOL, 1, 1, NPY_ARRAY_CARRAY_RO));
    if (!marks.object || PyArray_SIZE(reinterpret_cast<PyArrayObject *>(marks.object)) != model.data.nv) {
      PyErr_Clear();
      return raise_through(self, "_refuse", spec.name, "given", given.marks);
    }
    call.given = static_cast<const unsigned char *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(marks.object)));
  }

  Reference results[max_outputs];
  for (int k = 0; k < spec.outputs; ++k) {
    const Shape shape = shape_of(spec.results[std::size_t(k)], model.data);
    npy_intp dims[3];
    int n = 0;
    if (count >= 0)
      dims[n++] = count;
    dims[n++] = shape.rows;
    if (shape.dimensions == 2)
      dims[n++] = shape.columns;
    PyArrayObject *array;
    if (given.out) {
      array = reinterpret_cast<PyArrayObject *>(given.out);
      if (!PyArray_Check(given.out) || PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY(array) || PyArray_NDIM(array) != n ||
          std::memcmp(PyArray_DIMS(array), dims, std::size_t(n) * sizeof *dims))
        return raise_through(self, "_refuse", spec.name, "out", given.out);
      // couplings read q while residuals are written
      if (spec.kernel == Kernel::constraint_residual && overlaps(array, call.in[0], count))
        return raise_through(self, "_refuse", spec.name, "out", given.out);
      Py_INCREF(given.out);
      results[k].reset(given.out);
    } else {
      results[k].reset(PyArray_SimpleNew(n, dims, NPY_DOUBLE));
      if (!results[k].object)
        return nullptr;
      array = reinterpret_cast<PyArrayObject *>(results[k].object);
    }
    call.out[k] = {static_cast<double *>(PyArray_DATA(array)), shape.size(), shape.size()};
  }
  std::vector<double> multipliers; // asked for by the kernel, not by the caller
  unsigned found = 0;
  try {
    if (model.data.nc && (spec.kernel == Kernel::forward_dynamics || spec.kernel == Kernel::mixed_dynamics)) {
      call.kernel = spec.kernel == Kernel::forward_dynamics ? Kernel::constrained_dynamics : Kernel::constrained_mixed;
      if (spec.kernel == Kernel::forward_dynamics) {
        call.in[call.inputs++] = {nullptr, 0, model.data.nc}; // nothing prescribed
        call.in[call.inputs++] = {nullptr, 0, 1};             // t = 0
      }
      multipliers.resize(std::size_t(model.data.nc) * std::size_t(count < 0 ? 1 : count));
      call.out[call.outputs++] = {multipliers.data(), model.data.nc, model.data.nc};
    }
    if (count < 0 && model.data.nb < worth_releasing) {
      model.run_one(call);
    } else if (count != 0) {
      GilRelease released;
      if (count < 0)
        model.run_one(call);
      else
        found = model.run_batch(call, count, thread_count());
    }
  } catch (const std::bad_alloc &) {
    return PyErr_NoMemory();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
  if (found & bad_input)
    for (int k = 0; k < spec.inputs; ++k)
      if (call.in[k].stride && !all_finite(call.in[k].data, count * call.in[k].size))
        return raise_through(self, "_refuse", spec.name, spec.arguments[std::size_t(k)].name, given.inputs[k]);
  if (count < 0 && (spec.inverts || model.attitudes))
    for (int k = 0; k < spec.outputs; ++k)
      if (!all_finite(call.out[k].data, call.out[k].size))
        found |= bad_output;
  if (found & bad_output)
    return raise_through(self, "_refuse_result", spec.name, "q", given.inputs[0]);
  if (spec.outputs == 1)
    return results[0].release();
  PyObject *tuple = PyTuple_New(spec.outputs);
  if (tuple)
    for (int k = 0; k < spec.outputs; ++k)
      PyTuple_SET_ITEM(tuple, k, results[k].release());
  return tuple;
}

template <std::size_t I> PyObject *method(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  return call_kernel(specs[I], self, args, count, names);
}

template <std::size_t... I> void add_each(PyTypeObject *type, std::index_sequence<I...>) {
  static PyMethodDef definitions[] = {
      {specs[I].name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&method<I>)), METH_FASTCALL | METH_KEYWORDS, specs[I].doc}...};
  for (PyMethodDef &definition : definitions) {
    Reference descriptor(PyDescr_NewMethod(type, &definition));
    if (!descriptor.object || PyObject_SetAttrString(reinterpret_cast<PyObject *>(type), definition.ml_name, descriptor.object))
      return;
  }
}

} // namespace

int thread_count() {
  const int chosen = threads.load(std::memory_order_relaxed);
  if (chosen)
    return chosen;
  const unsigned cores = std::thread::hardware_concurrency();
  return cores ? int(cores) : 1;
}

void set_thread_count(int count) { threads.store(count, std::memory_order_relaxed); }

void add_methods(PyTypeObject *type) { add_each(type, std::make_index_sequence<spec_count>{}); }

} // namespace dalembert::bind
