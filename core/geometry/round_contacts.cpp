#include "geometry/round_contacts.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr double none = 1e-12; // of the size: no distance, so that its direction is not used

double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
double length(const Point &a) { return std::sqrt(dot(a, a)); }

// the segment of a capsule, or the centre of a sphere, in the world
struct Segment {
  Point from, along;
  double square; // of its length
  bool is_point;
  Segment(const ConvexSolid &S, const Frame &F)
      : from(mul(F.R, S.points[0]) + F.p), along{}, square(0.0), is_point(S.points.size() == 1) {
    if (!is_point) {
      along = mul(F.R, S.points[1] - S.points[0]);
      square = dot(along, along);
    }
  }
  Point at(double s) const { return from + scale(s, along); }
  std::int32_t feature(double s) const {
    return is_point || s == 0.0 ? point_number(0) : s == 1.0 ? point_number(1) : edge_number(0);
  }
};

// parts s and t of the closest points
std::pair<double, double> closest_parts(const Segment &a, const Segment &b) {
  const Point w = b.from - a.from;
  const double p = dot(a.along, w), q = dot(b.along, w);
  if (a.is_point)
    return {0.0, b.is_point ? 0.0 : clamp(-q / b.square, 0.0, 1.0)};
  if (b.is_point)
    return {clamp(p / a.square, 0.0, 1.0), 0.0};
  const double mixed = dot(a.along, b.along), determinant = a.square * b.square - mixed * mixed;
  constexpr double parallel = feature_pairs::parallel * feature_pairs::parallel;
  double s =
      determinant > parallel * a.square * b.square ? clamp((p * b.square - mixed * q) / determinant, 0.0, 1.0) : 0.0;
  double t = (mixed * s - q) / b.square;
  if (t < 0.0)
    t = 0.0, s = clamp(p / a.square, 0.0, 1.0);
  else if (t > 1.0)
    t = 1.0, s = clamp((p + mixed) / a.square, 0.0, 1.0);
  return {s, t};
}

// a point of either core, with the normal of the direction between them, or a given one where they coincide
double put_between(ContactCandidates &found, const Point &a, const Point &b, std::int32_t first, std::int32_t second,
                   const Point &otherwise) {
  const Point d = b - a;
  const double distance = length(d);
  const Point n = distance > none * found.size ? scale(1.0 / distance, d) : otherwise;
  const double gap = dot(n, d) - found.A.radius - found.B.radius;
  found.put({first, second, n, a + scale(found.A.radius, n), b - scale(found.B.radius, n), gap, {0.0, 0.0}});
  return gap;
}

// normal of two segments that cross
Point crossing_normal(const Segment &a, const Segment &b, const Point &centers) {
  Point n = cross(a.along, b.along);
  if (dot(n, n) == 0.0) // parallel: any direction across
    n = std::fabs(a.along.x) < std::fabs(a.along.z) ? Point{a.along.z, 0.0, -a.along.x}
                                                    : Point{a.along.y, -a.along.x, 0.0};
  if (dot(n, n) == 0.0)
    n = {0.0, 0.0, 1.0};
  return scale((dot(n, centers) < 0.0 ? -1.0 : 1.0) / length(n), n);
}

// ends of one segment beside the other; exchanged: the ends are those of the second solid
void add_ends(ContactCandidates &found, const Segment &own, const Segment &other, const Point &n, bool exchange) {
  for (int k = 0; k < 2; ++k) {
    const Point x = own.at(k);
    const double t = dot(x - other.from, other.along) / other.square;
    if (t < 0.0 || t > 1.0)
      continue;
    const Point y = other.at(t), d = exchange ? x - y : y - x;
    if (!(dot(d, n) > ContactCandidates::same_normal * length(d)))
      continue;
    if (exchange)
      put_between(found, y, x, edge_number(0), point_number(k), n);
    else
      put_between(found, x, y, point_number(k), edge_number(0), n);
  }
}

// half lengths of a box, by axis
struct Extent {
  double of[3];
  explicit Extent(const Point &e) : of{e.x, e.y, e.z} {}
};

