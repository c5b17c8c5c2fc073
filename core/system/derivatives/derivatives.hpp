// Exact derivatives of the equations of motion: of accelerations, rates of element states and multipliers by positions
// (in directions of the tangent space), velocities, element states, joint forces, inputs, time, parameters of the
// elements and mapped parameters.
//
// With R = inverse dynamics - forces of the elements - P^T lambda, and C = P a + gamma the second rates of the rows,
//
//     M da - P^T dlambda = -dR          P da = -dC                                                              (1)
//
// where R and C are varied at constant a and lambda. They come from the kernels themselves, run on dual numbers: a
// column per direction, as many at once as a register holds. (1) is solved with the factors of the motion.
//
// Where elements take loads z = T(state, a, lambda, z) that connections transmit, T is varied along (1) too, in the
// directions and by z itself, and
//
//     (1 - dT/dz) dz = dT          da, dlambda += da/dz dz, dlambda/dz dz                                       (2)
//
// In trees of rigid bodies whose elements act at joints, dR by positions and velocities comes from recursions
// (tree/derivatives.hpp), and of the duals there are left those of the elements.
//
// What is evaluated outside is varied by differences; so are all derivatives where transmitted loads are not unique.
#pragma once

#include "system/load_feedback.hpp"
#include "tree/derivatives.hpp"
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

enum class Direction { position, velocity, state, force, input, time, parameter };
constexpr int direction_kinds = 7;

// how far to either side differences look
inline double step_at(double x) { return 1e-6 * (1.0 + std::fabs(x)); }

// directions of parameters: rows of numbers, one for each parameter of the elements, then for each mapped parameter of
// the model
struct ParameterDirections {
  const double *rows = nullptr;
  int count = 0;
};

// Derivatives by the directions of one kind, n of them: rows of n numbers; null where they are not wanted.
struct DerivativeBlock {
  double *a = nullptr;      // nv x n
  double *dx = nullptr;     // nx x n
  double *lambda = nullptr; // nc x n
  bool wanted() const { return a || dx || lambda; }
};
struct DerivativeBlocks {
  DerivativeBlock of[direction_kinds];
};

// What directions of parameters make of the numbers that kernels read, W directions at once. It is the same at all
// states: found where they are met first, and kept as far as there is memory.
struct CachedDirections {
  int slots = 0;
  std::int32_t *holds; // which directions stand in a slot: those from W times this on; -1: none
  unsigned char *own;  // whether mapped parameters vary in them
  std::byte *memory;   // numbers of the tables, where they do: `each` bytes
  std::size_t each;
  Pack *parameters; // slopes of the parameters of elements
};

struct DerivativesWorkspace {
  SystemWorkspace<Dual> duals;
  Dual *q, *v, *x, *a, *lambda, *parameters, *own;
  ParameterDirections along;
  CachedDirections kept;
  ParameterTables<Dual> numbers; // of the tables, where mapped parameters vary
  ModelData varied;              // the model with numbers that vary
  Dual *inputs;                  // as they are, by their laws or set
  Dual *settings;                // those that are set; no numbers elsewhere
  Dual *seconds, *dx, *body_loads, *loads, *z;
  Side<Pack> side;
  Pack *column;                    // nv
  double *da, *dlambda, *ddx, *dz; // W columns each: nv, nc, nx, feedbacks
  double *z_a, *z_lambda, *z_dx;   // columns by z: nv, nc, nx each
  double *z_matrix;                // 1 - dT/dz, factored
  std::int32_t *exchange;
  std::int32_t *acting; // nx: places of states
  double *shifted, *above, *below;  // what is evaluated beside the state
  DerivativeWorkspace<double> tree; // where recursions serve
  double *by_q, *by_v, *inverse;    // dR by positions and velocities, M^-1: nv x nv each
  double *tile;
};

// directions: number of directions of parameters
std::size_t lay_out(const ModelData &m, std::byte *base, DerivativesWorkspace &work, int directions = 0);
// before the first state of some that share directions of parameters
void clear_directions(DerivativesWorkspace &work);

// All derivatives that are wanted, at a state; its accelerations are left in a. False if what is evaluated outside has
// failed.
bool derivatives(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                 const SystemState<double> &s, double *a, const DerivativeBlocks &out);

// -dR of (1) in work.column, for directions [first, first + count) of a kind, at given accelerations and multipliers;
// rates of element states in work.dx and second rates of the rows in work.seconds. For steppers that solve (1) in other
// ways.
void vary(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
          const SystemState<double> &s, Direction direction, int first, int count);
// what `vary` needs to know first: the state, accelerations and multipliers that it varies
void hold_state(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                const SystemState<double> &s, const double *a, const double *lambda);

} // namespace dalembert::DALEMBERT_ISA
