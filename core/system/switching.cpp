#include "system/switching.hpp"
#include "contact/contact_element.hpp"
#include "elements/elements.hpp"
#include "elements/lookup_tables.hpp"
#include "elements/program.hpp"
#include "system/dynamics.hpp"
#include "tree/kinematics.hpp"
#include <algorithm>
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

std::size_t lay_out(const ModelData &m, std::byte *base, SwitchingWorkspace &work) {
  Arena arena{base};
  const std::size_t inputs = std::size_t(m.monitor_inputs), functions = std::size_t(m.switching_count);
  const std::size_t values = functions ? std::size_t(m.programs.max_values) : 0,
                    signals = functions ? std::size_t(m.signal_count) : 0;
  for (SwitchingPoint *each : {&work.begin, &work.end, work.parts, work.parts + 1, work.parts + 2}) {
    each->y = arena.take<double>(inputs);
    each->rate = arena.take<double>(inputs);
  }
  work.beside = arena.take<double>(inputs);
  work.range = arena.take<Interval>(inputs);
  work.values = arena.take<Interval>(values);
  work.signals = arena.take<Interval>(signals);
  work.bounds = arena.take<Interval>(functions);
  work.numbers = arena.take<double>(values);
  work.given = arena.take<double>(signals);
  work.active = arena.take<unsigned char>(functions ? std::size_t(m.monitored_count) : 0);
  for (double **each : {&work.switching_values, &work.beyond, &work.size, &work.base})
    *each = arena.take<double>(functions);
  return arena.used;
}

template <class T> bool look_at_watched(const ModelData &m, const Conditions &c, SystemWorkspace<T> &work,
                                        const SystemState<T> &s, const unsigned char *active, T *y) {
  Workspace<T> &ws = work.loops.ws;
  if constexpr (std::is_same_v<T, double>)
    if (m.monitors_callbacks && !evaluate_callbacks(m, c, work, s))
      return false;
  ws.t = s.t;
  if (m.needs_body_motion)
    place_and_move(m, ws, s.q, s.v);
  gather_watched(m, ws, evaluation_context(c, work, s, static_cast<T *>(nullptr)), active, s.q, s.v, y);
  return true;
}

static bool is_known(double x) { return x == x; }
static bool is_known(const Interval &x) { return x.low <= x.high; }

template <class T> void switching_function_values(const ModelData &m, const double *sides, const unsigned char *active,
                                                  const T *y, T *values, T *signals, T *found) {
  std::fill_n(signals, m.signal_count, T(std::numeric_limits<double>::quiet_NaN()));
  for (int k = 0; k < m.monitored_count; ++k) {
    if (active && !active[k])
      continue;
    const MonitoredElementData &monitored = m.monitored[k];
    const ElementData &e = m.elements[monitored.element];
    const T *in = y + monitored.first;
    if (e.form == LawForm::limits) {
      found[e.first_switching] = in[1] - in[3];
      found[e.first_switching + 1] = in[1] - in[4];
      continue;
    }
    if (e.form == LawForm::contact) {
      found[e.first_switching] = watched_gap(m, e, in);
      continue;
    }
    const ProgramData &program = m.programs.programs[e.law];
    for (int j = 0; j < program.inputs; ++j)
      values[j] = j < monitored.count ? in[j] : T(0.0); // no switching function hangs on unknowns
    for (int j = 0; j < program.constants; ++j)
      values[program.inputs + j] = T(m.programs.constants[program.constant + j]);
    for (int j = 0; j < e.inputs; ++j) // bounds of what programs give are those of the programs
      if (const InputData &input = m.inputs[e.input + j];
          input.source == Source::signal && is_known(signals[input.place]))
        values[monitored.count - e.inputs + j] = signals[input.place];
    const LawBranches<T> branches{sides + e.first_switching, 0, found + e.first_switching};
    run_parts(m, m.programs, program, ProgramPart::known, e.unknowns ? ProgramPart::known : ProgramPart::results,
              values, branches);
    for (int j = 0; j < e.signals && !e.unknowns; ++j)
      signals[e.signal + j] = result_of(m.programs, program, values, e.measures + e.states + 1 + j);
  }
}

bool turns_matter(const ModelData &m, const MonitoredElementData &monitored, const SwitchingPoint &begin,
                  const SwitchingPoint &end, double h) {
  const ElementData &e = m.elements[monitored.element];
  const int first = monitored.first;
  return e.form != LawForm::contact ||
         !keeps_apart(m, e, begin.y + first, begin.rate + first, end.y + first, end.rate + first, h);
}

