// Memory of one simulation, and operations that all steppers share: norms of errors, rates, projection onto the
// constraints.
//
// A stepper works on increments z = [xi; dv; dx] in the chart around the beginning of its step: n = 2 nv + nx numbers.
#pragma once

#include "steppers/run.hpp"
#include "system/load_feedback.hpp"
#include "system/switching.hpp"

namespace dalembert::DALEMBERT_ISA {

constexpr int max_stages = 16;

class ListedPairs;

struct RunWorkspace {
  MotionWorkspace motion;
  double *q, *v, *x, *a, *dx;      // state of the run; a and dx: rates there
  double *q1, *v1, *x1, *a1, *dx1; // where the step leads
  double *qs, *vs, *xs;            // a stage
  double *z, *error, *error3;      // n: increment, error estimates
  double *K;                       // stages x n: rates [xi'; a; x']
  double *change;                  // nv
  double *D;                       // 7 x n: dense output
  // switching_count: see steppers/switching/switch_location.hpp
  double *branches, *slack, *least, *passed, *held, *kept;
  double *lowest, *highest; // switching_count: switching functions in the evaluations of a step
  // switching_count: how far beyond a branch without a value there a step was evaluated; or none
  double *strayed;
  SwitchingWorkspace switching;
  bool near = false; // stages are put onto the loops before rates are evaluated
};

std::size_t lay_out(const ModelData &m, std::byte *base, RunWorkspace &work);

// one simulation: its model, its run and their memory
struct RunContext {
  const ModelData &m;
  Run &run;
  RunWorkspace &work;
  std::byte *own;                // memory of the stepper itself
  ListedPairs *pairs = nullptr; // of compliant contact; null: all count
};

// speeds of bodies in an evaluation, where bounds of their motion are needed
void note_speeds(const RunContext &i);

// Near a configuration where rows become dependent, accelerations are smooth along the loops only: off them, where
// the stages of a step are, they are as large as the rows are close to depend on each other. Where the slack of the
// loops falls below this part of what it usually is, stages are put onto the loops first: rates are then those of the
// nearest state on the loops, a vector field that agrees with the other on the loops, so that the order is kept.
constexpr double close_to_singular = 1e-3;

DALEMBERT_INLINE int increments(const ModelData &m) { return 2 * m.nv + m.nx; }

inline void copy(const double *from, int count, double *to) {
  for (int k = 0; k < count; ++k)
    to[k] = from[k];
}

bool all_finite(const double *x, int count);

// size of increments in units of the tolerance between the two states, root mean square
double measure(const RunContext &i, const double *z, const double *q1, const double *v1, const double *x1,
               int *worst = nullptr);

// how far inside the branches that are held the state is, at the last evaluation: less than zero beyond their ends
double exit_of(const RunContext &i, int function);
// Keeps the least of it. Beyond its end a branch may have no value, as sqrt(max(s, 0)) has none: then rates are those
// of the branch that fits.
bool record_exits(const RunContext &i, const SystemState<double> &state, double *a, double *dx);

// adds the effect of closed contacts (contact/contact_motion.hpp) to the accelerations without them
bool add_contact_effects(const RunContext &i, double t, const double *q, const double *v, double *a);
// whether contacts by events are closed
bool holds_contacts(const Run &run);

// the equations of motion at a state; false if a callback has failed
inline bool rates(const RunContext &i, double t, const double *q, const double *v, const double *x, double *a,
                  double *dx) {
  ++i.run.counts.evaluations;
  const SystemState<double> state{i.run.interval.clamp(t), q, v, x};
  const bool done = dynamics(i.m, i.run.conditions, i.work.motion, state, a, dx);
  if (i.pairs)
    note_speeds(i);
  if (!done || (i.run.conditions.law_branches && !record_exits(i, state, a, dx)))
    return false;
  return !i.run.contact_events || add_contact_effects(i, state.t, q, v, a);
}

// positions and velocities of driven joints; laws outside are evaluated first where drives need them
bool impose_drives(const RunContext &i, double t, double *q, double *v, const double *x);

// the state at base (+) z
bool displaced(const RunContext &i, double t, const double *z, double *q, double *v, double *x);

// positions, then velocities, onto loops, drives and closed contacts
Outcome project_onto_constraints(const RunContext &i, double t, double *q, double *v);

// rates [xi'; a; x'] of a state whose chart increment is z; `near` the state itself is put onto the loops
Outcome rates_in_chart(const RunContext &i, double t, double *z, double *q, double *v, const double *x, double *K);

} // namespace dalembert::DALEMBERT_ISA
