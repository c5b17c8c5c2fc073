// Many runs of a model, sampled at times: in SIMD batches where these support the model, else one by one; both on
// threads.
//
// A sampled control is called with the states of all runs at each of its times; between them runs advance on threads.
//
// Runs that a SIMD batch gives up (outcome `stiff`) are run by themselves from their beginning. A run that turns out to
// be stiff there continues with implicit steps. Runs with dry friction and stops (Run::friction describes them, with
// undetermined modes) have modes of their own; one whose modes cannot be determined here ends `undecided`. So does a run whose events
// (Run::events describes them) have actions that are not made here, or come again and again.
#pragma once

#include "events/event_run.hpp"
#include "friction/mode_log.hpp"
#include "steppers/run.hpp"
#include <cstddef>
#include <cstdint>

namespace dalembert {

// Times at which a control is sampled, the first at the beginning of the runs, and from which each sample acts.
struct SampleTimes {
  const double *times, *effects;
  std::ptrdiff_t count;
};

struct BatchRequest {
  std::size_t count; // of runs; arrays have a row for each
  double begin, until;
  Samples samples;
  const double *q, *v, *x;            // where they begin
  const double *parameters = nullptr; // of the elements; null: all have those of the conditions
  // parameters of the tables (model/parameter_maps.hpp); null: all have those of the model
  const double *numbers = nullptr;
  const double *discontinuities = nullptr; // of one run after another; null: all have those of the run,
  const std::int64_t *spans = nullptr;     // where those of each begin, and the last end
  // of friction and stops of each run: static friction and stops of each row (`friction_columns`), then the size of
  // gravity; null: all have those of Run::friction
  const double *friction = nullptr;
  int threads = 1;
  const double *sequences = nullptr; // values of the control sequence of the conditions, of each run; null: of all
  const BatchedControl *control = nullptr;   // joint forces of many states in one call; null: none
  const SampleTimes *sampling = nullptr;     // the control is called at these times; null: at every evaluation
  const std::int64_t *run_numbers = nullptr; // in the ensemble; null: those of the rows
  Stop stop{};
  void *self = nullptr;
  void (*starting)(void *self, std::size_t run) = nullptr; // a run begins by itself, with callbacks; null: not reported
  void (*failed)(void *self, std::size_t run) = nullptr;   // a callback has failed in a run; null: not reported
};

// a row for each run
struct BatchResults {
  double *outcomes, *reached; // time that it has reached
  double *counts;             // batch_counts: steps, rejected, evaluations, Jacobians, missed switches, factorizations
  double *q, *v, *x;          // at each sample; not a number where the run has not come to
  ModeLog *modes = nullptr;   // of friction and stops; null: there are none
  EventLog *events = nullptr; // null: there are none
  double *tau = nullptr;      // of the samples of the control: count x nv; null: it is not sampled
};

constexpr std::size_t batch_counts = 6;
// sliding, static friction, ratio of static to sliding coefficient, lower, upper stop, restitution, rest tolerance
constexpr std::size_t friction_columns = 7;

// described: the model whose tables the numbers of a run change
void run_batch(const IntegratorSet &integrators, const ModelData &m, const ModelData &described, const Run &run,
               const BatchRequest &request, const BatchResults &results);

} // namespace dalembert
