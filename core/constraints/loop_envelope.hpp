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
template <class T> inline void couple(const ModelData &m, LoopWorkspace<T> &work, const RowElimination &order) {
  for (int i = 0; i < order.count; ++i) {
    const LoopConstraintData &c = m.loop_constraints[order.constraint[i]];
    T *row = work.D + order.start[i] - order.first[i];
    for (int j = order.first[i]; j <= i; ++j) {
      const LoopConstraintData &e = m.loop_constraints[order.constraint[j]];
      row[j] = coupling(m, work.values, work.response, c, order.row[i] - c.row, e, order.row[j] - e.row);
    }
  }
}

// L d L^T of D in its envelope; rows that add nothing get a reciprocal pivot of zero. Returns the lanes in which a row
// is doubtful.
template <class T> inline unsigned factor_envelope(LoopWorkspace<T> &work, const RowElimination &order) {
  unsigned doubts = 0;
  const T nothing(0.0), least = independence(work.opening);
  for (int i = 0; i < order.count; ++i) {
    const int first = order.first[i];
    T *row = work.D + order.start[i] - first;
    for (int j = first; j < i; ++j) {
      const T *other = work.D + order.start[j] - order.first[j];
      T sum = row[j];
      for (int k = first > order.first[j] ? first : order.first[j]; k < j; ++k)
        sum = sum - row[k] * other[k];
      row[j] = sum; // L_ij d_j until the pivots divide it
    }
    const T diagonal = row[i];
    T pivot = diagonal;
    for (int j = first; j < i; ++j) {
      const T l = row[j] * work.d[j];
      pivot = pivot - l * row[j];
      row[j] = l;
    }
    const T lever = work.leverage[order.row[i]];
    const auto moves = less(least, lever);
    doubts |= bits(both(moves, either(opposite(less(doubtful * diagonal, pivot)), less(lever, uncertain * least))));
    const auto sound = less(nothing, pivot);
    const T part = select(sound, pivot / select(sound, diagonal, T(1.0)), nothing);
    work.min_pivot = select(less(part, work.min_pivot), part, work.min_pivot);
    work.min_pivot = select(less(lever * lever, work.min_pivot), lever * lever, work.min_pivot);
    const auto kept = both(moves, less(rounding * diagonal, pivot));
    work.d[i] = select(kept, 1.0 / select(kept, pivot, T(1.0)), nothing);
  }
  return doubts;
}

template <class T> inline void solve_envelope(LoopWorkspace<T> &work, const RowElimination &order) {
  T *y = work.y;
  for (int i = 0; i < order.count; ++i) {
    const T *row = work.D + order.start[i] - order.first[i];
    for (int j = order.first[i]; j < i; ++j)
      y[i] = y[i] - row[j] * y[j];
  }
  for (int i = 0; i < order.count; ++i)
    y[i] = y[i] * work.d[i];
  for (int i = order.count - 1; i >= 0; --i) {
    const T *row = work.D + order.start[i] - order.first[i];
    for (int j = order.first[i]; j < i; ++j)
      y[j] = y[j] - row[j] * y[i];
  }
}

// a and lambda from rhs = -(P a + gamma), by (1)
template <class T>
inline void correct(const ModelData &m, LoopWorkspace<T> &work, const RowElimination &order, T *a, T *lambda) {
  for (int i = 0; i < order.count; ++i)
    work.y[i] = work.rhs[order.row[i]];
  solve_envelope(work, order);
  for (int i = 0; i < order.count; ++i) {
    const T l = work.y[i];
    const LoopConstraintData &constraint = m.loop_constraints[order.constraint[i]];
    lambda[order.row[i]] = lambda[order.row[i]] + l;
    const T *Y =
        work.response + constraint.reach + std::ptrdiff_t(order.row[i] - constraint.row) * reach_size(m, constraint);
    for_each_tree(m, constraint, [&](const TreeReach &r) {
      for (int f = r.begin; f < r.end; ++f)
        a[f] = a[f] + l * Y[r.offset + f - r.begin];
    });
  }
}

} // namespace dalembert::DALEMBERT_ISA
