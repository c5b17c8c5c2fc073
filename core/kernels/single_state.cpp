// A kernel at one state, or at one state after another.
#include "constraints/closure_fronts.hpp"
#include "constraints/loop_dynamics.hpp"
#include "kernels/evaluate.hpp"
#include "system/derivatives/products.hpp"
#include "system/inverse_dynamics.hpp"
#include "system/newton/newton.hpp"
#include "system/report.hpp"
#include "tree/derivatives.hpp"
#include "tree/dual_derivatives.hpp"
#include <cstring>

namespace dalembert::DALEMBERT_ISA {

namespace {

// ---- derivatives of trees, one state

// the recursions of tree/derivatives.hpp are for rigid bodies and joints of the library; other models go by dual
// numbers
bool by_duals(const ModelData &m, Kernel kernel) {
  return kernel == Kernel::d_inverse_by_duals || m.modal_count || m.custom_joints;
}

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

void d_inverse(const ModelData &m, DerivativeMemory &d, const double *q, const double *v, const double *a,
               const double *loads, double *by_q, double *by_v, double *M) {
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

// ---- constraints

void constraints_of_one(const ModelData &m, std::byte *memory, const Call &call, const Arrays<double> &at) {
  LoopWorkspace<double> work;
  DALEMBERT_ISA::lay_out(m, memory, work);
  if (call.kernel == Kernel::row_pivots) {
    work.ws.t = at[ArgumentKind::t] ? *at[ArgumentKind::t] : 0.0;
    return row_pivots(m, work, at[ArgumentKind::q], at.out[0]);
  }
  if (call.kernel < Kernel::cut_motion)
    return evaluate_constraints<double>(m, work.ws, work.values, call, at);
  work.ws.t = at[ArgumentKind::t] ? *at[ArgumentKind::t] : 0.0;
  if (call.kernel == Kernel::closure_step)
    return closure_step(m, work, at[ArgumentKind::q], at[ArgumentKind::lambda], at[ArgumentKind::other],
                        at[ArgumentKind::a], at.out[0], at.out[1], at.out[2], at.out[3]);
  if (call.kernel == Kernel::independent_parts)
    return independent_parts(m, work, at[ArgumentKind::q], at[ArgumentKind::lambda], at[ArgumentKind::a],
                             *at[ArgumentKind::other], at.out[0]);
  if (call.kernel == Kernel::dependences)
    return dependences(m, work, at[ArgumentKind::q], at[ArgumentKind::lambda], at[ArgumentKind::a],
                       *at[ArgumentKind::other], at.out[0]);
  if (call.kernel == Kernel::motions)
    return motions(m, work, at[ArgumentKind::q], at[ArgumentKind::lambda], at[ArgumentKind::a], *at[ArgumentKind::other],
                   at.out[0], at.out[1]);
  if (call.kernel == Kernel::velocity_change)
    return velocity_change(m, work, at[ArgumentKind::q], at[ArgumentKind::v], at[ArgumentKind::lambda],
                           at[ArgumentKind::a], at.out[0], at.out[1], at.out[2]);
  place_and_move(m, work.ws, at[ArgumentKind::q], at[ArgumentKind::v]);
  compute_accelerations(m, work.ws, at[ArgumentKind::a]);
  cut_joints(m, work.ws, at.out[0], at.out[1], at.out[2]);
}

// ---- the system as described

PrescribedMotion motion_of(const Arrays<double> &at) {
  return {state_of(at), at[ArgumentKind::a], at[ArgumentKind::lambda]};
}

bool needs_loads(const ModelData &m, const Call &call) { return m.nc && call.kernel == Kernel::dynamics; }

unsigned system_of_one(const ModelData &m, std::byte *memory, const Call &call, const Arrays<double> &at,
                       std::ptrdiff_t state) {
  MotionWorkspace work;
  DALEMBERT_ISA::lay_out(m, memory, work, needs_loads(m, call));
  const Conditions c = conditions_of(call, state);
  SystemState<double> s = state_of(at);
  SystemWorkspace<double> &system = work.system;
  if (call.kernel == Kernel::required_forces)
    return required_forces(m, c, work, motion_of(at), at.out[0]) ? 0u : unsigned(callback_failed);
  if (call.kernel == Kernel::loads_of_motion)
    return loads_of_motion(m, c, work, motion_of(at), at.out[0]) ? 0u : unsigned(callback_failed);
  if (!dynamics(m, c, work, s, at.out[0], call.kernel == Kernel::dynamics ? at.out[3] : system.unused))
    return callback_failed;
  if (call.kernel == Kernel::motion)
    return 0;
  if (m.nc) // multipliers of least norm
    connection_loads(m, c, system, work.loads, s, at.out[0]);
  else if (c.acceleration_prescribed)
    motion_residuals(m, c, system, evaluation_context(c, system, s, system.unused), s, at.out[0], system.lambda,
                     static_cast<double *>(nullptr));
  for (int f = 0; f < m.nv; ++f)
    at.out[1][f] = c.acceleration_prescribed && c.acceleration_prescribed[f] ? system.passed[f] : system.tau[f];
  if (m.nc)
    std::memcpy(at.out[2], work.loads.lambda, std::size_t(m.nc) * sizeof(double));
  return 0;
}

unsigned report_of_one(const ModelData &m, std::byte *memory, const Call &call, const Arrays<double> &at,
                       std::ptrdiff_t state) {
  ReportWorkspace work;
  DALEMBERT_ISA::lay_out(m, memory, work);
  const auto part = [&](ReportPart which) { return at.out[int(which)]; };
  Report out;
  out.a = part(ReportPart::a), out.dx = part(ReportPart::dx), out.tau = part(ReportPart::tau),
  out.lambda = part(ReportPart::lambda);
  out.loads = part(ReportPart::loads), out.unique = part(ReportPart::unique);
  out.cut_q = part(ReportPart::cut_q), out.cut_v = part(ReportPart::cut_v), out.cut_a = part(ReportPart::cut_a);
  out.cut_effort = part(ReportPart::cut_effort), out.constraint_effort = part(ReportPart::constraint_effort);
  out.residual = part(ReportPart::residual), out.residual_rate = part(ReportPart::residual_rate);
  out.elements = {part(ReportPart::measures),   part(ReportPart::rates),      part(ReportPart::forces),
                  part(ReportPart::energies),   part(ReportPart::losses),     part(ReportPart::gains),
                  part(ReportPart::body_loads), part(ReportPart::law_inputs), part(ReportPart::port_loads)};
  out.signals = part(ReportPart::signals), out.applied = part(ReportPart::applied),
  out.energy = part(ReportPart::energy);
  out.requested_effort = part(ReportPart::requested_effort),
  out.switching_values = part(ReportPart::switching_functions);
  return report(m, conditions_of(call, state), work, state_of(at), out) ? 0u : unsigned(callback_failed);
}

struct SystemDerivativeMemory {
  MotionWorkspace motion;
  DerivativesWorkspace derivatives;
  double *a;
  ProductWorkspace products;
  NewtonWorkspace newton;
  NewtonFactors<double> fronts;
  double *given;         // 2 nv
  std::uint32_t *solved; // whether the factors are regular
};

std::size_t lay_out(const ModelData &m, std::byte *base, const Call &call, SystemDerivativeMemory &d) {
  Arena arena{base};
  arena.skip(DALEMBERT_ISA::lay_out(m, base, d.motion, m.nc > 0));
  arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), d.derivatives, call.direction_count));
  d.a = arena.take<double>(std::size_t(m.nv));
  if (call.kernel == Kernel::d_dynamics_products || call.kernel == Kernel::d_output_products)
    arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), d.products));
  if (call.kernel != Kernel::newton_step)
    return arena.used;
  arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), d.newton));
  arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), d.fronts));
  d.given = arena.take<double>(2 * std::size_t(m.nv));
  d.solved = arena.take<std::uint32_t>(1);
  return arena.used;
}

