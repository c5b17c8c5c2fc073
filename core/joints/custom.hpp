// Custom: pose C(q), c(q) of F in J as a program that users wrote, and what follows from it by differentiation (Sol
// 1983, (3.3.21)-(3.3.36)), in axes of F:
//
//     w_j = axial(C^T dC/dq_j)     v_j = C^T dc/dq_j                                            columns of H        (1)
//     bias = [sum of dw_j/dt v_j; C^T sum of d(dc/dq_j)/dt v_j]                                                     (2)
//
// One program gives c, C row by row and the columns of (1); the next takes q and v and gives (2). Walked from the other
// end, the joint has programs of its own, of the inverse pose.
#pragma once

#include "elements/program.hpp"
#include "tree/workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

constexpr int pose_outputs = 12;

template <class T> DALEMBERT_INLINE Vec3<T> vec_of(const T *x) { return {x[0], x[1], x[2]}; }
template <class T> DALEMBERT_INLINE Mat3<T> mat_of(const T *x) {
  return {x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]};
}

template <class T, class B> inline void custom_position(const ModelData &m, Workspace<T> &ws, const BodyData &b,
                                                        const B &numbers, const T *q, Pose<T> &X, Motion<T> *H) {
  T out[pose_outputs + 36];
  run_program(m, m.joints, m.joints.programs[b.program], q, ws.joint_values, out);
  const Mat3<T> R = lift<T>(as_mat(numbers.R_PJ));
  X = {mul(R, mat_of(out + 3)), lift<T>(as_vec(numbers.p_PJ)) + mul(R, vec_of(out))};
  for (int k = 0; k < b.nv; ++k) {
    H[k] = {vec_of(out + pose_outputs + 6 * k), vec_of(out + pose_outputs + 6 * k + 3)};
    ws.joint_q[b.v + k] = q[k];
  }
}

template <class T> inline Motion<T> custom_bias(const ModelData &m, Workspace<T> &ws, const BodyData &b, const T *v) {
  T in[12], out[6];
  for (int k = 0; k < b.nv; ++k) {
    in[k] = ws.joint_q[b.v + k];
    in[b.nv + k] = v[k];
  }
  run_program(m, m.joints, m.joints.programs[b.program + 1], in, ws.joint_values, out);
  return {vec_of(out), vec_of(out + 3)};
}

} // namespace dalembert::DALEMBERT_ISA
