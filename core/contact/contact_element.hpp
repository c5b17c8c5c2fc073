// Compliant contact of two solids as an element: its bounds, its relative motion, its law on every scalar.
//
// A pair is idle while the balls around its solids are apart; nothing else of it is evaluated then. The search for
// points is one of numbers, in packs lane by lane.
#pragma once

#include "contact/contact_law.hpp"
#include "elements/evaluation_context.hpp"
#include "elements/measures.hpp"

namespace dalembert::DALEMBERT_ISA {

namespace contact_element {

inline double number_of(double x, int) { return x; }
inline double number_of(const Dual &x, int) { return x.value; }
inline double number_of(const Traced &x, int) { return x.value; }
inline double number_of(const Pack &x, int lane) { return x[lane]; }
template <class T> inline Vec3<double> number_of(const Vec3<T> &a, int lane) {
  return {number_of(a.x, lane), number_of(a.y, lane), number_of(a.z, lane)};
}
template <class T> inline Mat3<double> number_of(const Mat3<T> &R, int lane) {
  return {number_of(R.xx, lane), number_of(R.xy, lane), number_of(R.xz, lane),
          number_of(R.yx, lane), number_of(R.yy, lane), number_of(R.yz, lane),
          number_of(R.zx, lane), number_of(R.zy, lane), number_of(R.zz, lane)};
}

inline void write_pose(const Mat3<double> &R, const Vec3<double> &p, double *pose) {
  const double numbers[12] = {R.xx, R.xy, R.xz, R.yx, R.yy, R.yz, R.zx, R.zy, R.zz, p.x, p.y, p.z};
  std::copy_n(numbers, 12, pose);
}

// overlapping points at a relative pose
inline int find_points(const ModelData &m, const ContactPairData &pair, const Pose<double> &X, PairPoint *points) {
  double pose[12];
  write_pose(X.R, X.p, pose);
  return find_pair_points(m.contact_solids[pair.first], m.contact_solids[pair.second], pose, points);
}

} // namespace contact_element

// Distance of the balls around both solids, or of the ball from the half space, in a lane, m; bodies stand in the world.
template <class T>
inline double ball_gap(const Workspace<T> &ws, const PortData &port, const ContactPairData &pair, int lane) {
  using contact_element::number_of;
  const auto place = [&](int body, const double *p) {
    return body ? mul(number_of(ws.X_W[body].R, lane), as_vec(p)) + number_of(ws.X_W[body].p, lane) : as_vec(p);
  };
  const Vec3<double> b = place(port.body_b, pair.center_b);
  if (!pair.planar) {
    const Vec3<double> apart = b - place(port.body_a, pair.center_a);
    return std::sqrt(dot(apart, apart)) - (pair.reach_a + pair.reach_b);
  }
  const Vec3<double> own{port.R_FA[2], port.R_FA[5], port.R_FA[8]};
  const Vec3<double> up = port.body_a ? mul(number_of(ws.X_W[port.body_a].R, lane), own) : own;
  return dot(up, b - place(port.body_a, port.p_FA)) - pair.reach_b;
}

// axes and origin of B in A, after its measure
template <class T> inline Mat3<T> relative_axes(const Workspace<T> &ws, const PortData &port, const Measured<T> &now) {
  return mul_ta(now.R_A, mul(ws.X_W[port.body_b].R, lift<T>(as_mat(port.R_FB))));
}

template <class T> inline ContactNumbers<T> contact_numbers(const EvaluationContext<T> &at, const ElementData &e) {
  return {parameter(at, e.parameter), parameter(at, e.parameter + 1), parameter(at, e.parameter + 2),
          parameter(at, e.parameter + 3), parameter(at, e.parameter + 4)};
}

// Law for numbers or duals: six forces, rates of states, energy; returns its rate. bearing: space for
// max_pair_points, whose number goes to `count`; gap: of the deepest point, positive where there is none.
template <class T> inline T contact_forces(const ModelData &m, const ElementData &e, const ContactNumbers<T> &numbers,
                                           const ContactMotion<T> &motion, const T *z, T *outputs,
                                           BearingPoint<T> *bearing, int &count, double &gap) {
  using contact_element::number_of;
  const ContactPairData &pair = m.contact_pairs[e.law];
  for (int k = 0; k < e.measures + e.states + 1; ++k)
    outputs[k] = T(0.0);
  PairPoint points[max_pair_points];
  count = contact_element::find_points(m, pair, {number_of(motion.X.R, 0), number_of(motion.X.p, 0)}, points);
  gap = 1.0;
  if (!count)
    return T(0.0);
  gap = points[0].gap;
  T none[3 * max_pair_points], unused[3 * max_pair_points];
  for (T &each : none)
    each = T(0.0);
  const double radius = share_radius(m.contact_solids[pair.first], m.contact_solids[pair.second]);
  const ContactLaw<T> law(pair, radius, numbers, motion);
  const ContactForces<T> sum =
      law.evaluate(points, count, e.states ? z : none, e.states ? outputs + e.measures : unused, bearing);
  outputs[0] = sum.force.x, outputs[1] = sum.force.y, outputs[2] = sum.force.z;
  outputs[3] = sum.moment.x, outputs[4] = sum.moment.y, outputs[5] = sum.moment.z;
  outputs[e.measures + e.states] = sum.energy;
  return sum.energy_rate;
}

template <class T>
inline ContactMotion<T> contact_motion(const Workspace<T> &ws, const PortData &port, const Measured<T> &now) {
  return {{relative_axes(ws, port, now), {now.s[0], now.s[1], now.s[2]}},
          {now.rate[3], now.rate[4], now.rate[5]},
          {now.rate[0], now.rate[1], now.rate[2]}};
}

// Evaluates the element: its measure, forces, rates of states and energy; false, with all of these zero but for the
// measure, where it is idle in every lane. gap: where that of each lane is left, or a lower bound of it; may be null.
template <class T> inline bool evaluate_contact(const ModelData &m, Workspace<T> &ws, const EvaluationContext<T> &at,
                                                const ElementData &e, const T *q, const T *v, Measured<T> &measured,
                                                T *outputs, T *gap) {
  using contact_element::number_of;
  const PortData &port = m.ports[e.port];
  const ContactPairData &pair = m.contact_pairs[e.law];
  constexpr int lanes = std::is_same_v<T, Pack> ? W : 1;
  double away[lanes];
  bool idle = true;
  for (int lane = 0; lane < lanes; ++lane) {
    away[lane] = ball_gap(ws, port, pair, lane);
    idle &= away[lane] > 0.0;
  }
  if constexpr (lanes > 1) {
    for (int lane = 0; gap && lane < lanes; ++lane)
      gap->set(lane, away[lane]);
  } else if (gap) {
    *gap = T(away[0]);
  }
  if (idle)
    return false;
  const ContactNumbers<T> numbers = contact_numbers(at, e);
  measure(m, ws, port, q, v, measured, false);
  const ContactMotion<T> motion = contact_motion(ws, port, measured);
  bool acts = false;
  const auto separated = [&](double found, int lane) { // no points: the balls overlap, the solids do not
    if (found < 0.0 || !gap)
      return found;
    double pose[12];
    contact_element::write_pose(number_of(motion.X.R, lane), number_of(motion.X.p, lane), pose);
    return pair_distance(m.contact_solids[pair.first], m.contact_solids[pair.second], pose);
  };
  int count;
  if constexpr (lanes == 1) {
    BearingPoint<T> bearing[max_pair_points];
    double found = 1.0;
    for (int k = 0; k < e.measures + e.states + 1; ++k)
      outputs[k] = T(0.0);
    if (number_of(numbers.stiffness, 0) != 0.0) {
      contact_forces(m, e, numbers, motion, at.x + e.state, outputs, bearing, count, found);
      acts = count > 0;
    }
    if (gap)
      *gap = T(separated(found, 0));
  } else {
    BearingPoint<double> bearing[max_pair_points];
    double z[3 * max_pair_points], one[7 + 3 * max_pair_points];
    for (int k = 0; k < e.measures + e.states + 1; ++k)
      outputs[k] = T(0.0);
    for (int lane = 0; lane < lanes; ++lane) {
      double found = 1.0;
      if (!(away[lane] <= 0.0))
        continue;
      const ContactNumbers<double> own{numbers.stiffness[lane], numbers.exponent[lane], numbers.dissipation[lane],
                                       numbers.friction[lane], numbers.static_friction[lane]};
      const ContactMotion<double> its{{number_of(motion.X.R, lane), number_of(motion.X.p, lane)},
                                      number_of(motion.w, lane),
                                      number_of(motion.v, lane)};
      for (int k = 0; k < e.states; ++k)
        z[k] = at.x[e.state + k][lane];
      if (own.stiffness != 0.0) {
        contact_forces(m, e, own, its, z, one, bearing, count, found);
        acts |= count > 0;
        for (int k = 0; count && k < e.measures + e.states + 1; ++k)
          outputs[k].set(lane, one[k]);
      }
      if (gap)
        gap->set(lane, separated(found, lane));
    }
  }
  return acts;
}

// ---- for the monitor of switching functions

// what is watched of a pair: origin and axes of B in A
template <class T>
inline void contact_pose(const ModelData &m, Workspace<T> &ws, const PortData &port, const T *q, const T *v, T *y) {
  Measured<T> now;
  measure(m, ws, port, q, v, now, false);
  const Mat3<T> R = relative_axes(ws, port, now);
  const T pose[12] = {now.s[0], now.s[1], now.s[2], R.xx, R.xy, R.xz, R.yx, R.yy, R.yz, R.zx, R.zy, R.zz};
  std::copy_n(pose, 12, y);
}

// ball_gap from what is watched
inline double watched_ball_gap(const ContactPairData &pair, const double *y) {
  const Vec3<double> c = as_vec(y) + mul(as_mat(y + 3), as_vec(pair.own_b));
  if (pair.planar)
    return c.z - pair.reach_b;
  const Vec3<double> apart = c - as_vec(pair.own_a);
  return std::sqrt(dot(apart, apart)) - (pair.reach_a + pair.reach_b);
}

// Signed distance of both solids from what is watched; where their balls are apart, that of the balls.
inline double watched_gap(const ModelData &m, const ElementData &e, const double *y) {
  const ContactPairData &pair = m.contact_pairs[e.law];
  const double away = watched_ball_gap(pair, y);
  if (away > 0.0)
    return away;
  double pose[12];
  contact_element::write_pose(as_mat(y + 3), as_vec(y), pose);
  return pair_distance(m.contact_solids[pair.first], m.contact_solids[pair.second], pose);
}

// Bounds of it while what is watched stays within bounds: a solid that moves by less than `moved` in all its points
// changes a distance by no more; over a half space only heights count, and a ball does not turn.
inline Interval watched_gap(const ModelData &m, const ElementData &e, const Interval *y) {
  const ContactPairData &pair = m.contact_pairs[e.law];
  double middle[12], place = 0.0, turn = 0.0;
  for (int k = 0; k < 12; ++k) {
    const double half = 0.5 * (y[k].high - y[k].low);
    middle[k] = 0.5 * (y[k].high + y[k].low);
    if (!pair.planar || k == 2 || k >= 9)
      (k < 3 ? place : turn) += half * half;
  }
  const double moved = std::sqrt(place) + 1.5 * std::sqrt(turn) * pair.extent_b;
  if (const double away = watched_ball_gap(pair, middle) - moved; away > 0.0 || !std::isfinite(moved))
    return std::isfinite(moved) ? Interval(away, away + 2.0 * moved) : Interval::line();
  // axes at right angles to each other again
  Vec3<double> x{middle[3], middle[6], middle[9]}, z{middle[5], middle[8], middle[11]};
  z = feature_pairs::unit(z);
  x = feature_pairs::unit(feature_pairs::without(x, z));
  const Vec3<double> other = cross(z, x);
  const double axes[9] = {x.x, other.x, z.x, x.y, other.y, z.y, x.z, other.z, z.z};
  std::copy_n(axes, 9, middle + 3);
  const double gap = watched_gap(m, e, middle);
  return {gap - moved, gap + moved};
}

// Whether a pair keeps apart in a step of length h: it would have to come closer by both gaps at its ends. A quarter is
// left for what its velocity at the ends does not show.
inline bool keeps_apart(const ModelData &m, const ElementData &e, const double *begin, const double *begin_rate,
                        const double *end, const double *end_rate, double h) {
  const ContactPairData &pair = m.contact_pairs[e.law];
  const double before = watched_ball_gap(pair, begin), after = watched_ball_gap(pair, end);
  if (!(before > 0.0) || !(after > 0.0))
    return false;
  const auto speed = [](const double *rate) {
    return std::sqrt(rate[0] * rate[0] + rate[1] * rate[1] + rate[2] * rate[2]);
  };
  return before + after > 1.25 * std::fabs(h) * std::max(speed(begin_rate), speed(end_rate));
}

} // namespace dalembert::DALEMBERT_ISA
