"""Spherical joint: any rotation about a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...arrays import Array
from ...rotation import quaternion, quaternion_from_matrix, quaternion_rate, skew
from .joint import Joint

__all__ = ["Spherical"]


@dataclass(frozen=True, eq=False)
class Spherical(Joint):
    """Any rotation about the common origin of the two markers (ball and socket).

    Coordinates: the unit quaternion qw, qx, qy, qz of the second marker in the first.
    Velocities: the relative angular velocity wx, wy, wz in axes of the *second* marker, rad/s.
    """

    kernel: ClassVar[str] = "Spherical"
    coordinates: ClassVar[tuple[str, ...]] = ("qw", "qx", "qy", "qz")
    speeds: ClassVar[tuple[str, ...]] = ("wx", "wy", "wz")
    rows: ClassVar[tuple[str, ...]] = ("x", "y", "z")
    friction_load: ClassVar[str] = "all"

    def pose(self, q: Array) -> tuple[Array, Array]:
        return quaternion(*q), np.zeros(3)

    def motion(self, q: Array) -> Array:
        return np.vstack([quaternion(*q), np.zeros((3, 3))])

    def rates(self, q: Array, v: Array) -> Array:
        return quaternion_rate(q, v)

    def bracket(self, v: Array) -> Array:
        return -skew(v)

    def coordinates_of(self, C: Array, c: Array) -> Array:
        return quaternion_from_matrix(C)
