"""Reference-point coordinates: centre of mass and orientation of each body, rows for each joint.

The third form of the constraint equations, for comparison (Garcia de Jalon and Bayo 1994, example 3.5b; erratum: rows 7
and 8 of the printed Jacobian have wrong signs):

    in the plane   x, y of the centre of mass and an angle                                      3 numbers for a body
    in space       x, y, z of the centre of mass and Euler parameters p, with the row p . p = 1   7 numbers for a body

Rows are products of points r + A s and axes A e of the two bodies. They are evaluated as Taylor series of order three
along a motion. The first derivative along unit velocities is J; the second without accelerations and the third without
jerks are the right-hand sides for accelerations and jerks. The other two forms share only the description.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..bodies.markers import Marker
from ..closure.assembly import assemble, given_coordinates
from ..connections.connection import Connection
from ..connections.constraints.geometric import Distance
from ..connections.drives import Drive
from ..connections.joints import Cylindrical, Fixed, Free, Planar, Prismatic, Revolute, Spherical, Universal
from ..connections.laws import Law, third_rate
from ..errors import ModelError
from ..model import Model
from ..model.argument_errors import checked_configuration
from ..model.state import StateLike
from ..numerics.taylor_series import from_derivatives, times, turning
from ..rotation import quaternion_rate, to_quaternion
from ..system import System
from .mechanism_builder import plane_of

__all__ = ["ReferenceEquations", "reference_equations"]

Frame = tuple[Array, Array]  # Taylor series of the reference point (4, B, d), and of the axes (4, B, d, d)

GROUND = "ground"
_KNOWN = (Cylindrical, Fixed, Free, Planar, Prismatic, Revolute, Spherical, Universal, Distance)


def _dot(f: Array, g: Array) -> Array:
    return np.asarray(times(f, g).sum(-1))


class ReferenceEquations:
    """Constraint equations in reference-point coordinates, an implementation of `dalembert.closure.Equations`.

    Attributes
    ----------
    model : Model
        The same system in joint coordinates.
    plane : (3, 2) or None
        Axes of the plane in which a planar system is described; None in space.
    """

    def __init__(self, system: System, model: Model, q: Array, plane: Array | None) -> None:
        self.system, self.model, self.plane, self._q = system, model, plane, q
        self.bodies = tuple(system.bodies)
        self.size = 7 if plane is None else 3
        self.dimension = 3 if plane is None else 2
        self.nq = self.nv = self.size * len(self.bodies)
        letters = ("x", "y", "z", "p0", "p1", "p2", "p3") if plane is None else ("x", "y", "angle")
        self.speed_names = tuple(f"{body}.{letter}" for body in self.bodies for letter in letters)
        self._home = {name: model.pose(name, q).rotation for name in self.bodies}
        self._makers: list[Callable[[dict[str, Frame], float, int], list[Array]]] = []
        names: list[str] = []
        powers: list[int] = []
        if plane is None:
            names += [f"{body}: p . p" for body in self.bodies]
            powers += [0] * len(self.bodies)
        for connection in system.connections.values():
            labels = self._connect(connection)
            names += [f"{connection.name}: {label}" for label, _ in labels]
            powers += [power for _, power in labels]
        for drive in system.drives.values():
            powers.append(self._drive(drive))
            names.append(f"drive {drive.name}")
        self.row_names, self.rows = tuple(names), len(names)
        length = model.length
        self.row_scales = np.array([length**-p for p in powers], dtype=float)
        turning = [1.0] * (self.size - self.dimension)
        self.column_scales = np.tile([*[length] * self.dimension, *turning], len(self.bodies))
        self.floor = 1e-14

    # -- the protocol

    def residual(self, q: Array, t: float) -> Array:
        """Return Phi (rows,)."""
        return np.asarray(self._series(q, t)[0, 0])

    def jacobian(self, q: Array, t: float) -> Array:
        """Return J (rows, nv)."""
        return np.asarray(self._series(q, t, np.eye(self.nv), still=True)[1].T)

    def velocity_terms(self, q: Array, t: float) -> Array:
        """Return b (rows,)."""
        return np.asarray(-self._series(q, t)[1, 0])

    def acceleration_terms(self, q: Array, v: Array, t: float) -> Array:
        """Return c (rows,)."""
        return np.asarray(-2.0 * self._series(q, t, v)[2, 0])

    def jerk_terms(self, q: Array, v: Array, a: Array, t: float) -> Array:
        """Return d (rows,)."""
        return np.asarray(-6.0 * self._series(q, t, v, a)[3, 0])

    def retract(self, q: Array, step: Array) -> Array:
        """Return q + step."""
        return np.asarray(q + step)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return q1 - q0."""
        return np.asarray(q1 - q0)

    def start(self) -> Array:
        """Return the position (nq,) of the conversion."""
        return self.coordinates_of(self._q)

    def coordinates_of(self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None) -> Array:
        """Return coordinates (n,) for joint coordinates q; with v their rates, with v and a their second rates."""
        found, order = [], 0 if v is None else 1 if a is None else 2
        for name in self.bodies:
            R, x = self.model.pose(name, q)
            V = np.zeros(6) if v is None else self.model.velocity(name, q, v)
            A = np.zeros(6) if v is None or a is None else self.model.acceleration(name, q, v, a)
            g = R @ self.system.bodies[name].com
            w, alpha = V[:3], A[:3]
            place = (x + g, V[3:] + np.cross(w, g), A[3:] + np.cross(alpha, g) + np.cross(w, np.cross(w, g)))[order]
            if self.plane is not None:
                n = np.cross(*self.plane.T)
                P = R @ self._home[name].T
                x1, x2 = self.plane.T
                angle = np.arctan2(x2 @ P @ x1, x1 @ P @ x1)
                found += [*(self.plane.T @ place), (float(angle), float(n @ w), float(n @ alpha))[order]]
                continue
            p = np.asarray(to_quaternion(R))
            rate = quaternion_rate(p, R.T @ w)
            second = quaternion_rate(p, R.T @ alpha) + quaternion_rate(rate, R.T @ w)
            found += [*place, *(p, rate, second)[order]]
        return np.array(found)

    # -- series

    def _series(
        self, q: Array, t: float, v: Array | None = None, a: Array | None = None, *, still: bool = False
    ) -> Array:
        """Return Taylor series (4, B, rows) of the rows along velocities v (B, nv) and accelerations a (nv,)."""
        speeds = np.zeros((1, self.nv)) if v is None else np.atleast_2d(v)
        batch = len(speeds)
        c = np.zeros((4, batch, self.nv))
        c[0], c[1] = q, speeds
        if a is not None:
            c[2] = np.asarray(a) / 2
        frames: dict[str, Frame] = {GROUND: self._ground(batch)}
        rows: list[Array] = []
        for k, name in enumerate(self.bodies):
            mine = c[:, :, k * self.size : (k + 1) * self.size]
            frames[name] = mine[..., : self.dimension], self._axes(mine[..., self.dimension :])
            if self.plane is None:
                p = mine[..., 3:]
                unit = _dot(p, p)
                unit[0] -= 1.0
                rows.append(unit)
        for maker in self._makers:
            rows += maker(frames, t, 0 if still else 1)
        return np.stack(rows, axis=-1) if rows else np.zeros((4, batch, 0))

    def _ground(self, batch: int) -> Frame:
        d = self.dimension
        axes = np.zeros((4, batch, d, d))
        axes[0] = np.eye(d)
        return np.zeros((4, batch, d)), axes

    def _axes(self, turn: Array) -> Array:
        """Return the series of the rotation matrix, from Euler parameters (4, B, 4) or an angle (4, B, 1)."""
        if self.plane is not None:
            unit = turning(turn[..., 0])
            c, s = unit.real, unit.imag
            return np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)
        P = times(turn[..., :, None], turn[..., None, :])
        w, x, y, z = (P[..., k, k] for k in range(4))
        rows = [
            [w + x - y - z, 2 * (P[..., 1, 2] - P[..., 0, 3]), 2 * (P[..., 1, 3] + P[..., 0, 2])],
            [2 * (P[..., 1, 2] + P[..., 0, 3]), w - x + y - z, 2 * (P[..., 2, 3] - P[..., 0, 1])],
            [2 * (P[..., 1, 3] - P[..., 0, 2]), 2 * (P[..., 2, 3] + P[..., 0, 1]), w - x - y + z],
        ]
        return np.stack([np.stack(row, -1) for row in rows], -2)

    # -- rows of joints

    def _local(self, marker: Marker, vector: Array, *, point: bool) -> Array:
        """Return a point relative to the reference point, or a direction, of a marker's body in its axes."""
        name = marker.body.name
        if point and name != GROUND:
            vector = vector - self.system.bodies[name].com
        if self.plane is None:
            return vector
        R = np.eye(3) if name == GROUND else self._home[name]
        return np.asarray(self.plane.T @ R @ vector)

    def _point(self, frames: dict[str, Frame], marker: Marker) -> Array:
        r, A = frames[marker.body.name]
        return np.asarray(r + A @ self._local(marker, marker.position, point=True))

    def _way(self, frames: dict[str, Frame], marker: Marker, axis: Array) -> Array:
        return np.asarray(frames[marker.body.name][1] @ self._local(marker, marker.rotation @ axis, point=False))

    def _connect(self, connection: Connection) -> list[tuple[str, int]]:
        """Add the rows of a connection; return their names and powers of length."""
        element: Any = connection.element
        first, second = connection.first, connection.second
        if isinstance(element, Free) or (isinstance(element, Planar) and self.plane is not None):
            return []
        frame = np.eye(3) if isinstance(element, (Distance, Spherical, Universal)) else element.frame()
        X, Y, Z = frame.T
        turns = self._turning_rows(element, first, second, X, Y, Z)
        together = isinstance(element, (Revolute, Spherical, Universal, Fixed))
        across = isinstance(element, (Cylindrical, Prismatic))

        def rows(frames: dict[str, Frame], t: float, running: int) -> list[Array]:
            d = self._point(frames, second) - self._point(frames, first)
            if isinstance(element, Distance):
                gap = _dot(d, d)
                gap[0] -= element.length**2
                return [gap]
            found = [d[..., k] for k in range(self.dimension)] if together else []
            if across and self.plane is None:
                found += [_dot(self._way(frames, first, e), d) for e in (X, Y)]
            elif across:
                u = self._way(frames, first, Z)
                found.append(_dot(np.stack([-u[..., 1], u[..., 0]], -1), d))
            elif isinstance(element, Planar):
                found.append(_dot(self._way(frames, first, Z), d))
            return found + [_dot(self._way(frames, *a), self._way(frames, *b)) for a, b in turns]

        self._makers.append(rows)
        if isinstance(element, Distance):
            return [("distance", 2)]
        labels = [("xyz"[k], 1) for k in range(self.dimension)] if together else []
        if across:
            labels += [("across", 1)] * (2 if self.plane is None else 1)
        elif isinstance(element, Planar):
            labels.append(("height", 1))
        return labels + [("turn", 0)] * len(turns)

    def _turning_rows(
        self, element: Any, first: Marker, second: Marker, X: Array, Y: Array, Z: Array
    ) -> list[tuple[tuple[Marker, Array], tuple[Marker, Array]]]:
        """Return pairs of axes that remain perpendicular."""
        if self.plane is not None:
            if not isinstance(element, (Prismatic, Fixed)):
                return []
            R = np.eye(3) if first.body.name == GROUND else self._home[first.body.name]
            inner = [self.plane.T @ R @ first.rotation @ e for e in (X, Y, Z)]
            flat = np.argsort([-float(np.linalg.norm(e)) for e in inner])[:2]
            axes = (X, Y, Z)
            return [((first, axes[flat[0]]), (second, axes[flat[1]]))]
        if isinstance(element, Universal):
            return [((first, np.asarray(element.axis_1)), (second, np.asarray(element.axis_2)))]
        if isinstance(element, (Revolute, Cylindrical, Planar)):
            return [((first, X), (second, Z)), ((first, Y), (second, Z))]
        if isinstance(element, (Prismatic, Fixed)):
            return [((first, X), (second, Z)), ((first, Y), (second, Z)), ((first, X), (second, Y))]
        return []

    def _drive(self, drive: Drive) -> int:
        """Add the row of a drive; return its power of length. The row of an angle is sin(psi - law) = 0."""
        connection: Any = drive.connection
        element = connection.element
        law: Law = drive.law
        first, second = connection.first, connection.second
        kind = "distance" if isinstance(element, Distance) else element.coordinates[drive.coordinate]
        if kind not in ("angle", "slide", "distance") or drive.level:
            raise ModelError(
                f"drive {drive.name!r}",
                "form",
                "reference",
                "use angles and slides",
            )
        frame = np.eye(3) if kind == "distance" else element.frame()

        def row(frames: dict[str, Frame], t: float, running: int) -> list[Array]:
            batch = frames[GROUND][0].shape[1]
            x = from_derivatives(np.array([[*law(t), third_rate(law, t)]]).T)
            x[1:] *= running
            s = np.repeat(x, batch, axis=1)
            if kind != "angle":
                d = self._point(frames, second) - self._point(frames, first)
                if kind == "distance":
                    return [_dot(d, d) - times(s, s)]
                return [_dot(d, self._way(frames, first, frame[:, 2])) - s]
            unit = turning(s)
            a = self._way(frames, second, frame[:, 0])
            along, beside = (_dot(self._way(frames, first, frame[:, k]), a) for k in range(2))
            return [times(unit.real, beside) - times(unit.imag, along)]

        self._makers.append(row)
        return {"angle": 0, "slide": 1, "distance": 2}[kind]


