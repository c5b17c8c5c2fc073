// Hinges that close loops, in constraint form: 6 - nv rows between two frames A and B.
//
// With R, p the pose of B in A and omega, v its velocity seen from A, in axes of A (Sol 1983, (5.3.5)-(5.3.15), with the
// term that (5.3.14) omits, erratum: alpha seen from A is alpha_B - alpha_A - omega_A x omega):
//
//     residual  phi(R, p)          phi' = g_w . omega + g_v . v          phi'' = g_w . alpha + g_v . a + bias       (1)
//
//     along e          phi = e . p                        g_v = e
//     tilt about       phi = e . r, r a column of R       g_w = r x e         bias = e . (omega x (omega x r))
//     attitude         phi = 2 sgn(q0) vec q              g_w = q0 e + vec q x e      bias = e . (q0' omega + omega x vec q')
//     advance          phi = p_z - pitch theta, modulo a turn
//     distance         phi = |p| - length                 g_v = p / |p|
//     rolling          the point of B at u from its origin, which touches the plane z = 0 of A, has no velocity:
//                      g_v = e     g_w = u x e     bias = e . (omega x u'); along z this is the rate of the height,
//                      along x and y it has no residual (nonholonomic)
//     skate            no velocity along the y axis r of B: g_v = r     bias = (omega x r) . v    (nonholonomic)      (2)
//
// Curves and cam profiles c(u), fixed in A, touch at a point u that follows from R and p (curves.hpp). With d = p - c and
// n(u) normal to the curve, and what makes u move, c' . d = 0 or r . c' = 0, differentiated:
//
//     u' = c' . v / K     u'' = (c' . a + 2 u' c'' . v + u'^2 (c''' . d - 3 c' . c'')) / K     K = c' . c' - c'' . d     (3)
//
//     point on curve   phi = n . d              g_v = n + (n' . d) c' / K
//                      bias = 2 u' n' . v + u'' n' . d + u'^2 (n'' . d + n . c''), with u'' at a = 0
//     roller on cam    phi = n . d - radius     the same with n in the plane of the cam, where n' . d = 0
//     rolling on cam   and the point of the roller that touches has no velocity along the cam's heading t (nonholonomic):
//                      g_v = t     g_w = radius z     bias = t' . v, since the normal of the roller follows the heading
//     flat face on cam phi = r . d, r the y axis of B     g_w = r x d     g_v = r
//                      bias = (omega x (omega x r)) . d + 2 (omega x r) . v + ((omega x r) . c')^2 / (r . c'')            (4)
//
// Custom rows are programs (custom_rows.hpp); hinges in series are solved for their inner coordinates (chain.hpp).
//
// A row is a wrench [R_WA g_w; R_WA g_v] at the origin of B: it acts on B's body, and its opposite, at the same point, on
// A's. So a row of the Jacobian P is the wrench times the motions of the freedoms between the two ends:
//
//     P_k = +- wrench . S_k        + on the way to B, - on the way to A, nothing inward of where the ways meet       (5)
//
// A mode of a flexible body moves the node through which the way leads; where two ways part on one flexible body, its modes
// have S of the one node less S of the other.
#pragma once

#include "chain.hpp"
#include "curves.hpp"
#include "custom_rows.hpp"
#include "kinematics.hpp"
#include <initializer_list>

