// Shares of contact points of a pair of solids, for compliant contact: nothing jumps where points come and go.
//
// Where a corner passes an edge, one point becomes two at the same place, and two become one; where edges become
// parallel, their crossing runs along them and vanishes. Points i at x_i with depths d_i have the shares
//
//     w_i = b_i / (max(1, b_i + sum_j b_j f(|x_i - x_j|^2 / r^2) g(d_j / d_i)) min(1, b_i + sum_j b_j g(d_j / d_i)))  (1)
//     f(y) = (1 - y)^3 for y < 1, else 0,     g(s) = s^2 (3 - 2 s) for s < 1, else 1
//
// of the stiffness, the sums over j other than i. b is g(sin^2 / 0.15^2) of the angle between two edges, 1 for all other
// points. So two points at one place have a half each, and points that are farther away than r all of it; crossings of
// nearly parallel edges have none, unless they are alone; a point without depth takes nothing. With the energies e_i of
// whole points the pair stores sum w_i e_i, and its elastic force is the derivative of that by the relative pose, so that
// nothing is gained by going around. Beside the shares of the normal forces that leaves the load
//
//     -sum_i e_i dw_i / d(pose),                                                                                    (2)
//
// smaller than they are by d / r.
#pragma once

#include "contact/pair_points.hpp"
#include "geometry/feature_pairs.hpp"
#include "scalar/along.hpp"
#include "tree/workspace.hpp"
#include <bit>

