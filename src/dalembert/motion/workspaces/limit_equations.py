"""Closure equations with joint stops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Array
from ...closure.scaled_equations import CoordinateMeasure, ExtendedEquations, ScaledEquations

__all__ = ["with_stops"]


def with_stops(closed: ScaledEquations, stops: Sequence[CoordinateMeasure]) -> ExtendedEquations:
    """Return closure equations with one for each stop: the distance beyond it, zero within."""

    def residual(q: Array) -> Array:
        return np.stack([m.violation(q) / m.scale for m in stops], -1)

    def jacobian(q: Array) -> Array:
        passed = [(m.violation(q) != 0.0)[..., None] for m in stops]
        rows = [on * m.row(q) * closed.scales / m.scale for on, m in zip(passed, stops, strict=True)]
        return np.stack(rows, -2)

    return ExtendedEquations(closed, residual, jacobian)
