// Rows and descents of kinematics/ik_problem.hpp in lanes.
#pragma once

#include "kinematics/ik_problem.hpp"

namespace dalembert::DALEMBERT_ISA {

std::size_t bytes_ik(const ModelData &m, const IkProblem &problem);
void rows_of_reach(const ModelData &m, std::byte *memory, const IkProblem &problem, const IkRows &call,
                   std::ptrdiff_t begin, std::ptrdiff_t end);
void descend(const ModelData &m, std::byte *memory, const IkProblem &problem, const DescentCall &call);

} // namespace dalembert::DALEMBERT_ISA
