#include "geometry/broad_phase.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert {
namespace {

constexpr int swept = 64;          // boxes: more are put into a grid
constexpr double cell_size = 1.5;  // by the mean size of boxes
constexpr double max_cells = 64.0; // of one box

bool is_finite(const AxisBox &b) {
  for (int k = 0; k < 3; ++k)
    if (!std::isfinite(b.lower[k]) || !std::isfinite(b.upper[k]))
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

void BroadPhase::sweep(const AxisBox *boxes, int count) {
  const int axis = widest_axis(boxes, count);
  order.resize(std::size_t(count));
  for (int i = 0; i < count; ++i)
    order[std::size_t(i)] = i;
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return boxes[a].lower[axis] != boxes[b].lower[axis] ? boxes[a].lower[axis] < boxes[b].lower[axis] : a < b;
  });
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i + 1; j < order.size() && boxes[order[j]].lower[axis] <= boxes[order[i]].upper[axis]; ++j)
      if (overlap(boxes[order[i]], boxes[order[j]]))
        pairs.push_back(std::minmax(order[i], order[j]));
}

void BroadPhase::hash(const AxisBox *boxes, int count) {
  double mean[3] = {};
  int finite = 0;
  for (int i = 0; i < count; ++i)
    if (is_finite(boxes[i])) {
      for (int k = 0; k < 3; ++k)
        mean[k] += boxes[i].upper[k] - boxes[i].lower[k];
      ++finite;
    }
  const double size = std::max({mean[0], mean[1], mean[2]}) / std::max(finite, 1);
  const double inverse = size > 0.0 ? 1.0 / (cell_size * size) : 1.0;
  std::uint32_t buckets = 1;
  while (buckets < 2u * std::uint32_t(count))
    buckets *= 2;
  begin.assign(buckets + 1, 0);
  entries.clear(), large.clear();
  const auto bucket = [&](const std::int32_t *cell) {
    const std::uint32_t mixed = std::uint32_t(cell[0]) * 73856093u ^ std::uint32_t(cell[1]) * 19349663u ^
                                std::uint32_t(cell[2]) * 83492791u; // Teschner et al. 2003
    return (mixed ^ (mixed >> 15)) & (buckets - 1);
  };
  const auto cell_of = [&](double x) { return std::int32_t(std::floor(std::clamp(x * inverse, -1e9, 1e9))); };
  for (int i = 0; i < count; ++i) {
    std::int32_t low[3], high[3];
    double covered = is_finite(boxes[i]) ? 1.0 : max_cells + 1.0;
    for (int k = 0; k < 3 && covered <= max_cells; ++k) {
      low[k] = cell_of(boxes[i].lower[k]), high[k] = cell_of(boxes[i].upper[k]);
      covered *= double(high[k]) - double(low[k]) + 1.0;
    }
    if (!(covered <= max_cells)) {
      large.push_back(i);
      continue;
    }
    for (std::int32_t x = low[0]; x <= high[0]; ++x)
      for (std::int32_t y = low[1]; y <= high[1]; ++y)
        for (std::int32_t z = low[2]; z <= high[2]; ++z) {
          entries.push_back({{x, y, z}, i});
          ++begin[bucket(entries.back().cell) + 1];
        }
  }
  for (std::uint32_t k = 0; k < buckets; ++k)
    begin[k + 1] += begin[k];
  sorted.resize(entries.size());
  for (const Entry &entry : entries)
    sorted[begin[bucket(entry.cell)]++] = entry; // afterwards: ends of the buckets
  for (std::uint32_t b = 0; b < buckets; ++b)
    for (std::uint32_t i = b ? begin[b - 1] : 0; i < begin[b]; ++i)
      for (std::uint32_t j = i + 1; j < begin[b]; ++j) {
        const Entry &one = sorted[i], &two = sorted[j];
        if (!std::equal(one.cell, one.cell + 3, two.cell))
          continue;
        const AxisBox &p = boxes[one.box], &q = boxes[two.box];
        bool counted = overlap(p, q);
        for (int k = 0; k < 3 && counted; ++k)
          counted = cell_of(std::max(p.lower[k], q.lower[k])) == one.cell[k];
        if (counted)
          pairs.push_back(std::minmax(one.box, two.box));
      }
  for (const std::int32_t i : large)
    for (int j = 0; j < count; ++j)
      if (j != i && overlap(boxes[i], boxes[j]) && (j > i || !std::binary_search(large.begin(), large.end(), j)))
        pairs.push_back(std::minmax(i, std::int32_t(j)));
}

const std::vector<std::pair<std::int32_t, std::int32_t>> &BroadPhase::overlaps(const AxisBox *boxes, int count) {
  pairs.clear();
  if (count <= swept)
    sweep(boxes, count);
  else
    hash(boxes, count);
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

} // namespace dalembert
