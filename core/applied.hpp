// All that acts on bodies and hinges: force elements, elements with laws of their own, and what they do to energy.
#pragma once

#include "chart.hpp"
#include "elements.hpp"

namespace dalembert::DALEMBERT_ISA {

// Loads for forward_dynamics and inverse_dynamics: those of the elements, and those given as numbers (may be null).
template <class T> struct ElementLoads {
  const Surroundings<T> &at;
  const T *q, *v;
  const T *given;

  void operator()(const ModelData &m, Workspace<T> &ws) const {
    if (given)
      subtract_loads(m, ws, given);
    if (!has_body_forces(m))
      return;
    place_in_world(m, ws, v);
    for (int k = 0; k < m.force_count; ++k)
      body_force(m, ws, at, m.forces[k], [&](int body, const Load<T> &load) {
        ws.p_A[body].n -= load.n;
        ws.p_A[body].f -= load.f;
      });
    subtract_element_loads(m, ws, at, q, v);
  }
};

// efforts of all elements at hinge coordinates, added to tau
template <class T>
inline void add_efforts(const ModelData &m, const Workspace<T> &ws, const Surroundings<T> &at, const T *q, const T *v, T *tau) {
  add_coordinate_forces(m, at, q, v, tau);
  add_element_efforts(m, ws, at, q, v, tau);
}

// potential energy of the elements, power they dissipate, power that laws of time bring
struct ForceEnergy {
  double stored, lost, brought;
};

// rates of what is measured; that of a rotation vector is phi' = w - 1/2 phi x w + c phi x (phi x w), as in chart.hpp
inline void copy_rates(Measure kind, const Measured<double> &now, double *slopes) {
  const int measures = measures_of(kind);
  for (int i = 0; i < measures; ++i)
    slopes[i] = now.rate[i];
  if (kind != Measure::pose)
    return;
  const Vec3<double> phi{now.s[3], now.s[4], now.s[5]}, w{now.rate[3], now.rate[4], now.rate[5]}, once = cross(phi, w);
  const Vec3<double> rate = w - scale(0.5, once) + scale(turn_series(dot(phi, phi)).c, cross(phi, once));
  slopes[3] = rate.x, slopes[4] = rate.y, slopes[5] = rate.z;
}

// What elements with laws of their own store, and -(force . rate) - E' as power lost or, if they are active, brought. E' is
// taken along the motion, by dual numbers; dx must hold the rates of the states.
template <int W>
inline void add_element_energies(const ModelData &m, const Workspace<double> &ws, const Surroundings<double> &at, Dual<W> *values, const double *q,
                                 const double *v, ForceEnergy &sum) {
  using D = Dual<W>;
  const auto along = [](double value, double rate) {
    D d(value);
    d.slope.set(0, rate);
    return d;
  };
  for (int k = 0; k < m.element_count; ++k) {
    const ElementData &e = m.elements[k];
    const int measures = measures_of(e.measure);
    const Measured<double> now = measure(ws, e, q, v);
    double outputs[most_outputs];
    answer(m, at, e, now, outputs);
    keep_rates(at, e, outputs);
    Measured<D> moving;
    D state[most_inputs], answers[most_outputs];
    double slopes[6];
    copy_rates(e.measure, now, slopes);
    for (int i = 0; i < measures; ++i) { // energy is a function of measures and states, not of rates
      moving.s[i] = along(now.s[i], slopes[i]);
      moving.rate[i] = D(now.rate[i]);
    }
    for (int i = 0; i < e.states; ++i)
      state[i] = along(at.x[e.state + i], outputs[measures + i]);
    Surroundings<D> then{along(at.t, 1.0), at.parameters, at.hosted};
    then.x = state - e.state;
    then.values = values;
    then.functions = at.functions;
    answer(m, then, e, moving, answers);
    const D &energy = answers[measures + e.states];
    double power = energy.slope[0];
    for (int i = 0; i < measures; ++i)
      power += outputs[i] * now.rate[i];
    sum.stored += energy.value;
    (e.active ? sum.brought : sum.lost) += e.active ? power : -power;
  }
}

template <int W>
inline ForceEnergy force_energy(const ModelData &m, Workspace<double> &ws, const Surroundings<double> &at, Dual<W> *values, const double *q,
                                const double *v) {
  using T = double;
  ForceEnergy sum{0.0, 0.0, 0.0};
  ground(m, ws, false);
  for (int i = 1; i <= m.nb; ++i) {
    position(m, ws, q, i);
    velocity(m, ws, v, i);
  }
  place_in_world(m, ws, v);
  for (int k = 0; k < m.force_count; ++k) {
    const ForceData &force = m.forces[k];
    const auto number = [&](int i) { return parameter(at, force.parameter + i); };
    if (force.kind == Force::spring) {
      const Vec3<T> p_A = lift<T>(as_vec(force.p_FA)), p_B = lift<T>(as_vec(force.p_FB));
      const Spring<T> s = spring(at, force.parameter, point_in_world(ws, force.body_b, p_B) - point_in_world(ws, force.body_a, p_A),
                                 point_velocity(ws, force.body_b, p_B) - point_velocity(ws, force.body_a, p_A));
      sum.stored = sum.stored + s.energy;
      sum.lost = sum.lost + s.loss;
    } else if (force.kind == Force::hinge) {
      const T speed = v[force.freedom];
      if (force.coordinate >= 0) {
        const T stretch = q[force.coordinate] - number(2);
        sum.stored = sum.stored + 0.5 * number(0) * (stretch * stretch);
      }
      sum.lost = sum.lost + number(1) * (speed * speed);
    } else if (force.kind == Force::turn || force.kind == Force::slide) {
      const AxisMotion<T> s = axis_motion(ws, force);
      const T stretch = s.place - number(2);
      sum.stored = sum.stored + 0.5 * number(0) * (stretch * stretch);
      sum.lost = sum.lost + number(1) * (s.rate * s.rate);
    } else if (force.kind == Force::limits) {
      const Limit<T> l = limit(at, force.parameter, q[force.coordinate], v[force.freedom]);
      sum.stored = sum.stored + l.energy;
      sum.lost = sum.lost + l.loss;
    } else if (force.kind == Force::effort) {
      sum.brought = sum.brought + law_value(m, force.law, at) * v[force.freedom];
    } else {
      body_force(m, ws, at, force, [&](int body, const Load<T> &load) {
        sum.brought = sum.brought + dot(load.n, ws.w[body]) + dot(load.f, ws.u[body]);
      });
    }
  }
  add_element_energies(m, ws, at, values, q, v, sum);
  return sum;
}

} // namespace dalembert::DALEMBERT_ISA
