// Inertias: of a rigid body (10 numbers) and of an articulated body (21 numbers).
//
// Acting on the acceleration [alpha; a] of the frame's origin they give the load [n; f]:
//
//     rigid          n = J alpha + h x a        f = m a + alpha x h                (1)
//     articulated    n = J alpha + H a          f = H^T alpha + M a                (2)
//
// Seen from the parent's frame P, with X = (R, p) the pose of F in P and S' = R S R^T,
//
//     M_P = M'                 H_P = H' + p~ M'             J_P = J' - H' p~ - (H_P p~)^T        (3)
//
// because a_F = a_P + alpha x p and n_P = n_F + p x f.
#pragma once

#include "scalar/vec.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> struct Load { Vec3<T> n, f; };

template <class T> struct RigidInertia {
  T m;
  Vec3<T> h;
  Sym3<T> J;
};

template <class T> struct ArticulatedInertia {
  Sym3<T> J;
  Mat3<T> H;
  Sym3<T> M;
};

// S' = R S R^T
template <class T> DALEMBERT_INLINE Sym3<T> rotate(const Mat3<T> &R, const Sym3<T> &S) {
  const Vec3<T> a = mul(S, Vec3<T>{R.xx, R.xy, R.xz}), b = mul(S, Vec3<T>{R.yx, R.yy, R.yz}),
                c = mul(S, Vec3<T>{R.zx, R.zy, R.zz});
  return {a.x * R.xx + a.y * R.xy + a.z * R.xz, a.x * R.yx + a.y * R.yy + a.z * R.yz,
          a.x * R.zx + a.y * R.zy + a.z * R.zz, b.x * R.yx + b.y * R.yy + b.z * R.yz,
          b.x * R.zx + b.y * R.zy + b.z * R.zz, c.x * R.zx + c.y * R.zy + c.z * R.zz};
}

// the same when only S.xx, S.xy, S.yy differ from zero
template <class T> DALEMBERT_INLINE Sym3<T> rotate_xy(const Mat3<T> &R, const T &xx, const T &xy, const T &yy) {
  const T ax = xx * R.xx + xy * R.xy, ay = xy * R.xx + yy * R.xy;
  const T bx = xx * R.yx + xy * R.yy, by = xy * R.yx + yy * R.yy;
  const T cx = xx * R.zx + xy * R.zy, cy = xy * R.zx + yy * R.zy;
  return {ax * R.xx + ay * R.xy, ax * R.yx + ay * R.yy, ax * R.zx + ay * R.zy,
          bx * R.yx + by * R.yy, bx * R.zx + by * R.zy, cx * R.zx + cy * R.zy};
}

// G R^T for a matrix whose rows are already rotated
template <class T> DALEMBERT_INLINE Mat3<T> mul_bt(const Mat3<T> &G, const Mat3<T> &R) {
  return {G.xx * R.xx + G.xy * R.xy + G.xz * R.xz, G.xx * R.yx + G.xy * R.yy + G.xz * R.yz,
          G.xx * R.zx + G.xy * R.zy + G.xz * R.zz, G.yx * R.xx + G.yy * R.xy + G.yz * R.xz,
          G.yx * R.yx + G.yy * R.yy + G.yz * R.yz, G.yx * R.zx + G.yy * R.zy + G.yz * R.zz,
          G.zx * R.xx + G.zy * R.xy + G.zz * R.xz, G.zx * R.yx + G.zy * R.yy + G.zz * R.yz,
          G.zx * R.zx + G.zy * R.zy + G.zz * R.zz};
}

// (3) after rotation, added to the parent's inertia
template <class T> DALEMBERT_INLINE void translate_add(const Vec3<T> &p, const Sym3<T> &J, const Mat3<T> &H,
                                                       const Sym3<T> &M, ArticulatedInertia<T> &to) {
  // K = H' + p~ M'
  const Mat3<T> K{H.xx + p.y * M.xz - p.z * M.xy, H.xy + p.y * M.yz - p.z * M.yy, H.xz + p.y * M.zz - p.z * M.yz,
                  H.yx + p.z * M.xx - p.x * M.xz, H.yy + p.z * M.xy - p.x * M.yz, H.yz + p.z * M.xz - p.x * M.zz,
                  H.zx + p.x * M.xy - p.y * M.xx, H.zy + p.x * M.yy - p.y * M.xy, H.zz + p.x * M.yz - p.y * M.xz};
  // row x p is a row of (matrix p~)
  to.J.xx = to.J.xx + (J.xx - (H.xy * p.z - H.xz * p.y) - (K.xy * p.z - K.xz * p.y));
  to.J.xy = to.J.xy + (J.xy - (H.xz * p.x - H.xx * p.z) - (K.yy * p.z - K.yz * p.y));
  to.J.xz = to.J.xz + (J.xz - (H.xx * p.y - H.xy * p.x) - (K.zy * p.z - K.zz * p.y));
  to.J.yy = to.J.yy + (J.yy - (H.yz * p.x - H.yx * p.z) - (K.yz * p.x - K.yx * p.z));
  to.J.yz = to.J.yz + (J.yz - (H.yx * p.y - H.yy * p.x) - (K.zz * p.x - K.zx * p.z));
  to.J.zz = to.J.zz + (J.zz - (H.zx * p.y - H.zy * p.x) - (K.zx * p.y - K.zy * p.x));
  to.H.xx = to.H.xx + K.xx, to.H.xy = to.H.xy + K.xy, to.H.xz = to.H.xz + K.xz;
  to.H.yx = to.H.yx + K.yx, to.H.yy = to.H.yy + K.yy, to.H.yz = to.H.yz + K.yz;
  to.H.zx = to.H.zx + K.zx, to.H.zy = to.H.zy + K.zy, to.H.zz = to.H.zz + K.zz;
  to.M.xx = to.M.xx + M.xx, to.M.xy = to.M.xy + M.xy, to.M.xz = to.M.xz + M.xz;
  to.M.yy = to.M.yy + M.yy, to.M.yz = to.M.yz + M.yz, to.M.zz = to.M.zz + M.zz;
}

