// One instruction set's kernels behind the border of kernels/kernels.hpp. Compiled several times; see scalar/isa.hpp.
#include "kernels/kernels.hpp"
#include "elements/implicit_laws.hpp"
#include "kinematics/ik_descent.hpp"
#include "kinematics/joint_coordinates.hpp"
#include "system/newton/newton.hpp"
#include "system/report.hpp"
#include "system/inverse_dynamics.hpp"
#include "tree/derivatives.hpp"
#include "tree/dual_derivatives.hpp"
#include "tree/manifold.hpp"
#include "tree/outputs.hpp"
#include <cstring>

namespace dalembert::DALEMBERT_ISA {
namespace {

// the arrays of one state, or of the states of one register
template <class T> struct Arrays {
  const T *in[take_count];
  T *out[max_outputs];
  const T *operator[](ArgumentKind which) const { return in[int(which)]; }
};

// ---- trees, one state of any scalar

template <class T> void evaluate(const ModelData &m, Workspace<T> &ws, const Call &call, const Arrays<T> &at) {
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
    return; // others need more room
  }
}

enum class Family { tree, derivative, closure, system, report, system_derivative };

Family family_of(Kernel kernel) {
  if (kernel < Kernel::d_inverse_dynamics)
    return Family::tree;
  if (kernel < Kernel::constraint_residual)
    return Family::derivative;
  if (kernel < Kernel::motion)
    return Family::closure;
  if (kernel == Kernel::report)
    return Family::report;
  const bool derivative = kernel == Kernel::d_dynamics || kernel == Kernel::d_supplied || kernel == Kernel::newton_step;
  return derivative ? Family::system_derivative : Family::system;
}

// ---- derivatives of trees, one state

// the recursions of tree/derivatives.hpp are for rigid bodies and hinges of the library; other models go by dual numbers
bool by_duals(const ModelData &m, Kernel kernel) { return kernel == Kernel::d_inverse_by_duals || m.modal_count || m.custom_joints; }

struct DerivativeMemory {
  Workspace<double> ws;
  DerivativeWorkspace<double> work;
  DualWorkspace duals;
  Side<Pack> side;
  Pack *x;
  double *a, *tile;
};

std::size_t lay_out(const ModelData &m, std::byte *base, Kernel kernel, DerivativeMemory &d) {
  using DALEMBERT_ISA::lay_out;
  Arena arena{base};
  if (by_duals(m, kernel))
    arena.skip(lay_out(m, base, d.duals));
  if (kernel == Kernel::d_inverse_by_duals)
    return arena.used;
  arena.skip(lay_out(m, arena.here(), d.ws));
  if (!by_duals(m, kernel))
    arena.skip(lay_out(m, arena.here(), d.work));
  const std::size_t nv = std::size_t(m.nv);
  d.side = load_right_hand_side<Pack>(m, arena);
  d.x = arena.take<Pack>(nv);
  d.a = arena.take<double>(nv);
  d.tile = arena.take<double>(m.nv <= largest_product ? nv * std::size_t(padded(m.nv)) : 0);
  return arena.used;
}

void d_inverse(const ModelData &m, DerivativeMemory &d, const double *q, const double *v, const double *a, const double *loads, double *by_q,
               double *by_v, double *M) {
  if (!m.custom_joints && !m.modal_count)
    return d_inverse_dynamics(m, d.ws, d.work, q, v, a, loads, by_q, by_v, M);
  d_inverse_dynamics_by_duals(m, d.duals, q, v, a, loads, by_q, by_v);
  mass_matrix<double>(m, d.ws, q, M);
}

void derivatives_of_one(const ModelData &m, std::byte *memory, const Call &call, const Arrays<double> &at) {
  DerivativeMemory d;
  lay_out(m, memory, call.kernel, d);
  const double *q = at[ArgumentKind::q], *v = at[ArgumentKind::v], *loads = at[ArgumentKind::loads];
  double *const *out = at.out;
  if (call.kernel == Kernel::d_inverse_by_duals)
    return d_inverse_dynamics_by_duals(m, d.duals, q, v, at[ArgumentKind::a], loads, out[0], out[1]);
  if (call.kernel == Kernel::d_inverse_dynamics)
    return d_inverse(m, d, q, v, at[ArgumentKind::a], loads, out[0], out[1], out[2]);
  forward_dynamics<double>(m, d.ws, q, v, at[ArgumentKind::tau], loads, nullptr, d.a, nullptr);
  d_inverse(m, d, q, v, d.a, loads, out[0], out[1], out[2]);
  const std::ptrdiff_t size = std::ptrdiff_t(m.nv) * m.nv;
  for (std::ptrdiff_t k = 0; k < size; ++k)
    out[2][k] = 0.0;
  for (int k = 0; k < m.nv; ++k)
    out[2][std::ptrdiff_t(k) * (m.nv + 1)] = 1.0;
  // forward_dynamics has left the factors of M in the workspace, and the derivatives did not touch them
  solve_columns(m, d.ws, d.side, d.x, 1.0, out[2]);
  if (m.nv <= largest_product) {
    minus_product(out[2], out[0], d.tile, m.nv);
    minus_product(out[2], out[1], d.tile, m.nv);
  } else {
    solve_columns(m, d.ws, d.side, d.x, -1.0, out[0]);
    solve_columns(m, d.ws, d.side, d.x, -1.0, out[1]);
  }
}

// ---- closures, one state

// rows of closures, their rates and their Jacobian, of any scalar; values: blocks of the Jacobian
template <class T> void evaluate_constraints(const ModelData &m, Workspace<T> &ws, T *values, const Call &call, const Arrays<T> &at) {
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
        out[std::ptrdiff_t(constraint.row + j) * m.nv + m.support[constraint.support + s]] = values[constraint.values + j * constraint.supports + s];
  }
}

