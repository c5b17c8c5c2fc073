// Rows of numbers times the derivatives of the equations of motion: w_a . da + w_x . dx' by positions, velocities,
// element states, joint forces, inputs and all parameters at once, whose matrices are not formed.
//
// With R and C of system/derivatives/derivatives.hpp and the factors of the motion,
//
//     M u - P^T l = w_a      P u = 0      w_a . da = -u . dR + l . dC                                           (1)
//
// and the right side is the derivative of one number, u . (forces - R) + l . C: the kernels run once on a tape, which is
// read backwards (scalar/traced.hpp). Tables that mapped parameters give are recorded once for all states.
#pragma once

#include "system/derivatives/derivatives.hpp"

namespace dalembert::DALEMBERT_ISA {

struct ProductWorkspace {
  std::byte *memory; // of all numbers but the tables
  std::size_t bytes;
  SystemWorkspace<Traced> traced;
  Traced *q, *v, *x, *a, *lambda, *parameters, *inputs, *settings, *seconds, *dx, *body_loads;
  ParameterTables<Traced> numbers; // of the tables
  Traced *own;                     // mapped parameters
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

} // namespace dalembert::DALEMBERT_ISA
