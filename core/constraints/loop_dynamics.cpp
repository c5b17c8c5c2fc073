#include "constraints/loop_dynamics.hpp"
#include "constraints/loop_envelope.hpp"
#include "constraints/loop_orthogonal.hpp"
#include <algorithm>
#include <initializer_list>
#include <limits>
#include <type_traits>

namespace dalembert::DALEMBERT_ISA {

// numbers of Y that are kept: of all loop constraints, or of one at a time where rows are eliminated within the trees
static std::size_t responses(const ModelData &m) {
  if (!uses_fronts(m))
    return std::size_t(m.responses);
  std::int64_t most = 0;
  for (int k = 0; k < m.loop_constraint_count; ++k)
    most = std::max(most, std::int64_t(m.loop_constraints[k].rows) * reach_size(m, m.loop_constraints[k]));
  return std::size_t(most);
}

template <class T> std::size_t lay_out(const ModelData &m, std::byte *base, LoopWorkspace<T> &work) {
  Arena arena{base};
  arena.skip(lay_out(m, base, work.ws));
  work.ws.regularizing_inertia = m.regularizing_inertia;
  if constexpr (differentiates<T>) // rows are varied, not solved for
    return arena.used;
  const std::size_t nv = std::size_t(m.nv), nc = std::size_t(m.nc);
  work.side = load_right_hand_side<Pack>(m, arena);
  work.x = arena.take<Pack>(nv);
  work.values = arena.take<T>(std::size_t(m.values));
  work.response = arena.take<T>(responses(m));
  for (T **each : {&work.gamma, &work.leverage, &work.drift, &work.rhs, &work.d, &work.y})
    *each = arena.take<T>(nc);
  work.D = arena.take<T>(m.nc && !uses_fronts(m) ? std::size_t(m.all_rows.start[m.nc]) : 0);
  const bool orthogonal = std::is_same_v<T, double> ? m.nc <= max_orthogonal && !uses_fronts(m) : m.nc <= max_in_lanes;
  OrthogonalWorkspace<T> &o = work.orthogonal;
  o.Q = arena.take<T>(orthogonal ? nc * nv : 0);
  o.R = arena.take<T>(orthogonal ? nc * nc : 0);
  for (T **each : {&o.place, &o.size, &o.left, &o.taken, &o.z})
    *each = arena.take<T>(orthogonal ? nc : 0);
  lay_out_fronts(m, arena, work.fronts);
  if (uses_fronts(m)) {
    work.ws.row_load = work.fronts.row_load;
    work.ws.row_point = work.fronts.row_point;
  }
  work.change = arena.take<T>(m.regularizing_inertia ? nv : 0);
  work.kept = arena.take<T>(std::is_same_v<T, Pack> ? nv + nc : 0);
  work.last = arena.take<Factored>(1);
  work.opening = T(0.0);
  work.min_pivot = T(1.0);
  return arena.used;
}

// independent rows; returns the lanes in which they do not do
template <class T> static unsigned factor_lean(const ModelData &m, LoopWorkspace<T> &work, const unsigned char *given) {
  for (int k = 0; k < m.loop_constraint_count; ++k)
    respond(m, work, m.loop_constraints[k], given, true);
  couple(m, work, m.independent_rows);
  return factor_envelope(work, m.independent_rows);
}

// all rows, where the independent ones do not do
static Factored factor_all(const ModelData &m, LoopWorkspace<double> &work, const unsigned char *given) {
  if (uses_fronts(m)) {
    const int rank = factor_by_roots(m, work.ws, work.fronts, m.all_loop_plan, work.values, work.leverage,
                                     independence(work.opening), given, work.min_pivot);
    return {Envelope::all, rank, 0, 0, true};
  }
  if (m.nc <= max_orthogonal)
    return {Envelope::none, orthogonalize(m, work, given), 1, 0};
  for (int k = 0; k < m.loop_constraint_count; ++k)
    respond(m, work, m.loop_constraints[k], given, false);
  couple(m, work, m.all_rows);
  factor_envelope(work, m.all_rows);
  return {Envelope::all, 0, 0, 0};
}
static Factored factor_all(const ModelData &m, LoopWorkspace<Pack> &work, const unsigned char *given, unsigned lanes) {
  if (m.nc > max_in_lanes)
    return {Envelope::independent, 0, 0, lanes};
  return {lanes == every_lane ? Envelope::none : Envelope::independent, orthogonalize(m, work, given), lanes, 0};
}

// the lanes in which a coordinate of a cut joint is held: its row is none of the independent ones
template <class T> static unsigned held_lanes(const ModelData &m, const LoopWorkspace<T> &work) {
  unsigned lanes = 0;
  const T least = independence(work.opening);
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    for (int j = constraint.held ? constraint.rows - constraint.nv : constraint.rows; j < constraint.rows; ++j)
      lanes |= bits(less(least, work.leverage[constraint.row + j]));
  }
  return lanes;
}

