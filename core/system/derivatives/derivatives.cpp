#include "system/derivatives/parts.hpp"
#include <algorithm>
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

// how many directions there are of a kind
int directions_of(const ModelData &m, const DerivativesWorkspace &work, Direction direction) {
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

// Whether recursions vary positions and velocities: elements see none of the bodies, and nothing else is hung on them.
bool by_recursions(const ModelData &m) {
  return !m.loop_constraint_count && !m.modal_count && !m.custom_joints && !m.feedback_count && !m.needs_body_motion &&
         !m.regularizing_inertia;
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
  work.own = arena.take<Dual>(std::size_t(m.parameter_maps.count));
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
  work.acting = arena.take<std::int32_t>(nx);
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

bool derivatives(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                 const SystemState<double> &s, double *a, const DerivativeBlocks &out) {
  if (!dynamics(m, c, motion, s, a, motion.system.unused))
    return false;
  hold_state(m, c, motion, work, s, a, motion.system.lambda);
  const Factored factored = m.nc ? factored_last(motion.system.loops) : Factored{Envelope::none, 0, 0, 0};
  bool exact = true, multipliers = false;
  if (m.feedback_count) // transmitted loads that are not unique are shared, which dual numbers do not know
    exact = !motion.loads.shares.states && vary_by_feedback(m, c, motion, work, s, factored);
  const bool of_state = out.of[int(Direction::position)].wanted() || out.of[int(Direction::velocity)].wanted();
  const bool recursions = of_state && by_recursions(m) && !c.acceleration_prescribed && !s.loads &&
                          !(c.callbacks && c.callbacks->gives_forces);
  if (recursions)
    walk_tree(m, c, motion, work, s, a);
  for (int kind = 0; kind < direction_kinds; ++kind) {
    const Direction direction = static_cast<Direction>(kind);
    multipliers = multipliers || (m.nc && out.of[kind].lambda);
    if (!out.of[kind].wanted() || !exact || needs_differences(m, c, direction))
      continue;
    if (recursions && (direction == Direction::position || direction == Direction::velocity))
      tree_columns(m, c, motion, work, s, direction, out.of[kind]);
    else if (direction == Direction::position && can_vary_together(m, c, out))
      motion_columns(m, c, motion, work, s, factored, out);
    else if (direction == Direction::state && m.contact_pair_count && !m.feedback_count)
      state_columns(m, c, motion, work, s, factored, out.of[kind]);
    else if (direction != Direction::velocity || !can_vary_together(m, c, out))
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
    if (block.wanted() && !difference_columns(m, c, motion, work, s, direction, block))
      return false;
  }
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
