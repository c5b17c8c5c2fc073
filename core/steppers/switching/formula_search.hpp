// Crossings of an event function that is a formula, within a step.
//
// A formula may vary faster than what it takes: abs(x - 3) - 0.001 is below zero for an instant of a step in which x
// moves by metres. Its channels move as smoothly as the system does: between two points of a step they stay in the hull
// of the parabola through these and one between them, in Bernstein's form,
//
//     y0,  (ym - (1 - u)^2 y0 - u^2 y1) / (2 u (1 - u)),  y1,     u = (sm - s0) / (s1 - s0)                         (1)
//
// widened by parts of its width and of its bend. The formula run on these intervals is bounded there. Parts of the step
// in which bounds hold zero are halved until they do not, or the formula is straight where it changes its sign.
#pragma once

#include "elements/program.hpp"
#include "events/event_run.hpp"
#include "scalar/interval.hpp"
#include <algorithm>
#include <cmath>
#include <cstddef>

namespace dalembert::DALEMBERT_ISA {

// a point of a step: its fraction, the value of the function, and what the formula takes
struct FormulaPoint {
  double s, g;
  const double *inputs;
};

// Look: bool(double s, double *inputs, double &g), the function at a fraction of the step; false if it has failed.
// Passes: bool(double before, double after), whether it is a crossing that counts.
template <class Look, class Passes> class FormulaSearch {
public:
  FormulaSearch(const ModelData &m, const EventRun &e, int number, FormulaMemory &memory, Look &look, Passes &passes)
      : m(m), e(e), function(e.functions[std::size_t(number)]), program(e.programs.programs[function.program]),
        memory(memory), look(look), passes(passes) {
    memory.inputs.resize(std::size_t(2 * (max_depth + 1) * program.inputs));
    memory.intervals.resize(sizeof(Interval) * std::size_t(program.inputs + e.programs.max_values + program.outputs));
  }

  // Appends points between which the function changes its sign once at most, without the first, to `points`. It ends
  // behind crossing number `enough` of those that count; 0: at the end. False: a look has failed.
  bool search(const FormulaPoint &begin, const FormulaPoint &middle, const FormulaPoint &end, int enough,
              std::vector<CrossingPoint> &points) {
    last = begin.g;
    wanted = enough;
    part(begin, middle, end, 0, points);
    return !failed;
  }
  bool is_done() const { return wanted && found >= wanted; }

  int found = 0;          // crossings that count
  double explored = 1.0;  // of the step: behind it looks did not suffice to halve parts

private:
  static constexpr int max_depth = 40;     // of halving
  static constexpr int max_looks = 4000;   // after these, parts count by the values at their points
  static constexpr double least = 1e-13;   // of the step: parts that are not halved
  static constexpr double jump = 1e-9;     // the same where the function changes its sign: it jumps
  static constexpr double straight = 0.03; // of the change in a part: allowed distance from a line
  static constexpr double widest = 1.12;   // times this change: bounds of a part that counts as straight
  static constexpr double off_middle = 0.46; // where parts are divided: no periodic function looks straight there
  static constexpr double more_width = 0.05, more_bend = 0.5; // by which the range of a parabola is widened

  const ModelData &m;
  const EventRun &e;
  const EventFunction &function;
  const ProgramData &program;
  FormulaMemory &memory;
  Look &look;
  Passes &passes;
  double last = 0.0;
  int wanted = 0, looks = 0;
  bool failed = false;

  // bounds of the function between two points
  Interval bounds(const FormulaPoint &a, const FormulaPoint &middle, const FormulaPoint &b) const {
    Interval *range = reinterpret_cast<Interval *>(memory.intervals.data()), *numbers = range + program.inputs,
             *found_values = numbers + e.programs.max_values;
    const double u = (middle.s - a.s) / (b.s - a.s);
    for (int k = 0; k < program.inputs; ++k) {
      const double y0 = a.inputs[k], y1 = b.inputs[k];
      const double control = (middle.inputs[k] - (1.0 - u) * (1.0 - u) * y0 - u * u * y1) / (2.0 * u * (1.0 - u));
      const double low = std::min({y0, control, y1}), high = std::max({y0, control, y1});
      const double more = more_width * (high - low) + more_bend * std::fabs(control - 0.5 * (y0 + y1));
      range[k] = {low - more, high + more};
    }
    run_program<Interval>(m, e.programs, program, range, numbers, found_values);
    return found_values[0] - Interval(function.value);
  }

  void keep(const FormulaPoint &point, std::vector<CrossingPoint> &points) {
    if (is_done())
      return;
    points.push_back({point.s, point.g});
    found += passes(last, point.g);
    last = point.g;
  }

  bool evaluate(double s, double *inputs, FormulaPoint &point) {
    point = {s, 0.0, inputs};
    ++looks;
    failed = failed || !look(s, inputs, point.g);
    return !failed;
  }

  static bool is_straight(const FormulaPoint &a, const FormulaPoint &b, const FormulaPoint &between) {
    const double line = a.g + (between.s - a.s) / (b.s - a.s) * (b.g - a.g);
    return std::fabs(between.g - line) <= straight * std::fabs(b.g - a.g);
  }

  void part(const FormulaPoint &a, const FormulaPoint &middle, const FormulaPoint &b, int depth,
            std::vector<CrossingPoint> &points) {
    if (failed || is_done())
      return;
    const Interval range = bounds(a, middle, b);
    if (range.low > 0.0 || range.high < 0.0 || (range.low == 0.0 && range.high == 0.0))
      return keep(b, points);
    const bool changes = (a.g < 0.0) != (b.g < 0.0);
    if (looks >= max_looks)
      explored = std::min(explored, a.s);
    if (depth == max_depth || looks >= max_looks || b.s - a.s <= (changes ? jump : least)) {
      keep(middle, points);
      return keep(b, points);
    }
    double *inputs = memory.inputs.data() + std::ptrdiff_t(2 * depth * program.inputs);
    FormulaPoint left{}, right{};
    if (!evaluate(a.s + off_middle * (middle.s - a.s), inputs, left) ||
        !evaluate(b.s - off_middle * (b.s - middle.s), inputs + program.inputs, right))
      return;
    const bool narrow = range.high - range.low <= widest * std::fabs(b.g - a.g);
    if (changes && narrow && is_straight(a, b, left) && is_straight(a, b, middle) && is_straight(a, b, right)) {
      keep(middle, points);
      return keep(b, points);
    }
    part(a, left, middle, depth + 1, points);
    part(middle, right, b, depth + 1, points);
  }
};

} // namespace dalembert::DALEMBERT_ISA
