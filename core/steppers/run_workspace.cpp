#include "steppers/run_workspace.hpp"
#include "system/drives.hpp"
#include "system/projection.hpp"
#include "tree/chart.hpp"
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

std::size_t lay_out(const ModelData &m, std::byte *base, SteppingRoom &room) {
  Arena arena{base};
  arena.skip(lay_out(m, base, room.motion, false));
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
  for (double **each : {&room.sides, &room.slack, &room.least, &room.passed, &room.held, &room.kept, &room.lowest, &room.highest, &room.strayed})
    *each = arena.take<double>(std::size_t(m.threshold_count));
  arena.skip(lay_out(m, arena.here(), room.switching));
  return arena.used;
}

bool all_finite(const double *x, int count) {
  double zero = 0.0;
  for (int k = 0; k < count; ++k)
    zero += 0.0 * x[k];
  return zero == 0.0;
}

double measure(const Integration &i, const double *z, const double *q1, const double *v1, const double *x1, int *worst) {
  const ModelData &m = i.m;
  const Run &run = i.run;
  const SteppingRoom &room = i.room;
  if (run.judged)
    return 0.0;
  double sum = 0.0, most = 0.0;
  const auto add = [&](double value, double atol, double size, int place, double noise) {
    const double part = value / (atol + run.rtol * size + noise), square = part * part;
    sum += square;
    if (worst && !(square <= most)) {
      most = square;
      *worst = place;
    }
  };
  for (int f = 0; f < m.nv; ++f)
    add(z[f], run.atol[f], larger(position_size(m, room.q, f), position_size(m, q1, f)), f, run.noise[0]);
  for (int f = 0; f < m.nv; ++f)
    add(z[m.nv + f], run.atol[m.nv + f], larger(std::fabs(room.v[f]), std::fabs(v1[f])), f, run.noise[1]);
  for (int k = 0; k < m.nx; ++k)
    add(z[2 * m.nv + k], run.atol[2 * m.nv + k], larger(std::fabs(room.x[k]), std::fabs(x1[k])), m.nv + k, 0.0);
  const int n = increments(m);
  return n ? std::sqrt(sum / n) : 0.0;
}

bool impose_drives(const Integration &i, double t, double *q, double *v, const double *x) {
  if (!i.m.drive_count)
    return true;
  t = i.run.stretch.seen(t);
  if (i.m.hosted_laws && !consult(i.m, i.run.conditions, i.room.motion.system, {t, q, v, x}))
    return false;
  impose(i.m, t, i.room.motion.system.hosted, q, v);
  return true;
}

bool displaced(const Integration &i, double t, const double *z, double *q, double *v, double *x) {
  const ModelData &m = i.m;
  integrate<double>(m, i.room.q, z, q);
  for (int f = 0; f < m.nv; ++f)
    v[f] = i.room.v[f] + z[m.nv + f];
  for (int k = 0; k < m.nx; ++k)
    x[k] = i.room.x[k] + z[2 * m.nv + k];
  return impose_drives(i, t, q, v, x);
}

Outcome onto_loops(const Integration &i, double t, double *q, double *v) {
  const ModelData &m = i.m;
  if (!m.nc || !i.run.project)
    return Outcome::reached;
  SystemRoom<double> &system = i.room.motion.system;
  t = i.run.stretch.seen(t);
  system.loops.ws.t = t;
  set_targets(m, t, system.hosted, system.targets);
  if (!project_positions(m, i.run.conditions, system, q, i.room.change, i.run.counts.projections))
    return Outcome::apart;
  project_speeds(m, i.run.conditions, system, q, v, i.room.change, i.run.conditions.paced);
  return Outcome::reached;
}

Outcome rates_in_chart(const Integration &i, double t, double *z, double *q, double *v, const double *x, double *K) {
  const ModelData &m = i.m;
  if (i.room.near) {
    const Outcome outcome = onto_loops(i, t, q, v);
    if (outcome != Outcome::reached)
      return outcome;
    difference<double>(m, i.room.q, q, z);
  }
  chart_rate<double>(m, z, v, K);
  return rates(i, t, q, v, x, K + m.nv, K + 2 * m.nv) ? Outcome::reached : Outcome::host;
}

} // namespace dalembert::DALEMBERT_ISA
