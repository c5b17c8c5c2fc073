#include "contact/contact_watch.hpp"
#include "tree/kinematics.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace dalembert::DALEMBERT_ISA {

namespace {

constexpr int samples = 8;                // of gaps in a step
constexpr int load_samples = 4;           // of forces
constexpr int max_bisections = 60;        // of the time at which modes end
constexpr int max_dips = 4;               // looks for the least gap between two samples
constexpr double time_resolution = 1e-14; // of a step
constexpr double margin_tol = 1e-9;       // of forces: cones and normal forces may be left by this part
constexpr double smooth_forces =
    0.02; // of the largest: what a parabola through samples of a margin may miss of another
constexpr double shortest_coarse = 1e-6; // s: shorter steps are fine
constexpr double reversal = 1e-13;       // m/s: slip below minus this has reversed
constexpr double near_gap = 1e-4;        // of the length of the system: hops that begin closer than this are looked at

std::uint64_t key_of(const std::int32_t pair[2]) {
  return (std::uint64_t(std::uint32_t(pair[0])) << 32) | std::uint32_t(pair[1]);
}

struct ContactWatch {
  const Stepper &stepper;
  const RunContext &i;
  ContactEvents &e;
  const ModelData &m;
  const double h;
  double load = 1.0; // least margin of forces at the last sample

  ContactWatch(const Stepper &stepper, const RunContext &i, ContactEvents &e, double h)
      : stepper(stepper), i(i), e(e), m(i.m), h(h) {}

  const double *poses() const { return reinterpret_cast<const double *>(i.work.motion.system.loops.ws.X_W); }

  bool is_closed(const ScenePoint &p) const {
    return std::any_of(e.closed.begin(), e.closed.end(), [&](const ClosedPoint &c) { return c.is(p); });
  }
  bool is_closed_stop(std::size_t k) const {
    return std::any_of(e.closed.begin(), e.closed.end(),
                       [&](const ClosedPoint &c) { return c.stop == std::int32_t(k); });
  }

  double normal_velocity(const ScenePoint &p) const {
    double sum = 0.0;
    for (int end = 0; end < 2; ++end) {
      const double *x = end ? p.on_second : p.on_first, *motion = e.rows.motions.data() + 6 * p.places[end];
      const Vec3<double> r = Vec3<double>{x[0], x[1], x[2]} - i.work.motion.system.loops.ws.X_W[p.places[end]].p;
      const Vec3<double> u =
          Vec3<double>{motion[3], motion[4], motion[5]} + cross(Vec3<double>{motion[0], motion[1], motion[2]}, r);
      sum += (end ? 1.0 : -1.0) * dot(Vec3<double>{p.normal[0], p.normal[1], p.normal[2]}, u);
    }
    return sum;
  }

  const std::vector<ScenePoint> &near(const double *q, const double *v, double time) {
    move_bodies(i, e.rows, q, v);
    return e.rows.impact_search->find(poses(), e.rows.motions.data(), time, 2.0 * e.closed_gap + slack(time));
  }
  // what accelerations add to the way of a body in a time, about
  double slack(double time) const {
    double most = 0.0;
    for (int f = 0; f < m.nv; ++f)
      most = std::max(most, std::fabs(i.work.v1[f] - i.work.v[f]));
    return time * most;
  }

  // whether something may close or end in this step
  bool may_end() {
    if (!e.closed.empty())
      return true;
    const bool begins_near = !near(i.work.q, i.work.v, h).empty();
    e.stop_gaps.clear();
    for (const JointStop &stop : e.rows.stops)
      e.stop_gaps.push_back({stop_gap(m, e.rows, stop, i.work.q), stop_velocity(m, e.rows, stop, i.work.v)});
    if (begins_near || !near(i.work.q1, i.work.v1, h).empty())
      return true;
    for (std::size_t k = 0; k < e.rows.stops.size(); ++k) {
      const JointStop &stop = e.rows.stops[k];
      const double end = stop_gap(m, e.rows, stop, i.work.q1), speed = stop_velocity(m, e.rows, stop, i.work.v1);
      const double way = h * std::max(std::fabs(e.stop_gaps[k].rate), std::fabs(speed));
      if (std::min(e.stop_gaps[k].gap, end) < way && !is_prescribed(i, stop.dof))
        return true;
    }
    return false;
  }

