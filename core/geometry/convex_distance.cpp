#include "geometry/convex_distance.hpp"
#include <cmath>

namespace dalembert::geometry {
namespace {

constexpr int max_rounds = 200;
constexpr double exact = 1e-13;    // e of (1)
constexpr double touching = 1e-28; // square of a part of the size of the solids that is no distance

double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// the point of a solid that lies farthest in a direction, in the world
void support(const Placed &at, const double *d, double *out) {
  const double *R = at.pose, *p = at.pose + 9;
  const Convex &solid = *at.solid;
  const double own[3] = {R[0] * d[0] + R[3] * d[1] + R[6] * d[2], R[1] * d[0] + R[4] * d[1] + R[7] * d[2],
                         R[2] * d[0] + R[5] * d[1] + R[8] * d[2]};
  double x[3] = {0.0, 0.0, 0.0};
  if (solid.points) {
    double most = -1e300;
    for (int k = 0; k < solid.count; ++k) {
      const double *point = solid.points + 3 * k, far = dot(point, own);
      if (far > most) {
        most = far;
        for (int i = 0; i < 3; ++i)
          x[i] = point[i];
      }
    }
  } else {
    const double across = std::hypot(own[0], own[1]);
    if (across > 0.0)
      x[0] = solid.across * own[0] / across, x[1] = solid.across * own[1] / across;
    x[2] = own[2] < 0.0 ? -solid.half : solid.half;
  }
  for (int i = 0; i < 3; ++i)
    out[i] = p[i] + R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2];
}

struct Simplex {
  int count = 0;
  double w[4][3], a[4][3], b[4][3], part[4];
};

// parts of the points of a face whose mean is nearest to the origin; false if that lies outside, or the face is flat
bool project(const Simplex &s, const int *face, int count, double *part) {
  double M[3][4];
  const int n = count - 1;
  for (int i = 0; i < n; ++i) {
    double e[3];
    for (int c = 0; c < 3; ++c)
      e[c] = s.w[face[i + 1]][c] - s.w[face[0]][c];
    for (int j = 0; j < n; ++j) {
      M[i][j] = 0.0;
      for (int c = 0; c < 3; ++c)
        M[i][j] += e[c] * (s.w[face[j + 1]][c] - s.w[face[0]][c]);
    }
    M[i][n] = -dot(e, s.w[face[0]]);
  }
  double size = 0.0;
  for (int i = 0; i < n; ++i)
    size = std::fmax(size, M[i][i]);
  for (int k = 0; k < n; ++k) { // symmetric and positive; the largest pivot first
    int at = k;
    for (int i = k + 1; i < n; ++i)
      if (std::fabs(M[i][k]) > std::fabs(M[at][k]))
        at = i;
    for (int j = 0; j <= n; ++j) {
      const double kept = M[k][j];
      M[k][j] = M[at][j], M[at][j] = kept;
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

// keeps the face that is nearest to the origin; its nearest point into v
void reduce(Simplex &s, double *v) {
  double best = 1e300, chosen_part[4] = {};
  int chosen[4] = {}, chosen_count = 0;
  for (int bits = 1; bits < 1 << s.count; ++bits) {
    int face[4], count = 0;
    for (int k = 0; k < s.count; ++k)
      if (bits >> k & 1)
        face[count++] = k;
    double part[4], point[3] = {0.0, 0.0, 0.0};
    if (!project(s, face, count, part))
      continue;
    for (int k = 0; k < count; ++k)
      for (int c = 0; c < 3; ++c)
        point[c] += part[k] * s.w[face[k]][c];
    const double size = dot(point, point);
    if (size < best) {
      best = size, chosen_count = count;
      for (int k = 0; k < count; ++k)
        chosen[k] = face[k], chosen_part[k] = part[k];
      for (int c = 0; c < 3; ++c)
        v[c] = point[c];
    }
  }
  Simplex kept;
  kept.count = chosen_count;
  for (int k = 0; k < chosen_count; ++k) {
    kept.part[k] = chosen_part[k];
    for (int c = 0; c < 3; ++c)
      kept.w[k][c] = s.w[chosen[k]][c], kept.a[k][c] = s.a[chosen[k]][c], kept.b[k][c] = s.b[chosen[k]][c];
  }
  s = kept;
}

} // namespace

Nearest nearest(const Placed &first, const Placed &second) {
  Nearest found{};
  double v[3], size = 0.0;
  for (int c = 0; c < 3; ++c)
    v[c] = first.pose[9 + c] - second.pose[9 + c];
  if (dot(v, v) == 0.0)
    v[0] = 1.0;
  Simplex s;
  bool begun = false;
  for (int round = 0; round < max_rounds; ++round) {
    double a[3], b[3], w[3];
    const double back[3] = {-v[0], -v[1], -v[2]};
    support(first, back, a);
    support(second, v, b);
    for (int c = 0; c < 3; ++c)
      w[c] = a[c] - b[c];
    size = std::fmax(size, dot(w, w));
    const double square = dot(v, v);
    if (begun && square - dot(v, w) <= exact * square + 1e-16 * std::sqrt(square * size))
      break;
    bool known = false; // a point that is there already: rounding
    for (int k = 0; k < s.count; ++k)
      known = known || (s.w[k][0] == w[0] && s.w[k][1] == w[1] && s.w[k][2] == w[2]);
    if (known)
      break;
    for (int c = 0; c < 3; ++c)
      s.w[s.count][c] = w[c], s.a[s.count][c] = a[c], s.b[s.count][c] = b[c];
    ++s.count;
    reduce(s, v);
    begun = true;
    if (s.count == 4 || dot(v, v) <= touching * size) { // the origin is inside
      v[0] = v[1] = v[2] = 0.0;
      break;
    }
  }
  for (int k = 0; k < s.count; ++k)
    for (int c = 0; c < 3; ++c)
      found.first[c] += s.part[k] * s.a[k][c], found.second[c] += s.part[k] * s.b[k][c];
  const double apart = std::sqrt(dot(v, v)), radii = first.solid->radius + second.solid->radius;
  found.distance = apart > radii ? apart - radii : 0.0;
  for (int c = 0; c < 3 && apart > 0.0; ++c) { // from the grown surfaces
    found.first[c] -= first.solid->radius * v[c] / apart;
    found.second[c] += second.solid->radius * v[c] / apart;
  }
  return found;
}

} // namespace dalembert::geometry
