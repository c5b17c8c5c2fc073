"""Sampling of a control during a run.

`SampledControl` (model) describes period, delay and noise, and `SampledForces` (model) stores the forces.
`ControlSampler` calls the control at the sample times of one run.
"""

from __future__ import annotations

import numpy as np

from ...model import Conditions, SampledControl, State
from ...model.callbacks import joint_forces, record_effort_excess

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

    @property
    def next(self) -> float:
        """Time of the next sample, s."""
        return float(self.control.time(self.sampled_forces.begin, len(self.sampled_forces)))

    def take(self, state: State) -> None:
        """Sample the control if a sample is due; the first is at the start of the run."""
        if np.isnan(self.sampled_forces.begin):
            self.sampled_forces.begin = state.t
        while state.t >= self.next:
            number = len(self.sampled_forces)
            measured = self.control.measured(self.model, state, number)
            measured.run = self.run
            tau = joint_forces(self.model, self.control.control, measured)
            record_effort_excess(self.model, state.t, tau, self.sampled_forces.excess_efforts)
            self.sampled_forces.add(self.control.acts(self.sampled_forces.begin, number), tau)
