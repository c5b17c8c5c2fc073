// Contacts that persist from one step to the next: their rows where a step begins.
//
// Contact velocities u = J v of a free body that rolls change with its motion alone: by the drift d = u - u0 from the begin of a
// step, where they are u0 = J(q) v, to its middle, and by as much again to its end. A contact that was closed in the last
// step is held at the end,
//
//     u1 + d = 0     in place of     u1 = 0,                                                                       (1)
//
// (a point that slides along the normal alone), so that the mean (u + u1) / 2, with which its impulse does work, vanishes to second order: held in the middle, every step
// would take the velocity of half a step's drift away, which is an impact without end. Its gap counts at the begin, and is
//
//     gap(end) = gap(middle) + h (u1 + d / 2) / 2                                                                  (2)
#pragma once

#include "contact/contact_steps.hpp"

namespace dalembert::DALEMBERT_ISA {

// Sets `follows` of the rows, gap and velocity at the begin, of points of free bodies that move, in small islands: those of
// the last step, and others that may close in a time h (new features of bodies that roll). poses, motions: 12 and 6 numbers for each body of the model at the begin. marked: of the rows that follow already.
void follow_contacts(ContactSteps &c, const std::vector<ScenePoint> &points, const double *poses, const double *motions,
                     double h, double impact_speed, bool marked = false);

// whether contacts of the last step may follow
bool may_follow(const ContactSteps &c);

// Sets the drift of a row that follows, from its velocities u in the middle before the step. It does not follow where (2)
// without impulses misses the gap in the middle (another feature has come), nor a new one that approaches there faster than
// `impact_speed`.
void set_drift(ContactRow &row, const double u[3], double h, double closed, double impact_speed);

// Gap of a row at the end of a step by (2); u: its normal velocity with the impulses.
double end_gap(const ContactRow &row, double h, double u);

} // namespace dalembert::DALEMBERT_ISA
