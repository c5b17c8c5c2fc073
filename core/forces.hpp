// Force elements: what springs, dampers, loads and limits do to bodies and hinge coordinates.
//
//     spring      f = -(k (l - l0) + c l') e on B along e = (p_B - p_A) / l, the opposite on A               (1)
//     hinge       tau = -k (q - rest) - c v                                                                  (2)
//     limits      tau = max(0, k (lower - q) - c v) below, min(0, k (upper - q) - c v) above                 (3)
//     turn        moment -k (angle - rest) - c rate about the z axis of A on B, the opposite on A; slide likewise     (2')
//     load        [moment; force] on B by six laws of time, in world axes or in those of B                   (4)
//
// Every element knows its energy: springs store, dampers dissipate, laws of time bring work from outside.
#pragma once

#include "kinematics.hpp"
#include "laws.hpp"

namespace dalembert::DALEMBERT_ISA {

// what an evaluation needs besides the state; read only
template <class T> struct Surroundings {
  T t;
  const double *parameters; // of the force elements
  const double *hosted;     // see law_at
  std::ptrdiff_t apart = 0; // of packs: numbers between the parameters of one lane and the next; 0: all have the same
  const T *x = nullptr;     // states of elements
  T *dx = nullptr;          // their rates, where they are wanted
  T *values = nullptr;      // room for programs
  double *numbers = nullptr; // the same for numbers
  const Functions *functions = nullptr;
  T *signals = nullptr;     // of elements
  const double *feedback = nullptr; // loads that connections transmit
};

// parameter k; in a pack, that of each lane
template <class T> DALEMBERT_INLINE T parameter(const Surroundings<T> &at, int k) {
  if constexpr (requires { at.t[0]; }) {
    T value;
    for (int lane = 0; lane < T::lanes; ++lane)
      value.set(lane, at.parameters[lane * at.apart + k]);
    return value;
  } else {
    return T(at.parameters[k]);
  }
}

// a law at the time of each lane
template <class T> DALEMBERT_INLINE T law_value(const ModelData &m, int number, const Surroundings<T> &at) {
  if constexpr (requires { at.t[0]; }) {
    T value;
    for (int lane = 0; lane < T::lanes; ++lane)
      value.set(lane, law_at(m, number, at.t[lane], at.hosted).value);
    return value;
  } else if constexpr (requires { at.t.value; }) {
    return T(law_at(m, number, at.t.value, at.hosted).value);
  } else {
    return law_at(m, number, at.t, at.hosted).value;
  }
}

// (1): tension along the line from A to B, what it stores, and what it dissipates
template <class T> struct Spring {
  Vec3<T> direction;
  T tension, energy, loss;
};
template <class T> DALEMBERT_INLINE Spring<T> spring(const Surroundings<T> &at, int first, const Vec3<T> &r, const Vec3<T> &rate) {
  const T k = parameter(at, first), c = parameter(at, first + 1), rest = parameter(at, first + 2);
  const T square = dot(r, r);
  const auto gone = less(square, T(1e-300)); // no direction: no force
  const T length = root(select(gone, T(1.0), square));
  const Vec3<T> e = scale(select(gone, T(0.0), 1.0 / length), r);
  const T stretch = length - rest, speed = dot(e, rate);
  return {e, k * stretch + c * speed, 0.5 * (k * stretch * stretch), c * speed * speed};
}

template <class T> DALEMBERT_INLINE Vec3<T> point_in_world(const Workspace<T> &ws, int body, const Vec3<T> &p) {
  return ws.X_W[body].p + mul(ws.X_W[body].R, p);
}
template <class T> DALEMBERT_INLINE Vec3<T> point_velocity(const Workspace<T> &ws, int body, const Vec3<T> &p) {
  return mul(ws.X_W[body].R, ws.u[body] + cross(ws.w[body], p));
}

// (2'): place of B along, or angle about, the z axis of A, its rate, and the axis in the world
template <class T> struct AxisMotion {
  T place, rate;
  Vec3<T> axis, offset; // offset: from A to B
};
template <class T> inline AxisMotion<T> axis_motion(const Workspace<T> &ws, const ForceData &force) {
  const Mat3<T> R_A = mul(ws.X_W[force.body_a].R, lift<T>(as_mat(force.R_FA)));
  const Vec3<T> axis{R_A.xz, R_A.yz, R_A.zz};
  const Vec3<T> p_A = lift<T>(as_vec(force.p_FA)), p_B = lift<T>(as_vec(force.p_FB));
  const Vec3<T> w_A = mul(ws.X_W[force.body_a].R, ws.w[force.body_a]);
  const Vec3<T> r = point_in_world(ws, force.body_b, p_B) - point_in_world(ws, force.body_a, p_A);
  if (force.kind == Force::turn) {
    const Mat3<T> R = mul_ta(R_A, mul(ws.X_W[force.body_b].R, lift<T>(as_mat(force.R_FB))));
    return {arctan2(R.yx - R.xy, R.xx + R.yy), dot(axis, mul(ws.X_W[force.body_b].R, ws.w[force.body_b]) - w_A), axis, r};
  }
  const Vec3<T> u = point_velocity(ws, force.body_b, p_B) - point_velocity(ws, force.body_a, p_A) - cross(w_A, r);
  return {dot(axis, r), dot(axis, u), axis, r};
}

// (3)
template <class T> struct Limit {
  T force, energy, loss;
};
template <class T> DALEMBERT_INLINE Limit<T> limit(const Surroundings<T> &at, int first, const T &q, const T &v) {
  const T lower = parameter(at, first), upper = parameter(at, first + 1), k = parameter(at, first + 2), c = parameter(at, first + 3);
  const T zero(0.0);
  const auto below = less(q, lower), above = less(upper, q);
  const T depth = select(below, lower - q, select(above, upper - q, zero));
  const T inside = select(below, c, select(above, c, zero));
  const T elastic = k * depth, whole = elastic - inside * v;
  const T push = select(below, select(less(whole, zero), zero, whole), select(above, select(less(zero, whole), zero, whole), zero));
  return {push, 0.5 * (elastic * depth), (elastic - push) * v};
}

// elements at coordinates: added to tau
template <class T>
inline void add_coordinate_forces(const ModelData &m, const Surroundings<T> &at, const T *q, const T *v, T *tau) {
  for (int k = 0; k < m.force_count; ++k) {
    const ForceData &force = m.forces[k];
    if (force.kind == Force::hinge) {
      T sum = parameter(at, force.parameter + 1) * v[force.freedom];
      if (force.coordinate >= 0)
        sum = sum + parameter(at, force.parameter) * (q[force.coordinate] - parameter(at, force.parameter + 2));
      tau[force.freedom] = tau[force.freedom] - sum;
    } else if (force.kind == Force::effort) {
      tau[force.freedom] = tau[force.freedom] + law_value(m, force.law, at);
    } else if (force.kind == Force::limits) {
      tau[force.freedom] = tau[force.freedom] + limit(at, force.parameter, q[force.coordinate], v[force.freedom]).force;
    }
  }
}

// a load on a body: [moment; force] at the point p of F, in axes of F
template <class T> DALEMBERT_INLINE Load<T> at_origin(const Vec3<T> &p, const Vec3<T> &n, const Vec3<T> &f) {
  return {n + cross(p, f), f};
}

// calls push(body, load in F) for every load of an element between markers; needs world poses and velocities
template <class T, class Push>
inline void body_force(const ModelData &m, const Workspace<T> &ws, const Surroundings<T> &at, const ForceData &force, Push &&push) {
  const Vec3<T> p_A = lift<T>(as_vec(force.p_FA)), p_B = lift<T>(as_vec(force.p_FB));
  const int A = force.body_a, B = force.body_b;
  if (force.kind == Force::spring) {
    const Vec3<T> r = point_in_world(ws, B, p_B) - point_in_world(ws, A, p_A);
    const Vec3<T> rate = point_velocity(ws, B, p_B) - point_velocity(ws, A, p_A);
    const Spring<T> s = spring(at, force.parameter, r, rate);
    const Vec3<T> f = scale(s.tension, s.direction); // on A
    push(A, at_origin(p_A, zero3<T>(), mul_t(ws.X_W[A].R, f)));
    push(B, at_origin(p_B, zero3<T>(), mul_t(ws.X_W[B].R, -f)));
  } else if (force.kind == Force::turn || force.kind == Force::slide) {
    const T k = parameter(at, force.parameter), c = parameter(at, force.parameter + 1), rest = parameter(at, force.parameter + 2);
    const AxisMotion<T> s = axis_motion(ws, force);
    const Vec3<T> push_B = scale(-(k * (s.place - rest) + c * s.rate), s.axis);
    if (force.kind == Force::turn) {
      push(A, Load<T>{mul_t(ws.X_W[A].R, -push_B), zero3<T>()});
      push(B, Load<T>{mul_t(ws.X_W[B].R, push_B), zero3<T>()});
    } else { // both at the origin of B, so that no moment is left over
      push(A, at_origin(p_A + mul_t(ws.X_W[A].R, s.offset), zero3<T>(), mul_t(ws.X_W[A].R, -push_B)));
      push(B, at_origin(p_B, zero3<T>(), mul_t(ws.X_W[B].R, push_B)));
    }
  } else if (force.kind == Force::load_world || force.kind == Force::load_body) {
    T load[6];
    for (int k = 0; k < 6; ++k)
      load[k] = law_value(m, force.law + k, at);
    Vec3<T> n{load[0], load[1], load[2]}, f{load[3], load[4], load[5]};
    if (force.kind == Force::load_world)
      n = mul_t(ws.X_W[B].R, n), f = mul_t(ws.X_W[B].R, f);
    else
      n = mul(as_mat(force.R_FB), n), f = mul(as_mat(force.R_FB), f);
    push(B, at_origin(p_B, n, f));
  }
}

// world poses and velocities of all bodies, after their position() and velocity()
template <class T> inline void place_in_world(const ModelData &m, Workspace<T> &ws, const T *v) {
  for (int i = 1; i <= m.nb; ++i) {
    world_pose(m, ws, i);
    linear_velocity(m, ws, v, i);
  }
}

} // namespace dalembert::DALEMBERT_ISA
