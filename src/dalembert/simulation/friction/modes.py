"""Modes of rows of friction and stops between two changes, and the limits of the efforts that hold stuck rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...arrays import Array, BoolArray

__all__ = ["MIDDLE", "HoldingLimits", "Modes"]


MIDDLE = 1e-300  # side of equal parts of both branches of a law; 0 would select the mixture of a sliding mode
SLIP_DIRECTION_TOL = 1e-7  # rad: slip directions that differ by less are equal


@dataclass
class Modes:
    """Modes of all rows between two changes.

    Attributes
    ----------
    sign : (n,)
        Sign of the velocity of sliding rows; 0 of others. Of vector groups, the slip direction at the onset.
    stuck : (n,) bool
    locked : list of int
        Locked rows: an independent set of the stuck rows.
    side : (n,)
        -1 on the lower stop, 1 on the upper stop, else 0.
    immobile : (n,) bool
        Rows at rest that no effort can move in this configuration.
    holding_laws, sliding_laws : list of int
        Switching functions of laws that help to hold stuck rows, and of laws in sliding mode.
    """

    sign: Array
    stuck: BoolArray
    locked: list[int]
    side: Array
    immobile: BoolArray
    holding_laws: list[int] = field(default_factory=list)
    sliding_laws: list[int] = field(default_factory=list)

    @classmethod
    def unknown(cls, n: int) -> Modes:
        """Return initial modes of n rows."""
        return cls(np.zeros(n), np.zeros(n, bool), [], np.zeros(n), np.zeros(n, bool))

    def same_as(self, other: Modes) -> bool:
        """Return whether the same rows stick, and slip in the same directions."""
        same = np.array_equal(self.stuck, other.stuck) and np.array_equal(self.side, other.side)
        return same and bool((np.abs(self.sign - other.sign) <= SLIP_DIRECTION_TOL).all())

    @property
    def law_conditions(self) -> dict[str, Any]:
        """Branches and sliding modes of laws, as fields of conditions."""
        return {"branches": dict.fromkeys(self.holding_laws, MIDDLE), "sliding": frozenset(self.sliding_laws)}

    def to_plain(self) -> dict[str, Any]:
        """Return the modes as lists."""
        arrays = {name: getattr(self, name).tolist() for name in ("sign", "stuck", "side", "immobile")}
        lists = {name: list(getattr(self, name)) for name in ("locked", "holding_laws", "sliding_laws")}
        return {**arrays, **lists}

    @classmethod
    def from_plain(cls, kept: dict[str, Any]) -> Modes:
        """Return modes from lists."""
        sign, side = (np.array(kept[name], dtype=float) for name in ("sign", "side"))
        stuck, immobile = (np.array(kept[name], dtype=bool) for name in ("stuck", "immobile"))
        locked, holding_laws, sliding_laws = (list(kept[name]) for name in ("locked", "holding_laws", "sliding_laws"))
        return cls(sign, stuck, locked, side, immobile, holding_laws, sliding_laws)


@dataclass(frozen=True, eq=False)
class HoldingLimits:
    """Limits of the efforts that hold stuck rows.

    Locks hold an independent set of rows with efforts h. Dependent rows, J_r = C J_l, help: the set holds if there are
    efforts within their bounds with lam_l + C' lam_r = h. Laws that help are rows after all others.

    Attributes
    ----------
    locked, dependent : list of int
        The l locked rows, and the r rows that depend on them, as numbers among all n rows.
    unbounded_below, unbounded_above : (n,) bool
        Rows without a lower, or an upper bound, because a stop pushes.
    coupling : (l, r)
        C'.
    scale : (n,)
        Sizes of the efforts of all rows.
    vector_groups : list of list of int
        Rows whose friction is one vector within an ellipsoid.
    """

    locked: list[int]
    dependent: list[int]
    unbounded_below: BoolArray
    unbounded_above: BoolArray
    coupling: Array
    scale: Array
    vector_groups: list[list[int]]

    def to_plain(self) -> dict[str, Any]:
        """Return the limits as lists."""
        arrays = {
            name: getattr(self, name).tolist() for name in ("unbounded_below", "unbounded_above", "coupling", "scale")
        }
        return {"locked": self.locked, "dependent": self.dependent, "vector_groups": self.vector_groups, **arrays}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> HoldingLimits:
        """Return limits from lists."""
        unbounded_below, unbounded_above = (
            np.array(plain[name], dtype=bool) for name in ("unbounded_below", "unbounded_above")
        )
        locked, dependent, vector_groups = ([*plain[name]] for name in ("locked", "dependent", "vector_groups"))
        coupling = np.array(plain["coupling"], dtype=float).reshape(len(locked), -1)
        return cls(
            locked,
            dependent,
            unbounded_below,
            unbounded_above,
            coupling,
            np.array(plain["scale"], dtype=float),
            vector_groups,
        )
