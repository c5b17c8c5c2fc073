// Rows of numbers times the derivatives of the equations of motion: w_a . da + w_x . dx' by positions, velocities,
// element states, joint forces, inputs and all parameters at once, whose matrices are not formed.
//
// With R and C of system/derivatives/derivatives.hpp and the factors of the motion,
//
//     M u - P^T l = w_a      P u = 0      w_a . da = -u . dR + l . dC                                           (1)
//
// and the right side is the derivative of one number, u . (forces - R) + l . C: the kernels run once on a tape, which is
// read backwards (scalar/traced.hpp). Tables that mapped parameters give are recorded once for all states.
// By parameters alone, where elements see no bodies of a tree, the tape holds the elements only, and tables get their
// slopes by a sweep over the tree (system/derivatives/tree_sweep.hpp).
//
// Outputs of bodies and connections y = h(q, v, x, a, lambda, p) likewise, for weights w of them and [w_a; w_l] the
// derivatives of w . h by accelerations and multipliers:
//
//     M u - P^T l = w_a      P u = -w_l      w . dy = w . dh - u . dR + l . dC       dh at constant a, lambda       (2)
#pragma once

#include "system/derivatives/derivatives.hpp"
#include "system/derivatives/tree_sweep.hpp"

namespace dalembert::DALEMBERT_ISA {

struct ProductWorkspace {
  std::byte *memory; // of all numbers but the tables
  std::size_t bytes;
  SystemWorkspace<Traced> traced;
  Traced *q, *v, *x, *a, *lambda, *parameters, *inputs, *settings, *seconds, *dx, *body_loads;
  ParameterTables<Traced> numbers; // of the tables
  Traced *own;                     // mapped parameters
  Traced *loads;                   // connections x 6
};

std::size_t lay_out(const ModelData &m, std::byte *base, ProductWorkspace &work);

// The tape of one thread, with what is recorded for all states that share directions of parameters.
struct ProductTape {
  Tape tape;
  std::vector<double> bar;    // derivatives by the numbers on the tape
  Tape::Place tables_end = 0; // 0: nothing is recorded yet
  struct Entry {
    int direction, number;
    double factor;
  };
  std::vector<Entry> entries;        // of the directions that are not zero
  std::vector<unsigned char> active; // parameters that vary in some direction
  bool tables_vary = false;          // some of them are mapped
  std::vector<double> blocks;        // where matrices are formed after all
  struct Weight {
    Tape::Place place;
    double weight;
  };
  std::vector<Weight> weights; // of outputs

  // Rows at one state after another share its record, if nothing else uses the workspaces between them.
  enum class Record { none, residuals, elements, outputs, outputs_at_rest };
  bool follows = false;
  Record record = Record::none;
  std::vector<double> state; // t, q, v, x of the record
  Tape::Place state_end = 0;
  std::vector<Tape::Place> input_places;
  std::vector<TreeSweepFrame> frames;

  // Only sums over all rows are wanted: what tables contribute waits in `bar` for `finish_sums`.
  bool sums = false;
};

// Results, null where they are not wanted: by positions (nv), velocities (nv), element states (nx), joint forces (nv),
// inputs (input_count), nothing by time, and by each direction of parameters (DerivativesWorkspace::along).
struct Products {
  double *of[direction_kinds] = {};
};

// Whether so few directions are wanted that matrices of derivatives cost less than a tape.
bool are_few(const ModelData &m, const DerivativesWorkspace &derivatives, const Products &out);

// The products at a state; its accelerations are left in a. False if what is evaluated outside has failed. `work` and
// `recorded` serve one state after another. Where (1) does not know all that is wanted (loads that are fed back,
// derivatives that are differences), or where the caller asks for them, matrices are formed.
bool multiply_derivatives(const ModelData &m, const Conditions &c, MotionWorkspace &motion,
                          DerivativesWorkspace &derivatives, ProductWorkspace &work, ProductTape &recorded,
                          const SystemState<double> &s, const double *w_a, const double *w_x, double *a,
                          const Products &out, bool with_matrices = false);

// Adds to the products of the last row by parameters what has waited for the sum over all rows.
void finish_sums(const ModelData &m, const ProductWorkspace &work, ProductTape &recorded, double *by_parameter);

// Weights of outputs: of poses (rotation 9, position 3), velocities and accelerations (angular, linear) of all bodies of
// the user, of loads of connections, of accelerations; world axes.
struct OutputWeights {
  const double *poses, *velocities, *accelerations; // users x 12, x 6, x 6
  const double *loads;                              // connections x 6
  const double *a;                                  // nv
  OutputWeights(const ModelData &m, const double *all)
      : poses(all), velocities(poses + 12 * std::ptrdiff_t(m.users)),
        accelerations(velocities + 6 * std::ptrdiff_t(m.users)), loads(accelerations + 6 * std::ptrdiff_t(m.users)),
        a(loads + 6 * std::ptrdiff_t(connection_count(m))) {}
};

// The products (2) at a state, by positions, velocities, element states and parameters. Not a number where (2) does not
// know all that is wanted; false if what is evaluated outside has failed.
bool multiply_outputs(const ModelData &m, const Conditions &c, MotionWorkspace &motion,
                      DerivativesWorkspace &derivatives, ProductWorkspace &work, ProductTape &recorded,
                      const SystemState<double> &s, const OutputWeights &weights, double *a, const Products &out);

} // namespace dalembert::DALEMBERT_ISA
