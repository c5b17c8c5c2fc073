#include "geometry/contact_manifold.hpp"
#include "geometry/box_contacts.hpp"
#include "geometry/height_field_contacts.hpp"
#include "geometry/plane_contacts.hpp"
#include "geometry/round_contacts.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr double level_rim = 1e-9; // sine of an angle: the lowest point of a rim is not defined below

std::size_t at(int k) { return std::size_t(k); }

// A solid at its frame, with the flat or straight part of its surface that lies along a direction.
struct Patch {
  const ConvexSolid &s;
  const Frame &F;
  int flat = -1;                               // face or cap; -1: none
  const int *loop = nullptr, *edges = nullptr; // points of a hull around it, and edges from each to the next
  int corners = 0, sides = 0;                  // how many
  Point normal{};                              // outward, in the world
  bool lies = false;                           // a cylinder on its side

  Patch(const ConvexSolid &solid, const Frame &frame, const Point &n) : s(solid), F(frame) {
    static constexpr int ends[2] = {0, 1};
    const Point own = mul_t(F.R, n);
    if (s.kind == CoreKind::cylinder) {
      lies = std::fabs(own.z) < M_SQRT1_2;
      flat = lies ? -1 : own.z < 0.0 ? 0 : 1;
      normal = mul(F.R, Point{0.0, 0.0, own.z < 0.0 ? -1.0 : 1.0});
    } else if (s.is_polytope()) {
      flat = face_along(s, own);
      const ConvexSolid::Face &f = s.faces[at(flat)];
      normal = mul(F.R, f.normal);
      loop = s.loops.data() + f.begin, edges = s.loop_edges.data() + f.begin;
      corners = sides = f.count;
    } else { // a sphere or a capsule
      loop = edges = ends;
      corners = int(s.points.size()), sides = corners - 1;
    }
  }

  Point world(int k) const { return mul(F.R, s.points[at(k)]) + F.p; }
  // ends of a side
  std::pair<Point, Point> ends(int k) const { return {world(loop[k]), world(loop[k + 1 < corners ? k + 1 : 0])}; }

  // whether a point lies over the face or cap
  bool covers(const Point &x, double slack) const {
    if (flat < 0)
      return false;
    if (s.kind == CoreKind::cylinder) {
      const Point own = mul_t(F.R, x - F.p);
      return std::hypot(own.x, own.y) <= s.across + slack;
    }
    for (int k = 0; k < corners; ++k) {
      const auto [from, to] = ends(k);
      const Point inward = cross(normal, to - from);
      if (dot(inward, x - from) < -slack * std::sqrt(dot(inward, inward)))
        return false;
    }
    return true;
  }
};

// contact points of two solids of which neither is a half space, by features along the normal of their separation
class ManifoldSearch {
public:
  explicit ManifoldSearch(ContactCandidates &found)
      : found(found), A(found.A), B(found.B), X(found.X), Y(found.Y), size(found.size) {}

  // the signed distance
  double run() {
    const Separation nearest = separation(A, X, B, Y);
    n = nearest.normal;
    found.set_distance(nearest.gap);
    if (nearest.gap < found.margin)
      along_normal(nearest);
    return nearest.gap;
  }

private:
  ContactCandidates &found;
  const ConvexSolid &A, &B;
  const Frame &X, &Y;
  const double size;
  Point n{}; // from the first to the second

  void add(std::int32_t first, std::int32_t second, double start_first = 0.0, double start_second = 0.0) {
    found.add_along(n, first, second, start_first, start_second);
  }
  void add_either(bool swapped, std::int32_t own, std::int32_t other, double start_own = 0.0,
                  double start_other = 0.0) {
    swapped ? add(other, own, start_other, start_own) : add(own, other, start_own, start_other);
  }

