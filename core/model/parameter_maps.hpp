// Numbers of the tables that mapped parameters of the description give: from these, in any scalar, to the entries that
// follow.
//
// Frame F of a body k is where the marker M_k is that its joint carries, turned by constant axes Z_k. With X_M the pose
// of a marker in the user's frame B of its body,
//
//     X_FB = (X_M Z)^-1        any marker seen from F: X_FB X_M Z                                                   (1)
//     c_F = X_FB c             h = m c_F           J = R_FB I R_FB^T + m (c_F.c_F 1 - c_F c_F^T)                    (2)
//
// Run on numbers these fill the tables of a model with other mapped parameters; run on dual numbers they stand in place
// of its tables (ModelData::varied), so that what kernels give has exact slopes by mapped parameters. Tables of several
// models, one in each lane, stand there for runs of a SIMD batch that differ in them. Kernels read them by
// model/parameter_access.hpp.
#pragma once

#include "model/parameter_access.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

// ---- as described

template <class S, std::size_t N> DALEMBERT_INLINE void lift_all(const double (&from)[N], S (&to)[N]) {
  for (std::size_t k = 0; k < N; ++k)
    to[k] = S(from[k]);
}

template <class S> inline void start_numbers(const ModelData &m, ParameterTables<S> &n) {
  for (int i = 0; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    BodyParameters<S> &to = n.bodies[i];
    lift_all(b.R_PJ, to.R_PJ), lift_all(b.p_PJ, to.p_PJ), lift_all(b.h, to.h), lift_all(b.J, to.J);
    lift_all(b.R_FB, to.R_FB), lift_all(b.p_FB, to.p_FB);
    to.mass = S(b.mass), to.pitch = S(b.pitch);
  }
  const auto ends = [](const auto &from, EndpointParameters<S> &to) {
    lift_all(from.R_FA, to.R_FA), lift_all(from.p_FA, to.p_FA), lift_all(from.R_FB, to.R_FB),
        lift_all(from.p_FB, to.p_FB);
  };
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    ends(m.loop_constraints[k], n.loop_constraints[k]);
    lift_all(m.loop_constraints[k].R_FM, n.loop_constraints[k].R_FM);
    n.loop_constraints[k].parameter = S(m.loop_constraints[k].parameter);
  }
  for (int k = 0; k < m.port_count; ++k)
    ends(m.ports[k], n.ports[k]);
  for (int k = 0; k < m.users; ++k)
    lift_all(m.markers[k].R_FM, n.markers[k].R_FM), lift_all(m.markers[k].p_FM, n.markers[k].p_FM);
  const auto lift_each = [](const double *from, std::int64_t count, S *to) {
    for (std::int64_t k = 0; k < count; ++k)
      to[k] = S(from[k]);
  };
  lift_each(m.armature, m.armature ? m.nv : 0, n.armature);
  lift_each(m.support_factor, m.support_count, n.support_factor);
  lift_each(m.law_values, m.law_value_count, n.law_values);
  lift_each(m.joints.constants, m.joint_constant_count, n.joint_constants);
  for (int k = 0; k < m.drive_count; ++k)
    n.offsets[k] = S(m.drives[k].offset);
  lift_each(m.gravity, 3, n.gravity);
  S *elastic = n.elastic;
  for (int k = 0; k < m.modal_count; ++k) {
    const int count = 2 * m.modal[k].modes * m.modal[k].modes;
    lift_each(m.modal_values + elastic_place(m.modal[k]), count, elastic);
    elastic += count;
  }
}

// ---- in lanes

