// Impulses of all contacts at one configuration: (3) to (6) of steppers/methods/moreau.hpp, island by island.
#pragma once

#include "contact/contact_blocks.hpp"

namespace dalembert::DALEMBERT_ISA {

// how the conditions of (4) and (5) are set
struct ContactTiming {
  double h;            // length of the step, s; 0: an impact
  double impact_speed; // slower approaches are plastic, m/s
  double closed;       // gaps below this are closed, m
};

// Rows of the points and stops that count, sorted by islands; `skip`: points that are left out (marks), or empty.
// with_joints: dry friction of joints acts, too.
void set_rows(const ModelData &m, ContactSteps &c, const std::vector<ScenePoint> &points, const double *q,
              double stop_margin, const std::vector<unsigned char> &skip, bool with_joints);

// Impulses `c.lam` (3 for each row) for velocities `c.free` without contact and `c.before` before it; `c.free` becomes
// the velocity with the impulses. After respond_to_contacts.
void solve_impulses(ContactSteps &c, const ContactTiming &timing, double t);

// Displacement (nv) that removes overlaps, of rows that are at `gap` (3 for each row, the third counts); false if all
// are closed up to the tolerances. The displacement is in `c.displacement`.
bool remove_overlaps(const ModelData &m, ContactSteps &c, const std::vector<double> &gaps, const ContactTiming &timing);

// Whether a point carried a load in the last part of a step, or in the step before; whether a shape did at other pairs.
bool was_pressed(const ContactSteps &c, const ScenePoint &p);

// Adds the points that carried an impulse of an impact to those that were pressed, until the next part of the step.
void remember_impacts(ContactSteps &c, const std::vector<ScenePoint> &points);
bool touches_others(const ContactSteps &c, const ScenePoint &p, std::int32_t shape);

// keeps the impulses of a time h for the next step
void keep_impulses(ContactSteps &c, const std::vector<ScenePoint> &points, double h);

// Log of the impulses of a time h as forces over a whole step, which may have several parts; begin_log comes first.
// impact_speed: faster approaches are impacts.
void begin_log(const ModelData &m, ContactSteps &c, double t);

// Memory and log as they were before the last step, of a run with events.
void undo_step(const ModelData &m, ContactSteps &c);
void log_impulses(const RunContext &i, ContactSteps &c, const std::vector<ScenePoint> &points, double h,
                  double whole_step, double t, double impact_speed);

} // namespace dalembert::DALEMBERT_ISA
