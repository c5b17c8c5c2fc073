#include "model/tables.hpp"
#include "system/derivatives/parts.hpp"
#include "tree/manifold.hpp"
#include <algorithm>
#include <cstring>

namespace dalembert::DALEMBERT_ISA {

// Whether dual numbers do not know all of it: laws that are evaluated outside have no third rate, and may look at the
// state; stabilisation adds to the rows.
bool needs_differences(const ModelData &m, const Conditions &c, Direction direction) {
  if (m.nc && (c.stabilization[0] != 0.0 || c.stabilization[1] != 0.0))
    return true;
  if (!c.callbacks || !m.callback_law_count)
    return false;
  const bool of_state =
      direction == Direction::position || direction == Direction::velocity || direction == Direction::state;
  return direction == Direction::time || (of_state && c.callbacks->depends_on_state);
}

// a step along a direction of parameters: the model and its parameters there. Table parameters need tables of their
// own, which are made here, in the one kernel that allocates memory: it serves where nothing else does.
static double step_along(const ModelData &m, const Conditions &c, const DerivativesWorkspace &work, int number,
                         double part, double *parameters, VariantTables &own, ModelData &model) {
  const std::ptrdiff_t width = m.parameter_count + m.parameter_maps.count;
  const double *direction = work.along.rows + number * width;
  std::vector<double> all(c.parameters, c.parameters + m.parameter_count);
  all.insert(all.end(), m.parameter_maps.values, m.parameter_maps.values + m.parameter_maps.count);
  double largest = 0.0, most = 0.0;
  for (std::ptrdiff_t k = 0; k < width; ++k)
    if (direction[k] != 0.0)
      largest = std::max(largest, std::fabs(all[std::size_t(k)])), most = std::max(most, std::fabs(direction[k]));
  const double step = most > 0.0 ? step_at(largest) / most : 1.0;
  for (std::ptrdiff_t k = 0; k < width; ++k)
    all[std::size_t(k)] += part * step * direction[k];
  std::copy(all.begin(), all.begin() + m.parameter_count, parameters);
  if (m.parameter_maps.count)
    model = with_parameters(m, all.data() + m.parameter_count, own);
  return step;
}

// accelerations, rates of element states and multipliers `part` of a step along a direction; false if the callbacks has
// failed
static bool stepped(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                    const SystemState<double> &s, Direction direction, int number, double part, bool multipliers,
                    double &step, double *found) {
  const int nv = m.nv, nx = m.nx, nc = m.nc;
  double *q = work.shifted, *v = q + m.nq, *tau = v + nv, *x = tau + nv, *inputs = x + nx,
         *parameters = inputs + m.input_count;
  Conditions changed = c;
  SystemState<double> state = s;
  VariantTables own;
  ModelData model = m;
  step = 1e-6;
  const auto shifted = [&](double *to, const double *from, int size, bool mine) {
    for (int k = 0; k < size; ++k)
      to[k] = from ? from[k] : 0.0;
    if (mine) {
      step = step_at(to[number]);
      to[number] += part * step;
    }
    return to;
  };
  if (direction == Direction::position) {
    for (int f = 0; f < nv; ++f)
      v[f] = f == number ? part * step : 0.0;
    integrate<double>(m, s.q, v, q);
    state.q = q;
  }
  state.v = shifted(v, s.v, nv, direction == Direction::velocity);
  state.x = shifted(x, s.x, nx, direction == Direction::state);
  if (direction == Direction::force)
    state.tau = shifted(tau, s.tau, nv, true);
  if (direction == Direction::time)
    step = step_at(s.t), state.t = s.t + part * step;
  if (direction == Direction::parameter)
    step = step_along(m, c, work, number, part, parameters, own, model), changed.parameters = parameters;
  if (direction == Direction::input) {
    for (int k = 0; k < m.input_count; ++k)
      inputs[k] = work.inputs[k].value;
    step = step_at(inputs[number]);
    inputs[number] += part * step;
    state.inputs = inputs;
  }
  if (!dynamics(model, changed, motion, state, found, found + nv))
    return false;
  if (nc && multipliers) { // of least norm
    connection_loads(model, changed, motion.system, motion.loads, state, found);
    std::memcpy(found + nv + nx, motion.loads.lambda, std::size_t(nc) * sizeof(double));
  }
  return true;
}

// All derivatives of a kind by differences of the equations of motion: central ones; at the end of a table, beyond
// which there are no values, f' = (-3 f(0) + 4 f(h) - f(2h)) / 2h on the side that has some.
bool difference_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                        const SystemState<double> &s, Direction direction, const DerivativeBlock &out) {
  const int n = directions_of(m, work, direction), nv = m.nv, nx = m.nx, nc = m.nc;
  const int size = nv + nx + (nc && out.lambda ? nc : 0);
  for (int number = 0; number < n; ++number) {
    double step = 1e-6;
    const auto take = [&](double part, double *found) {
      return stepped(m, c, motion, work, s, direction, number, part, out.lambda != nullptr, step, found);
    };
    const auto finite = [&](const double *found) {
      return std::all_of(found, found + size, [](double x) { return std::isfinite(x); });
    };
    if (!take(1.0, work.above) || !take(-1.0, work.below))
      return false;
    if (const bool up = finite(work.above); up != finite(work.below)) {
      double *one = up ? work.above : work.below, *other = up ? work.below : work.above;
      if (!take(0.0, other))
        return false;
      for (int k = 0; k < size; ++k)
        one[k] = 4.0 * one[k] - 3.0 * other[k];
      if (!take(up ? 2.0 : -2.0, other))
        return false;
    }
    const auto put = [&](double *to, int rows, int from) {
      for (int r = 0; to && r < rows; ++r)
        to[std::ptrdiff_t(r) * n + number] = (work.above[from + r] - work.below[from + r]) / (2.0 * step);
    };
    put(out.a, nv, 0);
    put(out.dx, nx, nv);
    put(out.lambda, nc, nv + nx);
  }
  return true;
}

} // namespace dalembert::DALEMBERT_ISA
