// Contact points of a convex solid and a height field.
//
// The surface of the field consists of triangles, ridges (edges at which it is convex) and peaks (nodes at which it is).
// A contact is a pair of features: a point of the solid over a triangle, an edge of the solid or its core across a
// ridge, a face of the solid on a peak. With m_f the upward normals of the triangles at the feature of the field, its
// normal m, upward, satisfies
//
//     triangle:  m = m_f          ridge, peak:  m . e >= 0 for every edge e of the feature's cone of normals           (1)
//
// that is, m lies between the m_f. Edges between triangles of one plane, and valleys, have no cone: they do not touch, so
// that nothing catches on them. Where the core is apart from a ridge or a peak, their closest points are the contact.
// Where it is not, the normals of all pairs of features are tried that satisfy (1): the direction in which a ridge would
// leave the solid soonest may point into the ground.
#pragma once

#include "geometry/contact_candidates.hpp"

namespace dalembert::DALEMBERT_ISA {

// first: any solid except a half space; second: a height field. Returns the signed distance, or at least the margin.
double add_height_field_contacts(ContactCandidates &found);

} // namespace dalembert::DALEMBERT_ISA
