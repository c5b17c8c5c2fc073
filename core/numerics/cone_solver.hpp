// Solves (1) of numerics/cone_problem.hpp on a given matrix D.
//
// Newton's method (Alart and Curnier 1991) on F = 0, with x = d lam - u and [.]+ the positive part:
//
//     F_n = d lam_n - [x_n]+,     F_t = d lam_t - (x_t if |x_t| <= mu [x_n]+, else mu [x_n]+ x_t / |x_t|)          (1)
//     (d (1 - A) + A E) step = -F,     A = slope of the right-hand sides by x,     E = D + proximal                (2)
//
// The proximal term is in the slope only: impulses of redundant contacts stay near their last values, and the solution
// is that of D. Where Newton's method from the start does not converge, alternating directions (ADMM) approach it, and
// Newton's method is tried from there (Carpentier, Le Lidec and Montaut 2024):
//
//     (D + rho) z' = rho z - y - b - s,     z = proj_K(z' + y / rho),     y += rho (z' - z),     s = s(-y)         (3)
//
// Open contacts and tangential rows without friction are no unknowns of (2); zeros of D outside a range of columns cost
// nothing. Deterministic; no allocation after `reserve`.
#pragma once

#include "dense/envelope_lu.hpp"
#include "numerics/cone_problem.hpp"
#include <vector>

namespace dalembert {

// Memory and answer; the arithmetic is in `solve_cone_problem`.
struct ConeSolver {
  // space for m contacts
  void reserve(int m);

  std::vector<double> lam, u;  // 3 m
  double missed = 0.0;         // residual of lam, in the unit of u
  int newton_steps = 0;        // of the last solution
  int admm_iterations = 0;     // of the last solution
  int admm_factorizations = 0; // of the last solution

  struct Extent {
    int first, last; // contacts [first, last) whose blocks of D are not zero
  };
  std::vector<Extent> extent;
  std::vector<double> d;                 // scales of the contacts
  std::vector<double> x, F, slope;       // (1), and A of (2): 3 m, 3 m, 9 m
  std::vector<int> unknown, place;       // rows of (2); their numbers, -1: none
  std::vector<double> step, right, start, best;
  std::vector<double> z, z_free, y, shift; // (3): z, z', y, s
  dense::EnvelopeLu lu;
};

inline void ConeSolver::reserve(int m) {
  const std::size_t n = std::size_t(3 * m);
  if (lam.size() >= n)
    return;
  for (std::vector<double> *each : {&lam, &u, &x, &F, &step, &right, &start, &best, &z, &z_free, &y, &shift})
    each->resize(n);
  slope.resize(3 * n), d.resize(std::size_t(m)), extent.resize(std::size_t(m)), place.resize(n), unknown.reserve(n);
  lu.reserve(3 * m);
}

namespace DALEMBERT_ISA {

// Solves to a residual `tolerance`, or to rounding. `warm`: from the last lam, else from zero. False if the residual is
// larger; lam is then the best one found.
bool solve_cone_problem(const ConeProblem &p, ConeSolver &solver, double tolerance, bool warm);

} // namespace DALEMBERT_ISA

} // namespace dalembert
