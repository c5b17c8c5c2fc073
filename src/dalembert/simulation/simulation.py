"""`simulate`: motion of a system over time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, Unpack, overload

from numpy.typing import ArrayLike

from ..checks import checked, finite_number, one_of
from ..connections.constraints.chain_reach import is_chain_limit
from ..connections.laws import check_discontinuity_times
from ..errors import ModelError
from ..model import Conditions, Model, SampledControl, State, as_model
from ..result import Result
from ..system import System
from .absolute_tolerances import DEFAULT_ATOL, Tolerance
from .contact.contact_events import ContactEvents
from .contact.contact_steps import ContactSteps
from .contact.error_estimate import execute_to_error
from .contact.options import choose_contact, event_options, step_options
from .contact.soft_contacts import without_soft_contacts
from .ensemble.ensemble import Ensemble
from .ensemble.execution import execute_ensemble
from .events.events import Event, EventFunctions
from .execution import execute_run
from .external_solvers import run_external_solver
from .friction.friction import FrictionState
from .friction.options import make_friction_state
from .friction.soft_stops import with_soft_stops
from .interrupts import clear_interrupt, raise_pending_interrupt
from .options import baumgarte_gains, is_external_method, make_options
from .request import SimulationRequest, as_control, output_times, run_count, start_conditions
from .start import check_time_laws, equilibrium_differences, start_time
from .storage.stream import stream_start_time

__all__ = ["simulate"]


class _Keywords(TypedDict, total=False):
    """Arguments of `simulate` that do not determine the type of its answer."""

    t_start: float | None
    times: ArrayLike | None
    method: str
    rtol: float
    atol: Tolerance
    max_step: float | None
    fixed_step: float | None
    events: Event | Sequence[Event]
    control: Callable[[State], Any] | SampledControl | None
    control_period: float | None
    control_delay: float
    discontinuity_times: ArrayLike
    friction: str
    stops: str
    contact: str
    impacts: str
    error: float | None
    stabilization: str | tuple[float, float]
    spectral_radius: float
    progress: bool | None
    stream: str | os.PathLike[str] | None
    resume: Result | bool | None
    on_error: str


@overload
def simulate(
    system: System | Model,
    t_end: float,
    *,
    state: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    **more: Unpack[_Keywords],
) -> Result: ...
@overload
def simulate(
    system: System | Model,
    t_end: float,
    *,
    state: State | Mapping[str, Any] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    **more: Unpack[_Keywords],
) -> Result | Ensemble: ...
@checked(
    "times", "parameters", "method", "events", "control_delay", "stops", "progress", "stream", "resume", "on_error"
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
    contact: str = "auto",
    impacts: str = "at once",
    error: float | None = None,
    stabilization: str | tuple[float, float] = "projection",
    spectral_radius: float = 0.8,
    progress: bool | None = None,
    stream: str | os.PathLike[str] | None = None,
    resume: Result | bool | None = None,
    on_error: str = "raise",
) -> Result | Ensemble:
    """Return the motion of a system from t_start to t_end.

    Loops are closed before the start and kept closed to rounding at every step. By default steps are explicit, of order
    8, with error control, and implicit from where stability limits them.

    Parameters
    ----------
    system : System or Model
    t_end : float, s
    t_start : float, s
        Default the time of the given `state`, else 0. A note is added if it differs from the time of the state.
    times : (k,) s
        Output times, in order; every step if left out. ``result.at(t)`` gives states in between in both cases.
    state : State, or dict of name to value
        Start values; default those of the system (`System.initial`), with the loops closed. Values by name,
        ``{"A": 0.3, "B.speed": 2.0}``, replace those of the system; see `start_state`. A given State with small loop
        errors is projected onto the loops, with a note; errors above 0.01 are refused. With q (B, nq) or v (B, nv), or
        numbers (B,) by name, B runs are made, in SIMD batches and on threads, and an `Ensemble` is returned.
    parameters : dict of str to float or (B,)
        Values other than described: ``{"k.stiffness": 200.0, "coupler.mass": 2.0}``; arrays make B runs.
    method : str
        ``"auto"``; explicit ``"dop853"`` (order 8) and ``"dopri5"`` (5); implicit ``"radau"`` (5), for stiff systems,
        and ``"alpha"`` (2, generalized alpha); with a fixed step ``"rk4"`` and ``"euler"`` (semi-implicit).
        ``"scipy:LSODA"`` and other methods of SciPy, ``"cvode"`` and ``"ida"`` are adapters to SciPy and SUNDIALS.
    rtol : float
        Tolerated error per step, relative to positions and velocities.
    atol : float or dict of str to float
        Absolute tolerance of all variables (rad, m, and per s; units of element states), or by kind (``"position"``,
        ``"speed"``, ``"state"`` of elements, ``"angle"``, ``"length"``, ``"eta"`` of flexible bodies) and by name
        (``"A"``, ``"A.speed"``, ``"arm.eta"``, ``"valve.pressure"``): ``{"position": 1e-9, "valve": 10.0}``. Names take
        precedence over kinds; variables left out have 1e-10.
    max_step : float, s
    fixed_step : float, s
        Of methods with a fixed step; ``"alpha"`` has step control if it is left out.
    events : sequence of Event
    control : function of a State, CompiledControl, or SampledControl
        Returns joint forces, (nv,) or a dict by name of joint; called at every evaluation, or at its sample times only.
        Compiled functions are called by the core itself; see `CompiledControl`.
        In an ensemble the callback receives batched states, q (B, nq), t (B,), and returns (B, nv), a list of (B,) for
        each degree of freedom, or a dict of these: with ``state.q[..., 0]`` a function works for both. A function of
        single states is called for one state after the other, with a note.
    control_period, control_delay : float, s
        Short for ``control=SampledControl(control, period, delay)``: called once per period, forces held in between.
    discontinuity_times : (k,) s
        Discontinuity times that the model cannot detect, in order: steps end there. Those of time laws and formulas
        are known.
    friction : str
        Dry friction of joints: ``"events"``, exact stick and slip, with changes in ``result.events``; ``"smooth"``,
        -friction tanh(speed / slip) with a slip of 1e-3 rad/s or m/s, or ``"smooth:0.01"`` with another, for methods of
        other packages and for optimization; ``"off"``.
    stops : str
        Limits of joints: ``"rigid"``, with an impulse; ``"soft"``, springs with 10 ms of contact; ``"off"``.
    contact : str
        Contacts (`System.contact`): ``"auto"``, compliant where stiffness is given, else rigid; ``"events"``, rigid,
        with changes located; ``"steps"`` or ``"steps:1e-3"``, rigid, by steps of given length, s, for many contacts;
        ``"soft"``, compliant; ``"off"``.
    impacts : str
        Of contact by events: ``"at once"``, Newton's restitution of all pairs that collide at one time; ``"in turn"``,
        of one pair after the other, the fastest first; ``"poisson"``, Poisson's restitution at once.
    error : float, rad or m
        Of contact by steps: largest accepted error of positions, estimated by runs with other steps; steps become
        shorter until it is met. ``result.stats.error`` is the estimate.
    stabilization : str or (float, float)
        ``"projection"``: positions and velocities are projected onto the loops after every step. Or Baumgarte's two
        gains 1/s, (alpha, beta), for comparison: phi'' + 2 alpha phi' + beta^2 phi = 0 damps the drift; with (0, 0) it
        grows.
    spectral_radius : float
        Of generalized alpha at infinite frequency, 0 to 1.
    progress : bool
        Progress line; default only for long runs on a terminal or in a notebook.
    stream : str or path
        Directory to which states and checkpoints are written during the run: memory stays bounded. One process writes
        to a directory at a time.
    resume : Result, or True with `stream`
        Resumes an interrupted run, to the same bits as without the interruption; arguments that differ from those of
        that run are refused.
    on_error : str
        ``"raise"``, or ``"return"`` for the partial result with its status.

    Returns
    -------
    Result, or Ensemble for many runs
        For type checkers a `Result` if `state` and `parameters` are left out or plain numbers by name; otherwise it
        depends on shapes: narrow it by ``assert isinstance(r, da.Ensemble)``.
        On Ctrl-C the states computed so far, with status ``"interrupted"``.

    Raises
    ------
    IntegrationError, SingularityError, UserFunctionError
        With the partial result as ``error.result``.
    KeyboardInterrupt
        If Ctrl-C was pressed during an earlier run of the same script, loop or cell: one press stops a loop of runs.
        Not with ``on_error="return"``, nor with `resume`, nor at the next statement of a prompt or notebook.

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
    else:
        clear_interrupt()
    model = as_model(system)
    t_start, t_end, notes = _time_span(state, t_start, t_end, stream, resume)
    one_of("simulate", "on_error", on_error, ("raise", "return"))
    if stops == "soft":
        model = with_soft_stops(model, state, t_start)
    times = None if times is None else output_times(times, t_start, t_end)
    event_functions = EventFunctions(model, events)
    count = run_count(model, state, parameters) if state is not None or parameters else None
    external = is_external_method(method)
    choice = choose_contact(model, contact, error, impacts=impacts)
    notes += choice.notes
    if (choice.soft or choice.rigid) and model.contacts is not None:
        notes += model.contacts.notes
    if not choice.soft:
        model = without_soft_contacts(model)
    if external:
        _check_external(method, event_functions.events, fixed_step, stream, resume, count)
    options = make_options(
        model,
        method="dop853" if external else method,
        rtol=rtol,
        atol=atol,
        max_step=max_step,
        step=None if choice.rigid == "steps" else fixed_step,
        spectral_radius=spectral_radius,
        project=isinstance(stabilization, str) and stabilization == "projection",
        span=t_end - t_start,
    )
    if choice.rigid == "steps":
        options, choice = step_options(options, choice, method, fixed_step)
    if control is not None or control_period is not None or control_delay:
        control = as_control(control, control_period, control_delay, item="simulate")
    given = None if count is not None else parameters
    conditions = start_conditions(model, given, control, baumgarte_gains(stabilization))
    model = conditions.model  # with the given parameters
    if state is not None and count is None:
        notes += equilibrium_differences(state, conditions)
    contacts: ContactEvents | ContactSteps | None = None
    if choice.rigid == "steps":
        contacts = ContactSteps.of(conditions, choice, friction=friction, stops=stops)
    elif choice.rigid == "events":
        if external:
            raise ModelError("simulate", "method", method, "rigid contact needs a method of our own: leave it out")
        options, by_steps = event_options(options, choice, method)
        contacts = ContactEvents.of(
            conditions, choice, options, by_steps, friction=friction, stops=stops, goes_on=contact == "auto"
        )
    conditions, friction_state = make_friction_state(
        conditions, friction, stops, options, span=t_end - t_start, beside_contact=bool(choice.rigid)
    )
    if external:
        _check_external_model(method, conditions, friction_state)
    request = SimulationRequest(
        conditions=conditions,
        options=options,
        t_start=t_start,
        t_end=t_end,
        events=event_functions,
        times=times,
        state=state,
        friction=None if external else friction_state,
        contact=contacts,
        discontinuity_times=check_discontinuity_times(discontinuity_times, item="simulate"),
        drive_jumps=check_time_laws(model, t_start, t_end),
        joint_limits=stops != "off",
        notes=notes,
        progress=progress,
        on_error=on_error,
        stream=stream,
        resume=resume,
        settings={
            "t_start": t_start,
            "friction": friction,
            "stops": stops,
            "contact": contact,
            "impacts": impacts,
        },
    )
    if external:
        return run_external_solver(method, request)
    if choice.error is not None:
        if count is not None:
            raise ModelError("simulate", "error", error, "an ensemble has no estimate: simulate the runs one by one")
        return execute_to_error(request)
    return execute_run(request) if count is None else execute_ensemble(request, count, parameters)


