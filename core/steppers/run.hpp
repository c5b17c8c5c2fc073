// Interface of the steppers.
//
// A Run holds the options and the state of one simulation, besides the constants of its model. `advance` takes steps
// until a time, a number of steps or a failure; it passes every accepted step, or samples at given times, to a
// recorder. All memory is one block that the caller owns: a copy of it, and of the Run, is a checkpoint.
#pragma once

#include "runs/stop.hpp"
#include "system/conditions.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace dalembert {

struct ContactEvents;
struct ContactSteps;
struct EventRun;
struct FrictionRun;

enum class Outcome : std::int32_t {
  reached,         // the requested time: Run::t is equal to it
  paused,          // after the requested number of steps
  underflow,       // no step is small enough
  not_finite,      // accelerations are not finite, however small the step
  callback_failed, // a callback has failed
  loops_open,      // the loops cannot be closed after a step
  stiff,           // explicit steps are held back by stability, not by accuracy
  stopped,         // by the recorder, or on request
  newton_failed,   // the equations of an implicit step cannot be solved
  stagnated,       // steps have become so short that the end is out of reach
  undecided,       // modes of friction and stops change, but cannot be determined here
  event,           // an event occurs whose action is outside, or whose output is noise
  contact_failed,  // modes of contacts cannot be determined, or there are too many (ContactEvents::failure)
};

struct Counts {
  std::int64_t steps, rejected, evaluations, jacobians, factorizations, projections, noisy;
  std::int64_t missed; // steps of a fixed length in which a switching function changed sign and back
};

// Times at which the equations of motion may jump, increasing.
struct DiscontinuityTimes {
  const double *times;
  std::ptrdiff_t count;
};

// The time from one discontinuity to the next. A step that ends at a discontinuity is evaluated before it, one that
// begins there after it: times are clamped to a few roundings inside.
struct SmoothInterval {
  double from = -std::numeric_limits<double>::infinity(), to = -from, end = -from; // end: the discontinuity itself

  static SmoothInterval around(const DiscontinuityTimes &breaks, double t) {
    const auto roundings = [](double time) { return std::fmax(2e-15 * std::fabs(time), 1e-300); };
    const double *last = breaks.times + breaks.count, *next = std::upper_bound(breaks.times, last, t);
    SmoothInterval s;
    if (next != breaks.times)
      s.from = next[-1] + roundings(next[-1]);
    if (next != last)
      s.end = *next, s.to = *next - roundings(*next);
    return s;
  }
  double clamp(double t) const { return t < from ? from : t > to ? to : t; }
};

// Detects stagnation: recent steps are so short that the rest would take steps without end, or far more than before.
// Such runs are given up.
struct StagnationMonitor {
  std::int64_t steps = 0;
  double t = 0.0, longest = 0.0; // mean length of steps between two checks

  bool is_stagnant(std::int64_t taken, double now, double until) {
    constexpr std::int64_t look = 5000;
    constexpr double without_end = 1e9;
    constexpr double far = 1e4, slower = 1e2; // steps to the end, and how much shorter they are than before
    if (taken - steps < look)
      return false;
    const double each = (now - t) / double(taken - steps);
    longest = each > longest ? each : longest;
    const double ahead = until - now;
    const bool slow = ahead > without_end * each || (ahead > far * each && slower * each < longest);
    steps = taken, t = now;
    return slow;
  }
};

// Counts steps in which stability, not accuracy, bounds the length (Hairer, Wanner 1996, section IV.2): equations are
// stiff after fifteen of them, with fewer than six others in a row between them.
struct StiffnessCounter {
  std::int32_t stiff = 0, calm = 0;

  bool detected() const { return stiff >= 15; }
  void add(bool is_stiff) {
    if (is_stiff) {
      calm = 0;
      ++stiff;
    } else if (++calm >= 6) {
      stiff = 0;
    }
  }
};

