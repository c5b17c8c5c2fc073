#include "bind/model_class.hpp"
#include "bind/kernel_methods.hpp"
#include "bind/model_queries.hpp"
#include "bind/table_arrays.hpp"
#include "geometry/convex_solid.hpp"
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

namespace dalembert::bind {

namespace {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

PyTypeObject *bound_model_type, *bound_points_type;

// the tree and its loops alone
ModelData without_callbacks(ModelData bare) {
  bare.element_count = bare.drive_count = bare.feedback_count = bare.signal_count = bare.callback_law_count =
      bare.switching_count = 0;
  return bare;
}

// tables: arrays by name (model/schema.hpp); starts of element states; laws that are functions, with how many numbers
// each takes and gives; what is evaluated in Python at every evaluation, or None; solids of compliant contacts
void make_model(BoundModel *self, const nb::dict &tables, const Doubles &starts, const nb::list &functions,
                const nb::object &sizes, nb::object callback, const nb::list &solids) {
  new (self) BoundModel();
  try {
    fill_tables(self->tables, tables);
    for (const nb::handle solid : solids)
      self->tables.solids.push_back(
          std::make_shared<const DALEMBERT_ISA::ConvexSolid>(*nb::cast<const DALEMBERT_ISA::ConvexSolid *>(solid)));
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
    self->described->update_plain();
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
  self->described->update_plain();
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

PyTypeObject *model_type() { return bound_model_type; }
PyTypeObject *points_type() { return bound_points_type; }

void add_model(nb::module_ &module) {
  nb::class_<BoundModel> model(module, "Model", nb::type_slots(slots));
  bound_model_type = reinterpret_cast<PyTypeObject *>(model.ptr());
  model
      .def("__init__", &make_model, nb::arg("tables"), nb::arg("starts"), nb::arg("functions"), nb::arg("sizes"),
           nb::arg("callback").none(), nb::arg("solids") = nb::list())
      .def("__init__", &vary_model, nb::arg("family"), nb::arg("parameters"), nb::arg("mapped_parameters"),
           nb::arg("callback").none())
      .def(
          "_set_family", [](BoundModel &self, const nb::object &family) { self.family = family; }, nb::arg("family"))
      .def_prop_ro("loop_envelope",
                   [](const BoundModel &m) {
                     return m.data.independent_rows.count ? m.data.independent_rows.start[m.data.independent_rows.count]
                                                          : 0;
                   })
      .def_prop_ro("_evaluation_bytes",
                   [](const BoundModel &m) {
                     static const Conditions none;
                     Call call;
                     call.kernel = Kernel::motion;
                     call.conditions = &none;
                     return m.kernels->bytes_one(m.data, call);
                   })
      .def_prop_ro("_widest_front", [](const BoundModel &m) { return m.data.all_loop_plan.max_width; })
      .def_prop_ro("_uses_newton_fronts", [](const BoundModel &m) { return m.data.fronts.pays_kept != 0; })
      .def_prop_ro("_eliminates_loops", [](const BoundModel &m) { return m.data.loop_plan.step_count > 0; })
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
  add_model_queries(model);
  add_methods(bound_model_type);
  nb::class_<BoundPoints> points(module, "Points");
  bound_points_type = reinterpret_cast<PyTypeObject *>(points.ptr());
  points.def("__init__", &make_points, nb::arg("body"), nb::arg("frames"), nb::arg("nodes").none(), nb::arg("single"));
}

} // namespace dalembert::bind