// not a number where there are no fronts, or a front is singular
unsigned newton_step_of_one(const ModelData &m, const Conditions &c, SystemDerivativeMemory &d,
                            const Arrays<double> &at, bool factored) {
  const double mu = *at[ArgumentKind::lambda];
  SystemState<double> s = state_of(at);
  s.tau = s.prescribed = nullptr;
  const StepRates<double> rates{mu, mu * mu, s.v};
  if (!factored) {
    if (!dynamics(m, c, d.motion, s, d.a, d.motion.system.unused))
      return unsigned(callback_failed);
    *d.solved = has_frontal_solver(m, c);
    if (*d.solved) {
      linearize(m, c, d.motion, d.derivatives, d.newton, s, d.a, d.motion.system.lambda, LoopConstraintRate::second,
                true);
      *d.solved = factor_fronts(m, d.newton, rates, d.fronts);
    }
  }
  if (*d.solved)
    solve_radau(m, d.newton, rates, d.fronts, d.given, at[ArgumentKind::a], at[ArgumentKind::tau],
                at[ArgumentKind::other], at.out[0], at.out[1], at.out[2]);
  else
    for (double *out : {at.out[0], at.out[1]})
      std::fill_n(out, m.nv, std::numeric_limits<double>::quiet_NaN());
  return 0;
}

constexpr int product_sums = 6; // of results: rows whose sum is that of the products by parameters

unsigned products_of_one(const ModelData &m, const Conditions &c, SystemDerivativeMemory &d, ProductTape &recorded,
                         const Arrays<double> &at) {
  Products out;
  const Direction kinds[] = {Direction::position, Direction::velocity, Direction::state,
                             Direction::force,    Direction::input,    Direction::parameter};
  for (int k = 0; k < 6; ++k)
    out.of[int(kinds[k])] = at.out[k];
  if (recorded.sums)
    out.of[int(Direction::parameter)] = at.out[product_sums];
  return multiply_derivatives(m, c, d.motion, d.derivatives, d.products, recorded, state_of(at), at[ArgumentKind::other],
                              at[ArgumentKind::lambda], d.a, out)
             ? 0u
             : unsigned(callback_failed);
}

