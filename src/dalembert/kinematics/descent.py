"""Many small least squares problems at once, within bounds.

    min  f = sum_i w_i [r_i(q) + s_i]^2 / 2 + e |q - p|^2 / 2,     lower <= q <= upper                              (1)

[.] is the positive part for rows that are limits. Steps are those of Levenberg and Marquardt with the damping
proportional to |r|^2 (Sugihara 2011), so that convergence is quadratic where r vanishes, also where J loses rank.
Coordinates at a bound that would be pushed beyond it have no part in a step; those that a step takes to a bound are put
there and the rest is solved again. Where r does not vanish, or the posture p decides, steps are Newton's: the second
derivatives of the rows come from differences of J along each freedom.

Rows that have to hold exactly beside others get multipliers: with w large, s grows by what is left of r (Hestenes 1969,
Powell 1969), each time by a factor 1 / w less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .reaching import Marks, Places, Reach

__all__ = ["Aim", "Descent", "descend", "solve_symmetric"]

Array = NDArray[np.float64]

FIRM = 1e4  # w of rows that hold exactly
_STEP = 1e-6  # of differences of J
_PATIENCE = 6  # steps in which |r| has to become less by a tenth


@dataclass(frozen=True, eq=False)
class Aim:
    """What (1) means.

    Attributes
    ----------
    firm : int
        Rows that have to hold exactly, the first ones.
    posture : float
        e.
    preferred : (b, nq) or (nq,)
        p.
    shift : (b, m)
        s at the start; zero if left out.
    newton : bool
        Search the least of f by Newton's steps; if not, a zero of all rows.
    iterations : int
    """

    firm: int = 0
    posture: float = 0.0
    preferred: Array | None = None
    shift: Array | None = None
    newton: bool = False
    iterations: int = 60


@dataclass(eq=False)
class Descent:
    """Where starts led.

    Attributes
    ----------
    q : (b, nq)
    residual : (b, m)
    done : (b,) bool
        A zero was found, or with `newton` no step leads farther down.
    iterations : (b,) int
    push : (b, n)
        Gradient of f by x: what presses coordinates against their bounds.
    """

    q: Array
    residual: Array
    done: Marks
    iterations: Places
    push: Array


def descend(reach: Reach, q: Array, which: Places, aim: Aim) -> Descent:
    """Go down from q (b, nq) towards targets `which` (b,)."""
    b, m, n = len(q), len(reach.sided), len(reach.columns)
    q = q.copy()
    s = np.zeros((b, m)) if aim.shift is None else aim.shift.copy()
    w = np.where(np.arange(m) < aim.firm, FIRM, 1.0)
    newton = aim.newton
    damping, count, done = np.full(b, 0.1), np.zeros(b, dtype=int), np.zeros(b, dtype=bool)
    r = reach.residual(q, which)
    push, mark, failures = np.zeros((b, n)), np.full(b, np.inf), np.zeros(b, dtype=int)
    preferred = None if aim.preferred is None else np.broadcast_to(aim.preferred, q.shape)
    live = np.arange(b)
    for step in range(aim.iterations):
        if not newton:
            done[live] = _zero(reach, r[live] + s[live])
            live = live[~done[live]]
            if step % _PATIENCE == _PATIENCE - 1:  # what hardly comes nearer is left
                size = np.sqrt((r[live] ** 2).sum(1))
                slow = (size > 0.9 * mark[live]) & (size > 1e-6)
                mark[live] = size
                live = live[~slow]
        if not live.size:
            break
        here, target = q[live], which[live]
        at, J = reach.rows(here, target)
        value = _positive(reach, at + s[live])
        lam = w * value
        if reach.limited:
            J = np.where((reach.sided & (value == 0.0))[:, :, None], 0.0, J)
        g = (J.swapaxes(1, 2) @ lam[:, :, None])[:, :, 0]
        if newton:
            H = (w[:, None] * J).swapaxes(1, 2) @ reach.stiffness(at, J) + curvature(reach, here, target, lam, J)
        else:
            H = J.swapaxes(1, 2) @ J
        f = 0.5 * (w * value * value).sum(1)
        if preferred is not None and aim.posture:
            away = reach.away(here, preferred[live])
            g = g + aim.posture * away
            H[:, range(n), range(n)] += aim.posture
            f = f + 0.5 * aim.posture * (away * away).sum(1)
        push[live] = g
        size = np.maximum(H[:, range(n), range(n)].max(1), 1e-12)
        if newton:
            mu = np.where(damping[live] <= 0.1, 0.0, 1e-3 * damping[live]) * np.minimum(size, 10.0) + 1e-13 * size
        else:
            mu = damping[live] * 2.0 * f + 1e-13 * size
        x, sound = _step(H, g, mu, *reach.room(here))
        largest = np.abs(x * reach.metric / _units(reach)).max(1, initial=0.0)
        x /= np.maximum(largest, 1.0)[:, None]  # no coordinate turns by more than a radian at once
        trial = reach.moved(here, x)
        r_trial = reach.residual(trial, target)
        f_trial = 0.5 * (w * _positive(reach, r_trial + s[live]) ** 2).sum(1)
        if preferred is not None and aim.posture:
            f_trial = f_trial + 0.5 * aim.posture * (reach.away(trial, preferred[live]) ** 2).sum(1)
        hoped = -((g * x).sum(1) + 0.5 * (x * (H @ x[:, :, None])[:, :, 0]).sum(1))
        gained = f - f_trial
        tiny = np.abs(x).max(1, initial=0.0) < 1e-7
        good = sound & ((gained > 1e-3 * hoped) & (hoped > 0) | tiny & newton)
        q[live[good]], r[live[good]] = trial[good], r_trial[good]
        count[live] += 1
        ratio = gained / np.maximum(hoped, 1e-300)
        damping[live] = np.clip(
            damping[live] * np.where(~good, 8.0, np.where(ratio > 0.7, 0.25, np.where(ratio < 0.3, 3.0, 1.0))), 1e-3, 1e12
        )
        failures[live] = np.where(good, 0, failures[live] + 1)
        if newton:
            settled = good & (np.abs(x).max(1, initial=0.0) < 1e-5)
            if aim.firm:
                near = live[settled]
                s[near, : aim.firm] = _positive(reach, r[near] + s[near])[:, : aim.firm]
            held = np.abs(reach.violated(r[live])[:, : aim.firm]).max(1, initial=0.0) <= 1e-11
            over = sound & (np.abs(x).max(1, initial=0.0) < 1e-9) & held
            done[live[over]] = True
            live = live[~over & (failures[live] < 12)]
        else:
            live = live[failures[live] < 8]
    if not newton:
        done |= _zero(reach, r + s)
    return Descent(q, r, done, count, push)


def curvature(reach: Reach, q: Array, which: Places, lam: Array, J: Array) -> Array:
    """Return the second derivatives (b, n, n) of rows by x, times lam (b, m), by differences of J."""
    b, n = len(q), len(reach.columns)
    x = np.broadcast_to(_STEP * np.eye(n), (b, n, n)).reshape(-1, n)
    step = np.zeros((b * n, reach.model.nv))
    step[:, reach.columns] = reach.metric * x
    around = reach.model.integrate(np.repeat(q, n, axis=0), step)
    near = reach.rows(around, np.repeat(which, n))[1].reshape(b, n, *J.shape[1:])
    if reach.limited:
        near = np.where(J[:, None] == 0.0, 0.0, near)
    H = np.einsum("bm,bkmn->bkn", lam, near - J[:, None]) / _STEP
    return 0.5 * (H + H.swapaxes(1, 2))


def solve_symmetric(A: Array, rhs: Array) -> tuple[Array, Marks]:
    """Return the solutions (b, n) of A x = rhs, A (b, n, n) symmetric, and whether A is positive definite, (b,).

    L D L^T of the whole batch at once, without pivoting: of use where A is positive, or is found not to be.
    """
    b, n = rhs.shape
    L = np.ascontiguousarray(A.transpose(1, 2, 0))
    x = np.ascontiguousarray(rhs.T)
    sound = np.ones(b, dtype=bool)
    for k in range(n):
        sound &= L[k, k] > 0.0
        pivot = np.where(L[k, k] > 0.0, L[k, k], 1.0)
        L[k, k] = pivot
        if k + 1 < n:
            row = L[k, k + 1 :].copy()
            L[k, k + 1 :] /= pivot
            for i in range(k + 1, n):
                L[i, i:] -= row[i - k - 1] * L[k, i:]
            x[k + 1 :] -= L[k, k + 1 :] * x[k]
    for k in range(n - 1, -1, -1):
        x[k] /= L[k, k]
        if k + 1 < n:
            x[k] -= (L[k, k + 1 :] * x[k + 1 :]).sum(0)
    return np.ascontiguousarray(x.T), sound


def _step(H: Array, g: Array, mu: Array, least: Array, most: Array) -> tuple[Array, Marks]:
    """Return the step (b, n) within least and most that reduces g x + x (H + mu) x / 2, and whether H + mu is positive."""
    n = g.shape[1]
    diagonal = np.arange(n)
    A = H.copy()
    A[:, diagonal, diagonal] += mu[:, None]
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
    diagonal = np.arange(A.shape[1])
    masked[:, diagonal, diagonal] += bound
    return solve_symmetric(masked, rhs)


def _positive(reach: Reach, r: Array) -> Array:
    """Return rows (b, m), those that are limits only where they are exceeded."""
    return np.where(reach.sided, np.maximum(r, 0.0), r) if reach.limited else r


def _zero(reach: Reach, r: Array) -> Marks:
    marks: Marks = (np.abs(_positive(reach, r)) <= reach.tolerances).all(axis=1)
    return marks


def _units(reach: Reach) -> Array:
    """Return what counts as one radian along each column: 1, or the characteristic length."""
    return reach.model.compiled.tables["column_scale"][reach.columns]
