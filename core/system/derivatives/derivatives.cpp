#include "system/derivatives/derivatives.hpp"
#include "elements/elements.hpp"
#include "scalar/dense_lu.hpp"
#include "system/drives.hpp"
#include "model/tables.hpp"
#include "tree/manifold.hpp"
#include "tree/outputs.hpp"
#include <algorithm>
#include <cstring>
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

// freedoms up to which M^-1 is multiplied with: it loses digits by the condition of M, which is large for long chains
constexpr int max_inverted = 16;

// how many directions there are of a kind
static int directions_of(const ModelData &m, const DerivativesWorkspace &work, Direction direction) {
  switch (direction) {
  case Direction::position:
  case Direction::velocity:
  case Direction::force:
    return m.nv;
  case Direction::state:
    return m.nx;
  case Direction::input:
    return m.input_count;
  case Direction::time:
    return 1;
  case Direction::parameter:
    return work.along.count;
  }
  return 0;
}

constexpr std::size_t max_kept = std::size_t(4) << 20; // bytes of numbers that are kept

static std::size_t lay_out(const ModelData &m, std::byte *base, CachedDirections &kept, int directions) {
  Arena arena{base};
  ParameterTables<Dual> one;
  kept.each = lay_out(m, nullptr, one);
  kept.slots = int(std::min(std::size_t(directions + W - 1) / W, std::max<std::size_t>(1, max_kept / (kept.each + 1))));
  const std::size_t slots = std::size_t(kept.slots);
  kept.holds = arena.take<std::int32_t>(slots);
  kept.own = arena.take<unsigned char>(slots);
  kept.parameters = arena.take<Pack>(slots * std::size_t(m.parameter_count));
  kept.memory = arena.take<std::byte>(slots * kept.each);
  return arena.used;
}

// Whether recursions vary positions and speeds: elements see none of the bodies, and nothing else is hung on them.
static bool by_recursions(const ModelData &m) {
  return !m.loop_constraint_count && !m.modal_count && !m.custom_joints && !m.feedback_count && !m.looks_at_bodies && !m.lent;
}

void clear_directions(DerivativesWorkspace &work) { std::fill_n(work.kept.holds, work.kept.slots, -1); }

std::size_t lay_out(const ModelData &m, std::byte *base, DerivativesWorkspace &work, int directions) {
  Arena arena{base};
  arena.skip(lay_out(m, base, work.duals));
  const std::size_t nq = std::size_t(m.nq), nv = std::size_t(m.nv), nx = std::size_t(m.nx), nc = std::size_t(m.nc);
  const std::size_t nz = std::size_t(m.feedback_count), inputs = std::size_t(m.input_count);
  work.q = arena.take<Dual>(nq);
  for (Dual **each : {&work.v, &work.a})
    *each = arena.take<Dual>(nv);
  for (Dual **each : {&work.x, &work.dx})
    *each = arena.take<Dual>(nx);
  for (Dual **each : {&work.lambda, &work.seconds})
    *each = arena.take<Dual>(nc);
  for (Dual **each : {&work.inputs, &work.settings})
    *each = arena.take<Dual>(inputs);
  work.parameters = arena.take<Dual>(std::size_t(m.parameter_count));
  work.own = arena.take<Dual>(std::size_t(m.recipes.numbers));
  arena.skip(lay_out(m, arena.here(), work.kept, directions));
  work.along = {};
  work.body_loads = arena.take<Dual>(6 * std::size_t(m.users));
  work.loads = arena.take<Dual>(nz ? 6 * std::size_t(connection_count(m)) : 0);
  work.z = arena.take<Dual>(nz);
  work.side = load_right_hand_side<Pack>(m, arena);
  work.column = arena.take<Pack>(nv);
  work.da = arena.take<double>(W * nv);
  work.dlambda = arena.take<double>(W * nc);
  work.ddx = arena.take<double>(W * nx);
  work.dz = arena.take<double>(W * nz);
  work.z_a = arena.take<double>(nz * nv);
  work.z_lambda = arena.take<double>(nz * nc);
  work.z_dx = arena.take<double>(nz * nx);
  work.z_matrix = arena.take<double>(nz * nz);
  work.exchange = arena.take<std::int32_t>(nz);
  work.shifted = arena.take<double>(nq + 2 * nv + nx + inputs + std::size_t(m.parameter_count));
  work.above = arena.take<double>(2 * nv + nx + nc);
  work.below = arena.take<double>(2 * nv + nx + nc);
  if (by_recursions(m))
    arena.skip(lay_out(m, arena.here(), work.tree));
  for (double **each : {&work.by_q, &work.by_v, &work.inverse})
    *each = arena.take<double>(by_recursions(m) ? nv * nv : 0);
  work.tile = arena.take<double>(by_recursions(m) && m.nv <= max_inverted ? nv * std::size_t(padded(m.nv)) : 0);
  return arena.used;
}

