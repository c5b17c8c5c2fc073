// The order in which multipliers of loop constraints are eliminated within the recursion over the trees
// (constraints/loop_fronts.hpp).
//
// A piece is what has been merged at a body. A row is open in it from where one of its ends is on inward, and leaves
// where the piece has got all of its ends. Children are merged one at a time, first the one that completes the most
// rows less those that it opens, and rows leave after each. A row of a coupling is complete outside the joints whose
// coordinates it couples.
//
// In every piece rows stand in one order, those that leave last first: rows that leave are always the last ones, and
// rows keep their order when pieces are merged.
//
// Rows that depend on the modes of a flexible body leave where these have been eliminated too: no row leaves in the
// piece of its modal place, but in that of the place that carries it (flexible/body.hpp).
#pragma once

#include <cstdint>

namespace dalembert {

enum class LoopStepKind : std::int32_t {
  open,  // the piece of a body begins, with the rows that have an end there
  merge, // the piece of a child, behind its joint, is added
  leave, // rows leave
  joint, // the degrees of freedom of the body's joint are eliminated
};

struct LoopStepData {
  LoopStepKind kind;
  std::int32_t body, child; // child: of merge
  std::int32_t width;       // open rows before the step; open: after it
  std::int32_t count;       // merge: rows of the child; leave: rows that leave; joint: terms of couplings
  std::int32_t after;       // open rows after the step
  std::int32_t index;       // LoopPlan::indices; open: pairs of row and sign of the load (0: of a coupling);
                            // merge: place of each row of the piece, then of the child, among those after the step,
                            // then the runs of both: their number, and of each where it begins, its place, its length;
                            // of a node of a flexible body, then its rows;
                            // leave, joint: rows of the piece; joint: then (degree of freedom of the joint, place,
                            // loop constraint, support) of each term of a coupling
  std::int32_t left;        // leave: number of rows that have left before; merge: 1 if rows of the piece move
  std::int64_t numbers;     // where its factors begin: joint, among those of joints; leave, among those of rows
};

struct LoopPieceData {
  std::int32_t width;         // most rows that are open in it at once
  std::int64_t matrix, slots; // where its numbers begin: width x width, and width
  // of modal places: modes, and where their numbers begin: modes x modes, the strict lower triangle of their factor, and
  // width x modes
  std::int32_t modes;
  std::int64_t square, factor, modal_slots;
};

struct LoopPlan {
  std::int32_t step_count, row_count;
  std::int32_t max_width;
  const LoopStepData *steps;
  const LoopPieceData *pieces; // nb + 1
  const std::int32_t *indices;
  std::int64_t matrix, slots;              // numbers of all pieces
  std::int64_t joint_numbers, row_numbers; // of factors
  std::int64_t squares, modal_factors, modal_slots;
  double work;                             // multiplications of a factorisation
};

} // namespace dalembert
