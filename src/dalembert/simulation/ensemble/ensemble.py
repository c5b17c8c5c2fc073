"""`Ensemble`: results of many runs at the same times."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...answer import Answer
from ...arrays import Array, IndexArray
from ...checks import checked
from ...errors import IntegrationError, ModelError
from ...model import Conditions, Model, State, as_model
from ...result import EventRecord, Labels, Motion, Output, Result, Stats, single_period
from ...result.outputs.output import value_of
from ...system import System
from .dense_output import RepeatedSteps
from .event_logs import EventLogs
from .files import (
    ensemble_dataset,
    ensemble_statistics,
    load_ensemble,
    loaded_dense_output,
    loaded_runs,
    save_ensemble,
)
from .friction_modes import FrictionModes
from .groups import EnsembleGroups
from .sampled_runs import SampledRuns
from .single_runs import SingleRuns

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

__all__ = ["Ensemble", "run_messages", "run_status"]


_REASONS = {
    "step_underflow": "no step is small enough",
    "not_finite": "accelerations are not finite",
    "loops_open": "the loops cannot be closed",
    "callback_failed": "its control failed",
    "newton_failed": "the equations of an implicit step cannot be solved",
    "open": "a loop is open at its end",
    "stopped": "interrupted",
    "event": "an event ended it",
    "stagnated": "its steps became too short to reach the end: a force may jump to and fro",
}
_STATUS = {"reached": "finished", "stopped": "interrupted", "event": "event"}


def run_status(ends: Sequence[str]) -> tuple[str, ...]:
    """Return the status of runs by outcomes of the core, or messages: ``"finished"``, ``"failed"``, ..."""
    return tuple(_STATUS.get(end, "failed") for end in ends)


def run_messages(ends: Sequence[str], reached: Array) -> list[str]:
    """Return why and when, s, each run ended; empty for those that finished."""
    return [
        "" if end == "reached" else f"{_REASONS[end]} at t = {t:.6g} s" if end in _REASONS else end
        for end, t in zip(ends, reached, strict=True)
    ]


class Ensemble(Answer):
    """Results of many runs at the same times.

    Attributes
    ----------
    model : Model
    t : (n,) s
    q : (B, n, nq) rad or m
    v : (B, n, nv) rad/s or m/s
    x : (B, n, nx)
        NaN after a run failed or was interrupted.
    status : tuple of str, (B,)
        ``"finished"``, ``"event"`` where one ended it, ``"failed"``, or ``"interrupted"`` by Ctrl-C.
    reached : (B,) s
        Time reached by each run.
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
        *,
        parameters: Array | None = None,
        runs: list[Result | None] | None = None,
        taken: RepeatedSteps | None = None,
        single: SingleRuns | None = None,
        modes: FrictionModes | None = None,
        events: EventLogs | None = None,
        sampled: SampledRuns | None = None,
    ) -> None:
        self.model, self.t, self.stats = conditions.model.family, t, stats
        self.q, self.v, self.x = states
        self.reached = reached
        self.status = run_status(ends)
        self._ends = list(ends)
        self._messages = run_messages(ends, reached)
        self._conditions, self._parameters, self._runs, self._taken = conditions, parameters, runs, taken
        self._single, self._modes, self._event_logs, self._sampled = single, modes, events, sampled

    def __len__(self) -> int:
        return len(self.q)

    @property
    def success(self) -> bool:
        """True if every run ended as planned: at the end of its time, or by an event."""
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

    def find_output(self, what: Any) -> Output:
        """Return unit, shape and meaning of an output."""
        return Output.of(self.model, what)

    def __getitem__(self, run: int | str) -> Any:
        """Return one run as a `Result`; or, by name, an output of all runs, (B, n, ...)."""
        return self.output(run) if isinstance(run, str) else self.run(run)

    def __iter__(self) -> Iterator[Result]:
        return (self.run(k) for k in range(len(self)))

    @checked("number")
    def run(self, number: int) -> Result:
        """Return one run up to the time reached."""
        made = self._runs[number] if self._runs is not None else None
        if made is not None:
            return made
        got = self._reached_count(number)
        if not got:
            raise IntegrationError(f"run {number} has no states: {self._messages[number]}")
        if self._single is not None:
            return self._single.result(number, (self.q[number, :got], self.v[number, :got], self.x[number, :got]))
        conditions = self._conditions_of(number)
        stored = self.t[:got], self.q[number, :got], self.v[number, :got], self.x[number, :got]
        between = self._dense_output(number, conditions)
        return Result(
            self.model,
            *stored,
            stats=self.stats,
            status=self.status[number],
            message=self._messages[number],
            conditions=None if conditions.is_default else single_period(conditions),
            dense=between,
            step_times=() if between is None else between.step_ends,
            discontinuity_times=() if between is None else between.run_discontinuity_times,
        )

    def _dense_output(self, number: int, conditions: Conditions) -> RepeatedSteps | None:
        """Return the dense output of a run of a SIMD batch."""
        if self._taken is None:
            return None
        every = self._taken.start
        start = State(q=every.q[number], v=every.v[number], t=every.t, x=every.x[number])
        return replace(
            self._taken, conditions=conditions, start=start, has_varied_model=self._runs_by_parameters.has_varied_model
        )

    def _reached_count(self, number: int) -> int:
        """Return the number of times that a run reached."""
        if not self.model.nq:
            return int((self.t <= self.reached[number]).sum())
        return int(np.isfinite(self.q[number]).all(axis=-1).sum())

    @property
    def events(self) -> list[list[EventRecord]]:
        """Events of each run, (B,) lists."""
        if self._event_logs is not None and self._modes is None:
            return [self._event_logs.records(k) for k in range(len(self))]
        return [[] if run is None else run.events for run in self._executed_runs() or [None] * len(self)]

    def _executed_runs(self) -> list[Result | None] | None:
        """Return all runs that were executed alone, or are now, as those with friction; None without events."""
        if self._single is None:
            return self._runs
        return [self.run(k) if self._reached_count(k) else None for k in range(len(self))]

    @property
    def labels(self) -> Labels:
        """Names and units of coordinates, velocities and constraint rows."""
        return Labels.of(self.model)

    @checked("show")
    def plot(self, *names: str, show: str = "auto", ax: Any = None, path: Any = None) -> list[Axes]:
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
        """Return statistics of outputs over all runs: mean, standard deviation, extremes, quantiles.

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
            ``"quantile 0.05"``, ...) and ``"time"``; ``"runs"`` counts those that reached each
            time, which enter the statistics.

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
            Of the runs.

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
        runs, taken = loaded_runs(note, arrays, conditions.model), loaded_dense_output(note, arrays, conditions)
        numbers = arrays.get("parameters")
        return cls(
            conditions, arrays["t"], states, note["ends"], reached, stats, parameters=numbers, runs=runs, taken=taken
        )

    def _conditions_of(self, number: int) -> Conditions:
        return self._runs_by_parameters[number]

    @cached_property
    def _runs_by_parameters(self) -> EnsembleGroups:
        made = EnsembleGroups(self._conditions, len(self), self._parameters)
        if self._sampled is not None:
            made.set_sampled(self._sampled)
        return made

    def output(self, name: str) -> Array:
        """Return an output of all runs, (B, n, ...); NaN where a run failed."""
        output = Output.of(self.model, name)
        if self._runs is not None or output.history is not None or output.branch:
            rows = {k: self.run(k).output(name) for k in range(len(self)) if self._reached_count(k)}
            shape = next(iter(rows.values())).shape[1:] if rows else ()
            full = np.full((len(self), len(self.t), *shape), np.nan)
            for k, row in rows.items():
                full[k, : len(row)] = row
            return full
        good = np.isfinite(self.q).all(axis=-1) & np.isfinite(self.v).all(axis=-1)
        run, time = np.nonzero(good)
        q, v, x = (part[good] for part in (self.q, self.v, self.x))

        def conditions(t: Array) -> list[tuple[IndexArray, Conditions]]:
            each = self._parameters is not None or self._conditions.control is not None
            if self._modes is not None:
                return self._modes.conditions(self._runs_by_parameters, run, self.t[time], each=each)
            if self._event_logs is not None and self._event_logs.changes_conditions:
                return self._event_logs.conditions(self._runs_by_parameters, run, self.t[time])
            if not each:
                return [(np.arange(len(run)), self._conditions)]
            return [(np.flatnonzero(run == k), self._conditions_of(k)) for k in np.unique(run)]

        values = value_of(output, Motion(self.model, self.t[time], q, v, x, conditions=conditions))
        full = np.full((*good.shape, *values.shape[1:]), np.nan)
        full[good] = values
        return full
