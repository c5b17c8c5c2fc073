#include "bind/dense.hpp"
#include "bind/arrays.hpp"
#include "dense/loop_efforts.hpp"
#include "dense/operational_space.hpp"
#include <nanobind/ndarray.h>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Marks = nb::ndarray<const bool, nb::c_contig, nb::device::cpu>;

void check(bool fits) {
  if (!fits)
    throw nb::value_error("the arrays do not fit each other");
}

// Efforts (m,) and multipliers (nc,) of one state, whether rows are redundant and efforts determined; None where the problem is not
// regular: see solve_loop_efforts.
nb::object loop_efforts(const Doubles &P, const Doubles &C, const Doubles &row_scale, const Doubles &column_scale,
                        const Marks &holonomic, const Doubles &gap, const Doubles &drift, const Doubles &bias,
                        const Doubles &v, const Doubles &a, const Doubles &force) {
  check(P.ndim() == 2 && C.ndim() == 2 && P.shape(1) == C.shape(1));
  const std::size_t nc = P.shape(0), nv = P.shape(1);
  for (const Doubles *rows : {&row_scale, &gap, &drift, &bias})
    check(rows->size() == nc);
  for (const Doubles *columns : {&column_scale, &v, &a, &force})
    check(columns->size() == nv);
  check(holonomic.size() == nc);
  const dense::LoopEffortProblem problem{
      int(nv),          int(nc),    int(C.shape(0)), P.data(),    C.data(), row_scale.data(), column_scale.data(),
      holonomic.data(), gap.data(), drift.data(),    bias.data(), v.data(), a.data(),         force.data()};
  thread_local dense::LoopEffortWorkspace work;
  nb::object u = new_array({npy_intp(C.shape(0))}), lambda = new_array({npy_intp(nc)});
  const auto outcome = dense::solve_loop_efforts(problem, work, data_of(u), data_of(lambda));
  if (!outcome.regular)
    return nb::none();
  return nb::make_tuple(u, lambda, outcome.redundant_rows, outcome.determined);
}

// the arrays of a state: all of one array, or one of many
struct PerState {
  const double *data;
  std::ptrdiff_t stride;
  PerState(const Doubles &array, std::size_t dimensions, npy_intp &count) : data(array.data()), stride(0) {
    check(array.ndim() == dimensions || array.ndim() == dimensions + 1);
    if (array.ndim() == dimensions)
      return;
    check(count < 0 || count == npy_intp(array.shape(0)));
    count = npy_intp(array.shape(0));
    stride = count ? std::ptrdiff_t(array.size()) / count : 0;
  }
  const double *operator[](npy_intp k) const { return data + k * stride; }
};

// J (..., 6, nv), Y (..., nv, nv) and accelerations (..., 6) of a marker to inertia, inverse, bias, null projector and
// rank, over its components from first to last
nb::tuple operational_space(const Doubles &J, const Doubles &Y, const Doubles &moved, int first, int last,
                            double length, double tolerance) {
  npy_intp count = -1;
  const PerState jacobian(J, 2, count), response(Y, 2, count), acceleration(moved, 1, count);
  const std::size_t size = J.shape(J.ndim() - 1);
  check(J.shape(J.ndim() - 2) == 6 && Y.shape(Y.ndim() - 1) == size && Y.shape(Y.ndim() - 2) == size &&
        moved.shape(moved.ndim() - 1) == 6 && 0 <= first && first < last && last <= 6);
  const npy_intp nv = npy_intp(size), k = last - first, n = count < 0 ? 1 : count;
  const double scale[6] = {1.0, 1.0, 1.0, 1.0 / length, 1.0 / length, 1.0 / length};
  const dense::OperationalSpaceSizes sizes{int(nv), int(k), scale + first, tolerance};
  const auto shaped = [count](npy_intp rows, npy_intp columns) {
    return count < 0 ? new_array({rows, columns}) : new_array({count, rows, columns});
  };
  nb::object L = shaped(k, k), inverse = shaped(nv, k), projector = shaped(nv, nv);
  nb::object bias = count < 0 ? new_array({k}) : new_array({count, k});
  nb::object ranks = new_array({n}, NPY_INTP);
  thread_local std::vector<double> work;
  for (npy_intp s = 0; s < n; ++s)
    data_of<npy_intp>(ranks)[s] = dense::operational_space(
        sizes, jacobian[s] + first * nv, response[s], acceleration[s] + first, data_of(L) + s * k * k,
        data_of(inverse) + s * nv * k, data_of(bias) + s * k, data_of(projector) + s * nv * nv, work);
  return nb::make_tuple(L, inverse, bias, projector,
                        count < 0 ? nb::object(nb::int_(std::int64_t(data_of<npy_intp>(ranks)[0]))) : ranks);
}

} // namespace

void add_dense(nb::module_ &module) {
  module.def("loop_efforts", &loop_efforts, nb::arg("P"), nb::arg("C"), nb::arg("row_scale"), nb::arg("column_scale"),
             nb::arg("holonomic"), nb::arg("gap"), nb::arg("drift"), nb::arg("bias"), nb::arg("v"), nb::arg("a"),
             nb::arg("force"));
  module.def("operational_space", &operational_space, nb::arg("J"), nb::arg("Y"), nb::arg("moved"), nb::arg("first"),
             nb::arg("last"), nb::arg("length"), nb::arg("tolerance"));
}

} // namespace dalembert::bind
