"""Many runs in one call: from many states, or with many sets of parameters."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import AssemblyError, IntegrationError, ModelError
from ..model import Model
from ..outputs import Motion, Output
from ..result import Result, Stats
from ..state import State
from .settings import Kernels, Options, Settings

__all__ = ["Ensemble", "batch_size", "simulate_many"]

Array = NDArray[np.float64]

# core/integrator.hpp: Outcome
_REASONS = (
    "",
    "",
    "no step is small enough",
    "accelerations are not finite",
    "",
    "the loops cannot be closed",
    "",
    "",
    "the equations of an implicit step cannot be solved",
)


class Ensemble:
    """Runs side by side, at the same times.

    Attributes
    ----------
    model : Model
    t : (n,) s
    q : (B, n, nq) rad or m
    v : (B, n, nv) rad/s or m/s
    x : (B, n, nx)
        NaN from where a run failed.
    status : tuple of str, (B,)
        ``"finished"`` or ``"failed"``.
    stats : Stats
        Of all runs together.
    """

    def __init__(
        self,
        model: Model,
        t: Array,
        states: tuple[Array, Array, Array],
        status: list[str],
        messages: list[str],
        stats: Stats,
        options: Options,
        settings: list[Settings],
    ) -> None:
        self.model, self.t, self.stats = model, t, stats
        self.q, self.v, self.x = states
        self.status = tuple(status)
        self._messages, self._options, self._settings = messages, options, settings

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        failed = sum(status == "failed" for status in self.status)
        ending = f"{failed} failed" if failed else "all finished"
        return f"<Ensemble of {self.model.system.name!r}: {len(self)} runs, {len(self.t)} times, {ending}>"

    def __getitem__(self, run: int | str) -> Any:
        """Return one run as a `Result`; or, by name, an output of all runs, (B, n, ...)."""
        return self.output(run) if isinstance(run, str) else self.run(run)

    def __iter__(self) -> Iterator[Result]:
        return (self.run(k) for k in range(len(self)))

    def run(self, number: int) -> Result:
        """Return one run, as far as it got."""
        got = int(np.isfinite(self.q[number]).all(axis=-1).sum()) if self.model.nq else len(self.t)
        if not got:
            raise IntegrationError(f"run {number} has no states: {self._messages[number]}")
        settings, options = self._settings[number], self._options
        return Result(
            self.model,
            self.t[:got],
            self.q[number, :got],
            self.v[number, :got],
            self.x[number, :got],
            stats=self.stats,
            status=self.status[number],
            message=self._messages[number],
            kernels=Kernels(settings, options),
        )

    def output(self, name: str) -> Array:
        """Return an output of all runs, (B, n, ...); NaN where a run failed."""
        output = Output.of(self.model, name)
        if output.history is not None or output.branch:
            rows = [run.output(name) for run in self]
            full = np.full((len(self), len(self.t), *rows[0].shape[1:]), np.nan)
            for k, row in enumerate(rows):
                full[k, : len(row)] = row
            return full
        columns = []
        for k in range(len(self)):
            good = np.isfinite(self.q[k]).all(axis=-1)
            kernels = Kernels(self._settings[k], self._options)
            q, v, x = (part[k][good] for part in (self.q, self.v, self.x))
            motion = Motion(self.model, self.t[good], q, v, x, kernels=kernels)
            values = np.asarray(output.value(motion))
            column = np.full((len(self.t), *values.shape[1:]), np.nan)
            column[good] = values
            columns.append(column)
        return np.array(columns)


def batch_size(state: State | None, parameters: Mapping[str, ArrayLike] | None) -> int | None:
    """Return how many runs are asked for; None for one."""
    if state is not None and not isinstance(state, State):
        raise ModelError("simulate", "state", state, "give a da.State(q, v)")
    numbers = parameters or {}
    sizes = {f"parameter {name!r}": len(np.asarray(value)) for name, value in numbers.items() if np.ndim(value)}
    if state is not None and not isinstance(state, State):
        raise ModelError("simulate", "state", state, "give a da.State(q=..., v=...)")
    if state is not None and np.ndim(state.q) == 2:
        sizes["state.q"] = len(state.q)
    if state is not None and np.ndim(state.v) == 2:
        sizes["state.v"] = len(state.v)
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name} {count}" for name, count in sizes.items())
        raise ModelError("simulate", "number of runs", counts, "give states and parameters for the same number of runs")
    return next(iter(sizes.values()), None)


def simulate_many(
    model: Model,
    count: int,
    t_start: float,
    t_end: float,
    times: Array | None,
    state: State | None,
    parameters: Mapping[str, ArrayLike] | None,
    options: Options,
    far: float,
) -> Ensemble:
    """Return `count` runs; see `simulate`."""
    began = time.perf_counter()
    given = model.initial_state() if state is None else state
    q = _rows("state.q", given.q, count, model.nq)
    v = _rows("state.v", given.v, count, model.nv)
    if model.nc and state is None:
        from .simulate import start_state

        start = start_state(model, None, t_start)[0]
        q, v = _rows("state.q", start.q, count, model.nq), _rows("state.v", start.v, count, model.nv)
    elif model.nc:
        residual = np.abs(model.constraint_residual(q, t=np.full(count, t_start)) - model.row_motion(t_start)[0])[
            :, model.holonomic
        ]
        if residual.size and residual.max() > far:
            worst = int(residual.max(axis=1).argmax())
            raise AssemblyError(
                f"state {worst} does not close the loops: it is open by {residual.max():.3g} m or rad; close them with "
                "da.assemble(...)"
            )
    settings = [Settings.of(model) for _ in range(count)]
    numbers = None
    for name, value in (parameters or {}).items():
        row = _rows(f"parameter {name!r}", np.reshape(value, (-1, 1)) if np.ndim(value) else value, count, 1)[:, 0]
        settings = [each.with_parameter(name, float(number)) for each, number in zip(settings, row, strict=True)]
    if parameters:
        numbers = np.array([each.parameters for each in settings])
    wanted = np.linspace(t_start, t_end, 101) if times is None else times
    integrator = options.integrator(model)
    x = _rows("state.x", given.x if np.size(given.x) else model.initial_state().x, count, model.nx)
    outcomes, counts, *states = integrator.batch(t_start, t_end, wanted, q, v, x, numbers, _core.threads())
    status = ["finished" if outcome == 0 else "failed" for outcome in outcomes]
    messages = [_REASONS[int(outcome)] for outcome in outcomes]
    total = counts.sum(axis=0).astype(int)
    implicit = int((counts[:, 3] > 0).sum()) if options.watch else 0
    notes = [f"stability held explicit steps of {implicit} runs back; they went on with radau"] if implicit else []
    stats = Stats(
        method=options.method,
        steps=int(total[0]),
        rejected=int(total[1]),
        evaluations=int(total[2]),
        jacobians=int(total[3]),
        notes=notes,
        wall_time=time.perf_counter() - began,
        rtol=options.rtol,
        atol=options.atol,
    )
    return Ensemble(model, wanted, (states[0], states[1], states[2]), status, messages, stats, options, settings)


def _rows(field: str, value: ArrayLike, count: int, width: int) -> Array:
    try:
        rows = np.ascontiguousarray(np.broadcast_to(np.asarray(value, dtype=float), (count, width)))
    except (TypeError, ValueError):
        raise ModelError("simulate", f"the shape of {field}", np.shape(value), f"give ({count}, {width})") from None
    if not np.isfinite(rows).all():
        raise ModelError("simulate", field, value, "give finite numbers")
    return rows
