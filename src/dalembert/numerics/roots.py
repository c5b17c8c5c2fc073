"""Roots of functions of one variable: bisection of batches of brackets, and the Illinois rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array, BoolArray

__all__ = ["bisect", "illinois_root"]


MAX_BISECTIONS = 60  # reduces a bracket to rounding; fewer if its ends become adjacent numbers


def bisect(
    before: Callable[[Array], BoolArray | bool],
    low: Array | float,
    high: Array | float,
    iterations: int = MAX_BISECTIONS,
) -> tuple[Array, Array]:
    """Bisect brackets between points where a condition is true and points where it is false.

    Parameters
    ----------
    before : callable
        Returns for points (k,), one of each bracket, the mask of those before the change.
    low, high : (k,) or float
        Ends of the brackets; the condition is true at `low` and false at `high`.
    iterations : int

    Returns
    -------
    low, high : (k,) or ()
        The remaining brackets.
    """
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    for _ in range(iterations):
        middle = (low + high) / 2
        if ((middle == low) | (middle == high)).all():
            break
        holds = before(middle)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return low, high


def illinois_root(function: Callable[[float], float], a: float, b: float) -> float | None:
    """Return the zero of a function between a and b, by the Illinois rule; None without a sign change."""
    fa, fb = function(a), function(b)
    if fa == 0.0 or fb == 0.0:
        return a if fa == 0.0 else b
    if not fa * fb < 0:
        return None
    width, side = abs(b - a), 0
    for count in range(80):
        c = (a * fb - b * fa) / (fb - fa) if count % 8 != 7 else 0.5 * (a + b)
        fc = function(c)
        if fc != fc:
            return None
        if fc == 0.0 or abs(b - a) < 1e-14 * max(width, 1e-3):
            return c
        if abs(fc) < 1e-15:
            return c
        if fa * fc < 0:
            b, fb = c, fc
            if side == -1:
                fa *= 0.5
            side = -1
        else:
            a, fa = c, fc
            if side == 1:
                fb *= 0.5
            side = 1
    return 0.5 * (a + b)
