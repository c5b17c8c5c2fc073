"""Execution of one run: start or resume it, advance it to its end, check it, make its result."""

from __future__ import annotations

import time
from typing import Any

from ..errors import DalembertError, ModelError
from ..result import Result
from .diagnostics.run_diagnostics import check_end, find_result_error, start_notes
from .interrupts import Interrupt, defer_interrupt
from .request import SimulationRequest
from .run import Run
from .run_result import make_result
from .start import find_start
from .storage.checkpoint import restore
from .storage.stream import Stream

__all__ = ["execute_run"]


def execute_run(request: SimulationRequest, interrupt: Interrupt | None = None) -> Result:
    """Execute one run and return its result.

    Parameters
    ----------
    request : SimulationRequest
    interrupt : Interrupt
        Shared with other runs; a new one if left out.

    Raises
    ------
    DalembertError
        With the partial result as ``error.result``, unless ``request.on_error`` is ``"return"``.
    """
    began = time.perf_counter()
    run = Run(request, Interrupt() if interrupt is None else interrupt)
    if request.stream is not None:
        run.stream = Stream(request.stream, run.model, request.t_start, request.resume is True)
    status, caught = "failed", None
    try:
        try:
            _begin(run)
            with run.interrupt:
                status = run.advance()
                check_end(run, status)
        except DalembertError as error:
            if not run.records.parts:
                raise
            status, caught = "failed", error
        finally:
            run.progress.close()
        message = _interrupt_message(run) if status == "interrupted" else "" if caught is None else str(caught)
        result = make_result(run, status, message, time.perf_counter() - began)
    finally:
        if run.stream is not None:
            run.stream.release()
    if caught is None:
        caught = find_result_error(result)
        if caught is not None:
            result.status, result.message = "failed", str(caught)
    if caught is not None and request.on_error != "return":
        caught.result = result
        raise caught
    if run.interrupt.pressed and request.on_error != "return":
        defer_interrupt(run.interrupt)
    return result


def _begin(run: Run) -> None:
    """Start a run at its start state, or restore it from the snapshot to resume from."""
    request, stream = run.request, run.stream
    resume = request.resume
    point = None if resume is None or resume is False else _resume_point(run, resume)
    run.notes = [*request.notes, *([] if stream is None else stream.notes)]
    if point is None:
        start, notes = find_start(run.model, request.state, request.t_start, request.joint_limits)
        run.notes += start_notes(run.conditions, start) + notes
        if resume:
            run.notes.append("the stream held no checkpoint yet: began at the start")
        run.start(start)
    else:
        restore(run, point)
    if stream is not None:
        stream.checkpoint(run)


def _resume_point(run: Run, resume: Result | bool) -> dict[str, Any] | None:
    if isinstance(resume, Result):
        if resume.resume_point is None:
            remedy = "it was not interrupted, or is on file: give the directory as stream=..., with resume=True"
            raise ModelError("simulate", "resume", resume, remedy)
        return resume.resume_point
    if run.stream is None:
        raise ModelError("simulate", "resume", resume, "give the interrupted result, or the directory as stream=...")
    return run.stream.last_point()


def _interrupt_message(run: Run) -> str:
    how = "resume=result" if run.stream is None else f"stream={str(run.stream.path)!r}, resume=True"
    return f"at t = {run.integrator.t:.6g} s; resume with simulate(..., {how})"
