#include "steppers/methods/moreau.hpp"
#include "contact/persistent_contacts.hpp"
#include "steppers/methods/moreau_part.hpp"
#include "tree/chart.hpp"
#include <algorithm>
#include <limits>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr int max_impacts = 64;  // in one step; later ones are plastic
constexpr int max_locations = 8; // improvements of the time of an impact
constexpr double most_thickness =
    0.5; // of the thinner shape: longest way of a point to another shape in a part of a step
constexpr double shortest_part = 1e-3;  // of a step
constexpr double located_speeds = 10.0; // of g h: the time of faster impacts with restitution or friction is located
constexpr double together = 1e-3;       // of a step: impacts that are closer to each other happen at once
constexpr double central_tol = 1e-6;    // angle between the normal and the way to a centre: smaller ones are none

} // namespace

bool ContactStep::is_fast(const ScenePoint &p, double normal_velocity) const {
  const ContactMaterial &material = c.scene->materials()[std::size_t(p.material)];
  return normal_velocity < -located_speeds * gravity * i.run.fixed_step &&
         (material.restitution > 0.0 || (material.friction > 0.0 && !is_central(p)));
}

bool ContactStep::is_central(const ScenePoint &p) const {
  for (int end = 0; end < 2; ++end) {
    const std::int32_t block = c.block[std::size_t(p.places[end])];
    if (block < 0)
      continue;
    FreeBlock &body = c.free_blocks[std::size_t(block)];
    if (!body.alone)
      return false;
    set_free_block(m.bodies[p.places[end]], body);
    if (!body.turns_evenly())
      return false;
    const Pose<double> &X = i.work.motion.system.loops.ws.X_W[p.places[end]];
    const Vec3<double> r = as_vec(end ? p.on_second : p.on_first) - X.p - mul(X.R, as_vec(body.center));
    const Vec3<double> aside = cross(r, as_vec(p.normal));
    const bool in_pile = int(c.memory.size()) > c.dense_points;
    if (dot(aside, aside) > central_tol * central_tol * dot(r, r) || (!in_pile && touches_others(c, p, p.shapes[end])))
      return false;
  }
  return true;
}

bool ContactStep::is_fast(const JointStop &stop, double velocity) const {
  return stop.restitution > 0.0 &&
         velocity < -located_speeds * std::min(1.0, 1.0 / length) * gravity * i.run.fixed_step;
}

bool ContactStep::may_tunnel(double h) const {
  for (const ScenePoint &p : *points) {
    const double thin = std::min(c.scene->thickness(p.shapes[0]), c.scene->thickness(p.shapes[1]));
    if (h * std::abs(normal_velocity(p)) > most_thickness * thin)
      return true;
  }
  return false;
}

double ContactStep::first_impact(double h) {
  skip.assign(points->size(), 0);
  double first = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < points->size(); ++k) {
    const ScenePoint &p = (*points)[k];
    if (const double u = normal_velocity(p); is_fast(p, u))
      skip[k] = 1, first = std::min(first, std::max(0.5 * h - p.gap / u, 0.0));
  }
  if (std::isfinite(first) && leave_pressed_points()) {
    first = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < points->size(); ++k)
      if (skip[k])
        first = std::min(first, std::max(0.5 * h - (*points)[k].gap / normal_velocity((*points)[k]), 0.0));
  }
  c.skip_stops.assign(c.stops.size(), 0);
  for (std::size_t k = 0; k < c.stops.size(); ++k) {
    const JointStop &stop = c.stops[k];
    const double u = stop_velocity(m, c, stop, c.free.data());
    if (!is_fast(stop, u))
      continue;
    const double gap = stop_gap(m, c, stop, qm), before = stop_velocity(m, c, stop, c.before.data());
    if (is_fast(stop, before) || gap - 0.5 * h * before > closed()) // else a load presses it
      c.skip_stops[k] = 1, first = std::min(first, std::max(0.5 * h - gap / u, 0.0));
  }
  return first;
}

