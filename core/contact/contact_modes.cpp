#include "contact/contact_modes.hpp"

#include "contact/contact_impacts.hpp"
#include <algorithm>
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr double zero_tol = 1e-10;            // accelerations and forces, of the largest: smaller ones are zero
constexpr double slip_tol = 1e-11;            // tangential accelerations, of the largest: smaller ones are zero
constexpr double bound_tol = 1e-7;            // of bounds of friction: points below do not slide
constexpr double passing_tol = 1e-9;          // of accelerations: rows that efforts do not move pass their rest from here
constexpr double least_acceleration = 1e-9;   // m/s^2: scale where nothing accelerates
constexpr double large_slip = 1e6;            // of the accelerations: velocities of sliding points in (1)
constexpr int max_rounds = 8;                 // of points that come to rest as others do
constexpr std::size_t frequent_changes = 500; // at the highest rate of changes
constexpr std::size_t stagnant_changes = 60;  // within the time of no progress
constexpr std::size_t stalled_changes = 3;    // within it, before velocities at rest are widened
constexpr double max_widening = 1e4;
constexpr double no_progress = 1e-10; // s

struct ModeDecision {
  const RunContext &i;
  ContactEvents &e;
  const ModelData &m;
  const double t;
  double *q, *v, *x;
  std::vector<ClosedPoint> before;
  ContactChange change{};
  std::vector<unsigned char> rests, slid, begins; // points at rest; that slid before; that begin to slide
  std::vector<double> mu, shifted;
  ContactImpact impact;
  bool joint_reverses = false;

  ModeDecision(const RunContext &i, ContactEvents &e)
      : i(i), e(e), m(i.m), t(i.run.t), q(i.work.q), v(i.work.v), x(i.work.x), before(e.closed),
        impact(e, change, i.work.v) {
    change.t = t, change.restitution_part = 1.0;
  }

  const Workspace<double> &frames() const { return i.work.motion.system.loops.ws; }
  const double *poses() const { return reinterpret_cast<const double *>(i.work.motion.system.loops.ws.X_W); }
  Outcome fail(ContactFailure why) {
    e.failure = why, e.failure_time = t, e.failed = e.closed;
    e.closed = before;
    return Outcome::contact_failed;
  }

  // ---- points

  // all points and stops that are closed, with what is known of them
  void collect() {
    ContactSteps &c = e.rows;
    move_bodies(i, c, q, v);
    std::vector<ClosedPoint> found;
    for (const ScenePoint &p : c.search->find(poses(), c.motions.data(), 0.0, e.closed_gap))
      if (p.gap < e.closed_gap && (c.block[std::size_t(p.places[0])] >= 0 || c.block[std::size_t(p.places[1])] >= 0))
        found.push_back(closed_point(*e.rows.scene, p));
    for (std::size_t k = 0; k < c.stops.size(); ++k) {
      const JointStop &stop = c.stops[k];
      if (!(stop_gap(m, c, stop, q) < e.closed_gap) || is_prescribed(i, stop.dof))
        continue;
      ClosedPoint &p = found.emplace_back();
      p.stop = std::int32_t(k), p.restitution = stop.restitution, p.contact = -1;
    }
    for (std::size_t k = 0; k < c.friction.size(); ++k) {
      ClosedPoint &p = found.emplace_back();
      p.joint = std::int32_t(k), p.contact = -1;
      p.friction = c.friction[k].sliding, p.static_friction = c.friction[k].at_rest;
    }
    for (ClosedPoint &p : found)
      for (const ClosedPoint &old : e.closed)
        if (p.is(old))
          p.mode = old.mode, p.fastest = old.fastest, p.scale = old.scale, std::copy_n(old.axis, 3, p.axis);
    e.closed = std::move(found);
  }

