#include "bind/conditions.hpp"
#include "bind/kernel_methods.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

namespace dalembert::bind {

// ---- code in Python

void PythonCallbacks::take_functions(const nb::list &list, const nb::object &sizes) {
  functions.clear();
  for (std::size_t k = 0; k < list.size(); ++k) {
    const nb::object given = list[k];
    Function function;
    function.inputs = nb::cast<int>(sizes[k][0]);
    function.outputs = nb::cast<int>(sizes[k][1]);
    if (function.inputs < 0 || function.inputs > max_law_inputs || function.outputs < 1 ||
        function.outputs > max_law_outputs)
      throw nb::value_error("a law takes or gives more numbers than there is room for");
    if (PyLong_Check(given.ptr())) {
      function.plain = reinterpret_cast<void (*)(const double *, double *)>(
          static_cast<std::uintptr_t>(nb::cast<std::uint64_t>(given)));
      if (!function.plain)
        throw nb::value_error("a compiled law has no address");
    } else {
      function.callable = given;
    }
    functions.push_back(function);
  }
}

int PythonCallbacks::visit(visitproc visit, void *arg) const {
  Py_VISIT(callback.ptr());
  Py_VISIT(delays.ptr());
  Py_VISIT(compiled_control.ptr());
  for (const Function &f : functions)
    Py_VISIT(f.callable.ptr());
  return 0;
}

void PythonCallbacks::clear() {
  callback.reset();
  delays.reset();
  delayed = nullptr;
  compiled_control.reset();
  functions.clear();
}

// ---- conditions

void BoundConditions::update_plain() {
  const auto pointer = [](const std::vector<unsigned char> &marks) { return marks.empty() ? nullptr : marks.data(); };
  plain.parameters = parameters.data();
  plain.acceleration_prescribed = pointer(prescribed.acceleration),
  plain.velocity_prescribed = pointer(prescribed.velocity);
  plain.position_prescribed = pointer(prescribed.position),
  plain.cut_velocity_locked = pointer(prescribed.cut_velocity);
  plain.constraint_active = pointer(active);
  plain.law_branches = sides.empty() ? nullptr : sides.data();
  plain.stabilization[0] = stabilization[0], plain.stabilization[1] = stabilization[1];
}

// ---- one call

Scope::Scope(const ModelData &m, const BoundConditions &bound, bool persistent)
    : conditions(bound.plain), model(m), code(bound.code), persistent(persistent) {
  if (!code.functions.empty()) {
    python_laws.reserve(code.functions.size());
    for (const PythonCallbacks::Function &function : code.functions) {
      if (function.plain) {
        using Plain = void (*)(const double *, double *);
        calls.push_back([](void *self, const double *in, double *out) { reinterpret_cast<Plain>(self)(in, out); });
        selves.push_back(reinterpret_cast<void *>(function.plain));
      } else {
        python_laws.push_back({this, &function});
        calls.push_back(&Scope::call);
        selves.push_back(&python_laws.back());
      }
    }
    conditions.functions = {calls.data(), selves.data()};
  }
  if (code.callback.is_valid()) {
    callbacks = {&Scope::call_python, this, code.gives_forces, code.depends_on_state};
    conditions.callbacks = &callbacks;
    laws = zeros({m.callback_law_count, 3});
    tau = zeros({m.nv});
    loads = zeros({m.users, 6});
  } else if (code.delayed) {
    callbacks = {&DelayedInputs::evaluate, code.delayed, false, true, true};
    conditions.callbacks = &callbacks;
  } else if (code.control) {
    callbacks = {&Scope::call_control, this, true, false, true, code.run};
    conditions.callbacks = &callbacks;
  }
}

Scope::~Scope() { Py_XDECREF(raised); }

bool Scope::raise() {
  if (!raised && !failures.empty()) {
    const nb::object error = error_of(take_failures().front());
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.ptr())), error.ptr());
    return true;
  }
  if (!raised)
    return false;
  PyObject *error = raised;
  raised = nullptr;
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error)), error);
  Py_DECREF(error);
  return true;
}

