// What each kernel takes and gives, as Python sees it: one row per method.
#pragma once

#include "../kernels.hpp"
#include <array>
#include <cstddef>

namespace dalembert::bind {

// shape of one state's share of an array: an empty second entry (0) means a vector
struct Shape {
  std::ptrdiff_t rows, columns;
  std::ptrdiff_t size() const { return rows * (columns ? columns : 1); }
  int dimensions() const { return columns ? 2 : 1; }
};

enum class Extent { q, v, rows, rows_v, chords_six, loads, matrix, bodies_pose, bodies_six, pose, six, six_v, two, three };

inline Shape shape_of(Extent extent, const ModelData &m) {
  switch (extent) {
  case Extent::q:
    return {m.nq, 0};
  case Extent::v:
    return {m.nv, 0};
  case Extent::rows:
    return {m.nc, 0};
  case Extent::rows_v:
    return {m.nc, m.nv};
  case Extent::chords_six:
    return {m.chord_count, 6};
  case Extent::loads:
  case Extent::bodies_six:
    return {m.nb, 6};
  case Extent::matrix:
    return {m.nv, m.nv};
  case Extent::bodies_pose:
    return {m.nb, 12};
  case Extent::pose:
    return {12, 0};
  case Extent::six:
    return {6, 0};
  case Extent::six_v:
    return {6, m.nv};
  case Extent::two:
    return {2, 0};
  case Extent::three:
    return {3, 0};
  }
  return {0, 0};
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
  bool open;      // holds for open systems only
  bool inverts;   // a singular mass matrix shows as numbers that are not finite
  bool marker;    // first positional argument is a marker
  bool given;     // last positional argument is the array of marks
  const char *doc;
};

} // namespace dalembert::bind
