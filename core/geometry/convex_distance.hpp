// Closest points of two convex cores by the method of Gilbert, Johnson and Keerthi (1988).
//
// The difference of two cores is searched for its point v nearest to the origin: its support w in the direction -v joins
// a simplex whose point nearest to the origin is the next v, until
//
//     |v|^2 - v . w  <=  e |v|^2                                                                                    (1)
//
// bounds what is missing: (1 - e) |v| is at most the distance. The nearest point of a simplex is found among all its
// faces that contain the last w, so that none has to be trusted.
#pragma once

#include "geometry/convex_solid.hpp"

namespace dalembert::DALEMBERT_ISA {

// Difference of two cores, in the frame of the first; neither is a half space.
struct CoreDifference {
  const ConvexSolid &first, &second;
  const Frame Z;        // of the second solid in the frame of the first
  double factor;        // by which both are scaled about their centres
  int near[2] = {0, 0}; // points of hulls that were found last

  CoreDifference(const ConvexSolid &first, const Frame &X, const ConvexSolid &second, const Frame &Y,
                 double factor = 1.0)
      : first(first), second(second), Z{mul_ta(X.R, Y.R), mul_t(X.R, Y.p - X.p)}, factor(factor) {}

  struct Vertex {
    Point w, a, b; // of the difference, of either solid
    int of_first, of_second;
    double part; // of the nearest point
  };
  // the point farthest in a direction
  Vertex support(const Point &direction);
  // how far the supporting planes of a unit normal from the first to the second are apart
  double separation(const Point &n) {
    const Vertex found = support(n);
    return -dot(n, found.w);
  }
};

struct Simplex {
  int count = 0;
  CoreDifference::Vertex at[4];
};

struct ClosestPoints {
  Point first, second; // of the cores, in the frame of the first; anywhere within both where they overlap
  double distance;     // of the cores; zero where they overlap
};

// Search that can be continued with a smaller tolerance.
class ClosestPointSearch {
public:
  explicit ClosestPointSearch(CoreDifference &difference);

  // until e of (1) is met
  ClosestPoints run(double tolerance);
  const Simplex &simplex() const { return s; }
  bool is_inside() const { return inside; }

private:
  CoreDifference &difference;
  Simplex s;
  Point v;
  double size = 0.0;
  bool begun = false, inside = false;
};

constexpr double exact_distance = 1e-13; // e of (1)

} // namespace dalembert::DALEMBERT_ISA
