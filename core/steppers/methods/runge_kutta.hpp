// Explicit Runge-Kutta methods for any scalar: a single run in numbers, or a SIMD batch with a step of its own in each
// lane.
//
// Increments z = [xi; dv; dx] are those of the chart around the beginning of the step, K_j = [xi'; a; x'] the rates of
// stage j:
//
//     z_i = h sum_j a_ij K_j          z = h sum_j b_j K_j          error = h sum_j e_j K_j                        (1)
//     |z| = sqrt(sum_k (z_k / s_k)^2 / n)          s_k = atol_k + rtol max(|y_k| at both ends of the step)        (2)
//
// y_k are the coordinate of a degree of freedom (1 for attitudes and positions of free bodies), its velocity, an
// element state. Bristles of contacts that are open are zero, in error and state: they do not count among the n, so that
// contacts that are far away do not loosen the tolerance. Sources: Hairer, Norsett, Wanner 1993, sections II.4 (error, first step), II.6 (dense output); Hairer,
// Wanner 1996, section IV.2 (stiffness).
#pragma once

#include "scalar/math.hpp"
#include "steppers/methods/step_size_control.hpp"
#include "steppers/methods/tableaus.hpp"
#include "steppers/run.hpp"
#include "tree/manifold.hpp"
#include <cstddef>

