"""Convex quadratic programs within boxes and ellipsoids, by active sets: forces of dry friction and stops.

    min  x' A x / 2 + b' x,   lower <= x <= upper,   |x_g / f_g| <= 1 for groups g of rows                          (1)

A is symmetric and positive semidefinite, of any rank. With w = A x + b a solution has w = 0 where x is within its
bounds, w >= 0 at a lower and w <= 0 at an upper one. A group inside its ellipsoid has w = 0; one on its boundary has

    w = -s F^-2 x,    s >= 0                                                                                         (2)

which is the slip that dissipates most: for equal f it is opposite to the friction force. The solution w is unique; x
need not be.

Boxes are solved by active sets (Stark and Parker 1995): an unknown enters the free set by the largest w and leaves it
where the step to the solution of the free set meets a bound. An unknown whose pivot vanishes depends on the free ones
and does not enter, so that the free set is independent. Boxes and ellipsoids are solved alternately, each ellipsoid
exactly by its multiplier s, until nothing changes; then by Newton's method on (2) with the sliding groups known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..errors import SingularityError

__all__ = [
    "DEPENDENT_PIVOT_TOL",
    "BoundedQpSolution",
    "schur_pivot",
    "solve_bounded_qp",
    "solve_ellipsoid_qp",
    "within_ellipsoid",
]


DEPENDENT_PIVOT_TOL = 1e-10  # relative to the diagonal entry; a row with a smaller pivot depends on the free ones
ROUNDOFF_TOL = 1e-13  # relative to the sum of the terms of w; smaller values are rounding
MAX_ITERATIONS = 400  # alternations between boxes and ellipsoids
NEWTON_INTERVAL = 20  # alternations between two attempts of Newton's method
CONVERGENCE_TOL = 1e-13  # change relative to the largest |x| at which the iteration stops
BOUNDARY_TOL = 1e-9  # of |x / f|: a group so close to 1 is on its ellipsoid


@dataclass(frozen=True, eq=False)
class BoundedQpSolution:
    """Solution of (1).

    Attributes
    ----------
    x, w : (n,)
    free : list of int
        Independent unknowns for which w = 0 was solved.
    """

    x: Array
    w: Array
    free: list[int]


def schur_pivot(A: Array, free: list[int], k: int) -> float:
    """Return the Schur complement of A[k, k] after elimination of the free unknowns."""
    if not free:
        return float(A[k, k])
    column = A[free, k]
    return float(A[k, k] - column @ np.linalg.solve(A[free][:, free], column))


def solve_bounded_qp(A: Array, b: Array, lower: Array, upper: Array, noise: Array | float = 0.0) -> BoundedQpSolution:
    """Return a solution of (1) without groups; bounds may be infinite.

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
        for index in sorted(np.flatnonzero(room <= part), reverse=True):
            k = free.pop(int(index))
            x[k] = upper[k] if step[index] > 0 else lower[k]


def solve_ellipsoid_qp(
    A: Array, b: Array, lower: Array, upper: Array, groups: list[list[int]], f: Array, noise: Array | None = None
) -> BoundedQpSolution:
    """Return a solution of (1); rows in groups have no bounds except f (n,), which is positive there.

    `noise` (n,) is that of `solve_bounded_qp`, for rows outside groups.
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
    """Return the minimiser x of x' A x / 2 + b' x with |x / f| <= 1; f positive."""
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
    """Return the solution by Newton's method from x, with its slipping groups; None if it fails."""
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
