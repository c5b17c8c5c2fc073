#include "steppers/methods/radau.hpp"
#include "elements/elements.hpp"
#include "scalar/dense_lu.hpp"
#include "steppers/methods/explicit_runge_kutta.hpp"
#include "steppers/methods/hermite.hpp"
#include "steppers/methods/step_size_control.hpp"
#include "steppers/switching/switch_location.hpp"
#include "system/newton/newton.hpp"
#include "tree/chart.hpp"
#include "tree/kinematics.hpp"
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

using Complex = std::complex<double>;

namespace radau {
inline constexpr double root6 = 2.449489742783178;
inline constexpr double c[3] = {(4.0 - root6) / 10.0, (4.0 + root6) / 10.0, 1.0};
inline constexpr double mu_real = 3.637834252744496, mu_re = 2.6810828736277523, mu_im = -3.0504301992474105;
inline constexpr double e[3] = {(-13.0 - 7.0 * root6) / 3.0, (-13.0 + 7.0 * root6) / 3.0, -1.0 / 3.0};
// eigenvectors and their inverse; rows and columns: real, real part, imaginary part
inline constexpr double T[3][3] = {{0.09443876248897524, -0.14125529502095421, 0.03002919410514742},
                                   {0.25021312296533332, 0.20412935229379994, -0.38294211275726192},
                                   {1.0, 1.0, 0.0}};
inline constexpr double TI[3][3] = {{4.17871859155190428, 0.32768282076106237, 0.52337644549944951},
                                    {-4.17871859155190428, -0.32768282076106237, 0.47662355450055044},
                                    {0.50287263494578682, -2.57192694985560522, 0.59603920482822492}};
constexpr int max_rounds = 7;
} // namespace radau

struct RadauWorkspace {
  DerivativesWorkspace derivatives;
  double *A_q, *A_v, *A_x; // nv x nv, nv x nv, nv x nx: derivatives of accelerations
  double *X_q, *X_v, *X_x; // nx x nv, nx x nv, nx x nx: of rates of element states
  double *Z, *Zw, *F;      // 3 x n: increments, transformed, rates
  double *Z_old;           // of the last step
  double *real;            // (nv + nx)^2: factors of (2)
  Complex *complex;
  std::int32_t *real_exchange, *complex_exchange;
  Complex *r, *scratch;  // n, nv + nx
  double *e, *real_work; // n, nv + nx
  double *turning;       // nv: velocities that B was taken at
  std::int32_t *acting;  // nx: places of the states in (2); others are idle
  // the same by fronts (system/newton/newton.hpp)
  NewtonWorkspace newton;
  NewtonFactors<double> real_fronts;
  NewtonFactors<Complex> complex_fronts;
  double *real_given; // 2 nv: v0, a0
  Complex *complex_given;
  // what is kept between steps; in the block, so that a copy of it is a checkpoint
  struct Kept {
    double factored_for; // step length of the factors; 0: none
    double old_length;   // step of Z_old; 0: none
    double old_error;
    double rate;
    std::int32_t rounds, jacobian_old, jacobian_known;
    std::int32_t acting;             // how many states stand in (2)
    std::int32_t use_frontal_solver; // what is known of the Jacobian is in `newton`
    std::int64_t steps;              // since the start, whatever method was before
  } *kept;
};

static std::size_t lay_out(const ModelData &m, std::byte *base, RadauWorkspace &work) {
  Arena arena{base};
  arena.skip(lay_out(m, base, work.derivatives));
  const std::size_t nv = std::size_t(m.nv), nx = std::size_t(m.nx), n = std::size_t(increments(m));
  work.A_q = arena.take<double>(nv * nv);
  work.A_v = arena.take<double>(nv * nv);
  work.A_x = arena.take<double>(nv * nx);
  work.X_q = arena.take<double>(nx * nv);
  work.X_v = arena.take<double>(nx * nv);
  work.X_x = arena.take<double>(nx * nx);
  for (double **each : {&work.Z, &work.Zw, &work.F, &work.Z_old})
    *each = arena.take<double>(3 * n);
  const std::size_t size = nv + nx;
  work.real = arena.take<double>(size * size);
  work.complex = arena.take<Complex>(size * size);
  work.real_exchange = arena.take<std::int32_t>(size);
  work.complex_exchange = arena.take<std::int32_t>(size);
  work.r = arena.take<Complex>(n);
  work.scratch = arena.take<Complex>(size);
  work.e = arena.take<double>(n);
  work.real_work = arena.take<double>(size);
  work.turning = arena.take<double>(nv);
  work.acting = arena.take<std::int32_t>(nx);
  work.kept = arena.take<RadauWorkspace::Kept>(1);
  if (m.fronts.pays_kept) {
    arena.skip(lay_out(m, arena.here(), work.newton));
    arena.skip(lay_out(m, arena.here(), work.real_fronts));
    arena.skip(lay_out(m, arena.here(), work.complex_fronts));
  }
  work.real_given = arena.take<double>(2 * nv);
  work.complex_given = arena.take<Complex>(2 * nv);
  return arena.used;
}

