#include "system/dynamics.hpp"
#include "constraints/coupling_rows.hpp"
#include "elements/elements.hpp"
#include "elements/measures.hpp"
#include "system/drives.hpp"
#include "tree/inverse_dynamics.hpp"
#include "tree/kinematics.hpp"
#include <algorithm>
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

template <class T> std::size_t lay_out(const ModelData &m, std::byte *base, SystemWorkspace<T> &work) {
  Arena arena{base};
  arena.skip(lay_out(m, base, work.loops));
  const std::size_t nv = std::size_t(m.nv);
  for (T **each : {&work.tau, &work.efforts, &work.control, &work.passed})
    *each = arena.take<T>(nv);
  work.joint_terms.slopes = arena.take<T>(m.nc ? 0 : 4 * nv);
  work.joint_terms.duals =
      arena.take<Dual>(m.nc || !std::is_same_v<T, double> ? 0 : std::size_t(m.programs.max_values));
  work.inputs = arena.take<T>(std::size_t(m.input_count));
  work.parameters = arena.take<double>(std::size_t(m.parameter_count));
  work.requested_effort = arena.take<T>(std::size_t(m.actuator_count));
  work.cut = arena.take<T>(std::size_t(m.cut_nv));
  work.targets = arena.take<T>(3 * std::size_t(m.nc));
  work.lambda = arena.take<T>(std::size_t(m.nc));
  work.values = arena.take<T>(std::size_t(m.programs.max_values));
  work.signals = arena.take<T>(std::size_t(m.signal_count));
  work.unused = arena.take<T>(std::size_t(m.nx));
  work.feedback = arena.take<T>(std::size_t(m.feedback_count));
  work.switching_values = arena.take<T>(std::size_t(m.switching_count));
  work.sides = arena.take<double>(std::size_t(m.switching_count));
  work.numbers = arena.take<double>(std::size_t(m.programs.max_values));
  work.callback_laws = arena.take<double>(3 * std::size_t(m.callback_law_count));
  work.loads = arena.take<double>(6 * std::size_t(m.users));
  return arena.used;
}

bool evaluate_callbacks(const ModelData &m, const Conditions &c, SystemWorkspace<double> &work,
                        const SystemState<double> &s) {
  const bool pushed = c.callbacks && c.callbacks->gives_forces;
  for (int f = 0; !pushed && f < m.nv; ++f)
    work.efforts[f] = 0.0;
  if (c.callbacks && !(*c.callbacks)(s.t, s.q, s.v, c.for_callbacks(s.x), work.callback_laws, work.efforts, work.loads))
    return false;
  if (c.sampled_forces) {
    const std::ptrdiff_t row =
        std::upper_bound(c.sampled_forces->times, c.sampled_forces->times + c.sampled_forces->count, s.t) -
        c.sampled_forces->times - 1;
    for (int f = 0; row >= 0 && f < m.nv; ++f)
      work.efforts[f] += c.sampled_forces->tau[row * m.nv + f];
  }
  if (c.sequence)
    apply_control(m, *c.sequence, s.t, c.parameters, work.efforts, work.inputs, work.parameters);
  for (int f = 0; f < m.nv; ++f)
    work.control[f] = work.efforts[f];
  for (int f = 0; s.tau && f < m.nv; ++f)
    work.efforts[f] += s.tau[f];
  return true;
}

// loads from outside and from elements; efforts of elements join those from outside in tau
template <class T> static void apply_loads(const ModelData &m, const Conditions &c, SystemWorkspace<T> &work,
                                           const EvaluationContext<T> &at, const SystemState<T> &s, bool in_world) {
  Workspace<T> &ws = work.loops.ws;
  if constexpr (std::is_same_v<T, double>) {
    if (c.callbacks && c.callbacks->gives_forces)
      subtract_loads(m, ws, work.loads);
    const std::ptrdiff_t row = c.sampled_loads ? c.sampled_loads->row(s.t) : -1;
    if (row >= 0)
      subtract_loads(m, ws, c.sampled_loads->loads + row * 6 * m.users);
    for (int f = 0; f < m.nv; ++f)
      work.tau[f] = work.efforts[f] + (row >= 0 ? c.sampled_loads->efforts[row * (m.nv + m.cut_nv) + f] : 0.0);
  } else {
    for (int f = 0; f < m.nv; ++f)
      work.tau[f] = s.tau ? s.tau[f] : T(0.0);
    for (int f = 0; s.control && f < m.nv; ++f)
      work.tau[f] = work.tau[f] + s.control[f];
  }
  if (s.loads)
    subtract_loads(m, ws, s.loads);
  for (int f = 0; f < m.cut_nv; ++f)
    work.cut[f] = T(0.0);
  if (m.needs_body_motion && !in_world) {
    place_in_world(m, ws);
    move_in_world(m, ws, s.v);
  }
  if (!m.element_count && !m.actuator_count)
    return;
  apply_elements(m, ws, at, s.q, s.v, work.tau, work.cut);
}

