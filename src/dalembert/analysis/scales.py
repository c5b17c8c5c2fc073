"""Lengths and angles on one footing: dimensionless rows and columns of the closure equations.

Every verdict about closed loops (is it closed, what is the rank) is taken on

    r_s = S r,   J_s = S P D,   v = D x

with S = 1/L at rows in metres and D = L at speeds in m/s, 1 elsewhere, and L a length of the system. So it does not
depend on the units of the description.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..connections.constraints import Constraint
from ..connections.custom import TIME, CustomHinge
from ..connections.hinges import Hinge
from ..errors import ModelError
from ..model import Model
from ..once import once_per_model
from ..system import System

__all__ = ["Scales", "as_model", "closure_rank", "singular_values", "speed_columns"]

Array = NDArray[np.float64]

_LENGTH_ROWS = frozenset({"x", "y", "z", "advance", "distance", "side", "slip_x", "slip_y", "height", "contact"})
_LENGTH_SPEEDS = frozenset({"slide", "x", "y", "vx", "vy", "vz"})


@dataclass(frozen=True, eq=False)
class Scales:
    """Row and column scales of a model's closure equations.

    Attributes
    ----------
    length : float, m
        Mean over the bodies of the distance between the markers of a body at which it is connected.
    rows : (nc,) 1/m or 1
    columns : (nv,) m or 1
    units : tuple of str, (nc,)
        ``"m"`` or ``"rad"``.
    floor : float
        Scaled residual that rounding alone may leave.
    targets : (3, nc) m or rad, per s, per s2
        What residuals, their rates and second rates have to be: zero, except where a drive prescribes them.
    t : float, s
        Time, for rows that depend on it by themselves.
    """

    length: float
    rows: Array
    columns: Array
    units: tuple[str, ...]
    floor: float
    targets: Array
    t: float = 0.0

    @classmethod
    def of(cls, model: Model, *, positions_only: bool = False, t: float = 0.0, prescribed: bool = True) -> Scales:
        """Read the scales off a model at time t; unless `prescribed`, without targets.

        With `positions_only`, rows that bind velocities count for nothing.
        """
        length, rows, columns, units, floor = _constants(model)
        if positions_only:
            rows = np.where(model.holonomic, rows, 0.0)
        targets = model.row_motion(t) if prescribed else np.zeros((3, model.nc))
        return cls(length, rows, columns, units, floor, targets, t)

    def residual(self, model: Model, q: Array) -> Array:
        """Return S r (nc,)."""
        r: Array = self.rows * (model.constraint_residual(q, t=self.t) - self.targets[0])
        return r

    def jacobian(self, model: Model, q: Array) -> Array:
        """Return S P D (nc, nv)."""
        J: Array = self.rows[:, None] * model.constraint_jacobian(q, t=self.t) * self.columns
        return J

    def rates(self, model: Model, q: Array) -> Array:
        """Return what P v has to be (nc,), m/s or rad/s."""
        wanted: Array = self.targets[1] - model.constraint_drift(q, t=self.t)
        return wanted


def as_model(system_or_model: System | Model) -> Model:
    """Return the model of a system; a model as it is."""
    if isinstance(system_or_model, Model):
        return system_or_model
    if isinstance(system_or_model, System):
        return system_or_model.compile()
    raise ModelError("analysis", "system", system_or_model, "give a System or a compiled Model")


def singular_values(J: Array) -> Array:
    """Return the singular values of J, largest first, (min(J.shape),)."""
    from scipy.linalg import qr

    rows, columns = J.shape
    if not rows or not columns:
        return np.zeros(0)
    # with many more rows than columns first reduce to a square, R^T R = J^T J
    square = qr(J, mode="r")[0][:columns] if rows > columns else J
    return np.asarray(np.linalg.svd(square, compute_uv=False), dtype=np.float64)


def closure_rank(s: Array, tolerance: float = 1e-8) -> int:
    """Return the rank of a scaled closure Jacobian with singular values s, at a closed configuration.

    Closing to 1e-12 leaves 1e-12 of noise in a regular position. The entries are of order 1: a loop whose rows all
    vanish has rank 0, not that of its rounding.
    """
    return int((s > tolerance * max(1.0, float(s.max(initial=0.0)))).sum())


def speed_columns(model: Model, name: str, *, item: str) -> list[int]:
    """Return the places in v of a hinge, a coordinate or a speed, by name."""
    if name in (*model.hinge_names, *model.flexible_names):
        span = model.v_slice(name)
        return list(range(span.start, span.stop))
    if name in model.speed_names:
        return [model.speed_names.index(name)]
    if name in {chord.name for chord in model.forest.chords}:
        remedy = "the loop was cut there, so it has no coordinates of its own; name another connection of the loop"
    elif name in model.coordinate_names:
        remedy = "one component of a quaternion cannot be held; name the connection, or a speed such as 'ball.wx'"
    else:
        remedy = f"the tree has the coordinates {', '.join(map(repr, model.speed_names[:12]))}"
    raise ModelError(item, "name", name, remedy)


@once_per_model
def _constants(model: Model) -> tuple[float, Array, Array, tuple[str, ...], float]:
    """Return length, rows, columns, units and floor of a model."""
    length, reach = _lengths(model)
    is_length = _length_rows(model)
    speeds = {hinge.name: [_is_length(hinge.element, s) for s in hinge.element.speeds] for hinge in model.forest.hinges}
    columns = np.ones(model.nv)
    for name, flags in speeds.items():
        columns[model.v_slice(name)] = [length if flag else 1.0 for flag in flags]
    for name in model.flexible_names:  # one unit: the largest displacement is the length, or the largest slope 1 rad
        flexible = model.system.bodies[name].flexible
        assert flexible is not None
        most = np.abs(flexible.shapes).max(0) / np.repeat([1.0, length], 3)[:, None]
        columns[model.v_slice(name)] = 1.0 / most.max(0)
    return (
        length,
        np.where(is_length, 1.0 / length, 1.0),
        columns,
        tuple("m" if flag else "rad" for flag in is_length),
        16 * np.finfo(float).eps * (1.0 + reach / length) * max(1.0, model.nb**0.5),
    )


def _length_rows(model: Model) -> NDArray[np.bool_]:
    """Return which closure rows are in metres."""
    forest = model.forest
    rows: list[bool] = []
    for chord in forest.chords:
        units = getattr(chord.element, "row_units", None)
        names = chord.element.rows
        rows += [row in _LENGTH_ROWS for row in names] if units is None else [unit == "m" for unit in units]
    for coupling in forest.couplings:
        hinge = coupling.second.element
        assert isinstance(hinge, Hinge)
        rows.append(_is_length(hinge, hinge.speeds[coupling.coordinates[1]]))
    return np.array(rows, dtype=bool)


def _is_length(hinge: Hinge, speed: str) -> bool:
    """Return whether a speed is in m/s."""
    if isinstance(hinge, CustomHinge):
        return not speed.startswith("angle") and speed != TIME
    return speed in _LENGTH_SPEEDS


def _lengths(model: Model) -> tuple[float, float]:
    """Return the characteristic length, and the largest distance of a connected marker from its body's origin."""
    markers: dict[str, list[Array]] = {}
    for connection in model.system.connections.values():
        for end in (connection.first, connection.second):
            markers.setdefault(end.body.name, []).append(end.position)
        element, first = connection.element, connection.first
        if isinstance(element, Constraint) and (table := element.table()) is not None:
            axes = first.rotation @ element.frames()[0]  # a curve is part of the first body
            markers[first.body.name] += [first.position + axes @ x for x in table.box()]
    spreads, reach = [], 0.0
    for points in markers.values():
        # a body with very many markers: the extent of their box will do
        if len(points) > 30:
            spreads.append(float(np.linalg.norm(np.ptp(points, axis=0))))
        else:
            spreads.append(max((float(np.linalg.norm(a - b)) for a, b in combinations(points, 2)), default=0.0))
        reach = max(reach, float(np.abs(points).max()))
    spreads = [s for s in spreads if s > 0.0]
    if spreads:
        return float(np.mean(spreads)), reach
    # all connected at single points: the bodies' own size, from their radii of gyration
    radii = [
        float(np.sqrt(np.trace(body.inertia) / (2 * body.mass))) for body in model.system.bodies.values() if body.mass
    ]
    size = max(radii, default=0.0)
    return (size if size > 0.0 else 1.0), reach
