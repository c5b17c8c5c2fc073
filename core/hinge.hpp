// The hinge library in one place: which file serves which kind, and how a motion map is used.
//
// A hinge file says where F is (position) and what is left of its acceleration (bias). How the
// recursions use its motion map H depends only on the form of H, of which there are three:
//
//     about z      H = [z; 0]     revolute: products with H are component picks
//     along z      H = [0; z]     prismatic
//     columns      any H, nv columns kept in the workspace
#pragma once

#include "hinges/custom.hpp"
#include "flexible.hpp"
#include "hinges/cylindrical.hpp"
#include "hinges/fixed.hpp"
#include "hinges/free.hpp"
#include "hinges/planar.hpp"
#include "hinges/prismatic.hpp"
#include "hinges/revolute.hpp"
#include "hinges/screw.hpp"
#include "hinges/spherical.hpp"
#include "hinges/universal.hpp"

namespace dalembert::DALEMBERT_ISA {

// calls f with the hinge type of the general kinds (all but revolute and prismatic, which the passes treat first)
template <class F> DALEMBERT_INLINE void visit_general(Hinge kind, F &&f) {
  switch (kind) {
  case Hinge::screw:
    return f(Screw{});
  case Hinge::cylindrical:
    return f(Cylindrical{});
  case Hinge::universal:
    return f(Universal<false>{});
  case Hinge::universal_reversed:
    return f(Universal<true>{});
  case Hinge::planar:
    return f(Planar<false>{});
  case Hinge::planar_reversed:
    return f(Planar<true>{});
  case Hinge::spherical:
    return f(Spherical<false>{});
  case Hinge::spherical_reversed:
    return f(Spherical<true>{});
  case Hinge::free:
    return f(Free<false>{});
  case Hinge::free_reversed:
    return f(Free<true>{});
  default:
    return;
  }
}

// calls f with the number of columns as a constant
template <int N> struct Columns {
  static constexpr int count = N;
};
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

// where every frame stands in its parent: X, and the motion maps that need columns
template <class T> DALEMBERT_INLINE void position(const ModelData &m, Workspace<T> &ws, const T *q, int i) {
  const BodyData &b = m.bodies[i];
  switch (b.kind) {
  case Hinge::revolute:
    return Revolute::position(b, q + b.q, ws.X[i], ws.H);
  case Hinge::prismatic:
    return Prismatic::position(b, q + b.q, ws.X[i], ws.H);
  case Hinge::fixed:
    return Fixed::position(b, q, ws.X[i], ws.H);
  case Hinge::custom:
    return custom_position(m, ws, b, q + b.q, ws.X[i], ws.H + b.H);
  case Hinge::modal:
    return modal_position(m, ws, q, i);
  case Hinge::node:
    return node_position(m, ws, q, i);
  default:
    visit_general(b.kind, [&](auto hinge) { decltype(hinge)::position(b, q + b.q, ws.X[i], ws.H + b.H); });
  }
}

// relative velocity H v of a hinge with columns
template <class T> DALEMBERT_INLINE Motion<T> relative(const Motion<T> *H, const T *v, int nv) {
  Motion<T> r{scale(v[0], H[0].w), scale(v[0], H[0].v)};
  for (int k = 1; k < nv; ++k) {
    r.w += scale(v[k], H[k].w);
    r.v += scale(v[k], H[k].v);
  }
  return r;
}

// column k of hinge i as a motion in F
template <class T> DALEMBERT_INLINE Motion<T> column(const BodyData &b, const Motion<T> *H, int k) {
  const Vec3<T> o = zero3<T>(), z{T(0.0), T(0.0), T(1.0)};
  if (b.kind == Hinge::revolute)
    return {z, o};
  if (b.kind == Hinge::prismatic)
    return {o, z};
  return H[k];
}

// H^T F for any hinge
template <class T> DALEMBERT_INLINE void hinge_force(const BodyData &b, const Motion<T> *H, const Load<T> &F, T *tau) {
  if (b.kind == Hinge::revolute) {
    tau[0] = F.n.z;
  } else if (b.kind == Hinge::prismatic) {
    tau[0] = F.f.z;
  } else {
    for (int k = 0; k < b.nv; ++k)
      tau[k] = dot(H[k].w, F.n) + dot(H[k].v, F.f);
  }
}

// the part that a load on a node, or on the frame of a flexible body, has in the forces of the modes
template <class T, class R> DALEMBERT_INLINE void add_modal_force(const BodyData &b, const Motion<T> *H, const Load<R> &F, R *modal) {
  for (int k = 0; k < b.moves; ++k)
    modal[k] = modal[k] + (dot(H[k].w, F.n) + dot(H[k].v, F.f));
}

// A += H a for any hinge; a: from where its columns count, BodyData::by
template <class T, class R>
DALEMBERT_INLINE void add_hinge_motion(const BodyData &b, const Motion<T> *H, const R *a, Motion<R> &A) {
  if (b.kind == Hinge::revolute) {
    A.w.z = A.w.z + a[0];
  } else if (b.kind == Hinge::prismatic) {
    A.v.z = A.v.z + a[0];
  } else {
    for (int k = 0; k < b.moves; ++k) {
      A.w += scale(a[k], H[k].w);
      A.v += scale(a[k], H[k].v);
    }
  }
}

} // namespace dalembert::DALEMBERT_ISA
