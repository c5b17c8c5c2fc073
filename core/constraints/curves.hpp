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

#include "model/model_data.hpp"
#include "scalar/traced.hpp"
#include "scalar/vec.hpp"

namespace dalembert::DALEMBERT_ISA {

// a point of a curve and derivatives by the parameter of its piece
template <class T> struct CurvePoint { Vec3<T> c, c1, c2, c3, c4; };

// (1); beyond the end of an open curve, where the end itself is nearest, the curve counts as straight
CurvePoint<double> nearest_to(const ModelData &m, const CurveData &curve, const Vec3<double> &p);

// (2), for a unit vector e
CurvePoint<double> farthest_along(const ModelData &m, const CurveData &curve, const Vec3<double> &e);

// The same for other scalars: the point is found for the values, and moves with p or e by what (1) or (2),
// differentiated, demands of u.
template <class T> inline CurvePoint<T> moved(const CurvePoint<double> &at, const T &du) {
  return {lift<T>(at.c) + scale(du, at.c1), lift<T>(at.c1) + scale(du, at.c2), lift<T>(at.c2) + scale(du, at.c3),
          lift<T>(at.c3) + scale(du, at.c4), lift<T>(at.c4)};
}
template <class T> inline CurvePoint<T> nearest_point(const ModelData &m, const CurveData &curve, const Vec3<T> &p) {
  const Vec3<double> place{value_of(p.x), value_of(p.y), value_of(p.z)};
  const CurvePoint<double> at = nearest_to(m, curve, place);
  if constexpr (differentiates<T>) {
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
  if constexpr (differentiates<T>) {
    const double bend = dot(direction, at.c2), least = -1e-12 * dot(at.c1, at.c1);
    return moved<T>(at, -((dot(e, at.c1) - dot(direction, at.c1)) / (bend < least ? bend : least)));
  } else {
    return at;
  }
}

} // namespace dalembert::DALEMBERT_ISA
