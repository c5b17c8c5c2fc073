// Distance of two convex solids by the method of Gilbert, Johnson and Keerthi (1988).
//
// The solids are hulls of points, or cylinders about z, each grown by a radius: spheres and capsules are a point and a
// segment with one. The difference of two solids is searched for its point v nearest to the origin: its support w in
// the direction -v joins a simplex whose point nearest to the origin is the next v, until
//
//     |v|^2 - v . w  <=  e |v|^2                                                                                    (1)
//
// bounds what is missing. The nearest point of a simplex is found among all its faces, so that none has to be trusted.
#pragma once

#include <cstddef>

namespace dalembert::geometry {

struct Convex {
  const double *points; // count x 3, or null for a cylinder
  int count;
  double half, across; // half length and radius of a cylinder
  double radius;       // by which it is grown
};

// rotation (9), position (3)
struct Placed {
  const Convex *solid;
  const double *pose;
};

struct Nearest {
  double distance;            // zero where they overlap
  double first[3], second[3]; // nearest points of either
};

Nearest nearest(const Placed &first, const Placed &second);

} // namespace dalembert::geometry
