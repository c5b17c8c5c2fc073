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
constexpr int most_inverted = 16;

// how many directions there are of a kind
static int directions_of(const ModelData &m, const DerivativesRoom &room, Direction direction) {
  switch (direction) {
  case Direction::position:
  case Direction::speed:
  case Direction::force:
    return m.nv;
  case Direction::state:
    return m.nx;
  case Direction::input:
    return m.input_count;
  case Direction::time:
    return 1;
  case Direction::parameter:
    return room.along.count;
  }
  return 0;
}

constexpr std::size_t most_kept = std::size_t(4) << 20; // bytes of numbers that are kept

static std::size_t lay_out(const ModelData &m, std::byte *base, KeptDirections &kept, int directions) {
  Arena arena{base};
  Numbers<Dual> one;
  kept.each = lay_out(m, nullptr, one);
  kept.slots = int(std::min(std::size_t(directions + W - 1) / W, std::max<std::size_t>(1, most_kept / (kept.each + 1))));
  const std::size_t slots = std::size_t(kept.slots);
  kept.holds = arena.take<std::int32_t>(slots);
  kept.own = arena.take<unsigned char>(slots);
  kept.parameters = arena.take<Pack>(slots * std::size_t(m.parameter_count));
  kept.memory = arena.take<std::byte>(slots * kept.each);
  return arena.used;
}

// Whether recursions vary positions and speeds: elements see none of the bodies, and nothing else is hung on them.
static bool by_recursions(const ModelData &m) {
  return !m.chord_count && !m.modal_count && !m.custom_hinges && !m.feedback_count && !m.looks_at_bodies && !m.lent;
}

void forget_directions(DerivativesRoom &room) { std::fill_n(room.kept.holds, room.kept.slots, -1); }

std::size_t lay_out(const ModelData &m, std::byte *base, DerivativesRoom &room, int directions) {
  Arena arena{base};
  arena.skip(lay_out(m, base, room.duals));
  const std::size_t nq = std::size_t(m.nq), nv = std::size_t(m.nv), nx = std::size_t(m.nx), nc = std::size_t(m.nc);
  const std::size_t nz = std::size_t(m.feedback_count), inputs = std::size_t(m.input_count);
  room.q = arena.take<Dual>(nq);
  for (Dual **each : {&room.v, &room.a})
    *each = arena.take<Dual>(nv);
  for (Dual **each : {&room.x, &room.dx})
    *each = arena.take<Dual>(nx);
  for (Dual **each : {&room.lambda, &room.seconds})
    *each = arena.take<Dual>(nc);
  for (Dual **each : {&room.inputs, &room.settings})
    *each = arena.take<Dual>(inputs);
  room.parameters = arena.take<Dual>(std::size_t(m.parameter_count));
  room.own = arena.take<Dual>(std::size_t(m.recipes.numbers));
  arena.skip(lay_out(m, arena.here(), room.kept, directions));
  room.along = {};
  room.body_loads = arena.take<Dual>(6 * std::size_t(m.users));
  room.loads = arena.take<Dual>(nz ? 6 * std::size_t(connection_count(m)) : 0);
  room.z = arena.take<Dual>(nz);
  room.side = take_side<Pack>(m, arena);
  room.column = arena.take<Pack>(nv);
  room.da = arena.take<double>(W * nv);
  room.dlambda = arena.take<double>(W * nc);
  room.ddx = arena.take<double>(W * nx);
  room.dz = arena.take<double>(W * nz);
  room.z_a = arena.take<double>(nz * nv);
  room.z_lambda = arena.take<double>(nz * nc);
  room.z_dx = arena.take<double>(nz * nx);
  room.z_matrix = arena.take<double>(nz * nz);
  room.exchange = arena.take<std::int32_t>(nz);
  room.shifted = arena.take<double>(nq + 2 * nv + nx + inputs + std::size_t(m.parameter_count));
  room.above = arena.take<double>(2 * nv + nx + nc);
  room.below = arena.take<double>(2 * nv + nx + nc);
  if (by_recursions(m))
    arena.skip(lay_out(m, arena.here(), room.tree));
  for (double **each : {&room.by_q, &room.by_v, &room.inverse})
    *each = arena.take<double>(by_recursions(m) ? nv * nv : 0);
  room.tile = arena.take<double>(by_recursions(m) && m.nv <= most_inverted ? nv * std::size_t(padded(m.nv)) : 0);
  return arena.used;
}

