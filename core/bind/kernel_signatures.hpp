// Arguments and results of each kernel in Python: one row per method.
#pragma once

#include "bind/arrays.hpp"
#include <array>

namespace dalembert::bind {

enum class Extent {
  one,
  q,
  v,
  x,
  rows,
  rows_v,
  rows_rows,
  loads,
  matrix,
  inputs,
  bodies_pose,
  bodies_six,
  point_pose,
  point_six,
  point_six_v,
  two,
  three,
  six_v,
  six,
  connections_six,
  cut_q,
  cut_v,
  all_v,
  measures,
  elements,
  ports_six,
  signals,
  law_inputs,
  actuators,
  switching_functions,
  v_x,
  v_inputs,
  x_v,
  x_x,
  x_inputs,
  rows_x,
  rows_inputs,
  v_parameters,
  x_parameters,
  rows_parameters,
  parameters,
  output_weights,
};

// points: how many, of kernels that look at points; 0: one, without an axis of its own; or how many directions of
// parameters
inline Shape shape_of(Extent extent, const ModelData &m, std::ptrdiff_t points = 0) {
  const std::ptrdiff_t nv = m.nv, nx = m.nx, nc = m.nc;
  const auto per_point = [&](std::ptrdiff_t size) { return points ? Shape{2, points, size} : Shape{1, size, 1}; };
  switch (extent) {
  case Extent::one:
    return {0, 1, 1};
  case Extent::q:
    return {1, m.nq, 1};
  case Extent::v:
    return {1, nv, 1};
  case Extent::x:
    return {1, nx, 1};
  case Extent::rows:
    return {1, nc, 1};
  case Extent::rows_v:
    return {2, nc, nv};
  case Extent::rows_rows:
    return {2, nc, nc};
  case Extent::inputs:
    return {1, m.input_count, 1};
  case Extent::loads:
  case Extent::bodies_six:
    return {2, m.users, 6};
  case Extent::matrix:
    return {2, nv, nv};
  case Extent::bodies_pose:
    return {2, m.users, 12};
  case Extent::point_pose:
    return per_point(12);
  case Extent::point_six:
    return per_point(6);
  case Extent::point_six_v:
    return points ? Shape{2, 6 * points, nv} : Shape{2, 6, nv};
  case Extent::six_v:
    return {2, 6, nv};
  case Extent::two:
    return {1, 2, 1};
  case Extent::three:
    return {1, 3, 1};
  case Extent::six:
    return {1, 6, 1};
  case Extent::connections_six:
    return {2, connection_count(m), 6};
  case Extent::cut_q:
    return {1, m.cut_nq, 1};
  case Extent::cut_v:
    return {1, m.cut_nv, 1};
  case Extent::all_v:
    return {1, m.nv + m.cut_nv, 1};
  case Extent::measures:
    return {1, m.measure_count, 1};
  case Extent::elements:
    return {1, m.element_count, 1};
  case Extent::ports_six:
    return {2, m.port_count, 6};
  case Extent::signals:
    return {1, m.signal_count, 1};
  case Extent::law_inputs:
    return {1, m.law_input_count, 1};
  case Extent::actuators:
    return {1, m.actuator_count, 1};
  case Extent::switching_functions:
    return {1, m.switching_count, 1};
  case Extent::v_x:
    return {2, nv, nx};
  case Extent::v_inputs:
    return {2, nv, m.input_count};
  case Extent::x_v:
    return {2, nx, nv};
  case Extent::x_x:
    return {2, nx, nx};
  case Extent::x_inputs:
    return {2, nx, m.input_count};
  case Extent::rows_x:
    return {2, nc, nx};
  case Extent::rows_inputs:
    return {2, nc, m.input_count};
  case Extent::v_parameters:
    return {2, nv, points};
  case Extent::x_parameters:
    return {2, nx, points};
  case Extent::rows_parameters:
    return {2, nc, points};
  case Extent::parameters:
    return {1, points, 1};
  case Extent::output_weights:
    return {1, 24 * std::ptrdiff_t(m.users) + 6 * std::ptrdiff_t(connection_count(m)) + nv, 1};
  }
  return {1, 0, 1};
}

enum class DefaultArgument { error, nothing, zeros, starts }; // what an argument that is left out stands for

struct Argument {
  const char *name = nullptr;
  ArgumentKind take = ArgumentKind::q;
  Extent extent = Extent::q;
  DefaultArgument omitted = DefaultArgument::error;
  bool keyword = false; // by keyword only
};

constexpr int max_arguments = 9;

struct KernelSignature {
  Kernel kernel;
  const char *name;
  std::array<Argument, max_arguments> arguments;
  int inputs;
  std::array<Extent, max_outputs> results;
  int outputs;
  bool described = false;           // of the system as described: takes conditions
  bool selects_results = false;     // first positional argument: numbers of the results that are wanted
  bool returns_named_tuple = false; // gives a tuple with names
  bool takes_directions = false;    // takes directions of parameters
  bool points = false;              // first positional argument is an object Points
  bool trees_only = false;          // holds for open systems only
  bool checks_results = true;       // results that are not finite are refused here
  Kernel bare = Kernel::report;     // of described ones: the kernel of the bare tree; report: there is none
  const char *doc = nullptr;

  // arrays that can be given by position; those given by keyword alone come after them
  constexpr int positional() const {
    int count = 0;
    while (count < inputs && !arguments[std::size_t(count)].keyword)
      ++count;
    return count;
  }
};

} // namespace dalembert::bind
