"""Runs of an ensemble that are executed alone: with Python between their steps, or to repeat one of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import takewhile

from ... import _core
from ...arrays import Array
from ...model import Conditions, History, SampledControl, SampledForces, State
from ...result import Result
from ..events.events import EventFunctions
from ..execution import execute_run
from ..interrupts import Interrupt, SharedInterrupt
from ..request import SimulationRequest
from .groups import EnsembleGroups

__all__ = ["SingleRuns", "run_alone", "run_each"]


def run_alone(
    request: SimulationRequest, conditions: Conditions, start: State, times: Array, interrupt: Interrupt
) -> Result:
    """Execute one run of an ensemble by itself, with its own memory of control, delays, friction and events."""
    if isinstance(conditions.control, SampledControl):
        conditions = conditions.changed(sampled_forces=SampledForces(request.model.nv))
    if conditions.history is not None:
        conditions = conditions.changed(history=History(request.model))
    own = SimulationRequest(
        conditions=conditions,
        options=request.options,
        t_start=request.t_start,
        t_end=request.t_end,
        events=EventFunctions(request.model, request.events.events),
        times=times,
        state=start,
        friction=None if request.friction is None else request.friction.fresh(conditions.model),
        contact=request.contact,
        discontinuity_times=request.discontinuity_times,
    )
    return execute_run(own, interrupt)


def run_each(
    request: SimulationRequest,
    runs: EnsembleGroups,
    starts: Sequence[State],
    times: Array,
    interrupt: Interrupt,
    threads: int | None = None,
) -> list[Result]:
    """Execute the runs of an ensemble, those with contact by steps on threads; after Ctrl-C no other is started."""

    def run(k: int, own: Interrupt) -> Result | None:
        return None if own.pressed else run_alone(request, runs[k], starts[k], times, own)

    count = _core.threads() if threads is None else threads
    if request.contact is None or request.conditions.callback is not None or count == 1:
        made = [run(k, interrupt) for k in range(len(starts))]
    else:
        for k in range(len(starts)):
            _ = runs[k].model  # made once, before threads need it
        with interrupt, ThreadPoolExecutor(count) as pool:
            shared = [SharedInterrupt(interrupt)] * len(starts)
            made = list(pool.map(run, range(len(starts)), shared))
    return list(takewhile(lambda result: result is not None, made))  # type: ignore[arg-type]


@dataclass(eq=False)
class SingleRuns:
    """Runs of an ensemble, each executed alone when it is asked for, and kept.

    Attributes
    ----------
    request : SimulationRequest
        Common to all runs.
    runs : EnsembleGroups
    start : three of (B, n)
        q, v and x at the start.
    times : (k,) s
        Output times.
    """

    request: SimulationRequest
    runs: EnsembleGroups
    start: tuple[Array, Array, Array]
    times: Array
    made: dict[int, Result] = field(default_factory=dict, repr=False)

    def run(self, number: int, interrupt: Interrupt) -> Result:
        """Execute a run, and keep its result unless it was interrupted."""
        made = self.made.get(number)
        if made is not None:
            return made
        q, v, x = (part[number] for part in self.start)
        start = State(q=q, v=v, t=self.request.t_start, x=x)
        conditions = self.runs[number]
        if self.runs.sampled is not None:
            conditions = self.runs.sampled.replayed(number, conditions)
        made = run_alone(self.request, conditions, start, self.times, interrupt)
        if made.status != "interrupted":
            self.made[number] = made
        return made

    def result(self, number: int, states: tuple[Array, Array, Array]) -> Result:
        """Return the result of a run, with its states (k, n) in the ensemble: those of the same steps.

        Raises
        ------
        KeyboardInterrupt
            If the run was interrupted.
        """
        interrupt = Interrupt()
        made = self.run(number, interrupt)
        if interrupt.pressed:
            raise KeyboardInterrupt
        if len(made.t) == len(states[0]):
            made.q, made.v, made.x = states
        return made
