// Rows of (1) in kinematics/ik_problem.hpp for one configuration of any scalar.
#pragma once

#include "constraints/loop_constraints.hpp"
#include "kinematics/ik_problem.hpp"
#include "scalar/arena.hpp"
#include "tree/outputs.hpp"
#include <initializer_list>
#include <utility>

namespace dalembert::DALEMBERT_ISA {

template <class T> struct IkWorkspace {
  Workspace<T> ws;
  T *values, *residual; // of closures
  T *line;              // nv
  T *pose, *base;       // 12 each
  T *moved, *carried;   // 6 x nv each
  T *target;            // of each goal: what is wanted (9), what is meant (3)
};

template <class T>
std::size_t lay_out(const ModelData &m, const IkProblem &problem, std::byte *start, IkWorkspace<T> &work) {
  using DALEMBERT_ISA::lay_out;
  Arena arena{start};
  arena.skip(lay_out(m, start, work.ws));
  const std::size_t nv = std::size_t(m.nv);
  work.values = arena.take<T>(std::size_t(m.values));
  work.residual = arena.take<T>(std::size_t(m.nc));
  work.line = arena.take<T>(nv);
  work.pose = arena.take<T>(12);
  work.base = arena.take<T>(12);
  work.moved = arena.take<T>(6 * nv);
  work.carried = arena.take<T>(6 * nv);
  work.target = arena.take<T>(12 * std::size_t(problem.goals));
  return arena.used;
}

// ---- turns

template <class T> DALEMBERT_INLINE Vec3<T> three(const T *a) { return {a[0], a[1], a[2]}; }
template <class T> DALEMBERT_INLINE Mat3<T> nine(const T *a) {
  return {a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]};
}
template <class T> DALEMBERT_INLINE T length(const Vec3<T> &a) { return root(dot(a, a)); }

// the shortest turn that takes the unit vector a to d; any axis across leads to what is opposed
template <class T> inline Vec3<T> turn_between(const Vec3<T> &a, const Vec3<T> &d) {
  Vec3<T> n = cross(a, d);
  const T cosine = dot(a, d);
  T sine = length(n);
  const auto opposed = both(less(sine, T(1e-9)), less(cosine, T(0.0)));
  const T x = absolute(a.x), y = absolute(a.y), z = absolute(a.z);
  const auto along_x = both(opposite(less(y, x)), opposite(less(z, x))), along_y = opposite(less(z, y));
  const Vec3<T> least{select(along_x, T(1.0), T(0.0)), select(along_x, T(0.0), select(along_y, T(1.0), T(0.0))),
                      select(along_x, T(0.0), select(along_y, T(0.0), T(1.0)))};
  const Vec3<T> across = cross(a, least);
  n = {select(opposed, across.x, n.x), select(opposed, across.y, n.y), select(opposed, across.z, n.z)};
  sine = select(opposed, T(0.0), sine);
  const T size = length(n);
  const auto none = less(size, T(1e-300));
  return scale(select(none, T(0.0), arctan2(sine, cosine) / select(none, T(1.0), size)), n);
}

template <class T> DALEMBERT_INLINE const T &entry(const Mat3<T> &R, int i, int j) { return (&R.xx)[3 * i + j]; }
template <class T> DALEMBERT_INLINE Vec3<T> column_of(const Mat3<T> &R, int j) {
  return {entry(R, 0, j), entry(R, 1, j), entry(R, 2, j)};
}

// three turns about the axes of letters
template <class T> inline Vec3<T> angles_of(const Mat3<T> &R, const std::int32_t *letters) {
  const int i = letters[0], j = letters[1];
  const double sign = (j - i + 3) % 3 == 1 ? 1.0 : -1.0;
  if (letters[0] == letters[2]) {
    const int k = 3 - i - j;
    const T across = root(entry(R, i, j) * entry(R, i, j) + entry(R, i, k) * entry(R, i, k));
    return {arctan2(entry(R, j, i), -sign * entry(R, k, i)), arctan2(across, entry(R, i, i)),
            arctan2(entry(R, i, j), sign * entry(R, i, k))};
  }
  const int k = letters[2];
  const T across = root(entry(R, i, i) * entry(R, i, i) + entry(R, i, j) * entry(R, i, j));
  return {arctan2(-sign * entry(R, j, k), entry(R, k, k)), arctan2(sign * entry(R, i, k), across),
          arctan2(-sign * entry(R, i, j), entry(R, i, i))};
}