// ---- what is varied

void hold_state(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s, const double *a,
                const double *lambda) {
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
    work.parameters[k] = c.parameters[k];
  if (work.along.count && m.recipes.numbers)
    work.varied = m;
  for (int k = 0; s.inputs && k < m.input_count; ++k)
    work.settings[k] = s.inputs[k];
  for (int k = 0; k < m.element_count; ++k) { // inputs by their laws, unless they are set
    const ElementData &e = m.elements[k];
    for (int i = e.input; i < e.input + e.inputs; ++i)
      if (m.inputs[i].source == Source::law) {
        const int part = m.inputs[i].part;
        const bool given = s.inputs && s.inputs[part] == s.inputs[part];
        work.inputs[part] = given ? s.inputs[part] : law_at(m, m.inputs[i].place, s.t, motion.system.hosted).value;
      }
  }
  const double *pushed = c.callbacks && c.callbacks->gives_forces ? motion.system.loads : nullptr;
  for (int k = 0; k < 6 * m.users; ++k)
    work.body_loads[k] = (pushed ? pushed[k] : 0.0) + (s.loads ? s.loads[k] : 0.0);
  for (int k = 0; k < m.feedback_count; ++k)
    work.duals.feedback[k] = motion.system.feedback[k];
  std::memcpy(work.duals.hosted, motion.system.hosted, 3 * std::size_t(m.hosted_laws) * sizeof(double));
}

static void evaluate_target(const ModelData &m, DerivativesWorkspace &work, int slot) {
  lay_out(m, work.kept.memory + std::size_t(slot) * work.kept.each, work.numbers);
}

// the slot in which directions [first, first + count) of parameters stand
static int slot_of(const ModelData &m, DerivativesWorkspace &work, int first, int count) {
  CachedDirections &kept = work.kept;
  const int chunk = first / W, slot = chunk % kept.slots;
  if (kept.holds[slot] == chunk)
    return slot;
  kept.holds[slot] = chunk;
  const std::ptrdiff_t width = m.parameter_count + m.recipes.numbers;
  bool own = false;
  for (std::ptrdiff_t k = 0; k < width; ++k) {
    Pack slope(0.0);
    for (int l = 0; l < count; ++l)
      slope.set(l, work.along.rows[(first + l) * width + k]);
    if (k < m.parameter_count) {
      kept.parameters[std::ptrdiff_t(slot) * m.parameter_count + k] = slope;
      continue;
    }
    work.own[k - m.parameter_count] = Dual(m.recipes.number[k - m.parameter_count], slope);
    for (int l = 0; l < count; ++l)
      own = own || slope[l] != 0.0;
  }
  kept.own[slot] = own;
  if (own) {
    evaluate_target(m, work, slot);
    start_numbers(m, work.numbers);
    apply_parameter_maps(m, work.own, work.numbers);
  }
  return slot;
}

