// The order in which the Newton systems of implicit steps are eliminated (system/newton/newton.hpp): a front at each
// body, which holds what its subtree has not settled yet.
//
// A label is a group of unknowns. It is touched at bodies that its unknowns load, or whose motion stands in its rows;
// it is open from there on inward, and leaves at its home, where all that it is linked with has met. Trees on the
// ground hand on to each other, so that rows of trees that are coupled with their neighbours need narrow fronts only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dalembert {

enum class LabelKind : std::int32_t {
  dofs,        // of body `owner`
  port,        // load that port `owner` passes on: [moment; force], world axes
  constraint,  // the same of loop constraint `owner`
  multipliers, // of loop constraint `owner`
  states,      // of element `owner`
  signals,
};

struct LabelData {
  LabelKind kind;
  std::int32_t owner, size;
  std::int32_t first; // of its unknowns among all
  std::int32_t home;  // the body at whose front it leaves; 0: ground
};

// a label touched at a body; its numbers: size x 18 of its rows by the motion of the body, then 3 x (6 x size) of the
// load by its unknowns, their rates and second rates
struct LabelAtBodyData {
  std::int32_t body, label, offset; // offset: of the label in the front of the body
  std::int64_t numbers;
};

// rows of one label that depend on the unknowns of another; its numbers: 3 x (size x size), as above
struct LabelLinkData {
  std::int32_t row, column;               // labels
  std::int32_t front;                     // where both are open, and the first of them leaves
  std::int32_t row_offset, column_offset; // there
  std::int64_t numbers;
};

// The front of a body: unknowns that leave there come first, multipliers last among them, then those that stay open.
// Its matrix has as rows the first, the load on the body (6), the others; as columns the first, the motion of the body
// (18), the others.
struct FrontData {
  std::int32_t leaving, open;
  std::int32_t multipliers; // of those that leave, the last
  std::int32_t unknown;     // FrontTables::unknowns: which they are among all
  // the front that gets what is left: of the parent; of the tree before, for trees on the ground
  std::int32_t next;
  std::int32_t into;          // FrontTables::into: where those that stay open stand in that front
  std::int32_t own;           // offset of the degrees of freedom that move the body, or -1
  std::int32_t moves, column; // how many of them do, and where their columns stand among those of all
  std::int32_t tap, taps;
  std::int32_t link, links;
  std::int32_t label, labels; // FrontTables::leaving: labels that leave
  std::int64_t matrix;        // offset of its matrix among those of all fronts
};

// What an element does to the fronts: which motions, degrees of freedom, states and signals it sees, and the rows that
// it acts in.
enum class ElementDependence : std::int32_t { dof, state, signal };
struct SourceData {
  ElementDependence kind;
  std::int32_t place;  // degree of freedom, state or signal
  std::int32_t column; // of its label
};
struct LoadedBodyData {
  LabelKind kind;    // degrees of freedom: an effort at joint; port; states; signals
  std::int32_t port; // of its own, counted from its first: of efforts and port loads
  std::int32_t row;  // the first of its label
};
struct ElementAssembly {
  std::int32_t element;
  std::int32_t alone;           // it sees and loads one body only, and has no labels
  std::int32_t body, bodies;    // FrontTables::bodies
  std::int32_t source, sources; // FrontTables::sources
  std::int32_t row, rows;       // FrontTables::acted
  std::int32_t entry;           // FrontTables::entries: rows x bodies taps, then rows x sources links
};
struct LoopConstraintAssembly {
  std::int32_t load[2], rows[2]; // taps of its load and of its multipliers at bodies A and B; -1: ground
  // Of its load by its multipliers. -1: rows of a point, whose multipliers are the force itself, in fixed directions
  // (those of the first rows now), so that each end needs no more than these and its own motion.
  std::int32_t link;
  // of couplings: supports links (degree of freedom by multiplier), as many back, supports x supports
  std::int32_t entry;
};

struct FrontTables {
  std::int32_t label_count, tap_count, link_count, unknown_count, stamp_count;
  const LabelData *labels;
  const LabelAtBodyData *taps;
  const LabelLinkData *links;
  const FrontData *fronts; // nb + 1
  const std::int32_t *unknowns, *into, *leaving, *bodies, *entries;
  const SourceData *sources;
  const LoadedBodyData *acted;
  const ElementAssembly *stamps;
  const LoopConstraintAssembly *loop_constraints;
  const std::int32_t *label_of;           // nb + 1: degrees of freedom that move a body, or -1
  const std::int32_t *own_tap, *own_link; // nb + 1: of modal bodies, and of degrees of freedom with an armature; or -1
  // labels: of each element's states, of each loop constraint's multipliers; or -1
  const std::int32_t *states_of, *multipliers_of;
  std::int64_t matrix_numbers, tap_numbers, link_numbers, max_numbers; // most: of the largest matrix
  std::int64_t column_count;
  // fronts cost less than a dense matrix that is kept for many steps; that is made for each
  std::int32_t pays_kept, pays_fresh;
  double cost; // of fronts, in multiplications
};

// What a dense factorisation that is kept for many steps costs, in the multiplications of FrontTables::cost.
double cost_of_dense(double unknowns);

} // namespace dalembert
