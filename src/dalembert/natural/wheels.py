"""Wheels that roll or slide on tracks: velocity constraints, with the contact as a position constraint.

A wheel is its centre O, a point A fixed in it at d = A - O, in space also its axis u. P is the point of contact and
v_track(P) the velocity of the body that carries the track, zero for a fixed track:

    plane   w = d x d' / |d|^2                          O' + w k x (P - O) = v_track(P)                             (1)
    space   w = u x u' + ((d x d') . u / |d|^2) u       O' + w x (P - O) = v_track(P)                               (2)

A sliding wheel has the normal component alone, which is the rate of the contact row: delta(O) = r in the plane, the gap
at P in space. The track of a body is given in the frame of that body, whose pose and velocities follow from its
coordinates (see `bodies`).

Erratum: the book's pair (3.53), (3.54) loses rank twice a turn, where P, O and A are collinear, and its set for space
(3.71) leaves one degree of freedom too many; (1) and (2) have full rank everywhere. Acceleration and jerk terms are
derivatives of (1) and (2) along the motion, by differences of sixth order, so that the pole velocity P' is that of the
geometric contact point ((3.57); (3.78) holds for upright wheels only).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import positive
from ..errors import ModelError
from ..rotation import skew
from .bodies import NaturalBody, body_coordinates, point_matrix
from .equations import AXES, NaturalEquations, SpeedRows
from .joints import Joints
from .tracks import Circle, SurfaceLike, Track

__all__ = ["PlaneWheel", "RodWheel", "SpaceWheel", "WheelRows", "Wheels", "equivalent_centre"]


STEP = 1e-2  # of the time in which the wheel moves by its radius: step of the difference formulas
FLAT_TOL = 1e-9  # sine of the angle between the axis and the surface normal


class WheelRows:
    """Rows of a wheel: names, and derivatives of J V along a motion.

    Attributes
    ----------
    name : str
    coordinates : tuple of str
        Points and vectors: O, A, in space u, then those of a rod or of the body that carries the track.
    radius : float, m
    rolling : bool
        False for a sliding wheel.
    """

    name: str
    coordinates: tuple[str, ...]
    radius: float
    rolling: bool
    axes = "xy"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rows: contact, and rolling by components."""
        return (f"{self.name}: contact", *(f"{self.name}: rolling {axis}" for axis in self.axes if self.rolling))

    @property
    def powers(self) -> tuple[int, ...]:
        """Powers of length in the units of the rows."""
        return (1,) * len(self.names)

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """Mask of rows that constrain positions."""
        return tuple(k == 0 for k in range(len(self.names)))

    def contact(self, X: Array) -> Array:
        """Return the point of contact P (dim,) m."""
        raise NotImplementedError

    def gap(self, X: Array) -> float:
        """Return the distance of the wheel from its track, m."""
        raise NotImplementedError

    def jacobian(self, X: Array) -> Array:
        """Return J (rows, len(X))."""
        raise NotImplementedError

    def residual(self, X: Array) -> Array:
        """Return the gap in the contact row, zero in the others."""
        return np.array([self.gap(X), *[0.0] * (len(self.names) - 1)])

    def _rows(self, normal: Array, slip: Array) -> Array:
        """Return J from the normal (dim,) and the matrix (dim, len(X)) of the slip velocity at P."""
        return np.vstack([normal @ slip, *([slip] if self.rolling else [])])

    def _time_scale(self, V: Array) -> float:
        """Return a time in which the wheel moves by about its radius, or turns by a radian, s."""
        points = V[: 2 * len(self.axes)] / self.radius  # of O and A; then those of the rod, the axis, the track's body
        further = V[2 * len(self.axes) :] / (self.radius if len(self.axes) == 2 else 1.0)
        fast = float(np.abs(np.concatenate([points, further])).max(initial=0.0))
        return 1.0 if fast == 0.0 else 1.0 / fast

    def _rate(self, function: Callable[[float], Array], h: float) -> Array:
        """Return the derivative of a function of s at s = 0, of sixth order in h."""
        g = [function(k * h) for k in (-3, -2, -1, 1, 2, 3)]
        return np.asarray((45 * (g[3] - g[2]) - 9 * (g[4] - g[1]) + (g[5] - g[0])) / (60 * h))

    def bias(self, X: Array, V: Array) -> Array:
        """Return J' V (rows,)."""
        return self._rate(lambda s: self.jacobian(X + s * V) @ V, STEP * self._time_scale(V))

    def bias_rate(self, X: Array, V: Array, A: Array) -> Array:
        """Return 2 J' A + J'' V (rows,)."""
        h = 2 * STEP * self._time_scale(V)
        g = [self.jacobian(X + s * V + s * s / 2 * A) @ (V + s * A) for s in h * np.array([-3.0, -2, -1, 0, 1, 2, 3])]
        outer, middle, inner = (g[0] + g[6]), (g[1] + g[5]), (g[2] + g[4])
        return np.asarray((2 * outer - 27 * middle + 270 * inner - 490 * g[3]) / (180 * h * h))

    def pole_velocity(self, X: Array, V: Array) -> Array:
        """Return P' (dim,) m/s: of the geometric point of contact, not of the material points there."""
        return self._rate(lambda s: self.contact(X + s * V), STEP * self._time_scale(V))


