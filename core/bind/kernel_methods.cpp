#include "bind/kernel_methods.hpp"
#include "bind/docstrings.hpp"
#include "bind/kernel_signatures.hpp"
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dalembert::bind {

namespace {

using E = Extent;
using O = DefaultArgument;
using T = ArgumentKind;

constexpr Argument q{"q", T::q, E::q}, v{"v", T::v, E::v}, a{"a", T::a, E::v}, right{"x", T::other, E::v};
constexpr Argument tau{"tau", T::tau, E::v, O::zeros};
constexpr Argument q0{"q0", T::q, E::q}, q1{"q1", T::other, E::q};
// by keyword
constexpr Argument loads{"loads", T::loads, E::loads, O::nothing, true};
constexpr Argument t{"t", T::t, E::one, O::nothing, true};
constexpr Argument x{"x", T::x, E::x, O::starts, true};
constexpr Argument inputs{"inputs", T::inputs, E::inputs, O::nothing, true};
constexpr Argument lam{"lam", T::lambda, E::rows, O::nothing, true};
constexpr Argument more_tau{"tau", T::tau, E::v, O::nothing, true};
constexpr Argument prescribed{"a", T::a, E::v, O::nothing, true};
// in time
constexpr Argument time{"t", T::t, E::one}, states{"x", T::x, E::x, O::starts};

constexpr KernelSignature specs[] = {
    // the system as described
    {.kernel = Kernel::motion,
     .name = "forward_dynamics",
     .arguments = {q, v, tau, loads, t, x, inputs},
     .inputs = 7,
     .results = {E::v},
     .outputs = 1,
     .described = true,
     .bare = Kernel::motion,
     .doc = docs::forward_dynamics},
    {.kernel = Kernel::dynamics,
     .name = "dynamics",
     .arguments = {time, q, v, states, more_tau, loads, inputs, prescribed},
     .inputs = 8,
     .results = {E::v, E::v, E::rows, E::x},
     .outputs = 4,
     .described = true,
     .returns_named_tuple = true,
     .bare = Kernel::dynamics,
     .doc = docs::dynamics},
    {.kernel = Kernel::required_forces,
     .name = "inverse_dynamics",
     .arguments = {q, v, a, loads, t, x, inputs},
     .inputs = 7,
     .results = {E::v},
     .outputs = 1,
     .described = true,
     .trees_only = true,
     .bare = Kernel::inverse_dynamics,
     .doc = docs::inverse_dynamics},
    {.kernel = Kernel::required_forces,
     .name = "_required_forces",
     .arguments = {q, v, a, loads, t, x, inputs, lam},
     .inputs = 8,
     .results = {E::v},
     .outputs = 1,
     .described = true,
     .bare = Kernel::required_forces},
    {.kernel = Kernel::loads_of_motion,
     .name = "_loads_of_motion",
     .arguments = {q, v, a, loads, t, x, inputs, lam},
     .inputs = 8,
     .results = {E::connections_six},
     .outputs = 1,
     .described = true,
     .bare = Kernel::loads_of_motion},
    {.kernel = Kernel::report,
     .name = "_report",
     .arguments = {q, v, more_tau, loads, t, x, inputs, prescribed},
     .inputs = 8,
     .results = {E::v,
                 E::x,
                 E::v,
                 E::rows,
                 E::connections_six,
                 E::connections_six,
                 E::cut_q,
                 E::cut_v,
                 E::cut_v,
                 E::cut_v,
                 E::all_v,
                 E::rows,
                 E::rows,
                 E::measures,
                 E::measures,
                 E::measures,
                 E::elements,
                 E::elements,
                 E::elements,
                 E::ports_six,
                 E::bodies_six,
                 E::signals,
                 E::law_inputs,
                 E::v,
                 E::six,
                 E::actuators,
                 E::switching_functions},
     .outputs = int(ReportPart::count),
     .described = true,
     .selects_results = true,
     .checks_results = false},
    {.kernel = Kernel::d_dynamics,
     .name = "_d_dynamics",
     .arguments = {q, v, more_tau, loads, t, x, inputs, prescribed},
     .inputs = 8,
     .results = {E::matrix,      E::x_v,    E::rows_v, E::matrix, E::x_v,          E::rows_v,       E::v_x,
                 E::x_x,         E::rows_x, E::matrix, E::x_v,    E::rows_v,       E::v_inputs,     E::x_inputs,
                 E::rows_inputs, E::v,      E::x,      E::rows,   E::v_parameters, E::x_parameters, E::rows_parameters},
     .outputs = 21,
     .described = true,
     .selects_results = true,
     .takes_directions = true},
    {.kernel = Kernel::d_dynamics_products,
     .name = "_d_dynamics_products",
     .arguments = {q, v, Argument{"w_a", T::other, E::v}, Argument{"w_x", T::lambda, E::x}, more_tau, loads, t, x,
                   inputs},
     .inputs = 9,
     .results = {E::v, E::v, E::x, E::v, E::inputs, E::parameters, E::parameters},
     .outputs = 7,
     .described = true,
     .selects_results = true,
     .takes_directions = true},
    {.kernel = Kernel::d_output_products,
     .name = "_d_output_products",
     .arguments = {q, v, Argument{"weights", T::other, E::output_weights}, t, x},
     .inputs = 5,
     .results = {E::v, E::v, E::x, E::parameters},
     .outputs = 4,
     .described = true,
     .selects_results = true,
     .takes_directions = true,
     .checks_results = false},
    {.kernel = Kernel::d_required_forces,
     .name = "_d_required_forces",
     .arguments = {q, v, a, loads, t, x, inputs},
     .inputs = 7,
     .results = {E::matrix, E::matrix, E::matrix},
     .outputs = 3,
     .described = true},
    {.kernel = Kernel::newton_step,
     .name = "_newton_step",
     .arguments = {q, v, Argument{"r1", T::a, E::v}, Argument{"r2", T::tau, E::v}, Argument{"r3", T::other, E::x},
                   Argument{"mu", T::lambda, E::one}, t, x},
     .inputs = 8,
     .results = {E::v, E::v, E::x},
     .outputs = 3,
     .described = true,
     .checks_results = false},
    // trees
    {.kernel = Kernel::inverse_dynamics,
     .name = "_inverse_dynamics",
     .arguments = {q, v, a, loads},
     .inputs = 4,
     .results = {E::v},
     .outputs = 1},
    {.kernel = Kernel::bias_forces,
     .name = "_bias_forces",
     .arguments = {q, v, loads},
     .inputs = 3,
     .results = {E::v},
     .outputs = 1},
    {.kernel = Kernel::mass_matrix,
     .name = "mass_matrix",
     .arguments = {q},
     .inputs = 1,
     .results = {E::matrix},
     .outputs = 1,
     .doc = docs::mass_matrix},
    {.kernel = Kernel::composite_diagonal,
     .name = "_composite_diagonal",
     .arguments = {q},
     .inputs = 1,
     .results = {E::v},
     .outputs = 1},
    {.kernel = Kernel::solve_mass_matrix,
     .name = "solve_mass_matrix",
     .arguments = {q, right},
     .inputs = 2,
     .results = {E::v},
     .outputs = 1,
     .doc = docs::solve_mass_matrix},
    {.kernel = Kernel::poses,
     .name = "_poses",
     .arguments = {q},
     .inputs = 1,
     .results = {E::bodies_pose},
     .outputs = 1},
    {.kernel = Kernel::velocities,
     .name = "velocities",
     .arguments = {q, v},
     .inputs = 2,
     .results = {E::bodies_six},
     .outputs = 1,
     .doc = docs::velocities},
    {.kernel = Kernel::accelerations,
     .name = "accelerations",
     .arguments = {q, v, a},
     .inputs = 3,
     .results = {E::bodies_six},
     .outputs = 1,
     .doc = docs::accelerations},
    {.kernel = Kernel::point_poses,
     .name = "_point_poses",
     .arguments = {q},
     .inputs = 1,
     .results = {E::point_pose},
     .outputs = 1,
     .points = true},
    {.kernel = Kernel::point_velocities,
     .name = "_point_velocities",
     .arguments = {q, v},
     .inputs = 2,
     .results = {E::point_six},
     .outputs = 1,
     .points = true},
    {.kernel = Kernel::point_accelerations,
     .name = "_point_accelerations",
     .arguments = {q, v, a},
     .inputs = 3,
     .results = {E::point_six},
     .outputs = 1,
     .points = true},
    {.kernel = Kernel::point_jacobians,
     .name = "_point_jacobians",
     .arguments = {q},
     .inputs = 1,
     .results = {E::point_six_v},
     .outputs = 1,
     .points = true},
    {.kernel = Kernel::energy, .name = "_energy", .arguments = {q, v}, .inputs = 2, .results = {E::two}, .outputs = 1},
    {.kernel = Kernel::center_of_mass,
     .name = "center_of_mass",
     .arguments = {q},
     .inputs = 1,
     .results = {E::three},
     .outputs = 1,
     .doc = docs::center_of_mass},
    {.kernel = Kernel::centroidal_matrix,
     .name = "centroidal_momentum_matrix",
     .arguments = {q},
     .inputs = 1,
     .results = {E::six_v},
     .outputs = 1,
     .doc = docs::centroidal_momentum_matrix},
    {.kernel = Kernel::integrate,
     .name = "integrate",
     .arguments = {q, v},
     .inputs = 2,
     .results = {E::q},
     .outputs = 1,
     .doc = docs::integrate},
    {.kernel = Kernel::difference,
     .name = "difference",
     .arguments = {q0, q1},
     .inputs = 2,
     .results = {E::v},
     .outputs = 1,
     .doc = docs::difference},
    {.kernel = Kernel::coordinate_rates,
     .name = "coordinate_rates",
     .arguments = {q, v},
     .inputs = 2,
     .results = {E::q},
     .outputs = 1,
     .doc = docs::coordinate_rates},
    {.kernel = Kernel::d_inverse_dynamics,
     .name = "_d_inverse_dynamics",
     .arguments = {q, v, a, loads},
     .inputs = 4,
     .results = {E::matrix, E::matrix, E::matrix},
     .outputs = 3},
    {.kernel = Kernel::d_inverse_by_duals,
     .name = "_d_inverse_dynamics_by_duals",
     .arguments = {q, v, a, loads},
     .inputs = 4,
     .results = {E::matrix, E::matrix},
     .outputs = 2},
    {.kernel = Kernel::d_forward_dynamics,
     .name = "_d_forward_dynamics",
     .arguments = {q, v, tau, loads},
     .inputs = 4,
     .results = {E::matrix, E::matrix, E::matrix},
     .outputs = 3},
    // closures
    {.kernel = Kernel::constraint_residual,
     .name = "constraint_residual",
     .arguments = {q, t},
     .inputs = 2,
     .results = {E::rows},
     .outputs = 1,
     .doc = docs::constraint_residual},
    {.kernel = Kernel::constraint_jacobian,
     .name = "constraint_jacobian",
     .arguments = {q, t},
     .inputs = 2,
     .results = {E::rows_v},
     .outputs = 1,
     .doc = docs::constraint_jacobian},
    {.kernel = Kernel::constraint_bias,
     .name = "constraint_bias",
     .arguments = {q, v, t},
     .inputs = 3,
     .results = {E::rows},
     .outputs = 1,
     .doc = docs::constraint_bias},
    {.kernel = Kernel::constraint_drift,
     .name = "constraint_drift",
     .arguments = {q, t},
     .inputs = 2,
     .results = {E::rows},
     .outputs = 1,
     .doc = docs::constraint_drift},
    {.kernel = Kernel::cut_motion,
     .name = "_cut_motion",
     .arguments = {q, v, a},
     .inputs = 3,
     .results = {E::cut_q, E::cut_v, E::cut_v},
     .outputs = 3},
    {.kernel = Kernel::row_pivots,
     .name = "_row_pivots",
     .arguments = {q},
     .inputs = 1,
     .results = {E::rows},
     .outputs = 1},
    {.kernel = Kernel::closure_step,
     .name = "_closure_step",
     .arguments = {q, Argument{"r", T::lambda, E::rows}, Argument{"compliance", T::other, E::rows},
                   Argument{"inertia", T::a, E::v}, t},
     .inputs = 5,
     .results = {E::v, E::rows, E::v, E::two},
     .outputs = 4},
    {.kernel = Kernel::independent_parts,
     .name = "_independent_parts",
     .arguments = {q, Argument{"wanted", T::lambda, E::rows}, Argument{"inertia", T::a, E::v},
                   Argument{"least", T::other, E::one}, t},
     .inputs = 5,
     .results = {E::rows},
     .outputs = 1},
    {.kernel = Kernel::dependences,
     .name = "_dependences",
     .arguments = {q, Argument{"wanted", T::lambda, E::rows}, Argument{"inertia", T::a, E::v},
                   Argument{"least", T::other, E::one}, t},
     .inputs = 5,
     .results = {E::rows_rows},
     .outputs = 1},
    {.kernel = Kernel::motions,
     .name = "_motions",
     .arguments = {q, Argument{"wanted", T::lambda, E::rows}, Argument{"inertia", T::a, E::v},
                   Argument{"least", T::other, E::one}, t},
     .inputs = 5,
     .results = {E::one, E::matrix},
     .outputs = 2},
    {.kernel = Kernel::velocity_change,
     .name = "_velocity_change",
     .arguments = {q, v, Argument{"rates", T::lambda, E::rows}, Argument{"held", T::a, E::v}, t},
     .inputs = 5,
     .results = {E::v, E::rows, E::rows},
     .outputs = 3},
};
constexpr std::size_t spec_count = sizeof specs / sizeof *specs;

std::atomic<int> threads{0};

PyTypeObject *named_type = nullptr; // a tuple with names for what `dynamics` gives

// a single state of a model with fewer bodies is done before another thread could have had the GIL
constexpr std::int32_t worth_releasing = 256;

// the object given for each argument, and for what is no array
struct Given {
  PyObject *inputs[max_arguments] = {};
  PyObject *out = nullptr, *points = nullptr, *chosen = nullptr, *conditions = nullptr, *bare = nullptr,
           *directions = nullptr;
};

// An argument by name: an interned string, as names of keywords in a call are, and its place in Given.
struct Keyword {
  PyObject *name;
  std::ptrdiff_t offset; // bytes
};

// names of all arguments of a kernel, made at its first call with keywords (with the GIL)
const std::vector<Keyword> &keywords_of(const KernelSignature &spec) {
  static std::vector<Keyword> tables[spec_count];
  std::vector<Keyword> &table = tables[&spec - specs];
  if (!table.empty())
    return table;
  const auto add = [&](std::size_t offset, const char *title) {
    table.push_back({PyUnicode_InternFromString(title), std::ptrdiff_t(offset)});
  };
  if (spec.outputs == 1)
    add(offsetof(Given, out), "out");
  if (spec.points || spec.selects_results)
    add(spec.points ? offsetof(Given, points) : offsetof(Given, chosen), spec.points ? "points" : "parts");
  for (int k = 0; k < spec.inputs; ++k)
    add(offsetof(Given, inputs) + std::size_t(k) * sizeof(PyObject *), spec.arguments[std::size_t(k)].name);
  if (spec.described)
    add(offsetof(Given, conditions), "conditions");
  if (spec.takes_directions)
    add(offsetof(Given, directions), "directions");
  if (spec.described && spec.bare != Kernel::report)
    add(offsetof(Given, bare), "bare");
  return table;
}

// arguments given by keyword, those that positions could have given among them; false with TypeError set
bool sort_keywords(const KernelSignature &spec, PyObject *const *args, PyObject *names, Given &given) {
  const std::vector<Keyword> &known = keywords_of(spec);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names); ++k) {
    PyObject *name = PyTuple_GET_ITEM(names, k), **place = nullptr;
    const auto take = [&](auto &&is_meant) {
      const auto found = std::find_if(known.begin(), known.end(), is_meant);
      if (found != known.end())
        place = reinterpret_cast<PyObject **>(reinterpret_cast<std::byte *>(&given) + found->offset);
    };
    take([&](const Keyword &keyword) { return keyword.name == name; });
    if (!place) // a string that is not interned
      take([&](const Keyword &keyword) { return keyword.name && PyUnicode_Compare(keyword.name, name) == 0; });
    if (!place || *place) {
      PyErr_Format(PyExc_TypeError, place ? "%s() got two values for '%U'" : "%s() has no argument '%U'", spec.name,
                   name);
      return false;
    }
    *place = args[k];
  }
  for (PyObject **each : {&given.out, &given.conditions, &given.bare, &given.directions})
    if (*each == Py_None)
      *each = nullptr;
  return true;
}

