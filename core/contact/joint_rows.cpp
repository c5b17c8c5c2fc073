#include "contact/joint_rows.hpp"
#include "constraints/loop_constraints.hpp"
#include "tree/kinematics.hpp"

namespace dalembert::DALEMBERT_ISA {

namespace {

// the loop constraint that a velocity of a cut joint belongs to
const LoopConstraintData &constraint_of(const ModelData &m, int cut_dof) {
  int k = 0;
  while (cut_dof < m.loop_constraints[k].v || cut_dof >= m.loop_constraints[k].v + m.loop_constraints[k].nv)
    ++k;
  return m.loop_constraints[k];
}

} // namespace

bool acts_on_cut_joints(const ModelData &m, const ContactSteps &c) {
  for (const JointStop &stop : c.stops)
    if (stop.dof >= m.nv)
      return true;
  for (const JointFriction &friction : c.friction)
    if (friction.dof >= m.nv)
      return true;
  return false;
}

bool is_prescribed(const RunContext &i, int dof) {
  const Conditions &c = i.run.conditions;
  if (dof < i.m.nv)
    return c.velocity_prescribed && c.velocity_prescribed[dof];
  return c.cut_velocity_locked && c.cut_velocity_locked[dof - i.m.nv];
}

void accelerate_cut_joints(const ModelData &m, Workspace<double> &ws, ContactSteps &c) {
  if (c.has_cut_joints)
    cut_joints(m, ws, nullptr, nullptr, c.cut_a.data());
}

void fill_cut_rows(const ModelData &m, Workspace<double> &ws, ContactSteps &c) {
  for (std::size_t k = 0; k < c.rows.size(); ++k) {
    const ContactRow &row = c.rows[k];
    const bool stops = row.stop >= 0;
    if (!stops && row.friction < 0)
      continue;
    const std::int32_t dof = stops ? c.stops[std::size_t(row.stop)].dof : c.friction[std::size_t(row.friction)].dof;
    if (dof < m.nv)
      continue;
    const LoopConstraintData &constraint = constraint_of(m, dof - m.nv);
    double position, *J = c.J.data() + c.at[2 * k] + (stops ? 2 * m.nv : 0);
    cut_coordinate(m, ws, constraint, dof - m.nv - constraint.v, position, J);
    if (stops)
      for (int f = 0; f < m.nv; ++f)
        J[f] *= c.stops[std::size_t(row.stop)].sign;
  }
}

void add_joint_effort(const ModelData &m, const Workspace<double> &ws, int dof, double effort, double *efforts,
                      double *loads) {
  efforts[dof] += effort;
  if (dof < m.nv)
    return;
  const LoopConstraintData &constraint = constraint_of(m, dof - m.nv);
  const LoopConstraintPose<double> place = loop_constraint_pose(m, ws, constraint);
  JointMotion<double> motion;
  loop_joint_motion(m, const_cast<Workspace<double> &>(ws), constraint, place.relative, motion);
  const Motion<double> &D = motion.D[dof - m.nv - constraint.v];
  const Vec3<double> moment = scale(effort, mul(place.A.R, D.w)), force = scale(effort, mul(place.A.R, D.v));
  add_load(m, ws, constraint.body_b, place.B.p, force, moment, loads);
  add_load(m, ws, constraint.body_a, place.B.p, -force, -moment, loads);
}

void add_load(const ModelData &m, const Workspace<double> &ws, int place, const Vec3<double> &point,
              const Vec3<double> &force, const Vec3<double> &moment, double *loads) {
  const BodyData &b = m.bodies[place];
  if (!place || !b.user)
    return;
  const Vec3<double> all = moment + cross(point - point_in_world(ws, place, as_vec(b.p_FB)), force);
  double *load = loads + 6 * (b.user - 1);
  load[0] += all.x, load[1] += all.y, load[2] += all.z;
  load[3] += force.x, load[4] += force.y, load[5] += force.z;
}

} // namespace dalembert::DALEMBERT_ISA
