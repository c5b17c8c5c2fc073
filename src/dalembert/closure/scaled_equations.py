"""Dimensionless closure equations with coordinates held, for one state or a batch.

    r = S Phi(q, t),   J = S Phi_q D,   v = D x                                                                     (1)

and below them one row for each held coordinate. Equations of any form are accepted; those without batches are evaluated
state by state. A `CoordinateMeasure` is a coordinate with a user name: of the tree, or of a cut joint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, BoolArray, IndexArray
from ..checks import finite_number
from ..compile.names import full_names
from ..connections.constraints.ropes import Rope
from ..connections.joints import Joint
from ..errors import ModelError
from .equations import Equations, RelativeEquations
from .equivalent_configurations import axis_reversal_mask, loop_constraints_with_axes, turning_angles
from .loop_equations import LoopEquations, LoopLinearization

__all__ = [
    "CoordinateMeasure",
    "ExtendedEquations",
    "ScaledEquations",
    "held_values",
    "measures_of",
    "named",
    "ropes_of",
]


TWO_PI = 2 * np.pi


@dataclass(frozen=True, eq=False)
class CoordinateMeasure:
    """Coordinate of a mechanism by name.

    Attributes
    ----------
    equations : Equations
    name, unit : str
        ``"rad"``, ``"m"``, or empty if unknown.
    place : int
        Its index in q; for a cut joint, among the coordinates of cut joints.
    column : int
        The index of its velocity in v; -1 for a cut joint.
    period : float
        Period of the coordinate: a whole turn, or 0.
    scale : float
        Its typical magnitude: 1 rad, or a length of the mechanism.
    lower, upper : float
        Stops; infinite without.
    """

    equations: Equations
    name: str
    unit: str
    place: int
    column: int
    period: float
    scale: float
    lower: float = -np.inf
    upper: float = np.inf

    def values(self, q: Array) -> Array:
        """Return its values (...) at q (..., nq), rad or m; of cut joints, within 180°."""
        if self.column >= 0:
            return np.asarray(q[..., self.place])
        model = self.equations.model  # type: ignore[attr-defined]
        return np.asarray(
            model.cut_motion(q, np.zeros((*q.shape[:-1], model.nv)), np.zeros(model.nv))[0][..., self.place]
        )

    def rates(self, q: Array, v: Array) -> Array:
        """Return its rates (...) at velocities v (..., nv)."""
        if self.column >= 0:
            return np.asarray(v[..., self.column])
        model = self.equations.model  # type: ignore[attr-defined]
        return np.asarray(model.cut_motion(q, v, np.zeros(model.nv))[1][..., self.place])

    def row(self, q: Array) -> Array:
        """Return its derivatives (..., nv) with respect to the velocities."""
        n = self.equations.nv
        if self.column >= 0:
            return np.broadcast_to(np.eye(n)[self.column], (*q.shape[:-1], n))
        many = np.repeat(q.reshape(-1, q.shape[-1]), n, 0)
        rates = self.rates(many, np.tile(np.eye(n), (len(many) // n, 1)))
        return rates.reshape(*q.shape[:-1], n)

    def wrapped_error(self, values: Array | float, wanted: Array | float) -> Array:
        """Return the differences of values from wanted ones, the shorter way around."""
        gap = np.asarray(values - wanted, dtype=float)
        return gap - self.period * np.round(gap / self.period) if self.period else gap

    def violation(self, q: Array, *, wrapped: bool = True) -> Array:
        """Return the distances (...) beyond its stops at q (..., nq), rad or m; zero within.

        Periodic angles count the shorter way, unless `wrapped` is False.
        """
        values = self.values(q)
        if self.period and wrapped:
            middle = 0.5 * (self.lower + self.upper) if np.isfinite(self.lower + self.upper) else 0.0
            values = middle + self.wrapped_error(values, middle)
        return np.asarray(values - np.clip(values, self.lower, self.upper))

    def wrap(self, value: float) -> float:
        """Return a value within 180° of zero, if the coordinate is periodic."""
        if not self.period:
            return value
        within = value - self.period * float(np.round(value / self.period))
        return 0.5 * self.period if within < -0.5 * self.period + 1e-9 else within

    def continuous(self, values: Array) -> Array:
        """Return values (n,) along a path without jumps by whole turns."""
        return np.unwrap(values, period=self.period) if self.period else values


def measures_of(equations: Equations) -> dict[str, CoordinateMeasure]:
    """Return the coordinates by name; orientations of spherical joints have none."""
    if not isinstance(equations, RelativeEquations):
        scales = equations.column_scales
        return {
            name: CoordinateMeasure(equations, name, "", k, k, 0.0, float(scales[k]))
            for k, name in enumerate(equations.speed_names)
        }
    model, found = equations.model, {}
    turns = set(turning_angles(model).tolist())
    for joint in model.forest.joints:
        element = joint.element
        if element.nq != element.nv:
            continue
        place, column = model.q_slice(joint.name).start, model.v_slice(joint.name).start
        for k, name in enumerate(full_names(joint.name, element.coordinates)):
            period = TWO_PI if column + k in turns else 0.0
            found[name] = _measure(equations, name, element, k, place + k, column + k, period)
    for loop_constraint in model.forest.loop_constraints:
        closing = loop_constraint.element
        if not isinstance(closing, Joint) or closing.nq != closing.nv:
            continue
        place = model.cut_joint_slice(loop_constraint.name).start
        for k, name in enumerate(full_names(loop_constraint.name, closing.coordinates)):
            turn = closing.coordinate_units[k] == "rad" and not closing.counts_turns
            found[name] = _measure(equations, name, closing, k, place + k, -1, TWO_PI if turn else 0.0)
    order = {name: k for k, name in enumerate(model.system.connections)}
    return dict(sorted(found.items(), key=lambda item: order.get(item[0].split(".")[0], len(order))))


def ropes_of(equations: RelativeEquations) -> list[CoordinateMeasure]:
    """Return the distances bounded by ropes: not coordinates, but with stops like them."""
    model, found = equations.model, []
    for loop_constraint in model.forest.loop_constraints:
        rope = loop_constraint.element
        if isinstance(rope, Rope):
            place, _ = model.compiled.names.ropes[loop_constraint.name]
            stops = rope.lower, rope.upper
            found.append(
                CoordinateMeasure(equations, loop_constraint.name, "m", place, -1, 0.0, float(model.length), *stops)
            )
    return found


def _measure(
    equations: RelativeEquations, name: str, element: Joint, k: int, place: int, column: int, period: float
) -> CoordinateMeasure:
    unit = element.coordinate_units[k]
    stops = [
        -np.inf if element.lower is None else element.lower[k],
        np.inf if element.upper is None else element.upper[k],
    ]
    scale = equations.model.length if unit == "m" else 1.0
    return CoordinateMeasure(
        equations, name, unit, place, column, period, float(scale), float(stops[0]), float(stops[1])
    )


class ScaledEquations:
    """The scaled equations (1) of a mechanism with some coordinates held.

    Parameters
    ----------
    equations : Equations
    held : dict of CoordinateMeasure to float
        Held coordinates and their values, rad or m.
    t : float, s
    clocks : (nv,) bool
        Mask of velocities that are clocks: time as a coordinate.
    """

    def __init__(
        self,
        equations: Equations,
        held: Mapping[CoordinateMeasure, float] | None = None,
        t: float = 0.0,
        clocks: BoolArray | None = None,
    ) -> None:
        self.equations, self.t, self.held = equations, t, dict(held or {})
        self.nv, self.nq = equations.nv, equations.nq
        self.scales = equations.column_scales
        self.free = np.ones(self.nv, dtype=bool) if clocks is None else ~clocks
        self._rows = np.flatnonzero(equations.row_scales)
        self._scale = equations.row_scales[self._rows, None] * (self.scales * self.free)
        self._batches = isinstance(equations, RelativeEquations)
        names = [name.rsplit(".", 1)[0] if self._batches else name for name in equations.row_names]
        self._owners = [names[k] for k in self._rows]
        owners = np.array(self._owners)
        self.groups: list[IndexArray] = [np.flatnonzero(owners == name) for name in dict.fromkeys(owners.tolist())]
        self.groups += [np.array([len(self._rows) + k]) for k in range(len(self.held))]
        self.rows = len(self._rows) + len(self.held)
        self.periods = np.zeros(self.nv)
        if isinstance(equations, RelativeEquations):
            self.periods[turning_angles(equations.model)] = TWO_PI

    # ---- equations

    def residual(self, q: Array) -> Array:
        """Return r of (1), (..., rows) at q (..., nq)."""
        e = self.equations
        if q.ndim == 1 or self._batches:
            r = e.residual(q, self.t)[..., self._rows] * e.row_scales[self._rows]
        else:
            r = np.array([e.residual(one, self.t) * e.row_scales for one in q]).reshape(len(q), -1)[:, self._rows]
        if not self.held:
            return r
        held = [(m.wrapped_error(m.values(q), value) / m.scale)[..., None] for m, value in self.held.items()]
        return np.concatenate([r, *held], -1)

    def jacobian(self, q: Array) -> Array:
        """Return J of (1), (..., rows, nv); columns of clocks are zero."""
        e = self.equations
        if q.ndim == 1 or self._batches:
            J = np.array(e.jacobian(q, self.t), copy=None)
        else:
            J = np.array([e.jacobian(one, self.t) for one in q]).reshape(len(q), -1, self.nv)
        if len(self._rows) < J.shape[-2]:
            J = J[..., self._rows, :]
        J *= self._scale
        if not self.held:
            return J
        held = [m.row(q)[..., None, :] / m.scale * (self.scales * self.free) for m in self.held]
        return np.concatenate([J, *held], -2)

    @cached_property
    def loops(self) -> LoopEquations | None:
        """The same equations for elimination within the trees; None if the core has none, or others are added."""
        e = self.equations
        if not isinstance(e, RelativeEquations) or self.held or e.rows > e.model.nc:
            return None
        if not LoopLinearization.is_available(e.model):
            return None
        loops = LoopEquations.of(e.model, positions_only=True, t=self.t, prescribed=False)
        return replace(loops, row_scales=e.row_scales)

    def shortest_step(self, q: Array, r: Array, free: BoolArray) -> Array | None:
        """Return the shortest scaled step (free,) for which |J x + r| is least; None if a matrix is needed."""
        if self.loops is None or not self.free.all():
            return None
        every = np.zeros(len(self.equations.row_scales))
        every[self._rows] = r
        return self.loops.shortest_step(q, every, free)

    def quadratic(self, q: Array, x: Array) -> Array:
        """Return the second derivative of r along the scaled velocities x (nv,), (rows,)."""
        e, v = self.equations, self.scales * x
        c = e.acceleration_terms(q, np.zeros(self.nv), self.t) - e.acceleration_terms(q, v, self.t)
        held = []
        for m in self.held:
            if m.column >= 0:
                held.append(0.0)
                continue
            h = 1e-4
            held.append(float((m.row(self.retract(q, h * x)) - m.row(self.retract(q, -h * x))) @ v) / (2 * h * m.scale))
        return np.concatenate([(c * e.row_scales)[self._rows], held])

    # ---- manifold

    def retract(self, q: Array, x: Array) -> Array:
        """Return the configuration after scaled steps x (..., nv)."""
        return np.asarray(self.equations.retract(q, x * self.scales))

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the scaled steps (..., nv) from q0 to q1, whole turns removed.

        One may be a single configuration.
        """
        x = self.equations.difference(*np.broadcast_arrays(q0, q1)) / self.scales
        turns = self.periods > 0
        x[..., turns] -= TWO_PI * np.round(x[..., turns] / TWO_PI)
        return np.asarray(x)

    def genuine(self, q: Array, rows: IndexArray | None = None) -> BoolArray:
        """Return the mask of configurations (..., nq) without opposed axes, which close for the joints too.

        With `rows`, only joints that these belong to are checked.
        """
        if not isinstance(self.equations, RelativeEquations):
            return np.ones(q.shape[:-1], dtype=bool)
        against = axis_reversal_mask(self.equations.model, q)
        if rows is not None:
            owners = {self._owners[k] for k in rows if k < len(self._owners)}
            against = against[..., [name in owners for name in loop_constraints_with_axes(self.equations.model)]]
        return np.asarray(~against.any(-1))

    def shift(self, q: Array, near: Array) -> Array:
        """Return the configuration q (nq,) with full turns added so that it is near another."""
        return self.retract(near, self.difference(near, q))


