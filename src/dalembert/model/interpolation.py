"""Interpolation of states: Hermite polynomials through positions, velocities and accelerations.

With accelerations the polynomials are of degree five, with errors of order six in the step; otherwise of degree three.
Orientations are interpolated as quaternions with their rates

    q' = q o (0, w) / 2,    q'' = q o (0, w') / 2 + q' o (0, w) / 2,    w = 2 q* o q'

and normalized; positions of free joints with x' = C u, x'' = C (u' + w x u). The names of coordinates and velocities
give the correspondence, so that a result without a model can be interpolated too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np

from ..arrays import Array
from ..rotation import quaternion_product

__all__ = [
    "Piece",
    "QuaternionIndices",
    "Quintic",
    "attitudes",
    "coefficients",
    "hermite",
    "interpolate",
    "plain_columns",
]


LOOP_ROUNDOFF_FACTOR = 1e3  # rounding units: errors of loop closure over its lever arm


@dataclass(frozen=True)
class QuaternionIndices:
    """Indices of a spherical or free joint: quaternion from q[place], velocities from v[speed]."""

    place: int
    speed: int
    free: bool


def attitudes(coordinates: Sequence[str], speeds: Sequence[str]) -> list[QuaternionIndices]:
    """Return the quaternions among the coordinates, by their names."""
    found = []
    for place, name in enumerate(coordinates):
        joint, _, part = name.rpartition(".")
        if part == "qw" and name not in speeds:  # a joint of one coordinate may have this name
            speed = speeds.index(f"{joint}.wx")
            found.append(QuaternionIndices(place, speed, f"{joint}.vx" in speeds))
    return found


def interpolate(
    t: Array,
    q: Array,
    v: Array,
    a: Array | None,
    times: Array,
    coordinates: Sequence[str],
    speeds: Sequence[str],
) -> tuple[Array, Array]:
    """Return q (k, nq) and v (k, nv) at the given times within t.

    Parameters
    ----------
    t : (n,) s
        In order; where a time occurs twice, the state jumps.
    q : (n, nq) rad or m
    v : (n, nv) rad/s or m/s
    a : (n, nv) rad/s2 or m/s2, or None
    times : (k,) s
    coordinates, speeds : names of the columns
    """
    if len(t) == 1:
        return np.repeat(q, len(times), axis=0), np.repeat(v, len(times), axis=0)
    turning = attitudes(coordinates, speeds)
    left = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
    ends = []
    for rows in (left, left + 1):
        ends.append(_rates(q[rows], v[rows], None if a is None else a[rows], turning))
    _nearer(ends, turning)
    step = (t[left + 1] - t[left])[:, None]
    step = np.where(step > 0, step, 1.0)
    position, rate = hermite((times - t[left])[:, None] / step, step, *ends)
    return _back(position, rate, turning, v.shape[1])


def hermite(s: Array, h: Array, first: Sequence[Array], last: Sequence[Array]) -> tuple[Array, Array]:
    """Return value and derivative at the fraction s of an interval h of the polynomial through values and derivatives.

    `first` and `last` are value, first and, optionally, second derivative at the two ends.
    """
    *others, value = coefficients(h, first, last)
    rate = len(others) * value
    for k, c in reversed(list(enumerate(others))):
        value = c + s * value
        if k:
            rate = k * c + s * rate
    return value, rate / h


def coefficients(h: Array | float, first: Sequence[Array], last: Sequence[Array]) -> list[Array]:
    """Return the coefficients of the polynomial by powers of the fraction of an interval h; see `hermite`."""
    y0, y1 = first[0], last[0]
    d0, d1 = h * first[1], h * last[1]
    rise = y1 - y0
    by_rates, changes = (d0 + d1) / 2, np.full_like(rise, np.inf)
    if len(first) > 2:
        b0, b1 = h * h * first[2], h * h * last[2]
        by_rates = by_rates + (b0 - b1) / 12
        changes = np.abs(b1 - b0) + np.abs(d1 - d0 - (b0 + b1) / 2)
    # In very short intervals the displacement is rounding and would spoil the rates: there that of the rates is used.
    # Loop closure adds many times that rounding. It is recognized because it differs from the displacement of the rates
    # by more than the change of the rates allows.
    eps, away, size = np.finfo(float).eps, np.abs(rise - by_rates), np.maximum(np.abs(y0), np.abs(y1))
    rounded = (away <= 4 * eps * size) | (
        (away > changes) & (away <= LOOP_ROUNDOFF_FACTOR * eps * np.maximum(1.0, size))
    )
    rise = np.where(rounded, by_rates, rise)
    if len(first) == 2:
        return [y0, d0, 3 * rise - 2 * d0 - d1, -2 * rise + d0 + d1]
    b0, b1 = b0 / 2, b1 / 2
    # the last three from value and derivatives at the end
    r, r1, r2 = rise - d0 - b0, d1 - d0 - 2 * b0, 2 * b1 - 2 * b0
    return [y0, d0, b0, 10 * r - 4 * r1 + r2 / 2, -15 * r + 7 * r1 - r2, 6 * r - 3 * r1 + r2 / 2]


class Quintic:
    """Hermite polynomials of degree five between samples of value, rate and second rate (n, k) at times (n,) s.

    Where a time occurs twice, the curve jumps.
    """

    def __init__(self, t: Array, f: Array, df: Array, ddf: Array) -> None:
        self.t = t
        self._starts = np.flatnonzero(np.diff(t) > 0)
        h = np.diff(t)[self._starts][:, None]
        first, last = ([x[rows] for x in (f, df, ddf)] for rows in (self._starts, self._starts + 1))
        self._c = np.stack(coefficients(h, first, last))
        self._h = h

    def __call__(self, times: Array, order: int = 0) -> Array:
        """Return the curve or its derivative at times (m,) s in its range, (m, k)."""
        times = np.asarray(times, dtype=float)
        k = np.clip(np.searchsorted(self.t[self._starts], times, side="right") - 1, 0, None)
        h = self._h[k]
        s = (times - self.t[self._starts[k]])[:, None] / h
        value = np.zeros((len(times), self._c.shape[2]))
        for power in range(5, order - 1, -1):
            value = value * s + factorial(power) / factorial(power - order) * self._c[power][k]
        return np.asarray(value / h**order)

    def between(self, parts: int) -> Array:
        """Return the times of all samples and of others between them, each interval in equal parts."""
        start, h = self.t[self._starts], self._h[:, 0]
        inner = start[:, None] + h[:, None] * np.arange(parts) / parts
        return np.append(inner.ravel(), self.t[-1])


@dataclass(frozen=True, eq=False)
class Piece:
    """Motion from one state to another, as polynomials of the fraction of the time h between them.

    Attributes
    ----------
    h : float, s
    q : (6, nq)
    x : (4, nx)
    turning : list of Attitude
    nv : int
    """

    h: float
    q: Array
    x: Array
    turning: list[QuaternionIndices]
    nv: int

    @classmethod
    def between(
        cls, h: float, first: Sequence[Array], last: Sequence[Array], turning: list[QuaternionIndices]
    ) -> Piece:
        """Return the motion between two states q, v, x with their rates a, dx."""
        ends = [_rates(q[None], v[None], a[None], turning) for q, v, _, a, _ in (first, last)]
        _nearer(ends, turning)
        q = np.concatenate(coefficients(h, *ends))
        x = np.array(coefficients(h, (first[2], first[4]), (last[2], last[4])))
        return cls(h, q, x, turning, len(first[1]))

    def at(self, s: float) -> tuple[Array, Array, Array]:
        """Return q, v and x at a fraction s of the time."""
        powers = [1.0, s, s**2, s**3, s**4, s**5]
        rates = [0.0, *((k + 1) * power / self.h for k, power in enumerate(powers[:5]))]
        q, rate = np.array([powers, rates]) @ self.q
        x = np.array(powers[:4]) @ self.x
        if not self.turning:
            return q, rate, x
        places, speeds = _back(q[None], rate[None], self.turning, self.nv)
        return places[0], speeds[0], x


def _nearer(ends: Sequence[Sequence[Array]], turning: list[QuaternionIndices]) -> None:
    """Choose the sign of the quaternion at the second end that is nearer to the first."""
    for at in turning:
        span = slice(at.place, at.place + 4)
        flip = np.where((ends[0][0][:, span] * ends[1][0][:, span]).sum(1) < 0, -1.0, 1.0)[:, None]
        for derivative in ends[1]:
            derivative[:, span] *= flip


def _rates(q: Array, v: Array, a: Array | None, turning: list[QuaternionIndices]) -> list[Array]:
    """Return q and its first and, if a is given, second derivative, (n, nq) each."""
    levels = [q.copy(), _spread(v, q.shape[1], turning)]
    if a is not None:
        levels.append(_spread(a, q.shape[1], turning))
    for at in turning:
        Q, w = q[:, at.place : at.place + 4], v[:, at.speed : at.speed + 3]
        rate = _times(Q, w) / 2
        levels[1][:, at.place : at.place + 4] = rate
        if a is not None:
            levels[2][:, at.place : at.place + 4] = (_times(Q, a[:, at.speed : at.speed + 3]) + _times(rate, w)) / 2
        if at.free:
            u = v[:, at.speed + 3 : at.speed + 6]
            levels[1][:, at.place + 4 : at.place + 7] = _turned(Q, u)
            if a is not None:
                change = a[:, at.speed + 3 : at.speed + 6] + np.cross(w, u)
                levels[2][:, at.place + 4 : at.place + 7] = _turned(Q, change)
    return levels


def _back(q: Array, rate: Array, turning: list[QuaternionIndices], nv: int) -> tuple[Array, Array]:
    """Return q with unit quaternions, and the velocities for its rates."""
    v = np.empty((len(q), nv))
    plain_q, plain_v = plain_columns(q.shape[1], nv, turning)
    v[:, plain_v] = rate[:, plain_q]
    for at in turning:
        span = slice(at.place, at.place + 4)
        length = np.linalg.norm(q[:, span], axis=1, keepdims=True)
        q[:, span] /= length
        back = q[:, span] * np.array([1.0, -1.0, -1.0, -1.0])
        v[:, at.speed : at.speed + 3] = 2 * quaternion_product(back, rate[:, span] / length)[:, 1:]
        if at.free:
            v[:, at.speed + 3 : at.speed + 6] = _turned(back, rate[:, at.place + 4 : at.place + 7])
    return q, v


def _spread(v: Array, nq: int, turning: list[QuaternionIndices]) -> Array:
    """Return an array (n, nq) with the columns of v where coordinates and velocities correspond, zero elsewhere."""
    out = np.zeros((len(v), nq))
    plain_q, plain_v = plain_columns(nq, v.shape[1], turning)
    out[:, plain_q] = v[:, plain_v]
    return out


def plain_columns(nq: int, nv: int, turning: list[QuaternionIndices]) -> tuple[list[int], list[int]]:
    """Return the columns of q and of v that belong to no quaternion, in order."""
    of_q = {at.place + k for at in turning for k in range(7 if at.free else 4)}
    of_v = {at.speed + k for at in turning for k in range(6 if at.free else 3)}
    return [k for k in range(nq) if k not in of_q], [k for k in range(nv) if k not in of_v]


def _times(q: Array, w: Array) -> Array:
    """Return q o (0, w), (n, 4)."""
    return quaternion_product(q, np.concatenate([np.zeros((len(w), 1)), w], axis=1))


def _turned(q: Array, x: Array) -> Array:
    """Return the vectors x (n, 3) rotated by unit quaternions q (n, 4)."""
    twice = 2 * np.cross(q[:, 1:], x)
    return x + q[:, :1] * twice + np.cross(q[:, 1:], twice)
