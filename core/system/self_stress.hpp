// Loads that the motion does not determine: states of self-stress, with which connections press against each other
// while nothing moves.
//
// A combination y of closure rows that vanishes for every motion, y^T P = 0, loads its loop constraints and, through
// the bodies, the joints on the ways to their ends, and no effort or inertia notices. Any such state may be added to
// the loads of a motion. Of all loads that fit, those are given for which
//
//     sum over connections of |moment|^2 + |L force|^2  +  sum over couplings of (lambda / scale)^2                 (1)
//
// is least, moments about the second markers, L the characteristic length of the system. So they depend neither on
// where loops were cut nor on units.
//
// States: rows that repeat others of their loop constraint in every configuration (ModelData::independent_rows) make
// one each, with these others. Where more rows depend on each other, P with rows and columns scaled by L is made
// orthogonal row by row, the one with the largest part left first, and every row of which nothing is left makes a
// state.
#pragma once

#include "system/workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

struct SelfStressWorkspace {
  // states as sparse lists: of multipliers, of loaded connections
  std::int32_t *row_start, *load_start; // where each state begins; states + 1
  std::int32_t *row, *connection;
  double *weight; // with each row
  double *load;   // with each connection: [moment; force] on its second marker, world axes
  std::int64_t max_rows, max_loads;
  int max_states, states;
  double *scattered;            // connections x 6: one state, or the loads at hand
  double *gram, *side;          // states x states, states
  double *effort;               // nv
  double *J, *R;                // for dependence in general: nc x nv, nc x nc; null if there is too much of it
  double *left, *lambda_scaled; // nc, nc
  std::int32_t *order;          // nc
};

std::size_t lay_out(const ModelData &m, std::byte *base, SelfStressWorkspace &work);

// All states of self-stress at the configuration of the last call of solve_accelerations; returns how many. The frames
// stand in the world. still: null, or marks of degrees of freedom along which something holds that is no load: efforts
// of drives.
int find_self_stress(const ModelData &m, const Conditions &c, SystemWorkspace<double> &system,
                     SelfStressWorkspace &work, const unsigned char *still = nullptr);

// Loads of all connections (connection_count x 6, world axes) and multipliers (nc) become those of least norm; after
// find_self_stress, with the rows that it looked at.
void minimum_norm_loads(const ModelData &m, const LoopWorkspace<double> &loops, SelfStressWorkspace &work,
                        double *loads, double *lambda);

// Marks the components of loads (connection_count x 6) that states change: 1 where the motion determines them, else 0.
void mark_determined(const ModelData &m, const SelfStressWorkspace &work, double *marks);

} // namespace dalembert::DALEMBERT_ISA