  // least margin of gaps at a state; e.gaps and e.pairs are those there
  double gap_margin(const double *q, const double *v, double time) {
    double least = std::numeric_limits<double>::infinity();
    e.gaps.clear(), e.pairs.clear();
    std::size_t seen = 0;
    for (const ScenePoint &p : near(q, v, time)) {
      if (is_closed(p)) {
        ++seen;
        continue;
      }
      if (e.rows.block[std::size_t(p.places[0])] < 0 && e.rows.block[std::size_t(p.places[1])] < 0)
        continue;
      const WatchedGap gap{key_of(p.shapes), key_of(p.features), p.gap, normal_velocity(p)};
      e.gaps.push_back(gap);
      if (e.pairs.empty() || e.pairs.back().shapes != gap.shapes)
        e.pairs.push_back({gap.shapes, 0, gap.gap, gap.rate});
      else if (gap.gap < e.pairs.back().gap)
        e.pairs.back().gap = gap.gap, e.pairs.back().rate = gap.rate;
      least = std::min(least, p.gap + e.overlap);
    }
    std::sort(e.gaps.begin(), e.gaps.end()), std::sort(e.pairs.begin(), e.pairs.end());
    for (std::size_t k = 0; k < e.rows.stops.size(); ++k) {
      const JointStop &stop = e.rows.stops[k];
      if (is_closed_stop(k))
        ++seen;
      else if (!is_prescribed(i, stop.dof))
        least = std::min(least, stop_gap(m, e.rows, stop, q) + e.overlap);
    }
    for (const ClosedPoint &p : e.closed)
      seen += p.joint >= 0;
    if (seen < e.closed.size()) // features of a closed point are no longer nearest
      least = std::min(least, -e.overlap);
    return least;
  }

  // least margin of forces and slip at a state, relative
  Outcome load_margin(double t, const double *q, const double *v, const double *x, double &least) {
    load = 1.0;
    if (e.closed.empty())
      return Outcome::reached;
    e.a.resize(std::size_t(m.nv)), e.dx.resize(std::size_t(m.nx));
    if (!rates(i, t, q, v, x, e.a.data(), e.dx.data()))
      return Outcome::callback_failed;
    const std::size_t size = e.b.size();
    double scale = 1e-9;
    for (const double each : e.b)
      scale = std::max(scale, std::fabs(each));
    bool leaves_cone = false;
    for (std::size_t k = 0; k < e.closed.size(); ++k) {
      const ClosedPoint &p = e.closed[k];
      const std::size_t row = 3 * k + (p.joint >= 0 ? 0 : 2);
      const double *lam = e.lam.data() + 3 * k, own = e.D[row * size + row] / scale;
      if (p.joint >= 0 && !p.carries)
        continue;
      if (p.carries && p.joint < 0)
        least = std::min(least, lam[2] * own + margin_tol), load = std::min(load, lam[2] * own);
      if (p.slides_with_friction())
        least = std::min(least, slip_along(k, v) + reversal);
      if (p.mode == ContactMode::sticks) {
        const double bound = p.static_friction * (p.joint >= 0 ? 1.0 : lam[2]);
        const double inside = (bound * (1.0 + margin_tol) - std::hypot(lam[0], lam[1])) * own + margin_tol;
        load = std::min(load, inside);
        if (inside < 0.0 && e.rank < int(e.columns.size()))
          leaves_cone = true;
        else
          least = std::min(least, inside);
      }
    }
    if (leaves_cone && least > 0.0 && !can_stick(i, e))
      least = std::min(least, -1.0);
    return Outcome::reached;
  }
  double slip_along(std::size_t k, const double *) const {
    const double *axes = e.rows.rows[k].axes, *u = e.u.data() + 3 * k, *d = e.closed[k].direction;
    if (e.closed[k].joint >= 0)
      return d[0] * u[0];
    double sum = 0.0;
    for (int x = 0; x < 3; ++x)
      sum += d[x] * (axes[x] * u[0] + axes[3 + x] * u[1]);
    return sum;
  }

  // both at a fraction of the step
  Outcome margin(double s, double time, bool loads, double &found) {
    const double *q = i.work.q1, *v = i.work.v1, *x = i.work.x1;
    if (s < 1.0) {
      const Outcome outcome = interpolate(stepper, i, h, s);
      if (outcome != Outcome::reached)
        return outcome;
      q = i.work.qs, v = i.work.vs, x = i.work.xs;
    }
    found = gap_margin(q, v, time);
    return loads && found > 0.0 ? load_margin(i.run.t + s * h, q, v, x, found) : Outcome::reached;
  }

