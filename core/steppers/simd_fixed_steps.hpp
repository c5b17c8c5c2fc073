// The runs of one SIMD register by rk4 with fixed steps, all lanes in step with each other.
//
// Steps, times and discontinuities are those of the time loop of single runs (steppers/time_loop/time_loop.cpp), and so are the
// operations of a step: a lane gives the bits of a single run. From one discontinuity to the next steps have the given
// length, the last one what is left. Rates at the end of a step that leads to a discontinuity are not evaluated. A lane
// ends where its state is not finite; one whose loops come near a singular position is given up (`stiff`), to be run by
// itself. Laws with switching functions are left to single runs, which count the changes that steps pass over.
#pragma once

#include "steppers/run.hpp"

namespace dalembert::DALEMBERT_ISA {

bool supports_fixed_steps(const ModelData &m, const Run &run, bool own);
std::size_t fixed_step_bytes(const ModelData &m);
void run_fixed_steps(const ModelData &m, const Run &run, std::byte *memory, double begin, double until,
                     const Samples &samples, const RunQueue &feed);

} // namespace dalembert::DALEMBERT_ISA