// what start_numbers has made of the model of one lane
inline void set_lane_parameters(const ModelData &m, const ParameterTables<double> &from, int lane,
                                ParameterTables<Pack> &to) {
  const auto put = [&](const auto *these, auto *there, std::size_t rows) {
    const double *numbers = reinterpret_cast<const double *>(these);
    Pack *lanes = reinterpret_cast<Pack *>(there);
    static_assert(sizeof(*there) / sizeof(Pack) == sizeof(*these) / sizeof(double), "rows of one kind");
    for (std::size_t k = 0; k < rows * (sizeof(*these) / sizeof(double)); ++k)
      lanes[k].set(lane, numbers[k]);
  };
  put(from.bodies, to.bodies, std::size_t(m.nb) + 1);
  put(from.loop_constraints, to.loop_constraints, std::size_t(m.loop_constraint_count));
  put(from.ports, to.ports, std::size_t(m.port_count));
  put(from.markers, to.markers, std::size_t(m.users));
  put(from.armature, to.armature, m.armature ? std::size_t(m.nv) : 0);
  put(from.support_factor, to.support_factor, std::size_t(m.support_count));
  put(from.law_values, to.law_values, std::size_t(m.law_value_count));
  put(from.offsets, to.offsets, std::size_t(m.drive_count));
  put(from.joint_constants, to.joint_constants, std::size_t(m.joint_constant_count));
  put(from.elastic, to.elastic, elastic_count(m));
  put(from.gravity, to.gravity, 3);
}

// ---- what follows from mapped parameters

// exp(r~) = 1 + a r~ + b r~^2
template <class S> inline Mat3<S> turned_by(const Vec3<S> &r) {
  const S square = dot(r, r);
  S a, b;
  if (value_of(square) < 0.25) { // sin x / x and (1 - cos x) / x^2 by their series
    a = b = S(0.0);
    for (int k = 8; k >= 0; --k) {
      a = 1.0 - a * square / double((2 * k + 2) * (2 * k + 3));
      b = 1.0 - b * square / double((2 * k + 3) * (2 * k + 4));
    }
    b = 0.5 * b;
  } else {
    const S x = root(square);
    S s, c;
    sincos(x, s, c);
    a = s / x, b = (1.0 - c) / square;
  }
  const S one = 1.0 - b * square;
  return {one + b * r.x * r.x,     b * r.x * r.y - a * r.z, b * r.x * r.z + a * r.y,
          b * r.x * r.y + a * r.z, one + b * r.y * r.y,     b * r.y * r.z - a * r.x,
          b * r.x * r.z - a * r.y, b * r.y * r.z + a * r.x, one + b * r.z * r.z};
}

template <class S> DALEMBERT_INLINE Mat3<S> mat_from(const double *R) {
  return {S(R[0]), S(R[1]), S(R[2]), S(R[3]), S(R[4]), S(R[5]), S(R[6]), S(R[7]), S(R[8])};
}
template <class S> DALEMBERT_INLINE void put_mat(const Mat3<S> &R, S *to) {
  const S all[9] = {R.xx, R.xy, R.xz, R.yx, R.yy, R.yz, R.zx, R.zy, R.zz};
  std::copy(all, all + 9, to);
}
template <class S> DALEMBERT_INLINE void put_vec(const Vec3<S> &p, S *to) { to[0] = p.x, to[1] = p.y, to[2] = p.z; }

// described: mapped parameters that the constant poses of markers belong to
template <class S> inline void place_marker(const MarkerMap &map, const double *described, const S *p, Pose<S> &to) {
  to = {mat_from<S>(map.R), {S(map.p[0]), S(map.p[1]), S(map.p[2])}};
  if (map.number < 0)
    return;
  const S *own = p + map.number;
  to.p = {own[0], own[1], own[2]};
  if constexpr (std::is_same_v<S, double>)
    if (std::equal(own + 3, own + 6, described + map.number + 3))
      return; // the attitude as described, to the last digit
  to.R = turned_by(Vec3<S>{own[3], own[4], own[5]});
}

// (2)
template <class S> inline void place_inertia(const S *own, const Pose<S> &X, BodyParameters<S> &to) {
  const S &mass = own[0];
  const Vec3<S> c = mul(X.R, Vec3<S>{own[1], own[2], own[3]}) + X.p;
  Sym3<S> J = rotate(X.R, Sym3<S>{own[4], own[5], own[6], own[7], own[8], own[9]});
  J.xx = J.xx + mass * (c.y * c.y + c.z * c.z), J.yy = J.yy + mass * (c.x * c.x + c.z * c.z),
  J.zz = J.zz + mass * (c.x * c.x + c.y * c.y);
  J.xy = J.xy - mass * (c.x * c.y), J.xz = J.xz - mass * (c.x * c.z), J.yz = J.yz - mass * (c.y * c.z);
  to.mass = mass;
  put_vec(scale(mass, c), to.h);
  const S all[6] = {J.xx, J.xy, J.xz, J.yy, J.yz, J.zz};
  std::copy(all, all + 6, to.J);
}

