#include "steppers/adjoint.hpp"
#include "elements/elements.hpp"
#include "numerics/largest.hpp"
#include "steppers/methods/explicit_runge_kutta.hpp"
#include "steppers/methods/runge_kutta.hpp"
#include "steppers/run_workspace.hpp"
#include "system/derivatives/products.hpp"
#include "system/drives.hpp"
#include "system/projection.hpp"
#include "tree/chart.hpp"
#include <algorithm>
#include <cmath>
#include <vector>

namespace dalembert::DALEMBERT_ISA {
namespace {

using Vector = std::vector<double>;

constexpr const Tableau &tableau = rk4_tableau;
constexpr double negligible = 1e-12; // rad or m: corrections of which derivatives do not depend on

Vec3<double> three(const double *x) { return {x[0], x[1], x[2]}; }
void put(const Vec3<double> &from, double *to) { to[0] = from.x, to[1] = from.y, to[2] = from.z; }

// T^T l of (1)
Vec3<double> pull_turn(const Vec3<double> &xi, const Vec3<double> &l) {
  const TurnSeries<double> s = turn_series(dot(xi, xi));
  const Vec3<double> once = cross(xi, l);
  return l + scale(s.a, once) + scale(s.b, cross(xi, once));
}

// (1) transposed: l (nv) at q (+) xi becomes T^T l and E^T l
void pull_chart(const ModelData &m, const double *xi, const double *l, double *by_xi, double *by_q) {
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    if (!has_quaternion(b)) {
      for (int k = b.v; k < b.v + b.nv; ++k)
        by_xi[k] = by_q[k] = l[k];
      continue;
    }
    const Vec3<double> x = three(xi + b.v), turn = three(l + b.v);
    Vec3<double> base = turned(x, turn);
    put(pull_turn(x, turn), by_xi + b.v);
    if (b.nv == 6) {
      const Vec3<double> shift = turned(x, three(l + b.v + 3));
      base += cross(three(xi + b.v + 3), shift);
      put(shift, by_xi + b.v + 3);
      put(shift, by_q + b.v + 3);
    }
    put(base, by_q + b.v);
  }
}

// chart_rate transposed: r (nv) becomes Cxi^T r and Cv^T r
void pull_rate(const ModelData &m, const double *xi, const double *v, const double *r, double *by_xi, double *by_v) {
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    if (!has_quaternion(b)) {
      for (int k = b.v; k < b.v + b.nv; ++k)
        by_xi[k] = 0.0, by_v[k] = r[k];
      continue;
    }
    const Vec3<double> x = three(xi + b.v), w = three(v + b.v), l = three(r + b.v);
    const double square = dot(x, x), xw = dot(x, w), xl = dot(x, l), wl = dot(w, l);
    const Dual c = turn_series(Dual(square, Pack(1.0))).c;
    const double bend = 2.0 * c.slope[0] * (xl * xw - square * wl);
    const Vec3<double> once = cross(x, l);
    Vec3<double> change =
        scale(0.5, cross(w, l)) + scale(c.value * xw, l) + scale(c.value * xl, w) + scale(bend - 2.0 * c.value * wl, x);
    put(l - scale(0.5, once) + scale(c.value, cross(x, once)), by_v + b.v);
    if (b.nv == 6) {
      const Vec3<double> back = turned(-x, three(r + b.v + 3));
      put(back, by_v + b.v + 3);
      change += pull_turn(x, cross(three(v + b.v + 3), back));
      for (int k = b.v + 3; k < b.v + 6; ++k)
        by_xi[k] = 0.0;
    }
    put(change, by_xi + b.v);
  }
}

struct AdjointWorkspace {
  RunWorkspace run;
  DerivativesWorkspace derivatives;
  ProductWorkspace products;
};

std::size_t lay_out(const ModelData &m, std::byte *base, AdjointWorkspace &work, int directions) {
  Arena arena{base};
  arena.skip(DALEMBERT_ISA::lay_out(m, base, work.run));
  arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), work.derivatives, directions));
  arena.skip(DALEMBERT_ISA::lay_out(m, arena.here(), work.products));
  return arena.used;
}

