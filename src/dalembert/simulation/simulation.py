"""`simulate`: from a description to its motion over time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import checked, finite_number
from ..connections.constraints.chain_reach import is_chain_limit
from ..connections.laws import break_times
from ..errors import ModelError
from ..model import Conditions, History, Model, SampledControl, State, as_model
from ..result import Result
from ..system import System
from .absolute_tolerances import DEFAULT_ATOL, Tolerance
from .ensemble.ensemble import Ensemble, batch_size
from .events.control_sampling import as_control
from .events.drive_velocity_jumps import speed_jumps
from .events.events import Event, EventFunctions
from .external_solvers import is_external_method
from .friction.options import make_friction_state
from .friction.soft_stops import with_soft_stops
from .interrupts import clear_interrupt, raise_pending_interrupt
from .options import baumgarte_gains, make_options
from .start import check_jumps, check_tables, equilibrium_differences, start_time
from .storage.resume import asked_state
from .storage.stream import begun_at
from .task import SimulationTask

__all__ = ["simulate"]

Array = NDArray[np.float64]


@overload
def simulate(
    system: System | Model,
    t_end: float,
    *,
    t_start: float | None = None,
    times: ArrayLike | None = None,
    state: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    method: str = "auto",
    rtol: float = 1e-8,
    atol: Tolerance = DEFAULT_ATOL,
    max_step: float | None = None,
    fixed_step: float | None = None,
    events: Event | Sequence[Event] = (),
    control: Callable[[State], Any] | SampledControl | None = None,
    control_period: float | None = None,
    control_delay: float = 0.0,
    discontinuity_times: ArrayLike = (),
    friction: str = "events",
    stops: str = "rigid",
    stabilization: str | tuple[float, float] = "projection",
    spectral_radius: float = 0.8,
    progress: bool | None = None,
    stream: str | os.PathLike[str] | None = None,
    resume: Result | bool | None = None,
    on_error: str = "raise",
) -> Result: ...
@overload
def simulate(
    system: System | Model,
    t_end: float,
    *,
    t_start: float | None = None,
    times: ArrayLike | None = None,
    state: State | Mapping[str, Any] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    method: str = "auto",
    rtol: float = 1e-8,
    atol: Tolerance = DEFAULT_ATOL,
    max_step: float | None = None,
    fixed_step: float | None = None,
    events: Event | Sequence[Event] = (),
    control: Callable[[State], Any] | SampledControl | None = None,
    control_period: float | None = None,
    control_delay: float = 0.0,
    discontinuity_times: ArrayLike = (),
    friction: str = "events",
    stops: str = "rigid",
    stabilization: str | tuple[float, float] = "projection",
    spectral_radius: float = 0.8,
    progress: bool | None = None,
    stream: str | os.PathLike[str] | None = None,
    resume: Result | bool | None = None,
    on_error: str = "raise",
) -> Result | Ensemble: ...
@checked(
    "times",
    "parameters",
    "method",
    "events",
    "control_delay",
    "stops",
    "progress",
    "stream",
    "resume",
    "on_error",
)
def simulate(
    system: System | Model,
    t_end: float,
    *,
    t_start: float | None = None,
    times: ArrayLike | None = None,
    state: State | Mapping[str, Any] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    method: str = "auto",
    rtol: float = 1e-8,
    atol: Tolerance = DEFAULT_ATOL,
    max_step: float | None = None,
    fixed_step: float | None = None,
    events: Event | Sequence[Event] = (),
    control: Callable[[State], Any] | SampledControl | None = None,
    control_period: float | None = None,
    control_delay: float = 0.0,
    discontinuity_times: ArrayLike = (),
    friction: str = "events",
    stops: str = "rigid",
    stabilization: str | tuple[float, float] = "projection",
    spectral_radius: float = 0.8,
    progress: bool | None = None,
    stream: str | os.PathLike[str] | None = None,
    resume: Result | bool | None = None,
    on_error: str = "raise",
) -> Result | Ensemble:
    """Return the motion of a system from t_start to t_end.

    Loops are closed before the start and held to round-off at every step. Nothing needs to be chosen: error-controlled
    explicit steps of order 8, and implicit ones from where stability holds these back.

    Parameters
    ----------
    system : System or Model
    t_end : float, s
    t_start : float, s
        The time of the given `state`, else 0, if left out. If it is another than that of the state, a note says so.
    times : (k,) s
        Where states are wanted, in order; the method's own steps if left out. Either way ``result.at(t)`` gives states
        in between.
    state : State, or dict of name to value
        To start from; default the start values of the system (`System.initial`), with the loops closed. By name,
        ``{"A": 0.3, "B.speed": 2.0}``, in place of those of the system; see `start_state`. A given State that is off
        the loops by little is moved onto them, with a note; by more than 0.01 it is refused. With q (B, nq) or v
        (B, nv), or numbers (B,) by name, B runs are made at once, in vector registers and on threads, and an `Ensemble`
        is returned.
    parameters : dict of str to float or (B,)
        Other numbers than those described: ``{"k.stiffness": 200.0, "coupler.mass": 2.0}``; arrays make B runs.
    method : str
        ``"auto"``; explicit ``"dop853"`` (order 8) and ``"dopri5"`` (5); implicit ``"radau"`` (5), for stiff systems,
        and ``"alpha"`` (2, generalised alpha); with a fixed step ``"rk4"`` and ``"euler"`` (semi-implicit).
        ``"scipy:LSODA"`` and the like, ``"cvode"`` and ``"ida"`` are adapters to SciPy and SUNDIALS.
    rtol : float
        Tolerated error per step, relative to positions and speeds.
    atol : float or dict of str to float
        The absolute one, of all variables (rad, m, and per s; units of element states), or by kind (``"position"``,
        ``"speed"``, ``"state"`` of elements, ``"angle"``, ``"length"``, ``"eta"`` of flexible bodies) and by name
        (``"A"``, ``"A.speed"``, ``"arm.eta"``, ``"valve.pressure"``): ``{"position": 1e-9, "valve": 10.0}``. Names go
        before kinds; what is left out has 1e-10.
    max_step : float, s
    fixed_step : float, s
        Of methods with a fixed step; ``"alpha"`` keeps to it if it is given, and to the tolerances if not.
    events : sequence of Event
    control : function of a State, or SampledControl
        Joint forces, (nv,) or a dict by name of joint; called at every evaluation, or, sampled, at its times only. Of
        many runs it is asked about the states of hundreds at once, q (B, nq), t (B,), and answers (B, nv), a list of
        (B,) for each degree of freedom, or a dict of these: with ``state.q[..., 0]`` a function serves both. One that
        takes one state only is asked about one after the other, with a note.
    control_period, control_delay : float, s
        Short for ``control=SampledControl(control, period, delay)``: called once in each period, held in between.
    discontinuity_times : (k,) s
        Times at which something jumps that cannot be known otherwise, in order: no step goes over them. Laws and
        formulas tell theirs by themselves.
    friction : str
        Dry friction that joints have: ``"events"``, it sticks and slips exactly, and changes are in ``result.events``;
        ``"smooth"``, -friction tanh(speed / slip) with a slip of 1e-3 rad/s or m/s, or ``"smooth:0.01"`` with another,
        for methods of other packages and for optimisation; ``"off"``.
    stops : str
        Limits that joints have: ``"rigid"``, reached with an impulse; ``"soft"``, by springs with 10 ms of contact;
        ``"off"``.
    stabilization : str or (float, float)
        ``"projection"``: positions and speeds are put back onto the loops after every step. Or Baumgarte's two gains
        1/s, (alpha, beta), for comparison: the loops obey phi'' + 2 alpha phi' + beta^2 phi = 0 and the drift is only
        damped; (0, 0) lets it grow.
    spectral_radius : float
        Of generalised alpha at infinite frequency, 0 to 1.
    progress : bool
        A line that shows how far it is; default only for long runs on a terminal or in a notebook.
    stream : str or path
        A directory to which states are written as they come, with checkpoints: memory stays bounded.
        One process writes to a directory at a time.
    resume : Result, or True with `stream`
        Goes on where an interrupted run stopped, to the same bits as without the interruption; refuses what differs
        from what that run was asked for.
    on_error : str
        ``"raise"``, or ``"return"`` for the partial result with its status.

    Returns
    -------
    Result, or Ensemble for many runs
        Type checkers take it for a `Result` if `state` and `parameters` are left out or plain numbers by name; else, as
        it depends on shapes, narrow it: ``assert isinstance(r, da.Ensemble)``.
        On Ctrl-C the part that was computed, with status ``"interrupted"``; of many runs those that are finished, and
        the others as far as they got.

    Raises
    ------
    IntegrationError, SingularityError, UserFunctionError
        With the partial result as ``error.result``.
    KeyboardInterrupt
        If Ctrl-C was pressed during an earlier run of the same script, loop or cell, which returned its part: one press
        stops a loop of runs. Not with ``on_error="return"``, which leaves it to the program to look at the status; nor
        with `resume`, or at the next statement of a prompt or notebook.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("pendulum")
    >>> bob = s.body("bob", da.rod(length=1.0, mass=2.0))
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, bob)
    >>> result = simulate(s, 2.0)
    >>> round(float(result["A.position"][-1]), 6)
    0.032697
    >>> bool(abs(result["energy.total"]).max() < 1e-7)
    True
    """
    if resume is None and on_error != "return":
        raise_pending_interrupt()
    clear_interrupt()
    model = as_model(system)
    whose = ", the time of the given state" if t_start is None and isinstance(state, State) else ""
    t_start, said = _begin(state, t_start, stream, resume)
    t_end = finite_number(t_end, item="simulate", field="t_end")
    if not t_end > t_start:
        raise ModelError("simulate", "t_end", t_end, f"it must be after t_start, {t_start:.6g} s{whose}")
    if on_error not in ("raise", "return"):
        raise ModelError("simulate", "on_error", on_error, "use 'raise' or 'return'")
    if stops == "soft":
        model = with_soft_stops(model, state, t_start)
    wanted = _wanted_times(times, t_start, t_end)
    watch = EventFunctions(model, events)
    count = batch_size(model, state, parameters)
    foreign = is_external_method(method)
    if foreign:
        many = "several" if count is not None else None
        _refuse_elsewhere(method, events=watch.events, fixed_step=fixed_step, stream=stream, resume=resume, states=many)
    options = make_options(
        model,
        method="dop853" if foreign else method,
        rtol=rtol,
        atol=atol,
        max_step=max_step,
        step=fixed_step,
        spectral_radius=spectral_radius,
        project=isinstance(stabilization, str) and stabilization == "projection",
        span=t_end - t_start,
    )
    control = as_control(control, control_period, control_delay, item="simulate")
    also = break_times(discontinuity_times, item="simulate")
    conditions = _first_conditions(model, {} if count is not None else parameters, control, stabilization)
    model = conditions.model  # with the numbers that were given
    said += equilibrium_differences(state, conditions) if count is None else []
    if conditions.history is not None and foreign:
        raise ModelError("simulate", "method", method, "inputs with a da.Delay need one of our own, such as 'auto'")
    conditions, dry = make_friction_state(conditions, friction, stops, atol=options.finest, span=t_end - t_start)
    if dry is not None and foreign and all(is_chain_limit(c, model.system.connections) for c in dry.rows.owners()):
        dry = None  # a chain that comes to its reach ends the run with an error
    if dry is not None and foreign:
        remedy = (
            "joints have friction or stops, and it takes no events: use friction='smooth' and stops='soft', or 'off'"
        )
        raise ModelError("simulate", "method", method, remedy)
    check_tables(model, t_start, t_end)
    check_jumps(model, t_start, t_end)
    jumps = speed_jumps(model, t_start, t_end)
    asked = conditions, options, t_start, t_end, wanted, state, watch, dry, also, jumps
    task = SimulationTask(*asked, progress=progress, on_error=on_error, said=said, limits=stops != "off")
    if foreign:
        return task.elsewhere(method)
    if count is None:
        must = {"state": asked_state(state), "t_start": t_start, "friction": friction, "stops": stops}
        return task.one(stream, resume, must)
    if stream is not None or resume:
        what = "stream" if stream is not None else "resume"
        raise ModelError("simulate", what, "given", f"many runs at once take no {what}: simulate them one by one")
    return task.many(count, parameters)


def _begin(
    state: State | Mapping[str, Any] | None,
    t_start: float | None,
    stream: str | os.PathLike[str] | None,
    resume: Result | bool | None,
) -> tuple[float, list[str]]:
    """Return when a run begins, s, and what is to be said; a run that is gone on with has begun."""
    if t_start is None and resume:
        if isinstance(resume, Result):
            begun = (resume.resume_point or {}).get("asked", {}).get("t_start")
        else:
            begun = None if stream is None else begun_at(stream)
        if begun is not None:
            return float(begun), []
    return start_time(state, t_start)


def _first_conditions(
    model: Model,
    parameters: Mapping[str, ArrayLike] | None,
    control: Callable[[State], Any] | SampledControl | None,
    stabilization: str | tuple[float, float],
) -> Conditions:
    """Return the conditions that a run begins with."""
    return model.conditions(
        dict(parameters or {}),  # type: ignore[arg-type]
        control=control,
        history=History(model) if np.isfinite(model.shortest_delay) else None,
        stabilization=baumgarte_gains(stabilization),
    )


def _refuse_elsewhere(method: str, **given: Any) -> None:
    """Refuse what the adapters to other packages cannot do."""
    for field, value in given.items():
        if value is not None and value is not False and value != []:
            raise ModelError("simulate", field, value, f"method {method!r} cannot: use 'auto' or another of our own")


def _wanted_times(times: ArrayLike | None, t_start: float, t_end: float) -> Array | None:
    if times is None:
        return None
    try:
        wanted = np.array(times, dtype=float)
    except (TypeError, ValueError):
        wanted = np.empty((0, 0))
    if wanted.ndim != 1 or not len(wanted) or not np.isfinite(wanted).all() or (np.diff(wanted) <= 0).any():
        raise ModelError("simulate", "times", times, "give one or more times in increasing order")
    if wanted[0] < t_start or wanted[-1] > t_end:
        raise ModelError("simulate", "times", times, f"they must lie from {t_start:.6g} s to {t_end:.6g} s")
    return wanted
