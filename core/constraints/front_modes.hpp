// Flexible bodies in the elimination of loops within the trees: (9) of constraints/loop_fronts.hpp. Axes of the world.
#pragma once

#include "constraints/loop_fronts.hpp"
#include "flexible/body.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

// A metric of degrees of freedom by themselves in place of the bodies' inertia, and rows that give way: where inertia is
// null, that of the model, and its rows are rigid.
struct FrontMetric {
  const double *inertia = nullptr;    // nv; of those that may move
  const double *compliance = nullptr; // nc
};

template <class T> DALEMBERT_INLINE T square(const Vec3<T> &a) { return dot(a, a); }

// the unit factor of the degrees of freedom that leave with a piece, strictly lower triangle by rows
template <class T>
DALEMBERT_INLINE T *front_factor(const FrontWorkspace<T> &f, const LoopPieceData &piece, int body) {
  return piece.modes ? f.modal_factor + piece.factor : f.L + 15 * std::ptrdiff_t(body);
}

// inertia of a flexible body as if it were rigid; after modal_inertia
template <class T> void place_modal_inertia(const Workspace<T> &ws, int i, ArticulatedInertia<T> &I) {
  const RigidInertia<T> &C = ws.I_C[i];
  const Mat3<T> &R = ws.X_W[i].R;
  const Vec3<T> h = mul(R, C.h);
  const T zero(0.0);
  I.J = rotate(R, C.J);
  I.H = {zero, -h.z, h.y, h.z, zero, -h.x, -h.y, h.x, zero};
  I.M = {C.m, zero, zero, C.m, zero, C.m};
}

// columns of a modal place, with its modes' loads, or of a node
template <class T> void place_modes(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f,
                                    const unsigned char *given, int i) {
  const BodyData &b = m.bodies[i];
  const Mat3<T> &R = ws.X_W[i].R;
  const Motion<T> none{zero3<T>(), zero3<T>()};
  Motion<T> *columns = b.form == JointForm::node ? f.node_columns + b.H : f.S + b.v;
  for (int k = 0; k < (b.form == JointForm::node ? b.moves : b.nv); ++k) {
    const Motion<T> &H = ws.H[b.H + k];
    const bool stands = !b.moves || (given && given[b.by + k]);
    columns[k] = stands ? none : Motion<T>{mul(R, H.w), mul(R, H.v)};
  }
  if (b.form != JointForm::modal)
    return;
  const std::int64_t loads = m.modal[b.modal].loads;
  for (int k = 0; k < b.nv; ++k) {
    const Load<T> &own = ws.modal_own[loads + k];
    f.modal_own[loads + k] = given && given[b.v + k] ? Load<T>{zero3<T>(), zero3<T>()}
                                                     : Load<T>{mul(R, own.n), mul(R, own.f)};
  }
}

// a modal piece begins
template <class T> void open_modes(const ModelData &m, FrontWorkspace<T> &f, const LoopStepData &step,
                                   const LoopPieceData &piece, const unsigned char *given, const FrontMetric &metric) {
  const BodyData &b = m.bodies[step.body];
  const ModalData &body = m.modal[b.modal];
  const double *G = modal_tables(m, body).G;
  const int n = piece.modes;
  T *D = f.modal_square + piece.square;
  for (int r = 0; r < n; ++r) {
    const bool stands = given && given[b.v + r];
    f.modal_load[body.loads + r] =
        metric.inertia ? Load<T>{zero3<T>(), zero3<T>()} : f.modal_own[body.loads + r];
    for (int s = 0; s <= r; ++s) {
      const double own = metric.inertia ? (r == s ? metric.inertia[b.v + r] : 0.0) : G[r * n + s];
      D[r * n + s] = T(stands || (given && given[b.v + s]) ? (r == s ? 1.0 : 0.0) : own);
    }
  }
  std::fill_n(f.modal_rows + piece.modal_slots, std::ptrdiff_t(step.after) * n, T(0.0));
  std::fill_n(f.modal_reach + piece.modal_slots, std::ptrdiff_t(step.after) * n, T(0.0));
}

// rows of a modal piece make room for those of a child
template <class T> void spread_modes(FrontWorkspace<T> &f, const LoopPlan &plan, const LoopStepData &step) {
  const LoopPieceData &piece = plan.pieces[step.body];
  const std::int32_t *place = plan.indices + step.index;
  const std::ptrdiff_t n = piece.modes;
  for (T *rows : {f.modal_rows + piece.modal_slots, f.modal_reach + piece.modal_slots})
    for (int s = step.after - 1, old = step.width - 1; s >= 0; --s) {
      if (old < 0 || place[old] != s) {
        std::fill_n(rows + s * n, n, T(0.0));
        continue;
      }
      if (old != s)
        std::copy_n(rows + old * n, n, rows + s * n);
      --old;
    }
}