class Adjoint {
public:
  Adjoint(const ModelData &m, const Run &asked, std::byte *memory, const Samples &samples,
          const AdjointDirections &directions, const AdjointRun &of)
      : m(m), run(asked), samples(samples), of(of), n(increments(m)), directions(directions.count) {
    lay_out(m, memory, work, directions.count);
    run.conditions.law_branches = nullptr;
    along().along = {directions.rows, directions.count};
    clear_directions(along());
    const ControlSequence *control = run.conditions.sequence;
    for (int k = 0; control && k < m.parameter_count; ++k)
      if (control->parameter[k] >= 0)
        set_channels.push_back(control->parameter[k]);
    has_forces = control && std::any_of(control->force, control->force + m.nv, [](int k) { return k >= 0; });
    has_inputs = control && std::any_of(control->input, control->input + m.input_count, [](int k) { return k >= 0; });
    by_force.resize(has_forces ? std::size_t(m.nv) : 0);
    by_input.resize(has_inputs ? std::size_t(m.input_count) : 0);
    by_parameter.resize(std::size_t(directions.count));
    by_x.resize(std::size_t(m.nx));
    for (Vector *each : {&lq, &lv, &accelerations, &by_q, &by_v, &by_xi, &rate_xi, &rate_v, &rounds_d})
      each->resize(std::size_t(m.nv));
    lx.resize(std::size_t(m.nx));
    for (Vector *each : {&w, &end, &acc})
      each->resize(std::size_t(n));
    B.resize(std::size_t(tableau.stages * n));
  }

  Outcome make() {
    for (std::ptrdiff_t k = samples.count - 1; k >= 0; --k) {
      add_seeds(k);
      if (k == 0)
        break;
      const Outcome outcome = replay(k - 1);
      if (outcome != Outcome::reached)
        return outcome;
      for (std::size_t j = steps.size(); j-- > 0;)
        if (!step_back(j))
          return Outcome::callback_failed;
    }
    return finish();
  }

private:
  const ModelData &m;
  Run run;
  const Samples samples;
  const AdjointRun of;
  const int n, directions;
  AdjointWorkspace work;
  bool has_forces = false, has_inputs = false;
  std::vector<int> set_channels; // channels of the parameters that the sequence sets, in their order
  ProductTape recorded;
  Vector by_force, by_input, by_parameter, by_x; // products at a stage; as long as they are wanted
  Vector lq, lv, lx;                       // derivatives of the output by the state
  Vector accelerations, by_q, by_v, by_xi; // nv
  Vector rate_xi, rate_v, rounds_d;        // nv
  Vector w, end, acc, B;                   // n; stages x n
  struct Step {
    double t, h;
    SmoothInterval interval;
  };
  std::vector<Step> steps; // of one interval between samples
  Vector tape;             // of each: q v x K

  RunWorkspace &here() { return work.run; }
  DerivativesWorkspace &along() { return work.derivatives; }
  RunContext context() { return {m, run, work.run, nullptr}; }
  std::size_t tape_width() const { return std::size_t(m.nq + m.nv + m.nx + tableau.stages * n); }

  void add_seeds(std::ptrdiff_t k) {
    for (int f = 0; f < m.nv; ++f) {
      lq[std::size_t(f)] += of.q_bar[k * m.nv + f];
      lv[std::size_t(f)] += of.v_bar[k * m.nv + f];
    }
    for (int j = 0; j < m.nx; ++j)
      lx[std::size_t(j)] += of.x_bar[k * m.nx + j];
  }

  // ---- the steps of one interval between samples, taken again

  Outcome enter() {
    const RunContext i = context();
    run.interval = SmoothInterval::around(run.discontinuities, run.t);
    if (!impose_drives(i, run.t, here().q, here().v, here().x))
      return Outcome::callback_failed;
    const Outcome outcome = project_onto_constraints(i, run.t, here().q, here().v);
    if (outcome != Outcome::reached)
      return outcome;
    return rates(i, run.t, here().q, here().v, here().x, here().a, here().dx) ? Outcome::reached
                                                                              : Outcome::callback_failed;
  }

