"""States between the stored ones of a run that was made in lanes: its steps are taken once more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...errors import IntegrationError
from ...model import Conditions, State
from ...model.batched_control import ControlNotBatchable
from ...result import Result
from ..events.discontinuity_times import breaks_until
from ..events.events import EventFunctions
from ..execution import execute_run
from ..interrupts import Interrupt
from ..options import Options
from ..request import SimulationRequest
from .simd_runs import asked_together

__all__ = ["RepeatedSteps"]

Array = NDArray[np.float64]


@dataclass(eq=False)
class RepeatedSteps:
    """Dense output of a run that was made in lanes.

    The same run alone in a lane has the same bits, whatever the times at which its states are kept; with a control in
    Python, if that answers about a state to the same bits whatever others it is asked about. A single run does not,
    rounding differs, and a motion may make much of it; where its steps end serves to divide integrals over time.

    Attributes
    ----------
    conditions : Conditions
    options : Options
    breaks : (k,) s
        Those that a user gave.
    span : (float, float) s
        Start and end.
    start : State
        Of one run; of many, before one of them is chosen.
    apart : bool
        Whether own numbers stood in lanes, each run's beside those of others.
    together : bool
        Whether a control was asked about many runs at once.
    """

    conditions: Conditions
    options: Options
    breaks: Array
    span: tuple[float, float]
    start: State
    apart: bool = False
    together: bool = False

    def __call__(self, times: Array) -> tuple[Array, Array, Array]:
        """Return q (k, nq), v (k, nv) and x (k, nx) at times (k,)."""
        wanted, places = np.unique(times, return_inverse=True)
        begin, end = self.span
        breaks = self._known_breaks()
        table = breaks, np.array([0, len(breaks)], dtype=np.int64)
        q, v, x = (np.ascontiguousarray(part[None]) for part in (self.start.q, self.start.v, self.start.x))
        model = self.conditions.model
        own = model.mapped_parameters[None] if self.apart and not model.recompiled else None
        asked = asked_together(self.conditions) if self.together else None
        stepper, given = self.options.integrator(self.conditions), (begin, end, wanted, q, v, x, None, own, 1, *table)
        with Interrupt() as interrupt:
            try:
                _, reached, _, *states = stepper.batch(*given, interrupt.flag, asked)
            except ControlNotBatchable:  # it has changed its mind since
                _, reached, _, *states = stepper.batch(*given, interrupt.flag)
        if interrupt.pressed:
            raise KeyboardInterrupt
        q, v, x = (part[0][places] for part in states)
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise IntegrationError(f"the run came to t = {reached[0]:.6g} s only; no states are known after that")
        return q, v, x

    def run_breaks(self) -> Array:
        """Return where the equations of motion break, (k,) s, and about where laws changed branches."""
        known = self._known_breaks()
        return np.union1d(known, self._single.breaks) if self.conditions.model.thresholds else known

    def _known_breaks(self) -> Array:
        return breaks_until(self.conditions, *self.span, smooth=not self.options.step, also=self.breaks)

    def step_ends(self) -> Array:
        """Return about where the steps end, (k,) s."""
        return self._single.steps

    @cached_property
    def _single(self) -> Result:
        begin, end = self.span
        request = SimulationRequest(
            conditions=self.conditions,
            options=self.options,
            t_start=begin,
            t_end=end,
            events=EventFunctions(self.conditions.model, ()),
            times=np.array([begin, end]),
            state=self.start,
            breaks=self.breaks,
        )
        interrupt = Interrupt()
        result = execute_run(request, interrupt)
        if interrupt.pressed:
            raise KeyboardInterrupt
        return result
