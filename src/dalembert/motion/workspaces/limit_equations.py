"""Closure equations with joint stops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...closure.scaled_equations import CoordinateMeasure, ExtendedEquations, ScaledEquations

__all__ = ["limit_violation", "with_stops"]

Array = NDArray[np.float64]


def with_stops(closed: ScaledEquations, stops: Sequence[CoordinateMeasure]) -> ExtendedEquations:
    """Return closure equations with one for each stop: the distance beyond it, zero within."""

    def residual(q: Array) -> Array:
        return np.stack([limit_violation(m, q) / m.scale for m in stops], -1)

    def jacobian(q: Array) -> Array:
        passed = [(limit_violation(m, q) != 0.0)[..., None] for m in stops]
        rows = [on * m.row(q) * closed.scales / m.scale for on, m in zip(passed, stops, strict=True)]
        return np.stack(rows, -2)

    return ExtendedEquations(closed, residual, jacobian)


def limit_violation(measure: CoordinateMeasure, q: Array) -> Array:
    """Return the distance of a coordinate beyond its stops at states q (B, nq), rad or m.

    Angles the shorter way.
    """
    values = measure.values(q)
    if measure.period:
        middle = 0.5 * (measure.lower + measure.upper) if np.isfinite(measure.lower + measure.upper) else 0.0
        values = middle + measure.away(values, middle)
    return np.asarray(values - np.clip(values, measure.lower, measure.upper))
