#include "contact/contact_lanes.hpp"
#include "contact/persistent_contacts.hpp"
#include "tree/forward_dynamics.hpp"
#include <algorithm>
#include <tuple>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr std::size_t most_slots = 16; // more are solved run by run
using P = Pack;

bool is_simple(const ContactRow &row) {
  return row.friction < 0 && !(row.static_friction > row.sliding_friction) && !(row.restitution > 0.0);
}

std::size_t at(int k) { return std::size_t(k); }

} // namespace

ContactLanes::Slot &ContactLanes::slot_of(std::int32_t stop, std::int32_t friction, const std::int32_t places[2],
                                          std::int32_t ordinal) {
  for (Slot &slot : slots)
    if (slot.stop == stop && slot.friction == friction && slot.places[0] == places[0] && slot.places[1] == places[1] &&
        slot.ordinal == ordinal)
      return slot;
  Slot &slot = slots.emplace_back();
  slot.stop = stop, slot.friction = friction, slot.ordinal = ordinal;
  slot.places[0] = places[0], slot.places[1] = places[1];
  slot.row.fill(-1);
  return slot;
}

void ContactLanes::add(int lane, ContactSteps &c, const std::vector<ScenePoint> &found) {
  runs[lane] = &c, points[lane] = &found;
  constexpr std::int32_t none[2] = {-1, -1};
  if (std::all_of(c.rows.begin(), c.rows.end(), is_simple))
    simple |= 1u << lane;
  for (std::size_t k = 0; k < c.rows.size(); ++k) {
    const ContactRow &row = c.rows[k];
    const std::int32_t *places = row.point < 0 ? none : found[std::size_t(row.point)].places;
    std::int32_t ordinal = 0;
    while (slot_of(row.stop, row.friction, places, ordinal).row[at(lane)] >= 0)
      ++ordinal;
    slot_of(row.stop, row.friction, places, ordinal).row[at(lane)] = std::int32_t(k);
  }
}

// J of the slot on the block of a side; of a free body Y, too
void ContactLanes::fill(const ModelData &m, const Workspace<P> &ws, const Slot &slot, int side, bool free) {
  const ContactSteps *any = nullptr;
  P axes[9], ends[2][3];
  std::fill_n(axes, 9, P(0.0)), std::fill_n(ends[0], 3, P(0.0)), std::fill_n(ends[1], 3, P(0.0));
  for (int lane = 0; lane < W; ++lane) {
    if (slot.row[at(lane)] < 0)
      continue;
    any = runs[lane];
    const ContactRow &row = any->rows[at(slot.row[at(lane)])];
    if (row.point < 0)
      break;
    const ScenePoint &p = (*points[lane])[at(row.point)];
    for (int e = 0; e < 9; ++e)
      axes[e].set(lane, row.axes[e]);
    for (int e = 0; e < 3; ++e)
      ends[0][e].set(lane, p.on_first[e]), ends[1][e].set(lane, p.on_second[e]);
  }
  const int start = slot.start[side], size = slot.size[side];
  P *to_J = J.data() + slot.at[side], *to_Y = Y.data() + slot.at[side];
  if (slot.stop >= 0 || slot.friction >= 0) {
    const bool stops = slot.stop >= 0;
    const int dof = (stops ? any->stops[at(slot.stop)].dof : any->friction[at(slot.friction)].dof) - start;
    for (int lane = 0; lane < W; ++lane)
      if (slot.row[at(lane)] >= 0)
        to_J[stops ? 2 * size + dof : dof].set(lane, stops ? any->stops[at(slot.stop)].sign : 1.0);
    return;
  }
  for (int end = 0; end < 2; ++end) {
    const std::int32_t place = slot.places[end];
    if (any->block[at(place)] != slot.blocks[side])
      continue;
    const double sign = end ? 1.0 : -1.0;
    if (free)
      set_free_rows<P>(any->free_blocks[at(slot.blocks[side])], ws.X_W[place], ends[end], axes, sign, to_J, to_Y);
    else
      add_point_rows<P>(m, ws, place, ends[end], axes, sign, start, size, to_J);
  }
}

