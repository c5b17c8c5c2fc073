"""Relative motion of any two markers, and of hinges that are not in the tree.

With d from marker 1 to marker 2 and everything in axes of marker 1 (Sol 1983, section 3.3),

    V_rel = [w2 - w1; v2 - v1 - w1 x d] = J v                                                                       (1)

A load F = [moment; force] on marker 2, about its origin, with its opposite on the other body at the same place, does
the work F . V_rel: its generalised force is J^T F. A hinge allows V_rel = H u; its speeds are u = H^+ V_rel, and a load
that does the work x . u is F = (H^+)^T x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..bodies.markers import Marker
from ..connections.custom import CustomHinge
from ..connections.hinges import Cylindrical, Fixed, Free, Hinge, Planar, Prismatic, Screw, Spherical, Universal
from ..model import Model
from ..rotation import quaternion_from_matrix

__all__ = ["Relative", "hinge_speeds", "hinge_state", "relative"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Relative:
    """Marker 2 seen from marker 1.

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
        J of (1), zero where it is rounding, and the sum of the sizes of its two parts.
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
        """Return a [moment; force] (6,) given in axes of the first marker in world axes."""
        return np.concatenate([self.axes @ load[:3], self.axes @ load[3:]])


def relative(model: Model, first: Marker, second: Marker, q: Array) -> Relative:
    """Return the relative motion of two markers at q (nq,)."""
    one, two = model.pose(first, q), model.pose(second, q)
    J_1, J_2 = model.jacobian(first, q), model.jacobian(second, q)
    d, R = two.position - one.position, one.rotation
    far = np.vstack([R.T @ J_2[:3], R.T @ J_2[3:]])
    near = np.vstack([R.T @ J_1[:3], R.T @ (J_1[3:] + np.cross(J_1[:3], d, axis=0))])
    terms = np.abs(far) + np.abs(near)
    J = np.where(np.abs(far - near) > 1e-13 * terms.max(1, initial=0.0)[:, None], far - near, 0.0)
    return Relative(first, second, R, two.position, R.T @ two.rotation, R.T @ d, J, terms)


def hinge_state(hinge: Hinge, motion: Relative) -> tuple[Array, float]:
    """Return the coordinates (nq,) nearest to a relative pose, and what they miss of it, m or rad.

    Angles are within +-pi; a screw's whole turns follow from its advance, and a custom hinge is searched for.
    """
    F = hinge.frame()
    R, r = F.T @ motion.rotation @ F, F.T @ motion.position
    turn = np.arctan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1])
    match hinge:
        case CustomHinge():
            q = [*hinge.coordinates_of(motion.rotation, motion.position)]
        case Fixed():
            q = []
        case Prismatic():
            q = [r[2]]
        case Screw():
            q = [turn + 2 * np.pi * (np.round(r[2] / hinge.pitch - turn / (2 * np.pi)) if hinge.pitch else 0.0)]
        case Cylindrical():
            q = [turn, r[2]]
        case Universal():
            q = [np.arctan2(R[2, 1], R[1, 1]), np.arctan2(R[0, 2], R[0, 0])]
        case Planar():
            q = [r[0], r[1], turn]
        case Spherical():
            q = [*quaternion_from_matrix(motion.rotation)]
        case Free():
            q = [*quaternion_from_matrix(motion.rotation), *motion.position]
        case _:
            q = [turn]
    coordinates = np.array(q, dtype=float)
    C, c = hinge.pose(coordinates)
    return coordinates, float(max(np.abs(C - motion.rotation).max(), np.abs(c - motion.position).max()))


def hinge_speeds(hinge: Hinge, motion: Relative) -> Array:
    """Return H^+ (nv, 6): speeds of the hinge from the relative velocity."""
    H = hinge.motion(hinge_state(hinge, motion)[0])
    return np.asarray(np.linalg.pinv(H), dtype=np.float64) if H.size else np.zeros((0, 6))
