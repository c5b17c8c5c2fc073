"""Bounded least-squares solver for many small systems of equations.

    min  f = sum_i [r_i(q) + s_i]^2 / 2,     lower <= q <= upper                                                    (1)

[.] is the positive part for rows that are limits. The core solves (1) in SIMD batches and on threads
(`core/kinematics/ik_problem.hpp`) by Levenberg-Marquardt steps, quadratically where r vanishes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array, BoolArray, IndexArray
from .equations import IkEquations

__all__ = ["IkOutcome", "solve_bounded", "solve_symmetric"]


@dataclass(eq=False)
class IkOutcome:
    """Results of starts.

    Attributes
    ----------
    q : (b, nq)
    residual : (b, m)
    done : (b,) bool
        True if a zero, or another requested minimum, was found.
    iterations : (b,) int
    push : (b, n)
        Gradient of the objective with respect to x, which presses coordinates against their bounds.
    """

    q: Array
    residual: Array
    done: BoolArray
    iterations: IndexArray
    push: Array

    def some(self, chosen: Any) -> IkOutcome:
        """Return a subset."""
        return IkOutcome(
            self.q[chosen], self.residual[chosen], self.done[chosen], self.iterations[chosen], self.push[chosen]
        )


def solve_bounded(
    reach: IkEquations,
    q: Array,
    which: IndexArray,
    *,
    shift: Array | float = 0.0,
    iterations: int = 60,
    patience: int = 3,
) -> IkOutcome:
    """Descend from q (b, nq) towards zeros of r + shift (b, m) for targets `which` (b,).

    Starts whose residual does not fall by a fifth within `patience` steps are abandoned.
    """
    starts, targets = reach.aimed(q, which)
    shifts = np.ascontiguousarray(np.broadcast_to(shift, (len(q) if np.ndim(shift) == 2 else 1, len(reach.sided))))
    return IkOutcome(*reach.core.descend(starts, targets, shifts, iterations, patience))


def solve_symmetric(A: Array, rhs: Array) -> tuple[Array, BoolArray]:
    """Return the solutions (b, n) of A x = rhs, A (b, n, n) symmetric, and True where A is positive definite, (b,).

    L D L^T of the whole batch, without pivoting; zero where A is not positive.
    """
    b, n = rhs.shape
    L = np.ascontiguousarray(A.transpose(1, 2, 0))
    x = np.ascontiguousarray(rhs.T)
    positive = np.ones(b, dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):  # for matrices that are not positive
        for k in range(n):
            positive &= L[k, k] > 0.0
            pivot = np.where(L[k, k] > 0.0, L[k, k], 1.0)
            L[k, k] = pivot
            row = L[k, k + 1 :].copy()
            L[k, k + 1 :] /= pivot
            for i in range(k + 1, n):
                L[i, i:] -= row[i - k - 1] * L[k, i:]
            x[k + 1 :] -= L[k, k + 1 :] * x[k]
        for k in range(n - 1, -1, -1):
            x[k] /= L[k, k]
            x[k] -= (L[k, k + 1 :] * x[k + 1 :]).sum(0)
        positive &= np.isfinite(x.sum(0))
    return np.where(positive[:, None], x.T, 0.0), positive
