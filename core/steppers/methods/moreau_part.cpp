#include "steppers/methods/moreau_part.hpp"
#include "contact/contact_motion.hpp"
#include "tree/chart.hpp"
#include "tree/forward_dynamics.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr int restitution_rounds = 24;  // of bisection
constexpr double energy_tol = 1e-9;     // of the work of all impulses before: a larger gain is one

} // namespace

void ContactStep::turn(const double *rate, double part, double *v) const {
  for (int k = 1; k <= m.nb; ++k) {
    const BodyData &b = m.bodies[k];
    if (!has_quaternion(b))
      continue;
    const Vec3<double> xi = scale(part, as_vec(rate + b.v));
    for (int f = b.v; f < b.v + b.nv; f += 3) {
      const Vec3<double> now = turned(xi, as_vec(v + f));
      v[f] = now.x, v[f + 1] = now.y, v[f + 2] = now.z;
    }
  }
}

void ContactStep::gyroscopic(const double *q, const double *v, double *out) {
  if (c.all_free) {
    for (std::size_t k = 0; k < c.free_blocks.size(); ++k)
      gyroscopic(m.bodies[c.block_first[k]], c.free_blocks[k], v, out);
    return;
  }
  Workspace<double> &ws = frames();
  double *none = i.work.change;
  std::fill_n(none, m.nv, 0.0);
  start_forward<double>(m, ws, q, v);
  ws.A[0] = {zero3<double>(), zero3<double>()}; // without weight
  finish_forward<double>(m, ws, none, nullptr, out, nullptr);
}

void ContactStep::gyroscopic(const BodyData &b, FreeBlock &block, const double *v, double *out) {
  set_free_block(b, block);
  turn_freely(b, block, v, out);
}

void ContactStep::middle_velocities(double h) {
  const std::vector<double> &v = c.v;
  if (m.nc) { // the trees alone do not have the motion of the loops
    copy(c.before.data(), m.nv, vm);
    return;
  }
  gyroscopic(c.q.data(), v.data(), vm);
  for (int f = 0; f < m.nv; ++f)
    vm[f] = v[std::size_t(f)] + 0.5 * h * vm[f];
}

Outcome ContactStep::free_motion(double t, double h) {
  for (int f = 0; f < m.nv; ++f)
    i.work.z[f] = 0.5 * h * c.v[std::size_t(f)];
  integrate<double>(m, c.q.data(), i.work.z, qm);
  c.before = c.v;
  turn(c.v.data(), -0.5 * h, c.before.data());
  middle_velocities(h);
  if (!impose_drives(i, t + 0.5 * h, qm, vm, c.x.data()))
    return Outcome::callback_failed;
  JointTerms<double> &terms = i.work.motion.system.joint_terms;
  terms.h = c.has_joint_terms ? h : 0.0, terms.from = c.before.data();
  const bool evaluated = rates(i, t + 0.5 * h, qm, vm, c.x.data(), a, dx);
  terms.h = 0.0;
  if (!evaluated)
    return Outcome::callback_failed;
  if (!all_finite(a, m.nv))
    return Outcome::not_finite;
  c.free = c.before;
  for (int f = 0; f < m.nv; ++f)
    c.free[std::size_t(f)] += h * a[f];
  for (int k = 1; k <= m.nb; ++k) { // a has the rate of the axes of u, which stay
    const BodyData &b = m.bodies[k];
    if (!has_quaternion(b) || b.nv != 6)
      continue;
    const Vec3<double> rate = cross(as_vec(vm + b.v), as_vec(vm + b.v + 3));
    double *u = c.free.data() + b.v + 3;
    u[0] += h * rate.x, u[1] += h * rate.y, u[2] += h * rate.z;
  }
  return Outcome::reached;
}

void ContactStep::find_points(const double *q, double h) {
  move_bodies(i, c, q, c.free.data(), h > 0.0 && !m.nc); // the equations of motion have been evaluated at q
  points = &c.search->find(poses(), c.motions.data(), h, look_ahead(h));
}

double ContactStep::normal_velocity(const ScenePoint &p) const {
  double sum = 0.0;
  for (int end = 0; end < 2; ++end) {
    const double *x = end ? p.on_second : p.on_first, *motion = c.motions.data() + 6 * p.places[end];
    const Pose<double> &X = i.work.motion.system.loops.ws.X_W[p.places[end]];
    const Vec3<double> r = Vec3<double>{x[0], x[1], x[2]} - X.p;
    const Vec3<double> u =
        Vec3<double>{motion[3], motion[4], motion[5]} + cross(Vec3<double>{motion[0], motion[1], motion[2]}, r);
    sum += (end ? 1.0 : -1.0) * dot(as_vec(p.normal), u);
  }
  return sum;
}