// The feature of a box at a point of its surface: sides[k] is -1, 0 or 1. i: an axis with a side.
std::int32_t box_feature(const int *sides) {
  int i = 0, count = 0, last = 0;
  for (int k = 0; k < 3; ++k)
    if (sides[k])
      ++count, last = k;
    else
      i = k;
  const auto positive = [&](int k) { return sides[k % 3] > 0 ? 1 : 0; };
  if (count == 1)
    return face_number(2 * last + positive(last));
  if (count == 2)
    return edge_number(4 * i + positive(i + 1) + 2 * positive(i + 2));
  return point_number(positive(0) + 2 * positive(1) + 4 * positive(2));
}

} // namespace

double add_segment_contacts(ContactCandidates &found) {
  const Segment a(found.A, found.X), b(found.B, found.Y);
  const auto [s, t] = closest_parts(a, b);
  const Point x = a.at(s), y = b.at(t), centers = b.at(0.5) - a.at(0.5);
  const Point d = y - x;
  const double square = dot(d, d), limit = found.margin + found.A.radius + found.B.radius;
  if (limit > 0.0 && square >= limit * limit)
    return std::sqrt(square) - found.A.radius - found.B.radius;
  const bool crossing = square <= none * none * found.size * found.size;
  const Point n = crossing ? crossing_normal(a, b, centers) : scale(1.0 / std::sqrt(square), d);
  if (a.is_point || b.is_point)
    return put_between(found, x, y, a.feature(s), b.feature(t), n);
  const Point across = cross(a.along, b.along);
  const bool parallel = dot(across, across) <= feature_pairs::parallel * feature_pairs::parallel * a.square * b.square;
  double gap = std::sqrt(square) - found.A.radius - found.B.radius;
  if (!parallel || (a.feature(s) != edge_number(0) && b.feature(t) != edge_number(0)))
    put_between(found, x, y, a.feature(s), b.feature(t), n);
  add_ends(found, a, b, n, false);
  add_ends(found, b, a, n, true);
  if (!found.count())
    put_between(found, x, y, a.feature(s), b.feature(t), n);
  return gap;
}

double add_sphere_box_contact(ContactCandidates &found) {
  const Point center = mul(found.X.R, found.A.points[0]) + found.X.p, own = mul_t(found.Y.R, center - found.Y.p);
  const double x[3] = {own.x, own.y, own.z};
  const Extent e(found.B.extent);
  double nearest[3], depth = -1e300;
  int sides[3] = {0, 0, 0}, deepest = 0;
  bool inside = true;
  for (int k = 0; k < 3; ++k) {
    nearest[k] = clamp(x[k], -e.of[k], e.of[k]);
    sides[k] = x[k] > e.of[k] ? 1 : x[k] < -e.of[k] ? -1 : 0;
    inside = inside && !sides[k];
    if (std::fabs(x[k]) - e.of[k] > depth)
      depth = std::fabs(x[k]) - e.of[k], deepest = k;
  }
  if (!inside) {
    const Point y = mul(found.Y.R, Point{nearest[0], nearest[1], nearest[2]}) + found.Y.p;
    double out[3] = {};
    out[deepest] = sides[deepest];
    return put_between(found, center, y, point_number(0), box_feature(sides),
                       mul(found.Y.R, Point{-out[0], -out[1], -out[2]}));
  }
  sides[deepest] = x[deepest] < 0.0 ? -1 : 1;
  double n[3] = {};
  n[deepest] = -sides[deepest];
  const Point normal = mul(found.Y.R, Point{n[0], n[1], n[2]});
  const double gap = depth - found.A.radius - found.B.radius;
  const Point on = center + scale(found.A.radius, normal);
  found.put({point_number(0), box_feature(sides), normal, on, on + scale(gap, normal), gap, {0.0, 0.0}});
  return gap;
}

namespace {

// a capsule in the frame of a box
struct SegmentInBox {
  double x[3], d[3];
  const Extent e;
  SegmentInBox(const ContactCandidates &found) : e(found.B.extent) {
    const Frame &X = found.X, &Y = found.Y;
    const Point from = mul_t(Y.R, mul(X.R, found.A.points[0]) + X.p - Y.p);
    const Point along = mul_t(Y.R, mul(X.R, found.A.points[1] - found.A.points[0]));
    x[0] = from.x, x[1] = from.y, x[2] = from.z;
    d[0] = along.x, d[1] = along.y, d[2] = along.z;
  }
  double at(int k, double t) const { return x[k] + t * d[k]; }
  double excess(int k, double t) const { return at(k, t) - clamp(at(k, t), -e.of[k], e.of[k]); }
  double slope(double t) const { return d[0] * excess(0, t) + d[1] * excess(1, t) + d[2] * excess(2, t); } // (1)

