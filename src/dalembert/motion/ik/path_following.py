"""Path following: successive targets on one branch.

From a configuration that reaches one target the next is approached along

    r(q) = (1 - s) r_0,     s from 0 to 1,     r_0 the error of the next target at the start                         (1)

positions on a line, orientations about a fixed axis. A step of s is accepted if Newton's method ends near the tangent
prediction without passing a singular position; otherwise it is halved. If steps become too small, the branch ends. The
search then starts afresh, and a `Jump` is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array, IndexArray
from ...numerics.rank import ROW_RANK_TOL
from .multistart import MultistartSearch, SearchOutcome
from .solvers import solve_bounded

__all__ = ["Jump", "follow_targets"]


_MIN_PATH_STEP = 1.0 / 256  # of the distance between two targets; the shortest step
MAX_TANGENT_ERROR = 0.5  # relative difference of a step from its tangent
_SMALL_ERROR = 1e-3  # rad, or characteristic lengths; a smaller difference from the tangent is always accepted
_MAX_STEP = 0.5  # rad, or characteristic lengths; a longer step is always rejected


@dataclass(frozen=True)
class Jump:
    """Change of branch along a path.

    Attributes
    ----------
    number : int
        Index of the first target on the other branch.
    size : float
        Largest change of a coordinate, rad, or m per characteristic length.
    reason : str
    """

    number: int
    size: float
    reason: str


def follow_targets(
    search: MultistartSearch, q: Array, count: int, preferred: Array | None
) -> tuple[SearchOutcome, tuple[Jump, ...]]:
    """Follow targets from q (nq,), each from the previous one.

    The posture is the previous one unless given (B, nq).
    """
    parts: list[SearchOutcome] = []
    jumps: list[Jump] = []
    here = q[None]
    for k in range(count):
        which, posture = np.array([k]), here if preferred is None else preferred[k : k + 1]
        before = parts[-1] if parts else None
        followed = None if before is None or not before.reached[0] else _follow(search, here, which)
        if followed is not None:
            found = search.first(followed[0], which)
            found.iterations += followed[1]
            found.q = search.unwrap_angles(found.q, here)
            search.posture(found, posture, which)
        else:
            found = search.solve(here, posture, which)
            if before is not None and not found.reached[0]:  # out of reach: nearest configuration from here
                found = search.first(here, which)
                search.nearest(found, posture, which)
            away = _size(search, here, found.q)
            if before is not None and found.reached[0] and (before.reached[0] or away > _MAX_STEP):
                why = "the branch ends before it" if before.reached[0] else "the one before is out of reach"
                jumps.append(Jump(k, away, why))
        parts.append(found)
        here = found.q
    return _joined(parts), tuple(jumps)


def fitted(search: MultistartSearch, begin: Array, count: int, path: bool) -> SearchOutcome:
    """Return the least-error configuration of each target near starts (B, nq), or near the previous one."""
    if not path:
        return _nearest(search, begin, np.arange(count))
    parts, here = [], begin[:1]
    for k in range(count):
        parts.append(_nearest(search, here, np.array([k])))
        here = parts[-1].q
    return _joined(parts)


def _nearest(search: MultistartSearch, q: Array, which: IndexArray) -> SearchOutcome:
    found = search.first(q, which)
    found.q = search.unwrap_angles(found.q, q)
    search.nearest(found, q, which)
    return found


def _joined(parts: list[SearchOutcome]) -> SearchOutcome:
    names = ("q", "residual", "reached", "iterations", "starts", "push", "settled")
    return SearchOutcome(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _follow(search: MultistartSearch, q: Array, which: IndexArray) -> tuple[Array, int] | None:
    """Return the configuration (1, nq) on the branch at the next target, and steps.

    None if the branch ends before.
    """
    reach = search.reach
    r_0 = reach.residual(q, which)
    r_0[:, : reach.hard] = 0.0
    progress, part, steps = 0.0, 1.0, 0
    while progress < 1.0:
        part = min(part, 1.0 - progress)
        tangent, side = _tangent(search, q, which, r_0 * part)
        ahead = reach.retract(q, tangent)
        shift = -(1.0 - progress - part) * r_0
        down = solve_bounded(reach, ahead, which, shift=shift, iterations=20, patience=6)
        steps += int(down.iterations[0])
        bent, size = _size(search, ahead, down.q), _size(search, q, ahead)
        good = bool(down.done[0]) and (bent <= MAX_TANGENT_ERROR * size or bent <= _SMALL_ERROR) and size <= _MAX_STEP
        if good and side is not None:
            other = _tangent(search, down.q, which, r_0)[1]
            good = other is None or other == side
        if good:
            q, progress, part = down.q, progress + part, 2.0 * part
            continue
        part *= 0.5
        if part < _MIN_PATH_STEP:
            return None
    return q, steps


def _tangent(search: MultistartSearch, q: Array, which: IndexArray, wanted: Array) -> tuple[Array, float | None]:
    """Return the step x (1, n) with J x = -wanted, within limits, and the side of singular positions of q.

    The side is the sign of the determinant where there are as many rows as degrees of freedom, else None.
    """
    reach = search.reach
    J = reach.jacobian(q, which)[:, ~reach.sided]
    kept = np.abs(J[0]).max(axis=1) > 0.0  # rows that are not free
    J = J[:, kept]
    least, most = reach.step_limits(q)
    x = -(np.linalg.pinv(J, rcond=ROW_RANK_TOL) @ wanted[:, ~reach.sided][:, kept, None])[:, :, 0]
    side = float(np.sign(np.linalg.det(J[0]))) if J.shape[1] == J.shape[2] else None
    return np.clip(x, least, most), side


def _size(search: MultistartSearch, q: Array, other: Array) -> float:
    """Return the largest change of a coordinate between two configurations (1, nq), scaled."""
    away = search.reach.model.difference(q, other) / search.reach.model.compiled.tables["column_scale"]
    return float(np.abs(away).max(initial=0.0))