// (9)
template <class T> void hand_over_modes(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f,
                                        const LoopPlan &plan, const LoopStepData &step) {
  const BodyData &b = m.bodies[step.child];
  if (b.form != JointForm::node || !b.moves)
    return;
  const LoopPieceData &piece = plan.pieces[step.body];
  const int n = piece.modes;
  const Motion<T> *H = f.node_columns + b.H;
  const Vec3<T> &arm = f.arm[step.child];
  const ArticulatedInertia<T> &G = f.G[step.child];
  Load<T> *U = f.modal_load + m.modal[b.modal].loads;
  T *D = f.modal_square + piece.square;
  for (int r = 0; r < n && b.last != step.child; ++r) {
    const Load<T> L = mul(G, H[r].w, H[r].v);
    U[r].n += L.n + cross(arm, L.f);
    U[r].f += L.f;
    for (int s = 0; s <= r; ++s)
      D[r * n + s] = D[r * n + s] + dot(H[s].w, L.n) + dot(H[s].v, L.f);
  }
  const std::int32_t *from = plan.indices + step.index + step.width, *rows = from + step.count;
  for (int pass = 0; pass < 2; ++pass) // behind the runs of both
    rows += 1 + 3 * rows[0];
  const Load<T> *B = f.B + plan.pieces[step.child].slots;
  const Vec3<T> &origin = ws.X_W[step.child].p;
  for (int s = 0; s < step.count; ++s) {
    const std::ptrdiff_t place = piece.modal_slots + std::ptrdiff_t(from[s]) * n;
    const int row = rows[s];
    const T far = square(f.row_point[m.constraint_of_row[row]] - origin);
    T *P = f.modal_rows + place, *reach = f.modal_reach + place;
    for (int r = 0; r < n; ++r) {
      P[r] = P[r] + dot(H[r].w, B[s].n) + dot(H[r].v, B[s].f);
      reach[r] = reach[r] + square(H[r].w) * (f.turn[row] + f.slide[row] * far) + square(H[r].v) * f.slide[row];
    }
  }
}

// (2) for the modes of a piece, in which the frame of their body may move with them
template <class T> void factor_modes(const ModelData &m, FrontWorkspace<T> &f, const LoopPieceData &piece, int i,
                                     const unsigned char *given) {
  const BodyData &b = m.bodies[i];
  const int n = piece.modes;
  const Motion<T> *S = f.S + b.v;
  Load<T> *U = f.modal_load + m.modal[b.modal].loads;
  T *D = f.modal_square + piece.square, *L = f.modal_factor + piece.factor;
  Pivot<T> *pivot = f.pivot + b.v;
  for (int r = 0; b.moves && r < n; ++r) {
    for (int s = r; s < n; ++s) // U_s of later modes are still without G S_s
      D[s * n + r] = D[s * n + r] + dot(S[r].w, U[s].n) + dot(S[r].v, U[s].f);
    const Load<T> own = mul(f.G[i], S[r].w, S[r].v);
    U[r].n += own.n;
    U[r].f += own.f;
    for (int s = r; s < n; ++s)
      D[s * n + r] = D[s * n + r] + dot(S[s].w, U[r].n) + dot(S[s].v, U[r].f);
  }
  for (int r = 0; r < n; ++r) {
    if (given && given[r])
      U[r] = {zero3<T>(), zero3<T>()};
    T *row = D + r * n, d = row[r];
    Load<T> z = U[r];
    for (int k = 0; k < r; ++k) {
      T s = row[k];
      for (int l = 0; l < k; ++l)
        s = s - row[l] * L[k * (k - 1) / 2 + l];
      row[k] = s; // L_rk d_k
    }
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

// rows of a modal piece, p: modes by rows
template <class T> void add_modal_rows(FrontWorkspace<T> &f, const LoopPieceData &piece, int width, T *p) {
  const T *P = f.modal_rows + piece.modal_slots;
  for (int s = 0; s < width; ++s, P += piece.modes)
    for (int k = 0; k < piece.modes; ++k)
      p[k * width + s] = p[k * width + s] + P[k];
}

// (7) for what nodes have handed over
template <class T> void add_modal_sizes(FrontWorkspace<T> &f, const LoopPieceData &piece, const std::int32_t *rows,
                                        int width, const Pivot<T> *pivot) {
  const T *reach = f.modal_reach + piece.modal_slots;
  for (int s = 0; s < width; ++s, reach += piece.modes)
    for (int k = 0; k < piece.modes; ++k)
      f.size[rows[s]] = f.size[rows[s]] + reach[k] * pivot[k].inverse;
}

// forces of the modes that a load on a node brings about
template <class T>
DALEMBERT_INLINE void add_node_force(const BodyData &b, const FrontWorkspace<T> &f, const Load<T> &g, T *forces) {
  const Motion<T> *H = f.node_columns + b.H;
  for (int k = 0; k < b.moves; ++k)
    forces[b.by + k] = forces[b.by + k] + (dot(H[k].w, g.n) + dot(H[k].v, g.f));
}

// what modes that move by a do to a node
template <class T>
DALEMBERT_INLINE void move_node(const BodyData &b, const FrontWorkspace<T> &f, const T *a, Motion<T> &A) {
  const Motion<T> *H = f.node_columns + b.H;
  for (int k = 0; k < b.moves; ++k) {
    A.w += scale(a[k], H[k].w);
    A.v += scale(a[k], H[k].v);
  }
}

// load of modes on their body, and their forces, by their own inertia
template <class T>
void add_modal_inertia(const ModelData &m, FrontWorkspace<T> &f, const T *a, int i, T *tau) {
  const BodyData &b = m.bodies[i];
  const ModalData &body = m.modal[b.modal];
  const ModalTables t = modal_tables(m, body);
  const Motion<T> &A = f.A[i];
  for (int k = 0; k < b.nv; ++k) {
    const Load<T> &own = f.modal_own[body.loads + k];
    tau[k] = tau[k] - (dot(own.n, A.w) + dot(own.f, A.v) + modal_product(t, a, k));
    f.g[i].n += scale(a[k], own.n);
    f.g[i].f += scale(a[k], own.f);
  }
}

} // namespace dalembert::DALEMBERT_ISA
