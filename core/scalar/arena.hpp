// Hands out aligned pieces of a block of memory that somebody else owns; with base = nullptr it only counts.
#pragma once

#include <cstddef>

namespace dalembert {

struct Arena {
  std::byte *base;
  std::size_t used = 0;
  template <class S> S *take(std::size_t count) {
    S *piece = reinterpret_cast<S *>(base + used);
    used += (count * sizeof(S) + 63) / 64 * 64;
    return piece;
  }
  // where a part that lays itself out begins; `taken` is what its lay_out returns
  std::byte *here() const { return base + used; }
  void skip(std::size_t taken) { used += taken; }
};

} // namespace dalembert
