#include "bind/geometry.hpp"
#include "bind/arrays.hpp"
#include "geometry/broad_phase.hpp"
#include "geometry/contact_manifold.hpp"
#include <algorithm>
#include <chrono>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>
#include <vector>

namespace dalembert::bind {

namespace nb = nanobind;
using namespace dalembert::DALEMBERT_ISA;

namespace {

using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

std::pair<nb::object, double *> new_array(std::initializer_list<npy_intp> shape) {
  nb::object made = nb::steal(PyArray_SimpleNew(int(shape.size()), const_cast<npy_intp *>(shape.begin()), NPY_DOUBLE));
  if (!made.is_valid())
    throw nb::python_error();
  return {made, static_cast<double *>(PyArray_DATA(reinterpret_cast<PyArrayObject *>(made.ptr())))};
}

// Hull of points (k, 3) with the loops of its faces, or a cylinder (no points); sizes: half length, radius of the
// cylinder, radius by which the core is grown
ConvexSolid make_solid(const Doubles &points, const Doubles &sizes, const std::vector<int> &loops,
                       const std::vector<int> &counts) {
  if (points.ndim() != 2 || points.shape(1) != 3 || sizes.size() != 3)
    throw nb::value_error("the solid does not fit");
  const double *size = sizes.data(), *x = points.data();
  if (!points.shape(0))
    return make_cylinder(size[0], size[1], size[2]);
  std::vector<Point> corners(points.shape(0));
  for (std::size_t k = 0; k < corners.size(); ++k)
    corners[k] = {x[3 * k], x[3 * k + 1], x[3 * k + 2]};
  int total = 0;
  for (const int count : counts)
    total += count;
  for (const int k : loops)
    if (k < 0 || std::size_t(k) >= corners.size())
      throw nb::value_error("a face has a point that does not exist");
  if (std::size_t(total) != loops.size())
    throw nb::value_error("the loops of the faces do not fit");
  return make_hull(corners, loops, counts, size[2]);
}

// heights (nx, ny) at the nodes of a grid
ConvexSolid height_field(const Doubles &heights, double dx, double dy) {
  if (heights.ndim() != 2 || heights.shape(0) < 2 || heights.shape(1) < 2 || !(dx > 0.0) || !(dy > 0.0))
    throw nb::value_error("the heights do not fit");
  HeightField field;
  field.nx = int(heights.shape(0)), field.ny = int(heights.shape(1)), field.dx = dx, field.dy = dy;
  field.heights.assign(heights.data(), heights.data() + heights.size());
  return make_height_field(field);
}

// from rotation (9) and position (3)
Frame frame_from(const double *x) {
  return {{x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]}, {x[9], x[10], x[11]}};
}

void check_poses(const Doubles &poses, const Doubles &others) {
  if (poses.ndim() != 2 || others.ndim() != 2 || poses.shape(1) != 12 || others.shape(1) != 12 ||
      poses.shape(0) != others.shape(0))
    throw nb::value_error("the poses do not fit");
}

void write(double *out, const Point &x) { out[0] = x.x, out[1] = x.y, out[2] = x.z; }

// Signed distances (n,) and nearest points (n, 2, 3) at poses (n, 12) of either, rotation and position; neither is a
// half space.
nb::tuple distances(const ConvexSolid &first, const Doubles &poses, const ConvexSolid &second, const Doubles &others) {
  check_poses(poses, others);
  if (first.kind >= CoreKind::half_space || second.kind >= CoreKind::half_space)
    throw nb::value_error("half spaces and height fields have contacts, but no nearest point");
  const npy_intp n = npy_intp(poses.shape(0));
  const auto [gaps, gap] = new_array({n});
  const auto [points, point] = new_array({n, 2, 3});
  for (npy_intp k = 0; k < n; ++k) {
    const Separation found =
        separation(first, frame_from(poses.data() + 12 * k), second, frame_from(others.data() + 12 * k));
    gap[k] = found.gap;
    write(point + 6 * k, found.on_first), write(point + 6 * k + 3, found.on_second);
  }
  return nb::make_tuple(gaps, points);
}

// Contacts at poses (n, 12) of either: signed distances (n,), and for each contact its pose, features of either solid
// (m, 3), and normal, points on either, gap (m, 10).
nb::tuple contacts(const ConvexSolid &first, const Doubles &poses, const ConvexSolid &second, const Doubles &others,
                   double margin) {
  check_poses(poses, others);
  if (first.kind >= CoreKind::half_space && second.kind >= CoreKind::half_space)
    throw nb::value_error("two half spaces or height fields have no contact points");
  const npy_intp n = npy_intp(poses.shape(0));
  const auto [gaps, gap] = new_array({n});
  std::vector<std::pair<npy_intp, ContactPoint>> all;
  for (npy_intp k = 0; k < n; ++k) {
    const Manifold found =
        find_contacts(first, frame_from(poses.data() + 12 * k), second, frame_from(others.data() + 12 * k), margin);
    gap[k] = found.gap;
    for (int j = 0; j < found.count; ++j)
      all.emplace_back(k, found.points[j]);
  }
  const auto [features, feature] = new_array({npy_intp(all.size()), 3});
  const auto [numbers, number] = new_array({npy_intp(all.size()), 10});
  for (std::size_t k = 0; k < all.size(); ++k) {
    const ContactPoint &c = all[k].second;
    feature[3 * k] = double(all[k].first), feature[3 * k + 1] = c.first, feature[3 * k + 2] = c.second;
    write(number + 10 * k, c.normal), write(number + 10 * k + 3, c.on_first), write(number + 10 * k + 6, c.on_second);
    number[10 * k + 9] = c.gap;
  }
  return nb::make_tuple(gaps, features, numbers);
}

// Mean time of find_contacts at poses (n, 12) of either, s, and mean number of points; the least of some rounds
nb::tuple contact_time(const ConvexSolid &first, const Doubles &poses, const ConvexSolid &second, const Doubles &others,
                       double margin, int rounds) {
  check_poses(poses, others);
  std::vector<std::pair<Frame, Frame>> frames;
  for (std::size_t k = 0; k < poses.shape(0); ++k)
    frames.emplace_back(frame_from(poses.data() + 12 * k), frame_from(others.data() + 12 * k));
  double least = 1e300, points = 0.0;
  for (int round = 0; round < rounds; ++round) {
    long count = 0;
    const auto start = std::chrono::steady_clock::now();
    for (const auto &[X, Y] : frames)
      count += find_contacts(first, X, second, Y, margin).count;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count());
    points = double(count);
  }
  return nb::make_tuple(least / double(frames.size()), points / double(frames.size()));
}

