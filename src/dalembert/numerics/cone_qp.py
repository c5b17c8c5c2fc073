"""Quadratic problems within bounds and ellipsoids: efforts of friction that is one vector at several rows.

    min  x' A x / 2 + b' x,   lower <= x <= upper,   |x_g / f_g| <= 1 for groups g of rows                          (1)

A symmetric, not negative, of any rank. With w = A x + b, a group within its ellipsoid has w = 0; one that slips has

    w = -s F^-2 x,    s >= 0                                                                                         (2)

its motion against the effort that takes the most power: for equal f against the motion itself. Solved by turns, bounds
by active sets (`solve_bounded_qp`) and each ellipsoid exactly, by its multiplier s, until nothing changes; then by
Newton's method on (2) with what slips known. What w is, is unique.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .bounded_qp import DEPENDENT_PIVOT_TOL, BoundedQpSolution, schur_pivot, solve_bounded_qp

__all__ = ["solve_ellipsoid_qp", "within_ellipsoid"]

Array = NDArray[np.float64]

MAX_ITERATIONS = 400  # most of them
NEWTON_INTERVAL = 20  # turns between two tries of Newton's method
CONVERGENCE_TOL = 1e-13  # of the largest: what changes less stands still
BOUNDARY_TOL = 1e-9  # so close to an ellipsoid is on it


def solve_ellipsoid_qp(
    A: Array, b: Array, lower: Array, upper: Array, groups: list[list[int]], f: Array, noise: Array | None = None
) -> BoundedQpSolution:
    """Return a solution of (1); rows of groups have no bounds but f (n,), which is above zero there.

    `noise` (n,) is that of `solve_bounded_qp`, for rows outside of groups.
    """
    noise = np.zeros(len(b)) if noise is None else noise
    if not groups:
        return solve_bounded_qp(A, b, lower, upper, noise)
    n = len(b)
    grouped = np.concatenate([np.asarray(g, dtype=int) for g in groups])
    plain = np.setdiff1d(np.arange(n), grouped)
    x, free = np.zeros(n), []
    for turn in range(MAX_ITERATIONS):
        before = x.copy()
        if len(plain):
            rest = b[plain] + A[np.ix_(plain, grouped)] @ x[grouped]
            found = solve_bounded_qp(A[np.ix_(plain, plain)], rest, lower[plain], upper[plain], noise[plain])
            x[plain], free = found.x, [int(plain[k]) for k in found.free]
        for g in groups:
            x[g] = within_ellipsoid(A[np.ix_(g, g)], b[g] + A[g] @ x - A[np.ix_(g, g)] @ x[g], f[g])
        if np.abs(x - before).max() <= CONVERGENCE_TOL * np.abs(x).max(initial=0.0):
            break
        if turn % NEWTON_INTERVAL == NEWTON_INTERVAL - 1:
            polished = _polished(A, b, lower, upper, groups, f, x, free)
            if polished is not None:
                x = polished
                break
    for g in groups:
        if np.linalg.norm(x[g] / f[g]) < 1.0 - BOUNDARY_TOL:
            for k in g:
                if schur_pivot(A, free, k) > DEPENDENT_PIVOT_TOL * A[k, k]:
                    free.append(int(k))
    w = A @ x + b
    w[free] = 0.0
    w[plain] = np.where(np.abs(w[plain]) > noise[plain], w[plain], 0.0)
    return BoundedQpSolution(x, w, free)


def within_ellipsoid(A: Array, b: Array, f: Array) -> Array:
    """Return the x that makes x' A x / 2 + b' x least with |x / f| <= 1; f above zero."""
    from scipy.optimize import brentq

    values, Q = np.linalg.eigh(f[:, None] * A * f)
    g = Q.T @ (f * b)
    top = max(float(values[-1]), 1e-300)
    kept = values > DEPENDENT_PIVOT_TOL * top

    def length(s: float) -> float:
        return float(np.linalg.norm(g[kept] / (values[kept] + s)))

    inside = bool((np.abs(g[~kept]) <= 1e-12 * np.abs(g).max(initial=0.0)).all())
    if inside and length(0.0) <= 1.0:
        y = np.where(kept, -g / np.where(kept, values, 1.0), 0.0)
        return np.asarray(f * (Q @ y))
    size = float(np.linalg.norm(g))
    values = np.maximum(values, 0.0)

    def beyond(s: float) -> float:
        return 1.0 / float(np.linalg.norm(g / (values + s))) - 1.0

    low = max(size - top, 1e-16 * size)
    high = size
    s = (
        low
        if beyond(low) >= 0
        else high
        if beyond(high) <= 0
        else float(brentq(beyond, low, high, xtol=1e-300, rtol=8.9e-16))
    )
    y = -g / (values + s)
    return np.asarray(f * (Q @ (y / np.linalg.norm(y))))


def _polished(
    A: Array, b: Array, lower: Array, upper: Array, groups: list[list[int]], f: Array, x: Array, free: list[int]
) -> Array | None:
    """Return the solution by Newton's method from x, with what slips taken from there; None if that is none."""
    slips = [g for g in groups if np.linalg.norm(x[g] / f[g]) >= 1.0 - BOUNDARY_TOL]
    unknown = [*free, *(k for g in groups for k in g)]
    z, s = x.copy(), np.array([max(-float((A[g] @ x + b[g]) @ x[g]), 0.0) for g in slips])
    m = len(unknown)
    for _ in range(20):
        J = np.zeros((m + len(slips), m + len(slips)))
        J[:m, :m] = A[np.ix_(unknown, unknown)]
        r = np.concatenate([A[unknown] @ z + b[unknown], np.zeros(len(slips))])
        for j, g in enumerate(slips):
            at = [unknown.index(k) for k in g]
            pull = z[g] / f[g] ** 2
            r[at] += s[j] * pull
            r[m + j] = 0.5 * (z[g] @ pull - 1.0)
            J[at, at] += s[j] / f[g] ** 2
            J[at, m + j] = J[m + j, at] = pull
        step = np.linalg.lstsq(J, -r, rcond=1e-13)[0]
        z[unknown] += step[:m]
        s = s + step[m:]
        if np.abs(step[:m]).max(initial=0.0) <= CONVERGENCE_TOL * np.abs(z).max(initial=0.0):
            break
    else:
        return None
    size = 1e-9 * np.abs(z).max(initial=0.0)
    w = A @ z + b
    least = 1e-10 * (np.abs(A) @ np.abs(z) + np.abs(b))
    fits = (z >= lower - size).all() and (z <= upper + size).all() and (s >= 0).all()
    fits = fits and all(np.linalg.norm(z[g] / f[g]) <= 1.0 + BOUNDARY_TOL for g in groups)
    rest = np.setdiff1d(np.arange(len(b)), unknown)
    fits = fits and all(
        (w[k] >= -least[k]) if z[k] <= lower[k] else (w[k] <= least[k]) if z[k] >= upper[k] else False for k in rest
    )
    return z if fits else None