  Outcome replay(std::ptrdiff_t k) {
    RunWorkspace &at = here();
    const RunContext i = context();
    copy(of.q + k * m.nq, m.nq, at.q), copy(of.v + k * m.nv, m.nv, at.v), copy(of.x + k * m.nx, m.nx, at.x);
    run.t = samples.times[k];
    steps.clear(), tape.clear();
    const double until = samples.times[k + 1];
    Outcome outcome = enter();
    while (outcome == Outcome::reached && run.t < until) {
      const double goal = std::min(until, run.interval.end), left = goal - run.t,
                   wanted = std::min(run.fixed_step, run.max_step);
      const bool last = wanted * 1.0000001 >= left;
      const double h = last ? left : wanted;
      double error = 0.0;
      steps.push_back({run.t, h, run.interval});
      for (const auto &[from, size] : {std::pair{at.q, m.nq}, {at.v, m.nv}, {at.x, m.nx}})
        tape.insert(tape.end(), from, from + size);
      outcome = explicit_step(i, tableau, h, error);
      if (outcome != Outcome::reached)
        return outcome;
      tape.insert(tape.end(), at.K, at.K + tableau.stages * n);
      std::swap(at.q, at.q1), std::swap(at.v, at.v1), std::swap(at.x, at.x1);
      std::swap(at.a, at.a1), std::swap(at.dx, at.dx1);
      run.t = last ? goal : std::min(goal, run.t + h);
      if (run.t == run.interval.end && run.t < until)
        outcome = enter();
    }
    return outcome;
  }

  // ---- one step back

  void release_driven(double *q, double *v) const {
    const Conditions &c = run.conditions;
    for (int f = 0; f < m.nv; ++f) {
      if (c.position_prescribed && c.position_prescribed[f])
        q[f] = 0.0;
      if (c.velocity_prescribed && c.velocity_prescribed[f])
        v[f] = 0.0;
    }
  }

  bool step_back(std::size_t number) {
    RunWorkspace &at = here();
    const RunContext i = context();
    const Step &step = steps[number];
    run.t = step.t, run.interval = step.interval;
    const double *kept = tape.data() + number * tape_width(), h = step.h;
    copy(kept, m.nq, at.q), copy(kept + m.nq, m.nv, at.v), copy(kept + m.nq + m.nv, m.nx, at.x);
    copy(kept + m.nq + m.nv + m.nx, tableau.stages * n, at.K);
    // the end
    combine(tableau.b, tableau.stages, h, at.K, n, at.z);
    if (!displaced(i, step.t + h, at.z, at.q1, at.v1, at.x1))
      return false;
    if (m.nc && run.project && !project_back(step.t + h, at.q1, at.v1, at.x1))
      return false;
    release_driven(lq.data(), lv.data());
    pull_chart(m, at.z, lq.data(), end.data(), acc.data());
    for (int f = 0; f < m.nv; ++f)
      end[std::size_t(m.nv + f)] = acc[std::size_t(m.nv + f)] = lv[std::size_t(f)];
    for (int k = 0; k < m.nx; ++k)
      end[std::size_t(2 * m.nv + k)] = acc[std::size_t(2 * m.nv + k)] = lx[std::size_t(k)];
    for (int stage = tableau.stages; stage-- > 0;)
      if (!stage_back(step, stage))
        return false;
    std::copy_n(acc.data(), m.nv, lq.data());
    std::copy_n(acc.data() + m.nv, m.nv, lv.data());
    std::copy_n(acc.data() + 2 * m.nv, m.nx, lx.data());
    return true;
  }

