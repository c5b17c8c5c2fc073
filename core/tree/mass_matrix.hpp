// Mass matrix by composite bodies (Walker & Orin 1982; Jain & Rodriguez 1990, (5.2)-(5.5), n_m = 0).
//
//     I_C = I + sum over children of I_C, seen from here                                       (1)
//     F_k = I_C H_k               load that moves everything outboard of degree of freedom k at unit rate (2)
//     M_jk = H_j^T F_k            with F_k moved to the frame of j, for j on the path to ground (3)
//
// Because subtrees are ranges of degrees of freedom, the loads of a whole subtree are moved to the parent
// together: component r of F_k stands at columns[r * nv + k]. The inner loops run over k. Armatures join the diagonal.
#pragma once

#include "tree/joint_maps.hpp"
#include "tree/kinematics.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> DALEMBERT_INLINE RigidInertia<T> rigid_inertia(const ModelData &m, const BodyData &b) {
  return table_entry<T>(m, b, [](const auto &own) -> RigidInertia<T> {
    return {T(own.mass), lift<T>(as_vec(own.h)), lift<T>(as_sym(own.J))};
  });
}

// inertia of one body by itself, after its position
template <class T> DALEMBERT_INLINE void start_composite(const ModelData &m, Workspace<T> &ws, const T *q, int i) {
  if (m.bodies[i].form == JointForm::modal) {
    modal_inertia(m, ws, q, i);
    start_modal(m, ws, i);
  } else {
    ws.I_C[i] = rigid_inertia<T>(m, m.bodies[i]);
  }
}

// copies the upper triangle into the lower one, tile by tile so that both sides stay in the cache
template <class T> inline void mirror(T *M, int n) {
  constexpr int tile = 16;
  for (int r0 = 0; r0 < n; r0 += tile)
    for (int c0 = 0; c0 <= r0; c0 += tile)
      for (int r = r0; r < r0 + tile && r < n; ++r)
        for (int c = c0; c < c0 + tile && c < r; ++c)
          M[std::ptrdiff_t(r) * n + c] = M[std::ptrdiff_t(c) * n + r];
}

// M: nv x nv, full
template <class T> void mass_matrix(const ModelData &m, Workspace<T> &ws, const T *q, T *M);

// M in compressed rows: in each row the ancestors' degrees of freedom, then its own and those of its subtree
struct SparsePattern {
  std::int64_t size;             // numbers that are kept
  const std::int64_t *diagonal;  // nv: where the diagonal of each row stands
  const std::int64_t *row_end;   // nv: where each row ends
  const std::int64_t *below;     // where the numbers above the diagonal, row by row, stand below it
};
void sparse_mass_matrix(const ModelData &m, Workspace<double> &ws, const double *q, const SparsePattern &pattern,
                        double *values);

// the diagonal of M alone, O(nb): inertia along each degree of freedom with all others locked
template <class T> void composite_diagonal(const ModelData &m, Workspace<T> &ws, const T *q, T *out);

} // namespace dalembert::DALEMBERT_ISA
