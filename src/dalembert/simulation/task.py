"""What was asked of a simulation, and how it is carried out: in one run, in many, by another package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DalembertError
from ..model import Conditions, HeldControl, History, Model, SampledControl, State
from ..result import Result
from .diagnostics.snap_through import all_inside
from .ensemble.ensemble import Ensemble, simulate_each, simulate_many
from .events.drive_velocity_jumps import DriveVelocityJump, check_no_jumps, jump_events
from .events.events import EventFunctions
from .execution import execute_run
from .external_solvers import run_external_solver
from .friction.friction import FrictionState
from .interrupts import Interrupt, defer_interrupt
from .options import Options
from .progress import Progress
from .run import Run
from .start import start_state
from .storage.stream import Stream

__all__ = ["SimulationTask"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SimulationTask:
    """A simulation that was asked for, checked.

    Attributes
    ----------
    conditions : Conditions
        To begin with.
    options : Options
    t_start, t_end : float, s
    times : (k,) s or None
    state : State, names to values, or None
    watch : Watch
    dry : Dry or None
    breaks : (k,) s
        Those that a user gave.
    jumps : list of SpeedJump
        Of drives.
    progress : bool or None
    on_error : str
    said : list of str
        Notes so far.
    limits : bool
        Whether limits of joints are heeded at the start.
    """

    conditions: Conditions
    options: Options
    t_start: float
    t_end: float
    times: Array | None
    state: State | Mapping[str, Any] | None
    watch: EventFunctions
    dry: FrictionState | None
    breaks: Array
    jumps: list[DriveVelocityJump]
    progress: bool | None
    on_error: str
    said: list[str]
    limits: bool

    @property
    def model(self) -> Model:
        """Whose motion it is."""
        return self.conditions.model

    def one(
        self,
        stream: str | os.PathLike[str] | None,
        resume: Result | bool | None,
        asked: dict[str, Any],
    ) -> Result:
        """Make one run; `make_request`: what a run that is gone on with must have been asked too."""
        watch, strikes = self.watch, jump_events(self.jumps, self.t_start, self.t_end)
        if strikes:
            watch = EventFunctions(self.model, [*watch.events, *strikes])
        breaks = self.breaks
        if strikes:  # no step goes across a jump
            breaks = np.union1d(breaks, [event.value for event in strikes])
        line, interrupt = Progress(self.t_start, self.t_end, self.progress), Interrupt()
        run = Run(self.conditions, self.options, self.t_end, self.times, watch, line, interrupt, self.dry, breaks)
        if stream is not None:
            run.stream = Stream(stream, self.model, self.t_start, resume is True)
        run.asked |= asked
        try:
            result = execute_run(run, self.state, self.t_start, self.said, resume, self.on_error, self.limits)
        finally:
            if run.stream is not None:
                run.stream.release()
        self._leave(interrupt)
        return result

    def elsewhere(self, method: str) -> Result:
        """Let another package take the steps."""
        check_no_jumps(self.jumps, f"method {method!r} does not jump")
        start = start_state(self.model, self.state, self.t_start, limits=self.limits)
        notes = start.notes
        interrupt = Interrupt()
        try:
            with interrupt:
                result = run_external_solver(
                    method,
                    start,
                    self.t_end,
                    self.times,
                    self.options,
                    self.conditions,
                    breaks=self.breaks,
                    notes=self.said + notes,
                    progress=Progress(self.t_start, self.t_end, self.progress),
                    interrupt=interrupt,
                )
        except DalembertError as error:
            if self.on_error == "raise" or error.result is None:
                raise
            partial: Result = error.result
            return partial
        self._leave(interrupt)
        return result

    def many(self, count: int, parameters: Mapping[str, ArrayLike] | None) -> Ensemble:
        """Make many runs: in lanes, or one after the other where each changes its conditions on its way."""
        check_no_jumps(self.jumps, "many runs at once do not jump")
        stored = np.linspace(self.t_start, self.t_end, 101) if self.times is None else self.times
        interrupt = Interrupt()

        def one(own: Conditions, start: State) -> Result:
            if isinstance(own.control, SampledControl):
                own = own.changed(answers=HeldControl(self.model.nv))
            if own.history is not None:
                own = own.changed(history=History(self.model))
            line = Progress(self.t_start, self.t_end, False)
            dry = None if self.dry is None else self.dry.fresh(own.model)
            watch = EventFunctions(self.model, self.watch.events)
            run = Run(own, self.options, self.t_end, stored, watch, line, interrupt, dry, self.breaks)
            return execute_run(run, start, self.t_start, [], None, "return")

        apart = self.dry is not None or self.conditions.history is not None or bool(self.watch.events)
        apart = apart or bool(all_inside(self.model))
        if not apart and not isinstance(self.conditions.control, SampledControl):
            given = self.conditions, count, self.t_start, self.t_end, self.times, self.state, parameters, self.options
            return simulate_many(*given, self.on_error, self.breaks, one, self.said, self.limits)
        ensemble = simulate_each(
            one, interrupt, self.conditions, count, self.t_start, stored, self.state, parameters, self.said, self.limits
        )
        self._leave(interrupt)
        return ensemble

    def _leave(self, interrupt: Interrupt) -> None:
        """Let what comes next know of a press."""
        if self.on_error != "return":
            defer_interrupt(interrupt)
