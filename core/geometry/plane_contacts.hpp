// Contact points of a convex solid and a half space, in closed form: corners, ends, centres, and of cylinders the lowest
// point of each rim and fixed points of it.
#pragma once

#include "geometry/contact_candidates.hpp"

namespace dalembert::DALEMBERT_ISA {

// the first solid on the half space of the second; returns the signed distance
double add_plane_contacts(ContactCandidates &found);

} // namespace dalembert::DALEMBERT_ISA
