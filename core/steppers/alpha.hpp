// Generalised alpha on the index-3 equations, with a fixed step and controlled damping of high frequencies (Chung, Hulbert
// 1993; on Lie groups Bruls, Cardona, Arnold 2012). Order 2. With A the acceleration-like variable of the method:
//
//     xi1 = h v + h^2 ((1/2 - beta) A + beta A1)          v1 = v + h ((1 - gamma) A + gamma A1)                      (1)
//     (1 - alpha_m) A1 + alpha_m A = (1 - alpha_f) a1 + alpha_f a                                                    (2)
//     R(q1, v1, a1) - P^T lambda = 0          phi(q1) = target                                                       (3)
//
// Newton's method on (3) for xi1 and lambda, from where A1 = A leads, with one matrix; where that does not converge, once
// more from the beginning of the step, with a matrix in every round, where with (1) and (2) dv1 = gamma' dxi, da1 = beta' dxi:
//
//     [ (beta' M + gamma' C + K) / beta'   -P^T ] [ dxi            ]
//     [ P                                  -eps ] [ dlambda / beta' ] = -[ R / beta'; phi ]                            (4)
//
// where rows that bind speeds only have, for phi,
//
//     P dxi = (target - P v1) / gamma'                                                                                (5)
//
// scaled so that its parts do not differ by powers of h (Bottasso, Bauchau, Cardona 2007). The small eps makes rows that
// repeat others harmless; it does not change the solution, on which dlambda = 0. Speeds are put onto the loops after the
// step, those of driven freedoms left as they are, which stands for the stabilising multipliers of the index-2 form.
#pragma once

#include "../rates_jacobian.hpp"
#include "../dense_lu.hpp"
#include "room.hpp"

namespace dalembert::DALEMBERT_ISA {

template <int W> struct AlphaRoom {
  RatesJacobianRoom<W> jacobian;
  double *A, *A1;          // nv: acceleration-like variables
  double *matrix, *b;      // (nv + nc)^2, nv + nc
  std::int32_t *exchange;
  double *mass;            // nv x nv
  double *residual;        // nv
  double *lambda;          // nc: at the end of the step
  double *lambda0;         // nc: at its beginning
};

template <int W> inline std::size_t lay_out(const ModelData &m, std::byte *base, AlphaRoom<W> &room) {
  Arena arena{base};
  arena.take<std::byte>(lay_out(m, base, room.jacobian));
  const std::size_t nv = std::size_t(m.nv), size = nv + std::size_t(m.nc);
  room.A = arena.take<double>(nv);
  room.A1 = arena.take<double>(nv);
  room.matrix = arena.take<double>(size * size);
  room.b = arena.take<double>(size);
  room.exchange = arena.take<std::int32_t>(size);
  room.mass = arena.take<double>(nv * nv);
  room.residual = arena.take<double>(nv);
  room.lambda = arena.take<double>(std::size_t(m.nc));
  room.lambda0 = arena.take<double>(std::size_t(m.nc));
  return arena.used;
}

struct AlphaNumbers {
  double alpha_m, alpha_f, beta, gamma;
};
inline AlphaNumbers alpha_numbers(double rho) {
  const double alpha_m = (2.0 * rho - 1.0) / (rho + 1.0), alpha_f = rho / (rho + 1.0), gamma = 0.5 + alpha_f - alpha_m;
  return {alpha_m, alpha_f, 0.25 * (gamma + 0.5) * (gamma + 0.5), gamma};
}

// R - P^T lambda at a state with accelerations a; rows and their Jacobian are left in the room of the loops
template <int W>
inline bool motion_residual(const ModelData &m, Run &run, SteppingRoom<W> &room, double t, const double *q, const double *v, const double *x,
                            const double *a, const double *lambda, double *residual) {
  RatesRoom<W> &rates = room.rates;
  LoopRoom<W> &loops = rates.loops;
  ++run.counts.evaluations;
  const bool pushed = run.host && run.host->pushes;
  for (int f = 0; f < m.nv && !pushed; ++f)
    rates.efforts[f] = 0.0;
  if (!consult(run, rates, t, q, v, x))
    return false;
  const Surroundings<double> at = surroundings(run, rates, t, x, room.dx1);
  inverse_dynamics<double>(m, loops.ws, q, v, a, ElementLoads<double>{at, q, v, pushed ? rates.loads : nullptr, rates.efforts, rates.tau}, residual);
  for (int f = 0; f < m.nv; ++f)
    residual[f] -= rates.tau[f];
  if (!m.nc)
    return true;
  evaluate_chords(m, loops.ws, q, nullptr, {.residual = loops.rhs, .values = loops.values, .drift = loops.drift, .active = run.active});
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    for (int j = 0; j < chord.rows; ++j)
      for (int s = 0; s < chord.supports; ++s)
        residual[m.support[chord.support + s]] -= lambda[chord.row + j] * loops.values[chord.values + std::ptrdiff_t(j) * chord.supports + s];
  }
  return true;
}

