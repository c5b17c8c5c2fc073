"""Checked request of a simulation: all input of one run or of an ensemble."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..closure.starts.named_start_values import named_count
from ..errors import ModelError
from ..model import Conditions, History, Model, SampledControl, State
from ..model.callbacks import shortest_delay
from ..model.compiled_control import as_compiled_control
from ..model.conditions import described_conditions, parameter_vector
from ..result import Result
from .contact.contact_events import ContactEvents
from .contact.contact_steps import ContactSteps
from .events.drive_velocity_jumps import DriveVelocityJump
from .events.events import EventFunctions
from .friction.friction import FrictionState
from .options import Options

__all__ = ["NO_TIMES", "SimulationRequest", "as_control", "output_times", "run_count", "start_conditions"]


NO_TIMES: Array = np.zeros(0)


@dataclass(frozen=True, eq=False)
class SimulationRequest:
    """Model, options, start and span of a simulation.

    Attributes
    ----------
    conditions : Conditions
        At the start, with the model.
    options : Options
        Method, tolerances, steps.
    t_start, t_end : float, s
    events : EventFunctions
    times : (k,) s or None
        Output times; every step if None.
    state : State, dict of name to value, or None
        Start values; those of the system if None.
    friction : FrictionState or None
        Dry friction and stops of joints, if there are any.
    contact : ContactEvents, ContactSteps or None
        Rigid contact.
    discontinuity_times : (k,) s
        Discontinuity times given by the user.
    drive_jumps : list of DriveVelocityJump
    joint_limits : bool
        Whether coordinates without a start value start within the limits of their joints.
    notes : list of str
        Notes on the request.
    progress : bool or None
    on_error : str
    stream : path or None
    resume : Result, bool or None
    settings : dict
        Values of arguments that a resumed run must share, beside those in options and conditions.
    """

    conditions: Conditions
    options: Options
    t_start: float
    t_end: float
    events: EventFunctions
    times: Array | None = None
    state: State | Mapping[str, Any] | None = None
    friction: FrictionState | None = None
    contact: ContactEvents | ContactSteps | None = None
    discontinuity_times: Array = field(default_factory=lambda: NO_TIMES)
    drive_jumps: list[DriveVelocityJump] = field(default_factory=list)
    joint_limits: bool = True
    notes: list[str] = field(default_factory=list)
    progress: bool | None = False
    on_error: str = "return"
    stream: str | os.PathLike[str] | None = None
    resume: Result | bool | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> Model:
        """The model with the parameters of the start."""
        return self.conditions.model


def run_count(
    model: Model, state: State | Mapping[str, Any] | None, parameters: Mapping[str, ArrayLike] | None
) -> int | None:
    """Return the number of runs that states and parameters have values for; None for a single run."""
    if state is not None and not isinstance(state, (State, Mapping)):
        raise ModelError("simulate", "state", state, "give a da.State(q=..., v=...), or a dict of name to value")
    numbers = parameters or {}
    sizes = {f"parameter {name!r}": len(np.asarray(value)) for name, value in numbers.items() if np.ndim(value)}
    if isinstance(state, Mapping):
        named = named_count(model, state)
        sizes |= {} if named is None else {"state": named}
    elif state is not None:
        sizes |= {f"state.{part}": len(x) for part, x in (("q", state.q), ("v", state.v)) if np.ndim(x) == 2}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name} {count}" for name, count in sizes.items())
        raise ModelError("simulate", "number of runs", counts, "give states and parameters for the same number of runs")
    if 0 in sizes.values():
        remedy = f"give values for one run or more, of {', '.join(sizes)}"
        raise ModelError("simulate", "number of runs", 0, remedy)
    return next(iter(sizes.values()), None)


def output_times(times: ArrayLike, t_start: float, t_end: float) -> Array:
    """Return the output times (k,) s, checked."""
    try:
        requested = np.array(times, dtype=float)
    except (TypeError, ValueError):
        requested = np.empty((0, 0))
    if requested.ndim != 1 or not len(requested) or not np.isfinite(requested).all() or (np.diff(requested) <= 0).any():
        raise ModelError("simulate", "times", times, "give one or more times in increasing order")
    if requested[0] < t_start or requested[-1] > t_end:
        raise ModelError("simulate", "times", times, f"they must lie from {t_start:.6g} s to {t_end:.6g} s")
    return requested


def start_conditions(
    model: Model,
    parameters: Mapping[str, Any] | None,
    control: Callable[[State], Any] | SampledControl | None,
    stabilization: tuple[float, float] = (0.0, 0.0),
) -> Conditions:
    """Return the conditions at the start of a run.

    Parameters
    ----------
    model : Model
    parameters : dict of str to float
        Values other than described.
    control : function of a State, or SampledControl
        As `as_control` returns it.
    stabilization : (float, float)
        Baumgarte's 2 alpha and beta^2.
    """
    if not parameters and control is None and stabilization == (0.0, 0.0) and not model.family.callback_laws:
        return described_conditions(model)
    return Conditions(
        model,
        parameter_vector(model, dict(parameters) if parameters else None, "conditions"),
        control=control,
        history=History(model) if np.isfinite(shortest_delay(model)) else None,
        stabilization=stabilization,
    )


def as_control(
    control: Callable[[State], Any] | SampledControl | None, period: float | None, delay: float, *, item: str
) -> Callable[[State], Any] | SampledControl | None:
    """Return the control: a function called at every evaluation, or a `SampledControl` if a period is given."""
    control = as_compiled_control(control)
    if control is not None and not callable(control) and not isinstance(control, SampledControl):
        raise ModelError(
            item, "control", control, "give a function of a State, a compiled function, or a da.SampledControl"
        )
    if period is None and not delay:
        return control
    field_name, value = ("control_period", period) if period is not None else ("control_delay", delay)
    if control is None:
        raise ModelError(item, field_name, value, "it belongs to a control: give control=...")
    if isinstance(control, SampledControl):
        raise ModelError(item, field_name, value, f"the control has its own period, {control.period:.6g} s")
    if period is None:
        raise ModelError(
            item, "control_delay", delay, "only a sampled control has a delay: give control_period=... too"
        )
    return SampledControl(control, period, delay)
