// Contact points of a curve: the one nearest to a point, and the one farthest along a direction.
//
// A curve is a chain of pieces c(u), 0 <= u <= 1, polynomials of degree up to 5, joined without corners. The contact
// points are those of the curve as a whole:
//
//     nearest to p        least |c - p|            inside a piece (c - p) . c' = 0                                  (1)
//     farthest along e    greatest e . c           inside a piece e . c' = 0                                        (2)
//
// Within a piece all roots of (1) and (2) are found: between neighbouring extrema a polynomial is monotone, and its
// extrema are the roots of its derivative, so that the roots follow from those of the higher derivatives, each by
// Newton's rule between bounds. Pieces that cannot hold the point, by the sphere around them, are left out. So the
// result is a function of p or e alone; where two points of the curve are equally near it jumps from one to the other.
#pragma once

#include "math.hpp"
#include "model.hpp"
#include "vec.hpp"
#include <cmath>

namespace dalembert::DALEMBERT_ISA {

// a point of a curve and derivatives by the parameter of its piece
template <class T> struct CurvePoint {
  Vec3<T> c, c1, c2, c3, c4;
};

constexpr int most_roots = 2 * curve_degree - 1;

inline Vec3<double> coefficient(const CurvePiece &piece, int k) { return {piece.c[k][0], piece.c[k][1], piece.c[k][2]}; }

inline CurvePoint<double> evaluate(const CurvePiece &piece, int degree, double u) {
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

inline double polynomial(const double *a, int degree, double u, double &slope) {
  double value = a[degree];
  slope = 0.0;
  for (int k = degree - 1; k >= 0; --k) {
    slope = slope * u + value;
    value = value * u + a[k];
  }
  return value;
}

// where a polynomial that is monotone between lo and hi crosses zero
inline double crossing(const double *a, int degree, double lo, double hi, bool rising) {
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
inline int sign_changes(const double *a, int degree, double *place) {
  int found = 0;
  double b[most_roots + 1], weight[most_roots + 1], ends[most_roots + 2];
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

// (1); beyond the end of an open curve, where the end itself is nearest, the curve counts as straight
inline CurvePoint<double> nearest_to(const ModelData &m, const CurveData &curve, const Vec3<double> &p) {
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
    double a[most_roots + 1] = {}, candidates[most_roots + 2];
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
  // the coefficients of (1) are rounded as p is large: more steps of Newton's rule on (1) itself. Distances near the joint
  // of two pieces differ by less than rounding: where (1) asks for it, the point goes over to the other one.
  CurvePoint<double> at = evaluate(pieces[held], curve.degree, u);
  for (int k = 0; k < 4; ++k) {
    const Vec3<double> r = at.c - p;
    const double slope = dot(at.c1, at.c1) + dot(r, at.c2);
    if (!(slope > 0.0))
      break;
    const double next = u - dot(r, at.c1) / slope;
    const int step = next > 1.0 ? 1 : next < 0.0 ? -1 : 0, other = curve.closed ? (held + step + curve.count) % curve.count : held + step;
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

// (2), for a unit vector e
inline CurvePoint<double> farthest_along(const ModelData &m, const CurveData &curve, const Vec3<double> &e) {
  const CurvePiece *pieces = m.pieces + curve.first;
  const auto middle = [&](int k) { return dot(e, Vec3<double>{pieces[k].centre[0], pieces[k].centre[1], pieces[k].centre[2]}); };
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

// The same for other scalars: the point is found for the values, and moves with p or e by what (1) or (2), differentiated,
// demands of u.
template <class T> inline CurvePoint<T> moved(const CurvePoint<double> &at, const T &du) {
  return {lift<T>(at.c) + scale(du, at.c1), lift<T>(at.c1) + scale(du, at.c2), lift<T>(at.c2) + scale(du, at.c3),
          lift<T>(at.c3) + scale(du, at.c4), lift<T>(at.c4)};
}
template <class T> inline CurvePoint<T> nearest_point(const ModelData &m, const CurveData &curve, const Vec3<T> &p) {
  const Vec3<double> place{value_of(p.x), value_of(p.y), value_of(p.z)};
  const CurvePoint<double> at = nearest_to(m, curve, place);
  if constexpr (requires { p.x.slope; }) {
    const double slope = dot(at.c1, at.c1) + dot(at.c - place, at.c2);
    const double sure = slope > 1e-12 * dot(at.c1, at.c1) ? slope : 1e-12 * dot(at.c1, at.c1);
    return moved<T>(at, (dot(p, at.c1) - dot(place, at.c1)) / sure);
  } else {
    return at;
  }
}
template <class T> inline CurvePoint<T> farthest_point(const ModelData &m, const CurveData &curve, const Vec3<T> &e) {
  const Vec3<double> direction{value_of(e.x), value_of(e.y), value_of(e.z)};
  const CurvePoint<double> at = farthest_along(m, curve, direction);
  if constexpr (requires { e.x.slope; }) {
    const double bend = dot(direction, at.c2), least = -1e-12 * dot(at.c1, at.c1);
    return moved<T>(at, -((dot(e, at.c1) - dot(direction, at.c1)) / (bend < least ? bend : least)));
  } else {
    return at;
  }
}

} // namespace dalembert::DALEMBERT_ISA
