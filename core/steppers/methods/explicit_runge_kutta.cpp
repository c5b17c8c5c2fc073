#include "steppers/methods/explicit_runge_kutta.hpp"
#include "steppers/methods/hermite.hpp"
#include "steppers/methods/step_size_control.hpp"
#include "tree/chart.hpp"

namespace dalembert::DALEMBERT_ISA {

// stage i of a step of length h
static Outcome stage(const RunContext &i, const Tableau &tableau, int number, double h) {
  const ModelData &m = i.m;
  const Run &run = i.run;
  RunWorkspace &work = i.work;
  const int n = increments(m);
  const double t = run.t + tableau.c[number] * h;
  combine_stage(tableau, number, h, work.K, n, work.z);
  if (run.conditions.callbacks && !all_finite(work.z, n)) // it went so far that there is no state to ask about
    return Outcome::not_finite;
  if (!displaced(i, t, work.z, work.qs, work.vs, work.xs))
    return Outcome::callback_failed;
  return rates_in_chart(i, t, work.z, work.qs, work.vs, work.xs, work.K + std::ptrdiff_t(number) * n);
}

// the error of a step in units of the tolerance
static double judge(const RunContext &i, const Tableau &tableau, double h) {
  RunWorkspace &work = i.work;
  const auto size = [&](const double *z, bool first) {
    return measure(i, z, work.q1, work.v1, work.x1, first ? &i.run.worst_dof : nullptr);
  };
  return step_error(tableau, h, work.K, increments(i.m), work.error, size);
}

bool detects_stiffness(const RunContext &i, const Tableau &tableau, double h) {
  RunWorkspace &work = i.work;
  const StiffnessEstimate<double> found =
      estimate_stiffness(tableau, h, work.K, increments(i.m), work.error3, work.error);
  i.run.stiffness.add(is_stiff(tableau, h, found.rates, found.states));
  return i.run.stiffness.detected();
}

Outcome explicit_step(const RunContext &i, const Tableau &tableau, double h, double &error) {
  const ModelData &m = i.m;
  const Run &run = i.run;
  RunWorkspace &work = i.work;
  const int n = increments(m), s = tableau.stages;
  Outcome outcome = Outcome::reached;
  set_first_stage(m, work.v, work.a, work.dx, work.K);
  for (int k = 1; k < s && outcome == Outcome::reached; ++k)
    outcome = stage(i, tableau, k, h);
  if (outcome != Outcome::reached)
    return outcome;
  const double t1 = run.t + h;
  double *end = work.K + std::ptrdiff_t(s) * n;
  combine(tableau.b, s, h, work.K, n, work.z);
  if (!all_finite(work.z, n))
    return Outcome::not_finite;
  if (!displaced(i, t1, work.z, work.q1, work.v1, work.x1))
    return Outcome::callback_failed;
  const bool moved = (m.nc && run.project) || holds_contacts(run);
  const double turn = turn_error(turn_square<double>(m, work.z), tableau.order);
  if (tableau.estimated > s) {
    outcome = rates_in_chart(i, t1, work.z, work.q1, work.v1, work.x1, end);
    if (outcome != Outcome::reached)
      return outcome;
  }
  error = tableau.e && !run.error_control_off ? std::max(judge(i, tableau, h), turn) : 0.0;
  if (!(error <= 1.0))
    return std::isfinite(error) ? Outcome::reached : Outcome::not_finite;
  if (moved && !(work.near && tableau.estimated > s)) {
    outcome = project_onto_constraints(i, t1, work.q1, work.v1);
    if (outcome != Outcome::reached)
      return outcome;
    difference<double>(m, work.q, work.q1, work.z);
  }
  if (moved || tableau.estimated == s) {
    chart_rate<double>(m, work.z, work.v1, end);
    if (!rates(i, t1, work.q1, work.v1, work.x1, end + m.nv, end + 2 * m.nv))
      return Outcome::callback_failed;
  }
  copy(end + m.nv, m.nv, work.a1);
  copy(end + 2 * m.nv, m.nx, work.dx1);
  return all_finite(work.a1, m.nv) && all_finite(work.dx1, m.nx) ? Outcome::reached : Outcome::not_finite;
}

// dense output of dop853, for the step that has just been made
static Outcome prepare_dense(const RunContext &i, double h) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  for (int k = 13; k < 16; ++k) {
    const Outcome outcome = stage(i, dop853_tableau, k, h);
    if (outcome != Outcome::reached)
      return outcome;
  }
  prepare_dop853<double>(m, {work.q, work.v, work.x}, {work.q1, work.v1, work.x1}, h, work.K, work.D);
  return Outcome::reached;
}

