#include "bind/mass_factor.hpp"
#include "bind/arrays.hpp"
#include "bind/gil.hpp"
#include "bind/kernel_methods.hpp"
#include "runs/thread_pool.hpp"
#include <cstring>
#include <mutex>
#include <nanobind/ndarray.h>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

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

} // namespace

void add_mass_factor(nb::module_ &module) {
  nb::class_<Factor>(module, "MassMatrixFactor")
      .def(nb::init<nb::object, const Doubles &>(), nb::arg("model"), nb::arg("q"))
      .def("solve", &Factor::solve, nb::arg("x"))
      .def("pivots", &Factor::pivots);
}

} // namespace dalembert::bind
