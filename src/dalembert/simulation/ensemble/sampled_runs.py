"""Sampled control of the runs of a batch: called once in each period with the states of all runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...arrays import Array, BoolArray, IndexArray
from ...errors import UserFunctionError
from ...model import Conditions, SampledControl, SampledForces, State
from ...model.batched_control import joint_forces_of_many
from ...model.callbacks import callback_name, effort_bounds, record_effort_excess
from ...model.compiled_control import CompiledControl

__all__ = ["ReplayedControl", "SampledRuns"]


@dataclass(eq=False)
class ReplayedControl:
    """Control that returns forces sampled before, and calls the function of the user beyond them.

    Attributes
    ----------
    control : SampledControl
    begin : float, s
        Start of the run.
    tau : (samples, nv)
    """

    control: SampledControl
    begin: float
    tau: Array

    @property
    def __name__(self) -> str:
        return callback_name(self.control.control)

    def __call__(self, state: State) -> Any:
        number = round((state.t - self.begin) / self.control.period)
        return self.tau[number].copy() if number < len(self.tau) else self.control.control(state)


@dataclass(eq=False)
class SampledRuns:
    """Sampled control of many runs, and the forces of its samples.

    Parameters
    ----------
    conditions : Conditions
        Of all runs, with a `SampledControl`.
    t_start, t_end : float, s
    count : int
        Number of runs.

    Attributes
    ----------
    times, effects : (samples,) s
        When samples are taken and from when they act.
    numbers : (k,)
        Number in the ensemble of each run of a batch.
    forces : list of (samples, nv)
        Of each run; fewer samples if it ended early.
    """

    conditions: Conditions
    t_start: float
    t_end: float
    count: int
    times: Array = field(init=False)
    effects: Array = field(init=False)
    numbers: IndexArray = field(init=False)
    forces: list[Array] = field(init=False)

    def __post_init__(self) -> None:
        control = self.control
        largest = int((self.t_end - self.t_start) / control.period) + 2
        every = [control.time(self.t_start, k) for k in range(largest)]
        self.times = np.array([t for t in every if t < self.t_end])
        self.effects = np.array([control.acts(self.t_start, k) for k in range(len(self.times))])
        self.numbers = np.arange(self.count)
        self.forces = [np.zeros((0, self.conditions.model.nv))] * self.count

    @property
    def control(self) -> SampledControl:
        """The sampled control."""
        control = self.conditions.control
        assert isinstance(control, SampledControl)
        return control

    @property
    def compiled(self) -> CompiledControl | None:
        """The function that the core calls itself; None if Python measures its states, or bounds of efforts matter."""
        function = self.control.control
        plain = not self.control.is_noisy and not np.isfinite(effort_bounds(self.conditions.model)).any()
        return function if isinstance(function, CompiledControl) and plain else None

    def __call__(self, t: Array, q: Array, v: Array, x: Array, runs: IndexArray, tau: Array) -> dict[int, Any]:
        """Fill joint forces tau (B, nv) at states (B, ...) of runs; return errors by row."""
        model, control = self.conditions.model, self.control
        numbers = self.numbers[runs]
        number = round((float(t[0]) - self.t_start) / control.period)
        state = State(q=q, v=v, t=t, x=x, run=numbers)  # type: ignore[arg-type]
        measured = control.measured_of_many(model, state, number)
        tau[:] = joint_forces_of_many(model, control.control, measured)
        finite: BoolArray = np.asarray(np.isfinite(tau).all(axis=1))
        errors = {row: self._error(float(t[row]), int(numbers[row])) for row in np.flatnonzero(~finite).tolist()}
        sampled = self.conditions.sampled_forces
        if sampled is not None and np.isfinite(effort_bounds(model)).any():
            for time, row in zip(t[finite].tolist(), tau[finite], strict=True):
                record_effort_excess(model, time, row, sampled.excess_efforts)
        return errors

    def _error(self, t: float, run: int) -> UserFunctionError:
        function = self.control.control
        if isinstance(function, CompiledControl):
            return function.error(t, run)
        return UserFunctionError(
            f"control {callback_name(function)} returned forces that are not finite at t = {t:.6g} s, run {run}"
        )

    def take(self, rows: IndexArray, found: Array) -> None:
        """Keep the forces of `Integrator.take_sampled_forces`, of the runs with numbers `rows`."""
        nv = self.conditions.model.nv
        for run, tau in zip(rows.tolist(), found.reshape(len(rows), len(self.times), nv), strict=True):
            self.forces[run] = tau[np.isfinite(tau).all(axis=1)] if nv else tau

    def conditions_of(self, run: int, conditions: Conditions) -> Conditions:
        """Return the conditions of a run with its sampled forces."""
        sampled = SampledForces(conditions.model.nv)
        sampled.fill(self.t_start, self.effects[: len(self.forces[run])], self.forces[run])
        return conditions.changed(sampled_forces=sampled)

    def replayed(self, run: int, conditions: Conditions) -> Conditions:
        """Return the conditions of a run that is executed again: its control is not called for known samples."""
        control = replace(
            self.control, control=ReplayedControl(self.control, self.t_start, self.forces[run]), batched=False
        )
        return conditions.changed(control=control)
