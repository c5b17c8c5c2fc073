// Surface of heights over a grid, with the solid below it.
//
// Node (i, j) of nx x ny has the number i ny + j and lies at x = dx (i - (nx - 1) / 2), y = dy (j - (ny - 1) / 2). Cell
// (i, j), between the nodes (i, j) and (i + 1, j + 1), has the triangles
//
//     2 n:      (i, j), (i + 1, j), (i + 1, j + 1)          2 n + 1:  (i, j), (i + 1, j + 1), (i, j + 1)
//
// with n the number of its node (i, j). Edges 3 n, 3 n + 1 and 3 n + 2 start at node n and run along x, along y and along
// the diagonal.
#pragma once

#include "scalar/vec.hpp"
#include <vector>

namespace dalembert::DALEMBERT_ISA {

using Point = Vec3<double>;

struct HeightField {
  int nx = 0, ny = 0;
  double dx = 0.0, dy = 0.0;   // m
  std::vector<double> heights; // m, of the nodes in their order
  double steepness = 1.0;      // at most this is the vertical distance from the surface by the shortest one

  struct Edge {
    Point from, to;
    Point left, right; // unit normals of its triangles; horizontal at the boundary
    bool convex;       // the solid has an edge there
  };

  Point node(int i, int j) const {
    return {dx * (i - 0.5 * (nx - 1)), dy * (j - 0.5 * (ny - 1)), heights[std::size_t(i * ny + j)]};
  }
  Point node(int number) const { return node(number / ny, number % ny); }
  // corners of a triangle, counterclockwise from above
  void corners(int triangle, Point *out) const;
  Point normal(int triangle) const;
  bool has_edge(int number) const;
  Edge edge(int number) const;
  // Numbers of the triangles around an inner node, or a node of the boundary; their count.
  int triangles_at(int i, int j, int *out) const;
  // the cell that a coordinate lies in, within the grid
  int column(double x) const { return within(x / dx + 0.5 * (nx - 1), nx - 2); }
  int row(double y) const { return within(y / dy + 0.5 * (ny - 1), ny - 2); }
  // height below a point, that of the nearest point of the boundary outside of the grid
  double height(double x, double y) const;

private:
  static int within(double k, int last) { return k <= 0.0 ? 0 : k >= last ? last : int(k); }
};

} // namespace dalembert::DALEMBERT_ISA
