#include "geometry/contact_manifold.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr int max_candidates = 64;
constexpr double same_point = 1e-9;  // of the size: closer points are one
constexpr double on_boundary = 1e-9; // of the size: points this far outside of a face count as inside
constexpr double same_normal = 0.9;  // cosine: pairs with normals further away are those of other places
constexpr double level = 1e-9;       // sine of an angle: the lowest point of a rim is not defined below

std::size_t at(int k) { return std::size_t(k); }
std::int32_t point(int k) { return feature_number(FeatureClass::point, k); }
std::int32_t edge(int k) { return feature_number(FeatureClass::edge, k); }
std::int32_t face(int k) { return feature_number(FeatureClass::face, k); }

// A solid at its frame, with the flat or straight part of its surface that lies along a direction.
struct Patch {
  const ConvexSolid &s;
  const Frame &F;
  int flat = -1;                // face or cap; -1: none
  std::vector<int> loop, sides; // points of a hull around it, and edges between them
  Point normal{};               // outward, in the world
  bool lies = false;            // a cylinder on its side

  Patch(const ConvexSolid &solid, const Frame &frame, const Point &n) : s(solid), F(frame) {
    const Point own = mul_t(F.R, n);
    if (s.kind == CoreKind::cylinder) {
      lies = std::fabs(own.z) < M_SQRT1_2;
      flat = lies ? -1 : own.z < 0.0 ? 0 : 1;
      normal = mul(F.R, Point{0.0, 0.0, own.z < 0.0 ? -1.0 : 1.0});
    } else if (s.is_polytope()) {
      double most = -2.0;
      for (int k = 0; k < int(s.faces.size()); ++k)
        if (const double along = dot(s.faces[at(k)].normal, own); along > most)
          most = along, flat = k;
      const ConvexSolid::Face &f = s.faces[at(flat)];
      normal = mul(F.R, f.normal);
      loop.assign(s.loops.begin() + f.begin, s.loops.begin() + f.begin + f.count);
      for (int k = 0; k < f.count; ++k)
        sides.push_back(edge_from(loop[at(k)], loop[at((k + 1) % f.count)]));
    } else {
      for (int k = 0; k < int(s.points.size()); ++k)
        loop.push_back(k);
      if (loop.size() == 2)
        sides.push_back(0);
    }
  }

  int edge_from(int i, int j) const {
    for (int k = s.edges_at_begin[at(i)]; k < s.edges_at_begin[at(i + 1)]; ++k) {
      const ConvexSolid::Edge &found = s.edges[at(s.edges_at[at(k)])];
      if (found.from == j || found.to == j)
        return s.edges_at[at(k)];
    }
    return -1;
  }
  Point world(int k) const { return mul(F.R, s.points[at(k)]) + F.p; }
  // ends of a side
  std::pair<Point, Point> ends(std::size_t k) const { return {world(loop[k]), world(loop[(k + 1) % loop.size()])}; }

  // whether a point lies over the face or cap
  bool covers(const Point &x, double slack) const {
    if (flat < 0)
      return false;
    if (s.kind == CoreKind::cylinder) {
      const Point own = mul_t(F.R, x - F.p);
      return std::hypot(own.x, own.y) <= s.across + slack;
    }
    for (std::size_t k = 0; k < loop.size(); ++k) {
      const auto [from, to] = ends(k);
      const Point inward = cross(normal, to - from);
      if (dot(inward, x - from) < -slack * std::sqrt(dot(inward, inward)))
        return false;
    }
    return true;
  }
};

class ManifoldSearch {
public:
  ManifoldSearch(const ConvexSolid &A, const Frame &X, const ConvexSolid &B, const Frame &Y, double margin)
      : A(A), B(B), X(X), Y(Y), margin(margin), size(std::min(A.reach, B.reach)) {}

  Manifold run() {
    Manifold out;
    if (A.kind == CoreKind::half_space || B.kind == CoreKind::half_space) {
      on_half_space();
    } else {
      const Separation nearest = separation(A, X, B, Y);
      gap = nearest.gap;
      n = nearest.normal;
      if (gap < margin)
        along_normal(nearest);
    }
    out.gap = gap;
    keep(out);
    return out;
  }

private:
  const ConvexSolid &A, &B;
  const Frame &X, &Y;
  const double margin, size;
  Point n{};        // from the first to the second
  double gap = 0.0; // signed distance
  int count = 0;
  ContactPoint found[max_candidates];