void constraints_of_one(const ModelData &m, std::byte *memory, const Call &call, const Arrays<double> &at) {
  LoopWorkspace<double> work;
  DALEMBERT_ISA::lay_out(m, memory, work);
  if (call.kernel == Kernel::row_pivots) {
    work.ws.t = at[ArgumentKind::t] ? *at[ArgumentKind::t] : 0.0;
    return row_pivots(m, work, at[ArgumentKind::q], at.out[0]);
  }
  if (call.kernel != Kernel::cut_motion)
    return evaluate_constraints<double>(m, work.ws, work.values, call, at);
  work.ws.t = at[ArgumentKind::t] ? *at[ArgumentKind::t] : 0.0;
  place_and_move(m, work.ws, at[ArgumentKind::q], at[ArgumentKind::v]);
  compute_accelerations(m, work.ws, at[ArgumentKind::a]);
  cut_joints(m, work.ws, at.out[0], at.out[1], at.out[2]);
}

// ---- the system as described

Conditions conditions_of(const Call &call, std::ptrdiff_t state) {
  Conditions c = *call.conditions;
  if (c.parameters)
    c.parameters += state * call.parameters_apart;
  c.parameter_stride = call.parameters_apart;
  return c;
}

template <class T> SystemState<T> state_of(const Arrays<T> &at) {
  return {at[ArgumentKind::t] ? *at[ArgumentKind::t] : T(0.0), at[ArgumentKind::q], at[ArgumentKind::v], at[ArgumentKind::x], at[ArgumentKind::tau], at[ArgumentKind::loads], at[ArgumentKind::inputs],
          at[ArgumentKind::a]};
}

PrescribedMotion motion_of(const Arrays<double> &at) { return {state_of(at), at[ArgumentKind::a], at[ArgumentKind::lambda]}; }

// nothing but a tree: no loops, elements, control, and, where they matter, no drives or locks
bool is_plain(const ModelData &m, const Call &call) {
  if (m.nc || m.element_count || call.conditions->callbacks || call.conditions->sampled_forces)
    return false;
  return call.kernel == Kernel::required_forces || ((call.kernel == Kernel::motion || call.kernel == Kernel::dynamics) && !call.conditions->acceleration_prescribed);
}

