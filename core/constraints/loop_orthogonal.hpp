// Loops by (2) of constraints/loop_dynamics.hpp: rows made orthogonal in the metric of the mass matrix, which stands
// there unsquared.
//
// In packs every lane takes its rows in its own order: rows change places lane by lane, and a lane that has no more
// independent ones goes on with nothing.
#pragma once

#include "constraints/loop_workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// the number at a place that each lane has its own of
DALEMBERT_INLINE double at_place(const double *x, double place) { return x[int(place)]; }
DALEMBERT_INLINE Pack at_place(const Pack *x, const Pack &place) {
  Pack found;
  for (int lane = 0; lane < W; ++lane)
    found.set(lane, x[int(place[lane])][lane]);
  return found;
}
DALEMBERT_INLINE void add_at_place(double *x, double place, double change) { x[int(place)] += change; }
DALEMBERT_INLINE void add_at_place(Pack *x, const Pack &place, const Pack &change) {
  for (int lane = 0; lane < W; ++lane) {
    Pack &to = x[int(place[lane])];
    to.set(lane, to[lane] + change[lane]);
  }
}

template <class T> DALEMBERT_INLINE T product(const T *a, const T *b, std::ptrdiff_t n) {
  T sum(0.0);
  for (std::ptrdiff_t f = 0; f < n; ++f)
    sum = sum + a[f] * b[f];
  return sum;
}
// takes from w its part along a unit row
template <class T> DALEMBERT_INLINE T take_part(const T *e, T *w, std::ptrdiff_t n) {
  const T along = product(e, w, n);
  for (std::ptrdiff_t f = 0; f < n; ++f)
    w[f] = w[f] - along * e[f];
  return along;
}

// rows of P L^-T d^-1/2 with their sizes
template <class T> inline void spread_rows(const ModelData &m, LoopWorkspace<T> &work, const unsigned char *given) {
  const std::ptrdiff_t nv = m.nv;
  const OrthogonalWorkspace<T> &o = work.orthogonal;
  for (std::ptrdiff_t k = 0; k < m.nc * nv; ++k)
    o.Q[k] = T(0.0);
  for (int c = 0; c < m.loop_constraint_count; ++c) {
    const LoopConstraintData &constraint = m.loop_constraints[c];
    carry_rows(
        m, work, constraint, [](int) { return true; },
        [&](const TreeReach &r) { solve_inward(m, work.ws, work.side, work.x, r.root, m.bodies[r.root].last, given); },
        [&](const TreeReach &r, int l, int row) {
          for (int f = r.begin; f < r.end; ++f)
            o.Q[(constraint.row + row) * nv + f] = carried<T>(work.side.y[f], l) * root(work.ws.pivot[f].inverse);
        });
  }
  // Of each row: what its lever arms could make of it, and what is left. Not what it is at the start: a row that just
  // passes through zero is turned by the least opening, and must not go first.
  const T least = independence(work.opening), nothing(0.0), one(1.0);
  for (int r = 0; r < m.nc; ++r) {
    const T length = root(product(o.Q + r * nv, o.Q + r * nv, nv)), lever = work.leverage[r];
    const auto moves = both(less(least, lever), less(nothing, length));
    o.place[r] = T(double(r));
    o.left[r] = select(moves, length, nothing);
    o.size[r] = select(moves, lever / select(moves, length, one), nothing);
  }
}

// brings the row with the largest part left, among those from `rank` on, to that place
template <class T> inline void pivot_row(const ModelData &m, const OrthogonalWorkspace<T> &o, int rank) {
  const std::ptrdiff_t n = m.nc, nv = m.nv;
  T best = o.left[rank] * o.size[rank], which = T(double(rank));
  for (int i = rank + 1; i < n; ++i) {
    const T part = o.left[i] * o.size[i];
    const auto more = less(best, part);
    best = select(more, part, best);
    which = select(more, T(double(i)), which);
  }
  for (int i = rank + 1; i < n; ++i) {
    const auto mine = both(less(T(i - 0.5), which), less(which, T(i + 0.5)));
    if (!bits(mine))
      continue;
    const auto exchange = [&](T &a, T &b) {
      const T kept = a;
      a = select(mine, b, a);
      b = select(mine, kept, b);
    };
    for (std::ptrdiff_t f = 0; f < nv; ++f)
      exchange(o.Q[rank * nv + f], o.Q[i * nv + f]);
    for (int k = 0; k < rank; ++k)
      exchange(o.R[k * n + rank], o.R[k * n + i]);
    for (T *each : {o.place, o.size, o.left})
      exchange(each[rank], each[i]);
  }
}

