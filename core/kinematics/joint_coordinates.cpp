#include "kinematics/joint_coordinates.hpp"
#include "constraints/loop_workspace.hpp"
#include "kinematics/dyad_chain.hpp"
#include "system/drives.hpp"
#include "tree/manifold.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {
namespace {

struct RelativeForm {
  const ModelData &m;
  const Conditions &c;
  int nq, nv, rows;
  const double *row_scale, *column_scale;
  const unsigned char *known = nullptr;
  bool oriented; // directions that a chain forbids have no sign of their own
  double t = 0.0;

  RelativeForm(const ModelData &model, const Conditions &conditions, const double *scales)
      : m(model), c(conditions), nq(m.nq), nv(m.nv), rows(m.nc), row_scale(scales), column_scale(m.column_scale),
        oriented(std::none_of(
            m.loop_constraints, m.loop_constraints + m.loop_constraint_count,
            [](const LoopConstraintData &constraint) { return constraint.form == LoopConstraintForm::chain; })) {}

  // workspace
  Workspace<double> ws;
  double *values;                                   // blocks of J
  double *drift;                                    // nc: rates of the rows while nothing moves
  double *targets;                                  // 3 x nc
  double *callback_laws, *laws_ahead, *laws_behind; // 3 per callback law
  double *unused;                                   // nv + users x 6: forces of callbacks of which only laws are used
  double *still;                                    // nq + nv: state that callbacks receive
  double *x;                                        // nx
  DyadChain chain;
  enum class ChainUse { unknown, ready, not_here, none } chain_use = ChainUse::unknown;
  std::ptrdiff_t next_try = 0, wait = 1; // row from which the chain is tried again, and rows in between
  Workspace<Dual> dual_ws;
  Dual *dual_q, *dual_v, *dual_values, *dual_bias, *dual_targets, *dual_a;

