#include "model/program_order.hpp"
#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace dalembert {

namespace {

constexpr std::int32_t nowhere = -1;
constexpr std::int32_t parts = std::int32_t(ProgramPart::stored) + 1; // also: the part of unused operations

std::int32_t number(ProgramPart part) { return std::int32_t(part); }

// how many of a, b, c, d are results before it
int operands(const Instruction &step, const std::vector<TableData> &tables) {
  switch (step.operation) {
  case Operation::constant:
  case Operation::input:
    return 0;
  case Operation::add:
  case Operation::subtract:
  case Operation::multiply:
  case Operation::divide:
  case Operation::power:
  case Operation::arctangent2:
  case Operation::smaller:
  case Operation::larger:
    return 2;
  case Operation::less:
    return 4;
  case Operation::lookup: // after the table
    return tables[std::size_t(step.a)].variables;
  default:
    return 1;
  }
}

std::int32_t &operand(Instruction &step, int k) {
  std::int32_t *const places[] = {&step.a, &step.b, &step.c, &step.d};
  return *places[step.operation == Operation::lookup ? k + 1 : k];
}
std::int32_t operand(const Instruction &step, int k) {
  const std::int32_t places[] = {step.a, step.b, step.c, step.d};
  return places[step.operation == Operation::lookup ? k + 1 : k];
}

// an operation on constants, if it gives the same wherever it is done
bool known_now(Operation operation, double a, double b, double &result) {
  switch (operation) {
  case Operation::add:
    result = a + b;
    return true;
  case Operation::subtract:
    result = a - b;
    return true;
  case Operation::multiply:
    result = a * b;
    return true;
  case Operation::divide:
    result = a / b;
    return true;
  case Operation::negate:
    result = -a;
    return true;
  case Operation::root:
    result = std::sqrt(a);
    return true;
  default:
    return false;
  }
}

// one program, from its rows to its form
class Ordering {
public:
  Ordering(const ProgramRows &rows, const ProgramData &program, const std::vector<TableData> &tables,
           const LawShape *law)
      : rows(rows), program(program), tables(tables), law(law), count(std::size_t(program.count)), part(count, parts),
        place(count, nowhere), constant(count, nowhere), unsettled(count, false) {}

  ProgramData append_to(ProgramRows &out) {
    look();
    find_parts();
    ProgramData made = program;
    made.inputs = law ? law->unknown + law->unknowns : 0;
    for (std::size_t i = 0; i < count; ++i)
      if (step(i).operation == Operation::input && part[i] < parts)
        made.inputs = std::max(made.inputs, step(i).a + 1);
    made.constant = std::int32_t(out.constants.size()), made.first = std::int32_t(out.instructions.size());
    made.output = std::int32_t(out.outputs.size());
    made.constants = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (step(i).operation == Operation::input)
        place[i] = step(i).a;
      else if (is_own(i))
        place[i] = made.inputs + keep_own(step(i).a, made, out);
    own = made.constants;
    for (std::size_t i = 0; i < count; ++i)
      if (constant[i] != nowhere && part[i] < parts)
        place[i] = made.inputs + keep(values[std::size_t(constant[i])], made, out);
    for (std::int32_t p = 0; p < parts; ++p) {
      for (std::size_t i = 0; i < count; ++i)
        if (part[i] == p)
          add(i, made, out);
      made.ends[p] = std::int32_t(out.instructions.size()) - made.first;
    }
    made.count = made.ends[parts - 1];
    for (std::int32_t k = 0; k < program.outputs; ++k)
      out.outputs.push_back(place[std::size_t(rows.outputs[std::size_t(program.output + k)])]);
    return made;
  }

private:
  const Instruction &step(std::size_t i) const { return rows.instructions[std::size_t(program.first) + i]; }

  // a number of the description, which may be given other values
  bool is_own(std::size_t i) const { return step(i).operation == Operation::constant && step(i).branch; }

  // what is constant, and what hangs on unknowns
  void look() {
    for (std::size_t i = 0; i < count; ++i) {
      const Instruction &s = step(i);
      if (s.operation == Operation::constant && !s.branch) {
        constant[i] = std::int32_t(values.size());
        values.push_back(rows.constants[std::size_t(s.a)]);
      }
      if (s.operation == Operation::input)
        unsettled[i] = law && s.a >= law->unknown && s.a < law->unknown + law->unknowns;
      bool fixed = !s.branch;
      double given[4] = {}, result;
      for (int k = 0; k < operands(s, tables); ++k) {
        const std::size_t from = std::size_t(operand(s, k));
        unsettled[i] = unsettled[i] || unsettled[from];
        fixed = fixed && constant[from] != nowhere;
        given[k] = fixed ? values[std::size_t(constant[from])] : 0.0;
      }
      if (fixed && constant[i] == nowhere && known_now(s.operation, given[0], given[1], result)) {
        constant[i] = std::int32_t(values.size());
        values.push_back(result);
      }
    }
  }

