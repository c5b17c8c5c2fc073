// All that acts on bodies and hinges: force elements, elements with laws of their own, and what they do to energy.
#pragma once

#include "chart.hpp"
#include "elements.hpp"

namespace dalembert::DALEMBERT_ISA {

// Loads for forward_dynamics and inverse_dynamics: those of the elements, and those given as numbers. Efforts of the
// elements at hinge coordinates go to tau.
template <class T> struct ElementLoads {
  const Surroundings<T> &at;
  const T *q, *v;
  const T *given;   // loads; may be null
  const T *efforts; // at hinge coordinates, from elsewhere; may be null
  T *tau;           // all of them

  void operator()(const ModelData &m, Workspace<T> &ws) const {
    if (given)
      subtract_loads(m, ws, given);
    for (int f = 0; f < m.nv; ++f)
      tau[f] = efforts ? efforts[f] : T(0.0);
    if (m.looks_at_bodies)
      place_in_world(m, ws, v);
    const auto push = [&](int body, const Load<T> &load) {
      ws.p_A[body].n -= load.n;
      ws.p_A[body].f -= load.f;
    };
    add_coordinate_forces(m, at, q, v, tau);
    for (int k = 0; k < m.force_count; ++k)
      body_force(m, ws, at, m.forces[k], push);
    for_elements(m, ws, at, q, v, [&](const ElementData &e, const Measured<T> *measured, const T *, int, const T *outputs) {
      distribute(m, ws, e, measured, outputs, tau, push);
    });
  }
};

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

// What an element with a law of its own stores, and -(force . rate) - E' as power lost or, if it is active, brought. E' is
// taken along the motion, by dual numbers.
template <int W>
inline void add_element_energy(const ModelData &m, const Surroundings<double> &at, Dual<W> *values, const ElementData &e,
                               const Measured<double> *measured, const double *in, int n, const double *outputs, ForceEnergy &sum) {
  using D = Dual<W>;
  D moving[most_inputs], answers[most_outputs];
  for (int k = 0; k < n; ++k)
    moving[k] = D(in[k]);
  moving[0].slope.set(0, 1.0);
  // energy is a function of time, measures and states, not of rates
  double power = 0.0;
  int place = 1;
  for (int k = 0; k < e.ports; ++k) {
    const Measure kind = m.ports[e.port + k].measure;
    double slopes[6];
    copy_rates(kind, measured[k], slopes);
    for (int j = 0; j < measures_of(kind); ++j, ++place) {
      moving[place].slope.set(0, slopes[j]);
      power += outputs[place - 1] * measured[k].rate[j];
    }
  }
  for (int k = 0; k < e.states; ++k)
    moving[1 + 2 * e.measures + k].slope.set(0, outputs[e.measures + k]);
  Surroundings<D> then{D(at.t), at.parameters, at.hosted};
  then.values = values;
  then.numbers = at.numbers;
  then.functions = at.functions;
  answer(m, then, e, moving, n, answers);
  const D &energy = answers[e.measures + e.states];
  power += energy.slope[0];
  sum.stored += energy.value;
  (e.active ? sum.brought : sum.lost) += e.active ? power : -power;
}

template <int W>
inline ForceEnergy force_energy(const ModelData &m, Workspace<double> &ws, const Surroundings<double> &at, Dual<W> *values, const double *q,
                                const double *v) {
  using T = double;
  ForceEnergy sum{0.0, 0.0, 0.0};
  ground(m, ws, false);
  for (int i = 1; i <= m.nb; ++i) {
    position(m, ws, q, i);
    velocity(m, ws, q, v, i);
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
  for_elements(m, ws, at, q, v, [&](const ElementData &e, const Measured<double> *measured, const double *in, int n, const double *outputs) {
    add_element_energy(m, at, values, e, measured, in, n, outputs, sum);
  });
  sum.lost = sum.lost + modal_loss(m, v);
  return sum;
}

} // namespace dalembert::DALEMBERT_ISA