// a turn about a coordinate axis
template <class T> inline Mat3<T> turn_about(int axis, const T &angle) {
  T s, c;
  sincos(angle, s, c);
  const int j = (axis + 1) % 3, k = (axis + 2) % 3;
  Mat3<T> R{T(0.0), T(0.0), T(0.0), T(0.0), T(0.0), T(0.0), T(0.0), T(0.0), T(0.0)};
  T *at = &R.xx;
  at[4 * axis] = T(1.0);
  at[4 * j] = at[4 * k] = c;
  at[3 * k + j] = s;
  at[3 * j + k] = -s;
  return R;
}

// rows of E^(-1) in (4); the axes are kept from coinciding
template <class T> inline Mat3<T> rates_of_angles(Vec3<T> angles, const std::int32_t *letters) {
  const auto axes = [&](Vec3<T> *e) {
    const Mat3<T> first = turn_about(letters[0], angles.x);
    e[0] = {T(letters[0] == 0), T(letters[0] == 1), T(letters[0] == 2)};
    e[1] = column_of(first, letters[1]);
    e[2] = mul(first, column_of(turn_about(letters[1], angles.y), letters[2]));
    return dot(e[0], cross(e[1], e[2]));
  };
  Vec3<T> e[3];
  const auto near = less(absolute(axes(e)), T(1e-6));
  angles.y = select(near, angles.y + 1e-5, angles.y);
  const T inverse = 1.0 / axes(e);
  const Vec3<T> a = scale(inverse, cross(e[1], e[2])), b = scale(inverse, cross(e[2], e[0])),
                c = scale(inverse, cross(e[0], e[1]));
  return {a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z};
}

// ---- what is seen

// pose and, unless null, J of a point in the world
template <class T> inline void evaluate_target(const ModelData &m, IkWorkspace<T> &work, const PointsData &point,
                                               const T *q, T *pose, T *J) {
  if (J)
    point_jacobians(m, work.ws, point, q, J);
  if (!J || point.nodes)
    return point_poses(m, work.ws, point, q, pose);
  const Mat3<double> R = nine(point.frames); // the frames stand in the workspace
  const Pose<T> X = compose(work.ws.X_W[point.body], Pose<double>{R, three(point.frames + 9)});
  for (int k = 0; k < 9; ++k)
    pose[k] = (&X.R.xx)[k];
  pose[9] = X.p.x, pose[10] = X.p.y, pose[11] = X.p.z;
}

// pose and, if wanted, J of a marker, in its frame of reference
template <class T> inline void marker_pose_and_jacobian(const ModelData &m, IkWorkspace<T> &work, const IkContext &view,
                                                        const T *q, bool moving) {
  evaluate_target(m, work, view.marker, q, work.pose, moving ? work.moved : nullptr);
  if (!view.relative)
    return;
  evaluate_target(m, work, view.reference, q, work.base, moving ? work.carried : nullptr);
  const Mat3<T> base = nine(work.base), R = mul_ta(base, nine(work.pose));
  const Vec3<T> d = three(work.pose + 9) - three(work.base + 9), p = mul_t(base, d);
  for (int k = 0; k < 9; ++k)
    work.pose[k] = (&R.xx)[k];
  work.pose[9] = p.x, work.pose[10] = p.y, work.pose[11] = p.z;
  if (!moving)
    return;
  T *J = work.moved;
  const T *J_0 = work.carried;
  for (int f = 0; f < m.nv; ++f) {
    const auto of = [&](const T *from, int at) {
      return Vec3<T>{from[at * m.nv + f], from[(at + 1) * m.nv + f], from[(at + 2) * m.nv + f]};
    };
    const Vec3<T> w_0 = of(J_0, 0), w = mul_t(base, of(J, 0) - w_0),
                  u = mul_t(base, of(J, 3) - of(J_0, 3) - cross(w_0, d));
    J[f] = w.x, J[m.nv + f] = w.y, J[2 * m.nv + f] = w.z;
    J[3 * m.nv + f] = u.x, J[4 * m.nv + f] = u.y, J[5 * m.nv + f] = u.z;
  }
}

// ---- rows

