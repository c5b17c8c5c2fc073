// Elimination of a joint's degrees of freedom from an articulated inertia: (1) of tree/forward_dynamics.hpp.
#pragma once

#include "tree/joint_maps.hpp"

namespace dalembert::DALEMBERT_ISA {

// What damping and stiffness of a degree of freedom, h c and h^2 k / 4 over a step of length h, add to its inertia, with
// which a change of its velocity is found: those of the trapezoidal rule, and from h c = 2 inertia on as much more as lets
// the velocity decay in the step without reversal.
template <class T> DALEMBERT_INLINE T step_inertia(const T &damping, const T &stiffness, const T &inertia) {
  return larger(0.5 * damping, damping - inertia) + stiffness;
}

// D = L diag(d) L^T in place, then Z = L^-1 U; `given` marks rows that stand aside
template <int N, class T> DALEMBERT_INLINE void factor_block(const ModelData &m, const BodyData &b, const Motion<T> *H,
                                                             const ArticulatedInertia<T> &I, const double *extra,
                                                             const unsigned char *given, Pivot<T> *pivot, T *L,
                                                             const T *damping = nullptr,
                                                             const T *stiffness = nullptr) {
  Load<T> U[N];
  T D[N][N];
  for (int k = 0; k < N; ++k)
    U[k] = mul(I, H[k].w, H[k].v);
  for (int r = 0; r < N; ++r)
    for (int k = 0; k <= r; ++k)
      D[r][k] = dot(H[r].w, U[k].n) + dot(H[r].v, U[k].f);
  for (int r = 0; b.armature && r < N; ++r)
    D[r][r] = D[r][r] + armature_of<T>(m, b.v + r);
  for (int r = 0; extra && r < N; ++r)
    D[r][r] = D[r][r] + extra[r];
  for (int r = 0; damping && r < N; ++r)
    D[r][r] = D[r][r] + step_inertia(damping[r], stiffness[r], D[r][r]);
  if (given) {
    for (int r = 0; r < N; ++r)
      if (given[r]) {
        for (int k = 0; k < N; ++k)
          (k <= r ? D[r][k] : D[k][r]) = T(0.0);
        D[r][r] = T(1.0);
        U[r] = {zero3<T>(), zero3<T>()};
      }
  }
  for (int r = 0; r < N; ++r) {
    for (int k = 0; k < r; ++k) {
      T s = D[r][k];
      for (int l = 0; l < k; ++l)
        s = s - D[r][l] * D[k][l];
      D[r][k] = s; // L_rk d_k until the pivots divide it
    }
    T d = D[r][r];
    for (int k = 0; k < r; ++k) {
      const T l = D[r][k] * pivot[k].inverse;
      d = d - l * D[r][k];
      D[r][k] = l;
    }
    D[r][r] = d;
    pivot[r].inverse = 1.0 / d;
    Load<T> z = U[r];
    for (int k = 0; k < r; ++k) {
      z.n -= scale(D[r][k], pivot[k].z.n);
      z.f -= scale(D[r][k], pivot[k].z.f);
    }
    pivot[r].z = z;
    for (int k = 0; k < r; ++k)
      L[r * (r - 1) / 2 + k] = D[r][k];
  }
}

} // namespace dalembert::DALEMBERT_ISA