  // points of the rims of a cylinder over a face: the lowest of each, and fixed ones
  void add_rims(const ConvexSolid &C, const Frame &F, bool swapped, const Patch &onto) {
    const Point own = mul_t(F.R, -onto.normal);
    for (int rim = 0; rim < 2; ++rim) {
      if (std::hypot(own.x, own.y) > level_rim) {
        const double angle = std::atan2(own.y, own.x);
        add_on(C, F, swapped, point_number(rim), {std::cos(angle), std::sin(angle)}, rim, onto);
      }
      for (int k = 0; k < rim_points && std::fabs(own.z) > M_SQRT1_2; ++k) {
        const int number = first_rim_point + rim_points * rim + k;
        const double angle = 2.0 * M_PI * k / rim_points;
        add_on(C, F, swapped, point_number(number), {std::cos(angle), std::sin(angle)}, rim, onto);
      }
    }
  }
  void add_on(const ConvexSolid &C, const Frame &F, bool swapped, std::int32_t own, std::pair<double, double> direction,
              int rim, const Patch &onto) {
    const Point x{C.across * direction.first, C.across * direction.second, rim ? C.half : -C.half};
    if (onto.covers(mul(F.R, x) + F.p, found.slack()))
      add_either(swapped, own, face_number(onto.flat));
  }

  // ---- solids that lie along each other

  void along_normal(const Separation &nearest) {
    const Patch first(A, X, n), second(B, Y, -n);
    if (is_single(nearest, first, second))
      found.add(nearest.first, nearest.second, nearest.start[0], nearest.start[1]);
    add_points(first, second, false);
    add_points(second, first, true);
    if (A.kind == CoreKind::hull && B.kind == CoreKind::hull) {
      add_crossings(first, second);
    } else if (A.kind == CoreKind::hull) {
      add_cylinder_crossings(second, first, true);
    } else if (B.kind == CoreKind::hull) {
      add_cylinder_crossings(first, second, false);
    } else {
      add_cylinders(first, second);
    }
    if (!found.count())
      found.add(nearest.first, nearest.second, nearest.start[0], nearest.start[1]);
    if (!found.count())
      found.put({nearest.first,
                 nearest.second,
                 n,
                 nearest.on_first,
                 nearest.on_second,
                 nearest.gap,
                 {nearest.start[0], nearest.start[1]}});
  }

  // whether the nearest features touch in one point, which lies on both
  bool is_single(const Separation &nearest, const Patch &first, const Patch &second) const {
    const Feature a = make_feature(A, nearest.first), b = make_feature(B, nearest.second);
    if (a.kind == FeatureKind::line && b.kind == FeatureKind::line) {
      const Point across = cross(mul(X.R, a.d), mul(Y.R, b.d));
      return dot(across, across) > feature_pairs::parallel * feature_pairs::parallel;
    }
    const double slack = found.slack();
    if (a.kind == FeatureKind::plane)
      return b.kind != FeatureKind::line && b.kind != FeatureKind::plane && first.covers(nearest.on_second, slack);
    return b.kind != FeatureKind::plane || (a.kind != FeatureKind::line && second.covers(nearest.on_first, slack));
  }

  // points of one solid over the face of the other
  void add_points(const Patch &own, const Patch &other, bool swapped) {
    if (own.corners == 2 && other.corners == 2)
      return add_ends(own, other, swapped);
    if (other.flat < 0)
      return;
    if (own.s.kind == CoreKind::cylinder)
      return add_rims(own.s, own.F, swapped, other);
    for (int k = 0; k < own.corners; ++k)
      if (other.covers(own.world(own.loop[k]), found.slack()))
        add_either(swapped, point_number(own.loop[k]), face_number(other.flat));
  }

  // ends of a segment beside another segment
  void add_ends(const Patch &own, const Patch &other, bool swapped) {
    const auto [from, to] = other.ends(0);
    for (const int k : {0, 1})
      if (const double along = dot(own.world(k) - from, to - from); along >= 0.0 && along <= dot(to - from, to - from))
        add_either(swapped, point_number(k), edge_number(0));
  }

  // two directions across the normal
  std::pair<Point, Point> across() const {
    const Point other = std::fabs(n.x) < 0.6 ? Point{1.0, 0.0, 0.0} : Point{0.0, 1.0, 0.0};
    const Point u = feature_pairs::unit(cross(n, other));
    return {u, cross(n, u)};
  }

