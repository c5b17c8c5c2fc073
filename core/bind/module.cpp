// The extension module: the bound model, factorisations, threads.
#define DALEMBERT_IMPORTS_NUMPY
#include "bind/geometry.hpp"
#include "bind/integrator.hpp"
#include "bind/inverse_kinematics.hpp"
#include "bind/kernel_methods.hpp"
#include "bind/natural.hpp"
#include "bind/signals.hpp"
#include "bind/table_arrays.hpp"
#include "bind/variational.hpp"
#include "kernels/dispatch.hpp"
#include "runs/thread_pool.hpp"
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

namespace nb = nanobind;

namespace dalembert::bind {

namespace {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

PyTypeObject *types[3]; // of models, points and conditions

// the tree and its loops alone
ModelData without_callbacks(ModelData bare) {
  bare.element_count = bare.drive_count = bare.feedback_count = bare.signal_count = bare.callback_law_count =
      bare.switching_count = 0;
  return bare;
}

// tables: arrays by name (model/schema.hpp); starts of element states; laws that are functions, with how many numbers
// each takes and gives; what is evaluated in Python at every evaluation, or None
void make_model(BoundModel *self, const nb::dict &tables, const Doubles &starts, const nb::list &functions,
                const nb::object &sizes, nb::object callback) {
  new (self) BoundModel();
  try {
    fill_tables(self->tables, tables);
    self->data = complete(self->tables);
    if (starts.size() != std::size_t(self->data.nx))
      throw nb::value_error("the starts do not fit the states");
    self->starts.assign(starts.data(), starts.data() + starts.size());
    self->bare = without_callbacks(self->data);
    self->described = std::make_unique<BoundConditions>();
    self->described->parameters = self->tables.parameters;
    self->described->code.take_functions(functions, sizes);
    if (!callback.is_none()) {
      self->described->code.callback = callback;
      self->described->code.depends_on_state = nb::cast<bool>(callback.attr("depends_on_state"));
    }
    self->described->owner = self;
    self->described->prescribed = prescribed_dofs(self->data, {});
    self->described->settle();
  } catch (const std::invalid_argument &error) {
    self->~BoundModel();
    throw nb::value_error(error.what());
  } catch (...) {
    self->~BoundModel();
    throw;
  }
}

// a model with other mapped parameters, which shares all else with the one as described
void vary_model(BoundModel *self, const nb::object &family, const Doubles &parameters, const Doubles &numbers,
                nb::object callback) {
  if (!is_made(family.ptr(), model_type()) || bound(family.ptr())->family.is_valid())
    throw nb::type_error("give a model as described");
  const BoundModel &first = *bound(family.ptr());
  if (numbers.size() != std::size_t(first.data.parameter_maps.count) ||
      parameters.size() != std::size_t(first.data.parameter_count))
    throw nb::value_error("the numbers do not fit the model");
  new (self) BoundModel(first.singles_pool, first.packs_pool);
  self->family = family;
  self->data = with_parameters(first.data, numbers.data(), self->own);
  self->starts = first.starts;
  self->bare = without_callbacks(self->data);
  self->described = std::make_unique<BoundConditions>(*first.described);
  self->described->parameters.assign(parameters.data(), parameters.data() + parameters.size());
  if (!callback.is_none())
    self->described->code.callback = callback;
  self->described->owner = self;
  self->described->settle();
}

int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self))
    return 0;
  const BoundModel &model = *nb::inst_ptr<BoundModel>(self);
  Py_VISIT(model.family.ptr());
  return model.described ? model.described->code.visit(visit, arg) : 0;
}

int clear(PyObject *self) {
  if (nb::inst_ready(self) && nb::inst_ptr<BoundModel>(self)->described)
    nb::inst_ptr<BoundModel>(self)->described->code.clear();
  return 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {0, nullptr},
};

nb::object new_array(std::initializer_list<npy_intp> shape) {
  PyObject *array = PyArray_SimpleNew(int(shape.size()), const_cast<npy_intp *>(shape.begin()), NPY_DOUBLE);
  if (!array)
    throw nb::python_error();
  return nb::steal(array);
}

double *data_of(const nb::object &array) {
  return static_cast<double *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(array.ptr())));
}

// what states of self-stress depend on: the model without elements, and conditions
struct Quiet {
  ModelData data;
  Scope scope;
  Conditions conditions;
  BlockLease memory;

