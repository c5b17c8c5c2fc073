"""`Rollout`: states of many runs with a control sequence each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...answer import ArrayAnswer
from ...arrays import Array, IndexArray
from ...checks import checked
from ...errors import IntegrationError
from ...model import Conditions, Model
from ...result import EventRecord, Labels, Motion, Output, Periods, Result, Stats, single_period
from ...result.outputs.output import value_of
from ..ensemble.event_logs import EventLogs
from ..ensemble.friction_modes import FrictionModes
from ..ensemble.groups import EnsembleGroups
from ..request import SimulationRequest
from .channels import Channels
from .gradients import RolloutGradient, rollout_gradient

__all__ = ["Rollout"]


@dataclass(eq=False, repr=False)
class Rollout(ArrayAnswer):
    """States of many runs at the ends of their control intervals.

    Attributes
    ----------
    model : Model
    t : (K + 1,) s
    q : (B, K + 1, nq) rad or m
    v : (B, K + 1, nv) rad/s or m/s
    x : (B, K + 1, nx)
        NaN after a run failed or was interrupted.
    status : tuple of str, (B,)
        ``"finished"``, ``"event"`` where one ended it, ``"failed"``, or ``"interrupted"`` by Ctrl-C.
    messages : list of str, (B,)
        Why a run failed, by name and time; empty if it finished.
    reached : (B,) s
        Time reached by each run.
    outputs : dict of str to (B, K + 1, ...)
        The requested outputs.
    stats : Stats
        Of all runs together.
    modes : FrictionModes or None
        Modes of dry friction and stops, if there are any.
    event_logs : EventLogs or None
        If events were given.
    is_single : bool
        Whether states, controls and parameters were given for one run, without an axis of runs.

    ``r["link_7.position"]`` gives an output of all runs, ``r[3]`` one run as a `Result`.
    """

    model: Model
    t: Array
    q: Array
    v: Array
    x: Array
    status: tuple[str, ...]
    messages: list[str]
    reached: Array
    channels: Channels = field(repr=False)
    runs: EnsembleGroups = field(repr=False)
    request: SimulationRequest = field(repr=False)
    stats: Stats = field(repr=False)
    modes: FrictionModes | None = field(default=None, repr=False)
    event_logs: EventLogs | None = field(default=None, repr=False)
    is_single: bool = False
    outputs: dict[str, Array] = field(default_factory=dict)
    _arrays: ClassVar = {
        "q": (("run", "time", "coordinate"), ""),
        "v": (("run", "time", "speed"), ""),
        "x": (("run", "time", "state"), ""),
        "controls": (("run", "control_time", "control"), ""),
        "reached": (("run",), "s"),
    }

    def __len__(self) -> int:
        return len(self.q)

    @property
    def controls(self) -> Array:
        """Control values of each run, (B, K, m), with linear hold (B, K + 1, m)."""
        assert self.runs.sequences is not None
        return self.runs.sequences

    @property
    def control_names(self) -> tuple[str, ...]:
        """Names of the columns of `controls`, (m,): velocities and inputs of elements."""
        return self.channels.names

    @property
    def success(self) -> bool:
        """True if every run ended as planned: at the end of its time, or by an event."""
        return all(status in ("finished", "event") for status in self.status)

    @property
    def message(self) -> str:
        """Outcome in one sentence: the first run that failed or was interrupted, and why."""
        for run, status in enumerate(self.status):
            if status not in ("finished", "event"):
                return f"run {run}: {self.messages[run]}"
        return self._headline()

    @property
    def notes(self) -> list[str]:
        """Deviations from the request, and decisions that were made automatically."""
        return self.stats.notes

    @property
    def events(self) -> list[list[EventRecord]]:
        """The given events of each run, (B,) lists."""
        logs = self.event_logs
        return [[] if logs is None else logs.records(k) for k in range(len(self))]

    def _headline(self) -> str:
        ended = self.status.count("event")
        failed = len(self) - self.status.count("finished") - ended
        words = {"ended by an event": ended, "not finished": failed}
        ending = ", ".join(f"{count} {word}" for word, count in words.items() if count) or "all finished"
        span = f"{len(self.t) - 1} intervals of {self.t[1] - self.t[0]:.6g} s"
        return f"{len(self)} runs, {span}, {len(self.control_names)} controls, {ending}"

    def _axes(self) -> Mapping[str, tuple[Any, str]]:
        control_times = self.t if self.channels.linear else self.t[:-1]
        names = list(self.control_names)
        return {**super()._axes(), "time": (self.t, "s"), "control_time": (control_times, "s"), "control": (names, "")}

    def __getitem__(self, what: int | str) -> Any:
        """Return one run as a `Result`; or, by name, an output of all runs, (B, K + 1, ...)."""
        return self.output(what) if isinstance(what, str) else self.run(what)

    @property
    def labels(self) -> Labels:
        """Names and units of coordinates, velocities and constraint rows."""
        return Labels.of(self.model)

    def about(self, what: Any) -> Output:
        """Return unit, shape and meaning of an output."""
        return Output.of(self.model, what)

    @checked("number")
    def run(self, number: int) -> Result:
        """Return one run up to the time reached."""
        count = int((self.t <= self.reached[number]).sum())
        if not np.isfinite(self.q[number, 0]).all():
            raise IntegrationError(f"run {number} has no states: {self.messages[number]}")
        stored = self.t[:count], self.q[number, :count], self.v[number, :count], self.x[number, :count]
        return Result(
            self.runs[number].model,
            *stored,
            stats=self.stats,
            status=self.status[number],
            message=self.messages[number],
            conditions=self._periods(number),
            events=[] if self.event_logs is None else self.event_logs.records(number),
            discontinuity_times=self.t,
        )

    def _periods(self, number: int) -> Periods:
        """Return the conditions of a run by time."""
        if self.modes is not None:
            return self.modes.periods(self.runs, number)
        if self.event_logs is not None:
            return self.event_logs.periods(self.runs[number], number)
        return single_period(self.runs[number])

    @checked("name")
    def output(self, name: str) -> Array:
        """Return an output of all runs, (B, K + 1, ...); NaN where a run failed.

        At the end of an interval the control is that of the next one, but for the last.
        """
        if name in self.outputs:
            return self.outputs[name]
        output = Output.of(self.model, name)
        good = np.isfinite(self.q).all(axis=-1) & np.isfinite(self.v).all(axis=-1)
        run, time = np.nonzero(good)
        q, v, x = (part[good] for part in (self.q, self.v, self.x))

        def conditions(t: Array) -> list[tuple[IndexArray, Conditions]]:
            if self.modes is not None:
                return self.modes.conditions(self.runs, run, t, each=True)
            if self.event_logs is not None:
                return self.event_logs.conditions(self.runs, run, t)
            bounds = np.searchsorted(run, np.arange(len(self) + 1))
            spans = [(k, np.arange(bounds[k], bounds[k + 1])) for k in range(len(self))]
            return [(rows, self.runs[k]) for k, rows in spans if len(rows)]

        values = value_of(output, Motion(self.model, self.t[time], q, v, x, conditions=conditions))
        full = np.full((*good.shape, *values.shape[1:]), np.nan)
        full[good] = values
        return full

    @checked("ax", "path")
    def plot(self, *names: str, ax: Any = None, path: Any = None) -> list[Any]:
        """Plot outputs of all runs over time, one panel for each unit, and return the matplotlib axes.

        Parameters
        ----------
        names : str
            All coordinates of the trees if left out.
        ax : matplotlib axes
            Where to draw; a new figure if left out.
        path : str or path
            File to write: .png, .pdf, .svg, ...
        """
        from ...view.plots.time_series import plot_runs

        return plot_runs(self, *names, show="auto", ax=ax, path=path)

    @checked("parameters")
    def vjp(
        self,
        *,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        x: ArrayLike | None = None,
        parameters: Sequence[str] = (),
    ) -> RolloutGradient:
        """Return gradients of a scalar of each run by its start state, controls and parameters.

        They are vector-Jacobian products by the discrete adjoint: exact derivatives of the steps as they were taken,
        loops and rigid contacts included.

        Parameters
        ----------
        q : (B, K + 1, nq)
            Derivatives of the scalar by the returned q; zero if left out.
        v : (B, K + 1, nv)
        x : (B, K + 1, nx)
        parameters : sequence of str
            Parameters of the gradient: ``("k.stiffness", "link_2.mass")``; friction and restitution of rigid contacts,
            ``"floor.friction"``, ``"floor.static_friction"``, ``"floor.restitution"``.

        Returns
        -------
        RolloutGradient
            Of each run separately. For a start, a control or a parameter that was given once for all runs, sum over
            them.

        Raises
        ------
        GradientError
            For runs without contact that have exact friction, stops or ``method="dop853"``; for events, delays and
            Python laws.
        """
        return rollout_gradient(self, q, v, x, tuple(parameters))
