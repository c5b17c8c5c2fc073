"""Rows of contacts along curves with the contact point as an unknown: the oracle of core/constraints/curves.hpp.

The point of contact is looked for among many samples of the curve. Motion is carried along as power series in time, up
to t^2: series of R and p of the second marker seen from the first, of the parameter s that keeps the condition of
contact, and so of the residual. No derivative of a normal is written down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.connections.constraints.cams import CamFollower, PointOnCurve
from dalembert.connections.constraints.curves import Curve

__all__ = ["ROWS", "Contact", "bias", "gradient", "residual"]

Array = NDArray[np.float64]
Contact = PointOnCurve | CamFollower

ROWS: dict[str, tuple[str, ...]] = {"PointOnCurve": ("side", "height"), "CamFollower": ("contact",)}
SAMPLES = 4001


def residual(element: Contact, R: Array, p: Array) -> Array:
    """Return the residuals (rows,) for the second marker at R (3, 3), p (3,) in the first."""
    return _series(element, R, p, np.zeros(6), np.zeros(6))[0]


def gradient(element: Contact, R: Array, p: Array) -> Array:
    """Return the rows on [w; v] of the second marker seen from the first, (rows, 6)."""
    return np.column_stack([_series(element, R, p, motion, np.zeros(6))[1] for motion in np.eye(6)])


def bias(element: Contact, R: Array, p: Array, V: Array) -> Array:
    """Return the second derivatives of the residuals at velocity V = [w; v] without acceleration, (rows,)."""
    return 2 * _series(element, R, p, V, np.zeros(6))[2]


def _series(element: Contact, R: Array, p: Array, V: Array, A: Array) -> Array:
    """Return the series (3, rows) of the residuals for relative velocity V and acceleration A."""
    place = np.stack([p, V[3:], 0.5 * A[3:]])
    if isinstance(element, PointOnCurve):
        s = _nearest(element.curve, place)
        tangent = _unit(_along(element.curve, s, 1))
        side = _unit(_cross(_constant(element.up), tangent))
        d = place - _along(element.curve, s)
        return np.stack([_dot(side, d), _dot(_cross(tangent, side), d)], axis=1)
    profile = element.profile
    if element.follower == "flat":
        y, w = R[:, 1], V[:3]
        normal = np.stack([y, np.cross(w, y), 0.5 * (np.cross(A[:3], y) + np.cross(w, np.cross(w, y)))])
        s = _farthest(profile, normal)
        return _dot(normal, place - _along(profile, s))[:, None]
    place[:, 2] = 0.0
    s = _nearest(profile, place)
    normal = _outward(profile) * _unit(_cross(_constant([0, 0, 1]), _along(profile, s, 1)))
    gap: Array = _dot(normal, place - _along(profile, s)) - element.radius * np.eye(3)[0]
    return gap[:, None]


# ---- the point of contact


def _nearest(curve: Curve, p: Array) -> Array:
    """Return the series of s with (p - c) . c' = 0, from the sample that is nearest."""
    samples = np.linspace(curve.knots[0], curve.knots[-1], SAMPLES)
    s = np.array([samples[((curve(samples) - p[0]) ** 2).sum(1).argmin()], 0.0, 0.0])
    if not curve.closed and s[0] in samples[[0, -1]]:
        beyond = (p[0] - curve(s[0])) @ curve(s[0], 1)
        if (beyond > 0) == (s[0] == samples[-1]):
            s[0] += beyond / (curve(s[0], 1) @ curve(s[0], 1))
    for k in range(12):  # until the value is settled, and then once for each power of t
        d, c1 = p - _along(curve, s), _along(curve, s, 1)
        slope = d[0] @ _derivative(curve, s[0], 2) - c1[0] @ c1[0]
        step = -_dot(d, c1) / slope
        s = s + (step if k > 7 else step * [1, 0, 0])
    return s


def _farthest(curve: Curve, e: Array) -> Array:
    """Return the series of s with e . c' = 0, from the sample that is farthest along e."""
    samples = np.linspace(curve.knots[0], curve.knots[-1], SAMPLES)
    s = np.array([samples[(curve(samples) @ e[0]).argmax()], 0.0, 0.0])
    for k in range(12):
        step = -_dot(e, _along(curve, s, 1)) / (e[0] @ curve(s[0], 2))
        s = s + (step if k > 7 else step * [1, 0, 0])
    return s


def _along(curve: Curve, s: Array, order: int = 0) -> Array:
    """Return the series of a derivative of the curve along the series s."""
    c = [_derivative(curve, s[0], order + k) for k in range(3)]
    return np.stack([c[0], c[1] * s[1], c[1] * s[2] + 0.5 * c[2] * s[1] ** 2])


def _derivative(curve: Curve, s: float, order: int) -> Array:
    """Return a derivative of the curve, which goes on straight beyond its ends."""
    end = s if curve.closed else np.clip(s, *curve.knots[[0, -1]])
    if s == end:
        return curve(s, order)
    return [curve(end) + (s - end) * curve(end, 1), curve(end, 1)][order] if order < 2 else np.zeros(3)


def _outward(curve: Curve) -> float:
    """Return 1 if the outside is to the left of the travel, -1 if it is to the right."""
    x, y, _ = curve(np.linspace(curve.knots[0], curve.knots[-1], SAMPLES)).T
    return -float(np.sign((x[:-1] * y[1:] - x[1:] * y[:-1]).sum()))


# ---- series in t: leading axis, powers 0, 1, 2


def _constant(x: object) -> Array:
    return np.stack([np.asarray(x, dtype=float), np.zeros(3), np.zeros(3)])


def _dot(a: Array, b: Array) -> Array:
    return np.array([a[0] @ b[0], a[0] @ b[1] + a[1] @ b[0], a[0] @ b[2] + a[1] @ b[1] + a[2] @ b[0]])


def _cross(a: Array, b: Array) -> Array:
    first = np.cross(a[0], b[1]) + np.cross(a[1], b[0])
    return np.stack([np.cross(a[0], b[0]), first, np.cross(a[0], b[2]) + np.cross(a[1], b[1]) + np.cross(a[2], b[0])])


def _unit(a: Array) -> Array:
    n = _dot(a, a)
    f = n[0] ** -0.5 * np.array([1.0, -0.5 * n[1] / n[0], -0.5 * n[2] / n[0] + 0.375 * (n[1] / n[0]) ** 2])
    return np.stack([f[0] * a[0], f[0] * a[1] + f[1] * a[0], f[0] * a[2] + f[1] * a[1] + f[2] * a[0]])