template <class T> void evaluate_plain(const ModelData &m, Workspace<T> &ws, const Call &call, const Arrays<T> &at) {
  const T *q = at[ArgumentKind::q], *v = at[ArgumentKind::v], *tau = at[ArgumentKind::tau], *loads = at[ArgumentKind::loads];
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

bool needs_loads(const ModelData &m, const Call &call) { return m.nc && call.kernel == Kernel::dynamics; }

unsigned system_of_one(const ModelData &m, std::byte *memory, const Call &call, const Arrays<double> &at, std::ptrdiff_t state) {
  MotionWorkspace work;
  DALEMBERT_ISA::lay_out(m, memory, work, needs_loads(m, call));
  const Conditions c = conditions_of(call, state);
  SystemState<double> s = state_of(at);
  SystemWorkspace<double> &system = work.system;
  if (call.kernel == Kernel::required_forces)
    return required_forces(m, c, work, motion_of(at), at.out[0]) ? 0u : unsigned(host_failed);
  if (call.kernel == Kernel::loads_of_motion)
    return loads_of_motion(m, c, work, motion_of(at), at.out[0]) ? 0u : unsigned(host_failed);
  if (!dynamics(m, c, work, s, at.out[0], call.kernel == Kernel::dynamics ? at.out[3] : system.unused))
    return host_failed;
  if (call.kernel == Kernel::motion)
    return 0;
  if (m.nc) // multipliers of least norm
    connection_loads(m, c, system, work.loads, s, at.out[0]);
  else if (c.acceleration_prescribed)
    motion_residuals(m, c, system, evaluation_context(c, system, s, system.unused), s, at.out[0], system.lambda, static_cast<double *>(nullptr));
  for (int f = 0; f < m.nv; ++f)
    at.out[1][f] = c.acceleration_prescribed && c.acceleration_prescribed[f] ? system.passed[f] : system.tau[f];
  if (m.nc)
    std::memcpy(at.out[2], work.loads.lambda, std::size_t(m.nc) * sizeof(double));
  return 0;
}

unsigned report_of_one(const ModelData &m, std::byte *memory, const Call &call, const Arrays<double> &at, std::ptrdiff_t state) {
  ReportWorkspace work;
  DALEMBERT_ISA::lay_out(m, memory, work);
  const auto part = [&](ReportPart which) { return at.out[int(which)]; };
  Report out;
  out.a = part(ReportPart::a), out.dx = part(ReportPart::dx), out.tau = part(ReportPart::tau), out.lambda = part(ReportPart::lambda);
  out.loads = part(ReportPart::loads), out.unique = part(ReportPart::unique);
  out.cut_q = part(ReportPart::cut_q), out.cut_v = part(ReportPart::cut_v), out.cut_a = part(ReportPart::cut_a);
  out.cut_effort = part(ReportPart::cut_effort), out.held = part(ReportPart::held);
  out.residual = part(ReportPart::residual), out.rate = part(ReportPart::rate);
  out.elements = {part(ReportPart::measures), part(ReportPart::rates),  part(ReportPart::forces),     part(ReportPart::energies),
                  part(ReportPart::losses),   part(ReportPart::gains), part(ReportPart::body_loads), part(ReportPart::taken),
                  part(ReportPart::ends)};
  out.signals = part(ReportPart::signals), out.applied = part(ReportPart::applied), out.energy = part(ReportPart::energy);
  out.asked = part(ReportPart::asked), out.margins = part(ReportPart::margins);
  return report(m, conditions_of(call, state), work, state_of(at), out) ? 0u : unsigned(host_failed);
}

struct SystemDerivativeMemory {
  MotionWorkspace motion;
  DerivativesWorkspace derivatives;
  double *a;
  NewtonWorkspace newton;
  NewtonFactors<double> fronts;
  double *given; // 2 nv
};

std::size_t lay_out(const ModelData &m, std::byte *base, const Call &call, SystemDerivativeMemory &d) {
  Arena arena{base};
  arena.skip(DALEMBERT_ISA::lay_out(m, base, d.motion, m.nc > 0));
  arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), d.derivatives, call.direction_count));
  d.a = arena.take<double>(std::size_t(m.nv));
  if (call.kernel != Kernel::newton_step)
    return arena.used;
  arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), d.newton));
  arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), d.fronts));
  d.given = arena.take<double>(2 * std::size_t(m.nv));
  return arena.used;
}

