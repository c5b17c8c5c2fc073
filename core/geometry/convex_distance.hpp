// Closest points of two convex cores by the method of Gilbert, Johnson and Keerthi (1988).
//
// The difference of two cores is searched for its point v nearest to the origin: its support w in the direction -v joins
// a simplex whose point nearest to the origin is the next v, until
//
//     |v|^2 - v . w  <=  e |v|^2                                                                                    (1)
//
// bounds what is missing. The nearest point of a simplex is found among all its faces, so that none has to be trusted.
#pragma once

#include "geometry/convex_solid.hpp"

namespace dalembert::DALEMBERT_ISA {

struct ClosestPoints {
  Point first, second; // of the cores; anywhere within both where they overlap
  double distance;     // of the cores; zero where they overlap
  int count;           // points of the simplex, with the points of hulls that they are made of
  int of_first[4], of_second[4];
};

// Closest points of two solids without their radii, at their frames; neither is a half space. factor: by which both are
// scaled about their centres.
ClosestPoints closest_points(const ConvexSolid &first, const Frame &X, const ConvexSolid &second, const Frame &Y,
                             double factor = 1.0);

} // namespace dalembert::DALEMBERT_ISA
