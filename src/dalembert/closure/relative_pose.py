"""Relative motion of any two markers.

With d from marker 1 to marker 2 and everything in axes of marker 1 (Sol 1983, section 3.3),

    V_rel = [w2 - w1; v2 - v1 - w1 x d] = J v                                                                       (1)

A load F = [moment; force] on marker 2, about its origin, with its opposite on the other body at the same point, does
the work F . V_rel: its generalised force is J^T F. A joint allows V_rel = H u. Its velocities are u = H^+ V_rel, and a
load that does the work x . u is F = (H^+)^T x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..bodies.markers import Marker
from ..connections.joints import Joint
from ..model import Model

__all__ = ["RelativeMotion", "joint_pose_error", "joint_speeds", "relative"]


@dataclass(frozen=True, eq=False)
class RelativeMotion:
    """Motion of marker 2 relative to marker 1.

    Attributes
    ----------
    first, second : Marker
    axes : (3, 3)
        Axes of the first marker in the world, as columns.
    point : (3,) m
        Origin of the second marker in the world.
    rotation, position : (3, 3), (3,) m
        Pose of the second marker in the first.
    jacobian, terms : (6, nv)
        J of (1), zero where it is rounding, and the sum of the absolute values of its two terms.
    """

    first: Marker
    second: Marker
    axes: Array
    point: Array
    rotation: Array
    position: Array
    jacobian: Array
    terms: Array

    def in_world(self, load: Array) -> Array:
        """Return a load [moment; force] (6,), given in axes of the first marker, in world axes."""
        return np.concatenate([self.axes @ load[:3], self.axes @ load[3:]])


def relative(model: Model, first: Marker, second: Marker, q: Array) -> RelativeMotion:
    """Return the relative motion of two markers at q (nq,)."""
    one, two = model.pose(first, q), model.pose(second, q)
    J_1, J_2 = model.jacobian(first, q), model.jacobian(second, q)
    d, R = two.position - one.position, one.rotation
    far = np.vstack([R.T @ J_2[:3], R.T @ J_2[3:]])
    near = np.vstack([R.T @ J_1[:3], R.T @ (J_1[3:] + np.cross(J_1[:3], d, axis=0))])
    terms = np.abs(far) + np.abs(near)
    J = np.where(np.abs(far - near) > 1e-13 * terms.max(1, initial=0.0)[:, None], far - near, 0.0)
    return RelativeMotion(first, second, R, two.position, R.T @ two.rotation, R.T @ d, J, terms)


def joint_pose_error(joint: Joint, q: Array, motion: RelativeMotion) -> float:
    """Return the deviation of a relative pose from that of a joint at q (nq,), m or rad."""
    C, c = joint.pose(q)
    return float(max(np.abs(C - motion.rotation).max(), np.abs(c - motion.position).max()))


def joint_speeds(joint: Joint, q: Array) -> Array:
    """Return H^+ (nv, 6): velocities of a joint at q (nq,) from the relative velocity of its markers."""
    H = joint.motion(q)
    return np.asarray(np.linalg.pinv(H), dtype=np.float64) if H.size else np.zeros((0, 6))
