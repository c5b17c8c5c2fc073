"""Result of a simulation: states over time, outputs by name, statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..answer import Answer
from ..arrays import Array, BoolArray
from ..checks import checked, finite_array, finite_number, shape_of
from ..errors import DalembertError, ModelError
from ..model import Model, State
from ..model.interpolation import interpolate
from ..model.undetermined_efforts import undetermined_efforts
from .contact_points import ContactSource, least_norm_shares
from .contact_table import ContactTable, table_of_points
from .display import ResultDisplay
from .export import ResultExport
from .extrema import Extremum, extremum
from .outputs.cumulative import continuous, work_and_loss
from .outputs.driven_motion import PrescribedMotion
from .outputs.lookup import names
from .outputs.motion import Motion, Periods
from .outputs.output import Output, value_of
from .records import TIME, Axis, EventRecord, Labels, Stats
from .signal_analysis import SignalAnalysis
from .storage.columns import flat_columns
from .storage.output_metadata import read_output_metadata

__all__ = ["EventRecord", "Labels", "Result", "Stats"]

Dense = Callable[[Array], tuple[Array, Array, Array]]

_STATUS = ("finished", "event", "interrupted", "failed")


class Result(ResultDisplay, ResultExport, SignalAnalysis, Answer):
    """States over time, and outputs by name.

    Parameters
    ----------
    model : Model or None
        None for a result read from a file without one: it then has its stored columns only.
    t : (n,) s
        In order; where the state jumps, a time occurs twice.
    q : (n, nq) rad or m
    v : (n, nv) rad/s or m/s
    x : (n, nx)
        States of elements; none if left out.
    stats : Stats
    status : str
        ``"finished"``, ``"event"``, ``"interrupted"`` or ``"failed"``.
    message : str
        Reason of the end, if not as planned.
    events : sequence of EventRecord, or a function that gives them
    dense : callable
        From times (k,) to q (k, nq), v (k, nv), x (k, nx) between the stored states. If left out, states between are
        interpolated by polynomials through positions, velocities and accelerations.
    conditions : Periods
        Conditions by time; those of the description if left out.
    labels, stored : Labels, dict of str to array
        Names, and columns by name, of a result read from a file.
    step_times, discontinuity_times : (k,) s, or functions that give them
        Ends of steps, and discontinuity times: integrals over time are computed between them.
    prescribed : bool
        Fully driven motion: accelerations follow from drives and loops, and no inertia is needed.
    axis : Axis
        Meaning of t: time in seconds if left out, or values of a coordinate driven with unit velocity.

    Attributes
    ----------
    resume_point : dict or None
        Data of an interrupted run, with which `simulate` resumes it.
    contact_sources : tuple of ContactSource
        Contact models of the run, which give the contact points; see `touching`.

    Examples
    --------
    >>> import dalembert as da
    >>> s = da.System("spinning", gravity=(0, 0, 0))
    >>> rod = s.body("rod", da.rod(length=2.0, mass=3.0))
    >>> _ = s.connect("A", da.Revolute("z"), s.ground, rod)
    >>> t = np.linspace(0.0, 1.0, 5)
    >>> result = Result(s.compile(), t, 2.0 * t[:, None], np.full((5, 1), 2.0))
    >>> result["A.position"]
    array([0. , 0.5, 1. , 1.5, 2. ])
    >>> result["rod.at(2, 0, 0).velocity.norm"]
    array([4., 4., 4., 4., 4.])
    >>> result
    <Result 'spinning': 5 times, 0 to 1 s, finished>
    """

    message: str
    _may_fall: ClassVar[bool] = False  # whether times may also be given from the last to the first

    def __init__(
        self,
        model: Model | None,
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        x: ArrayLike | None = None,
        *,
        stats: Stats | None = None,
        status: str = "finished",
        message: str = "",
        events: Iterable[EventRecord] | Callable[[], list[EventRecord]] = (),
        dense: Dense | None = None,
        conditions: Periods | None = None,
        labels: Labels | None = None,
        stored: dict[str, Array] | None = None,
        step_times: ArrayLike | Callable[[], Array] = (),
        discontinuity_times: ArrayLike | Callable[[], Array] = (),
        prescribed: bool = False,
        axis: Axis = TIME,
    ) -> None:
        if model is None and labels is None:
            raise ModelError("result", "model", None, "give the model that the states belong to")
        self.model, self.axis = model, axis
        self._labels = labels
        self.t = _frozen("t", t, ())
        n = len(self.t)
        if not n or not _in_order(self.t, self._may_fall):
            raise ModelError("result", "t", t, "give at least one time, in order")
        self.conditions = conditions
        if labels is not None:
            nq, nv = len(labels.coordinates), len(labels.speeds)
        else:
            assert model is not None
            nq, nv = model.nq, model.nv
        self.q, self.v = _frozen("q", q, (n, nq)), _frozen("v", v, (n, nv))
        states = np.zeros((n, 0 if model is None else model.nx)) if x is None else np.asarray(x)
        self.x = _frozen("x", states, (n, states.shape[-1] if model is None else model.nx))
        if status not in _STATUS:
            raise ModelError("result", "status", status, f"use one of {', '.join(map(repr, _STATUS))}")
        self.stats = Stats() if stats is None else stats
        self.status, self.message = status, message
        self._events = events if callable(events) else list(events)
        self.dense = dense
        self._step_times, self._discontinuity_times = step_times, discontinuity_times
        self.prescribed = prescribed
        self._stored = dict(stored or {})
        self._origin: Result | None = None
        self.ends_between = False  # whether the last state is that of an event between output times
        self.resume_point: dict[str, Any] | None = None
        self.contact_sources: tuple[ContactSource, ...] = ()
        self._kept: dict[str, Any] = {}  # of a result read without its model: contents of the file

    # ---- states

    def __len__(self) -> int:
        return len(self.t)

    @property
    def success(self) -> bool:
        """True if the run ended as planned: at the end of its time, or by an event."""
        return self.status in ("finished", "event")

    @property
    def notes(self) -> list[str]:
        """Deviations from the request, and decisions that were made automatically."""
        return self.stats.notes

    def _subject(self) -> str:
        return self.labels.system

    def _headline(self) -> str:
        ends = self.axis.span(self.t[0], self.t[-1]) if len(self) > 1 else f"{self.t[0]:.6g}{self.axis.ending}"
        span = ends if self.axis.is_time else f"{self.axis.name} {ends}"
        count = f"{len(self)} {'time' if self.axis.is_time else 'position'}{'s' if len(self) > 1 else ''}"
        reason = f" ({self.message})" if self.message else ""
        method = f"; {self.stats.method}, {self.stats.steps} steps" if self.stats.method else ""
        return f"{count}, {span}, {self.status}{reason}{method}"

    @cached_property
    def labels(self) -> Labels:
        """Names and units of coordinates, velocities and constraint rows."""
        if self._labels is not None:
            return self._labels
        return Labels.of(self.require_model())

    @cached_property
    def events(self) -> list[EventRecord]:
        """Events that occurred, in order."""
        return self._events() if callable(self._events) else self._events

    @cached_property
    def step_times(self) -> Array:
        """Ends of the steps of the run, (k,) s."""
        return np.asarray(self._step_times() if callable(self._step_times) else self._step_times, dtype=float)

    @cached_property
    def discontinuity_times(self) -> Array:
        """Discontinuity times of the run, (k,) s."""
        return np.asarray(
            self._discontinuity_times() if callable(self._discontinuity_times) else self._discontinuity_times,
            dtype=float,
        )

    @property
    def final_state(self) -> State:
        """The last state."""
        return State(self.q[-1].copy(), self.v[-1].copy(), float(self.t[-1]), self.x[-1].copy())

    @overload
    def at(self, t: float) -> State: ...
    @overload
    def at(self, t: Sequence[float] | NDArray[Any]) -> Result: ...
    def at(self, t: ArrayLike) -> State | Result:
        """Return the state at a time, as a `State`; or at many times in order, as a `Result` at these.

        Parameters
        ----------
        t : float or (k,) s
            From the first to the last time of the result. At a jump the state after it is returned.
        """
        if shape_of(t) == ():
            time = finite_number(t, item="result.at", field="t")
            q, v, x = self._states(self._within(np.array([time])))
            return State(q[0], v[0], time, x[0])
        times = self._within(finite_array(t, shape_of(t) or (), item="result.at", field="t"))
        other = self._like(times, *self._states(times))
        other.stats, other.status, other.message = self.stats, self.status, self.message
        other._origin = self
        return other

    def _like(self, t: Array, q: Array, v: Array, x: Array) -> Result:
        """Return a result of the same motion at other times."""
        other = Result(
            self.model,
            t,
            q,
            v,
            x,
            events=self._events,
            dense=self.dense or self._states,
            conditions=self.conditions,
            labels=self._labels,
            step_times=self.step_times,
            discontinuity_times=self.discontinuity_times,
            prescribed=self.prescribed,
            axis=self.axis,
        )
        other.contact_sources = self.contact_sources
        return other

    def _within(self, times: Array) -> Array:
        first, last = self.t[0], self.t[-1]
        slack = 1e-12 * (last - first)
        if times.ndim != 1 or not ((times >= first - slack) & (times <= last + slack)).all():
            what = "times" if self.axis.is_time else f"values of {self.axis.name}"
            raise ModelError("result.at", "t", times, f"give {what} from {self.axis.span(first, last)}")
        return np.clip(times, first, last)

    def _states(self, times: Array) -> tuple[Array, Array, Array]:
        """Return q, v and x at times within the result; the stored states at stored times."""
        if not len(times):
            return self.q[:0].copy(), self.v[:0].copy(), self.x[:0].copy()
        if self.dense is not None:
            q, v, x = (np.array(part, dtype=float) for part in self.dense(times))
        else:
            a = self._columns_or_none("a")
            q, v = interpolate(self.t, self.q, self.v, a, times, self.labels.coordinates, self.labels.speeds)
            x = np.array([np.interp(times, self.t, column) for column in self.x.T]).reshape(-1, len(times)).T.copy()
        stored = np.searchsorted(self.t, times, side="right") - 1
        known = self.t[stored] == times
        q[known], v[known], x[known] = self.q[stored[known]], self.v[stored[known]], self.x[stored[known]]
        return q, v, x

    # ---- outputs

    @property
    def a(self) -> Array:
        """Accelerations, (n, nv) rad/s2 or m/s2."""
        return self["a"]

    @property
    def lam(self) -> Array:
        """Multipliers of the constraint rows, (n, nc) N or N m."""
        return self["lam"]

    def __getitem__(self, name: str) -> Array:
        """Return the output of that name at all times, (n, ...); `names()` lists all names."""
        if not isinstance(name, str):
            raise ModelError("result", "output", name, "give a name; for a function of the state use result.output(f)")
        return self.output(name)

    def __contains__(self, name: object) -> bool:
        """Return whether there is an output of that name: ``"A.effort" in result``."""
        if not isinstance(name, str):
            return False
        if self.model is None:
            return name in self._stored_columns()
        try:
            Output.of(self.model, name)
        except ModelError:
            return False
        return True

    @checked("times")
    def output(self, what: str | Callable[[State], ArrayLike] | Output, times: ArrayLike | None = None) -> Array:
        """Return an output at all times, or at given ones, (n, ...).

        Parameters
        ----------
        what : str, function or Output
            A name, or a function from one `State` to a number or an array.
        times : (k,) s
            In order; those of the result if left out.

        Raises
        ------
        ModelError
            If there is no such output; lists similar names.
        """
        if self.model is None:
            return self._stored_output(what, times)
        output = Output.of(self.model, what)
        if output.base is not None:
            return output.factor * self.output(output.base, times)
        needs_all = bool(output.history or output.branch or (output.whole and output.whole.branch))
        if times is not None:
            requested = self._within(np.array(times, dtype=float))
            if not len(requested):
                raise ModelError("output", "times", times, "give one or more times, s")
            if not needs_all:
                return self._values(output, self._motion_at(requested))
            merged = self.with_times(requested)
            return merged.output(output)[np.searchsorted(merged.t, requested, side="right") - 1]
        if needs_all and self._origin is not None:
            return self._origin.output(output, self.t)
        return self._values(output, self._motion)

    def max(self, name: str) -> Extremum:
        """Return the largest value of an output over time, between stored times too, and its time.

        ``result["A.effort"].max()`` is the largest at stored times only.

        Examples
        --------
        >>> import dalembert as da
        >>> s = da.System("thrown")
        >>> _ = s.connect("Z", da.Prismatic("z"), s.ground, s.body("ball", da.sphere(0.1, mass=1.0)))
        >>> result = da.simulate(s, 1.0, state={"Z.speed": 4.0}, times=[0.0, 0.3, 1.0])
        >>> value, t = result.max("Z.position")
        >>> round(value, 6), round(t, 6), round(float(result["Z.position"].max()), 6)  # v^2 / 2g, v / g
        (0.815494, 0.407747, 0.75855)
        """
        return extremum(self, name, 1.0)

    def min(self, name: str) -> Extremum:
        """Return the smallest value of an output over time, between stored times too, and its time; see `max`."""
        return extremum(self, name, -1.0)

    def outputs(self, *names: str) -> dict[str, Array]:
        """Return several outputs by name."""
        return {name: self[name] for name in names}

    def names(self) -> list[str]:
        """Return the names of all outputs, without components and points."""
        if self.model is None:
            return list(self._stored_columns())
        return names(self.model)

    def describe(self, name: str) -> str:
        """Return unit, shape and meaning of an output on one line, and components that are not determined."""
        if self.model is None:
            known = self.find_output(name)
            if known is None:
                self._stored_output(name, None)  # raises an error for outputs that are not stored
                return f"{name}: of unknown unit; the file does not describe it"
            return known.describe()
        text = Output.of(self.model, name).describe()
        determined = self.is_determined(name)
        if determined.all():
            return text
        part = f" in {100 * float(np.mean(~determined)):.3g} % of its numbers" if determined.any() else ""
        if undetermined_efforts(self.require_model(), self.q[0], float(self.t[0])).any():
            return f"{text}; not unique{part}: several drives prescribe the same motion, and share the effort"
        return f"{text}; not unique{part}: redundant connections share it; the values of least norm are given"

    def find_output(self, what: Any) -> Output | None:
        """Return unit, shape and meaning of an output.

        For a result read from a file without its model: from the file; None if it has no such entry.
        """
        if self.model is None:
            return read_output_metadata(self.labels, self._kept.get("outputs", {}), what)
        return Output.of(self.model, what)

    def is_determined(self, name: str) -> BoolArray:
        """Return a mask of the determined values of an output, (n, ...); loads shared by redundant connections are not.

        Examples
        --------
        >>> import dalembert as da
        >>> from dalembert.library.mechanisms import door
        >>> result = da.simulate(door(), 0.1, times=[0.0, 0.1])
        >>> result.is_determined("low.force")
        array([[False, False, False],
               [False, False, False]])
        """
        output = Output.of(self.require_model(), name)
        if output.determined is None:
            return np.ones((len(self), *(output.shape or ())), dtype=bool)
        return output.determined(self._motion)

    @property
    def cut_joints(self) -> tuple[str, ...]:
        """Cut joints with DOF: their motion is in outputs, not in q and v."""
        slices = self.require_model().compiled.names.cut_v
        return tuple(name for name, span in slices.items() if span.stop > span.start)

    @cached_property
    def _motion(self) -> Motion:
        known = {name: self._stored[name] for name in self._stored.keys() & {"a", "tau", "lam"}}
        motion = self._kind(self.require_model(), self.t, self.q, self.v, self.x, known, self.conditions)
        motion.contact_sources = self.contact_sources
        return motion

    def _motion_at(self, times: Array) -> Motion:
        motion = self._kind(self.require_model(), times, *self._states(times), conditions=self.conditions)
        motion.contact_sources = self.contact_sources
        return motion

    def touching(self, t: float) -> ContactTable:
        """Return the contact points that carry load at a time, s, as a table.

        Examples
        --------
        >>> import dalembert as da
        >>> s = da.System("resting")
        >>> crate = s.body("crate", da.box(0.2, 0.2, 0.2, mass=1.0))
        >>> s.place("crate", position=(0, 0, 0.1))
        >>> _ = s.contact("floor", da.plane(), crate, friction=0.4)
        >>> result = da.simulate(s, 0.1, contact="steps")
        >>> len(result.touching(0.1))
        4
        """
        time = finite_number(t, item="result.touching", field="t")
        motion = self._motion_at(self._within(np.array([time])))
        model, found = self.require_model(), motion.contact_points
        if model.contacts is not None and not all(
            getattr(source, "has_shares", True) for source in self.contact_sources
        ):
            found, _ = least_norm_shares(found, model.contacts.bodies)
        return table_of_points(model, time, found)

    @property
    def _has_control(self) -> bool:
        """True if joint forces or inputs were external."""
        return self.conditions is not None and any(one.control is not None for one in self.conditions.conditions)

    @property
    def _kind(self) -> type[Motion]:
        return PrescribedMotion if self.prescribed else Motion

    def require_model(self) -> Model:
        """Return the model of the motion; raise a `ModelError` if the result was read without one."""
        if self.model is None:
            raise ModelError(
                "result", "model", None, "it was read from a file without a model: use Result.load(path, model=...)"
            )
        return self.model if self.conditions is None else self.conditions.model or self.model

    def _values(self, output: Output, motion: Motion) -> Array:
        if output.history is not None:
            return output.history(self)
        if output.whole is not None and output.whole.branch:
            return self._values(output.whole, motion)[:, output.index]
        values = value_of(output, motion)
        return continuous(self, output, values) if output.branch else values

    @cached_property
    def _works(self) -> tuple[Array, Array]:
        if {"energy.work", "energy.dissipated"} <= self._stored.keys():
            return self._stored["energy.work"], self._stored["energy.dissipated"]
        return work_and_loss(self)

    @checked("times")
    def with_times(self, times: ArrayLike) -> Result:
        """Return the result with the states at more times (k,) s, in order, among its own."""
        requested = self._within(np.array(times, dtype=float))
        fresh = requested[~np.isin(requested, self.t)]
        order = np.argsort(np.concatenate([self.t, fresh]), kind="stable")
        own = (self.t, self.q, self.v, self.x)
        columns = (np.concatenate(pair)[order] for pair in zip(own, (fresh, *self._states(fresh)), strict=True))
        other = self._like(*columns)
        other._origin = self._origin
        return other

    # ---- results without a model

    def _columns_or_none(self, name: str) -> Array | None:
        """Return accelerations, joint forces or multipliers; None if unknown, as after a failed run."""
        if self.model is None:
            return self._stored.get(name)
        try:
            return self[name]
        except DalembertError:
            return None

    def _stored_output(self, what: Any, times: ArrayLike | None) -> Array:
        if times is not None or not isinstance(what, str):
            self.require_model()
        columns = self._stored_columns()
        if what not in columns:
            remedy = f"the file holds {', '.join(map(repr, list(columns)[:8]))}; for others load it with model=..."
            raise ModelError("result", "output", what, remedy)
        return columns[what].copy()

    def _stored_columns(self) -> dict[str, Array]:
        whole = {"q": self.q, "v": self.v, "x": self.x}
        return whole | self._stored | flat_columns(self)


def _in_order(t: Array, may_fall: bool) -> bool:
    """Return whether times (n,) are finite and in order, which may also be from the last to the first."""
    first, last = float(t[0]), float(t[-1])
    if not (isfinite(first) and isfinite(last)):
        return False
    begins, ends = (t[:-1], t[1:]) if first <= last or not may_fall else (t[1:], t[:-1])
    return len(t) == 1 or not np.count_nonzero(~(begins <= ends))


def _frozen(field: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a read-only copy of the given shape or, for (), of one dimension."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError("result", field, value, "give an array of real numbers") from None
    if (shape and array.shape != shape) or (not shape and array.ndim != 1):
        raise ModelError("result", f"the shape of {field}", array.shape, f"give {shape or '(n,)'}")
    array.flags.writeable = False
    return array