// not a number where there are no fronts, or a front is singular
unsigned newton_step_of_one(const ModelData &m, const Conditions &c, SystemDerivativeMemory &d, const Arrays<double> &at) {
  const double mu = *at[ArgumentKind::lambda];
  SystemState<double> s = state_of(at);
  s.tau = s.prescribed = nullptr;
  if (!dynamics(m, c, d.motion, s, d.a, d.motion.system.unused))
    return unsigned(host_failed);
  const StepRates<double> rates{mu, mu * mu, s.v};
  bool solved = use_frontal_solver(m, c, true);
  if (solved) {
    linearize(m, c, d.motion, d.derivatives, d.newton, s, d.a, d.motion.system.lambda, LoopConstraintRate::second, true);
    solved = factor_fronts(m, d.newton, rates, d.fronts);
  }
  if (solved)
    solve_radau(m, d.newton, rates, d.fronts, d.given, at[ArgumentKind::a], at[ArgumentKind::tau], at[ArgumentKind::other], at.out[0], at.out[1], at.out[2]);
  else
    for (double *out : {at.out[0], at.out[1]})
      std::fill_n(out, m.nv, std::numeric_limits<double>::quiet_NaN());
  return 0;
}

// first: of states that follow each other in one memory
unsigned system_derivatives_of_one(const ModelData &m, std::byte *memory, const Call &call, const Arrays<double> &at, std::ptrdiff_t state, bool first) {
  SystemDerivativeMemory d;
  lay_out(m, memory, call, d);
  if (call.kernel == Kernel::newton_step)
    return newton_step_of_one(m, conditions_of(call, state), d, at);
  if (call.kernel == Kernel::d_supplied)
    return d_supplied(m, conditions_of(call, state), d.motion, d.derivatives, motion_of(at), at.out) ? 0u : unsigned(host_failed);
  d.derivatives.along = {call.directions, call.direction_count};
  if (first)
    clear_directions(d.derivatives);
  DerivativeBlocks blocks;
  for (int k = 0; k < direction_kinds; ++k) {
    double *const *of = at.out + int(DerivativePart::count) * k;
    blocks.of[k] = {of[int(DerivativePart::a)], of[int(DerivativePart::dx)], of[int(DerivativePart::lambda)]};
  }
  return derivatives(m, conditions_of(call, state), d.motion, d.derivatives, state_of(at), d.a, blocks) ? 0u : unsigned(host_failed);
}

// ---- entry points: one state

std::size_t bytes_one(const ModelData &m, const Call &call) {
  using DALEMBERT_ISA::lay_out;
  switch (family_of(call.kernel)) {
  case Family::tree: {
    Workspace<double> ws;
    return lay_out(m, nullptr, ws);
  }
  case Family::derivative: {
    DerivativeMemory d;
    return lay_out(m, nullptr, call.kernel, d);
  }
  case Family::closure: {
    LoopWorkspace<double> work;
    return lay_out(m, nullptr, work);
  }
  case Family::system: {
    if (is_plain(m, call)) {
      Workspace<double> ws;
      return lay_out(m, nullptr, ws);
    }
    MotionWorkspace work;
    return lay_out(m, nullptr, work, needs_loads(m, call));
  }
  case Family::report: {
    ReportWorkspace work;
    return lay_out(m, nullptr, work);
  }
  case Family::system_derivative: {
    SystemDerivativeMemory d;
    return lay_out(m, nullptr, call, d);
  }
  }
  return 0;
}

