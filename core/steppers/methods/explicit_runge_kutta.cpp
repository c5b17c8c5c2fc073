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
static Outcome stage(const Integration &i, const Tableau &tableau, int number, double h) {
  const ModelData &m = i.m;
  const Run &run = i.run;
  SteppingRoom &room = i.room;
  const int n = increments(m);
  const double t = run.t + tableau.c[number] * h;
  combine(tableau.a + std::ptrdiff_t(number) * tableau.width, number, h, room.K, n, room.z);
  if (run.conditions.host && !all_finite(room.z, n)) // it went so far that there is no state to ask about
    return Outcome::not_finite;
  if (!displaced(i, t, room.z, room.qs, room.vs, room.xs))
    return Outcome::host;
  return rates_in_chart(i, t, room.z, room.qs, room.vs, room.xs, room.K + std::ptrdiff_t(number) * n);
}

void first_stage(const Integration &i) {
  const ModelData &m = i.m;
  SteppingRoom &room = i.room;
  copy(room.v, m.nv, room.K);
  copy(room.a, m.nv, room.K + m.nv);
  copy(room.dx, m.nx, room.K + 2 * m.nv);
}

// the error of a step in units of the tolerance
static double judge(const Integration &i, const Tableau &tableau, double h) {
  const ModelData &m = i.m;
  Run &run = i.run;
  SteppingRoom &room = i.room;
  const int n = increments(m);
  int worst = 0;
  combine(tableau.e, tableau.estimated, h, room.K, n, room.error);
  const double fine = measure(i, room.error, room.q1, room.v1, room.x1, &worst);
  run.worst_freedom = worst;
  if (!tableau.e3)
    return fine;
  combine(tableau.e3, tableau.estimated, h, room.K, n, room.error3);
  const double coarse = measure(i, room.error3, room.q1, room.v1, room.x1);
  return both_estimates(fine, coarse);
}

