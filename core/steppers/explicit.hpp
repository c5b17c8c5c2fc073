// Explicit Runge-Kutta steps in the chart around the beginning of the step.
//
//     z_i = h sum_j a_ij K_j          K_i = [xi'; a; x'] at the state z_i away                                  (1)
//
// Where a step ends off the loops it is put back onto them after its error has been judged, so that the estimate is
// that of the method; rates are then evaluated anew.
#pragma once

#include "control.hpp"
#include "room.hpp"
#include "tableaus.hpp"

namespace dalembert::DALEMBERT_ISA {

// out = h sum of weight times K
inline void combine(const double *weights, int stages, double h, const double *K, int n, double *out) {
  for (int k = 0; k < n; ++k)
    out[k] = 0.0;
  for (int j = 0; j < stages; ++j) {
    const double w = h * weights[j];
    if (w == 0.0)
      continue;
    const double *rate = K + std::ptrdiff_t(j) * n;
    for (int k = 0; k < n; ++k)
      out[k] += w * rate[k];
  }
}

// stage i of a step of length h
template <int W> inline Outcome stage(const ModelData &m, Run &run, SteppingRoom<W> &room, const Tableau &tableau, int i, double h) {
  const int n = increments(m);
  const double t = run.t + tableau.c[i] * h;
  combine(tableau.a + std::ptrdiff_t(i) * tableau.width, i, h, room.K, n, room.z);
  if (!displaced(m, run, room, t, room.z, room.qs, room.vs, room.xs))
    return Outcome::host;
  return rates_in_chart(m, run, room, t, room.z, room.qs, room.vs, room.xs, room.K + std::ptrdiff_t(i) * n);
}

// the first stage: rates at the beginning, which are known
template <int W> inline void first_stage(const ModelData &m, SteppingRoom<W> &room) {
  copy(room.v, m.nv, room.K);
  copy(room.a, m.nv, room.K + m.nv);
  copy(room.dx, m.nx, room.K + 2 * m.nv);
}

// the error of a step in units of the tolerance
template <int W> inline double judge(const ModelData &m, Run &run, SteppingRoom<W> &room, const Tableau &tableau, double h) {
  const int n = increments(m);
  int worst = 0;
  combine(tableau.e, tableau.estimated, h, room.K, n, room.error);
  const double fine = measure(m, run, room, room.error, room.q1, room.v1, room.x1, &worst);
  run.worst_freedom = worst;
  if (!tableau.e3)
    return fine;
  combine(tableau.e3, tableau.estimated, h, room.K, n, room.error3);
  const double coarse = measure(m, run, room, room.error3, room.q1, room.v1, room.x1);
  return both_estimates(fine, coarse);
}

// Whether stability holds the step back: the slope between two states at the end of the step shows the largest
// eigenvalue (Hairer, Wanner 1996, section IV.2). Fifteen signs tell.
template <int W> inline bool looks_stiff(const ModelData &m, Run &run, SteppingRoom<W> &room, const Tableau &tableau, double h) {
  const int n = increments(m), last = tableau.stages - 1;
  const double *end = room.K + std::ptrdiff_t(tableau.stages) * n, *before = room.K + std::ptrdiff_t(last) * n;
  combine(tableau.a + std::ptrdiff_t(last) * tableau.width, last, h, room.K, n, room.error3);
  combine(tableau.b, tableau.stages, h, room.K, n, room.error);
  double slope = 0.0, apart = 0.0;
  for (int k = 0; k < n; ++k) {
    slope += (end[k] - before[k]) * (end[k] - before[k]);
    apart += (room.error[k] - room.error3[k]) * (room.error[k] - room.error3[k]);
  }
  if (apart > 0.0 && h * std::sqrt(slope / apart) > tableau.stability) {
    run.calm_signs = 0;
    return ++run.stiff_signs >= 15;
  }
  if (++run.calm_signs >= 6)
    run.stiff_signs = 0;
  return false;
}

// Tries a step of length h. On return q1, v1, x1, a1 hold its end, on the loops, and `error` its error in units of the
// tolerance (0 where the method has no estimate); above 1 the end is not completed.
template <int W>
inline Outcome explicit_step(const ModelData &m, Run &run, SteppingRoom<W> &room, const Tableau &tableau, double h, double &error) {
  const int n = increments(m), s = tableau.stages;
  Outcome outcome = Outcome::reached;
  first_stage(m, room);
  for (int i = 1; i < s && outcome == Outcome::reached; ++i)
    outcome = stage(m, run, room, tableau, i, h);
  if (outcome != Outcome::reached)
    return outcome;
  const double t1 = run.t + h;
  double *end = room.K + std::ptrdiff_t(s) * n;
  combine(tableau.b, s, h, room.K, n, room.z);
  if (!all_finite(room.z, n))
    return Outcome::not_finite;
  if (!displaced(m, run, room, t1, room.z, room.q1, room.v1, room.x1))
    return Outcome::host;
  const bool moved = m.nc && run.project;
  const double turn = turn_error(turn_square<double>(m, room.z), tableau.order);
  if (tableau.estimated > s) {
    outcome = rates_in_chart(m, run, room, t1, room.z, room.q1, room.v1, room.x1, end);
    if (outcome != Outcome::reached)
      return outcome;
  }
  error = tableau.e ? std::max(judge(m, run, room, tableau, h), turn) : 0.0;
  if (!(error <= 1.0))
    return std::isfinite(error) ? Outcome::reached : Outcome::not_finite;
  if (moved && !(room.near && tableau.estimated > s)) {
    outcome = onto_loops(m, run, room, t1, room.q1, room.v1);
    if (outcome != Outcome::reached)
      return outcome;
    difference<double>(m, room.q, room.q1, room.z);
  }
  if (moved || tableau.estimated == s) {
    chart_rate<double>(m, room.z, room.v1, end);
    if (!rates(m, run, room.rates, t1, room.q1, room.v1, room.x1, end + m.nv, end + 2 * m.nv))
      return Outcome::host;
  }
  copy(end + m.nv, m.nv, room.a1);
  copy(end + 2 * m.nv, m.nx, room.dx1);
  return all_finite(room.a1, m.nv) && all_finite(room.dx1, m.nx) ? Outcome::reached : Outcome::not_finite;
}

// Prepares dop853's continuous extension of order 7 for the step that has just been made.
template <int W> inline Outcome prepare_dop853(const ModelData &m, Run &run, SteppingRoom<W> &room, double h) {
  const int n = increments(m), nv = m.nv;
  for (int i = 13; i < 16; ++i) {
    const Outcome outcome = stage(m, run, room, dop853_tableau, i, h);
    if (outcome != Outcome::reached)
      return outcome;
  }
  double *F0 = room.D, *F1 = F0 + n, *F2 = F1 + n;
  difference<double>(m, room.q, room.q1, F0);
  for (int f = 0; f < nv; ++f)
    F0[nv + f] = room.v1[f] - room.v[f];
  for (int k = 0; k < m.nx; ++k)
    F0[2 * nv + k] = room.x1[k] - room.x[k];
  const double *begin = room.K, *end = room.K + std::ptrdiff_t(12) * n;
  for (int k = 0; k < n; ++k) {
    F1[k] = h * begin[k] - F0[k];
    F2[k] = 2.0 * F0[k] - h * (begin[k] + end[k]);
  }
  for (int r = 0; r < 4; ++r)
    combine(dop853::dense[r], 16, h, room.K, n, room.D + (3 + r) * n);
  return Outcome::reached;
}

// at the fraction s of the step: increments
inline void dop853_at(int n, const double *D, double s, double *z) {
  for (int k = 0; k < n; ++k) {
    double sum = 0.0;
    for (int r = 6; r >= 0; --r)
      sum = (sum + D[std::ptrdiff_t(r) * n + k]) * (r % 2 ? 1.0 - s : s);
    z[k] = sum;
  }
}

} // namespace dalembert::DALEMBERT_ISA
