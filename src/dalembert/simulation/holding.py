"""How far the efforts that hold rows at rest are from what friction and stops can give.

Locks hold an independent set of rows with efforts h. Rows that follow from these, J_r = C J_l, help: the set holds if
there are efforts lam_l, lam_r within their bounds with

    lam_l + C' lam_r = h                                                                                             (1)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Holding"]

Array = NDArray[np.float64]

BEYOND = 1e-9  # of its bounds: an effort beyond them by this part breaks away, so that it does so with a definite sign


@dataclass(frozen=True, eq=False)
class Holding:
    """Bounds of a set of rows that is held.

    Attributes
    ----------
    lower, upper : (l,)
        Of the efforts on locked rows.
    also_lower, also_upper : (r,)
        On rows that follow from them.
    share : (l, r)
        C' of (1).
    scale : (l,)
        Sizes of the efforts.
    """

    lower: Array
    upper: Array
    also_lower: Array
    also_upper: Array
    share: Array
    scale: Array

    def margin(self, h: Array) -> Array:
        """Return what is left of the bounds, (k,), as a part of the scale, for efforts (k, l); negative: it lets go."""
        if not self.share.shape[1]:
            return self._apart(h, self.lower, self.upper)
        if len(self.lower) == 1:  # one freedom: bounds add up
            ends = self.share[0] * self.also_lower, self.share[0] * self.also_upper
            idle = self.share[0] == 0.0
            low, high = (np.where(idle, 0.0, pick(*ends)).sum() for pick in (np.minimum, np.maximum))
            return self._apart(h, self.lower + low, self.upper + high)
        return np.array([self._together(row) for row in h])

    def _apart(self, h: Array, lower: Array, upper: Array) -> Array:
        """Return the margin where every locked row has bounds of its own."""
        with np.errstate(invalid="ignore"):
            wide = np.maximum(self.scale, np.where(np.isfinite(upper), np.abs(upper), 0.0))
            wide = np.maximum(wide, np.where(np.isfinite(lower), np.abs(lower), 0.0))
        wide = np.where(wide > 0, wide, 1.0)
        left = np.minimum(upper - h, h - lower) / wide + BEYOND
        return np.asarray(np.minimum(left, 1.0).min(axis=1))

    def _together(self, h: Array) -> float:
        """Return the margin by a linear programme: bounds widened by r times the scale are just enough."""
        from scipy.optimize import linprog

        n, m = self.share.shape
        wide = np.concatenate(
            [self.scale, np.maximum(np.abs(_finite(self.also_lower)), np.abs(_finite(self.also_upper)))]
        )
        wide = np.where(wide > 0, wide, max(float(wide.max(initial=0.0)), 1e-30))
        lower = np.concatenate([self.lower, self.also_lower])
        upper = np.concatenate([self.upper, self.also_upper])
        cost = np.append(np.zeros(n + m), 1.0)
        equal = np.hstack([np.eye(n), self.share, np.zeros((n, 1))])
        rows, limits = [], []
        for k in range(n + m):
            for sign, bound in ((1.0, upper[k]), (-1.0, -lower[k])):
                if np.isfinite(bound):
                    row = np.zeros(n + m + 1)
                    row[k], row[-1] = sign, -wide[k]
                    rows.append(row)
                    limits.append(bound)
        every = [(None, None)] * (n + m) + [(-1.0, None)]
        found = linprog(
            cost, A_ub=np.array(rows) if rows else None, b_ub=limits or None, A_eq=equal, b_eq=h, bounds=every
        )
        return float(-found.x[-1] + BEYOND) if found.status == 0 else 1.0

    def plain(self) -> list[Any]:
        """Return the numbers as lists."""
        names = ("lower", "upper", "also_lower", "also_upper", "share", "scale")
        return [getattr(self, name).tolist() for name in names]

    @classmethod
    def of(cls, plain: list[Any]) -> Holding:
        """Return what `plain` gave."""
        low, high, also_low, also_high, share, scale = (np.array(part, dtype=float) for part in plain)
        return cls(low, high, also_low, also_high, share.reshape(len(low), -1), scale)


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, 0.0)
