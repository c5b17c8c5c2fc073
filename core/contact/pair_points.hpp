// Points at which two convex solids overlap, for compliant contact: features of either solid, and the bristle of
// friction that belongs to each point.
//
// A pair of solids has a fixed number of bristles, so that their deflections are states of the model. The bristle of a
// point follows from the names of its features alone. Points that touch at the same time have bristles of their own as
// far as there are enough: corners of a box on a plane four, opposite corners sharing one. Plain data, compiled once for
// all instruction sets.
#pragma once

#include <cstdint>

namespace dalembert {

constexpr int max_pair_points = 8; // geometry/contact_manifold.hpp

// Layout of geometry/feature_pairs.hpp, of any instruction set.
struct PairFeature {
  std::int32_t kind;
  double c[3], d[3], e[3], out[3], r, radius;
};

struct PairPoint {
  PairFeature first, second;
  std::int32_t slot; // bristle
  double start[2];   // angles near the points of rims, rad
  double gap;        // m, negative
};

// Data of a solid that bounds on distances take.
struct SolidBound {
  double center[3]; // of a ball that contains it, in its frame
  double reach;     // radius of that ball, m
  double extent;    // farthest point from the origin of its frame, m
  bool is_half_space, is_sphere;
};

SolidBound bound_of_solid(const void *solid);

// Distance below which points of two solids share their stiffness (contact/shared_points.hpp), m.
double share_radius(const void *first, const void *second);


// Number of bristles of a pair of solids.
int bristle_count(const void *first, const void *second);

// Overlapping points of two solids; pose: axes (9) and origin (3) of the second in the frame of the first. Returns how
// many.
int find_pair_points(const void *first, const void *second, const double *pose, PairPoint *points);

// Signed distance of two solids, m.
double pair_distance(const void *first, const void *second, const double *pose);

} // namespace dalembert
