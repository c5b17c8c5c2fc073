// Loads of all connections on their second markers: joints of the trees, then loop constraints; [moment; force], world
// axes.
#pragma once

#include "system/dynamics.hpp"
#include "system/self_stress.hpp"

namespace dalembert::DALEMBERT_ISA {

struct LoadWorkspace {
  SelfStressWorkspace shares;
  double *loads;  // connections x 6
  double *lambda; // nc: of least norm
};

std::size_t lay_out(const ModelData &m, std::byte *base, LoadWorkspace &work);

// After solve_accelerations at the same state: loads and multipliers of least norm, into the workspace; those of joints
// include their efforts, of drives too, which work.system passed holds.
void connection_loads(const ModelData &m, const Conditions &c, SystemWorkspace<double> &system, LoadWorkspace &work,
                      const SystemState<double> &s, const double *a);

} // namespace dalembert::DALEMBERT_ISA