struct Run {
  std::int32_t method; // number of the stepper in the table (steppers/methods/registry.hpp)
  double rtol, max_step, fixed_step;
  const double *atol;     // of increments: nv positions, nv velocities, nx element states
  double spectral_radius; // of generalised alpha at infinity
  bool project;           // positions and velocities onto the loops after every step
  bool detect_stiffness;
  // errors are not evaluated: the step was accepted before, or its length is given
  bool error_control_off;
  bool lists_pairs = true; // of compliant contact, those that can touch (contact/listed_pairs.hpp); else all count
  Conditions conditions;
  DiscontinuityTimes discontinuities;      // steps end there, and the method begins afresh
  FrictionRun *friction = nullptr;         // modes of dry friction and stops; null: none, or determined by the caller
  EventRun *events = nullptr;              // null: none, or located by the caller
  ContactSteps *contacts = nullptr;        // rigid contact by steps; null: none
  ContactEvents *contact_events = nullptr; // rigid contact by events; null: none
  // state of the run
  SmoothInterval interval; // between two discontinuities
  std::int32_t arrived;    // at a discontinuity, after which nothing has been evaluated yet
  // the length of a step to a switching function that was located in a longer one; 0: none
  double step_to_switch;
  double step_to_contact; // the length of a step to a change of contacts that was located in a longer one; 0: none
  double switch_slope;    // rate of the switching function there; 0: the length has been improved already
  std::int32_t consecutive_switches;  // steps in a row that ended at a switch
  std::int32_t switches_without_step; // switches since the last step
  // inputs of switching functions are known at the state of the run (steppers/switching/monitor.hpp)
  std::int32_t monitor_known;
  // steps in a row that were shortened to lead into a change of a branch that is not held
  std::int32_t lead_in_steps;
  // from 1: the first switching function whose branch was released because it changes too often; 0: none
  std::int32_t released_function;
  double release_time; // when that was
  // fixed steps: the first switching function that changed sign and back in one (Counts::missed)
  std::int32_t missed_function;
  double missed_time;             // when it did
  const double *initial_branches; // of switching functions, to begin with; null: those that fit the state
  // of switching functions: mixtures that are held throughout, or 0: a sliding mode to begin with; null: none
  const double *fixed_branches;
  double t, step, begin, length; // length: of the last step, which began at `begin`
  double old_error;
  StiffnessCounter stiffness;
  std::int32_t rejected_last, started;
  std::int32_t near_singular_rejections; // steps in a row that were rejected near a singular position
  double near_step;                      // the first of them
  double usual_min_pivot;                // of the loops: the largest that a step has had
  // effect of rounding on positions and velocities near a singular position: no smaller error is resolved
  double noise[2];
  double worst; // largest error in units of the tolerance at the last rejection
  std::int32_t worst_dof;
  Counts counts;
};

// receives an accepted step or a sample; false stops the run
struct Recorder {
  bool (*record)(void *self, double t, const double *q, const double *v, const double *x, const double *a);
  void *self;
  Stop stop{};
  // from a time on; null: not recorded
  void (*switched)(void *self, double t, const double *sides, int count) = nullptr;
  void (*stepped)(void *self, double t) = nullptr; // where steps end while samples are recorded; null: not recorded
};

struct Samples {
  const double *times; // increasing; null: every step is recorded
  std::ptrdiff_t count, next;
};

// a run for a lane: where it begins and where its samples are stored
struct SimdRunInput {
  std::ptrdiff_t number = -1; // among all
  const double *q = nullptr, *v = nullptr, *x = nullptr;
  // its model, where runs differ in mapped parameters; null: the same for all
  const ModelData *variant = nullptr;
  // of its elements, where runs differ in them; null: those of the conditions
  const double *parameters = nullptr;
  const double *control = nullptr; // values of the control sequence of the conditions; null: there is none
  double *samples_q = nullptr, *samples_v = nullptr, *samples_x = nullptr;
  DiscontinuityTimes discontinuities{};
};

