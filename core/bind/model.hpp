// The bound model: owns the constants, lends out workspaces, runs kernels on one state or on many.
#pragma once

#include "../integrator.hpp"
#include "../kernels.hpp"
#include "crew.hpp"
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace dalembert::bind {

// a block of memory aligned for the widest register
class Block {
public:
  explicit Block(std::size_t bytes) : size(bytes), data(static_cast<std::byte *>(::operator new(bytes, std::align_val_t(64)))) {}
  ~Block() { ::operator delete(data, std::align_val_t(64)); }
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;
  const std::size_t size;
  std::byte *const data;
};

// keeps released blocks for the next call; the most recent one is handed over without a lock
class BlockPool {
public:
  BlockPool() { spare.reserve(most_spare); } // so that giving back never allocates
  ~BlockPool() {
    delete recent.load();
    for (Block *block : spare)
      delete block;
  }
  Block *take(std::size_t bytes) {
    if (Block *block = recent.exchange(nullptr, std::memory_order_acquire)) {
      if (block->size >= bytes)
        return block;
      put_aside(block);
    }
    std::lock_guard guard(lock);
    for (Block *&block : spare)
      if (block->size >= bytes) {
        Block *found = block;
        block = spare.back();
        spare.pop_back();
        return found;
      }
    return new Block(bytes);
  }
  void give(Block *block) {
    if (Block *old = recent.exchange(block, std::memory_order_release))
      put_aside(old);
  }

private:
  static constexpr std::size_t most_spare = 16;
  void put_aside(Block *block) {
    std::lock_guard guard(lock);
    if (spare.size() < most_spare)
      spare.push_back(block);
    else
      delete block;
  }
  std::atomic<Block *> recent{nullptr};
  std::mutex lock;
  std::vector<Block *> spare;
};

// a block for as long as a call lasts
class Lease {
public:
  Lease(BlockPool &pool, std::size_t bytes) : pool(pool), block(pool.take(bytes)) {}
  ~Lease() { pool.give(block); }
  Lease(const Lease &) = delete;
  Lease &operator=(const Lease &) = delete;
  std::byte *data() const { return block->data; }

private:
  BlockPool &pool;
  Block *block;
};

struct BoundModel {
  std::vector<BodyData> bodies;
  ModelData data{};
  std::vector<ModalData> modal;
  std::vector<double> modal_numbers;
  std::vector<ChordData> chords;
  std::vector<CurveData> curves;
  std::vector<CurvePiece> pieces;
  struct Programs {
    std::vector<ProgramData> programs;
    std::vector<Instruction> instructions;
    std::vector<double> constants;
    std::vector<std::int32_t> outputs;
  } joints;
  std::vector<double> inner_starts;
  std::vector<std::int32_t> support, tree, coordinate;
  std::vector<double> support_factor;
  struct Order {
    std::vector<std::int32_t> row, chord, first;
    std::vector<std::int64_t> start;
  } all_rows, lean_rows;
  std::vector<ForceData> forces;
  std::vector<ElementData> elements;
  std::vector<PortData> ports;
  std::vector<InputData> inputs;
  std::vector<FeedbackData> feedbacks;
  std::vector<TableData> tables;
  std::vector<double> table_numbers;
  std::vector<ProgramData> programs;
  std::vector<Instruction> instructions;
  std::vector<double> program_constants;
  std::vector<std::int32_t> program_outputs;
  std::vector<DriveData> drives;
  std::vector<LawData> laws;
  std::vector<double> law_numbers, parameters; // parameters: of the force elements, as described
  std::vector<unsigned char> holonomic;
  bool attitudes = false; // has quaternions among its coordinates
  const KernelSet *kernels = &best_kernels();
  const IntegratorSet *integrators = &best_integrators();
  mutable BlockPool singles, packs;

  void run_one(const Call &call) const {
    Lease memory(singles, kernels->bytes_one(data, call));
    kernels->one(data, memory.data(), call, 0);
  }

  // returns the Findings of all states
  unsigned run_batch(const Call &call, std::ptrdiff_t count, int threads) const {
    // outputs too large for a pack of them go one state at a time
    const bool lanes = kernels->has_lanes(call.kernel) && kernels->bytes_lanes(data, call) < (std::size_t(256) << 20);
    const std::ptrdiff_t grain = lanes ? kernels->lanes : 1;
    const std::ptrdiff_t pieces = (count + grain - 1) / grain;
    const std::ptrdiff_t wanted = threads < 1 ? 1 : threads, workers = wanted < pieces ? wanted : pieces;
    const std::size_t bytes = lanes ? kernels->bytes_lanes(data, call) : kernels->bytes_one(data, call);
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
      found.fetch_or(lanes ? kernels->lanes_range(data, room, call, begin, end) : kernels->one_by_one(data, room, call, begin, end),
                     std::memory_order_relaxed);
    });
    return found.load();
  }
};

} // namespace dalembert::bind
