"""Quadratic program of rows at rest.

With lam the efforts of the rows, and a_0 their accelerations without these,

    w = a_0 + A lam,     w_i = 0, or lam_i on a bound with w_i pointing away from it                                (1)

This is min lam' A lam / 2 + a_0' lam within the bounds, and for constant bounds w is unique. Vector groups have an
ellipsoid in place of bounds (`solve_ellipsoid_qp`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.arrays import Array, BoolArray
from dalembert.numerics.quadratic_programs import (
    DEPENDENT_PIVOT_TOL,
    BoundedQpSolution,
    schur_pivot,
    solve_ellipsoid_qp,
)

__all__ = ["RowsAtRest", "StickSlipDecision"]


ON_ELLIPSOID_TOL = 1e-9  # relative: closer efforts are on the ellipsoid
PULL_TOL = 1e-12  # of the accelerations that the efforts cause: far below those at break-away, BREAKAWAY_TOL of them
MOVES_ALONG_TOL = 1e-9  # of the accelerations that add up to it: a larger one is not rounding


@dataclass(frozen=True, eq=False)
class StickSlipDecision:
    """Solution of the stick-slip problem of m rows.

    Attributes
    ----------
    x : (m,) N m or N
        Efforts.
    independent : list of int
        Independent set of the stuck rows.
    slips : (m,) bool
    direction : (m,)
        Slip direction: -1 or 1; a unit vector of a vector group.
    broke_away : (m,) bool
        Rows that exceeded their static friction and have sliding friction.
    """

    x: Array
    independent: list[int]
    slips: BoolArray
    direction: Array
    broke_away: BoolArray


@dataclass(frozen=True, eq=False)
class RowsAtRest:
    """Problem (1) of m rows at rest.

    Attributes
    ----------
    A : (m, m)
    side : (m,)
        Closed stop of each row: -1, 0 or 1.
    pinned : (m,) bool
        Held in both directions without limits, as between two stops without clearance.
    groups : list of list of int
        Vector groups without closed stops.
    rounding : (m,) rad/s2 or m/s2
        Rounding of the accelerations: a row on a bound with a smaller acceleration away from it sticks.
    """

    A: Array
    side: Array
    pinned: BoolArray
    groups: list[list[int]]
    rounding: Array

    def bounds(self, limit: Array) -> tuple[Array, Array]:
        """Return the bounds of efforts: friction limits, infinite where a stop pushes or a row is pinned."""
        below, above = self.unbounded
        return np.where(below, -np.inf, -limit), np.where(above, np.inf, limit)

    @property
    def unbounded(self) -> tuple[BoolArray, BoolArray]:
        """Rows without a lower bound, and without an upper bound, because a stop pushes."""
        return (self.side > 0) | self.pinned, (self.side < 0) | self.pinned

    def solve(self, a0: Array, friction: Array, static: Array) -> StickSlipDecision:
        """Return which rows slip.

        Parameters
        ----------
        a0 : (m,) rad/s2 or m/s2
            Accelerations without friction and stops.
        friction, static : (m,) N m or N
            Rows that exceed static friction change to sliding friction one by one, those of largest w first.
        """
        limit = static.copy()
        for _ in range(len(a0) + 1):
            found, groups = self._solve_qp(a0, limit)
            decision = self._classify(found, a0, limit, groups)
            decision = replace(decision, broke_away=limit < static)
            broke_away = decision.slips & (limit > friction)
            if not broke_away.any():
                break
            first = int(np.argmax(np.where(broke_away, np.abs(found.w), -1.0)))
            reached = next((group for group in groups if first in group), [first])
            limit[reached] = friction[reached]
        return decision

    def _solve_qp(self, a0: Array, limit: Array) -> tuple[BoundedQpSolution, list[list[int]]]:
        """Return the solution of (1), and the vector groups with friction limits above zero."""
        groups = [[k for k in group if limit[k] > 0] for group in self.groups]
        groups = [group for group in groups if group]
        return solve_ellipsoid_qp(self.A, a0, *self.bounds(limit), groups, limit, self.rounding), groups

    def _dependent_accelerations(self, a0: Array, stuck: list[int]) -> Array:
        """Return the accelerations (m,) of rows that depend on stuck rows, whatever efforts act; 0 if rounding."""
        share = np.linalg.solve(self.A[stuck][:, stuck], self.A[stuck])
        sums = a0 - a0[stuck] @ share
        sizes = np.abs(a0) + np.abs(a0[stuck]) @ np.abs(share)
        rounding = self.rounding + self.rounding[stuck] @ np.abs(share)
        return np.where(np.abs(sums) > np.maximum(MOVES_ALONG_TOL * sizes, rounding), sums, 0.0)

    def _classify(
        self, found: BoundedQpSolution, a0: Array, limit: Array, groups: list[list[int]]
    ) -> StickSlipDecision:
        """Return which rows slip in a solution: rows on a bound that do not depend on stuck rows."""
        x, lower, upper = found.x, *self.bounds(limit)
        bound = (x <= lower) | (x >= upper)
        bound[found.free] = False
        bound[(found.w == 0.0) & (lower < upper)] = False  # no acceleration away from the bound
        for group in groups:
            size = (
                PULL_TOL * (np.abs(self.A[group]) @ np.abs(x)).max()
            )  # on the ellipsoid without an acceleration: other rows could hold as well
            pulled = np.linalg.norm(found.w[group]) > size
            bound[group] = pulled and np.linalg.norm(x[group] / limit[group]) >= 1.0 - ON_ELLIPSOID_TOL
        for group in self.groups:  # as a whole
            bound[group] = bound[group].all()
        independent = self.independent_of([*(k for k in found.free if not bound[k]), *np.flatnonzero(~bound).tolist()])
        depends_on = np.array([k not in independent and self.depends_on(independent, k) for k in range(len(x))])
        # drives and rows that slide may accelerate it all the same, as at a dead point that it passes
        along = np.where(depends_on & bound, self._dependent_accelerations(a0, independent), 0.0)
        depends_on, dependent = depends_on & (along == 0.0), depends_on
        for group in self.groups:
            depends_on[group] = depends_on[group].all() if bound[group[0]] else depends_on[group]
        slips = bound & ~depends_on
        direction = np.where(x >= upper, -1.0, 1.0)
        direction = np.where(upper == lower, np.sign(found.w), direction)
        direction = np.where(along != 0.0, np.sign(along), direction)
        for group in self.groups:
            if along[group].any() and dependent[group].all():
                direction[group] = along[group] / np.linalg.norm(along[group])
            else:
                direction[group] = self._slip_direction(x[group], limit[group], found.w[group])
        return StickSlipDecision(x, independent, slips, direction, np.zeros(len(x), dtype=bool))

    @staticmethod
    def _slip_direction(x: Array, limit: Array, w: Array) -> Array:
        """Return the slip direction of a vector group."""
        some = limit > 0
        direction = np.where(some, -x / np.where(some, limit, 1.0) ** 2, w * 0.0) if some.all() else w
        size = float(np.linalg.norm(direction))
        return direction / size if size > 0 else np.zeros(len(direction))

    def independent_of(self, rows: list[int]) -> list[int]:
        """Return the rows that do not depend on those before them."""
        independent: list[int] = []
        for k in dict.fromkeys(rows):
            if not self.depends_on(independent, k):
                independent.append(int(k))
        return independent

    def depends_on(self, independent: list[int], k: int) -> bool:
        """Return whether a row depends linearly on some independent rows."""
        return schur_pivot(self.A, independent, int(k)) <= DEPENDENT_PIVOT_TOL * float(self.A[k, k])
