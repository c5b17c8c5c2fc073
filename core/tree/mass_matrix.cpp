#include "tree/mass_matrix.hpp"

namespace dalembert::DALEMBERT_ISA {

// rows of the upper triangle by their numbers: element j >= k of row k is row(k)[j]
template <class T> struct DenseRows {
  T *M;
  std::ptrdiff_t nv;
  DALEMBERT_INLINE T *operator()(std::ptrdiff_t k) const { return M + k * nv; }
};
// in compressed rows; diagonal: where the diagonal of each row stands
template <class T> struct CompressedRows {
  T *values;
  const std::int64_t *diagonal;
  DALEMBERT_INLINE T *operator()(std::ptrdiff_t k) const { return values + (diagonal[k] - k); }
};

// columns [begin, end) of component-major six-vectors: loads move to the parent
template <class T> inline void move_columns(const Pose<T> &X, T *DALEMBERT_RESTRICT F, int nv, int begin, int end) {
  T *n0 = F, *n1 = F + nv, *n2 = F + 2 * nv, *f0 = F + 3 * nv, *f1 = F + 4 * nv, *f2 = F + 5 * nv;
  const Mat3<T> R = X.R;
  const Vec3<T> p = X.p;
#if defined(__GNUC__)
#pragma GCC ivdep // the six rows do not overlap
#endif
  for (int k = begin; k < end; ++k) {
    const Vec3<T> f = mul(R, Vec3<T>{f0[k], f1[k], f2[k]}), n = mul(R, Vec3<T>{n0[k], n1[k], n2[k]}) + cross(p, f);
    n0[k] = n.x, n1[k] = n.y, n2[k] = n.z;
    f0[k] = f.x, f1[k] = f.y, f2[k] = f.z;
  }
}

template <class T> DALEMBERT_INLINE void put_column(const Load<T> &L, T *column, int nv) {
  column[0] = L.n.x, column[nv] = L.n.y, column[2 * nv] = L.n.z;
  column[3 * nv] = L.f.x, column[4 * nv] = L.f.y, column[5 * nv] = L.f.z;
}

// to[j] += h . F_j
template <class T> inline void add_row(const Motion<T> &h, const T *F, int nv, int begin, int end, T *to) {
  for (int j = begin; j < end; ++j)
    to[j] = to[j] + (h.w.x * F[j] + h.w.y * F[nv + j] + h.w.z * F[2 * nv + j] + h.v.x * F[3 * nv + j] +
                     h.v.y * F[4 * nv + j] + h.v.z * F[5 * nv + j]);
}

// rows of the modes at a node: composite inertia there, moved by them
template <class T, class Rows>
DALEMBERT_INLINE void node_rows(const ModelData &m, Workspace<T> &ws, int i, const Rows &row) {
  const BodyData &b = m.bodies[i];
  hand_over(m, ws, ws.I_C[i], i);
  for (int k = 0; k < b.moves; ++k)
    add_row(ws.H[b.H + k], ws.columns, m.nv, b.v, b.v_end, row(b.by + k));
}

// columns and rows of the modes of a flexible body
template <class T, class Rows>
DALEMBERT_INLINE void modal_rows(const ModelData &m, Workspace<T> &ws, int i, const Rows &row) {
  const int nv = m.nv;
  const BodyData &b = m.bodies[i];
  const ModalData &body = m.modal[b.modal];
  complete_modal(m, ws, ws.I_C[i], i);
  for (int k = 0; k < b.nv; ++k) {
    put_column(ws.modal_load[body.loads + k], ws.columns + b.v + k, nv);
    T *to = row(b.v + k);
    if (b.moves)
      add_row(ws.H[b.H + k], ws.columns, nv, b.v + b.nv, b.v_end, to);
    for (int j = k; j < b.nv; ++j)
      to[b.v + j] = ws.modal_square[body.squares + j * b.nv + k];
  }
}

// columns of a joint: composite inertia times its motion map
template <class T>
DALEMBERT_INLINE void joint_columns(const BodyData &b, const RigidInertia<T> &I, const Motion<T> *H, T *F, int nv) {
  for (int k = 0; k < b.nv; ++k) {
    Load<T> L;
    if (b.form == JointForm::about_z)
      L = {{I.J.xz, I.J.yz, I.J.zz}, {-I.h.y, I.h.x, T(0.0)}};
    else if (b.form == JointForm::along_z)
      L = {{I.h.y, -I.h.x, T(0.0)}, {T(0.0), T(0.0), I.m}};
    else
      L = mul(I, H[k].w, H[k].v);
    put_column(L, F + b.v + k, nv);
  }
}

// rows of a joint: its motion map times the columns of its subtree
template <class T, class Rows>
DALEMBERT_INLINE void joint_rows(const BodyData &b, const Motion<T> *H, const T *F, int nv, const Rows &row) {
  for (int k = 0; k < b.nv; ++k) {
    const int first = b.v + k;
    T *to = row(first);
    if (b.form == JointForm::about_z || b.form == JointForm::along_z) {
      const T *from = F + (b.form == JointForm::about_z ? 2 : 5) * nv;
      for (int j = first; j < b.v_end; ++j)
        to[j] = from[j];
    } else {
      const Motion<T> h = H[k];
      for (int j = first; j < b.v_end; ++j)
        to[j] = h.w.x * F[j] + h.w.y * F[nv + j] + h.w.z * F[2 * nv + j] + h.v.x * F[3 * nv + j] +
                h.v.y * F[4 * nv + j] + h.v.z * F[5 * nv + j];
    }
  }
}

// the upper triangle, where zeros stand before
template <class T, class Rows>
DALEMBERT_INLINE void fill_upper(const ModelData &m, Workspace<T> &ws, const T *q, const Rows &row) {
  const int nv = m.nv;
  T *F = ws.columns;
  compute_poses(m, ws, q);
  for (int i = 1; i <= m.nb; ++i)
    start_composite(m, ws, q, i);
  for (int i = m.nb; i > 0; --i) {
    const BodyData &b = m.bodies[i];
    if (b.form == JointForm::node)
      node_rows(m, ws, i, row);
    if (b.form == JointForm::modal) {
      modal_rows(m, ws, i, row);
    } else {
      joint_columns(b, ws.I_C[i], ws.H + b.H, F, nv);
      joint_rows(b, ws.H + b.H, F, nv, row);
    }
    if (b.parent) {
      add_to_parent(ws.X[i], ws.I_C[i], ws.I_C[b.parent]);
      move_columns(ws.X[i], F, nv, b.v, b.v_end);
    }
  }
  for (int k = 0; m.armature && k < nv; ++k)
    row(k)[k] = row(k)[k] + armature_of<T>(m, k);
}

// M: nv x nv, full
template <class T> void mass_matrix(const ModelData &m, Workspace<T> &ws, const T *q, T *M) {
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t(m.nv) * m.nv; ++i)
    M[i] = T(0.0);
  fill_upper(m, ws, q, DenseRows<T>{M, m.nv});
  mirror(M, m.nv);
}

