// Contact points of two convex solids: pairs of features that are closer than a margin.
//
// The pair of nearest features comes first. Where a face, a cap or a side lies along a face of the other solid, the
// points of either within the other, and crossings of their edges, are further pairs. Every pair has its own gap and
// normal (geometry/feature_pairs.hpp): each is one condition of no overlap that holds as long as its features are
// nearest to each other. On duals, or lanes, a point is evaluated by feature_contact<T> of its two features.
//
// Pairs of spheres, capsules, boxes, cylinders and half spaces have kernels in closed form (geometry/round_contacts.hpp,
// geometry/box_contacts.hpp, geometry/plane_contacts.hpp). Nothing is allocated.
#pragma once

#include "geometry/separation.hpp"

namespace dalembert::DALEMBERT_ISA {

constexpr int max_contact_points = 8;
constexpr std::int32_t no_reference = -1;

struct ContactPoint {
  std::int32_t first, second; // numbers of features
  Point normal;               // unit, from the first to the second
  Point on_first, on_second;
  double gap;
  double start[2]; // angles near the points of rims, rad
};

struct Manifold {
  double gap = 0.0; // signed distance below the margin; else a lower bound of it, at least the margin
  std::int32_t reference = no_reference; // separating axis of two boxes
  int count = 0;
  ContactPoint points[max_contact_points]; // the deepest first
};

// Contact points closer than a margin, m. reference: of the last manifold of the pair; two boxes keep that axis while it
// separates them almost as well as the best, so that features do not alternate. Of more points than `most`: the deepest,
// the one farthest from it, the one that makes the largest triangle, the one that adds most to it, then those farthest
// from all others. Frames that are not finite: none, and a gap that is not a number.
Manifold find_contacts(const ConvexSolid &first, const Frame &X, const ConvexSolid &second, const Frame &Y,
                       double margin, std::int32_t reference = no_reference, int most = max_contact_points);

// the same with the solids exchanged
ContactPoint exchanged(const ContactPoint &c);

} // namespace dalembert::DALEMBERT_ISA