// sorts positional and keyword arguments; false with TypeError set
bool sort_arguments(const KernelSignature &spec, PyObject *const *args, Py_ssize_t positional, PyObject *names,
                    Given &given) {
  const int first = spec.points || spec.selects_results; // points, or the parts that are wanted, come before arrays
  const int most = first + spec.positional();
  if (positional > most) {
    PyErr_Format(PyExc_TypeError, "%s() takes %d positional arguments but %zd were given", spec.name, most, positional);
    return false;
  }
  if (first && positional)
    (spec.points ? given.points : given.chosen) = args[0];
  for (Py_ssize_t k = first; k < positional; ++k)
    given.inputs[k - first] = args[k];
  if (names && !sort_keywords(spec, args + positional, names, given))
    return false;
  if (first && !given.points && !given.chosen) {
    PyErr_Format(PyExc_TypeError, "%s() misses its argument '%s'", spec.name, spec.points ? "points" : "parts");
    return false;
  }
  for (int k = 0; k < spec.inputs; ++k) {
    const Argument &argument = spec.arguments[std::size_t(k)];
    if (argument.omitted != O::error && given.inputs[k] == Py_None)
      given.inputs[k] = nullptr;
    if (argument.omitted == O::error && !given.inputs[k]) {
      PyErr_Format(PyExc_TypeError, "%s() misses its argument '%s'", spec.name, argument.name);
      return false;
    }
  }
  return true;
}

