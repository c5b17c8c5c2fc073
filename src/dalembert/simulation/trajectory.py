"""Trajectory of a run: recorded states, and segments of equal method and conditions.

A `Result` keeps it for dense output and for the conditions at its times.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, IndexArray
from ..errors import IntegrationError
from ..model import Conditions, Model
from ..result import Periods
from .branch_log import BranchLog
from .options import Options

if TYPE_CHECKING:
    from .. import _core
    from .contact.contact_events import ContactEvents

__all__ = ["Records", "Segment", "Trajectory"]


@dataclass
class Records:
    """Recorded rows of t, q, v and x, in parts."""

    parts: list[tuple[Array, Array, Array, Array]] = field(default_factory=list)

    def add(self, t: float, q: Array, v: Array, x: Array) -> None:
        """Add one row."""
        self.extend(np.array([t]), q[None].copy(), v[None].copy(), x[None].copy())

    def extend(self, t: Array, q: Array, v: Array, x: Array) -> None:
        """Add rows."""
        if len(t):
            self.parts.append((t, q, v, x))

    def replace_last(self, t: float, q: Array, v: Array, x: Array) -> None:
        """Replace the last row, which was added alone."""
        self.parts.pop()
        self.add(t, q, v, x)

    def drop_after(self, t: float) -> None:
        """Drop states later than a time, s."""
        while self.parts and self.last_time() > t:
            times, *others = self.parts.pop()
            kept = times <= t
            self.extend(times[kept], *(part[kept] for part in others))

    def last(self) -> tuple[float, Array, Array, Array]:
        """Return the last row."""
        t, q, v, x = self.parts[-1]
        return float(t[-1]), q[-1], v[-1], x[-1]

    def last_time(self) -> float:
        """Return the time of the last row."""
        return float(self.parts[-1][0][-1])

    def keep_last(self) -> None:
        """Drop all rows but the last."""
        self.parts = [tuple(part[-1:].copy() for part in self.arrays())]  # type: ignore[list-item]

    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """Return all rows."""
        if len(self.parts) > 1:
            self.parts = [tuple(np.concatenate(column) for column in zip(*self.parts, strict=True))]  # type: ignore[list-item]
        return self.parts[0]


class ConditionsSource(Protocol):
    """Conditions that are made when they are read."""

    @property
    def model(self) -> Model:
        """The model of the conditions."""

    def __call__(self) -> Conditions: ...


class Segment:
    """A part of a run with the same conditions and method.

    Parameters
    ----------
    begin : float, s
    options : Options
    conditions : Conditions or ConditionsSource
    discontinuity_times : (n,) s
        Discontinuity times, at which steps ended.
    usual_min_pivot : float
        Of the loops, from the integrator.
    """

    __slots__ = ("_conditions", "begin", "discontinuity_times", "options", "spare", "usual_min_pivot")

    def __init__(
        self,
        begin: float,
        options: Options,
        conditions: Conditions | ConditionsSource,
        discontinuity_times: Array,
        usual_min_pivot: float = 0.0,
    ) -> None:
        self.begin, self.options, self._conditions = begin, options, conditions
        self.discontinuity_times, self.usual_min_pivot = discontinuity_times, usual_min_pivot
        self.spare: list[_core.Integrator] | None = None  # integrators for dense output

    @property
    def conditions(self) -> Conditions:
        """Conditions of the segment."""
        if not isinstance(self._conditions, Conditions):
            self._conditions = self._conditions()
        return self._conditions

    @conditions.setter
    def conditions(self, conditions: Conditions) -> None:
        self._conditions = conditions

    @property
    def model(self) -> Model:
        """The model of the conditions."""
        return self._conditions.model

    @contextmanager
    def stepper(
        self, branch_log: BranchLog | None = None, contacts: ContactEvents | None = None
    ) -> Iterator[_core.Integrator]:
        """Provide an integrator that repeats steps of the segment; several threads may do so at once."""
        if self.spare is None:
            self.spare = []
        spare = self.spare
        try:
            stepper = spare.pop()
        except IndexError:
            stepper = replace(self.options, detect_stiffness=False).integrator(self.conditions)
        stepper.set_discontinuities(self.discontinuity_times)
        if branch_log is not None:
            branch_log.set_on(stepper)
        if contacts is not None and self.options.method != "moreau":
            contacts.repeat_on(stepper)
        stepper.usual_min_pivot = self.usual_min_pivot
        try:
            yield stepper
        finally:
            spare.append(stepper)

    def since(self, begin: float) -> Segment:
        """Return the segment with another beginning, s."""
        return Segment(begin, self.options, self._conditions, self.discontinuity_times, self.usual_min_pivot)

    def __reduce__(self) -> tuple[Any, ...]:
        return Segment, (self.begin, self.options, self.conditions, self.discontinuity_times, self.usual_min_pivot)


class SegmentPeriods(Periods):
    """Periods of the segments of a run; their conditions are made when they are read.

    Parameters
    ----------
    segments : sequence of Segment
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = list(segments)
        self.begins = [segment.begin for segment in self.segments]

    @property
    def conditions(self) -> list[Conditions]:  # type: ignore[override]
        """Conditions of all periods."""
        return [segment.conditions for segment in self.segments]

    @property
    def models(self) -> list[Model]:
        """Models of all periods."""
        return [segment.model for segment in self.segments]

    def period(self, k: int) -> Conditions:
        """Return the conditions of a period."""
        return self.segments[k].conditions

    def __reduce__(self) -> tuple[Any, ...]:
        return Periods, (self.begins, self.conditions)


