"""Bisection of many brackets at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["bisect"]

Array = NDArray[np.float64]

MAX_BISECTIONS = 60  # leave less than rounding of a bracket; fewer where its ends become neighbouring numbers


def bisect(
    before: Callable[[Array], NDArray[np.bool_] | bool],
    low: Array | float,
    high: Array | float,
    iterations: int = MAX_BISECTIONS,
) -> tuple[Array, Array]:
    """Halve brackets between points where a condition holds and points where it does not.

    Parameters
    ----------
    before : callable
        Returns for points (k,), one of each bracket, whether the change lies beyond them.
    low, high : (k,) or float
        Ends of the brackets; the condition holds at `low`, and not at `high`.
    iterations : int

    Returns
    -------
    low, high : (k,) or ()
        The brackets that are left.
    """
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    for _ in range(iterations):
        middle = (low + high) / 2
        if ((middle == low) | (middle == high)).all():
            break
        holds = before(middle)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return low, high