  // part of the segment that is nearest to the box
  double nearest() const {
    double low = 0.0, high = 1.0, at_low = slope(0.0), at_high = slope(1.0);
    if (at_low >= 0.0)
      return 0.0;
    if (at_high <= 0.0)
      return 1.0;
    for (int k = 0; k < 3; ++k)
      for (const double side : {-e.of[k], e.of[k]}) {
        const double t = (side - x[k]) / d[k];
        if (!(t > low && t < high))
          continue;
        const double g = slope(t);
        if (g < 0.0)
          low = t, at_low = g;
        else
          high = t, at_high = g;
      }
    return at_high > at_low ? low + (high - low) * (-at_low) / (at_high - at_low) : low;
  }
  Point excess_at(double t) const { return {excess(0, t), excess(1, t), excess(2, t)}; }

  // Largest separation of the segment and the box that it pierces, over faces and crossings with edges; outward normal
  // of the box, its axis and edge. axis: 0 to 2 faces, 3 to 5 edges along them.
  struct Piercing {
    double gap = -1e300;
    Point n{};
    int axis = 0;
  };
  Piercing pierce() const {
    Piercing best;
    const double m[3] = {at(0, 0.5), at(1, 0.5), at(2, 0.5)};
    for (int k = 0; k < 3; ++k)
      for (const double sense : {-1.0, 1.0})
        if (const double gap = sense * m[k] - 0.5 * std::fabs(d[k]) - e.of[k]; gap > best.gap) {
          double n[3] = {};
          n[k] = sense;
          best = {gap, {n[0], n[1], n[2]}, k};
        }
    const double preference = 1e-9 * (e.of[0] + e.of[1] + e.of[2]);
    for (int k = 0; k < 3; ++k) {
      const int u = (k + 1) % 3, v = (k + 2) % 3;
      const double size = std::sqrt(d[u] * d[u] + d[v] * d[v]);
      if (size <= 0.0)
        continue;
      double n[3] = {};
      n[u] = -d[v] / size, n[v] = d[u] / size;
      const double along = n[u] * m[u] + n[v] * m[v], sense = along < 0.0 ? -1.0 : 1.0;
      const double gap = std::fabs(along) - e.of[u] * std::fabs(n[u]) - e.of[v] * std::fabs(n[v]);
      if (gap > best.gap + preference)
        best = {gap, {sense * n[0], sense * n[1], sense * n[2]}, 3 + k};
    }
    return best;
  }
};

// the pair of a capsule whose segment passes through the box, in the direction of the least depth
double add_pierced(ContactCandidates &found, const SegmentInBox &s) {
  const SegmentInBox::Piercing best = s.pierce();
  const double out[3] = {best.n.x, best.n.y, best.n.z};
  const Point n = mul(found.Y.R, -best.n);
  const double gap = best.gap - found.A.radius - found.B.radius;
  int sides[3] = {0, 0, 0};
  std::int32_t own;
  double t;
  if (best.axis < 3) { // the lower end below a face
    sides[best.axis] = out[best.axis] < 0.0 ? -1 : 1;
    t = out[best.axis] * s.d[best.axis] > 0.0 ? 0.0 : 1.0;
    own = point_number(t == 0.0 ? 0 : 1);
  } else {
    const int u = (best.axis - 2) % 3, v = (best.axis - 1) % 3;
    sides[u] = out[u] < 0.0 ? -1 : 1, sides[v] = out[v] < 0.0 ? -1 : 1;
    const double p = s.d[u] * (sides[u] * s.e.of[u] - s.x[u]) + s.d[v] * (sides[v] * s.e.of[v] - s.x[v]);
    t = clamp(p / (s.d[u] * s.d[u] + s.d[v] * s.d[v]), 0.0, 1.0);
    own = edge_number(0);
  }
  const Point core = mul(found.Y.R, Point{s.at(0, t), s.at(1, t), s.at(2, t)}) + found.Y.p;
  const Point on = core + scale(found.A.radius, n);
  found.put({own, box_feature(sides), n, on, on + scale(gap, n), gap, {0.0, 0.0}});
  return gap;
}

// ends of a capsule over a face of a box, and crossings of its axis with the edges around that face
void add_along_face(ContactCandidates &found, const SegmentInBox &s, const Point &n, int axis, double sense) {
  const int u = (axis + 1) % 3, v = (axis + 2) % 3;
  const std::int32_t face = face_number(2 * axis + (sense > 0.0));
  double low = 0.0, high = 1.0;
  int low_side[3] = {0, 0, 0}, high_side[3] = {0, 0, 0};
  for (const int k : {u, v}) {
    const double limit = s.e.of[k] + found.slack();
    if (s.d[k] == 0.0) {
      if (std::fabs(s.x[k]) > limit)
        return;
      continue;
    }
    const int turn = s.d[k] > 0.0 ? 1 : -1; // enters at the side -turn
    const double enter = (-turn * limit - s.x[k]) / s.d[k], leave = (turn * limit - s.x[k]) / s.d[k];
    if (enter > low)
      low = enter, low_side[u] = low_side[v] = 0, low_side[k] = -turn;
    if (leave < high)
      high = leave, high_side[u] = high_side[v] = 0, high_side[k] = turn;
  }
  if (low > high)
    return;
  for (int end = 0; end < 2; ++end) {
    int *side = end ? high_side : low_side;
    if (!side[u] && !side[v]) {
      found.add_along(n, point_number(end), face);
      continue;
    }
    side[axis] = sense > 0.0 ? 1 : -1;
    found.add_along(n, edge_number(0), box_feature(side));
  }
}

} // namespace