  // the part that result k belongs to
  ProgramPart of_output(std::int32_t k) const {
    if (!law)
      return ProgramPart::known;
    const std::int32_t stored = law->measures + law->states, residual = stored + 1 + law->signals, n = law->unknowns;
    if (k == stored)
      return ProgramPart::stored;
    if (k < residual)
      return ProgramPart::results;
    return k < residual + n           ? ProgramPart::residuals
           : k < residual + n + n * n ? ProgramPart::slopes
                                      : ProgramPart::known;
  }

  // each where it is first wanted; what is wanted of what is settled, at once
  void find_parts() {
    for (std::int32_t k = 0; k < program.outputs; ++k) {
      const std::size_t i = std::size_t(rows.outputs[std::size_t(program.output + k)]);
      const std::int32_t p = number(of_output(k));
      if (p == number(ProgramPart::known) && unsettled[i])
        throw std::invalid_argument("unknowns begin at what hangs on them");
      part[i] = std::min(part[i], p);
    }
    for (std::size_t i = count; i-- > 0;) {
      if (step(i).branch && !is_own(i))
        part[i] = std::min(part[i], number(ProgramPart::results));
      if (part[i] < number(ProgramPart::stored) && !unsettled[i])
        part[i] = number(ProgramPart::known);
      for (int k = 0; constant[i] == nowhere && k < operands(step(i), tables); ++k) {
        std::int32_t &before = part[std::size_t(operand(step(i), k))];
        before = std::min(before, part[i]);
      }
    }
  }

  // the number of a constant of the new program
  std::int32_t keep(double value, ProgramData &made, ProgramRows &out) const {
    for (std::int32_t k = own; k < made.constants; ++k)
      if (const double known = out.constants[std::size_t(made.constant + k)];
          known == value && std::signbit(known) == std::signbit(value))
        return k;
    out.constants.push_back(value);
    return made.constants++;
  }

  std::int32_t keep_own(std::int32_t from, ProgramData &made, ProgramRows &out) const {
    out.moved[std::size_t(from)] = std::int32_t(out.constants.size());
    out.constants.push_back(rows.constants[std::size_t(from)]);
    return made.constants++;
  }

  void add(std::size_t i, ProgramData &made, ProgramRows &out) {
    if (place[i] != nowhere)
      return;
    const Operation operation = step(i).operation;
    if (operation != Operation::sine && operation != Operation::cosine)
      return add_one(i, made, out);
    const std::size_t other = fellow(i, operation == Operation::sine ? Operation::cosine : Operation::sine);
    const bool first = operation == Operation::sine;
    if (!first && other < count)
      add_one(other, made, out);
    add_one(i, made, out);
    if (first && other < count)
      add_one(other, made, out);
  }

  // the other function of the same number, if it is wanted and not there yet
  std::size_t fellow(std::size_t i, Operation operation) const {
    for (std::size_t j = 0; j < count; ++j)
      if (step(j).operation == operation && step(j).a == step(i).a && part[j] < parts && place[j] == nowhere)
        return j;
    return count;
  }

  void add_one(std::size_t i, ProgramData &made, ProgramRows &out) {
    Instruction moved = step(i);
    for (int k = 0; k < operands(moved, tables); ++k)
      operand(moved, k) = place[std::size_t(operand(moved, k))];
    place[i] = made.inputs + made.constants + std::int32_t(out.instructions.size()) - made.first;
    out.instructions.push_back(moved);
  }

  const ProgramRows &rows;
  const ProgramData &program;
  const std::vector<TableData> &tables;
  const LawShape *law;
  std::size_t count;
  // of each instruction: its part, its place in the row of a run, its place in `values`
  std::vector<std::int32_t> part, place, constant;
  std::vector<bool> unsettled;
  std::vector<double> values;
  std::int32_t own = 0; // constants that may change
};

} // namespace

void order_programs(ProgramRows &rows, const std::vector<TableData> &tables, const std::vector<LawShape> &laws) {
  std::vector<const LawShape *> shape(rows.programs.size(), nullptr);
  for (const LawShape &law : laws) {
    const LawShape *&known = shape[std::size_t(law.program)];
    if (known && !(*known == law))
      throw std::invalid_argument("two laws of different shape share a program");
    known = &law;
  }
  ProgramRows out;
  out.moved.assign(rows.constants.size(), nowhere);
  for (std::size_t k = 0; k < rows.programs.size(); ++k)
    out.programs.push_back(Ordering(rows, rows.programs[k], tables, shape[k]).append_to(out));
  rows = std::move(out);
}

bool takes(const ProgramRows &rows, const std::vector<TableData> &tables, const ProgramData &program,
           std::int32_t input) {
  for (std::int32_t i = 0; i < program.ends[number(ProgramPart::results)]; ++i) {
    const Instruction &step = rows.instructions[std::size_t(program.first + i)];
    for (int k = 0; k < operands(step, tables); ++k)
      if (operand(step, k) == input)
        return true;
  }
  const auto first = rows.outputs.begin() + program.output;
  return std::find(first, first + program.outputs, input) != first + program.outputs;
}

} // namespace dalembert
