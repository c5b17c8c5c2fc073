"""Nonlinear least squares for batches of starts, by the Levenberg-Marquardt method.

    (J^T J + mu 1) x = -J^T r,      r and J scaled                                                                  (1)

Each start, and each block of rows and columns that is independent of others, has its own mu. It is 0 while the linear
model predicts well; steps are limited to 1 in each scaled unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["LeastSquaresProblem", "levenberg_marquardt", "solve_small_systems"]

Array = NDArray[np.float64]
IndexArray = NDArray[np.intp]


class LeastSquaresProblem(Protocol):
    """Scaled residuals over a manifold, for batches of points.

    Attributes
    ----------
    nv : int
        Number of unknowns of a step.
    """

    nv: int

    def residual(self, q: Array) -> Array:
        """Return r (B, rows) at q (B, nq)."""
        ...

    def jacobian(self, q: Array) -> Array:
        """Return J (B, rows, nv)."""
        ...

    def retract(self, q: Array, x: Array) -> Array:
        """Return the points (B, nq) after scaled steps x (B, nv) from q."""
        ...


def levenberg_marquardt(
    problem: LeastSquaresProblem,
    q: Array,
    blocks: Sequence[tuple[IndexArray, IndexArray]],
    *,
    tolerance: float = 1e-10,
    iterations: int = 60,
) -> tuple[Array, Array]:
    """Return the minima reached from starts q (B, nq), and the largest residuals (B, blocks).

    A start stops where its residual cannot be reduced.

    Parameters
    ----------
    blocks : sequence of (rows, columns)
        Rows and the columns that reduce them. Independent blocks are solved in parallel, each with its own steps.
    """
    q = q.copy()
    B, nb = len(q), len(blocks)
    r = problem.residual(q)
    worst = np.zeros((B, nb))
    norm, mu, idle = np.zeros((B, nb)), np.zeros((B, nb)), np.zeros((B, nb), dtype=np.intp)
    for k, (rows, columns) in enumerate(blocks):
        mine = r[:, rows]
        worst[:, k], norm[:, k] = np.abs(mine).max(1, initial=0.0), np.sqrt((mine * mine).sum(1))
        if not len(columns):
            idle[:, k] = 9
    going = (worst > tolerance) & (idle < 2)
    left = np.flatnonzero(going.any(1))
    for _ in range(iterations):
        if not len(left):
            break
        J = problem.jacobian(q[left])
        here = r[left]
        step = np.zeros((len(left), problem.nv))
        promised, flat = np.zeros((len(left), nb)), np.zeros((len(left), nb), dtype=bool)
        for k, (rows, columns) in enumerate(blocks):
            if len(columns):
                part, mine = J[:, rows[:, None], columns], here[:, rows]
                x, promised[:, k], flat[:, k] = _marquardt(part, mine, mu[left, k], norm[left, k])
                step[:, columns] = x * going[left, k, None]
        trial = problem.retract(q[left], step)
        r_trial = problem.residual(trial)
        good = np.zeros((len(left), nb), dtype=bool)
        for k, (rows, columns) in enumerate(blocks):
            mine = r_trial[:, rows]
            after = np.sqrt((mine * mine).sum(1))
            gained, hoped = norm[left, k] - after, norm[left, k] - promised[:, k]
            better = going[left, k] & (gained > 1e-3 * np.maximum(hoped, 0.0))
            good[:, k] = better
            taken = left[better]
            norm[taken, k], worst[taken, k] = after[better], np.abs(mine[better]).max(1, initial=0.0)
            size = mu[left, k]
            size = np.where(better & (gained > 0.75 * hoped), np.where(size < 1e-3, 0.0, 0.1 * size), size)
            mu[left, k] = np.where(better & (gained >= 0.25 * hoped), size, np.maximum(4 * size, 1e-4))
            still = flat[:, k] | ~np.isfinite(after) | (np.abs(step[:, columns]).max(1, initial=0.0) < 1e-13)
            idle[left, k] = np.where(still, idle[left, k] + 1, 0)
            r[np.ix_(taken, rows)] = mine[better]
        whole = (good | ~going[left]).all(1)
        q[left[whole]] = trial[whole]
        mixed = np.flatnonzero(~whole & good.any(1))
        if len(mixed):
            for k, (_, columns) in enumerate(blocks):
                step[np.ix_(mixed, columns)] *= good[mixed, k, None]
            q[left[mixed]] = problem.retract(q[left[mixed]], step[mixed])
        going[left] = (worst[left] > tolerance) & (idle[left] < 2) & (mu[left] < 1e8)
        left = left[going[left].any(1)]
    return q, worst


def _marquardt(J: Array, r: Array, mu: Array, norm: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return the steps (B, n) of (1), the predicted norms (B,) of r, and the mask where the gradient vanishes."""
    n = J.shape[2]
    Jt = J.transpose(0, 2, 1)
    H = Jt @ J
    size = np.trace(H, axis1=1, axis2=2)
    H[:, range(n), range(n)] += ((mu + 1e-13) * size + 1e-30)[:, None]
    gradient = Jt @ r[:, :, None]
    x = -solve_small_systems(H, gradient)[:, :, 0]
    x /= np.maximum(1.0, np.abs(x).max(1))[:, None]
    left = r + (J @ x[:, :, None])[:, :, 0]
    return x, np.sqrt((left * left).sum(1)), (gradient[:, :, 0] ** 2).sum(1) < 1e-16 * size * norm**2


def solve_small_systems(H: Array, b: Array) -> Array:
    """Return the solutions (B, n, k) of H (B, n, n), with short formulas for one and two unknowns."""
    n = H.shape[1]
    if n == 1:
        return b / H
    if n == 2:
        p, s, u, w = H[:, 0, 0], H[:, 0, 1], H[:, 1, 0], H[:, 1, 1]
        det = (p * w - s * u)[:, None]
        return (
            np.stack([w[:, None] * b[:, 0] - s[:, None] * b[:, 1], p[:, None] * b[:, 1] - u[:, None] * b[:, 0]], 1)
            / (det[:, None])
        )
    return np.asarray(np.linalg.solve(H, b))
