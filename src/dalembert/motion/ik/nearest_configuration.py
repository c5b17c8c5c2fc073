"""Constrained minimisation in batches: least target error, or nearest posture at a target.

    min  f(q) = sum_soft r_i^2 / 2 + e |q - p|^2 / 2     with  r_i(q) = 0 for firm rows,  lower <= q <= upper        (1)

Newton's method on the Lagrangian, along the degrees of freedom left by firm rows and active limits. Multipliers nu of
these are the shortest with A^T nu = -g, A = [J; unit rows of coordinates at their limits]. Of limits whose multiplier
has the wrong sign the worst is released. Second derivatives of the rows, times their multipliers, come from differences
of J along each degree of freedom, so that convergence is quadratic whether targets are met or not:

    x = V y,   V^T (H + damping) V y = -V^T g,   A V = 0                                                             (2)

A step ends where it meets a limit. It is followed by the shortest steps back onto the firm rows, where f is compared.
Limits at cut joints are firm rows of which only the positive part counts. These projections are not those of
`closure.projection`, because each start of a batch has its own bounds and active rows.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, BoolArray, IndexArray
from ...numerics.rank import significant
from .equations import IkEquations
from .solvers import IkOutcome, solve_symmetric

__all__ = ["minimize_on_constraints", "project_onto_rows"]


AT_LIMIT_TOL = 1e-11  # of x; a nearer coordinate is at its limit
_RANK_TOL = 1e-8  # relative to the largest singular value; smaller ones are degrees of freedom
MAX_RELEASED_LIMITS = 4  # limits released per step
_DIFFERENCE_STEP = 1e-6  # of x, for differences of J
_FIRM_ROW_TOL = 1e-12  # residual of satisfied firm rows


def minimize_on_constraints(
    reach: IkEquations,
    q: Array,
    which: IndexArray,
    firm: int,
    posture: float,
    preferred: Array,
    *,
    iterations: int = 60,
) -> IkOutcome:
    """Minimise f of (1) from q (b, nq), where the first `firm` rows are satisfied.

    p is `preferred` (b, nq).
    """
    b, n = len(q), len(reach.columns)
    q, r = q.copy(), reach.residual(q, which)
    damping = np.zeros(b)
    count, failures, done = np.zeros(b, dtype=int), np.zeros(b, dtype=int), np.zeros(b, dtype=bool)
    push = np.zeros((b, n))
    live = np.arange(b)
    for _ in range(iterations):
        if not live.size:
            break
        here, target, wish = q[live], which[live], preferred[live]
        at, J = r[live], reach.jacobian(here, target)
        least, most = reach.step_limits(here)
        soft = J[:, firm:].swapaxes(1, 2)
        away = reach.away(here, wish)
        g = (soft @ at[:, firm:, None])[:, :, 0] + posture * away
        V, lam, push[live] = _dof(reach, at[:, :firm], J[:, :firm], g, least, most)
        loads = np.concatenate([lam, at[:, firm:]], axis=1)
        H = soft @ reach.stiffness(at, J)[:, firm:] + curvature(reach, here, target, loads, J)
        H = H + posture * reach.bend(away)
        x, positive = _along(V, H, g, damping[live])
        # the first limit ends a step
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(x > 0.0, most / x, np.where(x < 0.0, least / x, np.inf))
        part[np.abs(x) < 1e-13] = np.inf
        part = np.clip(part.min(1, initial=1.0), 0.0, 1.0)
        blocked = part < 1e-12  # a released limit: more damping turns the step inward
        x = reach.shortened(x * part[:, None])
        trial, r_trial, held = project_onto_rows(reach, reach.retract(here, x), target, firm)
        f, f_trial = (
            0.5 * (rows[:, firm:] ** 2).sum(1) + 0.5 * posture * (pull**2).sum(1)
            for rows, pull in ((at, away), (r_trial, reach.away(trial, wish)))
        )
        hoped = -((g * x).sum(1) + 0.5 * (x * (H @ x[:, :, None])[:, :, 0]).sum(1))
        largest = np.abs(x).max(1, initial=0.0)
        good = positive & held & ~blocked & ((f - f_trial > 1e-4 * hoped) & (hoped > 0.0) | (largest < 1e-7))
        chosen = live[good]
        q[chosen], r[chosen] = trial[good], r_trial[good]
        count[live] += 1
        failures[live] = np.where(good, 0, failures[live] + 1)
        stiff = np.maximum(damping[live], 1e-2)
        damping[live] = np.where(good, np.where(damping[live] < 2e-2, 0.0, 0.2 * damping[live]), 6.0 * stiff)
        over = good & (largest < 1e-8)
        done[live[over]] = True
        live = live[~over & (failures[live] < 12)]
    return IkOutcome(q, r, done, count, push)


def _dof(reach: IkEquations, r: Array, J: Array, g: Array, least: Array, most: Array) -> tuple[Array, Array, Array]:
    """Return V (b, n, n) of (2), zero columns beside the DOF, multipliers (b, firm), and g + J^T lam (b, n)."""
    sided, limits = reach.sided[: r.shape[1]], reach.limited > 0
    bound = (least > -AT_LIMIT_TOL) | (most < AT_LIMIT_TOL)
    pressed = ~sided | (r > -AT_LIMIT_TOL)
    count, where = MAX_RELEASED_LIMITS, np.arange(len(g))
    V, lam, push = np.empty((*g.shape, g.shape[1])), np.empty_like(r), np.empty_like(g)
    while where.size:
        A = J[where] if not limits else np.where(pressed[where, :, None], J[where], 0.0)
        V[where], nu = _frame(A, bound[where], g[where])
        lam[where] = nu
        push[where] = g[where] + (A.swapaxes(1, 2) @ nu[:, :, None])[:, :, 0]
        # release no limit before the others have nearly converged
        along = np.abs(V[where].swapaxes(1, 2) @ g[where][:, :, None])[:, :, 0].max(1)
        small = np.maximum(along, 1e-9 * (1.0 + np.abs(g[where]).max(1)))
        inward = np.where(least[where] > -AT_LIMIT_TOL, -push[where], 0.0) + np.where(
            most[where] < AT_LIMIT_TOL, push[where], 0.0
        )
        inward = np.where(bound[where] & (least[where] < most[where] - AT_LIMIT_TOL), inward, 0.0)
        loose = np.where(sided & pressed[where], -nu, 0.0)
        strength = np.concatenate([inward, loose], axis=1)
        worst = strength.argmax(1)
        go = (strength[np.arange(len(where)), worst] > small) & (count > 0)
        rows, worst = where[go], worst[go]
        n, at_limit = g.shape[1], worst < g.shape[1]
        bound[rows[at_limit], worst[at_limit]] = False
        pressed[rows[~at_limit], worst[~at_limit] - n] = False
        count, where = count - 1, rows
    return V, lam, push


def _frame(A: Array, bound: BoolArray, g: Array) -> tuple[Array, Array]:
    """Return the DOF left by rows A (b, k, n) and bounds, columns of (b, n, n), and multipliers of A (b, k)."""
    b, k, n = A.shape
    most = int(bound.sum(1).max(initial=0))
    if not k and not most:
        return np.broadcast_to(np.eye(n), (b, n, n)), np.zeros((b, 0))
    order = np.argsort(~bound, axis=1, kind="stable")[:, :most]
    units = np.eye(n)[order] * np.take_along_axis(bound, order, axis=1)[:, :, None]
    U, s, Vt = np.linalg.svd(np.concatenate([A, units], axis=1))
    real = significant(s, _RANK_TOL, 1e-6)
    inverse = np.where(real, 1.0 / np.where(real, s, 1.0), 0.0)
    size = s.shape[1]
    nu = -(U[:, :, :size] @ (inverse * (Vt[:, :size] @ g[:, :, None])[:, :, 0])[:, :, None])[:, :, 0]
    free = np.ones((b, n), dtype=bool)
    free[:, :size] = ~real
    return Vt.swapaxes(1, 2) * free[:, None, :], nu[:, :k]


def _along(V: Array, H: Array, g: Array, damping: Array) -> tuple[Array, BoolArray]:
    """Return the step x (b, n) of (2), and True where H + damping is positive along V."""
    n = g.shape[1]
    W = V.swapaxes(1, 2)
    A = W @ H @ V
    A[:, range(n), range(n)] += np.where((V * V).sum(1) > 0.5, damping[:, None] + 1e-14, 1.0)
    y, positive = solve_symmetric(A, -(W @ g[:, :, None])[:, :, 0])
    return (V @ y[:, :, None])[:, :, 0], positive


def project_onto_rows(reach: IkEquations, q: Array, which: IndexArray, firm: int) -> tuple[Array, Array, BoolArray]:
    """Return q (b, nq) projected onto the firm rows by shortest steps, all rows (b, m), and the mask of successes."""
    q, r = q.copy(), reach.residual(q, which)
    held = np.ones(len(q), dtype=bool)
    for _ in range(8):
        gaps = np.abs(reach.violated(r)[:, :firm])
        held = np.asarray((gaps <= np.maximum(reach.tolerances[:firm] * 0.1, _FIRM_ROW_TOL)).all(axis=1))
        live = np.flatnonzero(~held)
        if not live.size:
            break
        gap, J = reach.violated(r[live])[:, :firm], reach.jacobian(q[live], which[live])[:, :firm]
        if reach.limited:
            J = np.where((reach.sided[:firm] & (gap == 0.0))[:, :, None], 0.0, J)
        least, most = reach.step_limits(q[live])
        fixed = np.zeros(least.shape, dtype=bool)
        for _ in range(3):  # a coordinate moved to a bound stays there
            free = np.where(fixed[:, None, :], 0.0, J)
            A = free @ free.swapaxes(1, 2)
            A[:, range(firm), range(firm)] += 1e-13 * np.maximum(A[:, range(firm), range(firm)].max(1), 1e-12)[:, None]
            bound = np.where(fixed, np.where(most <= -least, most, least), 0.0)
            rest = gap + (J @ bound[:, :, None])[:, :, 0]
            x = bound - (free.swapaxes(1, 2) @ solve_symmetric(A, rest)[0][:, :, None])[:, :, 0]
            beyond = ((x < least) | (x > most)) & ~fixed
            if not beyond.any():
                break
            fixed |= beyond
        x = reach.shortened(np.clip(x, least, most))
        q[live] = reach.retract(q[live], x)
        r[live] = reach.residual(q[live], which[live])
    return q, r, held


def curvature(reach: IkEquations, q: Array, which: IndexArray, loads: Array, J: Array) -> Array:
    """Return the second derivatives (b, n, n) of rows with respect to x, times loads (b, m), by differences of J.

    J belongs to steps from its own configuration. Successive rotations are evaluated halfway; a free joint is displaced
    along axes that do not turn with its own step.
    """
    b, n = len(q), len(reach.columns)
    step = np.zeros((b, n, reach.model.nv))
    step[:, np.arange(n), reach.columns] = _DIFFERENCE_STEP * reach.metric
    around = reach.model.integrate(np.repeat(q, n, axis=0), step.reshape(b * n, -1))
    near = reach.jacobian(around, np.repeat(which, n)).reshape(b, n, *J.shape[1:])
    pulled = (near.swapaxes(2, 3) - J.swapaxes(1, 2)[:, None]) @ loads[:, None, :, None]
    H: Array = pulled[:, :, :, 0] / _DIFFERENCE_STEP
    for turns, moves in reach.floating:
        H[:, turns[:, None], moves] = H[:, moves[:, None], turns].swapaxes(1, 2)
    return 0.5 * (H + H.swapaxes(1, 2))
