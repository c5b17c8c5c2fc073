// Formulas of users, as programs: the same for every scalar, so that derivatives and packs come by themselves.
#pragma once

#include "elements/law_branches.hpp"
#include "model/parameter_access.hpp"

namespace dalembert::DALEMBERT_ISA {

// values: the row of numbers of a run (model/program_order.hpp), ModelData's `max_values` of them at most

// what the program is given and its constants, into the row
template <class T> inline void load_program(const ModelData &m, const ProgramTable &table, const ProgramData &program,
                                            const T *inputs, T *values) {
  for (int k = 0; k < program.inputs; ++k)
    values[k] = inputs[k];
  if constexpr (varies<T>)
    if (m.varied && &table == &m.joints) {
      const T *own = parameters_of<T>(m)->joint_constants + program.constant;
      for (int k = 0; k < program.constants; ++k)
        values[program.inputs + k] = own[k];
      return;
    }
  const double *constants = table.constants + program.constant;
  for (int k = 0; k < program.constants; ++k)
    values[program.inputs + k] = T(constants[k]);
}

// parts of a program, from one to another, on what is in the row
template <class T> void run_parts(const ModelData &m, const ProgramTable &table, const ProgramData &program,
                                  ProgramPart from, ProgramPart to, T *values, const LawBranches<T> &branches = {});

// result k of those that a program gives
template <class T>
DALEMBERT_INLINE const T &result_of(const ProgramTable &table, const ProgramData &program, const T *values, int k) {
  return values[table.outputs[program.output + k]];
}

// a whole program, or all but what only the energy needs: then what stands for that is no number
template <class T> inline void run_program(const ModelData &m, const ProgramTable &table, const ProgramData &program,
                                           const T *inputs, T *values, T *outputs, const LawBranches<T> &branches = {},
                                           ProgramPart last = ProgramPart::stored) {
  load_program(m, table, program, inputs, values);
  run_parts(m, table, program, ProgramPart::known, last, values, branches);
  for (int k = 0; k < program.outputs; ++k)
    outputs[k] = result_of(table, program, values, k);
}

} // namespace dalembert::DALEMBERT_ISA
