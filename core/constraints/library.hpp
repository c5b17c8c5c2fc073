// The library of constraints: equations between two frames that are no joint's, one struct each.
//
//     distance         phi = |p| - length                 g_v = p / |p|
//     rope             no rows: a coordinate |p|, as the face of a cut joint (constraints/loop_constraints.cpp), that
//                      stops hold
//     rolling          the point of B at u from its origin, which touches the plane z = 0 of A, has no velocity:
//                      g_v = e     g_w = u x e     bias = e . (omega x u'); along z this is the rate of the height,
//                      along x and y it has no residual (nonholonomic)
//     skate            no velocity along the y axis r of B: g_v = r     bias = (omega x r) . v    (nonholonomic)    (2)
//
// Curves and cam profiles c(u), fixed in A, touch at a point u that follows from R and p (constraints/curves.hpp). With
// d = p - c and n(u) normal to the curve, and what makes u move, c' . d = 0 or r . c' = 0, differentiated:
//
//     u' = c' . v / K     u'' = (c' . a + 2 u' c'' . v + u'^2 (c''' . d - 3 c' . c'')) / K     K = c' . c' - c'' . d
//                         (3)
//
//     point on curve   phi = n . d              g_v = n + (n' . d) c' / K
//                      bias = 2 u' n' . v + u'' n' . d + u'^2 (n'' . d + n . c''), with u'' at a = 0
//     roller on cam    phi = n . d - radius     the same with n in the plane of the cam, where n' . d = 0
//     rolling on cam   and the point of the roller that touches has no velocity along the cam's heading t
//                      (nonholonomic):
//                      g_v = t     g_w = radius z     bias = t' . v, since the normal of the roller follows the heading
//     flat face on cam phi = r . d, r the y axis of B     g_w = r x d     g_v = r
//                      bias = (omega x (omega x r)) . d + 2 (omega x r) . v + ((omega x r) . c')^2 / (r . c'')      (4)
#pragma once

#include "constraints/curves.hpp"
#include "constraints/rows.hpp"
#include "scalar/type_list.hpp"