// calls f(row, column, entry) for the entries of B
template <class F> static inline void for_chart_slopes(const ModelData &m, const double *v, F &&f) {
  for (int i = 1; i <= m.nb; ++i)
    if (has_quaternion(m.bodies[i]))
      for_chart_slopes(m.bodies[i], v, f);
}

// the matrix of (2), factored
template <class T>
static bool factor_step(const ModelData &m, const RadauWorkspace &work, T mu, T *matrix, std::int32_t *exchange) {
  const RadauWorkspace &J = work;
  const std::ptrdiff_t nv = m.nv, nx = m.nx, acting = J.kept->acting, size = nv + acting;
  for (std::ptrdiff_t i = 0; i < nv; ++i) {
    for (std::ptrdiff_t j = 0; j < nv; ++j)
      matrix[i * size + j] = -(mu * J.A_v[i * nv + j]) - J.A_q[i * nv + j];
    for (std::ptrdiff_t j = 0; j < acting; ++j)
      matrix[i * size + nv + j] = T(-J.A_x[i * nx + J.acting[j]]);
    matrix[i * (size + 1)] += mu * mu;
  }
  for (std::ptrdiff_t i = 0; i < acting; ++i) {
    const std::ptrdiff_t x = J.acting[i];
    for (std::ptrdiff_t j = 0; j < nv; ++j)
      matrix[(nv + i) * size + j] = -(mu * J.X_v[x * nv + j]) - J.X_q[x * nv + j];
    for (std::ptrdiff_t j = 0; j < acting; ++j)
      matrix[(nv + i) * size + nv + j] = T(-J.X_x[x * nx + J.acting[j]]);
    matrix[(nv + i) * (size + 1)] += mu;
  }
  for_chart_slopes(m, work.turning, [&](int row, int column, double entry) {
    for (std::ptrdiff_t i = 0; i < nv; ++i)
      matrix[i * size + column] += J.A_v[i * nv + row] * entry;
    matrix[row * size + column] -= mu * entry;
    for (std::ptrdiff_t i = 0; i < acting; ++i)
      matrix[(nv + i) * size + column] += J.X_v[J.acting[i] * nv + row] * entry;
  });
  return factor_lu(matrix, exchange, int(size));
}

// (2): r = [r1; r2; r3] becomes [dxi; dv; dx]; w: nv + nx
template <class T> static void solve_step(const ModelData &m, const RadauWorkspace &work, T mu, const T *matrix,
                                          const std::int32_t *exchange, T *r, T *w) {
  const RadauWorkspace &J = work;
  const int nv = m.nv, acting = J.kept->acting;
  T *r1 = r, *r2 = r + nv, *r3 = r + 2 * nv;
  for (int i = 0; i < nv; ++i) {
    w[i] = r2[i] + mu * r1[i];
    for (int j = 0; j < nv; ++j)
      w[i] -= J.A_v[std::ptrdiff_t(i) * nv + j] * r1[j];
  }
  for (int i = 0; i < acting; ++i) {
    w[nv + i] = r3[J.acting[i]];
    for (int j = 0; j < nv; ++j)
      w[nv + i] -= J.X_v[std::ptrdiff_t(J.acting[i]) * nv + j] * r1[j];
  }
  solve_lu(matrix, exchange, nv + acting, w);
  for (int i = 0; i < nv; ++i) {
    r2[i] = mu * w[i] - r1[i];
    r1[i] = w[i];
  }
  for_chart_slopes(m, work.turning, [&](int row, int column, double entry) { r2[row] -= entry * w[column]; });
  for (int k = 0; acting < m.nx && k < m.nx; ++k)
    r3[k] /= mu; // where it is idle
  for (int i = 0; i < acting; ++i)
    r3[J.acting[i]] = w[nv + i];
}

