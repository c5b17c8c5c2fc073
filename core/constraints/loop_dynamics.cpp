#include "constraints/loop_dynamics.hpp"
#include "constraints/loop_envelope.hpp"
#include "constraints/loop_orthogonal.hpp"
#include <algorithm>
#include <initializer_list>
#include <limits>
#include <type_traits>

namespace dalembert::DALEMBERT_ISA {

template <class T> std::size_t lay_out(const ModelData &m, std::byte *base, LoopRoom<T> &room) {
  Arena arena{base};
  arena.skip(lay_out(m, base, room.ws));
  room.ws.lent = m.lent;
  if constexpr (std::is_same_v<T, Dual>) // rows are varied, not solved for
    return arena.used;
  const std::size_t nv = std::size_t(m.nv), nc = std::size_t(m.nc);
  room.side = take_side<Pack>(m, arena);
  room.x = arena.take<Pack>(nv);
  room.values = arena.take<T>(std::size_t(m.values));
  room.response = arena.take<T>(std::size_t(m.responses));
  for (T **each : {&room.gamma, &room.leverage, &room.drift, &room.rhs, &room.d, &room.y})
    *each = arena.take<T>(nc);
  room.D = arena.take<T>(m.nc ? std::size_t(m.all_rows.start[m.nc]) : 0);
  const bool orthogonal = m.nc <= (std::is_same_v<T, double> ? most_orthogonal : most_in_lanes);
  OrthogonalRoom<T> &o = room.orthogonal;
  o.Q = arena.take<T>(orthogonal ? nc * nv : 0);
  o.R = arena.take<T>(orthogonal ? nc * nc : 0);
  for (T **each : {&o.place, &o.size, &o.left, &o.taken, &o.z})
    *each = arena.take<T>(orthogonal ? nc : 0);
  room.change = arena.take<T>(m.lent ? nv : 0);
  room.kept = arena.take<T>(std::is_same_v<T, Pack> ? nv + nc : 0);
  room.last = arena.take<Factored>(1);
  room.opening = T(0.0);
  room.slack = T(1.0);
  return arena.used;
}

// lean rows; returns the lanes in which they do not do
template <class T> static unsigned factor_lean(const ModelData &m, LoopRoom<T> &room, const unsigned char *given) {
  for (int k = 0; k < m.chord_count; ++k)
    respond(m, room, m.chords[k], given, true);
  couple(m, room, m.lean_rows);
  return factor_envelope(room, m.lean_rows);
}

// all rows, where the lean ones do not do
static Factored factor_all(const ModelData &m, LoopRoom<double> &room, const unsigned char *given) {
  if (m.nc <= most_orthogonal)
    return {Envelope::none, orthogonalize(m, room, given), 1, 0};
  for (int k = 0; k < m.chord_count; ++k)
    respond(m, room, m.chords[k], given, false);
  couple(m, room, m.all_rows);
  factor_envelope(room, m.all_rows);
  return {Envelope::all, 0, 0, 0};
}
static Factored factor_all(const ModelData &m, LoopRoom<Pack> &room, const unsigned char *given, unsigned lanes) {
  if (m.nc > most_in_lanes)
    return {Envelope::lean, 0, 0, lanes};
  return {lanes == every_lane ? Envelope::none : Envelope::lean, orthogonalize(m, room, given), lanes, 0};
}

template <class T> Factored factor_rows(const ModelData &m, LoopRoom<T> &room, const unsigned char *marks) {
  const unsigned doubts = factor_lean(m, room, marks);
  if (!doubts)
    return {Envelope::lean, 0, 0, 0};
  if constexpr (std::is_same_v<T, double>)
    return factor_all(m, room, marks);
  else
    return factor_all(m, room, marks, doubts);
}

template <class T> Factored factor_loops(const ModelData &m, LoopRoom<T> &room, const T *q, const unsigned char *marks) {
  factorize<T>(m, room.ws, q, marks);
  return factor_rows(m, room, marks);
}

template <> void correct_by(const ModelData &m, LoopRoom<double> &room, const Factored &factored, double *a, double *lambda) {
  if (factored.envelope != Envelope::none)
    correct(m, room, order_of(m, factored), a, lambda);
  else
    correct_orthogonally(m, room, factored.rank, a, lambda);
}

template <> void correct_by(const ModelData &m, LoopRoom<Pack> &room, const Factored &factored, Pack *a, Pack *lambda) {
  if (!factored.orthogonal)
    return correct(m, room, order_of(m, factored), a, lambda);
  if (factored.envelope == Envelope::none)
    return correct_orthogonally(m, room, factored.rank, a, lambda);
  Pack *kept_a = room.kept, *kept_lambda = kept_a + m.nv;
  std::copy_n(a, m.nv, kept_a);
  std::copy_n(lambda, m.nc, kept_lambda);
  correct(m, room, order_of(m, factored), kept_a, kept_lambda);
  correct_orthogonally(m, room, factored.rank, a, lambda);
  Pack mine;
  for (int lane = 0; lane < W; ++lane)
    mine.set(lane, factored.orthogonal >> lane & 1u ? 1.0 : 0.0);
  const auto orthogonal = less(Pack(0.5), mine);
  for (int f = 0; f < m.nv; ++f)
    a[f] = select(orthogonal, a[f], kept_a[f]);
  for (int i = 0; i < m.nc; ++i)
    lambda[i] = select(orthogonal, lambda[i], kept_lambda[i]);
}

Factored factored_last(const LoopRoom<double> &room) { return *room.last; }

// x = E d, then the accelerations and multipliers that it calls forth while the rows hold; returns the largest of them
template <class T>
static T answer_loan(const ModelData &m, LoopRoom<T> &room, const Factored &factored, const unsigned char *given, T *d, T *lambda) {
  for (int f = 0; f < m.nv; ++f)
    room.x[f] = given && given[f] ? Pack(0.0) : Pack(m.lent[f] * d[f]);
  solve(m, room.ws, room.side, room.x, room.x, 1, m.nb, given);
  for (int f = 0; f < m.nv; ++f)
    d[f] = carried<T>(room.x[f], 0);
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    for (int j = 0; j < chord.rows; ++j) {
      T sum(0.0);
      for (int s = 0; s < chord.supports; ++s)
        sum = sum - room.values[chord.values + j * chord.supports + s] * d[m.support[chord.support + s]];
      room.rhs[chord.row + j] = sum;
    }
  }
  correct_by(m, room, factored, d, lambda);
  T most(0.0);
  for (int f = 0; f < m.nv; ++f)
    most = larger(most, absolute(d[f]));
  return most;
}