  // modes hold at `low`, not at `high`
  Outcome locate(double low, double high, bool loads, ContactEnd &end) {
    for (int round = 0; round < max_bisections && high - low > time_resolution; ++round) {
      const double middle = 0.5 * (low + high);
      double found;
      const Outcome outcome = margin(middle, 0.0, loads, found);
      if (outcome != Outcome::reached)
        return outcome;
      (found > 0.0 ? low : high) = middle;
    }
    end.found = true, end.fraction = high;
    return Outcome::reached;
  }

  // the fraction of the least value of the cubic through two gaps and their rates, if it is below zero; else negative
  static double dip(const WatchedGap &a, const WatchedGap &b, double time) {
    if (!(a.rate < 0.0 && b.rate > 0.0))
      return -1.0;
    const double p = time * a.rate, r = time * b.rate, d = b.gap - a.gap;
    const double c3 = p + r - 2.0 * d, c2 = 3.0 * d - 2.0 * p - r; // gap + p s + c2 s^2 + c3 s^3
    double low = 0.0, high = 1.0;
    for (int round = 0; round < 30; ++round) {
      const double s = 0.5 * (low + high);
      (p + s * (2.0 * c2 + 3.0 * s * c3) < 0.0 ? low : high) = s;
    }
    const double s = 0.5 * (low + high), least = a.gap + s * (p + s * (c2 + s * c3));
    return least < 0.1 * std::min(a.gap, b.gap) ? s : -1.0;
  }
  static double first_dip(const std::vector<WatchedGap> &before, const std::vector<WatchedGap> &now, double time) {
    double first = -1.0;
    auto at = before.begin();
    for (const WatchedGap &gap : now) {
      while (at != before.end() && *at < gap)
        ++at;
      if (at == before.end() || gap < *at)
        continue;
      if (const double s = dip(*at, gap, time); s >= 0.0 && (first < 0.0 || s < first))
        first = s;
    }
    return first;
  }

  // between two samples, e.gaps_before and e.gaps: a gap that closes and opens again
  Outcome find_dip(double from, double to, ContactEnd &end) {
    for (int look = 0; look < max_dips; ++look) {
      const double time = h * (to - from);
      double s = first_dip(e.gaps_before, e.gaps, time);
      if (const double other = first_dip(e.pairs_before, e.pairs, time); other >= 0.0 && (s < 0.0 || other < s))
        s = other;
      if (s < 0.0)
        return Outcome::reached;
      const double middle = from + std::clamp(s, 0.02, 0.98) * (to - from);
      double found;
      const std::vector<WatchedGap> gaps = e.gaps, pairs = e.pairs;
      const Outcome outcome = margin(middle, time, false, found);
      if (outcome != Outcome::reached)
        return outcome;
      if (!(found > 0.0))
        return locate(from, middle, false, end);
      if (first_dip(e.gaps_before, e.gaps, h * (middle - from)) >= 0.0 ||
          first_dip(e.pairs_before, e.pairs, h * (middle - from)) >= 0.0) {
        to = middle; // in the first part
      } else {
        from = middle, e.gaps_before = e.gaps, e.pairs_before = e.pairs;
        e.gaps = gaps, e.pairs = pairs;
      }
    }
    return Outcome::reached;
  }

  Outcome find(ContactEnd &end) {
    if (!may_end())
      return Outcome::reached;
    Outcome outcome = stepper.prepare(i, h);
    if (outcome != Outcome::reached)
      return outcome;
    double last = 0.0, last_loads = 0.0, margins[load_samples];
    int sampled = 0;
    gap_margin(i.work.q, i.work.v, h / samples);
    for (int k = 1; k <= samples; ++k) {
      const double s = double(k) / samples;
      const bool loads = !e.closed.empty() && k % (samples / load_samples) == 0;
      double found;
      e.gaps_before = e.gaps, e.pairs_before = e.pairs;
      outcome = margin(s, h / samples, loads, found);
      if (outcome != Outcome::reached)
        return outcome;
      if (found > 0.0) {
        const std::vector<WatchedGap> gaps = e.gaps, pairs = e.pairs;
        outcome = find_dip(last, s, end);
        if (outcome != Outcome::reached || end.found)
          return outcome;
        e.gaps = gaps, e.pairs = pairs;
      } else {
        return locate(loads ? last_loads : last, s, !e.closed.empty(), end);
      }
      last = s;
      if (loads || e.closed.empty())
        last_loads = s;
      if (loads)
        margins[sampled++] = load;
    }
    // at 1/4, 1/2, 3/4, 1: the third by a parabola through the others
    if (sampled == load_samples && h > shortest_coarse) {
      const double guess = -margins[0] / 3.0 + margins[1] + margins[3] / 3.0;
      end.coarse = std::fabs(margins[2] - guess) > smooth_forces;
    }
    return Outcome::reached;
  }
};

} // namespace