unsigned evaluate_one(const ModelData &m, std::byte *memory, const Call &call, std::ptrdiff_t state, bool first) {
  Arrays<double> at;
  for (int k = 0; k < take_count; ++k)
    at.in[k] = call.in[k].data ? call.in[k].data + state * call.in[k].stride : nullptr;
  for (int k = 0; k < call.outputs; ++k)
    at.out[k] = call.out[k].data ? call.out[k].data + state * call.out[k].stride : nullptr;
  switch (family_of(call.kernel)) {
  case Family::derivative:
    derivatives_of_one(m, memory, call, at);
    return 0;
  case Family::closure:
    constraints_of_one(m, memory, call, at);
    return 0;
  case Family::report:
    return report_of_one(m, memory, call, at, state);
  case Family::system_derivative:
    return system_derivatives_of_one(m, memory, call, at, state, first);
  case Family::system:
    if (!is_plain(m, call))
      return system_of_one(m, memory, call, at, state);
    break;
  case Family::tree:
    break;
  }
  Workspace<double> ws;
  DALEMBERT_ISA::lay_out(m, memory, ws);
  if (family_of(call.kernel) == Family::system)
    evaluate_plain<double>(m, ws, call, at);
  else
    evaluate<double>(m, ws, call, at);
  return 0;
}

unsigned evaluate_state(const ModelData &m, std::byte *memory, const Call &call, std::ptrdiff_t state) { return evaluate_one(m, memory, call, state, true); }

// 0 x is 0 for finite numbers and NaN for others: sums of it tell whether all were finite
unsigned finding(double zero, unsigned bit) { return zero == 0.0 ? 0u : bit; }

unsigned evaluate_range(const ModelData &m, std::byte *memory, const Call &call, std::ptrdiff_t begin, std::ptrdiff_t end) {
  double seen_in = 0.0, seen_out = 0.0;
  unsigned found = 0;
  for (std::ptrdiff_t state = begin; state < end && !(found & host_failed); ++state) {
    for (int k = 0; k < take_count; ++k)
      for (std::ptrdiff_t j = 0; call.in[k].data && k != int(ArgumentKind::inputs) && j < call.in[k].size; ++j)
        seen_in += 0.0 * call.in[k].data[state * call.in[k].stride + j];
    found |= evaluate_one(m, memory, call, state, state == begin);
    for (int k = 0; k < call.outputs; ++k)
      for (std::ptrdiff_t j = 0; call.out[k].data && j < call.out[k].size; ++j)
        seen_out += 0.0 * call.out[k].data[state * call.out[k].stride + j];
  }
  return found | finding(seen_in, bad_input) | finding(seen_out, bad_output);
}

// ---- entry points: packs of states

bool has_lanes(const ModelData &m, const Call &call) {
  const Family family = family_of(call.kernel);
  if (family == Family::closure)
    return call.kernel != Kernel::cut_motion && call.kernel != Kernel::row_pivots;
  if (family != Family::system)
    return family == Family::tree;
  if (m.feedback_count || call.conditions->callbacks || call.conditions->sampled_forces || call.conditions->law_branches)
    return false;
  return call.kernel == Kernel::motion || call.kernel == Kernel::required_forces || (call.kernel == Kernel::dynamics && !m.spare_rows);
}

struct LaneMemory {
  Workspace<Pack> ws;
  SystemWorkspace<Pack> system;
  Pack *values; // of closures
  Pack *in[take_count], *out[max_outputs];
  std::byte *alone; // for lanes that are done by themselves
};

std::size_t lay_out_lanes(const ModelData &m, std::byte *base, const Call &call, LaneMemory &l) {
  using DALEMBERT_ISA::lay_out;
  Arena arena{base};
  if (family_of(call.kernel) == Family::tree || family_of(call.kernel) == Family::closure || is_plain(m, call))
    arena.skip(lay_out(m, base, l.ws));
  else
    arena.skip(lay_out(m, base, l.system));
  for (int k = 0; k < take_count; ++k)
    l.in[k] = call.in[k].data ? arena.take<Pack>(std::size_t(call.in[k].size)) : nullptr;
  for (int k = 0; k < call.outputs; ++k)
    l.out[k] = arena.take<Pack>(std::size_t(call.out[k].size));
  l.values = arena.take<Pack>(family_of(call.kernel) == Family::closure ? std::size_t(m.values) : 0);
  l.alone = arena.here();
  if (family_of(call.kernel) == Family::system && (m.nc || call.parameters_apart))
    arena.skip(bytes_one(m, call));
  return arena.used;
}

