// Signed distance of two convex solids, and the features that are nearest to each other.
//
// For every unit normal n, with h the farthest extent of a core in a direction,
//
//     sigma(n) = -h_B(-n) - h_A(n)     is at most the signed distance, and equal to it for the best n              (1)
//
// Cores that are apart have the normal of their closest points (geometry/convex_distance.hpp). For cores that touch or
// overlap, where these are not defined, n is the best among the normals of all pairs of features: faces, pairs of edges
// (the separating axes of polytopes, exact), and for cylinders also sides and rims.
#pragma once

#include "geometry/convex_distance.hpp"
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

struct Separation {
  std::int32_t first, second; // numbers of features
  Point normal;               // unit, from the first to the second, in the world
  double gap;                 // signed distance of the solids
  double start[2];            // angles near the points of rims, rad
  Point on_first, on_second;
};

// whether all numbers of a frame are finite
inline bool is_finite(const Frame &F) {
  const Mat3<double> &R = F.R;
  return std::isfinite(F.p.x + F.p.y + F.p.z + R.xx + R.xy + R.xz + R.yx + R.yy + R.yz + R.zx + R.zy + R.zz);
}

// Neither is a half space. Of frames that are not finite: a gap that is not a number.
Separation separation(const ConvexSolid &first, const Frame &X, const ConvexSolid &second, const Frame &Y);

} // namespace dalembert::DALEMBERT_ISA
