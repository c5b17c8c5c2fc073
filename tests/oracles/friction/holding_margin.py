"""Margin of holding efforts: distance of the efforts of stuck rows from the limits of friction and stops.

Locks hold an independent set of rows with efforts h. Dependent rows, J_r = C J_l, help: the set holds if there are
efforts lam_l, lam_r within their bounds with

    lam_l + C' lam_r = h                                                                                             (1)

Friction limits depend on the loads of joints, and so change at rest.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dalembert.arrays import Array
from dalembert.simulation.friction.modes import HoldingLimits

from .bound_widening import minimal_widening

__all__ = ["HoldingMargin", "coupled_margin"]


COUPLING_TOL = 1e-9  # of the largest entry of C': smaller entries are zero
MIN_ELLIPSOID_THICKNESS = 1e-8  # of its scale, so that rounding of an effort stays inside
BREAKAWAY_TOL = 1e-9  # of the bounds: an effort breaks away beyond this, so that its sign is definite


class HoldingMargin(HoldingLimits):
    """Limits of the efforts that hold stuck rows, with their margin."""

    def margin(self, h: Array, limits: Array) -> Array:
        """Return the distance from the limits relative to the scale, (k,); negative: the rows are released.

        Parameters
        ----------
        h : (k, l) N m or N
            Efforts of the locks.
        limits : (k, n) N m or N
            Static friction of all rows.
        """
        left = np.ones(len(h))
        lower, upper = np.where(self.unbounded_below, -np.inf, -limits), np.where(self.unbounded_above, np.inf, limits)
        for mine, others in self.coupled_groups:
            locked, dependent = [self.locked[k] for k in mine], [self.dependent[k] for k in others]
            vector_groups = self._vector_groups(locked, dependent)
            coupling = self.coupling[mine][:, others]
            low, high = lower[:, locked], upper[:, locked]
            if not dependent and not vector_groups:
                part = self._separate_margin(h[:, mine], low, high, self.scale[locked])
            elif not dependent and vector_groups == [locked]:
                part = _ellipsoid_margin(h[:, mine], limits[:, locked], self.scale[locked])
            elif len(locked) == 1 and not vector_groups:  # one degree of freedom: limits add up
                ends = coupling[0] * lower[:, dependent], coupling[0] * upper[:, dependent]
                less, more = (pick(*ends).sum(axis=1, keepdims=True) for pick in (np.minimum, np.maximum))
                part = self._separate_margin(h[:, mine], low + less, high + more, self.scale[locked])
            else:
                rows = [*locked, *dependent]
                inner = [[rows.index(k) for k in group] for group in vector_groups]
                part = coupled_margin(
                    h[:, mine], lower[:, rows], upper[:, rows], limits[:, rows], coupling, self.scale[rows], inner
                )
            left = np.minimum(left, part)
        return left

    def _vector_groups(self, locked: list[int], dependent: list[int]) -> list[list[int]]:
        """Return the vector groups among some rows, in order."""
        parts = ([k for k in (*locked, *dependent) if k in group] for group in self.vector_groups)
        return [part for part in parts if part]

    @cached_property
    def coupled_groups(self) -> list[tuple[list[int], list[int]]]:
        """Coupled locked and dependent rows, as positions in `locked` and `dependent`."""
        size = np.abs(self.coupling)
        linked = size > COUPLING_TOL * size.max(initial=0.0)
        coupled_groups: list[tuple[set[int], set[int]]] = [({k}, set()) for k in range(len(self.locked))]
        ties = [(set(np.flatnonzero(linked[:, column]).tolist()), {column}) for column in range(size.shape[1])]
        for group in self.vector_groups:
            others = {k for k, row in enumerate(self.dependent) if row in group}
            mine = {k for k, row in enumerate(self.locked) if row in group}
            ties.append((mine.union(*(np.flatnonzero(linked[:, k]).tolist() for k in others)), others))
        for touched, columns in ties:
            own = [group for group in coupled_groups if group[0] & touched]
            coupled_groups = [group for group in coupled_groups if not group[0] & touched]
            if own:
                coupled_groups.append((set().union(*(g[0] for g in own)), columns.union(*(g[1] for g in own))))
        return [(sorted(locked), sorted(dependent)) for locked, dependent in coupled_groups]

    @staticmethod
    def _separate_margin(h: Array, lower: Array, upper: Array, scale: Array) -> Array:
        """Return the margin of uncoupled locked rows."""
        wide = np.maximum(scale, np.maximum(np.abs(_finite(upper)), np.abs(_finite(lower))))
        wide = np.where(wide > 0, wide, 1e-30)
        left = np.minimum(upper - h, h - lower) / wide + BREAKAWAY_TOL
        return np.asarray(np.minimum(left, 1.0).min(axis=1))


def _ellipsoid_margin(h: Array, limits: Array, scale: Array) -> Array:
    """Return the margin of one vector group."""
    wide = np.where(limits > 0, limits, np.where(scale > 0, 1e-30 * scale, 1.0))
    left = 1.0 + BREAKAWAY_TOL - np.linalg.norm(h / wide, axis=1)
    return np.asarray(np.minimum(left, 1.0))


def coupled_margin(
    h: Array, lower: Array, upper: Array, limits: Array, coupling: Array, scale: Array, vector_groups: list[list[int]]
) -> Array:
    """Return the margins (k,) of coupled rows: the least widening of bounds, relative to their size, that holds.

    Parameters
    ----------
    h : (k, l)
    lower, upper, limits : (k, l + r)
    scale : (l + r,)
    coupling : (l, r)
    vector_groups : list of list of int
        Numbers among the l + r rows.
    """
    wide = np.maximum(scale, np.maximum(np.abs(_finite(lower)), np.abs(_finite(upper))))
    wide = np.where(wide > 0, wide, np.maximum(wide.max(axis=1, keepdims=True), 1e-30))
    return np.asarray(
        BREAKAWAY_TOL
        - minimal_widening(
            h, lower, upper, np.maximum(limits, MIN_ELLIPSOID_THICKNESS * wide), coupling, wide, vector_groups
        )
    )


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, 0.0)
