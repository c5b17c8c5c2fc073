// Exact first derivatives of inverse and forward dynamics by analytic recursions, O(nv depth).
//
// In spatial vectors about one point O at rest (world axes; O is where the first body of the tree
// happens to be, so that large distances cost no digits), with x and x* the cross products of
// motions with motions and with loads, degree of freedom k has a motion S_k and (Singh, Russell, Wensing 2022,
// extended here to joints whose motion map changes with their own coordinates):
//
//     S'_k = v_fix x S_k         v_fix: velocity of the frame in which S_k is constant          (1)
//     psi_k = v_ref x S_k        chi_k = a_ref x S_k + v_ref x psi_k                            (2)
//
// v_ref, a_ref is the motion of what a displacement along k leaves alone. Three forms of joint:
//
//     outboard   S fixed in the body:      v_fix = v_body       v_ref = v_parent   (spherical, free)
//     inboard    S fixed in the parent:    v_fix = v_parent     v_ref = v_body     (the same, reversed)
//     in series  one turn or slide after another: both the velocity between them   (all others)
//
// With I, f the inertia and load of everything outboard (composite body), and 2 B = x* I - I x + (I v) x*,
// which for rigid bodies is [Q, 0; -2 l~, 0] with l the linear momentum (6 + 3 + 3 numbers):
//
//     F_k = I S_k    y_k = 2 B^T S_k    e_k = 2 B psi_k + I chi_k    d_k = 2 B S_k + I (psi_k + S'_k)   (3)
//
//     j inboard of k:    dtau_k/dq_j = y_k . psi_j + F_k . chi_j        dtau_j/dq_k = S_j . (e_k + S_k x* f)
//                        dtau_k/dv_j = y_k . S_j + F_k . (psi_j + S'_j)    dtau_j/dv_k = S_j . d_k
//                        M_jk = S_j . F_k                                                          (4)
//
// Given loads keep their direction and act at points of bodies: with phi, t and T = sum p phi^T the
// composite force, moment and moment tensor, a displacement s moves them by
// A s = [(T - tr T) s_w + s_v x phi; 0], so that dtau_j/dq_k has -S_j . A S_k more and dtau_k/dq_j
// has z_k . S_j, z_k = -(S_k x* [t; phi] + A^T S_k).                                             (5)
//
// Forward dynamics follows from M a + b = tau:
//
//     da/dq = -M^-1 (dtau/dq at constant a)        da/dv likewise        da/dtau = M^-1           (6)
#pragma once

#include "tree/forward_dynamics.hpp"
#include "tree/mass_matrix.hpp"

namespace dalembert::DALEMBERT_ISA {

// x and x* of (2), (4)
template <class T> DALEMBERT_INLINE Motion<T> cross_motion(const Motion<T> &a, const Motion<T> &b) {
  return {cross(a.w, b.w), cross(a.w, b.v) + cross(a.v, b.w)};
}
template <class T> DALEMBERT_INLINE Load<T> cross_load(const Motion<T> &a, const Load<T> &F) {
  return {cross(a.w, F.n) + cross(a.v, F.f), cross(a.w, F.f)};
}
template <class T> DALEMBERT_INLINE Motion<T> operator+(const Motion<T> &a, const Motion<T> &b) {
  return {a.w + b.w, a.v + b.v};
}
template <class T> DALEMBERT_INLINE Load<T> operator+(const Load<T> &a, const Load<T> &b) {
  return {a.n + b.n, a.f + b.f};
}
template <class T> DALEMBERT_INLINE Load<T> operator-(const Load<T> &a) { return {-a.n, -a.f}; }
template <class T> DALEMBERT_INLINE T dot(const Motion<T> &a, const Load<T> &F) {
  return dot(a.w, F.n) + dot(a.v, F.f);
}
template <class T> DALEMBERT_INLINE Motion<T> scale(const T &s, const Motion<T> &a) {
  return {scale(s, a.w), scale(s, a.v)};
}

// composite quantities of one body
template <class T> struct Carried {
  RigidInertia<T> I;
  Sym3<T> Q;                      // symmetric part of the upper left block of 2 B
  Vec3<T> momentum_n, momentum_f; // angular and linear momentum; 2 B = [Q - n~, 0; -2 f~, 0]
  Load<T> f;
  Load<T> given;  // t, phi
  Mat3<T> tensor; // T
};

// motions and loads of one degree of freedom
template <class T> struct Dof { Motion<T> S, rate, psi, chi; };

template <class T> struct DerivativeWorkspace {
  Carried<T> *carried;  // nb + 1
  Motion<T> *V;         // nb + 1: velocity about O
  Motion<T> *A;         // nb + 1: spatial acceleration about O, weight included
  Dof<T> *dof;          // nv
  Load<T> *inward;      // nv: e_k without S_k x* f
  T *columns;           // 27 nv, component major: F (6), g (6), d (6), y (3), z (6, only with loads)
  T *lower_q, *lower_v; // nv x nv: row j holds column j of the lower triangle
};

template <class T> inline std::size_t lay_out(const ModelData &m, std::byte *base, DerivativeWorkspace<T> &work) {
  Arena arena{base};
  const std::size_t n = std::size_t(m.nb) + 1, nv = std::size_t(m.nv);
  work.carried = arena.take<Carried<T>>(n);
  work.V = arena.take<Motion<T>>(n);
  work.A = arena.take<Motion<T>>(n);
  work.dof = arena.take<Dof<T>>(nv);
  work.inward = arena.take<Load<T>>(nv);
  work.columns = arena.take<T>(27 * nv);
  work.lower_q = arena.take<T>(nv * nv);
  work.lower_v = arena.take<T>(nv * nv);
  return arena.used;
}

// dtau/dq, dtau/dv and M, each nv x nv; loads may be null
void d_inverse_dynamics(const ModelData &m, Workspace<double> &ws, DerivativeWorkspace<double> &work, const double *q,
                        const double *v, const double *a, const double *loads, double *by_q, double *by_v, double *M);

// replaces the columns of X (nv x nv) by factor * M^-1 X, W at a time, after the factors of M are known
void solve_columns(const ModelData &m, const Workspace<double> &ws, Side<Pack> &side, Pack *x, double factor,
                   double *X);

// up to this many degrees of freedom a product of matrices is cheaper than as many solves by recursion (measured)
constexpr int largest_product = 256;

// length of a row in minus_product: n rounded up to whole tiles, and an odd number of registers so that the rows of a
// tile do not fall on the same lines of the cache
DALEMBERT_INLINE int padded(int n) { return (n + 2 * W - 1) / (2 * W) * (2 * W) + W; }

// X <- -A X for n x n matrices; workspace holds n rows of padded(n) numbers. Tiles of 4 rows by 2 registers.
void minus_product(const double *A, double *X, double *work, int n);

} // namespace dalembert::DALEMBERT_ISA
