#include "model/switching_plan.hpp"
#include "contact/pair_points.hpp"
#include "joints/registry.hpp"
#include "scalar/interval.hpp"
#include <algorithm>
#include <cmath>
#include <set>

namespace dalembert {

namespace {

template <class T> const T *pointer(const std::vector<T> &v) { return v.empty() ? nullptr : v.data(); }

std::int32_t size_of(const auto &v) { return std::int32_t(v.size()); }

// ---- tables

// One variable of a table, the others flattened: coefficients of all cells by place, cell along the variable and power
// of it.
struct Axis {
  const TableData &table;
  int variable;
  const double *knots, *coefficients;
  std::ptrdiff_t inner = 1, outer = 1; // cells of the variables after and before it
  int order;
  double widest[3] = {}; // cells along each variable

  Axis(const TableData &table, const double *numbers, int variable)
      : table(table), variable(variable), order(table.degree + 1) {
    const double *at = numbers + table.first;
    for (int k = 0; k < table.variables; ++k) {
      knots = k == variable ? at : knots;
      for (int j = 0; j < table.cells[k]; ++j)
        widest[k] = std::max(widest[k], at[j + 1] - at[j]);
      at += table.cells[k] + 1;
      (k < variable ? outer : inner) *= k == variable ? 1 : table.cells[k];
    }
    coefficients = at;
  }

  // Calls act(value, slope) of every polynomial in the other variables, at the beginning or at the end of a cell:
  // coefficients of its powers, times those of widths, so that all are of the size of values; slopes times the width of
  // the cell.
  template <class Act> void at_side(int cell, bool end, Act &&act) const {
    const double width = knots[cell + 1] - knots[cell];
    const std::ptrdiff_t after = power_of(table.variables - 1 - variable), size = power_of(table.variables);
    for (std::ptrdiff_t o = 0; o < outer; ++o)
      for (std::ptrdiff_t i = 0; i < inner; ++i) {
        const double *c = coefficients + ((o * table.cells[variable] + cell) * inner + i) * size;
        for (std::ptrdiff_t p = 0; p < size; ++p) {
          if (p / after % order)
            continue;
          double value = 0.0, slope = 0.0;
          for (int k = order - 1; k >= 0; --k) {
            slope = slope * (end ? width : 0.0) + value;
            value = value * (end ? width : 0.0) + c[p + k * after];
          }
          double scale = 1.0;
          for (std::ptrdiff_t k = table.variables - 1, rest = p; k >= 0; --k, rest /= order)
            scale *= std::pow(widest[k], double(rest % order));
          act(value * scale, slope * scale * width);
        }
      }
  }

  // whether value or slope jump from the end of one cell to the beginning of another, by more than rounding
  bool breaks(int before, int after, double size) const {
    std::vector<double> values, slopes;
    at_side(before, true, [&](double value, double slope) { values.push_back(value), slopes.push_back(slope); });
    const double ratio = (knots[before + 1] - knots[before]) / (knots[after + 1] - knots[after]);
    bool found = false;
    std::size_t k = 0;
    at_side(after, false, [&](double value, double slope) {
      found |= std::fabs(value - values[k]) > 1e-9 * size || std::fabs(slope * ratio - slopes[k]) > 1e-9 * size;
      ++k;
    });
    return found;
  }

