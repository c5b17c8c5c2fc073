"""Friction and stops determined by the core: tables of rows and modes for it, and the changes that it reports.

The core locates and makes changes of modes itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import IndexArray
from ...model import Conditions
from .core_changes import CoreChanges, ModeConditions
from .friction import FrictionState
from .holding_margin import HoldingLimits
from .modes import Modes

__all__ = ["CoreFriction"]

SWITCH_KINDS = ("rest", "lower", "upper")  # numbers of the core


class CoreFriction:
    """Friction and stops of a run while the core determines their changes.

    Parameters
    ----------
    friction : FrictionState
        Follows the modes of the core.
    conditions : Conditions
        Of the run.
    """

    def __init__(self, friction: FrictionState, conditions: Conditions) -> None:
        self.friction = friction
        self.movable, self.base = friction.movable(conditions), friction.without_locks(conditions)
        self._mode_conditions = ModeConditions(friction.rows, self.base, self.movable, friction.rest_tol)

    def table(
        self,
        max_step: float,
        stuck_step: float,
        *,
        passed: Sequence[int] | None,
        pauses: bool,
    ) -> dict[str, Any]:
        """Return rows and modes for `Integrator.set_friction`.

        Parameters
        ----------
        max_step, stuck_step : float, s
            Longest step; longest step while a row sticks.
        passed : sequence of int or None
            Modes are determined where the integrator starts, after these functions crossed zero there; None: the
            present modes stay.
        pauses : bool
            The integrator pauses after each change.
        """
        friction = self.friction
        rows, modes, holding = friction.rows, friction.modes, friction.holding if passed is None else None
        n, system = len(rows), friction.model.system
        mass = sum(body.mass for body in system.bodies.values())
        none = np.zeros(n, dtype=bool)
        below, above = (none, none) if holding is None else (holding.unbounded_below, holding.unbounded_above)
        integers = {
            "indices": np.column_stack(
                [
                    *(rows.indices, rows.coordinates, rows.friction, rows.mode, rows.coefficient, rows.load),
                    _group_numbers(rows.vector_groups, n),
                ]
            ),
            "passed": () if passed is None else passed,
            "holding_group": _group_numbers([] if holding is None else holding.vector_groups, len(below)),
            "changed": friction.changed_marks,
            "held": np.isin(np.arange(n), friction.held_rows),
            "switches": [(SWITCH_KINDS.index(kind), k) for kind, k in friction.watched_rows],
            "stuck": modes.stuck,
            "immobile": modes.immobile,
            "locked": modes.locked,
            "holding_laws": modes.holding_laws,
            "sliding_laws": modes.sliding_laws,
            "dependent": [] if holding is None else holding.dependent,
            "unbounded_below": below,
            "unbounded_above": above,
        }
        friction_data = rows.sliding_friction, rows.static_friction, rows.static_ratio
        stops = rows.lower, rows.upper, rows.restitution
        numbers = {
            "numbers": np.column_stack([*friction_data, *stops, friction.rest_tol]),
            "sign": modes.sign,
            "side": modes.side,
            "coupling": [] if holding is None else holding.coupling,
            "scale": np.zeros(n) if holding is None else holding.scale,
            "change_times": friction.recent_times,
            "hold": [friction.rest_tol_factor, friction.hold_time, friction.held_until, friction.next_review],
        }
        return {
            **{name: np.ascontiguousarray(part, dtype=np.int64) for name, part in integers.items()},
            **{name: np.ascontiguousarray(part, dtype=float) for name, part in numbers.items()},
            "position_tol": friction.position_tol,
            "span": friction.span,
            "weight": float(np.linalg.norm(system.gravity) * np.sqrt(mass)),
            "max_step": max_step,
            "stuck_step": stuck_step,
            "undetermined": passed is not None,
            "pauses": pauses,
        }

    def take(self, found: dict[str, Any], chosen: slice) -> CoreChanges:
        """Return some of the changes of `Integrator.take_changes`, with their notes added to those of friction."""
        friction = self.friction
        if self._mode_conditions.base is not self.base:
            self._mode_conditions = ModeConditions(friction.rows, self.base, self.movable, friction.rest_tol)
        changes = CoreChanges(self._mode_conditions, friction.modes, found, chosen)
        for modes in changes.assisted:
            friction.note_assisted_stick(modes)
        for rows in changes.unloaded:
            friction.note_unloaded([friction.rows.names[k] for k in rows])
        for k, rows, count, time in changes.holds:
            friction.note_hold(float(changes.t[k]), rows, count, time)
        for k, rows, gain in changes.jams:
            friction.note_jam(float(changes.t[k]), rows, gain)
        for k, rows, gain in changes.gains:
            friction.note_gain(float(changes.t[k]), rows, gain)
        for change, row, side, speed in changes.impacts.tolist():
            friction.impact_log.add(int(row), int(side), speed, float(changes.t[int(change)]))
        return changes

    def set_modes(self, changes: CoreChanges, found: dict[str, Any]) -> None:
        """Set the modes after changes; limits are those after the last change found."""
        modes = changes.modes(len(changes) - 1)
        holding = _holding_limits(modes, found) if modes.locked and changes.reaches_last else None
        self.friction.modes, self.friction.holding = modes, holding

    def take_progress(self, found: dict[str, Any]) -> None:
        """Set the progress of `Integrator.friction_progress`."""
        friction = self.friction
        friction.recent_times = found["change_times"].tolist()
        friction.changed_marks = found["changed"].reshape(len(friction.recent_times), -1)
        friction.held_rows = np.flatnonzero(found["held"]).tolist()
        friction.rest_tol_factor, friction.hold_time, friction.held_until, friction.next_review = found["hold"]


def _holding_limits(modes: Modes, found: dict[str, Any]) -> HoldingLimits:
    below, above = (found[name].astype(bool) for name in ("unbounded_below", "unbounded_above"))
    coupling = found["coupling"].reshape(len(modes.locked), -1)
    dependent = found["dependent"].astype(int).tolist()
    numbers = found["holding_group"].astype(int)
    groups = [np.flatnonzero(numbers == number).tolist() for number in np.unique(numbers[numbers >= 0])]
    return HoldingLimits(modes.locked, dependent, below, above, coupling, found["scale"], groups)


def _group_numbers(groups: Sequence[Sequence[int]] | Sequence[IndexArray], n: int) -> IndexArray:
    """Return the number of the group of each row, (n,); -1 where there is none."""
    numbers = np.full(n, -1, dtype=np.intp)
    for number, group in enumerate(groups):
        numbers[list(group)] = number
    return numbers
