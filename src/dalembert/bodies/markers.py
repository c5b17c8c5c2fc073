"""Markers: named or anonymous frames on a body, to which connections attach."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..checks import finite_array
from ..parameters import Expression, split
from .nodal_matrices import carried

if TYPE_CHECKING:
    from .body import Body

__all__ = ["Marker"]


@dataclass(frozen=True, eq=False)
class Marker:
    """Frame fixed in a body, or in the material of a flexible one.

    Attributes
    ----------
    body : Body
        The body that carries the marker.
    position : (3,) m
        Origin of the marker from the body's origin, in body axes.
    rotation : (3, 3)
        R_BM: the marker's axes as columns, in body axes.
    label : str or None
        Name on the body; the full name is ``"body.label"``.
    shape : (6, nm) or None
        On a flexible body: rotation and translation [rotation; translation] of the material that carries the marker,
        relative to the body frame, per modal coordinate, in body axes. `position` and `rotation` are those of the
        undeformed body.
    arm : (3,) m or None
        On a flexible body: from that material (a node) to the marker, in body axes of the undeformed body. The arm is
        rigid: it turns with the node, however far.
    expressions : dict of str to Expression
        Of ``"x"``, ``"y"``, ``"z"``, where the position follows from parameters.
    """

    body: Body
    position: Array
    rotation: Array
    label: str | None = None
    shape: Array | None = None
    arm: Array | None = None
    expressions: dict[str, Expression] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Full name: the body's own for its origin, else ``"body.label"`` or ``"body.at(x, y, z)"``."""
        if self.label is not None:
            return f"{self.body.name}.{self.label}"
        if not self.position.any() and (self.rotation == np.eye(3)).all():
            return self.body.name
        x, y, z = (f"{c:.6g}" for c in self.position)
        return f"{self.body.name}.at({x}, {y}, {z})"

    @property
    def foot(self) -> Array:
        """Position (3,) m, in the undeformed body, of the material point that carries the marker."""
        return self.position if self.arm is None else self.position - self.arm

    @property
    def motion(self) -> Array | None:
        """First-order rotation and translation (6, nm) of the marker, at the end of its arm."""
        return self.shape if self.shape is None or self.arm is None else carried(self.shape, self.arm)

    def point(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Marker:
        """Return an anonymous marker at (x, y, z) m from this one, in its axes; of an origin as `Body.at`."""
        if self.label is None and not self.position.any() and (self.rotation == np.eye(3)).all():
            return self.body.at(x, y, z)
        given, by = split((x, y, z), "xyz") if self.shape is None else ((x, y, z), {})
        arm = self.rotation @ finite_array(given, (3,), item=f"marker {self.name!r}", field="point")
        reach = None if self.shape is None else arm if self.arm is None else self.arm + arm
        expressions: dict[str, Expression] = {}
        if by or self.expressions:
            own = [self.expressions.get(axis, p) for axis, p in zip("xyz", self.position.tolist(), strict=True)]
            steps = [by.get(axis, p) for axis, p in zip("xyz", given, strict=True)]
            whole = [
                p + sum(r * d for r, d in zip(row, steps, strict=True) if r)
                for p, row in zip(own, self.rotation.tolist(), strict=True)
            ]
            expressions = split(whole, "xyz")[1]
        return replace(self, position=self.position + arm, label=None, arm=reach, expressions=expressions)

    def on(self, body: Body) -> Marker:
        """Return a copy of the marker on another body."""
        return replace(self, body=body)

    def __repr__(self) -> str:
        return f"<Marker {self.name}>"
