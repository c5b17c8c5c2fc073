#include "steppers/methods/moreau.hpp"
#include "contact/contact_blocks.hpp"
#include "contact/contact_impulses.hpp"
#include "contact/contact_motion.hpp"
#include "steppers/methods/moreau_derivatives.hpp"
#include "tree/chart.hpp"
#include "tree/forward_dynamics.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr int max_impacts = 64;  // in one step; later ones are plastic
constexpr int max_locations = 8; // improvements of the time of an impact
constexpr double most_thickness =
    0.5; // of the thinner shape: longest way of a point to another shape in a part of a step
constexpr double shortest_part = 1e-3;  // of a step
constexpr double closed_gap = 1e-9;     // of the length of the system: gaps below are closed
constexpr double slack_length = 1e-5;   // of it: points this close count as near
constexpr double plastic_speeds = 2.0;  // of g h: slower impacts are plastic
constexpr double located_speeds = 10.0; // of g h: the time of faster impacts with restitution or friction is located
constexpr double together = 1e-3;       // of a step: impacts that are closer to each other happen at once
constexpr double central_tol = 1e-6;    // angle between the normal and the way to a centre: smaller ones are none
constexpr int restitution_rounds = 24;  // of bisection
constexpr double energy_tol = 1e-9;     // of the work of all impulses before: a larger gain is one
// central differences of smooth functions: truncation and rounding are about 1e-10
constexpr double position_step = 1e-5;  // rad or m
constexpr double velocity_step = 4e-6;  // of the largest velocity, or of 1
constexpr double time_step = 1e-3;      // of a step: parts may be as short as rounding

// One step of a run, or a part of it.
struct ContactStep {
  const RunContext &i;
  const ModelData &m;
  ContactSteps &c;
  double *qm, *vm, *a, *dx;
  const std::vector<ScenePoint> *points = nullptr;
  bool separated = false; // overlaps were removed at the end of the last part
  std::vector<unsigned char> &skip;
  double gravity, length;

  explicit ContactStep(const RunContext &i)
      : i(i), m(i.m), c(*i.run.contacts), qm(i.work.qs), vm(i.work.vs), a(i.work.a1), dx(i.work.dx1), skip(c.skip) {
    gravity = std::sqrt(m.gravity[0] * m.gravity[0] + m.gravity[1] * m.gravity[1] + m.gravity[2] * m.gravity[2]);
    if (!(gravity > 0.0))
      gravity = 1.0;
    length = m.length > 0.0 ? m.length : 1.0;
  }
  Workspace<double> &frames() { return i.work.motion.system.loops.ws; }
  double impact_speed() const { return plastic_speeds * gravity * i.run.fixed_step; }
  double closed() const { return closed_gap * length; }

