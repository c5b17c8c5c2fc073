// Steps of the elimination of loops within the trees that do not depend on how E is kept: as a matrix (loop_fronts.cpp)
// or by its root (front_roots.cpp). Equation numbers are those of constraints/loop_fronts.hpp.
#pragma once

#include "constraints/front_modes.hpp"
#include "constraints/loop_fronts.hpp"
#include "tree/joint_pivots.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

// bodies by themselves, in axes of the world; columns of their joints
template <class T> void place_bodies(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f,
                                     const unsigned char *given, const FrontMetric &metric) {
  const T zero(0.0);
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    const Pose<T> &X = ws.X_W[i];
    f.arm[i] = b.parent ? X.p - ws.X_W[b.parent].p : zero3<T>();
    if (metric.inertia)
      f.own[i] = {{zero, zero, zero, zero, zero, zero},
                  {zero, zero, zero, zero, zero, zero, zero, zero, zero},
                  {zero, zero, zero, zero, zero, zero}};
    else if (b.form == JointForm::modal)
      place_modal_inertia(ws, i, f.own[i]);
    else
      table_entry<T>(m, b, [&](const auto &numbers) {
        const Vec3<T> h = mul(X.R, lift<T>(as_vec(numbers.h)));
        const T mass(numbers.mass);
        f.own[i].J = rotate(X.R, lift<T>(as_sym(numbers.J)));
        f.own[i].H = {zero, -h.z, h.y, h.z, zero, -h.x, -h.y, h.x, zero};
        f.own[i].M = {mass, zero, zero, mass, zero, mass};
      });
    f.G[i] = f.own[i];
    if (is_flexible(b)) {
      place_modes(m, ws, f, given, i);
      continue;
    }
    for (int k = 0; k < b.nv; ++k) {
      const Motion<T> S = column(b, ws.H + b.H, k);
      f.S[b.v + k] =
          given && given[b.v + k] ? Motion<T>{zero3<T>(), zero3<T>()} : Motion<T>{mul(X.R, S.w), mul(X.R, S.v)};
    }
  }
}

template <class T> void open_piece(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f,
                                   const LoopPlan &plan, const LoopStepData &step, const unsigned char *given,
                                   const FrontMetric &metric) {
  const LoopPieceData &piece = plan.pieces[step.body];
  const std::int32_t *index = plan.indices + step.index;
  Load<T> *B = f.B + piece.slots;
  for (int s = 0; s < step.after; ++s) {
    const int row = index[2 * s], sign = index[2 * s + 1];
    if (!sign || !step.body) {
      B[s] = {zero3<T>(), zero3<T>()};
    } else {
      const Load<T> &load = f.row_load[row];
      const Vec3<T> r = f.row_point[m.constraint_of_row[row]] - ws.X_W[step.body].p;
      const Vec3<T> n = load.n + cross(r, load.f);
      B[s] = {scale(double(sign), n), scale(double(sign), load.f)};
    }
  }
  if (piece.modes)
    open_modes(m, f, step, piece, given, metric);
}

// (4): loads and inertia
template <class T> void merge_loads(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f,
                                    const LoopPlan &plan, const LoopStepData &step) {
  const std::int32_t *place = plan.indices + step.index, *from = place + step.width;
  Load<T> *B = f.B + plan.pieces[step.body].slots;
  const Load<T> *Bc = f.B + plan.pieces[step.child].slots, none{zero3<T>(), zero3<T>()};
  if (step.left) { // rows of the piece make room for those of the child
    for (int s = step.after - 1, old = step.width - 1; s >= 0; --s)
      B[s] = old >= 0 && place[old] == s ? B[old--] : none;
  } else {
    std::fill(B + step.width, B + step.after, none);
  }
  if (!step.body)
    return;
  if (plan.pieces[step.body].modes) {
    spread_modes(f, plan, step);
    hand_over_modes(m, ws, f, plan, step);
  }
  const Vec3<T> &r = f.arm[step.child];
  for (int s = 0; s < step.count; ++s) {
    B[from[s]].n += Bc[s].n + cross(r, Bc[s].f);
    B[from[s]].f += Bc[s].f;
  }
  translate_add(r, f.G[step.child].J, f.G[step.child].H, f.G[step.child].M, f.G[step.body]);
}

