"""Sensitivities of runs with rigid contact by steps, and outputs that have none beside rigid contact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Array
from ...errors import GradientError, ModelError
from ...model import State
from ...result import Output, Result
from ...result.outputs.contacts import contact_names
from ...simulation.contact.contact_events import EventContacts
from ...simulation.contact.contact_steps import StepContacts
from ...simulation.contact.step_derivatives import ContactRunDerivatives, parts_of_run
from .directions import ParameterDirection

__all__ = ["check_contact_output", "contact_source", "step_changes"]


def contact_source(result: Result) -> StepContacts | EventContacts | None:
    """Return the rigid contacts of a run; None if there are none.

    Raises
    ------
    GradientError
        If a run by events went on in steps.
    """
    rigid = [source for source in result.contact_sources if isinstance(source, (StepContacts, EventContacts))]
    if len(rigid) > 1:
        raise GradientError(
            "the run with contact by events went on in steps, where the length of steps jumps: give contact='steps', "
            "whose steps have derivatives"
        )
    return rigid[0] if rigid else None


def check_contact_output(result: Result, name: str) -> None:
    """Refuse outputs that depend on the forces of rigid contacts."""
    model = result.model
    assert model is not None
    owner, _, what = name.rpartition(".")
    of_contact = any(owner == known or owner.startswith(f"{known}.") for known in contact_names(model))
    output = Output.of(model, name)
    if (of_contact and "gap" not in (what, owner.rpartition(".")[2])) or output.needs == "dynamics":
        remedy = (
            "derivatives of forces and accelerations are not available beside rigid contact: use positions, "
            "velocities and energies, or compliant contact (stiffness=)"
        )
        raise ModelError("sensitivity", "output", name, remedy)


def step_changes(
    result: Result, source: StepContacts, directions: Sequence[ParameterDirection], wanted: Array
) -> tuple[Array, float, list[str]]:
    """Return changes (k, n, m) at the requested times, the growth of changes, and notes."""
    trajectory = source.trajectory
    assert trajectory is not None and source.steps is not None
    if len(trajectory.segments) > 1:
        raise GradientError(
            "contact by steps whose conditions change within the run (events, drives that jump) has no derivatives: "
            "use contact='events', or da.sweep"
        )
    segment = trajectory.segments[0]
    t, q, v, x = trajectory.records.arrays()
    start = State(q=q[0], v=v[0], t=float(t[0]), x=x[0])
    numbers = [direction.number for direction in directions]
    names = tuple(name for name in numbers if name is not None)
    conditions = segment.conditions.changed(sampled_loads=None)
    times = segment.discontinuity_times
    parts, last = parts_of_run(conditions, segment.options, source.steps, times, start, float(t[-1]))
    if not np.array_equal(last, q[-1]):
        raise GradientError("the run could not be repeated for its derivatives")
    run = ContactRunDerivatives(conditions, segment.options, source.steps, times, names)
    edges = np.unique(np.concatenate([[t[0], t[-1]], wanted]))
    y = np.stack([direction.start for direction in directions], axis=1)
    found = np.empty((len(wanted), *y.shape))
    columns = [k for k, name in enumerate(numbers) if name is not None]
    whole, growth, nv = np.eye(len(y)), 1.0, result.model.nv if result.model is not None else 0
    found[wanted == edges[0]] = y
    for time, span in zip(edges[1:], run.along(parts, edges), strict=True):
        y = span.state @ y
        y[:, columns] += span.parameters
        found[wanted == time] = y
        whole = span.state @ whole
        growth = max(growth, np.abs(whole[:nv, :nv]).max(initial=0.0), np.abs(whole[nv : 2 * nv, nv:]).max(initial=0.0))
    return found, float(growth), run.notes