  // edges that cross, seen along the normal
  void add_crossings(const Patch &first, const Patch &second) {
    const auto [u, v] = across();
    for (int i = 0; i < first.sides; ++i)
      for (int j = 0; j < second.sides; ++j) {
        const auto [a, b] = first.ends(i);
        const auto [c, d] = second.ends(j);
        const double px = dot(b - a, u), py = dot(b - a, v), qx = dot(d - c, u), qy = dot(d - c, v);
        const double wx = dot(c - a, u), wy = dot(c - a, v), determinant = px * qy - py * qx;
        if (std::fabs(determinant) <= feature_pairs::parallel * std::hypot(px, py) * std::hypot(qx, qy))
          continue;
        const double s = (wx * qy - wy * qx) / determinant, t = (wx * py - wy * px) / determinant;
        if (s > 0.0 && s < 1.0 && t > 0.0 && t < 1.0)
          add(edge_number(first.edges[i]), edge_number(second.edges[j]));
      }
  }

  // edges of a hull that cross the rim of a cap, or the line on which a cylinder lies
  void add_cylinder_crossings(const Patch &cylinder, const Patch &hull, bool swapped) {
    const ConvexSolid &C = cylinder.s;
    for (int k = 0; k < hull.sides; ++k) {
      const auto [from, to] = hull.ends(k);
      const Point a = mul_t(cylinder.F.R, from - cylinder.F.p), d = mul_t(cylinder.F.R, to - cylinder.F.p) - a;
      if (cylinder.lies) {
        const Point own = mul_t(cylinder.F.R, swapped ? -n : n); // the line lies in this direction
        const double side = d.x * own.y - d.y * own.x;
        const double t = -(a.x * own.y - a.y * own.x) / side;
        if (t > 0.0 && t < 1.0 && std::fabs(a.z + t * d.z) <= C.half)
          add_either(swapped, edge_number(0), edge_number(hull.edges[k]));
        continue;
      }
      const double p = d.x * d.x + d.y * d.y, q = a.x * d.x + a.y * d.y,
                   r = a.x * a.x + a.y * a.y - C.across * C.across;
      const double root = q * q - p * r;
      for (const double sense : {-1.0, 1.0})
        if (const double t = root > 0.0 ? (-q + sense * std::sqrt(root)) / p : -1.0; t > 0.0 && t < 1.0)
          add_either(swapped, point_number(cylinder.flat), edge_number(hull.edges[k]),
                     std::atan2(a.y + t * d.y, a.x + t * d.x));
    }
  }

  // parallel sides, crossing rims, and a cylinder that lies on the cap of another
  void add_cylinders(const Patch &first, const Patch &second) {
    if (first.lies && second.lies) {
      add_parallel_sides(first, second, false);
      add_parallel_sides(second, first, true);
    } else if (first.lies || second.lies) {
      add_lying(first.lies ? first : second, first.lies ? second : first, second.lies);
    } else {
      add_rim_crossings(first, second);
    }
  }

  // ends of one side over the other, parallel side
  void add_parallel_sides(const Patch &own, const Patch &other, bool swapped) {
    const Point axis = mul(own.F.R, Point{0.0, 0.0, 1.0}), to = swapped ? -n : n;
    if (std::fabs(dot(axis, mul(other.F.R, Point{0.0, 0.0, 1.0}))) < ContactCandidates::same_normal)
      return;
    const Point local = mul_t(own.F.R, to);
    for (int rim = 0; rim < 2; ++rim) {
      const Point x = own.F.p + scale(rim ? own.s.half : -own.s.half, axis);
      if (std::fabs(mul_t(other.F.R, x - other.F.p).z) <= other.s.half * (1.0 + ContactCandidates::on_boundary))
        add_either(swapped, point_number(rim), edge_number(0), std::atan2(local.y, local.x));
    }
  }

