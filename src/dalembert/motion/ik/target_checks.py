"""Checked targets: positions, orientations, angles, directions of axes, single or in batches.

Their rows are evaluated in the core (`core/kinematics/ik_problem.hpp`). J^T r is the gradient of |r|^2 / 2 for any
size of r. For rotations and directions J is not the whole derivative of r, which is curved (`CheckedTarget.stiffness`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Array, BoolArray, IndexArray
from ...bodies.markers import Marker

__all__ = ["CheckedTarget", "rotation_hessian"]


@dataclass(frozen=True, eq=False)
class CheckedTarget:
    """Checked target of one marker of a model; arrays have a leading axis of 1 or B.

    Attributes
    ----------
    name : str
    marker : Marker
    reference : Marker or None
    kind : str
        ``"position"``, ``"rotation"``, ``"angles"`` or ``"direction"``.
    wanted : (..., 3) or (..., 3, 3)
    specified : (..., 3) bool
        Mask of rows that are not free.
    axis : (3,)
    letters : str
    weight : float
    """

    name: str
    marker: Marker
    reference: Marker | None
    kind: str
    wanted: Array
    specified: BoolArray
    axis: Array
    letters: str
    weight: float

    @cached_property
    def whole(self) -> bool:
        """True if no row is free."""
        return bool(self.specified.all())

    @property
    def unit(self) -> str:
        """``"m"`` or ``"rad"``."""
        return "m" if self.kind == "position" else "rad"

    def meant_of(self, which: IndexArray) -> BoolArray:
        """Return the mask of rows that are not free for some of a batch, (b, 3) or (1, 3)."""
        return self.specified if len(self.specified) == 1 else self.specified[which]

    def stiffness(self, r: Array) -> Array:
        """Return S (b, 3, 3): the second derivative of |r|^2 / 2 in addition to that of J is J^T S J."""
        if self.kind in ("rotation", "direction"):
            return rotation_hessian(r, 0.5 if self.kind == "rotation" else 1.0)
        return np.broadcast_to(np.eye(3), (len(r), 3, 3))


def rotation_hessian(r: Array, part: float) -> Array:
    """Return second derivatives (b, 3, 3) of phi^2 / 2, phi n = r (b, 3) a turn (part 1/2) or tilt (1).

    One along n, part phi / tan(part phi) across.
    """
    angle = np.sqrt((r * r).sum(1))
    half = part * angle
    with np.errstate(divide="ignore", invalid="ignore"):
        c = np.where(half < 1e-4, 1.0 - half * half / 3.0, half / np.tan(half))
        n = np.where(angle[:, None] < 1e-12, 0.0, r / angle[:, None])
    c = np.maximum(c, -10.0)[:, None, None]  # unbounded near 180°
    return c * np.eye(3) + (1.0 - c) * n[:, :, None] * n[:, None, :]
