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
// Rows that always repeat others are left out beforehand (ModelData::lean_rows). Where the others come near to depending
// on each other at single configurations, all rows are taken anew, the one that still moves most first (diagonal
// pivoting); when a pivot is round-off, the rows that are left add nothing, because D is positive semidefinite, and
// their multipliers are zero. Accelerations do not depend on which of several dependent rows that are. With more rows
// than pivoting can afford, they are dropped in the order of elimination.
//
// One step of iterative refinement, P a + gamma evaluated anew, takes out what a poor choice of rows has cost.
#pragma once

#include "aba.hpp"
#include "chords.hpp"

namespace dalembert::DALEMBERT_ISA {

// A pivot is what a row's multiplier can still move once all other rows and hinges are obeyed. Below this part of what
// it could move by itself (ChordOutputs::ease), nothing is left but round-off and the tolerance of assembly, squared.
constexpr double dependent = 1e-11;
// a pivot below this part calls for pivoting
constexpr double doubtful = 1e-7;
// rows up to which pivoting is affordable: it fills the matrix
constexpr int most_pivoted = 512;

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
  double *dense;    // nc x nc, for pivoting
  std::int32_t *chosen; // nc: rows in the order in which pivoting took them
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
  room.dense = arena.take<double>(m.nc <= most_pivoted ? nc * nc : 0);
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

// Y of one chord, W rows at a time
template <int W>
inline void respond(const ModelData &m, LoopRoom<W> &room, const ChordData &chord, const unsigned char *given = nullptr) {
  const int size = reach_size(m, chord);
  double *Y = room.response + chord.reach;
  const double *block = room.values + chord.values;
  for (int first = 0; first < chord.rows; first += W) {
    const int count = chord.rows - first < W ? chord.rows - first : W;
    for_each_tree(m, chord, [&](const Reach &r) {
      for (int f = r.begin; f < r.end; ++f)
        room.x[f] = Pack<W>(0.0);
    });
    for (int s = 0; s < chord.supports; ++s) {
      Pack<W> entry(0.0);
      for (int l = 0; l < count; ++l)
        entry.set(l, block[(first + l) * chord.supports + s]);
      room.x[m.support[chord.support + s]] = entry;
    }
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
    const double own = room.ease[order.row[i]], ease = own > 0.0 ? own : row[i];
    double pivot = row[i];
    for (int j = first; j < i; ++j) {
      const double l = row[j] * room.d[j];
      pivot -= l * row[j];
      row[j] = l;
    }
    doubts += !(pivot > doubtful * ease);
    room.d[i] = pivot > dependent * ease ? 1.0 / pivot : 0.0;
  }
  return doubts;
}

// L d L^T of D over all rows, the largest pivot by its part of the ease first; returns the rank. Row r of L stands in
// row r of `dense`, its columns by the rows that were chosen; room.d is by row.
template <int W> inline int factor_pivoted(const ModelData &m, LoopRoom<W> &room) {
  const int n = m.nc;
  double *D = room.dense;
  for (int k = 0; k < m.chord_count; ++k)
    for (int e = 0; e < m.chord_count; ++e)
      for (int i = 0; i < m.chords[k].rows; ++i)
        for (int j = 0; j < m.chords[e].rows; ++j)
          D[std::ptrdiff_t(m.chords[k].row + i) * n + m.chords[e].row + j] =
              coupling(m, room.values, room.response, m.chords[k], i, m.chords[e], j);
  const auto diagonal = [&](int r) -> double & { return D[std::ptrdiff_t(r) * n + r]; };
  for (int r = 0; r < n; ++r) {
    room.chosen[r] = r;
    if (!(room.ease[r] > 0.0))
      room.ease[r] = diagonal(r) > 0.0 ? diagonal(r) : 1.0; // a coupling, measured against itself
  }
  int rank = 0;
  for (; rank < n; ++rank) {
    int best = rank;
    for (int i = rank + 1; i < n; ++i) {
      const int r = room.chosen[i], b = room.chosen[best];
      if (diagonal(r) * room.ease[b] > diagonal(b) * room.ease[r])
        best = i;
    }
    const int p = room.chosen[best];
    room.chosen[best] = room.chosen[rank];
    room.chosen[rank] = p;
    const double pivot = diagonal(p);
    if (!(pivot > dependent * room.ease[p]))
      break;
    room.d[p] = 1.0 / pivot;
    const double *source = D + std::ptrdiff_t(p) * n;
    for (int i = rank + 1; i < n; ++i) {
      const int r = room.chosen[i];
      double *row = D + std::ptrdiff_t(r) * n;
      const double l = row[p] * room.d[p];
      for (int j = rank + 1; j < n; ++j)
        row[room.chosen[j]] -= l * source[room.chosen[j]];
      row[p] = l;
    }
  }
  return rank;
}

// y <- D^-1 y for the chosen rows; y is by row, the others are set to zero
template <int W> inline void solve_pivoted(const ModelData &m, LoopRoom<W> &room, int rank, double *y) {
  const std::ptrdiff_t n = m.nc;
  for (int i = 0; i < rank; ++i)
    for (int j = 0; j < i; ++j)
      y[room.chosen[i]] -= room.dense[room.chosen[i] * n + room.chosen[j]] * y[room.chosen[j]];
  for (int i = 0; i < rank; ++i)
    y[room.chosen[i]] *= room.d[room.chosen[i]];
  for (int i = rank - 1; i >= 0; --i)
    for (int j = 0; j < i; ++j)
      y[room.chosen[j]] -= room.dense[room.chosen[i] * n + room.chosen[j]] * y[room.chosen[i]];
  for (int i = rank; i < m.nc; ++i)
    y[room.chosen[i]] = 0.0;
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

// Each row's pivot as a part of its ease, every chord taken by itself; zero for rows that repeat other rows of their
// chord or what the trees demand anyway. Chords are not taken together: far from where they close, long rows of loops
// are ill-conditioned, and a row that is needed could pass for a repetition.
template <int W> inline void row_pivots(const ModelData &m, LoopRoom<W> &room, const double *q, double *pivots) {
  evaluate_chords(m, room.ws, q, nullptr, {.values = room.values, .ease = room.ease});
  factorize<double>(m, room.ws, q);
  for (int c = 0; c < m.chord_count; ++c) {
    const ChordData &chord = m.chords[c];
    respond(m, room, chord);
    double D[6][6];
    bool done[6] = {};
    for (int i = 0; i < chord.rows; ++i) {
      pivots[chord.row + i] = 0.0;
      for (int j = 0; j < chord.rows; ++j)
        D[i][j] = coupling(m, room.values, room.response, chord, i, chord, j);
    }
    const auto part = [&](int i) {
      const double own = room.ease[chord.row + i];
      return own > 0.0 ? D[i][i] / own : 1.0;
    };
    for (int step = 0; step < chord.rows; ++step) {
      int best = -1;
      for (int i = 0; i < chord.rows; ++i)
        if (!done[i] && (best < 0 || part(i) > part(best)))
          best = i;
      if (!(part(best) > dependent))
        break;
      pivots[chord.row + best] = part(best);
      done[best] = true;
      for (int i = 0; i < chord.rows; ++i)
        for (int j = 0; j < chord.rows && !done[i]; ++j)
          if (!done[j])
            D[i][j] -= D[i][best] * D[best][j] / D[best][best];
    }
  }
}

// how D was factored: in the envelope of an order, or with pivoting
struct Factored {
  const RowOrder *order; // null: pivoted
  int rank;
};

template <int W> inline Factored factor_all(const ModelData &m, LoopRoom<W> &room) {
  if (m.nc <= most_pivoted)
    return {nullptr, factor_pivoted(m, room)};
  couple(m, room, m.all_rows);
  factor_envelope(room, m.all_rows);
  return {&m.all_rows, m.nc};
}

template <int W> inline Factored factor_rows(const ModelData &m, LoopRoom<W> &room) {
  couple(m, room, m.lean_rows);
  if (!factor_envelope(room, m.lean_rows))
    return {&m.lean_rows, m.lean_rows.count};
  return factor_all(m, room);
}

// -(P a + gamma), by row, into rhs. Returns true if a row is missed by more than round-off and open loops explain: by
// this part of its terms.
template <int W> inline bool residual_rates(const ModelData &m, LoopRoom<W> &room, const double *a) {
  constexpr double missed = 1e-4;
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
      found |= std::fabs(sum) > missed * size;
    }
  }
  return found;
}