// ---- what is varied

void hold_state(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s, const double *a,
                const double *lambda) {
  for (int k = 0; k < m.nq; ++k)
    room.q[k] = s.q[k];
  for (int f = 0; f < m.nv; ++f) {
    room.v[f] = s.v[f];
    room.a[f] = a[f];
    room.duals.control[f] = motion.system.control[f];
  }
  for (int k = 0; k < m.nx; ++k)
    room.x[k] = s.x[k];
  for (int i = 0; i < m.nc; ++i)
    room.lambda[i] = lambda[i];
  for (int k = 0; k < m.parameter_count; ++k)
    room.parameters[k] = c.parameters[k];
  if (room.along.count && m.recipes.numbers)
    room.varied = m;
  for (int k = 0; s.inputs && k < m.input_count; ++k)
    room.settings[k] = s.inputs[k];
  for (int k = 0; k < m.element_count; ++k) { // inputs by their laws, unless they are set
    const ElementData &e = m.elements[k];
    for (int i = e.input; i < e.input + e.inputs; ++i)
      if (m.inputs[i].source == Source::law) {
        const int part = m.inputs[i].part;
        const bool given = s.inputs && s.inputs[part] == s.inputs[part];
        room.inputs[part] = given ? s.inputs[part] : law_at(m, m.inputs[i].place, s.t, motion.system.hosted).value;
      }
  }
  const double *pushed = c.host && c.host->pushes ? motion.system.loads : nullptr;
  for (int k = 0; k < 6 * m.users; ++k)
    room.body_loads[k] = (pushed ? pushed[k] : 0.0) + (s.loads ? s.loads[k] : 0.0);
  for (int k = 0; k < m.feedback_count; ++k)
    room.duals.feedback[k] = motion.system.feedback[k];
  std::memcpy(room.duals.hosted, motion.system.hosted, 3 * std::size_t(m.hosted_laws) * sizeof(double));
}

static void look_at(const ModelData &m, DerivativesRoom &room, int slot) {
  lay_out(m, room.kept.memory + std::size_t(slot) * room.kept.each, room.numbers);
}

// the slot in which directions [first, first + count) of parameters stand
static int slot_of(const ModelData &m, DerivativesRoom &room, int first, int count) {
  KeptDirections &kept = room.kept;
  const int chunk = first / W, slot = chunk % kept.slots;
  if (kept.holds[slot] == chunk)
    return slot;
  kept.holds[slot] = chunk;
  const std::ptrdiff_t width = m.parameter_count + m.recipes.numbers;
  bool own = false;
  for (std::ptrdiff_t k = 0; k < width; ++k) {
    Pack slope(0.0);
    for (int l = 0; l < count; ++l)
      slope.set(l, room.along.rows[(first + l) * width + k]);
    if (k < m.parameter_count) {
      kept.parameters[std::ptrdiff_t(slot) * m.parameter_count + k] = slope;
      continue;
    }
    room.own[k - m.parameter_count] = Dual(m.recipes.number[k - m.parameter_count], slope);
    for (int l = 0; l < count; ++l)
      own = own || slope[l] != 0.0;
  }
  kept.own[slot] = own;
  if (own) {
    look_at(m, room, slot);
    start_numbers(m, room.numbers);
    follow_numbers(m, room.own, room.numbers);
  }
  return slot;
}

// The model as directions [first, first + count) vary it: with numbers in place of its tables where own numbers vary.
static const ModelData &varied_model(const ModelData &m, DerivativesRoom &room, Direction direction, int first, int count) {
  if (direction != Direction::parameter || !m.recipes.numbers)
    return m;
  const int slot = slot_of(m, room, first, count);
  if (!room.kept.own[slot])
    return m;
  look_at(m, room, slot);
  room.varied.varied = &room.numbers;
  return room.varied;
}

