"""Coupler curves: arc length, tangent, curvature, torsion and special points.

    curvature   k = n . (v x a) / |v|^3  in a plane with normal n,   |v x a| / |v|^3  in space                      (1)
    torsion     (v x a) . j / |v x a|^2                                                                             (2)

None of them depends on the speed along the path.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...arrays import Array, BoolArray
from ...bodies.markers import Marker
from ...connections.joints.joint import frame_with_z
from ...errors import ModelError
from ...model.interpolation import Quintic
from ...result import Result
from .interpolation import differentiate, refine, sign_changes
from .kinematic_result import KinematicResult
from .relative_motion import RelativeFrameMotion, find_frame
from .self_crossings import crossings, zone_width

__all__ = ["CouplerCurve", "CurvePoint", "Straightness", "coupler_curve"]


STATIONARY_TOL = 1e-5  # of the speed of a body point at that distance; a slower point is at rest
CUSP_TOL = 1e-3  # relative distance of a path from the line along which it stops; more is a cusp


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """Special point of a path.

    Attributes
    ----------
    t : tuple of float, s
        Time at the point; two times at a double point.
    point : (3,) m
    """

    t: tuple[float, ...]
    point: Array

    def __repr__(self) -> str:
        where = ", ".join(f"{x:.6g}" for x in self.point)
        return f"<CurvePoint at t = {', '.join(f'{t:.6g}' for t in self.t)}: ({where})>"


@dataclass(frozen=True, eq=False)
class Straightness:
    """Straightness of a path over a range.

    Attributes
    ----------
    start, stop : float, s
    length : float, m
        Extent along the line.
    width : float, m
        Distance of the two nearest parallel lines that enclose the path (ISO 1101, minimum zone); in space twice
        `deviation`.
    deviation : float, m
        Largest distance from the line of least squares.
    rms : float, m
        Root mean square of these distances.
    point, direction : (3,) m, 1
        Of the line of least squares.
    """

    start: float
    stop: float
    length: float
    width: float
    deviation: float
    rms: float
    point: Array
    direction: Array


@dataclass(frozen=True, eq=False, repr=False)
class CouplerCurve(KinematicResult):
    """Path of a point relative to a body.

    Attributes
    ----------
    result : Result
    point, relative_to : str
        The point, and the frame of the path.
    t : (n,) s
    points : (n, 3) m
    velocity, acceleration : (n, 3) m/s, m/s2
    normal : (3,) or None
        Of the plane of the path; None if it has torsion. Curvature is positive where the path turns counter-clockwise
        about it.
    """

    result: Result
    point: str
    relative_to: str
    t: Array
    points: Array
    velocity: Array
    acceleration: Array
    normal: Array | None
    _fine: tuple[RelativeFrameMotion, Quintic]
    _marker: Marker
    _arrays: ClassVar = {
        "points": (("time", "axis"), "m"),
        "velocity": (("time", "axis"), "m/s"),
        "acceleration": (("time", "axis"), "m/s2"),
        "length": (("time",), "m"),
        "curvature": (("time",), "1/m"),
    }

    @property
    def speed(self) -> Array:
        """Speed along the path, (n,) m/s."""
        return np.asarray(np.linalg.norm(self.velocity, axis=1))

    @cached_property
    def length(self) -> Array:
        """Arc length from the first row, (n,) m."""
        track = self._fine[1]
        nodes, weights = np.polynomial.legendre.leggauss(5)
        stops = [spot.t[0] for spot, _ in self._stops]  # the speed has a kink there
        t = np.unique(np.concatenate([track.t, self.t, stops]))
        h = np.diff(t)
        times = t[:-1, None] + h[:, None] * (1 + nodes) / 2
        speeds = np.linalg.norm(track(times.ravel(), 1), axis=1).reshape(times.shape)
        total = np.concatenate([[0.0], np.cumsum(h / 2 * (speeds @ weights))])
        return np.asarray(total[np.searchsorted(t, self.t)])

    @cached_property
    def tangent(self) -> Array:
        """Unit vectors along the path, (n, 3).

        At a start from rest, in the direction of the motion that follows.
        """
        rest = self._at_rest
        along = np.where(rest[:, None], self.acceleration, self.velocity)
        size = np.linalg.norm(along, axis=1, keepdims=True)
        return np.asarray(np.divide(along, size, out=np.full_like(along, np.nan), where=size > 0))

    @cached_property
    def curvature(self) -> Array:
        """Curvature (n,) 1/m, with its sign if the path is in a plane; NaN where the point is at rest."""
        cross = np.cross(self.velocity, self.acceleration)
        top = np.linalg.norm(cross, axis=1) if self.normal is None else cross @ self.normal
        still = self._at_rest
        return np.asarray(np.divide(top, self.speed**3, out=np.full(len(self.t), np.nan), where=~still))

    @cached_property
    def torsion(self) -> Array:
        """Torsion (n,) 1/m; zero in a plane, NaN where the path has no curvature."""
        if self.normal is not None:
            return np.zeros(len(self.t))
        cross = np.cross(self.velocity, self.acceleration)
        size = (cross**2).sum(axis=1)
        jerk = differentiate(self.t, self.points, self.velocity, self.acceleration)
        bent = ~self._at_rest & (size > 1e-24 * self.speed**6 / self._size**2)
        return np.asarray(np.divide((cross * jerk).sum(axis=1), size, out=np.full(len(self.t), np.nan), where=bent))

    @cached_property
    def centres(self) -> Array:
        """Centres of curvature, (n, 3) m; infinite where the path is straight."""
        v, a = self.velocity, self.acceleration
        along = (v * a).sum(axis=1, keepdims=True)
        with np.errstate(all="ignore"):
            across = a - v * along / (v * v).sum(axis=1, keepdims=True)
            centre: Array = self.points + across * (v * v).sum(axis=1, keepdims=True) / (across**2).sum(
                axis=1, keepdims=True
            )
        return centre

    @cached_property
    def closed(self) -> bool:
        """True if the path ends at its first point, in the same direction."""
        back = float(np.linalg.norm(self.points[-1] - self.points[0]))
        cosine = float(np.nan_to_num(self.tangent[0] @ self.tangent[-1]))
        return len(self.t) > 2 and back < 1e-6 * self._size and cosine > 0.999

    # ---- special points

    @cached_property
    def cusps(self) -> list[CurvePoint]:
        """Cusps: points at which the path reverses sharply, the instant centre of the body."""
        return [spot for spot, bent in self._stops if bent]

    @cached_property
    def returns(self) -> list[CurvePoint]:
        """Points at which the point stops and moves back along its path, as a slider does, while its body turns."""
        return [spot for spot, bent in self._stops if not bent]

    @cached_property
    def inflections(self) -> list[CurvePoint]:
        """Points at which the curvature of a path in a plane changes its sign."""
        if self.normal is None:
            return []
        n, track = self.normal, self._fine[1]

        def bend(times: Array) -> Array:
            v, a = track(times, 1), track(times, 2)
            return np.asarray(np.cross(v, a) @ n)

        t = track.between(2)
        value = bend(t)
        # a straight path has none: its remaining curvature is rounding
        if zone_width(track(t) @ frame_with_z(n)[:, :2]) < 1e-9 * self._size:
            return []
        most = float(np.prod([np.linalg.norm(track(t, order), axis=1).max() for order in (1, 2)]))
        value[np.abs(value) < 1e-11 * most] = 0.0
        found = sign_changes(bend, t, value)[0]
        stops = [s.t[0] for s, _ in self._stops]
        step = 1e-3 * (self.t[-1] - self.t[0]) / max(len(self.t), 2)
        times = [x for x in found if all(abs(x - s) > step for s in stops)]
        return self._spots(times)

    @cached_property
    def double_points(self) -> list[CurvePoint]:
        """Points at which a path in a plane crosses itself, with both times."""
        if self.normal is None:
            return []
        seen, track = self._fine
        pairs = crossings(seen.t, track, self.normal, self._size)
        return [CurvePoint(pair, track(np.array(pair[:1]))[0]) for pair in pairs]

    def straightness(self, start: float | None = None, stop: float | None = None) -> Straightness:
        """Return the straightness of the path from `start` to `stop`, s; default the whole path."""
        t0 = float(self.t[0] if start is None else start)
        t1 = float(self.t[-1] if stop is None else stop)
        if not (self.t[0] <= t0 < t1 <= self.t[-1]):
            raise ModelError(
                "straightness", "range", (start, stop), f"give times from {self.t[0]:.6g} to {self.t[-1]:.6g} s"
            )
        track = self._fine[1]
        own = track.between(4)
        points = track(np.concatenate([[t0], own[(own > t0) & (own < t1)], [t1]]))
        middle = points.mean(axis=0)
        direction = np.linalg.svd(points - middle, full_matrices=False)[2][0]
        direction = direction * (1.0 if direction @ (points[-1] - points[0]) >= 0 else -1.0)
        along = (points - middle) @ direction
        off = np.linalg.norm(points - middle - along[:, None] * direction, axis=1)
        width = 2 * float(off.max())
        if self.normal is not None:
            width = zone_width((points - middle) @ np.column_stack([direction, np.cross(self.normal, direction)]))
        rms = float(np.sqrt((off**2).mean()))
        return Straightness(t0, t1, float(np.ptp(along)), width, float(off.max()), rms, middle, direction)

    def _headline(self) -> str:
        kind = "in a plane" if self.normal is not None else "in space"
        counts = (("cusp", self.cusps), ("inflection", self.inflections), ("double point", self.double_points))
        numbers = [f"{len(spots)} {name}{'s' * (len(spots) != 1)}" for name, spots in counts]
        shape = "closed, " * self.closed
        return f"{self.point} {kind}, {shape}{self.length[-1]:.6g} m, {', '.join(numbers)}"

    # ---- internals

    @cached_property
    def _size(self) -> float:
        return float(np.ptp(self.points, axis=0).max()) or 1e-300

    @cached_property
    def _at_rest(self) -> BoolArray:
        return np.asarray(self.speed <= 1e-9 * max(float(self.speed.max(initial=0.0)), 1e-300))

    @cached_property
    def _stops(self) -> list[tuple[CurvePoint, bool]]:
        """Points at rest while the body turns, and True for those at which the path is bent."""
        seen, track = self._fine
        if len(seen.t) < 3:
            return []

        def slope(times: Array) -> Array:
            return np.asarray((track(times, 1) * track(times, 2)).sum(axis=1))

        t = track.between(2)
        value = slope(t)
        found = np.array([x for x, rising in zip(*sign_changes(slope, t, value), strict=True) if rising])
        if not len(found):
            return []
        speed = np.linalg.norm(track(found, 1), axis=1)
        turning = np.linalg.norm(seen.angular_velocity, axis=1)
        turns = np.interp(found, seen.t, turning)
        still = (speed < STATIONARY_TOL * turns * self._size) & (turns > 1e-6 * turning.max())
        found = found[still]
        a, j = track(found, 2), differentiate(seen.t, *(track(seen.t, k) for k in range(3)))
        jerks = np.column_stack([np.interp(found, seen.t, column) for column in j.T]).reshape(-1, 3)
        pace = self._size / max(float(np.linalg.norm(track(t, 1), axis=1).max()), 1e-300)
        size = np.maximum(np.linalg.norm(a, axis=1), 1e-300)
        bent = np.linalg.norm(np.cross(a, jerks), axis=1) / size**2 * pace > CUSP_TOL
        return list(zip(self._spots(found.tolist()), bent.tolist(), strict=True))

    def _spots(self, times: list[float]) -> list[CurvePoint]:
        """Return the points without duplicates: a closed path has its first point twice."""
        spots: list[CurvePoint] = []
        for t, point in zip(times, self._fine[1](np.array(times)), strict=True):
            again = self.closed and spots and t > self.t[-1] - 1e-9 * np.ptp(self.t)
            if not (again and any(np.linalg.norm(s.point - point) < 1e-6 * self._size for s in spots)):
                spots.append(CurvePoint((float(t),), point))
        return spots


def coupler_curve(result: Result, point: object, *, relative_to: object = "ground") -> CouplerCurve:
    """Return the path of a point with tangent, curvature, torsion, cusps, inflections, double points.

    Parameters
    ----------
    result : Result
        Of `simulate` or `kinematics`. Special points are searched between rows too, on its dense output or, if it has
        none, on curves of fifth degree through its rows; give enough rows to resolve the path.
    point : Marker or str
        ``"coupler.P"``, ``"coupler.at(1.2, 0.5, 0)"``.
    relative_to : Body, Marker or str
        Frame of the path; points are in its axes.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.library.mechanisms import four_bar
    >>> s = four_bar()
    >>> _ = s.drive("A", speed=1.0)
    >>> curve = coupler_curve(da.simulate(s, 6.2831853), "coupler.at(1.2, 0.5, 0)")
    >>> curve.length[-1].round(4), curve.cusps, len(curve.inflections)
    (np.float64(5.6795), [], 2)
    """
    item = "coupler_curve"
    frame, base = find_frame(result, point, item, "point"), find_frame(result, relative_to, item, "relative_to")
    if not np.ptp(result.t):
        raise ModelError(item, "result", result, "a path needs more than one row")
    seen, fine = (RelativeFrameMotion.of(motion, frame, base) for motion in (result, refine(result)))
    track = Quintic(fine.t, fine.position, fine.velocity, fine.acceleration)
    return CouplerCurve(
        result,
        frame.name,
        base.name,
        seen.t,
        seen.position,
        seen.velocity,
        seen.acceleration,
        _normal(fine),
        (fine, track),
        frame,
    )


def _normal(seen: RelativeFrameMotion) -> Array | None:
    """Return the normal of the plane of a path; None if it is not planar."""
    if seen.normal is not None:
        return seen.normal
    _, s, axes = np.linalg.svd(seen.position - seen.position.mean(axis=0), full_matrices=False)
    if len(s) > 2 and s[2] > 1e-9 * s[0]:
        return None
    return np.asarray(axes[-1] * np.sign(axes[-1][np.abs(axes[-1]).argmax()]))
