// Contact of two features of convex solids: common normal, points on either surface and gap, as smooth functions of the
// poses of the solids.
//
// A feature is a point c, a line c + s d, a circle c + r (e cos s + d x e sin s), or a plane (x - c) . d = 0 with the
// solid behind it, each grown by a radius. Vertices and centres of spheres are points; edges, and axes of capsules and
// of the sides of cylinders, are lines; rims of cylinders are circles. With a and b the points of either feature where
// a - b is normal to both, n the unit normal from the first to the second and r_a, r_b their radii,
//
//     gap = n . (b - a) - r_a - r_b,     x_a = a + r_a n,     x_b = b - r_b n                                      (1)
//
// Where both are sharp curves with tangents t_a and t_b, n = +-(t_a x t_b) / |t_a x t_b| is defined at gap = 0 too; its
// sign is that of the outward directions of the features. Elsewhere n = (b - a) / |b - a|. Points of circles are roots
// of
//
//     t_a . (a - b) = 0,     t_b . (a - b) = 0                                                                     (2)
//
// by Newton's method from a nearby angle. Features are unbounded: whether a point lies on an edge or a face has to be
// checked apart. On duals along a motion the rates of n, x_a and x_b follow.
#pragma once

#include "scalar/math.hpp"
#include "scalar/vec.hpp"
#include <cstdint>

