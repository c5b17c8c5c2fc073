// Elements with a law of their own: they measure, the law answers with forces conjugate to the rates of what is measured.
//
//     place       p of B in A            rate: velocity seen from A              force on B
//     attitude    rotation vector of B   rate: angular velocity seen from A      moment on B
//     distance    |p|                    its rate                                tension's opposite, along p
//     hinge       its coordinate         its speed                               effort
//
// all in axes of A, acting at the origin of B, with the opposite on A at the same point. An element has one such port or
// several. The power of an element on the rest is force times rate; with E what it stores, -(force . rate) - E' is lost,
// or, of active elements, brought.
//
// Elements stand in causal order: a signal is computed before the law that takes it.
#pragma once

#include "forces.hpp"
#include "unknowns.hpp"

namespace dalembert::DALEMBERT_ISA {

inline int measures_of(Measure measure) { return measure == Measure::place ? 3 : measure == Measure::pose ? 6 : 1; }

// what is measured, its rates, and the axes it is measured in
template <class T> struct Measured {
  T s[6], rate[6];
  Mat3<T> R_A;
  Vec3<T> direction; // of a distance, axes of the world
};

// rotation vector of R; |angle| < pi
template <class T> inline Vec3<T> rotation_vector(const Mat3<T> &R) {
  const Vec3<T> w{0.5 * (R.zy - R.yz), 0.5 * (R.xz - R.zx), 0.5 * (R.yx - R.xy)}; // axis times sine
  const T square = dot(w, w), c = 0.5 * (R.xx + R.yy + R.zz - 1.0);
  const auto small = less(square, T(1e-6));
  const auto acute = less(T(0.0), c);
  const T tiny(1e-300), sine = root(select(small, select(acute, T(1.0), select(less(square, tiny), tiny, square)), square));
  // angle / sine; by the series of the arcsine where the angle is small
  const T series = 1.0 + square * (1.0 / 6.0 + square * (3.0 / 40.0 + square * (15.0 / 336.0)));
  const T whole = arctan2(sine, c) / sine;
  return scale(select(small, select(acute, series, whole), whole), w);
}

template <class T>
inline Measured<T> measure(const Workspace<T> &ws, const PortData &port, const T *q, const T *v) {
  Measured<T> m;
  if (port.measure == Measure::hinge) {
    m.s[0] = port.coordinate >= 0 ? q[port.coordinate] : T(0.0);
    m.rate[0] = v[port.freedom];
    return m;
  }
  const Pose<T> &A = ws.X_W[port.body_a], &B = ws.X_W[port.body_b];
  const Vec3<T> p_A = lift<T>(as_vec(port.p_FA)), p_B = lift<T>(as_vec(port.p_FB));
  const Vec3<T> r = point_in_world(ws, port.body_b, p_B) - point_in_world(ws, port.body_a, p_A);
  const Vec3<T> w_A = mul(A.R, ws.w[port.body_a]);
  const Vec3<T> relative = point_velocity(ws, port.body_b, p_B) - point_velocity(ws, port.body_a, p_A);
  if (port.measure == Measure::distance) {
    const T square = dot(r, r);
    const auto gone = less(square, T(1e-300)); // no direction: no force
    const T length = root(select(gone, T(1.0), square));
    m.direction = scale(select(gone, T(0.0), 1.0 / length), r);
    m.s[0] = select(gone, T(0.0), length);
    m.rate[0] = dot(m.direction, relative);
    return m;
  }
  m.R_A = mul(A.R, lift<T>(as_mat(port.R_FA)));
  const Vec3<T> p = mul_t(m.R_A, r), u = mul_t(m.R_A, relative - cross(w_A, r));
  m.s[0] = p.x, m.s[1] = p.y, m.s[2] = p.z;
  m.rate[0] = u.x, m.rate[1] = u.y, m.rate[2] = u.z;
  if (port.measure == Measure::pose) {
    const Vec3<T> phi = rotation_vector(mul_ta(m.R_A, mul(B.R, lift<T>(as_mat(port.R_FB)))));
    const Vec3<T> w = mul_t(m.R_A, mul(B.R, ws.w[port.body_b]) - w_A);
    m.s[3] = phi.x, m.s[4] = phi.y, m.s[5] = phi.z;
    m.rate[3] = w.x, m.rate[4] = w.y, m.rate[5] = w.z;
  }
  return m;
}

// a further input of a law
template <class T>
inline T input_value(const ModelData &m, const Workspace<T> &ws, const Surroundings<T> &at, const InputData &input, const T *q, const T *v) {
  switch (input.source) {
  case Source::law:
    return law_value(m, input.place, at);
  case Source::state:
    return at.x[input.place];
  case Source::signal:
    return at.signals[input.place];
  case Source::feedback:
    return T(at.feedback[input.place]);
  case Source::port: {
    const PortData &port = m.ports[input.place];
    const Measured<T> measured = measure(ws, port, q, v);
    const int n = measures_of(port.measure);
    return input.part < n ? measured.s[input.part] : measured.rate[input.part - n];
  }
  }
  return T(0.0);
}

// Collects what a law takes, but for its unknowns; returns how many numbers. measured: one for each port.
template <class T>
inline int gather(const ModelData &m, const Workspace<T> &ws, const Surroundings<T> &at, const ElementData &e, const T *q, const T *v,
                  Measured<T> *measured, T *in) {
  int n = 0;
  in[n++] = at.t;
  for (int k = 0; k < e.ports; ++k) {
    const PortData &port = m.ports[e.port + k];
    measured[k] = measure(ws, port, q, v);
    const int measures = measures_of(port.measure);
    for (int j = 0; j < measures; ++j, ++n) {
      in[n] = measured[k].s[j];
      in[n + e.measures] = measured[k].rate[j];
    }
  }
  n += e.measures;
  for (int k = 0; k < e.states; ++k)
    in[n++] = at.x[e.state + k];
  for (int k = 0; k < e.parameters; ++k)
    in[n++] = parameter(at, e.parameter + k);
  for (int k = 0; k < e.inputs; ++k)
    in[n++] = input_value(m, ws, at, m.inputs[e.input + k], q, v);
  return n;
}

// A function outside, for numbers: its derivatives are differences.
inline void call_function(const Functions &functions, int number, const double *in, int, double *out, int) {
  functions.call[number](functions.self[number], in, out);
}
template <int W> inline void call_function(const Functions &functions, int number, const Pack<W> *in, int inputs, Pack<W> *out, int outputs) {
  double one[most_inputs], answer[most_outputs];
  for (int lane = 0; lane < W; ++lane) {
    for (int k = 0; k < inputs; ++k)
      one[k] = in[k][lane];
    functions.call[number](functions.self[number], one, answer);
    for (int k = 0; k < outputs; ++k)
      out[k].set(lane, answer[k]);
  }
}
template <int W> inline void call_function(const Functions &functions, int number, const Dual<W> *in, int inputs, Dual<W> *out, int outputs) {
  double at[most_inputs], below[most_outputs], above[most_outputs], answer[most_outputs];
  for (int k = 0; k < inputs; ++k)
    at[k] = in[k].value;
  functions.call[number](functions.self[number], at, answer);
  for (int k = 0; k < outputs; ++k)
    out[k] = Dual<W>(answer[k]);
  for (int j = 0; j < inputs; ++j) {
    bool varies = false;
    for (int lane = 0; lane < W; ++lane)
      varies |= in[j].slope[lane] != 0.0;
    if (!varies)
      continue;
    const double h = 1e-6 * (1.0 + std::fabs(at[j])), kept = at[j];
    at[j] = kept + h;
    functions.call[number](functions.self[number], at, above);
    at[j] = kept - h;
    functions.call[number](functions.self[number], at, below);
    at[j] = kept;
    for (int k = 0; k < outputs; ++k)
      out[k].slope = out[k].slope + in[j].slope * ((above[k] - below[k]) / (2.0 * h));
  }
}

// the law of an element, for n inputs; its unknowns follow them
template <class T>
inline void answer(const ModelData &m, const Surroundings<T> &at, const ElementData &e, T *in, int n, T *outputs) {
  if (e.program < 0)
    call_function(*at.functions, e.function, in, n, outputs, e.measures + e.states + 1 + e.signals);
  else if (e.unknowns)
    solve_law(m, e, in, n, at.values, at.numbers, outputs);
  else
    run_program(m, m.programs[e.program], in, at.values, outputs);
}

// keeps what others may want of an element: the rates of its states, its signals
template <class T> inline void keep(const Surroundings<T> &at, const ElementData &e, const T *outputs) {
  for (int k = 0; at.dx && k < e.states; ++k)
    at.dx[e.state + k] = outputs[e.measures + k];
  for (int k = 0; k < e.signals; ++k)
    at.signals[e.signal + k] = outputs[e.measures + e.states + 1 + k];
}

// calls act(element, measured, inputs, their number, outputs) for one element after the other
template <class T, class Act>
inline void for_elements(const ModelData &m, const Workspace<T> &ws, const Surroundings<T> &at, const T *q, const T *v, Act &&act) {
  for (int k = 0; k < m.element_count; ++k) {
    const ElementData &e = m.elements[k];
    Measured<T> measured[most_ports];
    T in[most_inputs], outputs[most_outputs];
    const int n = gather(m, ws, at, e, q, v, measured, in);
    answer(m, at, e, in, n, outputs);
    keep(at, e, outputs);
    act(e, measured, in, n, outputs);
  }
}

// calls push(body, load in F) for the loads of a port between markers
template <class T, class Push>
inline void push_port(const Workspace<T> &ws, const PortData &port, const Measured<T> &measured, const T *force, Push &&push) {
  Vec3<T> f, n = zero3<T>();
  if (port.measure == Measure::distance) {
    f = scale(force[0], measured.direction);
  } else {
    f = mul(measured.R_A, Vec3<T>{force[0], force[1], force[2]});
    if (port.measure == Measure::pose)
      n = mul(measured.R_A, Vec3<T>{force[3], force[4], force[5]});
  }
  const Vec3<T> p_B = lift<T>(as_vec(port.p_FB));
  const Vec3<T> point = point_in_world(ws, port.body_b, p_B);
  for (int end = 0; end < 2; ++end) {
    const int body = end ? port.body_a : port.body_b;
    const double sign = end ? -1.0 : 1.0;
    const Pose<T> &X = ws.X_W[body];
    const Vec3<T> at = end ? mul_t(X.R, point - X.p) : p_B;
    push(body, at_origin(at, scale(sign, mul_t(X.R, n)), scale(sign, mul_t(X.R, f))));
  }
}

// an element's forces: those at hinges added to tau, loads on bodies handed to push(body, load in F)
template <class T, class Push>
inline void distribute(const ModelData &m, const Workspace<T> &ws, const ElementData &e, const Measured<T> *measured, const T *outputs, T *tau,
                       Push &&push) {
  for (int k = 0; k < e.ports; ++k) {
    const PortData &port = m.ports[e.port + k];
    if (port.measure == Measure::hinge)
      tau[port.freedom] = tau[port.freedom] + *outputs;
    else
      push_port(ws, port, measured[k], outputs, push);
    outputs += measures_of(port.measure);
  }
}

} // namespace dalembert::DALEMBERT_ISA