  Quiet(const BoundModel &model, const Doubles &q, const nb::object &chosen)
      : data(without_elements(model, q, chosen)),
        scope(model.data, chosen.is_none() ? *model.described : *of_model(model, chosen)), conditions(scope.conditions),
        memory(model.singles, model.kernels->bytes_stress(data)) {
    conditions.callbacks = nullptr;
  }
  static const BoundConditions *of_model(const BoundModel &model, const nb::object &chosen) {
    const BoundConditions *conditions = nb::cast<BoundConditions *>(chosen);
    if (!of_one_family(*conditions->owner, model))
      throw nb::value_error("the conditions belong to another model");
    return conditions;
  }
  // the model with the mapped parameters of its conditions
  static const ModelData &of_conditions(const BoundModel &model, const nb::object &chosen) {
    return chosen.is_none() ? model.data : of_model(model, chosen)->owner->data;
  }
  static ModelData without_elements(const BoundModel &model, const Doubles &q, const nb::object &chosen) {
    if (q.size() != std::size_t(model.data.nq))
      throw nb::value_error("q has the wrong size");
    ModelData data = of_conditions(model, chosen);
    data.element_count = data.feedback_count = data.switching_count = 0;
    return data;
  }
};

// states of self-stress at q: multipliers (k, nc) and loads of connections (k, connections, 6)
nb::tuple stress(const BoundModel &model, double t, const Doubles &q, const nb::object &conditions) {
  Quiet quiet(model, q, conditions);
  const ModelData &m = quiet.data;
  const npy_intp most = m.nc, connections = connection_count(m);
  std::vector<double> multipliers(std::size_t(most * m.nc)), loads(std::size_t(6 * most * connections));
  const npy_intp n =
      model.kernels->stress(m, quiet.memory.data(), quiet.conditions, t, q.data(), multipliers.data(), loads.data());
  nb::object first = new_array({n, m.nc}), second = new_array({n, connections, 6});
  std::copy_n(multipliers.data(), n * m.nc, data_of(first));
  std::copy_n(loads.data(), 6 * n * connections, data_of(second));
  return nb::make_tuple(first, second);
}

// loads of all connections (connections, 6) and multipliers (nc) of a motion at q, made those of least norm
nb::tuple share(const BoundModel &model, double t, const Doubles &q, const nb::object &conditions, const Doubles &loads,
                const Doubles &lambda) {
  Quiet quiet(model, q, conditions);
  const ModelData &m = quiet.data;
  const npy_intp connections = connection_count(m);
  if (loads.size() != 6 * std::size_t(connections) || lambda.size() != std::size_t(m.nc))
    throw nb::value_error("the loads do not fit the model");
  nb::object first = new_array({connections, 6}), second = new_array({m.nc});
  std::copy_n(loads.data(), 6 * connections, data_of(first));
  std::copy_n(lambda.data(), m.nc, data_of(second));
  if (m.nc)
    model.kernels->share(m, quiet.memory.data(), quiet.conditions, t, q.data(), data_of(first), data_of(second));
  return nb::make_tuple(first, second);
}

// residuals of an element's unknowns and their slopes, (n, m + m m), at inputs and unknowns (n, inputs + m)
nb::object law_equations(const BoundModel &model, int element, const Doubles &rows) {
  const ModelData &m = model.data;
  if (element < 0 || element >= m.element_count || m.elements[element].form != LawForm::program)
    throw nb::value_error("there is no such law");
  const ElementData &e = m.elements[element];
  const std::size_t inputs = std::size_t(m.programs.programs[e.law].inputs);
  if (rows.ndim() != 2 || rows.shape(1) != inputs)
    throw nb::value_error("the inputs do not fit the law");
  const npy_intp count = npy_intp(rows.shape(0)), size = e.unknowns * (e.unknowns + 1);
  nb::object found = new_array({count, size});
  std::vector<double> values(std::size_t(m.programs.max_values));
  for (npy_intp k = 0; k < count; ++k)
    model.kernels->law_equations(m, element, rows.data() + std::size_t(k) * inputs, values.data(),
                                 data_of(found) + k * size);
  return found;
}

