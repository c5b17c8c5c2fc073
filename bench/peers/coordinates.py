"""States, efforts and mass matrices from dalembert's coordinates to another engine's and back.

With v the speeds of dalembert and w those of the other engine,

    w  = T(q) v                                        (1)
    w' = T v' + T' v                                   (2)
    tau_v = T^T tau_w,   M_v = T^T M_w T               (3)

T is a permutation, except in the blocks of spherical and free joints. Take such a joint with pose
X = (C, c) of the second marker in the first and speeds V = [w; u] in axes of the second. Walked
backwards, its speeds are -Ad_X V, and the rate of Ad_X does not contribute, because
(Ad_X)' V = Ad_X ad_V V = 0. What is left of T' v is then due only to engines that resolve the
linear velocity in axes that do not move: C (w x u).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .links import Array, Joint

__all__ = ["Convention", "Coordinates"]


@dataclass(frozen=True)
class Convention:
    """Convention of an engine for a free joint; spherical joints follow where they apply.

    Attributes
    ----------
    scalar_last : bool
        Quaternion (x, y, z, w) instead of (w, x, y, z).
    position_first : bool
        Position before quaternion.
    linear_first : bool
        Linear before angular velocity.
    angular_in_parent, linear_in_parent : bool
        Velocity in axes of the parent instead of the child.
    """

    scalar_last: bool = False
    position_first: bool = False
    linear_first: bool = False
    angular_in_parent: bool = False
    linear_in_parent: bool = False


class Coordinates:
    """The map between dalembert's coordinates and those of one engine's model.

    Parameters
    ----------
    joints : sequence of Joint
    starts : sequence of (int, int)
        Where each joint's coordinates and speeds begin in the engine's vectors.
    convention : Convention
    """

    def __init__(self, joints: Sequence[Joint], starts: Sequence[tuple[int, int]], convention: Convention) -> None:
        self.convention = convention
        pairs = list(zip(joints, starts, strict=True))
        scalar = [(joint, start) for joint, start in pairs if joint.kind not in ("spherical", "free")]
        self._turning = [(joint, start) for joint, start in pairs if joint.kind in ("spherical", "free")]
        self._q = np.array([(start[0], joint.q.start) for joint, start in scalar], dtype=int).reshape(-1, 2).T
        self._v = np.array([(start[1], joint.v.start) for joint, start in scalar], dtype=int).reshape(-1, 2).T
        self.nq = sum(joint.q.stop - joint.q.start for joint in joints)
        self.nv = sum(joint.v.stop - joint.v.start for joint in joints)

    def configuration(self, q: Array) -> Array:
        """Return the engine's coordinates (..., nq)."""
        out = np.empty_like(q)
        out[..., self._q[0]] = q[..., self._q[1]]
        for joint, (start, _) in self._turning:
            _, c, quaternion = _pose(joint, q[..., joint.q])
            if self.convention.scalar_last:
                quaternion = np.roll(quaternion, -1, axis=-1)
            parts = [quaternion] if joint.kind == "spherical" else [quaternion, c]
            if self.convention.position_first:
                parts.reverse()
            out[..., start : start + joint.q.stop - joint.q.start] = np.concatenate(parts, axis=-1)
        return out

    def configuration_back(self, q: Array) -> Array:
        """Return dalembert's coordinates (..., nq) from the engine's, for joints of scalar joints only."""
        if self._turning:
            raise ValueError("spherical and free joints are not converted back")
        out = np.empty_like(q)
        out[..., self._q[1]] = q[..., self._q[0]]
        return out

    def speeds(self, q: Array, v: Array) -> Array:
        """Return the engine's speeds (..., nv), equation (1)."""
        out = np.empty_like(v)
        out[..., self._v[0]] = v[..., self._v[1]]
        for joint, (_, start) in self._turning:
            block = self._block(joint, q[..., joint.q])
            out[..., start : start + block.shape[-1]] = _times(block, v[..., joint.v])
        return out

    def accelerations(self, q: Array, v: Array, a: Array) -> Array:
        """Return the rates (..., nv) of the engine's speeds, equation (2)."""
        return self.speeds(q, a) + self._drift(q, v)

    def speeds_back(self, q: Array, w: Array) -> Array:
        """Return dalembert's speeds (..., nv) from the engine's."""
        out = np.empty_like(w)
        out[..., self._v[1]] = w[..., self._v[0]]
        for joint, (_, start) in self._turning:
            block = self._block(joint, q[..., joint.q])
            theirs = w[..., start : start + block.shape[-1], None]
            out[..., joint.v] = np.linalg.solve(block, theirs)[..., 0]
        return out

    def accelerations_back(self, q: Array, v: Array, a: Array) -> Array:
        """Return the rates (..., nv) of dalembert's speeds v from the rates of the engine's."""
        return self.speeds_back(q, a - self._drift(q, v))

    def efforts(self, q: Array, tau: Array) -> Array:
        """Return the engine's generalised forces (..., nv), equation (3)."""
        out = np.empty_like(tau)
        out[..., self._v[0]] = tau[..., self._v[1]]
        for joint, (_, start) in self._turning:
            block = self._block(joint, q[..., joint.q])
            solved = np.linalg.solve(np.swapaxes(block, -1, -2), tau[..., joint.v, None])
            out[..., start : start + block.shape[-1]] = solved[..., 0]
        return out

    def efforts_back(self, q: Array, tau: Array) -> Array:
        """Return dalembert's generalised forces (..., nv) from the engine's."""
        out = np.empty_like(tau)
        out[..., self._v[1]] = tau[..., self._v[0]]
        for joint, (_, start) in self._turning:
            block = self._block(joint, q[..., joint.q])
            out[..., joint.v] = _times(np.swapaxes(block, -1, -2), tau[..., start : start + block.shape[-1]])
        return out

    def columns_back(self, q: Array, A: Array) -> Array:
        """Return A T (m, nv): a matrix that acts on the engine's speeds, made to act on dalembert's."""
        out = np.empty_like(A)
        out[:, self._v[1]] = A[:, self._v[0]]
        for joint, (_, start) in self._turning:
            block = self._block(joint, q[joint.q])
            out[:, joint.v] = A[:, start : start + block.shape[-1]] @ block
        return out

    def mass_matrix_back(self, q: Array, M: Array) -> Array:
        """Return dalembert's mass matrix (nv, nv) from the engine's, equation (3)."""
        return self.columns_back(q, self.columns_back(q, M).T).T

    def sensitivity_back(self, q: Array, A: Array) -> Array:
        """Return T^-1 A T (nv, nv): the derivative of accelerations along the tangent of q or v.

        Only where T is constant: speeds in body axes, no joint walked backwards.
        """
        in_parent = self.convention.angular_in_parent or self.convention.linear_in_parent
        if in_parent or any(joint.backward for joint, _ in self._turning):
            raise ValueError("derivatives are compared only where the map between the speeds is constant")
        right = self.columns_back(q, A)
        return np.stack([self.speeds_back(q, column) for column in right.T], axis=1)

    def _block(self, joint: Joint, q: Array) -> Array:
        """Return the block of T (..., n, n) that belongs to a spherical or free joint."""
        C, c, _ = _pose(joint, q)
        one = np.broadcast_to(np.eye(3), C.shape)
        zero = np.zeros_like(C)
        angular = C if self.convention.angular_in_parent else one
        linear = C if self.convention.linear_in_parent else one
        if joint.kind == "spherical":
            return angular @ -np.swapaxes(C, -1, -2) if joint.backward else np.array(angular)
        rows = [_beside(angular, zero), _beside(zero, linear)]
        if self.convention.linear_first:
            rows.reverse()
        block = np.concatenate(rows, axis=-2)
        return block @ _backward(C, c) if joint.backward else block

    def _drift(self, q: Array, v: Array) -> Array:
        """Return T' v (..., nv) in the engine's order."""
        out = np.zeros_like(v)
        if not self.convention.linear_in_parent:
            return out
        for joint, (_, start) in self._turning:
            if joint.kind != "free":
                continue
            C, c, _ = _pose(joint, q[..., joint.q])
            V = _times(_backward(C, c), v[..., joint.v]) if joint.backward else v[..., joint.v]
            at = start if self.convention.linear_first else start + 3
            out[..., at : at + 3] = _times(C, np.cross(V[..., :3], V[..., 3:]))
        return out