  // Velocities in axes that turn, of free and spherical joints, from those after a turn by `part` of the angular velocity
  // of `rate` to those before it.
  void turn(const double *rate, double part, double *v) const {
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

  // accelerations that velocities alone cause: gyroscopic ones of the trees
  void gyroscopic(const double *q, const double *v, double *out) {
    if (c.all_free) {
      for (std::size_t k = 0; k < c.free_blocks.size(); ++k)
        gyroscopic(m.bodies[c.block_first[k]], c.free_blocks[k], v, out);
      return;
    }
    ModelData weightless = m;
    std::fill_n(weightless.gravity, 3, 0.0);
    double *none = i.work.change;
    std::fill_n(none, m.nv, 0.0);
    forward_dynamics<double>(weightless, frames(), q, v, none, nullptr, nullptr, out, nullptr);
  }

  // the same of a free body: its axes turn
  void gyroscopic(const BodyData &b, FreeBlock &block, const double *v, double *out) {
    set_free_block(b, block);
    turn_freely(b, block, v, out);
  }

  // Velocities in the middle of the step, in axes there, without forces: for gyroscopic and other loads.
  void middle_velocities(double h) {
    const std::vector<double> &v = c.v;
    if (m.nc) { // the trees alone do not have the motion of the loops
      copy(c.before.data(), m.nv, vm);
      return;
    }
    gyroscopic(c.q.data(), v.data(), vm);
    for (int f = 0; f < m.nv; ++f)
      vm[f] = v[std::size_t(f)] + 0.5 * h * vm[f];
  }

  // (1) without contacts over a time h: qm, and velocities before it (c.before) and after it (c.free), in the axes that
  // free and spherical joints have in the middle
  Outcome free_motion(double t, double h) {
    for (int f = 0; f < m.nv; ++f)
      i.work.z[f] = 0.5 * h * c.v[std::size_t(f)];
    integrate<double>(m, c.q.data(), i.work.z, qm);
    c.before = c.v;
    turn(c.v.data(), -0.5 * h, c.before.data());
    middle_velocities(h);
    if (!impose_drives(i, t + 0.5 * h, qm, vm, c.x.data()))
      return Outcome::callback_failed;
    if (!rates(i, t + 0.5 * h, qm, vm, c.x.data(), a, dx))
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

  const double *poses() { return reinterpret_cast<const double *>(frames().X_W); }
  double look_ahead(double h) const { return slack_length * length + gravity * h * h; }
  void find_points(const double *q, double h) {
    move_bodies(i, c, q, c.free.data());
    points = &c.search->find(poses(), c.motions.data(), h, look_ahead(h));
  }

  // An approach whose impact is located. With friction a plastic one too: over two steps it would be two impacts, which
  // have other directions of slip than one has, however short the steps are; unless they lie on the way to the centre.
  bool is_fast(const ScenePoint &p, double normal_velocity) const {
    const ContactMaterial &material = c.scene->materials()[std::size_t(p.material)];
    return normal_velocity < -located_speeds * gravity * i.run.fixed_step &&
           (material.restitution > 0.0 || (material.friction > 0.0 && !is_central(p)));
  }
  // Whether normal impulses turn neither body, tangential ones do not change the approach, and nothing else touches them;
  // not asked for in piles.
  bool is_central(const ScenePoint &p) const {
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
      if (dot(aside, aside) > central_tol * central_tol * dot(r, r) ||
          (!in_pile && touches_others(c, p, p.shapes[end])))
        return false;
    }
    return true;
  }

  // the same of a stop, whose velocity counts from 10 g h over the length of the system on
  bool is_fast(const JointStop &stop, double velocity) const {
    return stop.restitution > 0.0 &&
           velocity < -located_speeds * std::min(1.0, 1.0 / length) * gravity * i.run.fixed_step;
  }

  // normal velocity of a point, m/s
  double normal_velocity(const ScenePoint &p) const {
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

  // whether a shape may pass through another one in a time h: points of the middle would lie on its far side
  bool may_tunnel(double h) const {
    for (const ScenePoint &p : *points) {
      const double thin = std::min(c.scene->thickness(p.shapes[0]), c.scene->thickness(p.shapes[1]));
      if (h * std::abs(normal_velocity(p)) > most_thickness * thin)
        return true;
    }
    return false;
  }

  // Marks fast approaches, which are no contacts of a step: it ends where they meet. Returns the time of
  // the first impact, and infinity if there is none; h: length of the step whose middle the points belong to.
  double first_impact(double h) {
    skip.assign(points->size(), 0);
    double first = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < points->size(); ++k) {
      const ScenePoint &p = (*points)[k];
      if (const double u = normal_velocity(p); is_fast(p, u))
        skip[k] = 1, first = std::min(first, std::max(0.5 * h - p.gap / u, 0.0));
    }
    c.skip_stops.assign(c.stops.size(), 0);
    for (std::size_t k = 0; k < c.stops.size(); ++k) {
      const JointStop &stop = c.stops[k];
      const double u = stop_velocity(m, c, stop, c.free.data());
      if (is_fast(stop, u))
        c.skip_stops[k] = 1, first = std::min(first, std::max(0.5 * h - stop_gap(m, c, stop, qm) / u, 0.0));
    }
    return first;
  }

  // Solves for the impulses. With friction, Newton's restitution may add energy (Kane and Levinson 1985): then it is
  // lowered in the islands where it does, to the largest part that does not.
  void solve_without_gain(const ContactTiming &timing, double t) {
    const bool may_gain = std::any_of(c.rows.begin(), c.rows.end(),
                                      [](const ContactRow &row) { return row.restitution > 0.0 && row.mu > 0.0; });
    if (!may_gain) {
      solve_impulses(c, timing, t);
      return;
    }
    const std::vector<ContactRow> rows = c.rows;
    const std::vector<double> free = c.free;
    solve_impulses(c, timing, t);
    std::vector<double> part(c.block_start.size(), 1.0), low(part.size(), 0.0), high(part.size(), 1.0);
    std::vector<unsigned char> lowered = islands_that_gain();
    if (std::find(lowered.begin(), lowered.end(), 1) == lowered.end())
      return;
    const auto again = [&](const std::vector<double> &parts) {
      c.rows = rows, c.free = free;
      for (ContactRow &row : c.rows)
        if (lowered[std::size_t(row.island)])
          row.restitution *= parts[std::size_t(row.island)];
      solve_impulses(c, timing, t);
    };
    for (int round = 0; round < restitution_rounds; ++round) {
      for (std::size_t k = 0; k < part.size(); ++k)
        part[k] = 0.5 * (low[k] + high[k]);
      again(part);
      const std::vector<unsigned char> gains = islands_that_gain();
      for (std::size_t k = 0; k < part.size(); ++k)
        (gains[k] ? high : low)[k] = part[k];
    }
    again(low);
    for (std::size_t k = 0; k < part.size(); ++k)
      if (lowered[k] && low[k] < c.restitution_part)
        c.restitution_part = low[k], c.restitution_time = t;
  }

  // marks of the islands, by their first block, whose impulses have done work on their way from c.before to c.free
  std::vector<unsigned char> islands_that_gain() const {
    std::vector<double> work(c.block_start.size(), 0.0), size(work.size(), 0.0);
    for (std::size_t k = 0; k < c.rows.size(); ++k) {
      double before[3], after[3];
      row_velocity(c, k, c.before.data(), before), row_velocity(c, k, c.free.data(), after);
      for (int e = c.rows[k].first(); e < c.rows[k].last(); ++e) {
        const double lam = c.lam[3 * k + std::size_t(e)];
        work[std::size_t(c.rows[k].island)] += 0.5 * lam * (before[e] + after[e]);
        size[std::size_t(c.rows[k].island)] += std::abs(lam * before[e]);
      }
    }
    std::vector<unsigned char> gains(work.size(), 0);
    for (std::size_t k = 0; k < work.size(); ++k)
      gains[k] = work[k] > energy_tol * size[k];
    return gains;
  }

  // contacts of the step of length h that stands in qm and c.free
  void solve(double t, double h) {
    set_rows(m, c, *points, qm, 2.0 * h * stop_speed() + closed(), skip, true);
    if (c.rows.empty())
      return;
    respond_to_contacts(i, c, *points, t + 0.5 * h, qm, true);
    solve_without_gain({h, impact_speed(), closed()}, t);
  }
  double stop_speed() const {
    double most = 0.0;
    for (const JointStop &stop : c.stops)
      most = std::max(most, std::abs(stop_velocity(m, c, stop, c.free.data())));
    return most;
  }

  // (2): the state at the end of a step, from c.q, c.v and c.free
  Outcome finish(double t, double h, double *q1, double *v1, double *x1) {
    const Outcome outcome = move_on_to(t, h, q1, v1, x1);
    if (outcome != Outcome::reached)
      return outcome;
    separated = find_separation(h);
    if (separated)
      separate(h, q1, v1);
    return project_onto_constraints(i, t + h, q1, v1);
  }
  // the same with overlaps, off the loops
  Outcome move_on_to(double t, double h, double *q1, double *v1, double *x1) {
    copy(c.free.data(), m.nv, v1);
    turn(c.free.data(), -0.5 * h, v1);
    for (int f = 0; f < m.nv; ++f)
      i.work.z[f] = 0.5 * h * c.free[std::size_t(f)];
    integrate<double>(m, qm, i.work.z, q1);
    for (int k = 0; k < m.nx; ++k)
      x1[k] = c.x[std::size_t(k)] + h * dx[k];
    return impose_drives(i, t + h, q1, v1, x1) ? Outcome::reached : Outcome::callback_failed;
  }

  // c.displacement of (6); false if there is none
  bool find_separation(double h) {
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
  // (6); velocities in axes that turn are those of the same motion
  void separate(double h, double *q1, double *v1) {
    turn(c.free.data(), -0.5 * h, c.displacement.data());
    integrate<double>(m, q1, c.displacement.data(), qm);
    copy(qm, m.nq, q1);
    turn(c.displacement.data(), -1.0, v1);
  }

  // From c.q, c.v, c.x at t over a time h in which there is no fast impact, to q1, v1, x1. whole_step: length that logged
  // forces refer to; 0: nothing is logged or kept for the next step.
  Outcome take(double t, double h, double whole_step) {
    Outcome outcome = free_motion(t, h);
    if (outcome != Outcome::reached)
      return outcome;
    find_points(qm, h);
    first_impact(h);
    return take_found(t, h, whole_step);
  }
  // the same after free_motion and find_points
  Outcome take_found(double t, double h, double whole_step) {
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
  void move_on() {
    const RunWorkspace &work = i.work;
    c.q.assign(work.q1, work.q1 + m.nq), c.v.assign(work.v1, work.v1 + m.nv), c.x.assign(work.x1, work.x1 + m.nx);
  }

  // Moves on to the impact that is expected after a time `to_impact`, which is improved, and passes it.
  Outcome pass_impact(double t, double &to_impact, double longest, double whole_step) {
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

  // from a state, of the first of the fast approaches; negative where they overlap already; 0: there is none
  double time_to_impact(const double *q, const double *v, double h) {
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

  // (5) at c.q, c.v
  void collide(double t, double whole_step) {
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
    log_impulses(i, c, *points, whole_step, t, impact_speed());
    if (c.keeps_parts)
      keep_part(t, 0.0);
    c.v = c.free;
  }

  Outcome step(double h) {
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

  // ---- derivatives: moreau_derivatives.hpp

  // a part from c.q, c.v, c.x, whose impulses have been found
  void keep_part(double t, double h) {
    ContactPart &part = c.parts.emplace_back();
    part.step = i.run.t, part.t = t, part.h = h;
    part.q = c.q, part.v = c.v, part.x = c.x, part.q1 = c.q, part.rows = c.rows;
    part.lowered = false;
    const std::size_t n = c.rows.size();
    part.separation.assign(n, 0.0);
    part.lam.assign(c.lam.begin(), c.lam.begin() + std::ptrdiff_t(n ? 3 * n : 0));
    part.bound.assign(c.mu.begin(), c.mu.begin() + std::ptrdiff_t(n));
    part.swept = n > std::size_t(c.dense_points);
    for (std::size_t k = 0; k < n; ++k) {
      ContactRow &row = part.rows[k];
      const bool is_closed = !(h > 0.0) || row.gap <= closed();
      part.kind.push_back(!is_closed ? (h > 0.0 ? 2 : 0) : row.approach < -impact_speed() ? 1 : 0);
      const double asked = row.stop >= 0 ? c.stops[std::size_t(row.stop)].restitution
                           : row.point >= 0
                               ? c.scene->materials()[std::size_t((*points)[std::size_t(row.point)].material)].restitution
                               : 0.0;
      part.lowered = part.lowered || (part.kind.back() == 1 && row.restitution < asked);
      if (row.point < 0)
        continue;
      part.points.push_back((*points)[std::size_t(row.point)]);
      row.point = std::int32_t(part.points.size()) - 1;
    }
  }
  void keep_end() {
    ContactPart &part = c.parts.back();
    part.q1.assign(i.work.q1, i.work.q1 + m.nq);
    for (std::size_t k = 0; separated && k < part.rows.size(); ++k)
      part.separation[k] = c.lam[3 * k + 2];
  }

  // rows and points of a part at the configuration q
  void place_rows(const ContactPart &part, const double *q, std::vector<ScenePoint> &placed) {
    move_bodies(i, c, q, c.free.data());
    c.rows = part.rows, placed = part.points;
    double rates[rates_of_point];
    for (ContactRow &row : c.rows) {
      if (row.point >= 0) {
        ScenePoint &p = placed[std::size_t(row.point)];
        const ClosedPoint named = closed_point(*c.scene, part.points[std::size_t(row.point)]);
        place_point(frames(), c, named, p, rates, row.axes);
        row.gap = p.gap;
      } else if (row.stop >= 0) {
        row.gap = stop_gap(m, c, c.stops[std::size_t(row.stop)], q);
      }
    }
  }

  // (7) at another begin; J, Y are those there
  Outcome evaluate(const ContactPart &part, double t, double h, const double *q, const double *v, const double *x,
                   PartSlopes &to, double *out) {
    c.q.assign(q, q + m.nq), c.v.assign(v, v + m.nv), c.x.assign(x, x + m.nx);
    if (part.h > 0.0) {
      if (const Outcome outcome = free_motion(t, h); outcome != Outcome::reached)
        return outcome;
    } else {
      c.before = c.free = c.v;
      copy(q, m.nq, qm);
    }
    place_rows(part, qm, to.placed);
    const std::size_t n = c.rows.size();
    if (n)
      respond_to_contacts(i, c, to.placed, t + 0.5 * h, qm, part.h > 0.0);
    double *rows = out + 2 * m.nv + m.nx;
    for (std::size_t k = 0; k < n; ++k)
      row_velocity(c, k, c.before.data(), rows + row_outputs * k + 3);
    add_response(c, 0, n, part.lam.data(), c.free.data());
    c.displacement.assign(std::size_t(m.nv), 0.0);
    c.change.assign(3 * n, 0.0);
    for (std::size_t k = 0; k < n; ++k)
      c.change[3 * k + 2] = part.separation[k];
    add_response(c, 0, n, c.change.data(), c.displacement.data());
    for (std::size_t k = 0; k < n; ++k, rows += row_outputs) {
      double moved[3];
      row_velocity(c, k, c.free.data(), rows), row_velocity(c, k, c.displacement.data(), moved);
      rows[6] = c.rows[k].gap, rows[7] = c.rows[k].gap + 0.5 * h * rows[2] + moved[2];
    }
    to.middle.assign(qm, qm + m.nq);
    return end(part, t, h, to, out);
  }
  // the end of a part from to.middle, c.free and c.displacement
  Outcome end(const ContactPart &part, double t, double h, const PartSlopes &to, double *out) {
    double *q1 = i.work.q1, *v1 = i.work.v1, *x1 = i.work.x1;
    copy(to.middle.data(), m.nq, qm);
    if (part.h > 0.0) {
      Outcome outcome = move_on_to(t, h, q1, v1, x1);
      if (outcome != Outcome::reached)
        return outcome;
      if (!part.rows.empty())
        separate(h, q1, v1);
      outcome = project_onto_constraints(i, t + h, q1, v1);
      if (outcome != Outcome::reached)
        return outcome;
    } else {
      copy(qm, m.nq, q1), copy(c.free.data(), m.nv, v1), copy(c.x.data(), m.nx, x1);
    }
    difference<double>(m, part.q1.data(), q1, out);
    copy(v1, m.nv, out + m.nv), copy(x1, m.nx, out + 2 * m.nv);
    return Outcome::reached;
  }

  // responses of the rows, dense
  void fill_responses(PartSlopes &to) {
    const std::size_t n = c.rows.size(), nv = std::size_t(m.nv);
    to.Y.assign(3 * n * nv, 0.0), to.D.assign(9 * n * n, 0.0);
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t side = 0; side < 2; ++side) {
        const std::int32_t block = c.row_blocks[2 * k + side];
        if (block < 0)
          continue;
        const std::size_t start = std::size_t(c.block_start[std::size_t(block)]),
                          size = std::size_t(c.block_start[std::size_t(block) + 1]) - start;
        for (std::size_t e = 0; e < 3; ++e)
          for (std::size_t f = 0; f < size; ++f)
            to.Y[(3 * k + e) * nv + start + f] += c.Y[std::size_t(c.at[2 * k + side]) + e * size + f];
      }
    for (std::size_t j = 0; j < 3 * n; ++j)
      for (std::size_t k = 0; k < n; ++k) {
        double u[3];
        row_velocity(c, k, to.Y.data() + j * nv, u);
        for (std::size_t e = 0; e < 3; ++e)
          to.D[(3 * k + e) * 3 * n + j] = u[e];
      }
  }

  // derivatives of (7), by central differences
  Outcome differentiate(const ContactPart &part, PartSlopes &to) {
    const std::size_t nv = std::size_t(m.nv), nx = std::size_t(m.nx), states = 2 * nv + nx,
                      rows = states + row_outputs * part.rows.size(), columns = states + 2;
    to.nominal.resize(rows), to.by_begin.assign(rows * columns, 0.0), to.by_end.assign(states * 2 * nv, 0.0);
    to.up.resize(rows), to.down.resize(rows), to.q.resize(std::size_t(m.nq));
    const auto evaluate_at = [&](std::size_t column, double change, std::vector<double> &out) {
      double t = part.t, h = part.h;
      to.v = part.v, to.x = part.x, to.q = part.q;
      if (column < nv) {
        to.change.assign(nv, 0.0), to.change[column] = change;
        integrate<double>(m, part.q.data(), to.change.data(), to.q.data());
      } else if (column < 2 * nv) {
        to.v[column - nv] += change;
      } else if (column < states) {
        to.x[column - 2 * nv] += change;
      } else {
        (column == states ? h : t) += change;
      }
      return evaluate(part, t, h, to.q.data(), to.v.data(), to.x.data(), to, out.data());
    };
    for (std::size_t column = 0; column < (part.h > 0.0 ? columns : states); ++column) {
      const double step = difference_step(part, column, nv, states);
      for (const double sign : {1.0, -1.0})
        if (const Outcome outcome = evaluate_at(column, sign * step, sign > 0.0 ? to.up : to.down);
            outcome != Outcome::reached)
          return outcome;
      for (std::size_t row = 0; row < rows; ++row)
        to.by_begin[row * columns + column] = (to.up[row] - to.down[row]) / (2.0 * step);
    }
    const Outcome outcome = evaluate_at(0, 0.0, to.nominal);
    if (outcome != Outcome::reached || part.rows.empty())
      return outcome;
    fill_responses(to);
    return differentiate_end(part, to);
  }
  double difference_step(const ContactPart &part, std::size_t column, std::size_t nv, std::size_t states) const {
    double size = 1.0;
    if (column < nv) {
      return position_step;
    } else if (column < 2 * nv) {
      for (const double each : part.v)
        size = std::max(size, std::abs(each));
      return velocity_step * size;
    } else if (column < states) {
      return velocity_step * std::max(1.0, std::abs(part.x[column - 2 * nv]));
    }
    return time_step * i.run.fixed_step;
  }
  // by velocities after the impulses, then by displacements
  Outcome differentiate_end(const ContactPart &part, PartSlopes &to) {
    const std::size_t nv = std::size_t(m.nv), states = 2 * nv + std::size_t(m.nx);
    const std::vector<double> free = c.free, displacement = c.displacement;
    double size = 1.0;
    for (const double each : free)
      size = std::max(size, std::abs(each));
    for (std::size_t column = 0; column < 2 * nv; ++column) {
      const double step = column < nv ? velocity_step * size : position_step;
      for (const double sign : {1.0, -1.0}) {
        c.free = free, c.displacement = displacement;
        (column < nv ? c.free[column] : c.displacement[column - nv]) += sign * step;
        if (const Outcome outcome = end(part, part.t, part.h, to, (sign > 0.0 ? to.up : to.down).data());
            outcome != Outcome::reached)
          return outcome;
      }
      for (std::size_t row = 0; row < states; ++row)
        to.by_end[row * 2 * nv + column] = (to.up[row] - to.down[row]) / (2.0 * step);
    }
    return Outcome::reached;
  }
};

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

} // namespace

LaneContacts find_lane_contacts(const RunContext &i, double h) {
  ContactStep step(i);
  ContactSteps &c = step.c;
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

void solve_lane_contacts(const RunContext &i, const LaneContacts &found, double t, double h) {
  ContactStep step(i);
  step.points = found.points;
  step.solve_without_gain({h, step.impact_speed(), step.closed()}, t);
}

bool lane_overlaps(const RunContext &i, double h) {
  const ContactStep step(i);
  for (std::size_t k = 0; k < step.c.rows.size(); ++k)
    if (step.c.rows[k].gap + 0.5 * h * step.c.u_after[3 * k + 2] < -step.closed())
      return true;
  return false;
}

bool find_lane_separation(const RunContext &i, double h) { return ContactStep(i).find_separation(h); }

void move_lane_apart(const RunContext &i, double h, double *q1, double *v1) { ContactStep(i).separate(h, q1, v1); }

namespace {

template <class F> Outcome with_part(const ModelData &m, Run &run, std::byte *memory, const ContactPart &part, F &&f) {
  RunWorkspace work;
  const RunContext i{m, run, work, memory + lay_out(m, memory, work)};
  ContactSteps &c = *run.contacts;
  if (c.block_start.empty())
    find_blocks(m, c);
  const SmoothInterval interval = run.interval;
  const double *branches = std::exchange(run.conditions.law_branches, nullptr);
  run.interval = SmoothInterval::around(run.discontinuities, part.t + 0.5 * part.h);
  const Outcome outcome = f(ContactStep(i));
  run.interval = interval, run.conditions.law_branches = branches;
  return outcome;
}

Outcome part_outputs(const ModelData &m, Run &run, std::byte *memory, const ContactPart &part, PartSlopes &to) {
  to.nominal.assign(2 * std::size_t(m.nv) + std::size_t(m.nx) + row_outputs * part.rows.size(), 0.0);
  return with_part(m, run, memory, part, [&](ContactStep step) {
    return step.evaluate(part, part.t, part.h, part.q.data(), part.v.data(), part.x.data(), to, to.nominal.data());
  });
}

Outcome part_slopes(const ModelData &m, Run &run, std::byte *memory, const ContactPart &part, PartSlopes &to) {
  return with_part(m, run, memory, part, [&](ContactStep step) { return step.differentiate(part, to); });
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

extern const ContactPartSet contact_parts;
const ContactPartSet contact_parts{part_outputs, part_slopes};

} // namespace dalembert::DALEMBERT_ISA