// Baumgarte 1972: gamma += 2 alpha (P v - rate) + beta^2 (phi - target); phi in rhs
template <class T>
static void stabilize(const ModelData &m, const Conditions &c, SystemWorkspace<T> &work, const T *v) {
  LoopWorkspace<T> &loops = work.loops;
  for (int i = 0; i < m.nc; ++i)
    loops.rhs[i] = loops.rhs[i] - work.targets[i];
  wrap_driven_angles(m, loops.rhs);
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    for (int j = 0; j < constraint.rows; ++j) {
      const int row = constraint.row + j;
      T rate = loops.drift[row] - work.targets[m.nc + row];
      for (int s = 0; s < constraint.supports; ++s)
        rate =
            rate + loops.values[constraint.values + j * constraint.supports + s] * v[m.support[constraint.support + s]];
      loops.gamma[row] = loops.gamma[row] + c.stabilization[0] * rate;
      if (m.holonomic[row])
        loops.gamma[row] = loops.gamma[row] + c.stabilization[1] * loops.rhs[row];
    }
  }
}

// rows at the state: values, leverage, opening, and P' v less what drives demand in gamma
template <class T>
static void evaluate_rows(const ModelData &m, const Conditions &c, SystemWorkspace<T> &work, const SystemState<T> &s) {
  LoopWorkspace<T> &loops = work.loops;
  const bool stabilized = c.stabilization[0] != 0.0 || c.stabilization[1] != 0.0;
  loops.ws.t = s.t;
  set_targets(m, s.t, work.callback_laws, work.targets);
  evaluate_loop_constraints<T>(m, loops.ws, s.q, s.v,
                               {.residual = stabilized ? loops.rhs : nullptr,
                                .bias = loops.gamma,
                                .values = loops.values,
                                .leverage = loops.leverage,
                                .drift = stabilized ? loops.drift : nullptr,
                                .opening = &loops.opening,
                                .active = c.constraint_active,
                                .held = c.cut_velocity_locked});
  for (int i = 0; i < m.nc; ++i)
    loops.gamma[i] = loops.gamma[i] - work.targets[2 * m.nc + i]; // P a + gamma is the value of the law, not zero
  if (stabilized)
    stabilize(m, c, work, s.v);
}

// The slopes of elements become what acts over a step, and their forces those of velocities at its begin.
template <class T> static void set_joint_terms(const ModelData &m, SystemWorkspace<T> &work, const T *v) {
  const JointTerms<T> &terms = work.joint_terms;
  T *damping = terms.slopes, *stiffness = damping + m.nv;
  for (int f = 0; f < m.nv; ++f) {
    work.tau[f] = work.tau[f] + damping[f] * (v[f] - terms.from[f]);
    damping[f] = terms.h * damping[f], stiffness[f] = (0.25 * terms.h * terms.h) * stiffness[f];
  }
  work.loops.ws.step_damping = damping, work.loops.ws.step_stiffness = stiffness;
}

template <class T> unsigned solve_accelerations(const ModelData &m, const Conditions &c, SystemWorkspace<T> &work,
                                                const SystemState<T> &s, T *a, T *dx) {
  Workspace<T> &ws = work.loops.ws;
  const bool has_terms = work.joint_terms.h > 0.0;
  prescribe(m, c.acceleration_prescribed, s.t, work.callback_laws, a);
  for (int f = 0; s.prescribed && c.acceleration_prescribed && f < m.nv; ++f)
    if (c.acceleration_prescribed[f])
      a[f] = s.prescribed[f];
  if (m.nc)
    evaluate_rows(m, c, work, s);
  start_forward(m, ws, s.q, s.v, m.nc > 0);
  EvaluationContext<T> at = evaluation_context(c, work, s, dx);
  at.joint_slopes = has_terms ? work.joint_terms.slopes : nullptr, at.duals = work.joint_terms.duals;
  apply_loads(m, c, work, at, s, m.nc > 0);
  if (has_terms)
    set_joint_terms(m, work, s.v);
  finish_forward(m, ws, work.tau, c.acceleration_prescribed, a, static_cast<T *>(nullptr));
  ws.step_damping = ws.step_stiffness = nullptr;
  return m.nc ? solve_multipliers(m, work.loops, c.acceleration_prescribed, a, work.lambda) : 0u;
}