// rhs, by row, becomes D^-1 rhs; zero for rows that are not solved for
template <int W> inline void solve_rows(const ModelData &m, LoopRoom<W> &room, const Factored &factored) {
  if (!factored.order)
    return solve_pivoted(m, room, factored.rank, room.rhs);
  const RowOrder &order = *factored.order;
  for (int i = 0; i < order.count; ++i)
    room.y[i] = room.rhs[order.row[i]];
  solve_envelope(room, order);
  for (int i = 0; i < m.nc; ++i)
    room.rhs[i] = 0.0;
  for (int i = 0; i < order.count; ++i)
    room.rhs[order.row[i]] = room.y[i];
}

// a and, per row, lambda. given: null, or one mark per freedom whose acceleration stands in a on entry: such freedoms
// stay in the recursion, do not respond to the multipliers, and tau_out tells what drives them (Sol 1983, (6.3.7)).
// prescribed: null, or second rates that laws of time demand of the rows.
template <int W>
inline void constrained_dynamics(const ModelData &m, LoopRoom<W> &room, const double *q, const double *v, const double *tau,
                                 const double *loads, const double *prescribed, const unsigned char *given, double *a, double *lambda,
                                 double *tau_out) {
  evaluate_chords(m, room.ws, q, v, {.bias = room.gamma, .values = room.values, .ease = room.ease});
  for (int i = 0; prescribed && i < m.nc; ++i)
    room.gamma[i] -= prescribed[i]; // rheonomic rows: P a + gamma is what the law says, not zero
  forward_dynamics<double>(m, room.ws, q, v, tau, loads, given, a, nullptr);
  for (int k = 0; k < m.chord_count; ++k)
    respond(m, room, m.chords[k], given);
  Factored factored = factor_rows(m, room);
  for (int i = 0; i < m.nc; ++i)
    lambda[i] = 0.0;
  for (int pass = 0, last = 1; pass <= last; ++pass) { // (1), then the refinement
    if (residual_rates(m, room, a) && pass == 1 && factored.order == &m.lean_rows && m.lean_rows.count < m.nc) {
      factored = factor_all(m, room); // a row that was left out is needed here
      ++last;
    }
    solve_rows(m, room, factored);
    for (int k = 0; k < m.chord_count; ++k) {
      const ChordData &chord = m.chords[k];
      const int size = reach_size(m, chord);
      for (int j = 0; j < chord.rows; ++j) {
        const double l = room.rhs[chord.row + j];
        if (l == 0.0)
          continue;
        lambda[chord.row + j] += l;
        const double *Y = room.response + chord.reach + j * size;
        for_each_tree(m, chord, [&](const Reach &r) {
          for (int f = r.begin; f < r.end; ++f)
            a[f] += l * Y[r.offset + f - r.begin];
        });
      }
    }
  }
  if (!tau_out)
    return;
  inverse_dynamics<double>(m, room.ws, q, v, a, loads, tau_out);
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    for (int j = 0; j < chord.rows; ++j)
      for (int s = 0; s < chord.supports; ++s)
        tau_out[m.support[chord.support + s]] -= lambda[chord.row + j] * room.values[chord.values + j * chord.supports + s];
  }
  for (int f = 0; f < m.nv; ++f)
    if (!given || !given[f])
      tau_out[f] = tau[f];
}

} // namespace dalembert::DALEMBERT_ISA
