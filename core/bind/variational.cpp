#include "bind/variational.hpp"
#include "bind/arrays.hpp"
#include "bind/gil.hpp"
#include "steppers/methods/hermite_polynomial.hpp"
#include "steppers/variational.hpp"
#include <algorithm>
#include <nanobind/ndarray.h>
#include <vector>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;

// matrices (blocks, s, rows, n + numbers) at places (s,) of blocks (blocks, 2); steps (k, 2) from a time on for a
// length, their blocks (k,), and where their ends are kept (k,), or -1
struct BoundVariationalSystem {
  Doubles matrices, places, blocks, steps;
  Places block, keep;
  Variations all;
  std::ptrdiff_t kept = 0;

  BoundVariationalSystem(int n, int split, const Doubles &matrices, const Doubles &places, const Doubles &blocks,
                         const Doubles &steps, const Places &block, const Places &keep)
      : matrices(matrices), places(places), blocks(blocks), steps(steps), block(block), keep(keep) {
    const std::size_t count = blocks.shape(0), k = block.size();
    if (matrices.ndim() != 4 || blocks.ndim() != 2 || blocks.shape(1) != 2 || matrices.shape(0) != count ||
        matrices.shape(1) != places.size() || steps.ndim() != 2 || steps.shape(1) != 2 || steps.shape(0) != k ||
        keep.size() != k)
      throw nb::value_error("the matrices do not fit the steps");
    const int rows = int(matrices.shape(2)), width = int(matrices.shape(3));
    if (rows > n || n > 2 * rows || width < n || split < 0 || split > n || !places.size())
      throw nb::value_error("the matrices do not fit the changes");
    for (std::size_t j = 0; j < k; ++j) {
      if (block.data()[j] < 0 || std::size_t(block.data()[j]) >= count)
        throw nb::value_error("a step lies in no block");
      kept = std::max<std::ptrdiff_t>(kept, keep.data()[j] + 1);
    }
    for (std::size_t b = 0; b < count; ++b)
      begins.push_back(blocks.data()[2 * b]), ends.push_back(blocks.data()[2 * b + 1]);
    for (std::size_t j = 0; j < k; ++j)
      from.push_back(steps.data()[2 * j]), lengths.push_back(steps.data()[2 * j + 1]);
    all = {n,
           rows,
           width - n,
           split,
           int(places.size()),
           places.data(),
           matrices.data(),
           begins.data(),
           ends.data(),
           std::ptrdiff_t(k),
           block.data(),
           from.data(),
           lengths.data(),
           keep.data()};
  }
  BoundVariationalSystem(const BoundVariationalSystem &) = delete;

  nb::tuple forward(const Doubles &y0, const Doubles &judged_by, double rtol) const {
    const int judged = int(judged_by.size());
    if (!(rtol > 0.0) || y0.ndim() != 2 || y0.shape(0) != std::size_t(all.n) ||
        y0.shape(1) < std::size_t(std::max(all.numbers, judged)))
      throw nb::value_error("the changes do not fit");
    const int columns = int(y0.shape(1));
    nb::object found = zeros({npy_intp(kept), all.n, columns});
    npy_intp steps = npy_intp(all.steps);
    nb::object parts = nb::steal(PyArray_ZEROS(1, &steps, NPY_INT64, 0));
    double *out = data_of(found);
    auto *counts = static_cast<std::int64_t *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(parts.ptr())));
    {
      const Released released;
      best_variations().forward(all, columns, y0.data(), judged, judged_by.data(), rtol, out, counts);
    }
    return nb::make_tuple(found, parts);
  }
  nb::tuple backward(const Doubles &seeds) const {
    if (seeds.ndim() != 3 || std::ptrdiff_t(seeds.shape(0)) != kept || seeds.shape(1) != std::size_t(all.n))
      throw nb::value_error("the slopes do not fit");
    const int columns = int(seeds.shape(2));
    nb::object l = zeros({all.n, columns}), w = zeros({npy_intp(begins.size()), all.places, all.rows, columns});
    double *to = data_of(l), *weights = data_of(w);
    {
      const Released released;
      best_variations().backward(all, columns, seeds.data(), to, weights);
    }
    return nb::make_tuple(l, w);
  }

private:
  std::vector<double> begins, ends, from, lengths;
};

// values (k, c) at times t (k,) by polynomials through values and rates (j, c) at the ends of steps (j,), so many at
// once
nb::object interpolate_steps(const Doubles &ends, const Doubles &values, const Doubles &rates, const Doubles &t,
                             int points) {
  if (ends.ndim() != 1 || values.ndim() != 2 || rates.ndim() != 2 || t.ndim() != 1 || values.shape(0) != ends.size() ||
      rates.shape(0) != ends.size() || rates.shape(1) != values.shape(1) || points < 2 || points > max_ends ||
      std::size_t(points) > ends.size())
    throw nb::value_error("values and rates do not fit the ends of steps");
  const HermitePolynomial through{std::ptrdiff_t(ends.size()), ends.data(), values.data(), rates.data(),
                                  std::ptrdiff_t(values.shape(1))};
  nb::object found = zeros({npy_intp(t.size()), npy_intp(values.shape(1))});
  double *out = data_of(found);
  const Released released;
  for (std::size_t k = 0; k < t.size(); ++k)
    through(t.data()[k], points, out + std::ptrdiff_t(k) * through.columns);
  return found;
}

} // namespace

void add_variations(nb::module_ &module) {
  nb::class_<BoundVariationalSystem>(module, "VariationalSystem")
      .def(nb::init<int, int, const Doubles &, const Doubles &, const Doubles &, const Doubles &, const Places &,
                    const Places &>(),
           nb::arg("n"), nb::arg("split"), nb::arg("matrices"), nb::arg("places"), nb::arg("blocks"), nb::arg("steps"),
           nb::arg("block"), nb::arg("keep"))
      .def("forward", &BoundVariationalSystem::forward, nb::arg("y0"), nb::arg("weights"), nb::arg("rtol"))
      .def("backward", &BoundVariationalSystem::backward, nb::arg("seeds"));
  module.def("interpolate_steps", &interpolate_steps, nb::arg("ends"), nb::arg("values"), nb::arg("rates"),
             nb::arg("t"), nb::arg("points"));
}

} // namespace dalembert::bind
