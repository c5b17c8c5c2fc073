// Joints in series without mass, between two frames: rows on the pose of the last seen from the first (Sol 1983,
// section 7.2, with inner coordinates gamma instead of states of their own).
//
// With C(gamma), c(gamma) the pose that the joints give and Y its motion map (6 x inner, rank r), both scaled by a
// length so that turns count as displacements, gamma is such that the error e from that pose to the pose of B has no
// part that the joints could take away:
//
//     Y^T e = 0     e = [2 sgn(q0) vec q of R C^T; p - c]                                                        (1)
//
// Then, with N an orthonormal basis of the 6 - r directions across Y, and V, A the velocity and acceleration of B,
//
//     phi = N^T e          N^T V = 0          N^T A - N^T Y' gamma' = 0          Y gamma' = V                     (2)
//
// exact where the chain is closed. Inner coordinates that are redundant (the spin of a bar between two balls, the
// length of a quaternion) get no rate: N^T Y' gamma' does not depend on them. Branches of (1) that give the same pose
// have the same N wherever the poses that the chain can take have one tangent space; so gamma is searched anew in every
// evaluation, from stored sets, the first that comes close. For dual numbers gamma follows from (1) by one step of
// Newton's.
//
// Beyond the reach of the chain, where Y loses rank, (1) leaves a part of e that no row has. It is put into the last
// row,
//
//     phi_last^2 + |e|^2 - |N^T e|^2                                                                            (3)
//
// so that the chain counts as open there; the row's own direction stays, and does not lead back. Accelerations are not
// numbers there, so that no step leads across.
//
// A custom joint that closes a loop is such a chain of one link; its coordinates are gamma, and with Y = Q U its face
// (joints/joint.hpp) is D = Q U^-T.
#pragma once

#include "joints/joint.hpp"

namespace dalembert::DALEMBERT_ISA {

constexpr int max_inner = 24;

template <class T> void rows_chain(const ModelData &model, Workspace<T> &ws, const LoopConstraintData &constraint,
                                   const RelativeMotion<T> &m, LoopConstraintRows<T> &rows);

// the face of a custom joint that closes a loop
template <class T> void face_of_custom(const ModelData &model, Workspace<T> &ws, const LoopConstraintData &constraint,
                                       const RelativeMotion<T> &m, JointMotion<T> &joint_motion);

} // namespace dalembert::DALEMBERT_ISA