@dataclass(frozen=True, eq=False)
class PlaneWheel(WheelRows):
    """Wheel on a track in the plane: a fixed one, or one of a body, `carrier`."""

    name: str
    coordinates: tuple[str, ...]  # O, A, and those of the carrier
    track: Track
    radius: float
    rolling: bool
    carrier: NaturalBody | None = None

    def _foot(self, X: Array) -> tuple[float, Array, float]:
        """Return distance of O (m), normal (2,) in the world and curvature (1/m) at the nearest point of the track."""
        if self.carrier is None:
            return self.track.foot(X[:2])
        R, o = _carrier_pose(self.carrier, X[4:])
        distance, n, kappa = self.track.foot(R.T @ (X[:2] - o))
        return distance, np.asarray(R @ n), kappa

    def contact(self, X: Array) -> Array:
        """Return P (2,) m."""
        return np.asarray(X[:2] - self.radius * self._foot(X)[1])

    def gap(self, X: Array) -> float:
        """Return the distance of the wheel from its track, m."""
        return self._foot(X)[0] - self.radius

    def pole_velocity(self, X: Array, V: Array) -> Array:
        """Return P' (2,) m/s: of the geometric point of contact."""
        if self.carrier is not None:
            return super().pole_velocity(X, V)
        _, n, kappa = self.track.foot(X[:2])
        t = -_perpendicular(n)
        return np.asarray(V[:2] - self.radius * kappa / (1 + kappa * self.radius) * (t @ V[:2]) * t)

    def jacobian(self, X: Array) -> Array:
        """Return J (rows, len(X))."""
        n = self._foot(X)[1]
        P = X[:2] - self.radius * n
        slip = _rim_velocity(X[:2], X[2:4], P)
        if self.carrier is not None:
            slip = np.hstack([slip, -_carrier_velocity(self.carrier, X[4:], P)])
        return self._rows(n, slip)


@dataclass(frozen=True, eq=False)
class RodWheel(WheelRows):
    """Wheel on a moving rod, given by two of its points, in the plane."""

    name: str
    coordinates: tuple[str, ...]  # O, A, 1, 2
    radius: float
    side: float
    rolling: bool

    def _normal(self, X: Array) -> Array:
        e = X[6:8] - X[4:6]
        return np.asarray(self.side * _perpendicular(e) / float(np.linalg.norm(e)))

    def contact(self, X: Array) -> Array:
        """Return P (2,) m."""
        return np.asarray(X[:2] - self.radius * self._normal(X))

    def gap(self, X: Array) -> float:
        """Return the distance of the wheel from the rod, m."""
        return float(self._normal(X) @ (X[:2] - X[4:6])) - self.radius

    def jacobian(self, X: Array) -> Array:
        """Return J (rows, 8)."""
        P = self.contact(X)
        slip = np.hstack([_rim_velocity(X[:2], X[2:4], P), -_rim_velocity(X[4:6], X[6:8], P)])
        return self._rows(self._normal(X), slip)


@dataclass(frozen=True, eq=False)
class _MovedSurface:
    """Surface of a body in the world, for a pose R, o of the body."""

    surface: SurfaceLike
    R: Array
    o: Array

    def value(self, x: Array) -> float:
        return self.surface.value(self.R.T @ (x - self.o))

    def gradient(self, x: Array) -> Array:
        return np.asarray(self.R @ self.surface.gradient(self.R.T @ (x - self.o)))


