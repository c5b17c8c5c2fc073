// Cone problems without a matrix: sweeps over the contacts (Gauss-Seidel) on the velocities of blocks.
//
// A block is a set of velocities that respond to each other: a free body, or a mechanism with its loops. A contact acts
// on at most two. With J_ia the rows of contact i on block a, P_a the response of the block, Y_ia = J_ia P_a,
//
//     u_i = sum_a J_ia v_a + bias_i,     v_a = free velocity + sum_i Y_ia' lam_i,     D_ii = sum_a J_ia Y_ia'      (1)
//
// Each visit solves (1) of numerics/cone_problem.hpp exactly for its contact with all others kept. A sweep costs
// O(contacts); the number of sweeps grows with the height of a pile. Contacts of free bodies are copied into records of
// whole registers first: J by columns, Y by rows, velocities of a body in eight numbers.
#pragma once

#include "numerics/cone_problem.hpp"
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dalembert {

struct ConeBlocks {
  int m;                     // contacts
  const std::int32_t *block; // m x 2: blocks of each contact; -1: none
  const std::int32_t *start; // blocks + 1: velocities of block a are v[start[a]] ... v[start[a + 1] - 1]
  const std::int64_t *at;    // m x 2: where the 3 x (size of the block) rows of J and Y begin
  const double *J, *Y;       // rows of (1)
  const double *bias;        // 3 m; null: zero
  const double *mu;          // m

  int size(int a) const { return start[a + 1] - start[a]; }
};

// Memory and answer of sweeps; the arithmetic is in the functions below.
struct ConeSweeps {
  // a contact of free bodies
  struct alignas(64) FreeContact {
    double Y[6][8];  // rows of either body, two zeros at the end
    double J[12][4]; // columns of either body, a zero at the end
    double bias[4];
    std::int32_t at[2]; // where the velocities of its bodies begin in `velocities`; 0: zeros of ground
  };
  double missed = 0.0; // residual of lam, in the unit of u
  int sweeps = 0;      // of the last solution

  std::vector<ContactCone> cones;
  std::vector<FreeContact> contacts;
  std::vector<std::int32_t> slot, blocks; // of each block, where its velocities begin; blocks in their order
  struct alignas(64) Velocity {
    double v[8];
  };
  std::vector<Velocity> velocities;
};

namespace DALEMBERT_ISA {

// D (3 m x 3 m) of (1)
void assemble_cone_matrix(const ConeBlocks &p, double *D);

// Scales of all contacts, of (3) of numerics/cone_problem.hpp; prepare_sweeps finds D_ii too.
void prepare_scales(const ConeBlocks &p, ConeSweeps &s);
// D_ii and scales of all contacts; then the residual of lam, with v the velocities with these impulses
void prepare_sweeps(const ConeBlocks &p, ConeSweeps &s);
double residual_of_blocks(const ConeBlocks &p, const ConeSweeps &s, const double *v, const double *lam);

// Sweeps, after prepare_sweeps, until the residual is at most `tolerance`. `v`: velocities with the impulses `lam`, which
// the caller gives; both are changed. False if the residual is larger after `most` sweeps.
bool sweep_cones(const ConeBlocks &p, ConeSweeps &s, double tolerance, int most, double *v, double *lam);

} // namespace DALEMBERT_ISA

} // namespace dalembert
