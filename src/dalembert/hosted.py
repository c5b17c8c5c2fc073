"""Inputs of elements that Python computes for the core: outputs by name, and what outputs were some time ago."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .connections.signals import Delay
from .errors import ModelError, TopologyError
from .interpolation import hermite, interpolate

if TYPE_CHECKING:
    from .model import Model

__all__ = ["History", "HostedDelay", "HostedOutput"]

Array = NDArray[np.float64]


class HostedOutput:
    """An output by name that Python evaluates for the core."""

    def __init__(self, name: str, element: str) -> None:
        self.name, self.element = name, element
        self._output: Any = None

    def of(self, model: Model) -> Any:
        """Return the output; refuses what is no number or no function of the state."""
        if self._output is None:
            from .outputs import Output

            item, field = f"element {self.element!r}", "input"
            output = Output.of(model, self.name)
            if output.shape != ():
                parts = [f"{self.name}.{label}" for label in output.labels]
                raise ModelError(item, field, self.name, f"it is no single number; name a part: {', '.join(parts)}")
            if output.needs == "dynamics":
                raise TopologyError(
                    f"{item}: algebraic loop: its input {self.name!r} depends on accelerations or reactions, and these "
                    "on the element; take a load by da.Reaction(connection, part), or a position or speed"
                )
            if output.history is not None:
                raise ModelError(
                    item, field, self.name, "it depends on what happened before; take a da.Delay or a state"
                )
            self._output = output
        return self._output

    def value(self, model: Model, t: float, q: Array, v: Array, x: Array) -> float:
        """Return the value at a state."""
        return float(self.of(model).evaluate(model, t, q, v, x))


class HostedDelay(HostedOutput):
    """What an output was some time ago, for the core."""

    def __init__(self, delay: Delay, element: str) -> None:
        super().__init__(delay.output, element)
        self.delay = delay

    def delayed(self, model: Model, history: History | None, t: float) -> float:
        """Return the value at t less the delay, from the states of a run; before it, as described."""
        then = t - self.delay.time
        if history is None or then < history.begin:
            return float(self.delay.before(then)[0])
        return self.value(model, then, *history.at(then))


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