// three rows of a goal, its view having been seen
template <class T>
inline void goal_rows(const ModelData &m, const IkProblem &problem, IkWorkspace<T> &work, int number, T *r, T *J) {
  const IkTarget &goal = problem.goal[number];
  const T *wanted = work.target + 12 * number, *meant = wanted + 9;
  const Mat3<T> R = nine(work.pose);
  const Vec3<double> own{goal.axis[0], goal.axis[1], goal.axis[2]};
  Vec3<T> away;
  // of three rows of the marker's J
  Mat3<T> map{T(1.0), T(0.0), T(0.0), T(0.0), T(1.0), T(0.0), T(0.0), T(0.0), T(1.0)};
  switch (goal.kind) {
  case GoalKind::position:
    away = three(work.pose + 9) - three(wanted);
    break;
  case GoalKind::rotation:
    away = rotation_vector(mul_tb(R, nine(wanted)));
    break;
  case GoalKind::angles: {
    Vec3<T> angles = angles_of(R, goal.letters), target = three(wanted);
    if (J)
      map = rates_of_angles(angles, goal.letters);
    if (goal.backwards) {
      std::swap(angles.x, angles.z);
      std::swap(map.xx, map.zx), std::swap(map.xy, map.zy), std::swap(map.xz, map.zz);
    }
    away = angles - target;
    for (T *each : {&away.x, &away.y, &away.z})
      *each = *each - 6.283185307179586477 * nearest(*each * 0.15915494309189533577);
    break;
  }
  case GoalKind::direction: {
    const Vec3<T> a = mul(R, own);
    away = -turn_between(a, three(wanted));
    map = {1.0 - a.x * a.x, -a.x * a.y, -a.x * a.z, -a.x * a.y,     1.0 - a.y * a.y,
           -a.y * a.z,      -a.x * a.z, -a.y * a.z, 1.0 - a.z * a.z};
    break;
  }
  }
  const T rows[3] = {away.x, away.y, away.z};
  for (int i = 0; i < 3; ++i)
    r[i] = goal.scale * (meant[i] * rows[i]);
  if (!J)
    return;
  const bool plain = goal.kind == GoalKind::position || goal.kind == GoalKind::rotation;
  const T *from = work.moved + (goal.kind == GoalKind::position ? 3 * m.nv : 0);
  for (int k = 0; k < problem.columns; ++k) {
    const int f = problem.column[k];
    const Vec3<T> h{from[f], from[m.nv + f], from[2 * m.nv + f]}, mapped = plain ? h : mul(map, h);
    const double factor = goal.scale * problem.metric[k];
    J[k] = factor * (meant[0] * mapped.x);
    J[problem.columns + k] = factor * (meant[1] * mapped.y);
    J[2 * problem.columns + k] = factor * (meant[2] * mapped.z);
  }
}

template <class T>
inline void hard_rows(const ModelData &m, const IkProblem &problem, IkWorkspace<T> &work, const T *q, T *r, T *J) {
  evaluate_loop_constraints<T>(m, work.ws, q, nullptr,
                               {.residual = work.residual, .values = J ? work.values : nullptr});
  int row = 0;
  for (; row < problem.closures; ++row)
    r[row] = problem.row_scale[row] * work.residual[problem.closing[row]];
  for (std::ptrdiff_t k = 0; J && k < std::ptrdiff_t(problem.hard()) * problem.columns; ++k)
    J[k] = T(0.0);
  for (int k = 0, at = 0; J && k < m.loop_constraint_count; ++k) { // closing rows come in order
    const LoopConstraintData &constraint = m.loop_constraints[k];
    for (; at < problem.closures && problem.closing[at] < constraint.row + constraint.rows; ++at) {
      const T *block =
          work.values + constraint.values + std::ptrdiff_t(problem.closing[at] - constraint.row) * constraint.supports;
      for (int f = 0; f < m.nv; ++f)
        work.line[f] = T(0.0);
      for (int s = 0; s < constraint.supports; ++s)
        work.line[m.support[constraint.support + s]] = block[s];
      for (int c = 0; c < problem.columns; ++c)
        J[std::ptrdiff_t(at) * problem.columns + c] =
            problem.row_scale[at] * problem.metric[c] * work.line[problem.column[c]];
    }
  }
  for (int k = 0; k < problem.limits; ++k, ++row) {
    const CutJointLimit &limit = problem.cut[k];
    T coordinate;
    cut_coordinate(m, work.ws, m.loop_constraints[limit.constraint], limit.velocity, coordinate,
                   J ? work.line : nullptr);
    const double factor = limit.sign * limit.scale;
    r[row] = factor * (coordinate - limit.bound);
    for (int c = 0; J && c < problem.columns; ++c)
      J[std::ptrdiff_t(row) * problem.columns + c] = factor * problem.metric[c] * work.line[problem.column[c]];
  }
}

// r (m) and, unless null, J (m x columns) at q; targets stand in the workspace
template <class T>
inline void ik_rows(const ModelData &m, const IkProblem &problem, IkWorkspace<T> &work, const T *q, T *r, T *J) {
  work.ws.t = T(problem.t);
  if (problem.hard())
    hard_rows(m, problem, work, q, r, J);
  int seen = -1;
  for (int k = 0; k < problem.goals; ++k) {
    const int view = problem.goal[k].view, row = problem.hard() + 3 * k;
    if (view != seen)
      marker_pose_and_jacobian(m, work, problem.view[view], q, J != nullptr);
    seen = view;
    goal_rows(m, problem, work, k, r + row, J ? J + std::ptrdiff_t(row) * problem.columns : nullptr);
  }
}

} // namespace dalembert::DALEMBERT_ISA
