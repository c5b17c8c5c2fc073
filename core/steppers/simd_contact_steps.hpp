// The runs of one SIMD register with rigid contact by steps (steppers/methods/moreau.hpp), all lanes in step.
//
// The motion without contacts, the rows of contacts and the responses to them are evaluated for all lanes at once; points
// are found, and cone problems solved, for each lane by itself. A run in whose step an impact has to be located, or a
// shape may pass through another, takes this step by itself. Steps and their operations are those of single runs: a lane
// gives the bits of one. A run whose state is not finite is given up (`stiff`), to be made by itself.
#pragma once

#include "steppers/run.hpp"

namespace dalembert::DALEMBERT_ISA {

bool supports_contact_lanes(const ModelData &m, const Run &run, bool own);
std::size_t contact_lanes_bytes(const ModelData &m);
void run_contact_lanes(const ModelData &m, const Run &run, std::byte *memory, double begin, double until,
                       const Samples &samples, const RunQueue &feed);

} // namespace dalembert::DALEMBERT_ISA