template <class S> inline void put_pose(const PoseMap &map, const Pose<S> &X, ParameterTables<S> &n) {
  S *R = nullptr, *p = nullptr;
  switch (map.target) {
  case PoseTarget::joint:
    R = n.bodies[map.row].R_PJ, p = n.bodies[map.row].p_PJ;
    break;
  case PoseTarget::body:
    R = n.bodies[map.row].R_FB, p = n.bodies[map.row].p_FB;
    break;
  case PoseTarget::constraint_a:
    R = n.loop_constraints[map.row].R_FA, p = n.loop_constraints[map.row].p_FA;
    break;
  case PoseTarget::constraint_b:
    R = n.loop_constraints[map.row].R_FB, p = n.loop_constraints[map.row].p_FB;
    break;
  case PoseTarget::constraint_marker:
    R = n.loop_constraints[map.row].R_FM;
    break;
  case PoseTarget::port_a:
    R = n.ports[map.row].R_FA, p = n.ports[map.row].p_FA;
    break;
  case PoseTarget::port_b:
    R = n.ports[map.row].R_FB, p = n.ports[map.row].p_FB;
    break;
  case PoseTarget::marker:
    R = n.markers[map.row].R_FM, p = n.markers[map.row].p_FM;
    break;
  }
  put_mat(X.R, R);
  if (p)
    put_vec(X.p, p);
}

template <class S> inline S &scalar_place(const ScalarMap &map, ParameterTables<S> &n) {
  switch (map.target) {
  case ScalarTarget::pitch:
    return n.bodies[map.row].pitch;
  case ScalarTarget::armature:
    return n.armature[map.row];
  case ScalarTarget::constraint:
    return n.loop_constraints[map.row].parameter;
  case ScalarTarget::coupled:
    return n.support_factor[map.row];
  case ScalarTarget::law:
    return n.law_values[map.row];
  case ScalarTarget::offset:
    return n.offsets[map.row];
  case ScalarTarget::elastic:
    return n.elastic[map.row];
  case ScalarTarget::joint:
    return n.joint_constants[map.row];
  case ScalarTarget::gravity:
    break;
  }
  return n.gravity[map.row];
}

// all entries that follow from mapped parameters p; the others stand there
template <class S> inline void apply_parameter_maps(const ModelData &m, const S *p, ParameterTables<S> &n) {
  const ParameterMaps &all = m.parameter_maps;
  for (int k = 0; k < all.markers; ++k)
    place_marker(all.marker[k], all.described, p, n.marked[k]);
  n.framed[0] = {mat_from<S>(std::initializer_list<double>{1, 0, 0, 0, 1, 0, 0, 0, 1}.begin()), zero3<S>()};
  for (int k = 0; k < m.users; ++k) { // (1)
    const Pose<S> &X = n.marked[all.frame[k].marker];
    const Mat3<S> R = mul(X.R, mat_from<S>(all.frame[k].axes)),
                  turned{R.xx, R.yx, R.zx, R.xy, R.yy, R.zy, R.xz, R.yz, R.zz};
    n.framed[k + 1] = {turned, -mul(turned, X.p)};
  }
  for (int k = 0; k < all.inertias; ++k)
    place_inertia(p + all.inertia[k].number, n.framed[all.inertia[k].user], n.bodies[all.inertia[k].body]);
  for (int k = 0; k < all.poses; ++k) {
    const PoseMap &map = all.pose[k];
    Pose<S> X = map.marker < 0 ? n.framed[0] : n.marked[map.marker];
    X.R = mul(X.R, mat_from<S>(map.axes));
    put_pose(map, map.base < 0 ? X : compose(n.framed[map.base], X), n);
  }
  for (int k = 0; k < all.scalars; ++k) {
    const ScalarMap &map = all.scalar[k];
    const S value = map.factor * p[map.number];
    scalar_place(map, n) = map.second < 0 ? value : value * p[map.second];
  }
}

} // namespace dalembert::DALEMBERT_ISA
