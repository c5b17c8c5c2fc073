"""Revolute joint: rotation about an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...rotation import axis_angle
from .joint import TURN_X, Joint, columns, frame_with_z, turn_about_z

__all__ = ["Revolute"]


@dataclass(frozen=True, eq=False)
class Revolute(Joint):
    """One rotation about an axis through both markers.

    Parameters
    ----------
    axis : str or (3,)
        ``"x"``, ``"-y"``, or a direction in marker axes.

    Coordinate: the angle, rad, right-handed about `axis`.
    """

    axis: Any = "z"
    kernel: ClassVar[str] = "Revolute"
    reversal: ClassVar[tuple[tuple[float, ...], ...]] = TURN_X
    coordinates: ClassVar[tuple[str, ...]] = ("angle",)
    speeds: ClassVar[tuple[str, ...]] = ("angle",)
    rows: ClassVar[tuple[str, ...]] = ("x", "y", "z", "tilt_x", "tilt_y")
    friction_load: ClassVar[str] = "across"
    directions: ClassVar[tuple[str, ...]] = ("axis",)
    allows_axis_reversal: ClassVar[bool] = True

    def frame(self) -> Array:
        return frame_with_z(self.axis)

    def pose(self, q: Array) -> tuple[Array, Array]:
        return axis_angle(self.axis, q[0]), np.zeros(3)

    def motion(self, q: Array) -> Array:
        return columns((self.axis, None))

    def coordinates_of(self, C: Array, c: Array) -> Array:
        return np.array([turn_about_z(self.frame(), C)])