namespace dalembert::DALEMBERT_ISA {

enum class FeatureKind : std::int32_t { point, line, circle, plane };

// in the frame of its solid
struct Feature {
  FeatureKind kind = FeatureKind::point;
  Vec3<double> c{}, d{}, e{}; // centre; direction, axis or normal; direction of s = 0 of a circle
  Vec3<double> out{};         // outward direction of an edge, outward axis of a rim; zero: none
  double r = 0.0;             // of a circle
  double radius = 0.0;        // by which the feature is grown
};

template <class T> struct FeatureContact {
  Vec3<T> normal;        // unit, from the first to the second
  Vec3<T> first, second; // points on either surface
  T gap;                 // negative where they overlap
};

namespace feature_pairs {

constexpr double parallel = 1e-6; // sine of an angle: closer directions count as parallel
constexpr int newton_steps = 12;  // of (2)
// Of the squares of radii: added to second derivatives of the distance in (2). Curves that are nearly parallel stay near
// the start; elsewhere an iteration loses all but 1e-6 of the error.
constexpr double damping = 1e-6;

template <class T> DALEMBERT_INLINE Vec3<T> unit(const Vec3<T> &a) { return scale(1.0 / root(dot(a, a)), a); }
template <class T> DALEMBERT_INLINE T sign_of(const T &x) { return select(less(x, T(0.0)), T(-1.0), T(1.0)); }
template <class T> DALEMBERT_INLINE Vec3<T> without(const Vec3<T> &a, const Vec3<T> &d) {
  return a - scale(dot(a, d), d);
}
template <class T, class Mask> DALEMBERT_INLINE Vec3<T> choose(const Mask &c, const Vec3<T> &a, const Vec3<T> &b) {
  return {select(c, a.x, b.x), select(c, a.y, b.y), select(c, a.z, b.z)};
}

// a feature in the world
template <class T> struct Placed {
  FeatureKind kind;
  Vec3<T> c, d, e, out;
  double r, radius;
  bool sharp; // an edge
  Placed(const Feature &f, const Pose<T> &X)
      : kind(f.kind), c(mul(X.R, f.c) + X.p), d(mul(X.R, f.d)), e(mul(X.R, f.e)), out(mul(X.R, f.out)), r(f.r),
        radius(f.radius), sharp(f.kind == FeatureKind::circle || dot(f.out, f.out) > 0.0) {}
};

// points a and b of two features, and their common normal
template <class T> struct Between {
  Vec3<T> a, b, n;
};

constexpr double touching = 1e-300; // m2: points whose squared distance is less coincide, and have no direction

// coinciding points: any normal serves
template <class T> Between<T> by_points(const Vec3<T> &a, const Vec3<T> &b) {
  const Vec3<T> gap = b - a, up{T(0.0), T(0.0), T(1.0)};
  return {a, b, unit(choose(less(dot(gap, gap), T(touching)), up, gap))};
}

// the normal of two curves with tangents s and t at a and b; apart: neither is sharp, or both are parallel
template <class T> Between<T> by_tangents(const Vec3<T> &a, const Vec3<T> &b, const Vec3<T> &s, const Vec3<T> &t,
                                          const Vec3<T> &out, bool sharp) {
  const Vec3<T> across = cross(s, t);
  const T square = dot(across, across);
  const auto apart = less(square, T(parallel * parallel));
  const Vec3<T> n = scale(sign_of(dot(across, out)) / root(select(apart, T(1.0), square)), across);
  const Vec3<T> gap = b - a;
  const auto meet = less(dot(gap, gap), T(touching));
  const Vec3<T> direct = choose(meet, n, unit(choose(meet, s, gap)));
  return {a, b, sharp ? choose(apart, direct, n) : direct};
}

template <class T> Between<T> point_line(const Placed<T> &A, const Placed<T> &B) {
  return by_points(A.c, B.c + scale(dot(A.c - B.c, B.d), B.d));
}

template <class T> Between<T> line_line(const Placed<T> &A, const Placed<T> &B) {
  const Vec3<T> w = B.c - A.c;
  const T cosine = dot(A.d, B.d), u = dot(A.d, w), v = dot(B.d, w), determinant = 1.0 - cosine * cosine;
  const auto skew = less(T(parallel * parallel), determinant);
  const T s = select(skew, (u - cosine * v) / select(skew, determinant, T(1.0)), 0.5 * u);
  const T t = s * cosine - v;
  return by_tangents(A.c + scale(s, A.d), B.c + scale(t, B.d), A.d, B.d, A.out - B.out, A.sharp && B.sharp);
}

// a point of a circle at an angle
template <class T> struct OnCircle {
  Vec3<T> x, radial, tangent;
  OnCircle(const Placed<T> &A, const T &angle) {
    T s, c;
    sincos(angle, s, c);
    const Vec3<T> other = cross(A.d, A.e);
    radial = scale(c, A.e) + scale(s, other);
    tangent = scale(c, other) - scale(s, A.e);
    x = A.c + scale(A.r, radial);
  }
  Vec3<T> out(const Placed<T> &A) const { return radial + A.out; }
};

template <class T> Between<T> point_circle(const Placed<T> &A, const Placed<T> &B) {
  return by_points(A.c, B.c + scale(B.r, unit(without(A.c - B.c, B.d))));
}

template <class T> Between<T> line_circle(const Placed<T> &A, const Placed<T> &B, double start) {
  T angle = start;
  for (int k = 0; k < newton_steps; ++k) {
    const OnCircle<T> at(B, angle);
    const Vec3<T> gap = without(at.x - A.c, A.d), along = without(at.tangent, A.d);
    angle = angle - dot(at.tangent, gap) / (B.r * (dot(along, along) + damping) - dot(at.radial, gap));
  }
  const OnCircle<T> at(B, angle);
  const Vec3<T> a = A.c + scale(dot(at.x - A.c, A.d), A.d);
  return by_tangents(a, at.x, A.d, at.tangent, A.out - at.out(B), A.sharp);
}

template <class T> Between<T> circle_circle(const Placed<T> &A, const Placed<T> &B, double start, double other) {
  T s = start, t = other;
  for (int k = 0; k < newton_steps; ++k) {
    const OnCircle<T> a(A, s), b(B, t);
    const Vec3<T> gap = a.x - b.x;
    const T f = A.r * dot(a.tangent, gap), g = -B.r * dot(b.tangent, gap); // slopes of half the squared distance
    const double more = damping * (A.r * A.r + B.r * B.r);
    const T ff = A.r * (A.r - dot(a.radial, gap)) + more, gg = B.r * (B.r + dot(b.radial, gap)) + more;
    const T fg = -A.r * B.r * dot(a.tangent, b.tangent), determinant = ff * gg - fg * fg;
    s = s - (f * gg - fg * g) / determinant;
    t = t - (ff * g - fg * f) / determinant;
  }
  const OnCircle<T> a(A, s), b(B, t);
  return by_tangents(a.x, b.x, a.tangent, b.tangent, a.out(A) - b.out(B), true);
}

template <class T> Between<T> on_plane(const Vec3<T> &a, const Placed<T> &B) {
  return {a, a - scale(dot(a - B.c, B.d), B.d), -B.d};
}

// the point of a circle that lies deepest below a plane
template <class T> Between<T> circle_plane(const Placed<T> &A, const Placed<T> &B) {
  const Vec3<T> down = -without(B.d, A.d);
  const auto flat = less(dot(down, down), T(1e-24));
  return on_plane(A.c + scale(A.r, unit(choose(flat, A.e, down))), B);
}

// first kind <= second kind
template <class T> Between<T> between(const Placed<T> &A, const Placed<T> &B, const double *start) {
  switch (B.kind) {
  case FeatureKind::point:
    return by_points(A.c, B.c);
  case FeatureKind::line:
    return A.kind == FeatureKind::point ? point_line(A, B) : line_line(A, B);
  case FeatureKind::circle:
    if (A.kind == FeatureKind::circle)
      return circle_circle(A, B, start[0], start[1]);
    return A.kind == FeatureKind::point ? point_circle(A, B) : line_circle(A, B, start[1]);
  case FeatureKind::plane:
    break;
  }
  return A.kind == FeatureKind::circle ? circle_plane(A, B) : on_plane(A.c, B);
}

} // namespace feature_pairs

// Contact of two features at poses of their solids. start: angles near the points of circles, rad. Two planes, and a
// line with a plane, have no single point.
template <class T> FeatureContact<T> feature_contact(const Feature &first, const Pose<T> &X, const Feature &second,
                                                     const Pose<T> &Y, const double *start) {
  using namespace feature_pairs;
  const bool swapped = first.kind > second.kind;
  const Placed<T> A(first, X), B(second, Y);
  const double other[2] = {start[1], start[0]};
  Between<T> found = swapped ? between(B, A, other) : between(A, B, start);
  if (swapped)
    found = {found.b, found.a, -found.n};
  const T gap = dot(found.n, found.b - found.a) - (A.radius + B.radius);
  return {found.n, found.a + scale(A.radius, found.n), found.b - scale(B.radius, found.n), gap};
}

} // namespace dalembert::DALEMBERT_ISA
