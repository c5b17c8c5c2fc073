// A kernel at many states, on threads.
#pragma once

#include "kernels/kernels.hpp"
#include "runs/memory_pool.hpp"
#include "runs/stop.hpp"

namespace dalembert {

// blocks for single states and for SIMD batches
struct KernelMemory {
  BlockPool &singles, &packs;
};

// Returns the KernelStatus of all states. Threads take pieces as they go, few at first, then as many as make the
// polling of `stop` between them cheap.
unsigned evaluate_states(const KernelSet &kernels, const ModelData &m, const Call &call, std::ptrdiff_t count,
                         int threads, const KernelMemory &memory, const Stop &stop);

} // namespace dalembert
