"""Callbacks of the core into Python: time laws, outputs by name, control."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..compile.signal_graph import OutputInput
from ..errors import ModelError, TopologyError, UserFunctionError
from .cache import cached_per_model
from .state import State

if TYPE_CHECKING:
    from ..result import Motion
    from .history import History
    from .model import Model

__all__ = [
    "CallbackHost",
    "OutputInputCallback",
    "callback_name",
    "effort_bounds",
    "joint_forces",
    "record_effort_excess",
    "shortest_delay",
]


CONTROL_CACHE_SIZE = 8  # results of a control


class OutputInputCallback:
    """Input of an element that is an output of the system, present or delayed.

    Raises
    ------
    ModelError, TopologyError
        If it is not a scalar, or not a function of the state.
    """

    def __init__(self, model: Model, spec: OutputInput) -> None:
        from ..result import Output

        item, name = f"element {spec.element!r}", spec.name
        output = Output.of(model, name)
        if output.shape != ():
            parts = [f"{name}.{label}" for label in output.labels]
            raise ModelError(item, "input", name, f"it is not a scalar; name a component: {', '.join(parts)}")
        if output.needs == "dynamics":
            raise TopologyError(
                f"{item}: algebraic loop: its input {name!r} depends on accelerations or reactions, and these "
                "on the element; take a load by da.Reaction(connection, part), or a position or velocity"
            )
        if output.history is not None:
            raise ModelError(item, "input", name, "it depends on earlier states; use a da.Delay or a state")
        self.output, self.delay, self.item = output, spec.delay, item

    def value(self, moments: DelayedStates) -> float:
        """Return the value at a state, or, with a delay, at an earlier time of the run."""
        if self.delay is None:
            if _asking.input is not None:  # an output that needs the force of an element needs this input itself
                raise _circle(_asking.input)
            _asking.input = self
            try:
                return float(self.output.value(moments.now)[0])
            finally:
                _asking.input = None
        then = moments.then(self.delay.time)
        if then is None:
            return float(self.delay.before(moments.t - self.delay.time)[0])
        return float(self.output.value(then)[0])


class _Asking(threading.local):
    """Input that is being evaluated, on this thread."""

    input: OutputInputCallback | None = None


_asking = _Asking()


def _circle(law: OutputInputCallback) -> TopologyError:
    return TopologyError(
        f"{law.item}: its input {law.output.name!r} depends on forces of elements, and these on their inputs: "
        "take a signal of the element, a load by da.Reaction(connection, part), a position or a velocity, or a da.Delay"
    )


class DelayedStates:
    """State of a run and earlier states; states needed by several inputs are computed once."""

    def __init__(self, model: Model, history: History | None, t: float, q: Array, v: Array, x: Array) -> None:
        self.model, self.history, self.t, self.state = model, history, t, (q, v, x)
        self.known: dict[float, Motion] = {}

    @cached_property
    def now(self) -> Motion:
        """The state itself."""
        return self._motion(self.t, *self.state)

    def then(self, delay: float) -> Motion | None:
        """Return an earlier state; None before the start of the run."""
        time = self.t - delay
        if self.history is None or time < self.history.begin:
            return None
        if time not in self.known:
            self.known[time] = self._motion(time, *self.history.at(time))
        return self.known[time]

    def _motion(self, t: float, q: Array, v: Array, x: Array) -> Motion:
        from ..result import Motion

        return Motion(self.model, np.array([t]), q[None], v[None], x[None])


class CallbackHost:
    """Callback of the core for laws that it cannot evaluate and for a user's control.

    Parameters
    ----------
    model : Model
    control : callable
        From a `State` to joint forces (nv,), or a dict of them by name of joint or velocity.
    history : History
        States of the run, for delayed inputs.
    run : int
        Number of the run in its ensemble.

    Attributes
    ----------
    numbers : sequence of int
        Numbers of the runs that the core executes one after the other; `place`: index of the present one.
    depends_on_state : bool
        Whether laws depend on the state, not on time only.
    excess_efforts : dict of int to (float, float)
        Degrees of freedom at which the control exceeded `max_effort`: time of the first excess, s, and largest effort.
    answered : deque of (State, (nv,))
        States passed to the control, at increasing intervals, and its results, for the check that it is a function of
        the state.
    """

    def __init__(
        self,
        model: Model,
        control: Callable[..., Any] | None = None,
        history: History | None = None,
        run: int = 0,
    ) -> None:
        self.model, self.control, self.history = model, control, history
        self.numbers: Sequence[int] = (run,)
        self.place = 0
        self.excess_efforts: dict[int, tuple[float, float]] = {}
        self.answered: deque[tuple[State, Array]] = deque(maxlen=CONTROL_CACHE_SIZE)
        self._calls, self._next = 0, 1
        self.depends_on_state = any(isinstance(law, OutputInput) for law in model.compiled.callback_laws)

    @contextmanager
    def serving(self, numbers: Sequence[int]) -> Iterator[None]:
        """Serve runs of the core with these numbers, one after the other."""
        kept, self.numbers = self.numbers, numbers
        try:
            yield
        finally:
            self.numbers, self.place = kept, 0

    @cached_property
    def bounded(self) -> bool:
        """True if some degrees of freedom have an effort limit."""
        return bool(np.isfinite(effort_bounds(self.model)).any())

    def __call__(self, t: float, q: Array, v: Array, x: Array, laws: Array, tau: Array, loads: Array) -> None:
        """Fill laws (n, 3), joint forces (nv,) and loads (nb, 6)."""
        if self.model.callback_laws:
            moments = DelayedStates(self.model, self.history, t, q, v, x)
            for k, law in enumerate(self.model.callback_laws):
                laws[k] = (law.value(moments), 0.0, 0.0) if isinstance(law, OutputInputCallback) else law(t)
        if self.control is not None:
            run = int(self.numbers[self.place])
            tau[:] = joint_forces(self.model, self.control, State(q, v, t, x, run=run))
            self._calls += 1
            if self._calls >= self._next:
                self._next = self._calls + self._calls // 2 + 1
                self.answered.append((State(q=q.copy(), v=v.copy(), t=t, x=x.copy(), run=run), tau.copy()))
            if self.bounded:
                record_effort_excess(self.model, t, tau, self.excess_efforts)


def joint_forces(model: Model, control: Callable[..., Any], state: State) -> Array:
    """Return the joint forces (nv,) of a user's function at a state."""
    try:
        given = control(state)
    except Exception as error:
        raise UserFunctionError(f"control {callback_name(control)} failed at t = {state.t:.6g} s: {error!r}") from error
    if type(given) is np.ndarray and given.dtype == float and given.shape == (model.nv,) and given.dot(given) < np.inf:
        return given
    tau = np.zeros(model.nv)
    if isinstance(given, dict):
        for name, value in given.items():
            place = model.speed_names.index(name) if name in model.speed_names else model.v_slice(name)
            tau[place] = value
    elif given is not None:
        try:
            numbers = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            numbers = np.full(0, np.nan)
        # one number for several joints is ambiguous
        tau[:] = numbers if numbers.shape == (model.nv,) or model.nv == numbers.size == 1 else np.nan
    if not (tau.dot(tau) < np.inf or np.isfinite(tau).all()):  # a product is faster than a test of each entry
        raise UserFunctionError(
            f"control {callback_name(control)} returned {given!r} at t = {state.t:.6g} s; "
            f"give ({model.nv},) finite numbers, "
            "or a dict of numbers by name of joint"
        )
    return tau


def callback_name(control: object) -> str:
    """Return the name of a control."""
    return str(getattr(control, "__name__", type(control).__name__))


def record_effort_excess(model: Model, t: float, tau: Array, excess: dict[int, tuple[float, float]]) -> None:
    """Store joint forces (nv,) of a control beyond the limits of actuators; the core clips them."""
    for f in np.flatnonzero(np.abs(tau) > effort_bounds(model)).tolist():
        first, most = excess.get(f, (t, 0.0))
        excess[f] = min(first, t), max(most, abs(float(tau[f])))


@cached_per_model
def effort_bounds(model: Model) -> Array:
    """Return the effort limit of each degree of freedom, (nv,) N m or N."""
    bounds = np.full(model.nv, np.inf)
    for joint in model.forest.joints:
        if joint.element.max_effort is not None:
            bounds[model.v_slice(joint.name)] = joint.element.max_effort
    return bounds


def shortest_delay(model: Model) -> float:
    """Return the least delay of all inputs, s; infinite if there is none."""
    delays = [
        law.delay.time for law in model.callback_laws if isinstance(law, OutputInputCallback) and law.delay is not None
    ]
    return min(delays, default=np.inf)
