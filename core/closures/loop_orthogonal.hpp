// Loops by (2) of loops.hpp: rows made orthogonal in the metric of the mass matrix, which stands there unsquared.
#pragma once

#include "closures/loop_room.hpp"

namespace dalembert::DALEMBERT_ISA {

// (2): all rows made orthogonal; returns how many are independent
inline int orthogonalize(const ModelData &m, LoopRoom<double> &room, const unsigned char *given) {
  const std::ptrdiff_t n = m.nc, nv = m.nv;
  const auto norm = [nv](const double *x) {
    double sum = 0.0;
    for (std::ptrdiff_t f = 0; f < nv; ++f)
      sum += x[f] * x[f];
    return std::sqrt(sum);
  };
  // rows of P L^-T d^-1/2
  for (std::ptrdiff_t k = 0; k < n * nv; ++k)
    room.Q[k] = 0.0;
  for (int c = 0; c < m.chord_count; ++c) {
    const ChordData &chord = m.chords[c];
    carry_rows(
        m, room, chord, [](int) { return true; },
        [&](const Reach &r) { solve_inward(m, room.ws, room.side, room.x, r.root, m.bodies[r.root].last, given); },
        [&](const Reach &r, int l, int row) {
          for (int f = r.begin; f < r.end; ++f)
            room.Q[(chord.row + row) * nv + f] = room.side.y[f][l] * std::sqrt(room.ws.pivot[f].inverse);
        });
  }
  const double least = independence(room.opening);
  // of each row: what its lever arms could make of it, and what is left. Not what it is at the start: a row that just
  // passes through zero is turned by the least opening, and must not go first.
  double *size = room.d, *left = room.y;
  for (int r = 0; r < n; ++r) {
    room.chosen[r] = r;
    left[r] = room.leverage[r] > least ? norm(room.Q + r * nv) : 0.0;
    size[r] = left[r] > 0.0 ? left[r] / room.leverage[r] : 0.0;
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
      if (size[room.chosen[i]] == 0.0)
        continue;
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
inline void correct_orthogonally(const ModelData &m, LoopRoom<double> &room, int rank, double *a, double *lambda) {
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
    room.side.y[f] = Pack(inverse > 0.0 ? sum / std::sqrt(inverse) : 0.0);
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

} // namespace dalembert::DALEMBERT_ISA
