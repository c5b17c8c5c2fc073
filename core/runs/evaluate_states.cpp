#include "runs/evaluate_states.hpp"
#include "runs/thread_pool.hpp"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

namespace dalembert {

namespace {

// outputs too large for a SIMD batch are evaluated state by state
constexpr std::size_t max_pack_bytes = std::size_t(256) << 20;
constexpr std::chrono::milliseconds max_piece{2}; // time between two polls of `stop`

// pieces of a call, of one state or of as many as a register holds
struct Pieces {
  const KernelSet &kernels;
  const ModelData &m;
  const Call &call;
  const std::ptrdiff_t states;
  const bool simd;
  const std::ptrdiff_t grain, count;
  std::atomic<std::ptrdiff_t> next{0};

  Pieces(const KernelSet &kernels, const ModelData &m, const Call &call, std::ptrdiff_t states)
      : kernels(kernels), m(m), call(call), states(states),
        simd(kernels.has_lanes(m, call) && kernels.simd_batch_bytes(m, call) < max_pack_bytes),
        grain(simd ? kernels.lanes : 1), count((states + grain - 1) / grain) {}

  std::size_t bytes() const { return simd ? kernels.simd_batch_bytes(m, call) : kernels.bytes_one(m, call); }

  // a thread is worth waking for some tens of microseconds of work
  std::ptrdiff_t workers(int threads) const {
    const std::ptrdiff_t worth = 1 + count * (m.nb + 4 * std::ptrdiff_t(m.nc) + m.element_count / 2) / 256;
    return std::min({std::max<std::ptrdiff_t>(threads, 1), count, worth});
  }

  unsigned evaluate(std::byte *work, std::ptrdiff_t first, std::ptrdiff_t size) const {
    const std::ptrdiff_t begin = first * grain, end = std::min((first + size) * grain, states);
    return simd ? kernels.lanes_range(m, work, call, begin, end) : kernels.evaluate_range(m, work, call, begin, end);
  }

  // the share of one of several workers, until none is left
  unsigned evaluate_some(std::byte *work, std::ptrdiff_t workers, const Stop &stop) {
    using Clock = std::chrono::steady_clock;
    unsigned status = 0;
    auto then = Clock::now();
    for (std::ptrdiff_t size = 4; !stop();) {
      const std::ptrdiff_t first = next.fetch_add(size, std::memory_order_relaxed);
      if (first >= count)
        break;
      status |= evaluate(work, first, size);
      const auto now = Clock::now();
      // what is left is shared, so that all end at the same time
      const std::ptrdiff_t share =
          std::max<std::ptrdiff_t>((count - next.load(std::memory_order_relaxed)) / (2 * workers), 1);
      size = now - then > max_piece ? std::max<std::ptrdiff_t>(size / 2, 1) : std::min(2 * size, share);
      then = now;
    }
    return status;
  }
};

} // namespace

unsigned evaluate_states(const KernelSet &kernels, const ModelData &m, const Call &call, std::ptrdiff_t count,
                         int threads, const KernelMemory &memory, const Stop &stop) {
  Pieces pieces(kernels, m, call, count);
  const std::ptrdiff_t workers = pieces.workers(threads);
  // every block is taken here, so that a lack of memory is met before a thread starts
  std::vector<std::unique_ptr<BlockLease>> blocks;
  for (std::ptrdiff_t k = 0; k < workers; ++k)
    blocks.push_back(std::make_unique<BlockLease>(pieces.simd ? memory.packs : memory.singles, pieces.bytes()));
  std::atomic<unsigned> status{0};
  ThreadPool::run(int(workers), [&](int k) {
    status.fetch_or(pieces.evaluate_some(blocks[std::size_t(k)]->data(), workers, stop), std::memory_order_relaxed);
  });
  return status.load();
}

} // namespace dalembert
