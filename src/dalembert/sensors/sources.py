"""States that sensors measure: rows of a result, the present of a live run, a single state."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..errors import ModelError
from ..model import Model, State, as_model
from ..result import Result
from ..system import System

__all__ = ["ResultSource", "Source", "check_owner", "source_of"]


class Source(Protocol):
    """States (n rows) of a model, with accelerations and loads."""

    model: Model
    t: Array
    q: Array
    v: Array

    @property
    def a(self) -> Array:
        """Accelerations (n, nv)."""

    def load(self, connection: str) -> Array:
        """Return [moment; force] (n, 6) of a connection on its second marker, world axes."""


class ResultSource:
    """States of a result at times."""

    def __init__(self, result: Result, times: Array) -> None:
        if not isinstance(result, Result):
            raise ModelError("sensor", "result", result, "give a Result, as da.simulate returns")
        at = result.at(times)
        self.model, self._at = result.require_model(), at
        self.t, self.q, self.v = times, np.asarray(at.q), np.asarray(at.v)

    @property
    def a(self) -> Array:
        return self._at.a

    def load(self, connection: str) -> Array:
        return np.concatenate([self._at[f"{connection}.moment"], self._at[f"{connection}.force"]], axis=1)


class LiveSource:
    """Present state of a live run."""

    def __init__(self, live: Any) -> None:
        state = live.state
        self._live, self.model = live, live.model
        self.t, self.q, self.v = np.array([live.t]), np.asarray(state.q)[None], np.asarray(state.v)[None]

    @property
    def a(self) -> Array:
        return np.asarray(self._live["a"])[None]

    def load(self, connection: str) -> Array:
        return np.concatenate([self._live[f"{connection}.moment"], self._live[f"{connection}.force"]])[None]


class StateSource:
    """A single state of a model under joint forces."""

    def __init__(self, model: Model, state: State, tau: ArrayLike | None) -> None:
        self.model, self._state, self._tau = model, state, tau
        self.t = np.array([float(state.t)])
        self.q, self.v = np.asarray(state.q, dtype=float)[None], np.asarray(state.v, dtype=float)[None]

    @property
    def _x(self) -> Any:
        return self._state.x if self.model.nx else None

    @property
    def a(self) -> Array:
        found = self.model.dynamics(float(self.t[0]), self.q[0], self.v[0], self._x, tau=self._tau)
        return np.asarray(found.a)[None]

    def load(self, connection: str) -> Array:
        loads = self.model.connection_loads(self.q[0], self.v[0], self._tau, t=float(self.t[0]), x=self._x)
        return np.asarray(loads[connection])[None]


def check_owner(owner: Any, item: str) -> None:
    """Refuse an owner of streams that is none."""
    if not isinstance(owner, (Model, System)) and not hasattr(owner, "advance"):
        raise ModelError(item, "stream", owner, "give a Model, a System or a da.Live")


def source_of(owner: Any, state: Any, tau: ArrayLike | None, item: str) -> Source:
    """Return the source of a sample of a stream."""
    if isinstance(owner, (Model, System)):
        if not hasattr(state, "q"):
            raise ModelError(item, "state", state, "give the State to measure: stream(state)")
        return StateSource(as_model(owner), state, tau)
    if state is not None or tau is not None:
        raise ModelError(item, "state", state, "a stream of a da.Live measures its present state: stream()")
    return LiveSource(owner)