template <class T> static StepRates<T> rates_of(const RadauWorkspace &work, T mu) {
  return {mu, mu * mu, work.turning};
}

static void solve_real(const ModelData &m, RadauWorkspace &work, double mu, double *r) {
  double *r2 = r + m.nv, *r3 = r2 + m.nv;
  if (work.kept->use_frontal_solver)
    return solve_radau(m, work.newton, rates_of(work, mu), work.real_fronts, work.real_given, r, r2, r3, r, r2, r3);
  solve_step(m, work, mu, work.real, work.real_exchange, r, work.real_work);
}
static void solve_complex(const ModelData &m, RadauWorkspace &work, Complex mu, Complex *r) {
  Complex *r2 = r + m.nv, *r3 = r2 + m.nv;
  if (work.kept->use_frontal_solver)
    return solve_radau(m, work.newton, rates_of(work, mu), work.complex_fronts, work.complex_given, r, r2, r3, r, r2,
                       r3);
  solve_step(m, work, mu, work.complex, work.complex_exchange, r, work.scratch);
}

// increments at the stages from the polynomial of the last step, beyond its end
static void predict(const ModelData &m, RadauWorkspace &work, double h) {
  const int n = increments(m);
  if (!(work.kept->old_length > 0.0)) {
    for (int k = 0; k < 3 * n; ++k)
      work.Z[k] = 0.0;
    return;
  }
  const double *c = radau::c;
  for (int i = 0; i < 3; ++i) {
    const double s = 1.0 + c[i] * h / work.kept->old_length;
    // Lagrange through 0, c1, c2, 1
    const double nodes[4] = {0.0, c[0], c[1], c[2]};
    double weight[4];
    for (int a = 1; a < 4; ++a) {
      weight[a] = 1.0;
      for (int b = 0; b < 4; ++b)
        if (b != a)
          weight[a] *= (s - nodes[b]) / (nodes[a] - nodes[b]);
    }
    for (int k = 0; k < n; ++k)
      work.Z[i * n + k] =
          weight[1] * work.Z_old[k] + weight[2] * work.Z_old[n + k] + (weight[3] - 1.0) * work.Z_old[2 * n + k];
  }
}

// to = matrix (3 x 3) applied to the three stages of from
static void combine_stages(const double (&matrix)[3][3], const double *from, int n, double *to) {
  for (int stage = 0; stage < 3; ++stage)
    for (int k = 0; k < n; ++k)
      to[stage * n + k] =
          matrix[stage][0] * from[k] + matrix[stage][1] * from[n + k] + matrix[stage][2] * from[2 * n + k];
}

// F: rates of the increments at the three stages
static Outcome stage_rates(const RunContext &i, RadauWorkspace &radau_work, double h) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  const int n = increments(m), nv = m.nv;
  for (int stage = 0; stage < 3; ++stage) {
    const double t = i.run.t + radau::c[stage] * h;
    const double *Z = radau_work.Z + stage * n;
    double *rate = radau_work.F + stage * n;
    if (!displaced(i, t, Z, work.qs, work.vs, work.xs))
      return Outcome::callback_failed;
    chart_rate<double>(m, Z, work.vs, rate);
    if (!rates(i, t, work.qs, work.vs, work.xs, rate + nv, rate + 2 * nv))
      return Outcome::callback_failed;
  }
  return all_finite(radau_work.F, 3 * n) ? Outcome::reached : Outcome::not_finite;
}

