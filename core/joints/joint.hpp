// The contract of a joint: one file, one struct, which serves in trees and, as a cut joint, in loops.
//
//     name, nq, nv        as the class of Python is called; numbers of coordinates and velocities
//     form                how the recursions use its motion map H (see JointForm)
//     series              how H depends on the coordinates (tree/derivatives.hpp)
//     position(b, q)      pose X of F in the parent, and the columns of H, in axes of F
//     bias(v, r, H)       what remains of the rate of H v, seen from J, when v' = 0
//     rows(parameter, m)  where it closes a loop: the equations between frames A and B (constraints/rows.hpp)
//     joint_motion(parameter, m)  where it closes a loop: its coordinates, and velocities and efforts by the motion of
//                                 B
//
// A joint must not depend on other joints, on names, on loads or on time. Walked from its second end it is the same
// joint in frames that the compiler of the model has turned, or, where that does not do, a second struct with
// `reversed`.
//
// Motion of a cut joint: with D_k the load that does the work of velocity k alone, D_k . S_j = 1 if j = k and else 0
// for the motion map S,
//
//     v_k = D_k . V          a_k = D_k . (A - bias)          load of efforts tau: sum of tau_k D_k                  (1)
//
// V = [w; v] of B seen from A and its rate A, in axes of A, at the origin of B.
#pragma once

#include "constraints/rows.hpp"
#include "tree/workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// a joint that closes a loop, seen by its coordinates
template <class T> struct JointMotion {
  T q[7];
  Motion<T> D[6];
  Motion<T> bias;

  DALEMBERT_INLINE void still() { bias = {zero3<T>(), zero3<T>()}; }
};

template <class T> DALEMBERT_INLINE Motion<T> turning(const Vec3<T> &axis) { return {axis, zero3<T>()}; }
template <class T> DALEMBERT_INLINE Motion<T> sliding(const Vec3<T> &axis) { return {zero3<T>(), axis}; }

// column k of R
template <class T> DALEMBERT_INLINE Vec3<T> axis_of(const Mat3<T> &R, int k) {
  return k == 0 ? Vec3<T>{R.xx, R.yx, R.zx} : k == 1 ? Vec3<T>{R.xy, R.yy, R.zy} : Vec3<T>{R.xz, R.yz, R.zz};
}

// the turn of B against A about z, within half a turn
template <class T> DALEMBERT_INLINE T turn_about_z(const Mat3<T> &R) { return arctan2(R.yx - R.xy, R.xx + R.yy); }

} // namespace dalembert::DALEMBERT_ISA
