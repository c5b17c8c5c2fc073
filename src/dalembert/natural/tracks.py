"""Tracks of wheels: lines, circles and curves in the plane, planes and surfaces in space.

A track in the plane gives the distance delta of a point x, positive on the side of the wheel, the normal n and its
change along the track:

    delta(x),   n = grad delta,   grad n = kappa / (1 + kappa delta) t t^T                                          (1)

with kappa the curvature of the track at the point nearest to x, positive if it bends away from the wheel. A surface
gives a function that is zero on it and grows towards the wheel, and its gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..checks import finite_array, positive, set_fields
from ..errors import ModelError

__all__ = ["Circle", "Curve", "Cylinder", "Line", "Plane", "Sphere", "Surface", "Track"]


class Track(Protocol):
    """Track in the plane."""

    def foot(self, x: Array) -> tuple[float, Array, float]:
        """Return distance (m), normal (2,) towards x, and curvature (1/m) at the nearest point, for x (2,)."""
        ...


@dataclass(frozen=True, eq=False)
class Line:
    """Straight track through a point along a direction; the wheel is on its left."""

    point: ArrayLike
    direction: ArrayLike

    def __post_init__(self) -> None:
        point = finite_array(self.point, (2,), item="Line", field="point")
        along = finite_array(self.direction, (2,), item="Line", field="direction")
        if not np.linalg.norm(along) > 0.0:
            raise ModelError("Line", "direction", self.direction, "a direction must not be zero")
        set_fields(self, point=point, direction=along / np.linalg.norm(along))

    def foot(self, x: Array) -> tuple[float, Array, float]:
        """Return distance, normal and curvature (see `Track`)."""
        e = np.asarray(self.direction)
        n = np.array([-e[1], e[0]])
        return float(n @ (x - np.asarray(self.point))), n, 0.0


@dataclass(frozen=True, eq=False)
class Circle:
    """Circular track; the wheel is outside, or inside."""

    centre: ArrayLike
    radius: float
    inside: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", finite_array(self.centre, (2,), item="Circle", field="centre"))
        positive("Circle", radius=self.radius)

    def foot(self, x: Array) -> tuple[float, Array, float]:
        """Return distance, normal and curvature (see `Track`)."""
        away = x - np.asarray(self.centre)
        far = float(np.linalg.norm(away))
        if not far > 0.0:
            raise ModelError("Circle", "centre", x, "the wheel is at the centre: no single point of contact")
        sign = -1.0 if self.inside else 1.0
        return sign * (far - self.radius), sign * away / far, sign / self.radius


@dataclass(frozen=True, eq=False)
class Curve:
    """Smooth curve x(s); the wheel is on its left, or with `right` on its right.

    Parameters
    ----------
    function : callable of s
        Returns (2,), m.
    domain : (2,)
        Range of s.
    derivatives : callable of s
        Returns x'(s) and x''(s), (2, 2); by differences if left out, accurate to about nine and six digits.
    right : bool
    """

    function: Callable[[float], Any]
    domain: ArrayLike
    derivatives: Callable[[float], Any] | None = None
    right: bool = False
    _seen: tuple[Array, Array] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ends = finite_array(self.domain, (2,), item="Curve", field="domain")
        if not ends[1] > ends[0]:
            raise ModelError("Curve", "domain", self.domain, "the end has to exceed the beginning")
        object.__setattr__(self, "domain", ends)
        s = np.linspace(float(ends[0]), float(ends[1]), 401)
        places = [finite_array(self.function(float(x)), (2,), item="Curve", field=f"function({x:.6g})") for x in s]
        object.__setattr__(self, "_seen", (s, np.array(places)))

    def _at(self, s: float) -> tuple[Array, Array, Array]:
        x = np.asarray(self.function(s), dtype=float)
        if self.derivatives is not None:
            first, second = np.asarray(self.derivatives(s), dtype=float)
            return x, first, second
        h = 1e-3 * float(np.ptp(np.asarray(self.domain)))
        f = [np.asarray(self.function(s + k * h), dtype=float) for k in (-2, -1, 1, 2)]
        first = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)
        second = (-f[0] + 16 * f[1] - 30 * x + 16 * f[2] - f[3]) / (12 * h * h)
        return x, first, second

    def foot(self, x: Array) -> tuple[float, Array, float]:
        """Return distance, normal and curvature (see `Track`), at the nearest point of the domain."""
        steps, places = self._seen
        s = float(steps[np.linalg.norm(places - x, axis=1).argmin()])
        low, high = (float(end) for end in np.asarray(self.domain))
        for _ in range(30):
            at, first, second = self._at(s)
            slope = float(first @ first + (at - x) @ second)
            step = -float((at - x) @ first) / (slope if slope > 0.0 else float(first @ first))
            s = min(max(s + step, low), high)
            if abs(step) <= 1e-15 * (high - low):
                break
        at, first, second = self._at(s)
        size = float(np.linalg.norm(first))
        n = np.array([-first[1], first[0]]) / size * (-1.0 if self.right else 1.0)
        bend = float(first[0] * second[1] - first[1] * second[0]) / size**3
        return float(n @ (x - at)), n, bend if self.right else -bend


class SurfaceLike(Protocol):
    """Surface as the zero set of a function that grows towards the wheel."""

    def value(self, x: Array) -> float:
        """Return the function at x (3,)."""
        ...

    def gradient(self, x: Array) -> Array:
        """Return its gradient (3,)."""
        ...


@dataclass(frozen=True, eq=False)
class Plane:
    """Plane through a point; the wheel is on the side of the normal."""

    point: ArrayLike = (0.0, 0.0, 0.0)
    normal: ArrayLike = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", finite_array(self.point, (3,), item="Plane", field="point"))
        n = finite_array(self.normal, (3,), item="Plane", field="normal")
        if not np.linalg.norm(n) > 0.0:
            raise ModelError("Plane", "normal", self.normal, "a normal must not be zero")
        object.__setattr__(self, "normal", n / np.linalg.norm(n))

    def value(self, x: Array) -> float:
        """Return the distance of x."""
        return float(np.asarray(self.normal) @ (x - np.asarray(self.point)))

    def gradient(self, x: Array) -> Array:
        """Return the normal."""
        return np.asarray(self.normal, dtype=float)


@dataclass(frozen=True, eq=False)
class Cylinder:
    """Circular cylinder about an axis; the wheel is outside, or inside."""

    point: ArrayLike
    axis: ArrayLike
    radius: float
    inside: bool = False

    def __post_init__(self) -> None:
        positive("Cylinder", radius=self.radius)
        object.__setattr__(self, "point", finite_array(self.point, (3,), item="Cylinder", field="point"))
        e = finite_array(self.axis, (3,), item="Cylinder", field="axis")
        if not np.linalg.norm(e) > 0.0:
            raise ModelError("Cylinder", "axis", self.axis, "an axis must not be zero")
        object.__setattr__(self, "axis", e / np.linalg.norm(e))

    def _away(self, x: Array) -> Array:
        e, d = np.asarray(self.axis), x - np.asarray(self.point)
        return np.asarray(d - (d @ e) * e)

    def value(self, x: Array) -> float:
        """Return the distance of x."""
        return (-1.0 if self.inside else 1.0) * (float(np.linalg.norm(self._away(x))) - self.radius)

    def gradient(self, x: Array) -> Array:
        """Return the normal at x."""
        away = self._away(x)
        return np.asarray((-1.0 if self.inside else 1.0) * away / np.linalg.norm(away))


@dataclass(frozen=True, eq=False)
class Sphere:
    """Sphere; the wheel is outside, or inside."""

    centre: ArrayLike
    radius: float
    inside: bool = False

    def __post_init__(self) -> None:
        positive("Sphere", radius=self.radius)
        object.__setattr__(self, "centre", finite_array(self.centre, (3,), item="Sphere", field="centre"))

    def value(self, x: Array) -> float:
        """Return the distance of x."""
        far = float(np.linalg.norm(x - np.asarray(self.centre)))
        return (-1.0 if self.inside else 1.0) * (far - self.radius)

    def gradient(self, x: Array) -> Array:
        """Return the normal at x."""
        away = x - np.asarray(self.centre)
        return np.asarray((-1.0 if self.inside else 1.0) * away / np.linalg.norm(away))


@dataclass(frozen=True, eq=False)
class Surface:
    """Surface by a function of x (3,) that is zero on it and grows towards the wheel, and its gradient.

    Without `slope` the gradient is by differences, accurate to about nine digits.
    """

    function: Callable[[Array], float]
    slope: Callable[[Array], Any] | None = None

    def value(self, x: Array) -> float:
        """Return the function at x."""
        return float(self.function(x))

    def gradient(self, x: Array) -> Array:
        """Return its gradient."""
        if self.slope is not None:
            return finite_array(self.slope(x), (3,), item="Surface", field="slope")
        h = 1e-4 * max(1.0, float(np.abs(x).max()))
        f = [[self.value(x + k * h * e) for e in np.eye(3)] for k in (-2, -1, 1, 2)]
        return (np.array(f[0]) - 8 * np.array(f[1]) + 8 * np.array(f[2]) - np.array(f[3])) / (12 * h)
