#include "geometry/separation.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr double apart = 1e-7;      // of the size: the normal of closest points further apart is exact to rounding
constexpr double preference = 1e-9; // of the size: by so much edges have to separate more than faces
constexpr double aligned = 1e-9;    // sine of an angle between a normal and a cap or a side
constexpr double core_factors[] = {0.9, 0.6, 0.2, 0.02};
constexpr double core_gap = 1e-4;      // of the size: wanted distance of scaled cores
constexpr int core_rounds = 1;         // of their factor
constexpr double deep = 0.2;           // of the smaller reach: deeper overlaps are searched in all directions
constexpr double near_direction = 0.3; // cosine: features that face farther away from that direction are left out
constexpr int rim_rounds = 3;          // of pairs of rims, each from the best normal so far

std::size_t at(int k) { return std::size_t(k); }
std::int32_t point(int k) { return feature_number(FeatureClass::point, k); }
std::int32_t edge(int k) { return feature_number(FeatureClass::edge, k); }
std::int32_t face(int k) { return feature_number(FeatureClass::face, k); }
double length(const Point &a) { return std::sqrt(dot(a, a)); }

Frame relative(const Frame &X, const Frame &Y) { return {mul_ta(X.R, Y.R), mul_t(X.R, Y.p - X.p)}; }

// the edge of a polytope between two points; -1: none
int edge_between(const ConvexSolid &s, int i, int j) {
  if (s.edges.empty())
    return 0;
  for (int k = s.edges_at_begin[at(i)]; k < s.edges_at_begin[at(i + 1)]; ++k) {
    const ConvexSolid::Edge &found = s.edges[at(s.edges_at[at(k)])];
    if (found.from == j || found.to == j)
      return s.edges_at[at(k)];
  }
  return -1;
}

// a face whose normal is a direction; -1: none
int face_along(const ConvexSolid &s, const Point &n) {
  int best = -1;
  double most = 1.0 - 1e-6;
  for (int k = 0; k < int(s.faces.size()); ++k)
    if (const double along = dot(s.faces[at(k)].normal, n); along > most)
      most = along, best = k;
  return best;
}

// the feature of a cylinder that lies farthest in a direction
std::int32_t feature_of_cylinder(const Point &n) {
  const double across = std::hypot(n.x, n.y);
  const int end = n.z < 0.0 ? 0 : 1;
  return across < aligned ? face(end) : std::fabs(n.z) < aligned ? edge(0) : point(end);
}

// the same, with a point of a cap in place of the cap
std::int32_t curve_of_cylinder(const Point &n) {
  const std::int32_t found = feature_of_cylinder(n);
  return feature_class(found) == FeatureClass::face ? point(first_rim_point + rim_points * feature_index(found))
                                                    : found;
}

// the feature of a solid that lies farthest in a direction n of its frame, given the points of it that do
std::int32_t feature_of(const ConvexSolid &s, const Point &n, const int *points, int count) {
  if (s.kind == CoreKind::cylinder)
    return feature_of_cylinder(n);
  int different[4], found = 0;
  for (int k = 0; k < count; ++k)
    if (std::find(different, different + found, points[k]) == different + found)
      different[found++] = points[k];
  if (found >= 3)
    if (const int along = face_along(s, n); along >= 0)
      return face(along);
  if (found >= 2)
    for (int k = 1; k < found; ++k)
      if (const int between = edge_between(s, different[0], different[k]); between >= 0)
        return edge(between);
  return point(different[0]);
}

// Search of the best normal among those of pairs of features, in the frame of the first solid.
class AxisSearch {
public:
  // toward: in which features are searched, in the frame of the first solid; zero: in all directions
  AxisSearch(const ConvexSolid &A, const ConvexSolid &B, const Frame &Z, const Point &toward)
      : A(A), B(B), Z(Z), toward(toward) {
    tolerance = preference * (std::min(A.reach, 1e9) + std::min(B.reach, 1e9));
  }

