"""Events of the runs of a batch: the log that the core reports, and the conditions after actions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Array, IndexArray
from ...model import Conditions
from ...result import EventRecord, Periods, Result
from ..diagnostics.stagnation import ZENO_TIME
from ..events.actions import Action, Bounce, Stop
from ..events.core_events import action_text, after_action, core_event_table, is_applied_in_core
from ..events.events import EventFunctions
from ..request import SimulationRequest
from .groups import GEOMETRY_GROUPS, EnsembleGroups
from .run_logs import RunLogs

__all__ = ["EventLogs", "batch_event_table"]


def batch_event_table(request: SimulationRequest, runs: EnsembleGroups) -> dict[str, Any] | None:
    """Return the events of all runs for `Integrator.set_events`; None if some of them need Python in every run.

    The core evaluates the outputs of all events and applies their actions. Beside friction and stops it applies no
    action but the end of the run: runs in which another one occurs are repeated alone. Points of markers are those of
    one model, so that runs must not differ in geometry.
    """
    table = core_event_table(request.events, request.model, ends=True)
    if table is None or not is_applied_in_core(table):
        return None
    if table["points"] and not runs.kinds.isdisjoint(GEOMETRY_GROUPS):
        return None
    return {**table, "soon": ZENO_TIME * (request.t_end - request.t_start)}


@dataclass(eq=False)
class EventLogs(RunLogs):
    """Events of the runs of a batch.

    Attributes
    ----------
    functions : EventFunctions
    numbers : list of (k,) int
        Of each run: the events that occurred.
    times : list of (k,) s
    states : list of (k, nq + nv + nx)
        Before actions.
    energies : list of (k, 2) J
        Gain of the total energy, and energy that impulses dissipate.
    acted : list of (k,) int
        Bits of the actions that changed something.
    repeated : dict of int to Result
        Runs that were repeated alone.
    """

    functions: EventFunctions
    numbers: list[IndexArray]
    times: list[Array]
    states: list[Array]
    energies: list[Array]
    acted: list[IndexArray]
    repeated: dict[int, Result] = field(default_factory=dict)
    _after: dict[tuple[Conditions, int, int], Conditions] = field(default_factory=dict, repr=False)

    @classmethod
    def empty(cls, functions: EventFunctions, count: int) -> EventLogs:
        """Return a log of runs without events."""
        none = np.zeros(0, dtype=np.intp)
        numbers, acted = [none] * count, [none] * count
        times, states, energies = ([np.zeros(shape)] * count for shape in ((0,), (0, 0), (0, 2)))
        return cls(functions, numbers, times, states, energies, acted)

    def add(self, rows: IndexArray, found: tuple[list[int], tuple[Any, ...]]) -> None:
        """Add the events of `Integrator.take_event_logs`, of the runs with numbers `rows`."""
        counts, (numbers, times, states, energy, dissipated, acted) = found
        energies = np.column_stack([energy, dissipated])
        ends = np.cumsum([0, *counts]).tolist()
        for run, first, last in zip(rows.tolist(), ends[:-1], ends[1:], strict=True):
            if first == last:
                continue
            self.numbers[run] = np.array(numbers[first:last], dtype=np.intp)
            self.acted[run] = np.array(acted[first:last], dtype=np.intp)
            self.times[run], self.states[run] = times[first:last], states[first:last]
            self.energies[run] = energies[first:last]

    def records(self, run: int) -> list[EventRecord]:
        """Return the events of a run in order."""
        if run in self.repeated:
            return list(self.repeated[run].events)
        model = self.functions.model
        found = []
        for k, t in enumerate(self.times[run].tolist()):
            number, bits = int(self.numbers[run][k]), int(self.acted[run][k])
            q, v, x = np.split(self.states[run][k], [model.nq, model.nq + model.nv])
            energy, lost = self.energies[run][k].tolist()
            done = ", ".join(action_text(action) for action in self._made(number, bits))
            found.append(EventRecord(self.functions.events[number].name, t, q, v, x, energy, done, lost))
        return found

    def _made(self, number: int, acted: int) -> list[Action]:
        """Return the actions of an event that changed something, and the end of the run."""
        actions = self.functions.actions[number]
        places = iter(range(len(actions)))
        return [action for action in actions if isinstance(action, Stop) or acted >> next(places) & 1]

    @cached_property
    def changes_conditions(self) -> bool:
        """True if actions other than bounces and ends of the run are among those described."""
        every = (action for actions in self.functions.actions for action in actions)
        return not all(isinstance(action, (Bounce, Stop)) for action in every)

    def periods(self, base: Conditions, run: int) -> Periods:
        """Return the conditions of a run by time, from those at its start."""
        if run in self.repeated:
            return self.periods_of_repeated(run, base)
        begins, conditions = [-np.inf], [base]
        for t, number, acted in zip(self.times[run], self.numbers[run], self.acted[run], strict=True):
            key = conditions[-1], int(number), int(acted)
            if key not in self._after:
                after = key[0]
                for action in self._made(*key[1:]):
                    after = after_action(action, after)
                self._after[key] = after
            if self._after[key] is not conditions[-1]:
                begins.append(float(t))
                conditions.append(self._after[key])
        return Periods(begins, conditions)

    def conditions(self, runs: EnsembleGroups, run: IndexArray, t: Array) -> list[tuple[IndexArray, Conditions]]:
        """Return the conditions at states (k,) of runs, each with the rows at which they hold.

        Parameters
        ----------
        runs : EnsembleGroups
        run : (k,) int
            Number of the run of each state, in order.
        t : (k,) s
            In order within a run.
        """
        groups: dict[Conditions, list[IndexArray]] = {}
        for k, first, last in self.spans(run):
            for rows, at in self.periods(runs[k], k)(t[first:last]):
                groups.setdefault(at, []).append(first + rows)
        return [(np.sort(np.concatenate(rows)), at) for at, rows in groups.items()]
