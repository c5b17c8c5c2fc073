// Parts of the derivatives of the equations of motion (system/derivatives/derivatives.hpp): by dual numbers, by
// differences, and by the recursions of trees.
#pragma once

#include "system/derivatives/derivatives.hpp"

namespace dalembert::DALEMBERT_ISA {

// degrees of freedom up to which M^-1 is multiplied with: it loses digits by the condition of M, which is large for
// long chains
constexpr int max_inverted = 16;

// how many directions there are of a kind
int directions_of(const ModelData &m, const DerivativesWorkspace &work, Direction direction);
// whether recursions vary positions and velocities: elements depend on no body, and nothing else acts on them
bool by_recursions(const ModelData &m);

// ---- dual numbers

// slopes of what is varied, in lanes [0, count); or none any more
void seed(const ModelData &m, DerivativesWorkspace &work, const SystemState<double> &s, Direction direction, int first,
          int count, bool on);
// the state as it is varied
SystemState<Dual> varied_state(const Conditions &c, DerivativesWorkspace &work, const SystemState<double> &s,
                               Direction direction);
EvaluationContext<Dual> dual_context(const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                                     const SystemState<Dual> &state, Direction direction);
// columns by z itself, and 1 - dT/dz with its factors
bool vary_by_feedback(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                      const SystemState<double> &s, const Factored &factored);
// columns of da, dlambda and ddx by (1) for what stands in work.column, work.seconds and work.dx
void solve_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                   const Factored &factored, int count);
// whether what is evaluated outside is varied by differences, beside the state
bool host_varies(const Conditions &c, Direction direction);
// all columns of a kind by (1) and (2)
void exact_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                   const SystemState<double> &s, const Factored &factored, Direction direction,
                   const DerivativeBlock &block);
// those by states, of which contacts that are idle have none
void state_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                   const SystemState<double> &s, const Factored &factored, const DerivativeBlock &block);
// whether positions and velocities have lanes enough to be varied together
bool can_vary_together(const ModelData &m, const Conditions &c, const DerivativeBlocks &out);
// columns by all positions, then by all velocities, at once
void motion_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                    const SystemState<double> &s, const Factored &factored, const DerivativeBlocks &out);

// ---- differences

// Whether dual numbers do not know all of it: laws that are evaluated outside have no third rate, and may look at the
// state; stabilisation adds to the rows.
bool needs_differences(const ModelData &m, const Conditions &c, Direction direction);
// All derivatives of a kind by differences of the equations of motion: central ones; at the end of a table, beyond
// which there are no values, f' = (-3 f(0) + 4 f(h) - f(2h)) / 2h on the side that has some.
bool difference_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                        const SystemState<double> &s, Direction direction, const DerivativeBlock &out);

// ---- recursions of trees

// dR by positions and velocities, as far as elements are apart, and M^-1
void walk_tree(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
               const SystemState<double> &s, const double *a);
void tree_columns(const ModelData &m, const Conditions &c, MotionWorkspace &motion, DerivativesWorkspace &work,
                  const SystemState<double> &s, Direction direction, const DerivativeBlock &block);

} // namespace dalembert::DALEMBERT_ISA
