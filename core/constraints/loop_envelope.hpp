// Loops by (1) of constraints/loop_dynamics.hpp: D = P M^-1 P^T factored as L d L^T within its envelope.
#pragma once

#include "constraints/loop_workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// a pivot below this part of its diagonal calls for orthogonalisation
constexpr double doubtful = 1e-7;
// and so does a leverage below this multiple of what counts as none: open loops turn such a row, and with it the pivots
// of those that depend on it
constexpr double uncertain = 300.0;
// and below this part a pivot is round-off of D
constexpr double rounding = 1e-13;

// D of the rows in `order`, within its envelope
template <class T> inline void couple(const ModelData &m, LoopRoom<T> &room, const RowOrder &order) {
  for (int i = 0; i < order.count; ++i) {
    const ChordData &c = m.chords[order.chord[i]];
    T *row = room.D + order.start[i] - order.first[i];
    for (int j = order.first[i]; j <= i; ++j) {
      const ChordData &e = m.chords[order.chord[j]];
      row[j] = coupling(m, room.values, room.response, c, order.row[i] - c.row, e, order.row[j] - e.row);
    }
  }
}

// L d L^T of D in its envelope; rows that add nothing get a reciprocal pivot of zero. Returns the lanes in which a row is
// doubtful.
template <class T> inline unsigned factor_envelope(LoopRoom<T> &room, const RowOrder &order) {
  unsigned doubts = 0;
  const T nothing(0.0), least = independence(room.opening);
  for (int i = 0; i < order.count; ++i) {
    const int first = order.first[i];
    T *row = room.D + order.start[i] - first;
    for (int j = first; j < i; ++j) {
      const T *other = room.D + order.start[j] - order.first[j];
      T sum = row[j];
      for (int k = first > order.first[j] ? first : order.first[j]; k < j; ++k)
        sum = sum - row[k] * other[k];
      row[j] = sum; // L_ij d_j until the pivots divide it
    }
    const T diagonal = row[i];
    T pivot = diagonal;
    for (int j = first; j < i; ++j) {
      const T l = row[j] * room.d[j];
      pivot = pivot - l * row[j];
      row[j] = l;
    }
    const T lever = room.leverage[order.row[i]];
    const auto moves = less(least, lever);
    doubts |= bits(both(moves, either(opposite(less(doubtful * diagonal, pivot)), less(lever, uncertain * least))));
    const auto sound = less(nothing, pivot);
    const T part = select(sound, pivot / select(sound, diagonal, T(1.0)), nothing);
    room.slack = select(less(part, room.slack), part, room.slack);
    room.slack = select(less(lever * lever, room.slack), lever * lever, room.slack);
    const auto kept = both(moves, less(rounding * diagonal, pivot));
    room.d[i] = select(kept, 1.0 / select(kept, pivot, T(1.0)), nothing);
  }
  return doubts;
}

template <class T> inline void solve_envelope(LoopRoom<T> &room, const RowOrder &order) {
  T *y = room.y;
  for (int i = 0; i < order.count; ++i) {
    const T *row = room.D + order.start[i] - order.first[i];
    for (int j = order.first[i]; j < i; ++j)
      y[i] = y[i] - row[j] * y[j];
  }
  for (int i = 0; i < order.count; ++i)
    y[i] = y[i] * room.d[i];
  for (int i = order.count - 1; i >= 0; --i) {
    const T *row = room.D + order.start[i] - order.first[i];
    for (int j = order.first[i]; j < i; ++j)
      y[j] = y[j] - row[j] * y[i];
  }
}

// a and lambda from rhs = -(P a + gamma), by (1)
template <class T> inline void correct(const ModelData &m, LoopRoom<T> &room, const RowOrder &order, T *a, T *lambda) {
  for (int i = 0; i < order.count; ++i)
    room.y[i] = room.rhs[order.row[i]];
  solve_envelope(room, order);
  for (int i = 0; i < order.count; ++i) {
    const T l = room.y[i];
    const ChordData &chord = m.chords[order.chord[i]];
    lambda[order.row[i]] = lambda[order.row[i]] + l;
    const T *Y = room.response + chord.reach + std::ptrdiff_t(order.row[i] - chord.row) * reach_size(m, chord);
    for_each_tree(m, chord, [&](const Reach &r) {
      for (int f = r.begin; f < r.end; ++f)
        a[f] = a[f] + l * Y[r.offset + f - r.begin];
    });
  }
}

} // namespace dalembert::DALEMBERT_ISA