std::size_t simd_batch_bytes(const ModelData &m, const Call &call) {
  LaneMemory l;
  return lay_out_lanes(m, nullptr, call, l);
}

// the system in lanes; returns those that have to be done by themselves
unsigned system_of_lanes(const ModelData &m, LaneMemory &l, const Call &call, const Arrays<Pack> &at, std::ptrdiff_t state) {
  const Conditions c = conditions_of(call, state);
  const SystemState<Pack> s = state_of(at);
  SystemWorkspace<Pack> &system = l.system;
  if (call.kernel == Kernel::required_forces) {
    for (int i = 0; i < m.nc; ++i)
      system.lambda[i] = at[ArgumentKind::lambda] ? at[ArgumentKind::lambda][i] : Pack(0.0);
    motion_residuals(m, c, system, evaluation_context(c, system, s, system.unused), s, at[ArgumentKind::a], system.lambda, static_cast<Pack *>(nullptr));
    for (int f = 0; f < m.nv; ++f)
      at.out[0][f] = system.passed[f] - system.tau[f];
    return 0;
  }
  const unsigned alone = solve_accelerations(m, c, system, s, at.out[0], call.kernel == Kernel::dynamics ? at.out[3] : system.unused);
  if (call.kernel == Kernel::motion)
    return alone;
  if (c.acceleration_prescribed)
    motion_residuals(m, c, system, evaluation_context(c, system, s, system.unused), s, at.out[0], system.lambda, static_cast<Pack *>(nullptr));
  for (int f = 0; f < m.nv; ++f)
    at.out[1][f] = c.acceleration_prescribed && c.acceleration_prescribed[f] ? system.passed[f] : system.tau[f];
  for (int i = 0; i < m.nc; ++i)
    at.out[2][i] = system.lambda[i];
  return m.nc ? alone | system.loops.last->orthogonal : alone; // dependent rows have multipliers to share
}

unsigned evaluate_lanes(const ModelData &m, LaneMemory &l, const Call &call, const Arrays<Pack> &at, std::ptrdiff_t state) {
  if (family_of(call.kernel) == Family::closure) {
    evaluate_constraints<Pack>(m, l.ws, l.values, call, at);
    return 0;
  }
  if (family_of(call.kernel) != Family::tree && !is_plain(m, call))
    return system_of_lanes(m, l, call, at, state);
  if (family_of(call.kernel) == Family::system)
    evaluate_plain<Pack>(m, l.ws, call, at);
  else
    evaluate<Pack>(m, l.ws, call, at);
  return 0;
}

// a last pack that is not full repeats its last state
void fill_lanes(const Input &input, std::ptrdiff_t state, int count, Pack *to, Pack &seen) {
  const double *rows[W];
  for (int lane = 0; lane < W; ++lane)
    rows[lane] = input.data + (state + (lane < count ? lane : count - 1)) * input.stride;
  for (std::ptrdiff_t j = 0; j < input.size; ++j) {
    Pack numbers;
    for (int lane = 0; lane < W; ++lane)
      numbers.set(lane, rows[lane][j]);
    to[j] = numbers;
    seen = seen + 0.0 * numbers;
  }
}

void put_lanes(const Output &output, std::ptrdiff_t state, int count, const Pack *from, unsigned alone, Pack &seen) {
  for (std::ptrdiff_t j = 0; j < output.size; ++j) {
    Pack zero = 0.0 * from[j];
    for (int lane = 0; alone && lane < W; ++lane) // what such lanes found here does not count
      if (alone >> lane & 1u)
        zero.set(lane, 0.0);
    seen = seen + zero;
  }
  for (int lane = 0; lane < count; ++lane) {
    if (alone >> lane & 1u) // their inputs are still needed, and may stand there
      continue;
    double *row = output.data + (state + lane) * output.stride;
    for (std::ptrdiff_t j = 0; j < output.size; ++j)
      row[j] = from[j][lane];
  }
}

