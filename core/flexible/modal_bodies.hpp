// Composite and articulated inertias of modal bodies, and their energies.
#pragma once

#include "flexible/modal_inertia.hpp"
#include "flexible/node.hpp"

namespace dalembert::DALEMBERT_ISA {

// ---- composites and articulated inertias of modal bodies

// before the nodes hand over: the body's own part
template <class T> inline void start_modal(const ModelData &m, Workspace<T> &ws, int i) {
  const ModalData &body = m.modal[m.bodies[i].modal];
  const ModalTables t = modal_tables(m, body);
  for (int r = 0; r < t.n; ++r)
    ws.modal_load[body.loads + r] = ws.modal_own[body.loads + r];
  for (int k = 0; k < t.n * t.n; ++k)
    ws.modal_square[body.squares + k] = T(t.G[k]);
}

// node i hands its inertia (rigid or articulated) to the modes of its body; the 6 x 6 part goes by add_to_parent
template <class T, class Inertia> inline void hand_over(const ModelData &m, Workspace<T> &ws, const Inertia &I, int i) {
  const BodyData &b = m.bodies[i];
  if (b.last == i)
    return; // it carries nothing
  const ModalData &body = m.modal[b.modal];
  const int n = body.modes;
  const Motion<T> *H = ws.H + b.H;
  Load<T> *U = ws.modal_load + body.loads;
  T *square = ws.modal_square + body.squares;
  for (int r = 0; r < n; ++r) {
    const Load<T> L = mul(I, H[r].w, H[r].v);
    add_to_parent(ws.X[i], L, U[r]);
    for (int s = 0; s <= r; ++s)
      square[r * n + s] = square[r * n + s] + dot(H[s].w, L.n) + dot(H[s].v, L.f);
  }
}

// the lower triangle of modal_square and the loads of modal body i, when its frame moves with the modes too:
// U_r becomes U_r + I H_r, square_rs + H_r . U_s + U_r . H_s + H_r . I H_s
template <class T, class Inertia>
inline void complete_modal(const ModelData &m, Workspace<T> &ws, const Inertia &I, int i) {
  const BodyData &b = m.bodies[i];
  if (!b.moves)
    return;
  const ModalData &body = m.modal[b.modal];
  const int n = body.modes;
  const Motion<T> *H = ws.H + b.H;
  Load<T> *U = ws.modal_load + body.loads;
  T *square = ws.modal_square + body.squares;
  for (int r = 0; r < n; ++r) {
    for (int s = r; s < n; ++s) // U_s of later modes are still without I H_s
      square[s * n + r] = square[s * n + r] + dot(H[r].w, U[s].n) + dot(H[r].v, U[s].f);
    const Load<T> L = mul(I, H[r].w, H[r].v);
    U[r].n += L.n;
    U[r].f += L.f;
    for (int s = r; s < n; ++s)
      square[s * n + r] = square[s * n + r] + dot(H[s].w, U[r].n) + dot(H[s].v, U[r].f);
  }
}

// pivots of the modes: square = L d L^T, z = L^-1 U; L packed by rows
template <class T> inline void factor_modal(const ModelData &m, Workspace<T> &ws, int i) {
  const BodyData &b = m.bodies[i];
  const ModalData &body = m.modal[b.modal];
  const int n = body.modes;
  const Load<T> *U = ws.modal_load + body.loads;
  T *D = ws.modal_square + body.squares, *L = ws.modal_factor + body.factors;
  Pivot<T> *pivot = ws.pivot + b.v;
  for (int r = 0; r < n; ++r) {
    T *row = D + r * n;
    for (int k = 0; k < r; ++k) {
      T s = row[k];
      for (int l = 0; l < k; ++l)
        s = s - row[l] * L[k * (k - 1) / 2 + l];
      row[k] = s; // L_rk d_k
    }
    T d = row[r];
    Load<T> z = U[r];
    for (int k = 0; k < r; ++k) {
      const T l = row[k] * pivot[k].inverse;
      d = d - l * row[k];
      L[r * (r - 1) / 2 + k] = l;
      z.n -= scale(l, pivot[k].z.n);
      z.f -= scale(l, pivot[k].z.f);
    }
    pivot[r] = {z, 1.0 / d};
  }
}

// ---- energies

// kinetic energy of modal body i beside that of its rigid part, and strain energy
template <class T> inline T modal_kinetic(const ModelData &m, const Workspace<T> &ws, const T *v, int i) {
  const BodyData &b = m.bodies[i];
  const ModalTables t = modal_tables(m, m.modal[b.modal]);
  const Load<T> *own = ws.modal_own + m.modal[b.modal].loads;
  T sum(0.0);
  for (int r = 0; r < t.n; ++r)
    sum = sum + v[b.v + r] * (dot(own[r].n, ws.w[i]) + dot(own[r].f, ws.u[i]) + 0.5 * modal_product(t, v + b.v, r));
  return sum;
}
template <class T> inline T quadratic_form(const double *A, const T *x, int n) {
  T sum(0.0);
  for (int r = 0; r < n; ++r)
    for (int s = 0; s < n; ++s)
      sum = sum + (x[r] * x[s]) * A[r * n + s];
  return sum;
}
template <class T> inline T strain_energy(const ModelData &m, const T *q, int i) {
  const BodyData &b = m.bodies[i];
  return 0.5 * quadratic_form(modal_tables(m, m.modal[b.modal]).stiffness, q + b.q, b.nv);
}
// power that the damping of all flexible bodies takes
template <class T> inline T modal_loss(const ModelData &m, const T *v) {
  T sum(0.0);
  for (int i = 1; m.modal_count && i <= m.nb; ++i)
    if (m.bodies[i].form == JointForm::modal)
      sum =
          sum + quadratic_form(modal_tables(m, m.modal[m.bodies[i].modal]).damping, v + m.bodies[i].v, m.bodies[i].nv);
  return sum;
}

} // namespace dalembert::DALEMBERT_ISA
