#include "steppers/methods/generalized_alpha.hpp"
#include "scalar/dense_lu.hpp"
#include "steppers/methods/explicit_runge_kutta.hpp"
#include "steppers/methods/hermite.hpp"
#include "steppers/methods/step_size_control.hpp"
#include "system/drives.hpp"
#include "system/newton/newton.hpp"
#include "system/projection.hpp"
#include "tree/chart.hpp"
#include "tree/manifold.hpp"
#include "tree/mass_matrix.hpp"
#include <algorithm>
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

struct AlphaWorkspace {
  DerivativesWorkspace derivatives;
  double *A, *A1;        // nv: acceleration-like variables
  double *B;             // nv: A as a step of this length would have left it (6)
  double *jerk, *x_jerk; // nv, nx: rates of A and of dx in the last step
  double *e;             // 2 nv + nx: error of a step
  double *matrix, *b;    // (nv + nc)^2, nv + nc
  std::int32_t *exchange;
  double *mass;     // nv x nv
  double *residual; // nv
  double *lambda;   // nc: at the end of the step
  double *lambda0;  // nc: at its beginning
  double *grip;     // nc: P M^-1 P^T of the row by itself, about; 0 for rows that can move nothing
  // the same by fronts (system/newton/newton.hpp)
  NewtonWorkspace newton;
  NewtonFactors<double> fronts;
  struct Kept {
    double length, tried;            // of the last step, 0: none; of the one under way
    std::int32_t use_frontal_solver; // where the factors are
  } * kept;
};

static std::size_t lay_out(const ModelData &m, std::byte *base, AlphaWorkspace &work) {
  Arena arena{base};
  arena.skip(lay_out(m, base, work.derivatives));
  const std::size_t nv = std::size_t(m.nv), size = nv + std::size_t(m.nc);
  work.A = arena.take<double>(nv);
  work.A1 = arena.take<double>(nv);
  work.B = arena.take<double>(nv);
  work.jerk = arena.take<double>(nv);
  work.x_jerk = arena.take<double>(std::size_t(m.nx));
  work.e = arena.take<double>(std::size_t(increments(m)));
  work.matrix = arena.take<double>(size * size);
  work.b = arena.take<double>(size);
  work.exchange = arena.take<std::int32_t>(size);
  work.mass = arena.take<double>(nv * nv);
  work.residual = arena.take<double>(nv);
  work.lambda = arena.take<double>(std::size_t(m.nc));
  work.lambda0 = arena.take<double>(std::size_t(m.nc));
  work.grip = arena.take<double>(std::size_t(m.nc));
  work.kept = arena.take<AlphaWorkspace::Kept>(1);
  if (m.fronts.pays_fresh) {
    arena.skip(lay_out(m, arena.here(), work.newton));
    arena.skip(lay_out(m, arena.here(), work.fronts));
  }
  return arena.used;
}

struct AlphaCoefficients {
  double alpha_m, alpha_f, beta, gamma;
  double shift() const { return alpha_m - alpha_f; }
};
static AlphaCoefficients alpha_numbers(double rho) {
  const double alpha_m = (2.0 * rho - 1.0) / (rho + 1.0), alpha_f = rho / (rho + 1.0), gamma = 0.5 + alpha_f - alpha_m;
  return {alpha_m, alpha_f, 0.25 * (gamma + 0.5) * (gamma + 0.5), gamma};
}

// R - P^T lambda at the end of the step; rows and their Jacobian are left in the workspace of the loops
static bool motion_residual(const RunContext &i, AlphaWorkspace &mine, double t) {
  const ModelData &m = i.m;
  const Conditions &c = i.run.conditions;
  RunWorkspace &work = i.work;
  SystemWorkspace<double> &system = work.motion.system;
  const SystemState<double> end{t, work.q1, work.v1, work.x1};
  ++i.run.counts.evaluations;
  if (!evaluate_callbacks(m, c, system, end))
    return false;
  motion_residuals(m, c, system, evaluation_context(c, system, end, work.dx1), end, work.a1, mine.lambda,
                   static_cast<double *>(nullptr));
  if (i.pairs)
    note_speeds(i);
  for (int f = 0; f < m.nv; ++f)
    mine.residual[f] = system.passed[f] - system.tau[f];
  if (m.nc)
    evaluate_loop_constraints<double>(m, system.loops.ws, work.q1, nullptr,
                                      {.residual = system.loops.rhs,
                                       .values = system.loops.values,
                                       .drift = system.loops.drift,
                                       .active = c.constraint_active,
                                       .held = c.cut_velocity_locked});
  return true;
}

