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
// Rows that always repeat others are left out beforehand (ModelData::lean_rows). A row whose Jacobian vanishes beside its
// lever arms demands nothing that the hinges of the tree do not demand already, and is left out too. Where the others come
// near to depending on each other, D, in which their angles stand squared, is not good enough. With L d L^T = M the factors
// of the trees, the rows of P L^-T d^-1/2 are then made orthogonal one after the other, the one with the largest part left
// first (Gram and Schmidt, twice, with pivoting), until what is left is round-off or less than the loops are open:
//
//     P L^-T d^-1/2 = R^T Q      z = -R^-T (P a + gamma)      a += L^-T d^-1/2 Q^T z      lambda += R^-1 z         (2)
//
// Accelerations do not depend on which of several dependent rows are taken. With more rows than that can afford, dependent
// ones are dropped in the order of elimination.
//
// One step of iterative refinement, P a + gamma evaluated anew, takes out what a poor choice of rows has cost.
#pragma once

#include "aba.hpp"
#include "chords.hpp"

namespace dalembert::DALEMBERT_ISA {

// a pivot below this part of its diagonal calls for orthogonalisation
constexpr double doubtful = 1e-7;
// and below this part it is round-off of D
constexpr double rounding = 1e-13;
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
  double *rhs;      // nc: P a_0 + gamma
  double *D;        // the envelope, then L
  double *d;        // nc: reciprocal pivots
  double *y;        // nc
  double *Q, *R;    // nc x nv and nc x nc, for orthogonalisation
  std::int32_t *chosen; // nc: rows in the order in which it took them
  double opening;
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
    const bool moves = room.leverage[order.row[i]] > independence(room.opening);
    doubts += moves && !(pivot > doubtful * diagonal);
    room.d[i] = moves && pivot > rounding * diagonal ? 1.0 / pivot : 0.0;
  }
  return doubts;
}

// (2): all rows made orthogonal; returns how many are independent
template <int W>
inline int orthogonalize(const ModelData &m, LoopRoom<W> &room, const unsigned char *given) {
  const std::ptrdiff_t n = m.nc, nv = m.nv;
  const auto norm = [nv](const double *x) {
    double sum = 0.0;
    for (std::ptrdiff_t f = 0; f < nv; ++f)
      sum += x[f] * x[f];
    return std::sqrt(sum);
  };
  // rows of P L^-T d^-1/2
  for (int c = 0; c < m.chord_count; ++c) {
    const ChordData &chord = m.chords[c];
    for (int first = 0; first < chord.rows; first += W) {
      const int count = chord.rows - first < W ? chord.rows - first : W;
      spread(m, room, chord, first, count);
      for (int l = 0; l < count; ++l)
        for (std::ptrdiff_t f = 0; f < nv; ++f)
          room.Q[(chord.row + first + l) * nv + f] = 0.0;
      for_each_tree(m, chord, [&](const Reach &r) {
        solve_inward(m, room.ws, room.side, room.x, r.root, m.bodies[r.root].last, given);
        for (int f = r.begin; f < r.end; ++f)
          for (int l = 0; l < count; ++l)
            room.Q[(chord.row + first + l) * nv + f] = room.side.y[f][l] * std::sqrt(room.ws.pivot[f].inverse);
      });
    }
  }
  const double least = independence(room.opening);
  double *size = room.d, *left = room.y; // of each row: at the start, and what is left
  for (int r = 0; r < n; ++r) {
    room.chosen[r] = r;
    size[r] = room.leverage[r] > least ? norm(room.Q + r * nv) : 0.0;
    left[r] = size[r];
  }
  int rank = 0;
  for (; rank < n; ++rank) {
    int best = rank;
    for (int i = rank + 1; i < n; ++i)
      if (left[room.chosen[i]] * size[room.chosen[best]] > left[room.chosen[best]] * size[room.chosen[i]] ||
          size[room.chosen[best]] == 0.0)
        best = i;
    const int p = room.chosen[best];
    room.chosen[best] = room.chosen[rank];
    room.chosen[rank] = p;
    double *w = room.Q + p * nv;
    // again, against what rounding has left
    for (int k = 0; k < rank; ++k) {
      const double *e = room.Q + room.chosen[k] * nv;
      double along = 0.0;
      for (std::ptrdiff_t f = 0; f < nv; ++f)
        along += e[f] * w[f];
      room.R[k * n + p] += along;
      for (std::ptrdiff_t f = 0; f < nv; ++f)
        w[f] -= along * e[f];
    }
    const double length = norm(w);
    if (!(length > least * size[p]) || size[p] == 0.0)
      break;
    room.R[rank * n + p] = length;
    for (std::ptrdiff_t f = 0; f < nv; ++f)
      w[f] /= length;
    for (int i = rank + 1; i < n; ++i) {
      double *other = room.Q + room.chosen[i] * nv;
      double along = 0.0;
      for (std::ptrdiff_t f = 0; f < nv; ++f)
        along += w[f] * other[f];
      room.R[rank * n + room.chosen[i]] = along;
      for (std::ptrdiff_t f = 0; f < nv; ++f)
        other[f] -= along * w[f];
      left[room.chosen[i]] = norm(other);
    }
  }
  return rank;
}