// Runs one after the other, as lanes become free. `next` gives false when there is none left; what it points to is read
// before the next call.
struct RunQueue {
  void *self;
  bool (*next)(void *self, SimdRunInput &run);
  void (*ended)(void *self, const SimdRunInput &run, Outcome outcome, double reached, const Counts &counts);
  Stop stop;
  // statistics of the contacts of a run that has ended, from any thread
  void (*touched)(void *self, const ContactSteps &contacts) = nullptr;
};

// Joint forces of a control at many states, a row for each: tau (rows x nv), and marks of states at which it failed.
// Returns false to stop all runs.
struct BatchedControl {
  void *self;
  bool (*evaluate)(void *self, std::ptrdiff_t rows, const std::ptrdiff_t *runs, const double *t, const double *q,
                   const double *v, const double *x, double *tau, unsigned char *failed);
  bool on_any_thread{false}; // a compiled function, which gains nothing from many states in one call
};

struct IntegratorSet {
  // the name of a stepper by its number; null beyond the last
  const char *(*name)(int method);
  std::size_t (*bytes)(const ModelData &, int method);
  // sets the state, evaluates there; with `project` the state is moved onto the loops first
  Outcome (*start)(const ModelData &, Run &, std::byte *memory, double t, const double *q, const double *v,
                   const double *x);
  // workspace of Run::events
  void (*prepare_events)(const ModelData &, Run &, std::byte *memory);
  // workspace of Run::friction, and its modes in the conditions of the run
  void (*prepare_friction)(const ModelData &, Run &, std::byte *memory);
  // the run goes on under other parameters of elements, which its conditions point at; `undecided`: as it was
  Outcome (*change_parameters)(const ModelData &, Run &, std::byte *memory);
  Outcome (*advance)(const ModelData &, Run &, std::byte *memory, double until, std::int64_t max_steps, Samples &,
                     const Recorder &);
  // the current state: q v x a dx, and the sides of switching functions (null: none are held)
  void (*state)(const ModelData &, const Run &, std::byte *memory, const double **parts);
  // dense output of the step of length h from the state set by `start` to q1 v1 x1, at fractions of it
  Outcome (*dense)(const ModelData &, Run &, std::byte *memory, double h, const double *q1, const double *v1,
                   const double *x1, const double *fractions, std::ptrdiff_t count, const Recorder &);
  // forces of contacts by events at a state, in the modes of Run::contact_events, which receives them; false: a callback
  // has failed
  bool (*contact_forces)(const ModelData &, Run &, std::byte *memory, double t, const double *q, const double *v,
                         const double *x);
  // Many runs by an explicit method, in `packs` registers of `lanes` runs each; samples are stored, steps are not. Runs
  // that cannot go on in lanes end with the outcome `stiff`. With a control all registers go side by side, so that it
  // receives the states of all of them at once; without one there is one register.
  int lanes;
  bool (*supports_simd_batch)(const ModelData &, const Run &, bool own); // own: with mapped parameters in each lane
  std::size_t (*simd_batch_bytes)(const ModelData &, int packs);
  void (*run_simd_batch)(const ModelData &, const Run &, std::byte *memory, double begin, double until, const Samples &,
                         const RunQueue &, int packs, const BatchedControl *control);
  // The same by rk4 with fixed steps: all lanes of the register take the same ones. Samples are ends of steps, and
  // discontinuities are those of the Run (steppers/simd_fixed_steps.hpp).
  bool (*supports_fixed_steps)(const ModelData &, const Run &, bool own);
  std::size_t (*fixed_step_bytes)(const ModelData &);
  void (*run_fixed_steps)(const ModelData &, const Run &, std::byte *memory, double begin, double until,
                          const Samples &, const RunQueue &);
  // The same with rigid contact by steps (steppers/simd_contact_steps.hpp)
  bool (*supports_contact_lanes)(const ModelData &, const Run &, bool own);
  std::size_t (*contact_lanes_bytes)(const ModelData &);
  void (*run_contact_lanes)(const ModelData &, const Run &, std::byte *memory, double begin, double until,
                            const Samples &, const RunQueue &);
};

const IntegratorSet &best_integrators();

} // namespace dalembert