unsigned lanes_range(const ModelData &m, std::byte *memory, const Call &call, std::ptrdiff_t begin, std::ptrdiff_t end) {
  LaneMemory l;
  lay_out_lanes(m, memory, call, l);
  Arrays<Pack> at;
  for (int k = 0; k < take_count; ++k)
    at.in[k] = l.in[k];
  for (int k = 0; k < call.outputs; ++k)
    at.out[k] = l.out[k];
  Pack seen_in(0.0), seen_out(0.0);
  unsigned found = 0;
  for (std::ptrdiff_t state = begin; state < end; state += W) {
    const int count = int(end - state < W ? end - state : W);
    if (call.parameters_apart && count < W) { // parameters of lanes beyond the last state do not exist
      found |= evaluate_range(m, l.alone, call, state, end);
      break;
    }
    Pack unseen; // inputs may be no numbers
    for (int k = 0; k < take_count; ++k)
      if (call.in[k].data)
        fill_lanes(call.in[k], state, count, l.in[k], k == int(ArgumentKind::inputs) ? unseen = Pack(0.0) : seen_in);
    const unsigned alone = evaluate_lanes(m, l, call, at, state);
    for (int k = 0; k < call.outputs; ++k)
      put_lanes(call.out[k], state, count, l.out[k], alone, seen_out);
    for (int lane = 0; lane < count; ++lane)
      if (alone >> lane & 1u)
        found |= evaluate_range(m, l.alone, call, state + lane, state + lane + 1);
  }
  double zero_in = 0.0, zero_out = 0.0;
  for (int lane = 0; lane < W; ++lane)
    zero_in += seen_in[lane], zero_out += seen_out[lane];
  return found | finding(zero_in, bad_input) | finding(zero_out, bad_output);
}

// ---- a factorisation that stays

struct FactorMemory {
  Workspace<double> ws;
  Side<Pack> side;
  Pack *x;
};

std::size_t lay_out(const ModelData &m, std::byte *base, FactorMemory &f) {
  Arena arena{base};
  arena.skip(DALEMBERT_ISA::lay_out(m, base, f.ws));
  f.side = load_right_hand_side<Pack>(m, arena);
  f.x = arena.take<Pack>(std::size_t(m.nv));
  return arena.used;
}

std::size_t bytes_factor(const ModelData &m) {
  FactorMemory f;
  return lay_out(m, nullptr, f);
}

void factor(const ModelData &m, std::byte *memory, const double *q) {
  FactorMemory f;
  lay_out(m, memory, f);
  factorize<double>(m, f.ws, q);
}

void factor_solve(const ModelData &m, std::byte *memory, const double *x, double *a, std::ptrdiff_t count) {
  FactorMemory f;
  lay_out(m, memory, f);
  const std::ptrdiff_t nv = m.nv;
  if (count == 1) {
    Side<double> side{f.ws.p_A, f.ws.y, f.ws.A};
    return solve<double, double>(m, f.ws, side, x, a, 1, m.nb);
  }
  for (std::ptrdiff_t first = 0; first < count; first += W) {
    const int width = int(count - first < W ? count - first : W);
    for (std::ptrdiff_t k = 0; k < nv; ++k) {
      Pack row(0.0);
      for (int lane = 0; lane < width; ++lane)
        row.set(lane, x[(first + lane) * nv + k]);
      f.x[k] = row;
    }
    solve<double, Pack>(m, f.ws, f.side, f.x, f.x, 1, m.nb);
    for (int lane = 0; lane < width; ++lane)
      for (std::ptrdiff_t k = 0; k < nv; ++k)
        a[(first + lane) * nv + k] = f.x[k][lane];
  }
}

