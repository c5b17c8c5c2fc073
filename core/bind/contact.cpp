#include "bind/contact.hpp"
#include "bind/arrays.hpp"
#include "bind/bound_model.hpp"
#include "bind/records.hpp"
#include "geometry/convex_solid.hpp"
#include <nanobind/ndarray.h>
#include <cstddef>
#include <nanobind/stl/vector.h>

namespace dalembert::bind {

namespace nb = nanobind;
using DALEMBERT_ISA::ConvexSolid;

namespace {

// the frame of a body of the user, in the list of the model; 0: ground
std::int32_t place_of(const ModelData &m, std::int32_t user) {
  for (int i = 1; i <= m.nb && user; ++i)
    if (m.bodies[i].user == user)
      return i;
  if (user)
    throw nb::value_error("there is no such body");
  return 0;
}

// a pose (12) in the frame of the user's body, in F of its place
void add_frame(const BodyData &b, bool ground, const double *x, std::vector<double> &frames) {
  using namespace DALEMBERT_ISA;
  const auto frame_of = [](const double *R, const double *p) {
    return Frame{{R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8]}, {p[0], p[1], p[2]}};
  };
  const Frame given = frame_of(x, x + 9), X = ground ? given : compose(frame_of(b.R_FB, b.p_FB), given);
  const double *numbers = &X.R.xx;
  frames.insert(frames.end(), numbers, numbers + 12);
}

void make_scene(ContactScene *self, const nb::object &owner, const Places &bodies, const Doubles &poses,
                const nb::list &solids, const Places &surfaces, const Places &bits, const nb::list &sides,
                const std::vector<bool> &filtered, const Places &excluded, const Places &material_of,
                const Doubles &materials, int surface_count, const std::vector<double> &thickness) {
  const ModelData &m = bound(owner.ptr())->data;
  const std::size_t n = bodies.size(), contacts = nb::len(sides) / 2;
  if (poses.size() != 12 * n || bits.size() != 2 * n || filtered.size() != contacts || excluded.size() % 3 ||
      nb::len(solids) != n || surfaces.size() != n || materials.size() % 5 ||
      material_of.size() != contacts * std::size_t(surface_count) * std::size_t(surface_count))
    throw nb::value_error("the tables of the contacts do not fit each other");
  SceneDescription given;
  given.surface_count = surface_count;
  if (!thickness.empty() && thickness.size() != n)
    throw nb::value_error("the thickness of each shape is needed");
  given.thickness = thickness;
  for (std::size_t k = 0; k < n; ++k) {
    const std::int32_t place = place_of(m, std::int32_t(bodies.data()[k]));
    given.places.push_back(place);
    add_frame(m.bodies[place], place == 0, poses.data() + 12 * k, given.frames);
    given.solids.push_back(nb::cast<const ConvexSolid *>(solids[k]));
    given.surfaces.push_back(std::int32_t(surfaces.data()[k]));
    given.types.push_back(std::uint32_t(bits.data()[2 * k]));
    given.affinities.push_back(std::uint32_t(bits.data()[2 * k + 1]));
  }
  for (const nb::handle side : sides)
    given.sides.push_back(nb::cast<std::vector<std::int32_t>>(side));
  given.filtered.assign(filtered.begin(), filtered.end());
  for (std::size_t k = 0; k < excluded.size(); ++k) {
    const std::int32_t number = std::int32_t(excluded.data()[k]);
    if (k % 3 == 0 && (number < 0 || std::size_t(number) >= contacts))
      throw nb::value_error("there is no such contact");
    given.excluded.push_back(k % 3 ? place_of(m, number) : number);
  }
  given.material_of.assign(material_of.data(), material_of.data() + material_of.size());
  for (std::size_t k = 0; k < materials.size(); k += 5) {
    const double *row = materials.data() + k;
    given.materials.push_back({row[0], row[1], row[2], row[3], row[4]});
  }
  new (self) ContactScene(given);
}

// Contact points at poses (k, users, 12) of the bodies, nearer than a margin: time, contact, shapes and features (n, 6),
// and normal, points on either, gap (n, 10).
nb::tuple scene_points(const ContactScene &scene, const nb::object &owner, const Doubles &poses, double margin) {
  using namespace DALEMBERT_ISA;
  const ModelData &m = bound(owner.ptr())->data;
  if (poses.ndim() != 3 || poses.shape(1) != std::size_t(m.users) || poses.shape(2) != 12)
    throw nb::value_error("the poses do not fit the bodies");
  ContactSearch search(scene);
  std::vector<double> frames(12 * (std::size_t(m.nb) + 1), 0.0), motions(6 * (std::size_t(m.nb) + 1), 0.0);
  frames[0] = frames[4] = frames[8] = 1.0;
  std::vector<double> names, numbers;
  for (std::size_t k = 0; k < poses.shape(0); ++k) {
    for (int i = 1; i <= m.nb; ++i) {
      const BodyData &b = m.bodies[i];
      if (!b.user)
        continue;
      const double *x = poses.data() + 12 * (k * poses.shape(1) + std::size_t(b.user - 1));
      double *F = frames.data() + 12 * i;
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) {
          F[3 * r + c] = 0.0;
          for (int e = 0; e < 3; ++e)
            F[3 * r + c] += x[3 * r + e] * b.R_FB[3 * c + e];
        }
      for (int r = 0; r < 3; ++r)
        F[9 + r] = x[9 + r] - (F[3 * r] * b.p_FB[0] + F[3 * r + 1] * b.p_FB[1] + F[3 * r + 2] * b.p_FB[2]);
    }
    for (const ScenePoint &p : search.find(frames.data(), motions.data(), 0.0, margin)) {
      for (const double name : {double(k), double(p.contact), double(p.shapes[0]), double(p.shapes[1]),
                                double(p.features[0]), double(p.features[1])})
        names.push_back(name);
      numbers.insert(numbers.end(), p.normal, p.normal + 3);
      numbers.insert(numbers.end(), p.on_first, p.on_first + 3);
      numbers.insert(numbers.end(), p.on_second, p.on_second + 3);
      numbers.push_back(p.gap);
    }
  }
  const npy_intp n = npy_intp(names.size() / 6);
  return nb::make_tuple(doubles(names.data(), {n, 6}), doubles(numbers.data(), {n, 10}));
}

} // namespace

