#include "steppers/run_workspace.hpp"
#include "contact/contact_motion.hpp"
#include "contact/listed_pairs.hpp"
#include "steppers/methods/runge_kutta.hpp"
#include "system/drives.hpp"
#include "system/projection.hpp"
#include "tree/chart.hpp"
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

std::size_t lay_out(const ModelData &m, std::byte *base, RunWorkspace &work) {
  Arena arena{base};
  arena.skip(lay_out(m, base, work.motion, false));
  const std::size_t nq = std::size_t(m.nq), nv = std::size_t(m.nv), nx = std::size_t(m.nx),
                    n = std::size_t(increments(m));
  for (double **each : {&work.q, &work.q1, &work.qs})
    *each = arena.take<double>(nq);
  for (double **each : {&work.v, &work.v1, &work.vs, &work.a, &work.a1, &work.change})
    *each = arena.take<double>(nv);
  for (double **each : {&work.x, &work.x1, &work.xs, &work.dx, &work.dx1})
    *each = arena.take<double>(nx);
  for (double **each : {&work.z, &work.error, &work.error3})
    *each = arena.take<double>(n);
  work.K = arena.take<double>(max_stages * n);
  work.D = arena.take<double>(7 * n);
  for (double **each : {&work.branches, &work.slack, &work.least, &work.passed, &work.held, &work.kept, &work.lowest,
                        &work.highest, &work.strayed})
    *each = arena.take<double>(std::size_t(m.switching_count));
  arena.skip(lay_out(m, arena.here(), work.switching));
  return arena.used;
}

bool all_finite(const double *x, int count) {
  double zero = 0.0;
  for (int k = 0; k < count; ++k)
    zero += 0.0 * x[k];
  return zero == 0.0;
}

double measure(const RunContext &i, const double *z, const double *q1, const double *v1, const double *x1, int *worst) {
  const RunWorkspace &work = i.work;
  return i.run.error_control_off ? 0.0 : norm<double>(i.m, i.run, {work.q, work.v, work.x}, {q1, v1, x1}, z, worst);
}

bool impose_drives(const RunContext &i, double t, double *q, double *v, const double *x) {
  if (!i.m.drive_count)
    return true;
  t = i.run.interval.clamp(t);
  if (i.m.callback_law_count && !evaluate_callbacks(i.m, i.run.conditions, i.work.motion.system, {t, q, v, x}))
    return false;
  impose_drives(i.m, t, i.work.motion.system.callback_laws, q, v);
  return true;
}

bool displaced(const RunContext &i, double t, const double *z, double *q, double *v, double *x) {
  const ModelData &m = i.m;
  integrate<double>(m, i.work.q, z, q);
  for (int f = 0; f < m.nv; ++f)
    v[f] = i.work.v[f] + z[m.nv + f];
  for (int k = 0; k < m.nx; ++k)
    x[k] = i.work.x[k] + z[2 * m.nv + k];
  return impose_drives(i, t, q, v, x);
}

void note_speeds(const RunContext &i) { i.pairs->note_speeds(i.work.motion.system.loops.ws); }

bool add_contact_effects(const RunContext &i, double t, const double *q, const double *v, double *a) {
  return add_contact_accelerations(i, *i.run.contact_events, t, q, v, a);
}

bool holds_contacts(const Run &run) { return run.contact_events && !run.contact_events->closed.empty(); }

static Outcome project_onto_loops(const RunContext &i, double t, double *q, double *v) {
  const ModelData &m = i.m;
  if (!m.nc || !i.run.project)
    return Outcome::reached;
  SystemWorkspace<double> &system = i.work.motion.system;
  t = i.run.interval.clamp(t);
  system.loops.ws.t = t;
  set_targets(m, t, system.callback_laws, system.targets);
  if (!project_positions(m, i.run.conditions, system, q, i.work.change, i.run.counts.projections))
    return Outcome::loops_open;
  project_velocities(m, i.run.conditions, system, q, v, i.work.change, i.run.conditions.velocity_prescribed);
  return Outcome::reached;
}

Outcome project_onto_constraints(const RunContext &i, double t, double *q, double *v) {
  const Outcome outcome = project_onto_loops(i, t, q, v);
  if (outcome != Outcome::reached || !holds_contacts(i.run))
    return outcome;
  project_onto_contacts(i, *i.run.contact_events, i.run.interval.clamp(t), q, v);
  return Outcome::reached;
}

Outcome rates_in_chart(const RunContext &i, double t, double *z, double *q, double *v, const double *x, double *K) {
  const ModelData &m = i.m;
  if (i.work.near) {
    const Outcome outcome = project_onto_constraints(i, t, q, v);
    if (outcome != Outcome::reached)
      return outcome;
    difference<double>(m, i.work.q, q, z);
  }
  chart_rate<double>(m, z, v, K);
  return rates(i, t, q, v, x, K + m.nv, K + 2 * m.nv) ? Outcome::reached : Outcome::callback_failed;
}

} // namespace dalembert::DALEMBERT_ISA
