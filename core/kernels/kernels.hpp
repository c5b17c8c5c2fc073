// The border between the kernels and everything that calls them.
//
// Each instruction set exports one KernelSet. A Call names a kernel and its arrays; `one` evaluates
// a single state in double precision, `lanes` a range of states in packs, a register full at a time.
// The result of a state does not depend on the range it is in, nor on its place in a pack.
#pragma once

#include "kinematics/ik_problem.hpp"
#include "kinematics/sweep.hpp"
#include "numerics/cone_solver.hpp"
#include "numerics/cone_sweeps.hpp"
#include "system/conditions.hpp"

namespace dalembert {

enum class Kernel {
  // trees, as robotics codes define these words
  forward_dynamics,    // q v tau [loads] -> a
  inverse_dynamics,    // q v a [loads] -> tau
  bias_forces,         // q v [loads] -> tau at a = 0
  mass_matrix,         // q -> M
  composite_diagonal,  // q -> diagonal of M
  solve_mass_matrix,   // q x -> M^-1 x
  poses,               // q -> users x (rotation, position)
  velocities,          // q v -> users x 6
  accelerations,       // q v a -> users x 6
  point_poses,         // q -> rotation, position of each point
  point_velocities,    // q v -> 6 each
  point_accelerations, // q v a -> 6 each
  point_jacobians,     // q -> 6 x nv each
  energy,              // q v -> kinetic, potential
  center_of_mass,      // q -> 3
  centroidal_matrix,   // q -> 6 x nv
  integrate,           // q v -> q
  difference,          // q q1 -> v
  coordinate_rates,    // q v -> q'
  d_inverse_dynamics,  // q v a [loads] -> d tau / dq, d tau / dv, M
  d_inverse_by_duals,  // q v a [loads] -> d tau / dq, d tau / dv
  d_forward_dynamics,  // q v tau [loads] -> da/dq, da/dv, M^-1
  // closures
  constraint_residual, // q [t] -> residuals of the loop constraints
  constraint_jacobian, // q [t] -> P
  constraint_bias,     // q v [t] -> P' v and what time adds
  constraint_drift,    // q [t] -> rates of the rows while nothing moves
  cut_motion,          // q v a -> coordinates, velocities and accelerations of joints that close loops
  row_pivots,          // q -> pivot of each row as a part of its diagonal, constraint by constraint
  // r (lambda), compliance (other), inertia (a) -> dq, P dq, P^T (r / compliance), sizes (constraints/closure_fronts.hpp)
  closure_step,
  independent_parts, // wanted (lambda), inertia (a), least (other) -> what is left of each row
  dependences,       // the same -> combinations of rows that vanish for every motion (constraints/closure_fronts.hpp)
  motions,           // the same -> independent motions, and four more; zeros (constraints/closure_fronts.hpp)
  // v, rates (lambda), held (a) -> dv of least kinetic energy with P (v + dv) = rates, P v - rates, its terms
  velocity_change,
  // the system as described, under conditions; t, x, tau, loads and inputs may be left out
  motion,            // q v -> a
  dynamics,          // q v -> a, tau (those of drives too), lambda (of least norm), x'
  required_forces,   // q v a [lambda] -> tau beside what elements give
  d_required_forces, // q v a -> its derivatives by q and v, and M
  loads_of_motion,   // q v a [lambda] -> loads of all connections
  report,            // q v -> whatever has an array: see ReportPart
  d_dynamics,        // q v -> derivatives: see DerivativePart
  // q v, w_a (other), w_x (lambda) -> their products with derivatives, by each kind of direction; at last rows whose sum
  // is the sum of all products by parameters, which costs less
  d_dynamics_products,
  d_output_products, // q v, weights (other) -> their products with derivatives of outputs (system/derivatives/products.hpp)
  // q v, r1 (a), r2 (tau), r3 (other), mu (lambda) -> dxi, dv, dx of (2) of steppers/methods/radau.hpp, by fronts
  newton_step,
};

// arrays that kernels take
enum class ArgumentKind { t, q, v, x, a, tau, loads, inputs, lambda, other, count };
constexpr int take_count = int(ArgumentKind::count);

// parts of a report, in the order of Call::out
// clang-format off
enum class ReportPart {
  a, dx, tau, lambda, loads, unique, cut_q, cut_v, cut_a, cut_effort, constraint_effort, residual, residual_rate,
  measures, rates, forces, energies, losses, gains, port_loads, body_loads, signals, law_inputs, applied, energy,
  requested_effort, switching_functions, count
};
constexpr const char *report_names[] = {
  "a", "dx", "tau", "lam", "loads", "unique", "cut_q",
  "cut_v", "cut_a", "cut_effort", "constraint_effort", "residual", "residual_rate", "measures",
  "rates", "forces", "energies", "losses", "gains", "port_loads", "body_loads",
  "signals", "law_inputs", "applied", "energy", "requested_effort", "switching_functions"
};
// clang-format on
static_assert(sizeof report_names / sizeof *report_names == std::size_t(ReportPart::count));
// and what derivatives have space for: of accelerations, rates of states and multipliers by each kind of direction
enum class DerivativePart { a, dx, lambda, count };
constexpr int max_outputs = 27;

// `size` numbers per state; states are `stride` numbers apart (0: the same for all)
struct Input {
  const double *data;
  std::ptrdiff_t stride, size;
};
struct Output {
  double *data;
  std::ptrdiff_t stride, size;
};

struct Call {
  Kernel kernel;
  Input in[take_count]; // those that are not given have data = nullptr
  int outputs = 0;
  Output out[max_outputs]; // the first `outputs`; those that are not wanted have data = nullptr
  PointsData points{};
  const Conditions *conditions = nullptr; // of the system as described
  std::ptrdiff_t parameters_apart = 0;    // numbers between the parameters of one state and the next
  // of derivatives by parameters: direction_count rows (system/derivatives/derivatives.hpp)
  const double *directions = nullptr;
  int direction_count = 0;
  bool factored = false; // of Newton systems: the memory holds the factors of this state
  Call() {
    for (Input &input : in)
      input.data = nullptr;
  }
  const Input &take(ArgumentKind which) const { return in[int(which)]; }
  Input &take(ArgumentKind which) { return in[int(which)]; }
};

// what a range of states showed, as bits
enum KernelStatus : unsigned { bad_input = 1, bad_output = 2, callback_failed = 4 };

struct KernelSet {
  const char *isa;
  int lanes;
  bool (*has_lanes)(const ModelData &, const Call &);
  // bytes of workspace (alignment 64) for `one` and for `lanes`
  std::size_t (*bytes_one)(const ModelData &, const Call &);
  std::size_t (*simd_batch_bytes)(const ModelData &, const Call &);
  unsigned (*evaluate_state)(const ModelData &, std::byte *workspace, const Call &, std::ptrdiff_t state);
  unsigned (*evaluate_range)(const ModelData &, std::byte *workspace, const Call &, std::ptrdiff_t begin,
                             std::ptrdiff_t end);
  unsigned (*lanes_range)(const ModelData &, std::byte *workspace, const Call &, std::ptrdiff_t begin,
                          std::ptrdiff_t end);
  // a factorisation kept for many right-hand sides
  std::size_t (*bytes_factor)(const ModelData &);
  void (*factor)(const ModelData &, std::byte *workspace, const double *q);
  void (*factor_solve)(const ModelData &, std::byte *workspace, const double *x, double *a, std::ptrdiff_t count);
  void (*factor_pivots)(const ModelData &, std::byte *workspace, double *pivots);
  // the mass matrix in compressed rows (SparsePattern of tree/mass_matrix.hpp), in the same workspace
  void (*sparse_mass_matrix)(const ModelData &, std::byte *workspace, const double *q, std::int64_t size,
                             const std::int64_t *diagonal, const std::int64_t *row_end, const std::int64_t *below,
                             double *values);
  // states of self-stress at a configuration: multipliers (nc) and loads of connections (x 6) of each; returns how many
  std::size_t (*bytes_stress)(const ModelData &);
  int (*stress)(const ModelData &, std::byte *workspace, const Conditions &, double t, const double *q,
                double *multipliers, double *loads);
  // loads of all connections and multipliers of a motion at a configuration become those of least norm
  void (*share)(const ModelData &, std::byte *workspace, const Conditions &, double t, const double *q, double *loads,
                double *lambda);
  // residuals of the unknowns of an element's law and their slopes, row by row, at inputs and unknowns; values:
  // workspace of programs
  void (*law_equations)(const ModelData &, int element, const double *inputs, double *values, double *equations);
  // kinematic motion: kinematics/sweep.hpp
  std::size_t (*bytes_sweep)(const ModelData &, const Conditions &, bool jerk);
  SweepStatus (*sweep)(const ModelData &, std::byte *workspace, const Conditions &, const double *row_scale,
                       double floor, SweepCall &);
  // inverse kinematics: kinematics/ik_problem.hpp
  std::size_t (*bytes_ik)(const ModelData &, const IkProblem &);
  void (*ik_rows)(const ModelData &, std::byte *workspace, const IkProblem &, const IkRows &, std::ptrdiff_t begin,
                  std::ptrdiff_t end);
  void (*descend)(const ModelData &, std::byte *workspace, const IkProblem &, const DescentCall &);
  // cone problems: numerics/cone_sweeps.hpp, numerics/cone_solver.hpp
  void (*prepare_sweeps)(const ConeBlocks &, ConeSweeps &);
  bool (*sweep_cones)(const ConeBlocks &, ConeSweeps &, double tolerance, int most, double *v, double *lam);
  void (*assemble_cone_matrix)(const ConeBlocks &, double *D);
  bool (*solve_cone_problem)(const ConeProblem &, ConeSolver &, double tolerance, bool warm);
};

const KernelSet &best_kernels(); // chosen once, by what the processor offers

} // namespace dalembert
