// A kernel at many states, as many at once as a register holds.
#include "kernels/evaluate.hpp"
#include "tree/kinematics.hpp"
#include <cstring>

namespace dalembert::DALEMBERT_ISA {

namespace {

struct LaneMemory {
  Workspace<Pack> ws;
  SystemWorkspace<Pack> system;
  Pack *values; // of closures
  Pack *a;      // nv, of reports
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
  const bool is_report = family_of(call.kernel) == Family::report;
  l.a = arena.take<Pack>(is_report ? std::size_t(m.nv) : 0);
  l.alone = arena.here();
  if ((is_report || family_of(call.kernel) == Family::system) && (m.nc || call.parameters_apart))
    arena.skip(bytes_one(m, call));
  return arena.used;
}

// the system in lanes; returns those that have to be done by themselves
unsigned system_of_lanes(const ModelData &m, LaneMemory &l, const Call &call, const Arrays<Pack> &at,
                         std::ptrdiff_t state) {
  const Conditions c = conditions_of(call, state);
  const SystemState<Pack> s = state_of(at);
  SystemWorkspace<Pack> &system = l.system;
  if (call.kernel == Kernel::required_forces) {
    for (int i = 0; i < m.nc; ++i)
      system.lambda[i] = at[ArgumentKind::lambda] ? at[ArgumentKind::lambda][i] : Pack(0.0);
    motion_residuals(m, c, system, evaluation_context(c, system, s, system.unused), s, at[ArgumentKind::a],
                     system.lambda, static_cast<Pack *>(nullptr));
    for (int f = 0; f < m.nv; ++f)
      at.out[0][f] = system.passed[f] - system.tau[f];
    return 0;
  }
  const unsigned alone =
      solve_accelerations(m, c, system, s, at.out[0], call.kernel == Kernel::dynamics ? at.out[3] : system.unused);
  if (call.kernel == Kernel::motion)
    return alone;
  if (c.acceleration_prescribed)
    motion_residuals(m, c, system, evaluation_context(c, system, s, system.unused), s, at.out[0], system.lambda,
                     static_cast<Pack *>(nullptr));
  for (int f = 0; f < m.nv; ++f)
    at.out[1][f] = c.acceleration_prescribed && c.acceleration_prescribed[f] ? system.passed[f] : system.tau[f];
  for (int i = 0; i < m.nc; ++i)
    at.out[2][i] = system.lambda[i];
  return m.nc ? alone | system.loops.last->orthogonal : alone; // dependent rows have multipliers to share
}

// parts of a report that follow from the equations of motion alone
constexpr ReportPart of_motion[] = {ReportPart::a,     ReportPart::dx,    ReportPart::tau,
                                    ReportPart::lambda, ReportPart::loads, ReportPart::cut_q,
                                    ReportPart::cut_v, ReportPart::cut_a, ReportPart::constraint_effort};

bool reports_motion_alone(const Call &call) {
  for (int k = 0; k < call.outputs; ++k) {
    bool known = !call.out[k].data;
    for (const ReportPart part : of_motion)
      known = known || int(part) == k;
    if (!known)
      return false;
  }
  return true;
}

bool is_wanted(const Call &call, ReportPart part) { return call.out[int(part)].data; }

// whether what connections pass on is wanted
bool reports_multipliers(const Conditions &c, const Call &call) {
  return is_wanted(call, ReportPart::loads) || is_wanted(call, ReportPart::cut_a) ||
         is_wanted(call, ReportPart::lambda) ||
         (is_wanted(call, ReportPart::constraint_effort) && (c.acceleration_prescribed || c.cut_velocity_locked)) ||
         (is_wanted(call, ReportPart::tau) && c.acceleration_prescribed);
}

// what holds locked and driven degrees of freedom, of the trees and of cut joints
void put_constraint_effort(const ModelData &m, const Conditions &c, const SystemWorkspace<Pack> &system, Pack *effort) {
  for (int f = 0; f < m.nv; ++f)
    effort[f] = c.acceleration_prescribed && c.acceleration_prescribed[f] ? system.passed[f] - system.tau[f] : Pack(0.0);
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    for (int j = 0; j < constraint.nv; ++j) {
      const bool holds = constraint.held && c.cut_velocity_locked && c.cut_velocity_locked[constraint.v + j];
      effort[m.nv + constraint.v + j] =
          holds ? system.lambda[constraint.row + constraint.rows - constraint.nv + j] : Pack(0.0);
    }
  }
}

// a report of the motion in lanes, as system/report.cpp makes it; returns those that have to be done by themselves
unsigned report_of_lanes(const ModelData &m, LaneMemory &l, const Call &call, const Arrays<Pack> &at,
                         std::ptrdiff_t state) {
  const auto part = [&](ReportPart which) { return is_wanted(call, which) ? at.out[int(which)] : nullptr; };
  Pack *dx = part(ReportPart::dx), *tau = part(ReportPart::tau), *lambda = m.nc ? part(ReportPart::lambda) : nullptr,
       *loads = part(ReportPart::loads), *cut_q = part(ReportPart::cut_q), *cut_v = part(ReportPart::cut_v),
       *cut_a = part(ReportPart::cut_a), *effort = part(ReportPart::constraint_effort),
       *a = part(ReportPart::a) ? part(ReportPart::a) : l.a;
  const Conditions c = conditions_of(call, state);
  const SystemState<Pack> s = state_of(at);
  SystemWorkspace<Pack> &system = l.system;
  const bool passes = reports_multipliers(c, call);
  unsigned alone = 0;
  if (passes || part(ReportPart::a) || dx || tau || effort)
    alone = solve_accelerations(m, c, system, s, a, dx ? dx : system.unused);
  if (passes) {
    if (m.nc)
      alone |= system.loops.last->orthogonal; // dependent rows have multipliers to share
    motion_residuals(m, c, system, evaluation_context(c, system, s, system.unused), s, a, system.lambda,
                     static_cast<Pack *>(nullptr));
  } else if (cut_q || cut_v) {
    place_and_move(m, system.loops.ws, s.q, s.v);
  }
  if (loads) {
    joint_loads(m, system.loops.ws, loads);
    loop_constraint_loads(m, c, system, system.lambda, loads + 6 * std::ptrdiff_t(m.users));
  }
  for (int f = 0; tau && f < m.nv; ++f)
    tau[f] = c.acceleration_prescribed && c.acceleration_prescribed[f] ? system.passed[f] : system.tau[f];
  for (int i = 0; lambda && i < m.nc; ++i)
    lambda[i] = system.lambda[i];
  if (effort)
    put_constraint_effort(m, c, system, effort);
  if (cut_q || cut_v || cut_a)
    cut_joints(m, system.loops.ws, cut_q, cut_v, cut_a);
  return alone;
}

unsigned evaluate_lanes(const ModelData &m, LaneMemory &l, const Call &call, const Arrays<Pack> &at,
                        std::ptrdiff_t state) {
  if (family_of(call.kernel) == Family::closure) {
    evaluate_constraints<Pack>(m, l.ws, l.values, call, at);
    return 0;
  }
  if (family_of(call.kernel) == Family::report)
    return report_of_lanes(m, l, call, at, state);
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

} // namespace

bool has_lanes(const ModelData &m, const Call &call) {
  const Family family = family_of(call.kernel);
  if (family == Family::closure)
    return call.kernel < Kernel::cut_motion;
  if (family != Family::system && family != Family::report)
    return family == Family::tree;
  if (m.feedback_count || call.conditions->callbacks || call.conditions->sampled_forces ||
      call.conditions->sampled_loads || call.conditions->sequence || call.conditions->law_branches)
    return false;
  if (family == Family::report) // dependent rows have multipliers to share
    return reports_motion_alone(call) && !(m.spare_rows && reports_multipliers(*call.conditions, call));
  return call.kernel == Kernel::motion || call.kernel == Kernel::required_forces ||
         (call.kernel == Kernel::dynamics && !m.spare_rows);
}

std::size_t simd_batch_bytes(const ModelData &m, const Call &call) {
  LaneMemory l;
  return lay_out_lanes(m, nullptr, call, l);
}

unsigned lanes_range(const ModelData &m, std::byte *memory, const Call &call, std::ptrdiff_t begin,
                     std::ptrdiff_t end) {
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

} // namespace dalembert::DALEMBERT_ISA
