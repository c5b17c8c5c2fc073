// Rows that users wrote, as programs of the pose of B in A and of time (Sol 1983, (3.3.4)-(3.3.10)):
//
//     holonomic       phi(p, R, t)                             g, drift: coefficients of phi' = g_w . omega + g_v . v +
//                     drift
//     nonholonomic    g_w . omega + g_v . v + drift = 0        its own coefficients, functions of p, R and t
//     bias            what is left of the second rate while omega and v keep their components in A
//
// One program takes p, R row by row and t; it gives residuals, then g_w and g_v of every row, then drifts. The next
// takes omega and v besides, and gives the biases. Both follow from what the user wrote by differentiation.
#pragma once

#include "constraints/rows.hpp"
#include "elements/program.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> inline void rows_custom(const ModelData &model, Workspace<T> &ws,
                                           const LoopConstraintData &constraint, const RelativeMotion<T> &m,
                                           LoopConstraintRows<T> &rows) {
  const Mat3<T> &R = m.R;
  const T in[19] = {m.p.x, m.p.y, m.p.z, R.xx,  R.xy,  R.xz,  R.yx,  R.yy,  R.yz, R.zx,
                    R.zy,  R.zz,  ws.t,  m.w.x, m.w.y, m.w.z, m.v.x, m.v.y, m.v.z};
  T out[6 * 8], bias[6];
  const ProgramTable &joints = model.joints;
  run_program(model, joints, joints.programs[constraint.program], in, ws.joint_values, out);
  if (rows.moving)
    run_program(model, joints, joints.programs[constraint.program + 1], in, ws.joint_values, bias);
  const T *g = out + constraint.rows, *drift = g + 6 * constraint.rows;
  for (int j = 0; j < constraint.rows; ++j, g += 6)
    rows.add(out[j], Vec3<T>{g[0], g[1], g[2]}, Vec3<T>{g[3], g[4], g[5]}, rows.moving ? bias[j] : T(0.0), drift[j]);
}

} // namespace dalembert::DALEMBERT_ISA
