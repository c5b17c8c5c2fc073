#include "geometry/height_field_contacts.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr double in_cone = 1e-9;         // sine of an angle: normals so far outside of a cone count as inside
constexpr double pierced = 1e-6;         // of the reach: the core is apart from what is farther away
constexpr double level = 1e-9;           // sine of an angle: the lowest point of a rim is not defined below
constexpr double same_direction = 1e-12; // sine of an angle between normals of triangles of one plane

double length(const Point &a) { return std::sqrt(dot(a, a)); }

class FieldContacts {
public:
  explicit FieldContacts(ContactCandidates &found)
      : found(found), A(found.A), field(*found.B.field), X(found.X), Y(found.Y),
        Z{mul_ta(Y.R, X.R), mul_t(Y.R, X.p - Y.p)}, center(mul(Z.R, A.center) + Z.p), probe(make_probe()) {}

  double run() {
    add_faces();
    range(center, A.reach + found.margin);
    for (int i = low[0]; i <= high[0] + 1; ++i)
      for (int j = low[1]; j <= high[1] + 1; ++j) {
        add_peak(i, j);
        for (int along = 0; along < 3; ++along)
          if (const int number = 3 * (i * field.ny + j) + along; field.has_edge(number))
            add_ridge(number);
      }
    return least;
  }

private:
  ContactCandidates &found;
  const ConvexSolid &A;
  const HeightField &field;
  const Frame &X, &Y;
  const Frame Z; // of the solid in the frame of the field
  const Point center;
  ConvexSolid probe; // a point or an edge of the field
  double least = 1e300;
  int low[2], high[2]; // cells

  static ConvexSolid make_probe() {
    ConvexSolid s;
    s.points.resize(2);
    return s;
  }

  // cells within a distance of a point
  void range(const Point &x, double distance) {
    low[0] = field.column(x.x - distance), high[0] = field.column(x.x + distance);
    low[1] = field.row(x.y - distance), high[1] = field.row(x.y + distance);
  }

  void put(std::int32_t first, std::int32_t second, const Point &m, const Point &on_first, double gap,
           double start = 0.0) {
    least = std::min(least, gap);
    const Point n = mul(Y.R, -m), a = mul(Y.R, on_first) + Y.p;
    found.put({first, second, n, a, a + scale(gap, n), gap, {start, 0.0}});
  }

  // ---- points of the solid over triangles

  void add_faces() {
    if (A.kind == CoreKind::cylinder)
      return add_rims();
    for (int k = 0; k < int(A.points.size()); ++k)
      add_over_triangles(mul(Z.R, A.points[std::size_t(k)]) + Z.p, point_number(k));
  }

  // a point of the core, in the frame of the field
  void add_over_triangles(const Point &c, std::int32_t feature) {
    const double above = c.z - field.height(c.x, c.y);
    if (above >= (found.margin + A.radius) * field.steepness)
      return;
    range(c, std::max(-above, found.margin + A.radius));
    for (int i = low[0]; i <= high[0]; ++i)
      for (int j = low[1]; j <= high[1]; ++j)
        for (const int which : {0, 1})
          add_over(2 * (i * field.ny + j) + which, c, feature);
  }
  void add_over(int triangle, const Point &c, std::int32_t feature, double start = 0.0) {
    Point x[3];
    field.corners(triangle, x);
    Point m = cross(x[1] - x[0], x[2] - x[0]);
    m = scale(1.0 / length(m), m);
    const double height = dot(m, c - x[0]), gap = height - A.radius;
    if (!(gap < found.margin))
      return;
    const Point foot = c - scale(height, m);
    for (int k = 0; k < 3; ++k)
      if (const Point side = x[(k + 1) % 3] - x[k]; dot(cross(m, side), foot - x[k]) < -found.slack() * length(side))
        return;
    put(feature, face_number(triangle), m, c - scale(A.radius, m), gap, start);
  }

  // Points of the rims: the lowest ones with respect to each triangle near, and fixed ones.
  void add_rims() {
    constexpr double cosine[rim_points] = {1.0, 0.0, -1.0, 0.0}, sine[rim_points] = {0.0, 1.0, 0.0, -1.0};
    range(center, A.reach + found.margin);
    for (int i = low[0]; i <= high[0]; ++i)
      for (int j = low[1]; j <= high[1]; ++j)
        for (const int which : {0, 1}) {
          const int triangle = 2 * (i * field.ny + j) + which;
          const Point own = mul_t(Z.R, field.normal(triangle));
          const double across = std::hypot(own.x, own.y);
          for (int rim = 0; rim < 2; ++rim) {
            const double z = rim ? A.half : -A.half;
            if (const Point c{-A.across * own.x / across, -A.across * own.y / across, z}; across > level)
              add_over(triangle, mul(Z.R, c) + Z.p, point_number(rim), std::atan2(c.y, c.x));
            for (int k = 0; k < rim_points && std::fabs(own.z) > M_SQRT1_2; ++k)
              add_over(triangle, mul(Z.R, Point{A.across * cosine[k], A.across * sine[k], z}) + Z.p,
                       point_number(first_rim_point + rim_points * rim + k));
          }
        }
  }

