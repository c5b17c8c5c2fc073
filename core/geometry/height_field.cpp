#include "geometry/height_field.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

void HeightField::corners(int triangle, Point *out) const {
  const int n = triangle / 2, i = n / ny, j = n % ny;
  out[0] = node(i, j);
  out[1] = triangle % 2 ? node(i + 1, j + 1) : node(i + 1, j);
  out[2] = triangle % 2 ? node(i, j + 1) : node(i + 1, j + 1);
}

Point HeightField::normal(int triangle) const {
  Point x[3];
  corners(triangle, x);
  const Point n = cross(x[1] - x[0], x[2] - x[0]);
  return scale(1.0 / std::sqrt(dot(n, n)), n);
}

bool HeightField::has_edge(int number) const {
  const int n = number / 3, i = n / ny, j = n % ny, along = number % 3;
  return (along == 1 || i + 1 < nx) && (along == 0 || j + 1 < ny);
}

HeightField::Edge HeightField::edge(int number) const {
  const int n = number / 3, i = n / ny, j = n % ny, along = number % 3;
  Edge e;
  e.from = node(i, j), e.to = node(along == 1 ? i : i + 1, along == 0 ? j : j + 1);
  // triangles on its left and right, and the corner of the left one that is not on it
  const bool has_left = along == 0 ? j + 1 < ny : along == 1 ? i > 0 : true;
  const bool has_right = along == 0 ? j > 0 : along == 1 ? i + 1 < nx : true;
  const int left = along == 0 ? 2 * n : along == 1 ? 2 * (n - ny) : 2 * n + 1;
  const int right = along == 0 ? 2 * (n - 1) + 1 : along == 1 ? 2 * n + 1 : 2 * n;
  const Point outward = along == 0 ? Point{0.0, 1.0, 0.0} : Point{-1.0, 0.0, 0.0}; // from the left side
  e.left = has_left ? normal(left) : outward, e.right = has_right ? normal(right) : -outward;
  e.convex = true;
  if (has_left && has_right) {
    const Point across = cross(e.left, e.right), way = e.to - e.from; // a ridge turns the normals about the edge
    e.convex = dot(across, way) > 1e-12 * std::sqrt(dot(way, way));
  }
  return e;
}

int HeightField::triangles_at(int i, int j, int *out) const {
  int count = 0;
  const auto add = [&](int a, int b, int which) {
    if (a >= 0 && b >= 0 && a + 1 < nx && b + 1 < ny)
      out[count++] = 2 * (a * ny + b) + which;
  };
  add(i, j, 0), add(i, j, 1), add(i - 1, j, 0), add(i, j - 1, 1), add(i - 1, j - 1, 0), add(i - 1, j - 1, 1);
  return count;
}

double HeightField::height(double x, double y) const {
  const int i = column(x), j = row(y);
  const double u = std::clamp(x / dx + 0.5 * (nx - 1) - i, 0.0, 1.0);
  const double v = std::clamp(y / dy + 0.5 * (ny - 1) - j, 0.0, 1.0);
  const auto h = [&](int a, int b) { return heights[std::size_t(a * ny + b)]; };
  return u >= v ? h(i, j) + u * (h(i + 1, j) - h(i, j)) + v * (h(i + 1, j + 1) - h(i + 1, j))
                : h(i, j) + v * (h(i, j + 1) - h(i, j)) + u * (h(i + 1, j + 1) - h(i, j + 1));
}

} // namespace dalembert::DALEMBERT_ISA
