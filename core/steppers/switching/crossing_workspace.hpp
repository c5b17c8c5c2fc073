// Functions whose zero crossings end or mark steps, and the memory of the search for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dalembert {

struct CrossingFunction {
  std::int32_t direction = -1; // of crossings that count: +1 rising, -1 falling, 0 both
  bool changes_run = true;     // the step ends at its first crossing; crossings of others are recorded
  bool turn = false;           // an angle within +-pi: a jump by a turn is no crossing
  bool refined = false;        // points are added where they do not predict each other
  bool from_above = false;     // no crossing is searched for near an extremum below zero
  bool formula = false;        // of channels: bounded between points (steppers/switching/formula_search.hpp)
  bool convex = false;         // between points it falls, then rises, and its slope is known: the gap of a stop
};

struct CrossingPoint {
  double s, g; // fraction of the step, value
};

struct RecordedCrossing {
  std::int32_t function;
  double fraction; // 1: at the end of the step
};

struct FormulaMemory {
  std::vector<double> inputs;       // of formulas, at points within a step
  std::vector<std::byte> intervals; // inputs, numbers and results of a formula
};

struct CrossingWorkspace {
  std::vector<CrossingFunction> functions;
  std::vector<double> before;                        // values at the beginning of the step
  std::vector<double> table, rates;                  // nodes x functions: values, and slopes per step
  std::vector<double> fine_fractions, fine;          // where functions change fast: points, and points x functions
  std::vector<unsigned char> suspects, is_fine;      // functions that may cross; that are known at the fine points
  std::vector<double> displacement, values;          // nv; functions
  std::vector<double> roots;                         // functions: the first crossing of those that change the run
  std::vector<double> inputs;                        // nodes, and just after the first, x channels of events
  std::vector<CrossingPoint> points;
  FormulaMemory formulas;
};

} // namespace dalembert