  bool ask(double time, double *laws) const {
    return !c.callbacks || (*c.callbacks)(time, still, still + nq, x, laws, unused, unused + nv);
  }
  bool look(double time) {
    t = time;
    ws.t = time;
    if (!ask(time, callback_laws))
      return false;
    set_targets<double>(m, time, callback_laws, targets);
    return true;
  }
  void place(double *q) { impose_drives<double>(m, t, callback_laws, q, nullptr); }
  void pace(double *v) { impose_drives<double>(m, t, callback_laws, nullptr, v); }
  void press(double *a) { prescribe<double>(m, c.acceleration_prescribed, t, callback_laws, a); }
  void spread(const double *blocks, double *J) {
    for (std::ptrdiff_t k = 0; k < std::ptrdiff_t(rows) * nv; ++k)
      J[k] = 0.0;
    for (int k = 0; k < m.loop_constraint_count; ++k) {
      const LoopConstraintData &constraint = m.loop_constraints[k];
      for (int j = 0; j < constraint.rows; ++j)
        for (int s = 0; s < constraint.supports; ++s)
          J[std::ptrdiff_t(constraint.row + j) * nv + m.support[constraint.support + s]] =
              blocks[constraint.values + j * constraint.supports + s];
    }
  }
  void positions(const double *q, double *r, double *J) {
    evaluate_loop_constraints<double>(m, ws, q, nullptr,
                                      {.residual = r,
                                       .values = values,
                                       .drift = drift,
                                       .active = c.constraint_active,
                                       .held = c.cut_velocity_locked});
    for (int i = 0; i < rows; ++i)
      r[i] -= targets[i];
    wrap_driven_angles(m, r);
    spread(values, J);
  }
  void rates(double *b) { // where positions were looked at last
    for (int i = 0; i < rows; ++i)
      b[i] = targets[rows + i] - drift[i];
  }
  void bends(const double *q, const double *v, double *d) {
    evaluate_loop_constraints<double>(m, ws, q, v,
                                      {.bias = d, .active = c.constraint_active, .held = c.cut_velocity_locked});
    for (int i = 0; i < rows; ++i)
      d[i] = targets[2 * rows + i] - d[i];
  }
  // Rows of a motion from `row` on in closed form, as many as are certain; returns the row after them.
  std::ptrdiff_t leap(SweepCall &call, std::ptrdiff_t row);
  // d/dt (J a + bias) while a stays, along q' = v, v' = a, t' = 1, in the first lane of dual numbers
  bool thirds(const double *q, const double *v, const double *a, double *d, double *j);
  void integrate(const double *q, const double *step, double *out) {
    DALEMBERT_ISA::integrate<double>(m, q, step, out);
  }
  void difference(const double *q0, const double *q1, double *out) {
    DALEMBERT_ISA::difference<double>(m, q0, q1, out);
  }
};

Pack along(double slope) {
  Pack lanes(0.0);
  lanes.set(0, slope);
  return lanes;
}

bool RelativeForm::thirds(const double *q, const double *v, const double *a, double *d, double *j) {
  coordinate_rates<double>(m, q, v, still);
  for (int k = 0; k < nq; ++k)
    dual_q[k] = Dual(q[k], along(still[k]));
  for (int k = 0; k < nq; ++k)
    still[k] = 0.0;
  for (int f = 0; f < nv; ++f)
    dual_v[f] = Dual(v[f], along(a[f]));
  const Dual time(t, along(1.0));
  dual_ws.t = time;
  evaluate_loop_constraints<Dual>(
      m, dual_ws, dual_q, dual_v,
      {.bias = dual_bias, .values = dual_values, .active = c.constraint_active, .held = c.cut_velocity_locked});
  set_targets<Dual>(m, time, callback_laws, dual_targets);
  prescribe<Dual>(m, c.acceleration_prescribed, time, callback_laws, dual_a);
  for (int i = 0; i < rows; ++i)
    d[i] = dual_targets[2 * rows + i].slope[0] - dual_bias[i].slope[0];
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    for (int r = 0; r < constraint.rows; ++r)
      for (int s = 0; s < constraint.supports; ++s)
        d[constraint.row + r] -= dual_values[constraint.values + r * constraint.supports + s].slope[0] *
                                 a[m.support[constraint.support + s]];
  }
  for (int f = 0; f < nv; ++f)
    j[f] = known[f] && c.acceleration_prescribed[f] ? dual_a[f].slope[0] : 0.0;
  if (!m.callback_law_count)
    return true;
  // third rates of functions in Python: differences of the second
  const double e = 1e-4 * (1.0 + std::fabs(t));
  if (!ask(t + e, laws_ahead) || !ask(t - e, laws_behind))
    return false;
  const auto third = [&](const DriveData &drive) {
    return (drive_demand<double>(m, drive, t + e, laws_ahead).second -
            drive_demand<double>(m, drive, t - e, laws_behind).second) /
           (2 * e);
  };
  for (int k = 0; k < m.drive_count; ++k) {
    const DriveData &drive = m.drives[k];
    if (drive.turns) {
      const DrivenJoint<double> ahead = driven_joint<double>(m, drive, t + e, laws_ahead),
                                behind = driven_joint<double>(m, drive, t - e, laws_behind);
      for (int f = 0; f < 3 + drive.moves; ++f)
        j[drive.dof + f] = (ahead.a[f] - behind.a[f]) / (2 * e);
    } else if (drive.row < 0) {
      j[drive.dof] = third(drive);
    } else {
      d[drive.row] += third(drive) - dual_targets[2 * rows + drive.row].slope[0];
    }
  }
  return true;
}

