#include "elements/elements.hpp"
#include "system/derivatives/parts.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

// slopes of what elements give at joints in work.duals.tau, of rates of their states in work.dx
static void apply_varied_elements(const ModelData &m, const Conditions &c, MotionWorkspace &motion,
                                  DerivativesWorkspace &work, const SystemState<double> &s, Direction direction) {
  const SystemState<Dual> state = varied_state(c, work, s, direction);
  Workspace<Dual> &ws = work.duals.loops.ws;
  ws.t = state.t;
  std::fill_n(work.duals.tau, m.nv, Dual(0.0));
  apply_elements(m, ws, dual_context(c, motion, work, state, direction), state.q, state.v, work.duals.tau,
                 work.duals.cut);
}

// whether what elements give at a degree of freedom depends on nothing of the state but that degree of freedom
static bool elements_apart(const ModelData &m) {
  if (W < 2 || m.nx || m.actuator_count)
    return false;
  for (int k = 0; k < m.element_count; ++k) {
    const ElementData &e = m.elements[k];
    const PortData &port = m.ports[e.port];
    if (e.ports != 1 || (port.coordinate >= 0 && port.coordinate != m.coordinate[port.dof]))
      return false;
    for (int i = e.input; i < e.input + e.inputs; ++i)
      if (m.inputs[i].source != Source::law)
        return false;
  }
  return true;
}

// takes from dR what such elements give: all positions are varied in one lane, all velocities in another
static void vary_elements_apart(const ModelData &m, const Conditions &c, MotionWorkspace &motion,
                                DerivativesWorkspace &work, const SystemState<double> &s) {
  const auto mark = [&](double slope) {
    for (int f = 0; f < m.nv; ++f) {
      if (m.coordinate[f] >= 0)
        work.q[m.coordinate[f]].slope.set(0, slope);
      work.v[f].slope.set(1, slope);
    }
  };
  mark(1.0);
  apply_varied_elements(m, c, motion, work, s, Direction::position);
  mark(0.0);
  for (int f = 0; f < m.nv; ++f) {
    work.by_q[std::ptrdiff_t(f) * (m.nv + 1)] -= work.duals.tau[f].slope[0];
    work.by_v[std::ptrdiff_t(f) * (m.nv + 1)] -= work.duals.tau[f].slope[1];
  }
}

// dR by positions and velocities, as far as elements are apart, and M^-1
void walk_tree(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
               const SystemState<double> &s, const double *a) {
  Workspace<double> &ws = motion.system.loops.ws;
  // leaves the factors of M alone
  d_inverse_dynamics(m, ws, work.tree, s.q, s.v, a, nullptr, work.by_q, work.by_v, work.inverse);
  std::fill_n(work.inverse, std::ptrdiff_t(m.nv) * m.nv, 0.0);
  for (int f = 0; f < m.nv; ++f)
    work.inverse[std::ptrdiff_t(f) * (m.nv + 1)] = 1.0;
  if (m.nv <= max_inverted)
    solve_columns(m, ws, work.side, work.column, 1.0, work.inverse);
  if (m.element_count && elements_apart(m))
    vary_elements_apart(m, c, motion, work, s);
}

// takes what elements give at joints from dR, nv x nv, and puts rates of their states
static void vary_elements(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                          const SystemState<double> &s, Direction direction, double *by, double *dx) {
  for (int first = 0; first < m.nv; first += W) {
    const int count = m.nv - first < W ? m.nv - first : W;
    seed(m, work, s, direction, first, count, true);
    apply_varied_elements(m, c, motion, work, s, direction);
    seed(m, work, s, direction, first, count, false);
    const auto each = [&](const Dual *slopes, int rows, double *to, double sign) {
      for (int r = 0; to && r < rows; ++r)
        for (int l = 0; l < count; ++l)
          to[std::ptrdiff_t(r) * m.nv + first + l] += sign * slopes[r].slope[l];
    };
    each(work.duals.tau, m.nv, by, -1.0);
    each(work.dx, m.nx, dx, 1.0);
  }
}

void tree_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                  const SystemState<double> &s, Direction direction, const DerivativeBlock &block) {
  double *by = direction == Direction::position ? work.by_q : work.by_v;
  std::fill_n(block.dx, block.dx ? std::ptrdiff_t(m.nx) * m.nv : 0, 0.0);
  if (!elements_apart(m))
    vary_elements(m, c, motion, work, s, direction, by, block.dx);
  if (!block.a)
    return;
  if (m.nv <= max_inverted)
    minus_product(work.inverse, by, work.tile, m.nv);
  else
    solve_columns(m, motion.system.loops.ws, work.side, work.column, -1.0, by);
  std::copy_n(by, std::ptrdiff_t(m.nv) * m.nv, block.a);
}

} // namespace dalembert::DALEMBERT_ISA
