#include "constraints/loop_fronts.hpp"
#include "constraints/front_steps.hpp"
#include <algorithm>

namespace dalembert::DALEMBERT_ISA {

// a pivot below this part of what its lever arms could make of it is doubtful, and below this one round-off
constexpr double doubtful_pivot = 1e-11, rounded_pivot = 1e-13;
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
  f.left_row = arena.take<std::int32_t>(count(nc));
  for (T **each : {&f.left_inverse, &f.left_rho, &f.rho, &f.lambda, &f.size, &f.turn, &f.slide})
    *each = arena.take<T>(count(nc));
  for (T **each : {&f.y, &f.tau, &f.first, &f.solved})
    *each = arena.take<T>(count(nv));
  const std::int64_t modal = m.modal_count ? 1 : 0;
  f.node_columns = arena.take<Motion<T>>(count(modal * m.columns));
  f.modal_own = arena.take<Load<T>>(count(m.modal_loads));
  f.modal_load = arena.take<Load<T>>(count(m.modal_loads));
  f.modal_square = arena.take<T>(count(larger_of(&LoopPlan::squares)));
  f.modal_factor = arena.take<T>(count(larger_of(&LoopPlan::modal_factors)));
  f.modal_rows = arena.take<T>(count(larger_of(&LoopPlan::modal_slots)));
  f.modal_reach = arena.take<T>(count(larger_of(&LoopPlan::modal_slots)));
  f.handed = arena.take<T>(count(modal * nv));
  f.gathered = arena.take<T>(count(larger_of(&LoopPlan::max_width)));
  f.g = arena.take<Load<T>>(count(bodies));
  f.A = arena.take<Motion<T>>(count(bodies));
}

template <class T> static void open_matrix(FrontWorkspace<T> &f, const LoopPlan &plan, const LoopStepData &step) {
  const LoopPieceData &piece = plan.pieces[step.body];
  if (step.numbers) // that of a child, yet to be merged
    return;
  for (int s = 0; s < step.after; ++s)
    std::fill_n(f.E + piece.matrix + std::ptrdiff_t(s) * piece.width, s + 1, T(0.0));
}

// rows and columns of E go to their places among those of the merged piece, the last ones first
template <class T> static void spread_matrix(const std::int32_t *place, int width, const std::int32_t *runs, int after,
                                             T *E, std::ptrdiff_t ld) {
  for (int s = after - 1, old = width - 1; s > old; --s) { // those before stay
    T *row = E + s * ld;
    if (old < 0 || place[old] != s) {
      std::fill_n(row, s + 1, T(0.0));
      continue;
    }
    const T *source = E + old * ld;
    int end = s + 1; // columns from here on are done
    for (int k = runs[0] - 1; k >= 0; --k) {
      const std::int32_t *run = runs + 1 + 3 * k;
      if (run[0] > old)
        continue;
      const int count = std::min(run[2], old - run[0] + 1);
      std::fill(row + run[1] + count, row + end, T(0.0));
      std::copy_backward(source + run[0], source + run[0] + count, row + run[1] + count);
      end = run[1];
    }
    std::fill(row, row + end, T(0.0));
    --old;
  }
}

// (4): E
template <class T> static void merge_matrix(FrontWorkspace<T> &f, const LoopPlan &plan, const LoopStepData &step) {
  const LoopPieceData &piece = plan.pieces[step.body], &child = plan.pieces[step.child];
  const std::int32_t *place = plan.indices + step.index, *from = place + step.width, *runs = from + step.count;
  const std::int32_t *child_runs = runs + 1 + 3 * runs[0];
  const std::ptrdiff_t ld = piece.width, ld_child = child.width;
  T *E = f.E + piece.matrix;
  if (step.numbers) // E of the piece is that of the child yet, and zero in rows that began here
    return spread_matrix(from, step.count, child_runs, step.after, E, ld);
  spread_matrix(place, step.width, runs, step.after, E, ld);
  const T *Ec = f.E + child.matrix;
  for (int s = 0; s < step.count; ++s)
    for (const std::int32_t *run = child_runs + 1, *end = run + 3 * child_runs[0]; run < end && run[0] <= s; run += 3) {
      const int count = std::min(run[2], s - run[0] + 1);
      T *row = E + from[s] * ld + run[1];
      const T *source = Ec + s * ld_child + run[0];
      for (int q = 0; q < count; ++q)
        row[q] = row[q] + source[q];
    }
}

