"""Prismatic joint: translation along an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from .joint import TURN_X, Joint, columns, frame_with_z

__all__ = ["Prismatic"]


@dataclass(frozen=True, eq=False)
class Prismatic(Joint):
    """One translation along an axis.

    Parameters
    ----------
    axis : str or (3,)
        Direction in marker axes.

    Coordinate: the displacement of the second marker along `axis`, m.
    """

    axis: Any = "z"
    kernel: ClassVar[str] = "Prismatic"
    reversal: ClassVar[tuple[tuple[float, ...], ...]] = TURN_X
    coordinates: ClassVar[tuple[str, ...]] = ("slide",)
    speeds: ClassVar[tuple[str, ...]] = ("slide",)
    rows: ClassVar[tuple[str, ...]] = ("x", "y", "rx", "ry", "rz")
    friction_load: ClassVar[str] = "across"
    directions: ClassVar[tuple[str, ...]] = ("axis",)

    def frame(self) -> Array:
        if self.plane is None:
            return frame_with_z(self.axis)
        return np.column_stack([np.cross(self.plane, self.axis), self.plane, self.axis])

    def pose(self, q: Array) -> tuple[Array, Array]:
        return np.eye(3), q[0] * np.asarray(self.axis)

    def motion(self, q: Array) -> Array:
        return columns((None, self.axis))

    def coordinates_of(self, C: Array, c: Array) -> Array:
        return np.array([np.dot(self.axis, c)])
