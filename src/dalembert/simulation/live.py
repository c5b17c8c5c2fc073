"""`Live`: a run advanced by its caller, for control loops outside `simulate`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from threading import RLock
from typing import Any, Concatenate, ParamSpec, TypeVar

from numpy.typing import ArrayLike

from ..checks import checked, finite_number
from ..connections.laws import check_discontinuity_times
from ..errors import DalembertError, ModelError
from ..model import Model, SampledControl, State, as_model
from ..result import Motion, Output, Result, single_period
from ..system import System
from .absolute_tolerances import DEFAULT_ATOL, Tolerance
from .events.drive_velocity_jumps import check_no_jumps
from .events.events import Event, EventFunctions
from .events.velocity_jumps import with_changed_parameter
from .friction.options import make_friction_state
from .friction.soft_stops import with_soft_stops
from .interrupts import Interrupt
from .options import make_options
from .request import SimulationRequest, as_control, start_conditions
from .run import Run
from .run_result import make_result
from .start import check_time_laws, equilibrium_differences, start_state, start_time

__all__ = ["Live"]

LAW_SAMPLES = 16  # times of one advance at which time laws are sampled to find jumps

Args = ParamSpec("Args")
Found = TypeVar("Found")


def _by_one_thread(method: Callable[Concatenate[Live, Args], Found]) -> Callable[Concatenate[Live, Args], Found]:
    """Refuse a call of a method while another thread is inside one."""

    @wraps(method)
    def call(self: Live, /, *args: Args.args, **more: Args.kwargs) -> Found:
        if not self._lock.acquire(blocking=False):
            remedy = "another thread is using this run: use it from one thread, or guard it by a lock of your own"
            raise ModelError("Live", method.__name__.strip("_"), "called by two threads", remedy)
        try:
            return method(self, *args, **more)
        finally:
            self._lock.release()

    return call


@checked("state", "parameters", "events", "control_delay", "method", "stops")
class Live:
    """Simulation advanced by the caller: read outputs, set inputs, advance.

    Parameters
    ----------
    system : System or Model
    t_start : float, s
        Default the time of the given `state`, else 0.
    state : State, or dict of name to value
        Start values; default those of the system. See `start_state`.
    parameters : dict of str to float
        Values other than described.
    events : sequence of Event
    control, control_period, control_delay, discontinuity_times
        As in `simulate`.
    method, rtol, atol, max_step, fixed_step, friction, stops
        As in `simulate`.

    One thread at a time may use it. A call while another thread is inside one is refused.

    Parameters keep their value until they are set again. The motion between two calls is that of `simulate`, with error
    control, and does not depend on the reading of outputs.

    Examples
    --------
    A controller in Python, a hundred times a second:

    >>> import dalembert as da
    >>> s = da.System("arm")
    >>> arm = s.body("arm", da.rod(length=1.0, mass=2.0))
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, arm)
    >>> _ = s.connect("motor", da.Element("joint", "u", inputs={"u": 0.0}, active=True), "A")
    >>> live = da.Live(s)
    >>> while live.t < 4.0:
    ...     error = 0.5 - live["A.position"]
    ...     live.set("motor.u", 80.0 * error - 25.0 * live["A.speed"])
    ...     live.advance(0.01)
    >>> round(float(live["A.position"]), 2)
    0.6
    >>> result = live.result()
    >>> bool(abs(result["energy.balance"]).max() < 1e-6)
    True
    """

    def __init__(
        self,
        system: System | Model,
        *,
        t_start: float | None = None,
        state: State | Mapping[str, Any] | None = None,
        parameters: Mapping[str, float] | None = None,
        events: Event | Sequence[Event] = (),
        control: Callable[[State], Any] | SampledControl | None = None,
        control_period: float | None = None,
        control_delay: float = 0.0,
        discontinuity_times: ArrayLike = (),
        method: str = "auto",
        rtol: float = 1e-8,
        atol: Tolerance = DEFAULT_ATOL,
        max_step: float | None = None,
        fixed_step: float | None = None,
        friction: str = "events",
        stops: str = "rigid",
    ) -> None:
        model = as_model(system)
        begin, notes = start_time(state, t_start, item="Live")
        if stops == "soft":
            model = with_soft_stops(model, state, begin)
        options = make_options(model, method=method, rtol=rtol, atol=atol, max_step=max_step, step=fixed_step)
        conditions = start_conditions(
            model, parameters, as_control(control, control_period, control_delay, item="Live")
        )
        model = conditions.model  # with the given parameters
        notes += equilibrium_differences(state, conditions)
        conditions, friction_state = make_friction_state(conditions, friction, stops, options, span=1.0)
        start = start_state(model, state, begin, limits=stops != "off")
        if start.q.ndim > 1:
            raise ModelError("Live", "state", f"{len(start.q)} states", "give one; da.simulate makes many runs")
        self._began = time.perf_counter()
        request = SimulationRequest(
            conditions=conditions,
            options=options,
            t_start=begin,
            t_end=begin,
            events=EventFunctions(model, events),
            friction=friction_state,
            discontinuity_times=check_discontinuity_times(discontinuity_times, item="Live"),
        )
        self._run = Run(request, Interrupt())
        self._run.notes = notes + start.notes
        self._lock = RLock()
        self._run.start(start)
        self._conditions = self._run.conditions
        self._ended = ""

    @property
    def t(self) -> float:
        """Time reached, s."""
        return float(self._run.integrator.t)

    @property
    @_by_one_thread
    def state(self) -> State:
        """Present state."""
        t, q, v, x = self._run.integrator.state()[:4]
        return State(q=q, v=v, t=t, x=x)

    @property
    def ended(self) -> bool:
        """True if an event has ended the run."""
        return bool(self._ended)

    @_by_one_thread
    def __getitem__(self, name: str) -> Any:
        """Return the present value of an output: a number, or an array."""
        state = self.state
        output = Output.of(self._run.model, name)
        if output.history is not None:
            raise ModelError("Live", "output", name, "it depends on the past: take it from live.result()")
        states = (state.q[None], state.v[None], state.x[None])
        held = self._conditions is self._run.conditions  # a law may be in a sliding mode
        conditions = self._run.segments[-1].conditions if held else self._conditions
        motion = Motion(self._run.model, [state.t], *states, conditions=single_period(conditions))
        value = output.value(motion)[0]
        return float(value) if output.shape == () else value

    @_by_one_thread
    def set(self, name: str, value: float) -> None:
        """Set a parameter of the system, ``"motor.u"``, ``"load.mass"``, from now on.

        Coordinates and velocities stay, so a removed mass takes its momentum with it. A value that would open a loop is
        refused, and velocities are made consistent with loops at once.
        """
        state = self.state
        self._conditions = with_changed_parameter(self._conditions, name, value, state.q, state.t, item="Live")

    @_by_one_thread
    def advance(self, time: float) -> None:
        """Advance by a time, s; less if an event ends the run.

        Raises
        ------
        IntegrationError, SingularityError, UserFunctionError
            With the motion so far as ``error.result``.
        KeyboardInterrupt
            On Ctrl-C, at the time reached; the run can be advanced further.
        """
        span = finite_number(time, item="Live", field="time")
        if span <= 0:
            raise ModelError("Live", "time", time, "give a time above zero")
        if self._ended:
            raise ModelError("Live", "advance", time, f"the run has ended at t = {self.t:.6g} s: {self._ended}")
        run = self._run
        self._check_laws(self.t, self.t + span)
        run.t_end = self.t + span
        try:
            if self._conditions is not run.conditions:
                run.change_conditions(self._conditions)
            with run.interrupt:
                status = run.advance()
            self._conditions = run.conditions
        except DalembertError as error:
            error.result = self.result("failed", str(error))
            raise
        if status == "event":
            self._ended = f"event {run.events[-1].name!r}"
        if run.interrupt.pressed:
            raise KeyboardInterrupt

    def _check_laws(self, t: float, until: float) -> None:
        """Refuse time laws that end or jump up to a time."""
        model = self._run.model
        check_no_jumps(check_time_laws(model, t, until, LAW_SAMPLES), "a live run does not support velocity jumps")

    @_by_one_thread
    def result(self, status: str = "finished", message: str = "") -> Result:
        """Return the motion so far."""
        return make_result(self._run, status, message, time.perf_counter() - self._began)
