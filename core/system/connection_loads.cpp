#include "system/connection_loads.hpp"
#include "system/load_shares.hpp"
#include "tree/outputs.hpp"

namespace dalembert::DALEMBERT_ISA {

// rows up to which states of self-stress are looked for: their products are a dense matrix
constexpr int most_states = 200;

std::size_t lay_out(const ModelData &m, std::byte *base, LoadWorkspace &work) {
  Arena arena{base};
  arena.skip(lay_out(m, base, work.shares));
  work.loads = arena.take<double>(6 * std::size_t(connection_count(m)));
  work.lambda = arena.take<double>(std::size_t(m.nc));
  return arena.used;
}

void connection_loads(const ModelData &m, const Conditions &c, SystemWorkspace<double> &system, LoadWorkspace &work,
                      const SystemState<double> &s, const double *a) {
  for (int i = 0; i < m.nc; ++i)
    work.lambda[i] = system.lambda[i];
  const auto evaluate = [&] {
    motion_residuals(m, c, system, evaluation_context(c, system, s, system.unused), s, a, work.lambda,
                     static_cast<double *>(nullptr));
    joint_loads(m, system.loops.ws, work.loads);
    loop_constraint_loads(m, c, system, work.lambda, work.loads + 6 * std::ptrdiff_t(m.users));
  };
  evaluate();
  const bool rigid = !m.modal_count; // share_loads has no modes
  if (m.nc > most_states && rigid && uses_fronts(m) && share_loads(m, system.loops, work.loads, work.lambda)) {
    work.shares.states = -1; // not found
    return evaluate();
  }
  if (find_self_stress(m, c, system, work.shares))
    minimum_norm_loads(m, system.loops, work.shares, work.loads, work.lambda);
}

} // namespace dalembert::DALEMBERT_ISA
