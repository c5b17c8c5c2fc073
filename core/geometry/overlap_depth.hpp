// Least depth of two cores that overlap, by an expanding polytope (van den Bergen 2001).
//
// A polytope of points of the difference A - B contains the origin. With d_f the distance of its face f from the origin,
// n_f its outward normal and h the farthest extent of the difference in a direction,
//
//     min_f d_f  <=  depth  <=  h(n_f)     for every face f                                                         (1)
//
// The face with the least d_f is expanded by the point farthest along n_f until both bounds agree to a tolerance. Cores
// that just touch, or miss each other by rounding, have d_f about zero.
#pragma once

#include "geometry/convex_distance.hpp"

namespace dalembert::DALEMBERT_ISA {

class OverlapDepth {
public:
  // simplex: of the search for closest points, which contains the origin
  OverlapDepth(CoreDifference &difference, const Simplex &simplex);

  // Expands until the bounds differ by less than a tolerance, m; false: the polytope is flat, or has no more room.
  bool run(double tolerance);

  Point normal{};                          // from the first to the second, in the frame of the first
  double lower = 0.0, upper = 0.0;         // bounds of the depth, m
  int of_first[3] = {}, of_second[3] = {}; // points of hulls that the face is made of

private:
  static constexpr int max_vertices = 96, max_faces = 2 * max_vertices;
  struct Face {
    int at[3];
    Point n;
    double d;
  };
  CoreDifference &difference;
  CoreDifference::Vertex vertices[max_vertices];
  Face faces[max_faces];
  int vertex_count = 0, face_count = 0;
  double size = 0.0;
  bool usable = false;

  bool begin(const Simplex &simplex);
  bool add_vertex(const Point &direction);
  bool add_face(int i, int j, int k);
  bool expand(const CoreDifference::Vertex &next);
};

} // namespace dalembert::DALEMBERT_ISA
