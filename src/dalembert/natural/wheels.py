"""Wheels that roll or slide: rows that bind speeds, with the contact as a row of positions.

A wheel is its centre O, a point A fixed in it at d = A - O, in space also its axis u. P is the point of contact:

    plane   w = d x d' / |d|^2                    O' + w k x (P - O) = v_track(P)                                   (1)
    space   w = u x u' + ((d x d') . u / |d|^2) u       O' + w x (P - O) = 0                                         (2)

for rolling; for sliding only the part along the normal, which is the rate of the contact row delta(O) = r in the plane,
and of the gap at P in space. Erratum: the book's pair (3.53), (3.54) loses its rank twice a turn, where P, O and A are
in line, and its set for space (3.71) leaves a degree of freedom too many; (1) and (2) never do. Accelerations follow
from (1) and (2) by differentiation along the motion, so that the pole velocity P' is that of the mathematical contact
point ((3.57); (3.78) holds for upright wheels only); derivatives are differences of sixth order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..rotation import skew
from .equations import AXES
from .tracks import SurfaceLike, Track

__all__ = [
    "PlaneWheel", "RodWheel", "SpaceWheel", "WheelRows", "equivalent_centre", "rim", "turned",
]  # fmt: skip

Array = NDArray[np.float64]


def turned(x: Array) -> Array:
    """Return k x x."""
    return np.array([-x[1], x[0]])


class WheelRows:
    """What wheels have in common: names of their rows, and rates of J V along a motion."""

    name: str
    coordinates: tuple[str, ...]
    radius: float
    rolling: bool
    axes = "xy"

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the rows: contact, and rolling by components."""
        return (f"{self.name}: contact", *(f"{self.name}: rolling {axis}" for axis in self.axes if self.rolling))

    @property
    def powers(self) -> tuple[int, ...]:
        """Return the powers of length of the rows."""
        return (1,) * len(self.names)

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """Return which rows hold positions."""
        return tuple(k == 0 for k in range(len(self.names)))

    def jacobian(self, X: Array) -> Array:
        raise NotImplementedError

    def _pace(self, V: Array) -> float:
        """Return a time in which the wheel moves by about its radius, or turns by a radian, s."""
        points = V[: 2 * len(self.axes)] / self.radius  # of O and A; then those of the rod, or the axis
        further = V[2 * len(self.axes) :] / (self.radius if len(self.axes) == 2 else 1.0)
        fast = float(np.abs(np.concatenate([points, further])).max(initial=0.0))
        return 1.0 if fast == 0.0 else 1.0 / fast

    def _speeds(self, X: Array, V: Array, A: Array, s: float) -> Array:
        return np.asarray(self.jacobian(X + s * V + s * s / 2 * A) @ (V + s * A))

    def bias(self, X: Array, V: Array) -> Array:
        """Return J' V (rows,)."""
        h, still = 1e-2 * self._pace(V), np.zeros_like(X)
        g = [self._speeds(X, V, still, k * h) for k in (-3, -2, -1, 1, 2, 3)]
        rate: Array = (45 * (g[3] - g[2]) - 9 * (g[4] - g[1]) + (g[5] - g[0])) / (60 * h)
        return rate

    def bias_rate(self, X: Array, V: Array, A: Array) -> Array:
        """Return 2 J' A + J'' V (rows,)."""
        h = 2e-2 * self._pace(V)
        g = [self._speeds(X, V, A, k * h) for k in (-3, -2, -1, 0, 1, 2, 3)]
        outer, middle, inner = (g[0] + g[6]), (g[1] + g[5]), (g[2] + g[4])
        rate: Array = (2 * outer - 27 * middle + 270 * inner - 490 * g[3]) / (180 * h * h)
        return rate


@dataclass(frozen=True, eq=False)
class PlaneWheel(WheelRows):
    """A wheel on a fixed track in the plane."""

    name: str
    coordinates: tuple[str, ...]  # O, A
    track: Track
    radius: float
    rolling: bool

    def contact(self, X: Array) -> Array:
        """Return P (2,) for O and A."""
        return np.asarray(X[:2] - self.radius * self.track.foot(X[:2])[1])

    def pole_velocity(self, X: Array, V: Array) -> Array:
        """Return P' (2,): of the point of contact, not of what is there."""
        _, n, kappa = self.track.foot(X[:2])
        t = -turned(n)
        return np.asarray(V[:2] - self.radius * kappa / (1 + kappa * self.radius) * (t @ V[:2]) * t)

    def residual(self, X: Array) -> Array:
        """Return how far the wheel is from its track."""
        gap = self.track.foot(X[:2])[0] - self.radius
        return np.array([gap, *[0.0] * (len(self.names) - 1)])

    def jacobian(self, X: Array) -> Array:
        """Return J (rows, 4)."""
        _, n, _ = self.track.foot(X[:2])
        rows = [np.concatenate([n, np.zeros(2)])]
        if self.rolling:
            rows += list(rim(X[:2], X[2:4], -self.radius * n))
        return np.array(rows)


def rim(O: Array, A: Array, reach: Array) -> Array:  # noqa: E741
    """Return the velocity at O + reach of a wheel by O and A, as (2, 4)."""
    d = A - O
    turn = turned(d) / float(d @ d)  # w = turn . (A' - O')
    spin = np.outer(turned(reach), turn)
    return np.hstack([np.eye(2) - spin, spin])


