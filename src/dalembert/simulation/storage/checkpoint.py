"""Snapshots of runs: all data that a run needs to resume with the same bits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ...model.fingerprint import fingerprint
from ..contact.contact_events import ContactEvents
from ..events.discontinuity_times import discontinuity_sources
from ..events.event_log import EventLog
from ..trajectory import Segment
from .request_comparison import check_model, check_same_request, request_record, times_checksum

if TYPE_CHECKING:
    from ..run import Run

__all__ = ["restore", "snapshot"]


def snapshot(run: Run) -> dict[str, Any]:
    """Return the data of a run from which `restore` resumes it, without the model."""
    return {
        "checkpoint": run.integrator.checkpoint(),
        "segments": [(s.begin, s.options.method, s.conditions.to_plain()) for s in run.segments],
        "records": run.records.arrays(),
        "events": list(run.events),
        "notes": list(run.notes),
        "counts": run.counts.copy(),
        "methods": list(run.methods),
        "g": run.event_handler.crossing_values(run),
        "recent": {name: list(times) for name, times in run.event_handler.zeno.recent.items()},
        "written": 0 if run.stream is None else run.stream.written,
        "t_end": run.t_end,
        "events_watched": [event.name for event in run.event_handler.functions.events],
        "request": run.resumed_request or request_record(run.request),
        "times": times_checksum(run.times if run.trajectory.sampled else None, run.integrator.t),
        "model": fingerprint(run.model),
        "friction": None if run.friction is None else run.friction.to_plain(),
        "sampled_forces": _sampled_forces(run),
        "branches": run.trajectory.branch_log.arrays(),
        "contact": None if run.contact is None else run.contact.to_plain(run.integrator),
        "earlier_contact": None if run.earlier_contacts is None else run.earlier_contacts.changes_to_plain(),
        "contact_bytes": 0 if run.stream is None else run.stream.contact_bytes,
        "history": () if run.history is None else run.history.arrays(),
    }


def restore(run: Run, point: dict[str, Any]) -> None:
    """Set a run that has not started to a snapshot."""
    check_model(point["model"], run.model)
    names = [event.name for event in run.event_handler.functions.events]
    if point["events_watched"] != names:
        raise ModelError("simulate", "events", names, f"the interrupted run has {point['events_watched']}")
    run.notes += check_same_request(point["request"], request_record(run.request))
    run.resumed_request = point["request"]
    if point["t_end"] != run.t_end:
        run.notes.append(f"resumed to another end than {point['t_end']:.6g} s: the last steps before it may differ")
    if point["earlier_contact"] is not None:
        assert isinstance(run.contact, ContactEvents)
        run.earlier_contacts, run.contact = run.contact, run.contact.steps
        run.earlier_contacts.restore_changes(point["earlier_contact"])
    for begin, method, plain in point["segments"]:
        if run.earlier_contacts is not None and method == "moreau":
            run.options = run.earlier_contacts.step_options
        run.options = replace(
            run.options, method=method, detect_stiffness=run.options.detect_stiffness and method == "dop853"
        )
        run.conditions = run.conditions.with_plain(plain)
        run.segments.append(Segment(begin, run.options, run.conditions, run.discontinuity_times))
    run.trajectory.branch_log.fill(*point["branches"])
    laws: dict[str, Any] = {"branches": None, "sliding": frozenset()}
    if run.friction is not None:
        run.friction.restore(point["friction"])
        laws = run.friction.modes.law_conditions
    run.conditions = run.conditions.changed(**laws)
    if run.sampler is not None:
        begin, times, tau = point["sampled_forces"]
        run.sampler.sampled_forces.fill(float(begin), np.asarray(times, dtype=float), np.asarray(tau, dtype=float))
    if run.history is not None:
        run.history.fill(point["history"])
    run.integrator = run.current_options.integrator(run.conditions)
    run.update_discontinuity_times(run.segments[0].begin)
    moved = bool(discontinuity_sources(run.model).uses)
    for segment in run.segments:
        segment.discontinuity_times = (
            run.discontinuity_times_under(segment.conditions, segment.begin) if moved else run.discontinuity_times
        )
    try:
        run.integrator.restore(point["checkpoint"])
    except ValueError as error:
        raise ModelError("simulate", "resume", f"a run of {run.model.system.name!r}", str(error)) from None
    if run.friction_changes is not None:
        run.friction_changes.set_core(run)
    if run.contact is not None:
        run.contact.restore(run.integrator, point["contact"])
    run.event_handler.set_core(run)
    run.event_handler.restore_crossing_values(run, point["g"])
    if run.t_end < run.integrator.t:
        reached = f"the interrupted run has reached {run.integrator.t:.6g} s"
        raise ModelError("simulate", "t_end", run.t_end, reached)
    if point["times"] != times_checksum(run.times if run.trajectory.sampled else None, run.integrator.t):
        remedy = f"the interrupted run has others up to {run.integrator.t:.6g} s, which it has reached"
        raise ModelError("simulate", "times", run.times, remedy)
    run.records.extend(*point["records"])
    run.events, run.notes = EventLog(point["events"]), [*run.notes, *point["notes"]]
    run.counts, run.methods = point["counts"].copy(), list(point["methods"])
    run.event_handler.zeno.recent = {name: list(times) for name, times in point["recent"].items()}


def _sampled_forces(run: Run) -> tuple[float, list[float], list[float]]:
    """Return the samples of a sampled control: start of the run, times, joint forces."""
    if run.sampler is None:
        return 0.0, [], []
    times, tau = run.sampler.sampled_forces.samples()
    return run.sampler.sampled_forces.begin, times.tolist(), tau.tolist()
