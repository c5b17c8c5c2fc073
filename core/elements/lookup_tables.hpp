// Tables of one to three variables: piecewise polynomials in each, with their slopes.
#pragma once

#include "model/model_data.hpp"
#include "scalar/interval.hpp"
#include "scalar/traced.hpp"
#include <algorithm>
#include <limits>
#include <type_traits>

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

// The breaks of a table along a variable, where its value or its slope jumps, part that variable into pieces. A piece
// is known by the number of breaks at or below it; where a table repeats itself, of all its turns.
struct TableBreaks {
  const double *at;
  int count;
  double period; // 0: it does not repeat itself

  TableBreaks(const ModelData &m, const TableData &table, int variable, double low, double high)
      : at(m.table_breaks + table.breaks[variable]), count(table.break_counts[variable]),
        period(table.extrapolation == Extrapolation::repeat ? high - low : 0.0) {}

  double piece_of(double x) const {
    if (!count)
      return 0.0;
    const double turn = period > 0.0 ? std::floor((x - at[0]) / period) : 0.0;
    return turn * count + double(std::upper_bound(at, at + count, x - turn * period) - at);
  }
  // where a piece begins, and where the next one does
  double begin(double piece) const { return level(piece - 1.0); }
  double end(double piece) const { return level(piece); }

private:
  double level(double number) const {
    constexpr double far = std::numeric_limits<double>::infinity();
    const bool repeats = period > 0.0 && count;
    if (number < 0.0 && !repeats)
      return -far;
    if (!(number < count) && !repeats)
      return far;
    const double turn = repeats ? std::floor(number / count) : 0.0;
    return at[int(number - turn * count)] + turn * period;
  }
};

// where a number stands along a variable of a table
struct TablePlace {
  int cell;
  double u;     // from the beginning of the cell
  bool moves;   // the value moves with it
  bool nothing; // outside, where the table is zero
};

// held: the piece whose polynomials count, also beyond its ends; not a number: the piece that x is in
inline TablePlace place_in(const ModelData &m, const TableData &table, int variable, const double *knots, double x,
                           double held) {
  const int cells = table.cells[variable];
  const double low = knots[0], high = knots[cells];
  double seen = x; // the number by which a cell is chosen
  if (held == held) {
    const TableBreaks breaks(m, table, variable, low, high);
    seen = std::max(breaks.begin(held),
                    std::min(x, std::nextafter(breaks.end(held), -std::numeric_limits<double>::infinity())));
  }
  double shift = 0.0;
  if (table.extrapolation == Extrapolation::repeat && !(seen >= low && seen <= high)) {
    shift = (high - low) * std::floor((seen - low) / (high - low));
    seen = std::min(high, std::max(low, seen - shift)); // but for rounding
  }
  const bool beyond = !(seen >= low && seen <= high);
  if (beyond && (table.extrapolation == Extrapolation::refuse || x != x))
    return {0, std::numeric_limits<double>::quiet_NaN(), true, false};
  const double at = beyond ? (seen < low ? low : high) : x - shift;
  const int cell = cell_of(knots, cells, beyond ? at : seen);
  return {cell, at - knots[cell], !beyond, beyond && table.extrapolation == Extrapolation::zero};
}

