// Changes of the modes of contacts: impacts, then which points are closed, stick or slide.
//
// All points with a gap below a tolerance count. If one of them approaches, impulses Lam act in all of them (Newton's
// restitution e, Coulomb's cone K of numerics/cone_problem.hpp):
//
//     u+ = u + D Lam,     Lam in K,     u+ + (0, 0, e u_n + friction |u_t+|) in its dual, orthogonal to Lam        (1)
//
// In turn, (1) holds for the points of one pair of shapes, or for a stop, the fastest first, until none approaches.
// Poisson's restitution has two phases: compression is (1) with e = 0 and impulses C, then
//
//     u+ = u + D C + D R,     R_n >= e C_n,  0 <= u+_n,  one of them equal,     |R_t| <= friction R_n, against u+_t   (4)
//
// A rebound that would rise by less than a tolerance is none. If (1) would increase the energy, all e are lowered by one
// factor, the largest that does not (Kane and Levinson 1985). Then accelerations, of the points that do not part:
//
//     w = w0 + D lam,     at rest: lam in K, w + (0, 0, friction |w_t|) in its dual, orthogonal to lam             (2)
//     sliding: lam_t = -friction lam_n u_t / |u_t|,     0 <= lam_n,  0 <= w_n,  one of them zero                   (3)
//
// Points that stuck, or come to rest, have static friction until (2) lets them slide. Where (2) and (3) have no solution,
// as a rod may that is pushed over a rough floor (Painleve), an impulse within the cones stops the sliding points.
#pragma once

#include "contact/contact_motion.hpp"

namespace dalembert::DALEMBERT_ISA {

// At the state of the run: its velocities and the modes after the change, added to the log. `e.closed` are the points
// before it. False if there are none: e.failure. law branches are those of the conditions.
Outcome change_contacts(const RunContext &i, ContactEvents &e);

// Whether (2) holds for the points that stick, with forces that need not be the shortest; at e.D, e.b, e.u. e.lam are
// these forces.
bool can_stick(const RunContext &i, ContactEvents &e);

// Forces of redundant points that leave their cones, though others hold them as well, give way to forces that do not.
void put_forces_into_cones(const RunContext &i, ContactEvents &e);

} // namespace dalembert::DALEMBERT_ISA