void ContactLanes::respond_to_slot(const ModelData &m, LoopWorkspace<P> &loops, const unsigned char *prescribed,
                                   Slot &slot) {
  int first = 0;
  while (slot.row[at(first)] < 0)
    ++first;
  const ContactSteps &c = *runs[first];
  const ContactRow &any = c.rows[at(slot.row[at(first)])];
  for (int side = 0; side < 2; ++side) {
    const std::int32_t block = slot.blocks[side] = any.blocks[side];
    slot.at[side] = J.size();
    if (block < 0)
      continue;
    const int start = slot.start[side] = c.block_start[at(block)],
              size = slot.size[side] = c.block_start[at(block) + 1] - start;
    J.resize(J.size() + 3 * at(size), P(0.0)), Y.resize(J.size(), P(0.0));
    const bool free = any.point >= 0 && responds_freely(c, block, prescribed);
    fill(m, loops.ws, slot, side, free);
    const P *own_J = J.data() + slot.at[side];
    P *own_Y = Y.data() + slot.at[side];
    for (int e = any.first(); e < any.last() && !free; ++e) {
      const auto stands = [&](int f) { return prescribed && prescribed[start + f]; };
      for (int f = 0; f < size; ++f)
        loops.x[start + f] = stands(f) ? P(0.0) : own_J[e * size + f];
      DALEMBERT_ISA::solve(m, loops.ws, loops.side, loops.x, loops.x, c.block_first[at(block)], c.block_last[at(block)],
                           prescribed);
      for (int f = 0; f < size; ++f)
        own_Y[e * size + f] = stands(f) ? P(0.0) : loops.x[start + f];
    }
  }
}

void ContactLanes::respond(const ModelData &m, LoopWorkspace<P> &loops, const unsigned char *prescribed) {
  // an order that does not depend on which run is in which lane
  std::sort(slots.begin(), slots.end(), [](const Slot &a, const Slot &b) {
    return std::tie(a.stop, a.friction, a.places[0], a.places[1], a.ordinal) <
           std::tie(b.stop, b.friction, b.places[0], b.places[1], b.ordinal);
  });
  J.clear(), Y.clear();
  for (Slot &slot : slots)
    respond_to_slot(m, loops, prescribed, slot);
}

void ContactLanes::give(int lane) {
  ContactSteps &own = *runs[lane];
  lay_out_rows(own);
  for (const Slot &slot : slots) {
    if (slot.row[at(lane)] < 0)
      continue;
    for (int side = 0; side < 2; ++side) {
      if (slot.blocks[side] < 0)
        continue;
      const std::size_t to = std::size_t(own.at[2 * at(slot.row[at(lane)]) + at(side)]);
      for (std::size_t k = 0; k < 3 * at(slot.size[side]); ++k)
        own.J[to + k] = J[slot.at[side] + k][lane], own.Y[to + k] = Y[slot.at[side] + k][lane];
    }
  }
}

// u += J v
void ContactLanes::add_velocity(const Slot &slot, const P *v, P u[3]) const {
  for (int side = 0; side < 2; ++side) {
    if (slot.blocks[side] < 0)
      continue;
    const P *own = J.data() + slot.at[side];
    for (int e = 0; e < 3; ++e, own += slot.size[side])
      for (int f = 0; f < slot.size[side]; ++f)
        u[e] = u[e] + own[f] * v[slot.start[side] + f];
  }
}

// D = J Y'
void ContactLanes::assemble() {
  const int m = int(slots.size()), n = 3 * m;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j <= i; ++j) {
      const Slot &a = slots[at(i)], &b = slots[at(j)];
      P sums[3][3];
      std::fill_n(sums[0], 3, P(0.0)), std::fill_n(sums[1], 3, P(0.0)), std::fill_n(sums[2], 3, P(0.0));
      for (int s = 0; s < 2; ++s)
        for (int t = 0; t < 2; ++t) {
          if (a.blocks[s] < 0 || a.blocks[s] != b.blocks[t])
            continue;
          const int size = a.size[s];
          const P *rows = J.data() + a.at[s], *columns = Y.data() + b.at[t];
          for (int f = 0; f < size; ++f)
            for (int r = 0; r < 3; ++r)
              for (int c = 0; c < 3; ++c)
                sums[r][c] = sums[r][c] + rows[r * size + f] * columns[c * size + f];
        }
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) {
          cones.D[at((3 * i + r) * n + 3 * j + c)] = sums[r][c];
          if (i != j)
            cones.D[at((3 * j + c) * n + 3 * i + r)] = sums[r][c];
        }
    }
}

