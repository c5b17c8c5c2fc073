"""A sampled control in a run: when it is asked, and what its answers are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ModelError
from ...model import Conditions, SampledControl, State
from ...model.callbacks import joint_forces, record_effort_excess

__all__ = ["Sampling", "as_control"]


class Sampling:
    """Asks a sampled control at its times; the answers go to the forces that are held.

    Parameters
    ----------
    conditions : Conditions
        Of a run whose control is sampled.
    """

    def __init__(self, conditions: Conditions) -> None:
        control, answers = conditions.control, conditions.answers
        assert isinstance(control, SampledControl) and answers is not None
        self.control, self.answers, self.model = control, answers, conditions.model

    @staticmethod
    def of(conditions: Conditions) -> Sampling | None:
        """Return the sampling of a run; None if its control is not sampled."""
        return Sampling(conditions) if isinstance(conditions.control, SampledControl) else None

    @property
    def next(self) -> float:
        """When the next sample is due, s."""
        return float(self.control.time(self.answers.begin, len(self.answers)))

    def take(self, state: State) -> None:
        """Ask the control if a sample is due; the first is at the start of the run."""
        if np.isnan(self.answers.begin):
            self.answers.begin = state.t
        while state.t >= self.next:
            number = len(self.answers)
            tau = joint_forces(self.model, self.control.control, self.control.measured(self.model, state, number))
            record_effort_excess(self.model, state.t, tau, self.answers.asked)
            self.answers.add(self.control.acts(self.answers.begin, number), tau)


def as_control(
    control: Callable[[State], Any] | SampledControl | None, period: float | None, delay: float, *, item: str
) -> Callable[[State], Any] | SampledControl | None:
    """Return a control as it was asked for: at every evaluation, or sampled."""
    if control is not None and not callable(control) and not isinstance(control, SampledControl):
        raise ModelError(item, "control", control, "give a function of a State, or a da.SampledControl")
    if period is None and not delay:
        return control
    field, value = ("control_period", period) if period is not None else ("control_delay", delay)
    if control is None:
        raise ModelError(item, field, value, "it belongs to a control: give control=...")
    if isinstance(control, SampledControl):
        raise ModelError(item, field, value, f"the control has a period of its own, {control.period:.6g} s")
    if period is None:
        raise ModelError(item, "control_delay", delay, "only a sampled control has one: give control_period=... too")
    return SampledControl(control, period, delay)