void evaluate_switching_functions(const ModelData &m, const Conditions &c, SystemWorkspace<double> &work,
                                  const SystemState<double> &s) {
  work.loops.ws.t = s.t;
  start_forward(m, work.loops.ws, s.q, s.v, false);
  apply_loads(m, c, work, evaluation_context(c, work, s, static_cast<double *>(nullptr)), s, false);
}

static DALEMBERT_INLINE bool holds(const Conditions &c, int constraint) {
  return !c.constraint_active || c.constraint_active[constraint];
}

// couplings act at joints: what they give need not be supplied
template <class T> static void take_couplings(const ModelData &m, const Conditions &c, Workspace<T> &ws,
                                              const SystemState<T> &s, const T *a, const T *lambda, T *passed,
                                              T *seconds) {
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    if (constraint.form != LoopConstraintForm::coupling || !holds(c, k))
      continue;
    CouplingRow<T> row;
    coupling_row(m, ws, constraint, s.q, seconds ? s.v : nullptr, row);
    T second = row.bias;
    for (int j = 0; j < constraint.supports; ++j) {
      const int f = m.support[constraint.support + j];
      const T factor = row.coefficient(m, constraint, j);
      passed[f] = passed[f] - factor * lambda[constraint.row];
      second = second + factor * a[f];
    }
    if (seconds)
      seconds[constraint.row] = second;
  }
}

template <class T> Load<T> loop_constraint_load(const ModelData &m, Workspace<T> &ws,
                                                const LoopConstraintData &constraint, const T *lambda, T *seconds) {
  const LoopConstraintPose<T> place = loop_constraint_pose(m, ws, constraint);
  LoopConstraintRows<T> rows;
  rows.moving = seconds != nullptr;
  loop_constraint_rows(m, ws, constraint, place.relative, rows);
  Motion<T> acceleration{zero3<T>(), zero3<T>()};
  if (seconds)
    acceleration = loop_constraint_acceleration(m, ws, constraint, place);
  Load<T> load{zero3<T>(), zero3<T>()};
  for (int j = 0; j < rows.count; ++j) {
    const Motion<T> &g = rows.g[j];
    if (seconds)
      seconds[constraint.row + j] = rows.bias[j] + dot(g.w, acceleration.w) + dot(g.v, acceleration.v);
    load.n += scale(lambda[constraint.row + j], g.w);
    load.f += scale(lambda[constraint.row + j], g.v);
  }
  return {mul(place.A.R, load.n), mul(place.A.R, load.f)};
}

// what the rows of loop constraints do to bodies, for known multipliers; on the way second rates of the rows
template <class T> static void apply_constraint_loads(const ModelData &m, const Conditions &c, Workspace<T> &ws,
                                                      const T *lambda, T *seconds) {
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    if (constraint.form == LoopConstraintForm::coupling || !holds(c, k)) { // of couplings see take_couplings
      for (int j = 0; seconds && j < constraint.rows; ++j)
        seconds[constraint.row + j] = T(0.0);
      continue;
    }
    const Load<T> load = loop_constraint_load(m, ws, constraint, lambda, seconds);
    const auto apply_force = [&](int body, const Load<T> &part) {
      ws.p_A[body].n -= part.n;
      ws.p_A[body].f -= part.f;
    };
    table_entry<T>(m, constraint, [&](const auto &numbers) {
      const Vec3<T> p_B = lift<T>(as_vec(numbers.p_FB));
      apply_force_pair(ws, constraint.body_a, constraint.body_b, p_B, point_in_world(ws, constraint.body_b, p_B),
                       load.n, load.f, apply_force);
    });
  }
}

