// The Newton systems of implicit steps, solved in O(number of bodies) without their matrix.
//
// An implicit step ties variations of velocities and accelerations to those dq of the degrees of freedom (along their
// motion),
//
//     dv = g1 dq + v0          da = g2 dq + a0                                                                      (1)
//
// and solves for the dq with which the equations of motion, R(q, v, a, x) - P^T lambda = 0, the rows of the loops and
// the rates of element states hold to first order. Motions of body i are varied by its displacement xi and by the first
// and second rates nu, alpha of xi, both seen from the ground. These pass through bodies without mixing, X a
// translation (axes of the world, origins of the bodies):
//
//     y = [alpha; nu; xi]     y_i = X3 y_p + s_i dq_i     s = s_q + g1 s_v + g2 s_a                                 (2)
//     s_q = [alpha_q; nu_q; H]     s_v = [alpha_v; H; 0]     s_a = [H; 0; 0]                                        (3)
//
// V = nu of velocities in axes of the body, and accelerations of its origin, vary by [alpha_w - w x nu_w; alpha_v - 2 u
// x nu_w]. Loads F that joints pass on, in axes of the bodies, and joint forces:
//
//     dF_i = G_i y_i + sum of X_c^T (dF_c + (H_c dq_c) x* F_c)     dtau_i = H^T dF_i + (H_q dq)^T F_i               (4)
//
// A front at each body (model/elimination_plan.hpp) holds dF by y of the body and by the unknowns x that are still open
// in its subtree, and the rows of these unknowns:
//
//     dF = G y + B x - h          P y + E x = rho                                                                   (5)
//
// Children hand theirs on; the joint adds its column G s, its row H^T [G B]; unknowns that are complete leave (LU with
// exchanges among them). What acts between distant bodies has open unknowns of its own: the variation dW of the load
// that a port of an element or a loop constraint passes on, about a point at rest, so that each end needs to know no
// more than dW and its own motion; multipliers; states and signals of elements. Laws of elements and rows of loop
// constraints are varied at the bodies that they touch, on dual numbers, not through the trees.
//
// Rows of loop constraints are those of positions, or of second rates. A part 1e-12 of their pivots is added to them,
// which makes rows that repeat others harmless. Given degrees of freedom have the row g2 dq = -a0.
//
// Cost: a front of m unknowns about (6 + m) (18 + m) multiplications for each that leaves, and 12 dual evaluations of
// an element by each body that it touches.
#pragma once

#include "system/derivatives/derivatives.hpp"
#include <complex>

namespace dalembert::DALEMBERT_ISA {

// what the linearised equations are made of at a state; the same for all steps
struct NewtonWorkspace {
  double *own;          // (nb + 1) x 6 x 18: G of the bodies themselves
  double *columns;      // 24 for each column: H, nu_q, alpha_q, alpha_v
  double *bent;         // max_moves for each column: (H_q)^T F, a row for each degree of freedom of the joint
  double *passed;       // (nb + 1) x 6: F
  double *apart;        // (nb + 1) x 3: from the origin of the parent
  double *taps, *links; // their numbers (model/elimination_plan.hpp)
  unsigned char *fixed; // unknowns whose rows are replaced
  int max_moves;
};

template <class T> struct NewtonFactors {
  T *matrix; // of all fronts, one after the other
  std::int32_t *exchange;
  T *y, *y0, *h; // (nb + 1) x 18, 18, 6
  T *x;          // unknowns
  T *s;          // 18 x max_moves: (2) of the front at work
  double *size;  // of its rows
};

std::size_t lay_out(const ModelData &m, std::byte *base, NewtonWorkspace &work);
template <class T> std::size_t lay_out(const ModelData &m, std::byte *base, NewtonFactors<T> &factors);

// Whether these systems can be solved this way. What is evaluated outside and looks at the state, loads that elements
// take, and rows with Baumgarte's terms need a dense matrix.
bool has_frontal_solver(const ModelData &m, const Conditions &c);

// Whether they can, and cheaper so than by a dense matrix in an implicit step; kept: factors serve many steps.
bool use_frontal_solver(const ModelData &m, const Conditions &c, bool kept);

// which rows loop constraints have
enum class LoopConstraintRate { position, second };

// Fills the workspace at a state with its accelerations and multipliers, after `evaluate_callbacks` and, for loop
// constraints, after evaluate_loop_constraints has left leverage and opening in the workspace of the loops. states:
// they follow their rates; else they stand still.
void linearize(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &derivatives,
               NewtonWorkspace &work, const SystemState<double> &s, const double *a, const double *lambda,
               LoopConstraintRate loop_constraints, bool states);

// (1): g1 = rate - B, g2 = second - rate B with B of the charts of attitudes at these velocities; null: none
template <class T> struct StepRates {
  T rate, second;
  const double *turning = nullptr;
};

// calls f(row, column, entry) for the entries of B of one body: -1/2 omega~ of attitudes, -u~ of places beside them
template <class F> inline void for_chart_slopes(const BodyData &b, const double *v, F &&f) {
  for (int half = 0; half < b.nv / 3; ++half) {
    const double *w = v + b.v + 3 * half, factor = half ? 1.0 : 0.5;
    const int row = b.v + 3 * half;
    for (int k = 0; k < 3; ++k) { // (xi x w)_k = xi_l w_n - xi_n w_l
      const int l = (k + 1) % 3, n = (k + 2) % 3;
      f(row + k, b.v + l, factor * w[n]);
      f(row + k, b.v + n, -factor * w[l]);
    }
  }
}

// False if a front is singular.
template <class T> bool factor_fronts(const ModelData &m, const NewtonWorkspace &work, const StepRates<T> &rates,
                                      NewtonFactors<T> &factors);

// Right-hand sides in factors.x, by unknowns (degrees of freedom first, in their order), become the solution. v0, a0:
// of (1), or null.
template <class T> void solve_fronts(const ModelData &m, const NewtonWorkspace &work, const StepRates<T> &rates,
                                     NewtonFactors<T> &factors, const T *v0, const T *a0);

// (mu - J) [dxi; dv; dx] = [r1; r2; r3], J of the rates of [xi; v; x], with rates.rate = mu and rates.second = mu^2: v0
// = -r1, a0 = -mu r1 - r2. given: space for 2 nv numbers. Results may stand where the right-hand sides do.
template <class T> void solve_radau(const ModelData &m, const NewtonWorkspace &work, const StepRates<T> &rates,
                                    NewtonFactors<T> &factors, T *given, const T *r1, const T *r2, const T *r3, T *dxi,
                                    T *dv, T *dx);

} // namespace dalembert::DALEMBERT_ISA