  // (2), (3)
  bool stage_back(const Step &step, int stage) {
    RunWorkspace &at = here();
    const RunContext i = context();
    const double h = step.h, t = step.t + tableau.c[stage] * h;
    for (int k = 0; k < n; ++k) {
      double sum = tableau.b[stage] * end[std::size_t(k)];
      for (int j = stage + 1; j < tableau.stages; ++j)
        sum += tableau.a[j * tableau.width + stage] * B[std::size_t(j * n + k)];
      w[std::size_t(k)] = h * sum;
    }
    const double *q = at.q, *v = at.v, *x = at.x;
    if (stage) {
      combine_stage(tableau, stage, h, at.K, n, at.z);
      if (!displaced(i, t, at.z, at.qs, at.vs, at.xs))
        return false;
      q = at.qs, v = at.vs, x = at.xs;
    }
    Products out;
    const std::pair<Direction, Vector *> wanted[] = {
        {Direction::position, &by_q},   {Direction::velocity, &by_v}, {Direction::state, &by_x},
        {Direction::force, &by_force}, {Direction::input, &by_input}, {Direction::parameter, &by_parameter}};
    for (const auto &[direction, product] : wanted)
      if (!product->empty())
        out.of[int(direction)] = product->data();
    const SystemState<double> state{run.interval.clamp(t), q, v, x};
    if (!multiply_derivatives(m, run.conditions, at.motion, along(), work.products, recorded, state, w.data() + m.nv,
                              w.data() + 2 * m.nv, accelerations.data(), out))
      return false;
    add_forces(state.t);
    add_inputs(state.t);
    add_parameters(state.t);
    double *B_i = B.data() + std::ptrdiff_t(stage) * n;
    for (int k = 0; k < m.nx; ++k) {
      B_i[2 * m.nv + k] = by_x[std::size_t(k)];
      acc[std::size_t(2 * m.nv + k)] += by_x[std::size_t(k)];
    }
    if (!stage) { // at the state itself: xi' is v
      for (int f = 0; f < m.nv; ++f) {
        acc[std::size_t(f)] += by_q[std::size_t(f)];
        acc[std::size_t(m.nv + f)] += by_v[std::size_t(f)] + w[std::size_t(f)];
      }
      return true;
    }
    pull_rate(m, at.z, v, w.data(), rate_xi.data(), rate_v.data());
    for (int f = 0; f < m.nv; ++f)
      by_v[std::size_t(f)] += rate_v[std::size_t(f)];
    release_driven(by_q.data(), by_v.data());
    pull_chart(m, at.z, by_q.data(), by_xi.data(), rate_v.data());
    for (int f = 0; f < m.nv; ++f) {
      B_i[f] = rate_xi[std::size_t(f)] + by_xi[std::size_t(f)];
      B_i[m.nv + f] = by_v[std::size_t(f)];
      acc[std::size_t(f)] += rate_v[std::size_t(f)];
      acc[std::size_t(m.nv + f)] += by_v[std::size_t(f)];
    }
    return true;
  }

  // ---- by the control

  void add_to_channel(double t, int channel, double slope) {
    const ControlSequence &control = *run.conditions.sequence;
    const std::ptrdiff_t k = control.interval(t);
    const double s = control.linear ? control.fraction(k, t) : 0.0;
    of.control[k * control.channels + channel] += (1.0 - s) * slope;
    if (control.linear)
      of.control[(k + 1) * control.channels + channel] += s * slope;
  }
  void add_forces(double t) {
    for (int k = 0; has_forces && k < m.actuator_count; ++k) // what is clipped does not vary
      if (const int f = m.ports[m.actuators[k].port].dof;
          f >= 0 && delivered_fraction(m.actuators[k], here().motion.system.requested_effort[k]) < 1.0)
        by_force[std::size_t(f)] = 0.0;
    for (int f = 0; has_forces && f < m.nv; ++f)
      if (const int channel = run.conditions.sequence->force[f]; channel >= 0)
        add_to_channel(t, channel, by_force[std::size_t(f)]);
  }
  void add_inputs(double t) {
    for (int k = 0; has_inputs && k < m.input_count; ++k)
      if (const int channel = run.conditions.sequence->input[k]; channel >= 0)
        add_to_channel(t, channel, by_input[std::size_t(k)]);
  }
  void add_parameters(double t) {
    const int own = int(set_channels.size());
    for (int k = 0; k < own; ++k)
      add_to_channel(t, set_channels[std::size_t(k)], by_parameter[std::size_t(k)]);
    for (int k = own; k < directions; ++k)
      of.parameters[k - own] += by_parameter[std::size_t(k)];
  }

  // ---- projection onto the loops

  struct Round {
    Vector q, d, lambda;
  };
  std::vector<Round> rounds;
  Vector v1, e, lambda_v, u, mu, force, q_r;