template <class T> void motion_residuals(const ModelData &m, const Conditions &c, SystemWorkspace<T> &work,
                                         const EvaluationContext<T> &at, const SystemState<T> &s, const T *a,
                                         const T *lambda, T *seconds, bool in_world) {
  Workspace<T> &ws = work.loops.ws;
  ws.t = s.t;
  ws.held = c.cut_velocity_locked;
  in_world = in_world || m.loop_constraint_count;
  start_inverse(m, ws, s.q, s.v, a, work.passed);
  if (in_world) {
    place_in_world(m, ws);
    move_in_world(m, ws, s.v);
  }
  apply_loads(m, c, work, at, s, in_world);
  apply_constraint_loads(m, c, ws, lambda, seconds);
  finish_inverse(m, ws, a, work.passed);
  take_couplings(m, c, ws, s, a, lambda, work.passed, seconds);
}

template <class T>
void loop_constraint_loads(const ModelData &m, const Conditions &c, SystemWorkspace<T> &work, const T *lambda, T *out) {
  Workspace<T> &ws = work.loops.ws;
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    Load<T> load{zero3<T>(), zero3<T>()};
    if (constraint.form != LoopConstraintForm::coupling) {
      const LoopConstraintPose<T> place = loop_constraint_pose(m, ws, constraint);
      if (holds(c, k)) {
        LoopConstraintRows<T> rows;
        rows.moving = false;
        loop_constraint_rows(m, ws, constraint, place.relative, rows);
        for (int j = 0; j < rows.count; ++j) {
          load.n += scale(lambda[constraint.row + j], rows.g[j].w);
          load.f += scale(lambda[constraint.row + j], rows.g[j].v);
        }
      }
      if (constraint.nv) {
        JointMotion<T> joint_motion;
        loop_joint_motion(m, ws, constraint, place.relative, joint_motion);
        for (int j = 0; j < constraint.nv; ++j) {
          load.n += scale(work.cut[constraint.v + j], joint_motion.D[j].w);
          load.f += scale(work.cut[constraint.v + j], joint_motion.D[j].v);
        }
      }
      load = {mul(place.A.R, load.n), mul(place.A.R, load.f)};
    }
    T *to = out + 6 * k;
    to[0] = load.n.x, to[1] = load.n.y, to[2] = load.n.z, to[3] = load.f.x, to[4] = load.f.y, to[5] = load.f.z;
  }
}

template std::size_t lay_out(const ModelData &, std::byte *, SystemWorkspace<double> &);
template std::size_t lay_out(const ModelData &, std::byte *, SystemWorkspace<Pack> &);
template unsigned solve_accelerations(const ModelData &, const Conditions &, SystemWorkspace<double> &,
                                      const SystemState<double> &, double *, double *);
template unsigned solve_accelerations(const ModelData &, const Conditions &, SystemWorkspace<Pack> &,
                                      const SystemState<Pack> &, Pack *, Pack *);
template void motion_residuals(const ModelData &, const Conditions &, SystemWorkspace<double> &,
                               const EvaluationContext<double> &, const SystemState<double> &, const double *,
                               const double *, double *, bool);
template void motion_residuals(const ModelData &, const Conditions &, SystemWorkspace<Pack> &,
                               const EvaluationContext<Pack> &, const SystemState<Pack> &, const Pack *, const Pack *,
                               Pack *, bool);
template std::size_t lay_out(const ModelData &, std::byte *, SystemWorkspace<Dual> &);
template std::size_t lay_out(const ModelData &, std::byte *, SystemWorkspace<Traced> &);
template void motion_residuals(const ModelData &, const Conditions &, SystemWorkspace<Dual> &,
                               const EvaluationContext<Dual> &, const SystemState<Dual> &, const Dual *, const Dual *,
                               Dual *, bool);
template void motion_residuals(const ModelData &, const Conditions &, SystemWorkspace<Traced> &,
                               const EvaluationContext<Traced> &, const SystemState<Traced> &, const Traced *, const Traced *,
                               Traced *, bool);
template Load<Dual> loop_constraint_load(const ModelData &, Workspace<Dual> &, const LoopConstraintData &, const Dual *,
                                         Dual *);
template void loop_constraint_loads(const ModelData &, const Conditions &, SystemWorkspace<Dual> &, const Dual *,
                                    Dual *);
template void loop_constraint_loads(const ModelData &, const Conditions &, SystemWorkspace<Traced> &, const Traced *,
                                    Traced *);
template void loop_constraint_loads(const ModelData &, const Conditions &, SystemWorkspace<double> &, const double *,
                                    double *);
template void loop_constraint_loads(const ModelData &, const Conditions &, SystemWorkspace<Pack> &, const Pack *,
                                    Pack *);

} // namespace dalembert::DALEMBERT_ISA