// An output may take the place of an input, row by row; any other overlap would be read after it was written.
bool overlaps(PyArrayObject *array, const Output &output, const Input &input, npy_intp count) {
  if (!input.data)
    return false;
  const auto *begin = static_cast<const double *>(PyArray_DATA(array)), *end = begin + PyArray_SIZE(array);
  const double *last = input.data + (input.stride && count > 0 ? count * input.stride : input.size);
  if (begin >= last || input.data >= end)
    return false;
  return !(begin == input.data && output.size == input.size && (count < 0 || output.stride == input.stride));
}

// everything of one call
struct Work {
  const KernelSignature &spec;
  PyObject *self;
  const BoundModel &model;
  const ModelData *data; // the whole model, or the bare one
  Given given;
  Call call;
  npy_intp count = -1; // states; -1: one, without an axis of its own
  Reference holders[max_arguments], zeros, along;
  PyObject *results[max_outputs]; // as many as the kernel has; null: not wanted, or not made yet
  std::ptrdiff_t points = 0;
  std::optional<SignalCheck> signals; // while it works without the GIL

  Work(const KernelSignature &spec, PyObject *self) : spec(spec), self(self), model(*bound(self)), data(&model.data) {
    call.kernel = spec.kernel;
    call.outputs = spec.outputs;
    for (int k = 0; k < spec.outputs; ++k) {
      call.out[k] = {nullptr, 0, 0};
      results[k] = nullptr;
    }
  }
  ~Work() {
    for (int k = 0; k < spec.outputs; ++k)
      Py_XDECREF(results[k]);
  }
  Work(const Work &) = delete;
  Work &operator=(const Work &) = delete;

