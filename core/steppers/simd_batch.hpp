// Many runs at once, by dop853: in one register full of them after the other, or in many side by side where a control
// is asked about all of their states together.
#pragma once

#include "scalar/isa.hpp"
#include "steppers/run.hpp"

namespace dalembert::DALEMBERT_ISA {

bool supports_simd_batch(const ModelData &m, const Run &run, bool own);
std::size_t simd_batch_bytes(const ModelData &m, int packs);
void run_simd_batch(const ModelData &m, const Run &run, std::byte *memory, double begin, double until,
                    const Samples &samples, const RunQueue &feed, int packs, const BatchedControl *control);

} // namespace dalembert::DALEMBERT_ISA
