"""Screw joint: rotation with proportional translation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...arrays import Array
from ...checks import set_finite
from ...rotation import axis_angle
from .joint import TURN_X, Joint, columns, frame_with_z, turn_about_z

__all__ = ["Screw"]


@dataclass(frozen=True, eq=False)
class Screw(Joint):
    """Rotation about an axis with a proportional translation along it.

    Parameters
    ----------
    axis : str or (3,)
    pitch : float, m
        Advance along `axis` per revolution; negative for a left-handed thread, zero for a revolute.

    Coordinate: the angle, rad.
    """

    axis: Any = "z"
    pitch: float = 0.0
    kernel: ClassVar[str] = "Screw"
    reversal: ClassVar[tuple[tuple[float, ...], ...]] = TURN_X
    coordinates: ClassVar[tuple[str, ...]] = ("angle",)
    speeds: ClassVar[tuple[str, ...]] = ("angle",)
    rows: ClassVar[tuple[str, ...]] = ("x", "y", "tilt_x", "tilt_y", "advance")
    friction_load: ClassVar[str] = "across"
    directions: ClassVar[tuple[str, ...]] = ("axis",)
    allows_axis_reversal: ClassVar[bool] = True

    def __post_init__(self) -> None:
        set_finite(self, "pitch", item="Screw", expressions=True)
        super().__post_init__()

    @property
    def parameter(self) -> float:
        """Advance per radian, m."""
        return float(self.pitch) / (2 * math.pi)

    def frame(self) -> Array:
        return frame_with_z(self.axis)

    @property
    def counts_turns(self) -> bool:
        return self.pitch != 0

    def pose(self, q: Array) -> tuple[Array, Array]:
        return axis_angle(self.axis, q[0]), self.pitch * q[0] / (2 * math.pi) * np.asarray(self.axis)

    def motion(self, q: Array) -> Array:
        return columns((self.axis, self.pitch / (2 * math.pi) * np.asarray(self.axis)))

    def coordinates_of(self, C: Array, c: Array) -> Array:
        turn = turn_about_z(self.frame(), C)
        turns = np.round(np.dot(self.axis, c) / self.pitch - turn / (2 * math.pi)) if self.pitch else 0.0
        return np.array([turn + 2 * math.pi * turns])