// corrections of the transformed increments: real ones in work.z, complex ones in radau_work.r
static void solve_corrections(const RunContext &i, RadauWorkspace &radau_work, double h) {
  const int n = increments(i.m);
  const double real = radau::mu_real / h;
  const Complex complex(radau::mu_re / h, radau::mu_im / h);
  const double *Zw = radau_work.Zw, *F = radau_work.F;
  double *r = i.work.z;
  for (int k = 0; k < n; ++k)
    r[k] = radau::TI[0][0] * F[k] + radau::TI[0][1] * F[n + k] + radau::TI[0][2] * F[2 * n + k] - real * Zw[k];
  for (int k = 0; k < n; ++k) {
    const Complex f(radau::TI[1][0] * F[k] + radau::TI[1][1] * F[n + k] + radau::TI[1][2] * F[2 * n + k],
                    radau::TI[2][0] * F[k] + radau::TI[2][1] * F[n + k] + radau::TI[2][2] * F[2 * n + k]);
    radau_work.r[k] = f - complex * Complex(Zw[n + k], Zw[2 * n + k]);
  }
  solve_real(i.m, radau_work, real, r);
  solve_complex(i.m, radau_work, complex, radau_work.r);
}

// size of the k-th coordinate, velocity or element state at the begin of the step
static double extent_of(const RunContext &i, int k) {
  const int nv = i.m.nv;
  return k < nv ? position_size(i.m, i.work.q, k) : std::fabs(k < 2 * nv ? i.work.v[k - nv] : i.work.x[k - 2 * nv]);
}

// The size of corrections that are rounding of the state, in units of the tolerances: in steps of a few roundings of
// time, which end at output times just before a discontinuity or follow an impact, corrections do not become smaller.
static double rounding_size(const RunContext &i) {
  const int n = increments(i.m);
  double square = 0.0;
  for (int k = 0; k < n; ++k) {
    const double extent = extent_of(i, k), ratio = 16.0 * 2.2e-16 * extent / (i.run.atol[k] + i.run.rtol * extent);
    square += ratio * ratio;
  }
  return n ? std::sqrt(square / n) : 0.0;
}

// adds the corrections to the transformed increments; returns their size in units of the tolerances
static double apply_corrections(const RunContext &i, RadauWorkspace &radau_work) {
  const Run &run = i.run;
  const RunWorkspace &work = i.work;
  const int n = increments(i.m);
  double *Zw = radau_work.Zw;
  const double *r = work.z;
  double square = 0.0;
  for (int k = 0; k < n; ++k) {
    const Complex &d = radau_work.r[k];
    const double scale = run.atol[k] + run.rtol * extent_of(i, k);
    Zw[k] += r[k];
    Zw[n + k] += d.real();
    Zw[2 * n + k] += d.imag();
    square += (r[k] * r[k] + d.real() * d.real() + d.imag() * d.imag()) / (scale * scale);
  }
  return n ? std::sqrt(square / (3 * n)) : 0.0;
}

// Newton's method on (1); its convergence is left in kept->rounds and kept->rate.
static Outcome radau_newton(const RunContext &i, RadauWorkspace &radau_work, double h, double tolerance) {
  const int n = increments(i.m);
  combine_stages(radau::TI, radau_work.Z, n, radau_work.Zw);
  double before = 0.0;
  // mixtures of branches come from differences: as rough
  const bool mixed = i.run.conditions.law_branches && slides(i.m, i.run.conditions);
  // bristles of contacts at their limit follow depths of the first guess, and are right after the second correction
  const int first_judged = i.m.contact_pair_count ? 2 : 1;
  radau_work.kept->rate = 0.0;
  for (int round = 0; round < radau::max_rounds; ++round) {
    radau_work.kept->rounds = round + 1;
    const Outcome evaluated = stage_rates(i, radau_work, h);
    if (evaluated != Outcome::reached)
      return evaluated;
    solve_corrections(i, radau_work, h);
    const double size = apply_corrections(i, radau_work);
    const double rate = round ? size / before : 0.0;
    if (!std::isfinite(size))
      return Outcome::not_finite;
    bool all_rounding = mixed && size < 0.01 * tolerance;
    if (round && !all_rounding) {
      radau_work.kept->rate = rate;
      if (round >= first_judged &&
          (rate >= 1.0 || std::pow(rate, radau::max_rounds - round - 1) / (1.0 - rate) * size > tolerance)) {
        all_rounding = size < std::min(rounding_size(i), tolerance);
        if (!all_rounding)
          return Outcome::newton_failed;
      }
    }
    combine_stages(radau::T, radau_work.Zw, n, radau_work.Z);
    if (size == 0.0 || all_rounding || (round && rate < 1.0 && rate / (1.0 - rate) * size < tolerance))
      return Outcome::reached;
    before = size;
  }
  return Outcome::newton_failed;
}