bool ContactStep::leave_pressed_points() {
  bool any = false;
  const auto may_press = [&](std::size_t k) { return skip[k] && was_pressed(c, (*points)[k]); };
  for (std::size_t k = 0; k < points->size() && !any; ++k)
    any = may_press(k);
  if (!any)
    return false;
  any = false;
  move_bodies(i, c, qm, c.before.data());
  for (std::size_t k = 0; k < points->size(); ++k)
    if (may_press(k) && std::abs(normal_velocity((*points)[k])) < impact_speed())
      skip[k] = 0, any = true;
  move_bodies(i, c, qm, c.free.data());
  return any;
}

Outcome ContactStep::pass_impact(double t, double &to_impact, double longest, double whole_step) {
  for (int round = 0; round < max_locations && to_impact > 0.0; ++round) {
    const Outcome outcome = take(t, to_impact, 0.0);
    if (outcome != Outcome::reached)
      return outcome;
    const double change = time_to_impact(i.work.q1, i.work.v1, 0.1 * longest);
    if (!(std::abs(change) > 1e-14 * longest))
      break;
    to_impact = std::min(std::max(to_impact + change, 0.0), longest);
  }
  if (to_impact > 0.0) {
    const Outcome outcome = take(t, to_impact, whole_step);
    if (outcome != Outcome::reached)
      return outcome;
    move_on();
  }
  collide(t + to_impact, whole_step);
  return Outcome::reached;
}

double ContactStep::time_to_impact(const double *q, const double *v, double h) {
  move_bodies(i, c, q, v);
  double first = std::numeric_limits<double>::infinity();
  for (const ScenePoint &p : c.impact_search->find(poses(), c.motions.data(), h, look_ahead(h)))
    if (const double u = normal_velocity(p); is_fast(p, u))
      first = std::min(first, -p.gap / u);
  for (const JointStop &stop : c.stops)
    if (const double u = stop_velocity(m, c, stop, v), gap = stop_gap(m, c, stop, q);
        is_fast(stop, u) && gap < -2.0 * h * u)
      first = std::min(first, -gap / u);
  return std::isfinite(first) ? first : 0.0;
}

void ContactStep::collide(double t, double whole_step) {
  c.before = c.free = c.v;
  find_points(c.q.data(), 0.0);
  skip.assign(points->size(), 0);
  c.skip_stops.clear();
  for (std::size_t k = 0; k < points->size(); ++k) {
    const ScenePoint &p = (*points)[k];
    const double u = normal_velocity(p); // of what rests it is an error of the step
    const bool meets = p.gap <= -together * i.run.fixed_step * u;
    skip[k] = p.gap > closed() && !meets && !(was_pressed(c, p) && std::abs(u) < impact_speed());
  }
  set_rows(m, c, *points, c.q.data(), closed(), skip, false);
  if (c.rows.empty())
    return;
  respond_to_contacts(i, c, *points, t, c.q.data());
  solve_without_gain({0.0, impact_speed(), std::numeric_limits<double>::infinity()}, t);
  log_impulses(i, c, *points, 0.0, whole_step, t, impact_speed());
  if (c.keeps_parts)
    keep_part(t, 0.0);
  remember_impacts(c, *points);
  c.v = c.free;
}

Outcome ContactStep::step(double h) {
  RunWorkspace &work = i.work;
  c.q.assign(work.q, work.q + m.nq), c.v.assign(work.v, work.v + m.nv), c.x.assign(work.x, work.x + m.nx);
  c.earlier = c.memory;
  begin_log(m, c, i.run.t);
  double t = i.run.t, left = h;
  Outcome outcome = Outcome::reached;
  for (int impacts = 0; outcome == Outcome::reached;) {
    double part = left;
    for (;; part *= 0.5) {
      outcome = free_motion(t, part);
      if (outcome != Outcome::reached)
        return outcome;
      find_points(qm, part);
      if (!may_tunnel(part) || part < shortest_part * h)
        break;
    }
    double to_impact = first_impact(part);
    if (impacts == max_impacts)
      skip.clear(), c.skip_stops.clear(), to_impact = part;
    if (!(to_impact < part)) {
      outcome = take_found(t, part, h);
      if (part == left || outcome != Outcome::reached)
        break;
      move_on();
      t += part, left = i.run.t + h - t;
      continue;
    }
    ++impacts;
    outcome = pass_impact(t, to_impact, part, h);
    t += to_impact, left = i.run.t + h - t;
    if (!(left > 1e-12 * h)) {
      copy(c.q.data(), m.nq, work.q1), copy(c.v.data(), m.nv, work.v1), copy(c.x.data(), m.nx, work.x1);
      break;
    }
  }
  for (int f = 0; f < m.nv; ++f)
    work.a1[f] = (work.v1[f] - work.v[f]) / h;
  return outcome;
}

