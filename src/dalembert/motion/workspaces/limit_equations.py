"""Closure equations with joint stops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Array
from ...closure.scaled_equations import CoordinateMeasure, ScaledEquations

__all__ = ["LimitedEquations", "limit_violation"]


class LimitedEquations:
    """Closure equations with one for each stop: the distance beyond it, zero within."""

    def __init__(self, closed: ScaledEquations, stops: Sequence[CoordinateMeasure]) -> None:
        self._closed, self._stops = closed, stops
        self.nv, self.groups = closed.nv, closed.groups

    def residual(self, q: Array) -> Array:
        passed = [(limit_violation(m, q) / m.scale)[:, None] for m in self._stops]
        return np.concatenate([self._closed.residual(q), *passed], -1)

    def jacobian(self, q: Array) -> Array:
        rows = []
        for measure in self._stops:
            passed = (limit_violation(measure, q) != 0.0)[:, None]
            rows.append((passed * measure.row(q) * self._closed.scales / measure.scale)[:, None])
        return np.concatenate([self._closed.jacobian(q), *rows], -2)

    def retract(self, q: Array, x: Array) -> Array:
        return self._closed.retract(q, x)

    def difference(self, q0: Array, q1: Array) -> Array:
        return self._closed.difference(q0, q1)


def limit_violation(measure: CoordinateMeasure, q: Array) -> Array:
    """Return the distance of a coordinate beyond its stops at states q (B, nq), rad or m.

    Angles the shorter way.
    """
    values = measure.values(q)
    if measure.period:
        middle = 0.5 * (measure.lower + measure.upper) if np.isfinite(measure.lower + measure.upper) else 0.0
        values = middle + measure.wrapped_error(values, middle)
    return np.asarray(values - np.clip(values, measure.lower, measure.upper))