template <class T> Factored factor_rows(const ModelData &m, LoopWorkspace<T> &work, const unsigned char *marks) {
  const bool fronts = uses_fronts(m);
  const unsigned doubts = (fronts ? factor_fronts<T>(m, work.ws, work.fronts, m.loop_plan, work.values, work.leverage,
                                                     independence(work.opening), marks, work.min_pivot)
                                  : factor_lean(m, work, marks)) |
                          held_lanes(m, work);
  if (!doubts)
    return {Envelope::independent, 0, 0, 0, fronts};
  if constexpr (std::is_same_v<T, double>) {
    return factor_all(m, work, marks);
  } else {
    Factored factored = factor_all(m, work, marks, doubts);
    factored.fronts = fronts && factored.envelope == Envelope::independent;
    return factored;
  }
}

// a and lambda from rhs = -(P a + gamma), by (1), in an envelope or within the trees
template <class T>
static void correct_lean(const ModelData &m, LoopWorkspace<T> &work, const Factored &factored, T *a, T *lambda) {
  if (factored.fronts)
    solve_fronts<T>(m, work.fronts, nullptr, work.rhs, a, lambda);
  else
    correct(m, work, order_of(m, factored), a, lambda);
}

// the same with the forces that the first solution has missed: M (a - first) = P^T lambda
template <class T>
static void refine_rows(const ModelData &m, LoopWorkspace<T> &work, const Factored &factored, T *a, T *lambda) {
  if (!factored.fronts || factored.orthogonal)
    return solve_rows(m, work, factored, a, lambda);
  FrontWorkspace<T> &f = work.fronts;
  for (int k = 0; k < m.nv; ++k)
    f.tau[k] = a[k] - f.first[k];
  force_residual(m, work.ws, f, work.values, f.tau, lambda, f.tau);
  solve_fronts<T>(m, f, f.tau, work.rhs, a, lambda);
}

template <class T>
Factored factor_loops(const ModelData &m, LoopWorkspace<T> &work, const T *q, const unsigned char *marks) {
  factorize<T>(m, work.ws, q, marks);
  return factor_rows(m, work, marks);
}

template <>
void solve_rows(const ModelData &m, LoopWorkspace<double> &work, const Factored &factored, double *a, double *lambda) {
  if (factored.envelope != Envelope::none)
    correct_lean(m, work, factored, a, lambda);
  else
    correct_orthogonally(m, work, factored.rank, a, lambda);
}