  // calls visit(row, dof, entry) for all entries of P
  template <class Visit> void for_entries(Visit &&visit) {
    const LoopWorkspace<double> &loops = here().motion.system.loops;
    for (int k = 0; k < m.loop_constraint_count; ++k) {
      const LoopConstraintData &constraint = m.loop_constraints[k];
      for (int j = 0; j < constraint.rows; ++j)
        for (int s = 0; s < constraint.supports; ++s)
          visit(constraint.row + j, m.support[constraint.support + s],
                loops.values[constraint.values + j * constraint.supports + s]);
    }
  }
  Factored factor_at(const double *q, double *residual, double *drift, const unsigned char *marks) {
    LoopWorkspace<double> &loops = here().motion.system.loops;
    const Conditions &c = run.conditions;
    evaluate_loop_constraints<double>(m, loops.ws, q, nullptr,
                                      {.residual = residual,
                                       .values = loops.values,
                                       .leverage = loops.leverage,
                                       .drift = drift,
                                       .opening = &loops.opening,
                                       .active = c.constraint_active,
                                       .held = c.cut_velocity_locked});
    return factor_loops(m, loops, q, marks);
  }

  // positions of (5) and velocities of (6) once more, with all that they need
  void project_again(double time, const double *q, const double *v) {
    SystemWorkspace<double> &system = here().motion.system;
    LoopWorkspace<double> &loops = system.loops;
    constexpr int max_rounds = 12;
    constexpr double settled = 1e-9;
    time = run.interval.clamp(time);
    loops.ws.t = time;
    set_targets(m, time, system.callback_laws, system.targets);
    rounds.clear();
    q_r.assign(q, q + m.nq);
    for (int round = 0; round < max_rounds; ++round) {
      Round one{q_r, Vector(std::size_t(m.nv)), Vector(std::size_t(m.nc))};
      const Factored factored = factor_at(q_r.data(), system.lambda, nullptr, run.conditions.position_prescribed);
      for (int i = 0; i < m.nc; ++i)
        loops.rhs[i] = m.holonomic[i] ? system.targets[i] - system.lambda[i] : 0.0;
      wrap_driven_angles(m, loops.rhs);
      solve_rows(m, loops, factored, one.d.data(), one.lambda.data());
      integrate<double>(m, one.q.data(), one.d.data(), q_r.data());
      const double size = largest(one.d);
      rounds.push_back(std::move(one));
      if (!(size >= settled))
        break;
    }
    const Factored factored = factor_at(q_r.data(), nullptr, loops.drift, run.conditions.velocity_prescribed);
    v1.assign(v, v + m.nv);
    lambda_v.assign(std::size_t(m.nc), 0.0);
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < m.nc; ++i)
        loops.rhs[i] = system.targets[m.nc + i] - loops.drift[i];
      for_entries([&](int row, int f, double entry) { loops.rhs[row] -= entry * v1[std::size_t(f)]; });
      solve_rows(m, loops, factored, v1.data(), lambda_v.data());
    }
    e.resize(std::size_t(m.nv));
    for (int f = 0; f < m.nv; ++f)
      e[std::size_t(f)] = v1[std::size_t(f)] - v[f];
  }

  // K^T [u; mu] = [l; 0], with the factors of the loops and marks of degrees of freedom that stand still
  void solve_transposed(const Factored &factored, const double *l, const unsigned char *marks) {
    LoopWorkspace<double> &loops = here().motion.system.loops;
    for (int f = 0; f < m.nv; ++f) {
      along().column[f] = Pack(0.0);
      along().column[f].set(0, l[f]);
    }
    solve(m, loops.ws, along().side, along().column, along().column, 1, m.nb, marks);
    u.resize(std::size_t(m.nv));
    mu.assign(std::size_t(m.nc), 0.0);
    for (int f = 0; f < m.nv; ++f)
      u[std::size_t(f)] = marks && marks[f] ? 0.0 : along().column[f][0];
    std::fill_n(loops.rhs, m.nc, 0.0);
    for_entries([&](int row, int f, double entry) { loops.rhs[row] -= entry * u[std::size_t(f)]; });
    solve_rows(m, loops, factored, u.data(), mu.data());
    for (double &each : mu)
      each = -each;
  }

  // derivatives of u . (M a - P^T lambda) + mu . P b by directions, times -1, added; null a: without the first
  bool subtract_slopes(const SystemState<double> &s, const double *a, const double *lambda, const double *b,
                       Direction direction, int count, double *to) {
    const Vector none(std::size_t(std::max(m.nv, m.nc)), 0.0);
    const auto add = [&](const double *a, const double *lambda, double of_forces, double of_rows) {
      hold_state(m, run.conditions, here().motion, along(), s, a, lambda);
      for (int first = 0; first < count; first += W) {
        const int lanes = std::min(W, count - first);
        vary(m, run.conditions, here().motion, along(), s, direction, first, lanes);
        for (int l = 0; l < lanes; ++l) {
          double sum = 0.0;
          for (int f = 0; f < m.nv; ++f)
            sum += of_forces * u[std::size_t(f)] * along().column[f][l]; // -dR
          for (int i = 0; i < m.nc; ++i)
            sum -= of_rows * mu[std::size_t(i)] * along().seconds[i].slope[l];
          to[first + l] += sum;
        }
      }
    };
    if (a == b) {
      add(a, lambda, 1.0, 1.0);
    } else {
      if (a)
        add(a, lambda, 1.0, 0.0);
      add(b, none.data(), 0.0, 1.0);
    }
    add(none.data(), none.data(), a ? -1.0 : 0.0, -1.0);
    return true;
  }

  // by positions, added to lq, and by parameters
  void pull_residuals(const SystemState<double> &s, const double *a, const double *lambda, const double *b) {
    const int own = int(set_channels.size());
    subtract_slopes(s, a, lambda, b, Direction::position, m.nv, lq.data());
    if (directions == own)
      return;
    std::fill_n(by_parameter.data(), directions, 0.0);
    subtract_slopes(s, a, lambda, b, Direction::parameter, directions, by_parameter.data());
    for (int k = own; k < directions; ++k)
      of.parameters[k - own] += by_parameter[std::size_t(k)];
  }

  // (6), (5): from lq, lv after the projection of q, v to those before it
  bool project_back(double time, const double *q, const double *v, const double *x) {
    MotionWorkspace &motion = here().motion;
    const Conditions &c = run.conditions;
    SystemState<double> s{run.interval.clamp(time), q, v, x};
    if (!dynamics(m, c, motion, s, accelerations.data(), motion.system.unused)) // what elements take besides the state
      return false;
    project_again(time, q, v);
    Factored factored = factor_at(q_r.data(), nullptr, nullptr, c.velocity_prescribed);
    solve_transposed(factored, lv.data(), c.velocity_prescribed);
    for_entries([&](int row, int f, double entry) { lv[std::size_t(f)] -= entry * mu[std::size_t(row)]; });
    s.q = q_r.data(), s.v = v1.data();
    pull_residuals(s, largest(e) > negligible ? e.data() : nullptr, lambda_v.data(), v1.data());
    force.resize(std::size_t(m.nv));
    for (std::size_t r = rounds.size(); r-- > 0;) {
      const Round &round = rounds[r];
      pull_chart(m, round.d.data(), lq.data(), force.data(), by_q.data());
      factored = factor_at(round.q.data(), nullptr, nullptr, c.position_prescribed);
      solve_transposed(factored, force.data(), c.position_prescribed);
      std::copy_n(by_q.data(), m.nv, lq.data());
      for_entries([&](int row, int f, double entry) {
        if (m.holonomic[row])
          lq[std::size_t(f)] -= entry * mu[std::size_t(row)];
      });
      s.q = round.q.data();
      if (largest(round.d) > negligible)
        pull_residuals(s, round.d.data(), round.lambda.data(), round.d.data());
    }
    return true;
  }

  // at the begin: along motions that loops and drives allow
  Outcome finish() {
    run.t = samples.times[0];
    run.interval = SmoothInterval::around(run.discontinuities, run.t);
    if (m.nc && run.project && !project_back(run.t, of.q, of.v, of.x))
      return Outcome::callback_failed;
    release_driven(lq.data(), lv.data());
    std::copy_n(lq.data(), m.nv, of.q_grad);
    std::copy_n(lv.data(), m.nv, of.v_grad);
    std::copy_n(lx.data(), m.nx, of.x_grad);
    return Outcome::reached;
  }
};

std::size_t adjoint_bytes(const ModelData &m, int directions) {
  AdjointWorkspace work;
  return lay_out(m, nullptr, work, directions);
}

Outcome run_adjoint(const ModelData &m, const Run &run, std::byte *memory, const Samples &samples,
                    const AdjointDirections &directions, const AdjointRun &of) {
  return Adjoint(m, run, memory, samples, directions, of).make();
}

} // namespace

extern const AdjointSet adjoints;
const AdjointSet adjoints{adjoint_bytes, run_adjoint};

} // namespace dalembert::DALEMBERT_ISA
