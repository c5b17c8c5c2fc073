// The border between the kernels and everything that calls them.
//
// Each instruction set exports one KernelSet. A Call names a kernel and its arrays; `one` evaluates
// a single state in double precision, `lanes` a range of states in packs, a register full at a time.
// The result of a state does not depend on the range it is in, nor on its place in a pack.
#pragma once

#include "model.hpp"
#include <cstddef>

namespace dalembert {

enum class Kernel {
  forward_dynamics,    // q v tau [loads] -> a
  constrained_dynamics, // q v tau [loads] [second rates of rows] [t] -> a lambda
  constrained_mixed,   // q v tau a [loads] [second rates of rows] [t] -> a tau lambda, with the marks in `given`
  constraint_residual, // q [t] -> residuals of the chords
  constraint_jacobian, // q [t] -> P
  constraint_bias,     // q v [t] -> P' v and what time adds
  constraint_drift,    // q [t] -> rates of the rows while nothing moves
  row_pivots,          // q -> pivot of each row as a part of its diagonal, chord by chord
  chord_loads,         // q lambda [t] -> load of each chord on its second marker
  inverse_dynamics,    // q v a [loads] -> tau
  bias_forces,         // q v [loads] -> tau at a = 0
  mixed_dynamics,      // q v tau a [loads] [-] -> a tau, with the marks in `given`
  mass_matrix,         // q -> M
  composite_diagonal,  // q -> diagonal of M
  solve_mass_matrix,   // q x -> M^-1 x
  poses,               // q -> nb x (rotation, position)
  velocities,          // q v -> nb x 6
  accelerations,       // q v a -> nb x 6
  marker_pose,         // q -> rotation, position
  marker_velocity,     // q v -> 6
  marker_acceleration, // q v a -> 6
  marker_jacobian,     // q -> 6 x nv
  energy,              // q v -> kinetic, potential
  center_of_mass,      // q -> 3
  centroidal_matrix,   // q -> 6 x nv
  reactions,           // q v a [loads] -> nb x 6
  integrate,           // q v -> q
  difference,          // q0 q1 -> v
  coordinate_rates,    // q v -> q'
  d_inverse_dynamics,  // q v a [loads] -> d tau / dq, d tau / dv, M
  d_inverse_by_duals,  // q v a [loads] -> d tau / dq, d tau / dv
  d_forward_dynamics,  // q v tau [loads] -> da/dq, da/dv, M^-1
};

constexpr int max_inputs = 7, max_outputs = 3;

// `size` numbers per state; states are `stride` numbers apart (0: the same for all)
struct Input {
  const double *data;
  std::ptrdiff_t stride;
  std::ptrdiff_t size;
};
struct Output {
  double *data;
  std::ptrdiff_t stride;
  std::ptrdiff_t size;
};

struct Call {
  Kernel kernel;
  int inputs, outputs;
  Input in[max_inputs];    // optional ones may have data = nullptr
  Output out[max_outputs];
  const unsigned char *given; // mixed_dynamics: nv marks
  MarkerData marker;          // marker kernels
};

// what a range of states showed, as bits
enum Findings : unsigned { bad_input = 1, bad_output = 2 }; // a number that is not finite

struct KernelSet {
  const char *isa;
  int lanes;
  bool (*has_lanes)(Kernel);
  // bytes of workspace (alignment 64) for `one` and for `lanes`
  std::size_t (*bytes_one)(const ModelData &, const Call &);
  std::size_t (*bytes_lanes)(const ModelData &, const Call &);
  void (*one)(const ModelData &, std::byte *workspace, const Call &, std::ptrdiff_t state);
  unsigned (*one_by_one)(const ModelData &, std::byte *workspace, const Call &, std::ptrdiff_t begin, std::ptrdiff_t end);
  unsigned (*lanes_range)(const ModelData &, std::byte *workspace, const Call &, std::ptrdiff_t begin, std::ptrdiff_t end);
  // a factorisation kept for many right-hand sides
  std::size_t (*bytes_factor)(const ModelData &);
  void (*factor)(const ModelData &, std::byte *workspace, const double *q);
  void (*factor_solve)(const ModelData &, std::byte *workspace, const double *x, double *a, std::ptrdiff_t count);
  void (*factor_pivots)(const ModelData &, std::byte *workspace, double *pivots);
};

const KernelSet &best_kernels(); // chosen once, by what the processor offers

} // namespace dalembert