@dataclass(frozen=True, eq=False)
class SpaceWheel(WheelRows):
    """Wheel on a surface in space: a fixed one, or one of a body, `carrier`."""

    name: str
    coordinates: tuple[str, ...]  # O, A, u, and those of the carrier
    surface: SurfaceLike
    radius: float
    rolling: bool
    carrier: NaturalBody | None = None
    axes = AXES

    def _in_world(self, X: Array) -> SurfaceLike:
        """Return the surface at its position in the world."""
        if self.carrier is None:
            return self.surface
        return _MovedSurface(self.surface, *_carrier_pose(self.carrier, X[9:]))

    def contact(self, X: Array) -> Array:
        """Return the point P (3,) m of the rim that is lowest above the surface."""
        surface, centre, u = self._in_world(X), X[:3], X[6:9] / np.linalg.norm(X[6:9])
        n = surface.gradient(centre)
        e = n - (n @ u) * u
        if float(np.linalg.norm(e)) < FLAT_TOL * float(np.linalg.norm(n)):
            raise ModelError(
                f"wheel {self.name!r}", "axis", u, "the wheel lies flat on the surface: the contact is no single point"
            )
        e = e / np.linalg.norm(e)
        g = np.cross(u, e)

        def slope(angle: float) -> float:
            """Return the slope of the rim above the surface."""
            c, s = float(np.cos(angle)), float(np.sin(angle))
            return float(surface.gradient(centre - self.radius * (c * e + s * g)) @ (s * e - c * g))

        angle, last, h = 0.0, np.inf, 1e-5
        for _ in range(50):
            step = -slope(angle) * 2 * h / (slope(angle + h) - slope(angle - h) or np.inf)
            angle += float(np.clip(step, -0.5, 0.5))
            if abs(step) < 1e-15 or (abs(step) < 1e-12 and abs(step) >= last):
                break
            last = abs(step)
        return np.asarray(centre - self.radius * (np.cos(angle) * e + np.sin(angle) * g))

    def gap(self, X: Array) -> float:
        """Return the distance of the wheel from the surface, m."""
        P, surface = self.contact(X), self._in_world(X)
        return surface.value(P) / float(np.linalg.norm(surface.gradient(P)))

    def jacobian(self, X: Array) -> Array:
        """Return J (rows, len(X))."""
        P = self.contact(X)
        n = self._in_world(X).gradient(P)
        centre, d, u = X[:3], X[3:6] - X[:3], X[6:9]
        spin = np.outer(u, np.cross(u, d)) / float(d @ d)
        w = np.hstack([-spin, spin, skew(u)])
        slip = np.hstack([np.eye(3), np.zeros((3, 6))]) - skew(P - centre) @ w
        if self.carrier is not None:
            slip = np.hstack([slip, -_carrier_velocity(self.carrier, X[9:], P)])
        return self._rows(n / np.linalg.norm(n), slip)


def _perpendicular(x: Array) -> Array:
    """Return k x x for a vector (2,)."""
    return np.array([-x[1], x[0]])


def _rim_velocity(O: Array, A: Array, P: Array) -> Array:  # noqa: E741
    """Return the matrix (2, 4) by which velocities of O and A give that of the point of their body at P (2,)."""
    d = A - O
    turn = _perpendicular(d) / float(d @ d)  # w = turn . (A' - O')
    spin = np.outer(_perpendicular(P - O), turn)
    return np.hstack([np.eye(2) - spin, spin])


def _carrier_pose(carrier: NaturalBody, Y: Array) -> tuple[Array, Array]:
    """Return rotation (d, d) and position (d,) of the frame of a body, from its coordinates Y."""
    names = body_coordinates(carrier)
    return carrier.frame.pose(dict(zip(names, Y.reshape(len(names), -1), strict=True)))


def _carrier_velocity(carrier: NaturalBody, Y: Array, P: Array) -> Array:
    """Return the matrix (d, len(Y)) by which velocities of a body's coordinates give that of its point at P (d,)."""
    R, o = _carrier_pose(carrier, Y)
    return point_matrix(carrier, R.T @ (P - o))


def equivalent_centre(wheel: PlaneWheel, X: Any) -> tuple[Array, Array]:
    """Return the centres O' and A' of the four-bar A' A O O' that moves like a rolling wheel to second order.

    Parameters
    ----------
    wheel : PlaneWheel
        On a fixed track.
    X : (4,) m
        O and A.

    Returns
    -------
    (2,), (2,) m
        O' is the centre of curvature of the track, A' of the path of A, by Euler and Savary,

            (1 / PA + 1 / PA') sin psi = 1 / PO + 1 / PO'                  Garcia de Jalon and Bayo 1994, (3.58)     (3)

        with psi the angle from the tangent to PA, and PO', PA' positive on the other side of P. They hold for
        velocities and accelerations at this instant. Infinite where a path is straight.
    """
    X = np.asarray(X, dtype=float)
    _, n, kappa = wheel.track.foot(X[:2])
    P = wheel.contact(X)
    away = X[2:4] - P
    far = float(np.linalg.norm(away))
    if far < 1e-12 * wheel.radius:
        raise ModelError(
            f"wheel {wheel.name!r}", "A", X[2:4], "it is at the contact, where its path has a cusp and no centre"
        )
    sine = float(away @ n) / far
    with np.errstate(divide="ignore", invalid="ignore"):
        first = P - n / np.float64(kappa) if kappa else P - n * np.inf
        inverse = (1 / wheel.radius + kappa) / sine - 1 / far if sine else np.inf
        second = P - away / far / inverse if inverse else P - away / far * np.inf
    return np.asarray(first), np.asarray(second)


