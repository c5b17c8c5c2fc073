#include "geometry/convex_solid.hpp"
#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr int searched_one_by_one = 32; // points or faces: more are searched along edges

std::size_t at(int k) { return std::size_t(k); }
double length(const Point &a) { return std::sqrt(dot(a, a)); }

// normal of a loop of points (Newell)
Point loop_normal(const std::vector<Point> &points, const int *loop, int count) {
  Point sum{};
  for (int k = 0; k < count; ++k)
    sum += cross(points[at(loop[k])], points[at(loop[(k + 1) % count])]);
  return scale(1.0 / length(sum), sum);
}

void add_edges(ConvexSolid &s) {
  std::map<std::pair<int, int>, int> known;
  for (int f = 0; f < int(s.faces.size()); ++f)
    for (int k = 0; k < s.faces[at(f)].count; ++k) {
      const int *loop = s.loops.data() + s.faces[at(f)].begin;
      const int from = loop[k], to = loop[(k + 1) % s.faces[at(f)].count];
      const auto twin = known.find({to, from});
      if (twin != known.end()) {
        s.edges[at(twin->second)].right = f;
        s.loop_edges.push_back(twin->second);
        continue;
      }
      s.loop_edges.push_back(int(s.edges.size()));
      const Point along = s.points[at(to)] - s.points[at(from)];
      known[{from, to}] = int(s.edges.size());
      s.edges.push_back({from, to, f, -1, scale(1.0 / length(along), along)});
    }
  for (const ConvexSolid::Edge &edge : s.edges)
    if (edge.right < 0)
      throw std::invalid_argument("the faces of the hull are not closed");
  s.edges_at_begin.assign(s.points.size() + 1, 0);
  for (const ConvexSolid::Edge &edge : s.edges)
    ++s.edges_at_begin[at(edge.from + 1)], ++s.edges_at_begin[at(edge.to + 1)];
  for (std::size_t k = 1; k < s.edges_at_begin.size(); ++k)
    s.edges_at_begin[k] += s.edges_at_begin[k - 1];
  std::vector<int> next(s.edges_at_begin.begin(), s.edges_at_begin.end() - 1);
  s.edges_at.resize(2 * s.edges.size()), s.neighbours.resize(2 * s.edges.size());
  for (int k = 0; k < int(s.edges.size()); ++k) {
    const auto [from, to] = std::pair(s.edges[at(k)].from, s.edges[at(k)].to);
    s.neighbours[at(next[at(from)])] = to, s.neighbours[at(next[at(to)])] = from;
    s.edges_at[at(next[at(from)]++)] = k, s.edges_at[at(next[at(to)]++)] = k;
  }
}

} // namespace

ConvexSolid make_hull(const std::vector<Point> &points, const std::vector<int> &loops, const std::vector<int> &sizes,
                      double radius) {
  ConvexSolid s;
  s.points = points, s.loops = loops, s.radius = radius;
  int begin = 0;
  for (const int count : sizes) {
    s.faces.push_back({loop_normal(points, loops.data() + begin, count), begin, count});
    begin += count;
  }
  add_edges(s);
  for (const Point &p : points)
    s.center += scale(1.0 / double(points.size()), p);
  for (const Point &p : points) {
    const Point d = p - s.center;
    s.reach = std::max(s.reach, length(d) + radius);
    s.extent = {std::max(s.extent.x, std::fabs(d.x)), std::max(s.extent.y, std::fabs(d.y)),
                std::max(s.extent.z, std::fabs(d.z))};
  }
  s.inner = s.reach;
  for (const ConvexSolid::Face &f : s.faces)
    s.inner = std::min(s.inner, dot(f.normal, points[at(loops[at(f.begin)])] - s.center));
  s.shape = points.size() == 1 ? SolidKind::sphere : points.size() == 2 ? SolidKind::capsule : SolidKind::hull;
  if (s.faces.empty())
    s.inner = 0.0;
  return s;
}

