// Motion of the coordinates of joints that rows of rigid contact act on (stops, dry friction), and their rows.
//
// A coordinate is one of the trees, or one of a cut joint or the length of a rope: these have the indices from nq on, and
// velocities from nv on. Coordinates of cut joints are those of the last call of `move_bodies`.
#pragma once

#include "contact/contact_steps.hpp"
#include "steppers/run_workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// whether there are rows of cut joints; once for a run
bool acts_on_cut_joints(const ModelData &m, const ContactSteps &c);

// whether a drive or a lock prescribes a velocity
bool is_prescribed(const RunContext &i, int dof);

inline double joint_position(const ModelData &m, const ContactSteps &c, int coordinate, const double *q) {
  return coordinate < m.nq ? q[coordinate] : c.cut_q[std::size_t(coordinate - m.nq)];
}
inline double joint_velocity(const ModelData &m, const ContactSteps &c, int dof, const double *v) {
  return dof < m.nv ? v[dof] : c.cut_v[std::size_t(dof - m.nv)];
}

// Accelerations of cut joints, with those of the frames in the workspace, and of any joint.
void accelerate_cut_joints(const ModelData &m, Workspace<double> &ws, ContactSteps &c);
inline double joint_acceleration(const ModelData &m, const ContactSteps &c, int dof, const double *a) {
  return dof < m.nv ? a[dof] : c.cut_a[std::size_t(dof - m.nv)];
}

// gap of a stop, rad or m
inline double stop_gap(const ModelData &m, const ContactSteps &c, const JointStop &stop, const double *q) {
  return stop.sign * (joint_position(m, c, stop.coordinate, q) - stop.limit);
}
// velocity at which it opens, rad/s or m/s
inline double stop_velocity(const ModelData &m, const ContactSteps &c, const JointStop &stop, const double *v) {
  return stop.sign * joint_velocity(m, c, stop.dof, v);
}

// Rows of cut joints in J, after evaluate_loop_constraints; all velocities are one block then.
void fill_cut_rows(const ModelData &m, Workspace<double> &ws, ContactSteps &c);

// Adds an effort at a velocity to the efforts (nv + cut_nv); of a cut joint also to the loads on its bodies (users x 6).
void add_joint_effort(const ModelData &m, const Workspace<double> &ws, int dof, double effort, double *efforts,
                      double *loads);

// a force at a point, and a moment, on the load of a body at its origin; world axes
void add_load(const ModelData &m, const Workspace<double> &ws, int place, const Vec3<double> &point,
              const Vec3<double> &force, const Vec3<double> &moment, double *loads);

} // namespace dalembert::DALEMBERT_ISA