nb::object Scope::take_error() {
  if (!raised || !PyErr_GivenExceptionMatches(raised, PyExc_Exception)) // not Ctrl-C, nor the end of the program
    return {};
  return nb::steal(std::exchange(raised, nullptr));
}

void Scope::keep_error() {
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
void Scope::call(void *self, const double *in, double *out) {
  const PythonLaw &law = *static_cast<PythonLaw *>(self);
  const int inputs = law.function->inputs, outputs = law.function->outputs;
  const Acquired acquired;
  for (int k = 0; k < outputs; ++k)
    out[k] = k < outputs - 1 ? std::numeric_limits<double>::quiet_NaN() : 0.0; // energy may be left out
  if (law.scope->raised && !law.scope->persistent)
    return;
  PyObject *arguments[max_law_inputs];
  bool complete = true;
  for (int k = 0; k < inputs; ++k)
    complete &= (arguments[k] = PyFloat_FromDouble(in[k])) != nullptr;
  PyObject *result = nullptr;
  if (complete)
    result = acquire_or_block(
        [&] { return PyObject_Vectorcall(law.function->callable.ptr(), arguments, std::size_t(inputs), nullptr); });
  for (int k = 0; k < inputs; ++k)
    Py_XDECREF(arguments[k]);
  if (result && PyFloat_CheckExact(result)) {
    out[0] = PyFloat_AS_DOUBLE(result);
  } else if (result) {
    PyObject *numbers = PySequence_Fast(result, "a law gives a number or a sequence of numbers");
    const Py_ssize_t count = numbers ? PySequence_Fast_GET_SIZE(numbers) : 0;
    if (numbers && count != outputs && count != outputs - 1)
      PyErr_Format(PyExc_ValueError, "a law gave %zd numbers where %d are needed", count, outputs - 1);
    for (Py_ssize_t k = 0; numbers && !PyErr_Occurred() && k < count; ++k)
      out[k] = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(numbers, k));
    Py_XDECREF(numbers);
  }
  Py_XDECREF(result);
  if (PyErr_Occurred())
    law.scope->keep_error();
}

static nb::object copy_of(const double *data, npy_intp size) {
  PyObject *array = PyArray_SimpleNew(1, &size, NPY_DOUBLE);
  if (!array)
    throw nb::python_error();
  if (size)
    std::memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject *>(array)), data, std::size_t(size) * sizeof(double));
  return nb::steal(array);
}

static void fetch(const nb::object &array, double *to) {
  auto *from = reinterpret_cast<PyArrayObject *>(array.ptr());
  if (PyArray_SIZE(from))
    std::memcpy(to, PyArray_DATA(from), std::size_t(PyArray_SIZE(from)) * sizeof(double));
}

bool Scope::control_forces(std::int64_t run, double t, const double *q, const double *v, const double *x, double *tau) {
  code.control(t, run, q, v, x, tau, code.control_data);
  if (std::all_of(tau, tau + model.nv, [](double force) { return std::isfinite(force); }))
    return true;
  const std::lock_guard lock(failing);
  failures.push_back({run, t});
  return false;
}

bool Scope::call_control(void *self, std::int64_t run, double t, const double *q, const double *v, const double *x,
                         double *, double *tau, double *loads) {
  Scope &me = *static_cast<Scope *>(self);
  std::fill_n(tau, me.model.nv, 0.0);
  std::fill_n(loads, 6 * me.model.users, 0.0);
  return me.control_forces(run, t, q, v, x, tau);
}

bool Scope::call_python(void *self, std::int64_t, double t, const double *q, const double *v, const double *x,
                        double *laws, double *tau, double *loads) {
  Scope &me = *static_cast<Scope *>(self);
  const Acquired acquired;
  if (me.raised || (me.flag && me.flag->set.load(std::memory_order_relaxed)))
    return false;
  try {
    const nb::object given[] = {
        nb::float_(t), copy_of(q, me.model.nq), copy_of(v, me.model.nv), copy_of(x, me.model.nx), me.laws, me.tau,
        me.loads};
    PyObject *arguments[std::size(given)];
    std::transform(std::begin(given), std::end(given), arguments, [](const nb::object &each) { return each.ptr(); });
    PyObject *done = acquire_or_block(
        [&] { return PyObject_Vectorcall(me.code.callback.ptr(), arguments, std::size(given), nullptr); });
    if (!done)
      throw nb::python_error();
    Py_DECREF(done);
    fetch(me.laws, laws);
    if (me.code.gives_forces) {
      fetch(me.tau, tau);
      fetch(me.loads, loads);
    }
    return true;
  } catch (nb::python_error &error) {
    error.restore();
    me.keep_error();
    return false;
  }
}

