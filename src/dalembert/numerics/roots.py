"""Bisection of batches of brackets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["bisect"]

Array = NDArray[np.float64]

MAX_BISECTIONS = 60  # reduces a bracket to rounding; fewer if its ends become adjacent numbers


def bisect(
    before: Callable[[Array], NDArray[np.bool_] | bool],
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
