"""Joint limits as one-sided rows of the closure equations.

With l <= s <= u the limits of a joint coordinate s, in the tree or where a loop is cut, the row is one-sided,

    r = s - clip(s, l, u),     dr/ds = 1 outside the limits, 0 within them.                                        (1)

An angle of the tree counts its turns. That of a cut joint is known up to whole turns: the one nearest to the limits is
taken.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..model import Model
from ..model.cache import cached_per_model
from ..model.drive_targets import driven_speeds
from .equations import RelativeEquations
from .scaled_equations import CoordinateMeasure, measures_of

__all__ = ["HeldLimits", "hold_limits"]


@dataclass(frozen=True, eq=False)
class HeldLimits:
    """Rows (1) of joint coordinates."""

    measures: tuple[CoordinateMeasure, ...]

    name = "limits"

    @property
    def count(self) -> int:
        """The number of coordinates with limits."""
        return len(self.measures)

    @property
    def turns(self) -> Array:
        """As in `CutJointTarget`: one row each, nonzero for an angle."""
        return np.array([np.full(3, float(m.unit == "rad")) for m in self.measures])

    @property
    def wished(self) -> HeldLimits:
        """The same limits as preferences."""
        return self

    def scales(self, length: float) -> Array:
        """Return the scale of each row, 1 or 1/length."""
        return np.array([1.0 if m.unit == "rad" else 1.0 / length for m in self.measures])

    def residual(self, model: Model, q: Array) -> Array:
        """Return (1), (..., count) rad or m, at q (..., nq)."""
        return np.stack([m.violation(q, wrapped=m.column < 0) for m in self.measures], -1)

    def jacobian(self, model: Model, q: Array) -> Array:
        """Return the rows on v, (..., count, nv)."""
        beyond = self.residual(model, q)[..., None] != 0.0
        return np.where(beyond, np.stack([m.row(q) for m in self.measures], -2), 0.0)


@cached_per_model
def _limited(model: Model) -> list[CoordinateMeasure]:
    """Return the joint coordinates with limits that drives do not prescribe."""
    driven = driven_speeds(model, 0)
    return [
        m
        for m in measures_of(RelativeEquations(model)).values()
        if np.isfinite([m.lower, m.upper]).any() and (m.column < 0 or not driven[m.column])
    ]


def hold_limits(model: Model, q: Array, given: Collection[str]) -> HeldLimits | None:
    """Return the rows for joint limits; None if no joint has any.

    Driven coordinates are left out, and those among `given` with a value outside their limits.

    Parameters
    ----------
    model : Model
    q : (nq,) rad or m
        With given values inserted.
    given : names
        Joints or joint coordinates with given values.
    """
    kept = []
    for m in _limited(model):
        joint = m.name.split(".")[0]
        if {joint, m.name} & {*given} and not m.lower <= _start(model, m, joint, q) <= m.upper:
            continue
        kept.append(m)
    return HeldLimits(tuple(kept)) if kept else None


def _start(model: Model, measure: CoordinateMeasure, joint: str, q: Array) -> float:
    """Return the value of a tree coordinate at q, or the start value of one of a cut joint; its limit without one."""
    if measure.column >= 0:
        return float(q[measure.place])
    initial = model.system.initials.get(joint)
    if initial is None or initial.target is None:
        return float(np.clip(0.0, measure.lower, measure.upper))
    return float(initial.target[measure.place - model.cut_joint_slice(joint).start])