namespace dalembert::DALEMBERT_ISA {

// p has no component along axis k
template <class T> inline void row_along(const RelativeMotion<T> &m, int k, ChordRows<T> &rows) { rows.add(component(m.p, k), zero3<T>(), unit_axis<T>(k), T(0.0)); }

// column r of R has no component along axis k
template <class T> inline void row_tilt(const RelativeMotion<T> &m, const Vec3<T> &r, int k, ChordRows<T> &rows) {
  rows.add(component(r, k), cross(r, unit_axis<T>(k)), zero3<T>(), component(cross(m.w, cross(m.w, r)), k));
}

template <class T> inline void rows_attitude(const RelativeMotion<T> &m, ChordRows<T> &rows) {
  T q[4];
  quaternion_of(m.R, q);
  const Vec3<T> e{q[1], q[2], q[3]};
  const T scalar_rate = -0.5 * dot(m.w, e);
  const Vec3<T> bias = scale(scalar_rate, m.w) + scale(0.5, cross(m.w, cross(m.w, e)));
  for (int k = 0; k < 3; ++k)
    rows.add(2.0 * component(e, k), scale(q[0], unit_axis<T>(k)) + cross(e, unit_axis<T>(k)), zero3<T>(), component(bias, k));
}

// the turn theta about z is atan2(s, c) with s = R_yx - R_xy, c = R_xx + R_yy
template <class T> inline void row_advance(const RelativeMotion<T> &m, double pitch, ChordRows<T> &rows) {
  const Mat3<T> &R = m.R;
  const Vec3<T> &w = m.w;
  const T s = R.yx - R.xy, c = R.xx + R.yy, n = s * s + c * c;
  const T a = -c * R.zx + s * R.zy, b = -c * R.zy - s * R.zx;
  const T s_rate = w.z * c - w.x * R.zx - w.y * R.zy, c_rate = -w.z * s + w.y * R.zx - w.x * R.zy;
  const T zx_rate = w.x * R.yx - w.y * R.xx, zy_rate = w.x * R.yy - w.y * R.xy, n_rate = 2.0 * (c * c_rate + s * s_rate);
  const T a_rate = -c_rate * R.zx - c * zx_rate + s_rate * R.zy + s * zy_rate;
  const T b_rate = -c_rate * R.zy - c * zy_rate - s_rate * R.zx - s * zx_rate;
  const T theta_bias = ((a_rate * n - a * n_rate) * w.x + (b_rate * n - b * n_rate) * w.y) / (n * n);
  const double turn = 6.283185307179586 * pitch;
  const T gap = m.p.z - pitch * arctan2(s, c);
  const T phi = turn != 0.0 ? gap - turn * std::nearbyint(value_of(gap) / turn) : gap;
  rows.add(phi, scale(-pitch, Vec3<T>{a / n, b / n, T(1.0)}), unit_axis<T>(2), -pitch * theta_bias);
}

template <class T> inline void row_distance(const RelativeMotion<T> &m, double length, ChordRows<T> &rows) {
  const T distance = root(dot(m.p, m.p)), inverse = 1.0 / larger(distance, T(1e-300));
  const Vec3<T> u = scale(inverse, m.p);
  const T along = dot(u, m.v);
  rows.add(distance - length, zero3<T>(), u, (dot(m.v, m.v) - along * along) * inverse);
}

// no velocity of the point at u (rate u') from the origin of B; height: residual of the row along z
template <class T> inline void rows_rolling(const RelativeMotion<T> &m, const Vec3<T> &u, const Vec3<T> &u_rate, const T &height, ChordRows<T> &rows) {
  const Vec3<T> bias = cross(m.w, u_rate);
  for (int k = 0; k < 3; ++k)
    rows.add(k == 2 ? height : T(0.0), cross(u, unit_axis<T>(k)), unit_axis<T>(k), component(bias, k));
}

// a disc about the z axis n of B touches the plane at u = -r (e - c n) / s, c = e.n, s^2 = 1 - c^2, e the plane's normal
template <class T> inline void rows_rolling_disc(const RelativeMotion<T> &m, double radius, ChordRows<T> &rows) {
  const Vec3<T> e = unit_axis<T>(2), n{m.R.xz, m.R.yz, m.R.zz}, n_rate = cross(m.w, n);
  const T c = n.z, c_rate = n_rate.z, s = root(larger(1.0 - c * c, T(1e-24))), s_rate = -c * c_rate / s;
  const Vec3<T> down = e - scale(c, n);
  const Vec3<T> u = scale(-radius / s, down);
  const Vec3<T> u_rate = scale(radius / s, scale(c_rate, n) + scale(c, n_rate)) + scale(radius * s_rate / (s * s), down);
  rows_rolling(m, u, u_rate, m.p.z - radius * s, rows);
}

template <class T> inline void row_skate(const RelativeMotion<T> &m, ChordRows<T> &rows) {
  const Vec3<T> r{m.R.xy, m.R.yy, m.R.zy};
  rows.add(T(0.0), zero3<T>(), r, dot(cross(m.w, r), m.v));
}

// (3), (4): a point at p, velocity v, stays at an offset from a curve along its normal n, with derivatives by u
template <class T> inline void row_across(const CurvePoint<T> &at, const Vec3<T> *n, const Vec3<T> &d, const Vec3<T> &v, double offset,
                       ChordRows<T> &rows) {
  const T square = dot(at.c1, at.c1), pull = square - dot(at.c2, d);
  const T K = larger(pull, 1e-12 * square); // zero in the centre of curvature
  const T rate = dot(at.c1, v) / K, turn = dot(n[1], d);
  const T second = (2.0 * rate * dot(at.c2, v) + rate * rate * (dot(at.c3, d) - 3.0 * dot(at.c1, at.c2))) / K;
  rows.add(dot(n[0], d) - offset, zero3<T>(), n[0] + scale(turn / K, at.c1),
           2.0 * rate * dot(n[1], v) + second * turn + rate * rate * (dot(n[2], d) + dot(n[0], at.c2)));
}

// The normals of a curve that heads along (cos psi, sin psi) in the xy plane and climbs by gamma, with two derivatives:
// side = z x heading, height = tangent x side. The tangent is never along z.
template <class T> struct CurveNormals {
  Vec3<T> side[3], height[3];
};
template <class T> inline CurveNormals<T> curve_normals(const CurvePoint<T> &at) {
  const T run = root(at.c1.x * at.c1.x + at.c1.y * at.c1.y), speed = root(dot(at.c1, at.c1));
  const T level = larger(run, T(1e-300));
  const Vec3<T> heading{at.c1.x / level, at.c1.y / level, T(0.0)}, side{-heading.y, heading.x, T(0.0)};
  const Vec3<T> tangent = scale(1.0 / larger(speed, T(1e-300)), at.c1), height = cross(tangent, side);
  const T sine = tangent.z, cosine = height.z;
  const T psi1 = dot(side, at.c2) / level, psi2 = (dot(side, at.c3) - 2.0 * psi1 * dot(heading, at.c2)) / level;
  const Vec3<T> side1 = scale(-psi1, heading);
  const T gamma1 = dot(height, at.c2) / speed;
  const Vec3<T> height1 = scale(-gamma1, tangent) - scale(sine * psi1, side);
  const T gamma2 = (dot(height, at.c3) + dot(height1, at.c2) - gamma1 * dot(tangent, at.c2)) / speed;
  const Vec3<T> tangent1 = scale(cosine * psi1, side) + scale(gamma1, height);
  const Vec3<T> side2 = scale(-psi2, heading) - scale(psi1 * psi1, side);
  const Vec3<T> height2 = scale(-gamma2, tangent) - scale(gamma1, tangent1) -
                               scale(cosine * gamma1 * psi1 + sine * psi2, side) - scale(sine * psi1, side1);
  return {{side, side1, side2}, {height, height1, height2}};
}

template <class T> inline void rows_point_on_curve(const ModelData &model, const CurveData &curve, const RelativeMotion<T> &m, ChordRows<T> &rows) {
  const CurvePoint<T> at = nearest_point(model, curve, m.p);
  const CurveNormals<T> n = curve_normals(at);
  row_across(at, n.side, m.p - at.c, m.v, 0.0, rows);
  row_across(at, n.height, m.p - at.c, m.v, 0.0, rows);
}

// the profile runs clockwise, so that its side is outside
template <class T> inline void row_cam_roller(const ModelData &model, const CurveData &curve, const RelativeMotion<T> &m, double radius, ChordRows<T> &rows) {
  const Vec3<T> p{m.p.x, m.p.y, T(0.0)}, v{m.v.x, m.v.y, T(0.0)};
  const CurvePoint<T> at = nearest_point(model, curve, p);
  row_across(at, curve_normals(at).side, p - at.c, v, radius, rows);
}

// no slip, then the contact; t turns by u' psi' along the side
template <class T> inline void rows_cam_rolling(const ModelData &model, const CurveData &curve, const RelativeMotion<T> &m, double radius, ChordRows<T> &rows) {
  const Vec3<T> p{m.p.x, m.p.y, T(0.0)}, v{m.v.x, m.v.y, T(0.0)};
  const CurvePoint<T> at = nearest_point(model, curve, p);
  const CurveNormals<T> n = curve_normals(at);
  const Vec3<T> &side = n.side[0], heading{side.y, -side.x, T(0.0)}, d = p - at.c;
  const T square = dot(at.c1, at.c1), K = larger(square - dot(at.c2, d), 1e-12 * square);
  rows.add(T(0.0), Vec3<T>{T(0.0), T(0.0), T(radius)}, heading, -dot(at.c1, v) / K * dot(n.side[1], heading) * dot(side, v));
  row_across(at, n.side, d, v, radius, rows);
}

template <class T> inline void row_cam_flat(const ModelData &model, const CurveData &curve, const RelativeMotion<T> &m, ChordRows<T> &rows) {
  const Vec3<T> r{m.R.xy, m.R.yy, m.R.zy}, r_rate = cross(m.w, r);
  const CurvePoint<T> at = farthest_point(model, curve, r);
  const Vec3<T> d = m.p - at.c;
  const T bend = dot(r, at.c2), least = -1e-12 * dot(at.c1, at.c1), slide = dot(r_rate, at.c1);
  rows.add(dot(r, d), cross(r, d), r,
           dot(cross(m.w, r_rate), d) + 2.0 * dot(r_rate, m.v) + slide * slide / select(less(bend, least), bend, least));
}

// the rows of a closure between frames, in the order of ChordData
template <class T>
inline void chord_rows(const ModelData &model, Workspace<T> &ws, const ChordData &chord, const RelativeMotion<T> &m, ChordRows<T> &rows) {
  const Mat3<T> &R = m.R;
  const Vec3<T> y{R.xy, R.yy, R.zy}, z{R.xz, R.yz, R.zz};
  rows.count = 0;
  const auto along = [&](bool x, bool y, bool z) {
    const bool wanted[3] = {x, y, z};
    for (int k = 0; k < 3; ++k)
      if (wanted[k])
        row_along(m, k, rows);
  };
  const auto tilts = [&] {
    row_tilt(m, z, 0, rows);
    row_tilt(m, z, 1, rows);
  };
  switch (chord.kind) {
  case Closure::fixed:
    along(true, true, true);
    return rows_attitude(m, rows);
  case Closure::revolute:
    along(true, true, true);
    return tilts();
  case Closure::prismatic:
    along(true, true, false);
    return rows_attitude(m, rows);
  case Closure::screw:
    along(true, true, false);
    tilts();
    return row_advance(m, chord.parameter, rows);
  case Closure::cylindrical:
    along(true, true, false);
    return tilts();
  case Closure::universal:
    along(true, true, true);
    return row_tilt(m, y, 0, rows);
  case Closure::planar:
    along(false, false, true);
    return tilts();
  case Closure::spherical:
    return along(true, true, true);
  case Closure::distance:
    return row_distance(m, chord.parameter, rows);
  case Closure::point_on_line:
    return along(true, true, false);
  case Closure::point_on_plane:
    return along(false, false, true);
  case Closure::parallel:
    return tilts();
  case Closure::angle:
    row_tilt(m, y, 0, rows);
    rows.residual[0] = rows.residual[0] - chord.parameter;
    return;
  case Closure::skate:
    return row_skate(m, rows);
  case Closure::rolling_sphere:
    return rows_rolling(m, Vec3<T>{T(0.0), T(0.0), T(-chord.parameter)}, zero3<T>(), m.p.z - chord.parameter, rows);
  case Closure::rolling_disc:
    return rows_rolling_disc(m, chord.parameter, rows);
  case Closure::point_on_curve:
    return rows_point_on_curve(model, model.curves[chord.curve], m, rows);
  case Closure::cam_roller:
    return row_cam_roller(model, model.curves[chord.curve], m, chord.parameter, rows);
  case Closure::cam_rolling:
    return rows_cam_rolling(model, model.curves[chord.curve], m, chord.parameter, rows);
  case Closure::cam_flat:
    return row_cam_flat(model, model.curves[chord.curve], m, rows);
  case Closure::custom:
    return rows_custom(model, ws, chord, m, rows);
  case Closure::chain:
    return rows_chain(model, ws, chord, m, rows);
  default:
    return;
  }
}

// motion of a frame fixed in a body, world axes
template <class T> struct FrameMotion {
  Pose<T> X;
  Vec3<T> w, v, alpha, a;
};

template <class T> inline FrameMotion<T> frame_motion(const Workspace<T> &ws, int body, const double *R_FM, const double *p_FM) {
  const Pose<T> &X = ws.X_W[body];
  const Vec3<double> &p = as_vec(p_FM);
  const Vec3<T> &w = ws.w[body];
  const Motion<T> &A = ws.A[body];
  return {compose(X, Pose<T>{lift<T>(as_mat(R_FM)), lift<T>(p)}), mul(X.R, w), mul(X.R, ws.u[body] + cross(w, p)), mul(X.R, A.w),
          mul(X.R, A.v + cross(A.w, p) + cross(w, cross(w, p)))};
}

// a chord's ends: frames A and B, B seen from A in axes of A, and its accelerations seen from there
template <class T> struct ChordMotion {
  FrameMotion<T> A, B;
  RelativeMotion<T> relative;
  Vec3<T> alpha, a;
};
template <class T> inline ChordMotion<T> chord_motion(const Workspace<T> &ws, const ChordData &chord) {
  ChordMotion<T> m;
  m.A = frame_motion(ws, chord.body_a, chord.R_FA, chord.p_FA);
  m.B = frame_motion(ws, chord.body_b, chord.R_FB, chord.p_FB);
  const FrameMotion<T> &A = m.A, &B = m.B;
  const Vec3<T> r = B.X.p - A.X.p, w = B.w - A.w, u = B.v - A.v - cross(A.w, r);
  const Mat3<T> &R_A = A.X.R;
  m.relative = {mul_ta(R_A, B.X.R), mul_t(R_A, r), mul_t(R_A, w), mul_t(R_A, u)};
  m.alpha = mul_t(R_A, B.alpha - A.alpha - cross(A.w, w));
  m.a = mul_t(R_A, B.a - A.a - cross(A.alpha, r) - cross(A.w, cross(A.w, r)) - scale(2.0, cross(A.w, u)));
  return m;
}

// sum of coefficient times coordinate = offset: the rows of couplings are constant
inline double coupling_residual(const ModelData &m, const ChordData &chord, const double *q) {
  double sum = -chord.parameter;
  for (int s = chord.support; s < chord.support + chord.supports; ++s)
    sum += m.support_factor[s] * q[m.coordinate[m.support[s]]];
  return sum;
}

// What evaluate_chords is asked for; null where it is not.
struct ChordOutputs {
  double *residual = nullptr; // nc
  double *bias = nullptr;     // nc; needs v
  double *values = nullptr;   // Jacobian blocks: of each chord, row by row over its support
  double *wrenches = nullptr; // nc x 6: [moment; force] of each row at the origin of B, world axes
  double *leverage = nullptr; // nc; with values: largest Jacobian entry as a part of what its lever arms could give
  double *drift = nullptr;    // nc: rates of the rows while nothing moves, because they depend on time
  double *opening = nullptr;  // 1: how far the hinges among the chords are open, as a part of their loops
  const unsigned char *active = nullptr; // of each chord, on entry; rows of others are zero and demand nothing
};

inline void clear_chord(const ChordData &chord, const ChordOutputs &out) {
  for (int j = chord.row; j < chord.row + chord.rows; ++j) {
    for (double *each : {out.residual, out.bias, out.leverage, out.drift})
      if (each)
        each[j] = 0.0;
    for (int c = 0; out.wrenches && c < 6; ++c)
      out.wrenches[6 * j + c] = 0.0;
  }
  for (std::int64_t k = 0; out.values && k < std::int64_t(chord.rows) * chord.supports; ++k)
    out.values[chord.values + k] = 0.0;
}

// What freedom f of body i does to a point, world axes; of a flexible body, by the node `via` through which the way leads
// (0: none). reach: largest part of it that is no turn.
struct FreedomMotion {
  Vec3<double> w, v;
  double reach;
};
inline void add_column(const Workspace<double> &ws, const Motion<double> &h, int i, double sign, const Vec3<double> &point, FreedomMotion &S) {
  const Mat3<double> &R = ws.X_W[i].R;
  const Vec3<double> w = scale(sign, mul(R, h.w));
  S.w += w;
  S.v += scale(sign, mul(R, h.v)) + cross(w, point - ws.X_W[i].p);
  S.reach += std::sqrt(dot(h.v, h.v));
}
inline FreedomMotion freedom_motion(const ModelData &m, const Workspace<double> &ws, int i, int f, int via, const Vec3<double> &point) {
  const BodyData &b = m.bodies[i];
  FreedomMotion S{{0, 0, 0}, {0, 0, 0}, 0.0};
  if (b.moves)
    add_column(ws, column(b, ws.H + b.H, f), i, 1.0, point, S);
  if (b.kind == Hinge::modal && via && m.bodies[via].kind == Hinge::node)
    add_column(ws, ws.H[m.bodies[via].H + f], via, 1.0, point, S);
  return S;
}

// the node of flexible body `meet` on the way from ground to `end`; 0 if the way leads through none
inline int node_before(const ModelData &m, int end, int meet) {
  int i = end;
  while (i != meet && m.bodies[i].parent != meet)
    i = m.bodies[i].parent;
  return m.bodies[i].kind == Hinge::node && i != meet ? i : 0;
}

// the rows of all chords; v may be null unless the bias is wanted
inline void evaluate_chords(const ModelData &m, Workspace<double> &ws, const double *q, const double *v, const ChordOutputs &out) {
  const auto [residual, bias, values, wrenches, leverage, drift, opening, active] = out;
  if (opening)
    *opening = 0.0;
  ground(m, ws, false);
  for (int i = 1; i <= m.nb; ++i) {
    position(m, ws, q, i);
    world_pose(m, ws, i);
    if (!v) {
      ws.w[i] = ws.u[i] = ws.A[i].w = ws.A[i].v = {0, 0, 0};
      continue;
    }
    velocity(m, ws, q, v, i);
    linear_velocity(m, ws, v, i);
    coasting(m, ws, i);
  }
  ChordRows<double> rows;
  rows.moving = v != nullptr;
  for (int k = 0; k < m.chord_count; ++k) {
    const ChordData &chord = m.chords[k];
    if (active && !active[k]) {
      clear_chord(chord, out);
      continue;
    }
    if (chord.kind == Closure::coupling) {
      if (residual)
        residual[chord.row] = coupling_residual(m, chord, q);
      if (bias)
        bias[chord.row] = 0.0;
      if (leverage)
        leverage[chord.row] = 1.0;
      if (drift)
        drift[chord.row] = 0.0;
      for (int c = 0; wrenches && c < 6; ++c)
        wrenches[6 * chord.row + c] = 0.0;
      for (int s = 0; values && s < chord.supports; ++s)
        values[chord.values + s] = m.support_factor[chord.support + s];
      continue;
    }
    const ChordMotion<double> motion = chord_motion(ws, chord);
    const FrameMotion<double> &B = motion.B;
    const Mat3<double> &R_A = motion.A.X.R;
    const Vec3<double> &alpha = motion.alpha, &a = motion.a;
    chord_rows(m, ws, chord, motion.relative, rows);
    for (int j = 0; j < rows.count; ++j) {
      if (residual)
        residual[chord.row + j] = rows.residual[j];
      if (bias)
        bias[chord.row + j] = dot(rows.g[j].w, alpha) + dot(rows.g[j].v, a) + rows.bias[j];
      if (drift)
        drift[chord.row + j] = rows.drift[j];
    }
    // (5): the wrenches, then every freedom of the support
    Vec3<double> moment[6], force[6];
    for (int j = 0; j < rows.count; ++j) {
      moment[j] = mul(R_A, rows.g[j].w);
      force[j] = mul(R_A, rows.g[j].v);
      if (wrenches) {
        double *to = wrenches + 6 * (chord.row + j);
        to[0] = moment[j].x, to[1] = moment[j].y, to[2] = moment[j].z;
        to[3] = force[j].x, to[4] = force[j].y, to[5] = force[j].z;
      }
    }
    if (!values)
      continue;
    double *block = values + chord.values;
    double length = std::sqrt(dot(as_vec(chord.p_FA), as_vec(chord.p_FA))) + std::sqrt(dot(as_vec(chord.p_FB), as_vec(chord.p_FB)));
    for (const int end : {chord.body_b, chord.body_a})
      for (int i = end; i; i = m.bodies[i].parent)
        length += std::sqrt(dot(ws.X[i].p, ws.X[i].p));
    for (int j = 0; leverage && j < rows.count; ++j)
      leverage[chord.row + j] = 0.0;
    if (opening && (chord.kind <= Closure::free || chord.kind == Closure::chain))
      for (int j = 0; j < rows.count; ++j) {
        const bool displacement = dot(rows.g[j].v, rows.g[j].v) > 0.0;
        const double part = std::fabs(rows.residual[j]) / (displacement ? (length > 0.0 ? length : 1.0) : 1.0);
        *opening = part > *opening ? part : *opening;
      }
    int at = 0;
    const auto enter = [&](const FreedomMotion &S) {
      const double sign = m.support_factor[chord.support + at];
      const double turn = std::sqrt(dot(S.w, S.w)), reach = S.reach + turn * length;
      for (int j = 0; j < rows.count; ++j) {
        const double entry = dot(moment[j], S.w) + dot(force[j], S.v);
        block[j * chord.supports + at] = sign * entry;
        if (!leverage)
          continue;
        const double most = std::sqrt(dot(moment[j], moment[j])) * turn + std::sqrt(dot(force[j], force[j])) * reach;
        if (std::fabs(entry) > leverage[chord.row + j] * most)
          leverage[chord.row + j] = std::fabs(entry) / most;
      }
      ++at;
    };
    for (const int end : {chord.body_b, chord.body_a})
      for (int i = end, via = 0; at < chord.supports && i && i != chord.meet; via = i, i = m.bodies[i].parent) {
        const BodyData &b = m.bodies[i];
        if (b.nv && m.support[chord.support + at] != b.v)
          break; // the ways have met
        for (int f = 0; f < b.nv; ++f)
          enter(freedom_motion(m, ws, i, f, via, B.X.p));
      }
    if (chord.meet) {
      const int to_b = node_before(m, chord.body_b, chord.meet), to_a = node_before(m, chord.body_a, chord.meet);
      for (int f = 0; f < m.bodies[chord.meet].nv; ++f) {
        FreedomMotion S{{0, 0, 0}, {0, 0, 0}, 0.0};
        if (to_b)
          add_column(ws, ws.H[m.bodies[to_b].H + f], to_b, 1.0, B.X.p, S);
        if (to_a)
          add_column(ws, ws.H[m.bodies[to_a].H + f], to_a, -1.0, B.X.p, S);
        enter(S);
      }
    }
  }
}

} // namespace dalembert::DALEMBERT_ISA