class ExtendedEquations:
    """Scaled equations with further rows: stops of joints, a distance, a plane.

    Parameters
    ----------
    closed : ScaledEquations
    residual, jacobian : callables of q (..., nq)
        Of the k further rows: (..., k), and (..., k, nv) with respect to scaled velocities.
    """

    def __init__(
        self, closed: ScaledEquations, residual: Callable[[Array], Array], jacobian: Callable[[Array], Array]
    ) -> None:
        self._closed, self._residual, self._jacobian = closed, residual, jacobian
        self.nv, self.groups = closed.nv, closed.groups

    def residual(self, q: Array) -> Array:
        """Return the residuals (..., rows + k) at q (..., nq)."""
        return np.concatenate([self._closed.residual(q), self._residual(q)], -1)

    def jacobian(self, q: Array) -> Array:
        """Return their derivatives (..., rows + k, nv)."""
        return np.concatenate([self._closed.jacobian(q), self._jacobian(q)], -2)

    def retract(self, q: Array, x: Array) -> Array:
        """Return the configuration after scaled steps x (..., nv)."""
        return self._closed.retract(q, x)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the scaled steps (..., nv) from q0 to q1, whole turns removed."""
        return self._closed.difference(q0, q1)


def held_values(
    equations: Equations, q: Array, fixed: str | Iterable[str] | Mapping[str, Any], *, item: str
) -> dict[CoordinateMeasure, float]:
    """Return the held coordinates with their values; default those of q (nq,)."""
    known = measures_of(equations)
    values = dict(fixed) if isinstance(fixed, Mapping) else dict.fromkeys([fixed] if isinstance(fixed, str) else fixed)
    held = {}
    for name, value in values.items():
        measure = named(known, name, item=item, field="hold")
        held[measure] = (
            float(measure.values(q)) if value is None else finite_number(value, item=f"{item}: fixed", field=name)
        )
    return held


def named(known: Mapping[str, CoordinateMeasure], name: Any, *, item: str, field: str) -> CoordinateMeasure:
    """Return the coordinate of a name.

    Raises
    ------
    ModelError
        If there is none.
    """
    if name in known:
        return known[name]
    parts = [each for each in known if isinstance(name, str) and each.startswith(f"{name}.")]
    if len(parts) == 1:
        return known[parts[0]]
    if parts:
        raise ModelError(item, field, name, f"it has several coordinates: name one of {', '.join(map(repr, parts))}")
    raise ModelError(item, field, name, f"choose among the coordinates {', '.join(map(repr, list(known)[:12]))}")