// the matrix of (4) at the state in q1, v1, a1, factored
template <int W>
inline bool factor_alpha(const ModelData &m, Run &run, SteppingRoom<W> &room, AlphaRoom<W> &mine, double t, double rate, double second) {
  const std::ptrdiff_t nv = m.nv, size = nv + m.nc;
  double *E = mine.matrix;
  ++run.counts.jacobians;
  ++run.counts.factorizations;
  mass_matrix<double>(m, room.rates.loops.ws, room.q1, mine.mass);
  for (std::ptrdiff_t k = 0; k < size * size; ++k)
    E[k] = 0.0;
  for (std::ptrdiff_t i = 0; i < nv; ++i)
    for (std::ptrdiff_t j = 0; j < nv; ++j)
      E[i * size + j] = mine.mass[i * nv + j];
  vary_residual(m, run, room.rates, mine.jacobian, t, room.q1, room.v1, room.x1, room.a1, mine.lambda, [&](Direction direction, int first, int count) {
    if (direction == Direction::state) // they follow by the trapezoidal rule
      return;
    const double weight = (direction == Direction::speed ? rate : 1.0) / second;
    for (std::ptrdiff_t f = 0; f < nv; ++f)
      for (int l = 0; l < count; ++l)
        E[f * size + first + l] -= weight * mine.jacobian.x[f][l];
  });
  double heaviest = 0.0, longest = 0.0;
  for (std::ptrdiff_t f = 0; f < nv; ++f)
    heaviest = std::max(heaviest, std::fabs(E[f * (size + 1)]));
  evaluate_chords(m, room.rates.loops.ws, room.q1, nullptr, {.values = room.rates.loops.values, .active = run.active});
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    for (int j = 0; j < chord.rows; ++j)
      for (int s = 0; s < chord.supports; ++s) {
        const std::ptrdiff_t row = nv + chord.row + j, f = m.support[chord.support + s];
        const double entry = room.rates.loops.values[chord.values + std::ptrdiff_t(j) * chord.supports + s];
        E[row * size + f] = entry;
        E[f * size + row] = -entry;
        longest = std::max(longest, entry * entry);
      }
  }
  const double eps = 1e-10 * longest / std::max(heaviest, 1e-300) + 1e-300;
  for (std::ptrdiff_t row = nv; row < size; ++row)
    E[row * (size + 1)] = -eps;
  for (std::ptrdiff_t f = 0; run.marks.given && f < nv; ++f)
    if (run.marks.given[f]) { // follows its law
      for (std::ptrdiff_t j = 0; j < size; ++j)
        E[f * size + j] = 0.0;
      E[f * (size + 1)] = 1.0;
    }
  return factor_lu(E, mine.exchange, int(size));
}

