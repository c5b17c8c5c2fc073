// Conditions of an evaluation (what may differ between two evaluations of one model), and the state that is evaluated.
#pragma once

#include "model/model_data.hpp"
#include "system/control_sequence.hpp"
#include <algorithm>
#include <cstdint>
#include <vector>

namespace dalembert {

// Laws and forces that callbacks evaluate; `evaluate` returns false to stop.
//   laws (3 per callback law), tau (nv), loads (users x 6: [moment; force] at the origin of each body, world axes)
struct Callbacks {
  bool (*evaluate)(void *self, std::int64_t run, double t, const double *q, const double *v, const double *x,
                   double *laws, double *tau, double *loads);
  void *self;
  bool gives_forces;         // gives tau and loads, not laws only
  bool depends_on_state;     // laws depend on the state, not on time only
  bool on_any_thread{false}; // may be evaluated by several threads at once
  std::int64_t run{0};       // number of the run that it serves, in its ensemble

  bool operator()(double t, const double *q, const double *v, const double *x, double *laws, double *tau,
                  double *loads) const {
    return evaluate(self, run, t, q, v, x, laws, tau, loads);
  }
};

// Joint forces tau (nv) of run `run` at t, q, v, x, by a function compiled outside; data: numbers of its own.
using ControlFunction = void (*)(double t, std::int64_t run, const double *q, const double *v, const double *x,
                                 double *tau, const double *data);

// Joint forces that hold from one time to the next, as a sampled control gives them; zero before the first.
struct SampledForces {
  const double *times, *tau; // increasing; nv each
  std::ptrdiff_t count;
};

// Loads on bodies that hold from one time to the next, as those of contacts by steps; none before the first.
struct SampledLoads {
  const double *times, *loads; // increasing; users x 6 each: [moment; force] at the origins of the bodies, world axes
  const double *efforts;       // nv each: joint forces
  std::ptrdiff_t count;

  // number of those at a time; -1: none
  std::ptrdiff_t row(double t) const { return std::upper_bound(times, times + count, t) - times - 1; }
};

struct Conditions {
  const double *parameters = nullptr; // numbers of the elements
  // numbers between the parameters of one state and the next; 0: all have the same
  std::ptrdiff_t parameter_stride = 0;
  Functions functions{};
  // degrees of freedom whose acceleration is prescribed, by drives or locks; null if none
  const unsigned char *acceleration_prescribed = nullptr;
  const unsigned char *velocity_prescribed = nullptr; // whose velocity is
  const unsigned char *position_prescribed = nullptr; // whose position is
  const unsigned char *constraint_active = nullptr;   // loop constraints that hold; null: all
  const unsigned char *cut_velocity_locked = nullptr; // velocities of cut joints that are held; null: none
  const Callbacks *callbacks = nullptr;
  const SampledForces *sampled_forces = nullptr;
  const SampledLoads *sampled_loads = nullptr;
  // of single states and runs; SIMD batches of runs set control and inputs of their states from it
  const ControlSequence *sequence = nullptr;
  // of switching functions: the branches that are held (elements/law_branches.hpp); 0: the motion slides there; null:
  // none
  const double *law_branches = nullptr;
  std::ptrdiff_t law_branch_stride = 0; // numbers between the branches of one lane and the next
  double stabilization[2] = {0.0, 0.0}; // Baumgarte's 2 alpha and beta^2; zero: none
  // all element states, for callbacks, of a run that evaluates a part of them (contact/listed_pairs.hpp); null: they are
  // all
  const double *(*all_states)(const void *self, const double *x) = nullptr;
  const void *states_of = nullptr;

  const double *for_callbacks(const double *x) const { return all_states ? all_states(states_of, x) : x; }
};

// A state, and loads besides those of the model; null where there are none.
template <class T> struct SystemState {
  T t;
  const T *q, *v, *x;
  const T *tau = nullptr;   // nv: further joint forces
  const T *loads = nullptr; // users x 6: further loads, [moment; force] on each body at its origin, world axes
  // ModelData::input_count: in place of the laws that inputs come from, where they are numbers
  const T *inputs = nullptr;
  const T *prescribed = nullptr; // nv: accelerations of given degrees of freedom, in place of those that drives demand
  // nv, of SIMD batches: joint forces of a control, which actuators deliver; single states have them from the callbacks
  const T *control = nullptr;
};

// Degrees of degree of freedom whose motion is prescribed: marks of tree joints (nv) and of cut joints
// (ModelData::cut_nv); empty: none.
struct PrescribedDofs {
  std::vector<unsigned char> acceleration, velocity, position; // by drives and locks
  std::vector<unsigned char> cut_velocity;                     // by locks
};
// locked: those that are locked besides drives; cut joints follow the trees. Throws std::invalid_argument.
PrescribedDofs prescribed_dofs(const ModelData &m, const std::vector<std::int32_t> &locked);

} // namespace dalembert