// A row of (4) with its eps. One that can move nothing is left out, whatever it is missed by: it demands nothing that
// joints and drives do not demand already.
static void bind_row(const ModelData &m, AlphaWorkspace &mine, const LoopConstraintData &constraint, int j,
                     const LoopWorkspace<double> &loops, const unsigned char *given) {
  const std::ptrdiff_t nv = m.nv, size = nv + m.nc, row = nv + constraint.row + j;
  const double *entries = loops.values + constraint.values + std::ptrdiff_t(j) * constraint.supports;
  double *E = mine.matrix, &grip = mine.grip[constraint.row + j];
  grip = 0.0;
  for (int s = 0; s < constraint.supports; ++s) {
    const std::ptrdiff_t f = m.support[constraint.support + s];
    if (!(given && given[f]) && mine.mass[f * (nv + 1)] > 0.0)
      grip += entries[s] * entries[s] / mine.mass[f * (nv + 1)];
  }
  if (!(loops.leverage[constraint.row + j] > independence(loops.opening)) || !(grip > 0.0)) {
    grip = 0.0;
    E[row * (size + 1)] = 1.0;
    mine.lambda[constraint.row + j] = 0.0;
    return;
  }
  for (int s = 0; s < constraint.supports; ++s) {
    const std::ptrdiff_t f = m.support[constraint.support + s];
    E[row * size + f] = entries[s];
    E[f * size + row] = -entries[s];
  }
  E[row * (size + 1)] = -1e-10 * grip;
}

// calls f(row, its unknown) for all rows of the loops that have one; the others repeat these
template <class F> static inline void for_multipliers(const ModelData &m, F &&f) {
  for (int k = 0; k < m.loop_constraint_count; ++k)
    for (int j = 0; m.loop_constraints[k].rows && j < m.fronts.labels[m.fronts.multipliers_of[k]].size; ++j)
      f(m.loop_constraints[k].row + j, m.fronts.labels[m.fronts.multipliers_of[k]].first + j);
}

// Changes of the forces at points, in fixed directions, become those of their multipliers, whose directions turn with
// body A: n . (theta x f) less.
static void turn_back_multipliers(const ModelData &m, const Workspace<double> &ws, AlphaWorkspace &mine,
                                  double second) {
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    if (m.fronts.loop_constraints[k].link >= 0 || !constraint.rows || !constraint.body_a ||
        constraint.form != LoopConstraintForm::joint)
      continue;
    const int rows = m.fronts.labels[m.fronts.multipliers_of[k]].size;
    const Mat3<double> R = mul(ws.X_W[constraint.body_a].R, as_mat(constraint.R_FA));
    const double *lambda = mine.lambda + constraint.row, *y = mine.fronts.y + 18 * std::ptrdiff_t(constraint.body_a);
    Vec3<double> f = zero3<double>();
    for (int j = 0; j < rows; ++j)
      f = f + scale(lambda[j], axis_of(R, j));
    const Vec3<double> change = cross(Vec3<double>{y[12], y[13], y[14]}, f);
    for (int j = 0; j < rows; ++j)
      mine.b[m.nv + constraint.row + j] -= dot(axis_of(R, j), change) / second;
  }
}

// (4) by fronts
static bool factor_alpha_by_fronts(const RunContext &i, AlphaWorkspace &mine, double t, double rate, double second) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  LoopWorkspace<double> &loops = work.motion.system.loops;
  const Conditions &c = i.run.conditions;
  if (m.nc)
    evaluate_loop_constraints<double>(m, loops.ws, work.q1, nullptr,
                                      {.values = loops.values,
                                       .leverage = loops.leverage,
                                       .opening = &loops.opening,
                                       .active = c.constraint_active,
                                       .held = c.cut_velocity_locked});
  const SystemState<double> end{t, work.q1, work.v1, work.x1};
  linearize(m, c, work.motion, mine.derivatives, mine.newton, end, work.a1, mine.lambda, LoopConstraintRate::position,
            false);
  if (!factor_fronts(m, mine.newton, StepRates<double>{rate, second}, mine.fronts))
    return false;
  std::fill_n(mine.grip, m.nc, 0.0);
  for_multipliers(m, [&](int row, int unknown) { mine.grip[row] = mine.newton.fixed[unknown] ? 0.0 : 1.0; });
  for (int row = 0; row < m.nc; ++row)
    mine.lambda[row] *= mine.grip[row];
  return true;
}

