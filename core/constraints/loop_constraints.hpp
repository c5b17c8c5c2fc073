// Loop constraints, as rows between frames A and B on bodies of the trees.
//
// A row is a load [R_WA g_w; R_WA g_v] at the origin of B (constraints/rows.hpp): it acts on B's body, and its
// opposite, at the same point, on A's. So a row of the Jacobian P is the load times the motions of the degrees of
// freedom between the two ends:
//
//     P_k = +- load . S_k        + on the way to B, - on the way to A, nothing inward of where the ways meet       (1)
//
// A mode of a flexible body moves the node through which the way leads; where two ways part on one flexible body, its
// modes have S of the one node less S of the other.
#pragma once

#include "joints/joint.hpp"

namespace dalembert::DALEMBERT_ISA {

// B of a loop constraint seen from A, in axes of A; frames and their velocities stand in the world
template <class T> struct LoopConstraintPose {
  Pose<T> A, B;     // in the world
  Vec3<T> w_A, v_A; // velocity of A, world axes
  RelativeMotion<T> relative;
};
// numbers: poses of A and B in F
template <class T, class C> inline LoopConstraintPose<T>
loop_constraint_pose_by(const Workspace<T> &ws, const LoopConstraintData &constraint, const C &numbers) {
  LoopConstraintPose<T> m;
  const Pose<T> &X_a = ws.X_W[constraint.body_a], &X_b = ws.X_W[constraint.body_b];
  const auto &p_a = as_vec(numbers.p_FA), &p_b = as_vec(numbers.p_FB);
  m.A = compose(X_a, Pose{as_mat(numbers.R_FA), p_a});
  m.B = compose(X_b, Pose{as_mat(numbers.R_FB), p_b});
  m.w_A = mul(X_a.R, ws.w[constraint.body_a]);
  m.v_A = mul(X_a.R, ws.u[constraint.body_a] + cross(ws.w[constraint.body_a], p_a));
  const Vec3<T> w_B = mul(X_b.R, ws.w[constraint.body_b]),
                v_B = mul(X_b.R, ws.u[constraint.body_b] + cross(ws.w[constraint.body_b], p_b));
  const Vec3<T> r = m.B.p - m.A.p;
  m.relative = {mul_ta(m.A.R, m.B.R), mul_t(m.A.R, r), mul_t(m.A.R, w_B - m.w_A),
                mul_t(m.A.R, v_B - m.v_A - cross(m.w_A, r))};
  return m;
}

template <class T> inline LoopConstraintPose<T> loop_constraint_pose(const ModelData &model, const Workspace<T> &ws,
                                                                     const LoopConstraintData &constraint) {
  return table_entry<T>(model, constraint,
                        [&](const auto &numbers) { return loop_constraint_pose_by(ws, constraint, numbers); });
}

// the rate of [w; v] of B seen from A, in axes of A; accelerations of the frames stand in the workspace
template <class T> inline Motion<T> loop_constraint_acceleration(const ModelData &model, const Workspace<T> &ws,
                                                                 const LoopConstraintData &constraint,
                                                                 const LoopConstraintPose<T> &m) {
  const auto acceleration = [&](int body, const auto *p_FM) {
    const auto &p = as_vec(p_FM);
    const Mat3<T> &R = ws.X_W[body].R;
    const Motion<T> &A = ws.A[body];
    const Vec3<T> &w = ws.w[body];
    return Motion<T>{mul(R, A.w), mul(R, A.v + cross(A.w, p) + cross(w, cross(w, p)))};
  };
  const Motion<T> A = table_entry<T>(
      model, constraint, [&](const auto &numbers) { return acceleration(constraint.body_a, numbers.p_FA); });
  const Motion<T> B = table_entry<T>(
      model, constraint, [&](const auto &numbers) { return acceleration(constraint.body_b, numbers.p_FB); });
  const Vec3<T> r = m.B.p - m.A.p, w = mul(m.A.R, m.relative.w), u = mul(m.A.R, m.relative.v);
  return {mul_t(m.A.R, B.w - A.w - cross(m.w_A, w)),
          mul_t(m.A.R, B.v - A.v - cross(A.w, r) - cross(m.w_A, cross(m.w_A, r)) - scale(2.0, cross(m.w_A, u)))};
}

// the rows of a loop constraint between frames, in the order of LoopConstraintData; none of a coupling
template <class T> void loop_constraint_rows(const ModelData &m, Workspace<T> &ws, const LoopConstraintData &constraint,
                                             const RelativeMotion<T> &relative, LoopConstraintRows<T> &rows);

// the motion of a cut joint
template <class T> void loop_joint_motion(const ModelData &m, Workspace<T> &ws, const LoopConstraintData &constraint,
                                          const RelativeMotion<T> &relative, JointMotion<T> &joint_motion);

// velocity k of a cut joint
template <class T>
DALEMBERT_INLINE T face_speed(const JointMotion<T> &joint_motion, const RelativeMotion<T> &m, int k) {
  return dot(joint_motion.D[k].w, m.w) + dot(joint_motion.D[k].v, m.v);
}

// Coordinates of all cut joints, their velocities and accelerations (ModelData::cut_nq, cut_nv, cut_nv; null where they
// are not wanted); frames stand in the world, with velocities and accelerations as far as is wanted.
void cut_joints(const ModelData &m, Workspace<double> &ws, double *q, double *v, double *a);
void cut_joints(const ModelData &m, Workspace<Pack> &ws, Pack *q, Pack *v, Pack *a);

// The coordinate that goes with velocity k of a cut joint and, unless null, its row (nv) on the velocities of the
// trees, after evaluate_loop_constraints.
template <class T> void cut_coordinate(const ModelData &m, Workspace<T> &ws, const LoopConstraintData &constraint,
                                       int k, T &coordinate, T *row);

// Outputs of evaluate_loop_constraints; null where not wanted.
template <class T> struct LoopConstraintOutputs {
  T *residual = nullptr; // nc
  T *bias = nullptr;     // nc; needs v
  T *values = nullptr;   // Jacobian blocks: of each loop constraint, row by row over its support
  T *leverage = nullptr; // nc; with values: largest Jacobian entry as a part of what its lever arms could give
  T *drift = nullptr;    // nc: rates of the rows while nothing moves, because they depend on time
  // 1; with values: how far the joints among the loop constraints are open, as a part of their loops
  T *opening = nullptr;
  // of each loop constraint, on entry; rows of others are zero and demand nothing
  const unsigned char *active = nullptr;
  const unsigned char *held = nullptr; // of each velocity of cut joints, on entry: a row holds it
};

// Rows of all loop constraints; v may be null unless the bias is wanted. Places and moves all frames, in the world too;
// their accelerations are those that are left while no joint accelerates, without weight.
template <class T> void evaluate_loop_constraints(const ModelData &m, Workspace<T> &ws, const T *q, const T *v,
                                                  const LoopConstraintOutputs<T> &out);

} // namespace dalembert::DALEMBERT_ISA
