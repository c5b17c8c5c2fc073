"""`rollout`: many runs with a control sequence each."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ... import _core
from ...arrays import Array
from ...checks import checked, finite_number
from ...errors import ModelError
from ...model import Model, State, as_model
from ...result import Stats
from ...system import System
from ..absolute_tolerances import DEFAULT_ATOL, Tolerance
from ..contact.contact_steps import ContactSteps
from ..contact.options import choose_contact, step_options
from ..ensemble.ensemble import run_messages, run_status
from ..ensemble.event_logs import EventLogs, batch_event_table
from ..ensemble.execution import MAX_NOTES, repeat_undecided, runs_separately
from ..ensemble.friction_modes import FrictionModes, check_friction_starts
from ..ensemble.groups import EnsembleGroups
from ..ensemble.simd_runs import BatchOutcome, EnsembleRunner
from ..ensemble.single_runs import SingleRuns, run_each
from ..events.drive_velocity_jumps import check_no_jumps
from ..events.events import Event, EventFunctions
from ..friction.options import make_friction_state
from ..friction.soft_stops import with_soft_stops
from ..interrupts import Interrupt, defer_interrupt, raise_pending_interrupt
from ..options import make_options
from ..request import SimulationRequest, run_count, start_conditions
from ..start import check_time_laws, start_time
from .channels import Channels, control_channels
from .rollout_result import Rollout

__all__ = ["rollout"]

METHODS = ("rk4", "dop853")  # fixed steps, and step control; both in SIMD batches


@checked("inputs", "outputs", "method", "substeps", "threads", "friction", "stops", "contact", "hold", "events")
def rollout(
    system: System | Model,
    state: State | Mapping[str, Any] | None,
    controls: Mapping[str, ArrayLike] | ArrayLike,
    dt: float,
    *,
    inputs: Sequence[str] | None = None,
    hold: str = "zero",
    outputs: Sequence[str] = (),
    parameters: Mapping[str, ArrayLike] | None = None,
    t_start: float | None = None,
    method: str = "rk4",
    substeps: int = 1,
    fixed_step: float | None = None,
    rtol: float = 1e-8,
    atol: Tolerance = DEFAULT_ATOL,
    max_step: float | None = None,
    friction: str = "events",
    stops: str = "rigid",
    contact: str = "auto",
    events: Event | Sequence[Event] = (),
    threads: int | None = None,
) -> Rollout:
    """Return the motion of many runs with a control sequence each.

    The whole time loop is in the core: control values change at multiples of `dt` without Python. Runs are integrated
    in SIMD batches and on threads. Loops are closed at every step, as in `simulate`.

    Parameters
    ----------
    system : System or Model
    state : State, dict of name to value, or None
        Start values as in `simulate`: of all runs, or with one axis more, (B, nq) or (B,), one for each.
    controls : dict of name to (K,) or (B, K), or an array (K, m) or (B, K, m)
        Values of joint forces, N m or N, by name of velocity or joint, which actuators deliver as they do those of a
        `control` of `simulate`; or of inputs of elements, in place of their laws: ``{"motor.u": u}``. A joint with n
        velocities takes (..., K, n). Controls of one run serve all B runs. A run ends where a value is not finite.
    dt : float, s
        Length of a control interval.
    inputs : sequence of str, (m,)
        Names of the columns of an array; all velocities if left out.
    hold : str
        ``"zero"``: K values, each constant for one interval. ``"linear"``: K + 1 values, at both ends of each of K
        intervals.
    outputs : sequence of str
        Outputs to return, as those of a `Result`: ``"link_7.position"``.
    parameters : dict of str to float or (B,)
        Values other than described.
    t_start : float, s
        Default the time of the given `state`, else 0.
    method : str
        ``"rk4"`` with fixed steps, or ``"dop853"`` with error control.
    substeps : int
        Steps of ``"rk4"`` in each interval.
    fixed_step : float, s
        Length of the steps of ``"rk4"`` instead; the last of an interval is shortened.
    rtol, atol, max_step
        Of ``"dop853"``, as in `simulate`.
    friction, stops : str
        Of joints, as in `simulate`. Runs with exact friction or rigid stops are integrated one by one, on threads.
    contact : str
        As in `simulate`: ``"steps:2e-3"`` gives the length of steps of rigid contact. Such runs are integrated in SIMD
        batches; those of systems with loops, or with different parameters of the model, one by one, on threads.
    events : sequence of Event
        With outputs by name or formula, and actions by name. A run ends at a terminal event. Runs with events are
        integrated one by one, on threads; beside exact friction and stops, those in which an action occurs are repeated
        in Python, with a note.
    threads : int
        Default `threads`.

    Returns
    -------
    Rollout
        States at t_start + k dt, (B, K + 1, ...); `Rollout.vjp` gives gradients. Runs that fail keep their states up to
        there, with a status and a message; the others are not affected.

    Examples
    --------
    >>> import numpy as np
    >>> import dalembert as da
    >>> s = da.System("arm", gravity=(0, 0, 0))
    >>> arm = s.body("arm", mass=1.0, inertia=(1, 1, 2))
    >>> _ = s.connect("A", da.Revolute("z"), s.ground, arm)
    >>> r = da.rollout(s, None, {"A": [[2.0, 0.0], [0.0, 4.0]]}, dt=0.5)
    >>> r.v[:, :, 0]
    array([[0. , 0.5, 0.5],
           [0. , 0. , 1. ]])
    >>> r.vjp(v=np.broadcast_to([[0], [0], [1.0]], (2, 3, 1))).controls[:, :, 0]
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    raise_pending_interrupt()
    began = time.perf_counter()
    model = as_model(system)
    begin, notes = start_time(state, t_start, item="rollout")
    length = finite_number(dt, item="rollout", field="dt")
    if not length > 0:
        raise ModelError("rollout", "dt", dt, "it must be positive")
    if stops == "soft":
        model = with_soft_stops(model, state, begin)
    channels = control_channels(model, controls, inputs, hold)
    times: Array = begin + length * np.arange(channels.n_intervals + 1, dtype=float)
    step = _fixed_step(method, substeps, fixed_step, length)
    if threads is not None and threads < 1:
        raise ModelError("rollout", "threads", threads, "give 1 or more")
    choice = choose_contact(model, contact, item="rollout", by_events=False)
    notes += choice.notes
    options = make_options(
        model, method=method, rtol=rtol, atol=atol, max_step=max_step, step=step, span=float(times[-1] - begin)
    )
    if choice.rigid == "steps":
        used = "auto" if method == "rk4" else method
        options, choice = step_options(options, choice, used, None)
    count, single = _run_count(model, state, parameters, channels)
    conditions = start_conditions(model, None, None).changed(sequence=channels.sequence(model, times))
    by_steps = choice.rigid == "steps"
    steps = ContactSteps.of(conditions, choice, friction=friction, stops=stops) if by_steps else None
    conditions, friction_state = make_friction_state(
        conditions, friction, stops, options, span=float(times[-1] - begin), beside_contact=by_steps
    )
    jumps = check_time_laws(model, begin, float(times[-1]))
    check_no_jumps(jumps, "a rollout does not support velocity jumps")
    request = SimulationRequest(
        conditions=conditions,
        options=options,
        t_start=begin,
        t_end=float(times[-1]),
        events=EventFunctions(model, events),
        times=times,
        state=state,
        friction=friction_state,
        contact=steps,
        discontinuity_times=times,
        joint_limits=stops != "off",
        notes=notes,
    )
    runs = EnsembleGroups.of(conditions, parameters, count)
    runs.sequences = np.broadcast_to(channels.values, (count, *channels.values.shape[-2:]))
    *start, start_notes = runs.starts(state, begin, request.joint_limits)
    table = _event_table(request, runs) if request.events.events else None
    interrupt = Interrupt()
    begins = (start[0], start[1], start[2])
    separately = runs_separately(request, runs) and not _touch_in_batches(request, runs, begins[0])
    execute = _execute_separately if separately else _execute_batches
    with interrupt:
        ends, reached, counts, states, run_notes, modes, logs = execute(
            request,
            runs,
            begins,
            interrupt,
            _core.threads() if threads is None else threads,
            table,
        )
    defer_interrupt(interrupt)
    _name_bad_values(ends, channels, runs.sequences, times, reached)
    stats = Stats(
        method=method,
        steps=int(counts[:, 0].sum()),
        rejected=int(counts[:, 1].sum()),
        evaluations=int(counts[:, 2].sum()),
        notes=[*notes, *start_notes, *run_notes],
        wall_time=time.perf_counter() - began,
        rtol=options.rtol,
        atol=options.atol,
    )
    q, v, x = states
    found = Rollout(
        model=model.family,
        t=times,
        q=q,
        v=v,
        x=x,
        status=run_status(ends),
        messages=run_messages(ends, reached),
        reached=reached,
        channels=channels,
        runs=runs,
        request=request,
        stats=stats,
        modes=modes,
        event_logs=logs,
        is_single=single,
    )
    for name in outputs:
        found.outputs[name] = found.output(name)
    return found


