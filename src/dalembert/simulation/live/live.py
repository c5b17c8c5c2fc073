"""`Live`: a run advanced by its caller, for control loops outside `simulate`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from ...checks import checked, finite_number
from ...connections.laws import check_discontinuity_times
from ...errors import DalembertError, ModelError
from ...model import Model, SampledControl, State, as_model
from ...result import Output, Result
from ...system import System
from ..absolute_tolerances import DEFAULT_ATOL, Tolerance
from ..contact.contact_steps import ContactSteps
from ..contact.options import choose_contact, step_options
from ..contact.soft_contacts import without_soft_contacts
from ..events.events import Event, EventFunctions
from ..friction.options import make_friction_state
from ..friction.soft_stops import with_soft_stops
from ..interrupts import Interrupt
from ..options import make_options
from ..request import SimulationRequest, as_control, start_conditions
from ..run import Run
from ..run_result import make_result
from ..start import equilibrium_differences, start_state, start_time
from .live_run import LiveRun, by_one_thread
from .reader import Reader
from .writer import Writer

__all__ = ["Live"]


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
    contact : str
        As in `simulate`; rigid contact is by steps. Forces of contacts are those of the last step.
    record : bool
        Whether the motion is kept for `result`. If False memory stays bounded, and `result` has the present state.

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
        contact: str = "auto",
        record: bool = True,
    ) -> None:
        model = as_model(system)
        begin, notes = start_time(state, t_start, item="Live")
        if stops == "soft":
            model = with_soft_stops(model, state, begin)
        choice = choose_contact(model, contact, item="Live", by_events=False)
        notes += choice.notes
        if (choice.soft or choice.rigid) and model.contacts is not None:
            notes += model.contacts.notes
        if not choice.soft:
            model = without_soft_contacts(model)
        by_steps = choice.rigid == "steps"
        step = None if by_steps else fixed_step
        options = make_options(model, method=method, rtol=rtol, atol=atol, max_step=max_step, step=step)
        if by_steps:
            options, choice = step_options(options, choice, method, fixed_step, item="Live")
        conditions = start_conditions(
            model, parameters, as_control(control, control_period, control_delay, item="Live")
        )
        model = conditions.model  # with the given parameters
        notes += equilibrium_differences(state, conditions)
        contacts = None
        if by_steps:
            contacts = ContactSteps.of(conditions, choice, friction=friction, stops=stops)
            contacts.keeps_past = record
        conditions, friction_state = make_friction_state(
            conditions, friction, stops, options, span=1.0, beside_contact=by_steps
        )
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
            contact=contacts,
            discontinuity_times=check_discontinuity_times(discontinuity_times, item="Live"),
        )
        run = Run(request, Interrupt())
        run.notes = notes + start.notes
        run.start(start)
        self._live = LiveRun(run, record=record)
        self._lock = self._live.lock
        self._readers: dict[str, Reader] = {}
        self._ended = ""

    @property
    def _run(self) -> Run:
        return self._live.run

    @property
    def t(self) -> float:
        """Time reached, s."""
        return float(self._live.run.integrator.t)

    @property
    def model(self) -> Model:
        """Compiled model of the run."""
        return self._live.run.model

    @property
    @by_one_thread
    def state(self) -> State:
        """Present state."""
        return self._live.run.state

    @property
    def ended(self) -> bool:
        """True if an event has ended the run."""
        return bool(self._ended)

    @by_one_thread
    def __getitem__(self, name: str) -> Any:
        """Return the present value of an output: a number, or an array."""
        if not isinstance(name, str):
            return Output.of(self._live.run.model, name).value(self._live.motion())[0]
        if name not in self._readers:
            self._readers[name] = Reader(self._live, [name])
        reader = self._readers[name]
        value = reader()
        return float(value[0]) if reader.shapes[0] == () else value.reshape(reader.shapes[0])

    @by_one_thread
    def reader(self, names: Sequence[str], *, copy: bool = True) -> Reader:
        """Return a function that reads outputs by name, resolved once, without Python objects for each.

        Parameters
        ----------
        names : sequence of str
            As in `live[name]`.
        copy : bool
            Each call returns a new array. If False it returns the same one, which the next call overwrites.
        """
        return Reader(self._live, names, copy=copy)

    @by_one_thread
    def writer(self, names: Sequence[str]) -> Writer:
        """Return a function that sets parameters by name, resolved once.

        Parameters
        ----------
        names : sequence of str
            As in `set`.
        """
        return Writer(self._live, names)

    @by_one_thread
    def set(self, name: str, value: float) -> None:
        """Set a parameter of the system, ``"motor.u"``, ``"load.mass"``, from now on.

        Coordinates and velocities stay, so a removed mass takes its momentum with it. A value that would open a loop is
        refused, and velocities are made consistent with loops at once.
        """
        self._live.set(name, value)

    @by_one_thread
    def advance(self, time: float) -> None:
        """Advance by a time, s; less if an event ends the run.

        Raises
        ------
        IntegrationError, SingularityError, UserFunctionError
            With the motion so far as ``error.result``.
        KeyboardInterrupt
            On Ctrl-C, at the time reached; the run can be advanced further.
        """
        if type(time) is not float or not 0.0 < time < math.inf:
            given, time = time, finite_number(time, item="Live", field="time")
            if time <= 0:
                raise ModelError("Live", "time", given, "give a time above zero")
        if self._ended:
            raise ModelError("Live", "advance", time, f"the run has ended at t = {self.t:.6g} s: {self._ended}")
        try:
            status = self._live.advance(time)
        except DalembertError as error:
            error.result = self.result("failed", str(error))
            raise
        if status == "event":
            self._ended = f"event {self._run.events[-1].name!r}"

    @by_one_thread
    def result(self, status: str = "finished", message: str = "") -> Result:
        """Return the motion so far; the present state only of a run with ``record=False``."""
        self._live.take()
        return make_result(self._run, status, message, time.perf_counter() - self._began)
