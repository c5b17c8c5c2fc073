#include "system/report.hpp"
#include "system/drives.hpp"
#include "tree/joint_maps.hpp"
#include "tree/kinematics.hpp"
#include "tree/outputs.hpp"
#include <cstring>
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

std::size_t lay_out(const ModelData &m, std::byte *base, ReportWorkspace &work) {
  Arena arena{base};
  arena.skip(lay_out(m, base, work.motion, true));
  const std::size_t nv = std::size_t(m.nv);
  work.duals = arena.take<Dual>(std::size_t(m.programs.max_values));
  for (double **each : {&work.a, &work.tau, &work.applied})
    *each = arena.take<double>(nv);
  work.cut = arena.take<double>(std::size_t(m.cut_nv));
  for (double **each : {&work.energies, &work.losses, &work.gains})
    *each = arena.take<double>(std::size_t(m.element_count));
  return arena.used;
}

static void copy(const double *from, int count, double *to) {
  if (to && to != from && count)
    std::memcpy(to, from, std::size_t(count) * sizeof(double));
}

// by how much rows and their rates are missed
static void put_rows(const ModelData &m, const Conditions &c, SystemWorkspace<double> &system,
                     const SystemState<double> &s, const Report &out) {
  LoopWorkspace<double> &loops = system.loops;
  loops.ws.t = s.t;
  set_targets(m, s.t, system.callback_laws, system.targets);
  evaluate_loop_constraints<double>(m, loops.ws, s.q, nullptr,
                                    {.residual = loops.rhs,
                                     .values = loops.values,
                                     .drift = loops.drift,
                                     .active = c.constraint_active,
                                     .held = c.cut_velocity_locked});
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    const bool holds = !c.constraint_active || c.constraint_active[k];
    for (int j = 0; j < constraint.rows; ++j) {
      const int row = constraint.row + j;
      double rate = loops.drift[row] - system.targets[m.nc + row];
      for (int i = 0; i < constraint.supports; ++i)
        rate += loops.values[constraint.values + j * constraint.supports + i] * s.v[m.support[constraint.support + i]];
      if (out.residual)
        out.residual[row] = holds && m.holonomic[row] ? loops.rhs[row] - system.targets[row] : 0.0;
      if (out.residual_rate)
        out.residual_rate[row] = holds ? rate : 0.0;
    }
  }
  if (out.residual)
    wrap_driven_angles(m, out.residual);
}

// rates that rows have by themselves or by drives, into drift; whether there are any
static bool rows_move(const ModelData &m, const Conditions &c, SystemWorkspace<double> &system,
                      const SystemState<double> &s) {
  double *drift = system.loops.drift;
  bool any = false;
  system.loops.ws.t = s.t;
  set_targets(m, s.t, system.callback_laws, system.targets);
  evaluate_loop_constraints<double>(m, system.loops.ws, s.q, nullptr,
                                    {.drift = drift, .active = c.constraint_active, .held = c.cut_velocity_locked});
  for (int i = 0; i < m.nc; ++i) {
    drift[i] = system.targets[m.nc + i] - drift[i];
    any = any || drift[i] != 0.0;
  }
  return any;
}

// power that comes from outside: of drives, locks, joint forces, loads, and rows that move by themselves or are driven
static double outside_power(const ModelData &m, const Conditions &c, ReportWorkspace &work,
                            const SystemState<double> &s) {
  SystemWorkspace<double> &system = work.motion.system;
  Workspace<double> &ws = system.loops.ws;
  double power = 0.0;
  for (int f = 0; f < m.nv; ++f)
    power += (c.acceleration_prescribed && c.acceleration_prescribed[f] ? system.passed[f] - work.applied[f]
                                                                        : system.efforts[f]) *
             s.v[f];
  for (int k = 0; k < m.actuator_count; ++k) // what actuators could not give
    if (const int f = m.ports[m.actuators[k].port].dof;
        f >= 0 && !(c.acceleration_prescribed && c.acceleration_prescribed[f]))
      power -= (1.0 - delivered_fraction(m.actuators[k], system.requested_effort[k])) * system.control[f] * s.v[f];
  const double *pushed = c.callbacks && c.callbacks->gives_forces ? system.loads : nullptr;
  for (const double *loads : {pushed, s.loads})
    for (int i = 1; loads && i <= m.nb; ++i) {
      const BodyData &b = m.bodies[i];
      if (!b.user)
        continue;
      const double *g = loads + 6 * std::ptrdiff_t(b.user - 1);
      power += dot(as_vec(g), mul(ws.X_W[i].R, ws.w[i])) + dot(as_vec(g + 3), point_velocity(ws, i, as_vec(b.p_FB)));
    }
  if (m.nc && rows_move(m, c, system, s))
    for (int i = 0; i < m.nc; ++i)
      power += work.motion.loads.lambda[i] * system.loops.drift[i];
  return power;
}

namespace {

// what has to be worked out for what is wanted
struct ReportRequirements {
  bool elements; // a record of the elements
  bool passes;   // loads that connections pass on
  bool moves;    // accelerations
  bool placed;   // frames in the world, with velocities

