// Compliant contact of two convex solids: force, friction of bristles, stored energy.
//
// In axes of the first solid A, with the unit normal n from A to the second solid B, the depth d = -gap of a point and
// the velocity u of B against A half way between both surfaces, the force on B along n is (Hunt and Crossley 1975)
//
//     N = k d^n (1 + a d')+ ,     d' = -n . u                                                                       (1)
//
// It stores k d^(n + 1) / (n + 1). With x = a v, a pair that meets at the velocity v separates at e v, whatever mass,
// k and n are: x (1 + e) = ln((1 + x) / (1 - e x)). Friction is the force of a bristle of deflection z along the
// tangential velocity u_t, elastic below 0.9 of the limit, plastic at it (Dupont, Hayward, Armstrong, Altpeter 2002):
//
//     z' = u_t - w(r) (u_t . z / |z|)+ z / |z|,     r = k_t |z| / (mu N)                                            (2)
//     w = 0 for r < 0.9,  1 for r > 1.1,  half a sine between                                                       (3)
//     F = -(k_t z min(1, 1 / r) + 0.6 (1 - w) sqrt(k_t m) z'),  at most mu N                                        (4)
//
// So nothing creeps below the limit, and F = -mu N u_t / |u_t| in steady sliding in any direction, exactly after a slip
// of some |z|. Against Dupont et al. the flow is along z, so that the force turns into the direction of sliding; w
// extends beyond the limit and the damping ends there, so that sliding under a load that varies is not stiff. The
// bristle stores the work of its elastic force with the limit L = mu_s k d^n: k_t |z|^2 / 2, beyond the limit
// L (|z| - L / (2 k_t)). It is carried with the normal: + (n x n') x z. Static friction,
// mu = mu_k + (mu_s - mu_k) / (1 + |u_t|^2 / v_s^2), v_s = 1 cm/s.                                                   (5)
// As a contact opens, a bristle beyond its elastic limit L shrinks with it, so that it has no energy left in the end;
// its length follows L / k_t, where y = 1/2, with a rate that stays bounded while L vanishes:
//
//     z' += 2 y(k_t |z| / L) (L')- z / (k_t |z|),     y = 0 below 1, 1 above 1.2                                    (6)
//
// Points of one bristle (contact/pair_points.hpp) share it in proportion to their normal forces. Points that are close
// to each other share the stiffness (contact/shared_points.hpp): k of a point, and k_t of its bristle, is that part of
// it, and the load that comes with the change of shares acts beside (1).
#pragma once

#include "contact/shared_points.hpp"
#include "model/element_data.hpp"