def _time_span(
    state: State | Mapping[str, Any] | None,
    t_start: float | None,
    t_end: float,
    stream: str | os.PathLike[str] | None,
    resume: Result | bool | None,
) -> tuple[float, float, list[str]]:
    """Return start and end of a run, s, and notes; a resumed run keeps its start."""
    begun = None
    if t_start is None and isinstance(resume, Result):
        begun = (resume.resume_point or {}).get("request", {}).get("t_start")
    elif t_start is None and resume and stream is not None:
        begun = stream_start_time(stream)
    begin, notes = start_time(state, t_start) if begun is None else (float(begun), [])
    end = finite_number(t_end, item="simulate", field="t_end")
    if not end > begin:
        whose = ", the time of the given state" if t_start is None and isinstance(state, State) else ""
        raise ModelError("simulate", "t_end", end, f"it must be after t_start, {begin:.6g} s{whose}")
    return begin, end, notes


def _check_external(
    method: str,
    events: list[Event],
    step: float | None,
    stream: str | os.PathLike[str] | None,
    resume: Result | bool | None,
    count: int | None,
) -> None:
    """Refuse arguments that the adapters to other packages do not support."""
    many = "several" if count is not None else None
    given = {"events": events, "step": step, "stream": stream, "resume": resume, "states": many}
    for field, value in given.items():
        if value is not None and value is not False and value != []:
            raise ModelError("simulate", field, value, f"method {method!r} cannot: use 'auto' or another of our own")


def _check_external_model(method: str, conditions: Conditions, friction: FrictionState | None) -> None:
    """Refuse delays, friction and stops with a method of another package.

    The reach of a chain is allowed: the run ends with an error there.
    """
    if conditions.history is not None:
        raise ModelError("simulate", "method", method, "inputs with a da.Delay need one of our own, such as 'auto'")
    connections = conditions.model.system.connections
    if friction is not None and not all(is_chain_limit(c, connections) for c in friction.rows.owners()):
        remedy = "it takes no events, as friction and stops of joints need: use friction='smooth' and stops='soft', "
        raise ModelError("simulate", "method", method, f"{remedy}or 'off'")
