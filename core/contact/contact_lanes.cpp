#include "contact/contact_lanes.hpp"
#include "tree/forward_dynamics.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

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
  lay_out_rows(c);
  constexpr std::int32_t none[2] = {-1, -1};
  for (std::size_t k = 0; k < c.rows.size(); ++k) {
    const ContactRow &row = c.rows[k];
    const std::int32_t *places = row.point < 0 ? none : found[std::size_t(row.point)].places;
    std::int32_t ordinal = 0;
    while (slot_of(row.stop, row.friction, places, ordinal).row[std::size_t(lane)] >= 0)
      ++ordinal;
    slot_of(row.stop, row.friction, places, ordinal).row[std::size_t(lane)] = std::int32_t(k);
  }
}

// J of the slot on a block; of a free body Y, too
void ContactLanes::fill(const ModelData &m, const Workspace<Pack> &ws, const unsigned char *, const Slot &slot,
                        std::int32_t block, bool free) {
  ContactSteps *any = nullptr;
  Pack axes[9], ends[2][3];
  std::fill_n(axes, 9, Pack(0.0)), std::fill_n(ends[0], 6, Pack(0.0));
  for (int lane = 0; lane < W; ++lane) {
    if (slot.row[std::size_t(lane)] < 0)
      continue;
    any = runs[lane];
    const ContactRow &row = any->rows[std::size_t(slot.row[std::size_t(lane)])];
    if (row.point < 0)
      break;
    const ScenePoint &p = (*points[lane])[std::size_t(row.point)];
    for (int e = 0; e < 9; ++e)
      axes[e].set(lane, row.axes[e]);
    for (int e = 0; e < 3; ++e)
      ends[0][e].set(lane, p.on_first[e]), ends[1][e].set(lane, p.on_second[e]);
  }
  const int start = any->block_start[std::size_t(block)], size = any->block_start[std::size_t(block) + 1] - start;
  J.assign(3 * std::size_t(size), Pack(0.0)), Y.assign(3 * std::size_t(size), Pack(0.0));
  if (slot.stop >= 0) {
    const JointStop &stop = any->stops[std::size_t(slot.stop)];
    J[std::size_t(2 * size + stop.dof - start)] = Pack(stop.sign);
    return;
  }
  if (slot.friction >= 0) {
    J[std::size_t(any->friction[std::size_t(slot.friction)].dof - start)] = Pack(1.0);
    return;
  }
  for (int end = 0; end < 2; ++end) {
    const std::int32_t place = slot.places[end];
    if (any->block[std::size_t(place)] != block)
      continue;
    const double sign = end ? 1.0 : -1.0;
    if (free)
      set_free_rows<Pack>(any->free_blocks[std::size_t(block)], ws.X_W[place], ends[end], axes, sign, J.data(),
                          Y.data());
    else
      add_point_rows<Pack>(m, ws, place, ends[end], axes, sign, start, size, J.data());
  }
}

void ContactLanes::respond_to_slot(const ModelData &m, LoopWorkspace<Pack> &loops, const unsigned char *prescribed,
                                   const Slot &slot) {
  int first = 0;
  while (slot.row[std::size_t(first)] < 0)
    ++first;
  const ContactSteps &c = *runs[first];
  const ContactRow &any = c.rows[std::size_t(slot.row[std::size_t(first)])];
  for (std::size_t side = 0; side < 2; ++side) {
    const std::int32_t block = any.blocks[side];
    if (block < 0)
      continue;
    const int start = c.block_start[std::size_t(block)], size = c.block_start[std::size_t(block) + 1] - start;
    const bool free = any.point >= 0 && responds_freely(c, block, prescribed);
    fill(m, loops.ws, prescribed, slot, block, free);
    for (int e = any.first(); e < any.last() && !free; ++e) {
      const auto stands = [&](int f) { return prescribed && prescribed[start + f]; };
      for (int f = 0; f < size; ++f)
        loops.x[start + f] = stands(f) ? Pack(0.0) : J[std::size_t(e * size + f)];
      solve(m, loops.ws, loops.side, loops.x, loops.x, c.block_first[std::size_t(block)],
            c.block_last[std::size_t(block)], prescribed);
      for (int f = 0; f < size; ++f)
        Y[std::size_t(e * size + f)] = stands(f) ? Pack(0.0) : loops.x[start + f];
    }
    for (int lane = 0; lane < W; ++lane) {
      if (slot.row[std::size_t(lane)] < 0)
        continue;
      ContactSteps &own = *runs[lane];
      const std::size_t at = std::size_t(own.at[2 * std::size_t(slot.row[std::size_t(lane)]) + side]);
      double *to_J = own.J.data() + at, *to_Y = own.Y.data() + at;
      for (std::size_t k = 0; k < 3 * std::size_t(size); ++k)
        to_J[k] = J[k][lane], to_Y[k] = Y[k][lane];
    }
  }
}

void ContactLanes::respond(const ModelData &m, LoopWorkspace<Pack> &loops, const unsigned char *prescribed) {
  for (const Slot &slot : slots)
    respond_to_slot(m, loops, prescribed, slot);
}

} // namespace dalembert::DALEMBERT_ISA
