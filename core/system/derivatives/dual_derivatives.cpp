#include "elements/elements.hpp"
#include "model/parameter_maps.hpp"
#include "scalar/dense_lu.hpp"
#include "system/derivatives/parts.hpp"
#include "system/drives.hpp"
#include "tree/manifold.hpp"
#include "tree/outputs.hpp"
#include <algorithm>
#include <cstring>

namespace dalembert::DALEMBERT_ISA {

void hold_state(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                const SystemState<double> &s, const double *a, const double *lambda) {
  for (int k = 0; k < m.nq; ++k)
    work.q[k] = s.q[k];
  for (int f = 0; f < m.nv; ++f) {
    work.v[f] = s.v[f];
    work.a[f] = a[f];
    work.duals.control[f] = motion.system.control[f];
  }
  for (int k = 0; k < m.nx; ++k)
    work.x[k] = s.x[k];
  for (int i = 0; i < m.nc; ++i)
    work.lambda[i] = lambda[i];
  for (int k = 0; k < m.parameter_count; ++k)
    work.parameters[k] = c.sequence ? motion.system.parameters[k] : c.parameters[k];
  if (work.along.count && m.parameter_maps.count)
    work.varied = m;
  const double *inputs = s.inputs ? s.inputs : c.sequence ? motion.system.inputs : nullptr;
  for (int k = 0; inputs && k < m.input_count; ++k)
    work.settings[k] = inputs[k];
  for (int k = 0; k < m.element_count; ++k) { // inputs by their laws, unless they are set
    const ElementData &e = m.elements[k];
    for (int i = e.input; i < e.input + e.inputs; ++i)
      if (m.inputs[i].source == Source::law) {
        const int part = m.inputs[i].part;
        const bool given = inputs && inputs[part] == inputs[part];
        work.inputs[part] = given ? inputs[part] : law_at(m, m.inputs[i].place, s.t, motion.system.callback_laws).value;
      }
  }
  const double *pushed = c.callbacks && c.callbacks->gives_forces ? motion.system.loads : nullptr;
  for (int k = 0; k < 6 * m.users; ++k)
    work.body_loads[k] = (pushed ? pushed[k] : 0.0) + (s.loads ? s.loads[k] : 0.0);
  for (int k = 0; k < m.feedback_count; ++k)
    work.duals.feedback[k] = motion.system.feedback[k];
  std::memcpy(work.duals.callback_laws, motion.system.callback_laws,
              3 * std::size_t(m.callback_law_count) * sizeof(double));
}

static void select_slot(const ModelData &m, DerivativesWorkspace &work, int slot) {
  lay_out(m, work.kept.memory + std::size_t(slot) * work.kept.each, work.numbers);
}

// the slot in which directions [first, first + count) of parameters stand
static int slot_of(const ModelData &m, DerivativesWorkspace &work, int first, int count) {
  CachedDirections &kept = work.kept;
  const int chunk = first / W, slot = chunk % kept.slots;
  if (kept.holds[slot] == chunk)
    return slot;
  kept.holds[slot] = chunk;
  const std::ptrdiff_t width = m.parameter_count + m.parameter_maps.count;
  bool own = false;
  for (std::ptrdiff_t k = 0; k < width; ++k) {
    Pack slope(0.0);
    for (int l = 0; l < count; ++l)
      slope.set(l, work.along.rows[(first + l) * width + k]);
    if (k < m.parameter_count) {
      kept.parameters[std::ptrdiff_t(slot) * m.parameter_count + k] = slope;
      continue;
    }
    work.own[k - m.parameter_count] = Dual(m.parameter_maps.values[k - m.parameter_count], slope);
    for (int l = 0; l < count; ++l)
      own = own || slope[l] != 0.0;
  }
  kept.own[slot] = own;
  if (own) {
    select_slot(m, work, slot);
    start_numbers(m, work.numbers);
    apply_parameter_maps(m, work.own, work.numbers);
  }
  return slot;
}

// The model as directions [first, first + count) vary it: with numbers in place of its tables where mapped parameters
// vary.
static const ModelData &varied_model(const ModelData &m, DerivativesWorkspace &work, Direction direction, int first,
                                     int count) {
  if (direction != Direction::parameter || !m.parameter_maps.count)
    return m;
  const int slot = slot_of(m, work, first, count);
  if (!work.kept.own[slot])
    return m;
  select_slot(m, work, slot);
  work.varied.varied = &work.numbers;
  return work.varied;
}

// slopes of the parameters of elements
static void seed_parameters(const ModelData &m, DerivativesWorkspace &work, int first, int count, bool on) {
  const Pack *slopes = work.kept.parameters + std::ptrdiff_t(slot_of(m, work, first, count)) * m.parameter_count;
  for (int k = 0; k < m.parameter_count; ++k)
    work.parameters[k].slope = on ? slopes[k] : Pack(0.0);
}

// slopes of what is varied, in lanes [0, count); or none any more
void seed(const ModelData &m, DerivativesWorkspace &work, const SystemState<double> &s, Direction direction, int first,
          int count, bool on) {
  const auto set = [&](Dual *numbers) {
    for (int l = 0; l < count; ++l) {
      numbers[first + l].slope = Pack(0.0);
      numbers[first + l].slope.set(l, on ? 1.0 : 0.0);
    }
  };
  switch (direction) {
  case Direction::position:
    return seed_directions(m, s.q, work.q, first, count, on);
  case Direction::velocity:
    return set(work.v);
  case Direction::state:
    return set(work.x);
  case Direction::input:
    return set(work.inputs);
  case Direction::parameter:
    return seed_parameters(m, work, first, count, on);
  case Direction::force:
  case Direction::time:
    return;
  }
}

// the state as it is varied
SystemState<Dual> varied_state(const Conditions &c, DerivativesWorkspace &work, const SystemState<double> &s,
                               Direction direction) {
  SystemState<Dual> state{Dual(s.t), work.q, work.v, work.x};
  if (s.loads || (c.callbacks && c.callbacks->gives_forces)) // they keep their direction, and act at points that move
    state.loads = work.body_loads;
  if (direction == Direction::time)
    state.t.slope.set(0, 1.0);
  if (direction == Direction::input || s.inputs || c.sequence)
    state.inputs = direction == Direction::input ? work.inputs : work.settings;
  return state;
}

EvaluationContext<Dual> dual_context(const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                                     const SystemState<Dual> &state, Direction direction) {
  EvaluationContext<Dual> at = evaluation_context(c, work.duals, state, work.dx);
  at.numbers = motion.system.numbers;
  if (c.sequence)
    at.parameters = motion.system.parameters;
  if (direction == Direction::parameter)
    at.varied = work.parameters;
  return at;
}

// What the callbacks gives beside the state, in joint forces: a difference, as nothing else is known of it.
static void vary_host(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                      const SystemState<double> &s, Direction direction, int number, int lane) {
  double *q = work.shifted, *v = q + m.nq, *x = v + m.nv;
  const double at = direction == Direction::velocity ? s.v[number]
                    : direction == Direction::state  ? s.x[number]
                                                     : 0.0,
               step = step_at(at);
  for (int side = 0; side < 2; ++side) {
    const double shift = side ? -step : step;
    for (int f = 0; f < m.nv; ++f)
      v[f] = direction == Direction::position && f == number ? shift : 0.0;
    if (direction == Direction::position)
      integrate<double>(m, s.q, v, q);
    else
      std::memcpy(q, s.q, std::size_t(m.nq) * sizeof(double));
    for (int f = 0; f < m.nv; ++f)
      v[f] = s.v[f] + (direction == Direction::velocity && f == number ? shift : 0.0);
    for (int k = 0; k < m.nx; ++k)
      x[k] = s.x[k] + (direction == Direction::state && k == number ? shift : 0.0);
    const double t = direction == Direction::time ? s.t + shift : s.t;
    (*c.callbacks)(t, q, v, c.for_callbacks(x), motion.system.callback_laws, side ? work.below : work.above,
                   motion.system.loads);
  }
  for (int k = 0; k < m.actuator_count; ++k) // what is clipped does not vary
    if (const int f = m.ports[m.actuators[k].port].dof;
        f >= 0 && delivered_fraction(m.actuators[k], motion.system.requested_effort[k]) < 1.0)
      work.above[f] = work.below[f] = 0.0;
  for (int f = 0; f < m.nv; ++f)
    work.column[f].set(lane, work.column[f][lane] + (work.above[f] - work.below[f]) / (2.0 * step));
  std::memcpy(motion.system.callback_laws, work.duals.callback_laws,
              3 * std::size_t(m.callback_law_count) * sizeof(double));
}

bool host_varies(const Conditions &c, Direction direction) {
  return c.callbacks && c.callbacks->gives_forces &&
         (direction == Direction::position || direction == Direction::velocity || direction == Direction::state ||
          direction == Direction::time);
}

// -dR of (1) in work.column, and what else `vary` gives, of what has been seeded
static void vary_seeded(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                        const SystemState<double> &s, Direction direction, int first, int count) {
  const ModelData &model = varied_model(m, work, direction, first, count);
  const bool moves = &model != &m || direction == Direction::time;
  const SystemState<Dual> state = varied_state(c, work, s, direction);
  if (moves && !s.prescribed)
    prescribe(model, c.acceleration_prescribed, state.t, work.duals.callback_laws, work.a);
  motion_residuals(model, c, work.duals, dual_context(c, motion, work, state, direction), state, work.a, work.lambda,
                   m.nc ? work.seconds : nullptr, false);
  for (int f = 0; f < m.nv; ++f)
    work.column[f] = work.duals.tau[f].slope - work.duals.passed[f].slope;
  if (moves && m.nc) {
    set_targets(model, state.t, work.duals.callback_laws, work.duals.targets);
    for (int i = 0; i < m.nc; ++i)
      work.seconds[i] = work.seconds[i] - work.duals.targets[2 * m.nc + i];
  }
}

void vary(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
          const SystemState<double> &s, Direction direction, int first, int count) {
  seed(m, work, s, direction, first, count, true);
  vary_seeded(m, c, motion, work, s, direction, first, count);
  for (int l = 0; host_varies(c, direction) && l < count; ++l)
    vary_host(m, c, motion, work, s, direction, first + l, l);
  seed(m, work, s, direction, first, count, false);
}

// ---- (1)

// columns of da, dlambda and ddx for what has been varied
void solve_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                   const Factored &factored, int count) {
  LoopWorkspace<double> &loops = motion.system.loops;
  solve(m, loops.ws, work.side, work.column, work.column, 1, m.nb, c.acceleration_prescribed);
  for (int l = 0; l < count; ++l) {
    double *da = work.da + std::ptrdiff_t(l) * m.nv, *dlambda = work.dlambda + std::ptrdiff_t(l) * m.nc;
    for (int f = 0; f < m.nv; ++f)
      da[f] = work.column[f][l];
    for (int i = 0; i < m.nc; ++i)
      dlambda[i] = 0.0;
    for (int k = 0; k < m.loop_constraint_count; ++k) {
      const LoopConstraintData &constraint = m.loop_constraints[k];
      for (int j = 0; j < constraint.rows; ++j) {
        const double *row = loops.values + constraint.values + std::ptrdiff_t(j) * constraint.supports;
        double sum = work.seconds[constraint.row + j].slope[l];
        for (int i = 0; i < constraint.supports; ++i)
          sum += row[i] * da[m.support[constraint.support + i]];
        loops.rhs[constraint.row + j] = -sum;
      }
    }
    if (m.nc)
      solve_rows(m, loops, factored, da, dlambda);
    correct_for_regularization(m, loops, factored, c.acceleration_prescribed, da, dlambda);
    for (int f = 0; c.acceleration_prescribed && f < m.nv; ++f)
      if (c.acceleration_prescribed[f])
        da[f] = work.a[f].slope[l];
    for (int k = 0; k < m.nx; ++k)
      work.ddx[std::ptrdiff_t(l) * m.nx + k] = work.dx[k].slope[l];
  }
  for (int f = 0; c.acceleration_prescribed && f < m.nv; ++f)
    work.a[f].slope = Pack(0.0);
}

