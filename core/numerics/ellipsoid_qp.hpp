// Convex quadratic programs within bounds and ellipsoids: forces of dry friction, stops and contact.
//
//     min  x' A x / 2 + b' x,     lower <= x <= upper,     |x_g / f_g| <= 1 for groups g of unknowns               (1)
//
// A is symmetric and positive semidefinite, of any rank. With w = A x + b an unknown outside groups is as in
// numerics/bounded_qp.hpp. A group inside its ellipsoid has w = 0; one on its boundary has
//
//     w = -s F^-2 x,     s >= 0,     F = diag(f)                                                                   (2)
//
// which is the slip that dissipates most; for equal f it is opposite to the force. w is unique; x need not be. Coulomb's
// cone is the case of a group of two tangential unknowns whose f is a multiple of a third, the normal one: f may change
// from call to call, and the last solution is then the start of the next.
//
// Bounds and ellipsoids are solved alternately, each ellipsoid exactly by its multiplier s (a secular equation). The
// sets of slipping groups and of free unknowns that this gives are the start of Newton's method on (2). Its solution is
// taken if it satisfies all conditions of (1).
#pragma once

#include "dense/pivoted_qr.hpp"
#include "numerics/bounded_qp.hpp"
#include <cstdint>

namespace dalembert {

struct EllipsoidQpData {
  int n;
  const double *A, *b;         // n x n, n
  const double *lower, *upper; // of unknowns outside groups; may be infinite
  const std::int32_t *group;   // number of the group of each unknown; -1: none
  const double *f;             // positive within groups
  const double *noise;         // values of w outside groups that count as zero; null: none
};

class EllipsoidQp {
public:
  // space for n unknowns
  void reserve(int n);
  // Solves (1); false if no solution is found. `warm`: groups begin at the last x.
  bool solve(const EllipsoidQpData &p, bool warm = false);
  // whether a group reaches its boundary, relative distance 1e-9
  bool on_boundary(const EllipsoidQpData &p, int group) const;

  std::vector<double> x, w;
  FreeSet free;  // independent unknowns for which w = 0 was solved
  int turns = 0; // alternations that the last solution took

private:
  struct Group {
    int number, first, count; // members are grouped[first ... first + count - 1]
    double s;                 // multiplier of (2)
  };

  void find_groups(const EllipsoidQpData &p);
  bool solve_without_ellipsoids(const EllipsoidQpData &p);
  bool solve_bounds(const EllipsoidQpData &p);
  void solve_group(const EllipsoidQpData &p, const Group &g);
  double multiplier(int count, const double *values, const double *g) const;
  bool polish(const EllipsoidQpData &p);
  bool run_newton(const EllipsoidQpData &p);
  bool change_sets(const EllipsoidQpData &p);
  bool newton_step(const EllipsoidQpData &p, double &change, double &size);
  bool satisfies(const EllipsoidQpData &p) const;
  void finish(const EllipsoidQpData &p);
  double gradient(const EllipsoidQpData &p, int k, const double *x) const;

  BoundedQp box;
  dense::PivotedQr qr;
  std::vector<Group> groups;
  std::vector<int> grouped, plain, unknown; // members of groups; other unknowns; unknowns of Newton's method
  std::vector<int> free_plain;              // free unknowns outside groups
  std::vector<int> slipping;                // groups on their boundaries
  std::vector<double> part, part_b, part_lower, part_upper, part_noise; // program of the unknowns outside groups
  std::vector<double> eigenvalues, vectors;                             // of F A F of each group: n, n x n
  std::vector<double> z, old, right, scaled, local;
};

} // namespace dalembert
