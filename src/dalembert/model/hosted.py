"""What Python computes for the core at every evaluation: laws of time, outputs by name, control."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..compile.signals import OutputInput
from ..errors import ModelError, TopologyError, UserFunctionError
from .interpolation import hermite, interpolate
from .once import once_per_model
from .state import State

if TYPE_CHECKING:
    from .model import Model

__all__ = ["History", "Host", "HostedInput", "hinge_forces", "keep_excess"]

Array = NDArray[np.float64]


class HostedInput:
    """An input of an element that is an output of the system, now or some time ago.

    Raises
    ------
    ModelError, TopologyError
        If it is no number, or no function of the state.
    """

    def __init__(self, model: Model, wanted: OutputInput) -> None:
        from ..result.outputs import Output

        item, name = f"element {wanted.element!r}", wanted.name
        output = Output.of(model, name)
        if output.shape != ():
            parts = [f"{name}.{label}" for label in output.labels]
            raise ModelError(item, "input", name, f"it is no single number; name a part: {', '.join(parts)}")
        if output.needs == "dynamics":
            raise TopologyError(
                f"{item}: algebraic loop: its input {name!r} depends on accelerations or reactions, and these "
                "on the element; take a load by da.Reaction(connection, part), or a position or speed"
            )
        if output.history is not None:
            raise ModelError(item, "input", name, "it depends on what happened before; take a da.Delay or a state")
        self.output, self.delay = output, wanted.delay

    def value(self, model: Model, history: History | None, t: float, q: Array, v: Array, x: Array) -> float:
        """Return the value at a state, or, with a delay, that of a run some time before."""
        if self.delay is None:
            return float(self.output.evaluate(model, t, q, v, x))
        then = t - self.delay.time
        if history is None or then < history.begin:
            return float(self.delay.before(then)[0])
        return float(self.output.evaluate(model, then, *history.at(then)))


class Host:
    """The function that the core calls for laws it cannot evaluate and for a user's control.

    Parameters
    ----------
    model : Model
    control : callable
        From a `State` to hinge forces (nv,), or a dict of them by name of hinge or speed.
    history : History
        Of the run, for inputs with a delay.

    Attributes
    ----------
    looks : bool
        Whether laws depend on the state, not on time only.
    asked : dict of int to (float, float)
        Freedoms at which the control asked for more than `max_effort`: when first, s, and for how much at most.
    """

    def __init__(self, model: Model, control: Callable[..., Any] | None = None, history: History | None = None) -> None:
        self.model, self.control, self.history = model, control, history
        self.asked: dict[int, tuple[float, float]] = {}
        self.looks = any(isinstance(law, OutputInput) for law in model.compiled.hosted)

    def __call__(self, t: float, q: Array, v: Array, x: Array, laws: Array, tau: Array, loads: Array) -> None:
        """Fill laws (n, 3), hinge forces (nv,) and loads (nb, 6)."""
        for k, law in enumerate(self.model.hosted):
            if isinstance(law, HostedInput):
                laws[k] = law.value(self.model, self.history, t, q, v, x), 0.0, 0.0
            else:
                laws[k] = law(t)
        if self.control is not None:
            state = State(q=q, v=v, t=t, x=x)
            tau[:] = hinge_forces(self.model, self.control, state)
            keep_excess(self.model, t, tau, self.asked)


def hinge_forces(model: Model, control: Callable[..., Any], state: State) -> Array:
    """Return the hinge forces (nv,) that a user's function gives at a state."""
    title = getattr(control, "__name__", type(control).__name__)
    try:
        given = control(state)
    except Exception as error:
        raise UserFunctionError(f"control {title} failed at t = {state.t:.6g} s: {error!r}") from error
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
        # one number for several hinges says nothing about which
        tau[:] = numbers if numbers.shape == (model.nv,) or model.nv == numbers.size == 1 else np.nan
    if not np.isfinite(tau).all():
        raise UserFunctionError(
            f"control {title} returned {given!r} at t = {state.t:.6g} s; give ({model.nv},) finite numbers, or a "
            "dict of numbers by name of hinge"
        )
    return tau


def keep_excess(model: Model, t: float, tau: Array, asked: dict[int, tuple[float, float]]) -> None:
    """Keep where hinge forces (nv,) of a control alone are beyond what actuators can give; the core clips them."""
    for f in np.flatnonzero(np.abs(tau) > effort_bounds(model)).tolist():
        first, most = asked.get(f, (t, 0.0))
        asked[f] = min(first, t), max(most, abs(float(tau[f])))


@once_per_model
def effort_bounds(model: Model) -> Array:
    """Return what actuators can give at each freedom, (nv,) N m or N."""
    bounds = np.full(model.nv, np.inf)
    for hinge in model.forest.hinges:
        if hinge.element.max_effort is not None:
            bounds[model.v_slice(hinge.name)] = hinge.element.max_effort
    return bounds


class History:
    """States of a run so far, for what depends on them after a while.

    Rows are added as the run goes on; between them positions are interpolated on their manifold by quintics that have
    speeds and accelerations of both ends, states of elements by cubics.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.t: list[float] = []
        self.rows: list[tuple[Array, Array, Array, Array, Array]] = []  # q, v, x, a, dx

    @property
    def begin(self) -> float:
        """Time of the first row, s."""
        return self.t[0] if self.t else np.inf

    def add(self, t: float, q: Array, v: Array, x: Array, a: Array, dx: Array) -> None:
        """Add a row; one at the time of the last takes its place."""
        if self.t and t <= self.t[-1]:
            self.t.pop()
            self.rows.pop()
        self.t.append(t)
        self.rows.append((q.copy(), v.copy(), x.copy(), a.copy(), dx.copy()))

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Return q, v and x at a time within the run so far."""
        k = bisect_right(self.t, t) - 1
        if k >= len(self.t) - 1 or self.t[k] == t:
            return self.rows[min(k, len(self.t) - 1)][:3]
        times, h = np.array(self.t[k : k + 2]), self.t[k + 1] - self.t[k]
        q, v, x, a, dx = (np.array(column) for column in zip(*self.rows[k : k + 2], strict=True))
        names = self.model.coordinate_names, self.model.speed_names
        places, speeds = interpolate(times, q, v, a, np.array([t]), *names)
        part = np.array((t - self.t[k]) / h)
        return places[0], speeds[0], hermite(part, np.array(h), (x[0], dx[0]), (x[1], dx[1]))[0]
