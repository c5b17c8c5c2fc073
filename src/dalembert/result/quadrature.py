"""Integrals over intervals of time, by Gauss's rule with halving where it does not settle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["over_intervals"]

Array = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
_HALVINGS = 12


def over_intervals(
    rate: Callable[[Array], Array], a: Array, b: Array, *, relative: float = 1e-11, absolute: float = 0.0
) -> Array:
    """Return the integral of a function of time over each interval from a to b, (k,).

    Parameters
    ----------
    rate : callable
        From times (m,), in any order, to values (m,).
    a, b : (k,) s
    relative : float
        Error allowed in an interval, as part of the integral of the magnitude over all intervals.
    absolute : float
        Error allowed besides.
    """
    total, owner = np.zeros(len(a)), np.flatnonzero(b > a)
    a, b = a[owner], b[owner]
    if not len(owner):
        return total
    whole, magnitude = _gauss(rate, a, b)
    allowed = relative * magnitude.sum() + absolute
    for _ in range(_HALVINGS):
        middle = (a + b) / 2
        halves = _gauss(rate, np.concatenate([a, middle]), np.concatenate([middle, b]))[0].reshape(2, -1)
        settled = np.abs(halves.sum(0) - whole) <= allowed
        np.add.at(total, owner[settled], halves.sum(0)[settled])
        rest = ~settled
        a, b = np.concatenate([a[rest], middle[rest]]), np.concatenate([middle[rest], b[rest]])
        owner, whole = np.tile(owner[rest], 2), halves[:, rest].ravel()
        if not len(owner):
            return total
    np.add.at(total, owner, whole)  # a jump: as near as halving comes
    return total


def _gauss(rate: Callable[[Array], Array], a: Array, b: Array) -> tuple[Array, Array]:
    """Return the integrals of the rate and of its magnitude, (k,) each."""
    half = (b - a) / 2
    times = (a + b)[:, None] / 2 + half[:, None] * _NODES
    values = rate(times.ravel()).reshape(times.shape)
    return half * (values @ _WEIGHTS), half * (np.abs(values) @ _WEIGHTS)