double add_capsule_box_contacts(ContactCandidates &found) {
  const SegmentInBox s(found);
  const double t = s.nearest(), radii = found.A.radius + found.B.radius;
  const Point off = s.excess_at(t);
  const double distance = length(off);
  if (distance - radii >= found.margin)
    return distance - radii;
  double gap = distance - radii;
  Point out; // of the box
  if (distance > none * found.size) {
    out = scale(1.0 / distance, off);
    const double by[3] = {off.x, off.y, off.z};
    int sides[3];
    for (int k = 0; k < 3; ++k)
      sides[k] = by[k] > 0.0 ? 1 : by[k] < 0.0 ? -1 : 0;
    const std::int32_t feature = box_feature(sides);
    const double core[3] = {s.at(0, t), s.at(1, t), s.at(2, t)};
    const Point a = mul(found.Y.R, Point{core[0], core[1], core[2]}) + found.Y.p, b = a - mul(found.Y.R, off);
    const bool inner = t > 0.0 && t < 1.0;
    if (!(inner && feature_class(feature) == FeatureClass::face)) // a segment along a face has no single point
      put_between(found, a, b, inner ? edge_number(0) : point_number(t == 0.0 ? 0 : 1), feature, {0.0, 0.0, 1.0});
  } else {
    gap = add_pierced(found, s);
    out = mul_t(found.Y.R, -found[0].normal);
  }
  const Point n = mul(found.Y.R, -out);
  const double by[3] = {out.x, out.y, out.z};
  for (int k = 0; k < 3; ++k)
    if (std::fabs(by[k]) > ContactCandidates::same_normal)
      add_along_face(found, s, n, k, by[k]);
  return gap;
}

double add_sphere_cylinder_contact(ContactCandidates &found) {
  const ConvexSolid &C = found.B;
  const Point own = mul_t(found.Y.R, mul(found.X.R, found.A.points[0]) + found.X.p - found.Y.p);
  const double across = std::sqrt(own.x * own.x + own.y * own.y), beside = across - C.across;
  const double above = std::fabs(own.z) - C.half, radii = found.A.radius + C.radius;
  const int end = own.z < 0.0 ? 0 : 1;
  std::int32_t feature;
  double gap;
  if (beside > 0.0 && above > 0.0) {
    feature = point_number(end), gap = std::sqrt(beside * beside + above * above) - radii;
  } else if (above > beside) {
    feature = face_number(end), gap = above - radii;
  } else {
    feature = edge_number(0), gap = beside - radii;
  }
  if (feature == edge_number(0) && across <= none * found.size) { // on the axis: any direction across
    const Point n = mul(found.Y.R, Point{-1.0, 0.0, 0.0}), center = mul(found.Y.R, own) + found.Y.p;
    const Point on = center + scale(found.A.radius, n);
    found.put({point_number(0), feature, n, on, on + scale(gap, n), gap, {0.0, 0.0}});
  } else {
    found.add(point_number(0), feature);
  }
  return gap;
}

} // namespace dalembert::DALEMBERT_ISA