ConvexSolid make_box(const Point &extent, double radius) {
  const double half[3] = {extent.x, extent.y, extent.z};
  std::vector<Point> points;
  for (int k = 0; k < 8; ++k)
    points.push_back({k & 1 ? half[0] : -half[0], k & 2 ? half[1] : -half[1], k & 4 ? half[2] : -half[2]});
  std::vector<int> loops;
  for (int i = 0; i < 3; ++i)
    for (const int side : {0, 1}) {
      const int u = 1 << (i + 1) % 3, v = 1 << (i + 2) % 3, base = side << i;
      const int around[4] = {base, base + u, base + u + v, base + v}; // counterclockwise about +e_i
      for (int k = 0; k < 4; ++k)
        loops.push_back(around[side ? k : 3 - k]);
    }
  ConvexSolid s = make_hull(points, loops, std::vector<int>(6, 4), radius);
  std::vector<ConvexSolid::Edge> edges(12);
  std::vector<int> number(12);
  for (int k = 0; k < 12; ++k) {
    const ConvexSolid::Edge &e = s.edges[at(k)];
    const int i = (e.from ^ e.to) >> 1, from = e.from & e.to; // bits 1, 2, 4: axes 0, 1, 2
    number[at(k)] = 4 * i + (from >> (i + 1) % 3 & 1) + 2 * (from >> (i + 2) % 3 & 1);
    edges[at(number[at(k)])] = e;
  }
  s.edges = edges;
  for (std::vector<int> *list : {&s.edges_at, &s.loop_edges})
    for (int &k : *list)
      k = number[at(k)];
  s.extent = extent;
  s.shape = SolidKind::box;
  return s;
}

ConvexSolid make_cylinder(double half, double across, double radius) {
  ConvexSolid s;
  s.kind = CoreKind::cylinder;
  s.half = half, s.across = across, s.radius = radius;
  s.shape = SolidKind::cylinder;
  s.reach = std::hypot(half, across) + radius;
  s.extent = {across, across, half};
  s.inner = std::min(half, across);
  return s;
}

ConvexSolid make_half_space() {
  ConvexSolid s;
  s.kind = CoreKind::half_space;
  s.shape = SolidKind::half_space;
  s.reach = std::numeric_limits<double>::infinity();
  return s;
}

ConvexSolid make_height_field(const HeightField &field) {
  ConvexSolid s;
  s.kind = CoreKind::height_field, s.shape = SolidKind::height_field;
  HeightField kept = field;
  for (int i = 0; i + 1 < field.nx; ++i)
    for (int j = 0; j + 1 < field.ny; ++j)
      for (const int which : {0, 1})
        kept.steepness = std::max(kept.steepness, 1.0 / field.normal(2 * (i * field.ny + j) + which).z);
  s.field = std::make_shared<const HeightField>(kept);
  const auto [least, most] = std::minmax_element(field.heights.begin(), field.heights.end());
  const double x = 0.5 * field.dx * (field.nx - 1), y = 0.5 * field.dy * (field.ny - 1);
  const double below = std::hypot(x, y) + (*most - *least); // what is deeper has fallen through
  s.center = {0.0, 0.0, 0.5 * (*most + *least - below)};
  s.extent = {x, y, 0.5 * (*most - *least + below)};
  s.reach = length(s.extent);
  return s;
}