template <>
void solve_rows(const ModelData &m, LoopWorkspace<Pack> &work, const Factored &factored, Pack *a, Pack *lambda) {
  if (!factored.orthogonal)
    return correct_lean(m, work, factored, a, lambda);
  if (factored.envelope == Envelope::none)
    return correct_orthogonally(m, work, factored.rank, a, lambda);
  Pack *kept_a = work.kept, *kept_lambda = kept_a + m.nv;
  std::copy_n(a, m.nv, kept_a);
  std::copy_n(lambda, m.nc, kept_lambda);
  correct_lean(m, work, factored, kept_a, kept_lambda);
  correct_orthogonally(m, work, factored.rank, a, lambda);
  Pack mine;
  for (int lane = 0; lane < W; ++lane)
    mine.set(lane, factored.orthogonal >> lane & 1u ? 1.0 : 0.0);
  const auto orthogonal = less(Pack(0.5), mine);
  for (int f = 0; f < m.nv; ++f)
    a[f] = select(orthogonal, a[f], kept_a[f]);
  for (int i = 0; i < m.nc; ++i)
    lambda[i] = select(orthogonal, lambda[i], kept_lambda[i]);
}

Factored factored_last(const LoopWorkspace<double> &work) { return *work.last; }

// x = E d, then the accelerations and multipliers that it calls forth while the rows hold; returns the largest of them
template <class T> static T answer_loan(const ModelData &m, LoopWorkspace<T> &work, const Factored &factored,
                                        const unsigned char *given, T *d, T *lambda) {
  for (int f = 0; f < m.nv; ++f)
    work.x[f] = given && given[f] ? Pack(0.0) : Pack(m.regularizing_inertia[f] * d[f]);
  solve(m, work.ws, work.side, work.x, work.x, 1, m.nb, given);
  for (int f = 0; f < m.nv; ++f)
    d[f] = carried<T>(work.x[f], 0);
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    for (int j = 0; j < constraint.rows; ++j) {
      T sum(0.0);
      for (int s = 0; s < constraint.supports; ++s)
        sum = sum - work.values[constraint.values + j * constraint.supports + s] * d[m.support[constraint.support + s]];
      work.rhs[constraint.row + j] = sum;
    }
  }
  solve_rows(m, work, factored, d, lambda);
  T most(0.0);
  for (int f = 0; f < m.nv; ++f)
    most = larger(most, absolute(d[f]));
  return most;
}

template <class T> void correct_for_regularization(const ModelData &m, LoopWorkspace<T> &work, const Factored &factored,
                                                   const unsigned char *given, T *a, T *lambda) {
  constexpr int max_rounds = 12;
  constexpr double settled = 1e-15, lost = 1e-9; // of the accelerations
  if (!m.regularizing_inertia)
    return;
  const T half(0.5);
  T size(0.0), left(0.0), open(1.0); // lanes that are not settled yet: those alone change
  for (int f = 0; f < m.nv; ++f) {
    work.change[f] = a[f];
    size = larger(size, absolute(a[f]));
  }
  for (int round = 0; round < max_rounds; ++round) {
    left = select(less(half, open), answer_loan(m, work, factored, given, work.change, lambda), left);
    for (int f = 0; f < m.nv; ++f)
      a[f] = select(less(half, open), a[f] + work.change[f], a[f]);
    open = select(less(settled * size, left), open, T(0.0));
    if (!bits(less(half, open)))
      return;
  }
  const auto without = less(lost * size, left); // nothing but the loan resists there
  for (int f = 0; f < m.nv; ++f)
    a[f] = select(without, T(std::numeric_limits<double>::quiet_NaN()), a[f]);
}

// a row that no acceleration can obey (gamma is not a number), though others may have taken its place, obeys none
template <class T> static void refuse_rows(const ModelData &m, const LoopWorkspace<T> &work, T *a) {
  T nothing(0.0);
  for (int i = 0; i < m.nc; ++i)
    nothing = nothing + 0.0 * work.gamma[i];
  for (int f = 0; f < m.nv; ++f)
    a[f] = a[f] + nothing;
}

