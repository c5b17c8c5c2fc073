#include "steppers/methods/explicit_runge_kutta.hpp"
#include "steppers/methods/step_size_control.hpp"
#include "steppers/methods/hermite.hpp"
#include "tree/chart.hpp"

namespace dalembert::DALEMBERT_ISA {

// out = h sum of weight times K
static void combine(const double *weights, int stages, double h, const double *K, int n, double *out) {
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
static Outcome stage(const RunContext &i, const Tableau &tableau, int number, double h) {
  const ModelData &m = i.m;
  const Run &run = i.run;
  RunWorkspace &work = i.work;
  const int n = increments(m);
  const double t = run.t + tableau.c[number] * h;
  combine(tableau.a + std::ptrdiff_t(number) * tableau.width, number, h, work.K, n, work.z);
  if (run.conditions.callbacks && !all_finite(work.z, n)) // it went so far that there is no state to ask about
    return Outcome::not_finite;
  if (!displaced(i, t, work.z, work.qs, work.vs, work.xs))
    return Outcome::callback_failed;
  return rates_in_chart(i, t, work.z, work.qs, work.vs, work.xs, work.K + std::ptrdiff_t(number) * n);
}

void first_stage(const RunContext &i) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  copy(work.v, m.nv, work.K);
  copy(work.a, m.nv, work.K + m.nv);
  copy(work.dx, m.nx, work.K + 2 * m.nv);
}

// the error of a step in units of the tolerance
static double judge(const RunContext &i, const Tableau &tableau, double h) {
  const ModelData &m = i.m;
  Run &run = i.run;
  RunWorkspace &work = i.work;
  const int n = increments(m);
  int worst = 0;
  combine(tableau.e, tableau.estimated, h, work.K, n, work.error);
  const double fine = measure(i, work.error, work.q1, work.v1, work.x1, &worst);
  run.worst_dof = worst;
  if (!tableau.e3)
    return fine;
  combine(tableau.e3, tableau.estimated, h, work.K, n, work.error3);
  const double coarse = measure(i, work.error3, work.q1, work.v1, work.x1);
  return combined_error(fine, coarse);
}

bool detects_stiffness(const RunContext &i, const Tableau &tableau, double h) {
  const ModelData &m = i.m;
  Run &run = i.run;
  RunWorkspace &work = i.work;
  const int n = increments(m), last = tableau.stages - 1;
  const double *end = work.K + std::ptrdiff_t(tableau.stages) * n, *before = work.K + std::ptrdiff_t(last) * n;
  combine(tableau.a + std::ptrdiff_t(last) * tableau.width, last, h, work.K, n, work.error3);
  combine(tableau.b, tableau.stages, h, work.K, n, work.error);
  double slope = 0.0, apart = 0.0;
  for (int k = 0; k < n; ++k) {
    slope += (end[k] - before[k]) * (end[k] - before[k]);
    apart += (work.error[k] - work.error3[k]) * (work.error[k] - work.error3[k]);
  }
  if (apart > 0.0 && h * std::sqrt(slope / apart) > tableau.stability) {
    run.calm_signs = 0;
    return ++run.stiff_signs >= 15;
  }
  if (++run.calm_signs >= 6)
    run.stiff_signs = 0;
  return false;
}

Outcome explicit_step(const RunContext &i, const Tableau &tableau, double h, double &error) {
  const ModelData &m = i.m;
  const Run &run = i.run;
  RunWorkspace &work = i.work;
  const int n = increments(m), s = tableau.stages;
  Outcome outcome = Outcome::reached;
  first_stage(i);
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
  const bool moved = m.nc && run.project;
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

// Prepares dop853's continuous extension of order 7 for the step that has just been made.
static Outcome prepare_dop853(const RunContext &i, double h) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  const int n = increments(m), nv = m.nv;
  for (int k = 13; k < 16; ++k) {
    const Outcome outcome = stage(i, dop853_tableau, k, h);
    if (outcome != Outcome::reached)
      return outcome;
  }
  double *F0 = work.D, *F1 = F0 + n, *F2 = F1 + n;
  difference<double>(m, work.q, work.q1, F0);
  for (int f = 0; f < nv; ++f)
    F0[nv + f] = work.v1[f] - work.v[f];
  for (int k = 0; k < m.nx; ++k)
    F0[2 * nv + k] = work.x1[k] - work.x[k];
  const double *begin = work.K, *end = work.K + std::ptrdiff_t(12) * n;
  for (int k = 0; k < n; ++k) {
    F1[k] = h * begin[k] - F0[k];
    F2[k] = 2.0 * F0[k] - h * (begin[k] + end[k]);
  }
  for (int r = 0; r < 4; ++r)
    combine(dop853::dense[r], 16, h, work.K, n, work.D + (3 + r) * n);
  return Outcome::reached;
}

// at the fraction s of the step: increments
static void dop853_at(const RunContext &i, double, double s, double *z) {
  const int n = increments(i.m);
  for (int k = 0; k < n; ++k) {
    double sum = 0.0;
    for (int r = 6; r >= 0; --r)
      sum = (sum + i.work.D[std::ptrdiff_t(r) * n + k]) * (r % 2 ? 1.0 - s : s);
    z[k] = sum;
  }
}

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
    .accept = [](const RunContext &i, double h, double error) { return explicit_accept(i, dop853_tableau.order, h, error); },
    .advance_state = nothing_to_begin,
    .dense_from_stages = true,
    .prepare = prepare_dop853,
    .at = dop853_at,
};

const Stepper dopri5_stepper{
    .name = "dopri5",
    .order = dopri5_tableau.order,
    .adaptive = true,
    .tableau = &dopri5_tableau,
    .bytes = nothing_more,
    .begin = nothing_to_begin,
    .step = [](const RunContext &i, double h, double &error) { return explicit_step(i, dopri5_tableau, h, error); },
    .accept = [](const RunContext &i, double h, double error) { return explicit_accept(i, dopri5_tableau.order, h, error); },
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
