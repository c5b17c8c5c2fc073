"""All solutions of an inverse kinematics problem, by multistart without duplicates."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, BoolArray, IndexArray
from ...closure.equivalent_configurations import periodic_angles
from ...errors import ModelError
from .equations import IkEquations
from .multistart import MultistartSearch, SearchOutcome
from .solvers import solve_bounded

__all__ = ["distinct", "find_all_solutions"]


DUPLICATE_TOL = 1e-6  # rad, or characteristic lengths; nearer configurations are one solution
_STARTS_PER_ROUND = 48  # starts per target that are tried at once
SINGULAR_MERGE_FACTOR = 10.0  # roots of the tolerance within which singular configurations are one
FREE_MOTION_STEP = 0.2  # rad or characteristic lengths; step along a possible degree of freedom
MAX_EMPTY_ROUNDS = 3  # rounds without anything new after which a target is done


def find_all_solutions(
    search: MultistartSearch, begin: Array, preferred: Array, item: str
) -> tuple[SearchOutcome, tuple[Array, ...]]:
    """Return the configuration nearest to the posture for each target, and all solutions found, (n, nq) each."""
    reach = search.reach
    which = np.arange(len(begin))
    found = search.first(begin, which)
    search.again(found, begin, which)
    found.q = search.unwrap_angles(found.q, preferred)
    _check_isolated(search, found, item)
    kept = [found.q[k : k + 1] if found.reached[k] else found.q[:0] for k in which]
    idle, used = np.where(found.reached, 0, MAX_EMPTY_ROUNDS), 1
    while used < search.starts and (idle < MAX_EMPTY_ROUNDS).any():
        left = np.flatnonzero(idle < MAX_EMPTY_ROUNDS)
        each = min(_STARTS_PER_ROUND, search.starts - used)
        owner = np.repeat(left, each)
        starts = search.perturbed(begin[owner], np.pi) if reach.closures else search.scattered(begin[owner])
        down = solve_bounded(reach, starts, which[owner], iterations=search.iterations)
        reached = down.done & reach.reached(down.residual, down.q)
        q = search.unwrap_angles(down.q, preferred[owner])
        np.add.at(found.iterations, owner, down.iterations)
        found.starts[left] += each
        for k in left:
            before = len(kept[k])
            kept[k] = _merged(reach, distinct(reach, np.concatenate([kept[k], q[(owner == k) & reached]])), int(k))
            idle[k] = 0 if len(kept[k]) > before else idle[k] + 1
        used += each
    solutions = []
    for k in which:
        away = np.linalg.norm(reach.away(kept[k], preferred[k]), axis=1) if len(kept[k]) else np.zeros(0)
        solutions.append(kept[k][np.argsort(away, kind="stable")])
        if len(kept[k]):
            found.q[k] = solutions[k][0]
    ok = np.flatnonzero(found.reached)
    found.residual[ok] = reach.residual(found.q[ok], which[ok])
    search.nearest(found, preferred, which)
    return found, tuple(solutions)


def distinct(reach: IkEquations, q: Array) -> Array:
    """Return configurations (n, nq) without duplicates, up to whole turns."""
    kept: list[Array] = []
    scale, angles = reach.model.compiled.tables["column_scale"], periodic_angles(reach.model)[1]
    for one in q:
        if kept:
            away = reach.model.difference(np.array(kept), np.broadcast_to(one, (len(kept), len(one))))
            away[:, angles] -= 2 * np.pi * np.round(away[:, angles] / (2 * np.pi))
            away = away / scale
            if (np.abs(away).max(axis=1) < DUPLICATE_TOL).any():
                continue
        kept.append(one)
    return np.array(kept).reshape(-1, q.shape[1])


def _merged(reach: IkEquations, q: Array, target: int) -> Array:
    """Return configurations (n, nq) with those that meet at a singular one merged.

    Where an arm is stretched, a target is met to the tolerance within its square root of the configuration. Solutions
    that are nearer to each other, and on the same degree of freedom to first order, cannot be distinguished. Their mean
    is used if it is as accurate.
    """
    if len(q) < 2:
        return q
    scale, angles = reach.model.compiled.tables["column_scale"], periodic_angles(reach.model)[1]
    where = np.full(len(q), target)
    s = np.linalg.svd(reach.jacobian(q, where)[:, ~reach.sided], compute_uv=False)
    blurred = SINGULAR_MERGE_FACTOR * reach.tolerance**0.5
    near = s[:, min(len(reach.columns), s.shape[1]) - 1] < blurred * np.maximum(s[:, 0], 1e-12)
    kept: list[Array] = [one for one, singular in zip(q, near, strict=True) if not singular]
    left = q[near]
    while len(left):
        step = reach.model.difference(np.broadcast_to(left[0], left.shape), left)
        step[:, angles] -= 2 * np.pi * np.round(step[:, angles] / (2 * np.pi))
        mine = np.abs(step / scale).max(axis=1) < blurred
        middle = reach.within(reach.model.integrate(left[:1], 0.5 * (step[mine].min(0) + step[mine].max(0))[None]))
        both = np.concatenate([left[:1], middle])
        size = np.abs(reach.residual(both, np.full(2, target))).max(axis=1)
        kept.append(both[int(size[1] < size[0])])
        left = left[~mine]
    return np.array(kept).reshape(-1, q.shape[1])


def _free(search: MultistartSearch, q: Array, which: IndexArray) -> BoolArray:
    """Return the mask of configurations (b, nq) that can move at fixed targets beyond first order."""
    reach = search.reach
    rows = ~reach.sided
    J = reach.jacobian(q, which)[:, rows]
    away = np.linalg.svd(J)[2][:, -1]
    found = np.zeros(len(q), dtype=bool)
    for sign in (FREE_MOTION_STEP, -FREE_MOTION_STEP):
        down = solve_bounded(reach, reach.retract(q, sign * away), which, iterations=search.iterations)
        gone = np.linalg.norm(reach.away(down.q, q), axis=1) if len(q) else np.zeros(0)
        at = np.linalg.svd(reach.jacobian(down.q, which)[:, rows], compute_uv=False)
        n = len(reach.columns)
        singular = at[:, n - 1] < 1e-6 * at[:, 0] if at.shape[1] >= n else np.ones(len(q), dtype=bool)
        found |= down.done & (gone > 0.3 * FREE_MOTION_STEP) & singular
    return found


def _check_isolated(search: MultistartSearch, found: SearchOutcome, item: str) -> None:
    """Raise an error for targets that leave degrees of freedom, and so have a continuum of solutions."""
    left = np.flatnonzero(search.left_over(found, np.arange(len(found.q))))
    left = left[_free(search, found.q[left], left)] if left.size else left
    if left.size:
        number = int(search.dof(found.q[left[:1]], left[:1])[0])
        dofs = f"{number} DOF"
        remedy = f"target {left[0]} leaves {dofs}, so its configurations form a continuum: hold that many joints"
        raise ModelError(item, "all", True, remedy)