def reference_equations(
    system: System, *, dimension: int | None = None, state: StateLike | None = None
) -> ReferenceEquations:
    """Convert a system of rigid bodies to reference-point coordinates.

    Parameters
    ----------
    system : System
        With joints of the library (`Screw` excepted), distances, drives of single angles and slides.
    dimension : int
        2 or 3; if left out, 2 wherever all joints move in one plane.
    state : State, dict of name to value, or (nq,) rad or m
        A closed configuration in joint coordinates; assembled if left out.

    Raises
    ------
    ModelError
        If the system has parts that cannot be converted.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import four_bar
    >>> e = da.natural.reference_equations(four_bar())
    >>> e.nv, e.rows, da.motion_space(e).dofs
    (9, 8, 1)
    """
    model = system.compile()
    if model.flexible_names:
        raise ModelError("reference_equations", "body", model.flexible_names[0], "flexible bodies cannot be converted")
    for name, connection in system.connections.items():
        if type(connection.element) not in _KNOWN:
            kind = type(connection.element).__name__
            raise ModelError(f"connection {name!r}", "form", "reference", f"{kind} cannot be converted: use compile()")
    for name in system.couplings:
        raise ModelError(f"coupling {name!r}", "form", "reference", "couplings cannot be converted: use compile()")
    q = given_coordinates(model, state, item="reference_equations")
    at = assemble(model).q if q is None else checked_configuration(model, "reference_equations", q)
    return ReferenceEquations(system, model, at, plane_of(system, model, at, dimension))