// unit joint forces: nothing has to be varied
static void push_directions(const ModelData &m, DerivativesWorkspace &work, int first, int count) {
  for (int f = 0; f < m.nv; ++f) {
    work.column[f] = Pack(0.0);
    if (f >= first && f < first + count)
      work.column[f].set(f - first, 1.0);
  }
  for (int i = 0; i < m.nc; ++i)
    work.seconds[i] = Dual(0.0);
  for (int k = 0; k < m.nx; ++k)
    work.dx[k] = Dual(0.0);
}

// ---- (2)

// slopes of the transmitted loads along the columns of (1): dT in work.dz
static void vary_transmitted(const ModelData &m, const Conditions &c, MotionWorkspace &motion,
                             DerivativesWorkspace &work, const SystemState<double> &s, Direction direction, int first,
                             int count) {
  seed(m, work, s, direction, first, count, true);
  for (int l = 0; l < count; ++l) {
    for (int f = 0; f < m.nv; ++f)
      work.a[f].slope.set(l, work.da[std::ptrdiff_t(l) * m.nv + f]);
    for (int i = 0; i < m.nc; ++i)
      work.lambda[i].slope.set(l, work.dlambda[std::ptrdiff_t(l) * m.nc + i]);
  }
  const ModelData &model = varied_model(m, work, direction, first, count);
  const SystemState<Dual> state = varied_state(c, work, s, direction);
  motion_residuals(model, c, work.duals, dual_context(c, motion, work, state, direction), state, work.a, work.lambda,
                   static_cast<Dual *>(nullptr));
  joint_loads(model, work.duals.loops.ws, work.loads);
  loop_constraint_loads(model, c, work.duals, work.lambda, work.loads + 6 * std::ptrdiff_t(m.users));
  use_load_feedback(model, work.duals.loops.ws, work.loads, work.z);
  for (int l = 0; l < count; ++l)
    for (int k = 0; k < m.feedback_count; ++k)
      work.dz[std::ptrdiff_t(l) * m.feedback_count + k] = work.z[k].slope[l];
  for (int f = 0; f < m.nv; ++f)
    work.a[f].slope = Pack(0.0);
  for (int i = 0; i < m.nc; ++i)
    work.lambda[i].slope = Pack(0.0);
  seed(m, work, s, direction, first, count, false);
}

