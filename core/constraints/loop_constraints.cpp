#include "constraints/loop_constraints.hpp"
#include "constraints/by_lane.hpp"
#include "constraints/coupling_rows.hpp"
#include "constraints/custom_rows.hpp"
#include "constraints/kinematic_chain.hpp"
#include "constraints/library.hpp"
#include "joints/registry.hpp"
#include "tree/joint_maps.hpp"
#include "tree/kinematics.hpp"
#include <algorithm>
#include <initializer_list>
#include <type_traits>

namespace dalembert::DALEMBERT_ISA {

template <class T> static void closing_rows(const ModelData &m, Workspace<T> &ws, const LoopConstraintData &constraint,
                                            const RelativeMotion<T> &relative, LoopConstraintRows<T> &rows) {
  rows.count = 0;
  switch (constraint.form) {
  case LoopConstraintForm::joint:
    JointLibrary::visit(constraint.kind,
                        [&](auto joint) { decltype(joint)::rows(parameter_of<T>(m, constraint), relative, rows); });
    return keep_rows(constraint.kept, rows);
  case LoopConstraintForm::constraint:
    if constexpr (requires(T x) { x[0]; })
      if (constraint.curve >= 0) // the point of contact is searched for
        return rows_by_lane(ws, relative, rows,
                            [&](Workspace<double> &one, const RelativeMotion<double> &motion,
                                LoopConstraintRows<double> &its) { closing_rows(m, one, constraint, motion, its); });
    if constexpr (requires(T x) { x[0]; })
      return ConstraintLibrary::visit(constraint.kind, [&](auto kind) {
        if constexpr (!requires { decltype(kind)::curved; })
          decltype(kind)::rows(m, constraint, relative, rows);
      });
    else
      return ConstraintLibrary::visit(constraint.kind,
                                      [&](auto kind) { decltype(kind)::rows(m, constraint, relative, rows); });
  case LoopConstraintForm::custom:
    return rows_custom(m, ws, constraint, relative, rows);
  case LoopConstraintForm::chain:
    return rows_chain(m, ws, constraint, relative, rows);
  case LoopConstraintForm::coupling:
    return;
  }
}

// the face of a rope: |p|, its rate along u = p / |p|, and |p|'' = u . a + (v^2 - (u . v)^2) / |p|
template <class T> static void face_of_rope(const RelativeMotion<T> &m, JointMotion<T> &joint_motion) {
  const T distance = root(dot(m.p, m.p)), inverse = 1.0 / larger(distance, T(1e-300));
  const Vec3<T> u = scale(inverse, m.p);
  const T along = dot(u, m.v);
  joint_motion.q[0] = distance;
  joint_motion.D[0] = sliding(u);
  joint_motion.bias = sliding(scale(-(dot(m.v, m.v) - along * along) * inverse, u));
}

template <class T> void loop_joint_motion(const ModelData &m, Workspace<T> &ws, const LoopConstraintData &constraint,
                                          const RelativeMotion<T> &relative, JointMotion<T> &joint_motion) {
  if (constraint.form == LoopConstraintForm::chain)
    return face_of_custom(m, ws, constraint, relative, joint_motion);
  if (constraint.form == LoopConstraintForm::constraint)
    return face_of_rope(relative, joint_motion);
  JointLibrary::visit(constraint.kind, [&](auto joint) {
    decltype(joint)::joint_motion(parameter_of<T>(m, constraint), relative, joint_motion);
  });
}

// rows that hold the coordinates of a cut joint, s' = D . [w; v] = 0; they demand nothing of those that are not held. A
// rope is held at its length.
template <class T> static void hold_rows(const ModelData &m, Workspace<T> &ws, const LoopConstraintData &constraint,
                                         const RelativeMotion<T> &relative, LoopConstraintRows<T> &rows) {
  JointMotion<T> joint_motion;
  const bool any = ws.held && std::any_of(ws.held + constraint.v, ws.held + constraint.v + constraint.nv,
                                          [](unsigned char h) { return h != 0; });
  if (any)
    loop_joint_motion(m, ws, constraint, relative, joint_motion);
  for (int j = 0; j < constraint.nv; ++j) {
    if (!any || !ws.held[constraint.v + j])
      rows.add(T(0.0), zero3<T>(), zero3<T>(), T(0.0));
    else
      rows.add(constraint.form == LoopConstraintForm::constraint ? joint_motion.q[j] - parameter_of<T>(m, constraint)
                                                                 : T(0.0),
               joint_motion.D[j].w, joint_motion.D[j].v,
               -(dot(joint_motion.D[j].w, joint_motion.bias.w) + dot(joint_motion.D[j].v, joint_motion.bias.v)));
  }
}

template <class T> void loop_constraint_rows(const ModelData &m, Workspace<T> &ws, const LoopConstraintData &constraint,
                                             const RelativeMotion<T> &relative, LoopConstraintRows<T> &rows) {
  closing_rows(m, ws, constraint, relative, rows);
  if (constraint.held)
    hold_rows(m, ws, constraint, relative, rows);
}

template <class T> static void put_coupling(const ModelData &m, Workspace<T> &ws, const LoopConstraintData &constraint,
                                            const T *q, const T *v, const LoopConstraintOutputs<T> &out) {
  const int row = constraint.row;
  CouplingRow<T> found;
  coupling_row(m, ws, constraint, q, out.bias ? v : nullptr, found);
  if (out.residual)
    out.residual[row] = found.residual;
  if (out.bias)
    out.bias[row] = found.bias;
  if (out.leverage)
    out.leverage[row] = T(1.0);
  if (out.drift)
    out.drift[row] = found.drift;
  for (int s = 0; out.values && s < constraint.supports; ++s)
    out.values[constraint.values + s] = found.coefficient(m, constraint, s);
}

// the rows of a loop constraint that demands nothing, or couples coordinates, have no loads
template <class T>
static void clear_loads(const ModelData &m, const Workspace<T> &ws, const LoopConstraintData &constraint) {
  if (!ws.row_load)
    return;
  ws.row_point[&constraint - m.loop_constraints] = zero3<T>();
  for (int j = 0; j < constraint.rows; ++j)
    ws.row_load[constraint.row + j] = {zero3<T>(), zero3<T>()};
}

template <class T>
static void clear_constraint(const LoopConstraintData &constraint, const LoopConstraintOutputs<T> &out) {
  for (int j = constraint.row; j < constraint.row + constraint.rows; ++j)
    for (T *each : {out.residual, out.bias, out.leverage, out.drift})
      if (each)
        each[j] = T(0.0);
  for (std::int64_t k = 0; out.values && k < std::int64_t(constraint.rows) * constraint.supports; ++k)
    out.values[constraint.values + k] = T(0.0);
}

// What degree of freedom f of body i does to a point, world axes; of a flexible body, by the node `via` through which
// the way leads (0: none). reach: largest part of it that is no turn.
template <class T> struct DofMotion {
  Vec3<T> w, v;
  T reach;
};
template <class T> static DALEMBERT_INLINE void add_column(const Workspace<T> &ws, const Motion<T> &h, int i,
                                                           double sign, const Vec3<T> &point, DofMotion<T> &S) {
  const Mat3<T> &R = ws.X_W[i].R;
  const Vec3<T> w = scale(sign, mul(R, h.w));
  S.w += w;
  S.v += scale(sign, mul(R, h.v)) + cross(w, point - ws.X_W[i].p);
  S.reach = S.reach + root(dot(h.v, h.v));
}
template <class T> static DALEMBERT_INLINE DofMotion<T> dof_motion(const ModelData &m, const Workspace<T> &ws, int i,
                                                                   int f, int via, const Vec3<T> &point) {
  const BodyData &b = m.bodies[i];
  DofMotion<T> S{zero3<T>(), zero3<T>(), T(0.0)};
  if (b.moves)
    add_column(ws, column(b, ws.H + b.H, f), i, 1.0, point, S);
  if (b.form == JointForm::modal && via && m.bodies[via].form == JointForm::node)
    add_column(ws, ws.H[m.bodies[via].H + f], via, 1.0, point, S);
  return S;
}

// the node of flexible body `meet` on the way from ground to `end`; 0 if the way leads through none
static int node_before(const ModelData &m, int end, int meet) {
  int i = end;
  while (i != meet && m.bodies[i].parent != meet)
    i = m.bodies[i].parent;
  return m.bodies[i].form == JointForm::node && i != meet ? i : 0;
}

// calls enter(motion) for every degree of freedom of a loop constraint's support, in its order
template <class T, class Enter> static inline void for_support(const ModelData &m, const Workspace<T> &ws,
                                                               const LoopConstraintData &constraint,
                                                               const Vec3<T> &point, Enter &&enter) {
  int at = 0;
  for (const int end : {constraint.body_b, constraint.body_a})
    for (int i = end, via = 0; at < constraint.supports && i && i != constraint.meet; via = i, i = m.bodies[i].parent) {
      const BodyData &b = m.bodies[i];
      if (b.nv && m.support[constraint.support + at] != b.v)
        break; // the ways have met
      for (int f = 0; f < b.nv; ++f, ++at)
        enter(at, dof_motion(m, ws, i, f, via, point));
    }
  if (!constraint.meet)
    return;
  const int to_b = node_before(m, constraint.body_b, constraint.meet),
            to_a = node_before(m, constraint.body_a, constraint.meet);
  for (int f = 0; f < m.bodies[constraint.meet].nv; ++f, ++at) {
    DofMotion<T> S{zero3<T>(), zero3<T>(), T(0.0)};
    if (to_b)
      add_column(ws, ws.H[m.bodies[to_b].H + f], to_b, 1.0, point, S);
    if (to_a)
      add_column(ws, ws.H[m.bodies[to_a].H + f], to_a, -1.0, point, S);
    enter(at, S);
  }
}

template <class T> static void measure_ways(const ModelData &m, Workspace<T> &ws) {
  ws.way[0] = T(0.0);
  for (int i = 1; i <= m.nb; ++i)
    ws.way[i] = ws.way[m.bodies[i].parent] + root(dot(ws.X[i].p, ws.X[i].p));
}

// the size of a loop constraint's loop: all lengths on the ways to its ends
template <class T>
static T loop_length(const ModelData &m, const Workspace<T> &ws, const LoopConstraintData &constraint) {
  const T own = table_entry<T>(m, constraint, [](const auto &numbers) {
    const auto far = [](const auto &p) { return root(dot(p, p)); };
    return T(far(as_vec(numbers.p_FA)) + far(as_vec(numbers.p_FB)));
  });
  return own + ws.way[constraint.body_b] + ws.way[constraint.body_a];
}

template <class T> static void widen(const LoopConstraintData &constraint, const LoopConstraintRows<T> &rows,
                                     const T &length, T &opening) {
  if (constraint.form != LoopConstraintForm::joint && constraint.form != LoopConstraintForm::chain)
    return;
  const T inverse = 1.0 / select(less(T(0.0), length), length, T(1.0));
  for (int j = 0; j < rows.count; ++j) {
    const auto displacement = less(T(0.0), dot(rows.g[j].v, rows.g[j].v));
    opening = larger(opening, absolute(rows.residual[j]) * select(displacement, inverse, T(1.0)));
  }
}

// Rows of one loop constraint: of numbers, as many of them as there are lanes are worked on together.
template <class T> struct RowsTogether {
  using Number = std::conditional_t<std::is_same_v<T, double>, Pack, T>;
  static constexpr int together = std::is_same_v<T, double> ? W : 1, most = (6 + together - 1) / together;
  Number moment[3][most], force[3][most], turning_size[most], sliding_size[most];
  Number size[most], could[most]; // the leverage is the largest size / could

  static void put(Number &to, int row, const T &value) {
    if constexpr (together == 1)
      (void)row, to = value;
    else
      to.set(row % together, value);
  }
  static T get(const Number &from, int row) {
    if constexpr (together == 1)
      return (void)row, from;
    else
      return from[row % together];
  }
};

// (1): a block of the Jacobian, and the loads of its rows
template <class T> static void put_values(const ModelData &m, const Workspace<T> &ws,
                                          const LoopConstraintData &constraint, const LoopConstraintPose<T> &place,
                                          const LoopConstraintRows<T> &rows, const LoopConstraintOutputs<T> &out) {
  using Rows = RowsTogether<T>;
  using Number = typename Rows::Number;
  if (ws.row_load)
    ws.row_point[&constraint - m.loop_constraints] = place.B.p;
  Rows r;
  const int count = (rows.count + Rows::together - 1) / Rows::together;
  for (int k = 0; Rows::together > 1 && k < count; ++k)
    for (int axis = 0; axis < 3; ++axis)
      r.moment[axis][k] = r.force[axis][k] = Number(0.0);
  for (int j = 0; j < rows.count; ++j) {
    const Vec3<T> n = mul(place.A.R, rows.g[j].w), f = mul(place.A.R, rows.g[j].v);
    const int k = j / Rows::together;
    if (ws.row_load)
      ws.row_load[constraint.row + j] = {n, f};
    Rows::put(r.moment[0][k], j, n.x), Rows::put(r.moment[1][k], j, n.y), Rows::put(r.moment[2][k], j, n.z);
    Rows::put(r.force[0][k], j, f.x), Rows::put(r.force[1][k], j, f.y), Rows::put(r.force[2][k], j, f.z);
  }
  for (int k = 0; out.leverage && k < count; ++k) {
    const auto length_of = [&](const Number(&of)[3][Rows::most]) {
      return root(of[0][k] * of[0][k] + of[1][k] * of[1][k] + of[2][k] * of[2][k]);
    };
    r.turning_size[k] = length_of(r.moment), r.sliding_size[k] = length_of(r.force);
    r.size[k] = Number(0.0), r.could[k] = Number(1.0);
  }
  T *block = out.values + constraint.values;
  const T length = out.leverage || out.opening ? loop_length(m, ws, constraint) : T(0.0);
  if (out.opening)
    widen(constraint, rows, length, *out.opening);
  for_support(m, ws, constraint, place.B.p, [&](int at, const DofMotion<T> &S) {
    const double sign = m.support_factor[constraint.support + at];
    const T turn = out.leverage ? root(dot(S.w, S.w)) : T(0.0), reach = S.reach + turn * length;
    for (int k = 0; k < count; ++k) {
      const Number entry = (r.moment[0][k] * S.w.x + r.moment[1][k] * S.w.y + r.moment[2][k] * S.w.z) +
                           (r.force[0][k] * S.v.x + r.force[1][k] * S.v.y + r.force[2][k] * S.v.z);
      for (int j = k * Rows::together; j < rows.count && j < (k + 1) * Rows::together; ++j)
        block[j * constraint.supports + at] = sign * Rows::get(entry, j);
      if (!out.leverage)
        continue;
      const Number could = r.turning_size[k] * turn + r.sliding_size[k] * reach, size = absolute(entry);
      const auto more = less(r.size[k] * could, size * r.could[k]);
      r.size[k] = select(more, size, r.size[k]);
      r.could[k] = select(more, could, r.could[k]);
    }
  });
  for (int k = 0; out.leverage && k < count; ++k) {
    const Number leverage = r.size[k] / r.could[k];
    for (int j = k * Rows::together; j < rows.count && j < (k + 1) * Rows::together; ++j)
      out.leverage[constraint.row + j] = Rows::get(leverage, j);
  }
}

template <class T> void evaluate_loop_constraints(const ModelData &m, Workspace<T> &ws, const T *q, const T *v,
                                                  const LoopConstraintOutputs<T> &out) {
  start_at_ground(m, ws, false);
  compute_poses(m, ws, q);
  place_in_world(m, ws);
  if (v) {
    compute_velocities(m, ws, q, v);
    move_in_world(m, ws, v);
    compute_accelerations(m, ws, static_cast<const T *>(nullptr));
  } else {
    for (int i = 1; i <= m.nb; ++i)
      ws.w[i] = ws.u[i] = ws.A[i].w = ws.A[i].v = zero3<T>();
  }
  if (out.opening)
    *out.opening = T(0.0);
  if (out.values && (out.leverage || out.opening))
    measure_ways(m, ws);
  ws.held = out.held;
  LoopConstraintRows<T> rows;
  rows.moving = v != nullptr;
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    if (out.active && !out.active[k]) {
      clear_constraint(constraint, out);
      clear_loads(m, ws, constraint);
      continue;
    }
    if (constraint.form == LoopConstraintForm::coupling) {
      clear_loads(m, ws, constraint);
      put_coupling(m, ws, constraint, q, v, out);
      continue;
    }
    const LoopConstraintPose<T> place = loop_constraint_pose(m, ws, constraint);
    loop_constraint_rows(m, ws, constraint, place.relative, rows);
    Motion<T> bias_acceleration{zero3<T>(), zero3<T>()};
    if (out.bias)
      bias_acceleration = loop_constraint_acceleration(m, ws, constraint, place);
    for (int j = 0; j < rows.count; ++j) {
      if (out.residual)
        out.residual[constraint.row + j] = rows.residual[j];
      if (out.bias)
        out.bias[constraint.row + j] =
            dot(rows.g[j].w, bias_acceleration.w) + dot(rows.g[j].v, bias_acceleration.v) + rows.bias[j];
      if (out.drift)
        out.drift[constraint.row + j] = rows.drift[j];
    }
    if (out.values)
      put_values(m, ws, constraint, place, rows, out);
  }
}