  Separation run() {
    try_faces(A, identity, false);
    try_faces(B, Z, true);
    try_edges();
    if (A.kind == CoreKind::cylinder)
      try_cylinder(A, identity, B, Z, false);
    if (B.kind == CoreKind::cylinder)
      try_cylinder(B, Z, A, identity, true);
    if (A.kind == CoreKind::cylinder && B.kind == CoreKind::cylinder)
      try_rims();
    return best;
  }

private:
  const ConvexSolid &A, &B;
  const Frame Z, identity{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
  const Point toward;
  double tolerance;
  Separation best{-1, -1, {0.0, 0.0, 1.0}, -1e300, {0.0, 0.0}, {}, {}};

  double sigma(const Point &n, int *of_first, int *of_second) const {
    const Point a = support(A, n, of_first), b = mul(Z.R, support(B, mul_t(Z.R, -n), of_second)) + Z.p;
    return dot(n, b - a);
  }

  // a normal of two features: negative numbers stand for the feature farthest in that direction
  void consider(const Point &n, std::int32_t first, std::int32_t second, double start_first, double start_second,
                double handicap = 0.0) {
    int i = 0, j = 0;
    const double gap = sigma(n, &i, &j);
    if (!(gap > best.gap + handicap))
      return;
    if (first < 0)
      first = A.kind == CoreKind::cylinder ? curve_of_cylinder(n) : point(i);
    if (second < 0)
      second = B.kind == CoreKind::cylinder ? curve_of_cylinder(mul_t(Z.R, -n)) : point(j);
    best = {first, second, n, gap, {start_first, start_second}, {}, {}};
  }
  void consider_either(const Point &n, std::int32_t own, std::int32_t other, bool swapped, double handicap = 0.0) {
    swapped ? consider(-n, other, own, 0.0, 0.0, handicap) : consider(n, own, other, 0.0, 0.0, handicap);
  }

  // whether an outward direction of the first (or of the other) solid is close to the direction of the search
  bool is_near(const Point &out, bool swapped) const {
    const double along = swapped ? -dot(out, toward) : dot(out, toward);
    return along >= near_direction * length(out) * length(toward);
  }

  void try_faces(const ConvexSolid &S, const Frame &at_s, bool swapped) {
    for (int k = 0; k < int(S.faces.size()); ++k)
      if (const Point n = mul(at_s.R, S.faces[at(k)].normal); is_near(n, swapped))
        consider_either(n, face(k), -1, swapped);
    for (int k = 0; k < 2 && S.kind == CoreKind::cylinder; ++k)
      consider_either(mul(at_s.R, Point{0.0, 0.0, k ? 1.0 : -1.0}), face(k), -1, swapped);
  }

  // whether a direction lies between the normals of the faces at an edge
  static bool is_between(const Point &n, const Point &left, const Point &right, const Point &along) {
    const double slack = -1e-9;
    const double turn = dot(cross(left, right), along) < 0.0 ? -1.0 : 1.0;
    return turn * dot(cross(left, n), along) >= slack && turn * dot(cross(n, right), along) >= slack;
  }

  struct EdgeInFrame {
    Point p, d, left, right;
    int number;
    bool free; // of a segment, which has no faces
    double sign(const Point &n) const { return free ? 0.0 : dot(n, left + right); }
    bool allows(const Point &n) const { return free || is_between(n, left, right, d); }
  };
  // edges in a frame, and the direction of the search in that frame
  std::vector<EdgeInFrame> edges_of(const ConvexSolid &S, const Frame &F, const Point &outward) const {
    std::vector<EdgeInFrame> found;
    if (S.kind == CoreKind::hull && S.points.size() == 2) {
      const Point along = S.points[1] - S.points[0];
      found.push_back({mul(F.R, S.points[0]) + F.p, mul(F.R, scale(1.0 / length(along), along)), {}, {}, 0, true});
    }
    for (int k = 0; k < int(S.edges.size()); ++k) {
      const ConvexSolid::Edge &e = S.edges[at(k)];
      const Point left = mul(F.R, S.faces[at(e.left)].normal), right = mul(F.R, S.faces[at(e.right)].normal);
      if (dot(left + right, outward) >= near_direction * length(left + right) * length(outward))
        found.push_back({mul(F.R, S.points[at(e.from)]) + F.p, mul(F.R, e.direction), left, right, k, false});
    }
    return found;
  }

  void try_edges() {
    const std::vector<EdgeInFrame> first = edges_of(A, identity, toward), second = edges_of(B, Z, -toward);
    for (std::size_t i = 0; i < first.size(); ++i)
      for (std::size_t j = 0; j < second.size(); ++j) {
        const EdgeInFrame &a = first[i], &b = second[j];
        Point n = cross(a.d, b.d);
        const double size = length(n);
        if (size < feature_pairs::parallel)
          continue;
        double sense = a.sign(n) - b.sign(n);
        if (a.free && b.free)
          sense = dot(n, b.p - a.p);
        n = scale((sense < 0.0 ? -1.0 : 1.0) / size, n);
        if (!a.allows(n) || !b.allows(-n))
          continue;
        const double gap = dot(n, b.p - a.p);
        if (gap > best.gap + tolerance)
          best = {edge(a.number), edge(b.number), n, gap, {0.0, 0.0}, {}, {}};
      }
  }

  // side of a cylinder with edges, points and another side; its rims with edges and the other side
  void try_cylinder(const ConvexSolid &C, const Frame &F, const ConvexSolid &S, const Frame &G, bool swapped) {
    const Frame other = relative(F, G); // in the frame of the cylinder
    const auto to_first = [&](const Point &n) { return mul(F.R, n); };
    if (S.kind == CoreKind::cylinder) {
      const Point axis = mul(other.R, Point{0.0, 0.0, 1.0});
      Point n = cross(Point{0.0, 0.0, 1.0}, axis);
      if (length(n) < feature_pairs::parallel)
        n = {other.p.x, other.p.y, 0.0};
      if (const double size = length(n); size > 0.0)
        for (const double sense : {-1.0, 1.0})
          consider_either(to_first(scale(sense / size, n)), edge(0), edge(0), swapped, tolerance);
      for (int rim = 0; rim < 2; ++rim)
        try_rim(C, F, S, G, rim, edge(0), other.p, {}, swapped);
      return;
    }
    for (std::size_t k = 0; k < S.points.size(); ++k) {
      const Point p = mul(other.R, S.points[k]) + other.p;
      if (const double across = std::hypot(p.x, p.y); across > 0.0)
        consider_either(to_first({p.x / across, p.y / across, 0.0}), edge(0), point(int(k)), swapped);
    }
    const std::vector<EdgeInFrame> edges = edges_of(S, other, mul_t(F.R, swapped ? toward : -toward));
    for (std::size_t k = 0; k < edges.size(); ++k) {
      const Point n = cross(Point{0.0, 0.0, 1.0}, edges[k].d);
      if (const double size = length(n); size > feature_pairs::parallel)
        for (const double sense : {-1.0, 1.0})
          consider_either(to_first(scale(sense / size, n)), edge(0), edge(edges[k].number), swapped, tolerance);
      for (int rim = 0; rim < 2; ++rim) {
        const Point center{0.0, 0.0, rim ? C.half : -C.half};
        const Point near = edges[k].p + scale(dot(center - edges[k].p, edges[k].d), edges[k].d);
        try_rim(C, F, S, G, rim, edge(edges[k].number), near, edges[k].left + edges[k].right, swapped);
      }
    }
  }

  // A rim of a cylinder with a line of the other solid. Newton's method starts at the angles of the direction of the
  // search, of the outward direction of an edge, and of a near point.
  void try_rim(const ConvexSolid &C, const Frame &F, const ConvexSolid &S, const Frame &G, int rim, std::int32_t line,
               const Point &near, const Point &out, bool swapped) {
    const Feature circle = make_feature(C, point(rim)), other = make_feature(S, line);
    const Point m = mul_t(F.R, swapped ? -toward : toward);
    for (const Point &direction : {m, -out, near}) {
      if (direction.x == 0.0 && direction.y == 0.0)
        continue;
      const double start[2] = {std::atan2(direction.y, direction.x), 0.0};
      const FeatureContact<double> found = feature_contact<double>(circle, F, other, G, start);
      if (!std::isfinite(found.gap))
        continue;
      const Point on = mul_t(F.R, found.first - scale(circle.radius, found.normal) - F.p);
      const double angle = std::atan2(on.y, on.x);
      for (const double sense : {1.0, -1.0}) // lines without faces have no outward direction
        if (swapped)
          consider(scale(-sense, found.normal), line, point(rim), 0.0, angle, tolerance);
        else
          consider(scale(sense, found.normal), point(rim), line, angle, 0.0, tolerance);
    }
  }

  void try_rims() {
    for (int round = 0; round < rim_rounds; ++round) {
      const Point n = round == 0 && length(toward) > 0.0 ? toward : best.normal, m = mul_t(Z.R, -n);
      const double start[2] = {std::atan2(n.y, n.x), std::atan2(m.y, m.x)};
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
          const FeatureContact<double> found =
              feature_contact<double>(make_feature(A, point(i)), identity, make_feature(B, point(j)), Z, start);
          const Point a = found.first, b = mul_t(Z.R, found.second - Z.p);
          if (std::isfinite(found.gap))
            consider(found.normal, point(i), point(j), std::atan2(a.y, a.x), std::atan2(b.y, b.x), tolerance);
        }
    }
  }
};