template <class T>
void take_back(const ModelData &m, LoopRoom<T> &room, const Factored &factored, const unsigned char *given, T *a, T *lambda) {
  constexpr int most_rounds = 12;
  constexpr double settled = 1e-15, lost = 1e-9; // of the accelerations
  if (!m.lent)
    return;
  const T half(0.5);
  T size(0.0), left(0.0), open(1.0); // lanes that are not settled yet: those alone change
  for (int f = 0; f < m.nv; ++f) {
    room.change[f] = a[f];
    size = larger(size, absolute(a[f]));
  }
  for (int round = 0; round < most_rounds; ++round) {
    left = select(less(half, open), answer_loan(m, room, factored, given, room.change, lambda), left);
    for (int f = 0; f < m.nv; ++f)
      a[f] = select(less(half, open), a[f] + room.change[f], a[f]);
    open = select(less(settled * size, left), open, T(0.0));
    if (!bits(less(half, open)))
      return;
  }
  const auto without = less(lost * size, left); // nothing but the loan resists there
  for (int f = 0; f < m.nv; ++f)
    a[f] = select(without, T(std::numeric_limits<double>::quiet_NaN()), a[f]);
}

// a row that no acceleration can obey (gamma is not a number), though others may have taken its place, obeys none
template <class T> static void refuse_rows(const ModelData &m, const LoopRoom<T> &room, T *a) {
  T nothing(0.0);
  for (int i = 0; i < m.nc; ++i)
    nothing = nothing + 0.0 * room.gamma[i];
  for (int f = 0; f < m.nv; ++f)
    a[f] = a[f] + nothing;
}

template <> unsigned close_loops(const ModelData &m, LoopRoom<double> &room, const unsigned char *given, double *a, double *lambda) {
  Factored factored = factor_rows(m, room, given);
  for (int i = 0; i < m.nc; ++i)
    lambda[i] = 0.0;
  double largest = 0.0;
  for (int pass = 0, last = 1; pass <= last; ++pass) { // (1) or (2), then the refinement
    if (residual_rates(m, room, a, largest) && pass == 1 && factored.envelope == Envelope::lean) {
      factored = factor_all(m, room, given); // a row that was left out or dropped is needed here
      ++last;
    }
    correct_by(m, room, factored, a, lambda);
  }
  take_back(m, room, factored, given, a, lambda);
  refuse_rows(m, room, a);
  *room.last = factored;
  return 0;
}

template <> unsigned close_loops(const ModelData &m, LoopRoom<Pack> &room, const unsigned char *given, Pack *a, Pack *lambda) {
  const Factored factored = factor_rows(m, room, given);
  for (int i = 0; i < m.nc; ++i)
    lambda[i] = Pack(0.0);
  Pack largest(0.0);
  residual_rates(m, room, a, largest);
  correct_by(m, room, factored, a, lambda);
  const unsigned missed = residual_rates(m, room, a, largest) & ~factored.orthogonal;
  correct_by(m, room, factored, a, lambda);
  take_back(m, room, factored, given, a, lambda);
  refuse_rows(m, room, a);
  *room.last = factored;
  return factored.alone | missed;
}

void row_pivots(const ModelData &m, LoopRoom<double> &room, const double *q, double *pivots) {
  evaluate_chords<double>(m, room.ws, q, nullptr, {.values = room.values, .leverage = room.leverage});
  factorize<double>(m, room.ws, q);
  for (int c = 0; c < m.chord_count; ++c) {
    const ChordData &chord = m.chords[c];
    respond(m, room, chord, nullptr, false);
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

template void take_back(const ModelData &, LoopRoom<double> &, const Factored &, const unsigned char *, double *, double *);
template Factored factor_rows(const ModelData &, LoopRoom<double> &, const unsigned char *);
template Factored factor_loops(const ModelData &, LoopRoom<double> &, const double *, const unsigned char *);
template Factored factor_loops(const ModelData &, LoopRoom<Pack> &, const Pack *, const unsigned char *);
template std::size_t lay_out(const ModelData &, std::byte *, LoopRoom<double> &);
template std::size_t lay_out(const ModelData &, std::byte *, LoopRoom<Pack> &);
template std::size_t lay_out(const ModelData &, std::byte *, LoopRoom<Dual> &);

} // namespace dalembert::DALEMBERT_ISA