// whether derivatives of accelerations and rates of element states exist
static bool slopes_exist(const ModelData &m, const RadauWorkspace &mine) {
  const int nv = m.nv, nx = m.nx;
  return all_finite(mine.A_q, nv * nv) && all_finite(mine.A_v, nv * nv) && all_finite(mine.A_x, nv * nx) &&
         all_finite(mine.X_q, nx * nv) && all_finite(mine.X_v, nx * nv) && all_finite(mine.X_x, nx * nx);
}

// Dry friction of several measures is directed against the velocity: its slope, friction / speed, is unbounded where slip
// starts. Slopes at the beginning of a step exceed those at its stages by orders of magnitude then. Newton's method with
// them makes no corrections across the direction of slip, and appears to converge. Such systems have derivatives of the
// middle of every step.
static bool has_vector_friction(const ModelData &m) {
  for (int k = 0; k < m.element_count; ++k)
    if (m.elements[k].form == LawForm::dry_friction && m.elements[k].measures > 1)
      return true;
  return false;
}

// the state ahead by a time h, from velocities and accelerations at the beginning: q1, v1, x1
static SystemState<double> state_ahead(const RunContext &i, double t, double h) {
  RunWorkspace &work = i.work;
  for (int f = 0; f < i.m.nv; ++f) {
    work.change[f] = h * work.v[f] + 0.5 * h * h * work.a[f];
    work.v1[f] = work.v[f] + h * work.a[f];
  }
  integrate<double>(i.m, work.q, work.change, work.q1);
  copy(work.x, i.m.nx, work.x1);
  return {t, work.q1, work.v1, work.x1};
}

// Whether fronts cost less than a dense matrix without the states that are idle.
static bool choose_fronts(const RunContext &i, RadauWorkspace &mine) {
  const ModelData &m = i.m;
  if (!use_frontal_solver(m, i.run.conditions, true))
    return false;
  if (!m.contact_pair_count)
    return true;
  Workspace<double> &ws = i.work.motion.system.loops.ws;
  place_and_move(m, ws, i.work.q, i.work.v);
  return m.fronts.cost < cost_of_dense(m.nv + find_acting_states(m, ws, mine.acting) + 0.4 * m.nc);
}

// Derivatives at the beginning of the step, or at its middle for friction of several measures: of accelerations and rates of element states, or of what they follow from.
// Where a law has no slope there: those of the branch that the state is on, if the law is held on another, which does
// not exist there (the power of a depth below zero, as a contact opens); else, as of a root at zero, those ahead by the
// length of the step, where Newton's method needs them.
static bool find_derivatives(const RunContext &i, RadauWorkspace &mine, bool use_frontal_solver, double h) {
  const ModelData &m = i.m;
  const Conditions &c = i.run.conditions;
  const double t = i.run.interval.clamp(i.run.t);
  const SystemState<double> s =
      has_vector_friction(m) ? state_ahead(i, t, 0.5 * h) : SystemState<double>{t, i.work.q, i.work.v, i.work.x};
  ++i.run.counts.evaluations;
  mine.kept->use_frontal_solver = use_frontal_solver;
  DerivativeBlocks blocks;
  blocks.of[int(Direction::position)] = {mine.A_q, mine.X_q};
  blocks.of[int(Direction::velocity)] = {mine.A_v, mine.X_v};
  blocks.of[int(Direction::state)] = {mine.A_x, mine.X_x};
  double *a = i.work.a1; // that of the beginning is known, and stays, though a law that is held may not exist there
  const auto find_dense = [&](const SystemState<double> &state) {
    const bool done = derivatives(m, c, i.work.motion, mine.derivatives, state, a, blocks);
    mine.kept->acting = find_acting_states(m, i.work.motion.system.loops.ws, mine.acting);
    return done;
  };
  const auto find = [&] {
    if (!use_frontal_solver)
      return find_dense(s);
    if (!dynamics(m, c, i.work.motion, s, a, i.work.motion.system.unused))
      return false;
    linearize(m, c, i.work.motion, mine.derivatives, mine.newton, s, a, i.work.motion.system.lambda,
              LoopConstraintRate::second, true);
    return true;
  };
  const auto exist = [&] { return all_finite(a, m.nv) && (use_frontal_solver || slopes_exist(m, mine)); };
  if (!find())
    return false;
  if (exist())
    return true;
  if (c.law_branches) {
    // its switching functions show which branches are left
    if (!dynamics(m, c, i.work.motion, s, a, i.work.motion.system.unused))
      return false;
    release_branches(i);
    const bool done = find();
    restore_branches(i);
    if (!done || exist())
      return done;
  }
  if (use_frontal_solver) // a dense matrix is looked at before it is used
    return find_derivatives(i, mine, false, h);
  const SystemState<double> end = state_ahead(i, t, h);
  copy(i.work.a, m.nv, i.work.a1);
  return find_dense(end);
}

