#include "constraints/front_modes.hpp"
#include "constraints/loop_fronts.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

// sum of products, in several sums that do not wait for each other
template <class T> static DALEMBERT_INLINE T inner_product(const T *a, const T *b, int count) {
  constexpr int some = 4; // for numbers and packs: bits are the same
  T part[some], sum(0.0);
  int s = 0;
  if (count >= some) {
    for (int k = 0; k < some; ++k)
      part[k] = a[k] * b[k];
    for (s = some; s + some <= count; s += some)
      for (int k = 0; k < some; ++k)
        part[k] = part[k] + a[s + k] * b[s + k];
    for (int half = some / 2; half; half /= 2)
      for (int k = 0; k < half; ++k)
        part[k] = part[k] + part[k + half];
    sum = part[0];
  }
  for (; s < count; ++s)
    sum = sum + a[s] * b[s];
  return sum;
}

template <class T>
static void reduce_joint(const ModelData &m, FrontWorkspace<T> &f, const LoopStepData &step, const T *tau) {
  const BodyData &b = m.bodies[step.body];
  const std::int32_t *rows = f.plan->indices + step.index;
  const LoopPieceData &piece = f.plan->pieces[step.body];
  const T *L = front_factor(f, piece, step.body), *p = f.p + step.numbers;
  Load<T> &g = f.g[step.body];
  for (int k = 0; k < b.nv; ++k) {
    const Motion<T> &S = f.S[b.v + k];
    T y = (tau ? tau[b.v + k] : T(0.0)) - (dot(S.w, g.n) + dot(S.v, g.f));
    if (piece.modes)
      y = y - f.handed[b.v + k];
    for (int j = 0; j < k; ++j)
      y = y - L[k * (k - 1) / 2 + j] * f.y[b.v + j];
    f.y[b.v + k] = y;
  }
  for (int k = 0; k < b.nv; ++k) {
    const Pivot<T> &pivot = f.pivot[b.v + k];
    const T scaled = pivot.inverse * f.y[b.v + k];
    g.n += scale(scaled, pivot.z.n);
    g.f += scale(scaled, pivot.z.f);
    for (int s = 0; s < step.width; ++s)
      f.rho[rows[s]] = f.rho[rows[s]] + p[k * step.width + s] * scaled;
  }
}

// calls f(place, row) for the rows that are open before rows leave, in their places then
template <class T, class F>
static DALEMBERT_INLINE void visit_places(const FrontWorkspace<T> &f, const LoopStepData &step, F &&visit) {
  const std::int32_t *rows = f.plan->indices + step.index;
  for (int t = 0; t < step.after; ++t)
    visit(t, rows[t]);
  for (int t = step.after; t < step.width; ++t)
    visit(t, f.left_row[step.left + step.width - 1 - t]);
}

template <class T> static void reduce_rows(FrontWorkspace<T> &f, const LoopStepData &step) {
  const T *e = f.e + step.numbers;
  T *rho = f.gathered;
  Load<T> &g = f.g[step.body];
  visit_places(f, step, [&](int t, int row) { rho[t] = f.rho[row]; });
  for (int s = step.width - 1, number = step.left; s >= step.after; --s, ++number) {
    const T scaled = f.left_inverse[number] * rho[s];
    f.left_rho[number] = scaled;
    for (int t = 0; t < s; ++t)
      rho[t] = rho[t] - e[t] * scaled;
    if (step.body) {
      g.n += scale(scaled, f.left_B[number].n);
      g.f += scale(scaled, f.left_B[number].f);
    }
    e += s;
  }
  const std::int32_t *rows = f.plan->indices + step.index;
  for (int t = 0; t < step.after; ++t)
    f.rho[rows[t]] = rho[t];
}

