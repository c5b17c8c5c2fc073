"""Who of the rows at rest sticks, who slips, and which way: with lam their efforts, a_0 their accelerations without,

    w = a_0 + A lam,     w_i = 0, or lam_i on a bound with w_i pulling away from it                                 (1)

that is min lam' A lam / 2 + a_0' lam within the bounds, which for constant bounds has a unique w. Rows whose friction
is one vector have an ellipsoid in place of bounds (`solve_ellipsoid_qp`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...numerics.quadratic_programs import DEPENDENT_PIVOT_TOL, BoundedQpSolution, schur_pivot, solve_ellipsoid_qp
from .discontinuous_forces import MIDDLE

__all__ = ["Modes", "RowsAtRest", "StickSlipDecision"]

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

ON = 1e-9  # so close to an ellipsoid is on it
SLIP_DIRECTION_TOL = 1e-7  # rad: directions of slip that differ by less are one


@dataclass
class Modes:
    """What the rows do between two changes.

    Attributes
    ----------
    sign : (n,)
        Of a row that slides; 0 of others. Of rows whose friction is one vector, the direction in which they began to.
    stuck : (n,) bool
    locked : list of int
        Rows that are locked: those that stick, but for ones that follow from others.
    side : (n,)
        -1 on its lower stop, 1 on its upper one, else 0.
    idle : (n,) bool
        Rows at rest that nothing can move where the mechanism is.
    laws, slides : list of int
        Thresholds of laws that jump there and help to hold rows that stick; and those along which the motion slides.
    """

    sign: Array
    stuck: BoolArray
    locked: list[int]
    side: Array
    idle: BoolArray
    laws: list[int] = field(default_factory=list)
    slides: list[int] = field(default_factory=list)

    @classmethod
    def none(cls, n: int) -> Modes:
        """Return those of n rows of which nothing is known."""
        return cls(np.zeros(n), np.zeros(n, bool), [], np.zeros(n), np.zeros(n, bool))

    def like(self, other: Modes) -> bool:
        """Return whether the same rows stick and slip, the same way."""
        same = np.array_equal(self.stuck, other.stuck) and np.array_equal(self.side, other.side)
        return same and bool((np.abs(self.sign - other.sign) <= SLIP_DIRECTION_TOL).all())

    @property
    def of_laws(self) -> dict[str, Any]:
        """What of conditions says how laws stand."""
        return {"branches": dict.fromkeys(self.laws, MIDDLE), "sliding": frozenset(self.slides)}

    def plain(self) -> dict[str, Any]:
        """Return what it consists of as lists."""
        arrays = {name: getattr(self, name).tolist() for name in ("sign", "stuck", "side", "idle")}
        lists = {name: list(getattr(self, name)) for name in ("locked", "laws", "slides")}
        return {**arrays, **lists}

    @classmethod
    def of(cls, kept: dict[str, Any]) -> Modes:
        """Return what `plain` gave."""
        sign, side = (np.array(kept[name], dtype=float) for name in ("sign", "side"))
        stuck, idle = (np.array(kept[name], dtype=bool) for name in ("stuck", "idle"))
        locked, laws, slides = (list(kept[name]) for name in ("locked", "laws", "slides"))
        return cls(sign, stuck, locked, side, idle, laws, slides)


@dataclass(frozen=True, eq=False)
class StickSlipDecision:
    """Who slips.

    Attributes
    ----------
    x : (m,) N m or N
        Efforts.
    free : list of int
        Rows that stick and are independent of each other.
    slips : (m,) bool
    way : (m,)
        Which way those go: -1 or 1; a direction where friction is one vector.
    broken : (m,) bool
        Rows that reached their static friction and have their friction.
    """

    x: Array
    free: list[int]
    slips: BoolArray
    way: Array
    broken: BoolArray


@dataclass(frozen=True, eq=False)
class RowsAtRest:
    """The problem (1) of m rows at rest.

    Attributes
    ----------
    A : (m, m)
    side : (m,)
        On which stop each is.
    pinned : (m,) bool
        Held both ways, whatever it takes, as between two stops that leave no room.
    balls : list of list of int
        Rows whose friction is one vector, and that are on no stop.
    noise : (m,) rad/s2 or m/s2
        Accelerations up to these are rounding. A row on a bound that they alone would take away from it sticks.
    """

    A: Array
    side: Array
    pinned: BoolArray
    balls: list[list[int]]
    noise: Array

    def bounds(self, limit: Array) -> tuple[Array, Array]:
        """Return the bounds of efforts: of friction, and of a stop that pushes; both ways where a row is pinned."""
        below, above = self.unbounded
        return np.where(below, -np.inf, -limit), np.where(above, np.inf, limit)

    @property
    def unbounded(self) -> tuple[BoolArray, BoolArray]:
        """Rows that friction does not bound from below, and from above, as a stop pushes."""
        return (self.side > 0) | self.pinned, (self.side < 0) | self.pinned

    def decide(self, a0: Array, friction: Array, static: Array) -> StickSlipDecision:
        """Return who slips.

        Parameters
        ----------
        a0 : (m,) rad/s2 or m/s2
            Accelerations while none has friction or a stop.
        friction, static : (m,) N m or N
            What has reached its static friction has its friction then, those that pull most first.
        """
        limit = static.copy()
        for _ in range(len(a0) + 1):
            found, balls = self._solved(a0, limit)
            verdict = self._judged(found, limit, balls)
            verdict = replace(verdict, broken=limit < static)
            broken = verdict.slips & (limit > friction)
            if not broken.any():
                break
            first = int(np.argmax(np.where(broken, np.abs(found.w), -1.0)))
            reached = next((ball for ball in balls if first in ball), [first])
            limit[reached] = friction[reached]
        return verdict

    def _solved(self, a0: Array, limit: Array) -> tuple[BoundedQpSolution, list[list[int]]]:
        """Return the solution of (1), and the rows of ellipsoids that are more than a point."""
        balls = [[k for k in ball if limit[k] > 0] for ball in self.balls]
        balls = [ball for ball in balls if ball]
        return solve_ellipsoid_qp(self.A, a0, *self.bounds(limit), balls, limit, self.noise), balls

    def _judged(self, found: BoundedQpSolution, limit: Array, balls: list[list[int]]) -> StickSlipDecision:
        """Return who slips in a solution: what is on its bound, but for what follows from others that stick."""
        x, lower, upper = found.x, *self.bounds(limit)
        bound = (x <= lower) | (x >= upper)
        bound[found.free] = False
        bound[(found.w == 0.0) & (lower < upper)] = False  # nothing takes it away from where it rests
        for ball in balls:
            size = (
                ON * (np.abs(self.A[ball]) @ np.abs(x)).max()
            )  # on its bound without a pull: others could hold as well
            pulled = np.linalg.norm(found.w[ball]) > size
            bound[ball] = pulled and np.linalg.norm(x[ball] / limit[ball]) >= 1.0 - ON
        for ball in self.balls:  # as a whole
            bound[ball] = bound[ball].all()
        free = self.independent([*(k for k in found.free if not bound[k]), *np.flatnonzero(~bound).tolist()])
        follows = np.array([k not in free and self.follows(free, k) for k in range(len(x))])
        for ball in self.balls:
            follows[ball] = follows[ball].all() if bound[ball[0]] else follows[ball]
        slips = bound & ~follows
        way = np.where(x >= upper, -1.0, 1.0)
        way = np.where(upper == lower, np.sign(found.w), way)
        for ball in self.balls:
            way[ball] = self._way(x[ball], limit[ball], found.w[ball])
        return StickSlipDecision(x, free, slips, way, np.zeros(len(x), dtype=bool))

    @staticmethod
    def _way(x: Array, limit: Array, w: Array) -> Array:
        """Return the direction in which rows slip whose friction is one vector."""
        some = limit > 0
        way = np.where(some, -x / np.where(some, limit, 1.0) ** 2, w * 0.0) if some.all() else w
        size = float(np.linalg.norm(way))
        return way / size if size > 0 else np.zeros(len(way))

    def independent(self, rows: list[int]) -> list[int]:
        """Return those of some rows that do not depend on the ones before them."""
        free: list[int] = []
        for k in dict.fromkeys(rows):
            if not self.follows(free, k):
                free.append(int(k))
        return free

    def follows(self, free: list[int], k: int) -> bool:
        """Return whether a row depends on those that are free."""
        return schur_pivot(self.A, free, int(k)) <= DEPENDENT_PIVOT_TOL * float(self.A[k, k])
