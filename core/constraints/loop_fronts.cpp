#include "constraints/loop_fronts.hpp"
#include "tree/joint_pivots.hpp"
#include <algorithm>
#include <type_traits>

namespace dalembert::DALEMBERT_ISA {

// a pivot below this part of what its lever arms could make of it is doubtful, and below this one round-off
constexpr double doubtful_pivot = 1e-10, rounded_pivot = 1e-13;
// a leverage below this multiple of what counts as none is doubtful
constexpr double uncertain_leverage = 300.0;

template <class T> void lay_out_fronts(const ModelData &m, Arena &arena, FrontWorkspace<T> &f) {
  const bool used = uses_fronts(m);
  const auto count = [&](std::int64_t n) { return used ? std::size_t(n) : std::size_t(0); };
  const std::int64_t bodies = m.nb + 1, nv = m.nv, nc = m.nc;
  const LoopPlan &one = m.loop_plan, &other = m.all_loop_plan;
  const auto larger_of = [&](auto LoopPlan::*size) { return std::max(one.*size, other.*size); };
  f.plan = &m.loop_plan;
  f.row_load = arena.take<Load<T>>(count(nc));
  f.row_point = arena.take<Vec3<T>>(count(m.loop_constraint_count));
  f.own = arena.take<ArticulatedInertia<T>>(count(bodies));
  f.G = arena.take<ArticulatedInertia<T>>(count(bodies));
  f.arm = arena.take<Vec3<T>>(count(bodies));
  f.S = arena.take<Motion<T>>(count(nv));
  f.pivot = arena.take<Pivot<T>>(count(nv));
  f.L = arena.take<T>(count(15 * bodies));
  f.p = arena.take<T>(count(larger_of(&LoopPlan::joint_numbers)));
  f.E = arena.take<T>(count(larger_of(&LoopPlan::matrix)));
  f.B = arena.take<Load<T>>(count(larger_of(&LoopPlan::slots)));
  f.e = arena.take<T>(count(larger_of(&LoopPlan::row_numbers)));
  f.left_B = arena.take<Load<T>>(count(nc));
  for (T **each : {&f.left_inverse, &f.left_rho, &f.rho, &f.lambda, &f.size, &f.turn, &f.slide})
    *each = arena.take<T>(count(nc));
  for (T **each : {&f.y, &f.tau, &f.first})
    *each = arena.take<T>(count(nv));
  f.gathered = arena.take<T>(count(larger_of(&LoopPlan::max_width)));
  f.g = arena.take<Load<T>>(count(bodies));
  f.A = arena.take<Motion<T>>(count(bodies));
}

// ---- factors

// bodies by themselves, in axes of the world; columns of their joints
template <class T> static void place_bodies(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f,
                                            const unsigned char *given) {
  const T zero(0.0);
  for (int i = 1; i <= m.nb; ++i) {
    const BodyData &b = m.bodies[i];
    const Pose<T> &X = ws.X_W[i];
    f.arm[i] = b.parent ? X.p - ws.X_W[b.parent].p : zero3<T>();
    table_entry<T>(m, b, [&](const auto &numbers) {
      const Vec3<T> h = mul(X.R, lift<T>(as_vec(numbers.h)));
      const T mass(numbers.mass);
      f.own[i].J = rotate(X.R, lift<T>(as_sym(numbers.J)));
      f.own[i].H = {zero, -h.z, h.y, h.z, zero, -h.x, -h.y, h.x, zero};
      f.own[i].M = {mass, zero, zero, mass, zero, mass};
    });
    f.G[i] = f.own[i];
    for (int k = 0; k < b.nv; ++k) {
      const Motion<T> S = column(b, ws.H + b.H, k);
      f.S[b.v + k] = given && given[b.v + k] ? Motion<T>{zero3<T>(), zero3<T>()}
                                             : Motion<T>{mul(X.R, S.w), mul(X.R, S.v)};
    }
  }
}

template <class T> static DALEMBERT_INLINE T square(const Vec3<T> &a) { return dot(a, a); }

template <class T> static void open_piece(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f,
                                          const LoopPlan &plan, const LoopStepData &step, const std::int32_t *constraint) {
  const LoopPieceData &piece = plan.pieces[step.body];
  const std::int32_t *index = plan.indices + step.index;
  Load<T> *B = f.B + piece.slots;
  T *E = f.E + piece.matrix;
  for (int s = 0; s < step.after; ++s) {
    const int row = index[2 * s], sign = index[2 * s + 1];
    if (!sign || !step.body) {
      B[s] = {zero3<T>(), zero3<T>()};
    } else {
      const Load<T> &load = f.row_load[row];
      const Vec3<T> r = f.row_point[constraint[row]] - ws.X_W[step.body].p;
      const Vec3<T> n = load.n + cross(r, load.f);
      B[s] = {scale(double(sign), n), scale(double(sign), load.f)};
    }
    std::fill_n(E + std::ptrdiff_t(s) * piece.width, s + 1, T(0.0));
  }
}

// (4)
template <class T> static void merge_piece(FrontWorkspace<T> &f, const LoopPlan &plan, const LoopStepData &step) {
  const LoopPieceData &piece = plan.pieces[step.body], &child = plan.pieces[step.child];
  const std::int32_t *place = plan.indices + step.index, *from = place + step.width;
  const std::ptrdiff_t ld = piece.width, ld_child = child.width;
  T *E = f.E + piece.matrix;
  Load<T> *B = f.B + piece.slots;
  if (step.left) { // rows of the piece make room for those of the child
    int old = step.width - 1;
    for (int s = step.after - 1; s >= 0; --s) {
      T *row = E + s * ld;
      if (old < 0 || place[old] != s) {
        std::fill_n(row, s + 1, T(0.0));
        B[s] = {zero3<T>(), zero3<T>()};
        continue;
      }
      const T *source = E + old * ld;
      int q = old;
      for (int t = s; t >= 0; --t)
        row[t] = q >= 0 && place[q] == t ? source[q--] : T(0.0);
      B[s] = B[old];
      --old;
    }
  } else {
    for (int s = step.width; s < step.after; ++s) {
      std::fill_n(E + s * ld, s + 1, T(0.0));
      B[s] = {zero3<T>(), zero3<T>()};
    }
  }
  const T *Ec = f.E + child.matrix;
  const Load<T> *Bc = f.B + child.slots;
  const Vec3<T> &r = f.arm[step.child];
  for (int s = 0; s < step.count; ++s) {
    T *row = E + from[s] * ld;
    const T *source = Ec + s * ld_child;
    for (int q = 0; q <= s; ++q)
      row[from[q]] = row[from[q]] + source[q];
    if (step.body) {
      B[from[s]].n += Bc[s].n + cross(r, Bc[s].f);
      B[from[s]].f += Bc[s].f;
    }
  }
  if (step.body)
    translate_add(r, f.G[step.child].J, f.G[step.child].H, f.G[step.child].M, f.G[step.body]);
}

// (2), (3)
template <class T>
static void eliminate_front_joint(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f,
                                  const LoopPlan &plan, const LoopStepData &step, const std::int32_t *constraint,
                                  const T *values, const unsigned char *given) {
  const int i = step.body, width = step.width;
  const BodyData &b = m.bodies[i];
  const LoopPieceData &piece = plan.pieces[i];
  const std::int32_t *rows = plan.indices + step.index, *terms = rows + width;
  const std::ptrdiff_t ld = piece.width;
  const unsigned char *mine = given ? given + b.v : nullptr;
  const double *extra = m.regularizing_inertia && b.is_regularized ? m.regularizing_inertia + b.v : nullptr;
  const Motion<T> *S = f.S + b.v;
  Pivot<T> *pivot = f.pivot + b.v;
  T *L = f.L + 15 * i, *p = f.p + step.numbers, *E = f.E + piece.matrix;
  Load<T> *B = f.B + piece.slots;
  visit_columns(b.nv, [&](auto n) { factor_block<decltype(n)::count>(m, b, S, f.G[i], extra, mine, pivot, L); });
  for (int k = 0; mine && k < b.nv; ++k)
    if (mine[k])
      pivot[k].inverse = T(0.0);
  for (int k = 0; k < b.nv; ++k)
    for (int s = 0; s < width; ++s)
      p[k * width + s] = dot(S[k].w, B[s].n) + dot(S[k].v, B[s].f);
  for (int t = 0; t < step.count; ++t, terms += 4)
    if (!mine || !mine[terms[0]])
      p[terms[0] * width + terms[1]] =
          p[terms[0] * width + terms[1]] + values[m.loop_constraints[terms[2]].values + terms[3]];
  for (int k = 0; k < b.nv; ++k) {
    T *pk = p + k * width;
    for (int j = 0; j < k; ++j)
      for (int s = 0; s < width; ++s)
        pk[s] = pk[s] - L[k * (k - 1) / 2 + j] * p[j * width + s];
    const T inverse = pivot[k].inverse;
    const Load<T> z{scale(inverse, pivot[k].z.n), scale(inverse, pivot[k].z.f)};
    const T turn = inverse * square(S[k].w), slide = inverse * square(S[k].v);
    const Vec3<T> &origin = ws.X_W[i].p;
    for (int s = 0; s < width; ++s) {
      const T part = pk[s], scaled = inverse * part;
      B[s].n -= scale(part, z.n);
      B[s].f -= scale(part, z.f);
      T *row = E + s * ld;
      for (int q = 0; q <= s; ++q)
        row[q] = row[q] + scaled * pk[q];
      const int r = rows[s];
      const T far = square(f.row_point[constraint[r]] - origin); // (7)
      f.size[r] = f.size[r] + turn * (f.turn[r] + f.slide[r] * far) + slide * f.slide[r];
    }
    subtract_dyad(f.G[i], inverse, pivot[k].z.n, pivot[k].z.f);
  }
  terms = rows + width;
  for (int t = 0; t < step.count; ++t, terms += 4)
    f.size[rows[terms[1]]] = f.size[rows[terms[1]]] + p[terms[0] * width + terms[1]] * p[terms[0] * width + terms[1]] *
                                                          pivot[terms[0]].inverse;
}

// (5); returns the lanes in which a row is doubtful
template <class T>
static unsigned leave_rows(FrontWorkspace<T> &f, const LoopPlan &plan, const LoopStepData &step, const T *leverage,
                           const T &least, T &min_pivot) {
  const LoopPieceData &piece = plan.pieces[step.body];
  const std::int32_t *rows = plan.indices + step.index;
  const std::ptrdiff_t ld = piece.width;
  T *E = f.E + piece.matrix, *e = f.e + step.numbers;
  Load<T> *B = f.B + piece.slots;
  ArticulatedInertia<T> &G = f.G[step.body];
  const T nothing(0.0), one(1.0);
  unsigned doubts = 0;
  for (int s = step.width - 1, number = step.left; s >= step.after; --s, ++number) {
    const T *row = E + s * ld;
    const T d = row[s], size = f.size[rows[s]], lever = leverage[rows[s]];
    const auto moves = less(least, lever);
    doubts |= bits(both(moves, either(opposite(less(doubtful_pivot * size, d)), less(lever, uncertain_leverage * least))));
    const auto sound = less(nothing, d);
    const T part = select(sound, d / select(sound, size, one), nothing);
    min_pivot = select(both(moves, less(part, min_pivot)), part, min_pivot);
    const auto kept = both(moves, less(rounded_pivot * size, d));
    const T inverse = select(kept, one / select(kept, d, one), nothing);
    f.left_inverse[number] = inverse;
    f.left_B[number] = B[s];
    std::copy_n(row, s, e);
    const Load<T> scaled{scale(inverse, B[s].n), scale(inverse, B[s].f)};
    for (int t = 0; t < s; ++t) {
      const T l = inverse * e[t];
      T *other = E + t * ld;
      for (int q = 0; q <= t; ++q)
        other[q] = other[q] - l * e[q];
      B[t].n -= scale(e[t], scaled.n);
      B[t].f -= scale(e[t], scaled.f);
    }
    if (step.body)
      subtract_dyad(G, -inverse, B[s].n, B[s].f);
    e += s;
  }
  return doubts;
}

template <class T>
unsigned factor_fronts(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f, const LoopPlan &plan,
                       const T *values, const T *leverage, const T &least, const unsigned char *given, T &min_pivot) {
  const std::int32_t *constraint = m.constraint_of_row;
  f.plan = &plan;
  place_bodies(m, ws, f, given);
  for (int r = 0; r < m.nc; ++r) {
    f.turn[r] = square(f.row_load[r].n);
    f.slide[r] = square(f.row_load[r].f);
    f.size[r] = T(0.0);
  }
  unsigned doubts = 0;
  for (int k = 0; k < plan.step_count; ++k) {
    const LoopStepData &step = plan.steps[k];
    switch (step.kind) {
    case LoopStepKind::open:
      open_piece(m, ws, f, plan, step, constraint);
      break;
    case LoopStepKind::merge:
      merge_piece(f, plan, step);
      break;
    case LoopStepKind::joint:
      eliminate_front_joint(m, ws, f, plan, step, constraint, values, given);
      break;
    case LoopStepKind::leave:
      doubts |= leave_rows(f, plan, step, leverage, least, min_pivot);
      break;
    }
  }
  return doubts;
}

// ---- solution

template <class T>
static void reduce_joint(const ModelData &m, FrontWorkspace<T> &f, const LoopStepData &step, const T *tau) {
  const BodyData &b = m.bodies[step.body];
  const std::int32_t *rows = f.plan->indices + step.index;
  const T *L = f.L + 15 * step.body, *p = f.p + step.numbers;
  Load<T> &g = f.g[step.body];
  T scaled[6];
  for (int k = 0; k < b.nv; ++k) {
    const Motion<T> &S = f.S[b.v + k];
    T y = (tau ? tau[b.v + k] : T(0.0)) - (dot(S.w, g.n) + dot(S.v, g.f));
    for (int j = 0; j < k; ++j)
      y = y - L[k * (k - 1) / 2 + j] * f.y[b.v + j];
    f.y[b.v + k] = y;
  }
  for (int k = 0; k < b.nv; ++k) {
    const Pivot<T> &pivot = f.pivot[b.v + k];
    scaled[k] = pivot.inverse * f.y[b.v + k];
    g.n += scale(scaled[k], pivot.z.n);
    g.f += scale(scaled[k], pivot.z.f);
    for (int s = 0; s < step.width; ++s)
      f.rho[rows[s]] = f.rho[rows[s]] + p[k * step.width + s] * scaled[k];
  }
}

template <class T> static void reduce_rows(FrontWorkspace<T> &f, const LoopStepData &step) {
  const std::int32_t *rows = f.plan->indices + step.index;
  const T *e = f.e + step.numbers;
  Load<T> &g = f.g[step.body];
  for (int s = step.width - 1, number = step.left; s >= step.after; --s, ++number) {
    const T scaled = f.left_inverse[number] * f.rho[rows[s]];
    f.left_rho[number] = scaled;
    for (int t = 0; t < s; ++t)
      f.rho[rows[t]] = f.rho[rows[t]] - e[t] * scaled;
    if (step.body) {
      g.n += scale(scaled, f.left_B[number].n);
      g.f += scale(scaled, f.left_B[number].f);
    }
    e += s;
  }
}

template <class T> static void find_multipliers(FrontWorkspace<T> &f, const LoopStepData &step) {
  const std::int32_t *rows = f.plan->indices + step.index;
  const T *e = f.e + step.numbers;
  for (int s = step.after; s < step.width; ++s) // those that left last come first
    e += s;
  const Motion<T> &A = f.A[step.body];
  for (int s = step.after, number = step.left + step.count - 1; s < step.width; ++s, --number) {
    e -= s;
    T sum = dot(f.left_B[number].n, A.w) + dot(f.left_B[number].f, A.v);
    for (int t = 0; t < s; ++t)
      sum = sum + e[t] * f.lambda[rows[t]];
    f.lambda[rows[s]] = -(f.left_rho[number] + f.left_inverse[number] * sum);
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
  const T *L = f.L + 15 * i, *p = f.p + step.numbers;
  Motion<T> A = moved(f.arm[i], f.A[b.parent]);
  T solved[6];
  for (int s = 0; s < step.width; ++s)
    f.gathered[s] = f.lambda[rows[s]];
  for (int k = b.nv - 1; k >= 0; --k) {
    const Pivot<T> &pivot = f.pivot[b.v + k];
    T sum = f.y[b.v + k] - (dot(pivot.z.n, A.w) + dot(pivot.z.f, A.v));
    for (int s = 0; s < step.width; ++s)
      sum = sum + p[k * step.width + s] * f.gathered[s];
    sum = pivot.inverse * sum;
    for (int j = k + 1; j < b.nv; ++j)
      sum = sum - L[j * (j - 1) / 2 + k] * solved[j];
    solved[k] = sum;
  }
  for (int k = 0; k < b.nv; ++k) {
    A.w += scale(solved[k], f.S[b.v + k].w);
    A.v += scale(solved[k], f.S[b.v + k].v);
    a[b.v + k] = a[b.v + k] + solved[k];
  }
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
  for (int k = 0; k < plan.step_count; ++k) {
    const LoopStepData &step = plan.steps[k];
    if (step.kind == LoopStepKind::joint) {
      reduce_joint(m, f, step, tau);
    } else if (step.kind == LoopStepKind::leave) {
      reduce_rows(f, step);
    } else if (step.kind == LoopStepKind::merge && step.body) {
      const Load<T> &g = f.g[step.child];
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
    f.A[i] = A;
    f.g[i] = mul(f.own[i], A.w, A.v);
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
    if (b.parent) {
      f.g[b.parent].n += F.n + cross(f.arm[i], F.f);
      f.g[b.parent].f += F.f;
    }
  }
}

template void lay_out_fronts(const ModelData &, Arena &, FrontWorkspace<double> &);
template unsigned factor_fronts(const ModelData &, const Workspace<double> &, FrontWorkspace<double> &, const LoopPlan &,
                                const double *, const double *, const double &, const unsigned char *, double &);
template void solve_fronts(const ModelData &, FrontWorkspace<double> &, const double *, const double *, double *, double *);
template void force_residual(const ModelData &, const Workspace<double> &, FrontWorkspace<double> &, const double *, const double *,
                             const double *, double *);
template void lay_out_fronts(const ModelData &, Arena &, FrontWorkspace<Pack> &);
template unsigned factor_fronts(const ModelData &, const Workspace<Pack> &, FrontWorkspace<Pack> &, const LoopPlan &,
                                const Pack *, const Pack *, const Pack &, const unsigned char *, Pack &);
template void solve_fronts(const ModelData &, FrontWorkspace<Pack> &, const Pack *, const Pack *, Pack *, Pack *);
template void force_residual(const ModelData &, const Workspace<Pack> &, FrontWorkspace<Pack> &, const Pack *, const Pack *,
                             const Pack *, Pack *);

} // namespace dalembert::DALEMBERT_ISA
