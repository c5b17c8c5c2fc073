// Divides a block of memory, which the caller owns, into aligned pieces; with base = nullptr it only counts.
//
// Under AddressSanitizer every piece is followed by a gap that must not be touched, so that a step beyond a piece is
// seen though the block goes on. A block that is read or written as a whole is opened first.
#pragma once

#include <cstddef>
#if defined(__SANITIZE_ADDRESS__)
#define DALEMBERT_GAPS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DALEMBERT_GAPS 1
#endif
#endif
#if defined(DALEMBERT_GAPS)
#include <sanitizer/asan_interface.h>
#endif

namespace dalembert {

#if defined(DALEMBERT_GAPS)
constexpr std::size_t gap_bytes = 64;
inline void open_memory(const std::byte *memory, std::size_t bytes) { __asan_unpoison_memory_region(memory, bytes); }
inline void close_memory(const std::byte *memory, std::size_t bytes) { __asan_poison_memory_region(memory, bytes); }
#else
constexpr std::size_t gap_bytes = 0;
inline void open_memory(const std::byte *, std::size_t) {}
inline void close_memory(const std::byte *, std::size_t) {}
#endif

struct Arena {
  std::byte *base;
  std::size_t used = 0;
  template <class S> S *take(std::size_t count) {
    S *piece = reinterpret_cast<S *>(base + used);
    const std::size_t bytes = (count * sizeof(S) + 63) / 64 * 64;
    if constexpr (gap_bytes > 0)
      if (base) {
        open_memory(here(), count * sizeof(S));
        close_memory(here() + count * sizeof(S), bytes + gap_bytes - count * sizeof(S));
      }
    used += bytes + gap_bytes;
    return piece;
  }
  // where a part that lays itself out begins; `taken` is what its lay_out returns
  std::byte *here() const { return base + used; }
  void skip(std::size_t taken) { used += taken; }
};

} // namespace dalembert
