// Cone problems (numerics/cone_problem.hpp) of the same size in all lanes, by the Newton method of
// numerics/cone_solver.hpp.
//
// Contacts without fixed bounds. A contact that a lane does not have has zero rows in D and b: its impulse stays zero. A
// lane is done as soon as its residual is at most the tolerance, whatever the others do. Elimination is without row
// exchanges; a lane in which it or the method fails is left to ConeSolver.
#pragma once

#include "scalar/math.hpp"
#include <vector>

namespace dalembert::DALEMBERT_ISA {

class ConeLanes {
public:
  // space for m contacts; D, b, mu and lam are zero
  void reserve(int m);
  // Solves from lam; returns the lanes, of those asked for, that it did not solve: their lam is not to be used. solved:
  // steps of each lane.
  unsigned solve(unsigned lanes, double tolerance, int steps[W]);

  int m = 0;
  std::vector<Pack> D, b, mu; // 3 m x 3 m, 3 m, m
  std::vector<Pack> lam, u;   // 3 m: u = D lam + b
  unsigned resting = 0;       // lanes whose lam has not changed

private:
  void evaluate();
  Pack value();
  void find_step();
  std::vector<Pack> d, F, A, M, step, start;
  Pack missed, limit, proximal;
};

} // namespace dalembert::DALEMBERT_ISA
