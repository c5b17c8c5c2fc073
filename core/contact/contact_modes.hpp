// Changes of the modes of contacts: impacts (contact/contact_impacts.hpp), then which points are closed, stick or slide.
//
// All points with a gap below a tolerance count. Accelerations, of the points that do not part after impacts:
//
//     w = w0 + D lam,     at rest: lam in K, w + (0, 0, friction |w_t|) in its dual, orthogonal to lam             (1)
//     sliding: lam_t = -friction lam_n u_t / |u_t|,     0 <= lam_n,  0 <= w_n,  one of them zero                   (2)
//
// with Coulomb's cone K of numerics/cone_problem.hpp. Points that stuck, or come to rest, have static friction until (1)
// lets them slide. Where (1) and (2) have no solution, as a rod may that is pushed over a rough floor (Painleve), an
// impulse within the cones stops the sliding points.
#pragma once

#include "contact/contact_motion.hpp"

namespace dalembert::DALEMBERT_ISA {

// At the state of the run: its velocities and the modes after the change, added to the log. `e.closed` are the points
// before it. False if there are none: e.failure. law branches are those of the conditions.
Outcome change_contacts(const RunContext &i, ContactEvents &e);

// Whether (1) holds for the points that stick, with forces that need not be the shortest; at e.D, e.b, e.u. e.lam are
// these forces.
bool can_stick(const RunContext &i, ContactEvents &e);

// Forces of redundant points that leave their cones, though others hold them as well, give way to forces that do not.
void put_forces_into_cones(const RunContext &i, ContactEvents &e);

} // namespace dalembert::DALEMBERT_ISA
