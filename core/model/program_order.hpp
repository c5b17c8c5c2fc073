// Programs on their way from the rows that describe them to the form in which they are run (elements/program.hpp).
//
// The numbers of a run stand in one row: what the program is given, its constants, the results of its instructions. So
// nothing is copied on the way to an operation. Instructions stand in parts, which may be run one after the other, each
// on results of its own and of those before it:
//
//     known        depends on no unknown                                                                            (1)
//     residuals    of the unknowns                                                                                  (2)
//     slopes       derivatives of the residuals by the unknowns                                                     (3)
//     answers      forces, rates of states, signals                                                                 (4)
//     stored       energy, which nothing else takes                                                                 (5)
//
// All operations of a program that is no law are `known`. Operations on constants are done once, here; unused ones are
// left out but for what decides between branches; a cosine stands behind the sine of the same number, so that both are
// found at once; a product that one sum takes is found with it.
#pragma once

#include "model/tables.hpp"

namespace dalembert {

// what the results of a law are: as many forces, rates of states and signals; and which inputs are its unknowns
struct LawShape {
  std::int32_t program;
  std::int32_t measures, states, signals, unknown, unknowns;
  bool operator==(const LawShape &) const = default;
};

// Puts programs into the form in which they are run. tables: those that they look up.
void order_programs(ProgramRows &rows, const std::vector<TableData> &tables, const std::vector<LawShape> &laws);

// whether a law takes an input for anything but the energy
bool takes(const ProgramRows &rows, const std::vector<TableData> &tables, const ProgramData &program,
           std::int32_t input);

} // namespace dalembert
