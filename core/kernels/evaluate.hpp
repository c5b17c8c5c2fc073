// Shared parts of single states and SIMD batches of a kernel: templates on the scalar that evaluate it, and the entry points
// of one instruction set, behind kernels/kernels.hpp.
#pragma once

#include "constraints/loop_constraints.hpp"
#include "kernels/kernels.hpp"
#include "system/dynamics.hpp"
#include "tree/forward_dynamics.hpp"
#include "tree/inverse_dynamics.hpp"
#include "tree/manifold.hpp"
#include "tree/mass_matrix.hpp"
#include "tree/outputs.hpp"

namespace dalembert::DALEMBERT_ISA {

// the arrays of one state, or of the states of one register
template <class T> struct Arrays {
  const T *in[take_count];
  T *out[max_outputs];
  const T *operator[](ArgumentKind which) const { return in[int(which)]; }
};

// kernels of trees
template <class T> inline void evaluate(const ModelData &m, Workspace<T> &ws, const Call &call, const Arrays<T> &at) {
  const T *q = at[ArgumentKind::q], *v = at[ArgumentKind::v], *a = at[ArgumentKind::a];
  T *out = at.out[0];
  switch (call.kernel) {
  case Kernel::forward_dynamics:
    return forward_dynamics<T>(m, ws, q, v, at[ArgumentKind::tau], at[ArgumentKind::loads], nullptr, out, nullptr);
  case Kernel::inverse_dynamics:
    return inverse_dynamics<T>(m, ws, q, v, a, at[ArgumentKind::loads], out);
  case Kernel::bias_forces:
    return inverse_dynamics<T>(m, ws, q, v, nullptr, at[ArgumentKind::loads], out);
  case Kernel::mass_matrix:
    return mass_matrix<T>(m, ws, q, out);
  case Kernel::composite_diagonal:
    return composite_diagonal<T>(m, ws, q, out);
  case Kernel::solve_mass_matrix: {
    factorize<T>(m, ws, q);
    Side<T> side{ws.p_A, ws.y, ws.A};
    return solve<T, T>(m, ws, side, at[ArgumentKind::other], out, 1, m.nb);
  }
  case Kernel::poses:
    return poses<T>(m, ws, q, out);
  case Kernel::velocities:
    return velocities<T>(m, ws, q, v, out);
  case Kernel::accelerations:
    return accelerations<T>(m, ws, q, v, a, out);
  case Kernel::point_poses:
    return point_poses<T>(m, ws, call.points, q, out);
  case Kernel::point_velocities:
    return point_velocities<T>(m, ws, call.points, q, v, out);
  case Kernel::point_accelerations:
    return point_accelerations<T>(m, ws, call.points, q, v, a, out);
  case Kernel::point_jacobians:
    return point_jacobians<T>(m, ws, call.points, q, out);
  case Kernel::energy:
    return energy<T>(m, ws, q, v, out);
  case Kernel::center_of_mass:
    return center_of_mass<T>(m, ws, q, out);
  case Kernel::centroidal_matrix:
    return centroidal_matrix<T>(m, ws, q, out);
  case Kernel::integrate:
    return integrate<T>(m, q, v, out);
  case Kernel::difference:
    return difference<T>(m, q, at[ArgumentKind::other], out);
  case Kernel::coordinate_rates:
    return coordinate_rates<T>(m, q, v, out);
  default:
    return; // others need more memory
  }
}

enum class Family { tree, derivative, closure, system, report, system_derivative };

inline Family family_of(Kernel kernel) {
  if (kernel < Kernel::d_inverse_dynamics)
    return Family::tree;
  if (kernel < Kernel::constraint_residual)
    return Family::derivative;
  if (kernel < Kernel::motion)
    return Family::closure;
  if (kernel == Kernel::report)
    return Family::report;
  const bool derivative =
      kernel == Kernel::d_dynamics || kernel == Kernel::d_required_forces || kernel >= Kernel::d_dynamics_products;
  return derivative ? Family::system_derivative : Family::system;
}

// rows of closures, their rates and their Jacobian, of any scalar; values: blocks of the Jacobian
template <class T> inline void evaluate_constraints(const ModelData &m, Workspace<T> &ws, T *values, const Call &call,
                                                    const Arrays<T> &at) {
  ws.t = at[ArgumentKind::t] ? *at[ArgumentKind::t] : T(0.0);
  const T *q = at[ArgumentKind::q];
  T *out = at.out[0];
  switch (call.kernel) {
  case Kernel::constraint_drift:
    return evaluate_loop_constraints<T>(m, ws, q, nullptr, {.drift = out});
  case Kernel::constraint_residual:
    return evaluate_loop_constraints<T>(m, ws, q, nullptr, {.residual = out});
  case Kernel::constraint_bias:
    return evaluate_loop_constraints<T>(m, ws, q, at[ArgumentKind::v], {.bias = out});
  default:
    break;
  }
  evaluate_loop_constraints<T>(m, ws, q, nullptr, {.values = values});
  for (std::ptrdiff_t k = 0; k < std::ptrdiff_t(m.nc) * m.nv; ++k)
    out[k] = T(0.0);
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    for (int j = 0; j < constraint.rows; ++j)
      for (int s = 0; s < constraint.supports; ++s)
        out[std::ptrdiff_t(constraint.row + j) * m.nv + m.support[constraint.support + s]] =
            values[constraint.values + j * constraint.supports + s];
  }
}

