#include "bind/newton_factor.hpp"
#include "bind/arrays.hpp"
#include "bind/conditions.hpp"
#include "bind/kernel_methods.hpp"
#include <cmath>
#include <nanobind/ndarray.h>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

std::vector<double> numbers(const Doubles &x, std::ptrdiff_t size) {
  if (std::ptrdiff_t(x.size()) != size)
    throw nb::value_error("an array has the wrong size");
  return {x.data(), x.data() + x.size()};
}

// mu - J of system/newton/newton.hpp (solve_radau) at one state, factored
struct NewtonFactor {
  nb::object owner; // keeps the model alive
  const BoundModel *model;
  std::vector<double> q, v, x;
  double t, mu;
  Call call;
  Block memory;
  bool regular = false;

  static const BoundModel *checked(const nb::object &owner) {
    if (!is_made(owner.ptr(), model_type()))
      throw nb::type_error("give a model");
    return bound(owner.ptr());
  }

  static Call empty_call() {
    static const Conditions none;
    Call made;
    made.kernel = Kernel::newton_step;
    made.conditions = &none;
    return made;
  }

  NewtonFactor(nb::object owner, const Doubles &q, const Doubles &v, const Doubles &x, double t, double mu)
      : owner(owner), model(checked(owner)), q(numbers(q, model->data.nq)), v(numbers(v, model->data.nv)),
        x(numbers(x, model->data.nx)), t(t), mu(mu), call(empty_call()),
        memory(model->kernels->bytes_one(model->data, call)) {
    call.take(ArgumentKind::q) = {this->q.data(), 0, model->data.nq};
    call.take(ArgumentKind::v) = {this->v.data(), 0, model->data.nv};
    call.take(ArgumentKind::x) = {this->x.data(), 0, model->data.nx};
    call.take(ArgumentKind::t) = {&this->t, 0, 1};
    call.take(ArgumentKind::lambda) = {&this->mu, 0, 1};
    call.outputs = 3;
    const std::vector<double> none(std::size_t(std::max({1, model->data.nv, model->data.nx})), 0.0);
    std::vector<double> found[3] = {none, none, none};
    run(none.data(), none.data(), none.data(), found[0].data(), found[1].data(), found[2].data(), 1);
    regular = call.factored = std::isfinite(found[0][0]);
  }

  void run(const double *r1, const double *r2, const double *r3, double *xi, double *dv, double *dx,
           std::ptrdiff_t count) {
    const std::ptrdiff_t nv = model->data.nv, nx = model->data.nx;
    call.take(ArgumentKind::a) = {r1, nv, nv};
    call.take(ArgumentKind::tau) = {r2, nv, nv};
    call.take(ArgumentKind::other) = {r3, nx, nx};
    call.out[0] = {xi, nv, nv}, call.out[1] = {dv, nv, nv}, call.out[2] = {dx, nx, nx};
    Scope scope(model->data, *model->described);
    call.conditions = &scope.conditions;
    for (std::ptrdiff_t k = 0; k < count; ++k)
      model->kernels->evaluate_state(model->data, memory.data, call, k);
    if (scope.raise())
      throw nb::python_error();
  }

  // rows of r1, r2 (k, nv), r3 (k, nx) are right-hand sides
  nb::tuple solve(const Doubles &r1, const Doubles &r2, const Doubles &r3) {
    const npy_intp nv = model->data.nv, nx = model->data.nx, count = r1.ndim() == 2 ? npy_intp(r1.shape(0)) : -1;
    if (!regular || count < 0 || npy_intp(r1.size()) != count * nv || npy_intp(r2.size()) != count * nv ||
        npy_intp(r3.size()) != count * nx)
      throw nb::value_error(regular ? "right-hand sides have the wrong shape" : "the system is singular");
    nb::object xi = new_array({count, nv}), dv = new_array({count, nv}), dx = new_array({count, nx});
    run(r1.data(), r2.data(), r3.data(), data_of(xi), data_of(dv), data_of(dx), count);
    return nb::make_tuple(xi, dv, dx);
  }
};

} // namespace

void add_newton_factor(nb::module_ &module) {
  nb::class_<NewtonFactor>(module, "NewtonFactor")
      .def(nb::init<nb::object, const Doubles &, const Doubles &, const Doubles &, double, double>(),
           nb::arg("model"), nb::arg("q"), nb::arg("v"), nb::arg("x"), nb::arg("t"), nb::arg("mu"))
      .def_prop_ro("regular", [](const NewtonFactor &f) { return f.regular; })
      .def("solve", &NewtonFactor::solve, nb::arg("r1"), nb::arg("r2"), nb::arg("r3"));
}

} // namespace dalembert::bind
