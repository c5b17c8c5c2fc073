// Interpolation within a step from both its ends, for methods without a continuous extension of their own: the
// polynomial of degree 5 that has xi, xi' and xi'' of both ends; element states by degree 3. Errors are O(h^6) in
// positions and O(h^5) in velocities.
#pragma once

#include "steppers/run_workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

Outcome prepare_hermite(const RunContext &i, double h);
void hermite_at(const RunContext &i, double h, double s, double *z);

} // namespace dalembert::DALEMBERT_ISA
