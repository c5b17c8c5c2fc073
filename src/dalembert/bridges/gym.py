"""Environments of gymnasium: one run by the functions of the C library, or many in SIMD batches.

Needs ``pip install "dalembert[gym]"``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array, BoolArray, IndexArray
from ..errors import DalembertError, MissingPackageError, ModelError
from ..exchange.file_run import FileRun
from ..exchange.model_export import export_model
from ..model import Model, State, as_model
from ..result import Motion, Output
from ..simulation import rollout
from ..simulation.start import find_start
from ..system import System

try:
    import gymnasium
    from gymnasium.spaces import Box
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise MissingPackageError("environments", "gymnasium", "pip install gymnasium") from error

__all__ = ["BatchEnvironment", "Environment"]

Start = Mapping[str, float] | Callable[[np.random.Generator], Mapping[str, float]] | None
Reward = Callable[[Array, Array], float]  # of observation and action


class Environment(gymnasium.Env):  # type: ignore[misc]
    """Environment of one system.

    Parameters
    ----------
    system : System or Model
    actions, observations : names
        Inputs and outputs, as of `export`. Actions are held during a step.
    reward : function(observation, action) -> float
        Of the observation after the step.
    low, high : float or (n,)
        Bounds of the actions.
    period : float, s
        Of one step.
    steps : int
        After so many the episode is truncated.
    start : dict, or function(generator) -> dict
        Start values by name, as of `start_state`; a function of the random generator of the environment.
    ended : function(observation) -> bool
        Whether the episode is terminated.
    how
        Further arguments of `export`: ``friction=``, ``method=``, ``rtol=``...

    A step that cannot be integrated terminates the episode, with the reason in ``info["failure"]``.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(
        self,
        system: System | Model,
        *,
        actions: Sequence[str],
        observations: Sequence[str],
        reward: Reward,
        low: Any,
        high: Any,
        period: float,
        steps: int = 500,
        start: Start = None,
        ended: Callable[[Array], bool] | None = None,
        **how: Any,
    ) -> None:
        usual: dict[str, Any] = {
            "parameters": (), "values": None, "state": None, "t_start": 0.0, "method": "auto", "rtol": 1e-8,
            "atol": 1e-10, "max_step": None, "fixed_step": None, "friction": "events", "stops": "rigid",
            "contact": "auto", "horizon": None,
        }  # fmt: skip
        made = export_model(system, inputs=actions, outputs=observations, **{**usual, **how})
        self._model, self._reward, self._start, self._ended = as_model(system), reward, start, ended
        self.run, self.period, self.steps = FileRun(made.data), float(period), int(steps)
        self.action_space = _actions(len(self.run.names["input"]), low, high)
        self.observation_space = Box(-np.inf, np.inf, (len(self.run.names["output"]),), np.float64)
        self._count = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self.run.reset()
        state = self._start(self.np_random) if callable(self._start) else self._start
        if state is not None:
            found, _ = find_start(self._model, state, self.run.start_time, limits=True)
            for kind, values in (("coordinate", found.q), ("speed", found.v), ("state", found.x)):
                self.run.write(kind, values)
        self.run.start()
        self._count = 0
        return self.run.read("output"), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Hold the action for one period."""
        values = np.clip(np.asarray(action, dtype=float), self.action_space.low, self.action_space.high)
        self.run.write("input", values)
        self._count += 1
        info: dict[str, Any] = {}
        try:
            self.run.advance(self.run.start_time + self._count * self.period)
        except DalembertError as error:
            info["failure"] = str(error)
        observation = self.run.read("output")
        ends = bool(info) or (self._ended is not None and bool(self._ended(observation)))
        return observation, float(self._reward(observation, values)), ends, self._count >= self.steps, info


class BatchEnvironment(gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """Many environments of one system, which take their steps together in SIMD batches (`rollout`).

    Parameters
    ----------
    system : System or Model
    count : int
    actions : names
        Joints or velocities, and inputs of elements, as of `rollout`.
    observations : names
        Outputs that depend on position and velocity.
    reward : function(observations, actions) -> (count,)
        Of arrays (count, n).
    low, high, period, steps
        As of `Environment`.
    start : function(generator) -> dict, or dict
        Start values of one environment.
    ended : function(observations) -> (count,) bool
    substeps : int
        Steps of ``"rk4"`` in each period; ``method="dop853"`` in `how` has error control.
    how
        Further arguments of `rollout`.

    An environment whose episode has ended begins anew in the next step, without regard to its action then.
    """

    def __init__(
        self,
        system: System | Model,
        count: int,
        *,
        actions: Sequence[str],
        observations: Sequence[str],
        reward: Callable[[Array, Array], Array],
        low: Any,
        high: Any,
        period: float,
        steps: int = 500,
        start: Start = None,
        ended: Callable[[Array], Any] | None = None,
        substeps: int = 1,
        **how: Any,
    ) -> None:
        super().__init__()
        self.model, self.num_envs, self._names = as_model(system), int(count), list(actions)
        self._outputs = [Output.of(self.model, name) for name in observations]
        for output in self._outputs:
            if output.shape is None or output.needs not in ("position", "speed"):
                remedy = "observations of batches are functions of position and velocity"
                raise ModelError("BatchEnvironment", "observation", output.name, remedy)
        self._reward, self._start, self._ended = reward, start, ended
        self.period, self.steps, self._how = float(period), int(steps), {"substeps": substeps, **how}
        size = sum(int(np.prod(output.shape or ())) for output in self._outputs)
        self.single_action_space = _actions(len(self._names), low, high)
        self.single_observation_space = Box(-np.inf, np.inf, (size,), np.float64)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}
        self._over = np.zeros(self.num_envs, dtype=bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin all episodes."""
        super().reset(seed=seed if seed is None or isinstance(seed, int) else seed[0])
        n, model = self.num_envs, self.model
        self.q, self.v, self.x = np.zeros((n, model.nq)), np.zeros((n, model.nv)), np.zeros((n, model.nx))
        self._counts = np.zeros(n, dtype=np.int64)
        self._begin(np.arange(n))
        self._over[:] = False
        return self._observe(), {}

    def _begin(self, which: IndexArray) -> None:
        for k in which.tolist():
            state = self._start(self.np_random) if callable(self._start) else self._start
            found, _ = find_start(self.model, state, 0.0, limits=True)
            self.q[k], self.v[k], self.x[k] = found.q, found.v, found.x
        self._counts[which] = 0

    def _observe(self) -> Array:
        motion = Motion(self.model, np.zeros(self.num_envs), self.q, self.v, self.x)
        return np.hstack([np.asarray(each.value(motion)).reshape(self.num_envs, -1) for each in self._outputs])

    def step(self, actions: Array) -> tuple[Array, Array, BoolArray, BoolArray, dict[str, Any]]:
        """Hold the actions, (count, n), for one period."""
        given = np.asarray(actions, dtype=float).reshape(self.num_envs, -1)
        values = np.clip(given, self.single_action_space.low, self.single_action_space.high)
        controls = {name: values[:, k : k + 1] for k, name in enumerate(self._names)}
        found = rollout(
            self.model, State(q=self.q, v=self.v, t=0.0, x=self.x), controls, self.period, t_start=0.0, **self._how
        )
        ends = (found.q[:, -1], found.v[:, -1], found.x[:, -1])
        failed = ~np.isfinite(np.hstack(ends)).all(axis=1)
        begins, goes_on = self._over.copy(), ~(failed | self._over)
        for own, end in zip((self.q, self.v, self.x), ends, strict=True):
            own[goes_on] = end[goes_on]
        self._counts += 1
        self._begin(np.flatnonzero(begins))
        observations = self._observe()
        rewards = np.where(begins, 0.0, np.asarray(self._reward(observations, values), dtype=float))
        terminated = failed.copy()
        if self._ended is not None:
            terminated |= np.asarray(self._ended(observations), dtype=bool)
        terminated &= ~begins
        truncated = self._counts >= self.steps
        self._over = terminated | truncated
        return observations, rewards, terminated, truncated, {"failed": failed & ~begins}


def _actions(count: int, low: Any, high: Any) -> Any:
    lower, upper = (np.broadcast_to(np.asarray(bound, dtype=float), (count,)).copy() for bound in (low, high))
    if not (lower <= upper).all():
        raise ModelError("Environment", "low", low, "bounds of actions: low must not be above high")
    return Box(lower, upper, dtype=np.float64)