template <> unsigned solve_multipliers(const ModelData &m, LoopWorkspace<double> &work, const unsigned char *given,
                                       double *a, double *lambda) {
  Factored factored = factor_rows(m, work, given);
  for (int i = 0; i < m.nc; ++i)
    lambda[i] = 0.0;
  if (factored.fronts)
    std::copy_n(a, m.nv, work.fronts.first);
  double largest = 0.0;
  for (int pass = 0, last = 1; pass <= last; ++pass) { // (1) or (2), then the refinement
    if (residual_rates(m, work, a, largest) && pass == 1 && factored.envelope == Envelope::independent) {
      factored = factor_all(m, work, given); // a row that was left out or dropped is needed here
      ++last;
    }
    if (pass)
      refine_rows(m, work, factored, a, lambda);
    else
      solve_rows(m, work, factored, a, lambda);
  }
  correct_for_regularization(m, work, factored, given, a, lambda);
  refuse_rows(m, work, a);
  *work.last = factored;
  return 0;
}

template <> unsigned solve_multipliers(const ModelData &m, LoopWorkspace<Pack> &work, const unsigned char *given,
                                       Pack *a, Pack *lambda) {
  const Factored factored = factor_rows(m, work, given);
  for (int i = 0; i < m.nc; ++i)
    lambda[i] = Pack(0.0);
  if (factored.fronts)
    std::copy_n(a, m.nv, work.fronts.first);
  Pack largest(0.0);
  residual_rates(m, work, a, largest);
  solve_rows(m, work, factored, a, lambda);
  const unsigned missed = residual_rates(m, work, a, largest) & ~factored.orthogonal;
  refine_rows(m, work, factored, a, lambda);
  correct_for_regularization(m, work, factored, given, a, lambda);
  refuse_rows(m, work, a);
  *work.last = factored;
  return factored.alone | missed;
}

void row_pivots(const ModelData &m, LoopWorkspace<double> &work, const double *q, double *pivots) {
  evaluate_loop_constraints<double>(m, work.ws, q, nullptr, {.values = work.values, .leverage = work.leverage});
  factorize<double>(m, work.ws, q);
  for (int c = 0; c < m.loop_constraint_count; ++c) {
    LoopConstraintData constraint = m.loop_constraints[c];
    constraint.reach = 0; // the place is used anew
    respond(m, work, constraint, nullptr, false);
    double D[6][6], own[6];
    bool done[6] = {};
    for (int i = 0; i < constraint.rows; ++i) {
      pivots[constraint.row + i] = 0.0;
      for (int j = 0; j < constraint.rows; ++j)
        D[i][j] = coupling(m, work.values, work.response, constraint, i, constraint, j);
      own[i] = D[i][i];
    }
    const auto part = [&](int i) {
      return work.leverage[constraint.row + i] > independence(0.0) && own[i] > 0.0 ? D[i][i] / own[i] : 0.0;
    };
    for (int step = 0; step < constraint.rows; ++step) {
      int best = -1;
      for (int i = 0; i < constraint.rows; ++i)
        if (!done[i] && (best < 0 || part(i) > part(best)))
          best = i;
      if (!(part(best) > rounding))
        break;
      pivots[constraint.row + best] = part(best);
      done[best] = true;
      for (int i = 0; i < constraint.rows; ++i)
        for (int j = 0; j < constraint.rows && !done[i]; ++j)
          if (!done[j])
            D[i][j] -= D[i][best] * D[best][j] / D[best][best];
    }
  }
}

template void correct_for_regularization(const ModelData &, LoopWorkspace<double> &, const Factored &,
                                         const unsigned char *, double *, double *);
template Factored factor_rows(const ModelData &, LoopWorkspace<double> &, const unsigned char *);
template Factored factor_loops(const ModelData &, LoopWorkspace<double> &, const double *, const unsigned char *);
template Factored factor_loops(const ModelData &, LoopWorkspace<Pack> &, const Pack *, const unsigned char *);
template std::size_t lay_out(const ModelData &, std::byte *, LoopWorkspace<double> &);
template std::size_t lay_out(const ModelData &, std::byte *, LoopWorkspace<Pack> &);
template std::size_t lay_out(const ModelData &, std::byte *, LoopWorkspace<Dual> &);
template std::size_t lay_out(const ModelData &, std::byte *, LoopWorkspace<Traced> &);

} // namespace dalembert::DALEMBERT_ISA
