"""The track of a run: states as they were recorded, and the segments in which method and conditions were the same.

It outlives the run: a `Result` asks it for states between the recorded ones and for the conditions at its times.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import IntegrationError
from ..model import Conditions, State
from .options import Options

if TYPE_CHECKING:
    from .. import _core

__all__ = ["Records", "Segment", "Track"]

Array = NDArray[np.float64]


class Records:
    """Rows of t, q, v and x as they come."""

    def __init__(self) -> None:
        self.parts: list[tuple[Array, Array, Array, Array]] = []

    def add(self, t: float, q: Array, v: Array, x: Array) -> None:
        """Add one row."""
        self.extend(np.array([t]), q[None].copy(), v[None].copy(), x[None].copy())

    def extend(self, t: Array, q: Array, v: Array, x: Array) -> None:
        """Add rows."""
        if len(t):
            self.parts.append((t, q, v, x))

    def replace_last(self, t: float, q: Array, v: Array, x: Array) -> None:
        """Put another row in place of the last, which was added alone."""
        self.parts.pop()
        self.add(t, q, v, x)

    def last(self) -> tuple[float, Array, Array, Array]:
        """Return the last row."""
        t, q, v, x = self.parts[-1]
        return float(t[-1]), q[-1], v[-1], x[-1]

    def last_time(self) -> float:
        """Return the time of the last row."""
        return float(self.parts[-1][0][-1])

    def keep_last(self) -> None:
        """Forget all rows but the last."""
        self.parts = [tuple(part[-1:].copy() for part in self.arrays())]  # type: ignore[list-item]

    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """Return all rows."""
        if len(self.parts) > 1:
            self.parts = [tuple(np.concatenate(column) for column in zip(*self.parts, strict=True))]  # type: ignore[list-item]
        return self.parts[0]


@dataclass
class Segment:
    """A part of a run with the same conditions and method."""

    begin: float
    options: Options
    conditions: Conditions
    usual_slack: float = 0.0  # of its loops, as the stepper left it
    spare: list[_core.Integrator] = field(default_factory=list, repr=False)  # steppers that take its steps once more

    @contextmanager
    def stepper(self) -> Iterator[_core.Integrator]:
        """Lend a stepper that takes steps of the segment once more; a result may be read by several threads at once."""
        try:
            stepper = self.spare.pop()
        except IndexError:
            stepper = replace(self.options, watch=False).integrator(self.conditions)
        stepper.usual_slack = self.usual_slack
        try:
            yield stepper
        finally:
            self.spare.append(stepper)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "spare": []}


class Track:
    """States and segments of a run.

    Parameters
    ----------
    sampled : bool
        States are recorded where they were wanted, not at every step.
    """

    def __init__(self, sampled: bool) -> None:
        self.sampled = sampled
        self.segments: list[Segment] = []
        self.records = Records()

    # ---- states between those on record

    def within_step(self, base: State, end: State, fractions: Array) -> tuple[Array, Array, Array]:
        """Return q, v and x at fractions (k,) of the step from `base` to `end`, by the dense output of the method."""
        with self.segment_at(base.t).stepper() as stepper:
            return _dense_states(stepper, base, end, fractions)

    def segment_at(self, t: float) -> Segment:
        """Return the segment that a time lies in; where one ends and another begins, the later."""
        begins = [segment.begin for segment in self.segments]
        return self.segments[max(0, int(np.searchsorted(begins, t, side="right")) - 1)]

    def dense(self, times: Array) -> tuple[Array, Array, Array]:
        """Return q, v and x at times (k,) within the run, by the steps that were taken."""
        t, q, v, x = self.records.arrays()
        q_out, v_out, x_out = (np.empty((len(times), part.shape[1])) for part in (q, v, x))
        place = np.clip(np.searchsorted(t, times, side="right") - 1, 0, max(len(t) - 2, 0))
        states = _sampled_states if self.sampled else _dense_states
        for k in np.unique(place):
            mine = np.flatnonzero(place == k)
            base, end = (State(q=q[i], v=v[i], t=float(t[i]), x=x[i]) for i in (k, min(k + 1, len(t) - 1)))
            if end.t == base.t:
                q_out[mine], v_out[mine], x_out[mine] = base.q, base.v, base.x
                continue
            fractions = np.ascontiguousarray((times[mine] - base.t) / (end.t - base.t))
            with self.segment_at(base.t).stepper() as stepper:
                q_out[mine], v_out[mine], x_out[mine] = states(stepper, base, end, fractions)
        return q_out, v_out, x_out

    # ---- conditions

    def conditions(self, t: Array) -> list[tuple[NDArray[np.intp], Conditions]]:
        """Return rows of times in order, (n,), and the conditions that hold at them."""
        begins = np.array([segment.begin for segment in self.segments])
        before = np.append(t[:-1] == t[1:], False)  # the first of two states at a jump belongs to what was before it
        early, late = np.searchsorted(begins, t, side="left"), np.searchsorted(begins, t, side="right")
        place = np.clip(np.where(before, early, late) - 1, 0, None)
        return [(np.flatnonzero(place == k), self.segments[k].conditions) for k in np.unique(place)]

    @property
    def changed(self) -> bool:
        """Whether conditions ever were others than described."""
        return any(not segment.conditions.as_described for segment in self.segments)


def _dense_states(integrator: _core.Integrator, base: State, end: State, s: Array) -> tuple[Array, Array, Array]:
    """Return states at fractions of the step from `base` to `end`."""
    integrator.start(base.t, base.q, base.v, base.x)
    _, _, q, v, x = integrator.dense(end.t - base.t, end.q, end.v, end.x, s)
    if len(q) != len(s):
        raise IntegrationError(f"the step taken at t = {base.t:.9g} s could not be taken again for its dense output")
    return q, v, x


def _sampled_states(integrator: _core.Integrator, base: State, end: State, s: Array) -> tuple[Array, Array, Array]:
    """Return states between two samples, by the method itself from the first of them."""
    integrator.start(base.t, base.q, base.v, base.x)
    times = base.t + s * (end.t - base.t)
    order = np.argsort(times, kind="stable")
    later = times[order] > base.t
    wanted = np.minimum(times[order][later], end.t)
    integrator.advance(end.t, np.iinfo(np.int64).max, np.ascontiguousarray(wanted))
    _, *found, _ = integrator.take()
    if len(found[0]) != len(wanted):
        raise IntegrationError(f"the states from t = {base.t:.9g} s to {end.t:.9g} s could not be computed again")
    states = []
    for start, rows in zip((base.q, base.v, base.x), found, strict=True):
        full = np.empty((len(times), len(start)))
        full[order[~later]] = start
        full[order[later]] = rows
        states.append(full)
    return states[0], states[1], states[2]
