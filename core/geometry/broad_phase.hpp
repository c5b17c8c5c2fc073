// Pairs of boxes that overlap, among many: sweep along the axis on which the centres vary most (Cohen et al. 1995).
//
// Cost: n log n for sorting, and one test for each pair whose extents along that axis overlap.
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
  std::vector<std::int32_t> order;
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
};

} // namespace dalembert
