#include "geometry/convex_distance.hpp"
#include <cmath>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr int max_rounds = 200;
constexpr double touching = 1e-28; // square of a part of the size of the solids that is no distance
constexpr double flat = 1e-14;     // of the largest square: smaller pivots belong to flat faces

using Vertex = CoreDifference::Vertex;

// parts of the points of a face whose mean is nearest to the origin; false if that lies outside, or the face is flat
bool project(const Simplex &s, const int *face, int count, double *part) {
  const Point &o = s.at[face[0]].w;
  if (count == 1) {
    part[0] = 1.0;
    return true;
  }
  const Point e = s.at[face[1]].w - o;
  const double ee = dot(e, e), eo = -dot(e, o);
  if (count == 2) {
    if (!(ee > 0.0))
      return false;
    part[1] = eo / ee, part[0] = 1.0 - part[1];
    return part[1] >= 0.0 && part[0] >= 0.0;
  }
  const Point f = s.at[face[2]].w - o;
  const double ff = dot(f, f), fo = -dot(f, o), ef = dot(e, f);
  if (count == 3) {
    const double determinant = ee * ff - ef * ef;
    if (!(determinant > flat * ee * ff))
      return false;
    part[1] = (eo * ff - fo * ef) / determinant, part[2] = (fo * ee - eo * ef) / determinant;
    part[0] = 1.0 - part[1] - part[2];
    return part[1] >= 0.0 && part[2] >= 0.0 && part[0] >= 0.0;
  }
  const Point g = s.at[face[3]].w - o, fg = cross(f, g); // of a tetrahedron: the origin itself
  const double volume = dot(e, fg);
  if (!(volume * volume > flat * ee * ff * dot(g, g)))
    return false;
  part[1] = -dot(o, fg) / volume, part[2] = -dot(o, cross(g, e)) / volume, part[3] = -dot(o, cross(e, f)) / volume;
  part[0] = 1.0 - part[1] - part[2] - part[3];
  return part[0] >= 0.0 && part[1] >= 0.0 && part[2] >= 0.0 && part[3] >= 0.0;
}

// keeps the face with the last point that is nearest to the origin; returns its nearest point
Point reduce(Simplex &s) {
  double best = 1e300, chosen_part[4] = {};
  int chosen[4] = {}, chosen_count = 0;
  Point nearest{};
  const int last = s.count - 1;
  for (int bits = (1 << last) - 1; bits >= 0; --bits) {
    int face[4], count = 0;
    for (int k = 0; k < last; ++k)
      if (bits >> k & 1)
        face[count++] = k;
    face[count++] = last;
    double part[4];
    if (!project(s, face, count, part))
      continue;
    Point point{};
    for (int k = 0; k < count; ++k)
      point += scale(part[k], s.at[face[k]].w);
    const double square = count == 4 ? 0.0 : dot(point, point);
    if (square < best) {
      best = square, chosen_count = count, nearest = point;
      for (int k = 0; k < count; ++k)
        chosen[k] = face[k], chosen_part[k] = part[k];
      if (count == 4)
        break;
    }
  }
  Simplex kept;
  kept.count = chosen_count;
  for (int k = 0; k < chosen_count; ++k) {
    kept.at[k] = s.at[chosen[k]];
    kept.at[k].part = chosen_part[k];
  }
  s = kept;
  return nearest;
}

bool is_known(const Simplex &s, const Point &w) {
  for (int k = 0; k < s.count; ++k)
    if (s.at[k].w.x == w.x && s.at[k].w.y == w.y && s.at[k].w.z == w.z)
      return true;
  return false;
}

} // namespace

Vertex CoreDifference::support(const Point &direction) {
  Vertex found;
  const Point other = -mul_t(Z.R, direction);
  Point a = dalembert::DALEMBERT_ISA::support(first, direction, near[0]),
        b = dalembert::DALEMBERT_ISA::support(second, other, near[1]);
  if (factor != 1.0)
    a = first.center + scale(factor, a - first.center), b = second.center + scale(factor, b - second.center);
  found.of_first = near[0], found.of_second = near[1], found.part = 0.0;
  found.a = a, found.b = mul(Z.R, b) + Z.p;
  found.w = found.a - found.b;
  return found;
}

ClosestPointSearch::ClosestPointSearch(CoreDifference &difference)
    : difference(difference),
      v(difference.first.center - (mul(difference.Z.R, difference.second.center) + difference.Z.p)) {
  if (dot(v, v) == 0.0)
    v = {1.0, 0.0, 0.0};
}

ClosestPoints ClosestPointSearch::run(double tolerance) {
  for (int round = 0; round < max_rounds && !inside; ++round) {
    const Vertex next = difference.support(-v);
    size = std::fmax(size, dot(next.w, next.w));
    const double square = dot(v, v);
    if (begun && square - dot(v, next.w) <= tolerance * square + 1e-16 * std::sqrt(square * size))
      break;
    if (is_known(s, next.w)) // rounding
      break;
    const Simplex before = s;
    s.at[s.count++] = next;
    const Point nearer = reduce(s);
    if (begun && !(dot(nearer, nearer) < square)) { // rounding
      s = before;
      break;
    }
    v = nearer, begun = true;
    inside = s.count == 4 || dot(v, v) <= touching * size;
  }
  ClosestPoints found{};
  for (int k = 0; k < s.count; ++k)
    found.first += scale(s.at[k].part, s.at[k].a), found.second += scale(s.at[k].part, s.at[k].b);
  found.distance = inside ? 0.0 : std::sqrt(dot(v, v));
  return found;
}

} // namespace dalembert::DALEMBERT_ISA