  // ---- ridges and peaks

  bool is_far(const Point &from, const Point &to) const {
    const Point along = to - from;
    const double square = dot(along, along);
    const double t = square > 0.0 ? std::clamp(dot(center - from, along) / square, 0.0, 1.0) : 0.0;
    return length(center - from - scale(t, along)) > A.reach + found.margin;
  }

  // contacts of a part of the field as a solid of its own
  Manifold touch(const Point &from, const Point &to, bool is_point) {
    probe.points.resize(is_point ? 1 : 2);
    probe.points[0] = from;
    if (!is_point)
      probe.points[1] = to;
    probe.shape = is_point ? SolidKind::sphere : SolidKind::capsule;
    probe.center = scale(0.5, from + to);
    const Point d = to - probe.center;
    probe.reach = length(d), probe.extent = {std::fabs(d.x), std::fabs(d.y), std::fabs(d.z)};
    return find_contacts(A, X, probe, Y, found.margin);
  }

  void put_found(const ContactPoint &c, std::int32_t feature) {
    least = std::min(least, c.gap);
    ContactPoint named = c;
    named.second = feature;
    found.put(named);
  }
  Point upward(const ContactPoint &c) const { return mul_t(Y.R, -c.normal); }

  static bool is_between(const HeightField::Edge &edge, const Point &m) { // (1)
    const Point along = edge.to - edge.from;
    const double slack = -in_cone * length(along);
    return dot(cross(edge.left, m), along) >= slack && dot(cross(m, edge.right), along) >= slack &&
           dot(m, edge.left + edge.right) > 0.0;
  }

  void add_ridge(int number) {
    const HeightField::Edge edge = field.edge(number);
    if (!edge.convex || is_far(edge.from, edge.to))
      return;
    const Manifold met = touch(edge.from, edge.to, false);
    if (met.gap + A.radius < pierced * A.reach)
      return add_pierced_ridge(number, edge);
    for (int k = 0; k < met.count; ++k)
      if (feature_class(met.points[k].second) == FeatureClass::edge && is_between(edge, upward(met.points[k])))
        put_found(met.points[k], edge_number(number));
  }

  void add_peak(int i, int j) {
    const Point x = field.node(i, j);
    if (is_far(x, x))
      return;
    int triangles[6];
    const int count = field.triangles_at(i, j, triangles);
    const auto in_cone_of_node = [&](const Point &m) { return is_in_cone(i, j, m, triangles, count); };
    const std::int32_t number = point_number(i * field.ny + j);
    const Manifold met = touch(x, x, true);
    if (met.gap + A.radius < pierced * A.reach)
      return add_pierced_peak(number, x, in_cone_of_node);
    for (int k = 0; k < met.count; ++k)
      if (in_cone_of_node(upward(met.points[k])))
        put_found(met.points[k], number);
  }

  // ---- ridges and peaks inside of the core

  // a contact of two features, if its normal is allowed
  template <class Allowed>
  bool evaluate(std::int32_t first, std::int32_t second, double start, const Allowed &allowed, ContactPoint &c) const {
    c = found.evaluate(first, second, start, 0.0);
    return std::isfinite(c.gap) && c.gap < found.margin && allowed(upward(c)) && found.is_on(A, X, first, c.on_first) &&
           found.is_on(found.B, Y, second, c.on_second);
  }

  bool faces_up(const Point &own) const { return Z.R.zx * own.x + Z.R.zy * own.y + Z.R.zz * own.z > 0.0; }

