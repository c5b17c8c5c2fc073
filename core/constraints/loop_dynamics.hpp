// Forward dynamics with closed loops: M a + b = tau + P^T lambda, P a + gamma = 0.
//
// On the articulated-body factors of the trees, with a_0 the accelerations of the open system
// (Slaats 1991, section 4.2 and SL-35; Sol 1983, (6.3.4)-(6.3.6) with the sign of (6.3.4), erratum):
//
//     Y = M^-1 P^T      D = P Y      D lambda = -(P a_0 + gamma)      a = a_0 + Y lambda              (1)
//
// A loop constraint moves only the trees it touches, so Y has as many short columns, and two loop constraints are
// coupled in D only if they share a tree. D is factored as L d L^T within its envelope, in an order that the compiler
// of the model has chosen to keep the envelope narrow; few rows fill it, many loops in a row stay in a narrow band and
// cost in proportion.
//
// Rows that always repeat others are left out beforehand (ModelData::independent_rows). A row whose Jacobian vanishes
// beside its lever arms demands nothing that the joints of the tree do not demand already, and is left out too. Where
// the others come near to depending on each other, D, in which their angles stand squared, is not good enough. With L d
// L^T = M the factors of the trees, the rows of P L^-T d^-1/2 are then made orthogonal one after the other, the one
// with the largest part left first (Gram and Schmidt, twice, with pivoting), until what is left is round-off or less
// than the loops are open:
//
//     P L^-T d^-1/2 = R^T Q      z = -R^-T (P a + gamma)      a += L^-T d^-1/2 Q^T z      lambda += R^-1 z         (2)
//
// Rows that hold coordinates of cut joints, and taut ropes, are taken by (2) as well.
// Accelerations do not depend on which of several dependent rows are taken. With more rows than that can afford,
// dependent ones are dropped in the order of elimination.
//
// Degrees of freedom may have no inertia but that which loops bring (massless links): M of the open trees is singular,
// the equations of the closed system are not. With a little inertia E added to these degrees of freedom
// (ModelData::regularizing_inertia), and S x the accelerations that joint forces x call forth by (1) or (2) while the
// rows hold,
//
//     a = a_E + S E a_E + (S E)^2 a_E + ...                                                                        (3)
//
// in which E has gone: M a + b = tau + P^T lambda. Terms fall by the ratio of E to what the loops bring; two or three
// do.
//
// One step of iterative refinement, P a + gamma evaluated anew, takes out what a poor choice of rows has cost.
//
// In packs each lane takes (1) or (2) as it needs. Those in which a row that was left out is needed after all, and
// those with too many rows for (2), are named, and done one by one.
#pragma once

#include "constraints/loop_workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// Rows with their factors, after evaluate_loop_constraints (values, leverage, opening) and the factors of the trees, in
// which marked degrees of freedom stand still; for the right-hand sides of `solve_rows`.
template <class T> Factored factor_rows(const ModelData &m, LoopWorkspace<T> &work, const unsigned char *marks);

// The same with the factors of the trees at q.
template <class T>
Factored factor_loops(const ModelData &m, LoopWorkspace<T> &work, const T *q, const unsigned char *marks);

// a and lambda from rhs = -(P a + gamma), by (1) or (2), each lane by its own; both are added to
template <class T>
void solve_rows(const ModelData &m, LoopWorkspace<T> &work, const Factored &factored, T *a, T *lambda);

// What (3) adds to a and lambda, where inertia is added; NaN where nothing else resists.
template <class T> void correct_for_regularization(const ModelData &m, LoopWorkspace<T> &work, const Factored &factored,
                                                   const unsigned char *given, T *a, T *lambda);

// Accelerations a of the open system, after finish_forward, become those of the closed one; per row, lambda. Before it,
// evaluate_loop_constraints has left values, leverage and opening, and P' v and what laws demand stand in work.gamma.
// given: marks of degrees of freedom whose acceleration is prescribed: they do not respond to the multipliers (Sol
// 1983, (6.3.7)). Returns the lanes that have to be done by themselves; none for numbers.
template <class T>
unsigned solve_multipliers(const ModelData &m, LoopWorkspace<T> &work, const unsigned char *given, T *a, T *lambda);

// The factors that solve_multipliers has used last, for more right-hand sides at the same state.
Factored factored_last(const LoopWorkspace<double> &work);

// Each row's pivot as a part of its diagonal, every loop constraint taken by itself; zero for rows that repeat other
// rows of their loop constraint or what the trees demand anyway. Loop constraints are not taken together: far from
// where they close, long rows of loops are ill-conditioned, and a row that is needed could pass for a repetition.
void row_pivots(const ModelData &m, LoopWorkspace<double> &work, const double *q, double *pivots);

} // namespace dalembert::DALEMBERT_ISA
