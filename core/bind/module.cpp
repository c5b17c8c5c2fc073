// The extension module: the bound model, factorisations, threads.
#define DALEMBERT_IMPORTS_NUMPY
#include "methods.hpp"
#include <cstring>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace dalembert::bind {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int32_t, nb::c_contig, nb::device::cpu>;

BoundModel *bound(PyObject *self) { return nb::inst_ptr<BoundModel>(self); }

struct HingeSize {
  int nq, nv;
};
constexpr HingeSize hinge_sizes[hinge_kinds] = {{0, 0}, {1, 1}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {2, 2},
                                                {3, 3}, {3, 3}, {4, 3}, {4, 3}, {7, 6}, {7, 6}};

// body rows: R_PJ (9) p_PJ (3) mass h (3) J (6) R_FB (9) p_FB (3) pitch; integer rows: kind parent reversed
void build(BoundModel *self, Doubles numbers, Integers integers, Doubles gravity, bool closed) {
  constexpr std::size_t width = 35;
  if (numbers.ndim() != 2 || integers.ndim() != 2 || numbers.shape(1) != width || integers.shape(1) != 3 ||
      numbers.shape(0) != integers.shape(0) || gravity.size() != 3)
    throw nb::value_error("the arrays of a model disagree in shape");
  new (self) BoundModel();
  BoundModel &model = *self;
  const std::size_t nb_ = numbers.shape(0);
  model.closed = closed;
  model.bodies.resize(nb_ + 1);
  model.bodies[0] = BodyData{};
  ModelData &m = model.data;
  std::vector<std::int32_t> depth(nb_ + 1, 0);
  for (std::size_t i = 1; i <= nb_; ++i) {
    const double *row = numbers.data() + (i - 1) * width;
    const std::int32_t *codes = integers.data() + (i - 1) * 3;
    if (codes[0] < 0 || codes[0] >= hinge_kinds || codes[1] < 0 || codes[1] >= std::int32_t(i))
      throw nb::value_error("a hinge kind or a parent is out of range");
    BodyData &b = model.bodies[i];
    std::memcpy(b.R_PJ, row, sizeof b.R_PJ);
    std::memcpy(b.p_PJ, row + 9, sizeof b.p_PJ);
    b.mass = row[12];
    std::memcpy(b.h, row + 13, sizeof b.h);
    std::memcpy(b.J, row + 16, sizeof b.J);
    std::memcpy(b.R_FB, row + 22, sizeof b.R_FB);
    std::memcpy(b.p_FB, row + 31, sizeof b.p_FB);
    b.pitch = row[34];
    b.kind = static_cast<Hinge>(codes[0]);
    b.parent = codes[1];
    b.reversed = codes[2];
    b.nq = hinge_sizes[codes[0]].nq;
    b.nv = hinge_sizes[codes[0]].nv;
    b.q = m.nq;
    b.v = b.H = m.nv;
    if (b.nq != b.nv)
      model.attitudes = true;
    m.nq += b.nq;
    m.nv += b.nv;
    depth[i] = depth[std::size_t(b.parent)] + 1;
    m.depth = depth[i] > m.depth ? depth[i] : m.depth;
  }
  // a subtree is a range because the numbering is depth first
  for (std::size_t i = nb_; i > 0; --i) {
    BodyData &b = model.bodies[i];
    b.v_end = b.v_end > b.v + b.nv ? b.v_end : b.v + b.nv;
    BodyData &parent = model.bodies[std::size_t(b.parent)];
    parent.v_end = parent.v_end > b.v_end ? parent.v_end : b.v_end;
  }
  m.nb = std::int32_t(nb_);
  m.bodies = model.bodies.data();
  std::memcpy(m.gravity, gravity.data(), sizeof m.gravity);
}

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
  model.def("__init__", &build, nb::arg("numbers"), nb::arg("integers"), nb::arg("gravity"), nb::arg("closed"))
      .def_prop_ro("nb", [](const BoundModel &m) { return m.data.nb; })
      .def_prop_ro("nq", [](const BoundModel &m) { return m.data.nq; })
      .def_prop_ro("nv", [](const BoundModel &m) { return m.data.nv; });
  add_methods(reinterpret_cast<PyTypeObject *>(model.ptr()));
  nb::class_<Factor>(module, "Factor")
      .def(nb::init<nb::object, Doubles>(), nb::arg("model"), nb::arg("q"))
      .def("solve", &Factor::solve, nb::arg("x"))
      .def("pivots", &Factor::pivots);
  module.def("threads", &thread_count);
  module.def("set_threads", &set_thread_count, nb::arg("count"));
  module.attr("isa") = dalembert::best_kernels().isa;
  module.attr("lanes") = dalembert::best_kernels().lanes;
}
