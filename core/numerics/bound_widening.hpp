// Least widening, or largest narrowing, of bounds for feasible efforts: a small convex problem.
//
//     min r,   lam_l + C' lam_r = h,   lower - r wide <= lam <= upper + r wide,   |lam_g / f_g| <= 1 + r            (1)
//
// With lam_l eliminated it is a problem in lam_r and r, for which a large r gives an interior point. Ellipsoids of groups
// g are written |lam_g / f_g|^2 / (1 + r) <= 1 + r, which is convex and smooth. Solved by a primal-dual interior-point
// method (Boyd and Vandenberghe 2004, section 11.7).
#pragma once

#include <cstdint>
#include <vector>

namespace dalembert {

struct WideningData {
  int l, r;                    // rows that are eliminated, others
  const double *h;             // l
  const double *lower, *upper; // l + r; may be infinite
  const double *f, *wide;      // l + r, positive
  const double *coupling;      // C', l x r
  const std::int32_t *group;   // number of the group of each of the l + r rows from 0; -1: none
  int groups;
};

class BoundWidening {
public:
  // space for n = l + r rows
  void reserve(int n);
  // r of (1), not below -0.9; feasible and nearly least where rounding stops the search
  double solve(const WideningData &p);

private:
  void set_up(const WideningData &p);
  void scale_unknowns();
  void add_row(double a, int unknown, double factor, double widening);
  void begin();
  bool step();
  void evaluate(const std::vector<double> &x, std::vector<double> &f);
  void differentiate(const std::vector<double> &x);
  bool solve_system();
  double residual_norm(const std::vector<double> &z, const std::vector<double> &f, double centre);

  // unknowns; linear rows, those of bounds among them; all constraints, groups
  int m = 0, rows = 0, bounds = 0, count = 0, groups = 0;
  std::vector<double> a, B;                   // linear rows: a + B x <= 0
  std::vector<double> p, Q;                   // members of groups: y = p + Q x
  std::vector<int> first;                     // of the members of each group, and their end
  std::vector<double> x, z, f, G, H, K, dx, dz, dual, x1, z1, f1, central;
  double gap = 0.0, off = 0.0;
};

} // namespace dalembert