  bool free_accelerations() {
    e.a.resize(std::size_t(m.nv)), e.dx.resize(std::size_t(m.nx));
    ++i.run.counts.evaluations;
    return dynamics(m, i.run.conditions, i.work.motion, {i.run.interval.clamp(t), q, v, x}, e.a.data(), e.dx.data());
  }
  // rows of e.closed, with u and w0
  bool evaluate() {
    if (!free_accelerations())
      return false;
    place_closed(i, e, q, v);
    closed_accelerations(i, e, v, e.a.data());
    respond_to_closed(i, e, t, q);
    closed_velocities(e, v);
    return true;
  }
  template <class F> void keep_points(F &&keeps) {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < e.closed.size(); ++k)
      if (keeps(k))
        e.closed[kept++] = e.closed[k];
    e.closed.resize(kept);
  }

  // puts points that overlap onto gap 0
  void remove_overlaps() {
    e.columns.clear(), e.w.assign(3 * e.closed.size(), 0.0), e.shift.assign(3 * e.closed.size(), 0.0);
    for (std::size_t k = 0; k < e.closed.size(); ++k)
      if (e.points[k].gap < 0.0)
        e.columns.push_back(3 * int(k) + 2), e.w[3 * k + 2] = e.points[k].gap;
    if (e.columns.empty())
      return;
    solve_rows(e, e.w.data());
    e.rows.displacement.assign(std::size_t(m.nv), 0.0);
    add_response(e.rows, 0, e.closed.size(), e.lam.data(), e.rows.displacement.data());
    e.q.resize(std::size_t(m.nq));
    integrate<double>(m, q, e.rows.displacement.data(), e.q.data());
    copy(e.q.data(), m.nq, q);
  }

  // ---- accelerations

  void set_slip() {
    rests.assign(e.closed.size(), 0), mu.assign(e.closed.size(), 0.0);
    for (std::size_t k = 0; k < e.closed.size(); ++k) {
      ClosedPoint &p = e.closed[k];
      double *u = e.u.data() + 3 * k;
      const double slip = std::hypot(u[0], u[1]), *axes = e.rows.rows[k].axes;
      p.fastest = std::max(p.fastest, slip);
      if (p.touches())
        p.scale = std::max(p.scale, slip_scale(frames(), e.rows, e.points[k]));
      p.carries = !is_driven(p);
      if (!p.carries) {
        mu[k] = no_bound, p.mode = ContactMode::slides, p.direction[0] = 1.0, p.direction[1] = p.direction[2] = 0.0;
        continue;
      }
      if (p.stop >= 0 || !(p.friction > 0.0)) {
        p.mode = ContactMode::slides;
        std::copy_n(axes, 3, p.direction);
        continue;
      }
      rests[k] = slip <= e.rest_speed(p);
      mu[k] = (p.joint >= 0 ? -1.0 : 1.0) * (rests[k] ? p.static_friction : p.friction);
      p.mode = rests[k] ? ContactMode::sticks : ContactMode::slides;
      if (p.joint >= 0 && !rests[k])
        p.direction[0] = u[0] > 0.0 ? 1.0 : -1.0, p.direction[1] = p.direction[2] = 0.0;
      for (int x = 0; x < 3 && !rests[k] && p.joint < 0; ++x)
        p.direction[x] = (axes[x] * u[0] + axes[3 + x] * u[1]) / slip;
      if (rests[k] && is_passed(k))
        rests[k] = 0, mu[k] = -p.friction, p.mode = ContactMode::slides, p.direction[0] = e.b[3 * k] > 0.0 ? 1.0 : -1.0,
        p.direction[1] = p.direction[2] = 0.0;
      else if (rests[k])
        u[0] = u[1] = 0.0;
    }
  }
  // whether a joint at rest goes on with the motion of others, which its friction cannot change
  bool is_passed(std::size_t k) const {
    return e.closed[k].joint >= 0 && !e.responds(3 * k) && std::fabs(e.b[3 * k]) > passing_tol * rate_scale();
  }
  // slip of a point that begins to slide, opposite to its force
  void slide(std::size_t k, const double *lam) {
    ClosedPoint &p = e.closed[k];
    const double size = std::hypot(lam[0], lam[1]), *axes = e.rows.rows[k].axes;
    p.mode = ContactMode::slides;
    if (p.joint >= 0) {
      p.direction[0] = lam[0] > 0.0 ? -1.0 : 1.0, p.direction[1] = p.direction[2] = 0.0;
      return;
    }
    for (int x = 0; x < 3; ++x)
      p.direction[x] = size > 0.0 ? -(axes[x] * lam[0] + axes[3 + x] * lam[1]) / size : axes[x];
  }

  double rate_scale() const { return std::max(largest(e.b), least_acceleration); }

  // (1) and (2) by one cone problem, in which sliding points have a large velocity
  bool solve_cones() {
    const std::size_t n = e.closed.size(), size = 3 * n;
    const double scale = rate_scale();
    ConeSolver &solver = e.rows.solver;
    solver.reserve(int(n));
    solver.lam.assign(size, 0.0);
    const bool mixed = std::any_of(e.closed.begin(), e.closed.end(), [&](const ClosedPoint &p) {
      return p.carries && p.friction > 0.0 && !rests[std::size_t(&p - e.closed.data())];
    });
    bool solved = true;
    for (int round = 0; round < (mixed ? 3 : 1) && solved; ++round) {
      shifted = e.b;
      for (std::size_t k = 0; k < n; ++k) {
        if (rests[k] || !(e.closed[k].friction > 0.0) || !e.closed[k].carries)
          continue;
        const double *u = e.u.data() + 3 * k, slip = std::hypot(u[0], u[1]);
        for (std::size_t f = 0; f < 2; ++f) {
          double own = 0.0;
          for (std::size_t j = 0; j < size; ++j)
            own += e.D[(3 * k + f) * size + j] * solver.lam[j];
          shifted[3 * k + f] = large_slip * scale * u[f] / slip - own;
        }
      }
      solve_cone_problem({int(n), e.D.data(), shifted.data(), mu.data()}, solver, cone_tol * scale, round > 0);
      solved = solver.missed <= solved_tol * scale;
    }
    e.lam.assign(solver.lam.begin(), solver.lam.begin() + std::ptrdiff_t(size));
    e.w = e.b;
    for (std::size_t k = 0; k < size; ++k)
      for (std::size_t j = 0; j < size; ++j)
        e.w[k] += e.D[k * size + j] * e.lam[j];
    return solved;
  }

  // modes that go with lam and w. Returns whether a point with static friction slides: it has lost it.
  bool set_modes() {
    const double scale = rate_scale();
    const std::size_t size = e.b.size();
    bool released = false;
    for (std::size_t k = 0; k < e.closed.size(); ++k) {
      const double *lam = e.lam.data() + 3 * k, *w = e.w.data() + 3 * k;
      ClosedPoint &p = e.closed[k];
      const double own = e.D[(3 * k + 2) * size + 3 * k + 2];
      if (!p.carries)
        continue;
      if (lam[2] * own <= zero_tol * scale && w[2] > zero_tol * scale) {
        p.mode = ContactMode::open;
      } else if (rests[k]) {
        p.mode = ContactMode::sticks;
        const double bound = mu[k] < 0.0 ? -mu[k] : mu[k] * lam[2];
        if (std::hypot(w[0], w[1]) > slip_tol * scale && std::hypot(lam[0], lam[1]) >= (1.0 - bound_tol) * bound) {
          slide(k, lam);
          released = lower_bound(k) || released;
        }
      } else {
        p.mode = ContactMode::slides;
      }
    }
    return released;
  }

  // (2) of contact_motion.hpp for the modes; of dependent rows, points whose share would pull carry nothing
  void solve_shares() {
    for (ClosedPoint &p : e.closed)
      p.carries = p.mode != ContactMode::open && !is_driven(p) && !rests_on_stop(p);
    solve_modes(e);
    const double scale = rate_scale();
    for (std::size_t round = 0; round < e.closed.size() && e.rank < int(e.columns.size()); ++round) {
      std::size_t worst = e.closed.size();
      double most = 0.0;
      for (std::size_t k = 0; k < e.closed.size(); ++k)
        if (e.closed[k].carries && e.lam[3 * k + 2] < most)
          most = e.lam[3 * k + 2], worst = k;
      const std::size_t size = e.b.size();
      if (worst == e.closed.size() || -most * e.D[(3 * worst + 2) * size + 3 * worst + 2] <= zero_tol * scale)
        return;
      e.closed[worst].carries = false;
      solve_modes(e);
      if (held_residual() > solved_tol * scale) {
        e.closed[worst].carries = true;
        solve_modes(e);
        return;
      }
    }
  }
  // largest acceleration of rows that are held
  double held_residual() const {
    double most = 0.0;
    for (std::size_t k = 0; k < e.closed.size(); ++k)
      if (e.closed[k].mode != ContactMode::open)
        for (int f = e.closed[k].first_held(); f < e.closed[k].last_held(); ++f)
          most = std::max(most, std::fabs(e.w[3 * k + std::size_t(f)]));
    return most;
  }

  // Checks the modes by their own forces and changes the worst of them. 0: all fit; 1: one has changed; -1: none fits
  int improve(bool trusted) {
    const double scale = rate_scale();
    const std::size_t size = e.b.size();
    std::size_t worst = e.closed.size();
    double most = zero_tol;
    int kind = 0;
    solve_shares();
    const bool unique = e.rank == int(e.columns.size());
    const auto note = [&](std::size_t k, double missed, int what) {
      if (missed > most)
        most = missed, worst = k, kind = what;
    };
    for (std::size_t k = 0; k < e.closed.size(); ++k) {
      const ClosedPoint &p = e.closed[k];
      const std::size_t row = 3 * k + (p.joint >= 0 ? 0 : 2);
      const double own = e.D[row * size + row], *lam = e.lam.data() + 3 * k, *w = e.w.data() + 3 * k;
      if (p.joint >= 0) {
        if (p.mode == ContactMode::sticks)
          note(k, (std::fabs(lam[0]) + mu[k]) * own / scale, 3);
        else if (rests[k])
          note(k, -w[0] * p.direction[0] / scale, 4);
        continue;
      }
      if (p.mode == ContactMode::open) {
        note(k, -w[2] / scale, 1);
        continue;
      }
      note(k, -lam[2] * own / scale, 2);
      if (p.mode == ContactMode::sticks)
        note(k, (std::hypot(lam[0], lam[1]) - mu[k] * lam[2]) * own / scale, 3);
      else if (rests[k])
        note(k, -(w[0] * slip_component(k, 0) + w[1] * slip_component(k, 1)) / scale, 4);
    }
    e.redundant = e.redundant || !unique;
    if (!unique && trusted)
      return held_residual() <= solved_tol * scale ? 0 : -1;
    if (worst == e.closed.size())
      return 0;
    ClosedPoint &p = e.closed[worst];
    const double lam[3] = {e.lam[3 * worst], e.lam[3 * worst + 1], e.lam[3 * worst + 2]};
    switch (kind) {
    case 1:
      p.mode = rests[worst] ? ContactMode::sticks : ContactMode::slides;
      break;
    case 2:
      p.mode = ContactMode::open;
      break;
    case 3:
      lower_bound(worst);
      slide(worst, lam);
      break;
    default:
      p.mode = ContactMode::sticks;
    }
    return 1;
  }
  // A point that slides loses its static friction. Returns whether it had more than that of sliding.
  bool lower_bound(std::size_t k) {
    const ClosedPoint &p = e.closed[k];
    const bool more = std::fabs(mu[k]) > p.friction;
    mu[k] = std::copysign(p.friction, mu[k]);
    return more;
  }
  bool is_driven(const ClosedPoint &p) const {
    return p.joint >= 0 && is_prescribed(i, e.rows.friction[std::size_t(p.joint)].dof);
  }
  // a joint at rest on its stop: the stop carries its load
  bool rests_on_stop(const ClosedPoint &p) const {
    return p.joint >= 0 && p.mode == ContactMode::sticks &&
           std::any_of(e.closed.begin(), e.closed.end(), [&](const ClosedPoint &c) {
             return c.stop >= 0 && c.mode != ContactMode::open &&
                    e.rows.stops[std::size_t(c.stop)].dof == e.rows.friction[std::size_t(p.joint)].dof;
           });
  }
  double slip_component(std::size_t k, int f) const {
    const double *axis = e.rows.rows[k].axes + 3 * f, *d = e.closed[k].direction;
    return axis[0] * d[0] + axis[1] * d[1] + axis[2] * d[2];
  }

  // (1), (2)
  bool determine() {
    const bool found = find_modes();
    for (std::size_t k = 0; found && k < e.closed.size(); ++k)
      change.two_solutions = change.two_solutions || pulls_itself(k);
    return found;
  }
  // Whether a normal force draws a sliding point towards the other shape by its friction: it may open or be pressed.
  bool pulls_itself(std::size_t k) const {
    const ClosedPoint &p = e.closed[k];
    if (!p.touches() || rests[k] || !(p.friction > 0.0))
      return false;
    const double *D = e.D.data() + (3 * k + 2) * e.b.size() + 3 * k;
    return D[2] - p.friction * (D[0] * slip_component(k, 0) + D[1] * slip_component(k, 1)) <= 0.0;
  }
  bool find_modes() {
    set_slip();
    if (e.closed.empty())
      return true;
    bool trusted = false;
    for (std::size_t round = 0; round <= e.closed.size() + 1; ++round) {
      trusted = solve_cones();
      if (!set_modes())
        break;
    }
    if (trusted)
      for (std::size_t round = 0; round < 4 * e.closed.size() + 8; ++round) {
        const int found = improve(true);
        if (found == 0)
          return true;
        if (found < 0)
          break;
      }
    set_slip(); // from what was before
    for (std::size_t round = 0; round < 4 * e.closed.size() + 8; ++round)
      if (improve(false) == 0)
        return true;
    return false;
  }

  // (1) of contact_impacts.hpp for the sliding points, which come to rest
  bool stop_sliding() {
    set_slip();
    closed_velocities(e, v);
    e.columns.clear(), e.shift.assign(e.u.size(), 0.0);
    bool any = false;
    for (std::size_t k = 0; k < e.closed.size(); ++k) {
      if (e.closed[k].joint >= 0)
        continue;
      any = any || (!rests[k] && e.closed[k].friction > 0.0);
      for (int f = e.closed[k].friction > 0.0 && e.closed[k].stop < 0 ? 0 : 2; f < 3; ++f)
        e.columns.push_back(3 * int(k) + f);
    }
    if (!any)
      return false;
    solve_rows(e, e.u.data());
    const double energy = impact.energy_of_impulses();
    for (std::size_t k = 0; k < e.closed.size(); ++k) {
      const double *lam = e.lam.data() + 3 * k, slack = 1e-9 * largest(e.lam);
      if (e.closed[k].joint >= 0)
        continue;
      if (lam[2] < -slack || std::hypot(lam[0], lam[1]) > e.closed[k].friction * lam[2] + slack)
        return false;
    }
    change.jams = true;
    impact.apply_impulses(energy);
    return true;
  }

  // ---- all of it

  // modes of points that do not part; velocities of what is held become zero
  Outcome settle() {
    for (int jams = 0; jams < 3; ++jams) {
      bool found = true;
      for (int round = 0; found && round < max_rounds; ++round) {
        if (!evaluate())
          return Outcome::callback_failed;
        found = determine();
        if (!found)
          break;
        slid.clear(), begins.clear();
        for (std::size_t k = 0; k < e.closed.size(); ++k) {
          const ClosedPoint &p = e.closed[k];
          if (p.mode != ContactMode::open) {
            slid.push_back(!rests[k] && p.friction > 0.0 && p.carries && !is_passed(k));
            begins.push_back(rests[k] && p.slides_with_friction());
          }
          if (p.mode == ContactMode::slides && (rests[k] || p.joint >= 0) && has_turned(p))
            (p.joint >= 0 ? joint_reverses : change.reverses) = true;
        }
        keep_points([&](std::size_t k) { return e.closed[k].mode != ContactMode::open; });
        rest_at_onset();
        if (!comes_to_rest())
          break;
      }
      if (found)
        return Outcome::reached;
      if (!evaluate())
        return Outcome::callback_failed;
      if (!stop_sliding())
        break;
    }
    return fail(ContactFailure::undecided);
  }
  // what is held comes to rest, as do points that begin to slide: they do so from rest
  void rest_at_onset() {
    for (std::size_t k = 0; k < e.closed.size(); ++k)
      if (begins[k])
        e.closed[k].mode = ContactMode::sticks;
    project_onto_contacts(i, e, t, q, v);
    for (std::size_t k = 0; k < e.closed.size(); ++k)
      if (begins[k])
        e.closed[k].mode = ContactMode::slides;
  }
  bool has_turned(const ClosedPoint &p) const {
    return std::any_of(before.begin(), before.end(), [&](const ClosedPoint &b) {
      const double *d = b.direction, *now = p.direction;
      return b.is(p) && b.mode == ContactMode::slides && d[0] * now[0] + d[1] * now[1] + d[2] * now[2] < 0.0;
    });
  }
  // whether sliding points are at rest now that others stick
  bool comes_to_rest() const {
    for (std::size_t k = 0; k < e.closed.size(); ++k) {
      double u[3];
      row_velocity(e.rows, k, v, u);
      if (slid[k] && std::hypot(u[0], u[1]) <= e.rest_speed(e.closed[k]))
        return true;
    }
    return false;
  }

  bool has_changed() const {
    if (change.jams || change.two_solutions || change.reverses || joint_reverses || !change.impacts.empty() ||
        before.size() != e.closed.size())
      return true;
    for (const ClosedPoint &p : e.closed)
      if (!std::any_of(before.begin(), before.end(), [&](const ClosedPoint &b) { return b.is(p) && b.mode == p.mode; }))
        return true;
    return false;
  }

  bool records_progress() {
    e.recent.push_back(t);
    const auto within = [&](std::size_t count, double time) {
      return e.recent.size() > count && t - e.recent[e.recent.size() - 1 - count] <= time;
    };
    const double moment = std::max(no_progress, 1e-14 * std::fabs(t));
    if (within(stagnant_changes, moment)) {
      e.failure = ContactFailure::stagnated;
    } else if (within(frequent_changes, double(frequent_changes) / e.max_rate)) {
      e.failure = ContactFailure::frequent;
    }
    e.widening = within(stalled_changes, moment) ? std::min(10.0 * e.widening, max_widening) : 1.0;
    if (e.recent.size() > 4 * frequent_changes)
      e.recent.erase(e.recent.begin(), e.recent.begin() + std::ptrdiff_t(2 * frequent_changes));
    if (e.failure == ContactFailure::none)
      return true;
    e.failure_time = t, e.failed = e.closed;
    return false;
  }

  Outcome run() {
    collect();
    if (int(std::count_if(e.closed.begin(), e.closed.end(), [](const ClosedPoint &p) { return p.touches(); })) >
        e.max_points)
      return fail(ContactFailure::crowded);
    if (!e.closed.empty()) {
      if (!evaluate())
        return Outcome::callback_failed;
      remove_overlaps();
      if (!evaluate())
        return Outcome::callback_failed;
      if (impact.approaches() && !impact.collide())
        return fail(ContactFailure::undecided);
      closed_velocities(e, v);
      std::vector<double> u = e.u, low(e.closed.size());
      for (std::size_t k = 0; k < low.size(); ++k)
        low[k] = impact.low_speed(k);
      keep_points([&](std::size_t k) { return std::fabs(u[3 * k + 2]) <= low[k]; });
      if (!e.closed.empty())
        rest_across();
      const Outcome outcome = settle();
      if (outcome != Outcome::reached)
        return outcome;
      for (ClosedPoint &p : e.closed)
        if (p.mode == ContactMode::sticks)
          p.fastest = p.scale = 0.0;
    }
    if (has_changed()) {
      ++e.change_count;
      change.after = e.closed;
      e.changes.push_back(change);
    }
    return records_progress() ? Outcome::reached : Outcome::contact_failed;
  }
  // normal velocities of points that do not part become zero
  void rest_across() {
    for (ClosedPoint &p : e.closed)
      p.mode = p.mode == ContactMode::open ? ContactMode::slides : p.mode;
    std::vector<ContactMode> modes;
    for (ClosedPoint &p : e.closed)
      modes.push_back(p.mode), p.mode = ContactMode::slides;
    project_onto_contacts(i, e, t, q, v);
    for (std::size_t k = 0; k < modes.size(); ++k)
      e.closed[k].mode = modes[k];
  }
};

