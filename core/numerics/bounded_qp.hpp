// Convex quadratic programs within bounds, by active sets (Stark and Parker 1995).
//
//     min  x' A x / 2 + b' x,     lower <= x <= upper                                                             (1)
//
// A is symmetric and positive semidefinite, of any rank; bounds may be infinite. With w = A x + b a solution has w = 0
// where x is within its bounds, w >= 0 at a lower and w <= 0 at an upper one. w is unique; x need not be.
//
// An unknown enters the free set by the largest w and leaves it where the step to the solution of the free set meets a
// bound. An unknown whose pivot vanishes depends on the free ones and does not enter, so that the free set is
// independent.
#pragma once

#include "numerics/free_set.hpp"

namespace dalembert {

class BoundedQp {
public:
  // space for n unknowns
  void reserve(int n);
  // Solves (1) from x = 0. Values of w up to noise (n; null: none) count as zero: b may be rounding of larger terms
  // that cancel. False if no solution is found: rows nearly depend on each other.
  bool solve(int n, const double *A, const double *b, const double *lower, const double *upper, const double *noise);

  std::vector<double> x, w;
  FreeSet free; // independent unknowns for which w = 0 was solved

private:
  void settle(int n, const double *A, const double *b, const double *lower, const double *upper);

  void put(int k, double value);

  bool moved = false; // an unknown has changed
  std::vector<double> z, rest;
  std::vector<unsigned char> barred;
};

} // namespace dalembert