  // the reason why an argument does not do
  PyObject *refuse(const char *argument, PyObject *value) {
    return PyErr_Occurred() ? nullptr : raise_through(self, "_refuse", spec.name, argument, value);
  }

  bool choose_model() {
    if (given.bare) {
      const int truth = PyObject_IsTrue(given.bare);
      if (truth < 0)
        return false;
      if (truth) {
        data = &model.bare;
        call.kernel = spec.bare;
        if (given.conditions)
          return refuse("conditions", given.conditions) != nullptr;
      }
    }
    if (given.conditions &&
        (!is_made(given.conditions, conditions_type()) || !of_one_family(*conditions().owner, model)))
      return refuse("conditions", given.conditions) != nullptr;
    if (given.conditions) // of the model with other mapped parameters
      data = &conditions().owner->data;
    return true;
  }

  const BoundConditions &conditions() const {
    return given.conditions ? *nanobind::inst_ptr<BoundConditions>(given.conditions) : *model.described;
  }

  bool read_inputs() {
    for (int k = 0; k < spec.inputs; ++k) {
      const Argument &argument = spec.arguments[std::size_t(k)];
      if (!given.inputs[k] && argument.omitted == O::nothing)
        continue;
      const Shape shape = shape_of(argument.extent, model.data);
      Input &input = call.take(argument.take);
      input = {nullptr, 0, shape.size()};
      if (!given.inputs[k]) {
        input.data = argument.omitted == O::starts ? model.starts.data() : zero_numbers(shape.size());
        if (!input.data && shape.size())
          return false;
        continue;
      }
      PyArrayObject *array = as_doubles(given.inputs[k], holders[k]);
      const bool settings = argument.take == T::inputs; // no number: by its law
      if (!array || !read_input(array, shape, input, count, !settings) || (settings && any_infinite(array)))
        return refuse(argument.name, given.inputs[k]) != nullptr;
    }
    return true;
  }

