"""Free joint: six degrees of freedom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...arrays import Array
from ...rotation import quaternion, quaternion_from_matrix, quaternion_rate, skew
from .joint import Joint

__all__ = ["Free"]


@dataclass(frozen=True, eq=False)
class Free(Joint):
    """Any relative motion: six degrees of freedom.

    Coordinates: the unit quaternion qw, qx, qy, qz of the second marker in the first, and its
    position x, y, z in axes of the first, m.
    Velocities: relative angular velocity wx, wy, wz (rad/s) and velocity vx, vy, vz (m/s) of the
    second marker, both in axes of the *second* marker.
    """

    kernel: ClassVar[str] = "Free"
    coordinates: ClassVar[tuple[str, ...]] = ("qw", "qx", "qy", "qz", "x", "y", "z")
    speeds: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz", "vx", "vy", "vz")

    def pose(self, q: Array) -> tuple[Array, Array]:
        return quaternion(*q[:4]), np.array(q[4:])

    def motion(self, q: Array) -> Array:
        C = quaternion(*q[:4])
        return np.block([[C, np.zeros((3, 3))], [np.zeros((3, 3)), C]])

    def bias(self, q: Array, v: Array) -> Array:
        C = quaternion(*q[:4])
        return np.concatenate([np.zeros(3), C @ np.cross(v[:3], v[3:])])

    def rates(self, q: Array, v: Array) -> Array:
        return np.concatenate([quaternion_rate(q[:4], v[:3]), quaternion(*q[:4]) @ v[3:]])

    def bracket(self, v: Array) -> Array:
        turn, slide = skew(v[:3]), skew(v[3:])
        return -np.block([[turn, np.zeros((3, 3))], [slide, turn]])

    def coordinates_of(self, C: Array, c: Array) -> Array:
        return np.concatenate([quaternion_from_matrix(C), c])