// columns by z itself, and 1 - dT/dz with its factors
bool vary_by_feedback(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                      const SystemState<double> &s, const Factored &factored) {
  const int n = m.feedback_count;
  for (int first = 0; first < n; first += W) {
    const int count = n - first < W ? n - first : W;
    const auto mark = [&](bool on) {
      for (int l = 0; l < count; ++l)
        work.duals.feedback[first + l].slope.set(l, on ? 1.0 : 0.0);
    };
    mark(true);
    vary(m, c, motion, work, s, Direction::force, 0, 0); // nothing but z
    solve_columns(m, c, motion, work, factored, count);
    vary_transmitted(m, c, motion, work, s, Direction::force, 0, count);
    mark(false);
    for (int l = 0; l < count; ++l) {
      const int j = first + l;
      std::memcpy(work.z_a + std::ptrdiff_t(j) * m.nv, work.da + std::ptrdiff_t(l) * m.nv,
                  std::size_t(m.nv) * sizeof(double));
      std::memcpy(work.z_lambda + std::ptrdiff_t(j) * m.nc, work.dlambda + std::ptrdiff_t(l) * m.nc,
                  std::size_t(m.nc) * sizeof(double));
      std::memcpy(work.z_dx + std::ptrdiff_t(j) * m.nx, work.ddx + std::ptrdiff_t(l) * m.nx,
                  std::size_t(m.nx) * sizeof(double));
      for (int i = 0; i < n; ++i)
        work.z_matrix[std::ptrdiff_t(i) * n + j] = (i == j ? 1.0 : 0.0) - work.dz[std::ptrdiff_t(l) * n + i];
    }
  }
  return factor_lu(work.z_matrix, work.exchange, n);
}