// Direction from the first to the second of two solids that overlap: that of the closest points of cores scaled about
// their centres until they are just apart. Along n their distance falls by the extents of both with the factor. Zero if
// the centres coincide.
Point core_direction(const ConvexSolid &A, const Frame &X, const ConvexSolid &B, const Frame &Y) {
  const double wanted = core_gap * (A.reach + B.reach);
  const bool curved = A.kind == CoreKind::cylinder || B.kind == CoreKind::cylinder;
  for (double factor : core_factors) {
    ClosestPoints found = closest_points(A, X, B, Y, factor);
    if (!(found.distance > wanted))
      continue;
    double too_large = 1.0;
    for (int round = 0; curved && round < core_rounds && found.distance > 2.0 * wanted; ++round) {
      const Point n = scale(1.0 / length(found.second - found.first), found.second - found.first);
      const Point own = mul_t(X.R, n), other = mul_t(Y.R, -n);
      const double extent = dot(own, support(A, own) - A.center) + dot(other, support(B, other) - B.center);
      double next = factor + (found.distance - wanted) / extent;
      if (next >= too_large)
        next = 0.5 * (factor + too_large);
      const ClosestPoints closer = closest_points(A, X, B, Y, next);
      if (closer.distance > 0.1 * wanted)
        found = closer, factor = next;
      else
        too_large = next;
    }
    return found.second - found.first;
  }
  return {0.0, 0.0, 0.0};
}