namespace dalembert::DALEMBERT_ISA {

namespace contact_law {

constexpr double elastic_part = 0.9, plastic_from = 1.1; // of the limit: a bristle is elastic below, plastic above
constexpr double bounded_from = 1.0, bounded_to = 1.2;   // of its elastic limit, where (6) sets in
constexpr double damping_ratio = 0.3;                    // of the bristle on the reduced mass
constexpr double least_deflection = 1e-9; // m: limits of smaller bristles are widened, so that slopes stay bounded
constexpr double static_speed = 1e-2;     // v_s of (5), m/s
constexpr double nothing = 1e-300;

// length of a vector, and its direction; both zero of a zero vector
template <class T> struct Direction {
  T length;
  Vec3<T> unit;
  explicit Direction(const Vec3<T> &a) {
    const T square = dot(a, a);
    const bool none = less(square, T(nothing));
    length = none ? T(0.0) : root(square);
    unit = none ? zero3<T>() : scale(1.0 / length, a);
  }
};

// half a sine from 0 to 1
template <class T> T rising_part(const T &r, double from, double to) {
  if (!less(T(from), r))
    return T(0.0);
  if (!less(r, T(to)))
    return T(1.0);
  T s, c;
  sincos(M_PI * (r - 0.5 * (to + from)) / (to - from), s, c);
  return 0.5 * s + 0.5;
}

} // namespace contact_law

// Numbers of the law, for one evaluation.
template <class T> struct ContactNumbers {
  T stiffness, exponent, dissipation, friction, static_friction;
};

// One point that bears.
template <class T> struct BearingPoint {
  Vec3<T> x, normal, velocity; // half way between both surfaces; from A to B; tangential, of B against A
  T gap, push, elastic;        // N and its part k d^n
  T share;                     // part of the stiffness of a point
  T elastic_rate, whole_rate;  // of k d^n, of that of a whole point
  T stored;                    // k d^(n + 1) / (n + 1)
  Vec3<T> force;               // on B
  T friction;                  // its part by friction, N
  int slot;
  bool sticks; // its bristle is within the limit
};

template <class T> struct ContactForces {
  Vec3<T> force, moment; // on B at its origin, axes of A
  T energy, energy_rate;
};

// rate of the normal in axes of A
template <class T> Vec3<T> normal_rate(const PairPoint &point, const ContactMotion<T> &motion) {
  const Vec3<Along<T>> n = moving_point(point, motion.X, motion.w, motion.v).normal;
  return {n.x.rate, n.y.rate, n.z.rate};
}

// Bristle of one slot: points [begin, end) of `points` with that slot, whose forces it adds.
template <class T> class ContactLaw {
public:
  // share_radius: distance below which points share the stiffness, m
  ContactLaw(const ContactPairData &pair, double share_radius, const ContactNumbers<T> &numbers,
             const ContactMotion<T> &motion)
      : pair(pair), share_radius(share_radius), k(pair.factor * numbers.stiffness), numbers(numbers), motion(motion) {}

  // Evaluates the law at overlapping points; z: deflections, dz: their rates (pair.slots times 2 on a half space, 3
  // elsewhere); bearing: space for max_pair_points.
  ContactForces<T> evaluate(const PairPoint *found, int count, const T *z, T *dz, BearingPoint<T> *bearing) const {
    ContactForces<T> sum{zero3<T>(), zero3<T>(), T(0.0), T(0.0)};
    for (int i = 0; i < count; ++i)
      bearing[i] = normal_force(found[i]);
    if (count > 1)
      share(found, count, bearing, sum);
    for (int i = 0; i < count; ++i) {
      sum.energy = sum.energy + bearing[i].stored;
      sum.energy_rate = sum.energy_rate - bearing[i].elastic * opening(bearing[i]);
    }
    const int width = pair.planar ? 2 : 3;
    for (int slot = 0; slot < pair.slots; ++slot)
      friction(slot, found, count, z + width * slot, dz + width * slot, bearing, sum);
    for (int i = 0; i < count; ++i) {
      sum.force += bearing[i].force;
      sum.moment += cross(bearing[i].x - motion.X.p, bearing[i].force);
    }
    return sum;
  }

private:
  const ContactPairData &pair;
  const double share_radius;
  const T k;
  const ContactNumbers<T> &numbers;
  const ContactMotion<T> &motion;

  T opening(const BearingPoint<T> &b) const {
    return dot(b.normal, motion.v + cross(motion.w, b.x - motion.X.p));
  }

  // (1)
  BearingPoint<T> normal_force(const PairPoint &point) const {
    static constexpr Mat3<double> axes{1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
    const Pose<T> still{lift<T>(axes), zero3<T>()};
    const FeatureContact<T> c = feature_contact<T>(std::bit_cast<Feature>(point.first), still,
                                                   std::bit_cast<Feature>(point.second), motion.X, point.start);
    BearingPoint<T> b;
    b.x = scale(0.5, c.first + c.second), b.normal = c.normal, b.gap = c.gap, b.slot = point.slot, b.sticks = false;
    const Vec3<T> u = motion.v + cross(motion.w, b.x - motion.X.p);
    const T along = dot(b.normal, u), depth = larger(T(0.0), -c.gap);
    b.velocity = u - scale(along, b.normal);
    b.elastic = k * power(depth, numbers.exponent);
    b.push = b.elastic * larger(T(0.0), 1.0 - numbers.dissipation * along);
    b.force = scale(b.push, b.normal);
    b.stored = b.elastic * depth / (numbers.exponent + 1.0);
    b.elastic_rate = b.whole_rate = -(numbers.exponent * b.elastic / larger(T(contact_law::nothing), -c.gap) * along);
    b.share = T(1.0), b.friction = T(0.0);
    return b;
  }

  // Gives points that are close to each other their shares; the load of their change acts at these points, as to its
  // force, and at the origin.
  void share(const PairPoint *found, int count, BearingPoint<T> *bearing, ContactForces<T> &sum) const {
    WholePoints<T> points;
    for (int i = 0; i < count; ++i) {
      points.x[i] = bearing[i].x, points.stored[i] = bearing[i].stored;
      points.depth[i] = larger(T(0.0), -bearing[i].gap);
    }
    SharedPoints<T> shared;
    PointShares<T> shares(share_radius, found, count, points, motion);
    if (!shares.evaluate(shared))
      return;
    T whole(0.0);
    for (int i = 0; i < count; ++i) {
      BearingPoint<T> &b = bearing[i];
      const T &w = shared.share[i];
      b.share = w, b.push = w * b.push, b.force = scale(w, b.force);
      b.elastic_rate = w * b.elastic_rate + shared.rate[i] * b.elastic;
      b.elastic = w * b.elastic;
      sum.energy_rate = sum.energy_rate + shared.rate[i] * b.stored;
      b.stored = w * b.stored;
      whole = whole + b.elastic;
    }
    sum.moment += shared.moment;
    for (int i = 0; i < count && less(T(contact_law::nothing), whole); ++i) {
      const Vec3<T> part = scale(bearing[i].elastic / whole, shared.force);
      bearing[i].force += part;
      sum.moment = sum.moment - cross(bearing[i].x - motion.X.p, part);
    }
  }

  void friction(int slot, const PairPoint *found, int count, const T *z, T *dz, BearingPoint<T> *bearing,
                ContactForces<T> &sum) const {
    using namespace contact_law;
    for (int j = 0; j < (pair.planar ? 2 : 3); ++j)
      dz[j] = T(0.0);
    T push(0.0), elastic(0.0), elastic_rate(0.0), unshared(0.0), unshared_rate(0.0);
    Vec3<T> weighted = zero3<T>();
    int first = -1;
    for (int i = 0; i < count; ++i) {
      if (bearing[i].slot != slot)
        continue;
      first = first < 0 ? i : first;
      push = push + bearing[i].push, elastic = elastic + bearing[i].elastic;
      elastic_rate = elastic_rate + bearing[i].elastic_rate;
      unshared = unshared + bearing[i].elastic / bearing[i].share;
      unshared_rate = unshared_rate + bearing[i].whole_rate;
      weighted += scale(bearing[i].push, bearing[i].velocity);
    }
    if (first < 0 || !less(T(0.0), numbers.static_friction) || !less(T(nothing), elastic))
      return;
    const Vec3<T> &n = bearing[first].normal;
    const Vec3<T> given = pair.planar ? Vec3<T>{z[0], z[1], T(0.0)} : Vec3<T>{z[0], z[1], z[2]};
    const Direction<T> bristle(given - scale(dot(given, n), n));
    const T part = elastic / unshared, part_rate = (elastic_rate - part * unshared_rate) / unshared;
    const T tangential = pair.tangential * k * part, tangential_rate = pair.tangential * k * part_rate;
    const T load = tangential * bristle.length;
    const T bound = numbers.static_friction * elastic, least = least_deflection * tangential;
    const T bound_rate = numbers.static_friction * elastic_rate;
    const T deflection_rate = (bound_rate - bound / tangential * tangential_rate) / tangential; // of the bound
    const T bound_energy = bound_growth(bound, bound_rate, tangential, tangential_rate, load);
    T shrinking(0.0); // (6)
    if (less(deflection_rate, T(0.0)))
      shrinking = 2.0 * rising_part(load / (bound + least), bounded_from, bounded_to) * deflection_rate;
    const Vec3<T> shrunk = scale(shrinking, bristle.unit);
    dz[0] = shrunk.x, dz[1] = shrunk.y;
    if (!pair.planar)
      dz[2] = shrunk.z;
    if (!less(T(nothing), push)) // it separates faster than its damping admits
      return store(bound, tangential, load, bound_energy, shrinking, sum);
    const Vec3<T> u = scale(1.0 / push, weighted);
    const T slip = dot(u, u) * (1.0 / (static_speed * static_speed));
    const T mu = numbers.friction + (numbers.static_friction - numbers.friction) / (1.0 + slip); // (5)
    const T limit = mu * push;
    const T r = load / (limit + least), plastic = rising_part(r, elastic_part, plastic_from),
            outward = larger(T(0.0), dot(u, bristle.unit));
    const Vec3<T> rate = u - scale(plastic * outward, bristle.unit); // (2)
    Vec3<T> carried = rate;
    if (!pair.planar) {
      const Vec3<T> turn = normal_rate(found[first], motion);
      const Vec3<T> held = scale(bristle.length, bristle.unit);
      carried = carried + cross(cross(n, turn), held) - scale(dot(given, n) / relaxation, n);
    }
    dz[0] = dz[0] + carried.x, dz[1] = dz[1] + carried.y;
    if (!pair.planar)
      dz[2] = dz[2] + carried.z;
    // (4)
    const T damping = 2.0 * damping_ratio * (1.0 - plastic) * root(tangential * pair.mass);
    const T held = less(r, T(1.0)) ? r * limit : limit;
    Vec3<T> force = -(scale(held, bristle.unit) + scale(damping, rate));
    const Direction<T> whole(force);
    if (less(limit, whole.length))
      force = scale(limit, whole.unit);
    for (int i = 0; i < count; ++i)
      if (bearing[i].slot == slot) {
        bearing[i].force += scale(bearing[i].push / push, force);
        bearing[i].friction = bearing[i].push / push * root(dot(force, force));
        bearing[i].sticks = less(r, T(1.0));
      }
    store(bound, tangential, load, bound_energy, dot(bristle.unit, rate) + shrinking, sum);
  }

  // energy of a bristle whose elastic force is at most `bound`, and its rate; growth: rate of its length, bound_energy:
  // the rest of the rate
  void store(const T &bound, const T &tangential, const T &load, const T &bound_energy, const T &growth,
             ContactForces<T> &sum) const {
    const bool elastic = less(load, bound);
    sum.energy = sum.energy + (elastic ? 0.5 * (load * load) / tangential : bound * (load - 0.5 * bound) / tangential);
    sum.energy_rate = sum.energy_rate + (elastic ? load : bound) * growth + bound_energy;
  }

  // rate of the energy of a bristle of constant length
  static T bound_growth(const T &bound, const T &bound_rate, const T &tangential, const T &tangential_rate,
                        const T &load) {
    if (less(load, bound)) {
      const T length = load / tangential;
      return 0.5 * tangential_rate * (length * length);
    }
    const T length = bound / tangential;
    return bound_rate * (load - bound) / tangential + 0.5 * tangential_rate * (length * length);
  }

  static constexpr double relaxation = 1e-2; // s, of rounding errors of z along the normal
};

} // namespace dalembert::DALEMBERT_ISA