static void add_feedback(const ModelData &m, DerivativesWorkspace &work, int count) {
  const int n = m.feedback_count;
  for (int l = 0; l < count; ++l) {
    double *dz = work.dz + std::ptrdiff_t(l) * n;
    solve_lu(work.z_matrix, work.exchange, n, dz);
    for (int j = 0; j < n; ++j) {
      for (int f = 0; f < m.nv; ++f)
        work.da[std::ptrdiff_t(l) * m.nv + f] += dz[j] * work.z_a[std::ptrdiff_t(j) * m.nv + f];
      for (int i = 0; i < m.nc; ++i)
        work.dlambda[std::ptrdiff_t(l) * m.nc + i] += dz[j] * work.z_lambda[std::ptrdiff_t(j) * m.nc + i];
      for (int k = 0; k < m.nx; ++k)
        work.ddx[std::ptrdiff_t(l) * m.nx + k] += dz[j] * work.z_dx[std::ptrdiff_t(j) * m.nx + k];
    }
  }
}

// ---- columns

// columns of `count` lanes, from lane `from` on
static void put_columns(const ModelData &m, const DerivativesWorkspace &work, const DerivativeBlock &out, int n,
                        int first, int count, int from = 0) {
  const auto put = [&](double *to, const double *columns, int rows) {
    for (int r = 0; to && r < rows; ++r)
      for (int l = 0; l < count; ++l)
        to[std::ptrdiff_t(r) * n + first + l] = columns[std::ptrdiff_t(from + l) * rows + r];
  };
  put(out.a, work.da, m.nv);
  put(out.dx, work.ddx, m.nx);
  put(out.lambda, work.dlambda, m.nc);
}