// The model as directions [first, first + count) vary it: with numbers in place of its tables where own numbers vary.
static const ModelData &varied_model(const ModelData &m, DerivativesWorkspace &work, Direction direction, int first, int count) {
  if (direction != Direction::parameter || !m.recipes.numbers)
    return m;
  const int slot = slot_of(m, work, first, count);
  if (!work.kept.own[slot])
    return m;
  evaluate_target(m, work, slot);
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
static void seed(const ModelData &m, DerivativesWorkspace &work, const SystemState<double> &s, Direction direction, int first, int count, bool on) {
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
static SystemState<Dual> varied_state(const Conditions &c, DerivativesWorkspace &work, const SystemState<double> &s, Direction direction) {
  SystemState<Dual> state{Dual(s.t), work.q, work.v, work.x};
  if (s.loads || (c.callbacks && c.callbacks->gives_forces)) // they keep their direction, and act at points that move
    state.loads = work.body_loads;
  if (direction == Direction::time)
    state.t.slope.set(0, 1.0);
  if (direction == Direction::input || s.inputs)
    state.inputs = direction == Direction::input ? work.inputs : work.settings;
  return state;
}

static EvaluationContext<Dual> dual_context(const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<Dual> &state,
                                              Direction direction) {
  EvaluationContext<Dual> at = evaluation_context(c, work.duals, state, work.dx);
  at.numbers = motion.system.numbers;
  if (direction == Direction::parameter)
    at.varied = work.parameters;
  return at;
}

// What the host gives beside the state, in hinge forces: a difference, as nothing else is known of it.
static void vary_host(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s,
                      Direction direction, int number, int lane) {
  double *q = work.shifted, *v = q + m.nq, *x = v + m.nv;
  const double at = direction == Direction::velocity ? s.v[number] : direction == Direction::state ? s.x[number] : 0.0, step = step_at(at);
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
    c.callbacks->evaluate(c.callbacks->self, t, q, v, x, motion.system.hosted, side ? work.below : work.above, motion.system.loads);
  }
  for (int k = 0; k < m.actuator_count; ++k) // what is clipped does not vary
    if (const int f = m.ports[m.actuators[k].port].dof; f >= 0 && delivered_fraction(m.actuators[k], motion.system.asked[k]) < 1.0)
      work.above[f] = work.below[f] = 0.0;
  for (int f = 0; f < m.nv; ++f)
    work.column[f].set(lane, work.column[f][lane] + (work.above[f] - work.below[f]) / (2.0 * step));
  std::memcpy(motion.system.hosted, work.duals.hosted, 3 * std::size_t(m.hosted_laws) * sizeof(double));
}

static bool host_varies(const Conditions &c, Direction direction) {
  return c.callbacks && c.callbacks->gives_forces &&
         (direction == Direction::position || direction == Direction::velocity || direction == Direction::state || direction == Direction::time);
}

// -dR of (1) in room.column, and what else `vary` gives, of what has been seeded
static void vary_seeded(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s,
                        Direction direction, int first, int count) {
  const ModelData &model = varied_model(m, work, direction, first, count);
  const bool moves = &model != &m || direction == Direction::time;
  const SystemState<Dual> state = varied_state(c, work, s, direction);
  if (moves && !s.prescribed)
    prescribe(model, c.acceleration_prescribed, state.t, work.duals.hosted, work.a);
  motion_residuals(model, c, work.duals, dual_context(c, motion, work, state, direction), state, work.a, work.lambda, m.nc ? work.seconds : nullptr,
          false);
  for (int f = 0; f < m.nv; ++f)
    work.column[f] = work.duals.tau[f].slope - work.duals.passed[f].slope;
  if (moves && m.nc) {
    set_targets(model, state.t, work.duals.hosted, work.duals.targets);
    for (int i = 0; i < m.nc; ++i)
      work.seconds[i] = work.seconds[i] - work.duals.targets[2 * m.nc + i];
  }
}

void vary(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s, Direction direction,
          int first, int count) {
  seed(m, work, s, direction, first, count, true);
  vary_seeded(m, c, motion, work, s, direction, first, count);
  for (int l = 0; host_varies(c, direction) && l < count; ++l)
    vary_host(m, c, motion, work, s, direction, first + l, l);
  seed(m, work, s, direction, first, count, false);
}

// ---- (1)

// columns of da, dlambda and ddx for what has been varied
static void solve_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const Factored &factored, int count) {
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

// unit hinge forces: nothing has to be varied
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

// slopes of the transmitted loads along the columns of (1): dT in room.dz
static void vary_transmitted(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s,
                             Direction direction, int first, int count) {
  seed(m, work, s, direction, first, count, true);
  for (int l = 0; l < count; ++l) {
    for (int f = 0; f < m.nv; ++f)
      work.a[f].slope.set(l, work.da[std::ptrdiff_t(l) * m.nv + f]);
    for (int i = 0; i < m.nc; ++i)
      work.lambda[i].slope.set(l, work.dlambda[std::ptrdiff_t(l) * m.nc + i]);
  }
  const ModelData &model = varied_model(m, work, direction, first, count);
  const SystemState<Dual> state = varied_state(c, work, s, direction);
  motion_residuals(model, c, work.duals, dual_context(c, motion, work, state, direction), state, work.a, work.lambda, static_cast<Dual *>(nullptr));
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
static bool vary_by_feedback(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s,
                             const Factored &factored) {
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
      std::memcpy(work.z_a + std::ptrdiff_t(j) * m.nv, work.da + std::ptrdiff_t(l) * m.nv, std::size_t(m.nv) * sizeof(double));
      std::memcpy(work.z_lambda + std::ptrdiff_t(j) * m.nc, work.dlambda + std::ptrdiff_t(l) * m.nc, std::size_t(m.nc) * sizeof(double));
      std::memcpy(work.z_dx + std::ptrdiff_t(j) * m.nx, work.ddx + std::ptrdiff_t(l) * m.nx, std::size_t(m.nx) * sizeof(double));
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

// ---- differences

// a step along a direction of parameters: the model and its parameters there. Own numbers need tables of their own, which
// are made here, in the one kernel that asks for memory: it serves where nothing else does.
static double step_along(const ModelData &m, const Conditions &c, const DerivativesWorkspace &work, int number, double part, double *parameters,
                         VariantTables &own, ModelData &model) {
  const std::ptrdiff_t width = m.parameter_count + m.recipes.numbers;
  const double *direction = work.along.rows + number * width;
  std::vector<double> all(c.parameters, c.parameters + m.parameter_count);
  all.insert(all.end(), m.recipes.number, m.recipes.number + m.recipes.numbers);
  double largest = 0.0, most = 0.0;
  for (std::ptrdiff_t k = 0; k < width; ++k)
    if (direction[k] != 0.0)
      largest = std::max(largest, std::fabs(all[std::size_t(k)])), most = std::max(most, std::fabs(direction[k]));
  const double step = most > 0.0 ? step_at(largest) / most : 1.0;
  for (std::ptrdiff_t k = 0; k < width; ++k)
    all[std::size_t(k)] += part * step * direction[k];
  std::copy(all.begin(), all.begin() + m.parameter_count, parameters);
  if (m.recipes.numbers)
    model = with_parameters(m, all.data() + m.parameter_count, own);
  return step;
}

// accelerations, rates of element states and multipliers `part` of a step along a direction; false if the host has failed
static bool stepped(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s,
                    Direction direction, int number, double part, bool multipliers, double &step, double *found) {
  const int nv = m.nv, nx = m.nx, nc = m.nc;
  double *q = work.shifted, *v = q + m.nq, *tau = v + nv, *x = tau + nv, *inputs = x + nx, *parameters = inputs + m.input_count;
  Conditions changed = c;
  SystemState<double> state = s;
  VariantTables own;
  ModelData model = m;
  step = 1e-6;
  const auto shifted = [&](double *to, const double *from, int size, bool mine) {
    for (int k = 0; k < size; ++k)
      to[k] = from ? from[k] : 0.0;
    if (mine) {
      step = step_at(to[number]);
      to[number] += part * step;
    }
    return to;
  };
  if (direction == Direction::position) {
    for (int f = 0; f < nv; ++f)
      v[f] = f == number ? part * step : 0.0;
    integrate<double>(m, s.q, v, q);
    state.q = q;
  }
  state.v = shifted(v, s.v, nv, direction == Direction::velocity);
  state.x = shifted(x, s.x, nx, direction == Direction::state);
  if (direction == Direction::force)
    state.tau = shifted(tau, s.tau, nv, true);
  if (direction == Direction::time)
    step = step_at(s.t), state.t = s.t + part * step;
  if (direction == Direction::parameter)
    step = step_along(m, c, work, number, part, parameters, own, model), changed.parameters = parameters;
  if (direction == Direction::input) {
    for (int k = 0; k < m.input_count; ++k)
      inputs[k] = work.inputs[k].value;
    step = step_at(inputs[number]);
    inputs[number] += part * step;
    state.inputs = inputs;
  }
  if (!dynamics(model, changed, motion, state, found, found + nv))
    return false;
  if (nc && multipliers) { // of least norm
    connection_loads(model, changed, motion.system, motion.loads, state, found);
    std::memcpy(found + nv + nx, motion.loads.lambda, std::size_t(nc) * sizeof(double));
  }
  return true;
}

// All derivatives of a kind by differences of the equations of motion: central ones; at the end of a table, beyond which there
// are no values, f' = (-3 f(0) + 4 f(h) - f(2h)) / 2h on the side that has some.
static bool differences(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s,
                        Direction direction, const DerivativeBlock &out) {
  const int n = directions_of(m, work, direction), nv = m.nv, nx = m.nx, nc = m.nc;
  const int size = nv + nx + (nc && out.lambda ? nc : 0);
  for (int number = 0; number < n; ++number) {
    double step = 1e-6;
    const auto take = [&](double part, double *found) {
      return stepped(m, c, motion, work, s, direction, number, part, out.lambda != nullptr, step, found);
    };
    const auto finite = [&](const double *found) { return std::all_of(found, found + size, [](double x) { return std::isfinite(x); }); };
    if (!take(1.0, work.above) || !take(-1.0, work.below))
      return false;
    if (const bool up = finite(work.above); up != finite(work.below)) {
      double *one = up ? work.above : work.below, *other = up ? work.below : work.above;
      if (!take(0.0, other))
        return false;
      for (int k = 0; k < size; ++k)
        one[k] = 4.0 * one[k] - 3.0 * other[k];
      if (!take(up ? 2.0 : -2.0, other))
        return false;
    }
    const auto put = [&](double *to, int rows, int from) {
      for (int r = 0; to && r < rows; ++r)
        to[std::ptrdiff_t(r) * n + number] = (work.above[from + r] - work.below[from + r]) / (2.0 * step);
    };
    put(out.a, nv, 0);
    put(out.dx, nx, nv);
    put(out.lambda, nc, nv + nx);
  }
  return true;
}

// ---- all of them

// columns of `count` lanes, from lane `from` on
static void put_columns(const ModelData &m, const DerivativesWorkspace &work, const DerivativeBlock &out, int n, int first, int count, int from = 0) {
  const auto put = [&](double *to, const double *columns, int rows) {
    for (int r = 0; to && r < rows; ++r)
      for (int l = 0; l < count; ++l)
        to[std::ptrdiff_t(r) * n + first + l] = columns[std::ptrdiff_t(from + l) * rows + r];
  };
  put(out.a, work.da, m.nv);
  put(out.dx, work.ddx, m.nx);
  put(out.lambda, work.dlambda, m.nc);
}

// Whether dual numbers do not know all of it: laws that are evaluated outside have no third rate, and may look at the
// state; stabilisation adds to the rows.
static bool needs_differences(const ModelData &m, const Conditions &c, Direction direction) {
  if (m.nc && (c.stabilization[0] != 0.0 || c.stabilization[1] != 0.0))
    return true;
  if (!c.callbacks || !m.hosted_laws)
    return false;
  const bool of_state = direction == Direction::position || direction == Direction::velocity || direction == Direction::state;
  return direction == Direction::time || (of_state && c.callbacks->depends_on_state);
}

// all columns of a kind by (1) and (2)
static void exact_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s,
                          const Factored &factored, Direction direction, const DerivativeBlock &block) {
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

// whether positions and speeds have lanes enough to be varied together
static bool together(const ModelData &m, const Conditions &c, const DerivativeBlocks &out) {
  return 2 * m.nv <= W && !m.feedback_count && !host_varies(c, Direction::position) && out.of[int(Direction::position)].wanted() &&
         out.of[int(Direction::velocity)].wanted();
}

// columns by all positions, then by all speeds, at once
static void motion_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s,
                           const Factored &factored, const DerivativeBlocks &out) {
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

// ---- trees by recursions

// slopes of what elements give at hinges in room.duals.tau, of rates of their states in room.dx
static void apply_varied_elements(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s,
                                  Direction direction) {
  const SystemState<Dual> state = varied_state(c, work, s, direction);
  Workspace<Dual> &ws = work.duals.loops.ws;
  ws.t = state.t;
  std::fill_n(work.duals.tau, m.nv, Dual(0.0));
  apply_elements(m, ws, dual_context(c, motion, work, state, direction), state.q, state.v, work.duals.tau, work.duals.cut);
}

// whether what elements give at a freedom depends on nothing of the state but that freedom
static bool elements_apart(const ModelData &m) {
  if (W < 2 || m.nx || m.actuator_count)
    return false;
  for (int k = 0; k < m.element_count; ++k) {
    const ElementData &e = m.elements[k];
    const PortData &port = m.ports[e.port];
    if (e.ports != 1 || (port.coordinate >= 0 && port.coordinate != m.coordinate[port.dof]))
      return false;
    for (int i = e.input; i < e.input + e.inputs; ++i)
      if (m.inputs[i].source != Source::law)
        return false;
  }
  return true;
}

// takes from dR what such elements give: all positions are varied in one lane, all speeds in another
static void vary_elements_apart(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s) {
  const auto mark = [&](double slope) {
    for (int f = 0; f < m.nv; ++f) {
      if (m.coordinate[f] >= 0)
        work.q[m.coordinate[f]].slope.set(0, slope);
      work.v[f].slope.set(1, slope);
    }
  };
  mark(1.0);
  apply_varied_elements(m, c, motion, work, s, Direction::position);
  mark(0.0);
  for (int f = 0; f < m.nv; ++f) {
    work.by_q[std::ptrdiff_t(f) * (m.nv + 1)] -= work.duals.tau[f].slope[0];
    work.by_v[std::ptrdiff_t(f) * (m.nv + 1)] -= work.duals.tau[f].slope[1];
  }
}

// dR by positions and speeds, as far as elements are apart, and M^-1
static void walk_tree(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s, const double *a) {
  Workspace<double> &ws = motion.system.loops.ws;
  d_inverse_dynamics(m, ws, work.tree, s.q, s.v, a, nullptr, work.by_q, work.by_v, work.inverse); // leaves the factors of M alone
  std::fill_n(work.inverse, std::ptrdiff_t(m.nv) * m.nv, 0.0);
  for (int f = 0; f < m.nv; ++f)
    work.inverse[std::ptrdiff_t(f) * (m.nv + 1)] = 1.0;
  if (m.nv <= max_inverted)
    solve_columns(m, ws, work.side, work.column, 1.0, work.inverse);
  if (m.element_count && elements_apart(m))
    vary_elements_apart(m, c, motion, work, s);
}

// takes what elements give at hinges from dR, nv x nv, and puts rates of their states
static void vary_elements(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s,
                          Direction direction, double *by, double *dx) {
  for (int first = 0; first < m.nv; first += W) {
    const int count = m.nv - first < W ? m.nv - first : W;
    seed(m, work, s, direction, first, count, true);
    apply_varied_elements(m, c, motion, work, s, direction);
    seed(m, work, s, direction, first, count, false);
    const auto each = [&](const Dual *slopes, int rows, double *to, double sign) {
      for (int r = 0; to && r < rows; ++r)
        for (int l = 0; l < count; ++l)
          to[std::ptrdiff_t(r) * m.nv + first + l] += sign * slopes[r].slope[l];
    };
    each(work.duals.tau, m.nv, by, -1.0);
    each(work.dx, m.nx, dx, 1.0);
  }
}

static void tree_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s,
                         Direction direction, const DerivativeBlock &block) {
  double *by = direction == Direction::position ? work.by_q : work.by_v;
  std::fill_n(block.dx, block.dx ? std::ptrdiff_t(m.nx) * m.nv : 0, 0.0);
  if (!elements_apart(m))
    vary_elements(m, c, motion, work, s, direction, by, block.dx);
  if (!block.a)
    return;
  if (m.nv <= max_inverted)
    minus_product(work.inverse, by, work.tile, m.nv);
  else
    solve_columns(m, motion.system.loops.ws, work.side, work.column, -1.0, by);
  std::copy_n(by, std::ptrdiff_t(m.nv) * m.nv, block.a);
}

// ---- whatever is wanted

bool derivatives(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work, const SystemState<double> &s, double *a,
                 const DerivativeBlocks &out) {
  if (!dynamics(m, c, motion, s, a, motion.system.unused))
    return false;
  hold_state(m, c, motion, work, s, a, motion.system.lambda);
  const Factored factored = m.nc ? factored_last(motion.system.loops) : Factored{Envelope::none, 0, 0, 0};
  bool exact = true, multipliers = false;
  if (m.feedback_count) // transmitted loads that are not unique are shared, which dual numbers do not know
    exact = !motion.loads.shares.states && vary_by_feedback(m, c, motion, work, s, factored);
  const bool of_state = out.of[int(Direction::position)].wanted() || out.of[int(Direction::velocity)].wanted();
  const bool recursions = of_state && by_recursions(m) && !c.acceleration_prescribed && !s.loads && !(c.callbacks && c.callbacks->gives_forces);
  if (recursions)
    walk_tree(m, c, motion, work, s, a);
  for (int kind = 0; kind < direction_kinds; ++kind) {
    const Direction direction = static_cast<Direction>(kind);
    multipliers = multipliers || (m.nc && out.of[kind].lambda);
    if (!out.of[kind].wanted() || !exact || needs_differences(m, c, direction))
      continue;
    if (recursions && (direction == Direction::position || direction == Direction::velocity))
      tree_columns(m, c, motion, work, s, direction, out.of[kind]);
    else if (direction == Direction::position && together(m, c, out))
      motion_columns(m, c, motion, work, s, factored, out);
    else if (direction != Direction::velocity || !together(m, c, out))
      exact_columns(m, c, motion, work, s, factored, direction, out.of[kind]);
  }
  if (multipliers) { // those that are not unique have the least norm
    if (!dynamics(m, c, motion, s, a, motion.system.unused))
      return false;
    connection_loads(m, c, motion.system, motion.loads, s, a);
    multipliers = motion.loads.shares.states > 0;
  }
  for (int kind = 0; kind < direction_kinds; ++kind) {
    const Direction direction = static_cast<Direction>(kind);
    DerivativeBlock block = out.of[kind];
    if (exact && !needs_differences(m, c, direction)) {
      if (!multipliers)
        continue;
      block.a = block.dx = nullptr;
    }
    if (block.wanted() && !differences(m, c, motion, work, s, direction, block))
      return false;
  }
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
