"""Quadratic problems within bounds: efforts of friction and stops that decide who sticks, slips or leaves.

    min  x' A x / 2 + b' x,   lower <= x <= upper            A symmetric, not negative, of any rank                 (1)

With w = A x + b a solution has w = 0 where x is within its bounds, w >= 0 at a lower and w <= 0 at an upper one. Solved
by active sets (Stark and Parker 1995): unknowns enter the free set by the largest w, leave it where the step to its
solution meets a bound. An unknown whose pivot vanishes depends on the free ones and does not enter, so that the free
set is independent. What w is, is unique; x need not be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import SingularityError

__all__ = ["DEPENDENT_PIVOT_TOL", "BoundedQpSolution", "schur_pivot", "solve_bounded_qp"]

Array = NDArray[np.float64]

DEPENDENT_PIVOT_TOL = 1e-10  # of its diagonal: a pivot below adds nothing
ROUNDOFF_TOL = 1e-13  # of its terms: a w below is none


@dataclass(frozen=True, eq=False)
class BoundedQpSolution:
    """A solution of (1).

    Attributes
    ----------
    x, w : (n,)
    free : list of int
        Those that w = 0 was solved for; independent of each other.
    """

    x: Array
    w: Array
    free: list[int]


def schur_pivot(A: Array, free: list[int], k: int) -> float:
    """Return what is left of A[k, k] when the free unknowns are eliminated."""
    if not free:
        return float(A[k, k])
    column = A[free, k]
    return float(A[k, k] - column @ np.linalg.solve(A[free][:, free], column))


def solve_bounded_qp(A: Array, b: Array, lower: Array, upper: Array, noise: Array | float = 0.0) -> BoundedQpSolution:
    """Return a solution of (1); bounds may be infinite.

    Values of w up to `noise` (n,) are zero: b may be rounding of larger terms that cancel.
    """
    n = len(b)
    x = np.clip(np.zeros(n), lower, upper)
    free: list[int] = []
    barred: set[int] = set()
    for _ in range(20 * n + 20):
        w = A @ x + b
        least = np.maximum(ROUNDOFF_TOL * (np.abs(A) @ np.abs(x) + np.abs(b)), noise)
        wanting = ((w < -least) & (x < upper)) | ((w > least) & (x > lower))
        wanting[[*free, *barred]] = False
        if not wanting.any():
            return BoundedQpSolution(x, np.where(np.abs(w) > least, w, 0.0), free)
        k = int(np.argmax(np.where(wanting, np.abs(w) / np.sqrt(np.maximum(np.diag(A), 1e-300)), -1.0)))
        if schur_pivot(A, free, k) <= DEPENDENT_PIVOT_TOL * A[k, k]:
            barred.add(k)
            continue
        before = x.copy()
        free.append(k)
        _settle_free(A, b, lower, upper, x, free)
        if not (x != before).any():  # rounding sent it back at once
            barred.add(k)
        else:
            barred.clear()
    raise SingularityError("efforts of friction and stops cannot be found: their rows nearly depend on each other")


def _settle_free(A: Array, b: Array, lower: Array, upper: Array, x: Array, free: list[int]) -> None:
    """Solve for the free unknowns, in place; those that meet a bound stay there and leave the free set."""
    while free:
        others = np.setdiff1d(np.arange(len(b)), free)
        rhs = -(b[free] + A[free][:, others] @ x[others])
        block = A[free][:, free]
        z = np.linalg.solve(block, rhs)
        z += np.linalg.solve(block, rhs - block @ z)
        step = z - x[free]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0, (upper[free] - x[free]) / step, (lower[free] - x[free]) / step)
        room = np.where(step == 0, np.inf, room)
        part = float(room.min())
        if part >= 1.0:
            x[free] = z
            return
        x[free] += max(part, 0.0) * step
        for place in sorted(np.flatnonzero(room <= part), reverse=True):
            k = free.pop(int(place))
            x[k] = upper[k] if step[place] > 0 else lower[k]
