// Elements: they measure, their law answers with forces conjugate to the rates of what is measured.
//
// An element has one port or several, on bodies or at joints. With E what it stores, -(force . rate) - E' is lost, or,
// of active elements, brought. Elements stand in causal order: a signal is computed before the law that takes it.
#pragma once

#include "elements/evaluation_context.hpp"
#include "elements/measures.hpp"

namespace dalembert::DALEMBERT_ISA {

// All elements once, after the frames have been placed and moved, in the world too if ModelData::needs_body_motion:
// efforts at joints of the trees are added to tau (nv), those at cut joints to `cut` (ModelData::cut_nv; may be null),
// loads on bodies taken from p_A. Rates of states, signals and demands on actuators are stored as the evaluation
// context specifies.
template <class T> void apply_elements(const ModelData &m, Workspace<T> &ws, const EvaluationContext<T> &at, const T *q,
                                       const T *v, T *tau, T *cut);

// whether an element acts along one coordinate of a tree, by a smooth law
bool acts_on_one_joint(const ModelData &m, const ElementData &e);

// One of them: of each port the load on its end B, [moment; force] at its origin, world axes; at a joint of a tree its
// effort in force.x. Rates of its states and its signals as above.
template <class T> void evaluate_element(const ModelData &m, Workspace<T> &ws, const EvaluationContext<T> &at,
                                         int element, const T *q, const T *v, Load<T> *ends);

// the fraction of the demand on the actuators at a joint that they deliver
double delivered_fraction(const ActuatorData &actuator, double requested);

// What elements measure and do, of all of them in a row; null where it is not wanted.
struct ElementRecords {
  double *measures = nullptr, *rates = nullptr, *forces = nullptr; // ModelData::measure_count each
  double *energies = nullptr, *losses = nullptr, *gains = nullptr; // ModelData::element_count each: J, W, W
  double *loads = nullptr; // users x 6: [moment; force] on the user's bodies at the origins of their frames, world axes
  double *law_inputs = nullptr; // ModelData::law_input_count: further inputs of laws
  // ModelData::port_count x 6: [moment; force] on the end B of each port, at its origin, world axes
  double *port_loads = nullptr;
};

// The same with a record of it all; tau and cut are set, p_A is left alone. duals: space for programs.
void record_elements(const ModelData &m, Workspace<double> &ws, const EvaluationContext<double> &at, Dual *duals,
                     const double *q, const double *v, double *tau, double *cut, const ElementRecords &records);

// Sets the deflections of bristles to zero where their points of contact are open, among the states x (nx) at q, v.
void release_bristles(const ModelData &m, Workspace<double> &ws, const double *q, const double *v, double *x);

// Places (at most nx) of the states that act, or move: all but bristles of contacts that are idle, whose rates and forces
// are zero. Bodies stand in the world. Returns how many.
int find_acting_states(const ModelData &m, const Workspace<double> &ws, std::int32_t *places);

// What the laws of monitored elements take (ModelData::monitored), one element after the other, of those that are
// active (null: all); signals are found on the way.
template <class T> void gather_watched(const ModelData &m, Workspace<T> &ws, const EvaluationContext<T> &at,
                                       const unsigned char *active, const T *q, const T *v, T *y);

} // namespace dalembert::DALEMBERT_ISA