// whether forces within the cones hold the points that stick
static bool holds(ContactEvents &e, ModeDecision &d) {
  const std::size_t n = e.closed.size();
  d.rests.resize(n), d.mu.resize(n);
  for (std::size_t k = 0; k < n; ++k) {
    const ClosedPoint &p = e.closed[k];
    d.rests[k] = p.mode == ContactMode::sticks;
    d.mu[k] = p.stop >= 0 ? 0.0 : d.rests[k] ? p.static_friction * (1.0 + 1e-9) : p.friction;
    d.mu[k] = p.joint >= 0 ? -d.mu[k] : d.mu[k];
  }
  return d.solve_cones() && d.held_residual() <= 1e-9 * d.rate_scale();
}

} // namespace

bool can_stick(const RunContext &i, ContactEvents &e) {
  ModeDecision decision(i, e);
  return holds(e, decision);
}

void put_forces_into_cones(const RunContext &i, ContactEvents &e) {
  if (e.closed.empty() || e.rank == int(e.columns.size()))
    return;
  const double most = largest(e.lam);
  const auto leaves = [&](const ClosedPoint &p) {
    const double *lam = e.lam.data() + 3 * (&p - e.closed.data());
    if (p.joint >= 0)
      return p.mode == ContactMode::sticks && std::fabs(lam[0]) > p.static_friction * (1.0 + 1e-9);
    return lam[2] < -1e-9 * most ||
           (p.mode == ContactMode::sticks && std::hypot(lam[0], lam[1]) > p.static_friction * lam[2] + 1e-9 * most);
  };
  if (std::none_of(e.closed.begin(), e.closed.end(), leaves))
    return;
  const std::vector<double> shortest = e.lam;
  if (!can_stick(i, e))
    e.lam = shortest;
}

Outcome change_contacts(const RunContext &i, ContactEvents &e) {
  e.failure = ContactFailure::none;
  return ModeDecision(i, e).run();
}

} // namespace dalembert::DALEMBERT_ISA
