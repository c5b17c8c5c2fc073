// States of self-stress at a configuration.
#include "system/self_stress.hpp"
#include "kernels/evaluate.hpp"
#include "system/load_feedback.hpp"
#include <cstring>

namespace dalembert::DALEMBERT_ISA {

std::size_t bytes_stress(const ModelData &m) {
  MotionWorkspace work;
  Arena arena{nullptr, DALEMBERT_ISA::lay_out(m, nullptr, work, true)};
  arena.take<double>(std::size_t(2 * m.nv + m.nx));
  return arena.used;
}

// all states at a configuration, into the workspace
static SelfStressWorkspace &states_at(const ModelData &m, std::byte *memory, const Conditions &c, double t,
                                      const double *q, MotionWorkspace &work, const unsigned char *held) {
  Arena arena{memory, DALEMBERT_ISA::lay_out(m, memory, work, true)};
  double *still = arena.take<double>(std::size_t(2 * m.nv + m.nx)), *a = still + m.nv, *x = a + m.nv;
  for (int k = 0; k < 2 * m.nv + m.nx; ++k)
    still[k] = 0.0;
  for (int k = 0; k < m.feedback_count; ++k)
    work.system.feedback[k] = 0.0;
  for (int f = 0; f < m.nv; ++f)
    work.system.efforts[f] = 0.0;
  // rows and their factors
  solve_accelerations(m, c, work.system, SystemState<double>{t, q, still, x}, a, work.system.unused);
  find_self_stress(m, c, work.system, work.loads.shares, held);
  return work.loads.shares;
}

int stress(const ModelData &m, std::byte *memory, const Conditions &c, double t, const double *q, double *multipliers,
           double *loads) {
  MotionWorkspace work;
  const SelfStressWorkspace &shares = states_at(m, memory, c, t, q, work, c.acceleration_prescribed);
  const int n = shares.states;
  const std::ptrdiff_t connections = connection_count(m);
  for (std::ptrdiff_t k = 0; k < n * m.nc; ++k)
    multipliers[k] = 0.0;
  for (std::ptrdiff_t k = 0; k < 6 * n * connections; ++k)
    loads[k] = 0.0;
  for (int i = 0; i < n; ++i) {
    for (int k = shares.row_start[i]; k < shares.row_start[i + 1]; ++k)
      multipliers[std::ptrdiff_t(i) * m.nc + shares.row[k]] = shares.weight[k];
    for (int k = shares.load_start[i]; k < shares.load_start[i + 1]; ++k)
      std::memcpy(loads + 6 * (i * connections + shares.connection[k]), shares.load + 6 * std::ptrdiff_t(k),
                  6 * sizeof(double));
  }
  return n;
}

void share(const ModelData &m, std::byte *memory, const Conditions &c, double t, const double *q, double *loads,
           double *lambda) {
  MotionWorkspace work;
  SelfStressWorkspace &shares = states_at(m, memory, c, t, q, work, nullptr);
  minimum_norm_loads(m, work.system.loops, shares, loads, lambda);
}

} // namespace dalembert::DALEMBERT_ISA
