#include "steppers/methods/hermite.hpp"
#include "tree/chart.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace dalembert::DALEMBERT_ISA {

// xi'' where the chart increment is xi: the rate of chart_rate along (xi', a), by dual numbers
static void chart_acceleration(const ModelData &m, const double *xi, const double *rate, const double *v,
                               const double *a, double *out) {
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    if (!has_quaternion(b)) {
      for (int k = b.v; k < b.v + b.nv; ++k)
        out[k] = a[k];
      continue;
    }
    using D = Dual;
    const auto along = [](const double *value, const double *slope) {
      D d(value[0]);
      d.slope.set(0, slope[0]);
      return d;
    };
    const Vec3<D> x{along(xi + b.v, rate + b.v), along(xi + b.v + 1, rate + b.v + 1),
                    along(xi + b.v + 2, rate + b.v + 2)};
    const Vec3<D> w{along(v + b.v, a + b.v), along(v + b.v + 1, a + b.v + 1), along(v + b.v + 2, a + b.v + 2)};
    const Vec3<D> once = cross(x, w);
    const Vec3<D> r = w + scale(0.5, once) + scale(turn_series(dot(x, x)).c, cross(x, once));
    out[b.v] = r.x.slope[0], out[b.v + 1] = r.y.slope[0], out[b.v + 2] = r.z.slope[0];
    if (b.nv == 6) {
      const int k = b.v + 3;
      const Vec3<D> u =
          turned(x, Vec3<D>{along(v + k, a + k), along(v + k + 1, a + k + 1), along(v + k + 2, a + k + 2)});
      out[k] = u.x.slope[0], out[k + 1] = u.y.slope[0], out[k + 2] = u.z.slope[0];
    }
  }
}

// xi1 is known up to the rounding of coordinates; in a very short step that is more than what it adds to the rates of
// both ends, and velocities, which follow from xi1 / h, would be noise. Then it is taken from the rates:
//   xi1 = h (xi0' + xi1') / 2 + h^2 (xi0'' - xi1'') / 12 + O(h^5)
// What loops put in its place has the rounding of their lengths over their leverage, many times that of its own size.
// Whether so little is rounding follows from the rates: a motion is away from them by less than they change in the
// step.
constexpr double by_loops = 1e3; // roundings: leverage of a thousandth

static void smooth_rounding(const ModelData &m, const double *q, const double *q1, double *const *D) {
  constexpr double rounding = std::numeric_limits<double>::epsilon();
  double largest = m.nc ? 1.0 : 0.0;
  for (int k = 0; m.nc && k < m.nq; ++k)
    largest = std::max({largest, std::abs(q[k]), std::abs(q1[k])});
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    const bool turns = has_quaternion(b);
    double size = turns ? 1.0 : 0.0;
    for (int k = b.q; turns && k < b.q + b.nq; ++k)
      size = std::max({size, std::abs(q[k]), std::abs(q1[k])});
    for (int k = 0; k < b.nv; ++k) {
      const int f = b.v + k;
      const double own = turns ? size : std::max(std::abs(q[b.q + k]), std::abs(q1[b.q + k]));
      const double by_rates = 0.5 * (D[1][f] + D[2][f]) + (D[3][f] - D[4][f]) / 12.0;
      const double changes = std::abs(D[4][f] - D[3][f]) + std::abs(D[2][f] - D[1][f] - 0.5 * (D[3][f] + D[4][f]));
      const double away = std::abs(D[0][f] - by_rates);
      if (away <= 4.0 * rounding * own || (away > changes && away <= by_loops * rounding * largest))
        D[0][f] = by_rates;
    }
  }
}

// rows of D: xi1, h xi0', h xi1', h^2 xi0'', h^2 xi1''; element states take the first three
Outcome prepare_hermite(const RunContext &i, double h) {
  const ModelData &m = i.m;
  RunWorkspace &work = i.work;
  const int n = increments(m), nv = m.nv;
  double *D[5];
  for (int r = 0; r < 5; ++r)
    D[r] = work.D + std::ptrdiff_t(r) * n;
  for (int k = 0; k < nv; ++k)
    work.z[k] = 0.0;
  difference<double>(m, work.q, work.q1, D[0]);
  chart_rate<double>(m, D[0], work.v1, D[2]);
  chart_acceleration(m, D[0], D[2], work.v1, work.a1, D[4]);
  chart_acceleration(m, work.z, work.v, work.v, work.a, D[3]);
  for (int f = 0; f < nv; ++f) {
    D[1][f] = h * work.v[f];
    D[2][f] *= h;
    D[3][f] *= h * h;
    D[4][f] *= h * h;
  }
  smooth_rounding(m, work.q, work.q1, D);
  for (int k = 0; k < m.nx; ++k) {
    D[0][2 * nv + k] = work.x1[k] - work.x[k];
    D[1][2 * nv + k] = h * work.dx[k];
    D[2][2 * nv + k] = h * work.dx1[k];
  }
  return Outcome::reached;
}

// at the fraction s of the step of length h: z = [xi; dv; dx]
void hermite_at(const RunContext &i, double h, double s, double *z) {
  const ModelData &m = i.m;
  const RunWorkspace &work = i.work;
  const int n = increments(m), nv = m.nv;
  const double *D = work.D;
  const double s2 = s * s, s3 = s2 * s, s4 = s3 * s, s5 = s4 * s;
  const double place[5] = {10 * s3 - 15 * s4 + 6 * s5, s - 6 * s3 + 8 * s4 - 3 * s5, -4 * s3 + 7 * s4 - 3 * s5,
                           0.5 * s2 - 1.5 * s3 + 1.5 * s4 - 0.5 * s5, 0.5 * s3 - s4 + 0.5 * s5};
  const double slope[5] = {30 * s2 - 60 * s3 + 30 * s4, 1 - 18 * s2 + 32 * s3 - 15 * s4, -12 * s2 + 28 * s3 - 15 * s4,
                           s - 4.5 * s2 + 6 * s3 - 2.5 * s4, 1.5 * s2 - 4 * s3 + 2.5 * s4};
  for (int f = 0; f < nv; ++f) {
    double at = 0.0, rate = 0.0;
    for (int r = 0; r < 5; ++r) {
      at += place[r] * D[std::ptrdiff_t(r) * n + f];
      rate += slope[r] * D[std::ptrdiff_t(r) * n + f];
    }
    z[f] = at;
    z[nv + f] = rate / h;
  }
  const double cubic[3] = {3 * s2 - 2 * s3, s - 2 * s2 + s3, s3 - s2};
  for (int k = 2 * nv; k < n; ++k)
    z[k] = cubic[0] * D[k] + cubic[1] * D[n + k] + cubic[2] * D[2 * n + k];
  // velocities from the rates of xi
  double *rate = z + nv;
  chart_speed<double>(m, z, rate, work.change);
  for (int f = 0; f < nv; ++f)
    rate[f] = work.change[f] - work.v[f];
}

} // namespace dalembert::DALEMBERT_ISA
