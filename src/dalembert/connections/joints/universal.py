"""Universal joint: two rotations about perpendicular axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...errors import ModelError
from ...rotation import axis_angle
from .joint import Joint, columns

__all__ = ["Universal"]


@dataclass(frozen=True, eq=False)
class Universal(Joint):
    """Two rotations: about an axis of the first marker, then about an axis of the second (Cardan joint).

    Parameters
    ----------
    axis_1 : str or (3,)
        Axis fixed in the first marker.
    axis_2 : str or (3,)
        Axis fixed in the second marker, perpendicular to `axis_1` when the markers coincide.

    Coordinates: angle_1, angle_2 (rad). Slaats 1991, section 3.3, is the case ("x", "y").
    """

    axis_1: Any = "x"
    axis_2: Any = "y"
    kernel: ClassVar[str] = "Universal"
    reversal: ClassVar[tuple[tuple[float, ...], ...]] = ((0.0, -1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, -1.0))
    coordinates: ClassVar[tuple[str, ...]] = ("angle_1", "angle_2")
    speeds: ClassVar[tuple[str, ...]] = ("angle_1", "angle_2")
    rows: ClassVar[tuple[str, ...]] = ("x", "y", "z", "skew")
    directions: ClassVar[tuple[str, ...]] = ("axis_1", "axis_2")

    def __post_init__(self) -> None:
        super().__post_init__()
        if abs(float(np.dot(self.axis_1, self.axis_2))) > 1e-9:
            raise ModelError("Universal", "axis_2", self.axis_2, f"it must be perpendicular to axis_1 = {self.axis_1}")

    def frame(self) -> Array:
        return np.column_stack([self.axis_1, self.axis_2, np.cross(self.axis_1, self.axis_2)])

    def pose(self, q: Array) -> tuple[Array, Array]:
        return axis_angle(self.axis_1, q[0]) @ axis_angle(self.axis_2, q[1]), np.zeros(3)

    def motion(self, q: Array) -> Array:
        return columns((self.axis_1, None), (axis_angle(self.axis_1, q[0]) @ self.axis_2, None))

    def bias(self, q: Array, v: Array) -> Array:
        second = axis_angle(self.axis_1, q[0]) @ self.axis_2
        return np.concatenate([v[0] * v[1] * np.cross(self.axis_1, second), np.zeros(3)])

    def coordinates_of(self, C: Array, c: Array) -> Array:
        R = self.frame().T @ C @ self.frame()
        return np.array([np.arctan2(R[2, 1], R[1, 1]), np.arctan2(R[0, 2], R[0, 0])])
