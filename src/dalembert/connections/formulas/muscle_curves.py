"""Dimensionless curves of muscles and tendons: Bézier curves of fifth degree between given points and slopes.

A curve is a chain of arcs. Each leaves a point (x0, y0) with slope s0 and arrives at (x1, y1) with slope s1, without
curvature at its ends: its six control points are (x0, y0), twice a point towards the corner where the tangents of both
ends meet, twice the same from the other end, and (x1, y1). So curves have two continuous derivatives.

Source: M. Millard, T. Uchida, A. Seth, S. L. Delp, Flexing computational muscle: modeling and simulation of
musculotendon dynamics, J. Biomech. Eng. 135 (2013) 021005, with the numbers of its appendix.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from ...arrays import Array
from .tables import Table

__all__ = ["MuscleCurve", "active_force_length", "force_velocity", "passive_force_length", "tendon_force_length"]

_POINTS = 65  # of an arc

Corner = tuple[float, float, float]  # x, y, slope


class MuscleCurve:
    """Curve y(x) between two ends, with its integral from the first one.

    Attributes
    ----------
    low, high : float
        x at its ends.
    value, integral : Table
    """

    def __init__(self, corners: Sequence[Corner], curviness: Sequence[float]) -> None:
        arcs = [_arc(a, b, c) for a, b, c in zip(corners, corners[1:], curviness, strict=False)]
        x = np.concatenate([arc[0] if k == 0 else arc[0][1:] for k, arc in enumerate(arcs)])
        y = np.concatenate([arc[1] if k == 0 else arc[1][1:] for k, arc in enumerate(arcs)])
        totals = np.concatenate([[0.0], np.cumsum(np.concatenate([arc[2] for arc in arcs]))])
        self.low, self.high = float(x[0]), float(x[-1])
        self.integral = Table(x, values=totals)
        self.value = Table(x, values=y)


def _arc(a: Corner, b: Corner, curviness: float) -> tuple[Array, Array, Array]:
    """Return knots (n,) and values (n,) on an arc, and the integrals (n - 1,) of y between them."""
    (x0, y0, s0), (x1, y1, s1) = a, b
    corner = (y1 - y0 - x1 * s1 + x0 * s0) / (s0 - s1) if s0 != s1 else 0.5 * (x0 + x1)
    there = np.array([corner, y0 + s0 * (corner - x0)])
    first, last = np.array([x0, y0]), np.array([x1, y1])
    c = 0.1 + 0.8 * curviness
    near, far = first + c * (there - first), last + c * (there - last)
    points = np.array([first, near, near, far, far, last])
    u = np.linspace(0.0, 1.0, _POINTS)
    x = _bezier(points[:, 0], u)
    nodes, weights = np.polynomial.legendre.leggauss(6)  # exact: y x' is of degree 9
    inner = u[:-1, None] + np.diff(u)[:, None] * (nodes + 1) / 2
    rate = _bezier(5 * np.diff(points[:, 0]), inner)
    parts = (_bezier(points[:, 1], inner) * rate * weights).sum(axis=1) * np.diff(u) / 2
    return x, _bezier(points[:, 1], u), parts


def _bezier(points: Array, u: Array) -> Array:
    n = len(points) - 1
    total = np.zeros_like(u)
    for k, p in enumerate(points):
        total = total + comb(n, k) * p * u**k * (1 - u) ** (n - k)
    return total


def active_force_length(least: float = 0.0) -> MuscleCurve:
    """Return the force at full activation over the fiber length, both by their optimum; `least` at its ends."""
    start, shallow, end, slope, half_top = 0.4441, 0.73, 1.8123, 0.8616, 0.05
    edge = 1.0 - half_top
    y1 = 1.0 - slope * (edge - shallow)
    rise = 1.25 * y1 / (shallow - start)
    middle = (0.5 * (start + shallow), 0.5 * y1, rise)
    bend = (shallow + 0.5 * (edge - shallow), y1 + 0.5 * (1.0 - y1), slope)
    fall = (1.0 + half_top + 0.5 * (end - 1.0 - half_top), 0.5, -1.0 / (end - half_top - 1.0 - half_top))
    corners = [(start, least, 0.0), middle, bend, (1.0, 1.0, 0.0), fall, (end, least, 0.0)]
    return MuscleCurve(corners, [1.0] * 5)


def passive_force_length(strain: float = 0.7) -> MuscleCurve:
    """Return the passive force over the fiber length, both by their optimum; 1 at a strain."""
    low, stiff = 0.2, 2.0 / strain
    step = min(0.1 / stiff, 0.1 * strain)
    corners = [(1.0, 0.0, 0.0), (1.0 + step, low * 0.5 * step, low), (1.0 + strain, 1.0, stiff)]
    return MuscleCurve(corners, [0.75, 0.75])


def tendon_force_length(strain: float = 0.049) -> MuscleCurve:
    """Return the force of a tendon, by the largest of the muscle, over its length by its slack length."""
    stiff, toe = 1.375 / strain, 2.0 / 3.0

    def on_line(y: float) -> float:
        return 1.0 + strain + (y - 1.0) / stiff

    foot = 1.0 + 0.1 * (on_line(toe) - 1.0)
    slope = 0.5 * toe / (on_line(0.5 * toe) - foot)
    half = 0.5 * (on_line(0.5 * toe) - foot)
    corners = [(foot, 0.0, 0.0), (foot + half, slope * half, slope), (on_line(toe), toe, stiff)]
    return MuscleCurve(corners, [0.5, 0.5])


def force_velocity(largest: float = 1.4) -> MuscleCurve:
    """Return the factor of the active force over the velocity of the fiber by its fastest; lengthening is positive."""
    near_shortening, near_lengthening, isometric = 0.25, 0.15, 5.0
    corners = [
        (-1.0, 0.0, 0.0),
        (-0.9, 0.5 * near_shortening * 0.1, near_shortening),
        (0.0, 1.0, isometric),
        (0.9, largest - 0.5 * near_lengthening * 0.1, near_lengthening),
        (1.0, largest, 0.0),
    ]
    return MuscleCurve(corners, [0.6, 0.6, 0.9, 0.9])