template <class T>
DALEMBERT_INLINE void add_to_parent(const Pose<T> &X, const ArticulatedInertia<T> &A, ArticulatedInertia<T> &to) {
  translate_add(X.p, rotate(X.R, A.J), mul_bt(mul(X.R, A.H), X.R), rotate(X.R, A.M), to);
}

// the same when the z row of the angular part has been eliminated (a revolute about local z):
// J has xx, xy, yy only and H its first two rows only
template <class T> DALEMBERT_INLINE void add_to_parent_without_z(const Pose<T> &X, const ArticulatedInertia<T> &A,
                                                                 ArticulatedInertia<T> &to) {
  const Mat3<T> &R = X.R;
  const Mat3<T> G{R.xx * A.H.xx + R.xy * A.H.yx, R.xx * A.H.xy + R.xy * A.H.yy, R.xx * A.H.xz + R.xy * A.H.yz,
                  R.yx * A.H.xx + R.yy * A.H.yx, R.yx * A.H.xy + R.yy * A.H.yy, R.yx * A.H.xz + R.yy * A.H.yz,
                  R.zx * A.H.xx + R.zy * A.H.yx, R.zx * A.H.xy + R.zy * A.H.yy, R.zx * A.H.xz + R.zy * A.H.yz};
  translate_add(X.p, rotate_xy(R, A.J.xx, A.J.xy, A.J.yy), mul_bt(G, R), rotate(R, A.M), to);
}

template <class T>
DALEMBERT_INLINE Load<T> mul(const ArticulatedInertia<T> &A, const Vec3<T> &alpha, const Vec3<T> &a) {
  return {mul(A.J, alpha) + mul(A.H, a), mul_t(A.H, alpha) + mul(A.M, a)};
}

// A - d z z^T for z = [n; f]
template <class T>
DALEMBERT_INLINE void subtract_dyad(ArticulatedInertia<T> &A, const T &d, const Vec3<T> &n, const Vec3<T> &f) {
  const Vec3<T> dn = scale(d, n), df = scale(d, f);
  A.J.xx = A.J.xx - dn.x * n.x, A.J.xy = A.J.xy - dn.x * n.y, A.J.xz = A.J.xz - dn.x * n.z;
  A.J.yy = A.J.yy - dn.y * n.y, A.J.yz = A.J.yz - dn.y * n.z, A.J.zz = A.J.zz - dn.z * n.z;
  A.H.xx = A.H.xx - dn.x * f.x, A.H.xy = A.H.xy - dn.x * f.y, A.H.xz = A.H.xz - dn.x * f.z;
  A.H.yx = A.H.yx - dn.y * f.x, A.H.yy = A.H.yy - dn.y * f.y, A.H.yz = A.H.yz - dn.y * f.z;
  A.H.zx = A.H.zx - dn.z * f.x, A.H.zy = A.H.zy - dn.z * f.y, A.H.zz = A.H.zz - dn.z * f.z;
  A.M.xx = A.M.xx - df.x * f.x, A.M.xy = A.M.xy - df.x * f.y, A.M.xz = A.M.xz - df.x * f.z;
  A.M.yy = A.M.yy - df.y * f.y, A.M.yz = A.M.yz - df.y * f.z, A.M.zz = A.M.zz - df.z * f.z;
}

template <class T> DALEMBERT_INLINE Load<T> mul(const RigidInertia<T> &I, const Vec3<T> &alpha, const Vec3<T> &a) {
  return {mul(I.J, alpha) + cross(I.h, a), scale(I.m, a) + cross(alpha, I.h)};
}

// rigid inertia seen from the parent, added: h_P = R h + m p, J_P = R J R^T + 2 (p.h') 1 - p h'^T - h' p^T + m (p.p 1 -
// p p^T)
template <class T>
DALEMBERT_INLINE void add_to_parent(const Pose<T> &X, const RigidInertia<T> &I, RigidInertia<T> &to) {
  const Vec3<T> h = mul(X.R, I.h), &p = X.p;
  const Sym3<T> J = rotate(X.R, I.J);
  const Vec3<T> g = h + scale(I.m, p); // first moment about P
  // p k^T + k p^T = p h^T + h p^T + (m p p^T + ...) symmetrised below
  const Vec3<T> k = h + g;
  const T xx = p.x * k.x, yy = p.y * k.y, zz = p.z * k.z;
  to.m = to.m + I.m;
  to.h += g;
  to.J.xx = to.J.xx + J.xx + (yy + zz);
  to.J.yy = to.J.yy + J.yy + (xx + zz);
  to.J.zz = to.J.zz + J.zz + (xx + yy);
  to.J.xy = to.J.xy + J.xy - (p.x * h.y + g.x * p.y);
  to.J.xz = to.J.xz + J.xz - (p.x * h.z + g.x * p.z);
  to.J.yz = to.J.yz + J.yz - (p.y * h.z + g.y * p.z);
}

// loads move to the parent: f_P = R f, n_P = R n + p x f_P
template <class T> DALEMBERT_INLINE void add_to_parent(const Pose<T> &X, const Load<T> &F, Load<T> &to) {
  const Vec3<T> f = mul(X.R, F.f);
  to.f += f;
  to.n += mul(X.R, F.n) + cross(X.p, f);
}

} // namespace dalembert::DALEMBERT_ISA
