// The modes of a flexible body among themselves, where what they carry is little beside their number.
//
// With modes that are orthogonal in mass, what is to be eliminated is a diagonal and, for each node that carries
// something, six rows (and twelve more where the frame of the body moves with the modes):
//
//     D = diag(g) + W C W^T,    W (n, r): the motion of these nodes per modal velocity,  C (r, r): inertias that they
//                               carry   (1)
//
// Jain & Rodriguez 1990, (7.7), invert this by the formula of Woodbury, for their model of order zero, with an inverse
// of C that never exists (erratum). The block of the modes has no part that follows the deformation, so that (1) holds
// for all orders; and its factors are of the same form, L_rk = w_r . z_k for r > k, by
//
//     z_k = C_k w_k / d_k,   d_k = g_k + w_k . C_k w_k,   C_k+1 = C_k - d_k z_k z_k^T                               (2)
//
// which need no inverse. Cost n r^2 to factor, n r to solve, in place of n^3 / 6 and n^2.
//
// In: modal_square begins with C, modal_factor with W. Out: modal_factor holds W, then z; pivots as of the dense
// factor.
#pragma once

#include "flexible/body.hpp"

namespace dalembert::DALEMBERT_ISA {

constexpr int max_low_rank = 30;

template <class T> DALEMBERT_INLINE void put_six(const Motion<T> &x, T *to) {
  to[0] = x.w.x, to[1] = x.w.y, to[2] = x.w.z, to[3] = x.v.x, to[4] = x.v.y, to[5] = x.v.z;
}

// the symmetric 6 x 6 matrix of an articulated inertia, rows of length r
template <class T> inline void put_inertia(const ArticulatedInertia<T> &I, T *to, int r) {
  for (int k = 0; k < 6; ++k) {
    const Vec3<T> e{T(k % 3 == 0 ? 1.0 : 0.0), T(k % 3 == 1 ? 1.0 : 0.0), T(k % 3 == 2 ? 1.0 : 0.0)}, o = zero3<T>();
    const Load<T> F = k < 3 ? mul(I, e, o) : mul(I, o, e);
    to[0 * r + k] = F.n.x, to[1 * r + k] = F.n.y, to[2 * r + k] = F.n.z;
    to[3 * r + k] = F.f.x, to[4 * r + k] = F.f.y, to[5 * r + k] = F.f.z;
  }
}

// columns of W and blocks of C for node i, which hands over inertia I
template <class T>
inline void hand_over_low_rank(const ModelData &m, Workspace<T> &ws, const ArticulatedInertia<T> &I, int i) {
  const BodyData &b = m.bodies[i];
  if (b.last == i)
    return; // it carries nothing
  const ModalData &body = m.modal[b.modal];
  const int n = body.modes, r = body.rank, at = 6 * b.ordinal;
  const Motion<T> *H = ws.H + b.H;
  Load<T> *U = ws.modal_load + body.loads;
  T *W = ws.modal_factor + body.factors, *C = ws.modal_square + body.squares;
  for (int k = 0; k < n; ++k) {
    add_to_parent(ws.X[i], mul(I, H[k].w, H[k].v), U[k]);
    put_six(H[k], W + k * r + at);
  }
  put_inertia(I, C + at * r + at, r);
}

// C before nodes hand over
template <class T> inline void start_low_rank(const ModelData &m, Workspace<T> &ws, int i) {
  const ModalData &body = m.modal[m.bodies[i].modal];
  for (int r = 0; r < body.modes; ++r)
    ws.modal_load[body.loads + r] = ws.modal_own[body.loads + r];
  for (int k = 0; k < body.rank * body.rank; ++k)
    ws.modal_square[body.squares + k] = T(0.0);
}

// the last twelve columns, where the frame moves with the modes: H U^T + U H^T + H I H^T; U becomes U + I H
template <class T>
inline void complete_low_rank(const ModelData &m, Workspace<T> &ws, const ArticulatedInertia<T> &I, int i) {
  const BodyData &b = m.bodies[i];
  if (!b.moves)
    return;
  const ModalData &body = m.modal[b.modal];
  const int n = body.modes, r = body.rank, at = r - 12;
  const Motion<T> *H = ws.H + b.H;
  Load<T> *U = ws.modal_load + body.loads;
  T *W = ws.modal_factor + body.factors, *C = ws.modal_square + body.squares;
  put_inertia(I, C + at * r + at, r);
  for (int k = 0; k < 6; ++k)
    C[(at + k) * r + at + 6 + k] = C[(at + 6 + k) * r + at + k] = T(1.0);
  for (int k = 0; k < n; ++k) {
    put_six(H[k], W + k * r + at);
    put_six(Motion<T>{U[k].n, U[k].f}, W + k * r + at + 6);
    const Load<T> L = mul(I, H[k].w, H[k].v);
    U[k].n += L.n;
    U[k].f += L.f;
  }
}

// (2), and rows z = L^-1 U of the pivots
template <class T> inline void factor_low_rank(const ModelData &m, Workspace<T> &ws, int i) {
  const BodyData &b = m.bodies[i];
  const ModalData &body = m.modal[b.modal];
  const int n = body.modes, r = body.rank;
  const double *G = modal_tables(m, body).G;
  const Load<T> *U = ws.modal_load + body.loads;
  T *C = ws.modal_square + body.squares, *W = ws.modal_factor + body.factors, *Z = W + std::ptrdiff_t(n) * r;
  Pivot<T> *pivot = ws.pivot + b.v;
  Load<T> sum[max_low_rank]; // sum over earlier modes of z_k times the row of the pivot
  for (int c = 0; c < r; ++c)
    sum[c] = {zero3<T>(), zero3<T>()};
  for (int k = 0; k < n; ++k) {
    const T *w = W + k * r;
    T *z = Z + k * r, d(G[k * (n + 1)]);
    Load<T> row = U[k];
    for (int c = 0; c < r; ++c) {
      T s(0.0);
      for (int l = 0; l < r; ++l)
        s = s + C[c * r + l] * w[l];
      z[c] = s;
      d = d + w[c] * s;
      row.n -= scale(w[c], sum[c].n);
      row.f -= scale(w[c], sum[c].f);
    }
    const T inverse = 1.0 / d;
    pivot[k] = {row, inverse};
    for (int c = 0; c < r; ++c) {
      const T scaled = z[c] * inverse;
      for (int l = 0; l < r; ++l)
        C[c * r + l] = C[c * r + l] - scaled * z[l];
      sum[c].n += scale(scaled, row.n);
      sum[c].f += scale(scaled, row.f);
    }
    for (int c = 0; c < r; ++c)
      z[c] = z[c] * inverse;
  }
}

// y = L^-1 (tau - y)
template <class T, class R> inline void reduce_low_rank(int n, int r, const T *W, const R *tau, R *y) {
  const T *Z = W + std::ptrdiff_t(n) * r;
  R sum[max_low_rank];
  for (int c = 0; c < r; ++c)
    sum[c] = R(0.0);
  for (int k = 0; k < n; ++k) {
    R s = tau[k] - y[k];
    for (int c = 0; c < r; ++c)
      s = s - W[k * r + c] * sum[c];
    for (int c = 0; c < r; ++c)
      sum[c] = sum[c] + Z[k * r + c] * s;
    y[k] = s;
  }
}

// a = L^-T D^-1 (y - z A)
template <class T, class R> inline void back_substitute_low_rank(int n, int r, const Pivot<T> *pivot, const T *W,
                                                                 const R *y, const Motion<R> &A, R *a) {
  const T *Z = W + std::ptrdiff_t(n) * r;
  R sum[max_low_rank];
  for (int c = 0; c < r; ++c)
    sum[c] = R(0.0);
  for (int k = n - 1; k >= 0; --k) {
    R s = pivot[k].inverse * (y[k] - (dot(pivot[k].z.n, A.w) + dot(pivot[k].z.f, A.v)));
    for (int c = 0; c < r; ++c)
      s = s - Z[k * r + c] * sum[c];
    for (int c = 0; c < r; ++c)
      sum[c] = sum[c] + W[k * r + c] * s;
    a[k] = s;
  }
}

} // namespace dalembert::DALEMBERT_ISA