// factors of both systems for steps of length h; false if one is singular
static bool factor_systems(const ModelData &m, RadauWorkspace &mine, double h) {
  const double real = radau::mu_real / h;
  const Complex complex(radau::mu_re / h, radau::mu_im / h);
  if (mine.kept->use_frontal_solver)
    return factor_fronts(m, mine.newton, rates_of(mine, real), mine.real_fronts) &&
           factor_fronts(m, mine.newton, rates_of(mine, complex), mine.complex_fronts);
  return factor_step(m, mine, real, mine.real, mine.real_exchange) &&
         factor_step(m, mine, complex, mine.complex, mine.complex_exchange);
}

// Jacobian and factors of the Newton systems for a step of length h, where those that are kept do not serve.
static Outcome prepare_newton(const RunContext &i, RadauWorkspace &mine, double h) {
  const ModelData &m = i.m;
  Run &run = i.run;
  auto &kept = *mine.kept;
  if (!kept.jacobian_known || (kept.factored_for != h && has_vector_friction(m))) {
    ++run.counts.jacobians;
    if (!find_derivatives(i, mine, choose_fronts(i, mine), h))
      return Outcome::callback_failed;
    kept.jacobian_known = 1;
    kept.jacobian_old = 0;
    kept.factored_for = 0.0;
  }
  if (kept.factored_for == h)
    return Outcome::reached;
  copy(i.work.v, m.nv, mine.turning);
  ++run.counts.factorizations;
  kept.factored_for = 0.0;
  bool regular = factor_systems(m, mine, h);
  if (!regular && kept.use_frontal_solver) { // a dense matrix may exchange any rows
    if (!find_derivatives(i, mine, false, h))
      return Outcome::callback_failed;
    regular = factor_systems(m, mine, h);
  }
  if (!regular)
    return Outcome::newton_failed;
  kept.factored_for = h;
  return Outcome::reached;
}

// Stages of a step of length h by Newton's method: with the Jacobian that is kept or, if that fails, with a fresh one.
static Outcome solve_stages(const RunContext &i, RadauWorkspace &mine, double h) {
  const double rtol = i.run.rtol;
  const double tolerance = std::min(0.03, std::max(1e-14 / rtol, std::min(1e-3, 0.1 * std::sqrt(rtol))));
  auto &kept = *mine.kept;
  Outcome outcome = Outcome::reached;
  for (int attempt = 0; attempt < 2; ++attempt) {
    outcome = prepare_newton(i, mine, h);
    if (outcome != Outcome::reached)
      return outcome;
    predict(i.m, mine, h);
    outcome = radau_newton(i, mine, h, tolerance);
    if (outcome == Outcome::reached || outcome == Outcome::callback_failed || !kept.jacobian_old)
      break;
    kept.jacobian_known = 0;
  }
  return outcome;
}

// the error of a step in units of the tolerance
static double radau_error(const RunContext &i, RadauWorkspace &mine, double h) {
  const ModelData &m = i.m;
  Run &run = i.run;
  RunWorkspace &work = i.work;
  const int n = increments(m), nv = m.nv;
  const double *Z = mine.Z, mu = radau::mu_real / h;
  const double *rate[3] = {work.v, work.a, work.dx};
  const int count[3] = {nv, nv, m.nx};
  double *e = mine.e;
  for (int part = 0, k = 0; part < 3; ++part)
    for (int j = 0; j < count[part]; ++j, ++k)
      e[k] = rate[part][j] + (radau::e[0] * Z[k] + radau::e[1] * Z[n + k] + radau::e[2] * Z[2 * n + k]) / h;
  solve_real(m, mine, mu, e);
  double error = measure(i, e, work.q1, work.v1, work.x1, &run.worst_dof);
  if (error > 1.0 && (run.rejected_last || !mine.kept->steps)) {
    // The estimate once more through (1 - J / mu)^-1, which takes out what is stiff. Hairer and Wanner (IV.8.20)
    // evaluate rates at the state that it leads to instead, the same to first order; but where forces jump that state
    // may lie beyond.
    for (int k = 0; k < n; ++k)
      e[k] *= mu;
    solve_real(m, mine, mu, e);
    error = measure(i, e, work.q1, work.v1, work.x1, &run.worst_dof);
  }
  return run.fixed_step > 0.0 ? 0.0 : std::max(error, turn_error(turn_square<double>(m, Z + 2 * n), 4));
}