void fill_scene_and_joints(const ModelData &m, const nb::dict &given, ContactSteps &c) {
  c.scene = nb::cast<const ContactScene *>(given["scene"]);
  c.search = std::make_unique<ContactSearch>(*c.scene);
  c.impact_search = std::make_unique<ContactSearch>(*c.scene);
  const Doubles stops = nb::cast<Doubles>(given["stops"]);
  for (std::size_t k = 0; k + 4 < stops.size(); k += 5) {
    const double *stop = stops.data() + k;
    const std::int32_t coordinate = std::int32_t(stop[0]), dof = std::int32_t(stop[1]);
    if (coordinate < 0 || coordinate >= m.nq + m.cut_nq || dof < 0 || dof >= m.nv + m.cut_nv)
      throw nb::value_error("a stop belongs to no coordinate of the model");
    c.stops.push_back({coordinate, dof, stop[2], stop[3], stop[4], -1});
  }
  const Doubles friction = nb::cast<Doubles>(given["friction"]);
  for (std::size_t k = 0; k + 2 < friction.size(); k += 3) {
    const double *row = friction.data() + k;
    const std::int32_t dof = std::int32_t(row[0]);
    if (dof < 0 || dof >= m.nv + m.cut_nv)
      throw nb::value_error("friction belongs to no velocity of the model");
    c.friction.push_back({dof, row[1], row[2], -1});
  }
}

void fill_contacts(const ModelData &m, const nb::dict &given, ContactSteps &c) {
  fill_scene_and_joints(m, given, c);
  c.logs = nb::cast<bool>(given["logs"]), c.logs_last_only = nb::cast<bool>(given["logs_last_only"]);
  c.tolerance = nb::cast<double>(given["tolerance"]);
  c.sweep_tolerance = nb::cast<double>(given["sweep_tolerance"]);
  c.keeps_parts = nb::cast<bool>(given["keeps_parts"]);
}

nb::dict take_contact_log(const ModelData &m, ContactSteps &c) {
  ContactLog &log = c.log;
  nb::dict found;
  const npy_intp steps = npy_intp(log.times.size()), points = npy_intp(log.points.size());
  found["loads"] = take_doubles(log.loads, {steps, npy_intp(m.users), 6});
  found["efforts"] = log.efforts.empty() ? zeros({steps, npy_intp(m.nv + m.cut_nv)})
                                         : take_doubles(log.efforts, {steps, npy_intp(m.nv + m.cut_nv)});
  found["times"] = take_doubles(log.times, {steps});
  found["begin"] = take_doubles(log.begin, {steps});
  static_assert(offsetof(ContactLogPoint, place) == 16 && sizeof(ContactLogPoint) == 20 * sizeof(double));
  found["points"] = take_doubles(log.points, {points, 20}); // four integers in the first two columns
  return found;
}

nb::dict contact_statistics(const ContactSteps &c) {
  nb::dict found;
  found["missed"] = c.missed, found["missed_time"] = c.missed_time, found["failures"] = c.failures;
  found["points"] = c.points, found["newton_steps"] = c.newton_steps, found["admm_iterations"] = c.admm_iterations;
  found["restitution_part"] = c.restitution_part, found["restitution_time"] = c.restitution_time;
  found["sweeps"] = c.sweeps, found["deepest"] = c.deepest, found["deepest_time"] = c.deepest_time;
  return found;
}

nb::bytes contact_memory(const ContactSteps &c) { return bytes_of(c.memory); }

void set_contact_memory(ContactSteps &c, const nb::bytes &blob) { set_from_bytes(blob, "the points of contact", c.memory); }

void add_contact(nb::module_ &module) {
  nb::class_<ContactScene>(module, "ContactScene")
      .def("__init__", &make_scene, nb::arg("model"), nb::arg("bodies"), nb::arg("poses"), nb::arg("solids"),
           nb::arg("surfaces"), nb::arg("bits"), nb::arg("sides"), nb::arg("filtered"), nb::arg("excluded"),
           nb::arg("material_of"), nb::arg("materials"), nb::arg("surface_count"),
           nb::arg("thickness") = std::vector<double>())
      .def_prop_ro("shape_count", &ContactScene::shape_count)
      .def("points", &scene_points, nb::arg("model"), nb::arg("poses"), nb::arg("margin"));
}

} // namespace dalembert::bind