// (4) for the right-hand side in b
static void solve_alpha(const ModelData &m, const Workspace<double> &ws, AlphaWorkspace &mine, double rate,
                        double second) {
  if (!mine.kept->use_frontal_solver)
    return solve_lu(mine.matrix, mine.exchange, m.nv + m.nc, mine.b);
  double *x = mine.fronts.x;
  std::fill_n(x, m.fronts.unknown_count, 0.0);
  for (int f = 0; f < m.nv; ++f)
    x[f] = second * mine.b[f];
  for_multipliers(m, [&](int row, int unknown) { x[unknown] = mine.b[m.nv + row]; });
  solve_fronts<double>(m, mine.newton, {rate, second}, mine.fronts, nullptr, nullptr);
  copy(x, m.nv, mine.b);
  std::fill_n(mine.b + m.nv, m.nc, 0.0);
  for_multipliers(m, [&](int row, int unknown) { mine.b[m.nv + row] = x[unknown] / second; });
  turn_back_multipliers(m, ws, mine, second);
}

// the matrix of (4) at the state in q1, v1, a1, factored
static bool factor_alpha(const RunContext &i, AlphaWorkspace &mine, double t, double rate, double second) {
  const ModelData &m = i.m;
  Run &run = i.run;
  RunWorkspace &work = i.work;
  LoopWorkspace<double> &loops = work.motion.system.loops;
  const std::ptrdiff_t nv = m.nv, size = nv + m.nc;
  double *E = mine.matrix;
  ++run.counts.jacobians;
  ++run.counts.factorizations;
  mine.kept->use_frontal_solver =
      use_frontal_solver(m, run.conditions, false) && factor_alpha_by_fronts(i, mine, t, rate, second);
  if (mine.kept->use_frontal_solver)
    return true;
  mass_matrix<double>(m, loops.ws, work.q1, mine.mass);
  for (std::ptrdiff_t k = 0; k < size * size; ++k)
    E[k] = 0.0;
  for (std::ptrdiff_t row = 0; row < nv; ++row)
    for (std::ptrdiff_t j = 0; j < nv; ++j)
      E[row * size + j] = mine.mass[row * nv + j];
  const SystemState<double> end{t, work.q1, work.v1, work.x1};
  hold_state(m, run.conditions, work.motion, mine.derivatives, end, work.a1, mine.lambda);
  // element states follow by the trapezoidal rule
  for (const Direction direction : {Direction::position, Direction::velocity}) {
    const double weight = (direction == Direction::velocity ? rate : 1.0) / second;
    for (int first = 0; first < m.nv; first += W) {
      const int count = m.nv - first < W ? m.nv - first : W;
      vary(m, run.conditions, work.motion, mine.derivatives, end, direction, first, count);
      for (std::ptrdiff_t f = 0; f < nv; ++f)
        for (int l = 0; l < count; ++l)
          E[f * size + first + l] -= weight * mine.derivatives.column[f][l];
    }
  }
  evaluate_loop_constraints<double>(m, loops.ws, work.q1, nullptr,
                                    {.values = loops.values,
                                     .leverage = loops.leverage,
                                     .opening = &loops.opening,
                                     .active = run.conditions.constraint_active,
                                     .held = run.conditions.cut_velocity_locked});
  for (int k = 0; k < m.loop_constraint_count; ++k)
    for (int j = 0; j < m.loop_constraints[k].rows; ++j)
      bind_row(m, mine, m.loop_constraints[k], j, loops, run.conditions.acceleration_prescribed);
  for (std::ptrdiff_t f = 0; run.conditions.acceleration_prescribed && f < nv; ++f)
    if (run.conditions.acceleration_prescribed[f]) { // follows its law
      for (std::ptrdiff_t j = 0; j < size; ++j)
        E[f * size + j] = 0.0;
      E[f * (size + 1)] = 1.0;
    }
  return factor_lu(E, mine.exchange, int(size));
}

