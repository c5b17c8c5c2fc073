// Inverse dynamics: recursive Newton-Euler, O(nb).
//
// Given q, v, a (and loads on bodies), computes the hinge forces tau, and the load F that each
// hinge passes to its outboard body. Slaats 1991, SL-27; Jain & Rodriguez 1990, (4.1) with n_m = 0;
// Luh, Walker, Paul 1980.
//
//     f = m acc + alpha x h + w x (w x h)          n = J alpha + h x acc + w x J w             (1)
//     F_i = [n; f] - F_ext + sum over children of F_child, moved to F_i                        (2)
//     tau_i = H_i^T F_i                                                                        (3)
//
// About 230 multiplications per revolute body.
#pragma once

#include "kinematics.hpp"

namespace dalembert::DALEMBERT_ISA {

// (1) for one body
template <class T> DALEMBERT_INLINE Load<T> inertia_load(const BodyData &b, const Vec3<T> &w, const Motion<T> &A) {
  const Vec3<double> &h = as_vec(b.h);
  const Sym3<double> &J = as_sym(b.J);
  return {mul(J, A.w) + cross(h, A.v) + cross(w, mul(J, w)), scale(b.mass, A.v) + cross(A.w, h) + cross(w, cross(w, h))};
}

// of a flexible body, modal forces into `modal`
template <class T>
inline Load<T> flexible_load(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, const T *a, int i, T *modal) {
  const BodyData &b = m.bodies[i];
  const ModalData &body = m.modal[b.modal];
  const ModalTables t = modal_tables(m, body);
  modal_inertia(m, ws, q, i);
  const Motion<T> &A = ws.A[i];
  for (int r = 0; r < t.n; ++r) {
    const Load<T> &own = ws.modal_own[body.loads + r];
    modal[r] = dot(own.n, A.w) + dot(own.f, A.v);
    if (a)
      modal[r] = modal[r] + modal_product(t, a + b.v, r);
  }
  Load<T> F = modal_load(m, ws, A, a ? a + b.v : nullptr, i);
  const Load<T> left = modal_bias(m, ws, ws.w[i], q, v, i, modal);
  F.n += left.n;
  F.f += left.f;
  return F;
}

// loads: takes from p_A what acts on the bodies; a may be null (bias forces: a = 0)
template <class T, class Loads>
inline void inverse_dynamics(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, const T *a, const Loads &loads, T *tau) {
  ground(m, ws, true);
  for (int i = 1; i <= m.nb; ++i) {
    position(m, ws, q, i);
    velocity(m, ws, q, v, i);
    if (a)
      acceleration(m, ws, a, i);
    else
      coasting(m, ws, i);
    if (m.bodies[i].kind == Hinge::modal)
      ws.p_A[i] = flexible_load(m, ws, q, v, a, i, tau + m.bodies[i].v);
    else
      ws.p_A[i] = inertia_load(m.bodies[i], ws.w[i], ws.A[i]);
  }
  loads(m, ws);
  for (int i = m.nb; i > 0; --i) {
    const BodyData &b = m.bodies[i];
    if (b.kind == Hinge::modal || b.kind == Hinge::node)
      add_modal_force(b, ws.H + b.H, ws.p_A[i], tau + b.by);
    else
      hinge_force(b, ws.H + b.H, ws.p_A[i], tau + b.v);
    if (b.parent)
      add_to_parent(ws.X[i], ws.p_A[i], ws.p_A[b.parent]);
  }
}

} // namespace dalembert::DALEMBERT_ISA
