// Pairs of boxes that overlap, among many.
//
// Few boxes: sweep along the axis on which the centres vary most (Cohen et al. 1995), one test for each pair whose extents
// along that axis overlap. Many: a uniform grid with cells somewhat larger than the mean box, in a hash table; a pair is
// counted in the cell that has the lower corner of its intersection. Boxes that cover many cells, and unbounded ones,
// are tested against all. Cost: linear in the number of boxes and of pairs.
#pragma once

#include <cstdint>
#include <vector>

namespace dalembert {

// with edges along the world axes
struct AxisBox {
  double lower[3], upper[3]; // m; infinite for half spaces
};

struct BroadPhase {
  // Finds all pairs i < j of boxes that overlap or touch, in order. Memory is kept between calls.
  const std::vector<std::pair<std::int32_t, std::int32_t>> &overlaps(const AxisBox *boxes, int count);

private:
  struct Entry {
    std::int32_t cell[3], box;
  };
  std::vector<std::int32_t> order, large;
  std::vector<std::uint32_t> begin;
  std::vector<Entry> entries, sorted;
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;

  void sweep(const AxisBox *boxes, int count);
  void hash(const AxisBox *boxes, int count);
};

} // namespace dalembert