// ---- in Python

namespace {

PyTypeObject *bound_conditions_type;

int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<BoundConditions>(self)->code.visit(visit, arg) : 0;
}

int clear(PyObject *self) {
  if (nb::inst_ready(self))
    nb::inst_ptr<BoundConditions>(self)->code.clear();
  return 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {0, nullptr},
};

// one for each degree of freedom
nb::object mask(const BoundConditions &conditions, const std::vector<unsigned char> &which) {
  npy_intp size = conditions.owner->data.nv;
  PyObject *array = PyArray_ZEROS(1, &size, NPY_BOOL, 0);
  if (!array)
    throw nb::python_error();
  std::copy(which.begin(), which.end(),
            static_cast<npy_bool *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(array))));
  return nb::steal(array);
}

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

void make(BoundConditions *self, const nb::object &model, std::optional<Doubles> parameters,
          const std::vector<std::int32_t> &locked, const std::vector<bool> &active, nb::object callback,
          bool gives_forces, double damping, double stiffness, nb::object sampled_forces,
          const std::vector<std::int32_t> &sliding, const std::vector<std::int32_t> &fixed_functions,
          const std::vector<double> &fixed_branches, nb::object sequence, nb::object compiled_control,
          std::int64_t number, nb::object sampled_loads) {
  if (!is_made(model.ptr(), model_type()))
    throw nb::type_error("give a model");
  const BoundModel &m = *bound(model.ptr());
  new (self) BoundConditions(*m.described); // with its owner
  if (parameters) {
    if (parameters->size() != std::size_t(m.data.parameter_count))
      throw nb::value_error("the parameters do not fit the model");
    self->parameters.assign(parameters->data(), parameters->data() + parameters->size());
  }
  self->prescribed = prescribed_dofs(m.data, locked);
  if (!active.empty()) {
    if (active.size() != std::size_t(m.data.loop_constraint_count))
      throw nb::value_error("the mask does not fit the loop constraints");
    self->active.assign(active.begin(), active.end());
  }
  self->code.delays.reset(), self->code.delayed = nullptr;
  if (nb::isinstance<DelayedInputs>(callback)) {
    self->code.callback.reset();
    self->code.delays = callback;
    self->code.delayed = nb::inst_ptr<DelayedInputs>(callback);
    if (self->code.delayed->inputs.size() != std::size_t(m.data.callback_law_count))
      throw nb::value_error("the delayed inputs do not fit the model");
  } else if (!callback.is_none()) {
    self->code.callback = callback;
    self->code.gives_forces = gives_forces;
    self->code.depends_on_state = nb::cast<bool>(callback.attr("depends_on_state"));
  }
  if (!compiled_control.is_none()) {
    self->code.compiled_control = compiled_control;
    self->code.control = reinterpret_cast<ControlFunction>(nb::cast<std::uintptr_t>(compiled_control.attr("address")));
    self->code.control_data =
        reinterpret_cast<const double *>(nb::cast<std::uintptr_t>(compiled_control.attr("data_address")));
    self->code.run = number;
  }
  self->sides.clear();
  const auto hold = [&](std::int32_t k, double side) {
    if (k < 0 || k >= m.data.switching_count)
      throw nb::value_error("there is no such switching function");
    self->sides.resize(std::size_t(m.data.switching_count), std::numeric_limits<double>::quiet_NaN());
    self->sides[std::size_t(k)] = side;
  };
  if (fixed_functions.size() != fixed_branches.size())
    throw nb::value_error("the branches do not fit the switching functions");
  for (const std::int32_t k : sliding)
    hold(k, 0.0);
  for (std::size_t j = 0; j < fixed_functions.size(); ++j)
    hold(fixed_functions[j], fixed_branches[j]);
  self->stabilization[0] = damping, self->stabilization[1] = stiffness;
  if (!sampled_forces.is_none()) {
    const BoundSampledForces &forces = nb::cast<const BoundSampledForces &>(sampled_forces);
    if (forces.nv != std::size_t(m.data.nv))
      throw nb::value_error("the sampled forces do not fit the model");
    self->sampled_forces = sampled_forces;
    self->plain.sampled_forces = &forces.plain;
  }
  if (!sampled_loads.is_none()) {
    const BoundSampledLoads &loads = nb::cast<const BoundSampledLoads &>(sampled_loads);
    if (loads.loads.size() != 6 * std::size_t(m.data.users) * loads.times.size() ||
        loads.efforts.size() != std::size_t(m.data.nv + m.data.cut_nv) * loads.times.size())
      throw nb::value_error("the sampled loads do not fit the model");
    self->sampled_loads = sampled_loads;
    self->plain.sampled_loads = &loads.plain;
  }
  if (!sequence.is_none()) {
    const BoundSequence &control = nb::cast<const BoundSequence &>(sequence);
    if (control.force.size() != std::size_t(m.data.nv) || control.input.size() != std::size_t(m.data.input_count) ||
        control.parameter.size() != std::size_t(m.data.parameter_count))
      throw nb::value_error("the control sequence does not fit the model");
    self->sequence = sequence;
    self->plain.sequence = &control.plain;
  }
  self->update_plain();
}

