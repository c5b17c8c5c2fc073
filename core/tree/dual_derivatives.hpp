// Derivatives of inverse dynamics by dual numbers: the same source as the kernel itself, run with
// a scalar that carries W directional derivatives. Direction k of the tangent space seeds q with
// N(q) e_k, or v with e_k. Slower than the recursions of tree/derivatives.hpp, and their oracle.
#pragma once

#include "tree/inverse_dynamics.hpp"

namespace dalembert::DALEMBERT_ISA {

struct DualWorkspace {
  Workspace<Dual> ws;
  Dual *q, *v, *a, *tau, *loads;
};

std::size_t lay_out(const ModelData &m, std::byte *base, DualWorkspace &work);

// dtau/dq and dtau/dv, each nv x nv
void d_inverse_dynamics_by_duals(const ModelData &m, DualWorkspace &work, const double *q, const double *v,
                                 const double *a, const double *loads, double *by_q, double *by_v);

} // namespace dalembert::DALEMBERT_ISA