// what N degrees of freedom add to E, in one pass over it
template <int N, class T>
static DALEMBERT_INLINE void add_squares(const T *p, const Pivot<T> *pivot, int width, T *E, std::ptrdiff_t ld) {
  for (int s = 0; s < width; ++s) {
    T scaled[N], *row = E + s * ld;
    for (int k = 0; k < N; ++k)
      scaled[k] = pivot[k].inverse * p[k * width + s];
    for (int q = 0; q <= s; ++q) {
      T sum = scaled[0] * p[q];
      for (int k = 1; k < N; ++k)
        sum = sum + scaled[k] * p[k * width + q];
      row[q] = row[q] + sum;
    }
  }
}

// E of the rows that stay, without the N rows that have left from number on: N passes over E in one
template <int N, class T>
static DALEMBERT_INLINE void subtract_rows(const T *const *e, const T *inverse, int stay, T *E, std::ptrdiff_t ld) {
  for (int t = 0; t < stay; ++t) {
    T l[N], *row = E + t * ld;
    for (int k = 0; k < N; ++k)
      l[k] = inverse[k] * e[k][t];
    for (int q = 0; q <= t; ++q) {
      T sum = l[0] * e[0][q];
      for (int k = 1; k < N; ++k)
        sum = sum + l[k] * e[k][q];
      row[q] = row[q] - sum;
    }
  }
}
template <class T>
static void subtract_left(const FrontWorkspace<T> &f, const LoopStepData &step, T *E, std::ptrdiff_t ld) {
  const T *e = f.e + step.numbers, *at[4];
  const T *inverse = f.left_inverse + step.left;
  for (int done = 0, s = step.width - 1; done < step.count;) {
    const int some = step.count - done < 4 ? step.count - done : 4;
    for (int k = 0; k < some; ++k, --s) {
      at[k] = e;
      e += s;
    }
    if (some == 4)
      subtract_rows<4>(at, inverse + done, step.after, E, ld);
    else if (some == 3)
      subtract_rows<3>(at, inverse + done, step.after, E, ld);
    else if (some == 2)
      subtract_rows<2>(at, inverse + done, step.after, E, ld);
    else
      subtract_rows<1>(at, inverse + done, step.after, E, ld);
    done += some;
  }
}

// the compliance of rows that are about to leave
template <class T>
static void give_way(FrontWorkspace<T> &f, const LoopPlan &plan, const LoopStepData &step, const double *compliance) {
  const LoopPieceData &piece = plan.pieces[step.body];
  for (int s = step.after; s < step.width; ++s) {
    T &d = f.E[piece.matrix + std::ptrdiff_t(s) * piece.width + s];
    d = d + compliance[plan.indices[step.index + s]];
  }
}

