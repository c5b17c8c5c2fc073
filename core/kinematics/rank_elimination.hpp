// Gauss's elimination with full pivoting of a tall matrix whose rows may depend on each other.
//
//     P A Q = L U                                                                                                   (1)
//
// Full pivoting finds as many independent rows and columns as there are, and so the rank; the other rows are left to
// those that were chosen (Garcia de Jalon and Bayo 1994, 3.5 and (3.43)-(3.46)). Along a motion the choice hardly
// changes: it is kept as long as its pivots are, within reason, what a new search would find.
#pragma once

#include "scalar/arena.hpp"
#include <cmath>
#include <cstdint>
#include <utility>

namespace dalembert {

// What is below this part of the largest pivot is rounding of a dependent row.
constexpr double rounding_pivot = 1e-10;
// A pivot that has fallen to this part of what it was at the last search calls for another.
constexpr double tired_pivot = 0.1;

struct Elimination {
  int rows, columns;
  double *LU;                    // rows x columns, in the order in which they are taken
  double *kept;                  // columns: pivots, as parts of the largest, when they were searched for
  double *y;                     // columns
  std::int32_t *row, *column;    // rows, columns: the order in which they are taken
  double least = rounding_pivot; // part of the largest below which a pivot counts for nothing
  int rank = 0;
  int choice = 0;     // number of the search that chose rows and columns
  double slack = 0.0; // smallest pivot as a part of the largest; zero if columns depend on each other

  double *line(int k) const { return LU + std::ptrdiff_t(k) * columns; }
};

inline std::size_t lay_out(int rows, int columns, std::byte *base, Elimination &e) {
  Arena arena{base};
  e.rows = rows, e.columns = columns;
  e.LU = arena.take<double>(std::size_t(rows) * std::size_t(columns));
  e.kept = arena.take<double>(std::size_t(columns));
  e.y = arena.take<double>(std::size_t(columns));
  e.row = arena.take<std::int32_t>(std::size_t(rows));
  e.column = arena.take<std::int32_t>(std::size_t(columns));
  return arena.used;
}

// subtracts line k from a later one, as often as clears its entry in column k; the factor stays in its place
inline void clear_line(const Elimination &e, int k, int i) {
  const double *top = e.line(k);
  double *below = e.line(i);
  if (below[k] == 0.0)
    return;
  const double factor = below[k] /= top[k];
  for (int j = k + 1; j < e.columns; ++j)
    below[j] -= factor * top[j];
}

// A (rows x columns) with a search for pivots
inline void search(Elimination &e, const double *A) {
  for (std::ptrdiff_t k = 0; k < std::ptrdiff_t(e.rows) * e.columns; ++k)
    e.LU[k] = A[k];
  for (int i = 0; i < e.rows; ++i)
    e.row[i] = i;
  for (int j = 0; j < e.columns; ++j)
    e.column[j] = j;
  const int most = e.rows < e.columns ? e.rows : e.columns;
  double largest = 0.0;
  e.rank = 0, e.slack = 0.0, ++e.choice;
  for (int k = 0; k < most; ++k) {
    int at = k, across = k;
    double best = 0.0;
    for (int i = k; i < e.rows; ++i)
      for (int j = k; j < e.columns; ++j)
        if (std::fabs(e.line(i)[j]) > best)
          best = std::fabs(e.line(i)[j]), at = i, across = j;
    largest = k ? largest : best;
    if (!(best > e.least * largest) || !(largest > 0.0))
      return;
    if (at != k)
      for (int j = 0; j < e.columns; ++j)
        std::swap(e.line(k)[j], e.line(at)[j]);
    if (across != k)
      for (int i = 0; i < e.rows; ++i)
        std::swap(e.line(i)[k], e.line(i)[across]);
    std::swap(e.row[k], e.row[at]);
    std::swap(e.column[k], e.column[across]);
    e.kept[k] = best / largest;
    e.rank = k + 1;
    for (int i = k + 1; i < e.rows; ++i)
      clear_line(e, k, i);
  }
  if (e.rank == e.columns)
    e.slack = e.columns ? e.kept[e.columns - 1] : 1.0;
}

// A with the pivots of the last search, on the rows that were chosen then; false if they will not do any more
inline bool repeat(Elimination &e, const double *A) {
  if (e.rank < e.columns)
    return false;
  // the largest entry, which a search would begin with: the first pivot may tire too
  double largest = 0.0, least = 1e300;
  for (int i = 0; i < e.columns; ++i) {
    const double *from = A + std::ptrdiff_t(e.row[i]) * e.columns;
    for (int j = 0; j < e.columns; ++j) {
      const double entry = e.line(i)[j] = from[e.column[j]];
      largest = std::fabs(entry) > largest ? std::fabs(entry) : largest;
    }
  }
  for (int k = 0; k < e.columns; ++k) {
    const double pivot = std::fabs(e.line(k)[k]);
    if (!(pivot > tired_pivot * e.kept[k] * largest) || !(pivot > e.least * largest))
      return false;
    least = pivot < least ? pivot : least;
    for (int i = k + 1; i < e.columns; ++i)
      clear_line(e, k, i);
  }
  e.slack = e.columns ? least / largest : 1.0;
  return true;
}

// Signs of the pivots of A, on the rows and columns that were chosen last, into `negative` (columns); false if one
// vanishes. The factors that stand in e are lost. Where no pivot comes near zero between two positions, all keep their
// signs.
inline bool signs_of(Elimination &e, const double *A, unsigned char *negative) {
  for (int i = 0; i < e.columns; ++i)
    for (int j = 0; j < e.columns; ++j)
      e.line(i)[j] = A[std::ptrdiff_t(e.row[i]) * e.columns + e.column[j]];
  for (int k = 0; k < e.columns; ++k) {
    if (e.line(k)[k] == 0.0)
      return false;
    negative[k] = e.line(k)[k] < 0.0;
    for (int i = k + 1; i < e.columns; ++i)
      clear_line(e, k, i);
  }
  return true;
}

inline void factor(Elimination &e, const double *A) {
  if (!repeat(e, A))
    search(e, A);
}

// x (columns) with A x = b (rows) on the chosen rows; zero in columns that were not chosen
inline void solve(const Elimination &e, const double *b, double *x) {
  for (int k = 0; k < e.rank; ++k) {
    double sum = b[e.row[k]];
    for (int j = 0; j < k; ++j)
      sum -= e.line(k)[j] * e.y[j];
    e.y[k] = sum;
  }
  for (int j = 0; j < e.columns; ++j)
    x[j] = 0.0;
  for (int k = e.rank - 1; k >= 0; --k) {
    double sum = e.y[k];
    for (int j = k + 1; j < e.rank; ++j)
      sum -= e.line(k)[j] * x[e.column[j]];
    x[e.column[k]] = sum / e.line(k)[k];
  }
}

} // namespace dalembert
