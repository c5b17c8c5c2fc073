#include "bind/geometry.hpp"
#include "bind/arrays.hpp"
#include "geometry/convex_distance.hpp"
#include <nanobind/ndarray.h>
#include <vector>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

// A solid (points (k, 3), or (0, 3) for a cylinder; half length, radius of the cylinder, radius by which it is grown),
// in its frame
struct Solid {
  std::vector<double> points;
  geometry::Convex convex;
  Solid(const Doubles &given, const Doubles &sizes) {
    if (given.ndim() != 2 || given.shape(1) != 3 || sizes.size() != 3)
      throw nb::value_error("the solid does not fit");
    points.assign(given.data(), given.data() + given.size());
    const double *size = sizes.data();
    convex = {points.empty() ? nullptr : points.data(), int(given.shape(0)), size[0], size[1], size[2]};
  }
};

// poses (n, 12) of either, rotation and position; returns distances (n,) and nearest points (n, 2, 3)
nb::tuple distances(const Solid &first, const Doubles &poses, const Solid &second, const Doubles &others) {
  if (poses.ndim() != 2 || others.ndim() != 2 || poses.shape(1) != 12 || others.shape(1) != 12 ||
      poses.shape(0) != others.shape(0))
    throw nb::value_error("the poses do not fit");
  const npy_intp n = npy_intp(poses.shape(0)), shape[3] = {n, 2, 3};
  const nb::object gaps = nb::steal(PyArray_SimpleNew(1, const_cast<npy_intp *>(shape), NPY_DOUBLE));
  const nb::object points = nb::steal(PyArray_SimpleNew(3, const_cast<npy_intp *>(shape), NPY_DOUBLE));
  if (!gaps.is_valid() || !points.is_valid())
    throw nb::python_error();
  auto *gap = static_cast<double *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(gaps.ptr())));
  auto *point = static_cast<double *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(points.ptr())));
  for (npy_intp k = 0; k < n; ++k) {
    const geometry::Nearest found =
        geometry::nearest({&first.convex, poses.data() + 12 * k}, {&second.convex, others.data() + 12 * k});
    gap[k] = found.distance;
    for (int c = 0; c < 3; ++c)
      point[6 * k + c] = found.first[c], point[6 * k + 3 + c] = found.second[c];
  }
  return nb::make_tuple(gaps, points);
}

} // namespace

void add_geometry(nb::module_ &module) {
  nb::class_<Solid>(module, "Solid")
      .def(nb::init<const Doubles &, const Doubles &>(), nb::arg("points"), nb::arg("sizes"));
  module.def("distances", &distances, nb::arg("first"), nb::arg("poses"), nb::arg("second"), nb::arg("others"));
}

} // namespace dalembert::bind
