"""All of a run as plain data, and a run again from that: to stop and go on later to the same bits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ...model.fingerprint import fingerprint
from ..events.discontinuity_times import timetable
from ..trajectory import Segment
from .resume import check_model, check_same_request, times_seal

if TYPE_CHECKING:
    from ..run import Run

__all__ = ["restore", "snapshot"]


def snapshot(run: Run) -> dict[str, Any]:
    """Return all that a run needs to go on as if it had not stopped, without the model."""
    return {
        "checkpoint": run.integrator.checkpoint(),
        "segments": [(s.begin, s.options.method, s.conditions.plain()) for s in run.segments],
        "records": run.records.arrays(),
        "events": list(run.events),
        "notes": list(run.notes),
        "counts": run.counts.copy(),
        "methods": list(run.methods),
        "g": run.g.copy(),
        "recent": {name: list(times) for name, times in run.chatter.recent.items()},
        "written": 0 if run.stream is None else run.stream.written,
        "t_end": run.t_end,
        "events_watched": [event.name for event in run.watch.events],
        "asked": run.asked,
        "times": times_seal(run.times if run.track.sampled else None, run.integrator.t),
        "model": fingerprint(run.model),
        "dry": None if run.dry is None else run.dry.plain(),
        "answers": _answers(run),
        "switchings": run.track.switchings.arrays(),
        "history": () if run.history is None else run.history.arrays(),
    }


def restore(run: Run, point: dict[str, Any]) -> None:
    """Let a run take up where a snapshot was made."""
    check_model(point["model"], run.model)
    names = [event.name for event in run.watch.events]
    if point["events_watched"] != names:
        raise ModelError("simulate", "events", names, f"the run to go on with has {point['events_watched']}")
    run.notes += check_same_request(point["asked"], run.asked)
    run.asked = point["asked"]
    if point["t_end"] != run.t_end:
        run.notes.append(f"went on to another end than {point['t_end']:.6g} s: the last steps before it may differ")
    for begin, method, plain in point["segments"]:
        run.options = replace(run.options, method=method, watch=run.options.watch and method == "dop853")
        run.conditions = run.conditions.like(plain)
        run.segments.append(Segment(begin, run.options, run.conditions, run.breaks))
    run.track.switchings.fill(*point["switchings"])
    laws: dict[str, Any] = {"branches": None, "sliding": frozenset()}
    if run.dry is not None:
        run.dry.restore(point["dry"])
        laws = run.dry.modes.of_laws
    run.conditions = run.conditions.changed(**laws)
    if run.sampling is not None:
        begin, times, tau = point["answers"]
        run.sampling.answers.fill(float(begin), np.asarray(times, dtype=float), np.asarray(tau, dtype=float))
    if run.history is not None:
        run.history.fill(point["history"])
    run.integrator = run.present.integrator(run.conditions)
    run.find_breaks(run.segments[0].begin)
    moved = bool(timetable(run.model).uses)
    for segment in run.segments:
        segment.breaks = run.breaks_under(segment.conditions, segment.begin) if moved else run.breaks
    try:
        run.integrator.restore(point["checkpoint"])
    except ValueError as error:
        raise ModelError("simulate", "resume", f"a run of {run.model.system.name!r}", str(error)) from None
    if run.t_end < run.integrator.t:
        reached = f"the run to go on with has reached {run.integrator.t:.6g} s"
        raise ModelError("simulate", "t_end", run.t_end, reached)
    if point["times"] != times_seal(run.times if run.track.sampled else None, run.integrator.t):
        remedy = f"the run to go on with has others up to {run.integrator.t:.6g} s, which it has reached"
        raise ModelError("simulate", "times", run.times, remedy)
    run.records.extend(*point["records"])
    run.events, run.notes = list(point["events"]), [*run.notes, *point["notes"]]
    run.counts, run.methods, run.g = point["counts"].copy(), list(point["methods"]), point["g"].copy()
    run.chatter.recent = {name: list(times) for name, times in point["recent"].items()}


def _answers(run: Run) -> tuple[float, list[float], list[float]]:
    """Return what a sampled control has answered so far: when the run began, times, joint forces."""
    if run.sampling is None:
        return 0.0, [], []
    times, tau = run.sampling.answers.rows()
    return run.sampling.answers.begin, times.tolist(), tau.tolist()