// slopes of the parameters of elements
static void seed_parameters(const ModelData &m, DerivativesRoom &room, int first, int count, bool on) {
  const Pack *slopes = room.kept.parameters + std::ptrdiff_t(slot_of(m, room, first, count)) * m.parameter_count;
  for (int k = 0; k < m.parameter_count; ++k)
    room.parameters[k].slope = on ? slopes[k] : Pack(0.0);
}

// slopes of what is varied, in lanes [0, count); or none any more
static void seed(const ModelData &m, DerivativesRoom &room, const StateOf<double> &s, Direction direction, int first, int count, bool on) {
  const auto set = [&](Dual *numbers) {
    for (int l = 0; l < count; ++l) {
      numbers[first + l].slope = Pack(0.0);
      numbers[first + l].slope.set(l, on ? 1.0 : 0.0);
    }
  };
  switch (direction) {
  case Direction::position:
    return seed_directions(m, s.q, room.q, first, count, on);
  case Direction::speed:
    return set(room.v);
  case Direction::state:
    return set(room.x);
  case Direction::input:
    return set(room.inputs);
  case Direction::parameter:
    return seed_parameters(m, room, first, count, on);
  case Direction::force:
  case Direction::time:
    return;
  }
}

// the state as it is varied
static StateOf<Dual> varied_state(const Conditions &c, DerivativesRoom &room, const StateOf<double> &s, Direction direction) {
  StateOf<Dual> state{Dual(s.t), room.q, room.v, room.x};
  if (s.loads || (c.host && c.host->pushes)) // they keep their direction, and act at points that move
    state.loads = room.body_loads;
  if (direction == Direction::time)
    state.t.slope.set(0, 1.0);
  if (direction == Direction::input || s.inputs)
    state.inputs = direction == Direction::input ? room.inputs : room.settings;
  return state;
}

static Surroundings<Dual> varied_surroundings(const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<Dual> &state,
                                              Direction direction) {
  Surroundings<Dual> at = surroundings(c, room.duals, state, room.dx);
  at.numbers = motion.system.numbers;
  if (direction == Direction::parameter)
    at.varied = room.parameters;
  return at;
}

// What the host gives beside the state, in hinge forces: a difference, as nothing else is known of it.
static void vary_host(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s,
                      Direction direction, int number, int lane) {
  double *q = room.shifted, *v = q + m.nq, *x = v + m.nv;
  const double at = direction == Direction::speed ? s.v[number] : direction == Direction::state ? s.x[number] : 0.0, step = step_at(at);
  for (int side = 0; side < 2; ++side) {
    const double shift = side ? -step : step;
    for (int f = 0; f < m.nv; ++f)
      v[f] = direction == Direction::position && f == number ? shift : 0.0;
    if (direction == Direction::position)
      integrate<double>(m, s.q, v, q);
    else
      std::memcpy(q, s.q, std::size_t(m.nq) * sizeof(double));
    for (int f = 0; f < m.nv; ++f)
      v[f] = s.v[f] + (direction == Direction::speed && f == number ? shift : 0.0);
    for (int k = 0; k < m.nx; ++k)
      x[k] = s.x[k] + (direction == Direction::state && k == number ? shift : 0.0);
    const double t = direction == Direction::time ? s.t + shift : s.t;
    c.host->evaluate(c.host->self, t, q, v, x, motion.system.hosted, side ? room.below : room.above, motion.system.loads);
  }
  for (int k = 0; k < m.actuator_count; ++k) // what is clipped does not vary
    if (const int f = m.ports[m.actuators[k].port].freedom; f >= 0 && given_part(m.actuators[k], motion.system.asked[k]) < 1.0)
      room.above[f] = room.below[f] = 0.0;
  for (int f = 0; f < m.nv; ++f)
    room.column[f].set(lane, room.column[f][lane] + (room.above[f] - room.below[f]) / (2.0 * step));
  std::memcpy(motion.system.hosted, room.duals.hosted, 3 * std::size_t(m.hosted_laws) * sizeof(double));
}