template <class T> static void find_multipliers(FrontWorkspace<T> &f, const LoopStepData &step) {
  const std::int32_t *rows = f.plan->indices + step.index;
  const T *e = f.e + step.numbers;
  T *lambda = f.gathered;
  for (int t = 0; t < step.after; ++t)
    lambda[t] = f.lambda[rows[t]];
  for (int s = step.after; s < step.width; ++s) // those that left last come first
    e += s;
  const Motion<T> &A = f.A[step.body];
  for (int s = step.after, number = step.left + step.count - 1; s < step.width; ++s, --number) {
    e -= s;
    const T sum = dot(f.left_B[number].n, A.w) + dot(f.left_B[number].f, A.v) + inner_product(e, lambda, s);
    lambda[s] = -(f.left_rho[number] + f.left_inverse[number] * sum);
    f.lambda[f.left_row[number]] = lambda[s];
  }
}

template <class T> static DALEMBERT_INLINE Motion<T> moved(const Vec3<T> &r, const Motion<T> &A) {
  return {A.w, A.v + cross(A.w, r)};
}

template <class T>
static void accelerate_joint(const ModelData &m, FrontWorkspace<T> &f, const LoopStepData &step, T *a) {
  const int i = step.body;
  const BodyData &b = m.bodies[i];
  const std::int32_t *rows = f.plan->indices + step.index;
  const T *L = front_factor(f, f.plan->pieces[i], i), *p = f.p + step.numbers;
  Motion<T> A = moved(f.arm[i], f.A[b.parent]);
  T *solved = f.solved + b.v;
  for (int s = 0; s < step.width; ++s)
    f.gathered[s] = f.lambda[rows[s]];
  for (int k = b.nv - 1; k >= 0; --k) {
    const Pivot<T> &pivot = f.pivot[b.v + k];
    T sum = f.y[b.v + k] - (dot(pivot.z.n, A.w) + dot(pivot.z.f, A.v));
    sum = pivot.inverse * (sum + inner_product(p + k * step.width, f.gathered, step.width));
    for (int j = k + 1; j < b.nv; ++j)
      sum = sum - L[j * (j - 1) / 2 + k] * solved[j];
    solved[k] = sum;
  }
  for (int k = 0; k < b.nv; ++k) {
    A.w += scale(solved[k], f.S[b.v + k].w);
    A.v += scale(solved[k], f.S[b.v + k].v);
    a[b.v + k] = a[b.v + k] + solved[k];
  }
  if (b.form == JointForm::node)
    move_node(b, f, f.solved + b.by, A);
  f.A[i] = A;
}

template <class T>
void solve_fronts(const ModelData &m, FrontWorkspace<T> &f, const T *tau, const T *rhs, T *a, T *lambda) {
  const LoopPlan &plan = *f.plan;
  for (int i = 0; i <= m.nb; ++i)
    f.g[i] = {zero3<T>(), zero3<T>()};
  for (int r = 0; r < m.nc; ++r) {
    f.rho[r] = -rhs[r];
    f.lambda[r] = T(0.0);
  }
  for (int k = 0; m.modal_count && k < m.nv; ++k)
    f.handed[k] = T(0.0);
  for (int k = 0; k < plan.step_count; ++k) {
    const LoopStepData &step = plan.steps[k];
    if (step.kind == LoopStepKind::joint) {
      reduce_joint(m, f, step, tau);
    } else if (step.kind == LoopStepKind::leave) {
      reduce_rows(f, step);
    } else if (step.kind == LoopStepKind::merge && step.body) {
      const Load<T> &g = f.g[step.child];
      if (m.bodies[step.child].form == JointForm::node)
        add_node_force(m.bodies[step.child], f, g, f.handed);
      f.g[step.body].n += g.n + cross(f.arm[step.child], g.f);
      f.g[step.body].f += g.f;
    }
  }
  f.A[0] = {zero3<T>(), zero3<T>()};
  for (int k = plan.step_count - 1; k >= 0; --k) {
    const LoopStepData &step = plan.steps[k];
    if (step.kind == LoopStepKind::joint)
      accelerate_joint(m, f, step, a);
    else if (step.kind == LoopStepKind::leave)
      find_multipliers(f, step);
  }
  for (int r = 0; r < m.nc; ++r)
    lambda[r] = lambda[r] + f.lambda[r];
}