void sparse_mass_matrix(const ModelData &m, Workspace<double> &ws, const double *q, const SparsePattern &pattern,
                        double *values) {
  for (std::int64_t i = 0; i < pattern.size; ++i)
    values[i] = 0.0;
  fill_upper(m, ws, q, CompressedRows<double>{values, pattern.diagonal});
  const std::int64_t *below = pattern.below;
  for (int k = 0; k < m.nv; ++k)
    for (std::int64_t i = pattern.diagonal[k] + 1; i < pattern.row_end[k]; ++i)
      values[*below++] = values[i];
}

// the diagonal of M alone, O(nb): inertia along each degree of freedom with all others locked
template <class T> void composite_diagonal(const ModelData &m, Workspace<T> &ws, const T *q, T *out) {
  compute_poses(m, ws, q);
  for (int i = 1; i <= m.nb; ++i)
    start_composite(m, ws, q, i);
  for (int i = m.nb; i > 0; --i) {
    const BodyData &b = m.bodies[i];
    const RigidInertia<T> &I = ws.I_C[i];
    if (b.form == JointForm::node)
      hand_over(m, ws, I, i);
    if (b.form == JointForm::modal) {
      complete_modal(m, ws, I, i);
      for (int k = 0; k < b.nv; ++k)
        out[b.v + k] = ws.modal_square[m.modal[b.modal].squares + k * (b.nv + 1)];
    }
    for (int k = 0; k < b.nv && b.form != JointForm::modal; ++k) {
      const Motion<T> h = column(b, ws.H + b.H, k);
      const Load<T> L = mul(I, h.w, h.v);
      out[b.v + k] = dot(h.w, L.n) + dot(h.v, L.f);
      if (b.armature)
        out[b.v + k] = out[b.v + k] + armature_of<T>(m, b.v + k);
    }
    if (b.parent)
      add_to_parent(ws.X[i], I, ws.I_C[b.parent]);
  }
}

template void mass_matrix(const ModelData &, Workspace<double> &, const double *, double *);
template void mass_matrix(const ModelData &, Workspace<Pack> &, const Pack *, Pack *);
template void composite_diagonal(const ModelData &, Workspace<double> &, const double *, double *);
template void composite_diagonal(const ModelData &, Workspace<Pack> &, const Pack *, Pack *);

} // namespace dalembert::DALEMBERT_ISA
