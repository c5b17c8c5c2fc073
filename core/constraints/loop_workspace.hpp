// Shared parts of the two solutions for loops: workspace, how a loop constraint's rows spread over its trees, how the
// trees respond, and by how much the rows are missed. Equation numbers are those of constraints/loop_dynamics.hpp.
//
// For numbers, W rows of a loop constraint are carried through the trees at once; for packs, each row by itself, with a
// state in every lane.
#pragma once

#include "constraints/loop_fronts.hpp"

namespace dalembert::DALEMBERT_ISA {

// rows up to which orthogonalisation is affordable: its cost is that of a dense factorisation
constexpr int max_orthogonal = 512;

// rows that go through the trees together
template <class T> constexpr int rows_at_once = W;
template <> inline constexpr int rows_at_once<Pack> = 1;

// Rows that differ from dependent ones, or from no row at all, by less than the loops are open cannot be distinguished
// from them.
template <class T> DALEMBERT_INLINE T independence(const T &opening) {
  const T tolerance = 30.0 * opening, low(1e-10), high(1e-5);
  return select(less(tolerance, low), low, select(less(high, tolerance), high, tolerance));
}

// rows of packs up to which lanes are orthogonalised together
constexpr int max_in_lanes = 64;

// Rows on their way to being orthogonal, in the order in which they are taken (constraints/loop_orthogonal.hpp).
template <class T> struct OrthogonalWorkspace {
  T *Q, *R; // nc x nv: rows of P L^-T d^-1/2, then unit rows; nc x nc: their parts along those that were taken
  T *place; // nc: number of each row
  T *size;  // nc: reciprocal of what its lever arms could make of it; zero if it demands nothing
  T *left;  // nc: what is left of it
  T *taken; // nc: 1 where a row was taken, 0 where there was none
  T *z;     // nc
};

// which rows stand in an envelope
enum class Envelope : std::int32_t { none, independent, all };

// how the rows were taken, in lanes: in an envelope, or by (2)
struct Factored {
  Envelope envelope;
  std::int32_t rank;        // of those taken by (2)
  std::uint32_t orthogonal; // lanes in which rows were taken by (2)
  std::uint32_t alone;      // lanes in which neither did
  bool fronts = false;      // those in an envelope were eliminated within the trees instead
};
inline const RowElimination &order_of(const ModelData &m, const Factored &factored) {
  return factored.envelope == Envelope::all ? m.all_rows : m.independent_rows;
}

template <class T> struct LoopWorkspace {
  Workspace<T> ws;
  Side<Pack> side;
  Pack *x;
  T *values;   // blocks of P
  T *response; // blocks of Y: for each loop constraint, rows by the degrees of freedom of its trees
  T *gamma;    // nc
  T *leverage; // nc: see LoopConstraintOutputs
  T *drift;    // nc: see LoopConstraintOutputs
  T *rhs;      // nc: -(P a_0 + gamma)
  T *D;        // the envelope, then L
  T *d;        // nc: reciprocal pivots
  T *y;        // nc
  OrthogonalWorkspace<T> orthogonal;
  FrontWorkspace<T> fronts;
  T *kept;        // nv + nc: of packs, what lanes in an envelope have got
  T *change;      // nv, where inertia is added: what taking it back changes
  Factored *last; // how rows were taken last
  T opening;
  // smallest pivot met, as a part of its diagonal, or square of a leverage; to be set back by the caller
  T min_pivot;
};

template <class T> std::size_t lay_out(const ModelData &m, std::byte *base, LoopWorkspace<T> &work);

// degrees of freedom of one of the trees of a loop constraint, and where they stand in its response
struct TreeReach {
  int begin, end, offset, root;
};
template <class F>
DALEMBERT_INLINE void for_each_tree(const ModelData &m, const LoopConstraintData &constraint, F &&f) {
  int offset = 0;
  for (int k = constraint.tree; k < constraint.tree + constraint.trees; ++k) {
    const BodyData &root = m.bodies[m.tree[k]];
    f(TreeReach{root.v, root.v_end, offset, m.tree[k]});
    offset += root.v_end - root.v;
  }
}
DALEMBERT_INLINE int reach_size(const ModelData &m, const LoopConstraintData &constraint) {
  int size = 0;
  for_each_tree(m, constraint, [&](const TreeReach &r) { size += r.end - r.begin; });
  return size;
}

// Takes rows of a loop constraint through its trees, as many at once as go: calls inward(tree) for each of the trees
// with the rows spread over work.x, then done(tree, lane, row) for each row and tree.
template <class T, class Wanted, class Carry, class Done>
inline void carry_rows(const ModelData &m, LoopWorkspace<T> &work, const LoopConstraintData &constraint,
                       Wanted &&wanted, Carry &&carry, Done &&done) {
  constexpr int most = rows_at_once<T>;
  const T *block = work.values + constraint.values;
  int rows[W], count = 0;
  const auto flush = [&] {
    for_each_tree(m, constraint, [&](const TreeReach &r) {
      for (int f = r.begin; f < r.end; ++f)
        work.x[f] = Pack(0.0);
    });
    for (int s = 0; s < constraint.supports; ++s) {
      Pack &entry = work.x[m.support[constraint.support + s]];
      if constexpr (most == 1)
        entry = block[rows[0] * constraint.supports + s];
      else
        for (int l = 0; l < count; ++l)
          entry.set(l, block[rows[l] * constraint.supports + s]);
    }
    for_each_tree(m, constraint, [&](const TreeReach &r) {
      carry(r);
      for (int l = 0; l < count; ++l)
        done(r, l, rows[l]);
    });
    count = 0;
  };
  for (int j = 0; j < constraint.rows; ++j) {
    if (!wanted(constraint.row + j))
      continue;
    rows[count++] = j;
    if (count == most)
      flush();
  }
  if (count)
    flush();
}

// what lane l of a carried number is: for packs, all of it
template <class T> DALEMBERT_INLINE T carried(const Pack &x, int l) {
  if constexpr (rows_at_once<T> == 1)
    return (void)l, x;
  else
    return x[l];
}

// Y of one loop constraint: of its independent rows, or of all
template <class T> inline void respond(const ModelData &m, LoopWorkspace<T> &work, const LoopConstraintData &constraint,
                                       const unsigned char *given, bool independent) {
  const int size = reach_size(m, constraint);
  T *Y = work.response + constraint.reach;
  carry_rows(
      m, work, constraint, [&](int row) { return !independent || m.independent[row]; },
      [&](const TreeReach &r) { solve(m, work.ws, work.side, work.x, work.x, r.root, m.bodies[r.root].last, given); },
      [&](const TreeReach &r, int l, int row) {
        for (int f = r.begin; f < r.end; ++f)
          Y[row * size + r.offset + f - r.begin] = carried<T>(work.x[f], l);
      });
}

// row i of P (loop constraint c) times column j of Y (loop constraint e)
template <class T> inline T coupling(const ModelData &m, const T *values, const T *response,
                                     const LoopConstraintData &c, int i, const LoopConstraintData &e, int j) {
  const T *row = values + c.values + i * c.supports, *Y = response + e.reach + j * reach_size(m, e);
  T sum(0.0);
  TreeReach r{0, 0, 0, 0};
  for (int s = 0; s < c.supports; ++s) {
    const int f = m.support[c.support + s];
    if (f < r.begin || f >= r.end) { // another tree: look for it among those that e moves
      r = {f, f, 0, 0};
      for_each_tree(m, e, [&](const TreeReach &candidate) {
        if (f >= candidate.begin && f < candidate.end)
          r = candidate;
      });
    }
    if (f < r.end)
      sum = sum + row[s] * Y[r.offset + f - r.begin];
  }
  return sum;
}

// -(P a + gamma), by row, into rhs. Returns the lanes in which a row is missed by more than round-off and open loops
// explain: by this part of its terms, unless they are as nothing beside the largest that any row has had (`largest`).
template <class T> inline unsigned residual_rates(const ModelData &m, LoopWorkspace<T> &work, const T *a, T &largest) {
  constexpr double missed = 1e-4, nothing = 1e-9;
  unsigned found = 0;
  for (int k = 0; k < m.loop_constraint_count; ++k) {
    const LoopConstraintData &constraint = m.loop_constraints[k];
    for (int j = 0; j < constraint.rows; ++j) {
      const T *row = work.values + constraint.values + j * constraint.supports;
      T sum = work.gamma[constraint.row + j], size = absolute(sum);
      for (int s = 0; s < constraint.supports; ++s) {
        const T term = row[s] * a[m.support[constraint.support + s]];
        sum = sum + term;
        size = size + absolute(term);
      }
      work.rhs[constraint.row + j] = -sum;
      largest = larger(largest, size);
      const T open = absolute(sum);
      found |= bits(both(less(independence(work.opening), work.leverage[constraint.row + j]),
                         both(less(missed * size, open), less(nothing * largest, open))));
    }
  }
  return found;
}

} // namespace dalembert::DALEMBERT_ISA