template <class T> void force_residual(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f,
                                       const T *values, const T *a, const T *lambda, T *tau) {
  f.A[0] = {zero3<T>(), zero3<T>()};
  f.g[0] = {zero3<T>(), zero3<T>()};
  if (m.modal_count) // tau may stand where a does
    std::copy_n(a, m.nv, f.solved);
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    Motion<T> A = moved(f.arm[i], f.A[b.parent]);
    for (int k = b.v; k < b.v + b.nv; ++k) {
      const T own = a[k];
      A.w += scale(own, f.S[k].w);
      A.v += scale(own, f.S[k].v);
      tau[k] = b.armature ? -(armature_of<T>(m, k) * own) : T(0.0);
      if (m.regularizing_inertia && b.is_regularized)
        tau[k] = tau[k] - m.regularizing_inertia[k] * own;
    }
    if (b.form == JointForm::node)
      move_node(b, f, f.solved + b.by, A);
    f.A[i] = A;
    f.g[i] = mul(f.own[i], A.w, A.v);
    if (b.form == JointForm::modal)
      add_modal_inertia(m, f, f.solved + b.v, i, tau + b.v);
  }
  for (int c = 0; c < m.loop_constraint_count; ++c) {
    const LoopConstraintData &constraint = m.loop_constraints[c];
    if (constraint.form == LoopConstraintForm::coupling) {
      for (int s = 0; s < constraint.supports; ++s) {
        const int k = m.support[constraint.support + s];
        tau[k] = tau[k] + values[constraint.values + s] * lambda[constraint.row];
      }
      continue;
    }
    Load<T> F{zero3<T>(), zero3<T>()};
    for (int r = constraint.row; r < constraint.row + constraint.rows; ++r) {
      F.n += scale(lambda[r], f.row_load[r].n);
      F.f += scale(lambda[r], f.row_load[r].f);
    }
    const auto add = [&](int body, double sign) {
      const Vec3<T> arm = f.row_point[c] - ws.X_W[body].p;
      f.g[body].n += scale(-sign, F.n + cross(arm, F.f));
      f.g[body].f += scale(-sign, F.f);
    };
    if (constraint.body_a)
      add(constraint.body_a, -1.0);
    if (constraint.body_b)
      add(constraint.body_b, 1.0);
  }
  for (int i = m.nb; i > 0; --i) {
    const BodyData &b = m.bodies[i];
    const Load<T> &F = f.g[i];
    for (int k = b.v; k < b.v + b.nv; ++k)
      tau[k] = tau[k] - (dot(f.S[k].w, F.n) + dot(f.S[k].v, F.f));
    if (b.form == JointForm::node)
      for (int k = 0; k < b.moves; ++k)
        tau[b.by + k] =
            tau[b.by + k] - (dot(f.node_columns[b.H + k].w, F.n) + dot(f.node_columns[b.H + k].v, F.f));
    if (b.parent) {
      f.g[b.parent].n += F.n + cross(f.arm[i], F.f);
      f.g[b.parent].f += F.f;
    }
  }
}

template void solve_fronts(const ModelData &, FrontWorkspace<double> &, const double *, const double *, double *,
                           double *);
template void force_residual(const ModelData &, const Workspace<double> &, FrontWorkspace<double> &, const double *,
                             const double *, const double *, double *);
template void solve_fronts(const ModelData &, FrontWorkspace<Pack> &, const Pack *, const Pack *, Pack *, Pack *);
template void force_residual(const ModelData &, const Workspace<Pack> &, FrontWorkspace<Pack> &, const Pack *,
                             const Pack *, const Pack *, Pack *);
} // namespace dalembert::DALEMBERT_ISA
