// Contact points of spheres and capsules with each other, with boxes and with cylinders, in closed form.
//
// Two segments a0 + s d, b0 + t e (Ericson 2005, 5.1.9), s and t in [0, 1]. A segment and a box |x_k| <= a_k: half the
// derivative of the squared distance along the segment,
//
//     g(t) = sum_k d_k (x_k(t) - clamp(x_k(t), -a_k, a_k)),                                                            (1)
//
// is piecewise linear and does not fall; its root lies between two of the at most six places where it bends.
#pragma once

#include "geometry/contact_candidates.hpp"

namespace dalembert::DALEMBERT_ISA {

// first and second: spheres or capsules; each returns the signed distance
double add_segment_contacts(ContactCandidates &found);
// first: a sphere or a capsule; second: a box
double add_sphere_box_contact(ContactCandidates &found);
double add_capsule_box_contacts(ContactCandidates &found);
// first: a sphere; second: a cylinder
double add_sphere_cylinder_contact(ContactCandidates &found);

} // namespace dalembert::DALEMBERT_ISA