Feature make_feature(const ConvexSolid &s, std::int32_t number) {
  Feature f;
  f.radius = s.radius;
  const int k = feature_index(number);
  const FeatureClass kind = feature_class(number);
  const Point z{0.0, 0.0, 1.0};
  if (s.kind == CoreKind::half_space) {
    f.kind = FeatureKind::plane, f.d = z;
  } else if (s.kind == CoreKind::height_field) {
    const HeightField &field = *s.field;
    if (kind == FeatureClass::point) {
      f.c = field.node(k);
    } else if (kind == FeatureClass::face) {
      f.kind = FeatureKind::plane, f.c = field.node(k / 2), f.d = field.normal(k);
    } else {
      const HeightField::Edge edge = field.edge(k);
      const Point along = edge.to - edge.from;
      f.kind = FeatureKind::line, f.c = scale(0.5, edge.from + edge.to), f.d = scale(1.0 / length(along), along);
      f.out = edge.left + edge.right;
    }
  } else if (s.kind == CoreKind::cylinder) {
    if (kind == FeatureClass::edge) {
      f.kind = FeatureKind::line, f.d = z, f.radius += s.across;
    } else if (kind == FeatureClass::face || k < first_rim_point) {
      f.kind = kind == FeatureClass::face ? FeatureKind::plane : FeatureKind::circle;
      f.out = scale(k == 0 ? -1.0 : 1.0, z), f.c = scale(s.half, f.out), f.r = s.across;
      f.d = kind == FeatureClass::face ? f.out : z, f.e = {1.0, 0.0, 0.0};
    } else {
      const int place = k - first_rim_point;
      const double angle = 2.0 * M_PI * (place % rim_points) / rim_points;
      f.c = {s.across * std::cos(angle), s.across * std::sin(angle), place < rim_points ? -s.half : s.half};
    }
  } else if (kind == FeatureClass::point) {
    f.c = s.points[at(k)];
  } else if (kind == FeatureClass::face) {
    const ConvexSolid::Face &face = s.faces[at(k)];
    f.kind = FeatureKind::plane, f.c = s.points[at(s.loops[at(face.begin)])], f.d = face.normal;
  } else if (s.edges.empty()) { // the axis of a capsule
    const Point along = s.points[1] - s.points[0];
    f.kind = FeatureKind::line, f.c = s.center, f.d = scale(1.0 / length(along), along);
  } else {
    const ConvexSolid::Edge &edge = s.edges[at(k)];
    f.kind = FeatureKind::line, f.d = edge.direction;
    f.c = scale(0.5, s.points[at(edge.from)] + s.points[at(edge.to)]);
    f.out = s.faces[at(edge.left)].normal + s.faces[at(edge.right)].normal;
  }
  return f;
}

Point support(const ConvexSolid &s, const Point &d, int &index) {
  if (s.kind == CoreKind::cylinder) {
    const double square = d.x * d.x + d.y * d.y, factor = square > 0.0 ? s.across / std::sqrt(square) : 0.0;
    return {factor * d.x, factor * d.y, d.z < 0.0 ? -s.half : s.half};
  }
  const int count = int(s.points.size());
  if (count <= searched_one_by_one || s.edges.empty()) {
    int best = 0;
    double most = dot(s.points[0], d);
    for (int k = 1; k < count; ++k)
      if (const double far = dot(s.points[at(k)], d); far > most)
        most = far, best = k;
    index = best;
    return s.points[at(best)];
  }
  int best = index >= 0 && index < count ? index : 0;
  double most = dot(s.points[at(best)], d);
  for (int here = -1; here != best;) {
    here = best;
    for (int k = s.edges_at_begin[at(here)]; k < s.edges_at_begin[at(here + 1)]; ++k)
      if (const double far = dot(s.points[at(s.neighbours[at(k)])], d); far > most)
        most = far, best = s.neighbours[at(k)];
  }
  index = best;
  return s.points[at(best)];
}

int face_along(const ConvexSolid &s, const Point &d) {
  int best = -1;
  double most = -std::numeric_limits<double>::infinity();
  const auto consider = [&](int k) {
    if (const double along = dot(s.faces[at(k)].normal, d); along > most)
      most = along, best = k;
  };
  if (s.faces.size() <= at(searched_one_by_one)) {
    for (int k = 0; k < int(s.faces.size()); ++k)
      consider(k);
    return best;
  }
  int corner = 0;
  support(s, d, corner);
  for (int k = s.edges_at_begin[at(corner)]; k < s.edges_at_begin[at(corner + 1)]; ++k)
    consider(s.edges[at(s.edges_at[at(k)])].left), consider(s.edges[at(s.edges_at[at(k)])].right);
  for (int here = -1; here != best;) {
    here = best;
    const ConvexSolid::Face &face = s.faces[at(here)];
    for (int k = face.begin; k < face.begin + face.count; ++k) {
      const ConvexSolid::Edge &edge = s.edges[at(s.loop_edges[at(k)])];
      consider(edge.left == here ? edge.right : edge.left);
    }
  }
  return best;
}

} // namespace dalembert::DALEMBERT_ISA