// conditions of one state of a call
inline Conditions conditions_of(const Call &call, std::ptrdiff_t state) {
  Conditions c = *call.conditions;
  if (c.parameters)
    c.parameters += state * call.parameters_apart;
  c.parameter_stride = call.parameters_apart;
  return c;
}

template <class T> inline SystemState<T> state_of(const Arrays<T> &at) {
  return {at[ArgumentKind::t] ? *at[ArgumentKind::t] : T(0.0),
          at[ArgumentKind::q],
          at[ArgumentKind::v],
          at[ArgumentKind::x],
          at[ArgumentKind::tau],
          at[ArgumentKind::loads],
          at[ArgumentKind::inputs],
          at[ArgumentKind::a]};
}

// nothing but a tree: no loops, elements, control, and, where they matter, no drives or locks
inline bool is_plain(const ModelData &m, const Call &call) {
  if (m.nc || m.element_count || call.conditions->callbacks || call.conditions->sampled_forces ||
      call.conditions->sampled_loads || call.conditions->sequence)
    return false;
  return call.kernel == Kernel::required_forces ||
         ((call.kernel == Kernel::motion || call.kernel == Kernel::dynamics) &&
          !call.conditions->acceleration_prescribed);
}

template <class T>
inline void evaluate_plain(const ModelData &m, Workspace<T> &ws, const Call &call, const Arrays<T> &at) {
  const T *q = at[ArgumentKind::q], *v = at[ArgumentKind::v], *tau = at[ArgumentKind::tau],
          *loads = at[ArgumentKind::loads];
  if (call.kernel == Kernel::required_forces)
    return inverse_dynamics<T>(m, ws, q, v, at[ArgumentKind::a], loads, at.out[0]);
  if (call.kernel == Kernel::dynamics) {
    for (int f = 0; f < m.nv; ++f)
      at.out[1][f] = tau ? tau[f] : T(0.0);
    for (int k = 0; k < m.nx; ++k) // of a bare tree: without its elements
      at.out[3][k] = T(0.0);
    tau = at.out[1];
  }
  forward_dynamics<T>(m, ws, q, v, tau, loads, nullptr, at.out[0], nullptr);
}

// 0 x is 0 for finite numbers and NaN for others: sums of it show whether all were finite
inline unsigned finding(double zero, unsigned bit) { return zero == 0.0 ? 0u : bit; }

// ---- entry points

// single_state.cpp
std::size_t bytes_one(const ModelData &m, const Call &call);
unsigned evaluate_state(const ModelData &m, std::byte *memory, const Call &call, std::ptrdiff_t state);
unsigned evaluate_range(const ModelData &m, std::byte *memory, const Call &call, std::ptrdiff_t begin,
                        std::ptrdiff_t end);

// simd_batch.cpp
bool has_lanes(const ModelData &m, const Call &call);
std::size_t simd_batch_bytes(const ModelData &m, const Call &call);
unsigned lanes_range(const ModelData &m, std::byte *memory, const Call &call, std::ptrdiff_t begin, std::ptrdiff_t end);

// mass_factor.cpp
std::size_t bytes_factor(const ModelData &m);
void factor(const ModelData &m, std::byte *memory, const double *q);
void factor_solve(const ModelData &m, std::byte *memory, const double *x, double *a, std::ptrdiff_t count);
void factor_pivots(const ModelData &m, std::byte *memory, double *pivots);
void sparse_mass_matrix(const ModelData &m, std::byte *memory, const double *q, std::int64_t size,
                        const std::int64_t *diagonal, const std::int64_t *row_end, const std::int64_t *below,
                        double *values);

// self_stress.cpp
std::size_t bytes_stress(const ModelData &m);
int stress(const ModelData &m, std::byte *memory, const Conditions &c, double t, const double *q, double *multipliers,
           double *loads);
void share(const ModelData &m, std::byte *memory, const Conditions &c, double t, const double *q, double *loads,
           double *lambda);

} // namespace dalembert::DALEMBERT_ISA