// Kinematic motion at times (n,) from q: (nq,), or with positions (n, nq) that are given, rates only. Returns q, v, a,
// jerks (None if not wanted) and slack of the rows that were reached, the last position and its velocities, and
// (status, t, rounds).
nb::tuple sweep(const BoundModel &model, const Doubles &times, const Doubles &q, const nb::object &conditions,
                const Doubles &row_scale, double floor, bool jerk, std::int64_t most) {
  const ModelData &m = Quiet::of_conditions(model, conditions);
  const npy_intp n = npy_intp(times.size()), nq = m.nq, nv = m.nv;
  const bool placed = q.ndim() == 2;
  if (row_scale.size() != std::size_t(m.nc) || q.size() != std::size_t(placed ? n * nq : nq))
    throw nb::value_error("the arrays do not fit the model");
  if (n == 0)
    throw nb::value_error("give at least one time");
  Scope scope(m, conditions.is_none() ? *model.described : *Quiet::of_model(model, conditions));
  BlockLease memory(model.singles, model.kernels->bytes_sweep(m, scope.conditions, jerk));
  nb::object qs = new_array({n, nq}), vs = new_array({n, nv}), as = new_array({n, nv}), slack = new_array({n});
  nb::object js = jerk ? new_array({n, nv}) : nb::none(), q_last = new_array({nq}), v_last = new_array({nv});
  std::copy_n(q.data(), q.size(), data_of(qs));
  std::copy_n(q.data(), nq, data_of(q_last));
  std::fill_n(data_of(v_last), nv, 0.0);
  SweepCall call{};
  call.times = times.data(), call.count = n, call.placed = placed;
  call.q = data_of(qs), call.v = data_of(vs), call.a = data_of(as), call.jerk = jerk ? data_of(js) : nullptr,
  call.slack = data_of(slack);
  call.q_last = data_of(q_last), call.v_last = data_of(v_last), call.t_last = times.data()[0];
  call.most = most;
  SignalCheck attention;
  call.stop = attention.stop();
  SweepStatus status;
  {
    nb::gil_scoped_release release;
    status = model.kernels->sweep(m, memory.data(), scope.conditions, row_scale.data(), floor, call);
  }
  if (attention.raise() || scope.raise())
    throw nb::python_error();
  return nb::make_tuple(qs, vs, as, js, slack, q_last, v_last, call.t_last, int(status), call.done, call.steps,
                        call.corrections, call.crossings);
}

// numbers of an array that may begin at any byte: itself, or a copy
const double *aligned(const Doubles &x, std::vector<double> &copy) {
  if (reinterpret_cast<std::uintptr_t>(x.data()) % alignof(double) == 0)
    return x.data();
  copy.resize(x.size());
  std::memcpy(copy.data(), static_cast<const void *>(x.data()), x.size() * sizeof(double));
  return copy.data();
}

// the mass matrix at one configuration, factored
struct Factor {
  nb::object owner; // keeps the model alive
  const BoundModel *model;
  Block memory;
  std::mutex lock; // the block is scratch as well
  long process = this_process();

  static const BoundModel *checked(const nb::object &owner) {
    if (!is_made(owner.ptr(), model_type()))
      throw nb::type_error("give a model");
    return bound(owner.ptr());
  }

  Factor(nb::object owner, const Doubles &q)
      : owner(owner), model(checked(owner)), memory(model->kernels->bytes_factor(model->data)) {
    if (q.ndim() != 1 || q.size() != std::size_t(model->data.nq))
      throw nb::value_error("q has the wrong size");
    std::vector<double> copy;
    model->kernels->factor(model->data, memory.data, aligned(q, copy));
  }

  // rows of x are right-hand sides
  nb::object solve(const Doubles &x) {
    const npy_intp nv = model->data.nv;
    if (x.ndim() < 1 || x.ndim() > 2 || std::ptrdiff_t(x.shape(x.ndim() - 1)) != nv)
      throw nb::value_error("x has the wrong shape");
    const npy_intp count = x.ndim() == 2 ? npy_intp(x.shape(0)) : 1;
    nb::object result = x.ndim() == 2 ? new_array({count, nv}) : new_array({nv});
    if (process != this_process()) { // a thread that held the lock is not in this child
      new (&lock) std::mutex;
      process = this_process();
    }
    std::vector<double> copy;
    const double *rows = aligned(x, copy);
    {
      const Released released;
      std::lock_guard guard(lock);
      if (count > 0)
        model->kernels->factor_solve(model->data, memory.data, rows, data_of(result), count);
    }
    return result;
  }

  nb::object pivots() {
    nb::object result = new_array({model->data.nv});
    model->kernels->factor_pivots(model->data, memory.data, data_of(result));
    return result;
  }
};

// frames: (n, 12) axes and origins in F; nodes: (n, width) shapes, of points of a flexible body
void make_points(BoundPoints *self, int body, const Doubles &frames, std::optional<Doubles> nodes, bool single) {
  if (body < 0 || frames.ndim() != 2 || frames.shape(1) != 12 ||
      (nodes && (nodes->ndim() != 2 || nodes->shape(0) != frames.shape(0))) || (single && frames.shape(0) != 1))
    throw nb::value_error("the points do not fit");
  new (self) BoundPoints();
  self->frames.assign(frames.data(), frames.data() + frames.size());
  if (nodes)
    self->nodes.assign(nodes->data(), nodes->data() + nodes->size());
  self->data = {body, std::int32_t(frames.shape(0)), self->frames.data(), nodes ? self->nodes.data() : nullptr,
                nodes ? std::ptrdiff_t(nodes->shape(1)) : 0};
  self->single = single;
}

} // namespace

BoundModel *bound(PyObject *self) { return nb::inst_ptr<BoundModel>(self); }