@dataclass(frozen=True, eq=False)
class RodWheel(WheelRows):
    """A wheel on a rod that moves, by two points of it, in the plane."""

    name: str
    coordinates: tuple[str, ...]  # O, A, 1, 2
    radius: float
    side: float
    rolling: bool

    def _normal(self, X: Array) -> tuple[Array, float]:
        e = X[6:8] - X[4:6]
        length = float(np.linalg.norm(e))
        return np.asarray(self.side * turned(e) / length), length

    def contact(self, X: Array) -> Array:
        """Return P (2,)."""
        return np.asarray(X[:2] - self.radius * self._normal(X)[0])

    def residual(self, X: Array) -> Array:
        """Return how far the wheel is from the rod."""
        gap = float(self._normal(X)[0] @ (X[:2] - X[4:6])) - self.radius
        return np.array([gap, *[0.0] * (len(self.names) - 1)])

    def jacobian(self, X: Array) -> Array:
        """Return J (rows, 8)."""
        n, _ = self._normal(X)
        P = self.contact(X)
        wheel = np.hstack([rim(X[:2], X[2:4], P - X[:2]), np.zeros((2, 4))])
        rod = np.hstack([np.zeros((2, 4)), rim(X[4:6], X[6:8], P - X[4:6])])
        slip = wheel - rod
        return np.vstack([n @ slip, *([slip] if self.rolling else [])])


@dataclass(frozen=True, eq=False)
class SpaceWheel(WheelRows):
    """A wheel on a fixed surface in space."""

    name: str
    coordinates: tuple[str, ...]  # O, A, u
    surface: SurfaceLike
    radius: float
    rolling: bool
    axes = AXES

    def contact(self, X: Array) -> Array:
        """Return the lowest point P (3,) of the rim above the surface."""
        centre, u = X[:3], X[6:9] / np.linalg.norm(X[6:9])
        n = self.surface.gradient(centre)
        e = n - (n @ u) * u
        if float(np.linalg.norm(e)) < 1e-9 * float(np.linalg.norm(n)):
            raise ModelError(f"wheel {self.name!r}", "axis", u, "it lies flat on the surface: no single point touches")
        e = e / np.linalg.norm(e)
        g = np.cross(u, e)

        def slope(angle: float) -> float:
            """Return how fast the rim rises."""
            c, s = float(np.cos(angle)), float(np.sin(angle))
            return float(self.surface.gradient(centre - self.radius * (c * e + s * g)) @ (s * e - c * g))

        angle, last, h = 0.0, np.inf, 1e-5
        for _ in range(50):
            step = -slope(angle) * 2 * h / (slope(angle + h) - slope(angle - h) or np.inf)
            angle += float(np.clip(step, -0.5, 0.5))
            if abs(step) < 1e-15 or (abs(step) < 1e-12 and abs(step) >= last):
                break
            last = abs(step)
        return np.asarray(centre - self.radius * (np.cos(angle) * e + np.sin(angle) * g))

    def pole_velocity(self, X: Array, V: Array) -> Array:
        """Return P' (3,): of the point of contact, not of what is there."""
        h = 1e-2 * self._pace(V)
        g = [self.contact(X + k * h * V) for k in (-3, -2, -1, 1, 2, 3)]
        return np.asarray((45 * (g[3] - g[2]) - 9 * (g[4] - g[1]) + (g[5] - g[0])) / (60 * h))

    def residual(self, X: Array) -> Array:
        """Return how far the wheel is from the surface."""
        P = self.contact(X)
        gap = self.surface.value(P) / float(np.linalg.norm(self.surface.gradient(P)))
        return np.array([gap, *[0.0] * (len(self.names) - 1)])

    def jacobian(self, X: Array) -> Array:
        """Return J (rows, 9)."""
        P = self.contact(X)
        there = self.rim_velocity(X, P)
        n = self.surface.gradient(P)
        return np.vstack([n / np.linalg.norm(n) @ there, *([there] if self.rolling else [])])

    def rim_velocity(self, X: Array, P: Array) -> Array:
        """Return the velocity of the wheel's point at P as a matrix (3, 9)."""
        centre, d, u = X[:3], X[3:6] - X[:3], X[6:9]
        spin = np.outer(u, np.cross(u, d)) / float(d @ d)
        w = np.hstack([-spin, spin, skew(u)])
        return np.asarray(np.hstack([np.eye(3), np.zeros((3, 6))]) - skew(P - centre) @ w)


def equivalent_centre(wheel: PlaneWheel, X: Any) -> tuple[Array, Array]:
    """Return the centres O' and A' of the four-bar A' A O O' that moves like a rolling wheel to second order.

    Parameters
    ----------
    wheel : PlaneWheel
    X : (4,) m
        O and A.

    Returns
    -------
    (2,), (2,) m
        O' is the centre of curvature of the track, A' of the path of A, by Euler and Savary,

            (1 / PA + 1 / PA') sin psi = 1 / PO + 1 / PO'                  Garcia de Jalon and Bayo 1994, (3.58)     (3)

        psi being the angle from the tangent to PA, and PO', PA' positive on the other side of P. They hold for
        velocities and accelerations at this instant. Infinite where a path is straight.
    """
    X = np.asarray(X, dtype=float)
    _, n, kappa = wheel.track.foot(X[:2])
    P = wheel.contact(X)
    away = X[2:4] - P
    far = float(np.linalg.norm(away))
    if far < 1e-12 * wheel.radius:
        raise ModelError(
            f"wheel {wheel.name!r}", "A", X[2:4], "it is at the contact, where its path has a cusp: no centre"
        )
    sine = float(away @ n) / far
    with np.errstate(divide="ignore", invalid="ignore"):
        first = P - n / np.float64(kappa) if kappa else P - n * np.inf
        inverse = (1 / wheel.radius + kappa) / sine - 1 / far if sine else np.inf
        second = P - away / far / inverse if inverse else P - away / far * np.inf
    return np.asarray(first), np.asarray(second)
