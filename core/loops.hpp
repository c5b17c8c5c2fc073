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

#include "loop_envelope.hpp"
#include "loop_orthogonal.hpp"

namespace dalembert::DALEMBERT_ISA {

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

// a and, per row, lambda. given: null, or one mark per freedom whose acceleration stands in a on entry: such freedoms
// stay in the recursion, do not respond to the multipliers, and tau_out tells what drives them (Sol 1983, (6.3.7)).
// prescribed: null, or second rates that laws of time demand of the rows. active: null, or which chords hold.
template <int W, class Loads>
inline void constrained_dynamics(const ModelData &m, LoopRoom<W> &room, const double *q, const double *v, const double *tau,
                                 const Loads &loads, const double *prescribed, const unsigned char *given, double *a, double *lambda,
                                 double *tau_out, const unsigned char *active = nullptr) {
  evaluate_chords(m, room.ws, q, v,
                  {.bias = room.gamma, .values = room.values, .leverage = room.leverage, .opening = &room.opening, .active = active});
  for (int i = 0; prescribed && i < m.nc; ++i)
    room.gamma[i] -= prescribed[i]; // rheonomic rows: P a + gamma is what the law says, not zero
  forward_dynamics<double, true>(m, room.ws, q, v, tau, loads, given, a, nullptr); // the chords have placed everything
  for (int k = 0; k < m.chord_count; ++k)
    respond(m, room, m.chords[k], given);
  Factored factored = factor_rows(m, room, given);
  for (int i = 0; i < m.nc; ++i)
    lambda[i] = 0.0;
  double largest = 0.0;
  for (int pass = 0, last = 1; pass <= last; ++pass) { // (1) or (2), then the refinement
    if (residual_rates(m, room, a, largest) && pass == 1 && factored.order == &m.lean_rows) {
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
