#include "tree/manifold.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

template <class T> void integrate(const ModelData &m, const T *q, const T *v, T *out) {
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    const T *qi = q + b.q, *vi = v + b.v;
    T *to = out + b.q;
    if (!has_quaternion(b)) {
      for (int k = 0; k < b.nv; ++k)
        to[k] = qi[k] + vi[k];
      continue;
    }
    if (b.nv == 6) {
      const Vec3<T> step = mul(rotation_of(qi), Vec3<T>{vi[3], vi[4], vi[5]});
      to[4] = qi[4] + step.x, to[5] = qi[5] + step.y, to[6] = qi[6] + step.z;
    }
    quaternion_turn(qi, Vec3<T>{vi[0], vi[1], vi[2]}, to);
  }
}

void normalize_attitudes(const ModelData &m, const double *q, double *out) {
  constexpr double rounding = 8.0 * 2.2e-16; // of the square of a length that has been divided by itself
  std::copy(q, q + m.nq, out);
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    if (!has_quaternion(b))
      continue;
    double *to = out + b.q;
    const double square = to[0] * to[0] + to[1] * to[1] + to[2] * to[2] + to[3] * to[3];
    if (std::fabs(square - 1.0) <= rounding)
      continue;
    const double norm = 1.0 / std::sqrt(square);
    for (int k = 0; k < 4; ++k)
      to[k] *= norm;
  }
}

template <class T> void difference(const ModelData &m, const T *q0, const T *q1, T *out) {
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    const T *from = q0 + b.q, *to = q1 + b.q;
    T *d = out + b.v;
    if (!has_quaternion(b)) {
      for (int k = 0; k < b.nv; ++k)
        d[k] = to[k] - from[k];
      continue;
    }
    const Vec3<T> phi = quaternion_difference(from, to);
    d[0] = phi.x, d[1] = phi.y, d[2] = phi.z;
    if (b.nv == 6) {
      const Vec3<T> u = mul_t(rotation_of(from), Vec3<T>{to[4] - from[4], to[5] - from[5], to[6] - from[6]});
      d[3] = u.x, d[4] = u.y, d[5] = u.z;
    }
  }
}

template <class T> DALEMBERT_INLINE void joint_rates(const BodyData &b, const T *q, const T *v, T *rate) {
  if (!has_quaternion(b)) {
    for (int k = 0; k < b.nv; ++k)
      rate[k] = v[k];
    return;
  }
  // the quaternion last, and at once: rate may be q
  if (b.nv == 6) {
    const Vec3<T> step = mul(rotation_of(q), Vec3<T>{v[3], v[4], v[5]});
    rate[4] = step.x, rate[5] = step.y, rate[6] = step.z;
  }
  T turned[4];
  quaternion_rate(q, v, turned);
  for (int k = 0; k < 4; ++k)
    rate[k] = turned[k];
}

template <class T> void coordinate_rates(const ModelData &m, const T *q, const T *v, T *out) {
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    joint_rates(b, q + b.q, v + b.v, out + b.q);
  }
}

void seed_dof(const BodyData &b, const double *q, int k, int l, Dual *duals, bool on) {
  if (!has_quaternion(b))
    return duals[b.q + k].slope.set(l, on ? 1.0 : 0.0);
  double unit[6] = {}, rate[7];
  unit[k] = 1.0;
  joint_rates(b, q + b.q, unit, rate);
  for (int c = 0; c < b.nq; ++c)
    duals[b.q + c].slope.set(l, on ? rate[c] : 0.0);
}

void seed_directions(const ModelData &m, const double *q, Dual *duals, int first, int count, bool on) {
  int i = 1;
  for (int l = 0; l < count; ++l) {
    while (first + l >= m.bodies[i].v + m.bodies[i].nv)
      ++i;
    seed_dof(m.bodies[i], q, first + l - m.bodies[i].v, l, duals, on);
  }
}

void pull_directions(const ModelData &m, const double *q, const double *by_coordinates, double *out) {
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    for (int k = 0; k < b.nv; ++k) {
      if (!has_quaternion(b)) {
        out[b.v + k] = by_coordinates[b.q + k];
        continue;
      }
      double unit[6] = {}, rate[7], sum = 0.0;
      unit[k] = 1.0;
      joint_rates(b, q + b.q, unit, rate);
      for (int c = 0; c < b.nq; ++c)
        sum += rate[c] * by_coordinates[b.q + c];
      out[b.v + k] = sum;
    }
  }
}

template void integrate(const ModelData &, const double *, const double *, double *);
template void integrate(const ModelData &, const Pack *, const Pack *, Pack *);
template void difference(const ModelData &, const double *, const double *, double *);
template void difference(const ModelData &, const Pack *, const Pack *, Pack *);
template void coordinate_rates(const ModelData &, const double *, const double *, double *);
template void coordinate_rates(const ModelData &, const Pack *, const Pack *, Pack *);

} // namespace dalembert::DALEMBERT_ISA
