// An array of plain records that grows without being copied where the system can move its pages, and whose memory can be
// given away.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace dalembert {

struct FreeMemory {
  void operator()(void *memory) const { std::free(memory); }
};

template <class S> class GrowingArray {
  static_assert(std::is_trivially_copyable_v<S> && alignof(S) <= alignof(std::max_align_t));

public:
  GrowingArray() = default;
  GrowingArray(const GrowingArray &other) { append(other.begin(), other.end()); }
  GrowingArray(GrowingArray &&other) noexcept { *this = std::move(other); }
  GrowingArray &operator=(const GrowingArray &other) {
    if (this != &other)
      clear(), append(other.begin(), other.end());
    return *this;
  }
  GrowingArray &operator=(GrowingArray &&other) noexcept {
    memory = std::move(other.memory), count = other.count, room = other.room;
    other.count = other.room = 0;
    return *this;
  }

  std::size_t size() const { return count; }
  std::size_t capacity() const { return room; }
  bool empty() const { return count == 0; }
  S *data() { return memory.get(); }
  const S *data() const { return memory.get(); }
  S *begin() { return data(); }
  S *end() { return data() + count; }
  const S *begin() const { return data(); }
  const S *end() const { return data() + count; }
  S &back() { return data()[count - 1]; }
  S &operator[](std::size_t k) { return data()[k]; }
  const S &operator[](std::size_t k) const { return data()[k]; }

  // records that are zero, in pages that the system provides where they are first used
  static GrowingArray zeros(std::size_t wanted) {
    GrowingArray made;
    made.memory.reset(static_cast<S *>(std::calloc(std::max<std::size_t>(wanted, 1), sizeof(S))));
    if (!made.memory)
      throw std::bad_alloc();
    made.count = made.room = wanted;
    return made;
  }
  void clear() { count = 0; }
  void pop_back() { --count; }
  void reserve(std::size_t wanted) {
    if (wanted <= room)
      return;
    void *moved = std::realloc(static_cast<void *>(memory.get()), wanted * sizeof(S));
    if (!moved)
      throw std::bad_alloc();
    static_cast<void>(memory.release());
    memory.reset(static_cast<S *>(moved));
    room = wanted;
  }
  S &push_back(const S &record) {
    const S kept = record; // it may lie in this array
    grow(count + 1);
    return data()[count++] = kept;
  }
  // further records are zero
  void resize(std::size_t wanted) {
    grow(wanted);
    if (wanted > count)
      std::fill(data() + count, data() + wanted, S{});
    count = wanted;
  }
  void append(const S *from, const S *to) {
    grow(count + std::size_t(to - from));
    std::copy(from, to, data() + count);
    count += std::size_t(to - from);
  }
  // gives the memory away
  S *release() {
    count = room = 0;
    return memory.release();
  }

private:
  void grow(std::size_t wanted) {
    if (wanted > room)
      reserve(std::max(wanted, 2 * room));
  }
  std::unique_ptr<S, FreeMemory> memory;
  std::size_t count = 0, room = 0;
};

} // namespace dalembert
