"""Equations of an inverse kinematics problem, in batches: rows of loops, limits at cut joints, and targets.

    r(q) = [closures; limits at cut joints; targets],  dimensionless,     dq = D W^(-1/2) x                         (1)

Metres are measured in the characteristic length of the model, in rows and in velocities, and W has the weights of
coordinates. A limit of a cut joint is a row that is active where it is positive; limits of tree joints bound x. Held
velocities have no column.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._core import IkProblem
from ...arrays import Array, BoolArray, IndexArray
from ...closure.equations import RelativeEquations
from ...closure.equivalent_configurations import axis_reversal_mask
from ...closure.joint_limits import Bounds
from ...closure.loop_equations import LoopEquations
from ...closure.named_velocities import named_velocities
from ...closure.projection import CLOSED_TOL
from ...connections.joints import Joint
from ...model import Model
from .target_checks import CheckedTarget, rotation_hessian

__all__ = ["IkEquations"]


@dataclass(eq=False)
class IkEquations:
    """Rows of one inverse kinematics problem.

    They are no `ScaledRows`: each member of a batch has rows of its own target, limits of cut joints are inequalities,
    and steps are bounded, so that residual and Jacobian need the number of the target and the active rows as well.

    Attributes
    ----------
    model : Model
    goals : list of CheckedTarget
    bounds : Bounds
    columns : (n,) int
        Velocities that may change.
    metric : (n,) m or 1
        D W^(-1/2) of (1).
    tolerance : float
        Of targets: rad, and m per characteristic length.
    t : float, s
    """

    model: Model
    goals: list[CheckedTarget]
    bounds: Bounds
    columns: IndexArray
    metric: Array
    tolerance: float
    t: float = 0.0
    length: float = field(init=False)
    closing: IndexArray = field(init=False)
    closures: int = field(init=False)
    limited: int = field(init=False)
    tolerances: Array = field(init=False)
    sided: BoolArray = field(init=False)
    floating: list[tuple[IndexArray, IndexArray]] = field(init=False)

    def __post_init__(self) -> None:
        model = self.model
        scales = RelativeEquations(model, driven=False).row_scales[: model.nc]
        self.length = model.length
        self.closing = np.flatnonzero(scales)
        self._row_scales = scales[self.closing]
        self.closures = len(self.closing)
        self._over = np.flatnonzero(np.isfinite(self.bounds.cut_upper))
        self._under = np.flatnonzero(np.isfinite(self.bounds.cut_lower))
        units = [
            u for c in model.forest.loop_constraints if isinstance(c.element, Joint) for u in c.element.speed_units
        ]
        per = np.array([1.0 / self.length if unit == "m" else 1.0 for unit in units])
        self._cut_scales = per[[*self._over, *self._under]] if len(per) else np.zeros(0)
        self.limited = len(self._cut_scales)
        hard = self.closures + self.limited
        count = hard + 3 * len(self.goals)
        self.sided = np.zeros(count, dtype=bool)
        self.sided[self.closures : hard] = True
        self.tolerances = np.full(count, self.tolerance)
        self.tolerances[:hard] = max(CLOSED_TOL, LoopEquations.of(model, prescribed=False).floor)
        self.goal_scales = np.array([g.weight**0.5 / (self.length if g.unit == "m" else 1.0) for g in self.goals])
        self._per_unit = self.metric / model.compiled.tables["column_scale"][self.columns]
        balls = [joint for joint in model.forest.joints if "qw" in joint.element.coordinates]
        spans = [(model.v_slice(joint.name).start, joint.element.nv) for joint in balls]
        turns = [np.flatnonzero(np.isin(self.columns, np.arange(start, start + 3))) for start, _ in spans]
        self._attitudes = [turn for turn in turns if len(turn) == 3]
        self.floating = [
            (turn, np.flatnonzero(np.isin(self.columns, np.arange(start + 3, start + 6))))
            for turn, (start, nv) in zip(turns, spans, strict=True)
            if nv == 6
        ]
        self.place, self.lower, self.upper = _boxes(model, self.bounds, self.columns)

    @property
    def hard(self) -> int:
        """Number of rows that are satisfied even if targets are not reached."""
        return self.closures + self.limited

    # -- rows

    @cached_property
    def core(self) -> IkProblem:
        """The problem in the form of the core."""
        model = self.model
        over, under = self._over, self._under
        cut = np.concatenate([over, under]).astype(np.int32)
        bounds = np.concatenate([self.bounds.cut_upper[over], self.bounds.cut_lower[under]])
        signs = np.repeat([1.0, -1.0], [len(over), len(under)])
        return IkProblem(
            model,
            self.t,
            self.closing.astype(np.int32),
            self._row_scales,
            cut,
            np.column_stack([signs, bounds, self._cut_scales]),
            self.columns.astype(np.int32),
            self.place.astype(np.int32),
            np.stack([self.metric, self.lower, self.upper, self._per_unit]),
            [_in_core(model, goal, scale) for goal, scale in zip(self.goals, self.goal_scales, strict=True)],
            self.tolerances,
        )

    def residual(self, q: Array, which: IndexArray) -> Array:
        """Return r (b, m) at q (b, nq); `which` (b,) are indices of targets of the batch."""
        return self.core.rows(*self.aimed(q, which), False)[0]

    def jacobian(self, q: Array, which: IndexArray) -> Array:
        """Return the rows of r on x, J (b, m, n)."""
        J = self.core.rows(*self.aimed(q, which), True)[1]
        assert J is not None
        return J

    def aimed(self, q: Array, which: IndexArray) -> tuple[Array, NDArray[np.int64]]:
        """Return configurations and indices of targets in the form of the core."""
        return np.ascontiguousarray(q, dtype=np.float64), np.ascontiguousarray(which, dtype=np.int64)

    def stiffness(self, r: Array, J: Array) -> Array:
        """Return J (b, m, n) multiplied by the curvature of target rows at residuals r (b, m)."""
        bent = J.copy()
        for k, goal in enumerate(self.goals):
            span = slice(self.hard + 3 * k, self.hard + 3 * k + 3)
            bent[:, span] = goal.stiffness(r[:, span] / self.goal_scales[k]) @ J[:, span]
        return bent

    # -- configurations

    def retract(self, q: Array, x: Array) -> Array:
        """Return the configuration after steps x (b, n) from q (b, nq); bounds are met exactly."""
        step = np.zeros((len(q), self.model.nv))
        step[:, self.columns] = self.metric * x
        moved: Array = self.model.integrate(q, step)
        return self.within(moved)

    def shortened(self, x: Array) -> Array:
        """Return steps (b, n) limited to one radian, or the length of the model, per coordinate."""
        largest = np.abs(x * self._per_unit).max(1, initial=0.0)
        return np.asarray(x / np.maximum(largest, 1.0)[:, None])

    def within(self, q: Array) -> Array:
        """Return q (b, nq) with coordinates clipped to their limits."""
        at = self.place >= 0
        if at.any():
            q[:, self.place[at]] = np.clip(q[:, self.place[at]], self.lower[at], self.upper[at])
        return q

    def step_limits(self, q: Array) -> tuple[Array, Array]:
        """Return the least and largest steps x (b, n) within the limits."""
        at = np.where(self.place >= 0, q[:, self.place], 0.0)
        return (self.lower - at) / self.metric, (self.upper - at) / self.metric

    def away(self, q: Array, preferred: Array) -> Array:
        """Return the gradient (b, n) of half the squared weighted distance from a preferred posture (..., nq)."""
        back: Array = self.model.difference(q, np.broadcast_to(preferred, q.shape))
        return -back[:, self.columns] / self.metric

    def bend(self, away: Array) -> Array:
        """Return the second derivative (b, n, n) whose gradient is `away`: identity, except for orientations."""
        H = np.broadcast_to(np.eye(len(self.columns)), (len(away), len(self.columns), len(self.columns))).copy()
        for span in self._attitudes:
            H[:, span[:, None], span] = rotation_hessian(away[:, span] * self.metric[span], 0.5)
        return H

    # -- checks

    def violated(self, r: Array) -> Array:
        """Return r (b, m) with zero for satisfied limits."""
        return r if not self.limited else np.where(self.sided, np.maximum(r, 0.0), r)

    def reached(self, r: Array, q: Array) -> BoolArray:
        """Return the mask (b,) of configurations that satisfy targets and loops."""
        marks: BoolArray = np.asarray((np.abs(self.violated(r)) <= self.tolerances).all(axis=1))
        if self.closures and marks.any():
            marks[marks] = ~axis_reversal_mask(self.model, q[marks]).any(axis=1)
        return marks

    def missed(self, r: Array) -> tuple[Array, Array]:
        """Return the largest target error: (b,) m and (b,) rad."""
        found = {"m": np.zeros(len(r)), "rad": np.zeros(len(r))}
        for k, goal in enumerate(self.goals):
            rows = r[:, self.hard + 3 * k : self.hard + 3 * k + 3] / self.goal_scales[k]
            found[goal.unit] = np.maximum(found[goal.unit], np.sqrt((rows * rows).sum(1)))
        return found["m"], found["rad"]

    def cut_joints_at_limit(self, r: Array) -> list[str]:
        """Return the coordinates of cut joints that are at a limit, for rows r (m,)."""
        at = np.flatnonzero(np.abs(r[self.closures : self.hard]) < 1e-9)
        names = named_velocities(self.model, self.model.compiled.names.cut_v, item="limits").names
        return [names[k] for k in np.array([*self._over, *self._under], dtype=int)[at]]


_KINDS = ("position", "rotation", "angles", "direction")  # GoalKind of the core


def _in_core(model: Model, goal: CheckedTarget, scale: float) -> tuple[Any, ...]:
    """Return a target in the form of the core, with zeros for free components."""
    reference = None if goal.reference is None else model._point("pose", goal.reference)
    letters = goal.letters[::-1] if goal.letters.islower() else goal.letters
    turns = ["XYZ".index(letter) for letter in letters.upper()] or [0, 1, 2]
    return (
        _KINDS.index(goal.kind),
        model._point("pose", goal.marker),
        reference,
        np.array([*turns, goal.letters.islower()], dtype=np.int32),
        np.array([*goal.axis, scale]),
        np.nan_to_num(goal.wanted.reshape(len(goal.wanted), -1)),
        goal.specified.astype(float),
    )


def _boxes(model: Model, bounds: Bounds, columns: IndexArray) -> tuple[IndexArray, Array, Array]:
    """Return the index in q of the coordinate of each column, -1 without one, and its limits."""
    index = np.full(model.nv, -1)
    for name in (*model.joint_names, *model.flexible_names):
        q, v = model.q_slice(name), model.v_slice(name)
        if q.stop - q.start == v.stop - v.start:
            index[v] = np.arange(q.start, q.stop)
    return index[columns], bounds.lower[columns], bounds.upper[columns]
