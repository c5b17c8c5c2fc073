// The right-hand side of the equations of motion: accelerations and rates of element states at a time, with drives,
// locks, force elements, loops and whatever is evaluated outside.
#pragma once

#include "applied.hpp"
#include "integrator.hpp"
#include "loops.hpp"

namespace dalembert::DALEMBERT_ISA {

template <int W> struct RatesRoom {
  LoopRoom<W> loops;
  double *tau, *efforts;  // nv each: all hinge forces; those that no element gives
  double *loads, *hosted; // nb x 6, 3 per hosted law
  double *targets;              // 3 x nc: residual, rate and second rate that drives demand of the rows
  double *lambda;               // nc
  double *values;               // room for programs
  double *unused;               // nx: rates of states that nobody asks for
  double *signals;              // of the elements
  double *feedback;             // loads that connections transmit
  double *spare;                // nv
  double *found, *residual, *step, *kept, *broyden, *lu; // of feedback.hpp: n each, n x n
  std::int32_t *exchange;
};

// what an evaluation needs besides positions and speeds
template <int W>
inline Surroundings<double> surroundings(const Run &run, const RatesRoom<W> &room, double t, const double *x, double *dx) {
  Surroundings<double> at{t, run.parameters, room.hosted};
  at.x = x;
  at.dx = dx;
  at.values = at.numbers = room.values;
  at.functions = &run.functions;
  at.signals = room.signals;
  at.feedback = room.feedback;
  return at;
}

template <int W> inline std::size_t lay_out(const ModelData &m, std::byte *base, RatesRoom<W> &room) {
  Arena arena{base};
  arena.take<std::byte>(lay_out(m, base, room.loops));
  room.tau = arena.take<double>(std::size_t(m.nv));
  room.efforts = arena.take<double>(std::size_t(m.nv));
  room.loads = arena.take<double>(6 * std::size_t(m.users));
  room.hosted = arena.take<double>(3 * std::size_t(m.hosted_laws));
  room.targets = arena.take<double>(3 * std::size_t(m.nc));
  room.lambda = arena.take<double>(std::size_t(m.nc));
  room.values = arena.take<double>(std::size_t(m.most_values));
  room.unused = arena.take<double>(std::size_t(m.nx));
  room.signals = arena.take<double>(std::size_t(m.signal_count));
  const std::size_t n = std::size_t(m.feedback_count);
  room.spare = arena.take<double>(std::size_t(m.nv));
  for (double **each : {&room.feedback, &room.found, &room.residual, &room.step, &room.kept})
    *each = arena.take<double>(n);
  room.broyden = arena.take<double>(n * n);
  room.lu = arena.take<double>(n * n);
  room.exchange = arena.take<std::int32_t>(n);
  return arena.used;
}

// what a drive demands: position, speed and acceleration of its coordinate, or residual and rates of its row; only from
// its level on
inline LawValue demand(const ModelData &m, const DriveData &drive, double t, const double *hosted) {
  const LawValue law = law_at(m, drive.law, t, hosted);
  if (drive.level == 1)
    return {0.0, law.value, law.rate};
  if (drive.level == 2)
    return {0.0, 0.0, law.value};
  if (!drive.cosine)
    return {law.value - drive.offset, law.rate, law.second};
  double s, c;
  sincos(law.value, s, c);
  return {c - drive.offset, -s * law.rate, -s * law.second - c * law.rate * law.rate};
}

// positions and speeds of driven hinges, as their laws have them; null where not wanted
inline void impose(const ModelData &m, double t, const double *hosted, double *q, double *v) {
  for (int k = 0; k < m.drive_count; ++k) {
    const DriveData &drive = m.drives[k];
    if (drive.row >= 0 || drive.level > 1)
      continue;
    const LawValue wanted = demand(m, drive, t, hosted);
    if (q && drive.level == 0)
      q[drive.coordinate] = wanted.value;
    if (v)
      v[drive.freedom] = wanted.rate;
  }
}

// calls what is evaluated outside, if anything is; q and v may then be imposed. False: stop.
template <int W>
inline bool consult(const Run &run, RatesRoom<W> &room, double t, const double *q, const double *v, const double *x) {
  return !run.host || run.host->evaluate(run.host->self, t, q, v, x, room.hosted, room.efforts, room.loads);
}

// residual, rate and second rate demanded of every row; rows that depend on time by themselves do so at t from now on
template <int W> inline void set_targets(const ModelData &m, RatesRoom<W> &room, double t) {
  room.loops.ws.t = t;
  for (int i = 0; i < 3 * m.nc; ++i)
    room.targets[i] = 0.0;
  for (int k = 0; k < m.drive_count; ++k) {
    const DriveData &drive = m.drives[k];
    if (drive.row < 0)
      continue;
    const LawValue wanted = demand(m, drive, t, room.hosted);
    room.targets[drive.row] = wanted.value;
    room.targets[m.nc + drive.row] = wanted.rate;
    room.targets[2 * m.nc + drive.row] = wanted.second;
  }
}

// Baumgarte 1972: gamma += 2 alpha (P v - rate) + beta^2 (phi - target), as second rates that the rows should have
template <int W> inline void stabilize(const ModelData &m, const Run &run, RatesRoom<W> &room, const double *q, const double *v) {
  LoopRoom<W> &loops = room.loops;
  evaluate_chords(m, loops.ws, q, nullptr, {.residual = loops.rhs, .values = loops.values, .drift = loops.drift, .active = run.active});
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    for (int j = 0; j < chord.rows; ++j) {
      const int row = chord.row + j;
      double rate = loops.drift[row] - room.targets[m.nc + row];
      for (int s = 0; s < chord.supports; ++s)
        rate += loops.values[chord.values + j * chord.supports + s] * v[m.support[chord.support + s]];
      room.targets[2 * m.nc + row] -= run.stabilization[0] * rate;
      if (m.holonomic[row])
        room.targets[2 * m.nc + row] -= run.stabilization[1] * (loops.rhs[row] - room.targets[row]);
    }
  }
}