  ReportRequirements(const ModelData &m, const Conditions &c, const Report &out) {
    const ElementRecords &e = out.elements;
    elements = e.measures || e.rates || e.forces || e.energies || e.losses || e.gains || e.loads || e.law_inputs ||
               e.port_loads || out.signals || out.requested_effort || out.applied || out.cut_effort || out.energy;
    passes = out.loads || out.unique || out.cut_a || (out.lambda && m.nc) ||
             (out.constraint_effort && (c.acceleration_prescribed || c.cut_velocity_locked)) ||
             ((out.tau || out.energy) && c.acceleration_prescribed);
    moves = out.a || out.dx || out.tau || out.constraint_effort || out.switching_values || passes ||
            (elements && (m.feedback_count || c.law_branches));
    placed = elements || out.cut_q || out.cut_v;
  }
};

} // namespace

static void put_constraint_effort(const ModelData &m, const Conditions &c, const ReportWorkspace &work,
                                  double *effort) {
  const SystemWorkspace<double> &system = work.motion.system;
  for (int f = 0; f < m.nv; ++f)
    effort[f] = c.acceleration_prescribed && c.acceleration_prescribed[f] ? system.passed[f] - system.tau[f] : 0.0;
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    for (int j = 0; j < constraint.nv; ++j) {
      const bool holds = constraint.held && c.cut_velocity_locked && c.cut_velocity_locked[constraint.v + j];
      effort[m.nv + constraint.v + j] =
          holds ? work.motion.loads.lambda[constraint.row + constraint.rows - constraint.nv + j] : 0.0;
    }
  }
}

static void put_motion(const ModelData &m, const Conditions &c, ReportWorkspace &work, const ReportRequirements &need,
                       const Report &out) {
  const SystemWorkspace<double> &system = work.motion.system;
  for (int f = 0; f < m.nv; ++f)
    work.tau[f] = c.acceleration_prescribed && c.acceleration_prescribed[f] ? system.passed[f] : system.tau[f];
  copy(work.tau, m.nv, out.tau);
  for (int k = 0; out.switching_values && k < m.switching_count; ++k)
    out.switching_values[k] = c.law_branches ? system.switching_values[k] : 0.0;
  if (out.constraint_effort)
    put_constraint_effort(m, c, work, out.constraint_effort);
  if (!need.passes)
    return;
  copy(work.motion.loads.lambda, m.nc, out.lambda);
  copy(work.motion.loads.loads, 6 * connection_count(m), out.loads);
  if (!out.unique)
    return;
  // what drives exert is no load that has to vanish
  if (c.acceleration_prescribed || work.motion.loads.shares.states < 0)
    find_self_stress(m, c, work.motion.system, work.motion.loads.shares, c.acceleration_prescribed);
  mark_determined(m, work.motion.loads.shares, out.unique);
}

static void put_elements(const ModelData &m, const Conditions &c, ReportWorkspace &work, const SystemState<double> &s,
                         const Report &out) {
  SystemWorkspace<double> &system = work.motion.system;
  Workspace<double> &ws = system.loops.ws;
  ElementRecords records = out.elements;
  if (out.energy || records.energies || records.losses || records.gains) { // found together
    records.energies = records.energies ? records.energies : work.energies;
    records.losses = records.losses ? records.losses : work.losses;
    records.gains = records.gains ? records.gains : work.gains;
  }
  record_elements(m, ws, evaluation_context(c, system, s, system.unused), work.duals, s.q, s.v, work.applied, work.cut,
                  records);
  copy(work.applied, m.nv, out.applied);
  copy(work.cut, m.cut_nv, out.cut_effort);
  copy(system.signals, m.signal_count, out.signals);
  copy(system.requested_effort, m.actuator_count, out.requested_effort);
  if (!out.energy)
    return;
  double stored = 0.0, lost = modal_loss(m, s.v), brought = 0.0;
  for (int k = 0; k < m.element_count; ++k)
    stored += records.energies[k], lost += records.losses[k], brought += records.gains[k];
  out.energy[2] = stored, out.energy[3] = lost, out.energy[4] = brought;
  out.energy[5] = outside_power(m, c, work, s);
  energy(m, ws, s.q, s.v, out.energy);
}

bool report(const ModelData &m, const Conditions &c, ReportWorkspace &work, const SystemState<double> &s,
            const Report &out) {
  SystemWorkspace<double> &system = work.motion.system;
  ReportRequirements need(m, c, out);
  double *a = out.a ? out.a : work.a;
  if (out.energy && m.nc && !need.passes) { // what rows that move pass on is power
    if (!evaluate_callbacks(m, c, system, s))
      return false;
    if (rows_move(m, c, system, s))
      need.passes = need.moves = true;
  }
  if (need.moves && !dynamics(m, c, work.motion, s, a, out.dx ? out.dx : system.unused))
    return false;
  if (!need.moves && (need.elements || out.residual || out.residual_rate) && !evaluate_callbacks(m, c, system, s))
    return false;
  if (need.passes) // leaves the frames in the world
    connection_loads(m, c, system, work.motion.loads, s, a);
  else if (need.placed)
    place_and_move(m, system.loops.ws, s.q, s.v);
  if (need.moves)
    put_motion(m, c, work, need, out);
  if (out.cut_q || out.cut_v || out.cut_a)
    cut_joints(m, system.loops.ws, out.cut_q, out.cut_v, out.cut_a);
  if (need.elements)
    put_elements(m, c, work, s, out);
  if (out.residual || out.residual_rate)
    put_rows(m, c, system, s, out);
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