bool looks_stiff(const Integration &i, const Tableau &tableau, double h) {
  const ModelData &m = i.m;
  Run &run = i.run;
  SteppingRoom &room = i.room;
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

Outcome explicit_step(const Integration &i, const Tableau &tableau, double h, double &error) {
  const ModelData &m = i.m;
  const Run &run = i.run;
  SteppingRoom &room = i.room;
  const int n = increments(m), s = tableau.stages;
  Outcome outcome = Outcome::reached;
  first_stage(i);
  for (int k = 1; k < s && outcome == Outcome::reached; ++k)
    outcome = stage(i, tableau, k, h);
  if (outcome != Outcome::reached)
    return outcome;
  const double t1 = run.t + h;
  double *end = room.K + std::ptrdiff_t(s) * n;
  combine(tableau.b, s, h, room.K, n, room.z);
  if (!all_finite(room.z, n))
    return Outcome::not_finite;
  if (!displaced(i, t1, room.z, room.q1, room.v1, room.x1))
    return Outcome::host;
  const bool moved = m.nc && run.project;
  const double turn = turn_error(turn_square<double>(m, room.z), tableau.order);
  if (tableau.estimated > s) {
    outcome = rates_in_chart(i, t1, room.z, room.q1, room.v1, room.x1, end);
    if (outcome != Outcome::reached)
      return outcome;
  }
  error = tableau.e && !run.judged ? std::max(judge(i, tableau, h), turn) : 0.0;
  if (!(error <= 1.0))
    return std::isfinite(error) ? Outcome::reached : Outcome::not_finite;
  if (moved && !(room.near && tableau.estimated > s)) {
    outcome = onto_loops(i, t1, room.q1, room.v1);
    if (outcome != Outcome::reached)
      return outcome;
    difference<double>(m, room.q, room.q1, room.z);
  }
  if (moved || tableau.estimated == s) {
    chart_rate<double>(m, room.z, room.v1, end);
    if (!rates(i, t1, room.q1, room.v1, room.x1, end + m.nv, end + 2 * m.nv))
      return Outcome::host;
  }
  copy(end + m.nv, m.nv, room.a1);
  copy(end + 2 * m.nv, m.nx, room.dx1);
  return all_finite(room.a1, m.nv) && all_finite(room.dx1, m.nx) ? Outcome::reached : Outcome::not_finite;
}

// Prepares dop853's continuous extension of order 7 for the step that has just been made.
static Outcome prepare_dop853(const Integration &i, double h) {
  const ModelData &m = i.m;
  SteppingRoom &room = i.room;
  const int n = increments(m), nv = m.nv;
  for (int k = 13; k < 16; ++k) {
    const Outcome outcome = stage(i, dop853_tableau, k, h);
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
static void dop853_at(const Integration &i, double, double s, double *z) {
  const int n = increments(i.m);
  for (int k = 0; k < n; ++k) {
    double sum = 0.0;
    for (int r = 6; r >= 0; --r)
      sum = (sum + i.room.D[std::ptrdiff_t(r) * n + k]) * (r % 2 ? 1.0 - s : s);
    z[k] = sum;
  }
}

double explicit_accept(const Integration &i, int order, double h, double error) {
  Run &run = i.run;
  const double next = next_length(run.step, h, error, run.old_error, run.rejected_last, order);
  run.old_error = std::max(error, 1e-4);
  return next;
}

// ---- the methods

static std::size_t nothing_more(const ModelData &) { return 0; }
static void nothing_to_begin(const Integration &) {}

const Stepper dop853_stepper{
    .name = "dop853",
    .order = dop853_tableau.order,
    .adaptive = true,
    .tableau = &dop853_tableau,
    .bytes = nothing_more,
    .begin = nothing_to_begin,
    .step = [](const Integration &i, double h, double &error) { return explicit_step(i, dop853_tableau, h, error); },
    .accept = [](const Integration &i, double h, double error) { return explicit_accept(i, dop853_tableau.order, h, error); },
    .move_on = nothing_to_begin,
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
    .step = [](const Integration &i, double h, double &error) { return explicit_step(i, dopri5_tableau, h, error); },
    .accept = [](const Integration &i, double h, double error) { return explicit_accept(i, dopri5_tableau.order, h, error); },
    .move_on = nothing_to_begin,
    .prepare = prepare_hermite,
    .at = hermite_at,
};

const Stepper rk4_stepper{
    .name = "rk4",
    .order = rk4_tableau.order,
    .tableau = &rk4_tableau,
    .bytes = nothing_more,
    .begin = nothing_to_begin,
    .step = [](const Integration &i, double h, double &error) { return explicit_step(i, rk4_tableau, h, error); },
    .move_on = nothing_to_begin,
    .prepare = prepare_hermite,
    .at = hermite_at,
};

// v1 = v + h a, q1 = q (+) h v1: the order of the two makes it symplectic
static Outcome euler_step(const Integration &i, double h, double &) {
  const ModelData &m = i.m;
  SteppingRoom &room = i.room;
  const double t1 = i.run.t + h;
  for (int f = 0; f < m.nv; ++f) {
    room.z[m.nv + f] = h * room.a[f];
    room.z[f] = h * (room.v[f] + room.z[m.nv + f]);
  }
  for (int k = 0; k < m.nx; ++k)
    room.z[2 * m.nv + k] = h * room.dx[k];
  if (!displaced(i, t1, room.z, room.q1, room.v1, room.x1))
    return Outcome::host;
  const Outcome outcome = onto_loops(i, t1, room.q1, room.v1);
  if (outcome != Outcome::reached)
    return outcome;
  if (!rates(i, t1, room.q1, room.v1, room.x1, room.a1, room.dx1))
    return Outcome::host;
  return all_finite(room.a1, m.nv) && all_finite(room.dx1, m.nx) ? Outcome::reached : Outcome::not_finite;
}

const Stepper euler_stepper{
    .name = "euler",
    .order = 1,
    .bytes = nothing_more,
    .begin = nothing_to_begin,
    .step = euler_step,
    .move_on = nothing_to_begin,
    .prepare = prepare_hermite,
    .at = hermite_at,
};

} // namespace dalembert::DALEMBERT_ISA
