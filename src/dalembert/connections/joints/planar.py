"""Planar joint: two translations and one rotation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...rotation import axis_angle
from .joint import Joint, columns, frame_with_z, turn_about_z

__all__ = ["Planar"]


@dataclass(frozen=True, eq=False)
class Planar(Joint):
    """Two translations in a plane of the first marker and the rotation about its normal.

    Parameters
    ----------
    normal : str or (3,)
        Normal of the plane, in marker axes. Normal ``"z"`` gives in-plane axes x and y, ``"x"``
        gives y and z, ``"y"`` gives z and x; for others see the columns of ``frame()``.

    Coordinates: x, y (m, along the in-plane axes of the first marker), angle (rad).
    """

    normal: Any = "z"
    kernel: ClassVar[str] = "Planar"
    coordinates: ClassVar[tuple[str, ...]] = ("x", "y", "angle")
    speeds: ClassVar[tuple[str, ...]] = ("x", "y", "angle")
    rows: ClassVar[tuple[str, ...]] = ("z", "tilt_x", "tilt_y")
    friction_load: ClassVar[str] = "along"
    directions: ClassVar[tuple[str, ...]] = ("normal",)
    allows_axis_reversal: ClassVar[bool] = True
    independently_lockable: ClassVar[bool] = True

    def frame(self) -> Array:
        return frame_with_z(self.normal)

    def pose(self, q: Array) -> tuple[Array, Array]:
        return axis_angle(self.normal, q[2]), self.frame()[:, :2] @ q[:2]

    def motion(self, q: Array) -> Array:
        x, y, n = self.frame().T
        return columns((None, x), (None, y), (n, None))

    def coordinates_of(self, C: Array, c: Array) -> Array:
        F = self.frame()
        return np.array([*(F[:, :2].T @ c), turn_about_z(F, C)])
