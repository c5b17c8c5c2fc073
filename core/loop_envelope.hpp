// Loops by (1): D = P M^-1 P^T factored as L d L^T within its envelope.
#pragma once

#include "loop_rows.hpp"

namespace dalembert::DALEMBERT_ISA {

// a pivot below this part of its diagonal calls for orthogonalisation
constexpr double doubtful = 1e-7;
// and so does a leverage below this multiple of what counts as none: open loops turn such a row, and with it the pivots
// of those that depend on it
constexpr double uncertain = 300.0;
// and below this part a pivot is round-off of D
constexpr double rounding = 1e-13;

// D of the rows in `order`, within its envelope
template <int W> inline void couple(const ModelData &m, LoopRoom<W> &room, const RowOrder &order) {
  for (int i = 0; i < order.count; ++i) {
    const ChordData &c = m.chords[order.chord[i]];
    double *row = room.D + order.start[i] - order.first[i];
    for (int j = order.first[i]; j <= i; ++j) {
      const ChordData &e = m.chords[order.chord[j]];
      row[j] = coupling(m, room.values, room.response, c, order.row[i] - c.row, e, order.row[j] - e.row);
    }
  }
}

// L d L^T of D in its envelope; rows that add nothing get a reciprocal pivot of zero. Returns how many are doubtful.
template <int W> inline int factor_envelope(LoopRoom<W> &room, const RowOrder &order) {
  int doubts = 0;
  for (int i = 0; i < order.count; ++i) {
    const int first = order.first[i];
    double *row = room.D + order.start[i] - first;
    for (int j = first; j < i; ++j) {
      const double *other = room.D + order.start[j] - order.first[j];
      double sum = row[j];
      for (int k = first > order.first[j] ? first : order.first[j]; k < j; ++k)
        sum -= row[k] * other[k];
      row[j] = sum; // L_ij d_j until the pivots divide it
    }
    const double diagonal = row[i];
    double pivot = diagonal;
    for (int j = first; j < i; ++j) {
      const double l = row[j] * room.d[j];
      pivot -= l * row[j];
      row[j] = l;
    }
    const double lever = room.leverage[order.row[i]];
    const bool moves = lever > independence(room.opening);
    doubts += moves && (!(pivot > doubtful * diagonal) || lever < uncertain * independence(room.opening));
    if (!(pivot >= room.slack * diagonal))
      room.slack = pivot > 0.0 ? pivot / diagonal : 0.0;
    room.slack = lever * lever < room.slack ? lever * lever : room.slack;
    room.d[i] = moves && pivot > rounding * diagonal ? 1.0 / pivot : 0.0;
  }
  return doubts;
}

template <int W> inline void solve_envelope(LoopRoom<W> &room, const RowOrder &order) {
  double *y = room.y;
  for (int i = 0; i < order.count; ++i) {
    const double *row = room.D + order.start[i] - order.first[i];
    for (int j = order.first[i]; j < i; ++j)
      y[i] -= row[j] * y[j];
  }
  for (int i = 0; i < order.count; ++i)
    y[i] *= room.d[i];
  for (int i = order.count - 1; i >= 0; --i) {
    const double *row = room.D + order.start[i] - order.first[i];
    for (int j = order.first[i]; j < i; ++j)
      y[j] -= row[j] * y[i];
  }
}

// a and lambda from rhs = -(P a + gamma), by (1)
template <int W>
inline void correct(const ModelData &m, LoopRoom<W> &room, const RowOrder &order, double *a, double *lambda) {
  for (int i = 0; i < order.count; ++i)
    room.y[i] = room.rhs[order.row[i]];
  solve_envelope(room, order);
  for (int i = 0; i < order.count; ++i) {
    const double l = room.y[i];
    if (l == 0.0)
      continue;
    const ChordData &chord = m.chords[order.chord[i]];
    lambda[order.row[i]] += l;
    const double *Y = room.response + chord.reach + std::ptrdiff_t(order.row[i] - chord.row) * reach_size(m, chord);
    for_each_tree(m, chord, [&](const Reach &r) {
      for (int f = r.begin; f < r.end; ++f)
        a[f] += l * Y[r.offset + f - r.begin];
    });
  }
}

} // namespace dalembert::DALEMBERT_ISA
