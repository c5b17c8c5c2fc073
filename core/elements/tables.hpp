// Tables of one to three variables: piecewise polynomials in each, with their slopes.
#pragma once

#include "model.hpp"
#include "scalar/math.hpp"
#include <limits>

namespace dalembert::DALEMBERT_ISA {

// the cell that begins at or before x
inline int cell_of(const double *knots, int cells, double x) {
  int low = 0, high = cells;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (x >= knots[middle] ? low : high) = middle;
  }
  return low;
}

// value at x, and slopes
inline double look_up(const ModelData &m, const TableData &table, const double *x, double *slopes) {
  const double *knots = m.table_numbers + table.first;
  const int order = table.degree + 1;
  double power[3][4] = {{1.0}, {1.0}, {1.0}}, slope[3][4] = {};
  std::ptrdiff_t cell = 0, size = 1;
  double factor = 1.0;
  for (int k = 0; k < table.variables; ++k) {
    const int cells = table.cells[k];
    const double low = knots[0], high = knots[cells];
    double at = x[k];
    if (table.beyond == Beyond::repeat && !(at >= low && at <= high)) {
      at -= (high - low) * std::floor((at - low) / (high - low));
      at = at > high ? high : at < low ? low : at; // but for rounding
    }
    const bool beyond = !(at >= low && at <= high);
    if (beyond && (table.beyond == Beyond::refuse || at != at))
      at = std::numeric_limits<double>::quiet_NaN();
    else if (beyond)
      at = at < low ? low : high;
    factor = beyond && table.beyond == Beyond::zero ? 0.0 : factor;
    const int place = cell_of(knots, cells, at);
    const double u = at - knots[place], moves = beyond ? 0.0 : 1.0;
    for (int i = 1; i < order; ++i) {
      power[k][i] = power[k][i - 1] * u;
      slope[k][i] = moves * i * power[k][i - 1];
    }
    cell = cell * cells + place;
    knots += cells + 1;
    size *= order;
  }
  const double *c = knots + cell * size;
  double value = 0.0;
  for (int k = 0; k < 3; ++k)
    slopes[k] = 0.0;
  const int n1 = table.variables > 1 ? order : 1, n2 = table.variables > 2 ? order : 1;
  for (int i = 0; i < order; ++i)
    for (int j = 0; j < n1; ++j)
      for (int l = 0; l < n2; ++l, ++c) {
        value += *c * power[0][i] * power[1][j] * power[2][l];
        slopes[0] += *c * slope[0][i] * power[1][j] * power[2][l];
        slopes[1] += *c * power[0][i] * slope[1][j] * power[2][l];
        slopes[2] += *c * power[0][i] * power[1][j] * slope[2][l];
      }
  for (int k = 0; k < 3; ++k)
    slopes[k] *= factor;
  return factor * value;
}

template <class T> inline T look_up(const ModelData &m, const TableData &table, const T *x) {
  double at[3], slopes[3];
  if constexpr (requires { x[0].slope; }) {
    for (int k = 0; k < 3; ++k)
      at[k] = x[k].value;
    T result(look_up(m, table, at, slopes));
    for (int k = 0; k < table.variables; ++k)
      result.slope = result.slope + x[k].slope * slopes[k];
    return result;
  } else if constexpr (requires { x[0][0]; }) {
    T result;
    for (int lane = 0; lane < T::lanes; ++lane) {
      for (int k = 0; k < 3; ++k)
        at[k] = x[k][lane];
      result.set(lane, look_up(m, table, at, slopes));
    }
    return result;
  } else {
    return look_up(m, table, x, slopes);
  }
}

} // namespace dalembert::DALEMBERT_ISA
