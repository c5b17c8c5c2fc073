#include "system/inverse_dynamics.hpp"
#include "tree/manifold.hpp"
#include "tree/mass_matrix.hpp"
#include "tree/outputs.hpp"
#include <cmath>
#include <limits>

namespace dalembert::DALEMBERT_ISA {

// loads that elements take in the motion, into work.system.feedback
static void settle_feedback(const ModelData &m, const Conditions &c, MotionWorkspace &work,
                            const SystemState<double> &s, const double *a) {
  constexpr int max_rounds = 200;
  constexpr double precise = 1e-14;
  double *z = work.system.feedback, *found = work.feedback.found;
  for (int round = 0; round < max_rounds; ++round) {
    transmitted_loads(m, c, work, s, a, found);
    double size = 0.0, change = 0.0;
    for (int k = 0; k < m.feedback_count; ++k) {
      size = std::fmax(size, std::fabs(found[k]));
      change = std::fmax(change, std::fabs(found[k] - z[k]));
      z[k] = found[k];
    }
    if (change <= precise * size)
      return;
  }
  for (int k = 0; k < m.feedback_count; ++k) // the caller sees what is not finite
    z[k] = std::numeric_limits<double>::quiet_NaN();
}

// everything that acts in the motion, into work.system
static bool balance_motion(const ModelData &m, const Conditions &c, MotionWorkspace &work,
                           const PrescribedMotion &motion) {
  SystemWorkspace<double> &system = work.system;
  SystemState<double> s = motion.s;
  s.prescribed = nullptr;
  if (!evaluate_callbacks(m, c, system, s))
    return false;
  // rows and their factors, and where to begin
  if (m.feedback_count && !dynamics(m, c, work, s, system.passed, system.unused))
    return false;
  for (int i = 0; i < m.nc; ++i)
    system.lambda[i] = motion.lambda ? motion.lambda[i] : 0.0;
  if (m.feedback_count)
    settle_feedback(m, c, work, s, motion.a);
  motion_residuals(m, c, system, evaluation_context(c, system, s, system.unused), s, motion.a, system.lambda,
                   static_cast<double *>(nullptr));
  return true;
}

bool required_forces(const ModelData &m, const Conditions &c, MotionWorkspace &work, const PrescribedMotion &motion,
                     double *tau) {
  if (!balance_motion(m, c, work, motion))
    return false;
  for (int f = 0; f < m.nv; ++f)
    tau[f] = work.system.passed[f] - work.system.tau[f];
  return true;
}

bool loads_of_motion(const ModelData &m, const Conditions &c, MotionWorkspace &work, const PrescribedMotion &motion,
                     double *loads) {
  if (!balance_motion(m, c, work, motion))
    return false;
  joint_loads(m, work.system.loops.ws, loads);
  loop_constraint_loads(m, c, work.system, work.system.lambda, loads + 6 * std::ptrdiff_t(m.users));
  return true;
}

// by differences: elements take loads that the motion passes on, or laws that are evaluated outside look at it
static bool by_differences(const ModelData &m, const Conditions &c, MotionWorkspace &work,
                           DerivativesWorkspace &derivatives, const PrescribedMotion &motion, double *const by[3]) {
  double *shifted = derivatives.shifted, *direction = shifted + m.nq,
         *found[2] = {derivatives.above, derivatives.below};
  const double *here[3] = {motion.s.q, motion.s.v, motion.a};
  for (int kind = 0; kind < 3; ++kind)
    for (int f = 0; f < m.nv; ++f) {
      const double step = kind ? step_at(here[kind][f]) : step_at(0.0);
      for (int side = 0; side < 2; ++side) {
        for (int k = 0; k < m.nv; ++k)
          direction[k] = k == f ? (side ? -step : step) : 0.0;
        if (kind == 0)
          integrate<double>(m, here[0], direction, shifted);
        for (int k = 0; kind && k < m.nv; ++k)
          shifted[k] = here[kind][k] + direction[k];
        PrescribedMotion moved = motion;
        (kind == 0 ? moved.s.q : kind == 1 ? moved.s.v : moved.a) = shifted;
        if (!required_forces(m, c, work, moved, found[side]))
          return false;
      }
      for (std::ptrdiff_t r = 0; r < m.nv; ++r)
        by[kind][r * m.nv + f] = (found[0][r] - found[1][r]) / (2.0 * step);
    }
  return true;
}

bool d_required_forces(const ModelData &m, const Conditions &c, MotionWorkspace &work,
                       DerivativesWorkspace &derivatives, const PrescribedMotion &motion, double *const by[3]) {
  if (m.feedback_count || (c.callbacks && c.callbacks->depends_on_state))
    return by_differences(m, c, work, derivatives, motion, by);
  SystemWorkspace<double> &system = work.system;
  SystemState<double> s = motion.s;
  s.prescribed = nullptr;
  if (!evaluate_callbacks(m, c, system, s))
    return false;
  for (int i = 0; i < m.nc; ++i)
    system.lambda[i] = 0.0;
  hold_state(m, c, work, derivatives, s, motion.a, system.lambda);
  for (int kind = 0; kind < 2; ++kind)
    for (int first = 0; first < m.nv; first += W) {
      const int count = m.nv - first < W ? m.nv - first : W;
      vary(m, c, work, derivatives, s, kind ? Direction::velocity : Direction::position, first, count);
      for (std::ptrdiff_t f = 0; f < m.nv; ++f)
        for (int l = 0; l < count; ++l)
          by[kind][f * m.nv + first + l] = -derivatives.column[f][l];
    }
  mass_matrix<double>(m, system.loops.ws, s.q, by[2]);
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