void make_sequence(BoundSequence *self, const Doubles &times, bool linear, const std::vector<std::int32_t> &force,
                   const std::vector<std::int32_t> &input, const std::vector<std::int32_t> &parameter,
                   const Doubles &values) {
  const std::size_t count = times.size() ? times.size() - 1 : 0, channels = values.ndim() == 2 ? values.shape(1) : 0;
  const auto known = [&](std::int32_t channel) { return channel >= -1 && channel < std::int32_t(channels); };
  if (!count || values.ndim() != 2 || values.shape(0) != count + (linear ? 1 : 0) ||
      !std::is_sorted(times.data(), times.data() + times.size()) || !std::all_of(force.begin(), force.end(), known) ||
      !std::all_of(input.begin(), input.end(), known) || !std::all_of(parameter.begin(), parameter.end(), known))
    throw nb::value_error("the values of a control sequence do not fit its times and channels");
  new (self) BoundSequence{{times.data(), times.data() + times.size()},
                           {values.data(), values.data() + values.size()},
                           force,
                           input,
                           parameter};
  const bool sets_parameters = std::any_of(parameter.begin(), parameter.end(), [](std::int32_t k) { return k >= 0; });
  self->plain = {self->times.data(),     std::ptrdiff_t(count), linear,
                 std::int32_t(channels), self->force.data(),    self->input.data(),
                 self->parameter.data(), sets_parameters,       self->values.data()};
}

} // namespace

PyTypeObject *conditions_type() { return bound_conditions_type; }