// Newton's method for one step of length h, from where A1 = A leads or, `afresh`, from where the step begins. On return q1,
// v1, x1, a1 hold its end.
template <int W>
inline Outcome alpha_newton(const ModelData &m, Run &run, SteppingRoom<W> &room, AlphaRoom<W> &mine, double h, bool afresh) {
  const int nv = m.nv, size = nv + m.nc;
  const AlphaNumbers number = alpha_numbers(run.spectral_radius);
  const double rate = number.gamma / (number.beta * h);
  const double second = (1.0 - number.alpha_m) / (h * h * number.beta * (1.0 - number.alpha_f));
  const double t1 = run.t + h;
  double *z = room.z;
  // (1), (2) from A1 to increments and accelerations
  const auto place = [&]() {
    for (int f = 0; f < nv; ++f) {
      z[f] = h * room.v[f] + h * h * ((0.5 - number.beta) * mine.A[f] + number.beta * mine.A1[f]);
      z[nv + f] = h * ((1.0 - number.gamma) * mine.A[f] + number.gamma * mine.A1[f]);
      room.a1[f] = ((1.0 - number.alpha_m) * mine.A1[f] + number.alpha_m * mine.A[f] - number.alpha_f * room.a[f]) / (1.0 - number.alpha_f);
    }
    for (int i = 1; i <= m.nb; ++i) { // places of free bodies: xi'' = u' + omega x u at the beginning of the step
      const BodyData &b = m.bodies[i];
      if (!has_quaternion(b) || b.nv != 6)
        continue;
      const double *w = room.v + b.v, *u = w + 3;
      const Vec3<double> turning = cross(Vec3<double>{w[0], w[1], w[2]}, Vec3<double>{u[0], u[1], u[2]});
      z[b.v + 3] += 0.5 * h * h * turning.x, z[b.v + 4] += 0.5 * h * h * turning.y, z[b.v + 5] += 0.5 * h * h * turning.z;
    }
    for (int k = 0; k < m.nx; ++k) // trapezoidal rule
      z[2 * nv + k] = 0.5 * h * (room.dx[k] + room.dx1[k]);
    return displaced(m, run, room, t1, z, room.q1, room.v1, room.x1);
  };
  for (int f = 0; f < nv; ++f)
    mine.A1[f] = afresh ? ((number.beta - 0.5) * mine.A[f] - room.v[f] / h) / number.beta : mine.A[f];
  copy(room.dx, m.nx, room.dx1);
  if (m.hosted_laws && m.drive_count && !consult(run, room.rates, t1, room.q, room.v, room.x))
    return Outcome::host;
  if (m.nc)
    set_targets(m, room.rates, t1);
  if (run.marks.given) {
    for (int f = 0; f < nv; ++f) {
      if (!run.marks.given[f])
        continue;
      double wanted = 0.0;
      for (int k = 0; k < m.drive_count; ++k)
        if (m.drives[k].row < 0 && m.drives[k].freedom == f)
          wanted = demand(m, m.drives[k], t1, room.rates.hosted).second;
      mine.A1[f] = ((1.0 - number.alpha_f) * wanted + number.alpha_f * room.a[f] - number.alpha_m * mine.A[f]) / (1.0 - number.alpha_m);
    }
  }
  copy(mine.lambda0, m.nc, mine.lambda);
  const int most_rounds = afresh ? 30 : 15;
  double before = 0.0;
  for (int round = 0; round < most_rounds; ++round) {
    if (!place())
      return Outcome::host;
    if ((round == 0 || afresh) && !factor_alpha(m, run, room, mine, t1, rate, second))
      return Outcome::unsolved;
    if (!motion_residual(m, run, room, t1, room.q1, room.v1, room.x1, room.a1, mine.lambda, mine.residual))
      return Outcome::host;
    for (int f = 0; f < nv; ++f)
      mine.b[f] = run.marks.given && run.marks.given[f] ? 0.0 : -mine.residual[f] / second;
    for (int k = 0; k < m.chord_count; ++k) {
      const ChordData &chord = m.chords[k];
      for (int j = 0; j < chord.rows; ++j) {
        const int i = chord.row + j;
        if (m.holonomic[i]) {
          mine.b[nv + i] = room.rates.targets[i] - room.rates.loops.rhs[i];
          continue;
        }
        double slip = room.rates.targets[m.nc + i] - room.rates.loops.drift[i]; // (5)
        for (int s = 0; s < chord.supports; ++s)
          slip -= room.rates.loops.values[chord.values + std::ptrdiff_t(j) * chord.supports + s] * room.v1[m.support[chord.support + s]];
        mine.b[nv + i] = slip / rate;
      }
    }
    if (!all_finite(mine.b, size))
      return Outcome::not_finite;
    solve_lu(mine.matrix, mine.exchange, size, mine.b);
    double square = 0.0;
    for (int f = 0; f < nv; ++f) {
      const double part = mine.b[f] / (run.atol + run.rtol * position_size(m, room.q1, f));
      square += part * part;
      mine.A1[f] += mine.b[f] / (h * h * number.beta);
    }
    for (int i = 0; i < m.nc; ++i)
      mine.lambda[i] += second * mine.b[nv + i];
    const double change = nv ? std::sqrt(square / nv) : 0.0;
    if (!std::isfinite(change) || (!afresh && round > 3 && change > before && change > 1.0))
      return Outcome::unsolved;
    if (change < 1e-3 || (round && change >= 0.5 * before && change < 1.0)) { // converged, or as far as rounding lets it
      if (!place())
        return Outcome::host;
      if (m.nc && run.project)
        project_speeds(m, run, room.rates, room.q1, room.v1, room.change, run.marks.given);
      return all_finite(room.a1, nv) ? Outcome::reached : Outcome::not_finite;
    }
    before = change;
  }
  return Outcome::unsolved;
}

// One step of length h; on return q1, v1, x1, a1 hold its end.
template <int W> inline Outcome alpha_step(const ModelData &m, Run &run, SteppingRoom<W> &room, AlphaRoom<W> &mine, double h) {
  const Outcome outcome = alpha_newton(m, run, room, mine, h, false);
  return outcome == Outcome::reached || outcome == Outcome::host ? outcome : alpha_newton(m, run, room, mine, h, true);
}

} // namespace dalembert::DALEMBERT_ISA