def _pose(joint: Joint, q: Array) -> tuple[Array, Array, Array]:
    """Return rotation, position and quaternion (w, x, y, z) of the outboard in the inboard marker."""
    quaternion = q[..., :4] / np.linalg.norm(q[..., :4], axis=-1, keepdims=True)
    c = q[..., 4:] if joint.kind == "free" else np.zeros((*q.shape[:-1], 3))
    if not joint.backward:
        return _matrix(quaternion), c, quaternion
    quaternion = quaternion * np.array([1.0, -1.0, -1.0, -1.0])
    C = _matrix(quaternion)
    return C, -_times(C, c), quaternion


def _backward(C: Array, c: Array) -> Array:
    """Return -Ad_X (..., 6, 6) for [w; u], where (C, c) is the inverse of the pose X."""
    back = np.swapaxes(C, -1, -2)
    position = -_times(back, c)
    cross = np.cross(position[..., None, :], np.eye(3))  # rows x = p x e_i, so this is the transpose of p x
    lower = np.swapaxes(cross, -1, -2) @ back
    return -np.concatenate([_beside(back, np.zeros_like(back)), _beside(lower, back)], axis=-2)


def _matrix(quaternion: Array) -> Array:
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _beside(left: Array, right: Array) -> Array:
    return np.concatenate([left, right], axis=-1)


def _times(matrix: Array, vector: Array) -> Array:
    product: Array = (matrix @ vector[..., None])[..., 0]
    return product
