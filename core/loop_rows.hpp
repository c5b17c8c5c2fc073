// What the two ways of solving for loops share: room, how a chord's rows spread over its trees, how the trees respond,
// and by how much the rows are missed. Equation numbers are those of loops.hpp.
#pragma once

#include "aba.hpp"
#include "chords.hpp"

namespace dalembert::DALEMBERT_ISA {

// rows up to which orthogonalisation is affordable: its cost is that of a dense factorisation
constexpr int most_orthogonal = 512;

// Rows that differ from dependent ones, or from no row at all, by less than the loops are open cannot be told from them.
inline double independence(double opening) {
  const double tolerance = 30.0 * opening;
  return tolerance < 1e-10 ? 1e-10 : tolerance > 1e-5 ? 1e-5 : tolerance;
}

template <int W> struct LoopRoom {
  Workspace<double> ws;
  Side<Pack<W>> side;
  Pack<W> *x;
  double *values;   // blocks of P
  double *response; // blocks of Y: for each chord, rows by the freedoms of its trees
  double *gamma;    // nc
  double *wrenches; // nc x 6
  double *leverage; // nc: see ChordOutputs
  double *drift;    // nc: see ChordOutputs
  double *rhs;      // nc: P a_0 + gamma
  double *D;        // the envelope, then L
  double *d;        // nc: reciprocal pivots
  double *y;        // nc
  double *Q, *R;    // nc x nv and nc x nc, for orthogonalisation
  std::int32_t *chosen; // nc: rows in the order in which it took them
  double opening;
  double slack = 1.0;   // smallest pivot met, as a part of its diagonal, or square of a leverage; to be set back by whoever watches
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
  room.leverage = arena.take<double>(nc);
  room.drift = arena.take<double>(nc);
  room.rhs = arena.take<double>(nc);
  room.D = arena.take<double>(m.nc ? std::size_t(m.all_rows.start[m.nc]) : 0);
  room.d = arena.take<double>(nc);
  room.y = arena.take<double>(nc);
  const bool orthogonal = m.nc <= most_orthogonal;
  room.Q = arena.take<double>(orthogonal ? nc * nv : 0);
  room.R = arena.take<double>(orthogonal ? nc * nc : 0);
  room.chosen = arena.take<std::int32_t>(nc);
  return arena.used;
}

// freedoms of one of the trees of a chord, and where they stand in its response
struct Reach {
  int begin, end, offset, root;
};
template <class F> DALEMBERT_INLINE void for_each_tree(const ModelData &m, const ChordData &chord, F &&f) {
  int offset = 0;
  for (int k = chord.tree; k < chord.tree + chord.trees; ++k) {
    const BodyData &root = m.bodies[m.tree[k]];
    f(Reach{root.v, root.v_end, offset, m.tree[k]});
    offset += root.v_end - root.v;
  }
}
DALEMBERT_INLINE int reach_size(const ModelData &m, const ChordData &chord) {
  int size = 0;
  for_each_tree(m, chord, [&](const Reach &r) { size += r.end - r.begin; });
  return size;
}

// rows [first, first + count) of a chord as lanes over the freedoms of its trees
template <int W> inline void spread(const ModelData &m, LoopRoom<W> &room, const ChordData &chord, int first, int count) {
  for_each_tree(m, chord, [&](const Reach &r) {
    for (int f = r.begin; f < r.end; ++f)
      room.x[f] = Pack<W>(0.0);
  });
  const double *block = room.values + chord.values;
  for (int s = 0; s < chord.supports; ++s) {
    Pack<W> entry(0.0);
    for (int l = 0; l < count; ++l)
      entry.set(l, block[(first + l) * chord.supports + s]);
    room.x[m.support[chord.support + s]] = entry;
  }
}

// Y of one chord, W rows at a time
template <int W>
inline void respond(const ModelData &m, LoopRoom<W> &room, const ChordData &chord, const unsigned char *given = nullptr) {
  const int size = reach_size(m, chord);
  double *Y = room.response + chord.reach;
  for (int first = 0; first < chord.rows; first += W) {
    const int count = chord.rows - first < W ? chord.rows - first : W;
    spread(m, room, chord, first, count);
    for_each_tree(m, chord, [&](const Reach &r) {
      solve(m, room.ws, room.side, room.x, room.x, r.root, m.bodies[r.root].last, given);
      for (int f = r.begin; f < r.end; ++f)
        for (int l = 0; l < count; ++l)
          Y[(first + l) * size + r.offset + f - r.begin] = room.x[f][l];
    });
  }
}

// row i of P (chord c) times column j of Y (chord e)
inline double coupling(const ModelData &m, const double *values, const double *response, const ChordData &c, int i, const ChordData &e,
                       int j) {
  const double *row = values + c.values + i * c.supports, *Y = response + e.reach + j * reach_size(m, e);
  double sum = 0.0;
  Reach r{0, 0, 0, 0};
  for (int s = 0; s < c.supports; ++s) {
    const int f = m.support[c.support + s];
    if (f < r.begin || f >= r.end) { // another tree: look for it among those that e moves
      r = {f, f, 0, 0};
      for_each_tree(m, e, [&](const Reach &candidate) {
        if (f >= candidate.begin && f < candidate.end)
          r = candidate;
      });
    }
    if (f < r.end)
      sum += row[s] * Y[r.offset + f - r.begin];
  }
  return sum;
}

// -(P a + gamma), by row, into rhs. Returns true if a row is missed by more than round-off and open loops explain: by
// this part of its terms, unless they are as nothing beside the largest that any row has had (`largest`).
template <int W> inline bool residual_rates(const ModelData &m, LoopRoom<W> &room, const double *a, double &largest) {
  constexpr double missed = 1e-4, nothing = 1e-9;
  bool found = false;
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    for (int j = 0; j < chord.rows; ++j) {
      const double *row = room.values + chord.values + j * chord.supports;
      double sum = room.gamma[chord.row + j], size = std::fabs(sum);
      for (int s = 0; s < chord.supports; ++s) {
        const double term = row[s] * a[m.support[chord.support + s]];
        sum += term;
        size += std::fabs(term);
      }
      room.rhs[chord.row + j] = -sum;
      largest = size > largest ? size : largest;
      found |= room.leverage[chord.row + j] > independence(room.opening) && std::fabs(sum) > missed * size &&
               std::fabs(sum) > nothing * largest;
    }
  }
  return found;
}

} // namespace dalembert::DALEMBERT_ISA