  const double *zero_numbers(npy_intp size) {
    zeros.reset(PyArray_ZEROS(1, &size, NPY_DOUBLE, 0));
    return zeros.object ? static_cast<const double *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(zeros.object)))
                        : nullptr;
  }

  bool read_points() {
    if (!is_made(given.points, points_type()))
      return refuse("points", given.points) != nullptr;
    const BoundPoints &found = *nanobind::inst_ptr<BoundPoints>(given.points);
    if (found.data.body > model.data.nb ||
        (found.data.nodes && model.data.bodies[found.data.body].form != JointForm::modal))
      return refuse("points", given.points) != nullptr;
    call.points = found.data;
    points = found.single ? 0 : found.data.count;
    return true;
  }

  // directions of parameters: rows, one number for each parameter of the elements, then for each mapped parameter
  bool read_directions() {
    if (!given.directions)
      return true;
    PyArrayObject *array = as_doubles(given.directions, along);
    if (!array || PyArray_NDIM(array) != 2 ||
        PyArray_DIM(array, 1) != data->parameter_count + data->parameter_maps.count || !PyArray_ISCARRAY_RO(array))
      return refuse("directions", given.directions) != nullptr;
    call.directions = static_cast<const double *>(PyArray_DATA(array));
    call.direction_count = int(PyArray_DIM(array, 0));
    points = PyArray_DIM(array, 0);
    return true;
  }

  // which results are wanted; all, unless they are chosen
  bool choose_results(bool *wanted) {
    for (int k = 0; k < spec.outputs; ++k)
      wanted[k] = !spec.selects_results;
    if (!spec.selects_results)
      return true;
    Reference parts(PySequence_Fast(given.chosen, "give the numbers of the parts that are wanted"));
    if (!parts.object)
      return false;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(parts.object); ++k) {
      const long part = PyLong_AsLong(PySequence_Fast_GET_ITEM(parts.object, k));
      if (part < 0 || part >= spec.outputs) {
        if (!PyErr_Occurred())
          PyErr_SetString(PyExc_ValueError, "there is no such part");
        return false;
      }
      wanted[part] = true;
    }
    return true;
  }

  bool make_result(int k) {
    const Shape shape = shape_of(spec.results[std::size_t(k)], model.data, points);
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
      if (!PyArray_Check(given.out) || PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY(array) ||
          PyArray_NDIM(array) != n || std::memcmp(PyArray_DIMS(array), dims, std::size_t(n) * sizeof *dims))
        return refuse("out", given.out) != nullptr;
      Py_INCREF(given.out);
      results[k] = given.out;
    } else {
      results[k] = PyArray_SimpleNew(n, dims, NPY_DOUBLE);
      if (!results[k])
        return false;
      array = reinterpret_cast<PyArrayObject *>(results[k]);
    }
    call.out[k] = {static_cast<double *>(PyArray_DATA(array)), shape.size(), shape.size()};
    if (given.out)
      for (const Input &input : call.in) // couplings read q while residuals are written
        if (overlaps(array, call.out[k], input, count) ||
            (spec.kernel == Kernel::constraint_residual && overlaps(array, {}, input, count < 0 ? 0 : count)))
          return refuse("out", given.out) != nullptr;
    return true;
  }

  unsigned run_states(bool on_threads) {
    if (count < 0 && model.data.nb < worth_releasing)
      return model.run_one(*data, call);
    if (count == 0)
      return 0;
    signals.emplace();
    const Released released;
    return count < 0 ? model.run_one(*data, call)
                     : model.run_batch(*data, call, count, on_threads ? thread_count() : 1, *signals);
  }

  // with code outside the core; what Python evaluates has one thread
  bool run_scoped(const BoundConditions &chosen, unsigned &found) {
    Scope scope(*data, chosen);
    call.conditions = &scope.conditions;
    found = run_states(!chosen.code.any());
    return !scope.raise() && !(signals && signals->raise());
  }

  // runs the kernel; false with an exception set
  bool run(unsigned &found) {
    static const Conditions none;
    try {
      const bool described = spec.described && data != &model.bare;
      if (described && conditions().has_callbacks())
        return run_scoped(conditions(), found);
      call.conditions = described ? &conditions().plain : &none;
      found = run_states(true);
      return !(signals && signals->raise());
    } catch (const std::bad_alloc &) {
      PyErr_NoMemory();
    } catch (nanobind::python_error &error) {
      error.restore();
    } catch (const std::exception &error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return false;
  }

  // what went wrong with numbers; true: nothing
  bool check_numbers(unsigned found) {
    if (found & bad_input)
      for (int k = 0; k < spec.inputs; ++k) {
        const Input &input = call.take(spec.arguments[std::size_t(k)].take);
        if (input.data && input.stride && !all_finite(input.data, count * input.size))
          return refuse(spec.arguments[std::size_t(k)].name, given.inputs[k]) != nullptr;
      }
    if (!spec.checks_results)
      return true;
    if (count < 0)
      for (int k = 0; k < spec.outputs; ++k)
        if (call.out[k].data && !all_finite(call.out[k].data, call.out[k].size))
          found |= bad_output;
    if (!(found & bad_output))
      return true;
    PyObject *at = nullptr;
    for (int k = 0; k < spec.inputs; ++k)
      at = spec.arguments[std::size_t(k)].take == T::q ? given.inputs[k] : at;
    return raise_through(self, "_refuse_result", spec.name, "q", at) != nullptr;
  }

  PyObject *take_results() {
    if (spec.outputs == 1)
      return std::exchange(results[0], nullptr);
    int size = 0;
    for (int k = 0; k < spec.outputs; ++k)
      size += results[k] != nullptr;
    PyObject *tuple =
        spec.returns_named_tuple && named_type ? named_type->tp_alloc(named_type, size) : PyTuple_New(size);
    for (int k = 0, place = 0; tuple && k < spec.outputs; ++k)
      if (results[k])
        PyTuple_SET_ITEM(tuple, place++, std::exchange(results[k], nullptr));
    return tuple;
  }
};