namespace dalembert::DALEMBERT_ISA {

template <class T> struct StatePointers { const T *q, *v, *x; };

// f(a, b) of numbers, lane by lane
template <class T, class F> inline T by_lane(const T &a, const T &b, F f) {
  if constexpr (requires { a[0]; }) {
    T c;
    for (int lane = 0; lane < T::lanes; ++lane)
      c.set(lane, f(a[lane], b[lane]));
    return c;
  } else {
    return f(a, b);
  }
}

// (1): out = h sum of weights times K, n numbers
template <class T> inline void combine(const double *weights, int stages, const T &h, const T *K, int n, T *out) {
  for (int k = 0; k < n; ++k)
    out[k] = T(0.0);
  for (int j = 0; j < stages; ++j) {
    if (weights[j] == 0.0)
      continue;
    const T w = h * weights[j];
    const T *rate = K + std::ptrdiff_t(j) * n;
    for (int k = 0; k < n; ++k)
      out[k] = out[k] + w * rate[k];
  }
}

// stage i of (1)
template <class T> inline void combine_stage(const Tableau &tableau, int i, const T &h, const T *K, int n, T *z) {
  combine(tableau.a + std::ptrdiff_t(i) * tableau.width, i, h, K, n, z);
}

// rates of the first stage, which are those where the step begins
template <class T> inline void set_first_stage(const ModelData &m, const T *v, const T *a, const T *dx, T *K) {
  for (int f = 0; f < m.nv; ++f)
    K[f] = v[f];
  for (int f = 0; f < m.nv; ++f)
    K[m.nv + f] = a[f];
  for (int k = 0; k < m.nx; ++k)
    K[2 * m.nv + k] = dx[k];
}

// ---- the norm of increments

// |y| of the position of a degree of freedom
template <class T> inline T position_size(const ModelData &m, const T *q, int f) {
  return m.coordinate[f] < 0 ? T(1.0) : absolute(q[m.coordinate[f]]);
}

// n of (2): how many of the numbers z act, at states of these sizes; null: beside themselves
template <class T>
inline T acting_count(const ModelData &m, const StatePointers<T> &y0, const StatePointers<T> &y1, const T *z) {
  T count(double(2 * m.nv + m.nx - m.bristle_states));
  for (int k = m.nx - m.bristle_states; k < m.nx; ++k) {
    const T size = absolute(y0.x[k]) + absolute(y1.x[k]);
    count = count + select(less(T(0.0), z ? absolute(z[2 * m.nv + k]) + size : size), T(1.0), T(0.0));
  }
  return larger(T(1.0), count);
}

// Calls visit(z_k, atol_k, |y_k|, noise, k) for all increments: k is the degree of freedom, or nv and the number of the
// element state.
template <class T, class Visit> inline void for_increments(const ModelData &m, const Run &run,
                                                           const StatePointers<T> &y0, const StatePointers<T> &y1,
                                                           const T *z, Visit &&visit) {
  for (int f = 0; f < m.nv; ++f)
    visit(z[f], run.atol[f], larger(position_size(m, y0.q, f), position_size(m, y1.q, f)), run.noise[0], f);
  for (int f = 0; f < m.nv; ++f)
    visit(z[m.nv + f], run.atol[m.nv + f], larger(absolute(y0.v[f]), absolute(y1.v[f])), run.noise[1], f);
  for (int k = 0; k < m.nx; ++k)
    visit(z[2 * m.nv + k], run.atol[2 * m.nv + k], larger(absolute(y0.x[k]), absolute(y1.x[k])), 0.0, m.nv + k);
}

// (2); worst: the number of the largest part, of single runs
template <class T> inline T norm(const ModelData &m, const Run &run, const StatePointers<T> &y0,
                                 const StatePointers<T> &y1, const T *z, [[maybe_unused]] int *worst = nullptr) {
  const int n = 2 * m.nv + m.nx;
  T sum(0.0);
  [[maybe_unused]] double most = 0.0;
  [[maybe_unused]] int largest = 0;
  for_increments(m, run, y0, y1, z,
                 [&](const T &value, double atol, const T &size, double noise, [[maybe_unused]] int place) {
                   const T part = value / (atol + run.rtol * size + noise), square = part * part;
                   sum = sum + square;
                   if constexpr (requires { double(square); }) {
                     largest = square <= most ? largest : place;
                     most = square <= most ? most : square;
                   }
                 });
  if (worst)
    *worst = largest;
  if (m.bristle_states)
    return root(sum / acting_count(m, y0, y1, z));
  return n ? root(sum / double(n)) : T(0.0);
}

// The error of a step in units of the tolerance, by one estimate or by two; measure(z, first) is the norm of the first
// or of the second of them, `estimate` a workspace of n numbers.
template <class T, class Measure>
inline T step_error(const Tableau &tableau, const T &h, const T *K, int n, T *estimate, Measure &&measure) {
  combine(tableau.e, tableau.estimated, h, K, n, estimate);
  const T fine = measure(estimate, true);
  if (!tableau.e3)
    return fine;
  combine(tableau.e3, tableau.estimated, h, K, n, estimate);
  return by_lane(fine, measure(estimate, false),
                 [](double first, double second) { return combined_error(first, second); });
}

// ---- the first step

// |y| of a state beside itself, element states included
template <class T> inline T state_size(const ModelData &m, const Run &run, const StatePointers<T> &y) {
  const int n = 2 * m.nv + m.nx;
  T sum(0.0);
  for (int f = 0; f < m.nv; ++f) {
    const T place = position_size(m, y.q, f);
    const T p = place / (run.atol[f] + run.rtol * place),
            w = y.v[f] / (run.atol[m.nv + f] + run.rtol * absolute(y.v[f]));
    sum = sum + (p * p + w * w);
  }
  for (int k = 0; k < m.nx; ++k) {
    const T s = y.x[k] / (run.atol[2 * m.nv + k] + run.rtol * absolute(y.x[k]));
    sum = sum + s * s;
  }
  if (m.bristle_states)
    return root(sum / acting_count(m, y, y, static_cast<const T *>(nullptr)));
  return n ? root(sum / double(n)) : T(0.0);
}

// the length of a trial step, from the sizes of a state and of its rates
inline double trial_length(double size, double slope, double left, double max_step) {
  const double wanted = size < 1e-5 || slope < 1e-5 ? 1e-6 : 0.01 * size / slope;
  return std::min({wanted, left, max_step});
}

// ---- stiffness

// Squares of the changes of rates and of states between the last stage and the end of the step: the root of their ratio
// is an estimate of the largest eigenvalue. `last` and `end`: workspaces of n numbers each.
template <class T> struct StiffnessEstimate { T rates, states; };
template <class T>
inline StiffnessEstimate<T> estimate_stiffness(const Tableau &tableau, const T &h, const T *K, int n, T *last, T *end) {
  const int stage = tableau.stages - 1;
  const T *before = K + std::ptrdiff_t(stage) * n, *after = K + std::ptrdiff_t(tableau.stages) * n;
  combine_stage(tableau, stage, h, K, n, last);
  combine(tableau.b, tableau.stages, h, K, n, end);
  StiffnessEstimate<T> sums{T(0.0), T(0.0)};
  for (int k = 0; k < n; ++k) {
    const T rate = after[k] - before[k], state = end[k] - last[k];
    sums.rates = sums.rates + rate * rate;
    sums.states = sums.states + state * state;
  }
  return sums;
}
inline bool is_stiff(const Tableau &tableau, double h, double rates, double states) {
  return states > 0.0 && h * std::sqrt(rates / states) > tableau.stability;
}

// ---- dense output of dop853: a polynomial of order 7 with coefficients D, 7 x n

// Needs the stages 13 to 15.
template <class T> inline void prepare_dop853(const ModelData &m, const StatePointers<T> &y0,
                                              const StatePointers<T> &y1, const T &h, const T *K, T *D) {
  const int nv = m.nv, n = 2 * nv + m.nx;
  T *F0 = D, *F1 = F0 + n, *F2 = F1 + n;
  difference<T>(m, y0.q, y1.q, F0);
  for (int f = 0; f < nv; ++f)
    F0[nv + f] = y1.v[f] - y0.v[f];
  for (int k = 0; k < m.nx; ++k)
    F0[2 * nv + k] = y1.x[k] - y0.x[k];
  const T *begin = K, *end = K + std::ptrdiff_t(12) * n;
  for (int k = 0; k < n; ++k) {
    F1[k] = h * begin[k] - F0[k];
    F2[k] = 2.0 * F0[k] - h * (begin[k] + end[k]);
  }
  for (int r = 0; r < 4; ++r)
    combine(dop853::dense[r], 16, h, K, n, D + (3 + r) * n);
}

// increments at the fraction s of the step
template <class T> inline void dop853_at(const T *D, int n, double s, T *z) {
  for (int k = 0; k < n; ++k) {
    T sum(0.0);
    for (int r = 6; r >= 0; --r)
      sum = (sum + D[std::ptrdiff_t(r) * n + k]) * (r % 2 ? 1.0 - s : s);
    z[k] = sum;
  }
}

} // namespace dalembert::DALEMBERT_ISA
