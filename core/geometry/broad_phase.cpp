#include "geometry/broad_phase.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert {
namespace {

bool overlap(const AxisBox &a, const AxisBox &b) {
  for (int k = 0; k < 3; ++k)
    if (a.lower[k] > b.upper[k] || b.lower[k] > a.upper[k])
      return false;
  return true;
}

// the axis along which centres of finite boxes vary most
int widest_axis(const AxisBox *boxes, int count) {
  double sum[3] = {}, square[3] = {};
  int finite = 0;
  for (int i = 0; i < count; ++i) {
    double center[3];
    bool all = true;
    for (int k = 0; k < 3; ++k) {
      center[k] = 0.5 * (boxes[i].lower[k] + boxes[i].upper[k]);
      all = all && std::isfinite(center[k]);
    }
    for (int k = 0; k < 3 && all; ++k)
      sum[k] += center[k], square[k] += center[k] * center[k];
    finite += all;
  }
  int axis = 0;
  double most = -1.0;
  for (int k = 0; k < 3; ++k)
    if (const double spread = finite ? square[k] - sum[k] * sum[k] / finite : 0.0; spread > most)
      most = spread, axis = k;
  return axis;
}

} // namespace

const std::vector<std::pair<std::int32_t, std::int32_t>> &BroadPhase::overlaps(const AxisBox *boxes, int count) {
  const int axis = widest_axis(boxes, count);
  order.resize(std::size_t(count));
  for (int i = 0; i < count; ++i)
    order[std::size_t(i)] = i;
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return boxes[a].lower[axis] != boxes[b].lower[axis] ? boxes[a].lower[axis] < boxes[b].lower[axis] : a < b;
  });
  pairs.clear();
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i + 1; j < order.size() && boxes[order[j]].lower[axis] <= boxes[order[i]].upper[axis]; ++j)
      if (overlap(boxes[order[i]], boxes[order[j]]))
        pairs.push_back(std::minmax(order[i], order[j]));
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

} // namespace dalembert
