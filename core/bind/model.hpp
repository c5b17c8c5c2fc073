// The bound model: owns the constants, lends out workspaces, runs kernels on one state or on many.
#pragma once

#include "bind/blocks.hpp"
#include "bind/conditions.hpp"
#include "bind/crew.hpp"
#include "kernels.hpp"
#include "steppers/run.hpp"
#include "tables.hpp"
#include <atomic>
#include <memory>

namespace dalembert::bind {

struct BoundModel {
  Tables tables;
  ModelData data{};
  ModelData bare{};                  // without elements and drives
  std::vector<double> starts;        // of element states
  std::unique_ptr<BoundConditions> described; // conditions as described
  const KernelSet *kernels = &best_kernels();
  const IntegratorSet *integrators = &best_integrators();
  mutable BlockPool singles, packs;

  unsigned run_one(const ModelData &m, const Call &call) const {
    Lease memory(singles, kernels->bytes_one(m, call));
    return kernels->one(m, memory.data(), call, 0);
  }

  // returns the Findings of all states
  unsigned run_batch(const ModelData &m, const Call &call, std::ptrdiff_t count, int threads) const {
    // outputs too large for a pack of them go one state at a time
    const bool lanes = kernels->has_lanes(m, call) && kernels->bytes_lanes(m, call) < (std::size_t(256) << 20);
    const std::ptrdiff_t grain = lanes ? kernels->lanes : 1;
    const std::ptrdiff_t pieces = (count + grain - 1) / grain;
    const std::ptrdiff_t wanted = threads < 1 ? 1 : threads, workers = wanted < pieces ? wanted : pieces;
    const std::size_t bytes = lanes ? kernels->bytes_lanes(m, call) : kernels->bytes_one(m, call);
    // every block is taken here, so that a lack of memory is met before a thread starts
    std::vector<std::unique_ptr<Lease>> memory;
    for (std::ptrdiff_t k = 0; k < workers; ++k)
      memory.push_back(std::make_unique<Lease>(lanes ? packs : singles, bytes));
    std::atomic<unsigned> found{0};
    Crew::run(int(workers), [&](int k) {
      const std::ptrdiff_t begin = pieces * k / workers * grain;
      const std::ptrdiff_t last = pieces * (k + 1) / workers * grain;
      const std::ptrdiff_t end = last < count ? last : count;
      std::byte *room = memory[std::size_t(k)]->data();
      found.fetch_or(lanes ? kernels->lanes_range(m, room, call, begin, end) : kernels->one_by_one(m, room, call, begin, end),
                     std::memory_order_relaxed);
    });
    return found.load();
  }
};

// the C++ object behind a Python model
BoundModel *bound(PyObject *self);

} // namespace dalembert::bind