template <class T> static void put_cut_joints(const ModelData &m, Workspace<T> &ws, T *q, T *v, T *a) {
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    if (!constraint.nv)
      continue;
    const LoopConstraintPose<T> place = loop_constraint_pose(m, ws, constraint);
    JointMotion<T> joint_motion;
    loop_joint_motion(m, ws, constraint, place.relative, joint_motion);
    for (int j = 0; q && j < constraint.nq; ++j)
      q[constraint.q + j] = joint_motion.q[j];
    for (int j = 0; v && j < constraint.nv; ++j)
      v[constraint.v + j] = face_speed(joint_motion, place.relative, j);
    if (!a)
      continue;
    const Motion<T> A = loop_constraint_acceleration(m, ws, constraint, place);
    for (int j = 0; j < constraint.nv; ++j)
      a[constraint.v + j] =
          dot(joint_motion.D[j].w, A.w - joint_motion.bias.w) + dot(joint_motion.D[j].v, A.v - joint_motion.bias.v);
  }
}

void cut_joints(const ModelData &m, Workspace<double> &ws, double *q, double *v, double *a) {
  put_cut_joints(m, ws, q, v, a);
}
void cut_joints(const ModelData &m, Workspace<Pack> &ws, Pack *q, Pack *v, Pack *a) { put_cut_joints(m, ws, q, v, a); }

