"""Many runs in one call: from many states, or with many sets of parameters."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..errors import DalembertError, IntegrationError, ModelError
from ..model import Conditions, Held, Sampled, State
from ..model.conditions import checked_parameter, parameter_place
from ..result import Motion, Output, Result, Stats, always
from .breaks import breaks_until, timetable
from .events import Watch
from .interrupt import Interrupt
from .motion_notes import motion_notes
from .open_loops import OPEN, widest
from .options import Options
from .progress import Progress
from .run import Run
from .start import rows_of, start_states

__all__ = ["Ensemble", "batch_size", "simulate_many"]

Array = NDArray[np.float64]

_REASONS = {
    "underflow": "no step is small enough",
    "not_finite": "accelerations are not finite",
    "apart": "the loops cannot be closed",
    "unsolved": "the equations of an implicit step cannot be solved",
    "open": "it came to its end with a loop open",
    "crawls": "its steps became so short that the end is out of reach: a force may jump to and fro",
}


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
        conditions: Conditions,
        t: Array,
        states: tuple[Array, Array, Array],
        ends: list[str],
        stats: Stats,
        parameters: Array | None = None,
        held: Sequence[Held] | None = None,
    ) -> None:
        self.model, self.t, self.stats = conditions.model, t, stats
        self.q, self.v, self.x = states
        self.status = tuple("finished" if end == "reached" else "failed" for end in ends)
        self._messages = [_REASONS.get(end, "" if end == "reached" else end) for end in ends]
        self._conditions, self._parameters, self._held = conditions, parameters, held

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
        conditions = self._conditions_of(number)
        return Result(
            self.model,
            self.t[:got],
            self.q[number, :got],
            self.v[number, :got],
            self.x[number, :got],
            stats=self.stats,
            status=self.status[number],
            message=self._messages[number],
            conditions=None if conditions.as_described else always(conditions),
        )

    def _conditions_of(self, number: int) -> Conditions:
        changes: dict[str, Any] = {}
        if self._parameters is not None:
            changes["parameters"] = self._parameters[number]
        if self._held is not None:
            changes["held"] = self._held[number]
        return self._conditions.changed(**changes) if changes else self._conditions

    def output(self, name: str) -> Array:
        """Return an output of all runs, (B, n, ...); NaN where a run failed."""
        output = Output.of(self.model, name)
        if output.history is not None or output.branch:
            rows = [run.output(name) for run in self]
            full = np.full((len(self), len(self.t), *rows[0].shape[1:]), np.nan)
            for k, row in enumerate(rows):
                full[k, : len(row)] = row
            return full
        good = np.isfinite(self.q).all(axis=-1) & np.isfinite(self.v).all(axis=-1)
        run, time = np.nonzero(good)
        q, v, x = (part[good] for part in (self.q, self.v, self.x))

        def conditions(t: Array) -> list[tuple[NDArray[np.intp], Conditions]]:
            if self._parameters is None and self._held is None:
                return [(np.arange(len(run)), self._conditions)]
            return [(np.flatnonzero(run == k), self._conditions_of(k)) for k in np.unique(run)]

        values = np.asarray(output.value(Motion(self.model, self.t[time], q, v, x, conditions=conditions)))
        full = np.full((*good.shape, *values.shape[1:]), np.nan)
        full[good] = values
        return full


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
    conditions: Conditions,
    count: int,
    t_start: float,
    t_end: float,
    times: Array | None,
    state: State | None,
    parameters: Mapping[str, ArrayLike] | None,
    options: Options,
    breaks: Array,
) -> Ensemble:
    """Return `count` runs; see `simulate`."""
    began, model = time.perf_counter(), conditions.model
    q, v, x, notes = start_states(model, state, t_start, count)
    numbers = _parameter_rows(conditions, parameters, count)
    wanted = np.linspace(t_start, t_end, 101) if times is None else times
    held: list[Held] | None = None
    if isinstance(conditions.control, Sampled):
        held = [Held(model.nv) for _ in range(count)]
        given = [
            conditions.changed(parameters=numbers[k] if numbers is not None else conditions.parameters, held=mine)
            for k, mine in enumerate(held)
        ]
        ends, counts, states = _one_by_one(given, t_start, t_end, wanted, (q, v, x), options, breaks)
    else:
        table = _break_table(conditions, numbers, count, t_start, t_end, options, breaks)
        outcomes, counts, *states = options.integrator(conditions).batch(
            t_start, t_end, wanted, q, v, x, numbers, _core.threads(), *table
        )
        names = {number: name for name, number in _core.outcomes.items()}
        ends = [names[int(outcome)] for outcome in outcomes]
    if options.project:
        done = np.array([end == "reached" for end in ends])
        gaps = widest(conditions, float(wanted[-1]), *(np.ascontiguousarray(part[done, -1]) for part in states))[2]
        for run in np.flatnonzero(done)[gaps > OPEN]:
            ends[run] = "open"
    if "crawls" in ends:  # once more, watched, to learn what it is
        k = ends.index("crawls")
        mine = conditions if numbers is None else conditions.changed(parameters=numbers[k])
        starts = (q[k : k + 1], v[k : k + 1], x[k : k + 1])
        (told,), *_ = _one_by_one([mine], t_start, t_end, wanted, starts, options, breaks)
        notes.append(f"run {k} and {ends.count('crawls') - 1} more: {told}")
    total = counts.sum(axis=0).astype(int)
    implicit = int((counts[:, 3] > 0).sum()) if options.watch else 0
    if implicit:
        notes.append(f"stability held explicit steps of {implicit} runs back; they went on with radau")
    notes += motion_notes(conditions, states[0], states[1])
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
    return Ensemble(conditions, wanted, (states[0], states[1], states[2]), ends, stats, numbers, held)


def _break_table(
    conditions: Conditions,
    numbers: Array | None,
    count: int,
    t_start: float,
    t_end: float,
    options: Options,
    also: Array,
) -> tuple[Array, NDArray[np.int64]]:
    """Return the breaks of one run after another, and where those of each begin and the last end, (count + 1,)."""

    def of(given: Conditions) -> Array:
        return breaks_until(given, t_start, t_end, smooth=not options.step, also=also)

    if numbers is None or not timetable(conditions.model).uses:
        rows = [of(conditions)] * count
    else:
        rows = [of(conditions.changed(parameters=row)) for row in numbers]
    spans = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return np.concatenate([np.zeros(0), *rows]), spans


def _one_by_one(
    given: Sequence[Conditions],
    t_start: float,
    t_end: float,
    wanted: Array,
    starts: tuple[Array, Array, Array],
    options: Options,
    breaks: Array,
) -> tuple[list[str], Array, list[Array]]:
    """Return ends, counts and states of runs whose control is sampled: each is the run that it would be alone."""
    ends, counts = [], np.zeros((len(given), 4))
    states = [np.full((len(given), len(wanted), part.shape[1]), np.nan) for part in starts]
    for k, conditions in enumerate(given):
        watch, line = Watch(conditions.model, ()), Progress(t_start, t_end, False)
        run = Run(conditions, options, t_end, wanted, watch, line, Interrupt(), breaks)
        end = "reached"
        try:
            run.start(State(q=starts[0][k], v=starts[1][k], t=t_start, x=starts[2][k]))
            run.go()
        except DalembertError as error:
            end = str(error)
        t, *rows = run.records.arrays()
        first = 0 if wanted[0] <= t[0] else 1
        for out, part in zip(states, rows, strict=True):
            out[k, : len(t) - first] = part[first:]
        ends.append(end)
        counts[k] = run.total_counts()[:4]
    return ends, counts, states


def _parameter_rows(conditions: Conditions, given: Mapping[str, ArrayLike] | None, count: int) -> Array | None:
    """Return all parameters of each run, (count, n), if any are given."""
    if not given:
        return None
    model = conditions.model
    rows = np.tile(conditions.parameters, (count, 1))
    for name, value in given.items():
        column = rows_of(f"parameter {name!r}", np.reshape(value, (-1, 1)) if np.ndim(value) else value, count, 1)
        place = parameter_place(model, name, "simulate")
        rows[:, place] = [checked_parameter(model, name, number, "simulate") for number in column[:, 0]]
    return rows
