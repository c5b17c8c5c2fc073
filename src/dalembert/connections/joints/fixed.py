"""Fixed joint: no relative motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...arrays import Array
from .joint import Joint, frame_with_z

__all__ = ["Fixed"]


@dataclass(frozen=True, eq=False)
class Fixed(Joint):
    """No relative motion: the two markers coincide."""

    kernel: ClassVar[str] = "Fixed"
    rows: ClassVar[tuple[str, ...]] = ("x", "y", "z", "rx", "ry", "rz")

    def frame(self) -> Array:
        return np.eye(3) if self.plane is None else frame_with_z(self.plane)

    def pose(self, q: Array) -> tuple[Array, Array]:
        return np.eye(3), np.zeros(3)

    def motion(self, q: Array) -> Array:
        return np.zeros((6, 0))

    def coordinates_of(self, C: Array, c: Array) -> Array:
        return np.zeros(0)
