// Switching functions: the numbers by which laws choose between branches, at a state and along a part of a step.
//
// A switching function is a program of what its element takes: time, measures, their rates, states, parameters, inputs.
// Taken as numbers these give its value; taken as intervals that hold them along a part of a step, they give bounds of
// it there. What elements take moves as smoothly as the system does: between two points of a step it is held by the
// four control points of the cubic through its values and rates (Hermite's, in Bernstein's form),
//
//     y0,  y0 + h y0'/3,  y1 - h y1'/3,  y1                                                                         (1)
//
// widened by what the cubic misses at a point between. However fast the law itself varies, intervals see it.
#pragma once

#include "scalar/arena.hpp"
#include "scalar/interval.hpp"
#include "system/workspace.hpp"
#include "tree/manifold.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

// what monitored elements take at a point, and its rates
struct SwitchingPoint {
  double *y, *rate; // ModelData::monitor_inputs
};

struct SwitchingWorkspace {
  SwitchingPoint begin, end;           // of a step
  SwitchingPoint parts[3];             // beginning, middle and end of a part of it
  double *beside;                      // monitor_inputs: a little further on
  Interval *range;                     // monitor_inputs
  Interval *values, *signals, *bounds; // of a program; of all elements; switching_count
  double *numbers, *given;             // the first two for numbers
  double *switching_values, *beyond;   // switching_count: values at a point, and a little further on
  double *size;                        // switching_count: the larger of both ends of the step
  unsigned char *active;               // monitored_count: elements that are looked at within a step
  // switching_count: sides that a step must not leave unseen; not a number: of no concern
  double *base;
};

std::size_t lay_out(const ModelData &m, std::byte *base, SwitchingWorkspace &work);

// What monitored elements take at a state; of those that are active, null: of all. False: what is evaluated outside has
// failed. Of packs nothing is outside.
template <class T> bool look_at_watched(const ModelData &m, const Conditions &c, SystemWorkspace<T> &work,
                                        const SystemState<T> &s, const unsigned char *active, T *y);

// space for a state beside another one
template <class T> struct StateBeside {
  T *q, *v, *x, *change; // nq, nv, nx, nv
};

// What they take at a state and, from a state a little later, its rates; clamp(t): the time by which laws are
// evaluated.
template <class T, class Clamp> bool look_with_rates(const ModelData &m, const Conditions &c, SystemWorkspace<T> &work,
                                                     const T &t, const T *q, const T *v, const T *x, const T *a,
                                                     const T *dx, const T &later, Clamp &&clamp,
                                                     const StateBeside<T> &beside, T *y, T *rate) {
  for (int f = 0; f < m.nv; ++f) {
    beside.change[f] = later * v[f];
    beside.v[f] = v[f] + later * a[f];
  }
  for (int k = 0; k < m.nx; ++k)
    beside.x[k] = x[k] + later * dx[k];
  integrate<T>(m, q, beside.change, beside.q);
  if (!look_at_watched(m, c, work, {clamp(t), q, v, x}, nullptr, y) ||
      !look_at_watched(m, c, work, {clamp(t + later), beside.q, beside.v, beside.x}, nullptr, rate))
    return false;
  for (int k = 0; k < m.monitor_inputs; ++k)
    rate[k] = (rate[k] - y[k]) / later;
  return true;
}

// Switching functions (switching_count) for what monitored elements take, on branches that are held; values: space for
// a program, signals: of all elements. active: as above.
template <class T> void switching_function_values(const ModelData &m, const double *sides, const unsigned char *active,
                                                  const T *y, T *values, T *signals, T *found);

// (1): the range of what monitored elements take between two points, h apart, about whose middle nothing is known;
// widened by a quarter of its width
void range_between(const ModelData &m, const SwitchingPoint &a, const SwitchingPoint &b, double h, Interval *range);

// the same of active elements, widened by what the cubic misses half way
void range_between(const ModelData &m, const SwitchingPoint &a, const SwitchingPoint &middle, const SwitchingPoint &b,
                   double h, const unsigned char *active, Interval *range);

// the side that a switching function is on
double side_of(const ModelData &m, const SwitchingFunctionData &function, double margin);

// How far the variable of a table may move in a step, so that its stages see what the table has there: some cells.
// Infinite for others.
double max_move(const ModelData &m, const SwitchingFunctionData &function);

// How far inside a side a switching function is, at least; less than zero beyond its end.
double inside(const ModelData &m, const SwitchingFunctionData &function, double side, const Interval &margin);

// Frames of monitored elements may turn so far, all angles between them together, between two points about whose middle
// nothing is known: a shaft may make many turns in a step, whose ends would look alike. rad
constexpr double max_turn = 0.5236;

// Whether turns of an element's frames in a step of length h count: not those of contacts that keep apart.
bool turns_matter(const ModelData &m, const MonitoredElementData &monitored, const SwitchingPoint &begin,
                  const SwitchingPoint &end, double h);

// the largest angle between frames of an element; turn(f): that of one angle
template <class Turn> inline double max_turn_of(const ModelData &m, const SwitchingPoint &begin,
                                                const SwitchingPoint &end, double h, Turn &&turn) {
  double most = 0.0;
  for (int k = 0; k < m.monitored_count; ++k) {
    double sum = 0.0;
    for (int j = 0; j < m.monitored[k].supports; ++j)
      sum += turn(m.monitor_support[m.monitored[k].support + j]);
    if (sum > most && (sum <= max_turn || turns_matter(m, m.monitored[k], begin, end, h)))
      most = sum;
  }
  return most;
}

// Whether bounds from both ends of a step of length h show that switching functions stay on the sides of
// `work.switching_values`, and that tables are seen; sides: those that are held.
bool keeps_sides(const ModelData &m, SwitchingWorkspace &work, const double *sides, double h);

} // namespace dalembert::DALEMBERT_ISA