template <class T> void cut_coordinate(const ModelData &m, Workspace<T> &ws, const LoopConstraintData &constraint,
                                       int k, T &coordinate, T *row) {
  const LoopConstraintPose<T> place = loop_constraint_pose(m, ws, constraint);
  JointMotion<T> joint_motion;
  loop_joint_motion(m, ws, constraint, place.relative, joint_motion);
  coordinate = joint_motion.q[k];
  if (!row)
    return;
  const Vec3<T> moment = mul(place.A.R, joint_motion.D[k].w), force = mul(place.A.R, joint_motion.D[k].v);
  for (int f = 0; f < m.nv; ++f)
    row[f] = T(0.0);
  for_support(m, ws, constraint, place.B.p, [&](int at, const DofMotion<T> &S) {
    row[m.support[constraint.support + at]] =
        m.support_factor[constraint.support + at] * (dot(moment, S.w) + dot(force, S.v));
  });
}

template void cut_coordinate(const ModelData &, Workspace<double> &, const LoopConstraintData &, int, double &,
                             double *);
template void cut_coordinate(const ModelData &, Workspace<Pack> &, const LoopConstraintData &, int, Pack &, Pack *);
template void loop_constraint_rows(const ModelData &, Workspace<double> &, const LoopConstraintData &,
                                   const RelativeMotion<double> &, LoopConstraintRows<double> &);