  // crossings of the line on which a cylinder lies with the rim of a cap
  void add_lying(const Patch &lying, const Patch &standing, bool swapped) {
    const Point line = mul_t(standing.F.R, mul(lying.F.R, Point{0.0, 0.0, 1.0}));
    const Point a = mul_t(standing.F.R, lying.F.p - standing.F.p);
    const double p = line.x * line.x + line.y * line.y, q = a.x * line.x + a.y * line.y,
                 root = q * q - p * (a.x * a.x + a.y * a.y - standing.s.across * standing.s.across);
    for (const double sense : {-1.0, 1.0})
      if (const double t = root > 0.0 ? (-q + sense * std::sqrt(root)) / p : 1e300; std::fabs(t) <= lying.s.half)
        add_either(swapped, edge_number(0), point_number(standing.flat), 0.0,
                   std::atan2(a.y + t * line.y, a.x + t * line.x));
  }

  void add_rim_crossings(const Patch &first, const Patch &second) {
    const Point c = mul_t(first.F.R, second.F.p - first.F.p); // seen along the axis of the first
    const double distance = std::hypot(c.x, c.y), r = first.s.across, R = second.s.across;
    if (!(distance > std::fabs(r - R)) || !(distance < r + R))
      return;
    const double along = (distance * distance + r * r - R * R) / (2.0 * distance);
    const double up = std::sqrt(std::max(0.0, r * r - along * along)), angle = std::atan2(c.y, c.x);
    for (const double sense : {-1.0, 1.0}) {
      const double s = angle + sense * std::atan2(up, along);
      const Point x = mul(first.F.R, Point{r * std::cos(s), r * std::sin(s), c.z}) + first.F.p;
      const Point own = mul_t(second.F.R, x - second.F.p);
      add(point_number(first.flat), point_number(second.flat), s, std::atan2(own.y, own.x));
    }
  }
};

// contacts of solids in the order of their kinds; false: there is no closed form
bool find_in_closed_form(ContactCandidates &found, std::int32_t reference, Manifold &out) {
  const SolidKind first = found.A.shape, second = found.B.shape;
  if (second == SolidKind::height_field) {
    out.gap = first == SolidKind::half_space ? found.margin : add_height_field_contacts(found);
  } else if (second == SolidKind::half_space) {
    out.gap = add_plane_contacts(found);
  } else if (second <= SolidKind::capsule) {
    out.gap = add_segment_contacts(found);
  } else if (second == SolidKind::box && first == SolidKind::sphere) {
    out.gap = add_sphere_box_contact(found);
  } else if (second == SolidKind::box && first == SolidKind::capsule) {
    out.gap = add_capsule_box_contacts(found);
  } else if (second == SolidKind::box) {
    const BoxContacts boxes = add_box_contacts(found, reference);
    out.gap = boxes.gap, out.reference = boxes.reference;
    return boxes.exact;
  } else if (second == SolidKind::cylinder && first == SolidKind::sphere) {
    out.gap = add_sphere_cylinder_contact(found);
  } else {
    return false;
  }
  return true;
}

} // namespace

ContactPoint exchanged(const ContactPoint &c) {
  return {c.second, c.first, -c.normal, c.on_second, c.on_first, c.gap, {c.start[1], c.start[0]}};
}

Manifold find_contacts(const ConvexSolid &A, const Frame &X, const ConvexSolid &B, const Frame &Y, double margin,
                       std::int32_t reference, int most) {
  Manifold out;
  if (!is_finite(X) || !is_finite(Y)) { // of a trial state that a stepper rejects
    out.gap = std::numeric_limits<double>::quiet_NaN();
    return out;
  }
  if (A.shape > B.shape) {
    out = find_contacts(B, Y, A, X, margin, reference, most);
    for (int k = 0; k < out.count; ++k)
      out.points[k] = exchanged(out.points[k]);
    return out;
  }
  ContactCandidates found(A, X, B, Y, margin);
  if (!find_in_closed_form(found, reference, out))
    out.gap = ManifoldSearch(found).run();
  found.keep(most, out);
  return out;
}

} // namespace dalembert::DALEMBERT_ISA
