#include "system/load_feedback.hpp"
#include "scalar/dense_lu.hpp"
#include "tree/kinematics.hpp"
#include <cmath>
#include <initializer_list>
#include <limits>

namespace dalembert::DALEMBERT_ISA {

std::size_t lay_out(const ModelData &m, std::byte *base, LoadFeedbackWorkspace &work) {
  Arena arena{base};
  const std::size_t n = std::size_t(m.feedback_count);
  for (double **each : {&work.found, &work.residual, &work.step, &work.kept})
    *each = arena.take<double>(n);
  work.broyden = arena.take<double>(n * n);
  work.lu = arena.take<double>(n * n);
  work.exchange = arena.take<std::int32_t>(n);
  return arena.used;
}

std::size_t lay_out(const ModelData &m, std::byte *base, MotionWorkspace &work, bool loads) {
  Arena arena{base};
  arena.skip(lay_out(m, base, work.system));
  if (loads || m.feedback_count)
    arena.skip(lay_out(m, arena.here(), work.loads));
  arena.skip(lay_out(m, arena.here(), work.feedback));
  arena.skip(lay_out(m, arena.here(), work.sliding));
  return arena.used;
}

void transmitted_loads(const ModelData &m, const Conditions &c, MotionWorkspace &work, const SystemState<double> &s,
                       const double *a, double *z) {
  connection_loads(m, c, work.system, work.loads, s, a);
  use_load_feedback(m, work.system.loops.ws, work.loads.loads, z);
}

namespace {

double size_of(const double *u, int n) {
  double largest = 0.0;
  for (int k = 0; k < n; ++k)
    largest = std::fabs(u[k]) > largest || u[k] != u[k] ? std::fabs(u[k]) : largest;
  return largest;
}

// r(z) = z - g(z)
struct LoadEquation {
  const ModelData &m;
  const Conditions &c;
  MotionWorkspace &work;
  const SystemState<double> &s;
  double *a, *dx;

  void evaluate() {
    double *z = work.system.feedback, *found = work.feedback.found;
    solve_accelerations(m, c, work.system, s, a, dx);
    transmitted_loads(m, c, work, s, a, found);
    for (int k = 0; k < m.feedback_count; ++k)
      work.feedback.residual[k] = z[k] - found[k];
  }

  // z := g(z)
  void substitute() {
    for (int k = 0; k < m.feedback_count; ++k)
      work.system.feedback[k] = work.feedback.found[k];
    evaluate();
  }

  // by differences of size h
  void jacobian(double h) {
    const int n = m.feedback_count;
    double *z = work.system.feedback, *r = work.feedback.residual, *kept = work.feedback.kept;
    for (int k = 0; k < n; ++k)
      kept[k] = r[k];
    for (int j = 0; j < n; ++j) {
      const double before = z[j];
      z[j] = before + h;
      evaluate();
      z[j] = before;
      for (int i = 0; i < n; ++i)
        work.feedback.broyden[i * n + j] = (r[i] - kept[i]) / h;
    }
    for (int k = 0; k < n; ++k)
      r[k] = kept[k];
  }

  // moves z by the Newton step of the Jacobian; returns the square of the step, NaN if the Jacobian is singular
  double newton_step() {
    const int n = m.feedback_count;
    double *z = work.system.feedback, *r = work.feedback.residual, *step = work.feedback.step, *lu = work.feedback.lu;
    for (int k = 0; k < n * n; ++k)
      lu[k] = work.feedback.broyden[k];
    if (!factor_lu(lu, work.feedback.exchange, n))
      return std::numeric_limits<double>::quiet_NaN();
    for (int k = 0; k < n; ++k)
      step[k] = -r[k];
    solve_lu(lu, work.feedback.exchange, n, step);
    double square = 0.0;
    for (int k = 0; k < n; ++k) {
      z[k] += step[k];
      square += step[k] * step[k];
    }
    return square;
  }

  // Broyden's update: adds the residual that the step has not explained, r_new = J step + r_old + rest
  void update_jacobian(double square) {
    const int n = m.feedback_count;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        work.feedback.broyden[i * n + j] += work.feedback.residual[i] * work.feedback.step[j] / square;
  }
};

} // namespace

// Finds the loads that fit; false if there are none.
static bool solve_feedback(LoadEquation &equation) {
  LoadFeedbackWorkspace &work = equation.work.feedback;
  constexpr int max_rounds = 40, jacobian_period = 8;
  constexpr double precise = 1e-13, near = 1e-10, far = 1e8;
  const int n = equation.m.feedback_count;
  double *z = equation.work.system.feedback, *found = work.found, *r = work.residual;
  for (int k = 0; k < n; ++k)
    z[k] = 0.0;
  equation.evaluate();
  equation.substitute();
  // without the forces, and with them
  const double usual = size_of(z, n) > size_of(found, n) ? size_of(z, n) : size_of(found, n);
  double largest = 0.0, last = std::numeric_limits<double>::infinity(), before = size_of(z, n);
  int jacobian_round = 0;  // the round in which a Jacobian is due
  bool contractive = true; // g depends on z so weakly that substitution converges
  for (int round = 0; round < max_rounds; ++round) {
    const double open = size_of(r, n);
    largest = size_of(z, n) > largest ? size_of(z, n) : largest;
    if (open <= precise * largest || open == 0.0)
      return true;
    // loads of flexible bodies are differences of large ones, and as rough
    if (open <= near * largest && open > 0.5 * last)
      return true;
    last = open;
    const double ratio = open / before;
    contractive = contractive && ratio < 0.5 && std::log(precise) > (n + 3) * std::log(ratio);
    before = open;
    if (contractive) {
      equation.substitute();
      jacobian_round = round + 1;
      continue;
    }
    if ((round - jacobian_round) % jacobian_period == 0)
      equation.jacobian(1e-6 * (largest > open ? largest : open));
    const double square = equation.newton_step();
    if (square != square || !(size_of(z, n) <= far * usual)) // there is no solution near
      return false;
    equation.evaluate();
    if (!(square > 0.0))
      return true;
    equation.update_jacobian(square);
    if (size_of(work.step, n) <= precise * largest) // rounding is all that is left
      return true;
  }
  return false;
}

// for the branches that stand in the workspace
static void answer_motion(const ModelData &m, const Conditions &c, MotionWorkspace &work, const SystemState<double> &s,
                          double *a, double *dx) {
  if (!m.feedback_count) {
    solve_accelerations(m, c, work.system, s, a, dx);
    return;
  }
  LoadEquation equation{m, c, work, s, a, dx};
  if (!solve_feedback(equation))
    for (int f = 0; f < m.nv; ++f) // no such loads: the caller sees what is not finite
      a[f] = std::numeric_limits<double>::quiet_NaN();
}

bool dynamics(const ModelData &m, const Conditions &c, MotionWorkspace &work, const SystemState<double> &s, double *a,
              double *dx) {
  work.system.sliding = false;
  if (!evaluate_callbacks(m, c, work.system, s))
    return false;
  const auto motion = [&](double *accelerations, double *rates) { answer_motion(m, c, work, s, accelerations, rates); };
  if (c.law_branches && slides(m, c))
    slide(m, c, work.system, work.sliding, s, a, dx ? dx : work.system.unused, motion);
  else
    motion(a, dx);
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
