"""How far the efforts that hold rows at rest are from what friction and stops can give.

Locks hold an independent set of rows with efforts h. Rows that follow from these, J_r = C J_l, help: the set holds if
there are efforts lam_l, lam_r within their bounds with

    lam_l + C' lam_r = h                                                                                             (1)

Bounds of friction follow the loads that joints carry, and so change while nothing moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...numerics.bound_margins import minimal_widening

__all__ = ["HoldingLimits"]

Array = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

COUPLING_TOL = 1e-9  # of the largest: a smaller share is none
MIN_ELLIPSOID_THICKNESS = 1e-8  # of its scale: no ellipsoid is thinner, so that rounding of an effort across it is none
BREAKAWAY_TOL = (
    1e-9  # of its bounds: an effort beyond them by this part breaks away, so that it does so with a definite sign
)


@dataclass(frozen=True, eq=False)
class HoldingLimits:
    """Bounds of a set of rows that is held.

    Attributes
    ----------
    locked, also : list of int
        The locked rows, l of them, and those that follow from them, r: numbers among all rows.
    below, above : (n,) bool
        Rows, all of them, whose efforts friction does not bound from below, or from above: a stop pushes.
    share : (l, r)
        C' of (1).
    scale : (n,)
        Sizes of the efforts of all rows.
    balls : list of list of int
        Rows whose friction is one vector, within an ellipsoid.
    """

    locked: list[int]
    also: list[int]
    below: BoolArray
    above: BoolArray
    share: Array
    scale: Array
    balls: list[list[int]]

    def margin(self, h: Array, limits: Array) -> Array:
        """Return what is left of the bounds, (k,), as a part of the scale; negative: it lets go.

        Parameters
        ----------
        h : (k, l) N m or N
            Efforts of the locks.
        limits : (k, n) N m or N
            Static friction of all rows.
        """
        left = np.ones(len(h))
        lower, upper = np.where(self.below, -np.inf, -limits), np.where(self.above, np.inf, limits)
        for mine, others in self.groups:
            locked, also = [self.locked[k] for k in mine], [self.also[k] for k in others]
            balls = self._balls(locked, also)
            share = self.share[mine][:, others]
            low, high = lower[:, locked], upper[:, locked]
            if not also and not balls:
                part = self._apart(h[:, mine], low, high, self.scale[locked])
            elif not also and balls == [locked]:
                part = _in_ellipsoid(h[:, mine], limits[:, locked], self.scale[locked])
            elif len(locked) == 1 and not balls:  # one degree of freedom: bounds add up
                ends = share[0] * lower[:, also], share[0] * upper[:, also]
                less, more = (pick(*ends).sum(axis=1, keepdims=True) for pick in (np.minimum, np.maximum))
                part = self._apart(h[:, mine], low + less, high + more, self.scale[locked])
            else:
                rows = [*locked, *also]
                inner = [[rows.index(k) for k in ball] for ball in balls]
                part = coupled_margin(
                    h[:, mine], lower[:, rows], upper[:, rows], limits[:, rows], share, self.scale[rows], inner
                )
            left = np.minimum(left, part)
        return left

    def _balls(self, locked: list[int], also: list[int]) -> list[list[int]]:
        """Return the rows of each ellipsoid among some rows, in order."""
        parts = ([k for k in (*locked, *also) if k in ball] for ball in self.balls)
        return [part for part in parts if part]

    @cached_property
    def groups(self) -> list[tuple[list[int], list[int]]]:
        """Locked rows, and those that follow from them, that have to do with each other, by their numbers here."""
        size = np.abs(self.share)
        linked = size > COUPLING_TOL * size.max(initial=0.0)
        groups: list[tuple[set[int], set[int]]] = [({k}, set()) for k in range(len(self.locked))]
        ties = [(set(np.flatnonzero(linked[:, column]).tolist()), {column}) for column in range(size.shape[1])]
        for ball in self.balls:
            others = {k for k, row in enumerate(self.also) if row in ball}
            mine = {k for k, row in enumerate(self.locked) if row in ball}
            ties.append((mine.union(*(np.flatnonzero(linked[:, k]).tolist() for k in others)), others))
        for touched, columns in ties:
            own = [group for group in groups if group[0] & touched]
            groups = [group for group in groups if not group[0] & touched]
            if own:
                groups.append((set().union(*(g[0] for g in own)), columns.union(*(g[1] for g in own))))
        return [(sorted(locked), sorted(also)) for locked, also in groups]

    @staticmethod
    def _apart(h: Array, lower: Array, upper: Array, scale: Array) -> Array:
        """Return the margin where every locked row has bounds of its own."""
        wide = np.maximum(scale, np.maximum(np.abs(_finite(upper)), np.abs(_finite(lower))))
        wide = np.where(wide > 0, wide, 1e-30)
        left = np.minimum(upper - h, h - lower) / wide + BREAKAWAY_TOL
        return np.asarray(np.minimum(left, 1.0).min(axis=1))

    def plain(self) -> dict[str, Any]:
        """Return what it consists of as lists."""
        arrays = {name: getattr(self, name).tolist() for name in ("below", "above", "share", "scale")}
        return {"locked": self.locked, "also": self.also, "balls": self.balls, **arrays}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> HoldingLimits:
        """Return what `plain` gave."""
        below, above = (np.array(plain[name], dtype=bool) for name in ("below", "above"))
        locked, also, balls = ([*plain[name]] for name in ("locked", "also", "balls"))
        share = np.array(plain["share"], dtype=float).reshape(len(locked), -1)
        return cls(locked, also, below, above, share, np.array(plain["scale"], dtype=float), balls)


def _in_ellipsoid(h: Array, limits: Array, scale: Array) -> Array:
    """Return the margin of rows that share one ellipsoid."""
    wide = np.where(limits > 0, limits, np.where(scale > 0, 1e-30 * scale, 1.0))
    left = 1.0 + BREAKAWAY_TOL - np.linalg.norm(h / wide, axis=1)
    return np.asarray(np.minimum(left, 1.0))


def coupled_margin(
    h: Array, lower: Array, upper: Array, limits: Array, share: Array, scale: Array, balls: list[list[int]]
) -> Array:
    """Return the margins (k,) of rows that hold each other: bounds widened by r times their size are just enough.

    Parameters
    ----------
    h : (k, l)
    lower, upper, limits : (k, l + r)
    scale : (l + r,)
    share : (l, r)
    balls : list of list of int
        Numbers among the l + r rows.
    """
    wide = np.maximum(scale, np.maximum(np.abs(_finite(lower)), np.abs(_finite(upper))))
    wide = np.where(wide > 0, wide, np.maximum(wide.max(axis=1, keepdims=True), 1e-30))
    return np.asarray(
        BREAKAWAY_TOL
        - minimal_widening(h, lower, upper, np.maximum(limits, MIN_ELLIPSOID_THICKNESS * wide), share, wide, balls)
    )


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, 0.0)