void ContactStep::solve_without_gain(const ContactTiming &timing, double t) {
  const bool may_gain = std::any_of(c.rows.begin(), c.rows.end(),
                                    [](const ContactRow &row) { return row.restitution > 0.0 && row.mu > 0.0; });
  if (!may_gain) {
    solve_impulses(c, timing, t);
    return;
  }
  RestitutionWorkspace &r = c.restitution;
  r.rows = c.rows, r.free = c.free;
  solve_impulses(c, timing, t);
  const std::size_t islands = c.block_start.size();
  find_gains(r.lowered);
  if (std::find(r.lowered.begin(), r.lowered.end(), 1) == r.lowered.end())
    return;
  r.part.assign(islands, 1.0), r.low.assign(islands, 0.0), r.high.assign(islands, 1.0);
  const auto again = [&](const std::vector<double> &parts) {
    c.rows = r.rows, c.free = r.free;
    for (ContactRow &row : c.rows)
      if (r.lowered[std::size_t(row.island)])
        row.restitution *= parts[std::size_t(row.island)];
    solve_impulses(c, timing, t);
  };
  for (int round = 0; round < restitution_rounds; ++round) {
    for (std::size_t k = 0; k < islands; ++k)
      r.part[k] = 0.5 * (r.low[k] + r.high[k]);
    again(r.part);
    find_gains(r.gains);
    for (std::size_t k = 0; k < islands; ++k)
      (r.gains[k] ? r.high : r.low)[k] = r.part[k];
  }
  again(r.low);
  for (std::size_t k = 0; k < islands; ++k)
    if (r.lowered[k] && r.low[k] < c.restitution_part)
      c.restitution_part = r.low[k], c.restitution_time = t;
}

void ContactStep::find_gains(std::vector<unsigned char> &gains) const {
  std::vector<double> &work = c.restitution.work, &size = c.restitution.size;
  work.assign(c.block_start.size(), 0.0), size.assign(work.size(), 0.0);
  for (std::size_t k = 0; k < c.rows.size(); ++k) {
    double before[3], after[3];
    row_velocity(c, k, c.before.data(), before), row_velocity(c, k, c.free.data(), after);
    for (int e = c.rows[k].first(); e < c.rows[k].last(); ++e) {
      const double lam = c.lam[3 * k + std::size_t(e)];
      work[std::size_t(c.rows[k].island)] += 0.5 * lam * (before[e] + after[e]);
      size[std::size_t(c.rows[k].island)] += std::abs(lam * before[e]);
    }
  }
  gains.assign(work.size(), 0);
  for (std::size_t k = 0; k < work.size(); ++k)
    gains[k] = work[k] > energy_tol * size[k];
}

void ContactStep::solve(double t, double h) {
  set_rows(m, c, *points, qm, 2.0 * h * stop_speed() + closed(), skip, true);
  if (c.rows.empty())
    return;
  respond_to_contacts(i, c, *points, t + 0.5 * h, qm, true);
  solve_without_gain({h, impact_speed(), closed()}, t);
}

double ContactStep::stop_speed() const {
  double most = 0.0;
  for (const JointStop &stop : c.stops)
    most = std::max(most, std::abs(stop_velocity(m, c, stop, c.free.data())));
  return most;
}

Outcome ContactStep::finish(double t, double h, double *q1, double *v1, double *x1) {
  const Outcome outcome = move_on_to(t, h, q1, v1, x1);
  if (outcome != Outcome::reached)
    return outcome;
  separated = find_separation(h);
  if (separated)
    separate(h, q1, v1);
  return project_onto_constraints(i, t + h, q1, v1);
}

Outcome ContactStep::move_on_to(double t, double h, double *q1, double *v1, double *x1) {
  copy(c.free.data(), m.nv, v1);
  turn(c.free.data(), -0.5 * h, v1);
  for (int f = 0; f < m.nv; ++f)
    i.work.z[f] = 0.5 * h * c.free[std::size_t(f)];
  integrate<double>(m, qm, i.work.z, q1);
  for (int k = 0; k < m.nx; ++k)
    x1[k] = c.x[std::size_t(k)] + h * dx[k];
  return impose_drives(i, t + h, q1, v1, x1) ? Outcome::reached : Outcome::callback_failed;
}

bool ContactStep::find_separation(double h) {
  if (c.rows.empty())
    return false;
  c.gaps.assign(3 * c.rows.size(), 0.0);
  for (std::size_t k = 0; k < c.rows.size(); ++k) {
    c.gaps[3 * k + 2] = c.rows[k].gap + 0.5 * h * c.u_after[3 * k + 2];
    if (c.gaps[3 * k + 2] < -c.deepest)
      c.deepest = -c.gaps[3 * k + 2], c.deepest_time = i.run.t;
  }
  return remove_overlaps(m, c, c.gaps, {h, impact_speed(), closed()});
}

void ContactStep::separate(double h, double *q1, double *v1) {
  turn(c.free.data(), -0.5 * h, c.displacement.data());
  integrate<double>(m, q1, c.displacement.data(), qm);
  copy(qm, m.nq, q1);
  turn(c.displacement.data(), -1.0, v1);
}

Outcome ContactStep::take(double t, double h, double whole_step) {
  Outcome outcome = free_motion(t, h);
  if (outcome != Outcome::reached)
    return outcome;
  find_points(qm, h);
  first_impact(h);
  return take_found(t, h, whole_step);
}

Outcome ContactStep::take_found(double t, double h, double whole_step) {
  solve(t, h);
  const bool kept = whole_step > 0.0 && c.keeps_parts;
  if (whole_step > 0.0) {
    keep_impulses(c, *points, h);
    log_impulses(i, c, *points, whole_step, t, impact_speed());
    if (kept)
      keep_part(t, h);
  }
  const Outcome outcome = finish(t, h, i.work.q1, i.work.v1, i.work.x1);
  if (kept && outcome == Outcome::reached)
    keep_end();
  return outcome;
}

void ContactStep::move_on() {
  const RunWorkspace &work = i.work;
  c.q.assign(work.q1, work.q1 + m.nq), c.v.assign(work.v1, work.v1 + m.nv), c.x.assign(work.x1, work.x1 + m.nx);
}

} // namespace dalembert::DALEMBERT_ISA
