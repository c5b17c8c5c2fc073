// The kernels of one instruction set, behind the border of kernels/kernels.hpp. Compiled several times; see
// scalar/isa.hpp.
#include "elements/implicit_laws.hpp"
#include "kernels/evaluate.hpp"
#include "kinematics/ik_descent.hpp"
#include "kinematics/joint_coordinates.hpp"

namespace dalembert::DALEMBERT_ISA {

static void law_equations(const ModelData &m, int element, const double *inputs, double *values, double *equations) {
  const ElementData &e = m.elements[element];
  const ProgramData &program = m.programs.programs[e.law];
  load_program(m, m.programs, program, inputs, values);
  run_parts(m, m.programs, program, ProgramPart::known, ProgramPart::slopes, values);
  for (int k = 0; k < e.unknowns * (e.unknowns + 1); ++k)
    equations[k] = result_of(m.programs, program, values, first_residual(e) + k);
}

extern const KernelSet kernels;
const KernelSet kernels{DALEMBERT_ISA_NAME,
                        W,
                        has_lanes,
                        bytes_one,
                        simd_batch_bytes,
                        evaluate_state,
                        evaluate_range,
                        lanes_range,
                        bytes_factor,
                        factor,
                        factor_solve,
                        factor_pivots,
                        sparse_mass_matrix,
                        bytes_stress,
                        stress,
                        share,
                        law_equations,
                        bytes_sweep,
                        sweep_model,
                        bytes_ik,
                        rows_of_reach,
                        descend,
                        prepare_sweeps,
                        sweep_cones,
                        assemble_cone_matrix,
                        solve_cone_problem};

} // namespace dalembert::DALEMBERT_ISA
