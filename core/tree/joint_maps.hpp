// Interface of joints of any kind for the recursions: pose of the frame, products with the motion map.
#pragma once

#include "flexible/body.hpp"
#include "joints/custom.hpp"
#include "joints/registry.hpp"

namespace dalembert::DALEMBERT_ISA {

// calls f with the type of a joint whose motion map has columns
template <class F> DALEMBERT_INLINE void visit_general(int kind, F &&f) {
  JointLibrary::visit(kind, [&](auto joint) {
    if constexpr (decltype(joint)::form == JointForm::columns)
      f(joint);
  });
}

// calls f with the number of columns as a constant
template <int N> struct Columns { static constexpr int count = N; };
template <class F> DALEMBERT_INLINE void visit_columns(int nv, F &&f) {
  switch (nv) {
  case 1:
    return f(Columns<1>{});
  case 2:
    return f(Columns<2>{});
  case 3:
    return f(Columns<3>{});
  case 4:
    return f(Columns<4>{});
  case 5:
    return f(Columns<5>{});
  case 6:
    return f(Columns<6>{});
  default:
    return;
  }
}

// numbers: where the joint's frame J is in the parent
template <class T, class B> DALEMBERT_INLINE void position_by(const ModelData &m, const BodyData &b, const B &numbers,
                                                              Workspace<T> &ws, const T *q, int i) {
  switch (b.form) {
  case JointForm::about_z:
    return Revolute::position(numbers, q + b.q, ws.X[i], ws.H);
  case JointForm::along_z:
    return Prismatic::position(numbers, q + b.q, ws.X[i], ws.H);
  case JointForm::none:
    return Fixed::position(numbers, q, ws.X[i], ws.H);
  case JointForm::columns:
    return visit_general(b.kind, [&](auto joint) { decltype(joint)::position(numbers, q + b.q, ws.X[i], ws.H + b.H); });
  case JointForm::custom:
    return custom_position(m, ws, b, numbers, q + b.q, ws.X[i], ws.H + b.H);
  case JointForm::modal:
    return modal_position(m, b, ws, q, i);
  case JointForm::node:
    return node_position(m, b, ws, q, i);
  }
}

// where every frame stands in its parent: X, and the motion maps that need columns
template <class T>
DALEMBERT_INLINE void position(const ModelData &m, const BodyData &b, Workspace<T> &ws, const T *q, int i) {
  if constexpr (varies<T>)
    if (m.varied)
      return position_by(m, b, parameters_of<T>(m)->bodies[i], ws, q, i);
  position_by(m, b, b, ws, q, i);
}

// relative velocity H v of a joint with columns
template <class T> DALEMBERT_INLINE Motion<T> relative(const Motion<T> *H, const T *v, int nv) {
  Motion<T> r{scale(v[0], H[0].w), scale(v[0], H[0].v)};
  for (int k = 1; k < nv; ++k) {
    r.w += scale(v[k], H[k].w);
    r.v += scale(v[k], H[k].v);
  }
  return r;
}

// column k of joint i as a motion in F
template <class T> DALEMBERT_INLINE Motion<T> column(const BodyData &b, const Motion<T> *H, int k) {
  const Vec3<T> o = zero3<T>(), z{T(0.0), T(0.0), T(1.0)};
  if (b.form == JointForm::about_z)
    return {z, o};
  if (b.form == JointForm::along_z)
    return {o, z};
  return H[k];
}

// H^T F for any joint
template <class T> DALEMBERT_INLINE void joint_force(const BodyData &b, const Motion<T> *H, const Load<T> &F, T *tau) {
  if (b.form == JointForm::about_z) {
    tau[0] = F.n.z;
  } else if (b.form == JointForm::along_z) {
    tau[0] = F.f.z;
  } else {
    for (int k = 0; k < b.nv; ++k)
      tau[k] = dot(H[k].w, F.n) + dot(H[k].v, F.f);
  }
}

// a place of a flexible body beside its carrier
DALEMBERT_INLINE bool is_flexible(const BodyData &b) { return b.form == JointForm::modal || b.form == JointForm::node; }

// the part that a load on a node, or on the frame of a flexible body, has in the forces of the modes
template <class T, class R>
DALEMBERT_INLINE void add_modal_force(const BodyData &b, const Motion<T> *H, const Load<R> &F, R *modal) {
  for (int k = 0; k < b.moves; ++k)
    modal[k] = modal[k] + (dot(H[k].w, F.n) + dot(H[k].v, F.f));
}

// A += H a for any joint; a: from where its columns count, BodyData::by
template <class T, class R>
DALEMBERT_INLINE void add_joint_motion(const BodyData &b, const Motion<T> *H, const R *a, Motion<R> &A) {
  if (b.form == JointForm::about_z) {
    A.w.z = A.w.z + a[0];
  } else if (b.form == JointForm::along_z) {
    A.v.z = A.v.z + a[0];
  } else {
    for (int k = 0; k < b.moves; ++k) {
      A.w += scale(a[k], H[k].w);
      A.v += scale(a[k], H[k].v);
    }
  }
}

} // namespace dalembert::DALEMBERT_ISA
