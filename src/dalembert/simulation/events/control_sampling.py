"""Sampling of a control during a run.

`SampledControl` (model) describes period, delay and noise, and `HeldControl` (model) stores the forces.
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
        control, held_control = conditions.control, conditions.held_control
        assert isinstance(control, SampledControl) and held_control is not None
        self.control, self.held_control, self.model = control, held_control, conditions.model

    @property
    def next(self) -> float:
        """Time of the next sample, s."""
        return float(self.control.time(self.held_control.begin, len(self.held_control)))

    def take(self, state: State) -> None:
        """Sample the control if a sample is due; the first is at the start of the run."""
        if np.isnan(self.held_control.begin):
            self.held_control.begin = state.t
        while state.t >= self.next:
            number = len(self.held_control)
            tau = joint_forces(self.model, self.control.control, self.control.measured(self.model, state, number))
            record_effort_excess(self.model, state.t, tau, self.held_control.requested_efforts)
            self.held_control.add(self.control.acts(self.held_control.begin, number), tau)
