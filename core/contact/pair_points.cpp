#include "contact/pair_points.hpp"
#include "geometry/contact_manifold.hpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace dalembert {

using namespace DALEMBERT_ISA;

namespace {

constexpr int most_bristles = 8;
constexpr double share_part = 0.2; // of the least distance of a surface from the center

static_assert(sizeof(PairFeature) == sizeof(Feature));

const ConvexSolid &solid_from(const void *solid) { return *static_cast<const ConvexSolid *>(solid); }

Frame frame_from(const double *x) {
  return {{x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]}, {x[9], x[10], x[11]}};
}
constexpr Frame origin{{1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}, {0.0, 0.0, 0.0}};

bool is_half_space(const ConvexSolid &s) { return s.kind == CoreKind::half_space; }

// points of a solid that touch a plane together have different numbers
int point_slots(const ConvexSolid &s) {
  switch (s.shape) {
  case SolidKind::sphere:
    return 1;
  case SolidKind::capsule:
    return 2;
  case SolidKind::box:
    return 4;
  case SolidKind::cylinder:
    return 2 + rim_points;
  default:
    return std::min(most_bristles, int(s.points.size()));
  }
}

int point_slot(const ConvexSolid &s, int k) {
  if (s.shape == SolidKind::box) { // opposite corners share one
    const int x = k & 1, y = (k >> 1) & 1, z = (k >> 2) & 1;
    return (x ^ y) + 2 * (x ^ z);
  }
  if (s.shape == SolidKind::cylinder && k >= first_rim_point)
    return 2 + (k - first_rim_point) % rim_points;
  return k % point_slots(s);
}

int slot_of(const ConvexSolid &A, std::int32_t first, const ConvexSolid &B, std::int32_t second, int slots) {
  const bool own = feature_class(second) == FeatureClass::point, other = feature_class(first) == FeatureClass::point;
  int number = feature_index(first) + feature_index(second);
  if (own)
    number = point_slot(B, feature_index(second));
  else if (other)
    number = slots / 2 + point_slot(A, feature_index(first));
  return number % slots;
}

} // namespace

SolidBound bound_of_solid(const void *solid) {
  const ConvexSolid &s = solid_from(solid);
  const bool plane = is_half_space(s);
  const double away = std::sqrt(dot(s.center, s.center));
  constexpr double endless = std::numeric_limits<double>::infinity();
  return {{s.center.x, s.center.y, s.center.z},
          plane ? endless : s.reach,
          plane ? endless : s.reach + away,
          plane,
          s.shape == SolidKind::sphere};
}

double share_radius(const void *first, const void *second) {
  double least = std::numeric_limits<double>::infinity();
  for (const void *solid : {first, second}) {
    const ConvexSolid &s = solid_from(solid);
    if (s.kind == CoreKind::hull || s.kind == CoreKind::cylinder)
      least = std::min(least, s.inner + s.radius);
  }
  return share_part * least;
}

int bristle_count(const void *first, const void *second) {
  const ConvexSolid &A = solid_from(first), &B = solid_from(second);
  if (is_half_space(A) || is_half_space(B))
    return point_slots(is_half_space(A) ? B : A);
  if (A.shape == SolidKind::sphere || B.shape == SolidKind::sphere)
    return 1;
  return A.shape == SolidKind::capsule || B.shape == SolidKind::capsule ? 2 : most_bristles;
}

int find_pair_points(const void *first, const void *second, const double *pose, PairPoint *points) {
  const ConvexSolid &A = solid_from(first), &B = solid_from(second);
  const Manifold found = find_contacts(A, origin, B, frame_from(pose), 0.0);
  const int slots = bristle_count(first, second);
  for (int k = 0; k < found.count; ++k) {
    const ContactPoint &c = found.points[k];
    points[k] = {std::bit_cast<PairFeature>(make_feature(A, c.first)),
                 std::bit_cast<PairFeature>(make_feature(B, c.second)),
                 slot_of(A, c.first, B, c.second, slots),
                 {c.start[0], c.start[1]},
                 c.gap};
  }
  return found.count;
}

double pair_distance(const void *first, const void *second, const double *pose) {
  const ConvexSolid &A = solid_from(first), &B = solid_from(second);
  const auto is_ground = [](const ConvexSolid &s) {
    return s.kind == CoreKind::half_space || s.kind == CoreKind::height_field;
  };
  if (is_ground(A) || is_ground(B))
    return find_contacts(A, origin, B, frame_from(pose), 0.0).gap;
  return separation(A, origin, B, frame_from(pose)).gap;
}

} // namespace dalembert
