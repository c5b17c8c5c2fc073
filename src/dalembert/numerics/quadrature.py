"""Adaptive quadrature over time intervals, by nested rules with bisection.

Lobatto's rule of four points and its extension by Kronrod to seven (Gander and Gautschi 2000): exact for polynomials up
to degree 5 and 9. The states at the ends of intervals are known; five points lie within. The difference d of the two
rules is the error of the first, of order 6 in the length. The error of the second, of order 10, is estimated by
|30 d|^1.6.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array

__all__ = ["over_intervals"]


_NODES = np.array([-np.sqrt(2 / 3), -1 / np.sqrt(5), 0.0, 1 / np.sqrt(5), np.sqrt(2 / 3)])
_WEIGHTS = np.array([77, 432, 625, 672, 625, 432, 77]) / 1470
_LOBATTO_WEIGHTS = np.array([1, 0, 5, 0, 5, 0, 1]) / 6
_MAX_HALVINGS = 12


def over_intervals(
    rate: Callable[[Array], Array],
    a: Array,
    b: Array,
    ends: tuple[Array, Array],
    *,
    relative: float = 1e-11,
    absolute: float = 0.0,
) -> Array:
    """Return the integrals of functions of time over each interval from a to b, (k, m).

    Parameters
    ----------
    rate : callable
        From times (n,), in any order, to values (n, m).
    a, b : (k,) s
    ends : two of (k, m)
        Values at a and at b; at a jump, those on the side of the interval.
    relative : float
        Error allowed in an interval, as part of the integral of the magnitude over all intervals.
    absolute : float
        Absolute error allowed in addition.
    """
    total, owner = np.zeros(ends[0].shape), np.flatnonzero(b > a)
    a, b, first, last = a[owner], b[owner], ends[0][owner], ends[1][owner]
    allowed: Array | None = None
    for halving in range(_MAX_HALVINGS + 1):
        if not len(owner):
            break
        half = ((b - a) / 2)[:, None]
        inner = rate(((a + b)[:, None] / 2 + half * _NODES).ravel()).reshape(len(a), len(_NODES), -1)
        values = np.concatenate([first[:, None], inner, last[:, None]], axis=1)
        whole, less, size = (half * np.einsum("n,knm->km", w, y) for w, y in _rules(values))
        if allowed is None:
            allowed = relative * size.sum(axis=0) + absolute
        settled = (_error(whole - less, size) <= allowed).all(axis=1) | (
            halving == _MAX_HALVINGS
        )  # a jump: best estimate
        np.add.at(total, owner[settled], whole[settled])
        rest = ~settled
        middle, mean = (a + b)[rest] / 2, inner[rest, len(_NODES) // 2]
        a, b = np.concatenate([a[rest], middle]), np.concatenate([middle, b[rest]])
        first, last = np.concatenate([first[rest], mean]), np.concatenate([mean, last[rest]])
        owner = np.tile(owner[rest], 2)
    return total


def _rules(values: Array) -> list[tuple[Array, Array]]:
    return [(_WEIGHTS, values), (_LOBATTO_WEIGHTS, values), (_WEIGHTS, np.abs(values))]


def _error(difference: Array, size: Array) -> Array:
    """Return an estimate of the error of the better rule, at most the difference."""
    part = np.abs(difference) / np.where(size > 0.0, size, 1.0)
    return size * np.minimum(part, (30 * part) ** 1.6)