void add_conditions(nb::module_ &module) {
  nb::class_<BoundSequence>(module, "ControlSequence")
      .def("__init__", &make_sequence, nb::arg("times"), nb::arg("linear"), nb::arg("force"), nb::arg("input"),
           nb::arg("parameter"), nb::arg("values"));
  nb::class_<BoundSampledForces>(module, "SampledForces")
      .def(
          "__init__", [](BoundSampledForces *self, std::size_t nv) { new (self) BoundSampledForces{nv, {}, {}, {}}; },
          nb::arg("nv"))
      .def(
          "add",
          [](BoundSampledForces &self, double t, const Doubles &tau) {
            if (tau.size() != self.nv)
              throw nb::value_error("the forces do not fit the model");
            self.add(t, tau.data());
          },
          nb::arg("t"), nb::arg("tau"))
      .def("__len__", [](const BoundSampledForces &self) { return self.times.size(); })
      .def("samples", [](const BoundSampledForces &self) {
        return nb::make_tuple(copy_of(self.times.data(), npy_intp(self.times.size())),
                              copy_of(self.tau.data(), npy_intp(self.tau.size())));
      });
  nb::class_<BoundSampledLoads>(module, "SampledLoads")
      .def(
          "__init__",
          [](BoundSampledLoads *self, const Doubles &times, const Doubles &loads, const Doubles &efforts) {
            if (!std::is_sorted(times.data(), times.data() + times.size()))
              throw nb::value_error("the times of loads come in order");
            new (self) BoundSampledLoads{{times.data(), times.data() + times.size()},
                                         {loads.data(), loads.data() + loads.size()},
                                         {efforts.data(), efforts.data() + efforts.size()},
                                         {}};
            self->plain = {self->times.data(), self->loads.data(), self->efforts.data(),
                           std::ptrdiff_t(self->times.size())};
          },
          nb::arg("times"), nb::arg("loads"), nb::arg("efforts"));
  nb::class_<DelayedInputs>(module, "DelayedInputs")
      .def(
          "__init__",
          [](DelayedInputs *self, const nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu> &places,
             const Doubles &numbers) {
            if (places.size() / 3 != numbers.size() / 2)
              throw nb::value_error("the delayed inputs do not fit");
            new (self) DelayedInputs();
            for (std::size_t k = 0; k < numbers.size() / 2; ++k) {
              const std::int64_t *place = places.data() + 3 * k;
              if (place[0] < 0 || place[0] > 2 || place[1] < 0 || place[2] < 0)
                throw nb::value_error("a delayed input does not fit");
              self->inputs.push_back({DelayedKind(place[0]), std::int32_t(place[1]), std::int32_t(place[2]),
                                      numbers.data()[2 * k], numbers.data()[2 * k + 1]});
            }
          },
          nb::arg("places"), nb::arg("numbers"))
      .def(
          "add",
          [](DelayedInputs &self, std::size_t kept, double t, const Doubles &q, const Doubles &v, const Doubles &x,
             const Doubles &a, const Doubles &dx) {
            const auto outside = [&](const DelayedInput &input) {
              return input.kind == DelayedKind::state ? std::size_t(input.place) >= std::min(x.size(), dx.size())
                                                      : std::size_t(input.place) >= q.size() ||
                                                            std::size_t(input.rate) >= std::min(v.size(), a.size());
            };
            if (kept > self.t.size() || std::any_of(self.inputs.begin(), self.inputs.end(), outside))
              throw nb::value_error("the row does not fit the delayed inputs");
            self.add(kept, t, q.data(), v.data(), x.data(), a.data(), dx.data());
          },
          nb::arg("kept"), nb::arg("t"), nb::arg("q"), nb::arg("v"), nb::arg("x"), nb::arg("a"), nb::arg("dx"))
      .def(
          "value",
          [](const DelayedInputs &self, std::size_t number, double t) {
            if (number >= self.inputs.size())
              throw nb::value_error("there is no such input");
            return self.value(number, t);
          },
          nb::arg("number"), nb::arg("t"))
      .def("__len__", [](const DelayedInputs &self) { return self.t.size(); });
  nb::class_<BoundConditions> conditions(module, "Conditions", nb::type_slots(slots));
  bound_conditions_type = reinterpret_cast<PyTypeObject *>(conditions.ptr());
  conditions
      .def("__init__", &make, nb::arg("model"), nb::arg("parameters").none(), nb::arg("locked"), nb::arg("active"),
           nb::arg("callback").none(), nb::arg("gives_forces"), nb::arg("damping"), nb::arg("stiffness"),
           nb::arg("sampled_forces").none(), nb::arg("sliding") = std::vector<std::int32_t>{},
           nb::arg("fixed_functions") = std::vector<std::int32_t>{}, nb::arg("fixed_branches") = std::vector<double>{},
           nb::arg("sequence") = nb::none(), nb::arg("compiled_control") = nb::none(), nb::arg("run") = 0,
           nb::arg("sampled_loads") = nb::none())
      .def_prop_ro("acceleration_prescribed",
                   [](const BoundConditions &c) { return mask(c, c.prescribed.acceleration); })
      .def_prop_ro("velocity_prescribed", [](const BoundConditions &c) { return mask(c, c.prescribed.velocity); })
      .def_prop_ro("position_prescribed", [](const BoundConditions &c) { return mask(c, c.prescribed.position); });
}

} // namespace dalembert::bind