static bool host_varies(const Conditions &c, Direction direction) {
  return c.host && c.host->pushes &&
         (direction == Direction::position || direction == Direction::speed || direction == Direction::state || direction == Direction::time);
}

// -dR of (1) in room.column, and what else `vary` gives, of what has been seeded
static void vary_seeded(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s,
                        Direction direction, int first, int count) {
  const ModelData &model = varied_model(m, room, direction, first, count);
  const bool moves = &model != &m || direction == Direction::time;
  const StateOf<Dual> state = varied_state(c, room, s, direction);
  if (moves && !s.prescribed)
    prescribe(model, c.given, state.t, room.duals.hosted, room.a);
  balance(model, c, room.duals, varied_surroundings(c, motion, room, state, direction), state, room.a, room.lambda, m.nc ? room.seconds : nullptr,
          false);
  for (int f = 0; f < m.nv; ++f)
    room.column[f] = room.duals.tau[f].slope - room.duals.passed[f].slope;
  if (moves && m.nc) {
    set_targets(model, state.t, room.duals.hosted, room.duals.targets);
    for (int i = 0; i < m.nc; ++i)
      room.seconds[i] = room.seconds[i] - room.duals.targets[2 * m.nc + i];
  }
}

void vary(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s, Direction direction,
          int first, int count) {
  seed(m, room, s, direction, first, count, true);
  vary_seeded(m, c, motion, room, s, direction, first, count);
  for (int l = 0; host_varies(c, direction) && l < count; ++l)
    vary_host(m, c, motion, room, s, direction, first + l, l);
  seed(m, room, s, direction, first, count, false);
}

// ---- (1)

// columns of da, dlambda and ddx for what has been varied
static void solve_columns(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const Factored &factored, int count) {
  LoopRoom<double> &loops = motion.system.loops;
  solve(m, loops.ws, room.side, room.column, room.column, 1, m.nb, c.given);
  for (int l = 0; l < count; ++l) {
    double *da = room.da + std::ptrdiff_t(l) * m.nv, *dlambda = room.dlambda + std::ptrdiff_t(l) * m.nc;
    for (int f = 0; f < m.nv; ++f)
      da[f] = room.column[f][l];
    for (int i = 0; i < m.nc; ++i)
      dlambda[i] = 0.0;
    for (int k = 0; k < m.chord_count; ++k) {
      const ChordData &chord = m.chords[k];
      for (int j = 0; j < chord.rows; ++j) {
        const double *row = loops.values + chord.values + std::ptrdiff_t(j) * chord.supports;
        double sum = room.seconds[chord.row + j].slope[l];
        for (int i = 0; i < chord.supports; ++i)
          sum += row[i] * da[m.support[chord.support + i]];
        loops.rhs[chord.row + j] = -sum;
      }
    }
    if (m.nc)
      correct_by(m, loops, factored, da, dlambda);
    take_back(m, loops, factored, c.given, da, dlambda);
    for (int f = 0; c.given && f < m.nv; ++f)
      if (c.given[f])
        da[f] = room.a[f].slope[l];
    for (int k = 0; k < m.nx; ++k)
      room.ddx[std::ptrdiff_t(l) * m.nx + k] = room.dx[k].slope[l];
  }
  for (int f = 0; c.given && f < m.nv; ++f)
    room.a[f].slope = Pack(0.0);
}

// unit hinge forces: nothing has to be varied
static void push_directions(const ModelData &m, DerivativesRoom &room, int first, int count) {
  for (int f = 0; f < m.nv; ++f) {
    room.column[f] = Pack(0.0);
    if (f >= first && f < first + count)
      room.column[f].set(f - first, 1.0);
  }
  for (int i = 0; i < m.nc; ++i)
    room.seconds[i] = Dual(0.0);
  for (int k = 0; k < m.nx; ++k)
    room.dx[k] = Dual(0.0);
}

// ---- (2)