// (2): all rows made orthogonal; returns how many are independent, in some lane
template <class T> inline int orthogonalize(const ModelData &m, LoopWorkspace<T> &work, const unsigned char *given) {
  const std::ptrdiff_t n = m.nc, nv = m.nv;
  const OrthogonalWorkspace<T> &o = work.orthogonal;
  const T least = independence(work.opening), nothing(0.0), one(1.0);
  spread_rows(m, work, given);
  for (int rank = 0; rank < n; ++rank) {
    pivot_row(m, o, rank);
    T *w = o.Q + rank * nv;
    for (int k = 0; k < rank; ++k) // again, against what rounding has left
      o.R[k * n + rank] = o.R[k * n + rank] + take_part(o.Q + k * nv, w, nv);
    const T length = root(product(w, w, nv));
    const auto independent = less(least, length * o.size[rank]);
    if (!bits(independent))
      return rank;
    const T factor = select(independent, one / select(independent, length, one), nothing);
    o.taken[rank] = select(independent, one, nothing);
    o.R[rank * n + rank] = select(independent, length, one);
    for (std::ptrdiff_t f = 0; f < nv; ++f)
      w[f] = w[f] * factor;
    for (int i = rank + 1; i < n; ++i) {
      if (!bits(less(nothing, o.size[i]))) {
        o.R[rank * n + i] = nothing;
        continue;
      }
      T *other = o.Q + i * nv;
      o.R[rank * n + i] = take_part(w, other, nv);
      o.left[i] = root(product(other, other, nv));
    }
  }
  return m.nc;
}

// (2): a and lambda from rhs = -(P a + gamma)
template <class T>
inline void correct_orthogonally(const ModelData &m, LoopWorkspace<T> &work, int rank, T *a, T *lambda) {
  const std::ptrdiff_t n = m.nc, nv = m.nv;
  const OrthogonalWorkspace<T> &o = work.orthogonal;
  const T nothing(0.0), one(1.0);
  T *z = o.z;
  for (int k = 0; k < rank; ++k) {
    T sum = at_place(work.rhs, o.place[k]);
    for (int j = 0; j < k; ++j)
      sum = sum - o.R[j * n + k] * z[j];
    z[k] = select(less(nothing, o.taken[k]), sum / o.R[k * n + k], nothing);
  }
  // the step in the tree's factors, then outward; of numbers, one lane of the workspace for packs
  for (std::ptrdiff_t f = 0; f < nv; ++f) {
    T sum(0.0);
    for (int k = 0; k < rank; ++k)
      sum = sum + z[k] * o.Q[k * nv + f];
    const T inverse = work.ws.pivot[f].inverse;
    const auto moves = less(nothing, inverse);
    work.side.y[f] = Pack(select(moves, sum / root(select(moves, inverse, one)), nothing));
  }
  solve_outward(m, work.ws, work.side, work.x, 1, m.nb);
  for (std::ptrdiff_t f = 0; f < nv; ++f)
    a[f] = a[f] + carried<T>(work.x[f], 0);
  for (int k = rank - 1; k >= 0; --k) {
    T sum = z[k];
    for (int j = k + 1; j < rank; ++j)
      sum = sum - o.R[k * n + j] * z[j];
    z[k] = select(less(nothing, o.taken[k]), sum / o.R[k * n + k], nothing);
  }
  for (int k = 0; k < rank; ++k)
    add_at_place(lambda, o.place[k], z[k]);
}

} // namespace dalembert::DALEMBERT_ISA
