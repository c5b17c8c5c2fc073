// Load-dependent friction: limits and modes that are consistent with each other.
//
// While rows stick, their loads follow from the motion. While they slide, friction and loads depend on each other,
//
//     f_k = c_k + mu_k N_k(f),     K_kj = mu_k dN_k / df_j                                                         (1)
//
// The solution is known to be unique if a norm of K is below one.
#pragma once

#include "friction/change.hpp"

namespace dalembert::DALEMBERT_ISA {

// Limits for the loads of one solution give the next solution, until the modes repeat.
void decide_with_loads(Change &c);

// constant friction in place of load-dependent friction, for the present limits and given parameters
void fix_friction(Change &c, const std::vector<double> &parameters);

} // namespace dalembert::DALEMBERT_ISA
