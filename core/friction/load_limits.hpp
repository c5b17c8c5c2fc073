// Load-dependent friction: limits and modes that are consistent with each other.
//
// While rows stick, their loads follow from the motion. While they slide, friction and loads depend on each other,
//
//     f_k = c_k + mu_k N_k(f),     K_kj = mu_k dN_k / df_j                                                         (1)
//
// The solution is unique if the gain, the spectral radius of K, is below one. Otherwise there may be several, or none:
// sliding parts then jam at once (Painleve 1895). Limits for the loads of one solution give the next solution, until the
// modes repeat. If they do not, all combinations of modes are tried, those with most stuck rows first.
#pragma once

#include "friction/change.hpp"

namespace dalembert::DALEMBERT_ISA {

// Stick or slip of the rows w.rows with limits that are consistent with the loads. Where sliding rows have no friction
// that is consistent with their load, w.jams names them and nothing is decided.
void decide_with_loads(Change &c);

// Finds the sliding rows (w.sliding) whose friction depends on its own load too strongly for a solution, w.jams.
void find_jammed_rows(Change &c);

// constant friction in place of load-dependent friction, for the present limits and given parameters
void fix_friction(Change &c, const std::vector<double> &parameters);

} // namespace dalembert::DALEMBERT_ISA
