// Contact points of two boxes by their 15 separating axes (Gottschalk, Lin, Manocha 1996) and clipped faces.
//
// In the frame of the first, with half lengths a and b, R and t the pose of the second, e_i and R_j the axes:
//
//     s_i   = |t_i| - a_i - sum_j b_j |R_ij|,       s_j = |t . R_j| - b_j - sum_i a_i |R_ij|                           (1)
//     s_ij  = (|t . (e_i x R_j)| - a_u |R_vj| - a_v |R_uj| - b_p |R_iq| - b_q |R_ip|) / sqrt(1 - R_ij^2)               (2)
//
// with (i, u, v) and (j, p, q) cyclic. The largest is the signed distance of boxes that overlap, and of others unless
// a corner is nearest to a corner or an edge. Corners of either face over the other, and crossings of their edges, are
// the contact points.
#pragma once

#include "geometry/contact_candidates.hpp"

namespace dalembert::DALEMBERT_ISA {

constexpr double axis_hysteresis = 1e-4; // of the smaller reach: a kept axis may separate less by so much

struct BoxContacts {
  double gap;             // signed distance, or a lower bound of at least the margin
  std::int32_t reference; // axis: 0 to 2 and 3 to 5 faces, 6 + 3 i + j edges
  bool exact;             // false: boxes are apart, and the nearest features are none of those that were found
};

BoxContacts add_box_contacts(ContactCandidates &found, std::int32_t reference);

} // namespace dalembert::DALEMBERT_ISA
