"""Sampled control: evaluated at sample times, held constant in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..arrays import Array
from ..checks import finite_number
from ..errors import ModelError
from .compiled_control import CompiledControl, as_compiled_control
from .state import State

if TYPE_CHECKING:
    from .model import Model

__all__ = ["SampledControl", "SampledForces", "SampledLoads"]


@dataclass(frozen=True, eq=False)
class SampledControl:
    """Control evaluated at sample times, as a digital controller; its forces are constant in between.

    Parameters
    ----------
    control : function of a State
        Returns joint forces, (nv,) or a dict by name of joint.
    period : float, s
        It is called at the start of the run and then once in each period, in order, at no other time.
    delay : float, s
        Delay of its effect; before the first effect the forces are zero.
    noise : (float, float), or two of (nv,)
        Standard deviations of sensor noise of positions (rad, m; along the degrees of freedom) and of velocities.
    seed : int
        Seed of the noise: the same seed gives the same noise at the same sample, in all kinds of runs.
    batched : bool
        Whether an ensemble calls it once in each period with the states of all runs, q (B, nq), t (B,), run (B,), and
        integrates the runs on threads in between: with ``state.q[..., 0]`` a function works for one state and for
        many. It returns (B, nv), a list of (B,) for each degree of freedom, or a dict of these. Internal state is then
        an array over runs. False: runs are integrated one after the other. A `CompiledControl` is always batched.

    Single runs, ensembles, resumed runs and `Live` give identical bits. Internal state of the function is not part of
    the state of the run: it is not reset between the runs of an ensemble, nor stored for a resumed run.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("arm", gravity=(0, 0, 0))
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("arm", da.rod(length=1.0, mass=3.0)))
    >>> s.initial("A", position=0.3)
    >>> slow = da.SampledControl(lambda state: [-4 * state.q[0] - 3 * state.v[0]], period=0.02, delay=0.005)
    >>> bool(abs(da.simulate(s, 10.0, control=slow)["A.position"][-1]) < 1e-3)
    True
    """

    control: Callable[[State], Any]
    period: float
    delay: float = 0.0
    noise: Any = (0.0, 0.0)
    seed: int = 0
    batched: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "control", as_compiled_control(self.control))
        if isinstance(self.control, CompiledControl):
            object.__setattr__(self, "batched", True)
        if not callable(self.control):
            raise ModelError("SampledControl", "control", self.control, "give a function of a State")
        for name, least in (("period", np.nextafter(0.0, 1.0)), ("delay", 0.0)):
            number = finite_number(getattr(self, name), item="SampledControl", field=name)
            if number < least:
                raise ModelError(
                    "SampledControl", name, number, "it must be positive" if least else "it must not be negative"
                )
            object.__setattr__(self, name, number)
        try:
            spreads = tuple(np.asarray(part, dtype=float) for part in self.noise)
        except (TypeError, ValueError):
            spreads = ()
        if len(spreads) != 2 or any(s.ndim > 1 or not (np.isfinite(s) & (s >= 0)).all() for s in spreads):
            remedy = "give two standard deviations, of positions and of velocities, each a number or (nv,)"
            raise ModelError("SampledControl", "noise", self.noise, remedy)
        object.__setattr__(self, "noise", spreads)
        if isinstance(self.seed, bool) or not isinstance(self.seed, (int, np.integer)) or self.seed < 0:
            raise ModelError("SampledControl", "seed", self.seed, "give a whole number, zero or above")

    @cached_property
    def is_noisy(self) -> bool:
        """True if its sensors are noisy."""
        return any(bool(np.any(spread)) for spread in self.noise)

    @property
    def __name__(self) -> str:
        return getattr(self.control, "__name__", type(self.control).__name__)

    def time(self, begin: float, number: Any) -> Any:
        """Return the time of a sample in a run that begins at a time, s."""
        return begin + number * self.period

    def acts(self, begin: float, number: Any) -> Any:
        """Return the time at which a sample takes effect, s; a delay of whole periods ends at a sample time."""
        if not self.delay:
            return self.time(begin, number)
        whole = round(self.delay / self.period)
        if abs(self.delay - whole * self.period) <= 1e-12 * self.delay:
            return self.time(begin, number + whole)
        return self.time(begin, number) + self.delay

    def discontinuity_times(self, begin: float, end: float) -> Array:
        """Return the times up to an end at which samples are taken and at which they take effect, s."""
        numbers = np.arange(int((end - begin) / self.period) + 2)
        times = np.concatenate([self.time(begin, numbers), self.acts(begin, numbers)])
        return np.unique(times[(times > begin) & (times <= end)])

    def measured(self, model: Model, state: State, number: int) -> State:
        """Return the state as measured by sensors at a sample."""
        if not self.is_noisy:
            return State(q=state.q, v=state.v, t=state.t, x=state.x)
        rng = np.random.default_rng([int(self.seed), number])
        places, speeds = (rng.standard_normal(model.nv) * spread for spread in self.noise)
        q = model.integrate(state.q, places) if places.any() else state.q
        return State(q=q, v=state.v + speeds, t=state.t, x=state.x)

    def measured_of_many(self, model: Model, state: State, number: int) -> State:
        """Return the states of many runs as measured by sensors at a sample; all have the same noise."""
        if not self.is_noisy:
            return state
        rows = [
            self.measured(model, State(q=q, v=v, t=float(t), x=x), number)
            for q, v, t, x in zip(state.q, state.v, np.atleast_1d(state.t), state.x, strict=True)
        ]
        q, v = (np.array([getattr(row, part) for row in rows]) for part in ("q", "v"))
        return State(q=q, v=v, t=state.t, x=state.x, run=state.run)

    def to_plain(self) -> list[Any]:
        """Return its parameters, as lists."""
        return [self.period, self.delay, *(np.asarray(part).tolist() for part in self.noise), int(self.seed)]


class SampledForces(_core.SampledForces):
    """Joint forces of a run, constant between samples of a sampled control.

    Attributes
    ----------
    begin : float, s
        Start of the run; NaN before the start.
    excess_efforts : dict of int to (float, float)
        Degrees of freedom at which the control exceeded `max_effort`: time of the first excess, s, and largest effort.
    """

    def __init__(self, nv: int) -> None:
        super().__init__(nv)
        self.nv, self.begin = nv, np.nan
        self.excess_efforts: dict[int, tuple[float, float]] = {}

    def fill(self, begin: float, times: Array, tau: Array) -> None:
        """Add rows as returned by `samples`."""
        self.begin = begin
        for t, row in zip(times, np.reshape(tau, (-1, self.nv)), strict=True):
            self.add(float(t), np.ascontiguousarray(row))

    def __reduce__(self) -> tuple[Any, ...]:
        return _sampled_forces, (self.nv, self.begin, *self.samples())


def _sampled_forces(nv: int, begin: float, times: Array, tau: Array) -> SampledForces:
    sampled_forces = SampledForces(nv)
    sampled_forces.fill(begin, times, tau)
    return sampled_forces


class SampledLoads(_core.SampledLoads):
    """Loads on bodies, constant from one time to the next; none before the first.

    Parameters
    ----------
    times : (n,) s
        In order.
    loads : (n, bodies, 6) N m and N
        [moment; force] on the bodies at their origins, world axes.
    efforts : (n, nv + cut nv) N m or N
        Joint forces; those of cut joints are recorded only, `loads` has what they do.
    """

    def __init__(self, times: Array, loads: Array, efforts: Array) -> None:
        super().__init__(times, loads, efforts)
        self.times, self.loads, self.efforts = times, loads, efforts

    def efforts_at(self, t: Array) -> Array:
        """Return the joint forces at times (k,) s, (k, nv + cut nv)."""
        step = np.searchsorted(self.times, t, side="right") - 1
        return np.where((step >= 0)[:, None], self.efforts[np.maximum(step, 0)], 0.0)

    def __reduce__(self) -> tuple[Any, ...]:
        return SampledLoads, (self.times, self.loads, self.efforts)
