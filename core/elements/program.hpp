// Formulas of users, as programs: the same for every scalar, so that derivatives and packs come by themselves.
#pragma once

#include "elements/branches.hpp"

namespace dalembert::DALEMBERT_ISA {

// values: room for the results of all instructions
template <class T>
void run_program(const ModelData &m, const ProgramTable &table, const ProgramData &program, const T *inputs, T *values, T *outputs,
                 const Branches<T> &branches = {});

} // namespace dalembert::DALEMBERT_ISA
