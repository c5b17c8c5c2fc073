"""Mass points: the equations of motion from nothing but positions.

Every rigid body is six points on its principal axes, every flexible one its nodes. Positions of all points follow from
the definitions of the joints and of the modes; velocities, accelerations and partial velocities are differences of
positions. Kane's equations for points, sum of m J* (x'' - g), then give mass matrix and bias. Slow, good to about 1e-8.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation
from systems.random_trees import derivative

from dalembert.oracles.operators import joint_motion


class Nodal:
    """Points of a tree; `step(q, v)` moves along the configuration manifold. `bend`: nodal second-order displacements
    (n, 3, nm, nm) by body name."""

    def __init__(self, system, step, bend=None):
        self.system, self.forest, self.step = system, system.forest(), step
        self.bend = bend or {}
        self.masses = np.concatenate([self._points_of(name)[0] for name in self.forest.bodies[1:]])

    def _points_of(self, name, eta=None):
        """Return masses (k,) and positions (k, 3) in the body frame."""
        body = self.system.bodies[name]
        if body.flexible is not None:
            flexible = body.flexible
            assert not flexible.node_inertias.any() and not flexible.node_centres.any()
            eta = np.zeros(flexible.nm) if eta is None else eta
            u = flexible.shapes[:, 3:] @ eta
            if name in self.bend:
                u = u + np.einsum("nirs,r,s->ni", self.bend[name], eta, eta) / 2
            return flexible.node_masses, flexible.nodes + u
        values, axes = np.linalg.eigh(np.trace(body.inertia) / 2 * np.eye(3) - body.inertia)
        arms = (axes * np.sqrt(np.maximum(values, 0) * 3 / body.mass)).T
        return np.full(6, body.mass / 6), body.com + np.concatenate([arms, -arms])

    def _marker(self, marker, eta):
        """Return rotation and position of a marker in its body's frame."""
        if marker.shape is None or eta is None:
            return marker.rotation, marker.position
        motion = marker.shape @ eta
        R = Rotation.from_rotvec(motion[:3]).as_matrix()
        p = marker.foot + motion[3:]
        if marker.body.name in self.bend:
            flexible = marker.body.flexible
            node = int(np.argmin(np.linalg.norm(flexible.nodes - marker.foot, axis=1)))
            p = p + np.einsum("irs,r,s->i", self.bend[marker.body.name][node], eta, eta) / 2
        return R @ marker.rotation, p if marker.arm is None else p + R @ marker.arm

    def positions(self, q):
        """Return positions (k, 3) of all points in the world, and poses of the body frames."""
        frames, etas, at = [(np.eye(3), np.zeros(3))], [None], 0
        points = []
        for name, joint, parent in zip(self.forest.bodies[1:], self.forest.joints, self.forest.parent, strict=True):
            own = q[at : at + joint.element.nq]
            at += joint.element.nq
            flexible = self.system.bodies[name].flexible
            eta = None
            if flexible is not None:
                eta = q[at : at + flexible.nm]
                at += flexible.nm
            motion = joint_motion(joint, own, np.zeros(joint.element.nv))
            R_P, p_P = frames[parent]
            R_I, p_I = self._marker(joint.inboard, etas[parent])
            R, p = R_P @ R_I, p_P + R_P @ p_I
            R, p = R @ motion.rotation, p + R @ motion.displacement
            R_O, p_O = self._marker(joint.outboard, eta)
            R = R @ R_O.T
            p = p - R @ p_O
            frames.append((R, p))
            etas.append(eta)
            points.append(p + self._points_of(name, eta)[1] @ R.T)
        return np.concatenate(points), frames

    def jacobian(self, q, nv):
        """Return partial velocities (k, 3, nv)."""
        units = np.eye(nv)
        return np.stack([derivative(lambda h, u=u: self.positions(self.step(q, h * u))[0], 2e-3) for u in units], -1)

    def mass_matrix(self, q, nv):
        """Return M (nv, nv)."""
        J = self.jacobian(q, nv)
        return np.einsum("k,kia,kib->ab", self.masses, J, J)

    def bias(self, q, v):
        """Return the generalized forces at v' = 0, elastic ones included."""
        J = self.jacobian(q, len(v))
        h = 4e-3
        at = [self.positions(self.step(q, s * h * v))[0] for s in (-3, -2, -1, 0, 1, 2, 3)]
        weights = np.array([2, -27, 270, -490, 270, -27, 2]) / (180 * h * h)
        acceleration = np.tensordot(weights, np.array(at), 1)
        force = np.einsum("k,kia,ki->a", self.masses, J, acceleration - self.system.gravity)
        at_q = at_v = 0
        for name, joint in zip(self.forest.bodies[1:], self.forest.joints, strict=True):
            at_q, at_v = at_q + joint.element.nq, at_v + joint.element.nv
            flexible = self.system.bodies[name].flexible
            if flexible is not None:
                span_q, span_v = slice(at_q, at_q + flexible.nm), slice(at_v, at_v + flexible.nm)
                force[span_v] += flexible.modal_stiffness @ q[span_q] + flexible.modal_damping @ v[span_v]
                at_q, at_v = at_q + flexible.nm, at_v + flexible.nm
        return force
