// Workspace<T>: every intermediate of the kernels, grouped by stage, for one thread and one scalar.
//
// All arrays live in one block that the caller owns; nothing is allocated by a kernel. Entry 0 of
// a per-body array is ground, entry nb + 1 a point that is no frame of the model (tree/outputs.hpp).
#pragma once

#include "model/model_data.hpp"
#include "model/parameter_access.hpp"
#include "scalar/arena.hpp"
#include "scalar/math.hpp"
#include "scalar/spatial_inertia.hpp"

namespace dalembert::DALEMBERT_ISA {

// a relative motion in axes of F: angular and linear part
template <class T> struct Motion {
  Vec3<T> w, v;
};

// one eliminated degree of freedom: [n; f] row of the gain and the reciprocal pivot
template <class T> struct Pivot {
  Load<T> z;
  T inverse;
};

// of a mode r of a flexible body: F1_rs eta'_s, E1_rs eta'_s, omega . (F1_rs - F1_sr) eta'_s
template <class T> struct ModalRate {
  Vec3<T> along, push;
  T gyro;
};

template <class T> struct Workspace {
  std::int32_t *path; // bodies from ground to one body, for kernels that need only these
  // position stage
  Pose<T> *X;   // frame F in the parent's F                                     computed by position
  Pose<T> *X_W; // frame F in the world                                          world_poses
  Motion<T> *H; // columns of the motion maps of joints with several degrees of freedom    position
  // velocity stage
  Vec3<T> *w;   // angular velocity of F                                         velocity
  Vec3<T> *u;   // velocity of the origin of F (only where a kernel needs it)    velocity
  Motion<T> *c; // acceleration of F that is left when a_parent = 0 and v' = 0   velocity
  // dynamics stage
  ArticulatedInertia<T> *I_A; // articulated inertia, before elimination of joint i     factorize
  Load<T> *p_A;               // articulated bias load                                         inward
  RigidInertia<T> *I_C;       // composite inertia                                            composite
  Pivot<T> *pivot;            // one per degree of freedom: z = L^-1 (I_A H)^T, 1 / d                    factorize
  T *L;                       // 15 per body: strictly lower triangle of the unit factor       factorize
  T *y;                       // one per degree of freedom: L^-1 (tau - H^T p_A)                         inward
  // acceleration stage
  Motion<T> *A; // angular acceleration and acceleration of the origin of F      outward
  T *columns;   // 6 nv: loads or motions per degree of freedom                            mass_matrix
  T *way;       // sum of the lengths |X.p| from ground to F               evaluate_loop_constraints
  // programs of joints
  T *joint_values;           // results of one program's instructions
  T *joint_q;                // nv: coordinates of custom joints, for their bias                position
  T t;                       // time, s: for rows that depend on it
  const unsigned char *held; // of each velocity of cut joints: it is held; null if none is
  // of each row, and of each loop constraint: load on B and the point where it acts, world axes; null: not wanted
  Load<T> *row_load;
  Vec3<T> *row_point;
  // of each degree of freedom: inertia that is added to its pivot for a while; null: none
  const double *regularizing_inertia;
  // of each degree of freedom, over a step of length h: h c, h^2 k / 4 of a damping c and a stiffness k that act against
  // changes of its velocity (tree/joint_pivots.hpp); null: none
  const T *step_damping, *step_stiffness;
  // flexible bodies: loads per unit acceleration of each mode, of the body itself, then with all it carries;
  // inertia of the modes among themselves with all the body carries; the factor of what is left to eliminate
  Load<T> *modal_own, *modal_load;
  Sym3<T> *modal_bend; // J2_rs eta_s of each mode r
  ModalRate<T> *modal_rates;
  T *modal_square, *modal_factor;
};

template <class T> inline std::size_t lay_out(const ModelData &m, std::byte *base, Workspace<T> &ws) {
  Arena arena{base};
  // a place for a point that is no frame of the model
  const std::size_t n = std::size_t(m.nb) + 2, nv = std::size_t(m.nv);
  ws.path = arena.take<std::int32_t>(std::size_t(m.depth));
  ws.X = arena.take<Pose<T>>(n);
  ws.X_W = arena.take<Pose<T>>(n);
  ws.H = arena.take<Motion<T>>(std::size_t(m.columns + m.max_modes));
  ws.w = arena.take<Vec3<T>>(n);
  ws.u = arena.take<Vec3<T>>(n);
  ws.c = arena.take<Motion<T>>(n);
  ws.I_A = arena.take<ArticulatedInertia<T>>(n);
  ws.p_A = arena.take<Load<T>>(n);
  ws.I_C = arena.take<RigidInertia<T>>(n);
  ws.pivot = arena.take<Pivot<T>>(nv);
  ws.L = arena.take<T>(15 * n);
  ws.y = arena.take<T>(nv);
  ws.A = arena.take<Motion<T>>(n);
  ws.columns = arena.take<T>(6 * nv);
  ws.way = arena.take<T>(m.nc ? n : 0);
  ws.joint_values = arena.take<T>(std::size_t(m.joints.max_values));
  ws.joint_q = arena.take<T>(m.custom_joints ? nv : 0);
  ws.t = T(0.0);
  ws.held = nullptr;
  ws.row_load = nullptr;
  ws.row_point = nullptr;
  ws.regularizing_inertia = nullptr;
  ws.step_damping = ws.step_stiffness = nullptr;
  ws.modal_own = arena.take<Load<T>>(std::size_t(m.modal_loads));
  ws.modal_bend = arena.take<Sym3<T>>(std::size_t(m.modal_loads));
  ws.modal_rates = arena.take<ModalRate<T>>(std::size_t(m.modal_loads));
  ws.modal_load = arena.take<Load<T>>(std::size_t(m.modal_loads));
  ws.modal_square = arena.take<T>(std::size_t(m.modal_squares));
  ws.modal_factor = arena.take<T>(std::size_t(m.modal_factors));
  return arena.used;
}

template <class S> DALEMBERT_INLINE const Vec3<S> &as_vec(const S *p) { return *reinterpret_cast<const Vec3<S> *>(p); }
template <class S> DALEMBERT_INLINE const Mat3<S> &as_mat(const S *p) { return *reinterpret_cast<const Mat3<S> *>(p); }
template <class S> DALEMBERT_INLINE const Sym3<S> &as_sym(const S *p) { return *reinterpret_cast<const Sym3<S> *>(p); }

} // namespace dalembert::DALEMBERT_ISA
