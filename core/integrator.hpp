// The border between the steppers and everything that calls them.
//
// A Run is what one simulation adds to the constants of a model, and where it has got to. `advance` takes steps until a
// time, a number of steps or trouble; it hands every accepted step, or samples at given times, to a recorder. All memory
// is one block that the caller owns: a copy of it, and of the Run, is a checkpoint.
#pragma once

#include "model.hpp"
#include <cstddef>

namespace dalembert {

enum class Method : std::int32_t { dop853, dopri5, rk4, euler, radau, alpha };

enum class Outcome : std::int32_t {
  reached,    // the time asked for
  paused,     // the number of steps asked for
  underflow,  // no step is small enough
  not_finite, // accelerations are not finite, however small the step
  host,       // what is evaluated outside has failed
  apart,      // the loops cannot be closed after a step
  stiff,      // explicit steps are held back by stability, not by accuracy
  stopped,    // by the recorder
  unsolved,   // the equations of an implicit step cannot be solved
};

// Laws and forces that are evaluated outside; returns false to stop.
//   laws (3 per hosted law), tau (nv), loads (nb x 6: [moment; force] at the origin of each body, world axes)
struct Host {
  bool (*evaluate)(void *self, double t, const double *q, const double *v, const double *x, double *laws, double *tau, double *loads);
  void *self;
  bool pushes; // gives tau and loads, not laws only
};

struct Marks {
  const unsigned char *given;  // freedoms whose acceleration is prescribed; null if none
  const unsigned char *paced;  // whose speed is
  const unsigned char *placed; // whose position is
};

struct Counts {
  std::int64_t steps, rejected, evaluations, jacobians, factorizations, projections, noisy;
};

struct Run {
  Method method;
  double rtol, atol, max_step, fixed_step;
  double spectral_radius;       // of generalised alpha at infinity
  double stabilization[2];      // Baumgarte's 2 alpha and beta^2; zero: none
  bool project;                 // positions and speeds onto the loops after every step
  bool watch;                   // for stiffness
  const double *parameters;
  Functions functions;
  Marks marks;
  const unsigned char *active;  // of each chord; null: all
  const Host *host;
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

// receives an accepted step or a sample; false stops the run
struct Recorder {
  bool (*record)(void *self, double t, const double *q, const double *v, const double *x, const double *a);
  void *self;
};

struct Samples {
  const double *times; // increasing; null: every step is recorded
  std::ptrdiff_t count, next;
};

// the runs of one register: where each begins and where its samples go
struct LaneTask {
  int count;                     // runs; the last is repeated in lanes beyond
  const double *q[8], *v[8], *x[8]; // start states
  const double *parameters;      // of the first run
  std::ptrdiff_t apart;          // to those of the next; 0: all have the same
  double *samples_q[8], *samples_v[8], *samples_x[8];
  Outcome outcome[8];
  Counts counts[8];
};

struct IntegratorSet {
  std::size_t (*bytes)(const ModelData &, Method);
  // sets the state, evaluates there; with `project` the state is moved onto the loops first. Returns false if not finite.
  Outcome (*start)(const ModelData &, Run &, std::byte *memory, double t, const double *q, const double *v, const double *x);
  Outcome (*advance)(const ModelData &, Run &, std::byte *memory, double until, std::int64_t most_steps, Samples &, const Recorder &);
  // the current state: q v x a
  void (*state)(const ModelData &, const Run &, std::byte *memory, const double **parts);
  // dense output of the step of length h from the state set by `start` to q1 v1 x1, at fractions of it
  Outcome (*dense)(const ModelData &, Run &, std::byte *memory, double h, const double *q1, const double *v1, const double *x1,
                   const double *fractions, std::ptrdiff_t count, const Recorder &);
  // one evaluation of everything: a, tau (hinge forces, drives included), lambda, x'
  Outcome (*evaluate)(const ModelData &, Run &, std::byte *memory, double t, const double *q, const double *v, const double *x,
                      const double *tau, const double *loads, double *a, double *tau_out, double *lambda, double *dx);
  // derivatives of the accelerations by positions (tangent space) and speeds, nv x nv each; needs memory of radau
  Outcome (*jacobian)(const ModelData &, Run &, std::byte *memory, double t, const double *q, const double *v, const double *x,
                      double *by_q, double *by_v);
  // loads of the force elements: tau (nv), loads (nb x 6) at the origins of the bodies, world axes; energies (3)
  Outcome (*forces)(const ModelData &, Run &, std::byte *memory, double t, const double *q, const double *v, const double *x,
                    double *tau, double *loads, double *energies);
  // many runs of a tree by an explicit method, `lanes` of them at once; samples are stored, steps are not
  int lanes;
  std::size_t (*bytes_lanes)(const ModelData &);
  void (*run_lanes)(const ModelData &, const Run &, std::byte *memory, double begin, double until, const Samples &, LaneTask &);
};

const IntegratorSet &best_integrators();

} // namespace dalembert
