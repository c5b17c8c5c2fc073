"""Sampling of a control during a run.

`SampledControl` (model) describes period, delay and noise, and `SampledForces` (model) stores the forces.
`ControlSampler` calls the control at the sample times of one run.
"""

from __future__ import annotations

import math

import numpy as np

from ...model import Conditions, SampledControl, State
from ...model.callbacks import effort_bounds, joint_forces, record_effort_excess

__all__ = ["ControlSampler"]


class ControlSampler:
    """Call a sampled control at its sample times, and store its joint forces.

    Parameters
    ----------
    conditions : Conditions
        Of a run with a `SampledControl`.
    """

    def __init__(self, conditions: Conditions) -> None:
        control, sampled_forces = conditions.control, conditions.sampled_forces
        assert isinstance(control, SampledControl) and sampled_forces is not None
        self.control, self.sampled_forces, self.model = control, sampled_forces, conditions.model
        self.run = conditions.run
        self.bounded = bool(np.isfinite(effort_bounds(self.model)).any())
        self._known: tuple[float, int, float] = (np.nan, -1, np.nan)  # begin, number and time of the next sample

    @property
    def next(self) -> float:
        """Time of the next sample, s."""
        return float(self.control.time(self.sampled_forces.begin, len(self.sampled_forces)))

    def take(self, state: State) -> float:
        """Sample the control if a sample is due; return the time of the next, s. The first is at the start of the run.

        The control receives the arrays of the state, and may keep or change them.
        """
        forces, control = self.sampled_forces, self.control
        if math.isnan(forces.begin):
            forces.begin = state.t
        begin, number, t = forces.begin, len(forces), state.t
        begun, known, due = self._known
        if known != number or begun != begin:
            due = float(control.time(begin, number))
        while t >= due:
            following = float(control.time(begin, number + 1))
            again = t >= following  # another sample at the same state
            measured = control.measured(self.model, state, number) if control.is_noisy or again else state
            measured.run = self.run
            tau = joint_forces(self.model, control.control, measured)
            if self.bounded:
                record_effort_excess(self.model, t, tau, forces.excess_efforts)
            forces.add(control.acts(begin, number) if control.delay else due, tau)
            number, due = number + 1, following
            self._known = begin, number, due
        return due
