// Constants of laws: functions of time, programs of formulas, lookup tables, functions that are called outside.
#pragma once

#include <cstdint>

namespace dalembert {

// a function of time with two derivatives; its numbers stand in ModelData::law_values from `first`
enum class LawKind : std::int32_t {
  constant,   // value
  polynomial, // count coefficients, from the constant upwards
  harmonic,   // amplitude, frequency, phase, offset
  ramp,       // start, end, duration, begin
  table,      // count pieces of degree `degree`: their ends (count + 1), then each piece's coefficients from its begin
  callback,   // given from outside at every evaluation: `first` is its place among those
};
struct LawData {
  LawKind kind;
  std::int32_t first, count, degree;
};

// One operation of a program; its result is the value of that number. Values a, b, c, d are results before it, or for
// `constant` and `input` a place. A constant with a branch is a mapped parameter: its value may change.
// clang-format off
enum class Operation : std::int32_t {
  constant, input,
  add, subtract, multiply, divide, negate,
  power, root, exponential, logarithm, sine, cosine, arctangent, arctangent2, hyperbolic_tangent, absolute,
  smaller, larger,
  less,   // a < b ? c : d
  lookup, // table a at values b, c, d, as many as it has variables
  floor,  // the whole number at or below
};
// clang-format on
struct Instruction {
  Operation operation;
  std::int32_t a, b, c, d;
  // of an operation with branches: 0, or its switching function, from 1 in each program; less than 0: seen from the
  // other side
  std::int32_t branch;
};

// A law as a program: instructions from `first`, whose results `outputs` are what the law gives. As it is run, its
// numbers stand in a row: what it is given, its constants, its results (model/program_order.hpp).
enum class ProgramPart : std::int32_t { known, residuals, slopes, results, stored };
struct ProgramData {
  std::int32_t first, count;
  std::int32_t output, outputs;     // places in ProgramTable::outputs
  std::int32_t inputs;              // numbers that it is given
  std::int32_t constant, constants; // places in ProgramTable::constants
  std::int32_t ends[5];             // of its parts, in instructions
};

// programs with their tables
struct ProgramTable {
  const ProgramData *programs;
  const Instruction *instructions;
  const double *constants;
  const std::int32_t *outputs;
  std::int32_t max_values; // numbers of a run of the longest
};

// A table of one to three variables: polynomials of degree 1 or 3 in each, cell by cell. Its knots stand in
// ModelData::table_values, axis by axis, then the coefficients of the cells, highest axis running fastest, of powers
// of the distances from the cell's lower corner.
// the ends: not a number, as at the end, nothing, all again
enum class Extrapolation : std::int32_t { refuse, hold, zero, repeat };
struct TableData {
  std::int32_t variables, degree;
  std::int32_t cells[3];
  std::int32_t first; // of its numbers
  Extrapolation extrapolation;
  // along each variable, where value or slope jump: places in ModelData::table_breaks
  std::int32_t breaks[3], break_counts[3];
  double low, high; // bounds of its values
};

// laws that are functions outside: inputs as for ElementData, outputs likewise
struct Functions {
  void (*const *call)(void *self, const double *inputs, double *outputs);
  void *const *self;
};

} // namespace dalembert
