"""Many runs in one call: from many states, or with many sets of parameters."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...answer import Answer
from ...checks import checked
from ...closure.starts.named_start_values import named_count
from ...errors import DalembertError, IntegrationError, ModelError
from ...model import Conditions, Model, State, as_model
from ...result import EventRecord, Labels, Motion, Output, Result, Stats, single_period
from ...result.outputs.output import value_of
from ...system import System
from ..diagnostics.angle_wrap import half_turns_of_many
from ..diagnostics.discontinuities import missed_discontinuities
from ..diagnostics.loop_drift import OPEN
from ..diagnostics.motion_notes import motion_notes
from ..diagnostics.small_motions import small_notes
from ..interrupts import Interrupt, defer_interrupt
from ..options import Options
from .dense_output import RepeatedSteps
from .files import (
    ensemble_dataset,
    ensemble_statistics,
    load_ensemble,
    loaded_runs,
    loaded_taking,
    save_ensemble,
)
from .groups import EnsembleGroups
from .simd_runs import EnsembleRunner

if TYPE_CHECKING:
    import xarray

__all__ = ["Ensemble", "batch_size", "simulate_each", "simulate_many"]

Array = NDArray[np.float64]

_SUMMED = ("steps", "rejected", "evaluations", "jacobians", "factorizations", "wall_time")
MAX_NOTES = 20  # of single runs, among those of all
UNEXPLAINED = ("crawls", "underflow", "not_finite", "unsolved")  # outcomes of which the core does not tell the cause
MOST_RETAKEN = 3  # failed runs of each of these that are made once more to learn it

_REASONS = {
    "underflow": "no step is small enough",
    "not_finite": "accelerations are not finite",
    "apart": "the loops cannot be closed",
    "host": "its control failed",
    "unsolved": "the equations of an implicit step cannot be solved",
    "open": "it came to its end with a loop open",
    "stopped": "interrupted",
    "event": "an event ended it",
    "crawls": "its steps became so short that the end is out of reach: a force may jump to and fro",
}
_STATUS = {"reached": "finished", "stopped": "interrupted", "event": "event"}


class Ensemble(Answer):
    """Runs side by side, at the same times.

    Attributes
    ----------
    model : Model
    t : (n,) s
    q : (B, n, nq) rad or m
    v : (B, n, nv) rad/s or m/s
    x : (B, n, nx)
        NaN from where a run failed or was interrupted.
    status : tuple of str, (B,)
        ``"finished"``, ``"event"`` where one ended it, ``"failed"``, or ``"interrupted"`` by Ctrl-C.
    reached : (B,) s
        Time that each run got to.
    stats : Stats
        Of all runs together.
    """

    def __init__(
        self,
        conditions: Conditions,
        t: Array,
        states: tuple[Array, Array, Array],
        ends: list[str],
        reached: Array,
        stats: Stats,
        parameters: Array | None = None,
        runs: list[Result | None] | None = None,
        taken: RepeatedSteps | None = None,
    ) -> None:
        self.model, self.t, self.stats = conditions.model.family, t, stats
        self.q, self.v, self.x = states
        self.reached = reached
        self.status = tuple(_STATUS.get(end, "failed") for end in ends)
        self._ends = list(ends)
        self._messages = [
            "" if end == "reached" else f"{_REASONS[end]} at t = {t:.6g} s" if end in _REASONS else end
            for end, t in zip(ends, reached, strict=True)
        ]
        self._conditions, self._parameters, self._runs, self._taken = conditions, parameters, runs, taken

    def __len__(self) -> int:
        return len(self.q)

    @property
    def success(self) -> bool:
        """Whether every run ended as planned: at the end of its time, or by an event."""
        return all(status in ("finished", "event") for status in self.status)

    @property
    def message(self) -> str:
        """Outcome in one sentence: the first run that failed or was interrupted, and why."""
        for number, status in enumerate(self.status):
            if status not in ("finished", "event"):
                return f"run {number}: {self._messages[number]}"
        return self._headline()

    @property
    def notes(self) -> list[str]:
        """Deviations from the request, and decisions that were made automatically."""
        return self.stats.notes

    def _headline(self) -> str:
        words = {"event": "ended by an event", "failed": "failed", "interrupted": "interrupted"}
        counts = {word: self.status.count(status) for status, word in words.items()}
        ending = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "all finished"
        span = f"{self.t[0]:.6g} to {self.t[-1]:.6g} s"
        return f"{len(self)} runs, {len(self.t)} times, {span}, {ending}"

    def about(self, what: Any) -> Output:
        """Return unit, shape and meaning of an output."""
        return Output.of(self.model, what)

    def __getitem__(self, run: int | str) -> Any:
        """Return one run as a `Result`; or, by name, an output of all runs, (B, n, ...)."""
        return self.output(run) if isinstance(run, str) else self.run(run)

    def __iter__(self) -> Iterator[Result]:
        return (self.run(k) for k in range(len(self)))

    @checked("number")
    def run(self, number: int) -> Result:
        """Return one run, as far as it got."""
        made = self._runs[number] if self._runs is not None else None
        if made is not None:
            return made
        got = self._got(number)
        if not got:
            raise IntegrationError(f"run {number} has no states: {self._messages[number]}")
        conditions = self._conditions_of(number)
        stored = self.t[:got], self.q[number, :got], self.v[number, :got], self.x[number, :got]
        between = self._between(number, conditions)
        return Result(
            self.model,
            *stored,
            stats=self.stats,
            status=self.status[number],
            message=self._messages[number],
            conditions=None if conditions.as_described else single_period(conditions),
            dense=between,
            steps=() if between is None else between.step_ends,
            breaks=() if between is None else between.run_breaks,
        )

    def _between(self, number: int, conditions: Conditions) -> RepeatedSteps | None:
        """Return the dense output of a run that was made in lanes."""
        if self._taken is None:
            return None
        every = self._taken.start
        start = State(q=every.q[number], v=every.v[number], t=every.t, x=every.x[number])
        return replace(self._taken, conditions=conditions, start=start, apart=self._members.apart)

    def _got(self, number: int) -> int:
        """Return how many of the times a run has come to."""
        if not self.model.nq:
            return int((self.t <= self.reached[number]).sum())
        return int(np.isfinite(self.q[number]).all(axis=-1).sum())

    @property
    def events(self) -> list[list[EventRecord]]:
        """What happened in each run, (B,) lists."""
        return [[] if run is None else run.events for run in self._runs or [None] * len(self)]

    @property
    def labels(self) -> Labels:
        """Names and units of coordinates, speeds and constraint rows."""
        return Labels.of(self.model)

    @checked("show")
    def plot(self, *names: str, show: str = "auto", ax: Any = None, path: Any = None) -> list[Any]:
        """Plot outputs of all runs over time, one panel for each unit, and return the matplotlib axes.

        Parameters
        ----------
        names : str
            All coordinates of the trees if left out.
        show : str
            ``"runs"``: a line for each; ``"bands"``: the median within bands of 5 to 95 % and of all; ``"auto"``: lines
            of up to 20 runs.
        ax : matplotlib axes
            Where to draw; a new figure if left out.
        path : str or path
            File to write: .png, .pdf, .svg, ...
        """
        from ...view.plots.time_series import plot_runs

        return plot_runs(self, *names, show=show, ax=ax, path=path)

    @checked("names")
    def to_xarray(self, names: Sequence[str] = ()) -> xarray.Dataset:
        """Return an xarray Dataset over runs and times: q, v, x, the parameters of each run, and outputs.

        Parameters
        ----------
        names : sequence of str
            Outputs to add, each as a variable of its name; vectors have the dimension ``"axis"``.
        """
        return ensemble_dataset(self, names)

    @checked("names", "quantiles")
    def statistics(
        self, names: str | Sequence[str], quantiles: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95)
    ) -> xarray.Dataset:
        """Return what outputs are over all runs: mean, standard deviation, extremes, quantiles.

        Parameters
        ----------
        names : str or sequence of str
            Outputs.
        quantiles : sequence of float
            Parts of the runs that lie below.

        Returns
        -------
        xarray.Dataset
            For each output a variable over ``"statistic"`` (``"mean"``, ``"std"``, ``"least"``, ``"largest"``,
            ``"quantile 0.05"``, ...) and ``"time"``; ``"runs"`` counts those that got so far, which are all that
            enter.

        Examples
        --------
        >>> import dalembert as da
        >>> s = da.System("pendulum")
        >>> bob = s.body("bob", da.rod(length=1.0, mass=2.0))
        >>> _ = s.connect("A", da.Revolute("y"), s.ground, bob)
        >>> import numpy as np
        >>> runs = da.simulate(s, 0.5, state={"A": np.linspace(0.1, 0.3, 21)}, times=[0.0, 0.5])
        >>> found = runs.statistics("A.position")["A.position"]
        >>> found.sel(statistic=["mean", "quantile 0.95"]).values[:, 0].round(3)
        array([0.2 , 0.29])
        """
        if not len(names):
            raise ModelError("statistics", "names", names, "name one output or more")
        return ensemble_statistics(self, [names] if isinstance(names, str) else names, quantiles)

    @checked("names")
    def save(self, path: str | os.PathLike[str], names: Sequence[str] = ()) -> None:
        """Write all runs to a file, ``.nc`` (NetCDF) or ``.zarr``, as `Result.save` does with one.

        Parameters
        ----------
        path : str or path
        names : sequence of str
            Outputs to store besides, for other programs.
        """
        save_ensemble(self, path, names)

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Model | System) -> Ensemble:
        """Read an ensemble that `save` wrote.

        Parameters
        ----------
        path : str or path
        model : Model or System
            That the runs are of.

        Raises
        ------
        FileError
            If the file is damaged, or not one of an ensemble.
        ModelError
            If the model is not the one of the file.
        """
        conditions, note, arrays = load_ensemble(path, as_model(model))
        states = (arrays["q"], arrays["v"], arrays["x"])
        stats, reached = Stats(**note["stats"]), np.array(note["reached"], dtype=float)
        runs, taken = loaded_runs(note, arrays, conditions.model), loaded_taking(note, arrays, conditions)
        numbers = arrays.get("parameters")
        return cls(conditions, arrays["t"], states, note["ends"], reached, stats, numbers, runs, taken)

    def _conditions_of(self, number: int) -> Conditions:
        return self._members[number]

    @cached_property
    def _members(self) -> EnsembleGroups:
        return EnsembleGroups(self._conditions, len(self), self._parameters)

    def output(self, name: str) -> Array:
        """Return an output of all runs, (B, n, ...); NaN where a run failed."""
        output = Output.of(self.model, name)
        if self._runs is not None or output.history is not None or output.branch:
            rows = {k: self.run(k).output(name) for k in range(len(self)) if self._got(k)}
            shape = next(iter(rows.values())).shape[1:] if rows else ()
            full = np.full((len(self), len(self.t), *shape), np.nan)
            for k, row in rows.items():
                full[k, : len(row)] = row
            return full
        good = np.isfinite(self.q).all(axis=-1) & np.isfinite(self.v).all(axis=-1)
        run, time = np.nonzero(good)
        q, v, x = (part[good] for part in (self.q, self.v, self.x))

        def conditions(t: Array) -> list[tuple[NDArray[np.intp], Conditions]]:
            if self._parameters is None:
                return [(np.arange(len(run)), self._conditions)]
            return [(np.flatnonzero(run == k), self._conditions_of(k)) for k in np.unique(run)]

        values = value_of(output, Motion(self.model, self.t[time], q, v, x, conditions=conditions))
        full = np.full((*good.shape, *values.shape[1:]), np.nan)
        full[good] = values
        return full


def batch_size(
    model: Model, state: State | Mapping[str, Any] | None, parameters: Mapping[str, ArrayLike] | None
) -> int | None:
    """Return how many runs are asked for; None for one."""
    if state is not None and not isinstance(state, (State, Mapping)):
        raise ModelError("simulate", "state", state, "give a da.State(q=..., v=...), or a dict of name to value")
    numbers = parameters or {}
    sizes = {f"parameter {name!r}": len(np.asarray(value)) for name, value in numbers.items() if np.ndim(value)}
    if isinstance(state, Mapping):
        named = named_count(model, state)
        sizes |= {} if named is None else {"state": named}
    elif state is not None:
        sizes |= {f"state.{part}": len(x) for part, x in (("q", state.q), ("v", state.v)) if np.ndim(x) == 2}
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
    state: State | Mapping[str, Any] | None,
    parameters: Mapping[str, ArrayLike] | None,
    options: Options,
    on_error: str,
    breaks: Array,
    one: Callable[[Conditions, State], Result],
    said: Sequence[str] = (),
    limits: bool = True,
) -> Ensemble:
    """Return `count` runs; see `simulate`. `one` makes a single one, `error_location`: notes so far."""
    began, model = time.perf_counter(), conditions.model
    members = EnsembleGroups.of(conditions, parameters, count)
    groups = members.groups()
    q, v, x, notes = members.starts(state, t_start, limits)
    notes = [*said, *notes]
    wanted = np.linspace(t_start, t_end, 101) if times is None else times
    with Interrupt() as interrupt:
        made = EnsembleRunner(members, groups, options, (t_start, t_end), wanted, (q, v, x), breaks, interrupt).make()
    ends, reached, counts, states = made.outcomes, made.reached, made.counts, made.states
    notes += made.notes
    for run, error in made.errors.items():
        ends[run] = str(error)
    for group in groups if options.project else ():
        done = group.rows[[ends[run] == "reached" for run in group.rows]]
        q_1, v_1, x_1 = (np.ascontiguousarray(part[done, -1]) for part in states)
        for run in done[members.gaps(group, done, float(wanted[-1]), q_1, v_1, x_1) > OPEN]:
            ends[run] = "open"
    if not interrupt.pressed:
        done = np.array([run for run, end in enumerate(ends) if end == "reached"], dtype=np.intp)

        def alone(k: int) -> Result:
            run = int(done[k])
            return one(members[run], State(q=q[run], v=v[run], t=t_start, x=x[run]))

        def model_of(k: int) -> Model:
            return members[int(done[k])].model if members.apart else model

        mine = states[0][done], states[1][done], states[2][done]
        for k, words in half_turns_of_many(model, wanted, mine, model_of, alone).items():
            ends[done[k]] = words
    if not interrupt.pressed:

        def again(k: int) -> Result:
            return one(members[k], State(q=q[k], v=v[k], t=t_start, x=x[k]))

        notes += _once_more(again, wanted, ends, reached, states)
    total = counts.sum(axis=0).astype(int)
    implicit = int((counts[:, 3] > 0).sum()) if options.watch else 0
    if implicit:
        notes.append(f"stability held explicit steps of {implicit} runs back; they went on with radau")
    missed = np.flatnonzero(counts[:, 4])
    if len(missed):
        notes.append(
            f"in {len(missed)} runs, the first of them {missed[0]}, switching functions changed sign and back within "
            "steps of fixed length: what they switch was stepped over; give a shorter step, or a method that chooses "
            "its steps"
        )
    every = [np.ascontiguousarray(part.reshape(part.shape[0] * part.shape[1], part.shape[2])) for part in states]
    motion = Motion(model, np.tile(wanted, count), every[0], every[1], every[2], conditions=single_period(conditions))
    notes += motion_notes(motion, [conditions], asking=not interrupt.pressed)
    notes += small_notes(conditions, options, states[0], states[1], states[2])
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
    if on_error != "return":
        defer_interrupt(interrupt)
    every_start = State(q=q, v=v, t=t_start, x=x)
    taken = RepeatedSteps(conditions, options, breaks, (t_start, t_end), every_start, together=made.together)
    ensemble = Ensemble(conditions, wanted, states, ends, reached, stats, members.numbers, taken=taken)
    if len(made.errors) == count and on_error != "return":  # there is nothing but its error
        error = made.errors[0]
        if isinstance(error, DalembertError):
            error.result = ensemble
        raise error
    if ends[0] == "reached" and not interrupt.pressed:
        stats.notes.extend(missed_discontinuities(conditions, options, wanted, *(part[0] for part in states)))
    return ensemble


def _once_more(
    again: Callable[[int], Result], t: Array, ends: list[str], reached: Array, states: tuple[Array, Array, Array]
) -> list[str]:
    """Take runs that failed for an unknown reason once more, alone and watched; return what is to be said.

    Those that slowed down may come to their end. Of each outcome as many are taken as fail for the first few times.
    """
    notes = []
    for outcome in UNEXPLAINED:
        failed: list[int] = []
        rest = [k for k, end in enumerate(ends) if end == outcome]
        while rest and len(failed) < MOST_RETAKEN:
            k = rest.pop(0)
            run = again(k)
            if run.status == "finished":
                ends[k], reached[k] = "reached", t[-1]
                for part, rows in zip(states, (run.q, run.v, run.x), strict=True):
                    part[k] = rows
            elif run.status == "interrupted":
                break
            else:
                ends[k] = run.message
                failed.append(k)
        if failed:
            more = f" and {len(rest)} more" if rest else ""
            notes.append(f"run{'s' * (len(failed) > 1)} {', '.join(map(str, failed))}{more}: {ends[failed[0]]}")
    return notes


def _got_to(run: Result) -> float:
    """Return how far a run got, s: its last state, or the event that ended it."""
    return float(run.events[-1].t if run.status == "event" else run.t[-1])


def simulate_each(
    one: Callable[[Conditions, State], Result],
    interrupt: Interrupt,
    conditions: Conditions,
    count: int,
    t_start: float,
    times: Array,
    state: State | Mapping[str, Any] | None,
    parameters: Mapping[str, ArrayLike] | None,
    said: Sequence[str] = (),
    limits: bool = True,
) -> Ensemble:
    """Return `count` runs that are made one after the other, because each changes its conditions on its way.

    Parameters
    ----------
    one : function
        From conditions and a state to a run, which may have failed on its way.
    interrupt : Interrupt
        Of these runs; once a key was pressed, no other is begun.
    """
    model = conditions.model
    members = EnsembleGroups.of(conditions, parameters, count)
    q, v, x, notes = members.starts(state, t_start, limits)
    sizes = (model.nq, model.nv, model.nx)
    states = [np.full((count, len(times), size), np.nan) for size in sizes]
    runs: list[Result] = []
    for k in range(count):
        if interrupt.pressed:
            break
        result = one(members[k], State(q=q[k], v=v[k], t=t_start, x=x[k]))
        for part, rows in zip(states, (result.q, result.v, result.x), strict=True):
            part[k, : len(rows)] = rows
        runs.append(result)
    total = [sum(getattr(run.stats, name) for run in runs) for name in _SUMMED]
    each = [f"run {k}: {note}" for k, run in enumerate(runs) for note in run.stats.notes]
    every = [*said, *notes, *each[:MAX_NOTES]]
    stats = replace(runs[0].stats, **dict(zip(_SUMMED, total, strict=True)), notes=every)
    if len(each) > MAX_NOTES:
        stats.notes.append(f"and {len(each) - MAX_NOTES} more; see ensemble[k].stats.notes")
    named = {"finished": "reached", "interrupted": "stopped", "event": "event"}
    left = count - len(runs)  # not begun
    ends = [*(named.get(run.status, run.message) for run in runs), *["stopped"] * left]
    reached = np.array([*map(_got_to, runs), *[t_start] * left])
    every_run = [*runs, *[None] * left]
    whole = states[0], states[1], states[2]
    return Ensemble(conditions, times, whole, ends, reached, stats, members.numbers, every_run)