namespace dalembert::DALEMBERT_ISA {

struct Distance {
  static constexpr const char *name = "distance";
  template <class T> static void rows(const ModelData &model, const LoopConstraintData &constraint,
                                      const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    const T distance = root(dot(m.p, m.p)), inverse = 1.0 / larger(distance, T(1e-300));
    const Vec3<T> u = scale(inverse, m.p);
    const T along = dot(u, m.v);
    rows.add(distance - parameter_of<T>(model, constraint), zero3<T>(), u, (dot(m.v, m.v) - along * along) * inverse);
  }
};

struct Rope {
  static constexpr const char *name = "rope";
  template <class T>
  static void rows(const ModelData &, const LoopConstraintData &, const RelativeMotion<T> &, LoopConstraintRows<T> &) {}
};

struct PointOnLine {
  static constexpr const char *name = "point_on_line";
  template <class T> static void rows(const ModelData &, const LoopConstraintData &, const RelativeMotion<T> &m,
                                      LoopConstraintRows<T> &rows) {
    rows_along(m, true, true, false, rows);
  }
};

struct PointOnPlane {
  static constexpr const char *name = "point_on_plane";
  template <class T> static void rows(const ModelData &, const LoopConstraintData &, const RelativeMotion<T> &m,
                                      LoopConstraintRows<T> &rows) {
    rows_along(m, false, false, true, rows);
  }
};

struct Parallel {
  static constexpr const char *name = "parallel";
  template <class T> static void rows(const ModelData &, const LoopConstraintData &, const RelativeMotion<T> &m,
                                      LoopConstraintRows<T> &rows) {
    rows_parallel(m, rows);
  }
};

struct AxisAngle {
  static constexpr const char *name = "angle";
  template <class T> static void rows(const ModelData &model, const LoopConstraintData &constraint,
                                      const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    row_tilt(m, Vec3<T>{m.R.xy, m.R.yy, m.R.zy}, 0, rows);
    rows.residual[0] = rows.residual[0] - parameter_of<T>(model, constraint);
  }
};

// the y axis r of B has turned about z of A by psi from x, whole turns apart
//
//     phi = psi - angle     g_w = (z - r_z r) / s^2     s^2 = 1 - r_z^2
//     bias = (z . (r x w) (w . r) + 2 psi' r_z r_z') / s^2                                                          (5)
struct AxisTurn {
  static constexpr const char *name = "turn";
  template <class T> static void rows(const ModelData &model, const LoopConstraintData &constraint,
                                      const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    const Vec3<T> r{m.R.xy, m.R.yy, m.R.zy}, r_rate = cross(m.w, r);
    const T inverse = 1.0 / larger(r.x * r.x + r.y * r.y, T(1e-300));
    const T rate = (r.x * r_rate.y - r.y * r_rate.x) * inverse;
    const T away = arctan2(r.y, r.x) - parameter_of<T>(model, constraint);
    rows.add(away - whole_turns(away), scale(inverse, unit_axis<T>(2) - scale(r.z, r)), zero3<T>(),
             ((r.x * m.w.y - r.y * m.w.x) * dot(m.w, r) + 2.0 * rate * r.z * r_rate.z) * inverse);
  }
};

struct Skate {
  static constexpr const char *name = "skate";
  template <class T> static void rows(const ModelData &, const LoopConstraintData &, const RelativeMotion<T> &m,
                                      LoopConstraintRows<T> &rows) {
    const Vec3<T> r{m.R.xy, m.R.yy, m.R.zy};
    rows.add(T(0.0), zero3<T>(), r, dot(cross(m.w, r), m.v));
  }
};

// no velocity of the point at u (rate u') from the origin of B; height: residual of the row along z
template <class T> inline void rows_rolling(const RelativeMotion<T> &m, const Vec3<T> &u, const Vec3<T> &u_rate,
                                            const T &height, LoopConstraintRows<T> &rows) {
  const Vec3<T> bias = cross(m.w, u_rate);
  for (int k = 0; k < 3; ++k)
    rows.add(k == 2 ? height : T(0.0), cross(u, unit_axis<T>(k)), unit_axis<T>(k), component(bias, k));
}

struct RollingSphere {
  static constexpr const char *name = "rolling_sphere";
  template <class T> static void rows(const ModelData &model, const LoopConstraintData &constraint,
                                      const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    const auto radius = parameter_of<T>(model, constraint);
    rows_rolling(m, Vec3<T>{T(0.0), T(0.0), T(-radius)}, zero3<T>(), m.p.z - radius, rows);
  }
};

// a disc about the z axis n of B touches the plane at u = -r (e - c n) / s, c = e.n, s^2 = 1 - c^2, e the plane's
// normal
struct RollingDisc {
  static constexpr const char *name = "rolling_disc";
  template <class T> static void rows(const ModelData &model, const LoopConstraintData &constraint,
                                      const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    const auto radius = parameter_of<T>(model, constraint);
    const Vec3<T> e = unit_axis<T>(2), n{m.R.xz, m.R.yz, m.R.zz}, n_rate = cross(m.w, n);
    const T c = n.z, c_rate = n_rate.z, s = root(larger(1.0 - c * c, T(1e-24))), s_rate = -c * c_rate / s;
    const Vec3<T> down = e - scale(c, n);
    const Vec3<T> u = scale(-radius / s, down);
    const Vec3<T> u_rate =
        scale(radius / s, scale(c_rate, n) + scale(c, n_rate)) + scale(radius * s_rate / (s * s), down);
    rows_rolling(m, u, u_rate, m.p.z - radius * s, rows);
  }
};

// (3), (4): a point at p, velocity v, stays at an offset from a curve along its normal n, with derivatives by u
template <class T> inline void row_across(const CurvePoint<T> &at, const Vec3<T> *n, const Vec3<T> &d, const Vec3<T> &v,
                                          const auto &offset, LoopConstraintRows<T> &rows) {
  const T square = dot(at.c1, at.c1), pull = square - dot(at.c2, d);
  const T K = larger(pull, 1e-12 * square); // zero in the centre of curvature
  const T rate = dot(at.c1, v) / K, turn = dot(n[1], d);
  const T second = (2.0 * rate * dot(at.c2, v) + rate * rate * (dot(at.c3, d) - 3.0 * dot(at.c1, at.c2))) / K;
  rows.add(dot(n[0], d) - offset, zero3<T>(), n[0] + scale(turn / K, at.c1),
           2.0 * rate * dot(n[1], v) + second * turn + rate * rate * (dot(n[2], d) + dot(n[0], at.c2)));
}

// The normals of a curve that heads along (cos psi, sin psi) in the xy plane and climbs by gamma, with two derivatives:
// side = z x heading, height = tangent x side. The tangent is never along z.
template <class T> struct CurveNormals { Vec3<T> side[3], height[3]; };
template <class T> inline CurveNormals<T> curve_normals(const CurvePoint<T> &at) {
  const T run = root(at.c1.x * at.c1.x + at.c1.y * at.c1.y), velocity = root(dot(at.c1, at.c1));
  const T level = larger(run, T(1e-300));
  const Vec3<T> heading{at.c1.x / level, at.c1.y / level, T(0.0)}, side{-heading.y, heading.x, T(0.0)};
  const Vec3<T> tangent = scale(1.0 / larger(velocity, T(1e-300)), at.c1), height = cross(tangent, side);
  const T sine = tangent.z, cosine = height.z;
  const T psi1 = dot(side, at.c2) / level, psi2 = (dot(side, at.c3) - 2.0 * psi1 * dot(heading, at.c2)) / level;
  const Vec3<T> side1 = scale(-psi1, heading);
  const T gamma1 = dot(height, at.c2) / velocity;
  const Vec3<T> height1 = scale(-gamma1, tangent) - scale(sine * psi1, side);
  const T gamma2 = (dot(height, at.c3) + dot(height1, at.c2) - gamma1 * dot(tangent, at.c2)) / velocity;
  const Vec3<T> tangent1 = scale(cosine * psi1, side) + scale(gamma1, height);
  const Vec3<T> side2 = scale(-psi2, heading) - scale(psi1 * psi1, side);
  const Vec3<T> height2 = scale(-gamma2, tangent) - scale(gamma1, tangent1) -
                          scale(cosine * gamma1 * psi1 + sine * psi2, side) - scale(sine * psi1, side1);
  return {{side, side1, side2}, {height, height1, height2}};
}

struct PointOnCurve {
  static constexpr const char *name = "point_on_curve";
  static constexpr bool curved = true;
  template <class T> static void rows(const ModelData &model, const LoopConstraintData &constraint,
                                      const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    const CurvePoint<T> at = nearest_point(model, model.curves[constraint.curve], m.p);
    const CurveNormals<T> n = curve_normals(at);
    row_across(at, n.side, m.p - at.c, m.v, 0.0, rows);
    row_across(at, n.height, m.p - at.c, m.v, 0.0, rows);
  }
};

// the profile runs clockwise, so that its side is outside
struct CamRoller {
  static constexpr const char *name = "cam_roller";
  static constexpr bool curved = true;
  template <class T> static void rows(const ModelData &model, const LoopConstraintData &constraint,
                                      const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    const Vec3<T> p{m.p.x, m.p.y, T(0.0)}, v{m.v.x, m.v.y, T(0.0)};
    const CurvePoint<T> at = nearest_point(model, model.curves[constraint.curve], p);
    row_across(at, curve_normals(at).side, p - at.c, v, parameter_of<T>(model, constraint), rows);
  }
};

struct CamFlat {
  static constexpr const char *name = "cam_flat";
  static constexpr bool curved = true;
  template <class T> static void rows(const ModelData &model, const LoopConstraintData &constraint,
                                      const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    const Vec3<T> r{m.R.xy, m.R.yy, m.R.zy}, r_rate = cross(m.w, r);
    const CurvePoint<T> at = farthest_point(model, model.curves[constraint.curve], r);
    const Vec3<T> d = m.p - at.c;
    const T bend = dot(r, at.c2), least = -1e-12 * dot(at.c1, at.c1), slide = dot(r_rate, at.c1);
    rows.add(dot(r, d), cross(r, d), r,
             dot(cross(m.w, r_rate), d) + 2.0 * dot(r_rate, m.v) +
                 slide * slide / select(less(bend, least), bend, least));
  }
};

// no slip, then the contact; t turns by u' psi' along the side
struct CamRolling {
  static constexpr const char *name = "cam_rolling";
  static constexpr bool curved = true;
  template <class T> static void rows(const ModelData &model, const LoopConstraintData &constraint,
                                      const RelativeMotion<T> &m, LoopConstraintRows<T> &rows) {
    const auto radius = parameter_of<T>(model, constraint);
    const Vec3<T> p{m.p.x, m.p.y, T(0.0)}, v{m.v.x, m.v.y, T(0.0)};
    const CurvePoint<T> at = nearest_point(model, model.curves[constraint.curve], p);
    const CurveNormals<T> n = curve_normals(at);
    const Vec3<T> &side = n.side[0], heading{side.y, -side.x, T(0.0)}, d = p - at.c;
    const T square = dot(at.c1, at.c1), K = larger(square - dot(at.c2, d), 1e-12 * square);
    rows.add(T(0.0), Vec3<T>{T(0.0), T(0.0), T(radius)}, heading,
             -dot(at.c1, v) / K * dot(n.side[1], heading) * dot(side, v));
    row_across(at, n.side, d, v, radius, rows);
  }
};

// the number of a constraint is its place in this list
using ConstraintLibrary = Types<Distance, PointOnLine, PointOnPlane, Parallel, AxisAngle, AxisTurn, Skate,
                                RollingSphere, RollingDisc, PointOnCurve, CamRoller, CamFlat, CamRolling, Rope>;

} // namespace dalembert::DALEMBERT_ISA