def _fixed_step(method: str, substeps: int, fixed_step: float | None, dt: float) -> float | None:
    """Return the length of fixed steps, s; None with step control."""
    if method not in METHODS:
        raise ModelError("rollout", "method", method, "use 'rk4' (fixed steps) or 'dop853' (error control)")
    if substeps < 1:
        raise ModelError("rollout", "substeps", substeps, "give 1 or more")
    if method != "rk4":
        for name, value in (("substeps", None if substeps == 1 else substeps), ("fixed_step", fixed_step)):
            if value is not None:
                raise ModelError(
                    "rollout", name, value, f"method {method!r} has step control: use rtol, atol, max_step"
                )
        return None
    if fixed_step is None:
        return dt / substeps
    if substeps != 1:
        raise ModelError("rollout", "fixed_step", fixed_step, "give substeps or fixed_step, not both")
    step = finite_number(fixed_step, item="rollout", field="fixed_step")
    if not 0 < step <= dt * (1 + 1e-9):
        raise ModelError("rollout", "fixed_step", fixed_step, f"it must be positive and at most dt, {dt:.6g} s")
    return step


def _run_count(
    model: Model,
    state: State | Mapping[str, Any] | None,
    parameters: Mapping[str, ArrayLike] | None,
    channels: Channels,
) -> tuple[int, bool]:
    """Return the number of runs, and whether nothing was given for more than one run."""
    of_states = run_count(model, state, parameters) if state is not None or parameters else None
    of_controls = len(channels.values) if channels.values.ndim == 3 else None
    counts = {"states or parameters": of_states, "controls": of_controls}
    given = {name: count for name, count in counts.items() if count is not None}
    if len(set(given.values()) - {1}) > 1:
        text = ", ".join(f"{name} {count}" for name, count in given.items())
        raise ModelError(
            "rollout", "number of runs", text, "give states, parameters and controls for as many runs, or one"
        )
    return max(given.values(), default=1), not given