// Accelerations at (t, q, v, x), for the feedback that stands in the room. More hinge forces and loads may be given;
// tau_out: null, or all hinge forces, those of drives included. Returns false if what is evaluated outside has failed.
template <int W>
inline bool rates_for_feedback(const ModelData &m, Run &run, RatesRoom<W> &room, double t, const double *q, const double *v, const double *x,
                  double *a, double *dx, const double *more_tau = nullptr, const double *more_loads = nullptr, double *tau_out = nullptr) {
  ++run.counts.evaluations;
  const bool pushed = run.host && run.host->pushes;
  if (!pushed)
    for (int f = 0; f < m.nv; ++f)
      room.efforts[f] = 0.0;
  if (!consult(run, room, t, q, v, x))
    return false;
  if (more_tau)
    for (int f = 0; f < m.nv; ++f)
      room.efforts[f] += more_tau[f];
  if (more_loads)
    for (int k = 0; k < 6 * m.users; ++k)
      room.loads[k] = (pushed ? room.loads[k] : 0.0) + more_loads[k];
  const Surroundings<double> at = surroundings(run, room, t, x, dx);
  if (run.marks.given) {
    for (int f = 0; f < m.nv; ++f)
      if (run.marks.given[f])
        a[f] = 0.0; // locked, unless a drive says otherwise
    for (int k = 0; k < m.drive_count; ++k)
      if (m.drives[k].row < 0)
        a[m.drives[k].freedom] = demand(m, m.drives[k], t, room.hosted).second;
  }
  const ElementLoads<double> loads{at, q, v, pushed || more_loads ? room.loads : nullptr, room.efforts, room.tau};
  if (!m.nc) {
    forward_dynamics<double>(m, room.loops.ws, q, v, room.tau, loads, run.marks.given, a, tau_out);
    return true;
  }
  set_targets(m, room, t);
  if (run.stabilization[0] != 0.0 || run.stabilization[1] != 0.0)
    stabilize(m, run, room, q, v);
  constrained_dynamics<W>(m, room.loops, q, v, room.tau, loads, room.targets + 2 * m.nc, run.marks.given, a, room.lambda, tau_out,
                          run.active);
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