// (2), (3); add(p, pivots) takes what the degrees of freedom add to E
template <class T, class Add>
void eliminate_front_joint(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f, const LoopPlan &plan,
                           const LoopStepData &step, const T *values, const unsigned char *given,
                           const FrontMetric &metric, Add &&add) {
  const int i = step.body, width = step.width;
  const BodyData &b = m.bodies[i];
  const LoopPieceData &piece = plan.pieces[i];
  const std::int32_t *rows = plan.indices + step.index, *terms = rows + width;
  const unsigned char *mine = given ? given + b.v : nullptr;
  const double *extra = m.regularizing_inertia && b.is_regularized ? m.regularizing_inertia + b.v : nullptr;
  const Motion<T> *S = f.S + b.v;
  Pivot<T> *pivot = f.pivot + b.v;
  T *L = front_factor(f, piece, i), *p = f.p + step.numbers;
  Load<T> *B = f.B + piece.slots;
  if (piece.modes) {
    factor_modes(m, f, piece, i, mine);
  } else if (metric.inertia) {
    BodyData plain = b;
    plain.armature = 0;
    visit_columns(b.nv, [&](auto n) {
      factor_block<decltype(n)::count>(m, plain, S, f.G[i], metric.inertia + b.v, mine, pivot, L);
    });
  } else {
    visit_columns(b.nv, [&](auto n) { factor_block<decltype(n)::count>(m, b, S, f.G[i], extra, mine, pivot, L); });
  }
  for (int k = 0; mine && k < b.nv; ++k)
    if (mine[k])
      pivot[k].inverse = T(0.0);
  for (int k = 0; k < b.nv; ++k)
    for (int s = 0; s < width; ++s)
      p[k * width + s] = dot(S[k].w, B[s].n) + dot(S[k].v, B[s].f);
  if (piece.modes)
    add_modal_rows(f, piece, width, p);
  for (int t = 0; t < step.count; ++t, terms += 4)
    if (!mine || !mine[terms[0]])
      p[terms[0] * width + terms[1]] =
          p[terms[0] * width + terms[1]] + values[m.loop_constraints[terms[2]].values + terms[3]];
  T turn(0.0), slide(0.0);
  for (int k = 0; k < b.nv; ++k) {
    T *pk = p + k * width;
    for (int j = 0; j < k; ++j)
      for (int s = 0; s < width; ++s)
        pk[s] = pk[s] - L[k * (k - 1) / 2 + j] * p[j * width + s];
    const T inverse = pivot[k].inverse;
    const Load<T> z{scale(inverse, pivot[k].z.n), scale(inverse, pivot[k].z.f)};
    turn = turn + inverse * square(S[k].w);
    slide = slide + inverse * square(S[k].v);
    for (int s = 0; s < width; ++s) {
      B[s].n -= scale(pk[s], z.n);
      B[s].f -= scale(pk[s], z.f);
    }
    subtract_dyad(f.G[i], inverse, pivot[k].z.n, pivot[k].z.f);
  }
  for (int s = 0; s < width; ++s) { // (7)
    const int r = rows[s];
    const T far = square(f.row_point[m.constraint_of_row[r]] - ws.X_W[i].p);
    f.size[r] = f.size[r] + turn * (f.turn[r] + f.slide[r] * far) + slide * f.slide[r];
  }
  if (piece.modes)
    add_modal_sizes(f, piece, rows, width, pivot);
  add(p, pivot);
  terms = rows + width;
  for (int t = 0; t < step.count; ++t, terms += 4)
    f.size[rows[terms[1]]] = f.size[rows[terms[1]]] +
                             p[terms[0] * width + terms[1]] * p[terms[0] * width + terms[1]] * pivot[terms[0]].inverse;
}

template <class T> void start_factors(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f,
                                      const LoopPlan &plan, const unsigned char *given, const FrontMetric &metric) {
  f.plan = &plan;
  place_bodies(m, ws, f, given, metric);
  for (int r = 0; r < m.nc; ++r) {
    f.turn[r] = square(f.row_load[r].n);
    f.slide[r] = square(f.row_load[r].f);
    f.size[r] = T(0.0);
  }
}
// factor_fronts and factor_by_roots in any metric; rows that give way are all kept
template <class T> unsigned factor_matrices(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f,
                                            const LoopPlan &plan, const T *values, const T *leverage, const T &least,
                                            const unsigned char *given, const FrontMetric &metric, T &min_pivot);
int factor_roots(const ModelData &m, const Workspace<double> &ws, FrontWorkspace<double> &f, const LoopPlan &plan,
                 const double *values, const double *leverage, double least, const unsigned char *given,
                 const FrontMetric &metric, double &min_pivot);

} // namespace dalembert::DALEMBERT_ISA