template void loop_constraint_rows(const ModelData &, Workspace<Pack> &, const LoopConstraintData &,
                                   const RelativeMotion<Pack> &, LoopConstraintRows<Pack> &);
template void loop_constraint_rows(const ModelData &, Workspace<Dual> &, const LoopConstraintData &,
                                   const RelativeMotion<Dual> &, LoopConstraintRows<Dual> &);
template void loop_constraint_rows(const ModelData &, Workspace<Traced> &, const LoopConstraintData &,
                                   const RelativeMotion<Traced> &, LoopConstraintRows<Traced> &);
template void loop_joint_motion(const ModelData &, Workspace<double> &, const LoopConstraintData &,
                                const RelativeMotion<double> &, JointMotion<double> &);
template void loop_joint_motion(const ModelData &, Workspace<Pack> &, const LoopConstraintData &,
                                const RelativeMotion<Pack> &, JointMotion<Pack> &);
template void loop_joint_motion(const ModelData &, Workspace<Dual> &, const LoopConstraintData &,
                                const RelativeMotion<Dual> &, JointMotion<Dual> &);
template void loop_joint_motion(const ModelData &, Workspace<Traced> &, const LoopConstraintData &,
                                const RelativeMotion<Traced> &, JointMotion<Traced> &);
template void evaluate_loop_constraints(const ModelData &, Workspace<double> &, const double *, const double *,
                                        const LoopConstraintOutputs<double> &);
template void evaluate_loop_constraints(const ModelData &, Workspace<Pack> &, const Pack *, const Pack *,
                                        const LoopConstraintOutputs<Pack> &);
template void evaluate_loop_constraints(const ModelData &, Workspace<Dual> &, const Dual *, const Dual *,
                                        const LoopConstraintOutputs<Dual> &);

} // namespace dalembert::DALEMBERT_ISA
