#include "geometry/separation.hpp"
#include "geometry/overlap_depth.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr double apart = 1e-7;      // of the size: the normal of closest points further apart is exact to rounding
constexpr double preference = 1e-9; // of the size: by so much edges have to separate more than faces
constexpr double same_direction = 1.0 - 1e-6; // cosine of an angle between a normal and a face
constexpr double rough[] = {1e-4, 1e-8};      // e of the search for closest points of curved solids, by rounds
constexpr double proven = 1e-12;              // of the size: bounds of a distance closer to each other are equal
constexpr double on_surface = 1e-9;           // of the size: points so far outside of a solid count as on it
constexpr double depth_tolerances[] = {1e-9, 1e-13}, rough_depths[] = {1e-3, 1e-6}; // of the size, by rounds
constexpr double aligned = 1e-9; // sine of an angle between a normal and a cap or a side
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

int keep_different(const int *points, int count, int *different) {
  int found = 0;
  for (int k = 0; k < count; ++k)
    if (std::find(different, different + found, points[k]) == different + found)
      different[found++] = points[k];
  return found;
}

// the feature of a solid that lies farthest in a direction n of its frame, given the points of it that do
std::int32_t feature_of(const ConvexSolid &s, const Point &n, const int *points, int count) {
  if (s.kind == CoreKind::cylinder)
    return feature_of_cylinder(n);
  int different[4];
  const int found = keep_different(points, count, different);
  if (found >= 3 && s.is_polytope())
    if (const int along = face_along(s, n); dot(s.faces[at(along)].normal, n) > same_direction)
      return face(along);
  if (found >= 2)
    for (int k = 1; k < found; ++k)
      if (const int between = edge_between(s, different[0], different[k]); between >= 0)
        return edge(between);
  return point(different[0]);
}

// Features of a hull among which a normal is searched: all of them, or a few near a normal.
struct Selection {
  const ConvexSolid &S;
  bool all = true;
  int points[4], edges[6], faces[16], point_count, edge_count, face_count;

  explicit Selection(const ConvexSolid &S)
      : S(S), point_count(int(S.points.size())), edge_count(int(S.edges.size())), face_count(int(S.faces.size())) {}
  // given points, the edges between them, their faces, and the face that looks most in a direction
  Selection(const ConvexSolid &S, const int *given, int count, const Point &n) : S(S), all(false), edge_count(0) {
    face_count = point_count = 0;
    if (S.kind != CoreKind::hull)
      return;
    point_count = keep_different(given, count, points);
    if (!S.is_polytope())
      return;
    faces[face_count++] = face_along(S, n);
    for (int i = 0; i < point_count; ++i)
      for (int j = 0; j < i; ++j)
        if (const int k = edge_between(S, points[i], points[j]); k >= 0) {
          edges[edge_count++] = k;
          for (const int f : {S.edges[at(k)].left, S.edges[at(k)].right})
            if (std::find(faces, faces + face_count, f) == faces + face_count)
              faces[face_count++] = f;
        }
  }
  int point(int k) const { return all ? k : points[k]; }
  int edge(int k) const { return all ? k : edges[k]; }
  int face(int k) const { return all ? k : faces[k]; }
};

// Search of the best normal among those of pairs of features, in the frame of the first solid.
class AxisSearch {
public:
  // toward: in which features are searched, in the frame of the first solid; zero: in all directions
  AxisSearch(const Selection &of_first, const Selection &of_second, const Frame &Z, const Point &toward)
      : A(of_first.S), B(of_second.S), of_first(of_first), of_second(of_second), Z(Z), toward(toward) {
    tolerance = preference * (std::min(A.reach, 1e9) + std::min(B.reach, 1e9));
  }