// pairs (m, 2) of boxes (n, 6), lower and upper corners, that overlap
std::vector<std::vector<int>> overlapping_boxes(const Doubles &boxes) {
  if (boxes.ndim() != 2 || boxes.shape(1) != 6)
    throw nb::value_error("the boxes do not fit");
  std::vector<AxisBox> made(boxes.shape(0));
  for (std::size_t k = 0; k < made.size(); ++k)
    for (int c = 0; c < 3; ++c)
      made[k].lower[c] = boxes.data()[6 * k + std::size_t(c)],
      made[k].upper[c] = boxes.data()[6 * k + 3 + std::size_t(c)];
  BroadPhase phase;
  std::vector<std::vector<int>> pairs;
  for (const auto &[i, j] : phase.overlaps(made.data(), int(made.size())))
    pairs.push_back({i, j});
  return pairs;
}

} // namespace

void add_geometry(nb::module_ &module) {
  nb::class_<ConvexSolid>(module, "Solid")
      .def(
          "__init__",
          [](ConvexSolid *self, const Doubles &points, const Doubles &sizes, const std::vector<int> &loops,
             const std::vector<int> &counts) { new (self) ConvexSolid(make_solid(points, sizes, loops, counts)); },
          nb::arg("points"), nb::arg("sizes"), nb::arg("loops") = std::vector<int>(),
          nb::arg("counts") = std::vector<int>())
      .def_static("half_space", &make_half_space)
      .def_static("height_field", &height_field, nb::arg("heights"), nb::arg("dx"), nb::arg("dy"))
      .def_ro("radius", &ConvexSolid::radius)
      .def_prop_ro("is_half_space", [](const ConvexSolid &s) { return s.kind == CoreKind::half_space; })
      .def_prop_ro("is_round",
                   [](const ConvexSolid &s) {
                     return s.shape == SolidKind::sphere || s.shape == SolidKind::capsule ||
                            s.shape == SolidKind::cylinder;
                   })
      .def_static(
          "box", [](double x, double y, double z, double radius) { return make_box({x, y, z}, radius); }, nb::arg("x"),
          nb::arg("y"), nb::arg("z"), nb::arg("radius") = 0.0);
  module.def("distances", &distances, nb::arg("first"), nb::arg("poses"), nb::arg("second"), nb::arg("others"));
  module.def("contacts", &contacts, nb::arg("first"), nb::arg("poses"), nb::arg("second"), nb::arg("others"),
             nb::arg("margin"));
  module.def("contact_time", &contact_time, nb::arg("first"), nb::arg("poses"), nb::arg("second"), nb::arg("others"),
             nb::arg("margin"), nb::arg("rounds") = 10);
  module.def("overlapping_boxes", &overlapping_boxes, nb::arg("boxes"));
}

} // namespace dalembert::bind
