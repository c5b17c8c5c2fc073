"""Execution of an ensemble: in batches of the core, or run by run where Python is needed between steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Array, IndexArray
from ...errors import DalembertError, ModelError
from ...model import Conditions, Model, SampledControl, State
from ...result import Motion, Result, Stats, single_period
from ..diagnostics.angle_wrap import find_rotation_wraps
from ..diagnostics.discontinuities import missed_discontinuities
from ..diagnostics.loop_drift import OPEN
from ..diagnostics.motion_notes import motion_notes
from ..diagnostics.small_motions import small_motion_notes
from ..diagnostics.snap_through import compound_nodes
from ..events.drive_velocity_jumps import check_no_jumps
from ..interrupts import Interrupt, defer_interrupt
from ..request import SimulationRequest
from .dense_output import RepeatedSteps
from .ensemble import Ensemble
from .event_logs import EventLogs, batch_event_table
from .friction_modes import check_friction_starts
from .groups import EnsembleGroups
from .sampled_runs import SampledRuns
from .simd_runs import BatchOutcome, EnsembleRunner
from .single_runs import SingleRuns, run_each

__all__ = ["MAX_NOTES", "execute_ensemble", "repeat_undecided", "runs_separately"]

States = tuple[Array, Array, Array]  # q (B, n, nq), v (B, n, nv), x (B, n, nx)
RunOne = Callable[[int], Result]  # from the number of a run to its result, executed alone

SUMMED_STATS = ("steps", "rejected", "evaluations", "jacobians", "factorizations", "wall_time")
N_DEFAULT_TIMES = 101  # output times of an ensemble
MAX_NOTES = 20  # of single runs, among those of the ensemble
UNEXPLAINED = ("stagnated", "step_underflow", "not_finite", "newton_failed")  # outcomes of the core without a cause
_OUTCOMES = {"finished": "reached", "interrupted": "stopped", "event": "event"}  # by status of a single run
MAX_REPEATED = 3  # failed runs of each of these outcomes that are repeated alone to find the cause


def execute_ensemble(request: SimulationRequest, count: int, parameters: Mapping[str, ArrayLike] | None) -> Ensemble:
    """Execute `count` runs; see `simulate`.

    Parameters
    ----------
    request : SimulationRequest
        Common to all runs.
    count : int
    parameters : dict of str to float or (count,)
    """
    if request.stream is not None or request.resume:
        what = "stream" if request.stream is not None else "resume"
        raise ModelError("simulate", what, "given", f"an ensemble takes no {what}: simulate the runs one by one")
    check_no_jumps(request.drive_jumps, "an ensemble does not support velocity jumps")
    times = np.linspace(request.t_start, request.t_end, N_DEFAULT_TIMES) if request.times is None else request.times
    runs = EnsembleGroups.of(request.conditions, parameters, count)
    interrupt = Interrupt()
    execute = _execute_separately if runs_separately(request, runs) else _execute_batches
    ensemble = execute(request, runs, times, interrupt)
    if request.on_error != "return":
        defer_interrupt(interrupt)
    return ensemble


def runs_separately(request: SimulationRequest, runs: EnsembleGroups) -> bool:
    """Return whether runs are integrated one after the other, because Python is needed between their steps."""
    conditions, friction = request.conditions, request.friction
    # laws that jump may hold rows together with friction, which modes of ensembles do not record
    jumps = any(kind in ("integer", "sign") for _, kind in request.model.switching_functions)
    separate = (friction is not None and jumps) or conditions.history is not None or request.contact is not None
    separate = separate or bool(compound_nodes(request.model))
    if separate or (isinstance(conditions.control, SampledControl) and not conditions.control.batched):
        return True
    return bool(request.events.events) and batch_event_table(request, runs) is None


# ---- SIMD batches


def _execute_batches(request: SimulationRequest, runs: EnsembleGroups, times: Array, interrupt: Interrupt) -> Ensemble:
    """Execute runs in batches; those that fail without a cause, or need Python, are repeated alone."""
    began, conditions, options = time.perf_counter(), request.conditions, request.options
    groups = runs.groups()
    span = request.t_start, request.t_end
    q, v, x, notes = runs.starts(request.state, request.t_start, request.joint_limits)
    notes = [*request.notes, *notes]
    if request.friction is not None:
        notes += check_friction_starts(request.friction, runs, request.t_start, (q, v, x))
    events = EventLogs.empty(request.events, runs.count) if request.events.events else None
    sampled = SampledRuns(conditions, *span, runs.count) if isinstance(conditions.control, SampledControl) else None
    with interrupt:
        made = EnsembleRunner(
            runs,
            groups,
            options,
            span,
            times,
            (q, v, x),
            request.discontinuity_times,
            interrupt,
            request.friction,
            events=events,
            event_table=None if events is None else batch_event_table(request, runs),
            sampled=sampled,
        ).execute()
    if sampled is not None:
        runs.set_sampled(sampled)
    ends, states = made.outcomes, made.states
    notes += made.notes
    for run, error in made.errors.items():
        ends[run] = str(error)
    for group in groups if options.project else ():
        done = group.rows[[ends[run] == "reached" for run in group.rows]]
        q_1, v_1, x_1 = (np.ascontiguousarray(part[done, -1]) for part in states)
        for run in done[runs.gaps(group, done, float(times[-1]), q_1, v_1, x_1) > OPEN]:
            ends[run] = "open"

    single_interrupt, single = Interrupt(), SingleRuns(request, runs, (q, v, x), times)

    def run_one(k: int) -> Result:
        return single.run(k, single_interrupt)

    has_changes = made.modes is not None or made.events is not None
    repeats = has_changes or sampled is not None  # a run is executed again when it is read
    if has_changes and not interrupt.pressed:
        repeat_undecided(run_one, made, ends)
    if not interrupt.pressed:
        _find_wraps(request.model, runs, times, made, run_one)
    if not interrupt.pressed:
        notes += _repeat_failed(run_one, times, ends, made.reached, states)
    notes += _batch_notes(request, runs, times, made, interrupted=interrupt.pressed)
    total = made.counts.sum(axis=0).astype(int)
    changed = options.detect_stiffness and bool((made.counts[:, 3] > 0).any())  # of some runs
    stats = Stats(
        method=f"{options.method} then radau" if changed else options.method,
        steps=int(total[0]),
        rejected=int(total[1]),
        evaluations=int(total[2]),
        jacobians=int(total[3]),
        factorizations=int(total[5]),
        notes=notes,
        wall_time=time.perf_counter() - began,
        rtol=options.rtol,
        atol=options.atol,
    )
    start = State(q=q, v=v, t=request.t_start, x=x)
    taken = None
    if not repeats:
        taken = RepeatedSteps(conditions, options, request.discontinuity_times, span, start, batched=made.batched)
    ensemble = Ensemble(
        conditions,
        times,
        states,
        ends,
        made.reached,
        stats,
        parameters=runs.numbers,
        taken=taken,
        single=single if repeats else None,
        modes=made.modes,
        events=made.events,
        sampled=sampled,
    )
    if len(made.errors) == runs.count and request.on_error != "return":  # no run has more than its error
        defer_interrupt(interrupt)
        error = made.errors[0]
        if isinstance(error, DalembertError):
            error.result = ensemble
        raise error
    if ends[0] == "reached" and not interrupt.pressed:
        first = conditions if sampled is None else runs[0]
        stats.notes.extend(missed_discontinuities(first, options, times, *(part[0] for part in states)))
    return ensemble


def _find_wraps(model: Model, runs: EnsembleGroups, times: Array, made: BatchOutcome, run_one: RunOne) -> None:
    """Mark finished runs in which a rotation vector wraps as failed."""
    done = np.array([run for run, end in enumerate(made.outcomes) if end == "reached"], dtype=np.intp)

    def model_of(k: int) -> Model:
        return runs[int(done[k])].model if runs.has_varied_model else model

    finished = made.states[0][done], made.states[1][done], made.states[2][done]
    wraps = find_rotation_wraps(model, times, finished, model_of, lambda k: run_one(int(done[k])))
    for k, message in wraps.items():
        made.outcomes[done[k]] = message


def repeat_undecided(run_one: RunOne, made: BatchOutcome, ends: list[str]) -> list[int]:
    """Repeat runs with friction, stops or events alone if the core could not finish them; return their numbers.

    Python may determine their modes, and apply actions of events.

    Parameters
    ----------
    run_one : callable
        From the number of a run to its result.
    made : BatchOutcome
    ends : list of str
        Outcomes of the core; those of repeated runs are replaced.
    """
    repeated = [k for k, end in enumerate(ends) if end in ("undecided", "loops_open", *UNEXPLAINED)]
    for number, k in enumerate(repeated):
        run = run_one(k)
        for part, rows in zip(made.states, (run.q, run.v, run.x), strict=True):
            part[k] = np.nan
            part[k, : len(rows)] = rows
        ends[k], made.reached[k] = _OUTCOMES.get(run.status, run.message), _end_time(run)
        for log in (made.modes, made.events):
            if log is not None:
                log.repeated[k] = run
        if run.status == "interrupted":
            for other in repeated[number + 1 :]:
                ends[other] = "stopped"
            break
    return repeated


def _repeat_failed(run_one: RunOne, t: Array, ends: list[str], reached: Array, states: States) -> list[str]:
    """Repeat runs that failed without a cause alone, with all diagnostics; return notes on the causes.

    A run that slowed down may finish. Of each outcome, runs are repeated until a few have failed again.
    """
    notes = []
    for outcome in UNEXPLAINED:
        failed: list[int] = []
        rest = [k for k, end in enumerate(ends) if end == outcome]
        while rest and len(failed) < MAX_REPEATED:
            k = rest.pop(0)
            run = run_one(k)
            if run.status == "finished":
                ends[k], reached[k] = "reached", t[-1]
                for part, rows in zip(states, (run.q, run.v, run.x), strict=True):
                    part[k] = rows
            elif run.status == "interrupted":
                break
            else:
                ends[k] = run.message
                failed.append(k)
        if failed:
            more = f" and {len(rest)} more" if rest else ""
            notes.append(f"run{'s' * (len(failed) > 1)} {', '.join(map(str, failed))}{more}: {ends[failed[0]]}")
    return notes


def _batch_notes(
    request: SimulationRequest, runs: EnsembleGroups, times: Array, made: BatchOutcome, *, interrupted: bool
) -> list[str]:
    """Return notes on the motion of all runs of batches."""
    conditions, options, states = request.conditions, request.options, made.states
    notes = [] if made.modes is None else made.modes.notes(MAX_NOTES)
    implicit = int((made.counts[:, 3] > 0).sum()) if options.detect_stiffness else 0
    if implicit:
        notes.append(f"stability limited the explicit steps of {implicit} runs; they continued with radau")
    missed = np.flatnonzero(made.counts[:, 4])
    if len(missed):
        notes.append(
            f"in {len(missed)} runs, the first of them {missed[0]}, switching functions changed sign and back within "
            "steps of fixed length, and both changes were missed; give a shorter step, or a method with step control"
        )
    good = np.isfinite(states[0]).all(axis=-1) & np.isfinite(states[1]).all(axis=-1)
    run, time = np.nonzero(good)
    q, v, x = (part[good] for part in states)

    def with_changes(t: Array) -> list[tuple[IndexArray, Conditions]]:
        if made.modes is not None:
            return made.modes.conditions(runs, run, t, each=runs.numbers is not None or runs.sampled is not None)
        if made.events is not None:
            return made.events.conditions(runs, run, t)
        return [(np.flatnonzero(run == k), runs[k]) for k in np.unique(run).tolist()]

    changes = made.modes is not None or (made.events is not None and made.events.changes_conditions)
    by_time = with_changes if changes or runs.sampled is not None else single_period(conditions)
    motion = Motion(request.model, times[time], q, v, x, conditions=by_time)
    notes += motion_notes(motion, [conditions], call_control=not interrupted)
    notes += small_motion_notes(conditions, options, *states)
    return notes


# ---- one run after the other


def _execute_separately(
    request: SimulationRequest, runs: EnsembleGroups, times: Array, interrupt: Interrupt
) -> Ensemble:
    """Execute runs one after the other; after Ctrl-C no other run is started."""
    model, count, t_start = request.model, runs.count, request.t_start
    q, v, x, notes = runs.starts(request.state, t_start, request.joint_limits)
    states = [np.full((count, len(times), size), np.nan) for size in (model.nq, model.nv, model.nx)]
    starts = [State(q=q[k], v=v[k], t=t_start, x=x[k]) for k in range(count)]
    results = run_each(request, runs, starts, times, interrupt)
    for k, result in enumerate(results):
        for part, rows in zip(states, (result.q, result.v, result.x), strict=True):
            part[k, : len(rows)] = rows
    total = [sum(getattr(run.stats, name) for run in results) for name in SUMMED_STATS]
    common = [note for note in results[0].stats.notes if all(note in run.stats.notes for run in results[1:])]
    each = [f"run {k}: {note}" for k, run in enumerate(results) for note in run.stats.notes if note not in common]
    every = [*request.notes, *notes, *common, *each[:MAX_NOTES]]
    stats = replace(results[0].stats, **dict(zip(SUMMED_STATS, total, strict=True)), notes=every)
    if len(each) > MAX_NOTES:
        stats.notes.append(f"and {len(each) - MAX_NOTES} more; see ensemble[k].stats.notes")
    left = count - len(results)  # not started
    ends = [*(_OUTCOMES.get(run.status, run.message) for run in results), *["stopped"] * left]
    reached = np.array([*map(_end_time, results), *[t_start] * left])
    whole = states[0], states[1], states[2]
    all_runs = [*results, *[None] * left]
    return Ensemble(request.conditions, times, whole, ends, reached, stats, parameters=runs.numbers, runs=all_runs)


def _end_time(run: Result) -> float:
    """Return the time that a run reached, s: its last state, or the event that ended it."""
    return float(run.events[-1].t if run.status == "event" else run.t[-1])