@dataclass
class Trajectory:
    """States and segments of a run.

    Attributes
    ----------
    sampled : bool
        States are recorded at the output times, not at every step.
    branch_log : BranchLog
        Branches of laws.
    segments : list of Segment
    records : Records
    """

    sampled: bool
    branch_log: BranchLog
    segments: list[Segment] = field(default_factory=list)
    records: Records = field(default_factory=Records)
    contacts: ContactEvents | None = None  # rigid contact by events
    _steps: list[Array] = field(default_factory=list)

    def add_steps(self, times: Array) -> None:
        """Record the ends of steps, s, while states are recorded at output times."""
        if len(times):
            self._steps.append(times)

    @property
    def step_times(self) -> Array:
        """Times at which steps ended, (n,) s."""
        return np.concatenate([np.zeros(0), *self._steps]) if self.sampled else self.records.arrays()[0]

    def drop_branches_after(self, t: float) -> None:
        """Drop branches of laws and sliding modes later than a time, s."""
        self.branch_log.drop_after(t)
        while self.segments[-1].begin > t:
            self.segments.pop()

    # ---- dense output

    def within_step(self, t: Array, q: Array, v: Array, x: Array, fractions: Array) -> tuple[Array, Array, Array]:
        """Return q, v and x at fractions (k,) of the step between two states, by dense output."""
        rows = np.zeros(len(fractions), dtype=np.int64)
        with self.segment_at(float(t[0])).stepper(self.branch_log, self.contacts) as stepper:
            return _dense_states(stepper, t, (q, v, x), rows, fractions)

    def segment_at(self, t: float) -> Segment:
        """Return the segment at a time, s; the later one where two meet."""
        return self.segments[max(0, bisect_right(self.segments, t, key=lambda segment: segment.begin) - 1)]

    def dense(self, times: Array) -> tuple[Array, Array, Array]:
        """Return q, v and x at times (k,) s within the run."""
        t, *states = self.records.arrays()
        found = [np.empty((len(times), part.shape[1])) for part in states]
        place = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 1)
        step = t[np.minimum(place + 1, len(t) - 1)] - t[place]
        still = (step == 0.0) | (times == t[place])  # recorded as they are
        for out, part in zip(found, states, strict=True):
            out[still] = part[place[still]]
        order = np.flatnonzero(~still)
        order = order[np.argsort(place[order], kind="stable")]
        begins = np.array([segment.begin for segment in self.segments])
        segment_of = np.maximum(np.searchsorted(begins, t[place[order]], side="right") - 1, 0)
        between = _sampled_states if self.sampled else _dense_states
        for k in np.unique(segment_of):
            wanted = order[segment_of == k]
            rows = place[wanted].astype(np.int64)
            fractions = (times[wanted] - t[rows]) / step[wanted]
            with self.segments[k].stepper(self.branch_log, self.contacts) as stepper:
                for out, part in zip(found, between(stepper, t, states, rows, fractions), strict=True):
                    out[wanted] = part
        return found[0], found[1], found[2]

    # ---- conditions

    def conditions(self, t: Array) -> list[tuple[IndexArray, Conditions]]:
        """Return the conditions at times in order (n,) s, each with the rows at which they hold."""
        if not len(t):
            return []
        begin = attrgetter("begin")
        first = max(bisect_left(self.segments, t[0], key=begin) - 1, 0)
        last = bisect_right(self.segments, t[-1], lo=first, key=begin)
        near = self.segments[first : max(last, first + 1)]
        if len(near) == 1:
            return [(np.arange(len(t)), near[0].conditions)]
        return SegmentPeriods(near)(t)

    def periods(self) -> Periods:
        """Return the periods of equal conditions."""
        return SegmentPeriods(self.segments)

    @property
    def changed(self) -> bool:
        """True if conditions ever differed from the description."""
        described = None  # conditions of the last segment that are those of the description
        for segment in self.segments:
            if segment.conditions is not described:
                if not segment.conditions.is_default:
                    return True
                described = segment.conditions
        return False


def _dense_states(
    stepper: _core.Integrator, t: Array, states: Sequence[Array], rows: NDArray[np.int64], fractions: Array
) -> tuple[Array, Array, Array]:
    """Return states at fractions (k,) of the steps that begin at rows (k,), in order."""
    q, v, x = states
    found = stepper.dense_output(t, q, v, x, rows, fractions)
    if len(found[0]) != len(rows):
        where = t[rows[len(found[0])]]
        raise IntegrationError(f"the step taken at t = {where:.9g} s could not be repeated for dense output")
    return found


def _sampled_states(
    stepper: _core.Integrator, t: Array, states: Sequence[Array], rows: NDArray[np.int64], fractions: Array
) -> tuple[Array, Array, Array]:
    """Return states between recorded output times, by integration from the earlier of two."""
    found = [np.empty((len(rows), part.shape[1])) for part in states]
    for row in np.unique(rows):
        mine = np.flatnonzero(rows == row)
        begin, end = t[row], t[row + 1]
        wanted = np.minimum(begin + fractions[mine] * (end - begin), end)
        mine = mine[np.argsort(wanted, kind="stable")]
        wanted = np.sort(wanted)
        later = wanted > begin
        stepper.start(begin, *(part[row] for part in states))
        stepper.advance(end, np.iinfo(np.int64).max, np.ascontiguousarray(wanted[later]))
        _, *samples, _ = stepper.take_records()
        if len(samples[0]) != later.sum():
            raise IntegrationError(f"the states from t = {begin:.9g} s to {end:.9g} s could not be repeated")
        for out, part, sample in zip(found, states, samples, strict=True):
            out[mine[~later]] = part[row]
            out[mine[later]] = sample
    return found[0], found[1], found[2]
