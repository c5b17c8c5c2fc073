// Rows between coordinates s of joints, each with its velocity s':
//
//     constant        sum of coefficient times s = offset                                                           (1)
//     by programs     phi(s, t), or coefficients of rates that bind velocities alone: g . s' + drift = 0            (2)
//
// One program takes s, t; it gives the residual, g, the drift (phi' = g . s' + drift). The next takes s' besides, and
// gives what is left of the second rate while the velocities do not change.
#pragma once

#include "elements/program.hpp"
#include "tree/workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

constexpr int max_coupled = 32; // coordinates in one coupling by programs

template <class T> struct CouplingRow {
  T residual, drift, bias;
  T out[max_coupled + 2];

  T coefficient(const ModelData &m, const LoopConstraintData &constraint, int s) const {
    return constraint.program < 0 ? T(factor_of<T>(m, constraint.support + s)) : out[1 + s];
  }
};

// v may be null: then there is no bias
template <class T> inline void coupling_row(const ModelData &m, Workspace<T> &ws, const LoopConstraintData &constraint,
                                            const T *q, const T *v, CouplingRow<T> &row) {
  const std::int32_t *dof = m.support + constraint.support;
  row.bias = row.drift = T(0.0);
  if (constraint.program < 0) {
    row.residual = T(-parameter_of<T>(m, constraint));
    for (int s = 0; s < constraint.supports; ++s)
      row.residual = row.residual + factor_of<T>(m, constraint.support + s) * q[m.coordinate[dof[s]]];
    return;
  }
  T in[2 * max_coupled + 1];
  for (int s = 0; s < constraint.supports; ++s) {
    in[s] = m.coordinate[dof[s]] < 0 ? T(0.0) : q[m.coordinate[dof[s]]]; // of an attitude only velocities are bound
    in[constraint.supports + 1 + s] = v ? v[dof[s]] : T(0.0);
  }
  in[constraint.supports] = ws.t;
  const ProgramTable &joints = m.joints;
  run_program(m, joints, joints.programs[constraint.program], in, ws.joint_values, row.out);
  row.residual = row.out[0], row.drift = row.out[1 + constraint.supports];
  if (v)
    run_program(m, joints, joints.programs[constraint.program + 1], in, ws.joint_values, &row.bias);
}

} // namespace dalembert::DALEMBERT_ISA