unsigned output_products_of_one(const ModelData &m, const Conditions &c, SystemDerivativeMemory &d,
                                ProductTape &recorded, const Arrays<double> &at) {
  Products out;
  const Direction kinds[] = {Direction::position, Direction::velocity, Direction::state, Direction::parameter};
  for (int k = 0; k < 4; ++k)
    out.of[int(kinds[k])] = at.out[k];
  return multiply_outputs(m, c, d.motion, d.derivatives, d.products, recorded, state_of(at),
                          OutputWeights(m, at[ArgumentKind::other]), d.a, out)
             ? 0u
             : unsigned(callback_failed);
}

// first: of states that follow each other in one memory
unsigned system_derivatives_of_one(const ModelData &m, std::byte *memory, const Call &call, const Arrays<double> &at,
                                   std::ptrdiff_t state, bool first, ProductTape &recorded) {
  SystemDerivativeMemory d;
  lay_out(m, memory, call, d);
  if (call.kernel == Kernel::newton_step)
    return newton_step_of_one(m, conditions_of(call, state), d, at, call.factored);
  if (call.kernel == Kernel::d_required_forces)
    return d_required_forces(m, conditions_of(call, state), d.motion, d.derivatives, motion_of(at), at.out)
               ? 0u
               : unsigned(callback_failed);
  d.derivatives.along = {call.directions, call.direction_count};
  if (first)
    clear_directions(d.derivatives);
  if (call.kernel == Kernel::d_dynamics_products)
    return products_of_one(m, conditions_of(call, state), d, recorded, at);
  if (call.kernel == Kernel::d_output_products)
    return output_products_of_one(m, conditions_of(call, state), d, recorded, at);
  DerivativeBlocks blocks;
  for (int k = 0; k < direction_kinds; ++k) {
    double *const *of = at.out + int(DerivativePart::count) * k;
    blocks.of[k] = {of[int(DerivativePart::a)], of[int(DerivativePart::dx)], of[int(DerivativePart::lambda)]};
  }
  return derivatives(m, conditions_of(call, state), d.motion, d.derivatives, state_of(at), d.a, blocks)
             ? 0u
             : unsigned(callback_failed);
}

} // namespace

// ---- entry points

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

// recorded: by states that follow each other
static unsigned evaluate_one(const ModelData &m, std::byte *memory, const Call &call, std::ptrdiff_t state, bool first,
                      ProductTape &recorded) {
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
    return system_derivatives_of_one(m, memory, call, at, state, first, recorded);
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

static bool wants_sums(const Call &call) {
  return call.kernel == Kernel::d_dynamics_products && call.out[product_sums].data;
}
// what rows up to the last one have left
static void finish_rows(const ModelData &m, std::byte *memory, const Call &call, std::ptrdiff_t last,
                        ProductTape &recorded) {
  if (!recorded.sums)
    return;
  SystemDerivativeMemory d;
  lay_out(m, memory, call, d);
  finish_sums(m, d.products, recorded, call.out[product_sums].data + last * call.out[product_sums].stride);
}

unsigned evaluate_state(const ModelData &m, std::byte *memory, const Call &call, std::ptrdiff_t state) {
  ProductTape recorded;
  recorded.sums = wants_sums(call);
  const unsigned found = evaluate_one(m, memory, call, state, true, recorded);
  finish_rows(m, memory, call, state, recorded);
  return found;
}

unsigned evaluate_range(const ModelData &m, std::byte *memory, const Call &call, std::ptrdiff_t begin,
                        std::ptrdiff_t end) {
  double seen_in = 0.0, seen_out = 0.0;
  unsigned found = 0;
  ProductTape recorded;
  bool alone = true; // nothing but t, q, v and x differs between states
  for (const ArgumentKind which : {ArgumentKind::tau, ArgumentKind::loads, ArgumentKind::inputs, ArgumentKind::a})
    alone = alone && !call.in[int(which)].data;
  recorded.follows = alone && !call.parameters_apart;
  recorded.sums = wants_sums(call);
  for (std::ptrdiff_t state = begin; state < end && !(found & callback_failed); ++state) {
    for (int k = 0; k < take_count; ++k)
      for (std::ptrdiff_t j = 0; call.in[k].data && k != int(ArgumentKind::inputs) && j < call.in[k].size; ++j)
        seen_in += 0.0 * call.in[k].data[state * call.in[k].stride + j];
    found |= evaluate_one(m, memory, call, state, state == begin, recorded);
    for (int k = 0; k < call.outputs; ++k)
      for (std::ptrdiff_t j = 0; call.out[k].data && j < call.out[k].size; ++j)
        seen_out += 0.0 * call.out[k].data[state * call.out[k].stride + j];
  }
  if (end > begin)
    finish_rows(m, memory, call, end - 1, recorded);
  return found | finding(seen_in, bad_input) | finding(seen_out, bad_output);
}

} // namespace dalembert::DALEMBERT_ISA