// all columns of a kind by (1) and (2)
void exact_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                   const SystemState<double> &s, const Factored &factored, Direction direction,
                   const DerivativeBlock &block) {
  const int n = directions_of(m, work, direction);
  for (int first = 0; first < n; first += W) {
    const int count = n - first < W ? n - first : W;
    if (direction == Direction::force)
      push_directions(m, work, first, count);
    else
      vary(m, c, motion, work, s, direction, first, count);
    solve_columns(m, c, motion, work, factored, count);
    if (m.feedback_count) {
      vary_transmitted(m, c, motion, work, s, direction, first, count);
      add_feedback(m, work, count);
    }
    put_columns(m, work, block, n, first, count);
  }
}

// Columns by states: idle ones have none.
void state_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                   const SystemState<double> &s, const Factored &factored, const DerivativeBlock &block) {
  const int n = find_acting_states(m, motion.system.loops.ws, work.acting);
  const auto clear = [&](double *to, int rows) {
    if (to)
      std::fill_n(to, std::ptrdiff_t(rows) * m.nx, 0.0);
  };
  clear(block.a, m.nv), clear(block.dx, m.nx), clear(block.lambda, m.nc);
  for (int first = 0; first < n; first += W) {
    const int count = n - first < W ? n - first : W;
    const std::int32_t *states = work.acting + first;
    const auto mark = [&](bool on) {
      for (int l = 0; l < count; ++l)
        work.x[states[l]].slope.set(l, on ? 1.0 : 0.0);
    };
    mark(true);
    vary_seeded(m, c, motion, work, s, Direction::state, first, count);
    for (int l = 0; host_varies(c, Direction::state) && l < count; ++l)
      vary_host(m, c, motion, work, s, Direction::state, states[l], l);
    mark(false);
    solve_columns(m, c, motion, work, factored, count);
    for (int l = 0; l < count; ++l)
      put_columns(m, work, block, m.nx, states[l], 1, l);
  }
}

// whether positions and velocities have lanes enough to be varied together
bool can_vary_together(const ModelData &m, const Conditions &c, const DerivativeBlocks &out) {
  return 2 * m.nv <= W && !m.feedback_count && !host_varies(c, Direction::position) &&
         out.of[int(Direction::position)].wanted() && out.of[int(Direction::velocity)].wanted();
}

// columns by all positions, then by all velocities, at once
void motion_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                    const SystemState<double> &s, const Factored &factored, const DerivativeBlocks &out) {
  const auto mark = [&](bool on) {
    seed(m, work, s, Direction::position, 0, m.nv, on);
    for (int f = 0; f < m.nv; ++f)
      work.v[f].slope.set(m.nv + f, on ? 1.0 : 0.0);
  };
  mark(true);
  vary_seeded(m, c, motion, work, s, Direction::position, 0, m.nv);
  mark(false);
  solve_columns(m, c, motion, work, factored, 2 * m.nv);
  put_columns(m, work, out.of[int(Direction::position)], m.nv, 0, m.nv);
  put_columns(m, work, out.of[int(Direction::velocity)], m.nv, 0, m.nv, m.nv);
}

} // namespace dalembert::DALEMBERT_ISA
