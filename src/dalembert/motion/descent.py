"""Zeros of many small systems of equations at once, within bounds.

    min  f = sum_i [r_i(q) + s_i]^2 / 2,     lower <= q <= upper                                                    (1)

[.] is the positive part for rows that are limits. Steps are those of Levenberg and Marquardt with the damping
proportional to |r|^2 while that is small (Sugihara 2011), so that convergence is quadratic where r vanishes, also where
J loses rank. Coordinates at a bound that would be pushed beyond it have no part in a step; those that a step takes to a
bound are put there and the rest is solved again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .reaching import Marks, Places, Reach

__all__ = ["Descent", "bounded_step", "descend", "solve_symmetric"]

Array = NDArray[np.float64]


@dataclass(eq=False)
class Descent:
    """Where starts led.

    Attributes
    ----------
    q : (b, nq)
    residual : (b, m)
    done : (b,) bool
        A zero was found; or what else was asked for.
    iterations : (b,) int
    push : (b, n)
        Gradient by x of what is made small: what presses coordinates against their bounds.
    """

    q: Array
    residual: Array
    done: Marks
    iterations: Places
    push: Array

    def some(self, chosen: Any) -> Descent:
        """Return some of them."""
        return Descent(
            self.q[chosen], self.residual[chosen], self.done[chosen], self.iterations[chosen], self.push[chosen]
        )


def descend(
    reach: Reach,
    q: Array,
    which: Places,
    *,
    shift: Array | float = 0.0,
    iterations: int = 60,
    patience: int = 3,
) -> Descent:
    """Go down from q (b, nq) towards zeros of r + shift (b, m) for targets `which` (b,).

    Starts that do not come nearer by a fifth within `patience` steps are left.
    """
    b, m, n = len(q), len(reach.sided), len(reach.columns)
    q, s = q.copy(), np.broadcast_to(shift, (b, m))
    damping, count, push = np.full(b, 0.1), np.zeros(b, dtype=int), np.zeros((b, n))
    mark, failures = np.full(b, np.inf), np.zeros(b, dtype=int)
    r = reach.residual(q, which)
    live = np.arange(b)
    for step in range(iterations):
        live = live[~_zero(reach, r[live] + s[live])]
        if step % patience == patience - 1:
            size = np.sqrt((reach.violated(r[live] + s[live]) ** 2).sum(1))
            slow = (size > 0.8 * mark[live]) & (size > 1e-6)
            mark[live] = size
            live = live[~slow]
        if not live.size:
            break
        here, target = q[live], which[live]
        J = reach.jacobian(here, target)
        value = reach.violated(r[live] + s[live])
        if reach.limited:
            J = np.where((reach.sided & (value == 0.0))[:, :, None], 0.0, J)
        g = (J.swapaxes(1, 2) @ value[:, :, None])[:, :, 0]
        H = J.swapaxes(1, 2) @ J
        f = 0.5 * (value * value).sum(1)
        push[live] = g
        size = np.maximum(np.einsum("bii->bi", H).max(1), 1e-12)
        mu = damping[live] * np.minimum(2.0 * f, size) + 1e-13 * size
        x, sound = bounded_step(H, g, mu, *reach.room(here))
        x = reach.shortened(x)
        trial = reach.moved(here, x)
        r_trial = reach.residual(trial, target)
        gained = f - 0.5 * (reach.violated(r_trial + s[live]) ** 2).sum(1)
        hoped = -((g * x).sum(1) + 0.5 * (x * (H @ x[:, :, None])[:, :, 0]).sum(1))
        good = sound & (gained > 1e-3 * hoped) & (hoped > 0)
        q[live[good]], r[live[good]] = trial[good], r_trial[good]
        count[live] += 1
        ratio = gained / np.maximum(hoped, 1e-300)
        change = np.where(~good, 8.0, np.where(ratio > 0.7, 0.25, np.where(ratio < 0.3, 3.0, 1.0)))
        damping[live] = np.clip(damping[live] * change, 1e-3, 1e12)
        failures[live] = np.where(good, 0, failures[live] + 1)
        live = live[failures[live] < 8]
    return Descent(q, r, _zero(reach, r + s), count, push)


def solve_symmetric(A: Array, rhs: Array) -> tuple[Array, Marks]:
    """Return the solutions (b, n) of A x = rhs, A (b, n, n) symmetric, and whether A is positive definite, (b,).

    L D L^T of the whole batch at once, without pivoting; zero where A is not positive.
    """
    b, n = rhs.shape
    L = np.ascontiguousarray(A.transpose(1, 2, 0))
    x = np.ascontiguousarray(rhs.T)
    sound = np.ones(b, dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):  # of those that are not positive
        for k in range(n):
            sound &= L[k, k] > 0.0
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
        sound &= np.isfinite(x.sum(0))
    return np.where(sound[:, None], x.T, 0.0), sound


def bounded_step(H: Array, g: Array, mu: Array, least: Array, most: Array) -> tuple[Array, Marks]:
    """Return the step (b, n) within bounds that reduces g x + x (H + mu) x / 2, and whether H + mu is positive."""
    A = H.copy()
    np.einsum("bii->bi", A)[...] += mu[:, None]  # a view of the diagonals
    bound = ((least >= 0.0) & (g > 0.0)) | ((most <= 0.0) & (g < 0.0))
    x, sound = _solve_free(A, g, bound, np.zeros_like(g))
    for _ in range(3):
        beyond = ((x < least) | (x > most)) & ~bound
        some = np.flatnonzero(beyond.any(1))
        if not some.size:
            return x, sound
        bound[some] |= beyond[some]
        x[some] = np.clip(x[some], least[some], most[some])
        kept = np.where(bound[some], x[some], 0.0)
        x[some], ok = _solve_free(A[some], g[some], bound[some], kept)
        sound[some] &= ok
    return np.clip(x, least, most), sound


def _solve_free(A: Array, g: Array, bound: Marks, kept: Array) -> tuple[Array, Marks]:
    """Solve A x = -g for coordinates that are not bound; the others are kept."""
    if not bound.any():
        return solve_symmetric(A, -g)
    free = ~bound
    rhs = np.where(free, -g - (A @ kept[:, :, None])[:, :, 0], kept)
    masked = np.where(free[:, :, None] & free[:, None, :], A, 0.0)
    np.einsum("bii->bi", masked)[...] += bound
    return solve_symmetric(masked, rhs)


def _zero(reach: Reach, r: Array) -> Marks:
    return np.asarray((np.abs(reach.violated(r)) <= reach.tolerances).all(axis=1))