static void dense_at(const RunContext &i, double, double s, double *z) { dop853_at(i.work.D, increments(i.m), s, z); }

double explicit_accept(const RunContext &i, int order, double h, double error) {
  Run &run = i.run;
  const double next = next_length(run.step, h, error, run.old_error, run.rejected_last, order);
  run.old_error = std::max(error, 1e-4);
  return next;
}

// ---- the methods

static std::size_t nothing_more(const ModelData &) { return 0; }
static void nothing_to_begin(const RunContext &) {}

const Stepper dop853_stepper{
    .name = "dop853",
    .order = dop853_tableau.order,
    .adaptive = true,
    .tableau = &dop853_tableau,
    .bytes = nothing_more,
    .begin = nothing_to_begin,
    .step = [](const RunContext &i, double h, double &error) { return explicit_step(i, dop853_tableau, h, error); },
    .accept = [](const RunContext &i, double h,
                 double error) { return explicit_accept(i, dop853_tableau.order, h, error); },
    .advance_state = nothing_to_begin,
    .dense_from_stages = true,
    .prepare = prepare_dense,
    .at = dense_at,
};

const Stepper dopri5_stepper{
    .name = "dopri5",
    .order = dopri5_tableau.order,
    .adaptive = true,
    .tableau = &dopri5_tableau,
    .bytes = nothing_more,
    .begin = nothing_to_begin,
    .step = [](const RunContext &i, double h, double &error) { return explicit_step(i, dopri5_tableau, h, error); },
    .accept = [](const RunContext &i, double h,
                 double error) { return explicit_accept(i, dopri5_tableau.order, h, error); },
    .advance_state = nothing_to_begin,
    .prepare = prepare_hermite,
    .at = hermite_at,
};

const Stepper rk4_stepper{
    .name = "rk4",
    .order = rk4_tableau.order,
    .tableau = &rk4_tableau,
    .bytes = nothing_more,
    .begin = nothing_to_begin,
    .step = [](const RunContext &i, double h, double &error) { return explicit_step(i, rk4_tableau, h, error); },
    .advance_state = nothing_to_begin,
    .prepare = prepare_hermite,
    .at = hermite_at,
};

// v1 = v + h a, q1 = q (+) h v1: the order of the two makes it symplectic
static Outcome euler_step(const RunContext &i, double h, double &) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  const double t1 = i.run.t + h;
  for (int f = 0; f < m.nv; ++f) {
    work.z[m.nv + f] = h * work.a[f];
    work.z[f] = h * (work.v[f] + work.z[m.nv + f]);
  }
  for (int k = 0; k < m.nx; ++k)
    work.z[2 * m.nv + k] = h * work.dx[k];
  if (!displaced(i, t1, work.z, work.q1, work.v1, work.x1))
    return Outcome::callback_failed;
  const Outcome outcome = project_onto_constraints(i, t1, work.q1, work.v1);
  if (outcome != Outcome::reached)
    return outcome;
  if (!rates(i, t1, work.q1, work.v1, work.x1, work.a1, work.dx1))
    return Outcome::callback_failed;
  return all_finite(work.a1, m.nv) && all_finite(work.dx1, m.nx) ? Outcome::reached : Outcome::not_finite;
}

const Stepper euler_stepper{
    .name = "euler",
    .order = 1,
    .bytes = nothing_more,
    .begin = nothing_to_begin,
    .step = euler_step,
    .advance_state = nothing_to_begin,
    .prepare = prepare_hermite,
    .at = hermite_at,
};

} // namespace dalembert::DALEMBERT_ISA