PyObject *call_kernel(const KernelSignature &spec, PyObject *self, PyObject *const *args, Py_ssize_t positional,
                      PyObject *names) {
  if (!nanobind::inst_ready(self)) {
    PyErr_Format(PyExc_TypeError, "%s() needs a model that has been initialised", spec.name);
    return nullptr;
  }
  Work work(spec, self);
  if (!sort_arguments(spec, args, positional, names, work.given))
    return nullptr;
  if (work.model.data.nc && spec.trees_only) { // mimic joints, or an error
    Reference with_loops(PyObject_GetAttrString(self, (std::string("_") + spec.name + "_with_loops").c_str()));
    return with_loops.object ? PyObject_Vectorcall(with_loops.object, args, std::size_t(positional), names) : nullptr;
  }
  bool wanted[max_outputs];
  if (!work.choose_model() || !work.read_inputs() || (spec.points && !work.read_points()) || !work.read_directions() ||
      !work.choose_results(wanted))
    return nullptr;
  for (int k = 0; k < spec.outputs; ++k)
    if (wanted[k] && !work.make_result(k))
      return nullptr;
  unsigned found = 0;
  if (!work.run(found) || !work.check_numbers(found))
    return nullptr;
  return work.take_results();
}

template <std::size_t I> PyObject *method(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
  return call_kernel(specs[I], self, args, count, names);
}

template <std::size_t... I> void add_each(PyTypeObject *type, std::index_sequence<I...>) {
  static PyMethodDef definitions[] = {{specs[I].name,
                                       reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&method<I>)),
                                       METH_FASTCALL | METH_KEYWORDS, specs[I].doc}...};
  for (PyMethodDef &definition : definitions) {
    Reference descriptor(PyDescr_NewMethod(type, &definition));
    if (!descriptor.object ||
        PyObject_SetAttrString(reinterpret_cast<PyObject *>(type), definition.ml_name, descriptor.object))
      return;
  }
}

} // namespace

int thread_count() {
  const int chosen = threads.load(std::memory_order_relaxed);
  if (chosen)
    return chosen;
  static const int cores = std::max(int(std::thread::hardware_concurrency()), 1); // it reads a file: 8 us
  return cores;
}

void set_named_type(PyTypeObject *type) {
  Py_XINCREF(reinterpret_cast<PyObject *>(type));
  named_type = type;
}

void set_thread_count(int count) { threads.store(count, std::memory_order_relaxed); }

void add_methods(PyTypeObject *type) { add_each(type, std::make_index_sequence<spec_count>{}); }

} // namespace dalembert::bind
