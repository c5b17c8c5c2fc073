// Outputs of a tree: motion of bodies, frames and points in the world, energy, momentum, joint loads.
//
// The frame map from F to the user's body frame B is applied here and in subtract_loads only.
#pragma once

#include "tree/workspace.hpp"

namespace dalembert::DALEMBERT_ISA {

// ---- all bodies of the user

// rotation (9), position (3) of each
template <class T> void poses(const ModelData &m, Workspace<T> &ws, const T *q, T *out);
// [omega; velocity] of each
template <class T> void velocities(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, T *out);
// [alpha; acceleration] of each
template <class T> void accelerations(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, const T *a, T *out);

// ---- frames and points of one body: only the bodies on its path are looked at

template <class T> void point_poses(const ModelData &m, Workspace<T> &ws, const PointsData &points, const T *q, T *out);
template <class T>
void point_velocities(const ModelData &m, Workspace<T> &ws, const PointsData &points, const T *q, const T *v, T *out);
template <class T> void point_accelerations(const ModelData &m, Workspace<T> &ws, const PointsData &points, const T *q,
                                            const T *v, const T *a, T *out);
// J of each, 6 x nv: [omega; velocity] = J v, world axes
template <class T>
void point_jacobians(const ModelData &m, Workspace<T> &ws, const PointsData &points, const T *q, T *out);

// ---- whole system

// kinetic and potential energy (J); the weights have none where the centre of mass is at the world's origin, flexible
// bodies none where they are not deformed
template <class T> void energy(const ModelData &m, Workspace<T> &ws, const T *q, const T *v, T *out);

template <class T> void center_of_mass(const ModelData &m, Workspace<T> &ws, const T *q, T *out);

// [angular momentum about the centre of mass; linear momentum] = A v, A is 6 x nv (centroidal momentum matrix)
template <class T> void centroidal_matrix(const ModelData &m, Workspace<T> &ws, const T *q, T *out);

// load of each joint on the user's second marker, at that marker's origin, world axes: [moment; force]; after
// finish_inverse and place_in_world
template <class T> void joint_loads(const ModelData &m, const Workspace<T> &ws, T *out);

} // namespace dalembert::DALEMBERT_ISA