  void add(std::int32_t first, std::int32_t second, double start_first = 0.0, double start_second = 0.0,
           bool checked = true) {
    const double start[2] = {start_first, start_second};
    const FeatureContact<double> c =
        feature_contact<double>(make_feature(A, first), X, make_feature(B, second), Y, start);
    if (!(c.gap < margin) || count == max_candidates)
      return;
    if (checked && !(dot(c.normal, n) > same_normal && is_on(A, X, first, c.first) && is_on(B, Y, second, c.second)))
      return;
    for (int k = 0; k < count; ++k) {
      const Point d = found[k].on_second - c.second;
      if (dot(d, d) < same_point * same_point * size * size)
        return;
    }
    found[count++] = {first, second, c.normal, c.first, c.second, c.gap, {start_first, start_second}};
  }
  // whether a point of an unbounded feature lies between the ends of an edge or of a side
  bool is_on(const ConvexSolid &S, const Frame &F, std::int32_t number, const Point &x) const {
    if (feature_class(number) != FeatureClass::edge)
      return true;
    const double slack = on_boundary * size;
    const Point own = mul_t(F.R, x - F.p);
    if (S.kind == CoreKind::cylinder)
      return std::fabs(own.z) <= S.half + slack;
    const int k = feature_index(number);
    const Point &from = S.points[at(S.edges.empty() ? 0 : S.edges[at(k)].from)];
    const Point &to = S.points[at(S.edges.empty() ? 1 : S.edges[at(k)].to)];
    const double length = std::sqrt(dot(to - from, to - from)), along = dot(own - from, to - from) / length;
    return along >= -slack && along <= length + slack;
  }
  void add_either(bool swapped, std::int32_t own, std::int32_t other, double start_own = 0.0,
                  double start_other = 0.0) {
    swapped ? add(other, own, start_other, start_own) : add(own, other, start_own, start_other);
  }

  // ---- half space

  void on_half_space() {
    const bool swapped = B.kind == CoreKind::half_space;
    const ConvexSolid &S = swapped ? A : B;
    const Frame &F = swapped ? X : Y, &H = swapped ? Y : X;
    const Point up = mul(H.R, Point{0.0, 0.0, 1.0});
    n = swapped ? -up : up;
    gap = dot(up, mul(F.R, support(S, mul_t(F.R, -up))) + F.p - H.p) - S.radius;
    if (S.kind == CoreKind::hull)
      for (int k = 0; k < int(S.points.size()); ++k)
        add_either(!swapped, point(k), face(0));
    else
      add_rims(S, F, up, !swapped, face(0), nullptr);
  }

  // Points of the rims of a cylinder over a plane: the lowest of each, and fixed ones. onto: the face they have to lie
  // on.
  void add_rims(const ConvexSolid &C, const Frame &F, const Point &up, bool swapped, std::int32_t plane,
                const Patch *onto) {
    const Point own = mul_t(F.R, -up);
    for (int rim = 0; rim < 2; ++rim) {
      if (std::hypot(own.x, own.y) > level) {
        const double angle = std::atan2(own.y, own.x);
        add_on(C, F, swapped, point(rim), plane, {std::cos(angle), std::sin(angle)}, rim, onto);
      }
      for (int k = 0; k < rim_points && std::fabs(own.z) > M_SQRT1_2; ++k) {
        const int number = first_rim_point + rim_points * rim + k;
        const double angle = 2.0 * M_PI * k / rim_points;
        add_on(C, F, swapped, point(number), plane, {std::cos(angle), std::sin(angle)}, rim, onto);
      }
    }
  }
  void add_on(const ConvexSolid &C, const Frame &F, bool swapped, std::int32_t own, std::int32_t plane,
              std::pair<double, double> direction, int rim, const Patch *onto) {
    const Point x{C.across * direction.first, C.across * direction.second, rim ? C.half : -C.half};
    if (!onto || onto->covers(mul(F.R, x) + F.p, on_boundary * size))
      add_either(swapped, own, plane);
  }

  // ---- solids that lie along each other

  void along_normal(const Separation &nearest) {
    const Patch first(A, X, n), second(B, Y, -n);
    if (is_single(nearest, first, second))
      add(nearest.first, nearest.second, nearest.start[0], nearest.start[1], false);
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
    if (!count)
      add(nearest.first, nearest.second, nearest.start[0], nearest.start[1], false);
  }

  // whether the nearest features touch in one point, which lies on both
  bool is_single(const Separation &nearest, const Patch &first, const Patch &second) const {
    const Feature a = make_feature(A, nearest.first), b = make_feature(B, nearest.second);
    if (a.kind == FeatureKind::line && b.kind == FeatureKind::line) {
      const Point across = cross(mul(X.R, a.d), mul(Y.R, b.d));
      return dot(across, across) > feature_pairs::parallel * feature_pairs::parallel;
    }
    const double slack = on_boundary * size;
    if (a.kind == FeatureKind::plane)
      return b.kind != FeatureKind::line && b.kind != FeatureKind::plane && first.covers(nearest.on_second, slack);
    return b.kind != FeatureKind::plane || (a.kind != FeatureKind::line && second.covers(nearest.on_first, slack));
  }

  // points of one solid over the face of the other
  void add_points(const Patch &own, const Patch &other, bool swapped) {
    if (own.loop.size() == 2 && other.loop.size() == 2)
      return add_ends(own, other, swapped);
    if (other.flat < 0)
      return;
    if (own.s.kind == CoreKind::cylinder)
      return add_rims(own.s, own.F, other.normal, swapped, face(other.flat), &other);
    for (const int k : own.loop)
      if (other.covers(own.world(k), on_boundary * size))
        add_either(swapped, point(k), face(other.flat));
  }

