// The bound model: owns the constants, lends out workspaces, runs kernels on one state or on many.
#pragma once

#include "bind/blocks.hpp"
#include "bind/conditions.hpp"
#include "bind/crew.hpp"
#include "kernels/kernels.hpp"
#include "steppers/run.hpp"
#include "model/tables.hpp"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>

namespace dalembert::bind {

struct BoundModel {
  Tables tables;
  VariantTables own;                  // of a model with other own numbers than described
  nanobind::object family;           // the model as described, which it shares all else with; none: itself
  ModelData data{};
  ModelData bare{};                  // without elements and drives
  std::vector<double> starts;        // of element states
  std::unique_ptr<BoundConditions> described; // conditions as described
  const KernelSet *kernels = &best_kernels();
  const IntegratorSet *integrators = &best_integrators();
  std::shared_ptr<BlockPool> singles_pool, packs_pool; // of all models of one family
  BlockPool &singles, &packs;

  BoundModel() : BoundModel(std::make_shared<BlockPool>(), std::make_shared<BlockPool>()) {}
  BoundModel(std::shared_ptr<BlockPool> one, std::shared_ptr<BlockPool> many)
      : singles_pool(std::move(one)), packs_pool(std::move(many)), singles(*singles_pool), packs(*packs_pool) {}

  unsigned run_one(const ModelData &m, const Call &call) const {
    BlockLease memory(singles, kernels->bytes_one(m, call));
    return kernels->evaluate_state(m, memory.data(), call, 0);
  }

  // Returns the Findings of all states. Threads take pieces as they go, few at first, then as many as make the look for
  // signals between them cheap.
  unsigned run_batch(const ModelData &m, const Call &call, std::ptrdiff_t count, int threads, SignalCheck &attention) const {
    // outputs too large for a pack of them go one state at a time
    const bool lanes = kernels->has_lanes(m, call) && kernels->simd_batch_bytes(m, call) < (std::size_t(256) << 20);
    const std::ptrdiff_t grain = lanes ? kernels->lanes : 1;
    const std::ptrdiff_t pieces = (count + grain - 1) / grain;
    // a thread is worth waking for some tens of microseconds of work
    const std::ptrdiff_t worth = 1 + pieces * (m.nb + 4 * std::ptrdiff_t(m.nc) + m.element_count / 2) / 256;
    const std::ptrdiff_t workers = std::min({std::max<std::ptrdiff_t>(threads, 1), pieces, worth});
    const std::size_t bytes = lanes ? kernels->simd_batch_bytes(m, call) : kernels->bytes_one(m, call);
    // every block is taken here, so that a lack of memory is met before a thread starts
    std::vector<std::unique_ptr<BlockLease>> memory;
    for (std::ptrdiff_t k = 0; k < workers; ++k)
      memory.push_back(std::make_unique<BlockLease>(lanes ? packs : singles, bytes));
    std::atomic<unsigned> found{0};
    std::atomic<std::ptrdiff_t> next{0};
    ThreadPool::run(int(workers), [&](int k) {
      using Clock = std::chrono::steady_clock;
      constexpr std::chrono::milliseconds long_enough{2};
      std::byte *work = memory[std::size_t(k)]->data();
      unsigned seen = 0;
      auto then = Clock::now();
      for (std::ptrdiff_t size = 4; !attention.asked();) {
        const std::ptrdiff_t taken = next.fetch_add(size, std::memory_order_relaxed);
        if (taken >= pieces)
          break;
        const std::ptrdiff_t begin = taken * grain, end = std::min((taken + size) * grain, count);
        seen |= lanes ? kernels->lanes_range(m, work, call, begin, end) : kernels->evaluate_range(m, work, call, begin, end);
        const auto now = Clock::now();
        // what is left is shared, so that all end at the same time
        const std::ptrdiff_t share = std::max<std::ptrdiff_t>((pieces - next.load(std::memory_order_relaxed)) / (2 * workers), 1);
        size = now - then > long_enough ? std::max<std::ptrdiff_t>(size / 2, 1) : std::min(2 * size, share);
        then = now;
      }
      found.fetch_or(seen, std::memory_order_relaxed);
    });
    return found.load();
  }
};

// the C++ object behind a Python model
BoundModel *bound(PyObject *self);

// whether two models differ in own numbers only
inline bool of_one_family(const BoundModel &a, const BoundModel &b) {
  const auto first = [](const BoundModel &m) { return m.family.is_valid() ? bound(m.family.ptr()) : &m; };
  return first(a) == first(b);
}

} // namespace dalembert::bind