class Wheels(Joints):
    """Wheels of a `Mechanism`."""

    speed_rows: list[SpeedRows]
    _made: NaturalEquations | None

    def body(self, name: str, points: Any, vectors: Any = ()) -> None:
        """Add a rigid body."""
        raise NotImplementedError

    def wheel(
        self,
        name: str,
        centre: str,
        rim: str,
        track: Any,
        *,
        radius: float,
        axis: str | None = None,
        rolling: bool = True,
        on: str | None = None,
    ) -> PlaneWheel | RodWheel | SpaceWheel:
        """Add a wheel in contact with a track, rolling or sliding.

        Parameters
        ----------
        name : str
            Of the wheel, which becomes a body.
        centre, rim : str
            Its centre, and a point fixed in it, on its rim or elsewhere.
        track : Line, Circle, Curve, or pair of points; in space Plane, Cylinder, Sphere, Surface
            Two points are a rod that may move; the wheel is on the side of its described position.
        radius : float, m
        axis : str
            In space, a vector perpendicular to the wheel.
        rolling : bool
            False for a sliding wheel. Friction decides which of the two happens, not kinematics.
        on : str
            Body that carries the track. The track is given in the frame in which the body's points were given; for
            points without numbers, that is the world at the described positions.

        Notes
        -----
        Rolling constrains velocities only; the angle of the wheel follows from its path (`motion` integrates).
        """
        item = f"wheel {name!r}"
        r = positive(item, radius=radius)["radius"]
        O, A = self._point(centre, item), self._point(rim, item)  # noqa: E741
        values = self._values()
        if (axis is None) == (self.dimension == 3):
            raise ModelError(item, "axis", axis, "in space name a vector, in the plane none")
        made: PlaneWheel | RodWheel | SpaceWheel
        carrier = self._carrier(on, track, item)
        more = () if carrier is None else body_coordinates(carrier)
        if axis is not None:
            self._direction(axis, item)
            if abs(float((values[A] - values[O]) @ values[axis])) > 1e-9 * r:
                raise ModelError(item, "axis", axis, f"it has to be perpendicular to the line from {O!r} to {A!r}")
            if not hasattr(track, "gradient"):
                raise ModelError(item, "track", track, "in space use Plane, Cylinder, Sphere or Surface")
            self.body(name, [O, A], [axis])
            made = SpaceWheel(name, (O, A, axis, *more), track, r, rolling, carrier)
        elif isinstance(track, (tuple, list)):
            e = self._direction((track[0], track[1]), item).value(values)
            d = values[O] - values[track[0]]
            side = 1.0 if float(e[0] * d[1] - e[1] * d[0]) >= 0.0 else -1.0
            self.body(name, [O, A])
            made = RodWheel(name, (O, A, track[0], track[1]), r, side, rolling)
        else:
            if not hasattr(track, "foot"):
                raise ModelError(item, "track", track, "in the plane use Line, Circle, Curve, or a pair of points")
            if isinstance(track, Circle) and track.inside and not track.radius > r:
                raise ModelError(
                    item, "radius", r, f"it has to be below that of the track around it, {track.radius:.6g}"
                )
            self.body(name, [O, A])
            made = PlaneWheel(name, (O, A, *more), track, r, rolling, carrier)
        self._demand(name, (self.dimension if rolling else 1))
        self.speed_rows.append(made)
        self._made = None
        return made

    def _carrier(self, on: str | None, track: Any, item: str) -> NaturalBody | None:
        """Return the body that carries a track, or None."""
        if on is None:
            return None
        if on not in self.bodies:
            raise ModelError(item, "on", on, "name a body of the mechanism that was added before")
        if isinstance(track, (tuple, list)):
            raise ModelError(item, "on", on, "a rod between two points moves with them: leave it out")
        frame = self.bodies[on].frame
        if frame.origin is None or not frame.complete:
            raise ModelError(item, "on", on, "this body has no complete frame: give it a point and vectors")
        return self.bodies[on]