  void add_pierced_ridge(int number, const HeightField::Edge &edge) {
    const auto allowed = [&](const Point &m) { return is_between(edge, m); };
    ContactPoint c;
    if (A.is_polytope()) {
      for (int k = 0; k < int(A.edges.size()); ++k) {
        const ConvexSolid::Edge &own = A.edges[std::size_t(k)];
        const Point left = A.faces[std::size_t(own.left)].normal, right = A.faces[std::size_t(own.right)].normal;
        if (faces_up(left) && faces_up(right))
          continue;
        if (!evaluate(edge_number(k), edge_number(number), 0.0, allowed, c))
          continue;
        const Point n = mul_t(X.R, c.normal); // between the faces of the edge of the solid
        const double turn = dot(cross(left, right), own.direction) < 0.0 ? -1.0 : 1.0;
        if (turn * dot(cross(left, n), own.direction) >= -in_cone &&
            turn * dot(cross(n, right), own.direction) >= -in_cone)
          put_found(c, edge_number(number));
      }
      return;
    }
    if (A.kind == CoreKind::hull) { // a segment: its contact with the edge is that of two lines
      if (A.points.size() == 2 && evaluate(edge_number(0), edge_number(number), 0.0, allowed, c))
        put_found(c, edge_number(number));
      return;
    }
    if (evaluate(edge_number(0), edge_number(number), 0.0, allowed, c))
      put_found(c, edge_number(number));
    const Point a = mul_t(Z.R, edge.from - Z.p), d = mul_t(Z.R, edge.to - edge.from); // crossings, seen along the axis
    const double p = d.x * d.x + d.y * d.y, q = a.x * d.x + a.y * d.y, r = a.x * a.x + a.y * a.y - A.across * A.across;
    const double root = q * q - p * r;
    if (!(root > 0.0) || !(p > 0.0))
      return;
    for (const double sense : {-1.0, 1.0}) {
      const double t = (-q + sense * std::sqrt(root)) / p;
      const double start = std::atan2(a.y + t * d.y, a.x + t * d.x);
      for (int rim = 0; rim < 2; ++rim)
        if (evaluate(point_number(rim), edge_number(number), start, allowed, c))
          put_found(c, edge_number(number));
    }
  }

  // the face, cap or side that the peak leaves soonest along an allowed normal
  template <class Allowed> void add_pierced_peak(std::int32_t number, const Point &x, const Allowed &allowed) {
    ContactPoint c, best;
    best.gap = -1e300;
    const auto consider = [&](std::int32_t feature, bool covered) {
      if (covered && evaluate(feature, number, 0.0, allowed, c) && c.gap > best.gap)
        best = c;
    };
    const Point own = mul_t(Z.R, x - Z.p);
    if (A.is_polytope()) {
      for (int k = 0; k < int(A.faces.size()); ++k)
        if (const Point &n = A.faces[std::size_t(k)].normal; !faces_up(n))
          consider(face_number(k), covers(A.faces[std::size_t(k)], own));
    } else if (A.kind == CoreKind::cylinder) {
      for (int k = 0; k < 2; ++k)
        consider(face_number(k), std::hypot(own.x, own.y) <= A.across + found.slack());
      consider(edge_number(0), true);
    }
    if (best.gap > -1e300)
      put_found(best, number);
  }

  // whether a point lies over a face, in the frame of the solid
  bool covers(const ConvexSolid::Face &face, const Point &own) const {
    const int *loop = A.loops.data() + face.begin;
    for (int k = 0; k < face.count; ++k) {
      const Point &from = A.points[std::size_t(loop[k])],
                  &to = A.points[std::size_t(loop[k + 1 < face.count ? k + 1 : 0])];
      const Point inward = cross(face.normal, to - from);
      if (dot(inward, own - from) < -found.slack() * length(inward))
        return false;
    }
    return true;
  }

  // Whether a direction is the steepest at a node: none of the edges that leave it goes up along it, and not all
  // triangles lie in one plane.
  bool is_in_cone(int i, int j, const Point &m, const int *triangles, int count) const {
    if (!(m.z > 0.0))
      return false;
    const Point x = field.node(i, j);
    constexpr int step[6][2] = {{1, 0}, {0, 1}, {1, 1}, {-1, 0}, {0, -1}, {-1, -1}};
    for (const auto &[a, b] : step) {
      if (i + a < 0 || j + b < 0 || i + a >= field.nx || j + b >= field.ny)
        continue;
      const Point along = field.node(i + a, j + b) - x;
      if (dot(m, along) > in_cone * length(along))
        return false;
    }
    const Point first = field.normal(triangles[0]);
    for (int k = 1; k < count; ++k)
      if (const Point turn = cross(first, field.normal(triangles[k])); length(turn) > same_direction)
        return true;
    return count < 6; // at the boundary
  }
};

} // namespace

double add_height_field_contacts(ContactCandidates &found) {
  return std::min(FieldContacts(found).run(), found.margin);
}

} // namespace dalembert::DALEMBERT_ISA
