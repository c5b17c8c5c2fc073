// Gradients of many runs with fixed steps, by the discrete adjoint of each (steppers/adjoint.hpp), on threads.
#pragma once

#include "steppers/adjoint.hpp"
#include <cstddef>

namespace dalembert {

// Arrays have a row for each run.
struct GradientRequest {
  std::size_t count;
  Samples samples;
  const double *q, *v, *x;             // at the samples
  const double *q_bar, *v_bar, *x_bar; // derivatives of the output of a run by them: nv, nv, nx
  const double *parameters = nullptr;  // of the elements; null: all have those of the conditions
  const double *numbers = nullptr;     // parameters of the tables; null: all have those of the model
  const double *sequences = nullptr;   // values of the control sequence; null: all have those of the conditions
  // directions of parameters, common to all runs; see AdjointSet::run
  AdjointDirections directions{};
  int threads = 1;
  Stop stop{};
};

// zero to begin with
struct GradientResults {
  double *outcomes;
  double *q, *v, *x;  // at the begin: nv, nv, nx
  double *control;    // rows x channels
  double *parameters; // wanted directions
  std::size_t wanted; // how many these are
};

// described: the model whose tables the numbers of a run change
void run_gradients(const AdjointSet &adjoints, const ModelData &m, const ModelData &described, const Run &run,
                   const GradientRequest &request, const GradientResults &to);

} // namespace dalembert
