// Forward dynamics with closed loops: M a + b = tau + P^T lambda, P a + gamma = 0.
//
// On the articulated-body factors of the trees, with a_0 the accelerations of the open system
// (Slaats 1991, section 4.2 and SL-35; Sol 1983, (6.3.4)-(6.3.6) with the sign of (6.3.4), erratum):
//
//     Y = M^-1 P^T      D = P Y      D lambda = -(P a_0 + gamma)      a = a_0 + Y lambda              (1)
//
// A chord moves only the trees it touches, so Y has as many short columns, and two chords are coupled in D only if they
// share a tree. D is factored as L d L^T within its envelope, in an order that the compiler of the model has chosen to
// keep the envelope narrow; few rows fill it, many loops in a row stay in a narrow band and cost in proportion.
//
// Rows that always repeat others are left out beforehand (ModelData::lean_rows). Where rows come to depend on each other
// at single configurations, a pivot falls to round-off. D is positive semidefinite, so the rest of that
// row has fallen with it: the row adds nothing, its multiplier is zero, and elimination goes on. Accelerations do not
// depend on which of several dependent rows is met last.
#pragma once

#include "aba.hpp"
#include "chords.hpp"

namespace dalembert::DALEMBERT_ISA {

// A pivot is what a row's multiplier can still move once all other rows and hinges are obeyed. Below this part of what
// it could move by itself (ChordOutputs::ease), nothing is left but round-off and the tolerance of assembly, squared.
constexpr double dependent = 1e-11;

template <int W> struct LoopRoom {
  Workspace<double> ws;
  Side<Pack<W>> side;
  Pack<W> *x;
  double *values;   // blocks of P
  double *response; // blocks of Y: for each chord, rows by the freedoms of its trees
  double *gamma;    // nc
  double *wrenches; // nc x 6
  double *ease;     // nc: diagonal of D if the bodies were free of their other hinges
  double *rhs;      // nc: P a_0 + gamma
  double *D;        // the envelope, then L
  double *d;        // nc: reciprocal pivots
  double *y;        // nc
};

template <int W> inline std::size_t lay_out(const ModelData &m, std::byte *base, LoopRoom<W> &room) {
  Arena arena{base};
  arena.take<std::byte>(lay_out(m, base, room.ws));
  const std::size_t n = std::size_t(m.nb) + 1, nv = std::size_t(m.nv), nc = std::size_t(m.nc);
  room.side = {arena.take<Load<Pack<W>>>(n), arena.take<Pack<W>>(nv), arena.take<Motion<Pack<W>>>(n)};
  room.x = arena.take<Pack<W>>(nv);
  room.values = arena.take<double>(std::size_t(m.values));
  room.response = arena.take<double>(std::size_t(m.responses));
  room.gamma = arena.take<double>(nc);
  room.wrenches = arena.take<double>(6 * nc);
  room.ease = arena.take<double>(nc);
  room.rhs = arena.take<double>(nc);
  room.D = arena.take<double>(m.nc ? std::size_t(m.all_rows.start[m.nc]) : 0);
  room.d = arena.take<double>(nc);
  room.y = arena.take<double>(nc);
  return arena.used;
}

// freedoms of one of the (at most two) trees of a chord, and where they stand in its response
struct Reach {
  int begin, end, offset;
};
DALEMBERT_INLINE Reach reach_of(const ModelData &m, const ChordData &chord, int k) {
  const BodyData &root = m.bodies[chord.roots[k]];
  const int offset = k == 0 ? 0 : m.bodies[chord.roots[0]].v_end - m.bodies[chord.roots[0]].v;
  return {root.v, root.v_end, offset};
}
DALEMBERT_INLINE int trees_of(const ChordData &chord) { return (chord.roots[0] != 0) + (chord.roots[1] != 0); }
DALEMBERT_INLINE int reach_size(const ModelData &m, const ChordData &chord) {
  int size = 0;
  for (int k = 0; k < trees_of(chord); ++k)
    size += m.bodies[chord.roots[k]].v_end - m.bodies[chord.roots[k]].v;
  return size;
}

// Y of one chord, W rows at a time
template <int W> inline void respond(const ModelData &m, LoopRoom<W> &room, const ChordData &chord) {
  const int size = reach_size(m, chord);
  double *Y = room.response + chord.reach;
  const double *block = room.values + chord.values;
  for (int first = 0; first < chord.rows; first += W) {
    const int count = chord.rows - first < W ? chord.rows - first : W;
    for (int k = 0; k < trees_of(chord); ++k) {
      const Reach r = reach_of(m, chord, k);
      for (int f = r.begin; f < r.end; ++f)
        room.x[f] = Pack<W>(0.0);
    }
    for (int s = 0; s < chord.supports; ++s) {
      Pack<W> entry(0.0);
      for (int l = 0; l < count; ++l)
        entry.set(l, block[(first + l) * chord.supports + s]);
      room.x[m.support[chord.support + s]] = entry;
    }
    for (int k = 0; k < trees_of(chord); ++k) {
      const Reach r = reach_of(m, chord, k);
      solve(m, room.ws, room.side, room.x, room.x, chord.roots[k], m.bodies[chord.roots[k]].last);
      for (int f = r.begin; f < r.end; ++f)
        for (int l = 0; l < count; ++l)
          Y[(first + l) * size + r.offset + f - r.begin] = room.x[f][l];
    }
  }
}

// row i of P (chord c) times column j of Y (chord e)
inline double coupling(const ModelData &m, const double *values, const double *response, const ChordData &c, int i, const ChordData &e,
                       int j) {
  const double *row = values + c.values + i * c.supports, *Y = response + e.reach + j * reach_size(m, e);
  double sum = 0.0;
  int tree = -1;
  Reach r{0, 0, 0};
  for (int s = 0; s < c.supports; ++s) {
    const int f = m.support[c.support + s];
    if (tree < 0 || f < r.begin || f >= r.end) {
      tree = -1;
      for (int k = 0; k < trees_of(e); ++k) {
        const Reach candidate = reach_of(m, e, k);
        if (f >= candidate.begin && f < candidate.end) {
          r = candidate;
          tree = k;
        }
      }
    }
    if (tree >= 0)
      sum += row[s] * Y[r.offset + f - r.begin];
  }
  return sum;
}

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

// L d L^T of D in its envelope; rows that add nothing get a reciprocal pivot of zero. Returns how many did.
// pivots: null, or for each place its pivot as a part of the row's ease.
template <int W> inline int factor_envelope(LoopRoom<W> &room, const RowOrder &order, double *pivots) {
  int dropped = 0;
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
    const double ease = room.ease[order.row[i]];
    double pivot = row[i];
    for (int j = first; j < i; ++j) {
      const double l = row[j] * room.d[j];
      pivot -= l * row[j];
      row[j] = l;
    }
    const bool adds = pivot > dependent * ease;
    dropped += !adds;
    room.d[i] = adds ? 1.0 / pivot : 0.0;
    if (pivots)
      pivots[i] = pivot / ease;
  }
  return dropped;
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

// each row's pivot as a part of its ease, all rows taken in order: zero for those that repeat earlier ones
template <int W> inline void row_pivots(const ModelData &m, LoopRoom<W> &room, const double *q, double *pivots) {
  evaluate_chords(m, room.ws, q, nullptr, {.values = room.values, .ease = room.ease});
  factorize<double>(m, room.ws, q);
  for (int k = 0; k < m.chord_count; ++k)
    respond(m, room, m.chords[k]);
  couple(m, room, m.all_rows);
  factor_envelope(room, m.all_rows, room.y);
  for (int i = 0; i < m.nc; ++i)
    pivots[m.all_rows.row[i]] = room.y[i];
}

// a and, per row, lambda
template <int W>
inline void constrained_dynamics(const ModelData &m, LoopRoom<W> &room, const double *q, const double *v, const double *tau,
                                 const double *loads, double *a, double *lambda) {
  evaluate_chords(m, room.ws, q, v, {.bias = room.gamma, .values = room.values, .ease = room.ease});
  forward_dynamics<double>(m, room.ws, q, v, tau, loads, nullptr, a, nullptr);
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    respond(m, room, chord);
    for (int j = 0; j < chord.rows; ++j) {
      const double *row = room.values + chord.values + j * chord.supports;
      double sum = room.gamma[chord.row + j];
      for (int s = 0; s < chord.supports; ++s)
        sum += row[s] * a[m.support[chord.support + s]];
      room.rhs[chord.row + j] = sum;
    }
  }
  // where the lean rows depend on each other, one that was left out may add what they lack
  const RowOrder *order = &m.lean_rows;
  couple(m, room, *order);
  if (factor_envelope(room, *order, nullptr) && order->count < m.nc) {
    order = &m.all_rows;
    couple(m, room, *order);
    factor_envelope(room, *order, nullptr);
  }
  for (int i = 0; i < order->count; ++i)
    room.y[i] = -room.rhs[order->row[i]];
  solve_envelope(room, *order);
  for (int i = 0; i < m.nc; ++i)
    lambda[i] = 0.0;
  for (int i = 0; i < order->count; ++i)
    lambda[order->row[i]] = room.y[i];
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    const int size = reach_size(m, chord);
    for (int j = 0; j < chord.rows; ++j) {
      const double l = lambda[chord.row + j];
      if (l == 0.0)
        continue;
      const double *Y = room.response + chord.reach + j * size;
      for (int t = 0; t < trees_of(chord); ++t) {
        const Reach r = reach_of(m, chord, t);
        for (int f = r.begin; f < r.end; ++f)
          a[f] += l * Y[r.offset + f - r.begin];
      }
    }
  }
}

} // namespace dalembert::DALEMBERT_ISA
