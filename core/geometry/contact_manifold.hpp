// Contact points of two convex solids: pairs of features that are closer than a margin.
//
// The pair of nearest features comes first. Where a face, a cap or a side lies along a face of the other solid, the
// points of either within the other, and crossings of their edges, are further pairs. Every pair has its own gap and
// normal (geometry/feature_pairs.hpp): each is one condition of no overlap that holds as long as its features are
// nearest to each other.
#pragma once

#include "geometry/separation.hpp"

namespace dalembert::DALEMBERT_ISA {

constexpr int max_contact_points = 8;

struct ContactPoint {
  std::int32_t first, second; // numbers of features
  Point normal;               // unit, from the first to the second
  Point on_first, on_second;
  double gap;
  double start[2]; // angles near the points of rims, rad
};

struct Manifold {
  double gap = 0.0; // signed distance of the solids
  int count = 0;
  ContactPoint points[max_contact_points];
};

// Contact points closer than a margin, m; of more than eight those that are deepest and farthest from each other.
Manifold find_contacts(const ConvexSolid &first, const Frame &X, const ConvexSolid &second, const Frame &Y,
                       double margin);

} // namespace dalembert::DALEMBERT_ISA