// slopes of the transmitted loads along the columns of (1): dT in room.dz
static void vary_transmitted(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s,
                             Direction direction, int first, int count) {
  seed(m, room, s, direction, first, count, true);
  for (int l = 0; l < count; ++l) {
    for (int f = 0; f < m.nv; ++f)
      room.a[f].slope.set(l, room.da[std::ptrdiff_t(l) * m.nv + f]);
    for (int i = 0; i < m.nc; ++i)
      room.lambda[i].slope.set(l, room.dlambda[std::ptrdiff_t(l) * m.nc + i]);
  }
  const ModelData &model = varied_model(m, room, direction, first, count);
  const StateOf<Dual> state = varied_state(c, room, s, direction);
  balance(model, c, room.duals, varied_surroundings(c, motion, room, state, direction), state, room.a, room.lambda, static_cast<Dual *>(nullptr));
  hinge_loads(model, room.duals.loops.ws, room.loads);
  chord_loads(model, c, room.duals, room.lambda, room.loads + 6 * std::ptrdiff_t(m.users));
  take_feedback(model, room.duals.loops.ws, room.loads, room.z);
  for (int l = 0; l < count; ++l)
    for (int k = 0; k < m.feedback_count; ++k)
      room.dz[std::ptrdiff_t(l) * m.feedback_count + k] = room.z[k].slope[l];
  for (int f = 0; f < m.nv; ++f)
    room.a[f].slope = Pack(0.0);
  for (int i = 0; i < m.nc; ++i)
    room.lambda[i].slope = Pack(0.0);
  seed(m, room, s, direction, first, count, false);
}

// columns by z itself, and 1 - dT/dz with its factors
static bool vary_by_feedback(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s,
                             const Factored &factored) {
  const int n = m.feedback_count;
  for (int first = 0; first < n; first += W) {
    const int count = n - first < W ? n - first : W;
    const auto mark = [&](bool on) {
      for (int l = 0; l < count; ++l)
        room.duals.feedback[first + l].slope.set(l, on ? 1.0 : 0.0);
    };
    mark(true);
    vary(m, c, motion, room, s, Direction::force, 0, 0); // nothing but z
    solve_columns(m, c, motion, room, factored, count);
    vary_transmitted(m, c, motion, room, s, Direction::force, 0, count);
    mark(false);
    for (int l = 0; l < count; ++l) {
      const int j = first + l;
      std::memcpy(room.z_a + std::ptrdiff_t(j) * m.nv, room.da + std::ptrdiff_t(l) * m.nv, std::size_t(m.nv) * sizeof(double));
      std::memcpy(room.z_lambda + std::ptrdiff_t(j) * m.nc, room.dlambda + std::ptrdiff_t(l) * m.nc, std::size_t(m.nc) * sizeof(double));
      std::memcpy(room.z_dx + std::ptrdiff_t(j) * m.nx, room.ddx + std::ptrdiff_t(l) * m.nx, std::size_t(m.nx) * sizeof(double));
      for (int i = 0; i < n; ++i)
        room.z_matrix[std::ptrdiff_t(i) * n + j] = (i == j ? 1.0 : 0.0) - room.dz[std::ptrdiff_t(l) * n + i];
    }
  }
  return factor_lu(room.z_matrix, room.exchange, n);
}

static void add_feedback(const ModelData &m, DerivativesRoom &room, int count) {
  const int n = m.feedback_count;
  for (int l = 0; l < count; ++l) {
    double *dz = room.dz + std::ptrdiff_t(l) * n;
    solve_lu(room.z_matrix, room.exchange, n, dz);
    for (int j = 0; j < n; ++j) {
      for (int f = 0; f < m.nv; ++f)
        room.da[std::ptrdiff_t(l) * m.nv + f] += dz[j] * room.z_a[std::ptrdiff_t(j) * m.nv + f];
      for (int i = 0; i < m.nc; ++i)
        room.dlambda[std::ptrdiff_t(l) * m.nc + i] += dz[j] * room.z_lambda[std::ptrdiff_t(j) * m.nc + i];
      for (int k = 0; k < m.nx; ++k)
        room.ddx[std::ptrdiff_t(l) * m.nx + k] += dz[j] * room.z_dx[std::ptrdiff_t(j) * m.nx + k];
    }
  }
}

// ---- differences

