#include "constraints/curves.hpp"

namespace dalembert::DALEMBERT_ISA {

constexpr int max_roots = 2 * curve_degree - 1;

static Vec3<double> coefficient(const CurvePiece &piece, int k) {
  return {piece.c[k][0], piece.c[k][1], piece.c[k][2]};
}

static CurvePoint<double> evaluate(const CurvePiece &piece, int degree, double u) {
  CurvePoint<double> at{coefficient(piece, degree), {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  for (int k = degree - 1; k >= 0; --k) { // Horner, with derivatives divided by factorials
    at.c4 = scale(u, at.c4) + at.c3;
    at.c3 = scale(u, at.c3) + at.c2;
    at.c2 = scale(u, at.c2) + at.c1;
    at.c1 = scale(u, at.c1) + at.c;
    at.c = scale(u, at.c) + coefficient(piece, k);
  }
  at.c2 = scale(2.0, at.c2);
  at.c3 = scale(6.0, at.c3);
  at.c4 = scale(24.0, at.c4);
  return at;
}

static double polynomial(const double *a, int degree, double u, double &slope) {
  double value = a[degree];
  slope = 0.0;
  for (int k = degree - 1; k >= 0; --k) {
    slope = slope * u + value;
    value = value * u + a[k];
  }
  return value;
}

// where a polynomial that is monotone between lo and hi crosses zero
static double crossing(const double *a, int degree, double lo, double hi, bool rising) {
  double u = 0.5 * (lo + hi), slope;
  for (int k = 0; k < 100; ++k) {
    const double value = polynomial(a, degree, u, slope);
    ((value < 0.0) == rising ? lo : hi) = u;
    double next = u - value / slope;
    if (!(next > lo && next < hi))
      next = 0.5 * (lo + hi);
    if (std::fabs(next - u) <= 1e-16)
      return next;
    u = next;
  }
  return u;
}

// where a polynomial changes its sign between 0 and 1, in order; returns how often
static int sign_changes(const double *a, int degree, double *place) {
  int found = 0;
  double b[max_roots + 1], weight[max_roots + 1], ends[max_roots + 2];
  for (int order = degree - 1; order >= 0; --order) {
    // the derivative of that order, divided by its factorial: coefficients times binomials
    for (int k = 0; k <= degree - order; ++k) {
      weight[k] = k ? weight[k - 1] * (k + order) / k : 1.0;
      b[k] = a[k + order] * weight[k];
    }
    ends[0] = 0.0;
    for (int k = 0; k < found; ++k)
      ends[k + 1] = place[k];
    ends[found + 1] = 1.0;
    const int intervals = found + 1;
    double slope, left = b[0];
    found = 0;
    for (int k = 0; k < intervals; ++k) {
      const double right = polynomial(b, degree - order, ends[k + 1], slope);
      if ((left < 0.0) != (right < 0.0))
        place[found++] = crossing(b, degree - order, ends[k], ends[k + 1], left < 0.0);
      left = right;
    }
  }
  return found;
}

CurvePoint<double> nearest_to(const ModelData &m, const CurveData &curve, const Vec3<double> &p) {
  const CurvePiece *pieces = m.pieces + curve.first;
  const auto reach = [&](int k) {
    const Vec3<double> r = Vec3<double>{pieces[k].centre[0], pieces[k].centre[1], pieces[k].centre[2]} - p;
    return std::sqrt(dot(r, r));
  };
  int first = 0, held = 0;
  double bound = reach(0) + pieces[0].radius, least = INFINITY, u = 0.0;
  for (int k = 1; k < curve.count; ++k)
    if (const double farthest = reach(k) + pieces[k].radius; farthest < bound) {
      bound = farthest;
      first = k;
    }
  const auto search = [&](int k) {
    const CurvePiece &piece = pieces[k];
    double a[max_roots + 1] = {}, candidates[max_roots + 2];
    for (int i = 0; i <= curve.degree; ++i)
      for (int j = 1; j <= curve.degree; ++j)
        a[i + j - 1] += j * dot(i ? coefficient(piece, i) : coefficient(piece, 0) - p, coefficient(piece, j));
    int count = sign_changes(a, 2 * curve.degree - 1, candidates);
    candidates[count++] = 0.0;
    candidates[count++] = 1.0;
    for (int i = 0; i < count; ++i) {
      const Vec3<double> r = evaluate(piece, curve.degree, candidates[i]).c - p;
      if (const double square = dot(r, r); square < least) {
        least = square;
        held = k;
        u = candidates[i];
      }
    }
  };
  search(first);
  for (int k = 0; k < curve.count; ++k)
    if (k != first && reach(k) - pieces[k].radius < std::sqrt(least))
      search(k);
  // the coefficients of (1) are rounded as p is large: more steps of Newton's rule on (1) itself. Distances near the
  // joint of two pieces differ by less than rounding: where (1) requires it, the point goes over to the other one.
  CurvePoint<double> at = evaluate(pieces[held], curve.degree, u);
  for (int k = 0; k < 4; ++k) {
    const Vec3<double> r = at.c - p;
    const double slope = dot(at.c1, at.c1) + dot(r, at.c2);
    if (!(slope > 0.0))
      break;
    const double next = u - dot(r, at.c1) / slope;
    const int step = next > 1.0   ? 1
                     : next < 0.0 ? -1
                                  : 0,
              other = curve.closed ? (held + step + curve.count) % curve.count : held + step;
    if (k < 2 && step && other >= 0 && other < curve.count) {
      held = other;
      u = step > 0 ? 0.0 : 1.0;
    } else {
      u = next > 0.0 ? (next < 1.0 ? next : 1.0) : 0.0;
    }
    at = evaluate(pieces[held], curve.degree, u);
  }
  if (!curve.closed && ((held == 0 && u == 0.0) || (held == curve.count - 1 && u == 1.0)))
    at.c2 = at.c3 = at.c4 = {0, 0, 0};
  return at;
}

CurvePoint<double> farthest_along(const ModelData &m, const CurveData &curve, const Vec3<double> &e) {
  const CurvePiece *pieces = m.pieces + curve.first;
  const auto middle = [&](int k) {
    return dot(e, Vec3<double>{pieces[k].centre[0], pieces[k].centre[1], pieces[k].centre[2]});
  };
  int first = 0, held = 0;
  double bound = -INFINITY, greatest = -INFINITY, u = 0.0;
  for (int k = 0; k < curve.count; ++k)
    if (const double nearest = middle(k) - pieces[k].radius; nearest > bound) {
      bound = nearest;
      first = k;
    }
  const auto search = [&](int k) {
    const CurvePiece &piece = pieces[k];
    double a[curve_degree] = {}, candidates[curve_degree + 1];
    for (int j = 1; j <= curve.degree; ++j)
      a[j - 1] = j * dot(e, coefficient(piece, j));
    int count = sign_changes(a, curve.degree - 1, candidates);
    candidates[count++] = 0.0;
    candidates[count++] = 1.0;
    for (int i = 0; i < count; ++i)
      if (const double height = dot(e, evaluate(piece, curve.degree, candidates[i]).c); height > greatest) {
        greatest = height;
        held = k;
        u = candidates[i];
      }
  };
  search(first);
  for (int k = 0; k < curve.count; ++k)
    if (k != first && middle(k) + pieces[k].radius > greatest)
      search(k);
  return evaluate(pieces[held], curve.degree, u);
}

} // namespace dalembert::DALEMBERT_ISA