Outcomes = tuple[list[str], Array, Array, tuple[Array, Array, Array], list[str], FrictionModes | None, EventLogs | None]


def _event_table(request: SimulationRequest, runs: EnsembleGroups) -> dict[str, Any]:
    """Return the events for the core; refuse those that need Python."""
    found = None if runs_separately(request, runs) else batch_event_table(request, runs)
    if found is None:
        names = [event.name for event in request.events.events]
        remedy = (
            "give outputs by name or formula, and actions by name such as 'bounce 0.8'; or use da.simulate, also for "
            "systems with contact by steps, delays or inner equilibria"
        )
        raise ModelError("rollout", "events", names, remedy)
    return found


def _touch_in_batches(request: SimulationRequest, runs: EnsembleGroups, q: Array) -> bool:
    """Return whether runs with contact by steps from coordinates q (B, nq) need no Python between their steps."""
    if not isinstance(request.contact, ContactSteps) or request.events.events:
        return False
    if runs_separately(replace(request, contact=None), runs) or runs.has_varied_model:
        return False
    return not request.contact.overlaps(q)  # else runs differ in the pairs that are left out


def _execute_batches(
    request: SimulationRequest,
    runs: EnsembleGroups,
    start: tuple[Array, Array, Array],
    interrupt: Interrupt,
    threads: int,
    events: dict[str, Any] | None,
) -> Outcomes:
    """Execute runs in batches; return outcomes, times reached, counts, states, notes and modes of friction."""
    span, times, friction = (request.t_start, request.t_end), request.times, request.friction
    assert times is not None and runs.sequences is not None
    notes = [] if friction is None else check_friction_starts(friction, runs, request.t_start, start)
    runner = EnsembleRunner(
        runs,
        runs.groups(),
        request.options,
        span,
        times,
        start,
        request.discontinuity_times,
        interrupt,
        friction,
        threads,
        None if events is None else EventLogs.empty(request.events, runs.count),
        events,
        contact=request.contact if isinstance(request.contact, ContactSteps) else None,
    )
    made = runner.execute()
    notes += made.notes
    if made.modes is not None or made.events is not None:
        notes += _repeat_undecided(request, runs, start, made, interrupt)
    if made.modes is not None:
        notes += made.modes.notes(MAX_NOTES)
    return made.outcomes, made.reached, made.counts, made.states, notes, made.modes, made.events