namespace {

// One step of length h, for Newton's method.
struct AlphaStep {
  const RunContext &i;
  AlphaWorkspace &mine;
  const AlphaCoefficients number;
  const double h, t1;        // length and end
  const double rate, second; // derivatives of velocities and accelerations by positions

  AlphaStep(const RunContext &i, AlphaWorkspace &mine, double h)
      : i(i), mine(mine), number(alpha_numbers(i.run.spectral_radius)), h(h), t1(i.run.interval.clamp(i.run.t + h)),
        rate(number.gamma / (number.beta * h)),
        second((1.0 - number.alpha_m) / (h * h * number.beta * (1.0 - number.alpha_f))) {}
};

// (1), (2): from A1 to increments and accelerations, and to the state at the end.
bool place_end(const AlphaStep &step) {
  const AlphaCoefficients &number = step.number;
  const AlphaWorkspace &mine = step.mine;
  const ModelData &m = step.i.m;
  RunWorkspace &work = step.i.work;
  const int nv = m.nv;
  const double h = step.h;
  double *z = work.z;
  for (int f = 0; f < nv; ++f) {
    z[f] = h * work.v[f] + h * h * ((0.5 - number.beta) * mine.B[f] + number.beta * mine.A1[f]);
    z[nv + f] = h * ((1.0 - number.gamma) * mine.B[f] + number.gamma * mine.A1[f]);
    work.a1[f] = ((1.0 - number.alpha_m) * mine.A1[f] + number.alpha_m * mine.B[f] - number.alpha_f * work.a[f]) /
                 (1.0 - number.alpha_f);
  }
  // positions of free bodies: xi'' = u' + omega x u at the beginning of the step
  for (int body = 1; body <= m.nb; ++body) {
    const BodyData &b = m.bodies[body];
    if (!has_quaternion(b) || b.nv != 6)
      continue;
    const double *w = work.v + b.v, *u = w + 3;
    const Vec3<double> turning = cross(Vec3<double>{w[0], w[1], w[2]}, Vec3<double>{u[0], u[1], u[2]});
    z[b.v + 3] += 0.5 * h * h * turning.x, z[b.v + 4] += 0.5 * h * h * turning.y, z[b.v + 5] += 0.5 * h * h * turning.z;
  }
  for (int k = 0; k < m.nx; ++k) // trapezoidal rule
    z[2 * nv + k] = 0.5 * h * (work.dx[k] + work.dx1[k]);
  return displaced(step.i, step.t1, z, work.q1, work.v1, work.x1);
}

// A1 to begin with: as B or, `afresh`, from where the step begins; of prescribed accelerations as their laws give them.
Outcome start_newton(const AlphaStep &step, bool afresh) {
  const AlphaCoefficients &number = step.number;
  AlphaWorkspace &mine = step.mine;
  const ModelData &m = step.i.m;
  RunWorkspace &work = step.i.work;
  const Conditions &c = step.i.run.conditions;
  SystemWorkspace<double> &system = work.motion.system;
  for (int f = 0; f < m.nv; ++f)
    mine.A1[f] = afresh ? ((number.beta - 0.5) * mine.B[f] - work.v[f] / step.h) / number.beta : mine.B[f];
  copy(work.dx, m.nx, work.dx1);
  if (m.callback_law_count && m.drive_count && !evaluate_callbacks(m, c, system, {step.t1, work.q, work.v, work.x}))
    return Outcome::callback_failed;
  system.loops.ws.t = step.t1;
  if (m.nc)
    set_targets(m, step.t1, system.callback_laws, system.targets);
  if (c.acceleration_prescribed) {
    double *wanted = mine.b;
    prescribe(m, c.acceleration_prescribed, step.t1, system.callback_laws, wanted);
    for (int f = 0; f < m.nv; ++f)
      if (c.acceleration_prescribed[f])
        mine.A1[f] = ((1.0 - number.alpha_f) * wanted[f] + number.alpha_f * work.a[f] - number.alpha_m * mine.B[f]) /
                     (1.0 - number.alpha_m);
  }
  copy(mine.lambda0, m.nc, mine.lambda);
  return Outcome::reached;
}

// what a row of the loops is missed by, as (4) takes it
double row_residual(const AlphaStep &step, const LoopConstraintData &constraint, int j) {
  const ModelData &m = step.i.m;
  const RunWorkspace &work = step.i.work;
  const SystemWorkspace<double> &system = work.motion.system;
  const int row = constraint.row + j;
  if (step.mine.grip[row] == 0.0)
    return 0.0;
  if (m.holonomic[row]) // whole turns are taken out later
    return system.targets[row] - system.loops.rhs[row];
  double slip = system.targets[m.nc + row] - system.loops.drift[row]; // (5)
  const double *entries = system.loops.values + constraint.values + std::ptrdiff_t(j) * constraint.supports;
  for (int s = 0; s < constraint.supports; ++s)
    slip -= entries[s] * work.v1[m.support[constraint.support + s]];
  return slip / step.rate;
}

// the right-hand side of (4), in b
void set_right_hand_side(const AlphaStep &step) {
  const ModelData &m = step.i.m;
  AlphaWorkspace &mine = step.mine;
  const unsigned char *prescribed = step.i.run.conditions.acceleration_prescribed;
  for (int f = 0; f < m.nv; ++f)
    mine.b[f] = prescribed && prescribed[f] ? 0.0 : -mine.residual[f] / step.second;
  for (int k = 0; k < m.loop_constraint_count; ++k)
    for (int j = 0; j < m.loop_constraints[k].rows; ++j)
      mine.b[m.nv + m.loop_constraints[k].row + j] = row_residual(step, m.loop_constraints[k], j);
  wrap_driven_angles(m, mine.b + m.nv);
}

// Adds the solution of (4) to A1 and the multipliers; returns its size in units of the tolerance.
double apply_change(const AlphaStep &step) {
  const ModelData &m = step.i.m;
  const Run &run = step.i.run;
  AlphaWorkspace &mine = step.mine;
  double square = 0.0;
  for (int f = 0; f < m.nv; ++f) {
    const double part = mine.b[f] / (run.atol[f] + run.rtol * position_size(m, step.i.work.q1, f));
    square += part * part;
    mine.A1[f] += mine.b[f] / (step.h * step.h * step.number.beta);
  }
  for (int row = 0; row < m.nc; ++row)
    mine.lambda[row] += step.second * mine.b[m.nv + row];
  return m.nv ? std::sqrt(square / m.nv) : 0.0;
}

// the end of the step, once A1 has converged
Outcome finish_newton(const AlphaStep &step) {
  const ModelData &m = step.i.m;
  const Conditions &c = step.i.run.conditions;
  RunWorkspace &work = step.i.work;
  if (!place_end(step))
    return Outcome::callback_failed;
  if (m.nc && step.i.run.project)
    project_velocities(m, c, work.motion.system, work.q1, work.v1, work.change, c.acceleration_prescribed);
  return all_finite(work.a1, m.nv) ? Outcome::reached : Outcome::not_finite;
}

} // namespace