std::ptrdiff_t RelativeForm::leap(SweepCall &call, std::ptrdiff_t row) {
  if (chain_use == ChainUse::none || row < next_try || call.count - row < W)
    return row;
  const double *q = call.q + (row - 1) * nq, *v = call.v + (row - 1) * nv, *a = call.a + (row - 1) * nv;
  const double t0 = call.times[row - 1];
  const auto build = [&] {
    start_at_ground(m, ws, false);
    compute_poses(m, ws, q);
    place_in_world(m, ws);
    const bool possible = build_chain(m, c, ws, q, chain);
    chain_use = chain.complete ? ChainUse::ready : possible ? ChainUse::not_here : ChainUse::none;
    return chain.complete;
  };
  bool matches = false;
  if (chain_use == ChainUse::ready)
    begin_rows(m, chain, t0, q, v, a, matches);
  if (!matches && build()) // another branch since, or none before
    begin_rows(m, chain, t0, q, v, a, matches);
  const std::ptrdiff_t first = row;
  while (matches && row < call.count && !call.stop()) {
    const int count = int(std::min<std::ptrdiff_t>(chain_rows, call.count - row));
    const int done = follow_chain(m, chain, call.times + row, count);
    read_rows(m, chain, done, call.q + row * nq, call.v + row * nv, call.a + row * nv, call.slack + row);
    row += done;
    if (done < count)
      break;
    keep_row(m, chain, done);
  }
  if (row > first) {
    std::copy_n(call.q + (row - 1) * nq, nq, call.q_last);
    std::copy_n(call.v + (row - 1) * nv, nv, call.v_last);
    call.t_last = call.times[row - 1], call.done = row, call.steps += row - first;
  }
  wait = row > first ? 1 : std::min<std::ptrdiff_t>(2 * wait, 16);
  next_try = row + wait;
  return row;
}

struct SweepMemory {
  unsigned char *known;
  kinematics::SweepWorkspace work;
};

std::size_t lay_out(std::byte *base, bool jerk, bool placed, RelativeForm &form, SweepMemory &memory) {
  using DALEMBERT_ISA::lay_out;
  const ModelData &m = form.m;
  Arena arena{base};
  const std::size_t nv = std::size_t(m.nv), nc = std::size_t(m.nc), blocks = std::size_t(m.values);
  memory.known = arena.take<unsigned char>(nv);
  const unsigned char *given = placed ? form.c.velocity_prescribed : form.c.position_prescribed;
  for (int f = 0; base && f < m.nv; ++f)
    memory.known[f] = given && given[f];
  form.known = memory.known;
  arena.skip(lay_out(m, base ? arena.here() : nullptr, form.ws));
  form.values = arena.take<double>(blocks);
  form.drift = arena.take<double>(nc);
  form.targets = arena.take<double>(3 * nc);
  form.callback_laws = arena.take<double>(9 * std::size_t(m.callback_law_count));
  form.laws_ahead = form.callback_laws + 3 * m.callback_law_count,
  form.laws_behind = form.laws_ahead + 3 * m.callback_law_count;
  form.unused = arena.take<double>(nv + 6 * std::size_t(m.users));
  form.still = arena.take<double>(std::size_t(m.nq) + nv);
  form.x = arena.take<double>(std::size_t(m.nx));
  if (base) {
    for (int k = 0; k < m.nq + m.nv; ++k)
      form.still[k] = 0.0;
    for (int k = 0; k < m.nx; ++k)
      form.x[k] = 0.0;
  }
  if (jerk) {
    arena.skip(lay_out(m, base ? arena.here() : nullptr, form.dual_ws));
    form.dual_q = arena.take<Dual>(std::size_t(m.nq));
    form.dual_v = arena.take<Dual>(nv);
    form.dual_a = arena.take<Dual>(nv);
    form.dual_values = arena.take<Dual>(blocks);
    form.dual_bias = arena.take<Dual>(nc);
    form.dual_targets = arena.take<Dual>(3 * nc);
  }
  arena.skip(lay_out(m, base ? arena.here() : nullptr, form.chain));
  arena.skip(kinematics::lay_out(form, base ? arena.here() : nullptr, memory.work));
  return arena.used;
}

} // namespace

std::size_t bytes_sweep(const ModelData &m, const Conditions &c, bool jerk) {
  RelativeForm form(m, c, nullptr);
  SweepMemory memory;
  return lay_out(nullptr, jerk, false, form, memory);
}

SweepStatus sweep_model(const ModelData &m, std::byte *base, const Conditions &c, const double *row_scale, double floor,
                        SweepCall &call) {
  RelativeForm form(m, c, row_scale);
  SweepMemory memory;
  lay_out(base, call.jerk != nullptr, call.placed, form, memory);
  return sweep(form, memory.work, floor, call);
}

} // namespace dalembert::DALEMBERT_ISA