  // whether it does where a table ends and holds its value, or is nothing
  bool breaks_off(int cell, bool end, double size) const {
    bool found = false;
    at_side(cell, end, [&](double value, double slope) {
      found |= std::fabs(slope) > 1e-9 * size ||
               (table.extrapolation == Extrapolation::zero && std::fabs(value) > 1e-9 * size);
    });
    return found;
  }

private:
  std::ptrdiff_t power_of(int count) const {
    std::ptrdiff_t all = 1;
    for (int k = 0; k < count; ++k)
      all *= order;
    return all;
  }
};

void find_bounds(TableData &table, const double *numbers) {
  using DALEMBERT_ISA::Interval;
  const double *knots[3] = {}, *at = numbers + table.first;
  std::ptrdiff_t cells = 1;
  for (int k = 0; k < table.variables; ++k) {
    knots[k] = at, at += table.cells[k] + 1;
    cells *= table.cells[k];
  }
  const int order = table.degree + 1, n1 = table.variables > 1 ? order : 1, n2 = table.variables > 2 ? order : 1;
  table.low = table.extrapolation == Extrapolation::zero ? 0.0 : INFINITY, table.high = -table.low;
  for (std::ptrdiff_t cell = 0; cell < cells; ++cell) {
    double width[3] = {};
    std::ptrdiff_t rest = cell;
    for (int k = table.variables - 1; k >= 0; --k) {
      const std::ptrdiff_t j = rest % table.cells[k];
      width[k] = knots[k][j + 1] - knots[k][j], rest /= table.cells[k];
    }
    Interval value(0.0);
    for (int i = 0; i < order; ++i)
      for (int j = 0; j < n1; ++j)
        for (int l = 0; l < n2; ++l, ++at) {
          const double size = std::pow(width[0], i) * std::pow(width[1], j) * std::pow(width[2], l);
          value = value + Interval(*at) * (i + j + l ? Interval(0.0, size) : Interval(1.0));
        }
    table.low = std::min(table.low, value.low), table.high = std::max(table.high, value.high);
  }
}

} // namespace

void find_table_breaks(Tables &t, ModelData &m) {
  t.table_breaks.clear();
  for (TableData &table : t.tables) {
    find_bounds(table, t.table_values.data());
    const double size = std::max(std::fabs(table.low), std::fabs(table.high));
    for (int k = 0; k < 3; ++k) {
      table.breaks[k] = size_of(t.table_breaks), table.break_counts[k] = 0;
      if (k >= table.variables)
        continue;
      const Axis axis(table, t.table_values.data(), k);
      const int cells = table.cells[k];
      const bool refuses = table.extrapolation == Extrapolation::refuse,
                 repeats = table.extrapolation == Extrapolation::repeat;
      if (refuses || (repeats ? axis.breaks(cells - 1, 0, size) : axis.breaks_off(0, false, size)))
        t.table_breaks.push_back(axis.knots[0]);
      for (int j = 1; j < cells; ++j)
        if (axis.breaks(j - 1, j, size))
          t.table_breaks.push_back(axis.knots[j]);
      if (refuses || (!repeats && axis.breaks_off(cells - 1, true, size)))
        t.table_breaks.push_back(axis.knots[cells]);
      table.break_counts[k] = size_of(t.table_breaks) - table.breaks[k];
    }
  }
  m.table_breaks = pointer(t.table_breaks);
}

// ---- switching functions

void find_switching_functions(Tables &t, ModelData &m) {
  std::vector<std::set<std::int32_t>> followed(t.laws_of_elements.programs.size());
  for (std::size_t k = 0; k < followed.size(); ++k) {
    const ProgramData &program = t.laws_of_elements.programs[k];
    for (std::int32_t i = program.first; i < program.first + program.count; ++i) {
      Instruction &step = t.laws_of_elements.instructions[std::size_t(i)];
      if (std::abs(step.branch) < follow_branch)
        continue;
      step.branch += step.branch > 0 ? -follow_branch : follow_branch;
      for (std::int32_t j = 0; j < (step.operation == Operation::lookup ? t.tables[std::size_t(step.a)].variables : 1);
           ++j)
        followed[k].insert(std::abs(step.branch) + j);
    }
  }
  t.switching_functions.clear();
  for (std::size_t k = 0; k < t.elements.size(); ++k) {
    ElementData &e = t.elements[k];
    e.first_switching = size_of(t.switching_functions), e.switching_functions = 0;
    const auto add = [&](std::int32_t number) -> SwitchingFunctionData & {
      e.switching_functions = std::max(e.switching_functions, number);
      t.switching_functions.resize(std::size_t(e.first_switching + e.switching_functions),
                                   SwitchingFunctionData{std::int32_t(k), 0, -1, 0, 0});
      return t.switching_functions[std::size_t(e.first_switching + number - 1)];
    };
    if (e.form == LawForm::limits)
      add(2);
    if (e.form == LawForm::contact) // the gap; that a contact is closed is not held: its force begins at zero
      add(1).followed = 1;
    if (e.form != LawForm::program || e.report_only)
      continue;
    const ProgramData &program = t.laws_of_elements.programs[std::size_t(e.law)];
    for (std::int32_t i = program.first; i < program.first + program.count; ++i) {
      const Instruction &step = t.laws_of_elements.instructions[std::size_t(i)];
      if (!step.branch)
        continue;
      const std::int32_t number = std::abs(step.branch);
      if (step.operation != Operation::lookup) {
        add(number).whole |= step.operation == Operation::floor;
        continue;
      }
      for (std::int32_t j = 0; j < t.tables[std::size_t(step.a)].variables; ++j)
        add(number + j) = {std::int32_t(k), 1, step.a, j, 0};
    }
    for (const std::int32_t number : followed[std::size_t(e.law)])
      if (number <= e.switching_functions)
        add(number).followed = 1;
  }
  m.switching_functions = pointer(t.switching_functions);
  m.switching_count = size_of(t.switching_functions);
}

// ---- the elements that are monitored

namespace {

// calls act(degree of freedom) for the angles of a joint; of a custom one every coordinate may be an angle
template <class Act> void for_angles(const BodyData &b, Act &&act) {
  using namespace DALEMBERT_ISA;
  if (b.form == JointForm::modal || b.form == JointForm::node || b.form == JointForm::none ||
      b.form == JointForm::along_z)
    return;
  Motion<double> H[6];
  std::fill_n(H, 6, Motion<double>{{0.0, 0.0, 1.0}, zero3<double>()});
  if (b.form != JointForm::custom)
    JointLibrary::visit(b.kind, [&](auto joint) {
      using Joint = decltype(joint);
      double q[7] = {};
      q[0] = b.nq != b.nv ? 1.0 : 0.0;
      Pose<double> X;
      Joint::position(b, q, X, H);
    });
  for (int k = 0; k < b.nv; ++k)
    if (dot(H[k].w, H[k].w) > 0.0)
      act(b.v + k);
}

// angles on the way between two bodies
void add_way(const ModelData &m, std::int32_t a, std::int32_t b, std::set<std::int32_t> &found) {
  while (a != b) {
    std::int32_t &outer = a > b ? a : b; // bodies are numbered outwards
    for_angles(m.bodies[outer], [&](std::int32_t dof) { found.insert(dof); });
    outer = m.bodies[outer].parent;
  }
}

// A sphere about the origin of F turns without moving its surface.
void remove_idle_turns(const Tables &t, const ModelData &m, const ElementData &e, std::set<std::int32_t> &angles) {
  const ContactPairData &pair = t.contact_pairs[std::size_t(e.law)];
  const PortData &port = t.ports[std::size_t(e.port)];
  const auto remove = [&](std::int32_t solid, std::int32_t body, const double *center, double reach) {
    if (!bound_of_solid(t.contact_solids[std::size_t(solid)]).is_sphere ||
        std::hypot(center[0], center[1], center[2]) > 1e-9 * reach)
      return;
    for_angles(m.bodies[body], [&](std::int32_t dof) { angles.erase(dof); });
  };
  remove(pair.first, port.body_a, pair.center_a, pair.reach_a);
  remove(pair.second, port.body_b, pair.center_b, pair.reach_b);
}

} // namespace

void find_watched(Tables &t, ModelData &m) {
  std::vector<bool> marked(t.elements.size(), false);
  for (std::size_t k = t.elements.size(); k-- > 0;) { // signals come from elements before
    const ElementData &e = t.elements[k];
    marked[k] = marked[k] || e.switching_functions > 0;
    for (std::int32_t j = 0; marked[k] && j < e.inputs; ++j) {
      const InputData &input = t.inputs[std::size_t(e.input + j)];
      for (std::size_t from = 0; input.source == Source::signal && from < k; ++from) {
        const ElementData &giver = t.elements[from];
        if (input.place >= giver.signal && input.place < giver.signal + giver.signals &&
            giver.form == LawForm::program && !giver.unknowns)
          marked[from] = true;
      }
    }
  }
  t.monitored.clear(), t.monitor_support.clear();
  m.monitor_inputs = 0, m.monitors_callbacks = false;
  for (std::size_t k = 0; k < t.elements.size(); ++k) {
    if (!marked[k])
      continue;
    const ElementData &e = t.elements[k];
    std::set<std::int32_t> angles;
    const auto add_port = [&](const PortData &port) {
      if (port.measure != Measure::joint || port.constraint >= 0) {
        const bool cut = port.constraint >= 0;
        add_way(m, cut ? m.loop_constraints[port.constraint].body_a : port.body_a,
                cut ? m.loop_constraints[port.constraint].body_b : port.body_b, angles);
      }
    };
    for (std::int32_t j = 0; j < e.ports; ++j)
      add_port(t.ports[std::size_t(e.port + j)]);
    if (e.form == LawForm::contact)
      remove_idle_turns(t, m, e, angles);
    for (std::int32_t j = 0; j < e.inputs; ++j) {
      const InputData &input = t.inputs[std::size_t(e.input + j)];
      if (input.source == Source::port)
        add_port(t.ports[std::size_t(input.place)]);
      m.monitors_callbacks |= input.source == Source::law && t.laws[std::size_t(input.place)].kind == LawKind::callback;
    }
    const bool contact = e.form == LawForm::contact;
    const std::int32_t count =
        contact ? contact_monitor_inputs : 1 + 2 * e.measures + e.states + e.parameters + e.inputs;
    t.monitored.push_back({std::int32_t(k), m.monitor_inputs, count, size_of(t.monitor_support), size_of(angles)});
    t.monitor_support.insert(t.monitor_support.end(), angles.begin(), angles.end());
    m.monitor_inputs += count;
  }
  m.monitored = pointer(t.monitored);
  m.monitored_count = size_of(t.monitored);
  m.monitor_support = pointer(t.monitor_support);
}

} // namespace dalembert
