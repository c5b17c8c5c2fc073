#include "geometry/plane_contacts.hpp"
#include <cmath>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr double level = 1e-9; // sine of an angle: the lowest point of a rim is not defined below

struct OverPlane {
  ContactCandidates &found;
  Point up, own; // normal of the plane, in the world and in the frame of the solid
  double height; // of the origin of the solid
  double least = 1e300;

  explicit OverPlane(ContactCandidates &found)
      : found(found), up{found.Y.R.xz, found.Y.R.yz, found.Y.R.zz}, own(mul_t(found.X.R, up)),
        height(dot(up, found.X.p - found.Y.p)) {}

  // a point of the core; rim: with an angle for its feature
  void add(const Point &c, std::int32_t feature, bool rim = false) {
    const double gap = height + dot(own, c) - found.A.radius;
    if (gap < least)
      least = gap;
    if (!(gap < found.margin))
      return;
    const Point on = mul(found.X.R, c) + found.X.p - scale(found.A.radius, up);
    found.put({feature, face_number(0), -up, on, on - scale(gap, up), gap, {rim ? std::atan2(c.y, c.x) : 0.0, 0.0}});
  }

  void add_cylinder() {
    const ConvexSolid &C = found.A;
    const double across = std::sqrt(own.x * own.x + own.y * own.y), factor = across > level ? -C.across / across : 0.0;
    constexpr double x[rim_points] = {1.0, 0.0, -1.0, 0.0}, y[rim_points] = {0.0, 1.0, 0.0, -1.0};
    for (int rim = 0; rim < 2; ++rim) {
      const double z = rim ? C.half : -C.half;
      if (across > level)
        add({factor * own.x, factor * own.y, z}, point_number(rim), true);
      for (int k = 0; k < rim_points && std::fabs(own.z) > M_SQRT1_2; ++k)
        add({C.across * x[k], C.across * y[k], z}, point_number(first_rim_point + rim_points * rim + k));
    }
  }
};

} // namespace

double add_plane_contacts(ContactCandidates &found) {
  OverPlane plane(found);
  if (found.A.kind == CoreKind::cylinder)
    plane.add_cylinder();
  else
    for (int k = 0; k < int(found.A.points.size()); ++k)
      plane.add(found.A.points[std::size_t(k)], point_number(k));
  return plane.least;
}

} // namespace dalembert::DALEMBERT_ISA
