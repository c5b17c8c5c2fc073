#include "geometry/overlap_depth.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {
namespace {

constexpr double flat = 1e-11;   // of the size: points closer to a line or a plane make no face
constexpr double beyond = 1e-13; // of the size: a point so far above a face is visible from it

double length(const Point &a) { return std::sqrt(dot(a, a)); }

Point any_across(const Point &d) {
  const Point other = std::fabs(d.x) < 0.6 * length(d) ? Point{1.0, 0.0, 0.0} : Point{0.0, 1.0, 0.0};
  return cross(d, other);
}

} // namespace

OverlapDepth::OverlapDepth(CoreDifference &difference, const Simplex &simplex)
    : difference(difference), size(difference.first.reach + difference.second.reach) {
  usable = begin(simplex);
}

// a point in a direction that is not yet there
bool OverlapDepth::add_vertex(const Point &direction) {
  const CoreDifference::Vertex next = difference.support(direction);
  for (int k = 0; k < vertex_count; ++k)
    if (length(vertices[k].w - next.w) < flat * size)
      return false;
  vertices[vertex_count++] = next;
  return true;
}

// a tetrahedron that contains the simplex
bool OverlapDepth::begin(const Simplex &simplex) {
  for (int k = 0; k < simplex.count; ++k)
    vertices[vertex_count++] = simplex.at[k];
  const auto w = [&](int k) { return vertices[k].w; };
  if (vertex_count == 1)
    for (const Point &d : {Point{1.0, 0.0, 0.0}, Point{-1.0, 0.0, 0.0}, Point{0.0, 1.0, 0.0}, Point{0.0, 0.0, 1.0}})
      if (vertex_count == 1)
        add_vertex(d);
  if (vertex_count == 2) {
    const Point along = w(1) - w(0), across = any_across(along), other = cross(along, across);
    for (const Point &d : {across, -across, other, -other})
      if (vertex_count == 2 && add_vertex(d) && length(cross(along, w(2) - w(0))) < flat * size * length(along))
        --vertex_count;
  }
  if (vertex_count == 3) {
    const Point n = cross(w(1) - w(0), w(2) - w(0));
    for (const Point &d : {n, -n})
      if (vertex_count == 3 && add_vertex(d) && std::fabs(dot(n, w(3) - w(0))) < flat * size * length(n))
        --vertex_count;
  }
  if (vertex_count != 4)
    return false;
  const bool turned = dot(cross(w(1) - w(0), w(2) - w(0)), w(3) - w(0)) > 0.0;
  const int i = turned ? 1 : 0, j = turned ? 0 : 1; // counterclockwise from outside
  return add_face(i, j, 2) && add_face(j, i, 3) && add_face(2, j, 3) && add_face(i, 2, 3);
}

bool OverlapDepth::add_face(int i, int j, int k) {
  if (face_count == max_faces)
    return false;
  const Point &a = vertices[i].w, n = cross(vertices[j].w - a, vertices[k].w - a);
  const double area = length(n);
  if (!(area > flat * flat * size * size))
    return false;
  Face &face = faces[face_count++];
  face.at[0] = i, face.at[1] = j, face.at[2] = k;
  face.n = scale(1.0 / area, n);
  face.d = dot(face.n, a);
  return true;
}

// replaces the faces that are visible from a new point
bool OverlapDepth::expand(const CoreDifference::Vertex &next) {
  if (vertex_count == max_vertices)
    return false;
  int from[max_faces], to[max_faces], count = 0;
  for (int f = 0; f < face_count;) {
    if (dot(faces[f].n, next.w) - faces[f].d <= beyond * size) {
      ++f;
      continue;
    }
    for (int e = 0; e < 3; ++e) {
      const int i = faces[f].at[e], j = faces[f].at[(e + 1) % 3];
      int twin = 0;
      while (twin < count && !(from[twin] == j && to[twin] == i))
        ++twin;
      if (twin < count) {
        --count;
        from[twin] = from[count], to[twin] = to[count];
      } else if (count == max_faces) {
        return false;
      } else {
        from[count] = i, to[count++] = j;
      }
    }
    faces[f] = faces[--face_count];
  }
  const int own = vertex_count;
  vertices[vertex_count++] = next;
  for (int e = 0; e < count; ++e)
    if (!add_face(from[e], to[e], own))
      return false;
  return count > 2;
}

bool OverlapDepth::run(double tolerance) {
  while (usable) {
    int nearest = 0;
    for (int f = 1; f < face_count; ++f)
      if (faces[f].d < faces[nearest].d)
        nearest = f;
    const Face face = faces[nearest];
    const CoreDifference::Vertex next = difference.support(face.n);
    normal = face.n, lower = face.d, upper = dot(face.n, next.w);
    for (int e = 0; e < 3; ++e)
      of_first[e] = vertices[face.at[e]].of_first, of_second[e] = vertices[face.at[e]].of_second;
    if (upper - lower <= tolerance)
      return true;
    usable = expand(next);
  }
  return false;
}

} // namespace dalembert::DALEMBERT_ISA