  Separation run() {
    try_faces(of_first, identity, false);
    try_faces(of_second, Z, true);
    try_edges();
    if (A.kind == CoreKind::cylinder)
      try_cylinder(A, identity, of_second, Z, false);
    if (B.kind == CoreKind::cylinder)
      try_cylinder(B, Z, of_first, identity, true);
    if (A.kind == CoreKind::cylinder && B.kind == CoreKind::cylinder)
      try_rims();
    return best;
  }

private:
  const ConvexSolid &A, &B;
  const Selection &of_first, &of_second;
  const Frame Z, identity{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
  const Point toward;
  double tolerance;
  Separation best{-1, -1, {0.0, 0.0, 1.0}, -1e300, {0.0, 0.0}, {}, {}};

  bool is_local() const { return !of_first.all; }

  double sigma(const Point &n, int &of_first, int &of_second) const {
    const Point a = support(A, n, of_first), b = mul(Z.R, support(B, mul_t(Z.R, -n), of_second)) + Z.p;
    return dot(n, b - a);
  }

  // a normal of two features: negative numbers stand for the feature farthest in that direction
  void consider(const Point &n, std::int32_t first, std::int32_t second, double start_first, double start_second,
                double handicap = 0.0) {
    int i = 0, j = 0;
    const double gap = sigma(n, i, j);
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

  void try_faces(const Selection &among, const Frame &at_s, bool swapped) {
    for (int k = 0; k < among.face_count; ++k)
      if (const Point n = mul(at_s.R, among.S.faces[at(among.face(k))].normal); is_near(n, swapped))
        consider_either(n, face(among.face(k)), -1, swapped);
    for (int k = 0; k < 2 && among.S.kind == CoreKind::cylinder; ++k)
      if (const Point n = mul(at_s.R, Point{0.0, 0.0, k ? 1.0 : -1.0}); among.all || is_near(n, swapped))
        consider_either(n, face(k), -1, swapped);
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
  std::vector<EdgeInFrame> edges_of(const Selection &among, const Frame &F, const Point &outward) const {
    const ConvexSolid &S = among.S;
    std::vector<EdgeInFrame> found;
    if (S.kind == CoreKind::hull && S.points.size() == 2) {
      const Point along = S.points[1] - S.points[0];
      found.push_back({mul(F.R, S.points[0]) + F.p, mul(F.R, scale(1.0 / length(along), along)), {}, {}, 0, true});
    }
    for (int j = 0; j < among.edge_count; ++j) {
      const int k = among.edge(j);
      const ConvexSolid::Edge &e = S.edges[at(k)];
      const Point left = mul(F.R, S.faces[at(e.left)].normal), right = mul(F.R, S.faces[at(e.right)].normal);
      if (dot(left + right, outward) >= near_direction * length(left + right) * length(outward))
        found.push_back({mul(F.R, S.points[at(e.from)]) + F.p, mul(F.R, e.direction), left, right, k, false});
    }
    return found;
  }

  void try_edges() {
    const std::vector<EdgeInFrame> first = edges_of(of_first, identity, toward),
                                   second = edges_of(of_second, Z, -toward);
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
  void try_cylinder(const ConvexSolid &C, const Frame &F, const Selection &among, const Frame &G, bool swapped) {
    const ConvexSolid &S = among.S;
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
    for (int k = 0; k < among.point_count; ++k) {
      const Point p = mul(other.R, S.points[at(among.point(k))]) + other.p;
      if (const double across = std::hypot(p.x, p.y); across > 0.0)
        consider_either(to_first({p.x / across, p.y / across, 0.0}), edge(0), point(among.point(k)), swapped);
    }
    const std::vector<EdgeInFrame> edges = edges_of(among, other, mul_t(F.R, swapped ? toward : -toward));
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
    if (is_local() && (m.z < 0.0) != (rim == 0))
      return;
    int tried = 0;
    for (const Point &direction : {m, -out, near}) {
      if (direction.x == 0.0 && direction.y == 0.0)
        continue;
      if (is_local() && tried++)
        return;
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
    for (int round = 0; round < (is_local() ? 1 : rim_rounds); ++round) {
      const Point n = round == 0 && length(toward) > 0.0 ? toward : best.normal, m = mul_t(Z.R, -n);
      const double start[2] = {std::atan2(n.y, n.x), std::atan2(m.y, m.x)};
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
          if (is_local() && ((n.z < 0.0) != (i == 0) || (m.z < 0.0) != (j == 0)))
            continue;
          const FeatureContact<double> found =
              feature_contact<double>(make_feature(A, point(i)), identity, make_feature(B, point(j)), Z, start);
          const Point a = found.first, b = mul_t(Z.R, found.second - Z.p);
          if (std::isfinite(found.gap))
            consider(found.normal, point(i), point(j), std::atan2(a.y, a.x), std::atan2(b.y, b.x), tolerance);
        }
    }
  }
};

// Direction from the first to the second of two solids that overlap, in the frame of the first: that of the closest
// points of cores scaled about their centres until they are just apart. Along n their distance falls by the extents of
// both with the factor. Zero if the centres coincide.
Point core_direction(const CoreDifference &cores) {
  const ConvexSolid &A = cores.first, &B = cores.second;
  CoreDifference scaled = cores;
  const auto closest = [&](double factor) {
    scaled.factor = factor;
    return ClosestPointSearch(scaled).run(exact_distance);
  };
  const double wanted = core_gap * (A.reach + B.reach);
  const bool curved = A.kind == CoreKind::cylinder || B.kind == CoreKind::cylinder;
  for (double factor : core_factors) {
    ClosestPoints found = closest(factor);
    if (!(found.distance > wanted))
      continue;
    double too_large = 1.0;
    for (int round = 0; curved && round < core_rounds && found.distance > 2.0 * wanted; ++round) {
      const Point n = scale(1.0 / length(found.second - found.first), found.second - found.first);
      scaled.factor = 1.0;
      const Point from_center = scaled.support(n).w - (A.center - (mul(cores.Z.R, B.center) + cores.Z.p));
      double next = factor + (found.distance - wanted) / dot(n, from_center);
      if (next >= too_large)
        next = 0.5 * (factor + too_large);
      const ClosestPoints closer = closest(next);
      if (closer.distance > 0.1 * wanted)
        found = closer, factor = next;
      else
        too_large = next;
    }
    return found.second - found.first;
  }
  return {0.0, 0.0, 0.0};
}

// Signed distance of two cores without their radii, in the frame of the first.
class SeparationSearch {
public:
  SeparationSearch(const ConvexSolid &A, const Frame &X, const ConvexSolid &B, const Frame &Y)
      : A(A), B(B), cores(A, X, B, Y), size(A.reach + B.reach),
        curved(A.kind == CoreKind::cylinder || B.kind == CoreKind::cylinder) {}

  Separation run() {
    ClosestPointSearch search(cores);
    ClosestPoints closest{};
    if (curved)
      for (const double tolerance : rough) {
        closest = search.run(tolerance);
        if (search.is_inside() || !(closest.distance > apart * size))
          break;
        if (polish(closest, search.simplex()))
          return best;
      }
    if (!search.is_inside())
      closest = search.run(exact_distance);
    return closest.distance > apart * size ? between(closest, search.simplex()) : overlap(search.simplex());
  }

private:
  const ConvexSolid &A, &B;
  CoreDifference cores;
  const double size;
  const bool curved;
  const Frame identity{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
  Separation best{};

  static double angle_of(const Point &own) { return std::atan2(own.y, own.x); }
  Point in_second(const Point &x) const { return mul_t(cores.Z.R, x - cores.Z.p); }
  static Point unit(const Point &d) { return scale(1.0 / length(d), d); }

  // the closest points as they were found
  Separation between(const ClosestPoints &closest, const Simplex &simplex) const {
    const Point n = unit(closest.second - closest.first);
    int of_first[4], of_second[4];
    for (int k = 0; k < simplex.count; ++k)
      of_first[k] = simplex.at[k].of_first, of_second[k] = simplex.at[k].of_second;
    return {feature_of(A, n, of_first, simplex.count),
            feature_of(B, -mul_t(cores.Z.R, n), of_second, simplex.count),
            n,
            closest.distance,
            {angle_of(closest.first), angle_of(in_second(closest.second))},
            closest.first,
            closest.second};
  }

  // ---- curved solids that are apart

  // Features near a point of a solid, the likely ones first.
  int features_near(const ConvexSolid &S, const Point &n, const Point &own, const Simplex &simplex, bool is_second,
                    std::int32_t *found) const {
    int given[4], different[4];
    for (int k = 0; k < simplex.count; ++k)
      given[k] = is_second ? simplex.at[k].of_second : simplex.at[k].of_first;
    if (S.kind == CoreKind::hull) {
      found[0] = feature_of(S, n, given, simplex.count);
      const int count = keep_different(given, simplex.count, different);
      if (count < 3 || !S.is_polytope())
        return 1;
      const std::int32_t along = face(face_along(S, n));
      found[1] = along;
      return found[0] == along ? 1 : 2;
    }
    const double across = std::hypot(own.x, own.y), near = 0.05 * S.inner;
    const bool at_end = std::fabs(own.z) > S.half - near, at_side = across > S.across - near;
    const int end = own.z < 0.0 ? 0 : 1;
    int count = 0;
    if (at_side && std::fabs(n.z) < 0.05)
      found[count++] = edge(0);
    if (at_end && std::hypot(n.x, n.y) < 0.05)
      found[count++] = face(end);
    if (at_end && at_side)
      found[count++] = point(end);
    return count;
  }

  bool contains(const ConvexSolid &S, const Point &own) const {
    const double slack = on_surface * size;
    if (S.kind == CoreKind::cylinder)
      return std::fabs(own.z) <= S.half + slack && std::hypot(own.x, own.y) <= S.across + slack;
    if (S.is_polytope()) {
      for (const ConvexSolid::Face &f : S.faces)
        if (dot(f.normal, own - S.points[at(S.loops[at(f.begin)])]) > slack)
          return false;
      return true;
    }
    if (S.points.size() == 2) {
      const Point along = S.points[1] - S.points[0];
      const double t = dot(own - S.points[0], along) / dot(along, along);
      return t * length(along) >= -slack && (t - 1.0) * length(along) <= slack;
    }
    return true;
  }

  // Features of the closest points, if they prove the distance: their points lie on both solids, and no point of either
  // lies beyond them along the normal.
  bool polish(const ClosestPoints &closest, const Simplex &simplex) {
    const Point n = unit(closest.second - closest.first), other = -mul_t(cores.Z.R, n);
    const Point own_first = closest.first, own_second = in_second(closest.second);
    std::int32_t firsts[4], seconds[4];
    const int first_count = features_near(A, n, own_first, simplex, false, firsts),
              second_count = features_near(B, other, own_second, simplex, true, seconds);
    const double start[2] = {angle_of(own_first), angle_of(own_second)};
    for (int i = 0; i < first_count; ++i)
      for (int j = 0; j < second_count; ++j)
        if (is_proven(firsts[i], seconds[j], start))
          return true;
    return false;
  }

  bool is_proven(std::int32_t first, std::int32_t second, const double *start) {
    Feature a = make_feature(A, first), b = make_feature(B, second);
    if (a.kind == FeatureKind::plane && b.kind == FeatureKind::plane)
      return false;
    a.radius -= A.radius, b.radius -= B.radius;
    const FeatureContact<double> c = feature_contact<double>(a, identity, b, cores.Z, start);
    if (!std::isfinite(c.gap) || !(c.gap > 0.0) || !contains(A, c.first))
      return false;
    const Point own = in_second(c.second);
    if (!contains(B, own) || !(cores.separation(c.normal) >= c.gap - proven * size))
      return false;
    best = {first, second, c.normal, c.gap, {angle_of(c.first), angle_of(own)}, c.first, c.second};
    return true;
  }

  // ---- cores that overlap

  Separation overlap(const Simplex &simplex) {
    OverlapDepth depth(cores, simplex);
    for (const double tolerance : curved ? rough_depths : depth_tolerances) {
      if (!depth.run(tolerance * size))
        break;
      const Point &n = depth.normal;
      const Selection of_first(A, depth.of_first, 3, n), of_second(B, depth.of_second, 3, -mul_t(cores.Z.R, n));
      const Separation found = AxisSearch(of_first, of_second, cores.Z, n).run();
      if (found.gap >= -depth.upper - proven * size && found.gap >= -depth.lower - 1e-6 * size)
        return found;
    }
    return overlap_of_all();
  }

  // among all features
  Separation overlap_of_all() {
    const Selection of_first(A), of_second(B);
    Separation found = AxisSearch(of_first, of_second, cores.Z, core_direction(cores)).run();
    if (found.gap < -deep * std::min(A.reach, B.reach)) // other directions may be better
      if (const Separation other = AxisSearch(of_first, of_second, cores.Z, {0.0, 0.0, 0.0}).run();
          other.gap > found.gap)
        found = other;
    return found;
  }
};

} // namespace

Separation separation(const ConvexSolid &A, const Frame &X, const ConvexSolid &B, const Frame &Y) {
  if (!is_finite(X) || !is_finite(Y)) {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    return {0, 0, {unknown, unknown, unknown}, unknown, {0.0, 0.0}, {}, {}};
  }
  Separation found = SeparationSearch(A, X, B, Y).run();
  found.normal = mul(X.R, found.normal);
  if (found.gap > apart * (A.reach + B.reach)) {
    found.on_first = mul(X.R, found.on_first) + X.p + scale(A.radius, found.normal);
    found.on_second = mul(X.R, found.on_second) + X.p - scale(B.radius, found.normal);
  } else {
    const FeatureContact<double> contact =
        feature_contact<double>(make_feature(A, found.first), X, make_feature(B, found.second), Y, found.start);
    found.on_first = contact.first, found.on_second = contact.second;
  }
  found.gap -= A.radius + B.radius;
  return found;
}

} // namespace dalembert::DALEMBERT_ISA
