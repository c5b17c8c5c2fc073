// Motion with closed contacts: forces of given modes, accelerations with them, and the state put back onto them.
//
// Rows e = (t1, t2, n) of a closed point, n from the first shape A to the second B, u = v_B(x_B) - v_A(x_A) the velocity
// of material points, x' the rate of the closest point:
//
//     gap' = n.u      w = d(e.u)/dt = e.(a_B - a_A) + e.(om_B x (x_B' - v_B) - om_A x (x_A' - v_A)) + e'.u         (1)
//
// The forces lam of a mode, with D = J P J' (contact/contact_blocks.hpp) and w0 of (1) without contact:
//
//     sticks:  w = 0        slides:  w_n = 0,  lam_t = -friction lam_n u_t / |u_t|,        w = w0 + D lam          (2)
//
// Where rows depend on each other, lam is the shortest solution; accelerations are the same for all of them, unless
// points slide in different directions. Beyond a reversal of the slip within a step, its direction is continued: with d
// the direction where the step begins, s = u_t.d and u_t - s d = p, friction is along (|s| d + p) / |u_t|. Below the
// velocity of rest it is along d: slip that begins keeps the direction that was determined for it.
#pragma once

#include "contact/contact_blocks.hpp"
#include "contact/contact_events.hpp"
#include "numerics/largest.hpp"

namespace dalembert::DALEMBERT_ISA {

// a point by the names of its features, at any poses
ClosedPoint closed_point(const ContactScene &scene, const ScenePoint &p);
// its normal, points on both surfaces and gap, their rates (`rates_of_point` numbers) and axes; after move_bodies
void place_point(const Workspace<double> &ws, const ContactSteps &c, const ClosedPoint &closed, ScenePoint &p,
                 double *rates, double *axes);
constexpr int rates_of_point = 27; // rates of axes (9), of both points (6), padding

// `e.points` of the closed points at q, v and their rates; frames stand in the world
void place_closed(const RunContext &i, ContactEvents &e, const double *q, const double *v);
// rows, J, Y and D of the closed points; after place_closed
void respond_to_closed(const RunContext &i, ContactEvents &e, double t, const double *q);
// Sum of the sizes of the terms of a slip velocity, of both bodies at a point, m/s: its rounding and its errors are of
// this scale. After move_bodies.
double slip_scale(const Workspace<double> &ws, const ContactSteps &c, const ScenePoint &p);
// u of all rows in e.u
void closed_velocities(ContactEvents &e, const double *v);
// w0 of (1) in e.b, for accelerations a; after place_closed, before respond_to_closed
void closed_accelerations(const RunContext &i, ContactEvents &e, const double *v, const double *a);

// (2) with D, b, u of e: lam, and w = b + D lam. False if there is no solution.
bool solve_modes(ContactEvents &e);

// Shortest y with (D y)_k = -r_k for the rows in e.columns, zero elsewhere: e.lam; e.rank
void solve_rows(ContactEvents &e, const double *r);

// adds the effect of contact to the accelerations a of the system without contact; e.lam, e.w, e.u are those of the state
bool add_contact_accelerations(const RunContext &i, ContactEvents &e, double t, const double *q, const double *v,
                               double *a);

// Gaps of closed points become zero, as do velocities of the rows that are held.
void project_onto_contacts(const RunContext &i, ContactEvents &e, double t, double *q, double *v);

// e.joint_efforts and e.joint_loads from e.lam, after add_contact_accelerations
void set_joint_efforts(const RunContext &i, ContactEvents &e);

} // namespace dalembert::DALEMBERT_ISA
