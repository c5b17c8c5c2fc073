// A pool of memory blocks for calls: released blocks are kept, and the most recent one is taken without a lock.
#pragma once

#include "scalar/arena.hpp"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace dalembert {

// a block of memory aligned for the widest register
class Block {
public:
  explicit Block(std::size_t bytes)
      : size(bytes), data(static_cast<std::byte *>(::operator new(bytes, std::align_val_t(64)))) {
    if constexpr (gap_bytes > 0)
      std::memset(data, 0xff, size); // NaN: what is read before it is written shows
  }
  // filled with zeros, whose pages the system provides where they are first used
  struct Zeros {};
  Block(std::size_t bytes, Zeros)
      : size(bytes), zeros(checked(std::calloc(bytes + 64, 1))),
        data(reinterpret_cast<std::byte *>((reinterpret_cast<std::uintptr_t>(zeros) + 63) / 64 * 64)) {}
  ~Block() {
    open();
    if (zeros)
      std::free(zeros);
    else
      ::operator delete(data, std::align_val_t(64));
  }
  // before it is read or written as a whole
  void open() const { open_memory(data, size); }
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;
  const std::size_t size;

private:
  static void *checked(void *memory) {
    if (!memory)
      throw std::bad_alloc();
    return memory;
  }
  void *const zeros = nullptr;

public:
  std::byte *const data;
};

// Memory of one run; a copy of the run has none of it.
struct OwnMemory {
  std::unique_ptr<Block> block;
  OwnMemory() = default;
  OwnMemory(const OwnMemory &) {}
  OwnMemory &operator=(const OwnMemory &) { return *this; }
};

// Keeps released blocks for the next call; the most recent one is handed over without a lock. Nobody waits for the lock
// of the others: in a child that was forked while another thread held it, it is never given back.
class BlockPool {
public:
  BlockPool() { spare.reserve(max_spare); } // so that giving back never allocates
  ~BlockPool() {
    delete recent.load();
    std::unique_lock mine(lock, std::try_to_lock);
    for (std::size_t k = 0; mine && k < spare.size(); ++k)
      delete spare[k];
  }
  Block *take(std::size_t bytes) {
    if (Block *block = recent.exchange(nullptr, std::memory_order_acquire)) {
      if (block->size >= bytes)
        return block;
      cache_block(block);
    }
    std::unique_lock mine(lock, std::try_to_lock);
    for (std::size_t k = 0; mine && k < spare.size(); ++k)
      if (spare[k]->size >= bytes) {
        Block *found = spare[k];
        spare[k] = spare.back();
        spare.pop_back();
        return found;
      }
    return new Block(bytes);
  }
  void give(Block *block) {
    // acquires as well: what another thread wrote into the old block is over before it is deleted
    if (Block *old = recent.exchange(block, std::memory_order_acq_rel))
      cache_block(old);
  }

private:
  static constexpr std::size_t max_spare = 16;
  void cache_block(Block *block) {
    std::unique_lock mine(lock, std::try_to_lock);
    if (mine && spare.size() < max_spare)
      spare.push_back(block);
    else
      delete block;
  }
  std::atomic<Block *> recent{nullptr};
  std::mutex lock;
  std::vector<Block *> spare;
};

// a block for as long as a call lasts
class BlockLease {
public:
  BlockLease(BlockPool &pool, std::size_t bytes) : pool(pool), block(pool.take(bytes)) {}
  ~BlockLease() { pool.give(block); }
  BlockLease(const BlockLease &) = delete;
  BlockLease &operator=(const BlockLease &) = delete;
  std::byte *data() const { return block->data; }

private:
  BlockPool &pool;
  Block *block;
};

} // namespace dalembert
