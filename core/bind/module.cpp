// The extension module: the bound model, factorisations, threads.
#define DALEMBERT_IMPORTS_NUMPY
#include "build.hpp"
#include "integrator.hpp"
#include "methods.hpp"
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace dalembert::bind {

BoundModel *bound(PyObject *self) { return nb::inst_ptr<BoundModel>(self); }

// the mass matrix at one configuration, factored
struct Factor {
  nb::object owner; // keeps the model alive
  const BoundModel *model;
  Block memory;
  std::mutex lock; // the block is scratch as well

  Factor(nb::object owner, Doubles q)
      : owner(owner), model(bound(owner.ptr())), memory(model->kernels->bytes_factor(model->data)) {
    if (q.ndim() != 1 || q.size() != std::size_t(model->data.nq))
      throw nb::value_error("q has the wrong size");
    model->kernels->factor(model->data, memory.data, q.data());
  }

  // rows of x are right-hand sides
  nb::object solve(Doubles x) {
    const npy_intp nv = model->data.nv;
    if (x.ndim() < 1 || x.ndim() > 2 || std::ptrdiff_t(x.shape(x.ndim() - 1)) != nv)
      throw nb::value_error("x has the wrong shape");
    const npy_intp count = x.ndim() == 2 ? npy_intp(x.shape(0)) : 1;
    npy_intp dims[2] = {count, nv};
    PyObject *result = x.ndim() == 2 ? PyArray_SimpleNew(2, dims, NPY_DOUBLE) : PyArray_SimpleNew(1, dims + 1, NPY_DOUBLE);
    if (!result)
      throw nb::python_error();
    auto *out = static_cast<double *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(result)));
    {
      nb::gil_scoped_release release;
      std::lock_guard guard(lock);
      if (count > 0)
        model->kernels->factor_solve(model->data, memory.data, x.data(), out, count);
    }
    return nb::steal(result);
  }

  nb::object pivots() {
    npy_intp nv = model->data.nv;
    PyObject *result = PyArray_SimpleNew(1, &nv, NPY_DOUBLE);
    if (!result)
      throw nb::python_error();
    model->kernels->factor_pivots(model->data, memory.data,
                                  static_cast<double *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(result))));
    return nb::steal(result);
  }
};

} // namespace dalembert::bind

static int import_numpy() {
  import_array1(-1);
  return 0;
}

NB_MODULE(_core, module) {
  using namespace dalembert::bind;
  if (import_numpy())
    throw nb::python_error();
  nb::class_<BoundModel> model(module, "Model");
  model.def("__init__", &build, nb::arg("numbers"), nb::arg("integers"), nb::arg("gravity"), nb::arg("chord_numbers"),
            nb::arg("chord_integers"), nb::arg("coupled"), nb::arg("factors"), nb::arg("pieces"), nb::arg("curves"), nb::arg("programs"),
            nb::arg("instructions"), nb::arg("constants"), nb::arg("outputs"), nb::arg("inner_starts"),
            nb::arg("modal_numbers"), nb::arg("modal_integers"))
      .def("_settle_rows", &settle_rows, nb::arg("all"), nb::arg("lean"))
      .def("_set_forces", &set_forces, nb::arg("force_numbers"), nb::arg("force_integers"), nb::arg("drive_numbers"),
           nb::arg("drive_integers"), nb::arg("law_numbers"), nb::arg("law_integers"), nb::arg("parameters"), nb::arg("holonomic"))
      .def("_set_elements", &set_elements, nb::arg("port_numbers"), nb::arg("port_integers"), nb::arg("elements"), nb::arg("inputs"),
           nb::arg("feedback_numbers"), nb::arg("feedback_integers"), nb::arg("programs"), nb::arg("instructions"), nb::arg("constants"),
           nb::arg("outputs"), nb::arg("table_numbers"), nb::arg("tables"))
      .def_prop_ro("nx", [](const BoundModel &m) { return m.data.nx; })
      .def_prop_ro("feedback_count", [](const BoundModel &m) { return m.data.feedback_count; })
      .def_prop_ro("nc", [](const BoundModel &m) { return m.data.nc; })
      .def_prop_ro("loop_envelope", [](const BoundModel &m) { return m.lean_rows.start.empty() ? 0 : m.lean_rows.start.back(); })
      .def_prop_ro("nb", [](const BoundModel &m) { return m.data.users; })
      .def_prop_ro("nq", [](const BoundModel &m) { return m.data.nq; })
      .def_prop_ro("nv", [](const BoundModel &m) { return m.data.nv; });
  add_methods(reinterpret_cast<PyTypeObject *>(model.ptr()));
  nb::class_<Factor>(module, "Factor")
      .def(nb::init<nb::object, Doubles>(), nb::arg("model"), nb::arg("q"))
      .def("solve", &Factor::solve, nb::arg("x"))
      .def("pivots", &Factor::pivots);
  add_integrator(module);
  module.def("threads", &thread_count);
  module.def("set_threads", &set_thread_count, nb::arg("count"));
  module.attr("isa") = dalembert::best_kernels().isa;
  module.attr("lanes") = dalembert::best_kernels().lanes;
}
