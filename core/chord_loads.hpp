// What chords do to bodies for known multipliers: loads for inverse_dynamics, beside those of the elements.
#pragma once

#include "applied.hpp"
#include "chords.hpp"

namespace dalembert::DALEMBERT_ISA {

// [moment; force] on B at its origin, axes of A. On the way, second rates of the rows (seconds may be null).
template <class T>
inline Load<T> chord_load(const ModelData &m, Workspace<T> &ws, const ChordData &chord, const ChordMotion<T> &motion, const double *lambda, T *seconds) {
  ChordRows<T> rows;
  chord_rows(m, ws, chord, motion.relative, rows);
  Load<T> load{zero3<T>(), zero3<T>()};
  for (int j = 0; j < rows.count; ++j) {
    const Motion<T> &g = rows.g[j];
    if (seconds)
      seconds[chord.row + j] = rows.bias[j] + dot(g.w, motion.alpha) + dot(g.v, motion.a);
    load.n += scale(lambda[chord.row + j], g.w);
    load.f += scale(lambda[chord.row + j], g.v);
  }
  return load;
}

template <class T> struct ChordAndElementLoads {
  ElementLoads<T> elements;
  const unsigned char *active;
  const double *lambda;
  T *seconds; // nc: second rates of the rows; null: not wanted

  void operator()(const ModelData &m, Workspace<T> &ws) const {
    elements(m, ws);
    if (!m.nc)
      return;
    if (!m.looks_at_bodies)
      place_in_world(m, ws, elements.v);
    for (int k = 0; k < m.chord_count; ++k) {
      const ChordData &chord = m.chords[k];
      if (chord.kind == Closure::coupling || (active && !active[k])) { // constant rows, or none
        for (int j = 0; seconds && j < chord.rows; ++j)
          seconds[chord.row + j] = T(0.0);
        continue;
      }
      const ChordMotion<T> motion = chord_motion(ws, chord);
      const Load<T> load = chord_load(m, ws, chord, motion, lambda, seconds);
      const Vec3<T> n = mul(motion.A.X.R, load.n), f = mul(motion.A.X.R, load.f);
      const auto push = [&](int body, double sign) {
        const Pose<T> &X = ws.X_W[body];
        const Vec3<T> f_F = scale(sign, mul_t(X.R, f)), arm = mul_t(X.R, motion.B.X.p - X.p);
        ws.p_A[body].f -= f_F;
        ws.p_A[body].n -= scale(sign, mul_t(X.R, n)) + cross(arm, f_F);
      };
      push(chord.body_b, 1.0);
      push(chord.body_a, -1.0);
    }
  }
};

} // namespace dalembert::DALEMBERT_ISA
