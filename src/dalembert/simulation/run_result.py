"""Result of a run: states, statistics, notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..model import Model
from ..result import EventRecord, Periods, Result, Stats
from .contact.contact_events import ContactEvents, EventContacts
from .contact.contact_steps import StepContacts
from .contact.soft_contacts import SoftContacts
from .diagnostics.run_diagnostics import set_notes
from .run import Run
from .storage.checkpoint import snapshot

__all__ = ["make_result"]


def make_result(run: Run, status: str, message: str, wall_time: float) -> Result:
    """Return the result of a run.

    Parameters
    ----------
    run : Run
    status, message : str
    wall_time : float, s
    """
    point = snapshot(run) if status == "interrupted" and run.stream is None else None
    if run.stream is not None:
        run.stream.close(run)
    recorded = run.records.arrays()
    t, q, v, x = recorded
    trajectory = run.trajectory
    if run.times is not None:
        if trajectory.sampled:  # the start is recorded even if it is no output time
            first = 0 if run.times[0] <= t[0] else 1
            t, q, v, x = t[first:], q[first:], v[first:], x[first:]
        else:
            t = run.times[run.times <= t[-1]]
            q, v, x = trajectory.dense(t)
        if not len(t):
            t, q, v, x = (part[:1] for part in recorded)
    steps, rejected, evaluations, jacobians, factorizations = run.total_counts()[:5].tolist()
    stats = Stats(
        method=" then ".join(run.methods),
        steps=steps,
        rejected=rejected,
        evaluations=evaluations,
        jacobians=jacobians,
        factorizations=factorizations,
        wall_time=wall_time,
        rtol=run.options.rtol,
        atol=run.options.atol,
    )
    set_notes(stats, run, (t, q, v, x), interrupted=status == "interrupted")
    periods = trajectory.periods() if trajectory.changed else None
    events: Callable[[], list[EventRecord]] = run.events.copy().records
    sources: tuple[EventContacts | StepContacts, ...] = ()
    if run.contact is not None:
        periods = Periods([segment.begin for segment in run.segments], run.contact.all_conditions(run.segments))
        sources = _contact_sources(run, float(recorded[0][-1]))
        events = _EventsWithImpacts(events, sources, run.model, recorded)
    result = Result(
        run.model.family,
        t,
        q,
        v,
        x,
        stats=stats,
        status=status,
        message=message,
        events=events,
        dense=trajectory.dense,
        conditions=periods,
        step_times=trajectory.step_times,
        discontinuity_times=np.union1d(run.discontinuity_times, trajectory.branch_log.arrays()[0])
        if run.model.switching_functions
        else run.discontinuity_times,
    )
    result.resume_point = point
    result.contact_sources = (*sources, *SoftContacts.sources(run.model))
    return result


def _contact_sources(run: Run, end: float) -> tuple[EventContacts | StepContacts, ...]:
    """Return the contact models of a run that ends at a time, s, in their order."""
    trajectory = run.trajectory
    if isinstance(run.contact, ContactEvents):
        return (EventContacts(run.contact, run.trajectory),)
    assert run.contact is not None
    steps = StepContacts(run.contact.log(), end, run.contact, trajectory)
    if run.earlier_contacts is None:
        return (steps,)
    steps.begin = next(segment.begin for segment in run.segments if segment.options.method == "moreau")
    return EventContacts(run.earlier_contacts, run.trajectory, steps.begin), steps


@dataclass(frozen=True, eq=False)
class _EventsWithImpacts:
    """Events of a run and changes of its contacts in order of time, made when they are read."""

    events: Callable[[], list[EventRecord]]
    sources: tuple[EventContacts | StepContacts, ...]
    model: Model
    recorded: tuple[Array, Array, Array, Array]

    def __call__(self) -> list[EventRecord]:
        t, q, v, x = self.recorded
        found = [event for source in self.sources for event in source.impacts(self.model, t, (q, v, x))]
        return sorted([*self.events(), *found], key=lambda event: event.t)
