// From flat arrays to elements with laws of their own.
#include "build.hpp"
#include <algorithm>
#include <cstring>

namespace dalembert::bind {

namespace nb = nanobind;

namespace {

std::int32_t within(std::int32_t value, std::int32_t low, std::int32_t high) {
  if (value < low || value >= high)
    throw nb::value_error("an element refers to something out of range");
  return value;
}

void keep_programs(BoundModel &model, const Integers &programs, const Integers &instructions, const Doubles &constants, const Integers &outputs,
                   std::int32_t tables) {
  if (programs.size() % 4 || instructions.size() % 5)
    throw nb::value_error("the arrays of the programs disagree in shape");
  ModelData &m = model.data;
  model.program_constants.assign(constants.data(), constants.data() + constants.size());
  model.program_outputs.assign(outputs.data(), outputs.data() + outputs.size());
  model.instructions.clear();
  for (std::size_t k = 0; k < instructions.size() / 5; ++k) {
    const std::int32_t *row = instructions.data() + 5 * k;
    if (row[0] < 0 || row[0] > std::int32_t(Operation::lookup))
      throw nb::value_error("an operation is unknown");
    model.instructions.push_back({static_cast<Operation>(row[0]), row[1], row[2], row[3], row[4]});
  }
  model.programs.clear();
  m.most_values = 0;
  for (std::size_t k = 0; k < programs.size() / 4; ++k) {
    const std::int32_t *row = programs.data() + 4 * k;
    if (row[0] < 0 || row[1] < 0 || std::size_t(row[0]) + std::size_t(row[1]) > model.instructions.size() || row[2] < 0 || row[3] < 0 ||
        row[3] > most_outputs || std::size_t(row[2]) + std::size_t(row[3]) > model.program_outputs.size())
      throw nb::value_error("a program is out of range");
    for (std::int32_t i = 0; i < row[1]; ++i) { // every operation works on results before it
      const Instruction &step = model.instructions[std::size_t(row[0] + i)];
      const std::int32_t limit = step.operation == Operation::constant ? std::int32_t(constants.size())
                                 : step.operation == Operation::input  ? most_inputs
                                                                       : i;
      const bool looks_up = step.operation == Operation::lookup;
      if (looks_up)
        within(step.a, 0, tables);
      for (const std::int32_t place : {looks_up ? 0 : step.a, step.b, step.c, step.d})
        if (place < 0 || (place && place >= limit))
          throw nb::value_error("an operation refers to something out of range");
    }
    model.programs.push_back({row[0], row[1], row[2], row[3]});
    m.most_values = std::max(m.most_values, row[1]);
  }
}

void keep_tables(BoundModel &model, const Doubles &numbers, const Integers &integers) {
  constexpr std::size_t width = 7;
  model.table_numbers.assign(numbers.data(), numbers.data() + numbers.size());
  model.tables.clear();
  for (std::size_t k = 0; k < integers.size() / width; ++k) {
    const std::int32_t *row = integers.data() + width * k;
    const TableData table{within(row[0], 1, 4), within(row[1], 1, 4), {row[2], row[3], row[4]}, row[5], static_cast<Beyond>(within(row[6], 0, 3))};
    std::int64_t size = 1, knots = 0;
    for (int j = 0; j < table.variables; ++j) {
      size *= std::int64_t(within(table.cells[j], 1, 1 << 24)) * (table.degree + 1);
      knots += table.cells[j] + 1;
    }
    if (table.first < 0 || table.first + knots + size > std::int64_t(numbers.size()))
      throw nb::value_error("a table is out of range");
    model.tables.push_back(table);
  }
}

} // namespace

// port rows: R_FA (9) p_FA (3) R_FB (9) p_FB (3), integers: measure body_a body_b freedom coordinate; element rows: port ports
// program function parameter parameters state states input inputs signals unknowns active; input rows: source place part;
// feedback rows: R_FM (9) p_FM (3), integers: chord carried on_carried body part; program rows: first count output outputs; instruction rows:
// operation a b c d; table rows: variables degree cells (3) first beyond
void set_elements(BoundModel &model, const Doubles &port_numbers, const Integers &port_integers, const Integers &elements,
                  const Integers &inputs, const Doubles &feedback_numbers, const Integers &feedback_integers, const Integers &programs,
                  const Integers &instructions, const Doubles &constants, const Integers &outputs, const Doubles &table_numbers,
                  const Integers &tables) {
  constexpr std::size_t width = 24, port_width = 5, element_width = 13, input_width = 3, feedback_width = 12, feedback_codes = 5;
  ModelData &m = model.data;
  const std::size_t ports = port_integers.size() / port_width, feedbacks = feedback_integers.size() / feedback_codes;
  if (port_numbers.size() != ports * width || port_integers.size() != ports * port_width || elements.size() % element_width ||
      inputs.size() % input_width || feedback_integers.size() != feedback_codes * feedbacks || feedback_numbers.size() != feedback_width * feedbacks ||
      tables.size() % 7)
    throw nb::value_error("the arrays of the elements disagree in shape");
  keep_tables(model, table_numbers, tables);
  keep_programs(model, programs, instructions, constants, outputs, std::int32_t(model.tables.size()));
  m.looks_at_bodies = false;
  for (const ForceData &force : model.forces)
    m.looks_at_bodies |= force.freedom < 0;
  model.ports.clear();
  for (std::size_t k = 0; k < ports; ++k) {
    const double *row = port_numbers.data() + k * width;
    const std::int32_t *codes = port_integers.data() + k * port_width;
    PortData port{};
    port.measure = static_cast<Measure>(within(codes[0], 0, std::int32_t(Measure::pose) + 1));
    port.body_a = within(codes[1], 0, m.nb + 1), port.body_b = within(codes[2], 0, m.nb + 1);
    port.freedom = within(codes[3], -1, m.nv), port.coordinate = within(codes[4], -1, m.nq);
    std::memcpy(port.R_FA, row, sizeof port.R_FA);
    std::memcpy(port.p_FA, row + 9, sizeof port.p_FA);
    std::memcpy(port.R_FB, row + 12, sizeof port.R_FB);
    std::memcpy(port.p_FB, row + 21, sizeof port.p_FB);
    m.looks_at_bodies |= port.measure != Measure::hinge;
    model.ports.push_back(port);
  }
  model.feedbacks.clear();
  for (std::size_t k = 0; k < feedbacks; ++k) {
    const std::int32_t *codes = feedback_integers.data() + feedback_codes * k;
    FeedbackData feedback{within(codes[0], -1, m.chord_count), within(codes[1], 0, m.nb + 1), codes[2], within(codes[3], 0, m.nb + 1),
                          within(codes[4], 0, 6), {}, {}};
    const double *row = feedback_numbers.data() + feedback_width * k;
    std::memcpy(feedback.R_FM, row, sizeof feedback.R_FM);
    std::memcpy(feedback.p_FM, row + 9, sizeof feedback.p_FM);
    model.feedbacks.push_back(feedback);
  }
  const std::size_t count = elements.size() / element_width;
  m.nx = m.signal_count = 0;
  for (std::size_t k = 0; k < count; ++k) {
    m.nx += elements.data()[k * element_width + 7];
    m.signal_count += elements.data()[k * element_width + 10];
  }
  model.inputs.clear();
  for (std::size_t k = 0; k < inputs.size() / input_width; ++k) {
    const std::int32_t *codes = inputs.data() + k * input_width;
    const Source source = static_cast<Source>(within(codes[0], 0, std::int32_t(Source::feedback) + 1));
    const std::size_t limits[] = {model.laws.size(), ports, std::size_t(m.nx), std::size_t(m.signal_count), feedbacks};
    model.inputs.push_back({source, within(codes[1], 0, std::int32_t(limits[codes[0]])), within(codes[2], 0, 12)});
  }
  model.elements.clear();
  std::int32_t signals = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const std::int32_t *c = elements.data() + k * element_width;
    ElementData e{};
    e.port = within(c[0], 0, std::int32_t(ports) + 1), e.ports = within(c[1], 0, most_ports + 1);
    e.program = within(c[2], -1, std::int32_t(model.programs.size())), e.function = c[3];
    e.parameter = within(c[4], 0, m.parameter_count + 1), e.parameters = c[5];
    e.state = within(c[6], 0, m.nx + 1), e.states = c[7];
    e.input = within(c[8], 0, std::int32_t(model.inputs.size()) + 1), e.inputs = c[9];
    e.signal = signals, e.signals = c[10];
    e.unknowns = within(c[11], 0, most_unknowns + 1), e.active = c[12];
    signals += e.signals;
    if (e.port + e.ports > std::int32_t(ports))
      throw nb::value_error("an element refers to something out of range");
    for (int j = 0; j < e.ports; ++j)
      e.measures += model.ports[std::size_t(e.port + j)].measure == Measure::pose    ? 6
                    : model.ports[std::size_t(e.port + j)].measure == Measure::place ? 3
                                                                                     : 1;
    if (e.state + e.states > m.nx || e.input + e.inputs > std::int32_t(model.inputs.size()) || e.parameter + e.parameters > m.parameter_count ||
        1 + 2 * e.measures + e.states + e.parameters + e.inputs + e.unknowns > most_inputs || e.measures + e.states + 1 + e.signals > most_outputs)
      throw nb::value_error("an element refers to something out of range");
    model.elements.push_back(e);
  }
  m.element_count = std::int32_t(model.elements.size());
  m.feedback_count = std::int32_t(feedbacks);
  m.elements = model.elements.data();
  m.ports = model.ports.data();
  m.inputs = model.inputs.data();
  m.feedbacks = model.feedbacks.data();
  m.tables = model.tables.data();
  m.table_numbers = model.table_numbers.data();
  m.programs = model.programs.data();
  m.instructions = model.instructions.data();
  m.program_constants = model.program_constants.data();
  m.program_outputs = model.program_outputs.data();
}

} // namespace dalembert::bind
