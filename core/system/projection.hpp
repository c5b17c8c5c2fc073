// Back onto the loops: positions and velocities changed as little as the mass metric allows.
//
//     q (+)= -M^-1 P^T (P M^-1 P^T)^-1 (phi - target)          v -= M^-1 P^T (P M^-1 P^T)^-1 (P v - rate)          (1)
//
// with the factors, and the treatment of dependent rows, of constraints/loop_dynamics.hpp (Hairer, Lubich, Wanner,
// section IV.4; Eich 1993). Degrees of freedom whose position or velocity is prescribed stay as they are.
#pragma once

#include "system/workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// (1) for positions, with the targets that stand in the workspace; change: space for nv numbers; rounds: how many there
// were is added. Returns false if that does not settle.
bool project_positions(const ModelData &m, const Conditions &c, SystemWorkspace<double> &work, double *q,
                       double *change, std::int64_t &rounds);

// (1) for velocities, at a configuration that obeys the loops; `held`: degrees of freedom that stay as they are
void project_velocities(const ModelData &m, const Conditions &c, SystemWorkspace<double> &work, const double *q,
                        double *v, double *change, const unsigned char *held);

// Changes of velocities (nv) lose the part that the loops do not permit, as (1) takes it out.
void project_velocity_changes(const ModelData &m, const Conditions &c, SystemWorkspace<double> &work, const double *q,
                              double *velocities, double *change, const unsigned char *held);

// Both for packs, velocities held where they are prescribed; returns the lanes that have to be done by themselves.
unsigned project_simd(const ModelData &m, const Conditions &c, SystemWorkspace<Pack> &work, Pack *q, Pack *v,
                      Pack *change);

} // namespace dalembert::DALEMBERT_ISA