// Tries a step of length h, as explicit_step does.
static Outcome radau_step(const RunContext &i, RadauWorkspace &mine, double h, double &error) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  Outcome outcome = solve_stages(i, mine, h);
  if (outcome != Outcome::reached)
    return outcome;
  const double t1 = i.run.t + h;
  if (!displaced(i, t1, mine.Z + 2 * increments(m), work.q1, work.v1, work.x1))
    return Outcome::callback_failed;
  error = radau_error(i, mine, h);
  if (!(error <= 1.0))
    return std::isfinite(error) ? Outcome::reached : Outcome::not_finite;
  outcome = project_onto_constraints(i, t1, work.q1, work.v1);
  if (outcome != Outcome::reached)
    return outcome;
  if (!rates(i, t1, work.q1, work.v1, work.x1, work.a1, work.dx1))
    return Outcome::callback_failed;
  return all_finite(work.a1, m.nv) ? Outcome::reached : Outcome::not_finite;
}

// what is kept for the next step once this one is accepted; returns the length of the next
static double radau_accept(const RunContext &i, RadauWorkspace &mine, double h, double error) {
  const ModelData &m = i.m;
  const Run &run = i.run;
  auto &kept = *mine.kept;
  const double most = radau::max_rounds;
  const double safety = 0.9 * (2.0 * most + 1.0) / (2.0 * most + kept.rounds);
  double factor = predicted_growth(h, error, kept.old_length, kept.old_error, safety);
  const bool poor = kept.rounds > 2 && kept.rate > 1e-3;
  if (!poor && factor < 1.2 && factor > 0.9)
    factor = 1.0; // not worth another factorisation
  kept.jacobian_old = 1;
  if (poor || has_vector_friction(m))
    kept.jacobian_known = 0;
  copy(mine.Z, 3 * increments(m), mine.Z_old);
  kept.old_length = h;
  kept.old_error = error;
  return after_step(run.step, h, factor, run.rejected_last);
}

// Derivatives off the loops are of no use where stages are put onto them first: steps are explicit there, of an order
// that interpolation from both ends keeps up with.

static RadauWorkspace workspace_of(const RunContext &i) {
  RadauWorkspace work;
  lay_out(i.m, i.own, work);
  return work;
}

// what was kept between steps
static void forget(const RadauWorkspace &work) {
  const std::int64_t steps = work.kept->steps;
  *work.kept = {};
  work.kept->steps = steps;
}

const Stepper radau_stepper{
    .name = "radau",
    .order = 4, // of the error estimate
    .adaptive = true,
    .implicit = true,
    .bytes =
        [](const ModelData &m) {
          RadauWorkspace work;
          return lay_out(m, nullptr, work);
        },
    .begin = [](const RunContext &i) { forget(workspace_of(i)); },
    .step =
        [](const RunContext &i, double h, double &error) {
          if (i.work.near)
            return explicit_step(i, dopri5_tableau, h, error);
          RadauWorkspace work = workspace_of(i);
          return radau_step(i, work, h, error);
        },
    .accept =
        [](const RunContext &i, double h, double error) {
          RadauWorkspace work = workspace_of(i);
          ++work.kept->steps;
          if (!i.work.near)
            return radau_accept(i, work, h, error);
          forget(work);
          return explicit_accept(i, 4, h, error);
        },
    .advance_state = [](const RunContext &) {},
    .prepare = prepare_hermite,
    .at = hermite_at,
};

} // namespace dalembert::DALEMBERT_ISA
