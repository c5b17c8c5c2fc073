// The border between the steppers and everything that calls them.
//
// A Run is what one simulation adds to the constants of a model, and where it has got to. `advance` takes steps until a
// time, a number of steps or trouble; it hands every accepted step, or samples at given times, to a recorder. All memory
// is one block that the caller owns: a copy of it, and of the Run, is a checkpoint.
#pragma once

#include "system/conditions.hpp"

namespace dalembert {

enum class Outcome : std::int32_t {
  reached,    // the time asked for
  paused,     // the number of steps asked for
  underflow,  // no step is small enough
  not_finite, // accelerations are not finite, however small the step
  host,       // what is evaluated outside has failed
  apart,      // the loops cannot be closed after a step
  stiff,      // explicit steps are held back by stability, not by accuracy
  stopped,    // by the recorder, or because it was asked to
  unsolved,   // the equations of an implicit step cannot be solved
};

struct Counts {
  std::int64_t steps, rejected, evaluations, jacobians, factorizations, projections, noisy;
};

struct Run {
  std::int32_t method;          // number of the stepper in the table (steppers/table.hpp)
  double rtol, max_step, fixed_step;
  const double *atol;           // of increments: nv positions, nv speeds, nx element states
  double spectral_radius;       // of generalised alpha at infinity
  bool project;                 // positions and speeds onto the loops after every step
  bool watch;                   // for stiffness
  bool judged;                  // errors are not looked at: the step was accepted before
  Conditions conditions;
  // where it has got to
  double t, step, begin, length; // length: of the last step, which began at `begin`
  double old_error;
  std::int32_t stiff_signs, calm_signs, rejected_last, started;
  std::int32_t near_tries;       // steps in a row that were rejected near a singular position
  double near_step;              // the first of them
  double usual_slack;            // of the loops: the best that a step has had
  double noise[2];               // what rounding alone makes of positions and speeds there: no error below it is seen
  double worst;                  // largest error in units of the tolerance at the last rejection
  std::int32_t worst_freedom;
  Counts counts;
};

// asked before every step whether to stop
struct Stop {
  bool (*asked)(void *self) = nullptr;
  void *self = nullptr;
  bool operator()() const { return asked && asked(self); }
};

// receives an accepted step or a sample; false stops the run
struct Recorder {
  bool (*record)(void *self, double t, const double *q, const double *v, const double *x, const double *a);
  void *self;
  Stop stop{};
};

struct Samples {
  const double *times; // increasing; null: every step is recorded
  std::ptrdiff_t count, next;
};

// the runs of one register: where each begins and where its samples go
constexpr int most_lanes = 8;
struct LaneTask {
  int count;                     // runs; the last is repeated in lanes beyond
  const double *q[most_lanes], *v[most_lanes], *x[most_lanes]; // start states
  double *samples_q[most_lanes], *samples_v[most_lanes], *samples_x[most_lanes];
  Outcome outcome[most_lanes];
  double reached[most_lanes];    // times that they have got to
  Counts counts[most_lanes];
  Stop stop;
};

struct IntegratorSet {
  // the name of a stepper by its number; null beyond the last
  const char *(*name)(int method);
  std::size_t (*bytes)(const ModelData &, int method);
  // sets the state, evaluates there; with `project` the state is moved onto the loops first
  Outcome (*start)(const ModelData &, Run &, std::byte *memory, double t, const double *q, const double *v, const double *x);
  Outcome (*advance)(const ModelData &, Run &, std::byte *memory, double until, std::int64_t most_steps, Samples &, const Recorder &);
  // the current state: q v x a dx
  void (*state)(const ModelData &, const Run &, std::byte *memory, const double **parts);
  // dense output of the step of length h from the state set by `start` to q1 v1 x1, at fractions of it
  Outcome (*dense)(const ModelData &, Run &, std::byte *memory, double h, const double *q1, const double *v1, const double *x1,
                   const double *fractions, std::ptrdiff_t count, const Recorder &);
  // many runs by an explicit method, `lanes` of them at once; samples are stored, steps are not. Runs that cannot go on in
  // lanes end with the outcome `stiff`.
  int lanes;
  bool (*runs_in_lanes)(const ModelData &, const Run &);
  std::size_t (*bytes_lanes)(const ModelData &);
  void (*run_lanes)(const ModelData &, const Run &, std::byte *memory, double begin, double until, const Samples &, LaneTask &);
};

const IntegratorSet &best_integrators();

} // namespace dalembert