// angle of a point about the axis of a cylinder
double angle_of(const Frame &X, const Point &x) {
  const Point own = mul_t(X.R, x - X.p);
  return std::atan2(own.y, own.x);
}

} // namespace

Separation separation(const ConvexSolid &A, const Frame &X, const ConvexSolid &B, const Frame &Y) {
  const ClosestPoints closest = closest_points(A, X, B, Y);
  const double radii = A.radius + B.radius;
  Separation found;
  if (closest.distance > apart * (A.reach + B.reach)) {
    const Point n = scale(1.0 / length(closest.second - closest.first), closest.second - closest.first);
    found = {feature_of(A, mul_t(X.R, n), closest.of_first, closest.count),
             feature_of(B, mul_t(Y.R, -n), closest.of_second, closest.count),
             n,
             closest.distance - radii,
             {angle_of(X, closest.first), angle_of(Y, closest.second)},
             closest.first + scale(A.radius, n),
             closest.second - scale(B.radius, n)};
    return found;
  }
  const Frame Z = relative(X, Y);
  const Point toward = core_direction(A, X, B, Y);
  found = AxisSearch(A, B, Z, mul_t(X.R, toward)).run();
  if (found.gap < -deep * std::min(A.reach, B.reach)) // other directions may be better
    if (const Separation other = AxisSearch(A, B, Z, {0.0, 0.0, 0.0}).run(); other.gap > found.gap)
      found = other;
  found.normal = mul(X.R, found.normal);
  const FeatureContact<double> contact =
      feature_contact<double>(make_feature(A, found.first), X, make_feature(B, found.second), Y, found.start);
  found.on_first = contact.first, found.on_second = contact.second;
  found.gap -= radii;
  return found;
}

} // namespace dalembert::DALEMBERT_ISA
