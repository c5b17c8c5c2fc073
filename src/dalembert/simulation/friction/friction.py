"""Dry friction and stops of joints in a run: stick, slip, impact and separation.

Row i, a coordinate with velocity u_i, has friction f_i and static friction s_i >= f_i. With lam_i the effort on it,

    u_i > 0: lam_i = -f_i,   u_i < 0: lam_i = f_i,   u_i = 0: lam_i in [-s_i, s_i], at a stop up to infinity         (1)

Rows of a vector group, as those of a ball joint, have |lam_i / f_i| <= 1 as one vector, against the motion. Friction
may depend on the loads of joints (`load_limits`).

Between two changes every row has a mode. A sliding row has a given sign, which its friction keeps even if a step passes
its rest. A stuck row is locked, and its effort is that of the lock. Modes change where a sliding row comes to rest, the
holding efforts leave their bounds, or a coordinate reaches a stop. The modes of all rows at rest are one problem
(core/friction/stick_slip.hpp). All closed stops act together in an impact: u+ = u + A Lam, 0 <= Lam,
0 <= u+ + e u (2). Friction has no impulse: rows stuck by friction are released in (2), and their modes are determined
again. The core makes the changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Array, BoolArray
from ...errors import IntegrationError, ModelError, SingularityError
from ...model import Conditions, Model
from ..events.events import EventContext
from .load_limits import undetermined_friction
from .messages import StopImpactLog, gain_note, jam_note, no_consistent_modes, unloaded_stops
from .modes import HoldingLimits, Modes
from .rows import FrictionRows

__all__ = ["FrictionState"]


NEAR_REST = 0.1  # of the root of the position tolerance, rad/s or m/s: rest tolerance of vector groups


class FrictionState:
    """Friction and stops of one run.

    Parameters
    ----------
    rows : FrictionRows
    atol : float
        Tolerance of positions and speeds.
    span : float, s
        Length of the run.
    """

    def __init__(self, rows: FrictionRows, atol: float, span: float) -> None:
        n = len(rows)
        self.rows, self.model, self.span = rows, rows.model, span
        self.position_tol = atol  # a coordinate this far beyond a stop has reached it
        # the direction of a vector friction turns ever faster near rest: its rest tolerance is wider
        self.rest_tol = np.where(rows.has_scalar_friction, 10.0 * atol, max(10.0 * atol, NEAR_REST * np.sqrt(atol)))
        self.modes = Modes.unknown(n)
        self.holding: HoldingLimits | None = None
        self.recent_times: list[float] = []
        self._changed_rows: list[list[int]] | Array = []  # rows whose modes changed at these times, or marks of them
        self.rest_tol_factor = 1.0
        self.hold_time, self.held_until = 0.0, -np.inf  # s: length and end of the last hold of undecided rows
        self.held_rows: list[int] = []
        self._movable_cache: tuple[Conditions, Modes, BoolArray] | None = None
        self.impact_log = StopImpactLog()
        self.note_texts: list[str] = []
        self.next_review = np.inf  # s: end of the present hold
        first = rows.has_scalar_friction.copy()  # one event for each vector group
        first[[int(group[0]) for group in rows.vector_groups]] = True
        kinds = ("rest", first), ("lower", np.isfinite(rows.lower)), ("upper", np.isfinite(rows.upper))
        self.watched_rows = [(kind, int(k)) for kind, which in kinds for k in np.flatnonzero(which)]

    def fresh(self, model: Model) -> FrictionState:
        """Return the friction state of another run, of the model with other parameters."""
        return FrictionState(self.rows.for_model(model), self.position_tol, self.span)

    def set_model(self, model: Model) -> None:
        """Set the model with other parameters."""
        if model is not self.model:
            self.rows, self.model, self._movable_cache = self.rows.for_model(model), model, None

    @property
    def changed_rows(self) -> list[list[int]]:
        """Rows whose modes changed at the recent times."""
        if not isinstance(self._changed_rows, list):
            self._changed_rows = [np.flatnonzero(marks).tolist() for marks in self._changed_rows]
        return self._changed_rows

    @changed_rows.setter
    def changed_rows(self, rows: list[list[int]]) -> None:
        self._changed_rows = rows

    @property
    def changed_marks(self) -> Array:
        """Rows whose modes changed at the recent times, as marks (changes, n)."""
        if not isinstance(self._changed_rows, list):
            return self._changed_rows
        marks = np.zeros((len(self._changed_rows), len(self.rows)))
        for row, changed in zip(marks, self._changed_rows, strict=True):
            row[changed] = 1.0
        return marks

    @changed_marks.setter
    def changed_marks(self, marks: Array) -> None:
        self._changed_rows = marks

    @property
    def sticks(self) -> bool:
        """True if a row sticks, so that its holding effort must be sampled."""
        return bool(self.modes.locked)

    def movable(self, conditions: Conditions) -> BoolArray:
        """Return the rows (n,) that are neither driven nor locked by the user."""
        if (
            self._movable_cache is not None
            and self._movable_cache[0] is conditions
            and self._movable_cache[1] is self.modes
        ):
            return self._movable_cache[2]
        nv, ours = self.model.nv, self._locked_velocities()
        tree = self.rows.indices < nv
        others = np.isin(self.rows.indices, list(conditions.locked - ours))
        driven = conditions.acceleration_prescribed[np.where(tree, self.rows.indices, 0)] & tree
        movable: BoolArray = ~others & ~(driven & ~np.isin(self.rows.indices, list(ours)))
        self._movable_cache = conditions, self.modes, movable
        return movable

    def _locked_velocities(self) -> set[int]:
        """Return the indices of velocities locked by stick."""
        return {int(place) for place in self.rows.indices[self.modes.locked]}

    # ---- changes

    def check_start(self, now: EventContext) -> None:
        """Refuse a start outside the stops; note friction by loads that are not unique."""
        s, _ = self.rows.motion(now.q[None], now.v[None])
        outside = (s[0] < self.rows.lower - 1e3 * self.position_tol) | (
            s[0] > self.rows.upper + 1e3 * self.position_tol
        )
        for k in np.flatnonzero(outside & self.movable(now.conditions)):
            rope = self.rows.names[k] in self.rows.model.compiled.names.ropes
            raise ModelError(
                f"{'rope' if rope else 'joint coordinate'} {self.rows.names[k]!r}",
                "start",
                f"{s[0, k]:.6g} {self.rows.units[k]}",
                f"it is outside its limits, {self.rows.lower[k]:.6g} to {self.rows.upper[k]:.6g}; start within them, "
                "change them, or use stops='off'",
            )
        shared = undetermined_friction(self.rows, now)
        if shared:
            self._note(
                f"friction of {', '.join(shared)} depends on loads that are not unique in this over-constrained "
                "mechanism: those of least norm are used; give connections compliance (Bushing) to determine them"
            )

    def without_locks(self, conditions: Conditions) -> Conditions:
        """Return conditions without the locks of stuck rows."""
        ours = self._locked_velocities()
        if not ours and not conditions.branches and not conditions.sliding:
            return conditions
        return conditions.changed(locked=conditions.locked - ours, branches=None, sliding=frozenset())

    def release(self, conditions: Conditions) -> Conditions:
        """Return conditions without the locks of stuck rows; `settle` determines their modes again."""
        base = self.without_locks(conditions)
        self.modes.locked = []
        return base

    # ---- notes and progress

    def note_assisted_stick(self, modes: Modes) -> None:
        """Note laws that help to hold stuck rows."""
        model = self.model
        names = {place.row: name for name, place in model.compiled.elements.indices.items()}
        owners = {names.get(model.switching_functions[k][0], "") for k in modes.holding_laws}
        stuck = ", ".join(self.rows.names[k] for k in modes.locked)
        for name in sorted(owners - {""}):
            self._note(
                f"the law of element {name!r} jumps where {stuck} sticks, and helps friction to hold it; which "
                "of the two holds how much is not determined: the law has the mean of both sides of its jump, friction "
                "the rest"
            )

    def note_unloaded(self, names: Sequence[str]) -> None:
        """Note stops without friction whose load is zero within rounding."""
        if names:
            self._note(unloaded_stops(names))

    def note_hold(self, t: float, rows: Sequence[int], count: int, time: float) -> None:
        """Note rows that are held from t for a time, s, after `count` changes without progress."""
        if not rows:
            return
        names, s = ", ".join(self.rows.names[k] for k in [*rows][:6]), "s" * (len(rows) == 1)
        self._note(
            f"whether {names} stick{s}, slip{s} or leave{s} a stop changed {count} times without progress near t = "
            f"{t:.6g} s: loads there equal their limits within rounding; held for {time:.2g} s, then determined again"
        )

    def note_jam(self, t: float, rows: Sequence[int], gain: float) -> None:
        """Note sliding rows that are stopped at t, because no friction is consistent with their load."""
        if rows:
            self._note(jam_note([self.rows.names[k] for k in rows], t, gain))

    def note_gain(self, t: float, rows: Sequence[int], gain: float) -> None:
        """Note sliding rows whose friction depends on its own load so strongly that accelerations may not be unique."""
        if rows:
            self._note(gain_note([self.rows.names[k] for k in rows], t, gain))

    def no_solution(self, t: float, rows: Sequence[int]) -> SingularityError:
        """Return the error of rows at rest without consistent modes."""
        names = [self.rows.names[k] for k in rows]
        if self.rows.has_load_friction.any():
            return no_consistent_modes(names, t)
        return SingularityError(
            f"at t = {t:.9g} s efforts of friction and stops of {', '.join(names[:6])} cannot be found: their rows "
            "nearly depend on each other"
        )

    def not_finite(self, t: float, rows: Sequence[int]) -> SingularityError:
        """Return the error of rows at rest whose accelerations are not finite."""
        names = ", ".join(self.rows.names[k] for k in [*rows][:6]) or "joints"
        return SingularityError(
            f"at t = {t:.9g} s accelerations are not finite where friction and stops of {names} change: the law of an "
            "element is not finite there, a motion that is released has no inertia, or a flexible body is deformed far "
            "beyond small deformations"
        )

    def _note(self, note: str) -> None:
        if note not in self.note_texts:
            self.note_texts.append(note)

    def notes(self) -> list[str]:
        """Return the notes on friction and stops."""
        return [*self.note_texts, *self.impact_log.notes(self.rows)]

    def stagnation(self, t: float, rows: Sequence[int], count: int, time: float) -> IntegrationError:
        """Return the error of a run whose modes change `count` times within a time, s, before t."""
        names = ", ".join(self.rows.names[k] for k in [*rows][:6]) + (", ..." if len(rows) > 6 else "")
        return IntegrationError(
            f"at t = {t:.9g} s the run stagnates: {names or 'joints'} changed between sticking, slipping, stops "
            f"and release {count} times within {time:.2g} s; raise atol, or take friction='smooth' or stops='soft'"
        )

    # ---- checkpoints

    def to_plain(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return {
            **self.modes.to_plain(),
            "recent": list(self.recent_times),
            "changed": [list(rows) for rows in self.changed_rows],
            "rest_tol_factor": self.rest_tol_factor,
            "hold": [self.hold_time, self.held_until, list(self.held_rows)],
            "impacts": self.impact_log.to_plain(),
            "note_texts": list(self.note_texts),
            "next_review": self.next_review,
            "holding": None if self.holding is None else self.holding.to_plain(),
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Set the state from plain data."""
        self.modes = Modes.from_plain(kept)
        self.recent_times, self.rest_tol_factor, self.note_texts = (
            list(kept["recent"]),
            float(kept["rest_tol_factor"]),
            list(kept["note_texts"]),
        )
        self.changed_rows = [list(rows) for rows in kept.get("changed", [[] for _ in self.recent_times])]
        self.hold_time, self.held_until, self.held_rows = kept.get("hold", (0.0, -np.inf, []))
        self.next_review = float(kept["next_review"])
        self.impact_log.restore(kept["impacts"])
        self.holding = None if kept["holding"] is None else HoldingLimits.from_plain(kept["holding"])
