// Many runs at once, a register full of them side by side, each with steps of its own, by dop853.
//
// Every lane has its own time and step; a lane that is done steps by zero until the others are. What a lane computes does
// not depend on its neighbours. Each may have own numbers of its own. A lane that stability holds back, or whose loops come near a singular position, is left to
// a run of its own.
#pragma once

#include "scalar/isa.hpp"
#include "steppers/run.hpp"

namespace dalembert::DALEMBERT_ISA {

bool runs_in_lanes(const ModelData &m, const Run &run, bool own);
std::size_t bytes_lanes(const ModelData &m);
void run_lanes(const ModelData &m, const Run &run, std::byte *memory, double begin, double until, const Samples &samples, LaneTask &task);

} // namespace dalembert::DALEMBERT_ISA
