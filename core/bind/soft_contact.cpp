#include "bind/soft_contact.hpp"
#include "bind/arrays.hpp"
#include "bind/records.hpp"
#include "contact/contact_law.hpp"
#include "geometry/convex_solid.hpp"
#include <nanobind/ndarray.h>
#include <vector>

namespace dalembert::bind {

namespace nb = nanobind;
using namespace DALEMBERT_ISA;

namespace {

// numbers of a point: place, normal, force, gap, slip, power that damping dissipates, friction
constexpr int width = 13;

// Points that bear at n relative motions of the second solid against the first, in axes of the first: poses (n, 12),
// motions (n, 6) [angular velocity; velocity of the origin], deflections (n, states). pair: factor, tangential, mass;
// law: stiffness, exponent, dissipation, friction, static friction (n, 5). Returns the motion and the state of each point
// (m, 2), 1 sticks, 2 slides; its numbers (m, 13); energies stored (n,), J.
nb::tuple soft_contact_points(const ConvexSolid &first, const ConvexSolid &second, const Doubles &pair,
                              const Doubles &law, const Doubles &poses, const Doubles &motions, const Doubles &z) {
  const SolidBound bound = bound_of_solid(&first);
  const double radius = share_radius(&first, &second);
  ContactPairData data{};
  data.slots = bristle_count(&first, &second), data.planar = bound.is_half_space;
  const std::size_t n = poses.shape(0), states = std::size_t(data.slots * (data.planar ? 2 : 3));
  if (pair.size() != 3 || law.size() != 5 * n || poses.size() != 12 * n || motions.size() != 6 * n ||
      (z.size() && z.size() != n * states))
    throw nb::value_error("the numbers of a compliant contact do not fit");
  data.factor = pair.data()[0], data.tangential = pair.data()[1], data.mass = pair.data()[2];
  std::vector<double> names, numbers, energies(n, 0.0), none(states, 0.0), rates(states);
  for (std::size_t k = 0; k < n; ++k) {
    const double *x = poses.data() + 12 * k, *u = motions.data() + 6 * k, *p = law.data() + 5 * k;
    PairPoint points[max_pair_points];
    const int count = p[0] != 0.0 ? find_pair_points(&first, &second, x, points) : 0;
    if (!count)
      continue;
    const ContactMotion<double> motion{{as_mat(x), as_vec(x + 9)}, as_vec(u), as_vec(u + 3)};
    const ContactNumbers<double> own{p[0], p[1], p[2], p[3], p[4]};
    BearingPoint<double> bearing[max_pair_points];
    energies[k] = ContactLaw<double>(data, radius, own, motion)
                      .evaluate(points, count, z.size() ? z.data() + k * states : none.data(), rates.data(), bearing)
                      .energy;
    for (int i = 0; i < count; ++i) {
      const BearingPoint<double> &b = bearing[i];
      const double slip = std::sqrt(dot(b.velocity, b.velocity));
      const double opening = dot(b.normal, motion.v + cross(motion.w, b.x - motion.X.p));
      names.insert(names.end(), {double(k), b.sticks ? 1.0 : 2.0});
      numbers.insert(numbers.end(), {b.x.x, b.x.y, b.x.z, b.normal.x, b.normal.y, b.normal.z, b.force.x, b.force.y,
                                     b.force.z, b.gap, slip, (b.elastic - b.push) * opening, b.friction});
    }
  }
  const npy_intp m = npy_intp(names.size() / 2);
  return nb::make_tuple(doubles(names.data(), {m, 2}), doubles(numbers.data(), {m, width}),
                        doubles(energies.data(), {npy_intp(n)}));
}

} // namespace

void add_soft_contact(nb::module_ &module) {
  module.def(
      "bristle_count",
      [](const ConvexSolid &first, const ConvexSolid &second) { return bristle_count(&first, &second); },
      nb::arg("first"), nb::arg("second"));
  module.def("soft_contact_points", &soft_contact_points, nb::arg("first"), nb::arg("second"), nb::arg("pair"),
             nb::arg("law"), nb::arg("poses"), nb::arg("motions"), nb::arg("deflections"));
}

} // namespace dalembert::bind
