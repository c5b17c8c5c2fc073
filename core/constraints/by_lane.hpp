// Rows and faces that are found by a search have a way of their own in every lane: one lane after the other, as
// numbers.
#pragma once

#include "joints/joint.hpp"

namespace dalembert::DALEMBERT_ISA {

inline Vec3<double> lane_of(const Vec3<Pack> &a, int lane) { return {a.x[lane], a.y[lane], a.z[lane]}; }
inline Mat3<double> lane_of(const Mat3<Pack> &R, int lane) {
  return {R.xx[lane], R.xy[lane], R.xz[lane], R.yx[lane], R.yy[lane], R.yz[lane], R.zx[lane], R.zy[lane], R.zz[lane]};
}
inline RelativeMotion<double> lane_of(const RelativeMotion<Pack> &m, int lane) {
  return {lane_of(m.R, lane), lane_of(m.p, lane), lane_of(m.w, lane), lane_of(m.v, lane)};
}
inline void set_lane(Vec3<Pack> &a, int lane, const Vec3<double> &b) {
  a.x.set(lane, b.x), a.y.set(lane, b.y), a.z.set(lane, b.z);
}
inline void set_lane(Motion<Pack> &a, int lane, const Motion<double> &b) {
  set_lane(a.w, lane, b.w), set_lane(a.v, lane, b.v);
}

// what the rows of one lane need of a workspace
inline Workspace<double> workspace_of(const Workspace<Pack> &ws, int lane) {
  Workspace<double> one{};
  one.joint_values = reinterpret_cast<double *>(ws.joint_values); // what stands there is not needed
  one.t = ws.t[lane];
  return one;
}

template <class Fill> inline void rows_by_lane(const Workspace<Pack> &ws, const RelativeMotion<Pack> &m,
                                               LoopConstraintRows<Pack> &rows, Fill &&fill) {
  for (int lane = 0; lane < W; ++lane) {
    Workspace<double> one = workspace_of(ws, lane);
    LoopConstraintRows<double> its;
    its.moving = rows.moving;
    fill(one, lane_of(m, lane), its);
    for (int j = 0; j < its.count; ++j) {
      rows.residual[j].set(lane, its.residual[j]);
      rows.bias[j].set(lane, its.bias[j]);
      rows.drift[j].set(lane, its.drift[j]);
      set_lane(rows.g[j], lane, its.g[j]);
    }
    rows.count = its.count;
  }
}

template <class Fill> inline void joint_motion_by_lane(const Workspace<Pack> &ws, const LoopConstraintData &constraint,
                                                       const RelativeMotion<Pack> &m, JointMotion<Pack> &joint_motion,
                                                       Fill &&fill) {
  for (int lane = 0; lane < W; ++lane) {
    Workspace<double> one = workspace_of(ws, lane);
    JointMotion<double> its;
    fill(one, lane_of(m, lane), its);
    for (int k = 0; k < constraint.nq; ++k)
      joint_motion.q[k].set(lane, its.q[k]);
    for (int k = 0; k < constraint.nv; ++k)
      set_lane(joint_motion.D[k], lane, its.D[k]);
    set_lane(joint_motion.bias, lane, its.bias);
  }
}

} // namespace dalembert::DALEMBERT_ISA
