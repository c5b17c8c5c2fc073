// The memory of one simulation, and what all steppers share: where the state is, how errors are weighed, how a step is
// completed, how it is interpolated.
//
// A stepper works on increments z = [xi; dv; dx] in the chart around the beginning of its step: n = 2 nv + nx numbers.
#pragma once

#include "../chart.hpp"
#include "../projection.hpp"
#include <cstring>

namespace dalembert::DALEMBERT_ISA {

constexpr int most_stages = 16;

template <int W> struct SteppingRoom {
  RatesRoom<W> rates;
  double *q, *v, *x, *a, *dx;      // where the run is; a and dx: rates there
  double *q1, *v1, *x1, *a1, *dx1; // where the step leads
  double *qs, *vs, *xs;            // a stage
  double *z, *error, *error3;      // n: increment, error estimates
  double *K;                       // stages x n: rates [xi'; a; x']
  double *change;                  // nv
  double *D;                       // 7 x n: dense output
  bool near = false;               // stages are put onto the loops before rates are evaluated
};

// Near a configuration where rows become dependent, accelerations are smooth along the loops only: off them, where
// the stages of a step are, they are as large as the rows are close to depend on each other. Where the slack of the
// loops falls below this part of what it usually is, stages are put onto the loops first: rates are then those of the nearest state on the loops, a vector field
// that agrees with the other on the loops, so that the order is kept.
constexpr double close_to_singular = 1e-3;

DALEMBERT_INLINE int increments(const ModelData &m) { return 2 * m.nv + m.nx; }

template <int W> inline std::size_t lay_out(const ModelData &m, std::byte *base, SteppingRoom<W> &room) {
  Arena arena{base};
  arena.take<std::byte>(lay_out(m, base, room.rates));
  const std::size_t nq = std::size_t(m.nq), nv = std::size_t(m.nv), nx = std::size_t(m.nx), n = std::size_t(increments(m));
  for (double **each : {&room.q, &room.q1, &room.qs})
    *each = arena.take<double>(nq);
  for (double **each : {&room.v, &room.v1, &room.vs, &room.a, &room.a1, &room.change})
    *each = arena.take<double>(nv);
  for (double **each : {&room.x, &room.x1, &room.xs, &room.dx, &room.dx1})
    *each = arena.take<double>(nx);
  for (double **each : {&room.z, &room.error, &room.error3})
    *each = arena.take<double>(n);
  room.K = arena.take<double>(most_stages * n);
  room.D = arena.take<double>(7 * n);
  return arena.used;
}

inline bool all_finite(const double *x, int count) {
  double zero = 0.0;
  for (int k = 0; k < count; ++k)
    zero += 0.0 * x[k];
  return zero == 0.0;
}

// how much freedom f may err in position: attitudes and places of free bodies count as one
inline double position_size(const ModelData &m, const double *q, int f) { return m.coordinate[f] < 0 ? 1.0 : std::fabs(q[m.coordinate[f]]); }

// size of increments in units of the tolerance between the two states, root mean square
template <int W>
inline double measure(const ModelData &m, const Run &run, const SteppingRoom<W> &room, const double *z, const double *q1, const double *v1,
                      const double *x1, int *worst = nullptr) {
  double sum = 0.0, most = 0.0;
  const auto add = [&](double value, double size, int place, double noise) {
    const double part = value / (run.atol + run.rtol * size + noise), square = part * part;
    sum += square;
    if (worst && !(square <= most)) {
      most = square;
      *worst = place;
    }
  };
  const auto larger = [](double a, double b) { return a > b ? a : b; };
  for (int f = 0; f < m.nv; ++f)
    add(z[f], larger(position_size(m, room.q, f), position_size(m, q1, f)), f, run.noise[0]);
  for (int f = 0; f < m.nv; ++f)
    add(z[m.nv + f], larger(std::fabs(room.v[f]), std::fabs(v1[f])), f, run.noise[1]);
  for (int k = 0; k < m.nx; ++k)
    add(z[2 * m.nv + k], larger(std::fabs(room.x[k]), std::fabs(x1[k])), m.nv + k, 0.0);
  const int n = increments(m);
  return n ? std::sqrt(sum / n) : 0.0;
}

// evaluates outside laws where drives, of hinges or of rows, need them before the state is known
template <int W> inline bool impose_drives(const ModelData &m, Run &run, SteppingRoom<W> &room, double t, double *q, double *v, const double *x) {
  if (!m.drive_count)
    return true;
  if (m.hosted_laws && !consult(run, room.rates, t, q, v, x))
    return false;
  impose(m, t, room.rates.hosted, q, v);
  return true;
}

// the state at base (+) z
template <int W> inline bool displaced(const ModelData &m, Run &run, SteppingRoom<W> &room, double t, const double *z, double *q, double *v, double *x) {
  integrate<double>(m, room.q, z, q);
  for (int f = 0; f < m.nv; ++f)
    v[f] = room.v[f] + z[m.nv + f];
  for (int k = 0; k < m.nx; ++k)
    x[k] = room.x[k] + z[2 * m.nv + k];
  return impose_drives(m, run, room, t, q, v, x);
}

// positions, then speeds, onto loops and drives
template <int W> inline Outcome onto_loops(const ModelData &m, Run &run, SteppingRoom<W> &room, double t, double *q, double *v) {
  if (!m.nc || !run.project)
    return Outcome::reached;
  set_targets(m, room.rates, t);
  if (!project_positions(m, run, room.rates, q, room.change))
    return Outcome::apart;
  project_speeds(m, run, room.rates, q, v, room.change, run.marks.paced);
  return Outcome::reached;
}

// rates [xi'; a; x'] of a state whose chart increment is z; `near` the state itself is put onto the loops
template <int W>
inline Outcome rates_in_chart(const ModelData &m, Run &run, SteppingRoom<W> &room, double t, double *z, double *q, double *v, const double *x,
                              double *K) {
  if (room.near) {
    const Outcome outcome = onto_loops(m, run, room, t, q, v);
    if (outcome != Outcome::reached)
      return outcome;
    difference<double>(m, room.q, q, z);
  }
  chart_rate<double>(m, z, v, K);
  return rates(m, run, room.rates, t, q, v, x, K + m.nv, K + 2 * m.nv) ? Outcome::reached : Outcome::host;
}

} // namespace dalembert::DALEMBERT_ISA