// (5); returns the lanes in which a row is doubtful
template <class T> static unsigned leave_rows(FrontWorkspace<T> &f, const LoopPlan &plan, const LoopStepData &step,
                                              const T *leverage, const T &least, const double *compliance,
                                              T &min_pivot) {
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
    const T d = compliance ? larger(row[s], T(compliance[rows[s]])) : row[s];
    const T size = f.size[rows[s]], lever = leverage[rows[s]];
    const auto moves = less(least, lever);
    doubts |=
        bits(both(moves, either(opposite(less(doubtful_pivot * size, d)), less(lever, uncertain_leverage * least))));
    const auto sound = less(nothing, d);
    const T part = select(sound, d / select(sound, size, one), nothing);
    min_pivot = select(both(moves, less(part, min_pivot)), part, min_pivot);
    const auto kept = both(moves, less(compliance ? nothing : rounded_pivot * size, d));
    const T inverse = select(kept, one / select(kept, d, one), nothing);
    f.left_row[number] = rows[s];
    f.left_inverse[number] = inverse;
    f.left_B[number] = B[s];
    std::copy_n(row, s, e);
    const Load<T> scaled{scale(inverse, B[s].n), scale(inverse, B[s].f)};
    for (int t = step.after; t < s; ++t) { // of those that stay, E is updated for all rows together
      const T l = inverse * e[t];
      T *other = E + t * ld;
      for (int q = 0; q <= t; ++q)
        other[q] = other[q] - l * e[q];
    }
    for (int t = 0; t < s; ++t) {
      B[t].n -= scale(e[t], scaled.n);
      B[t].f -= scale(e[t], scaled.f);
    }
    if (step.body)
      subtract_dyad(G, -inverse, B[s].n, B[s].f);
    e += s;
  }
  subtract_left(f, step, E, ld);
  return doubts;
}

template <class T> unsigned factor_matrices(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f,
                                            const LoopPlan &plan, const T *values, const T *leverage, const T &least,
                                            const unsigned char *given, const FrontMetric &metric, T &min_pivot) {
  start_factors(m, ws, f, plan, given, metric);
  unsigned doubts = 0;
  for (int k = 0; k < plan.step_count; ++k) {
    const LoopStepData &step = plan.steps[k];
    const LoopPieceData &piece = plan.pieces[step.body];
    switch (step.kind) {
    case LoopStepKind::open:
      open_piece(m, ws, f, plan, step, given, metric);
      open_matrix(f, plan, step);
      break;
    case LoopStepKind::merge:
      merge_loads(m, ws, f, plan, step);
      merge_matrix(f, plan, step);
      break;
    case LoopStepKind::joint:
      eliminate_front_joint(m, ws, f, plan, step, values, given, metric, [&](const T *p, const Pivot<T> *pivot) {
        for (int done = 0, nv = m.bodies[step.body].nv; done < nv; done += 6)
          visit_columns(std::min(nv - done, 6), [&](auto n) {
            add_squares<decltype(n)::count>(p + done * step.width, pivot + done, step.width, f.E + piece.matrix,
                                            std::ptrdiff_t(piece.width));
          });
      });
      break;
    case LoopStepKind::leave:
      if (metric.compliance)
        give_way(f, plan, step, metric.compliance);
      doubts |= leave_rows(f, plan, step, leverage, least, metric.compliance, min_pivot);
      break;
    }
  }
  return doubts;
}

template <class T> unsigned factor_fronts(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f,
                                          const LoopPlan &plan, const T *values, const T *leverage, const T &least,
                                          const unsigned char *given, T &min_pivot) {
  return factor_matrices<T>(m, ws, f, plan, values, leverage, least, given, {}, min_pivot);
}

template unsigned factor_matrices(const ModelData &, const Workspace<double> &, FrontWorkspace<double> &,
                                  const LoopPlan &, const double *, const double *, const double &,
                                  const unsigned char *, const FrontMetric &, double &);
template void lay_out_fronts(const ModelData &, Arena &, FrontWorkspace<double> &);
template unsigned factor_fronts(const ModelData &, const Workspace<double> &, FrontWorkspace<double> &,
                                const LoopPlan &, const double *, const double *, const double &, const unsigned char *,
                                double &);
template void lay_out_fronts(const ModelData &, Arena &, FrontWorkspace<Pack> &);
template unsigned factor_fronts(const ModelData &, const Workspace<Pack> &, FrontWorkspace<Pack> &, const LoopPlan &,
                                const Pack *, const Pack *, const Pack &, const unsigned char *, Pack &);
} // namespace dalembert::DALEMBERT_ISA
