"""Carrying out one run: where it starts, or goes on from, and what it ends with."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..errors import DalembertError, ModelError
from ..model import State
from ..result import Result
from .diagnostics.angle_wrap import find_rotation_wrap
from .diagnostics.contact_overlaps import overlap_notes
from .diagnostics.discontinuities import missed_discontinuities
from .diagnostics.loop_drift import check_loops_closed
from .diagnostics.snap_through import find_snap_through
from .run import Run
from .run_result import make_result
from .start import start_state
from .storage.checkpoint import restore

__all__ = ["execute_run"]


def execute_run(
    run: Run,
    state: State | Mapping[str, Any] | None,
    t_start: float,
    said: list[str],
    resume: Result | bool | None,
    on_error: str,
    limits: bool = True,
) -> Result:
    """Make a run, from a state or from where another was interrupted, and return what it has computed."""
    began = time.perf_counter()
    status, message = "failed", ""
    caught: DalembertError | None = None
    try:
        point = None if resume is None or resume is False else _resume_point(run, resume)
        run.notes = [*said, *([] if run.stream is None else run.stream.notes)]
        if point is None:
            start = start_state(run.model, state, t_start, limits=limits)
            notes = start.notes
            run.notes += overlap_notes(run.conditions, start)
            run.notes += notes + (["the stream held no checkpoint yet: began at the start"] if resume else [])
            run.start(start)
        else:
            restore(run, point)
        if run.stream is not None:
            run.stream.checkpoint(run)
        with run.interrupt:
            status = run.go()
            run.notes += missed_discontinuities(run.conditions, run.options, *run.records.arrays())
        if status == "finished" and run.options.project:
            t, q, v, x, *_ = run.integrator.state()
            check_loops_closed(run.conditions, State(q=q, v=v, t=t, x=x))
    except DalembertError as error:
        if not run.records.parts:
            raise
        status, caught, message = "failed", error, str(error)
    finally:
        run.progress.close()
    if status == "interrupted":
        way = "resume=result" if run.stream is None else f"stream={str(run.stream.path)!r}, resume=True"
        message = f"at t = {run.integrator.t:.6g} s; go on with simulate(..., {way})"
    result = make_result(run, status, message, time.perf_counter() - began)
    if caught is None and len(result.t) > 1:
        caught = find_rotation_wrap(result) or find_snap_through(result)
        if caught is not None:
            result.status, result.message = "failed", str(caught)
    if caught is None or on_error == "return":
        return result
    caught.result = result
    raise caught


def _resume_point(run: Run, resume: Result | bool) -> dict[str, Any] | None:
    if isinstance(resume, Result):
        if resume.resume_point is None:
            remedy = "it was not interrupted, or is on file: give the directory as stream=..., with resume=True"
            raise ModelError("simulate", "resume", resume, remedy)
        return resume.resume_point
    if run.stream is None:
        raise ModelError("simulate", "resume", resume, "give the interrupted result, or the directory as stream=...")
    return run.stream.last_point()
