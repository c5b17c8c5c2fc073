"""Error of a run by steps: three runs with steps that have no common measure.

Halving alone may see nothing, because both runs meet an impact at the same part of a step. The estimate is

    7 max |q_h - q_k|,     k = h / 2, h / 1.618                                                                     (1)

over the positions at all steps of length h; angles of quaternions in rad. The method is of first order: if (1) is above
the accepted error, h becomes shorter in proportion.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import Array
from ...errors import IntegrationError, ModelError
from ...model import Model
from ...model.interpolation import attitudes
from ...result import Result
from ..execution import execute_run
from ..request import SimulationRequest
from .contact_steps import ContactSteps

__all__ = ["execute_to_error", "position_difference"]

SAFETY = 7.0  # of the estimate (1), as long as it stays above 0.14 of the error
RATIOS = (2.0, 1.618)  # of steps
MAX_ROUNDS = 8  # of shorter steps
MAX_STEPS = 2e7  # of a run


def execute_to_error(request: SimulationRequest) -> Result:
    """Execute a run with contact by steps short enough for the accepted error; its statistics have the estimate.

    Raises
    ------
    IntegrationError
        If the error is not met; with the last result as ``error.result``.
    """
    assert isinstance(request.contact, ContactSteps) and request.contact.choice.error is not None
    wanted, h = request.contact.choice.error, request.options.step
    for field, value in (("stream", request.stream), ("resume", request.resume)):
        if value:
            raise ModelError("simulate", "error", wanted, f"it cannot be met with {field}=")
    span = request.t_end - request.t_start
    for _ in range(MAX_ROUNDS):
        result, *others = (execute_run(_with_step(request, h / ratio)) for ratio in (1.0, *RATIOS))
        if not all(run.success for run in (result, *others)):
            return result
        estimate = SAFETY * max(position_difference(request.model, result, other) for other in others)
        result.stats.error = estimate
        result.stats.notes.append(f"error of positions by runs with other steps: {estimate:.3g} of {wanted:.3g}")
        if estimate <= wanted:
            return result
        h *= min(0.5, max(0.05, 0.7 * wanted / estimate))
        if span / h > MAX_STEPS:
            break
    step = result.step_times[1] - result.step_times[0]
    error = IntegrationError(
        f"the error of contact by steps is {estimate:.3g} with steps of {step:.3g} s, above error={wanted:.3g}: "
        "motions with many impacts may depend on every detail; accept a larger error, or leave it out"
    )
    error.result = result
    if request.on_error != "return":
        raise error
    result.status, result.message = "failed", str(error)
    return result


def _with_step(request: SimulationRequest, h: float) -> SimulationRequest:
    assert isinstance(request.contact, ContactSteps)
    contact = request.contact.fresh(request.model)
    contact.choice = replace(contact.choice, step=h)
    return replace(request, options=replace(request.options, step=h), contact=contact)


def position_difference(model: Model, one: Result, other: Result) -> float:
    """Return the largest difference of positions of two runs, rad or m, at the times of the first."""
    times = one.t[(one.t >= other.t[0]) & (one.t <= other.t[-1])]
    q = other.at(times).q
    return float(np.abs(_difference(model, one.at(times).q, q)).max(initial=0.0))


def _difference(model: Model, q: Array, other: Array) -> Array:
    found = q - other
    for at in attitudes(model.coordinate_names, model.speed_names):
        span = slice(at.place, at.place + 4)
        flipped = (q[:, span] * other[:, span]).sum(axis=1) < 0.0
        found[flipped, span] = (q + other)[flipped, span]
        found[:, span] *= 2.0
    return found
