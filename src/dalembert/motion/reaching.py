"""The equations of an inverse kinematics problem: rows of loops, of limits at cut hinges, and of targets, in batches.

    r(q) = [closures; limits at cut hinges; targets],  dimensionless,     dq = D W^(-1/2) x                         (1)

Metres are measured in the characteristic length of the model, in rows and in speeds, and W has the weights of
coordinates. A limit at a hinge where a loop was cut is a row that counts where it is positive; limits of hinges of the
tree bound x. Speeds that are held have no column.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..analysis.closure import axes_against
from ..analysis.freedoms import freedoms_of
from ..analysis.scales import Scales
from ..bodies.markers import Marker
from ..connections.hinges import Hinge
from ..model import Model
from .bounds import Bounds
from .equations import RelativeEquations
from .goals import Goal, bent

__all__ = ["Reach"]

Array = NDArray[np.float64]
Marks = NDArray[np.bool_]
Places = NDArray[np.intp]
View = tuple[Marker, Marker | None]

CLOSED = 1e-12  # largest residual of closures, rad, and m per characteristic length


@dataclass(eq=False)
class Reach:
    """The rows of one problem.

    Attributes
    ----------
    model : Model
    goals : list of Goal
    bounds : Bounds
    columns : (n,) int
        Speeds that may move.
    metric : (n,) m or 1
        D W^(-1/2) of (1).
    tolerance : float
        Of targets: rad, and m per characteristic length.
    t : float, s
    """

    model: Model
    goals: list[Goal]
    bounds: Bounds
    columns: Places
    metric: Array
    tolerance: float
    t: float = 0.0
    length: float = field(init=False)
    closing: Places = field(init=False)
    closures: int = field(init=False)
    limited: int = field(init=False)
    tolerances: Array = field(init=False)
    sided: Marks = field(init=False)
    floating: list[tuple[Places, Places]] = field(init=False)

    def __post_init__(self) -> None:
        model = self.model
        scales = RelativeEquations(model, driven=False).row_scales[: model.nc]
        self.length = model.length
        self.closing = np.flatnonzero(scales)
        self._row_scales = scales[self.closing]
        self.closures = len(self.closing)
        self._over = np.flatnonzero(np.isfinite(self.bounds.cut_upper))
        self._under = np.flatnonzero(np.isfinite(self.bounds.cut_lower))
        units = [u for c in model.forest.chords if isinstance(c.element, Hinge) for u in c.element.speed_units]
        per = np.array([1.0 / self.length if unit == "m" else 1.0 for unit in units])
        self._cut_scales = per[[*self._over, *self._under]] if len(per) else np.zeros(0)
        self.limited = len(self._cut_scales)
        hard = self.closures + self.limited
        count = hard + 3 * len(self.goals)
        self.sided = np.zeros(count, dtype=bool)
        self.sided[self.closures : hard] = True
        self.tolerances = np.full(count, self.tolerance)
        self.tolerances[:hard] = max(CLOSED, Scales.of(model, prescribed=False).floor)
        self.goal_scales = np.array([g.weight**0.5 / (self.length if g.unit == "m" else 1.0) for g in self.goals])
        self._plain = bool((self.metric == 1.0).all())
        self._need_attitudes = any(goal.kind in ("angles", "direction") for goal in self.goals)
        self._per_unit = self.metric / model.compiled.tables["column_scale"][self.columns]
        balls = [hinge for hinge in model.forest.hinges if "qw" in hinge.element.coordinates]
        spans = [(model.v_slice(hinge.name).start, hinge.element.nv) for hinge in balls]
        turns = [np.flatnonzero(np.isin(self.columns, np.arange(start, start + 3))) for start, _ in spans]
        self._attitudes = [turn for turn in turns if len(turn) == 3]
        self.floating = [
            (turn, np.flatnonzero(np.isin(self.columns, np.arange(start + 3, start + 6))))
            for turn, (start, nv) in zip(turns, spans, strict=True)
            if nv == 6
        ]
        self._views: list[View] = [(goal.marker, goal.reference) for goal in self.goals]
        self.place, self.lower, self.upper = _boxes(model, self.bounds, self.columns)

    @property
    def hard(self) -> int:
        """Number of rows that hold whether targets are reached or not."""
        return self.closures + self.limited

    # -- rows

    def residual(self, q: Array, which: Places) -> Array:
        """Return r (b, m) at q (b, nq); `which` says what targets of the batch are meant, (b,)."""
        seen = self._seen(q)
        poses = [seen[view] for view in self._views]
        goals = [f * g.residual(*pose, which) for f, g, pose in zip(self.goal_scales, self.goals, poses, strict=True)]
        return np.concatenate([*self._hard_residual(q), *goals], axis=1)

    def jacobian(self, q: Array, which: Places) -> Array:
        """Return the rows of r on x, J (b, m, n)."""
        model = self.model
        attitudes = self._seen(q) if self._need_attitudes else {}
        moved = {view: self._moved(*view, q) for view in dict.fromkeys(self._views)}
        J = np.empty((len(q), len(self.sided), len(self.columns)))
        if self.closures:
            P = model.constraint_jacobian(q, t=self.t)[:, self.closing[:, None], self.columns]
            J[:, : self.closures] = self._row_scales[:, None] * P
        if self.limited:
            C = self._cut_rows(q)
            signs = np.repeat([1.0, -1.0], [len(self._over), len(self._under)])
            picked = C[:, [*self._over, *self._under]][:, :, self.columns]
            J[:, self.closures : self.hard] = (signs * self._cut_scales)[:, None] * picked
        for k, goal in enumerate(self.goals):
            R = attitudes[self._views[k]][0] if attitudes else np.empty(0)
            rows = goal.jacobian(R, moved[self._views[k]], which)
            rows = rows if len(self.columns) == model.nv else rows[:, :, self.columns]
            np.multiply(rows, self.goal_scales[k], out=J[:, self.hard + 3 * k : self.hard + 3 * k + 3])
        if not self._plain:
            J *= self.metric
        return J

    def stiffness(self, r: Array, J: Array) -> Array:
        """Return J (b, m, n) multiplied by how rows of targets bend where they are missed by r (b, m)."""
        bent = J.copy()
        for k, goal in enumerate(self.goals):
            span = slice(self.hard + 3 * k, self.hard + 3 * k + 3)
            bent[:, span] = goal.stiffness(r[:, span] / self.goal_scales[k]) @ J[:, span]
        return bent

    def _hard_residual(self, q: Array) -> Iterable[Array]:
        model = self.model
        if self.closures:
            yield self._row_scales * model.constraint_residual(q, t=self.t)[:, self.closing]
        if self.limited:
            still = np.zeros(model.nv)
            at = model.cut_motion(q, still, still)[0][:, _cut_places(model)]
            over = at[:, self._over] - self.bounds.cut_upper[self._over]
            under = self.bounds.cut_lower[self._under] - at[:, self._under]
            yield self._cut_scales * np.concatenate([over, under], axis=1)

    def _cut_rows(self, q: Array) -> Array:
        """Return the speeds of cut hinges by those of the tree, (b, cut, nv)."""
        model, still = self.model, np.zeros(self.model.nv)
        rest = model.cut_motion(q, still, still)[1]
        return np.stack([model.cut_motion(q, e, still)[1] - rest for e in np.eye(model.nv)], axis=2)

    def _seen(self, q: Array) -> dict[View, tuple[Array, Array]]:
        """Return attitudes and positions of markers in their frames of reference, (b, 3, 3), (b, 3)."""
        found = {}
        for view in dict.fromkeys(self._views):
            marker, reference = view
            R, p = self.model.pose(marker, q)
            if reference is not None:
                base = self.model.pose(reference, q)
                back = base.rotation.swapaxes(1, 2)
                R, p = back @ R, (back @ (p - base.position)[:, :, None])[:, :, 0]
            found[view] = R, p
        return found

    def _moved(self, marker: Marker, reference: Marker | None, q: Array) -> Array:
        """Return [w; v] of a marker by v, seen from and in axes of its frame of reference, (b, 6, nv)."""
        J: Array = self.model.jacobian(marker, q)
        if reference is None:
            return J
        base, J_0 = self.model.pose(reference, q), self.model.jacobian(reference, q)
        d = self.model.pose(marker, q).position - base.position
        back = base.rotation.swapaxes(1, 2)
        carried = J_0[:, 3:] + np.cross(J_0[:, :3], d[:, :, None], axis=1)
        return np.concatenate([back @ (J[:, :3] - J_0[:, :3]), back @ (J[:, 3:] - carried)], axis=1)

    # -- moving

    def moved(self, q: Array, x: Array) -> Array:
        """Return where steps x (b, n) from q (b, nq) lead; bounds are met exactly."""
        step = np.zeros((len(q), self.model.nv))
        step[:, self.columns] = self.metric * x
        moved: Array = self.model.integrate(q, step)
        return self.within(moved)

    def shortened(self, x: Array) -> Array:
        """Return steps (b, n) of which none turns a coordinate by more than a radian, or by the length of the model."""
        largest = np.abs(x * self._per_unit).max(1, initial=0.0)
        return np.asarray(x / np.maximum(largest, 1.0)[:, None])

    def within(self, q: Array) -> Array:
        """Return q (b, nq) with coordinates beyond a limit put onto it."""
        at = self.place >= 0
        if at.any():
            q[:, self.place[at]] = np.clip(q[:, self.place[at]], self.lower[at], self.upper[at])
        return q

    def room(self, q: Array) -> tuple[Array, Array]:
        """Return the least and largest steps x (b, n) that limits permit."""
        at = np.where(self.place >= 0, q[:, self.place], 0.0)
        return (self.lower - at) / self.metric, (self.upper - at) / self.metric

    def away(self, q: Array, preferred: Array) -> Array:
        """Return the gradient (b, n) of half the squared weighted distance from a preferred posture (..., nq)."""
        back: Array = self.model.difference(q, np.broadcast_to(preferred, q.shape))
        return -back[:, self.columns] / self.metric

    def bend(self, away: Array) -> Array:
        """Return the second derivative (b, n, n) of what `away` is the gradient of: one, but for attitudes."""
        H = np.broadcast_to(np.eye(len(self.columns)), (len(away), len(self.columns), len(self.columns))).copy()
        for span in self._attitudes:
            H[:, span[:, None], span] = bent(away[:, span] * self.metric[span], 0.5)
        return H

    # -- verdicts

    def violated(self, r: Array) -> Array:
        """Return r (b, m) with limits that are kept at zero."""
        return r if not self.limited else np.where(self.sided, np.maximum(r, 0.0), r)

    def reached(self, r: Array, q: Array) -> Marks:
        """Return where targets and loops hold, (b,)."""
        marks: Marks = np.asarray((np.abs(self.violated(r)) <= self.tolerances).all(axis=1))
        if self.closures and marks.any():
            marks[marks] = ~axes_against(self.model, q[marks]).any(axis=1)
        return marks

    def missed(self, r: Array) -> tuple[Array, Array]:
        """Return by how much the worst target is missed: (b,) m and (b,) rad."""
        found = {"m": np.zeros(len(r)), "rad": np.zeros(len(r))}
        for k, goal in enumerate(self.goals):
            rows = r[:, self.hard + 3 * k : self.hard + 3 * k + 3] / self.goal_scales[k]
            found[goal.unit] = np.maximum(found[goal.unit], np.sqrt((rows * rows).sum(1)))
        return found["m"], found["rad"]

    def pressed(self, r: Array) -> list[str]:
        """Return the coordinates of cut hinges that are at a limit where rows are r (m,)."""
        at = np.flatnonzero(np.abs(r[self.closures : self.hard]) < 1e-9)
        names = freedoms_of(self.model, self.model.compiled.names.cut_v, item="limits").names
        return [names[k] for k in np.array([*self._over, *self._under], dtype=int)[at]]


def _cut_places(model: Model) -> list[int]:
    """Return where the coordinates of cut hinges stand that go with their speeds; -1 where none does."""
    names = model.compiled.names
    found = []
    for chord in model.forest.chords:
        if isinstance(chord.element, Hinge):
            start = names.cut_q[chord.name].start
            single = chord.element.nq == chord.element.nv
            found += [start + k if single else -1 for k in range(chord.element.nv)]
    return found


def _boxes(model: Model, bounds: Bounds, columns: Places) -> tuple[Places, Array, Array]:
    """Return where the coordinate of each column stands in q, -1 where it has none, and its limits."""
    place = np.full(model.nv, -1)
    for name in (*model.hinge_names, *model.flexible_names):
        q, v = model.q_slice(name), model.v_slice(name)
        if q.stop - q.start == v.stop - v.start:
            place[v] = np.arange(q.start, q.stop)
    return place[columns], bounds.lower[columns], bounds.upper[columns]
