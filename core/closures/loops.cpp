#include "closures/loops.hpp"
#include "closures/loop_envelope.hpp"
#include "closures/loop_orthogonal.hpp"
#include <initializer_list>
#include <type_traits>

namespace dalembert::DALEMBERT_ISA {

template <class T> std::size_t lay_out(const ModelData &m, std::byte *base, LoopRoom<T> &room) {
  Arena arena{base};
  arena.skip(lay_out(m, base, room.ws));
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
  const bool orthogonal = std::is_same_v<T, double> && m.nc <= most_orthogonal;
  room.Q = arena.take<double>(orthogonal ? nc * nv : 0);
  room.R = arena.take<double>(orthogonal ? nc * nc : 0);
  room.chosen = arena.take<std::int32_t>(nc + 2); // and how the rows were taken last
  room.opening = T(0.0);
  room.slack = T(1.0);
  return arena.used;
}

// all rows, where the lean ones do not do
static Factored factor_all(const ModelData &m, LoopRoom<double> &room, const unsigned char *given) {
  if (m.nc <= most_orthogonal)
    return {nullptr, orthogonalize(m, room, given)};
  for (int k = 0; k < m.chord_count; ++k)
    respond(m, room, m.chords[k], given, false);
  couple(m, room, m.all_rows);
  factor_envelope(room, m.all_rows);
  return {&m.all_rows, m.nc};
}

// lean rows; returns the lanes in which they do not do
template <class T> static unsigned factor_lean(const ModelData &m, LoopRoom<T> &room, const unsigned char *given) {
  for (int k = 0; k < m.chord_count; ++k)
    respond(m, room, m.chords[k], given, true);
  couple(m, room, m.lean_rows);
  return factor_envelope(room, m.lean_rows);
}

Factored factor_rows(const ModelData &m, LoopRoom<double> &room, const unsigned char *marks) {
  if (!factor_lean(m, room, marks))
    return {&m.lean_rows, m.lean_rows.count};
  return factor_all(m, room, marks);
}

Factored factor_loops(const ModelData &m, LoopRoom<double> &room, const double *q, const unsigned char *marks) {
  factorize<double>(m, room.ws, q, marks);
  return factor_rows(m, room, marks);
}

void correct_by(const ModelData &m, LoopRoom<double> &room, const Factored &factored, double *a, double *lambda) {
  if (factored.order)
    correct(m, room, *factored.order, a, lambda);
  else
    correct_orthogonally(m, room, factored.rank, a, lambda);
}

unsigned factor_loops(const ModelData &m, LoopRoom<Pack> &room, const Pack *q, const unsigned char *marks) {
  factorize<Pack>(m, room.ws, q, marks);
  return factor_lean(m, room, marks);
}

void correct_by(const ModelData &m, LoopRoom<Pack> &room, Pack *a, Pack *lambda) { correct(m, room, m.lean_rows, a, lambda); }

static void remember(const ModelData &m, LoopRoom<double> &room, const Factored &factored) {
  room.chosen[m.nc] = !factored.order ? 0 : factored.order == &m.lean_rows ? 1 : 2;
  room.chosen[m.nc + 1] = factored.rank;
}

Factored factored_last(const ModelData &m, const LoopRoom<double> &room) {
  const int how = room.chosen[m.nc];
  return {how == 0 ? nullptr : how == 1 ? &m.lean_rows : &m.all_rows, room.chosen[m.nc + 1]};
}

template <> unsigned close_loops(const ModelData &m, LoopRoom<double> &room, const unsigned char *given, double *a, double *lambda) {
  Factored factored = factor_rows(m, room, given);
  for (int i = 0; i < m.nc; ++i)
    lambda[i] = 0.0;
  double largest = 0.0;
  for (int pass = 0, last = 1; pass <= last; ++pass) { // (1) or (2), then the refinement
    if (residual_rates(m, room, a, largest) && pass == 1 && factored.order == &m.lean_rows) {
      factored = factor_all(m, room, given); // a row that was left out or dropped is needed here
      ++last;
    }
    correct_by(m, room, factored, a, lambda);
  }
  remember(m, room, factored);
  return 0;
}

template <> unsigned close_loops(const ModelData &m, LoopRoom<Pack> &room, const unsigned char *given, Pack *a, Pack *lambda) {
  unsigned alone = factor_lean(m, room, given);
  for (int i = 0; i < m.nc; ++i)
    lambda[i] = Pack(0.0);
  Pack largest(0.0);
  residual_rates(m, room, a, largest);
  correct(m, room, m.lean_rows, a, lambda);
  alone |= residual_rates(m, room, a, largest);
  correct(m, room, m.lean_rows, a, lambda);
  return alone;
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

template std::size_t lay_out(const ModelData &, std::byte *, LoopRoom<double> &);
template std::size_t lay_out(const ModelData &, std::byte *, LoopRoom<Pack> &);
template std::size_t lay_out(const ModelData &, std::byte *, LoopRoom<Dual> &);

} // namespace dalembert::DALEMBERT_ISA