// value at x, and slopes; held: null, or the piece that counts along each variable
inline double interpolate_table(const ModelData &m, const TableData &table, const double *x, const double *held,
                                double *slopes) {
  const double *knots = m.table_values + table.first;
  const int order = table.degree + 1;
  double power[3][4] = {{1.0}, {1.0}, {1.0}}, slope[3][4] = {};
  std::ptrdiff_t cell = 0, size = 1;
  double factor = 1.0;
  for (int k = 0; k < table.variables; ++k) {
    const TablePlace place =
        place_in(m, table, k, knots, x[k], held ? held[k] : std::numeric_limits<double>::quiet_NaN());
    factor = place.nothing ? 0.0 : factor;
    for (int i = 1; i < order; ++i) {
      power[k][i] = power[k][i - 1] * place.u;
      slope[k][i] = place.moves ? i * power[k][i - 1] : 0.0;
    }
    cell = cell * table.cells[k] + place.cell;
    knots += table.cells[k] + 1;
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

// Bounds of a table on intervals of its variables: of the cells that they reach, or, if these are many, of all.
inline Interval interpolate_table(const ModelData &m, const TableData &table, const Interval *x, const double *held) {
  constexpr std::ptrdiff_t max_cells = 64;
  const double *knots = m.table_values + table.first, *axis[3] = {};
  const int order = table.degree + 1;
  int first[3] = {}, last[3] = {};
  Interval range[3] = {0.0, 0.0, 0.0};
  std::ptrdiff_t reached = 1, size = 1;
  bool outside = false;
  for (int k = 0; k < table.variables; ++k) {
    axis[k] = knots;
    const double low = knots[0], high = knots[table.cells[k]],
                 mine = held ? held[k] : std::numeric_limits<double>::quiet_NaN();
    Interval at = x[k];
    if (!at.is_finite() || (table.extrapolation == Extrapolation::repeat && !(at.high - at.low < high - low)))
      return {table.low, table.high};
    if (mine != mine && table.extrapolation != Extrapolation::repeat) {
      outside |= !(at.low >= low && at.high <= high);
      at = {std::min(high, std::max(low, at.low)), std::min(high, std::max(low, at.high))};
    }
    const TablePlace begin = place_in(m, table, k, knots, at.low, mine),
                     end = place_in(m, table, k, knots, at.high, mine);
    if (end.cell < begin.cell || begin.u != begin.u || end.u != end.u) // around the ends of one that repeats itself
      return {table.low, table.high};
    first[k] = begin.cell, last[k] = end.cell;
    range[k] = {knots[begin.cell] + begin.u, knots[end.cell] + end.u};
    reached *= last[k] - first[k] + 1;
    size *= order;
    knots += table.cells[k] + 1;
  }
  if (reached > max_cells)
    return {table.low, table.high};
  Interval all = outside && table.extrapolation == Extrapolation::zero ? Interval(0.0) : Interval(1.0, -1.0);
  for (int i = first[0]; i <= last[0]; ++i)
    for (int j = first[1]; j <= last[1]; ++j)
      for (int l = first[2]; l <= last[2]; ++l) {
        const int cell[3] = {i, j, l};
        Interval power[3][4];
        std::ptrdiff_t place = 0;
        for (int k = 0; k < 3; ++k) {
          power[k][0] = 1.0;
          if (k >= table.variables)
            continue;
          const double from = cell[k] == first[k] ? range[k].low : axis[k][cell[k]],
                       to = cell[k] == last[k] ? range[k].high : axis[k][cell[k] + 1];
          for (int p = 1; p < order; ++p)
            power[k][p] =
                DALEMBERT_ISA::power(Interval(from - axis[k][cell[k]], to - axis[k][cell[k]]), Interval(double(p)));
          place = place * table.cells[k] + cell[k];
        }
        const double *c = knots + place * size;
        Interval value(0.0);
        for (int a = 0; a < order; ++a)
          for (int b = 0; b < (table.variables > 1 ? order : 1); ++b)
            for (int d = 0; d < (table.variables > 2 ? order : 1); ++d, ++c)
              value = value + Interval(*c) * (power[0][a] * power[1][b] * power[2][d]);
        all = all.low > all.high ? value : hull(all, value);
      }
  return all;
}

// held: null, or the pieces that count; not in packs
template <class T>
inline T interpolate_table(const ModelData &m, const TableData &table, const T *x, const double *held = nullptr) {
  double at[3], slopes[3];
  if constexpr (std::is_same_v<T, Interval>) {
    return interpolate_table(m, table, static_cast<const Interval *>(x), held);
  } else if constexpr (differentiates<T>) {
    for (int k = 0; k < 3; ++k)
      at[k] = x[k].value;
    const double value = interpolate_table(m, table, at, held, slopes);
    return depending_on(value, x, slopes, table.variables);
  } else if constexpr (requires { x[0][0]; }) {
    T result;
    for (int lane = 0; lane < T::lanes; ++lane) {
      for (int k = 0; k < 3; ++k)
        at[k] = x[k][lane];
      result.set(lane, interpolate_table(m, table, at, nullptr, slopes));
    }
    return result;
  } else {
    return interpolate_table(m, table, x, held, slopes);
  }
}

} // namespace dalembert::DALEMBERT_ISA
