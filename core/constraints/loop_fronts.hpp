// Dynamics of many coupled loops: multipliers leave within the articulated-body recursion, at the body where all ends
// of their rows have met, so that D = P M^-1 P^T is never formed.
//
// World axes, origin of each body at its joint; X translates motions of the parent to the body. A piece is what has
// been merged at a body (model/loop_plan.hpp). With the rows that are open in it,
//
//     F = G A - B lambda + g          B^T A + E lambda + rho = 0                                               (1)
//
// begins with G of the body and B = J^T of rows with an end there. Joint, A = X A_p + S a:
//
//     D = S^T G S + armature = L d L^T      Z = L^-1 (G S)^T      p = L^-1 S^T B      y = L^-1 (tau - S^T g)   (2)
//     G -= Z^T d^-1 Z    B -= Z^T d^-1 p    E += p^T d^-1 p    g += Z^T d^-1 y    rho += p^T d^-1 y            (3)
//     G_p += X^T G X     B_p += X^T B       g_p += X^T g,      E and rho by row                                (4)
//
// p of a coupling has its coefficients added. After each merge, rows c of which the piece has all ends leave one after
// the other, o being those that stay, with e = E_co and pivot E_cc:
//
//     E_oo -= e^T e / E_cc    B_o -= B_c e / E_cc    G += B_c B_c^T / E_cc    rho_o -= e rho_c / E_cc
//     g += B_c rho_c / E_cc                                                                                    (5)
//
// and outward in the opposite order
//
//     a = L^-T d^-1 (y - Z X A_p + p lambda)          lambda_c = -(rho_c + e lambda_o + B_c A) / E_cc          (6)
//
// Modes eta of a flexible body (flexible/body.hpp) are eliminated by (2), (3) like the degrees of freedom of a joint.
// They move the nodes that their body carries, A_n = X A + H eta, so that a node's piece hands over, when it is merged,
//
//     G H to the loads of the modes, H^T G H to their inertia, H^T B to their rows, H^T g to their forces          (9)
//
// With rows to ground only this is the method of Vereshchagin (1974; Popov and others 1978), with loops that of Brandl,
// Johanni and Otter (1988). Cost: n (6 + m)^2 / 2 for a joint with n degrees of freedom and m open rows, (6 + m)^2 / 2
// for a row that leaves.
//
// Whether a row repeats others is decided where it leaves, because all degrees of freedom that it moves have been
// eliminated by then. Its pivot is compared with what its lever arms could make of it,
//
//     size^2 = sum over joints passed, their degrees of freedom k:
//              (|S_w|^2 (|J_n|^2 + |J_f|^2 r^2) + |S_v|^2 |J_f|^2) / D_kk                                      (7)
//
// r being the distance of the joint from the point where the row acts, J_n and J_f its moment and force there.
//
// E is a Gram matrix, in which angles between rows stand squared. Where rows are doubtful its root is used instead,
//
//     E = R^T R      R: a row d^-1/2 p for every degree of freedom that was passed
//     leave: QR of the columns R_c with exchanges, relative to (7): E_cc = r^2, e = r Q^T R_o, the rest of Q^T R_o stays  (8)
//
// until what is left of the rows is round-off or less than the loops are open (multifrontal QR: Davis 2011; dropping:
// Heath 1982).
#pragma once

#include "constraints/loop_constraints.hpp"
#include "tree/forward_dynamics.hpp"

namespace dalembert::DALEMBERT_ISA {

template <class T> struct FrontWorkspace {
  const LoopPlan *plan;           // of the rows that were factored
  Load<T> *row_load;              // nc: moment and force of each row at its point, on B; world axes
  Vec3<T> *row_point;             // loop constraints: the point, from the origin of the world
  ArticulatedInertia<T> *own, *G; // nb + 1: of the body by itself, and of its piece
  Vec3<T> *arm;                   // nb + 1: from the parent's origin
  Motion<T> *S;                   // nv; zero where the motion is given
  Pivot<T> *pivot;                // nv: Z and 1 / d
  T *L;                           // 15 (nb + 1)
  T *p;                           // of joints
  T *E;                           // of pieces, lower triangles by rows
  Load<T> *B;                     // of pieces
  T *e;                           // of rows that have left
  Load<T> *left_B;                // the same, and 1 / E_cc
  std::int32_t *left_row;         // nc: which they are, in the order in which they left
  T *left_inverse, *left_rho;     // nc
  T *rho, *lambda, *size;         // nc, by row
  T *turn, *slide;                // nc: |J_n|^2, |J_f|^2
  // flexible bodies: columns of nodes, axes of the world; modes' loads on their body, of the body by itself and of its
  // piece; by modal pieces, inertia of their modes, its factor, their rows, and squares of what lever arms could make of
  // these; nv: forces handed over by nodes
  Motion<T> *node_columns;
  Load<T> *modal_own, *modal_load;
  T *modal_square, *modal_factor, *modal_rows, *modal_reach, *handed;
  T *y;                           // nv
  T *tau, *first;                 // nv: right-hand side; accelerations that were solved for before
  T *gathered;                    // width: numbers of open rows
  T *solved;                      // nv
  Load<T> *g;                     // nb + 1
  Motion<T> *A;                   // nb + 1
};

inline bool uses_fronts(const ModelData &m) { return m.loop_plan.step_count > 0; }

template <class T> void lay_out_fronts(const ModelData &m, Arena &arena, FrontWorkspace<T> &f);

// (1)-(5) for the rows of a plan, after evaluate_loop_constraints; values and leverage are those of LoopWorkspace.
// least: leverage of rows that demand nothing. Returns the lanes in which a row is doubtful.
template <class T> unsigned factor_fronts(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f,
                                          const LoopPlan &plan, const T *values, const T *leverage, const T &least,
                                          const unsigned char *given, T &min_pivot);

// The same by (8). Returns the number of independent rows; allocates.
int factor_by_roots(const ModelData &m, const Workspace<double> &ws, FrontWorkspace<double> &f, const LoopPlan &plan,
                    const double *values, const double *leverage, double least, const unsigned char *given,
                    double &min_pivot);

// Accelerations and multipliers of M a = tau + P^T lambda, P a = rhs, both added to; tau null: none.
template <class T>
void solve_fronts(const ModelData &m, FrontWorkspace<T> &f, const T *tau, const T *rhs, T *a, T *lambda);

// tau = P^T lambda - M a, of degrees of freedom that are not given
template <class T> void force_residual(const ModelData &m, const Workspace<T> &ws, FrontWorkspace<T> &f,
                                       const T *values, const T *a, const T *lambda, T *tau);

} // namespace dalembert::DALEMBERT_ISA
