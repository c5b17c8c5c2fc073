#include "model/complete/parts.hpp"
#include <algorithm>
#include <cstdlib>

namespace dalembert {

// every operation works on results before it
static void note_program(const ProgramRows &rows, const ProgramData &program, std::int32_t inputs,
                         std::int32_t tables) {
  require(program.first >= 0 && program.count >= 0 && program.output >= 0 && program.outputs >= 0 &&
              std::size_t(program.first) + std::size_t(program.count) <= rows.instructions.size() &&
              std::size_t(program.output) + std::size_t(program.outputs) <= rows.outputs.size() &&
              program.outputs <= max_law_outputs,
          "a program is out of range");
  for (std::int32_t i = 0; i < program.count; ++i) {
    const Instruction &step = rows.instructions[std::size_t(program.first + i)];
    require(within(std::int32_t(step.operation), 0, std::int32_t(Operation::floor) + 1), "an operation is unknown");
    const bool looks_up = step.operation == Operation::lookup;
    const std::int32_t limit = step.operation == Operation::constant ? count_of(rows.constants.size())
                               : step.operation == Operation::input  ? inputs
                                                                     : i;
    require(within(std::abs(step.branch) % follow_branch, 0, 3 * program.count + 1) &&
                (step.operation != Operation::input || !step.branch),
            "a switching function is out of range");
    require(!looks_up || within(step.a, 0, tables), "a program looks up a table that there is not");
    for (const std::int32_t place : {looks_up ? 0 : step.a, step.b, step.c, step.d})
      require(place >= 0 && (!place || place < limit), "an operation refers to something out of range");
  }
  for (std::int32_t i = program.output; i < program.output + program.outputs; ++i)
    require(within(rows.outputs[std::size_t(i)], 0, program.count), "a result of a program is out of range");
}

ProgramTable complete_programs(ProgramRows &rows, std::int32_t inputs, const std::vector<TableData> &tables,
                               const std::vector<LawShape> &laws) {
  for (const ProgramData &program : rows.programs)
    note_program(rows, program, inputs, count_of(tables.size()));
  order_programs(rows, tables, laws);
  ProgramTable table{pointer(rows.programs), pointer(rows.instructions), pointer(rows.constants), pointer(rows.outputs),
                     0};
  for (const ProgramData &program : rows.programs)
    table.max_values = std::max(table.max_values, program.inputs + program.constants + program.count);
  return table;
}

// programs `at` and `at + 1` give as many results as they should
bool programs_fit(const ProgramRows &rows, std::int32_t at, std::int32_t first, std::int32_t second) {
  return at >= 0 && std::size_t(at) + 1 < rows.programs.size() && rows.programs[std::size_t(at)].outputs == first &&
         rows.programs[std::size_t(at) + 1].outputs == second;
}

} // namespace dalembert
