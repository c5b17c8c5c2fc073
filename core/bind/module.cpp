// The extension module.
#define DALEMBERT_IMPORTS_NUMPY
#include "bind/border.hpp"
#include "bind/conditions.hpp"
#include "bind/cones.hpp"
#include "bind/contact.hpp"
#include "bind/contact_parts.hpp"
#include "bind/dense.hpp"
#include "bind/friction.hpp"
#include "bind/geometry.hpp"
#include "bind/integrator.hpp"
#include "bind/inverse_kinematics.hpp"
#include "bind/kernel_methods.hpp"
#include "bind/mass_factor.hpp"
#include "bind/newton_factor.hpp"
#include "bind/model_class.hpp"
#include "bind/natural.hpp"
#include "bind/soft_contact.hpp"
#include "bind/state_reader.hpp"
#include "bind/table_arrays.hpp"
#include "bind/variational.hpp"
#include "kernels/dispatch.hpp"
#include <nanobind/nanobind.h>

namespace nb = nanobind;

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
  add_model(module);
  add_mass_factor(module);
  add_newton_factor(module);
  add_conditions(module);
  add_integrator(module);
  add_state_reader(module);
  add_border(module);
  add_friction(module);
  add_cones(module);
  add_natural(module);
  add_dense(module);
  add_geometry(module);
  add_contact(module);
  add_contact_parts(module);
  add_soft_contact(module);
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
