// J and Y of the contacts of many runs at once, a run in each lane, in the form of contact/contact_blocks.hpp.
//
// Rows of different runs that act on the same bodies share a slot: the k-th point of a pair of bodies, a stop, or dry
// friction of a joint. Lanes without such a row have zeros there. The operations on a row are those of a single run.
#pragma once

#include "contact/contact_blocks.hpp"
#include "numerics/cone_lanes.hpp"
#include <array>

namespace dalembert::DALEMBERT_ISA {

class ContactLanes {
public:
  // no rows
  void clear() { slots.clear(), simple = 0; }
  // the rows of the run in a lane, which must stay where they are until `respond`
  void add(int lane, ContactSteps &c, const std::vector<ScenePoint> &points);
  // J and Y of all runs, at the configuration of the last evaluation of the equations of motion; frames in the world
  // stand in the workspace
  void respond(const ModelData &m, LoopWorkspace<Pack> &loops, const unsigned char *prescribed);
  // Impulses of the lanes whose problems are small, without static friction or restitution with friction; `free` becomes
  // the velocity with them, from `before` without. Returns these lanes; to the others J and Y are given.
  unsigned solve(const Pack *before, Pack *free, double h, double closed, double impact_speed);
  // gives J and Y of a run to its contacts
  void give(int lane);

private:
  struct Slot {
    std::int32_t stop, friction; // -1: none
    std::int32_t places[2];
    std::int32_t ordinal;            // of this point among those of the two bodies
    std::array<std::int32_t, W> row; // of each lane; -1: none
    std::int32_t blocks[2], start[2], size[2];
    std::size_t at[2]; // where its J and Y begin
  };
  Slot &slot_of(std::int32_t stop, std::int32_t friction, const std::int32_t places[2], std::int32_t ordinal);
  void respond_to_slot(const ModelData &m, LoopWorkspace<Pack> &loops, const unsigned char *prescribed, Slot &slot);
  void fill(const ModelData &m, const Workspace<Pack> &ws, const Slot &slot, int side, bool free);
  void add_velocity(const Slot &slot, const Pack *v, Pack u[3]) const;
  void assemble();
  void set_conditions(const Pack *before, double h, double closed, double impact_speed);

  std::vector<Slot> slots;
  ContactSteps *runs[W] = {};
  const std::vector<ScenePoint> *points[W] = {};
  std::vector<Pack> J, Y; // rows of all slots
  std::vector<Pack> u_before;
  std::vector<Pack> bias;
  unsigned simple = 0; // lanes
  ConeLanes cones;
};

} // namespace dalembert::DALEMBERT_ISA