PyTypeObject *model_type() { return types[0]; }
PyTypeObject *points_type() { return types[1]; }
PyTypeObject *conditions_type() { return types[2]; }

} // namespace dalembert::bind

static int import_numpy() {
  import_array1(-1);
  return 0;
}

NB_MODULE(_core, module) {
  using namespace dalembert::bind;
  if (!dalembert::processor_is_served()) {
    PyErr_SetString(
        PyExc_ImportError,
        "dalembert was built for another processor than this one: install it here from source, or build it with "
        "-C cmake.define.DALEMBERT_SETS=all, which serves every processor");
    throw nb::python_error();
  }
  if (import_numpy())
    throw nb::python_error();
  nb::class_<BoundModel> model(module, "Model", nb::type_slots(slots));
  types[0] = reinterpret_cast<PyTypeObject *>(model.ptr());
  model
      .def("__init__", &make_model, nb::arg("tables"), nb::arg("starts"), nb::arg("functions"), nb::arg("sizes"),
           nb::arg("callback").none())
      .def("__init__", &vary_model, nb::arg("family"), nb::arg("parameters"), nb::arg("mapped_parameters"),
           nb::arg("callback").none())
      .def(
          "_set_family", [](BoundModel &self, const nb::object &family) { self.family = family; }, nb::arg("family"))
      .def("_self_stress", &stress, nb::arg("t"), nb::arg("q"), nb::arg("conditions").none())
      .def("_law_equations", &law_equations, nb::arg("element"), nb::arg("rows"))
      .def("_minimum_norm_loads", &share, nb::arg("t"), nb::arg("q"), nb::arg("conditions").none(), nb::arg("loads"),
           nb::arg("lam"))
      .def("_sweep", &sweep, nb::arg("times"), nb::arg("q"), nb::arg("conditions").none(), nb::arg("row_scale"),
           nb::arg("floor"), nb::arg("jerk"), nb::arg("most"))
      .def_prop_ro("loop_envelope",
                   [](const BoundModel &m) {
                     return m.data.independent_rows.count ? m.data.independent_rows.start[m.data.independent_rows.count]
                                                          : 0;
                   })
      .def_prop_ro("nb", [](const BoundModel &m) { return m.data.users; })
      .def_prop_ro("nq", [](const BoundModel &m) { return m.data.nq; })
      .def_prop_ro("nv", [](const BoundModel &m) { return m.data.nv; })
      .def_prop_ro("nx", [](const BoundModel &m) { return m.data.nx; })
      .def_prop_ro("nc", [](const BoundModel &m) { return m.data.nc; })
      .def_prop_ro("feedback_count", [](const BoundModel &m) { return m.data.feedback_count; })
      .def_prop_ro("switching_functions", [](const BoundModel &m) { // elements that they are of, and their kinds
        nb::list all;
        for (int k = 0; k < m.data.switching_count; ++k) {
          const dalembert::SwitchingFunctionData &function = m.data.switching_functions[k];
          const char *kind = function.followed    ? "monitored"
                             : !function.whole    ? "sign"
                             : function.table < 0 ? "integer"
                                                  : "table";
          all.append(nb::make_tuple(function.element, kind));
        }
        return all;
      });
  add_methods(types[0]);
  nb::class_<BoundPoints> points(module, "Points");
  types[1] = reinterpret_cast<PyTypeObject *>(points.ptr());
  points.def("__init__", &make_points, nb::arg("body"), nb::arg("frames"), nb::arg("nodes").none(), nb::arg("single"));
  nb::class_<Factor>(module, "MassMatrixFactor")
      .def(nb::init<nb::object, const Doubles &>(), nb::arg("model"), nb::arg("q"))
      .def("solve", &Factor::solve, nb::arg("x"))
      .def("pivots", &Factor::pivots);
  add_conditions(module);
  types[2] = reinterpret_cast<PyTypeObject *>(nb::object(module.attr("Conditions")).ptr());
  add_integrator(module);
  add_natural(module);
  add_geometry(module);
  add_variations(module);
  add_inverse_kinematics(module);
  add_schema(module);
  module.def("_set_dynamics_type", [](const nb::object &type) {
    if (!PyType_Check(type.ptr()) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject *>(type.ptr()), &PyTuple_Type))
      throw nb::type_error("give a subclass of tuple");
    set_named_type(reinterpret_cast<PyTypeObject *>(type.ptr()));
  });
  module.def("threads", &thread_count);
  module.def("set_threads", &set_thread_count, nb::arg("count"));
  module.attr("isa") = dalembert::best_kernels().isa;
  module.attr("lanes") = dalembert::best_kernels().lanes;
  nb::list parts;
  for (const char *name : dalembert::report_names)
    parts.append(name);
  module.attr("report_parts") = nb::tuple(parts);
}