  // ends of a segment beside another segment
  void add_ends(const Patch &own, const Patch &other, bool swapped) {
    const auto [from, to] = other.ends(0);
    for (const int k : own.loop)
      if (const double along = dot(own.world(k) - from, to - from); along >= 0.0 && along <= dot(to - from, to - from))
        add_either(swapped, point(k), edge(0));
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
    for (std::size_t i = 0; i < first.sides.size(); ++i)
      for (std::size_t j = 0; j < second.sides.size(); ++j) {
        const auto [a, b] = first.ends(i);
        const auto [c, d] = second.ends(j);
        const double px = dot(b - a, u), py = dot(b - a, v), qx = dot(d - c, u), qy = dot(d - c, v);
        const double wx = dot(c - a, u), wy = dot(c - a, v), determinant = px * qy - py * qx;
        if (std::fabs(determinant) <= feature_pairs::parallel * std::hypot(px, py) * std::hypot(qx, qy))
          continue;
        const double s = (wx * qy - wy * qx) / determinant, t = (wx * py - wy * px) / determinant;
        if (s > 0.0 && s < 1.0 && t > 0.0 && t < 1.0)
          add(edge(first.sides[i]), edge(second.sides[j]));
      }
  }

  // edges of a hull that cross the rim of a cap, or the line on which a cylinder lies
  void add_cylinder_crossings(const Patch &cylinder, const Patch &hull, bool swapped) {
    const ConvexSolid &C = cylinder.s;
    for (std::size_t k = 0; k < hull.sides.size(); ++k) {
      const auto [from, to] = hull.ends(k);
      const Point a = mul_t(cylinder.F.R, from - cylinder.F.p), d = mul_t(cylinder.F.R, to - cylinder.F.p) - a;
      if (cylinder.lies) {
        const Point own = mul_t(cylinder.F.R, swapped ? -n : n); // the line lies in this direction
        const double side = d.x * own.y - d.y * own.x;
        const double t = -(a.x * own.y - a.y * own.x) / side;
        if (t > 0.0 && t < 1.0 && std::fabs(a.z + t * d.z) <= C.half)
          add_either(swapped, edge(0), edge(hull.sides[k]));
        continue;
      }
      const double p = d.x * d.x + d.y * d.y, q = a.x * d.x + a.y * d.y,
                   r = a.x * a.x + a.y * a.y - C.across * C.across;
      const double root = q * q - p * r;
      for (const double sense : {-1.0, 1.0})
        if (const double t = root > 0.0 ? (-q + sense * std::sqrt(root)) / p : -1.0; t > 0.0 && t < 1.0)
          add_either(swapped, point(cylinder.flat), edge(hull.sides[k]), std::atan2(a.y + t * d.y, a.x + t * d.x));
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
    if (std::fabs(dot(axis, mul(other.F.R, Point{0.0, 0.0, 1.0}))) < same_normal)
      return;
    const Point local = mul_t(own.F.R, to);
    for (int rim = 0; rim < 2; ++rim) {
      const Point x = own.F.p + scale(rim ? own.s.half : -own.s.half, axis);
      if (std::fabs(mul_t(other.F.R, x - other.F.p).z) <= other.s.half * (1.0 + on_boundary))
        add_either(swapped, point(rim), edge(0), std::atan2(local.y, local.x));
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
        add_either(swapped, edge(0), point(standing.flat), 0.0, std::atan2(a.y + t * line.y, a.x + t * line.x));
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
      add(point(first.flat), point(second.flat), s, std::atan2(own.y, own.x));
    }
  }

  // ---- at most eight points

  void keep(Manifold &out) {
    std::sort(found, found + count, [](const ContactPoint &a, const ContactPoint &b) { return a.gap < b.gap; });
    bool taken[max_candidates] = {};
    for (; out.count < std::min(count, max_contact_points); ++out.count) {
      int chosen = -1;
      double farthest = -1.0;
      for (int k = 0; k < count; ++k) {
        if (taken[k])
          continue;
        double nearest = 1e300;
        for (int j = 0; j < out.count; ++j) {
          const Point d = out.points[j].on_second - found[k].on_second;
          nearest = std::min(nearest, dot(d, d));
        }
        if (nearest > farthest)
          farthest = nearest, chosen = k;
      }
      taken[chosen] = true;
      out.points[out.count] = found[chosen];
    }
    std::sort(out.points, out.points + out.count,
              [](const ContactPoint &a, const ContactPoint &b) { return a.gap < b.gap; });
  }
};

} // namespace

Manifold find_contacts(const ConvexSolid &A, const Frame &X, const ConvexSolid &B, const Frame &Y, double margin) {
  return ManifoldSearch(A, X, B, Y, margin).run();
}

} // namespace dalembert::DALEMBERT_ISA
