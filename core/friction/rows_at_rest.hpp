// Stick or slip of rows at rest: one convex quadratic program.
//
// With lam the efforts of the rows and a_0 their accelerations without these,
//
//     w = a_0 + A lam,     w_k = 0, or lam_k on a bound with w_k pointing away from it                            (1)
//
// Vector groups have an ellipsoid in place of bounds (numerics/ellipsoid_qp.hpp). For constant bounds w is unique. Rows
// that exceed static friction change to sliding friction one by one, those of largest w first. A row on a bound slips
// unless it depends on stuck rows: then it moves with them, not at all. But drives and rows that slide may accelerate it
// all the same, as at a dead point that it passes: then it slips.
#pragma once

#include "numerics/ellipsoid_qp.hpp"
#include <cstdint>

namespace dalembert {

// Problem (1) of m rows, and its solution.
struct RowsAtRest {
  // ---- problem
  int count = 0;
  std::vector<double> A;             // m x m
  std::vector<double> side;          // closed stop of each row: -1, 0 or 1
  std::vector<unsigned char> pinned; // held in both directions without limits, as between two stops without clearance
  std::vector<std::int32_t> group;   // vector group of each row; -1: none
  std::vector<double> noise;         // rounding of the accelerations
  std::vector<double> a0;            // accelerations without friction and stops of these rows
  std::vector<double> friction, static_friction;

  // ---- solution
  std::vector<double> x;                 // efforts
  std::vector<std::int32_t> independent; // of the stuck rows
  std::vector<unsigned char> slips;
  std::vector<double> direction;         // of slip: -1 or 1; a unit vector of a group
  std::vector<unsigned char> broke_away; // rows that exceeded their static friction and have sliding friction

  // space for m rows
  void reserve(int m);
  void resize(int m);
  // Groups of one row have bounds.
  void dissolve_single_groups();
  bool unbounded_below(int k) const { return side[std::size_t(k)] > 0.0 || pinned[std::size_t(k)]; }
  bool unbounded_above(int k) const { return side[std::size_t(k)] < 0.0 || pinned[std::size_t(k)]; }
  // False if the program has no solution.
  bool solve(FreeSet &set);

private:
  EllipsoidQpData data() const;
  void classify(FreeSet &set);
  void judge_groups();
  void set_direction(int first);
  bool begins_group(int k) const;
  double dependent_acceleration(const FreeSet &set, int k);

  EllipsoidQp qp;
  std::vector<double> limit, lower, upper;
  std::vector<double> share, along; // of stuck rows in a dependent one; accelerations of dependent rows
  std::vector<unsigned char> bound;
  std::vector<std::int32_t> bounded_group; // groups with limits above zero
};

} // namespace dalembert
