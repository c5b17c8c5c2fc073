// Exact derivatives of accelerations, A_q = da/dq in directions of the tangent space, A_v = da/dv, A_x = da/dx, and of the
// rates of element states, X_q, X_v and X_x.
//
// With R = inverse dynamics - forces of the elements - P^T lambda, and C = P a + gamma the second rates of the rows,
//
//     M da - P^T dlambda = -dR          P da = -dC                                                              (1)
//
// where R and C are varied at constant a and lambda. They come from the kernels themselves, run on dual numbers: a column
// per direction, as many at once as a register holds. (1) is solved with the factors of loops.hpp.
#pragma once

#include "dual_derivatives.hpp"
#include "projection.hpp"

namespace dalembert::DALEMBERT_ISA {

template <int W> struct RatesJacobianRoom {
  DualRoom<W> duals;
  Dual<W> *forces;  // nv
  Side<Pack<W>> side;
  Pack<W> *x;
  Dual<W> *seconds;  // nc: C
  double *column;    // nv
  double *lambda;    // nc
  Dual<W> *states, *rates, *values, *signals; // nx, nx; room for programs; of the elements
  double *shifted, *above, *below;  // nq + nv + nx, nv + nx, nv + nx: what is evaluated beside the state
  double *A_q, *A_v, *A_x; // nv x nv, nv x nv, nv x nx
  double *X_q, *X_v, *X_x; // nx x nv, nx x nv, nx x nx
};

template <int W> inline std::size_t lay_out(const ModelData &m, std::byte *base, RatesJacobianRoom<W> &room) {
  Arena arena{base};
  arena.take<std::byte>(lay_out(m, base, room.duals));
  const std::size_t n = std::size_t(m.nb) + 1, nv = std::size_t(m.nv);
  room.forces = arena.take<Dual<W>>(nv);
  room.side = {arena.take<Load<Pack<W>>>(n), arena.take<Pack<W>>(nv), arena.take<Motion<Pack<W>>>(n)};
  room.x = arena.take<Pack<W>>(nv);
  room.seconds = arena.take<Dual<W>>(std::size_t(m.nc));
  room.column = arena.take<double>(nv);
  room.lambda = arena.take<double>(std::size_t(m.nc));
  const std::size_t nx = std::size_t(m.nx);
  room.states = arena.take<Dual<W>>(nx);
  room.shifted = arena.take<double>(std::size_t(m.nq) + nv + nx);
  room.above = arena.take<double>(nv + nx);
  room.below = arena.take<double>(nv + nx);
  room.rates = arena.take<Dual<W>>(nx);
  room.values = arena.take<Dual<W>>(std::size_t(m.most_values));
  room.signals = arena.take<Dual<W>>(std::size_t(m.signal_count));
  room.A_q = arena.take<double>(nv * nv);
  room.A_v = arena.take<double>(nv * nv);
  room.A_x = arena.take<double>(nv * nx);
  room.X_q = arena.take<double>(nx * nv);
  room.X_v = arena.take<double>(nx * nv);
  room.X_x = arena.take<double>(nx * nx);
  return arena.used;
}

// seeds lanes [0, count) of dual coordinates with the directions [first, first + count) of the tangent space
template <int W> inline void seed_directions(const ModelData &m, const double *q, Dual<W> *duals, int first, int count, bool on) {
  int i = 1;
  for (int l = 0; l < count; ++l) {
    while (first + l >= m.bodies[i].v + m.bodies[i].nv)
      ++i;
    seed_freedom(m.bodies[i], q, first + l - m.bodies[i].v, l, duals, on);
  }
}

enum class Direction { position, speed, state };

// The part of -dR that forces from outside have, in one direction: a difference, as nothing else is known of them.
template <int W>
inline void vary_host(const ModelData &m, const Run &run, RatesRoom<W> &rates, RatesJacobianRoom<W> &room, double t, const double *q,
                      const double *v, const double *x, Direction direction, int freedom, int lane) {
  double *q_near = room.shifted, *v_near = room.shifted + m.nq;
  const double step = 1e-6 * (1.0 + std::fabs(direction == Direction::speed ? v[freedom] : 0.0));
  for (int side = 0; side < 2; ++side) {
    for (int f = 0; f < m.nv; ++f)
      v_near[f] = 0.0;
    v_near[freedom] = side ? -step : step;
    if (direction == Direction::position)
      integrate<double>(m, q, v_near, q_near);
    else
      copy(q, m.nq, q_near);
    for (int f = 0; f < m.nv; ++f)
      v_near[f] = v[f] + (direction == Direction::speed ? v_near[f] : 0.0);
    run.host->evaluate(run.host->self, t, q_near, v_near, x, rates.hosted, side ? room.below : room.above, rates.loads);
  }
  for (int f = 0; f < m.nv; ++f)
    room.x[f].set(lane, room.x[f][lane] + (room.above[f] - room.below[f]) / (2.0 * step));
}

// Calls take(direction, first, count) with -dR in room.x, dC in room.seconds and rates of states in room.rates for
// directions [first, first + count) of positions, of speeds and of element states, at given accelerations and multipliers.
template <int W, class Take>
inline void vary_residual(const ModelData &m, const Run &run, RatesRoom<W> &rates, RatesJacobianRoom<W> &room, double t, const double *q,
                          const double *v, const double *x, const double *a, const double *lambda, Take &&take) {
  using D = Dual<W>;
  DualRoom<W> &d = room.duals;
  d.ws.t = D(t);
  for (int k = 0; k < m.nq; ++k)
    d.q[k] = q[k];
  for (int f = 0; f < m.nv; ++f) {
    d.v[f] = v[f];
    d.a[f] = a[f];
  }
  for (int k = 0; k < m.nx; ++k)
    room.states[k] = x[k];
  Surroundings<D> at{D(t), run.parameters, rates.hosted};
  at.x = room.states;
  at.dx = room.rates;
  at.values = room.values;
  at.numbers = rates.values;
  at.functions = &run.functions;
  at.signals = room.signals;
  at.feedback = rates.feedback;
  const ChordAndElementLoads<Dual<W>> loads{{at, d.q, d.v, nullptr, nullptr, room.forces}, run.active, lambda, room.seconds};
  const auto columns = [&](Direction direction, int first, int count) {
    inverse_dynamics<D>(m, d.ws, d.q, d.v, d.a, loads, d.tau);
    for (int f = 0; f < m.nv; ++f)
      room.x[f] = room.forces[f].slope - d.tau[f].slope;
    for (int l = 0; run.host && run.host->pushes && direction != Direction::state && l < count; ++l)
      vary_host(m, run, rates, room, t, q, v, x, direction, first + l, l);
    take(direction, first, count);
  };
  for (int first = 0; first < m.nv; first += W) {
    const int count = m.nv - first < W ? m.nv - first : W;
    seed_directions(m, q, d.q, first, count, true);
    columns(Direction::position, first, count);
    seed_directions(m, q, d.q, first, count, false);
    for (int l = 0; l < count; ++l)
      d.v[first + l].slope.set(l, 1.0);
    columns(Direction::speed, first, count);
    for (int l = 0; l < count; ++l)
      d.v[first + l].slope = Pack<W>(0.0);
  }
  for (int first = 0; first < m.nx; first += W) {
    const int count = m.nx - first < W ? m.nx - first : W;
    for (int l = 0; l < count; ++l)
      room.states[first + l].slope.set(l, 1.0);
    columns(Direction::state, first, count);
    for (int l = 0; l < count; ++l)
      room.states[first + l].slope = Pack<W>(0.0);
  }
}

// All derivatives by differences of rates(): for loads that depend on what connections transmit.
template <int W>
inline void rates_differences(const ModelData &m, Run &run, RatesRoom<W> &rates_room, RatesJacobianRoom<W> &room, double t, const double *q,
                              const double *v, const double *x) {
  const int nv = m.nv, nx = m.nx;
  double *q_near = room.shifted, *v_near = q_near + m.nq, *x_near = v_near + nv;
  const auto columns = [&](Direction direction, int count, double *of_speeds, double *of_states) {
    for (int k = 0; k < count; ++k) {
      const double at = direction == Direction::speed ? v[k] : direction == Direction::state ? x[k] : 0.0, step = 1e-6 * (1.0 + std::fabs(at));
      for (int side = 0; side < 2; ++side) {
        for (int f = 0; f < nv; ++f)
          v_near[f] = 0.0;
        copy(x, nx, x_near);
        if (direction == Direction::state)
          x_near[k] += side ? -step : step;
        else
          v_near[k] = side ? -step : step;
        if (direction == Direction::position)
          integrate<double>(m, q, v_near, q_near);
        else
          copy(q, m.nq, q_near);
        for (int f = 0; f < nv; ++f)
          v_near[f] = v[f] + (direction == Direction::speed ? v_near[f] : 0.0);
        double *out = side ? room.below : room.above;
        rates(m, run, rates_room, t, q_near, v_near, x_near, out, out + nv);
      }
      for (int f = 0; f < nv + nx; ++f)
        (f < nv ? of_speeds + std::ptrdiff_t(f) * count : of_states + std::ptrdiff_t(f - nv) * count)[k] =
            (room.above[f] - room.below[f]) / (2.0 * step);
    }
  };
  copy(rates_room.lambda, m.nc, room.lambda);
  columns(Direction::position, nv, room.A_q, room.X_q);
  columns(Direction::speed, nv, room.A_v, room.X_v);
  columns(Direction::state, nx, room.A_x, room.X_x);
  copy(room.lambda, m.nc, rates_room.lambda);
}

// all derivatives at a state whose accelerations a and multipliers are known, by (1)
template <int W>
inline void rates_jacobian(const ModelData &m, Run &run, RatesRoom<W> &rates, RatesJacobianRoom<W> &room, double t, const double *q,
                           const double *v, const double *x, const double *a, const double *lambda) {
  if (m.feedback_count)
    return rates_differences(m, run, rates, room, t, q, v, x);
  const int nv = m.nv;
  LoopRoom<W> &loops = rates.loops;
  Factored factored{nullptr, 0};
  if (m.nc) {
    copy(lambda, m.nc, room.lambda);
    loops.ws.t = t;
    evaluate_chords(m, loops.ws, q, nullptr,
                    {.values = loops.values, .leverage = loops.leverage, .opening = &loops.opening, .active = run.active});
    factored = factor_loops(m, loops, q, run.marks.given);
  } else {
    factorize<double>(m, loops.ws, q, run.marks.given);
  }
  // one column, of which room.x holds M^-1 (-dR)
  const auto close_loops = [&](int lane) {
    for (int f = 0; f < nv; ++f)
      room.column[f] = room.x[f][lane];
    for (int k = 0; k < m.chord_count; ++k) {
      const ChordData &chord = m.chords[k];
      for (int j = 0; j < chord.rows; ++j) {
        const double *row = loops.values + chord.values + std::ptrdiff_t(j) * chord.supports;
        double sum = room.seconds[chord.row + j].slope[lane];
        for (int s = 0; s < chord.supports; ++s)
          sum += row[s] * room.column[m.support[chord.support + s]];
        loops.rhs[chord.row + j] = -sum;
      }
    }
    correct_by(m, loops, factored, room.column, rates.lambda);
  };
  vary_residual(m, run, rates, room, t, q, v, x, a, room.lambda, [&](Direction direction, int first, int count) {
    const int width = direction == Direction::state ? m.nx : nv;
    double *matrix = direction == Direction::position ? room.A_q : direction == Direction::speed ? room.A_v : room.A_x;
    double *of_states = direction == Direction::position ? room.X_q : direction == Direction::speed ? room.X_v : room.X_x;
    for (int k = 0; k < m.nx; ++k)
      for (int l = 0; l < count; ++l)
        of_states[std::ptrdiff_t(k) * width + first + l] = room.rates[k].slope[l];
    solve(m, loops.ws, room.side, room.x, room.x, 1, m.nb, run.marks.given);
    for (int l = 0; l < count; ++l) {
      if (m.nc)
        close_loops(l);
      for (int f = 0; f < nv; ++f)
        matrix[std::ptrdiff_t(f) * width + first + l] = m.nc ? room.column[f] : room.x[f][l];
    }
  });
}

} // namespace dalembert::DALEMBERT_ISA