def _repeat_undecided(
    request: SimulationRequest,
    runs: EnsembleGroups,
    start: tuple[Array, Array, Array],
    made: BatchOutcome,
    interrupt: Interrupt,
) -> list[str]:
    """Repeat runs alone whose modes or events the core could not determine; return a note on them."""
    assert request.times is not None and runs.sequences is not None
    if interrupt.pressed:
        return []
    single = SingleRuns(request, runs, start, request.times)
    finite = [bool(np.isfinite(own).all()) for own in runs.sequences]  # others end where a value is not finite
    ends = [end if good else "" for end, good in zip(made.outcomes, finite, strict=True)]
    repeated = repeat_undecided(lambda k: single.run(k, interrupt), made, ends)
    for k in repeated:
        made.outcomes[k] = ends[k]
    if not repeated:
        return []
    return [f"{len(repeated)} runs, the first of them {repeated[0]}, were repeated with changes determined in Python"]


def _execute_separately(
    request: SimulationRequest,
    runs: EnsembleGroups,
    start: tuple[Array, Array, Array],
    interrupt: Interrupt,
    threads: int,
    events: dict[str, Any] | None,
) -> Outcomes:
    """Execute runs one after the other, with friction, stops and delays as in `simulate`."""
    model, times, count = request.model, request.times, runs.count
    assert times is not None
    q, v, x = (np.full((count, len(times), size), np.nan) for size in (model.nq, model.nv, model.nx))
    reached, counts = np.full(count, request.t_start), np.zeros((count, 5))
    ends: list[str] = []
    notes: list[str] = []
    starts = [State(q=start[0][k], v=start[1][k], t=request.t_start, x=start[2][k]) for k in range(count)]
    made = run_each(request, runs, starts, times, interrupt, threads)
    for k, run in enumerate(made):
        for part, rows in ((q, run.q), (v, run.v), (x, run.x)):
            part[k, : len(rows)] = rows
        reached[k] = run.t[-1]
        counts[k, :3] = run.stats.steps, run.stats.rejected, run.stats.evaluations
        ends.append({"finished": "reached", "interrupted": "stopped"}.get(run.status, run.message))
        notes += [note for note in run.stats.notes if note not in notes]
    ends += ["stopped"] * (count - len(made))
    if request.contact is not None:
        return ends, reached, counts, (q, v, x), notes, None, None
    why = "friction and laws with discontinuities" if request.friction is not None else "delays"
    remedy = "; friction='smooth' and stops='soft' allow batches" if request.friction is not None else ""
    notes.insert(0, f"runs with {why} were integrated one after the other{remedy}")
    return ends, reached, counts, (q, v, x), notes, None, None


def _name_bad_values(ends: list[str], channels: Channels, values: Array, times: Array, reached: Array) -> None:
    """Replace the outcome of runs that failed at a control value that is not finite by a message."""
    finite = np.isfinite(values).all(axis=(1, 2))
    for run in np.flatnonzero(~finite).tolist():
        row, column = np.argwhere(~np.isfinite(values[run]))[0]
        if ends[run] not in ("reached", "stopped") and times[max(row - channels.linear, 0)] <= reached[run] + 1e-12:
            ends[run] = (
                f"control {channels.names[column]!r} of run {run} is {values[run, row, column]} at "
                f"t = {times[row]:.6g} s"
            )
