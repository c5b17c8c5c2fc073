#include "tree/chart.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> T turn_square(const ModelData &m, const T *xi) {
  T most(0.0);
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    if (!has_quaternion(b))
      continue;
    const T square = xi[b.v] * xi[b.v] + xi[b.v + 1] * xi[b.v + 1] + xi[b.v + 2] * xi[b.v + 2];
    most = select(less(most, square), square, most);
  }
  return most;
}

template <class T> void chart_rate(const ModelData &m, const T *xi, const T *v, T *rate) {
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    if (!has_quaternion(b)) {
      for (int k = b.v; k < b.v + b.nv; ++k)
        rate[k] = v[k];
      continue;
    }
    const Vec3<T> x{xi[b.v], xi[b.v + 1], xi[b.v + 2]}, w{v[b.v], v[b.v + 1], v[b.v + 2]};
    const Vec3<T> once = cross(x, w);
    const Vec3<T> r = w + scale(0.5, once) + scale(turn_series(dot(x, x)).c, cross(x, once));
    if (b.nv == 6) {
      const Vec3<T> u = turned(x, Vec3<T>{v[b.v + 3], v[b.v + 4], v[b.v + 5]});
      rate[b.v + 3] = u.x, rate[b.v + 4] = u.y, rate[b.v + 5] = u.z;
    }
    rate[b.v] = r.x, rate[b.v + 1] = r.y, rate[b.v + 2] = r.z;
  }
}

template <class T> void chart_speed(const ModelData &m, const T *xi, const T *rate, T *v) {
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    if (!has_quaternion(b)) {
      for (int k = b.v; k < b.v + b.nv; ++k)
        v[k] = rate[k];
      continue;
    }
    const Vec3<T> x{xi[b.v], xi[b.v + 1], xi[b.v + 2]}, r{rate[b.v], rate[b.v + 1], rate[b.v + 2]};
    const TurnSeries<T> s = turn_series(dot(x, x));
    const Vec3<T> once = cross(x, r);
    const Vec3<T> w = r - scale(s.a, once) + scale(s.b, cross(x, once));
    if (b.nv == 6) {
      const Vec3<T> u = turned(-x, Vec3<T>{rate[b.v + 3], rate[b.v + 4], rate[b.v + 5]});
      v[b.v + 3] = u.x, v[b.v + 4] = u.y, v[b.v + 5] = u.z;
    }
    v[b.v] = w.x, v[b.v + 1] = w.y, v[b.v + 2] = w.z;
  }
}

template double turn_square(const ModelData &, const double *);
template Pack turn_square(const ModelData &, const Pack *);
template void chart_rate(const ModelData &, const double *, const double *, double *);
template void chart_rate(const ModelData &, const Pack *, const Pack *, Pack *);
template void chart_speed(const ModelData &, const double *, const double *, double *);
template void chart_speed(const ModelData &, const Pack *, const Pack *, Pack *);

} // namespace dalembert::DALEMBERT_ISA
