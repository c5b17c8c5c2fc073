// What each kernel takes and gives, as Python sees it: one row per method.
#pragma once

#include "../kernels.hpp"
#include <array>
#include <cstddef>

namespace dalembert::bind {

// shape of one state's share of an array
struct Shape {
  int dimensions; // 0, 1 or 2
  std::ptrdiff_t rows, columns;
  std::ptrdiff_t size() const { return dimensions == 2 ? rows * columns : rows; }
};

enum class Extent { one, q, v, rows, rows_v, chords_six, loads, matrix, bodies_pose, bodies_six, pose, six, six_v, two, three };

inline Shape shape_of(Extent extent, const ModelData &m) {
  switch (extent) {
  case Extent::one:
    return {0, 1, 1};
  case Extent::q:
    return {1, m.nq, 1};
  case Extent::v:
    return {1, m.nv, 1};
  case Extent::rows:
    return {1, m.nc, 1};
  case Extent::rows_v:
    return {2, m.nc, m.nv};
  case Extent::chords_six:
    return {2, m.chord_count, 6};
  case Extent::loads:
  case Extent::bodies_six:
    return {2, m.users, 6};
  case Extent::matrix:
    return {2, m.nv, m.nv};
  case Extent::bodies_pose:
    return {2, m.users, 12};
  case Extent::pose:
    return {1, 12, 1};
  case Extent::six:
    return {1, 6, 1};
  case Extent::six_v:
    return {2, 6, m.nv};
  case Extent::two:
    return {1, 2, 1};
  case Extent::three:
    return {1, 3, 1};
  }
  return {1, 0, 1};
}

struct Argument {
  const char *name = nullptr;
  Extent extent = Extent::q;
  bool optional = false;   // may be None or left out
  bool zero = false;       // left out means zeros
  bool keyword = false;    // by keyword only
};

struct Spec {
  Kernel kernel;
  const char *name;
  std::array<Argument, max_inputs> arguments;
  std::array<Extent, max_outputs> results;
  int inputs, outputs;
  bool open = false;    // holds for open systems only
  bool inverts = false; // a singular mass matrix shows as numbers that are not finite
  bool marker = false;  // first positional argument is a marker
  bool given = false;   // last positional argument is the array of marks
  const char *doc = nullptr;
};

} // namespace dalembert::bind