Outcome find_contact_end(const Stepper &stepper, const RunContext &i, double h, ContactEnd &end) {
  return ContactWatch(stepper, i, *i.run.contact_events, h).find(end);
}

// velocity and acceleration of the second body against the first at a point; accelerations of the frames may be wanting
static void relative_motion(const RunContext &i, const ContactEvents &e, const ScenePoint &p, Vec3<double> &u,
                            Vec3<double> *a) {
  const Workspace<double> &ws = i.work.motion.system.loops.ws;
  u = zero3<double>();
  for (int end = 0; end < 2; ++end) {
    const double *x = end ? p.on_second : p.on_first, *motion = e.rows.motions.data() + 6 * p.places[end];
    const Pose<double> &X = ws.X_W[p.places[end]];
    const Vec3<double> r = Vec3<double>{x[0], x[1], x[2]} - X.p, w{motion[0], motion[1], motion[2]};
    const Vec3<double> v = Vec3<double>{motion[3], motion[4], motion[5]} + cross(w, r);
    u = end ? u + v : u - v;
    if (!a)
      continue;
    const Motion<double> &A = ws.A[p.places[end]];
    const Vec3<double> acc = mul(X.R, A.v) + cross(mul(X.R, A.w), r) + cross(w, cross(w, r));
    *a = end ? *a + acc : *a - acc;
  }
}

double longest_contact_step(const RunContext &i, ContactEvents &e) {
  double longest = std::numeric_limits<double>::infinity();
  RunWorkspace &work = i.work;
  move_bodies(i, e.rows, work.q, work.v);
  compute_accelerations(i.m, work.motion.system.loops.ws, work.a);
  const double near = near_gap * (i.m.length > 0.0 ? i.m.length : 1.0);
  for (const ScenePoint &p : e.rows.impact_search->find(
           reinterpret_cast<const double *>(work.motion.system.loops.ws.X_W), e.rows.motions.data(), 0.0, near)) {
    if (std::any_of(e.closed.begin(), e.closed.end(), [&](const ClosedPoint &c) { return c.is(p); }))
      continue;
    Vec3<double> u, a = zero3<double>();
    relative_motion(i, e, p, u, &a);
    const Vec3<double> n{p.normal[0], p.normal[1], p.normal[2]};
    const double up = dot(n, u), fall = -dot(n, a);
    if (up > 0.0 && fall > 0.0 && up * up > 2.0 * fall * e.hop_height) // lower hops are none
      longest = std::min(longest, up / fall);
  }
  return longest;
}

bool set_slip_directions(const RunContext &i, ContactEvents &e, const double *q, const double *v) {
  if (std::none_of(e.closed.begin(), e.closed.end(), [](const ClosedPoint &p) { return p.slides_with_friction(); }))
    return false;
  bool rests = false;
  place_closed(i, e, q, v);
  for (std::size_t k = 0; k < e.closed.size(); ++k) {
    ClosedPoint &p = e.closed[k];
    if (!p.slides_with_friction() || !p.carries)
      continue;
    Vec3<double> u = zero3<double>();
    if (p.joint >= 0) {
      u.x = joint_velocity(i.m, e.rows, e.rows.friction[std::size_t(p.joint)].dof, v);
    } else {
      relative_motion(i, e, e.points[k], u, nullptr);
      const double *n = e.points[k].normal;
      const Vec3<double> normal{n[0], n[1], n[2]};
      u = u - scale(dot(u, normal), normal);
    }
    const double slip = std::sqrt(dot(u, u));
    p.fastest = std::max(p.fastest, slip);
    if (p.touches())
      p.scale = std::max(p.scale, slip_scale(i.work.motion.system.loops.ws, e.rows, e.points[k]));
    const bool slow = !(slip > e.resting(p));
    rests = rests || (slow && p.slow_slip > 0.0 && slip < p.slow_slip); // it does not speed up
    p.slow_slip = slow ? slip : 0.0;
    if (!slow)
      p.direction[0] = u.x / slip, p.direction[1] = u.y / slip, p.direction[2] = u.z / slip;
  }
  return rests;
}

} // namespace dalembert::DALEMBERT_ISA
