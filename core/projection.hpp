// Back onto the loops: positions and speeds changed as little as the mass metric allows.
//
//     q (+)= -M^-1 P^T (P M^-1 P^T)^-1 (phi - target)          v -= M^-1 P^T (P M^-1 P^T)^-1 (P v - rate)          (1)
//
// with the factors, and the treatment of dependent rows, of loops.hpp (Hairer, Lubich, Wanner, section IV.4; Eich 1993).
// Freedoms whose position or speed is prescribed stay as they are.
#pragma once

#include "manifold.hpp"
#include "feedback.hpp"
#include <cstring>

namespace dalembert::DALEMBERT_ISA {

inline void copy(const double *from, int count, double *to) { std::memcpy(to, from, std::size_t(count) * sizeof(double)); }

// factors at q, with the marked freedoms standing still; the Jacobian there has been evaluated
template <int W> inline Factored factor_loops(const ModelData &m, LoopRoom<W> &room, const double *q, const unsigned char *marks) {
  factorize<double>(m, room.ws, q, marks);
  for (int k = 0; k < m.chord_count; ++k)
    respond(m, room, m.chords[k], marks);
  return factor_rows(m, room, marks);
}

template <int W>
inline void correct_by(const ModelData &m, LoopRoom<W> &room, const Factored &factored, double *change, double *lambda) {
  if (factored.order)
    correct(m, room, *factored.order, change, lambda);
  else
    correct_orthogonally(m, room, factored.rank, change, lambda);
}

// largest of n numbers in size; NaN if one is
inline double largest(const double *x, int n) {
  double most = 0.0;
  for (int k = 0; k < n; ++k)
    if (!(std::fabs(x[k]) <= most))
      most = std::fabs(x[k]);
  return most;
}

// (1) for positions; change: room for nv numbers. Returns false if that does not settle.
template <int W>
inline bool project_positions(const ModelData &m, Run &run, RatesRoom<W> &room, double *q, double *change) {
  LoopRoom<W> &loops = room.loops;
  constexpr int most_rounds = 12;
  constexpr double settled = 1e-9; // the next change would be of the order of its square
  double before = 1e300;
  for (int round = 0; round < most_rounds; ++round) {
    evaluate_chords(m, loops.ws, q, nullptr,
                    {.residual = loops.rhs, .values = loops.values, .leverage = loops.leverage, .opening = &loops.opening,
                     .active = run.active});
    double open = 0.0;
    for (int i = 0; i < m.nc; ++i) {
      const bool bound = m.holonomic[i] && !(run.active && loops.leverage[i] == 0.0);
      loops.rhs[i] = bound ? room.targets[i] - loops.rhs[i] : 0.0;
      open = std::fabs(loops.rhs[i]) > open ? std::fabs(loops.rhs[i]) : open;
    }
    if (open < 1e-15)
      return true;
    ++run.counts.projections;
    const Factored factored = factor_loops(m, loops, q, run.marks.placed);
    for (int f = 0; f < m.nv; ++f)
      change[f] = 0.0;
    correct_by(m, loops, factored, change, room.lambda);
    const double size = largest(change, m.nv);
    if (!(size < 1e3) || (round > 2 && size > 0.5 * before && size > settled))
      return false;
    integrate<double>(m, q, change, q);
    before = size;
    if (size < settled)
      return true;
  }
  return false;
}

// (1) for speeds, at a configuration that obeys the loops; `held`: freedoms that stay as they are
template <int W>
inline void project_speeds(const ModelData &m, Run &run, RatesRoom<W> &room, const double *q, double *v, double *change,
                           const unsigned char *held) {
  LoopRoom<W> &loops = room.loops;
  evaluate_chords(m, loops.ws, q, nullptr,
                  {.values = loops.values, .leverage = loops.leverage, .drift = loops.drift, .opening = &loops.opening, .active = run.active});
  const Factored factored = factor_loops(m, loops, q, held);
  for (int round = 0; round < 2; ++round) {
    for (int k = 0; k < m.chord_count; ++k) {
      const ChordData &chord = m.chords[k];
      for (int j = 0; j < chord.rows; ++j) {
        double rate = room.targets[m.nc + chord.row + j] - loops.drift[chord.row + j];
        for (int s = 0; s < chord.supports; ++s)
          rate -= loops.values[chord.values + j * chord.supports + s] * v[m.support[chord.support + s]];
        loops.rhs[chord.row + j] = rate;
      }
    }
    for (int f = 0; f < m.nv; ++f)
      change[f] = 0.0;
    correct_by(m, loops, factored, change, room.lambda);
    for (int f = 0; f < m.nv; ++f)
      v[f] += change[f];
  }
}

} // namespace dalembert::DALEMBERT_ISA
