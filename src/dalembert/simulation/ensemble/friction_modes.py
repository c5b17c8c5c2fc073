"""Dry friction and stops of the runs of a batch: rows for the core, and the modes that it reports.

The core determines the modes of each run by itself. Python keeps a log of them, from which the conditions at any state
follow, and notes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, BoolArray, IndexArray
from ...model import Conditions, State
from ...result import Periods, Result, single_period
from ..events.events import EventContext
from ..friction.core_friction import CoreFriction
from ..friction.friction import FrictionState
from ..friction.friction_changes import MAX_STEP_WHILE_STUCK
from ..friction.load_limits import with_modes
from ..friction.messages import StopImpactLog, unloaded_stops
from ..friction.modes import Modes
from ..options import Options
from .groups import BatchGroup, EnsembleGroups
from .run_logs import RunLogs

__all__ = ["FrictionModes", "check_friction_starts", "friction_rows_of_runs", "friction_table"]


def friction_table(friction: FrictionState, conditions: Conditions, options: Options) -> dict[str, Any]:
    """Return rows with undetermined modes for `Integrator.set_friction`."""
    stuck_step = MAX_STEP_WHILE_STUCK * friction.span
    return CoreFriction(friction, conditions).table(options.max_step, stuck_step, passed=(), pauses=False)


def friction_rows_of_runs(
    friction: FrictionState, runs: EnsembleGroups, group: BatchGroup, options: Options
) -> Array | None:
    """Return friction and stops of each run of a group for `Integrator.run_batch`; None if all have the same."""
    if not runs.has_varied_model:
        return None
    rows = []
    for run in group.rows.tolist():
        conditions = runs[run]
        table = friction_table(friction.fresh(conditions.model), conditions, options)
        rows.append(np.append(table["numbers"], table["weight"]))
    return np.array(rows)


def check_friction_starts(
    friction: FrictionState, runs: EnsembleGroups, t: float, start: tuple[Array, Array, Array]
) -> list[str]:
    """Refuse starts outside the stops; return notes on friction by loads that are not unique.

    Raises
    ------
    ModelError
        For the first run that starts outside.
    """
    q, v, x = start
    rows = friction.rows
    chosen: list[int] = list(range(len(q)))
    if not runs.has_varied_model and not (rows.model.nc and rows.has_load_friction.any()):
        s, _ = rows.motion(q, v)
        beyond = 1e3 * friction.position_tol
        chosen = np.flatnonzero(((s < rows.lower - beyond) | (s > rows.upper + beyond)).any(axis=1)).tolist()
    notes: list[str] = []
    for run in chosen:
        conditions = runs[run]
        own = friction.fresh(conditions.model)
        own.check_start(EventContext(conditions, State(q=q[run], v=v[run], t=t, x=x[run])))
        notes += [note for note in own.notes() if note not in notes]
    return notes


@dataclass(eq=False)
class FrictionModes(RunLogs):
    """Modes of friction and stops of the runs of a batch, from each change on.

    Attributes
    ----------
    friction : FrictionState
        Description of rows.
    times : list of (changes,) s
        Of each run.
    signs : list of (changes, rows)
        Signs of sliding rows.
    codes : list of (changes, rows)
        side + 1 + 3 stuck + 6 locked.
    impacts : (k, 5)
        Run, time, row, side and speed of impacts on stops.
    unloaded : (k, 2)
        Run and row of stops with a load of zero within rounding.
    holds : list of tuple
        Run, time, rows, number of changes without progress and length, s, of holds.
    repeated : dict of int to Result
        Runs that were repeated alone, with modes of their own.
    """

    friction: FrictionState
    times: list[Array]
    signs: list[Array]
    codes: list[NDArray[np.int8]]
    impacts: Array
    unloaded: Array
    holds: list[tuple[int, float, list[int], int, float]] = field(default_factory=list)
    repeated: dict[int, Result] = field(default_factory=dict)

    @classmethod
    def empty(cls, friction: FrictionState, count: int) -> FrictionModes:
        """Return a log of runs without changes."""
        n = len(friction.rows)
        times, signs = ([np.zeros(shape)] * count for shape in ((0,), (0, n)))
        codes = [np.zeros((0, n), dtype=np.int8)] * count
        return cls(friction, times, signs, codes, np.zeros((0, 5)), np.zeros((0, 2)))

    def add(self, rows: IndexArray, found: dict[str, Any]) -> None:
        """Add the modes of `Integrator.take_modes`, of the runs with numbers `rows`."""
        offsets = found["offsets"].astype(int)
        for run, first, last in zip(rows.tolist(), offsets[:-1], offsets[1:], strict=True):
            self.times[run], self.signs[run] = found["times"][first:last], found["signs"][first:last]
            self.codes[run] = found["codes"][first:last].astype(np.int8)
        self.holds += [(int(rows[run]), *hold) for run, *hold in found["holds"]]
        for name in ("impacts", "unloaded"):
            part = found[name].copy()
            part[:, 0] = rows[part[:, 0].astype(int)]
            setattr(self, name, np.concatenate([getattr(self, name), part]))

    def conditions(
        self, runs: EnsembleGroups, run: IndexArray, t: Array, *, each: bool
    ) -> list[tuple[IndexArray, Conditions]]:
        """Return the conditions with modes at states (k,) of runs, each with the rows at which they hold.

        Parameters
        ----------
        runs : EnsembleGroups
        run : (k,) int
            Number of the run of each state, in order.
        t : (k,) s
            In order within a run.
        each : bool
            Whether conditions differ between runs also without modes.
        """
        groups: dict[tuple[int, bytes], list[IndexArray]] = {}
        modes: dict[tuple[int, bytes], tuple[int, int]] = {}
        found: list[tuple[IndexArray, Conditions]] = []
        for k, first, last in self.spans(run):
            if k in self.repeated or not len(self.times[k]):
                found += [(first + rows, at) for rows, at in self.periods(runs, k)(t[first:last])]
                continue
            change = np.clip(np.searchsorted(self.times[k], t[first:last], side="right") - 1, 0, None)
            for number in np.unique(change).tolist():
                key = (k if each else -1, self.signs[k][number].tobytes() + self.codes[k][number].tobytes())
                groups.setdefault(key, []).append(first + np.flatnonzero(change == number))
                modes.setdefault(key, (k, number))
        return found + [
            (np.sort(np.concatenate(rows)), self._conditions(runs, *modes[key])) for key, rows in groups.items()
        ]

    def _conditions(self, runs: EnsembleGroups, run: int, change: int) -> Conditions:
        """Return the conditions of a run after a change."""
        base = runs[run]
        friction = self.friction.fresh(base.model)
        modes = self._modes(run, change)
        return with_modes(friction.rows, base, modes, friction.movable(base), friction.rest_tol)

    def _modes(self, run: int, change: int) -> Modes:
        code = self.codes[run][change].astype(int)
        stuck: BoolArray = code // 3 % 2 == 1
        locked = np.flatnonzero(code // 6).tolist()
        return Modes(self.signs[run][change].copy(), stuck, locked, code % 3 - 1.0, np.zeros(len(code), dtype=bool))

    def periods(self, runs: EnsembleGroups, run: int) -> Periods:
        """Return the conditions of a run by time."""
        if run in self.repeated:
            return self.periods_of_repeated(run, runs[run])
        if not len(self.times[run]):
            return single_period(runs[run])
        conditions = [self._conditions(runs, run, k) for k in range(len(self.times[run]))]
        return Periods(self.times[run].tolist(), conditions)

    def notes(self, most: int) -> list[str]:
        """Return the first notes on impacts and stops without load, with the numbers of their runs."""
        rows = self.friction.rows
        logs: dict[int, StopImpactLog] = {}
        for run, t, row, side, speed in self.impacts[~np.isin(self.impacts[:, 0], list(self.repeated))].tolist():
            logs.setdefault(int(run), StopImpactLog()).add(int(row), int(side), speed, t)
        found = [(run, note) for run, log in logs.items() for note in log.notes(rows)]
        for run in sorted({hold[0] for hold in self.holds} - self.repeated.keys()):
            own = self.friction.fresh(self.friction.model)
            for _, t, held, count, time in (hold for hold in self.holds if hold[0] == run):
                own.note_hold(t, held, count, time)
            found += [(run, note) for note in own.note_texts]
        found += [(run, note) for run, result in self.repeated.items() for note in result.stats.notes]
        for run in sorted(set(self.unloaded[:, 0].astype(int).tolist()) - self.repeated.keys()):
            names = [rows.names[int(k)] for k in np.unique(self.unloaded[self.unloaded[:, 0] == run, 1])]
            found.append((run, unloaded_stops(names)))
        each = [f"run {run}: {note}" for run, note in sorted(found, key=lambda pair: pair[0])]
        return each[:most] + [f"and {len(each) - most} more; see the notes of single runs"] * (len(each) > most)