// a step along a direction of parameters: the model and its parameters there. Own numbers need tables of their own, which
// are made here, in the one kernel that asks for memory: it serves where nothing else does.
static double step_along(const ModelData &m, const Conditions &c, const DerivativesRoom &room, int number, double part, double *parameters,
                         VariedTables &own, ModelData &model) {
  const std::ptrdiff_t width = m.parameter_count + m.recipes.numbers;
  const double *direction = room.along.rows + number * width;
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
    model = with_numbers(m, all.data() + m.parameter_count, own);
  return step;
}

// accelerations, rates of element states and multipliers `part` of a step along a direction; false if the host has failed
static bool stepped(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s,
                    Direction direction, int number, double part, bool multipliers, double &step, double *found) {
  const int nv = m.nv, nx = m.nx, nc = m.nc;
  double *q = room.shifted, *v = q + m.nq, *tau = v + nv, *x = tau + nv, *inputs = x + nx, *parameters = inputs + m.input_count;
  Conditions changed = c;
  StateOf<double> state = s;
  VariedTables own;
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
  state.v = shifted(v, s.v, nv, direction == Direction::speed);
  state.x = shifted(x, s.x, nx, direction == Direction::state);
  if (direction == Direction::force)
    state.tau = shifted(tau, s.tau, nv, true);
  if (direction == Direction::time)
    step = step_at(s.t), state.t = s.t + part * step;
  if (direction == Direction::parameter)
    step = step_along(m, c, room, number, part, parameters, own, model), changed.parameters = parameters;
  if (direction == Direction::input) {
    for (int k = 0; k < m.input_count; ++k)
      inputs[k] = room.inputs[k].value;
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
static bool differences(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s,
                        Direction direction, const DerivativeBlock &out) {
  const int n = directions_of(m, room, direction), nv = m.nv, nx = m.nx, nc = m.nc;
  const int size = nv + nx + (nc && out.lambda ? nc : 0);
  for (int number = 0; number < n; ++number) {
    double step = 1e-6;
    const auto take = [&](double part, double *found) {
      return stepped(m, c, motion, room, s, direction, number, part, out.lambda != nullptr, step, found);
    };
    const auto finite = [&](const double *found) { return std::all_of(found, found + size, [](double x) { return std::isfinite(x); }); };
    if (!take(1.0, room.above) || !take(-1.0, room.below))
      return false;
    if (const bool up = finite(room.above); up != finite(room.below)) {
      double *one = up ? room.above : room.below, *other = up ? room.below : room.above;
      if (!take(0.0, other))
        return false;
      for (int k = 0; k < size; ++k)
        one[k] = 4.0 * one[k] - 3.0 * other[k];
      if (!take(up ? 2.0 : -2.0, other))
        return false;
    }
    const auto put = [&](double *to, int rows, int from) {
      for (int r = 0; to && r < rows; ++r)
        to[std::ptrdiff_t(r) * n + number] = (room.above[from + r] - room.below[from + r]) / (2.0 * step);
    };
    put(out.a, nv, 0);
    put(out.dx, nx, nv);
    put(out.lambda, nc, nv + nx);
  }
  return true;
}

// ---- all of them

// columns of `count` lanes, from lane `from` on
static void put_columns(const ModelData &m, const DerivativesRoom &room, const DerivativeBlock &out, int n, int first, int count, int from = 0) {
  const auto put = [&](double *to, const double *columns, int rows) {
    for (int r = 0; to && r < rows; ++r)
      for (int l = 0; l < count; ++l)
        to[std::ptrdiff_t(r) * n + first + l] = columns[std::ptrdiff_t(from + l) * rows + r];
  };
  put(out.a, room.da, m.nv);
  put(out.dx, room.ddx, m.nx);
  put(out.lambda, room.dlambda, m.nc);
}

// Whether dual numbers do not know all of it: laws that are evaluated outside have no third rate, and may look at the
// state; stabilisation adds to the rows.
static bool needs_differences(const ModelData &m, const Conditions &c, Direction direction) {
  if (m.nc && (c.stabilization[0] != 0.0 || c.stabilization[1] != 0.0))
    return true;
  if (!c.host || !m.hosted_laws)
    return false;
  const bool of_state = direction == Direction::position || direction == Direction::speed || direction == Direction::state;
  return direction == Direction::time || (of_state && c.host->looks);
}

// all columns of a kind by (1) and (2)
static void exact_columns(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s,
                          const Factored &factored, Direction direction, const DerivativeBlock &block) {
  const int n = directions_of(m, room, direction);
  for (int first = 0; first < n; first += W) {
    const int count = n - first < W ? n - first : W;
    if (direction == Direction::force)
      push_directions(m, room, first, count);
    else
      vary(m, c, motion, room, s, direction, first, count);
    solve_columns(m, c, motion, room, factored, count);
    if (m.feedback_count) {
      vary_transmitted(m, c, motion, room, s, direction, first, count);
      add_feedback(m, room, count);
    }
    put_columns(m, room, block, n, first, count);
  }
}

// whether positions and speeds have lanes enough to be varied together
static bool together(const ModelData &m, const Conditions &c, const DerivativeBlocks &out) {
  return 2 * m.nv <= W && !m.feedback_count && !host_varies(c, Direction::position) && out.of[int(Direction::position)].wanted() &&
         out.of[int(Direction::speed)].wanted();
}

// columns by all positions, then by all speeds, at once
static void motion_columns(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s,
                           const Factored &factored, const DerivativeBlocks &out) {
  const auto mark = [&](bool on) {
    seed(m, room, s, Direction::position, 0, m.nv, on);
    for (int f = 0; f < m.nv; ++f)
      room.v[f].slope.set(m.nv + f, on ? 1.0 : 0.0);
  };
  mark(true);
  vary_seeded(m, c, motion, room, s, Direction::position, 0, m.nv);
  mark(false);
  solve_columns(m, c, motion, room, factored, 2 * m.nv);
  put_columns(m, room, out.of[int(Direction::position)], m.nv, 0, m.nv);
  put_columns(m, room, out.of[int(Direction::speed)], m.nv, 0, m.nv, m.nv);
}

// ---- trees by recursions

// slopes of what elements give at hinges in room.duals.tau, of rates of their states in room.dx
static void apply_varied_elements(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s,
                                  Direction direction) {
  const StateOf<Dual> state = varied_state(c, room, s, direction);
  Workspace<Dual> &ws = room.duals.loops.ws;
  ws.t = state.t;
  std::fill_n(room.duals.tau, m.nv, Dual(0.0));
  apply_elements(m, ws, varied_surroundings(c, motion, room, state, direction), state.q, state.v, room.duals.tau, room.duals.cut);
}

// whether what elements give at a freedom depends on nothing of the state but that freedom
static bool elements_apart(const ModelData &m) {
  if (W < 2 || m.nx || m.actuator_count)
    return false;
  for (int k = 0; k < m.element_count; ++k) {
    const ElementData &e = m.elements[k];
    const PortData &port = m.ports[e.port];
    if (e.ports != 1 || (port.coordinate >= 0 && port.coordinate != m.coordinate[port.freedom]))
      return false;
    for (int i = e.input; i < e.input + e.inputs; ++i)
      if (m.inputs[i].source != Source::law)
        return false;
  }
  return true;
}

// takes from dR what such elements give: all positions are varied in one lane, all speeds in another
static void vary_elements_apart(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s) {
  const auto mark = [&](double slope) {
    for (int f = 0; f < m.nv; ++f) {
      if (m.coordinate[f] >= 0)
        room.q[m.coordinate[f]].slope.set(0, slope);
      room.v[f].slope.set(1, slope);
    }
  };
  mark(1.0);
  apply_varied_elements(m, c, motion, room, s, Direction::position);
  mark(0.0);
  for (int f = 0; f < m.nv; ++f) {
    room.by_q[std::ptrdiff_t(f) * (m.nv + 1)] -= room.duals.tau[f].slope[0];
    room.by_v[std::ptrdiff_t(f) * (m.nv + 1)] -= room.duals.tau[f].slope[1];
  }
}

// dR by positions and speeds, as far as elements are apart, and M^-1
static void walk_tree(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s, const double *a) {
  Workspace<double> &ws = motion.system.loops.ws;
  d_inverse_dynamics(m, ws, room.tree, s.q, s.v, a, nullptr, room.by_q, room.by_v, room.inverse); // leaves the factors of M alone
  std::fill_n(room.inverse, std::ptrdiff_t(m.nv) * m.nv, 0.0);
  for (int f = 0; f < m.nv; ++f)
    room.inverse[std::ptrdiff_t(f) * (m.nv + 1)] = 1.0;
  if (m.nv <= most_inverted)
    solve_columns(m, ws, room.side, room.column, 1.0, room.inverse);
  if (m.element_count && elements_apart(m))
    vary_elements_apart(m, c, motion, room, s);
}

// takes what elements give at hinges from dR, nv x nv, and puts rates of their states
static void vary_elements(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s,
                          Direction direction, double *by, double *dx) {
  for (int first = 0; first < m.nv; first += W) {
    const int count = m.nv - first < W ? m.nv - first : W;
    seed(m, room, s, direction, first, count, true);
    apply_varied_elements(m, c, motion, room, s, direction);
    seed(m, room, s, direction, first, count, false);
    const auto each = [&](const Dual *slopes, int rows, double *to, double sign) {
      for (int r = 0; to && r < rows; ++r)
        for (int l = 0; l < count; ++l)
          to[std::ptrdiff_t(r) * m.nv + first + l] += sign * slopes[r].slope[l];
    };
    each(room.duals.tau, m.nv, by, -1.0);
    each(room.dx, m.nx, dx, 1.0);
  }
}

static void tree_columns(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s,
                         Direction direction, const DerivativeBlock &block) {
  double *by = direction == Direction::position ? room.by_q : room.by_v;
  std::fill_n(block.dx, block.dx ? std::ptrdiff_t(m.nx) * m.nv : 0, 0.0);
  if (!elements_apart(m))
    vary_elements(m, c, motion, room, s, direction, by, block.dx);
  if (!block.a)
    return;
  if (m.nv <= most_inverted)
    minus_product(room.inverse, by, room.tile, m.nv);
  else
    solve_columns(m, motion.system.loops.ws, room.side, room.column, -1.0, by);
  std::copy_n(by, std::ptrdiff_t(m.nv) * m.nv, block.a);
}

// ---- whatever is wanted

bool derivatives(const ModelData &m, const Conditions &c, MotionRoom &motion, DerivativesRoom &room, const StateOf<double> &s, double *a,
                 const DerivativeBlocks &out) {
  if (!dynamics(m, c, motion, s, a, motion.system.unused))
    return false;
  hold_state(m, c, motion, room, s, a, motion.system.lambda);
  const Factored factored = m.nc ? factored_last(motion.system.loops) : Factored{Envelope::none, 0, 0, 0};
  bool exact = true, multipliers = false;
  if (m.feedback_count) // transmitted loads that are not unique are shared, which dual numbers do not know
    exact = !motion.loads.shares.states && vary_by_feedback(m, c, motion, room, s, factored);
  const bool of_state = out.of[int(Direction::position)].wanted() || out.of[int(Direction::speed)].wanted();
  const bool recursions = of_state && by_recursions(m) && !c.given && !s.loads && !(c.host && c.host->pushes);
  if (recursions)
    walk_tree(m, c, motion, room, s, a);
  for (int kind = 0; kind < direction_kinds; ++kind) {
    const Direction direction = static_cast<Direction>(kind);
    multipliers = multipliers || (m.nc && out.of[kind].lambda);
    if (!out.of[kind].wanted() || !exact || needs_differences(m, c, direction))
      continue;
    if (recursions && (direction == Direction::position || direction == Direction::speed))
      tree_columns(m, c, motion, room, s, direction, out.of[kind]);
    else if (direction == Direction::position && together(m, c, out))
      motion_columns(m, c, motion, room, s, factored, out);
    else if (direction != Direction::speed || !together(m, c, out))
      exact_columns(m, c, motion, room, s, factored, direction, out.of[kind]);
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
    if (block.wanted() && !differences(m, c, motion, room, s, direction, block))
      return false;
  }
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
