"""Dense output of a run of a SIMD batch: its steps are repeated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Array
from ...errors import IntegrationError
from ...model import Conditions, State
from ...model.batched_control import ControlNotBatchable
from ...result import Result
from ..events.discontinuity_times import discontinuity_times_until
from ..events.events import EventFunctions
from ..execution import execute_run
from ..interrupts import Interrupt
from ..options import Options
from ..request import SimulationRequest
from .simd_runs import batched_control

__all__ = ["RepeatedSteps"]


@dataclass(eq=False)
class RepeatedSteps:
    """Dense output of a run of a SIMD batch.

    The same run alone in a SIMD batch has the same bits, for any output times; with a control in Python, if its forces
    for one state do not depend on the other states of the batch. A single run has other rounding, which a chaotic
    motion amplifies; the ends of its steps are used to divide integrals over time.

    Attributes
    ----------
    conditions : Conditions
    options : Options
    discontinuity_times : (k,) s
        Discontinuity times given by the user.
    span : (float, float) s
        Start and end.
    start : State
        Of one run, or of all runs of an ensemble.
    has_varied_model : bool
        Whether model parameters differed between the runs of a batch.
    batched : bool
        Whether the control received batched states.
    """

    conditions: Conditions
    options: Options
    discontinuity_times: Array
    span: tuple[float, float]
    start: State
    has_varied_model: bool = False
    batched: bool = False

    def __call__(self, times: Array) -> tuple[Array, Array, Array]:
        """Return q (k, nq), v (k, nv) and x (k, nx) at times (k,)."""
        points, places = np.unique(times, return_inverse=True)
        begin, end = self.span
        times = self._known_discontinuities()
        table = times, np.array([0, len(times)], dtype=np.int64)
        q, v, x = (np.ascontiguousarray(part[None]) for part in (self.start.q, self.start.v, self.start.x))
        model = self.conditions.model
        own = model.mapped_parameters[None] if self.has_varied_model and not model.is_recompiled else None
        control = batched_control(self.conditions) if self.batched else None
        stepper, given = self.options.integrator(self.conditions), (begin, end, points, q, v, x, None, own, 1, *table)
        with Interrupt() as interrupt:
            try:
                _, reached, _, *states = stepper.run_batch(*given, interrupt.flag, control)
            except ControlNotBatchable:  # its behaviour has changed since
                _, reached, _, *states = stepper.run_batch(*given, interrupt.flag)
        if interrupt.pressed:
            raise KeyboardInterrupt
        q, v, x = (part[0][places] for part in states)
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise IntegrationError(f"the run reached t = {reached[0]:.6g} s only; no states are known after that")
        return q, v, x

    def run_discontinuity_times(self) -> Array:
        """Return the discontinuity times, (k,) s, with approximate times of branch changes."""
        known = self._known_discontinuities()
        return (
            np.union1d(known, self._single.discontinuity_times) if self.conditions.model.switching_functions else known
        )

    def _known_discontinuities(self) -> Array:
        return discontinuity_times_until(
            self.conditions, *self.span, smooth=not self.options.step, also=self.discontinuity_times
        )

    def step_ends(self) -> Array:
        """Return approximate ends of steps, (k,) s."""
        return self._single.step_times

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
            discontinuity_times=self.discontinuity_times,
        )
        interrupt = Interrupt()
        result = execute_run(request, interrupt)
        if interrupt.pressed:
            raise KeyboardInterrupt
        return result