// c_n of (4) of steppers/methods/moreau.hpp, friction, and the impulses of the last step to begin with
void ContactLanes::set_conditions(const P *before, double h, double closed, double impact_speed) {
  bias.assign(3 * slots.size(), P(0.0)), u_before.assign(3 * slots.size(), P(0.0));
  for (std::size_t k = 0; k < slots.size(); ++k) {
    const Slot &slot = slots[k];
    add_velocity(slot, before, u_before.data() + 3 * k);
    for (int lane = 0; lane < W; ++lane) {
      if (!(simple >> lane & 1u) || slot.row[at(lane)] < 0)
        continue;
      ContactRow &row = runs[lane]->rows[at(slot.row[at(lane)])];
      const double u[3] = {u_before[3 * k][lane], u_before[3 * k + 1][lane], u_before[3 * k + 2][lane]};
      set_drift(row, u, h, closed, impact_speed);
      row.approach = u[2] - row.drift[2];
      const double gap = row.closing_gap(h);
      for (std::size_t e = 0; e < 3; ++e)
        bias[3 * k + e].set(lane, row.drift[e] + (e == 2 && gap > closed ? gap / h : 0.0));
      cones.mu[k].set(lane, row.mu);
      for (std::size_t e = 0; e < 3; ++e)
        cones.lam[3 * k + e].set(lane, row.start[e] * h);
    }
  }
}

unsigned ContactLanes::solve(const P *before, P *free, double h, double closed, double impact_speed) {
  unsigned all = 0;
  for (const Slot &slot : slots)
    for (int lane = 0; lane < W; ++lane)
      all |= slot.row[at(lane)] >= 0 ? 1u << lane : 0u;
  unsigned solved = 0;
  const std::size_t n = 3 * slots.size();
  if (simple && slots.size() <= most_slots) {
    cones.reserve(int(slots.size()));
    assemble();
    set_conditions(before, h, closed, impact_speed);
    for (std::size_t k = 0; k < slots.size(); ++k) {
      P *b = cones.b.data() + 3 * k;
      std::copy_n(bias.data() + 3 * k, 3, b);
      add_velocity(slots[k], free, b);
    }
    int steps[W] = {};
    solved = simple & ~cones.solve(simple, runs[__builtin_ctz(simple)]->tolerance, steps);
    for (std::size_t r = 0; r < n; ++r)
      for (int lane = 0; lane < W; ++lane)
        if (!(solved >> lane & 1u))
          cones.lam[r].set(lane, 0.0);
    for (std::size_t k = 0; k < slots.size(); ++k)
      for (int side = 0; side < 2; ++side) {
        const Slot &slot = slots[k];
        if (slot.blocks[side] < 0)
          continue;
        const int size = slot.size[side];
        const P *own = Y.data() + slot.at[side], *lam = cones.lam.data() + 3 * k;
        for (int f = 0; f < size; ++f)
          free[slot.start[side] + f] = free[slot.start[side] + f] + own[f] * lam[0] + own[size + f] * lam[1] +
                                       own[2 * size + f] * lam[2];
      }
    for (int lane = 0; lane < W; ++lane) {
      if (!(solved >> lane & 1u))
        continue;
      ContactSteps &own = *runs[lane];
      own.newton_steps += steps[lane];
      own.lam.resize(3 * own.rows.size()), own.u_before.resize(own.lam.size()), own.u_after.resize(own.lam.size());
      for (std::size_t k = 0; k < slots.size(); ++k) {
        if (slots[k].row[at(lane)] < 0)
          continue;
        const std::size_t to = 3 * at(slots[k].row[at(lane)]);
        for (std::size_t e = 0; e < 3; ++e) {
          own.lam[to + e] = cones.lam[3 * k + e][lane];
          own.u_before[to + e] = u_before[3 * k + e][lane];
          own.u_after[to + e] = cones.u[3 * k + e][lane] - bias[3 * k + e][lane];
        }
      }
    }
  }
  for (int lane = 0; lane < W; ++lane)
    if ((all & ~solved) >> lane & 1u)
      give(lane);
  return solved;
}

} // namespace dalembert::DALEMBERT_ISA