// Newton's method for one step of length h, from where A1 = A leads or, `afresh`, from where the step begins. On return
// q1, v1, x1, a1 hold its end.
static Outcome alpha_newton(const RunContext &i, AlphaWorkspace &mine, double h, bool afresh) {
  const AlphaStep step(i, mine, h);
  const Outcome started = start_newton(step, afresh);
  if (started != Outcome::reached)
    return started;
  const int max_rounds = afresh ? 30 : 15;
  double before = 0.0;
  for (int round = 0; round < max_rounds; ++round) {
    if (!place_end(step))
      return Outcome::callback_failed;
    if ((round == 0 || afresh) && !factor_alpha(i, mine, step.t1, step.rate, step.second))
      return Outcome::newton_failed;
    if (!motion_residual(i, mine, step.t1))
      return Outcome::callback_failed;
    set_right_hand_side(step);
    if (!all_finite(mine.b, i.m.nv + i.m.nc))
      return Outcome::not_finite;
    solve_alpha(i.m, i.work.motion.system.loops.ws, mine, step.rate, step.second);
    const double change = apply_change(step);
    if (!std::isfinite(change) || (!afresh && round > 3 && change > before && change > 1.0))
      return Outcome::newton_failed;
    if (change < 1e-3 || (round && change >= 0.5 * before && change < 1.0)) // converged, or as far as rounding lets it
      return finish_newton(step);
    before = change;
  }
  return Outcome::newton_failed;
}

static AlphaWorkspace workspace_of(const RunContext &i) {
  AlphaWorkspace work;
  lay_out(i.m, i.own, work);
  return work;
}

