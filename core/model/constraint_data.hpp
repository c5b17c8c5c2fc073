// Constants of loop constraints: their ends, curves, couplings, and the order in which rows are eliminated.
#pragma once

#include <cstdint>

namespace dalembert {

// what closes a loop
enum class LoopConstraintForm : std::int32_t {
  joint,      // of the library, in its constraint form: the rows of the second frame seen from the first
  constraint, // of the library (constraints/library.hpp)
  custom,     // rows by programs
  chain,      // joints in series, custom ones among them: their pose as a program of inner coordinates
  coupling,   // of joint coordinates: constant coefficients, or by programs
};

// a piece of a curve: sum of c[k] u^k, 0 <= u <= 1, and a sphere that holds it
constexpr int curve_degree = 5;
struct CurvePiece {
  double c[curve_degree + 1][3]; // m, in axes of a loop constraint's frame A
  double centre[3], radius;
};

struct CurveData {
  std::int32_t first, count; // where its pieces stand in ModelData::pieces, and how many
  std::int32_t degree;       // of all its pieces
  std::int32_t closed;
};

// A loop constraint between frame A, the first marker, and frame B, the second, both aligned with it.
struct LoopConstraintData {
  double R_FA[9], p_FA[3]; // A in F of body_a
  double R_FB[9], p_FB[3]; // B in F of body_b
  double R_FM[9];          // axes of the user's second marker in F of body_b
  double parameter;        // screw: advance per radian, m; a length, an angle or its cosine, a radius, an offset
  LoopConstraintForm form;
  std::int32_t kind; // of a joint or constraint of the library: its number there
  std::int32_t body_a, body_b;
  std::int32_t curve; // its place in ModelData::curves, for those that have one
  // custom, chain, coupling: its first program among ModelData::joints; of constant couplings -1
  std::int32_t program;
  std::int32_t inner, start, starts; // chain: number of inner coordinates; sets of them to search from, and how many
  std::int32_t row, rows;            // its rows among the constraint rows
  std::int32_t kept;                 // of joints in a plane: bits of the rows that close the loop there; 0: all of them
  // the last rows of a joint, one for each velocity, hold its coordinates while it sticks; 0: it has none
  std::int32_t held;
  std::int32_t q, nq, v, nv; // of joints: its coordinates and velocities among those of all cut joints, and how many
  std::int32_t meet;         // flexible body between two nodes of which the ways to its ends part, or 0
  std::int32_t support, supports; // where its degrees of freedom stand in ModelData::support, and how many
  std::int32_t tree, trees;       // where the trees it touches stand in ModelData::tree, and how many
  std::int64_t reach, values;     // offsets of its block in the response and in the Jacobian values
};

// a joint coordinate that a coupling couples, with its coefficient
struct CouplingTermData {
  double factor;
  std::int32_t constraint, dof;
};

// constraint rows in an order of elimination, and the envelope of their coupling matrix
struct RowElimination {
  std::int32_t count;
  const std::int32_t *row;        // constraint row at each place
  const std::int32_t *constraint; // the loop constraint it belongs to
  const std::int32_t *first;      // first place that each place is coupled with
  const std::int64_t *start;      // where each place's numbers begin in the envelope; count + 1
};

} // namespace dalembert
