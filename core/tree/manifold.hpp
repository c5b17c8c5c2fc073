// The configuration manifold: steps along it, differences on it, and q' = N(q) v.
//
// Angles and displacements add. Attitudes are unit quaternions: a step turns by the rotation
// vector in axes of the second marker. A free joint steps its position by C u and its attitude by
// omega, independently; difference is the exact inverse.
#pragma once

#include "joints/quaternion.hpp"

namespace dalembert::DALEMBERT_ISA {

DALEMBERT_INLINE bool has_quaternion(const BodyData &b) { return b.nq != b.nv; }

template <class T> void integrate(const ModelData &m, const T *q, const T *v, T *out);
template <class T> void difference(const ModelData &m, const T *q0, const T *q1, T *out);
// q with attitudes of length one; those that have it to rounding stay as they are, so that a state that a run has
// reached is the start of the same run again, to the last bit
void normalize_attitudes(const ModelData &m, const double *q, double *out);
template <class T> void coordinate_rates(const ModelData &m, const T *q, const T *v, T *out);

// slopes of the coordinates of joint b in lane l, along its degree of freedom k, or none
void seed_dof(const BodyData &b, const double *q, int k, int l, Dual *duals, bool on);

// slopes of dual coordinates in lanes [0, count) along the directions [first, first + count) of the tangent space, or
// none
void seed_directions(const ModelData &m, const double *q, Dual *duals, int first, int count, bool on);
// derivatives of a number by coordinates (nq) as derivatives by directions of the tangent space (nv)
void pull_directions(const ModelData &m, const double *q, const double *by_coordinates, double *out);

} // namespace dalembert::DALEMBERT_ISA