namespace {

Outcome moreau_step(const RunContext &i, double h, double &) {
  if (!i.run.contacts) // the caller sets them
    return Outcome::not_finite;
  if (i.run.contacts->block_start.empty())
    find_blocks(i.m, *i.run.contacts);
  const Outcome outcome = ContactStep(i).step(h);
  if (outcome != Outcome::reached)
    return outcome;
  return all_finite(i.work.q1, i.m.nq) && all_finite(i.work.v1, i.m.nv) && all_finite(i.work.x1, i.m.nx)
             ? Outcome::reached
             : Outcome::not_finite;
}

// dense output: velocities linear in time, and what positions need beyond them
Outcome prepare_linear(const RunContext &i, double) {
  difference<double>(i.m, i.work.q, i.work.q1, i.work.D);
  return Outcome::reached;
}

void linear_at(const RunContext &i, double h, double s, double *z) {
  const ModelData &m = i.m;
  const RunWorkspace &work = i.work;
  for (int f = 0; f < m.nv; ++f) {
    const double change = work.v1[f] - work.v[f];
    z[m.nv + f] = s * change;
    z[f] = h * (s * work.v[f] + 0.5 * s * s * change) + s * (work.D[f] - h * (work.v[f] + 0.5 * change));
  }
  for (int k = 0; k < m.nx; ++k)
    z[2 * m.nv + k] = s * (work.x1[k] - work.x[k]);
}

} // namespace

LaneContacts find_lane_contacts(const RunContext &i, double h) {
  ContactStep step(i);
  ContactSteps &c = step.c;
  c.earlier = c.memory;
  step.points = &c.search->find(step.poses(), c.motions.data(), h, step.look_ahead(h));
  LaneContacts found{step.points};
  if (step.may_tunnel(h) || step.first_impact(h) < h) {
    found.own_step = true;
    return found;
  }
  set_rows(step.m, c, *step.points, step.qm, 2.0 * h * step.stop_speed() + step.closed(), c.skip, true);
  return found;
}

double closed_lane_gap(const RunContext &i) { return ContactStep(i).closed(); }
double lane_impact_speed(const RunContext &i) { return ContactStep(i).impact_speed(); }

void solve_lane_contacts(const RunContext &i, const LaneContacts &found, double t, double h) {
  ContactStep step(i);
  step.points = found.points;
  step.solve_without_gain({h, step.impact_speed(), step.closed()}, t);
}

bool lane_overlaps(const RunContext &i, double h) {
  const ContactStep step(i);
  for (std::size_t k = 0; k < step.c.rows.size(); ++k)
    if (end_gap(step.c.rows[k], h, step.c.u_after[3 * k + 2]) < -step.closed())
      return true;
  return false;
}

bool find_lane_separation(const RunContext &i, double h) { return ContactStep(i).find_separation(h); }

void move_lane_apart(const RunContext &i, double h, double *q1, double *v1) { ContactStep(i).separate(h, q1, v1); }

const Stepper moreau_stepper{
    .name = "moreau",
    .order = 1,
    .bytes = [](const ModelData &) { return std::size_t(0); },
    .begin = [](const RunContext &) {},
    .step = moreau_step,
    .advance_state = [](const RunContext &) {},
    .prepare = prepare_linear,
    .at = linear_at,
};

} // namespace dalembert::DALEMBERT_ISA
