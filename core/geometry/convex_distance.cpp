#include "geometry/convex_distance.hpp"
#include <cmath>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr int max_rounds = 200;
constexpr double exact = 1e-13;    // e of (1)
constexpr double touching = 1e-28; // square of a part of the size of the solids that is no distance

struct Simplex {
  struct Vertex {
    Point w, a, b; // of the difference, of either solid
    int of_first, of_second;
    double part;
  };
  int count = 0;
  Vertex at[4];
};

// parts of the points of a face whose mean is nearest to the origin; false if that lies outside, or the face is flat
bool project(const Simplex &s, const int *face, int count, double *part) {
  double M[3][4];
  const int n = count - 1;
  double size = 0.0;
  for (int i = 0; i < n; ++i) {
    const Point e = s.at[face[i + 1]].w - s.at[face[0]].w;
    for (int j = 0; j < n; ++j)
      M[i][j] = dot(e, s.at[face[j + 1]].w - s.at[face[0]].w);
    M[i][n] = -dot(e, s.at[face[0]].w);
    size = std::fmax(size, M[i][i]);
  }
  for (int k = 0; k < n; ++k) { // symmetric and positive; the largest pivot first
    int row = k;
    for (int i = k + 1; i < n; ++i)
      if (std::fabs(M[i][k]) > std::fabs(M[row][k]))
        row = i;
    for (int j = 0; j <= n; ++j) {
      const double kept = M[k][j];
      M[k][j] = M[row][j], M[row][j] = kept;
    }
    if (!(std::fabs(M[k][k]) > 1e-14 * size))
      return false;
    for (int i = k + 1; i < n; ++i) {
      const double factor = M[i][k] / M[k][k];
      for (int j = k; j <= n; ++j)
        M[i][j] -= factor * M[k][j];
    }
  }
  part[0] = 1.0;
  for (int i = n - 1; i >= 0; --i) {
    double sum = M[i][n];
    for (int j = i + 1; j < n; ++j)
      sum -= M[i][j] * part[j + 1];
    part[i + 1] = sum / M[i][i];
  }
  for (int i = 1; i < count; ++i) {
    if (!(part[i] >= 0.0))
      return false;
    part[0] -= part[i];
  }
  return part[0] >= 0.0;
}

// keeps the face that is nearest to the origin; returns its nearest point
Point reduce(Simplex &s) {
  double best = 1e300, chosen_part[4] = {};
  int chosen[4] = {}, chosen_count = 0;
  Point nearest{};
  for (int bits = 1; bits < 1 << s.count; ++bits) {
    int face[4], count = 0;
    for (int k = 0; k < s.count; ++k)
      if (bits >> k & 1)
        face[count++] = k;
    double part[4];
    if (!project(s, face, count, part))
      continue;
    Point point{};
    for (int k = 0; k < count; ++k)
      point += scale(part[k], s.at[face[k]].w);
    const double square = dot(point, point);
    if (square < best) {
      best = square, chosen_count = count, nearest = point;
      for (int k = 0; k < count; ++k)
        chosen[k] = face[k], chosen_part[k] = part[k];
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

Point scaled_support(const ConvexSolid &s, const Frame &X, const Point &direction, double factor, int *index) {
  const Point own = support(s, mul_t(X.R, direction), index);
  return mul(X.R, factor == 1.0 ? own : s.center + scale(factor, own - s.center)) + X.p;
}

Simplex::Vertex furthest(const ConvexSolid &first, const Frame &X, const ConvexSolid &second, const Frame &Y,
                         const Point &direction, double factor) {
  Simplex::Vertex found{};
  found.a = scaled_support(first, X, direction, factor, &found.of_first);
  found.b = scaled_support(second, Y, -direction, factor, &found.of_second);
  found.w = found.a - found.b;
  return found;
}

bool is_known(const Simplex &s, const Point &w) {
  for (int k = 0; k < s.count; ++k)
    if (s.at[k].w.x == w.x && s.at[k].w.y == w.y && s.at[k].w.z == w.z)
      return true;
  return false;
}

} // namespace

ClosestPoints closest_points(const ConvexSolid &first, const Frame &X, const ConvexSolid &second, const Frame &Y,
                             double factor) {
  Point v = (mul(X.R, first.center) + X.p) - (mul(Y.R, second.center) + Y.p);
  if (dot(v, v) == 0.0)
    v = {1.0, 0.0, 0.0};
  Simplex s;
  double size = 0.0;
  bool begun = false;
  for (int round = 0; round < max_rounds; ++round) {
    const Simplex::Vertex next = furthest(first, X, second, Y, -v, factor);
    size = std::fmax(size, dot(next.w, next.w));
    const double square = dot(v, v);
    if (begun && square - dot(v, next.w) <= exact * square + 1e-16 * std::sqrt(square * size))
      break;
    if (is_known(s, next.w)) // rounding
      break;
    s.at[s.count++] = next;
    v = reduce(s);
    begun = true;
    if (s.count == 4 || dot(v, v) <= touching * size) { // the origin is inside
      v = {0.0, 0.0, 0.0};
      break;
    }
  }
  ClosestPoints found{};
  found.count = s.count;
  for (int k = 0; k < s.count; ++k) {
    found.first += scale(s.at[k].part, s.at[k].a), found.second += scale(s.at[k].part, s.at[k].b);
    found.of_first[k] = s.at[k].of_first, found.of_second[k] = s.at[k].of_second;
  }
  found.distance = std::sqrt(dot(v, v));
  return found;
}

} // namespace dalembert::DALEMBERT_ISA
