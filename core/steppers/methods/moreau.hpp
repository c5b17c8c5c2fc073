// Rigid contact by steps of given length: velocities jump, many contacts at once (Moreau 1988; Jean 1999).
//
//     qm = q (+) h v / 2,     M(qm) (v1 - v) = h f(t + h/2, qm, v) + J' Lam,     loops hold                        (1)
//     q1 = qm (+) h v1 / 2                                                                                         (2)
//     Lam in K,  u1 + s(u1) + c in its dual,  both orthogonal,     u1 = J v1     (numerics/cone_problem.hpp)       (3)
//     c_n = e min(u_n, 0) for closed contacts (gap <= 0 at qm),     c_n = gap / h for open ones                    (4)
//
// f without contacts comes from the equations of motion of the system with elements, drives and loops; P, the response of
// velocities to impulses while drives and loops hold, from the articulated-body and loop factors at qm. Bodies that are
// connected by joints are a block of velocities, blocks that touch an island; islands are solved one by one.
// (4) lets an open contact close by half of its gap in a step, and by the rest in the midpoint of the next: no overlap
// by fast bodies. Impacts with restitution lie within a step; it is divided at the impact, where
//
//     u1 = u + D Lam,     c_n = e u_n                                                                              (5)
//
// Overlaps that are left are removed by the smallest displacement in the mass metric: P J' y, 0 <= y, no overlap.   (6)
//
// Elements along single coordinates of trees, with damping c and stiffness k, act with their forces at the mean of the step:
// M + G in place of M, G = max(h c / 2, h c - inertia) + h^2 k / 4 on the diagonal (tree/joint_pivots.hpp), which keeps the
// cost of the recursion.
//
// First order; exact for constant forces without impacts. Stops of joints are contacts without friction.
#pragma once

#include "contact/contact_steps.hpp"
#include "steppers/stepper.hpp"

namespace dalembert::DALEMBERT_ISA {

extern const Stepper moreau_stepper;

// A step of a run in a lane (steppers/simd_contact_steps.hpp), whose motion without contacts is known: frames of bodies
// with shapes, c.motions, c.before, c.free and qm stand in its workspaces.
struct LaneContacts {
  const std::vector<ScenePoint> *points;
  bool own_step = false; // it has to be taken by the run itself: impacts lie within it, or shapes may pass through others
};
// Finds the points, and the rows in `c.rows`.
LaneContacts find_lane_contacts(const RunContext &i, double h);
double closed_lane_gap(const RunContext &i); // m: smaller gaps are closed
// Impulses of the rows, after J and Y: `c.free` with them.
void solve_lane_contacts(const RunContext &i, const LaneContacts &found, double t, double h);
// Whether shapes overlap at the end of the step; then, after J and Y, whether a displacement c.displacement removes it.
bool lane_overlaps(const RunContext &i, double h);
bool find_lane_separation(const RunContext &i, double h);
// (6) for the state at the end of the step
void move_lane_apart(const RunContext &i, double h, double *q1, double *v1);

} // namespace dalembert::DALEMBERT_ISA
