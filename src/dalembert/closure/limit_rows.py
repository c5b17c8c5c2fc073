"""Joint limits as one-sided rows of the closure equations.

With l <= s <= u the limits of a joint coordinate s, in the tree or where a loop is cut, the row is one-sided,

    r = s - clip(s, l, u),     dr/ds = 1 outside the limits, 0 within them.                                        (1)
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..connections.joints import Joint
from ..model import Model
from .joint_limits import Bounds
from .named_velocities import NamedVelocities

__all__ = ["HeldLimits", "hold_limits"]

Array = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class HeldLimits:
    """Limits of joint coordinates, those of the tree first.

    Attributes
    ----------
    indices, columns : (n,) int
        Indices of the n tree coordinates in q, and of their velocities in v.
    cut_places, cut_columns : (m,) int
        Indices of the m coordinates of cut joints among all of these, and of their velocities.
    lower, upper : (n + m,) rad or m
    angles, free_turns : (n + m,) bool
        Masks of the angles, and of those with a period of one turn.
    """

    indices: Places
    columns: Places
    cut_places: Places
    cut_columns: Places
    lower: Array
    upper: Array
    angles: NDArray[np.bool_]
    free_turns: NDArray[np.bool_]

    name = "limits"

    @property
    def count(self) -> int:
        """The number of coordinates with limits."""
        return len(self.lower)

    @property
    def turns(self) -> Array:
        """As in `CutJointTarget`: one row each, nonzero for an angle."""
        return np.where(self.angles[:, None], 1.0, np.zeros((self.count, 3)))

    @property
    def wished(self) -> HeldLimits:
        """The same limits as preferences."""
        return self

    def scales(self, length: float) -> Array:
        """Return the scale of each row, 1 or 1/length."""
        return np.where(self.angles, 1.0, 1.0 / length)

    def residual(self, model: Model, q: Array) -> Array:
        """Return (1), (n + m,) rad or m, at q (nq,); or (B, n + m) at q (B, nq)."""
        values = q[..., self.indices]
        if len(self.cut_places):
            still = np.zeros((*q.shape[:-1], model.nv))
            values = np.concatenate([values, model.cut_motion(q, still, still)[0][..., self.cut_places]], -1)
            # the angle of a cut joint is known up to whole turns: take the one nearest to the limits
            away = np.where(self.free_turns, values - 0.5 * (self.lower + self.upper), 0.0)
            values = values - 2 * np.pi * np.round(np.nan_to_num(away, posinf=0.0, neginf=0.0) / (2 * np.pi))
        return values - np.clip(values, self.lower, self.upper)

    def jacobian(self, model: Model, q: Array) -> Array:
        """Return the rows on v, (n + m, nv); or (B, n + m, nv) at q (B, nq)."""
        if q.ndim > 1:
            return np.array([self.jacobian(model, one) for one in q]).reshape(len(q), -1, model.nv)
        cut = NamedVelocities(model, [], self.cut_columns.tolist()).cut_rows(q)
        rows = np.vstack([np.eye(model.nv)[self.columns], cut])
        return np.where(self.residual(model, q)[:, None] != 0.0, rows, 0.0)


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
    bounds, names, driven = Bounds.of(model, True, "limits"), model.compiled.names, model.driven_speeds(0)
    rows: list[tuple[bool, int, int, float, float, bool, bool]] = []
    joints = [(joint.name, joint.element) for joint in model.forest.joints]
    for name, element in (
        *joints,
        *((loop_constraint.name, loop_constraint.element) for loop_constraint in model.forest.loop_constraints),
    ):
        if not isinstance(element, Joint) or (element.lower is None and element.upper is None):
            continue
        cut = name in names.cut_v
        spans, columns = (names.cut_q, names.cut_v) if cut else (names.q, names.v)
        initial = model.system.initials.get(name)
        for k, angle in enumerate(unit == "rad" for unit in element.speed_units):
            index, column = spans[name].start + k, columns[name].start + k
            lower = float((bounds.cut_lower if cut else bounds.lower)[column])
            upper = float((bounds.cut_upper if cut else bounds.upper)[column])
            start = np.nan if initial is None or initial.target is None else float(initial.target[k])
            start = start if cut else float(q[index])
            if {name, element.coordinate_name(name, k)} & {*given} and (start < lower or start > upper):
                continue
            if cut or not driven[column]:
                rows.append((cut, index, column, lower, upper, angle, angle and cut and not element.counts_turns))
    if not rows:
        return None
    rows.sort(key=lambda row: row[0])
    cuts, all_places, all_columns, lowers, uppers, angles, free = (np.array(x) for x in zip(*rows, strict=True))
    tree = (all_places[~cuts], all_columns[~cuts])
    return HeldLimits(*tree, all_places[cuts], all_columns[cuts], lowers, uppers, angles, free)