namespace dalembert::DALEMBERT_ISA {

// A relative state of B in A, axes of A.
template <class T> struct ContactMotion {
  Pose<T> X;
  Vec3<T> w, v; // angular velocity, velocity of the origin
};

template <class A, class T> Pose<A> moving_pose(const Pose<T> &X, const Vec3<T> &w, const Vec3<T> &v) {
  const Mat3<T> &R = X.R;
  const auto turned = [&](const T &x, const T &y, const T &z) { return cross(w, Vec3<T>{x, y, z}); };
  const Vec3<T> a = turned(R.xx, R.yx, R.zx), b = turned(R.xy, R.yy, R.zy), c = turned(R.xz, R.yz, R.zz);
  return {{A(R.xx, a.x), A(R.xy, b.x), A(R.xz, c.x), A(R.yx, a.y), A(R.yy, b.y), A(R.yz, c.y), A(R.zx, a.z),
           A(R.zy, b.z), A(R.zz, c.z)},
          {A(X.p.x, v.x), A(X.p.y, v.y), A(X.p.z, v.z)}};
}

// a point along a motion of B, A at rest
template <class T>
FeatureContact<Along<T>> moving_point(const PairPoint &point, const Pose<T> &X, const Vec3<T> &w, const Vec3<T> &v) {
  using A = Along<T>;
  const Pose<A> still{lift<A>(Mat3<double>{1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}), zero3<A>()};
  return feature_contact<A>(std::bit_cast<Feature>(point.first), still, std::bit_cast<Feature>(point.second),
                            moving_pose<A>(X, w, v), point.start);
}

// Points of a pair: positions, m, depths, m, and energies, J, as if each had the whole stiffness.
template <class T> struct WholePoints {
  Vec3<T> x[max_pair_points];
  T depth[max_pair_points], stored[max_pair_points];
};

template <class T> struct SharedPoints {
  T share[max_pair_points], rate[max_pair_points]; // (1), and its rate
  Vec3<T> force, moment;                           // (2) on B, at its origin
};

template <class T> class PointShares {
public:
  // radius: r of (1), m
  PointShares(double radius, const PairPoint *found, int count, const WholePoints<T> &points,
              const ContactMotion<T> &motion)
      : per_area(1.0 / (radius * radius)), found(found), count(count), points(points), motion(motion) {
    for (int i = 0; i < count; ++i)
      b[i] = crossing_share(found[i], nullptr);
  }

  // false: all points have the whole stiffness, and nothing is written
  bool evaluate(SharedPoints<T> &out) {
    if (!any_shares())
      return false;
    for (int i = 0; i < count; ++i) {
      const Sums sum = sums(i);
      out.share[i] = b[i] / (sum.near * sum.all), out.rate[i] = T(0.0);
    }
    T load[6];
    const T twist[6] = {motion.w.x, motion.w.y, motion.w.z, motion.v.x, motion.v.y, motion.v.z};
    for (int k = 0; k < 6; ++k) {
      move(k);
      load[k] = T(0.0);
      for (int i = 0; i < count; ++i) {
        const Sums sum = sums(i), slope = slopes(i, sum);
        const T change = db[i] / (sum.near * sum.all) - out.share[i] * (slope.near / sum.near + slope.all / sum.all);
        load[k] = load[k] - points.stored[i] * change;
        out.rate[i] = out.rate[i] + change * twist[k];
      }
    }
    out.moment = {load[0], load[1], load[2]}, out.force = {load[3], load[4], load[5]};
    return true;
  }

private:
  static constexpr double nothing = 1e-300, least_share = 1e-9; // of b
  static constexpr double crossing = 0.15 * 0.15;               // squared sine: edges at smaller angles fade
  struct Sums {
    T near, all; // the factors of the denominator of (1), or their slopes
  };

  const double per_area;
  const PairPoint *found;
  const int count;
  const WholePoints<T> &points;
  const ContactMotion<T> &motion;
  T b[max_pair_points], db[max_pair_points], dd[max_pair_points]; // slopes along a motion
  Vec3<T> dx[max_pair_points];

  static T rising(const T &s) { return s * s * (3.0 - 2.0 * s); }
  static T rising_slope(const T &s) { return 6.0 * (s * (1.0 - s)); }

  // b of a point; turn: angular velocity of B, for its slope
  T crossing_share(const PairPoint &point, const Vec3<T> *turn) const {
    const Feature first = std::bit_cast<Feature>(point.first), second = std::bit_cast<Feature>(point.second);
    if (first.kind != FeatureKind::line || second.kind != FeatureKind::line)
      return T(turn ? 0.0 : 1.0);
    const Vec3<T> d = lift<T>(first.d), g = mul(motion.X.R, lift<T>(second.d));
    const T cosine = dot(d, g), s = (1.0 / crossing) * (1.0 - cosine * cosine);
    if (!less(s, T(1.0)))
      return T(turn ? 0.0 : 1.0);
    if (!turn)
      return least_share + (1.0 - least_share) * rising(s);
    return (1.0 - least_share) * rising_slope(s) * ((-2.0 / crossing) * (cosine * dot(d, cross(*turn, g))));
  }

  bool any_shares() const {
    for (int i = 0; i < count; ++i) {
      if (less(b[i], T(1.0)))
        return true;
      for (int j = i + 1; j < count; ++j)
        if (less(closeness(i, j), T(1.0)))
          return true;
    }
    return false;
  }
  T closeness(int i, int j) const {
    const Vec3<T> apart = points.x[i] - points.x[j];
    return per_area * dot(apart, apart);
  }
  T deepness(int i, int j) const { return points.depth[j] / larger(T(nothing), points.depth[i]); }

  Sums sums(int i) const {
    Sums sum{b[i], b[i]};
    for (int j = 0; j < count; ++j) {
      if (j == i)
        continue;
      const T y = closeness(i, j), s = deepness(i, j), part = less(s, T(1.0)) ? b[j] * rising(s) : b[j];
      sum.all = sum.all + part;
      if (less(y, T(1.0)))
        sum.near = sum.near + (1.0 - y) * (1.0 - y) * (1.0 - y) * part;
    }
    return {larger(T(1.0), sum.near), less(sum.all, T(1.0)) ? sum.all : T(1.0)};
  }

  // slopes of the same along the motion of the last `move`
  Sums slopes(int i, const Sums &sum) const {
    Sums slope{db[i], db[i]};
    for (int j = 0; j < count; ++j) {
      if (j == i)
        continue;
      const T y = closeness(i, j), s = deepness(i, j);
      T part = b[j], change = db[j];
      if (less(s, T(1.0))) {
        part = b[j] * rising(s);
        change = db[j] * rising(s) +
                 b[j] * rising_slope(s) * ((dd[j] - s * dd[i]) / larger(T(nothing), points.depth[i]));
      }
      slope.all = slope.all + change;
      if (!less(y, T(1.0)))
        continue;
      const T rest = 1.0 - y, dy = (2.0 * per_area) * dot(points.x[i] - points.x[j], dx[i] - dx[j]);
      slope.near = slope.near + rest * rest * (rest * change - 3.0 * (dy * part));
    }
    return {less(T(1.0), sum.near) ? slope.near : T(0.0), less(sum.all, T(1.0)) ? slope.all : T(0.0)};
  }

  // slopes along motion k of B: angular velocities about three axes, then velocities
  void move(int k) {
    const Vec3<T> unit{T(k % 3 == 0 ? 1.0 : 0.0), T(k % 3 == 1 ? 1.0 : 0.0), T(k % 3 == 2 ? 1.0 : 0.0)};
    const Vec3<T> turn = k < 3 ? unit : zero3<T>(), shift = k < 3 ? zero3<T>() : unit;
    for (int i = 0; i < count; ++i) {
      const FeatureContact<Along<T>> c = moving_point(found[i], motion.X, turn, shift);
      dx[i] = scale(0.5, Vec3<T>{c.first.x.rate + c.second.x.rate, c.first.y.rate + c.second.y.rate,
                                 c.first.z.rate + c.second.z.rate});
      dd[i] = -c.gap.rate;
      db[i] = crossing_share(found[i], &turn);
    }
  }
};

} // namespace dalembert::DALEMBERT_ISA
