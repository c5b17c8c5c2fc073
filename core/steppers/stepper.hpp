// The contract of a stepper: one record of functions, listed in steppers/methods/registry.hpp.
//
// A step goes from the state in q, v, x (rates a, dx) of the workspace to q1, v1, x1 (a1, dx1), in increments in the
// chart around its beginning.
#pragma once

#include "steppers/run_workspace.hpp"

namespace dalembert {
struct Tableau;
}

namespace dalembert::DALEMBERT_ISA {

struct Stepper {
  const char *name;
  int order; // that step control reckons with
  // it can choose its steps, by an estimate of their errors, unless their length is given
  bool adaptive = false;
  bool implicit = false;                   // a step that passes near a singular position is good as it is
  const Tableau *tableau = nullptr;        // of an explicit method
  std::size_t (*bytes)(const ModelData &); // memory of its own
  void (*begin)(const RunContext &);       // after a state has been set and evaluated
  Outcome (*step)(const RunContext &, double h, double &error); // error in units of the tolerance
  // the length of the next step, of adaptive ones
  double (*accept)(const RunContext &, double h, double error) = nullptr;
  // before the end of the step becomes the beginning
  void (*advance_state)(const RunContext &);
  // its steps, if it chooses them, end at switching functions; it evaluates rates last at the end of a step
  bool holds_branches = true;
  // dense output: prepared once for a step, then increments at fractions of it
  bool dense_from_stages = false; // the stages of the step have to be known
  Outcome (*prepare)(const RunContext &, double h);
  void (*at)(const RunContext &, double h, double s, double *z);
};

// q v x of a stage at the fraction s of the step from work.q to work.q1, put back onto the loops; after `prepare`
inline Outcome interpolate(const Stepper &stepper, const RunContext &i, double h, double s) {
  const double t = i.run.t + s * h;
  RunWorkspace &work = i.work;
  stepper.at(i, h, s, work.z);
  if (!displaced(i, t, work.z, work.qs, work.vs, work.xs))
    return Outcome::callback_failed;
  return project_onto_constraints(i, t, work.qs, work.vs);
}

} // namespace dalembert::DALEMBERT_ISA