void factor_pivots(const ModelData &m, std::byte *memory, double *pivots) {
  FactorMemory f;
  lay_out(m, memory, f);
  for (int k = 0; k < m.nv; ++k)
    pivots[k] = 1.0 / f.ws.pivot[k].inverse;
}

// ---- self-stress

std::size_t bytes_stress(const ModelData &m) {
  MotionWorkspace work;
  Arena arena{nullptr, DALEMBERT_ISA::lay_out(m, nullptr, work, true)};
  arena.take<double>(std::size_t(2 * m.nv + m.nx));
  return arena.used;
}

// all states at a configuration, into the room
SelfStressWorkspace &states_at(const ModelData &m, std::byte *memory, const Conditions &c, double t, const double *q, MotionWorkspace &work,
                     const unsigned char *held) {
  Arena arena{memory, DALEMBERT_ISA::lay_out(m, memory, work, true)};
  double *still = arena.take<double>(std::size_t(2 * m.nv + m.nx)), *a = still + m.nv, *x = a + m.nv;
  for (int k = 0; k < 2 * m.nv + m.nx; ++k)
    still[k] = 0.0;
  for (int k = 0; k < m.feedback_count; ++k)
    work.system.feedback[k] = 0.0;
  for (int f = 0; f < m.nv; ++f)
    work.system.efforts[f] = 0.0;
  solve_accelerations(m, c, work.system, SystemState<double>{t, q, still, x}, a, work.system.unused); // rows and their factors
  find_self_stress(m, c, work.system, work.loads.shares, held);
  return work.loads.shares;
}

int stress(const ModelData &m, std::byte *memory, const Conditions &c, double t, const double *q, double *multipliers, double *loads) {
  MotionWorkspace work;
  const SelfStressWorkspace &shares = states_at(m, memory, c, t, q, work, c.acceleration_prescribed);
  const int n = shares.states;
  const std::ptrdiff_t connections = connection_count(m);
  for (std::ptrdiff_t k = 0; k < n * m.nc; ++k)
    multipliers[k] = 0.0;
  for (std::ptrdiff_t k = 0; k < 6 * n * connections; ++k)
    loads[k] = 0.0;
  for (int i = 0; i < n; ++i) {
    for (int k = shares.row_start[i]; k < shares.row_start[i + 1]; ++k)
      multipliers[std::ptrdiff_t(i) * m.nc + shares.row[k]] = shares.weight[k];
    for (int k = shares.load_start[i]; k < shares.load_start[i + 1]; ++k)
      std::memcpy(loads + 6 * (i * connections + shares.connection[k]), shares.load + 6 * std::ptrdiff_t(k), 6 * sizeof(double));
  }
  return n;
}

void share(const ModelData &m, std::byte *memory, const Conditions &c, double t, const double *q, double *loads, double *lambda) {
  MotionWorkspace work;
  SelfStressWorkspace &shares = states_at(m, memory, c, t, q, work, nullptr);
  minimum_norm_loads(m, work.system.loops, shares, loads, lambda);
}

void law_equations(const ModelData &m, int element, const double *inputs, double *values, double *equations) {
  const ElementData &e = m.elements[element];
  const ProgramData &program = m.programs.programs[e.law];
  load_program(m, m.programs, program, inputs, values);
  run_parts(m, m.programs, program, ProgramPart::known, ProgramPart::slopes, values);
  for (int k = 0; k < e.unknowns * (e.unknowns + 1); ++k)
    equations[k] = result_of(m.programs, program, values, first_residual(e) + k);
}

} // namespace

extern const KernelSet kernels;
const KernelSet kernels{DALEMBERT_ISA_NAME, W,           has_lanes,    bytes_one, simd_batch_bytes,  evaluate_state,
                        evaluate_range,         lanes_range, bytes_factor, factor,    factor_solve, factor_pivots,
                        bytes_stress,       stress,      share,        law_equations, bytes_sweep, sweep_model,
                        bytes_reach,        rows_of_reach, descend};

} // namespace dalembert::DALEMBERT_ISA
