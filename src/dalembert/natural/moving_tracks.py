"""Wheels on tracks that move: curves and surfaces fixed in a body, which the track is described in.

With the body's frame at o, turned by R, a wheel sees the track at R^T (O - o); P, n and the gap follow as on a track at
rest. What rolls has the velocity of the body's point at P:

    O' + w x (P - O) = o' + w_b x (P - o)                                                                            (1)

and what slides obeys the component along the normal. o', R' and so w_b are linear in the rates of the body's
coordinates: in the plane of one base member e, with c = e in the body,

    w_b = e x e' / |e|^2                                                                                             (2)

in space of three, E = R C, w_b = 1/2 sum g_k x e_k' with the rows g_k of C^-1 R^T.                                  (3)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..rotation import skew
from .bodies import NaturalBody
from .equations import AXES
from .inertia import body_coordinates
from .tracks import SurfaceLike, Track
from .wheels import SpaceWheel, WheelRows, rim, turned

__all__ = ["MovingTrackPlaneWheel", "MovingTrackSpaceWheel", "TrackBody"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TrackBody:
    """A body that carries a track: its frame, from its coordinates one after the other."""

    body: NaturalBody

    @property
    def names(self) -> tuple[str, ...]:
        """Return its coordinates."""
        return body_coordinates(self.body)

    @property
    def dimension(self) -> int:
        """Return 2 or 3."""
        return len(self.body.frame.columns)

    def check(self, item: str) -> None:
        """Refuse bodies whose attitude their coordinates do not tell."""
        if self.body.frame.origin is None or len(self.body.frame.base) < (1 if self.dimension == 2 else 3):
            raise ModelError(item, "on", self.body.name, "this body has no whole frame: give it a point and vectors")

    def frame(self, Y: Array) -> tuple[Array, Array]:
        """Return o (d,) and R (d, d) for its coordinates Y."""
        frame, at = self.body.frame, self._values(Y)
        if self.dimension == 3:
            R = np.array([e.value(at) for e in frame.base]).T @ np.linalg.inv(frame.columns)
        else:
            d, c = frame.base[0].value(at), frame.columns[:, 0]
            cosine, sine = float(c @ d) / float(c @ c), float(c[0] * d[1] - c[1] * d[0]) / float(c @ c)
            R = np.array([[cosine, -sine], [sine, cosine]])
        assert frame.origin is not None
        return np.asarray(at[frame.origin] - R @ frame.origin_at), R

    def velocity(self, Y: Array, P: Array) -> Array:
        """Return the velocity of the body's point at P as a matrix (d, len(Y)) of the rates of its coordinates."""
        frame, names, at = self.body.frame, self.names, self._values(Y)
        d = self.dimension
        assert frame.origin is not None
        found = np.zeros((d, len(Y)))
        start = names.index(frame.origin) * d
        found[:, start : start + d] += np.eye(d)
        reach = P - at[frame.origin]
        if d == 2:
            e = frame.base[0].value(at)
            blocks = [np.outer(turned(reach), turned(e)) / float(e @ e)]
        else:
            _, R = self.frame(Y)
            G = np.linalg.inv(frame.columns) @ R.T
            blocks = [-0.5 * skew(reach) @ skew(g) for g in G]
        for e_k, block in zip(frame.base, blocks, strict=True):
            for factor, tip, tail in e_k.parts:
                for name, sign in ((tip, factor), (tail, -factor)):
                    if name is not None:
                        k = names.index(name) * d
                        found[:, k : k + d] += sign * block
        return found

    def _values(self, Y: Array) -> dict[str, Array]:
        d = self.dimension
        return {name: Y[k * d : (k + 1) * d] for k, name in enumerate(self.names)}


@dataclass(frozen=True, eq=False)
class MovingTrackPlaneWheel(WheelRows):
    """A wheel on a curve of a body that moves, in the plane."""

    name: str
    coordinates: tuple[str, ...]  # O, A, and those of the body
    track: Track
    radius: float
    rolling: bool
    carrier: TrackBody

    def _seen(self, X: Array) -> tuple[float, Array]:
        """Return the distance of O from the track, and the normal there in the world."""
        o, R = self.carrier.frame(X[4:])
        far, n, _ = self.track.foot(R.T @ (X[:2] - o))
        return far, np.asarray(R @ n)

    def contact(self, X: Array) -> Array:
        """Return P (2,)."""
        return np.asarray(X[:2] - self.radius * self._seen(X)[1])

    def residual(self, X: Array) -> Array:
        """Return how far the wheel is from its track."""
        return np.array([self._seen(X)[0] - self.radius, *[0.0] * (len(self.names) - 1)])

    def jacobian(self, X: Array) -> Array:
        """Return J (rows, len(X))."""
        n = self._seen(X)[1]
        P = X[:2] - self.radius * n
        slip = np.hstack([rim(X[:2], X[2:4], P - X[:2]), -self.carrier.velocity(X[4:], P)])
        return np.vstack([n @ slip, *([slip] if self.rolling else [])])


@dataclass(frozen=True, eq=False)
class _Moved:
    """A surface in the world, where a body carries it."""

    surface: SurfaceLike
    o: Array
    R: Array

    def value(self, x: Array) -> float:
        return self.surface.value(self.R.T @ (x - self.o))

    def gradient(self, x: Array) -> Array:
        return np.asarray(self.R @ self.surface.gradient(self.R.T @ (x - self.o)))


@dataclass(frozen=True, eq=False)
class MovingTrackSpaceWheel(WheelRows):
    """A wheel on a surface of a body that moves, in space."""

    name: str
    coordinates: tuple[str, ...]  # O, A, u, and those of the body
    surface: SurfaceLike
    radius: float
    rolling: bool
    carrier: TrackBody
    axes = AXES

    def _still(self, X: Array) -> SpaceWheel:
        """Return the wheel on the surface where it is now."""
        moved: Any = _Moved(self.surface, *self.carrier.frame(X[9:]))
        return SpaceWheel(self.name, self.coordinates[:3], moved, self.radius, self.rolling)

    def contact(self, X: Array) -> Array:
        """Return P (3,)."""
        return self._still(X).contact(X[:9])

    def residual(self, X: Array) -> Array:
        """Return how far the wheel is from the surface."""
        return self._still(X).residual(X[:9])

    def jacobian(self, X: Array) -> Array:
        """Return J (rows, len(X))."""
        still = self._still(X)
        P = still.contact(X[:9])
        gradient = still.surface.gradient(P)
        n = gradient / np.linalg.norm(gradient)
        slip = np.hstack([still.rim_velocity(X[:9], P), -self.carrier.velocity(X[9:], P)])
        return np.vstack([n @ slip, *([slip] if self.rolling else [])])