// (2): a and lambda from rhs = -(P a + gamma)
template <int W>
inline void correct_orthogonally(const ModelData &m, LoopRoom<W> &room, int rank, double *a, double *lambda) {
  const std::ptrdiff_t n = m.nc, nv = m.nv;
  double *z = room.d;
  for (int k = 0; k < rank; ++k) {
    const int row = room.chosen[k];
    double sum = room.rhs[row];
    for (int j = 0; j < k; ++j)
      sum -= room.R[j * n + row] * z[j];
    z[k] = sum / room.R[k * n + row];
  }
  // the step in the tree's factors, then outward, one lane of the room for packs
  for (std::ptrdiff_t f = 0; f < nv; ++f) {
    double sum = 0.0;
    for (int k = 0; k < rank; ++k)
      sum += z[k] * room.Q[room.chosen[k] * nv + f];
    const double inverse = room.ws.pivot[f].inverse;
    room.side.y[f] = Pack<W>(inverse > 0.0 ? sum / std::sqrt(inverse) : 0.0);
  }
  solve_outward(m, room.ws, room.side, room.x, 1, m.nb);
  for (std::ptrdiff_t f = 0; f < nv; ++f)
    a[f] += room.x[f][0];
  for (int k = rank - 1; k >= 0; --k) {
    for (int j = k + 1; j < rank; ++j)
      z[k] -= room.R[k * n + room.chosen[j]] * z[j];
    z[k] /= room.R[k * n + room.chosen[k]];
  }
  for (int k = 0; k < rank; ++k)
    lambda[room.chosen[k]] += z[k];
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

// Each row's pivot as a part of its diagonal, every chord taken by itself; zero for rows that repeat other rows of their
// chord or what the trees demand anyway. Chords are not taken together: far from where they close, long rows of loops
// are ill-conditioned, and a row that is needed could pass for a repetition.
template <int W> inline void row_pivots(const ModelData &m, LoopRoom<W> &room, const double *q, double *pivots) {
  evaluate_chords(m, room.ws, q, nullptr, {.values = room.values, .leverage = room.leverage});
  factorize<double>(m, room.ws, q);
  for (int c = 0; c < m.chord_count; ++c) {
    const ChordData &chord = m.chords[c];
    respond(m, room, chord);
    double D[6][6], own[6];
    bool done[6] = {};
    for (int i = 0; i < chord.rows; ++i) {
      pivots[chord.row + i] = 0.0;
      for (int j = 0; j < chord.rows; ++j)
        D[i][j] = coupling(m, room.values, room.response, chord, i, chord, j);
      own[i] = D[i][i];
    }
    const auto part = [&](int i) {
      return room.leverage[chord.row + i] > independence(0.0) && own[i] > 0.0 ? D[i][i] / own[i] : 0.0;
    };
    for (int step = 0; step < chord.rows; ++step) {
      int best = -1;
      for (int i = 0; i < chord.rows; ++i)
        if (!done[i] && (best < 0 || part(i) > part(best)))
          best = i;
      if (!(part(best) > rounding))
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

// how the rows were taken: in the envelope of an order, or by (2)
struct Factored {
  const RowOrder *order; // null: orthogonalised
  int rank;
};

template <int W> inline Factored factor_all(const ModelData &m, LoopRoom<W> &room, const unsigned char *given) {
  if (m.nc <= most_orthogonal)
    return {nullptr, orthogonalize(m, room, given)};
  couple(m, room, m.all_rows);
  factor_envelope(room, m.all_rows);
  return {&m.all_rows, m.nc};
}

template <int W> inline Factored factor_rows(const ModelData &m, LoopRoom<W> &room, const unsigned char *given) {
  couple(m, room, m.lean_rows);
  if (!factor_envelope(room, m.lean_rows))
    return {&m.lean_rows, m.lean_rows.count};
  return factor_all(m, room, given);
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
      found |= room.leverage[chord.row + j] > independence(room.opening) && std::fabs(sum) > missed * size;
    }
  }
  return found;
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

// a and, per row, lambda. given: null, or one mark per freedom whose acceleration stands in a on entry: such freedoms
// stay in the recursion, do not respond to the multipliers, and tau_out tells what drives them (Sol 1983, (6.3.7)).
// prescribed: null, or second rates that laws of time demand of the rows.
template <int W>
inline void constrained_dynamics(const ModelData &m, LoopRoom<W> &room, const double *q, const double *v, const double *tau,
                                 const double *loads, const double *prescribed, const unsigned char *given, double *a, double *lambda,
                                 double *tau_out) {
  evaluate_chords(m, room.ws, q, v,
                  {.bias = room.gamma, .values = room.values, .leverage = room.leverage, .opening = &room.opening});
  for (int i = 0; prescribed && i < m.nc; ++i)
    room.gamma[i] -= prescribed[i]; // rheonomic rows: P a + gamma is what the law says, not zero
  forward_dynamics<double>(m, room.ws, q, v, tau, loads, given, a, nullptr);
  for (int k = 0; k < m.chord_count; ++k)
    respond(m, room, m.chords[k], given);
  Factored factored = factor_rows(m, room, given);
  for (int i = 0; i < m.nc; ++i)
    lambda[i] = 0.0;
  for (int pass = 0, last = 1; pass <= last; ++pass) { // (1) or (2), then the refinement
    if (residual_rates(m, room, a) && pass == 1 && factored.order == &m.lean_rows) {
      factored = factor_all(m, room, given); // a row that was left out or dropped is needed here
      ++last;
    }
    if (factored.order)
      correct(m, room, *factored.order, a, lambda);
    else
      correct_orthogonally(m, room, factored.rank, a, lambda);
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
