"""Cylindrical joint: rotation about an axis and translation along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...rotation import axis_angle
from .joint import TURN_X, Joint, columns, frame_with_z, turn_about_z

__all__ = ["Cylindrical"]


@dataclass(frozen=True, eq=False)
class Cylindrical(Joint):
    """Rotation about an axis and independent translation along it.

    Parameters
    ----------
    axis : str or (3,)

    Coordinates: angle (rad), slide (m).
    """

    axis: Any = "z"
    kernel: ClassVar[str] = "Cylindrical"
    reversal: ClassVar[tuple[tuple[float, ...], ...]] = TURN_X
    coordinates: ClassVar[tuple[str, ...]] = ("angle", "slide")
    speeds: ClassVar[tuple[str, ...]] = ("angle", "slide")
    rows: ClassVar[tuple[str, ...]] = ("x", "y", "tilt_x", "tilt_y")
    friction_load: ClassVar[str] = "across"
    directions: ClassVar[tuple[str, ...]] = ("axis",)
    allows_axis_reversal: ClassVar[bool] = True
    independently_lockable: ClassVar[bool] = True

    def frame(self) -> Array:
        return frame_with_z(self.axis)

    def pose(self, q: Array) -> tuple[Array, Array]:
        return axis_angle(self.axis, q[0]), q[1] * np.asarray(self.axis)

    def motion(self, q: Array) -> Array:
        return columns((self.axis, None), (None, self.axis))

    def coordinates_of(self, C: Array, c: Array) -> Array:
        return np.array([turn_about_z(self.frame(), C), np.dot(self.axis, c)])