// (7), in units of the tolerance
static double alpha_error(const RunContext &i, AlphaWorkspace &mine, double h) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  const AlphaCoefficients number = alpha_numbers(i.run.spectral_radius);
  const double d = number.shift(), c_q = 0.5 * d + number.beta - 1.0 / 6.0;
  const double c_v = 0.5 * d * d + (0.5 + d) * number.gamma - 1.0 / 6.0;
  const double before = mine.kept->length, between = before > 0.0 ? 2.0 / (h + before) : 0.0;
  const unsigned char *given = i.run.conditions.acceleration_prescribed;
  for (int f = 0; f < m.nv; ++f) {
    const double jerk = (mine.A1[f] - mine.B[f]) / h;
    mine.e[f] = c_q * h * h * h * jerk;
    mine.e[m.nv + f] = given && given[f] ? 0.0 : c_v * h * h * h * (jerk - mine.jerk[f]) * between;
  }
  for (int k = 0; k < m.nx; ++k) {
    const double jerk = (work.dx1[k] - work.dx[k]) / h;
    mine.e[2 * m.nv + k] = h * h / 12.0 * (before > 0.0 ? h * (jerk - mine.x_jerk[k]) * between : jerk);
  }
  if (m.nc && i.run.project)
    project_velocity_changes(m, i.run.conditions, work.motion.system, work.q1, mine.e + m.nv, work.change, given);
  const double error = measure(i, mine.e, work.q1, work.v1, work.x1, &i.run.worst_dof);
  return std::max(error, turn_error(turn_square<double>(m, work.z), 3));
}

static Outcome alpha_step(const RunContext &i, double h, double &error) {
  AlphaWorkspace mine = workspace_of(i);
  mine.kept->tried = h;
  if (i.work.near) { // the loops are of no use to Newton's method there
    const Outcome outcome = explicit_step(i, dopri5_tableau, h, error);
    copy(i.work.a1, i.m.nv, mine.A1);
    copy(i.work.motion.system.lambda, i.m.nc, mine.lambda);
    mine.kept->tried = 0.0;
    return outcome;
  }
  const double later =
      mine.kept->length > 0.0 ? alpha_numbers(i.run.spectral_radius).shift() * (h - mine.kept->length) : 0.0;
  for (int f = 0; f < i.m.nv; ++f)
    mine.B[f] = mine.A[f] + later * mine.jerk[f];
  Outcome outcome = alpha_newton(i, mine, h, false);
  if (outcome != Outcome::reached && outcome != Outcome::callback_failed)
    outcome = alpha_newton(i, mine, h, true);
  if (outcome == Outcome::reached && !(i.run.fixed_step > 0.0))
    error = alpha_error(i, mine, h);
  return outcome;
}

const Stepper alpha_stepper{
    .name = "alpha",
    .order = 3, // of the error of a step
    .adaptive = true,
    .implicit = true,
    .bytes =
        [](const ModelData &m) {
          AlphaWorkspace work;
          return lay_out(m, nullptr, work);
        },
    .begin =
        [](const RunContext &i) {
          const AlphaWorkspace mine = workspace_of(i);
          *mine.kept = {};
          copy(i.work.a, i.m.nv, mine.A);
          copy(i.work.motion.system.lambda, i.m.nc, mine.lambda0);
        },
    .step = alpha_step,
    .accept = [](const RunContext &i, double h, double error) { return explicit_accept(i, 3, h, error); },
    .advance_state =
        [](const RunContext &i) {
          const AlphaWorkspace mine = workspace_of(i);
          const double h = mine.kept->length = mine.kept->tried;
          for (int f = 0; h > 0.0 && f < i.m.nv; ++f)
            mine.jerk[f] = (mine.A1[f] - mine.B[f]) / h;
          for (int k = 0; h > 0.0 && k < i.m.nx; ++k)
            mine.x_jerk[k] = (i.work.dx1[k] - i.work.dx[k]) / h;
          copy(mine.A1, i.m.nv, mine.A);
          copy(mine.lambda, i.m.nc, mine.lambda0);
        },
    .holds_branches = false, // its equations have no place for mixtures of branches
    .prepare = prepare_hermite,
    .at = hermite_at,
};

} // namespace dalembert::DALEMBERT_ISA