static Interval hermite_range(double y0, double rate0, double y1, double rate1, double h) {
  const double a = y0 + h * rate0 / 3.0, b = y1 - h * rate1 / 3.0;
  return {std::min({y0, a, b, y1}), std::max({y0, a, b, y1})};
}

void range_between(const ModelData &m, const SwitchingPoint &a, const SwitchingPoint &b, double h, Interval *range) {
  constexpr double widened = 0.25;
  for (int k = 0; k < m.monitor_inputs; ++k) {
    const Interval r = hermite_range(a.y[k], a.rate[k], b.y[k], b.rate[k], h);
    const double more = widened * (r.high - r.low);
    range[k] = {r.low - more, r.high + more};
  }
}

void range_between(const ModelData &m, const SwitchingPoint &a, const SwitchingPoint &middle, const SwitchingPoint &b,
                   double h, const unsigned char *active, Interval *range) {
  for (int monitored = 0; monitored < m.monitored_count; ++monitored)
    for (int k = m.monitored[monitored].first;
         active[monitored] && k < m.monitored[monitored].first + m.monitored[monitored].count; ++k) {
      const double half = 0.5 * (a.y[k] + b.y[k]) + 0.125 * h * (a.rate[k] - b.rate[k]),
                   more = 1.5 * std::fabs(middle.y[k] - half);
      const Interval r = hermite_range(a.y[k], a.rate[k], b.y[k], b.rate[k], h);
      range[k] = {r.low - more, r.high + more};
    }
}

// the ends of a table along the variable that a switching function is of
static Interval ends_of(const ModelData &m, const SwitchingFunctionData &function) {
  const TableData &table = m.tables[function.table];
  const double *knots = m.table_values + table.first;
  for (int k = 0; k < function.axis; ++k)
    knots += table.cells[k] + 1;
  return {knots[0], knots[table.cells[function.axis]]};
}

static TableBreaks breaks_of(const ModelData &m, const SwitchingFunctionData &function) {
  const Interval ends = ends_of(m, function);
  return {m, m.tables[function.table], function.axis, ends.low, ends.high};
}

double max_move(const ModelData &m, const SwitchingFunctionData &function) {
  constexpr int cells_seen = 8, max_cells = 256; // a table of more cells is smooth over several of them
  if (function.table < 0)
    return std::numeric_limits<double>::infinity();
  const Interval ends = ends_of(m, function);
  return cells_seen * (ends.high - ends.low) / std::min(max_cells, m.tables[function.table].cells[function.axis]);
}

double side_of(const ModelData &m, const SwitchingFunctionData &function, double margin) {
  if (!function.whole)
    return margin < 0.0 ? -1.0 : 1.0;
  return function.table < 0 ? std::floor(margin) : breaks_of(m, function).piece_of(margin);
}

double inside(const ModelData &m, const SwitchingFunctionData &function, double side, const Interval &margin) {
  if (!function.whole)
    return side < 0.0 ? -margin.high : margin.low;
  if (function.table < 0)
    return std::min(margin.low - side, side + 1.0 - margin.high);
  const TableBreaks breaks = breaks_of(m, function);
  return std::min(margin.low - breaks.begin(side), breaks.end(side) - margin.high);
}

bool keeps_sides(const ModelData &m, SwitchingWorkspace &work, const double *sides, double h) {
  range_between(m, work.begin, work.end, h, work.range);
  switching_function_values<Interval>(m, sides, nullptr, work.range, work.values, work.signals, work.bounds);
  for (int k = 0; k < m.switching_count; ++k) {
    const SwitchingFunctionData &function = m.switching_functions[k];
    const Interval &bounds = work.bounds[k];
    if (!(inside(m, function, side_of(m, function, work.switching_values[k]), bounds) >= 0.0) ||
        bounds.high - bounds.low > 1.5 * max_move(m, function))
      return false;
  }
  return true;
}

template bool look_at_watched(const ModelData &, const Conditions &, SystemWorkspace<double> &,
                              const SystemState<double> &, const unsigned char *, double *);
template bool look_at_watched(const ModelData &, const Conditions &, SystemWorkspace<Pack> &, const SystemState<Pack> &,
                              const unsigned char *, Pack *);
template void switching_function_values(const ModelData &, const double *, const unsigned char *, const double *,
                                        double *, double *, double *);
template void switching_function_values(const ModelData &, const double *, const unsigned char *, const Interval *,
                                        Interval *, Interval *, Interval *);

} // namespace dalembert::DALEMBERT_ISA
