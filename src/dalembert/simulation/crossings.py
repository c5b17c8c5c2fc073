"""Moments at which the outputs of events pass their values, found in the steps of a run.

Steps are searched at their ends and at inner points of cheap interpolation. Where a sign changes, or a parabola through
three neighbours says that it may, the step's dense output decides, and a root finder places the moment to rounding.
Where outputs change so fast that points do not foretell those between them, more are looked at, up to a few thousand in
a step; they lie a little beside even spaces, so that nothing periodic hides behind them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..model import Model, State

if TYPE_CHECKING:
    from .run import Run

__all__ = ["Crossing", "find_crossings"]

Array = NDArray[np.float64]

NODES = np.array([0.0, 0.23, 0.5, 0.79, 1.0])  # fractions of a step at which outputs are looked at
MOST_NODES = 4096  # in a step, where outputs change fast
FORETOLD = 0.1  # of the range in a step: what a point may be off the line through its neighbours
NEAR = 3.0  # ranges that an output may be away from its value, to matter
UNFORETOLD = 0.2  # if more than this part of the points is further off, more are needed
JUST_AFTER = 1e-6  # fraction of a step at which an output that starts at its value shows where it goes
DIPS = 8  # most points that are added where an output nearly touches its value
TOGETHER = 1e-12  # of a step: events no further apart happen together


@dataclass(frozen=True, eq=False)
class Crossing:
    """An event's output passes its value."""

    event: int
    step: int
    moment: float
    state: State


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps one after another: states at their n + 1 ends."""

    t: Array
    q: Array
    v: Array
    x: Array

    def start(self, k: int) -> State:
        """Return the state at the beginning of a step."""
        return State(q=self.q[k], v=self.v[k], t=float(self.t[k]), x=self.x[k])


def find_crossings(run: Run, t: Array, q: Array, v: Array, x: Array) -> list[Crossing]:
    """Return what happens in the steps between these states, in order of time.

    The list ends with the first event that may change the run, and those together with it. ``run.g`` holds the outputs
    at the first state, and those at the last one after.
    """
    steps = Steps(t, q, v, x)
    g = _screened(run, steps)
    run.g = g[:, -1]
    search = Search(run, steps, g, _finer(run, steps, g))
    active = [k for k, event in enumerate(run.watch.events) if event.active]
    first = search.first_of(active)
    limit = np.inf if first is None else first.moment + TOGETHER * (t[first.step + 1] - t[first.step])
    last = len(t) - 2 if first is None else first.step
    found = [
        crossing
        for event in range(len(run.watch.events))
        for crossing in search.all_of(event, last)
        if crossing.moment <= limit
    ]
    if first is not None:  # an active event happens once; what comes after it is found again
        early = {event: min(c.moment for c in found if c.event == event) for event in active if _has(found, event)}
        found = [c for c in found if c.event not in early or c.moment == early[c.event]]
    return sorted(found, key=lambda crossing: crossing.moment)


def _has(found: list[Crossing], event: int) -> bool:
    return any(crossing.event == event for crossing in found)


class Search:
    """Looks for crossings step by step; dense output of a step is prepared once."""

    def __init__(self, run: Run, steps: Steps, g: Array, finer: dict[int, tuple[Array, Array]]) -> None:
        self.run, self.steps, self.g, self.finer = run, steps, g, finer
        self.inner: dict[int, Array] = {}
        self.known: dict[tuple[int, int], list[Crossing]] = {}
        self.suspects = [np.union1d(self._suspects(row), self._fast(event)) for event, row in enumerate(g)]

    def first_of(self, events: list[int]) -> Crossing | None:
        """Return the earliest crossing of any of the events."""
        for step in sorted({int(k) for event in events for k in self.suspects[event]}):
            found = [c for event in events if step in self.suspects[event] for c in self._in_step(event, step)]
            if found:
                return min(found, key=lambda crossing: crossing.moment)
        return None

    def all_of(self, event: int, last: int) -> list[Crossing]:
        """Return all crossings of an event up to a step."""
        return [c for step in self.suspects[event] if step <= last for c in self._in_step(event, int(step))]

    def _fast(self, event: int) -> list[int]:
        """Return the steps with many points in which an output may cross."""
        rows = {step: values[event] for step, (_, values) in self.finer.items()}
        return [step for step, row in rows.items() if len(np.unique(np.sign(row))) > 1]

    def _suspects(self, row: Array) -> NDArray[np.intp]:
        """Return the steps in which an output may cross, by its values at the nodes of all steps."""
        if row[0] != 0.0 and (row == row[0]).all():
            return np.empty(0, dtype=np.intp)
        nodes = np.lib.stride_tricks.sliding_window_view(row, len(NODES))[:: len(NODES) - 1]
        signs = np.sign(nodes)
        suspect = (signs[:, :1] != signs).any(axis=1) | (signs[:, 0] == 0)
        for k in range(1, len(NODES) - 1):
            place, value = _vertex(NODES[k - 1 : k + 2], nodes[:, k - 1 : k + 2].T)
            suspect |= ~np.isnan(place) & (value * signs[:, k] < 0.25 * np.abs(nodes[:, k]))
        return np.flatnonzero(suspect)

    def _in_step(self, event: int, step: int) -> list[Crossing]:
        if (event, step) not in self.known:
            self.known[event, step] = list(self._crossings(event, step))
        return self.known[event, step]

    def _crossings(self, event: int, step: int) -> list[Crossing]:
        def value(s: float) -> float:
            return float(self._values(step, np.array([s]))[event, 0])

        count = len(NODES) - 1
        nodes = self.finer[step][0] if step in self.finer else NODES
        if step not in self.inner:
            self.inner[step] = self._values(step, nodes[1:-1])
        ends = self.g[event, [count * step, count * (step + 1)]]
        s, g = list(nodes), [ends[0], *self.inner[step][event], ends[1]]
        if g[0] == 0:  # it has just been there, or begins there: what counts is where it goes
            s[0], g[0] = JUST_AFTER, value(JUST_AFTER)
        if not self.run.watch.turns[event]:
            _add_dips(s, g, value)
        direction = self.run.watch.events[event].direction
        moments = [
            self._root(value, s[k : k + 2], g[k : k + 2])
            for k in range(len(s) - 1)
            if _passes(g[k], g[k + 1], direction, self.run.watch.turns[event])
        ]
        begin, h = self.steps.t[step], self.steps.t[step + 1] - self.steps.t[step]
        return [Crossing(event, step, float(begin + s * h), self._state(step, s)) for s in moments]

    @staticmethod
    def _root(value: Callable[[float], float], s: list[float], g: list[float]) -> float:
        from scipy.optimize import brentq

        if g[1] == 0:
            return s[1]
        ends = dict(zip(s, g, strict=True))  # as they were seen: rounding must not take a sign away
        found = float(brentq(lambda x: ends[x] if x in ends else value(x), *s, xtol=1e-15, rtol=8.9e-16))
        return 1.0 if found > 1.0 - TOGETHER else found  # what jumps at a break has jumped there, not just before

    def _state(self, step: int, s: float) -> State:
        if s == 1.0:
            return self.steps.start(step + 1)
        begin, h = self.steps.t[step], self.steps.t[step + 1] - self.steps.t[step]
        q, v, x = self._dense(step, np.array([s]))
        return State(q=q[0], v=v[0], t=float(begin + s * h), x=x[0])

    def _values(self, step: int, s: Array) -> Array:
        begin, h = self.steps.t[step], self.steps.t[step + 1] - self.steps.t[step]
        return self.run.watched(begin + s * h, *self._dense(step, s))

    def _dense(self, step: int, s: Array) -> tuple[Array, Array, Array]:
        return self.run.track.within_step(self.steps.start(step), self.steps.start(step + 1), s)


def _finer(run: Run, steps: Steps, g: Array) -> dict[int, tuple[Array, Array]]:
    """Return fractions (k,) and outputs (events, k) for steps in which the usual nodes do not do."""
    count = len(NODES) - 1
    found: dict[int, tuple[Array, Array]] = {}
    shaken = np.random.default_rng(0).uniform(-0.2, 0.2, MOST_NODES)
    usual = np.lib.stride_tricks.sliding_window_view(g, len(NODES), axis=1)[:, ::count]
    for step in np.flatnonzero(_surprises(run, NODES, usual).any(axis=0)).tolist():
        fractions, values = NODES, usual[:, step]
        while len(fractions) <= MOST_NODES and _surprises(run, fractions, values).any():
            m = 2 * (len(fractions) - 1)
            fractions = np.arange(m + 1.0)
            fractions[1:-1] += shaken[: m - 1]
            fractions /= m
            one = Steps(*(part[step : step + 2] for part in (steps.t, steps.q, steps.v, steps.x)))
            inner = _screened(run, one, fractions)[:, 1:]
            values = np.column_stack([values[:, 0], inner])
            found[step] = fractions, values
    return found


def _surprises(run: Run, s: Array, g: Array) -> NDArray[np.bool_]:
    """Return where of points (events, ..., k) many are far off the lines through their neighbours, (events, ...)."""
    turns = np.array(run.watch.turns, dtype=bool).reshape(-1, *[1] * (g.ndim - 1))
    g = np.where(turns, np.unwrap(g, axis=-1), g)
    weight = (s[1:-1] - s[:-2]) / (s[2:] - s[:-2])
    off = np.abs(g[..., 1:-1] - (1 - weight) * g[..., :-2] - weight * g[..., 2:])
    spread, least = np.ptp(g, axis=-1), np.abs(g).min(axis=-1)
    far = off > FORETOLD * spread[..., None]
    near = (least < NEAR * spread) & (spread > 1e-12 * np.abs(g).max(axis=-1))  # what is out of reach does not matter
    return np.asarray(near & (np.mean(far, axis=-1) > UNFORETOLD))


def _screened(run: Run, steps: Steps, nodes: Array = NODES) -> Array:
    """Return the outputs at the nodes of all steps, (events, 4 n + 1); at inner ones good enough to look for signs."""
    inner = nodes[1:-1]
    inner_q, inner_v = _inner(run.model, steps, inner)
    h = np.diff(steps.t)[:, None]
    t = np.column_stack([steps.t[:-1, None] + inner * h, steps.t[1:]]).ravel()
    q = np.concatenate([inner_q, steps.q[1:, None]], axis=1).reshape(-1, run.model.nq)
    v = np.concatenate([inner_v, steps.v[1:, None]], axis=1).reshape(-1, run.model.nv)
    x = np.repeat(steps.x[1:], len(nodes) - 1, axis=0)
    return np.column_stack([run.g, run.watched(t, q, v, x)])


def _inner(model: Model, steps: Steps, fractions: Array) -> tuple[Array, Array]:
    """Return coordinates and speeds (n, k, ...) at fractions of steps, by cubic polynomials through their ends."""
    h = np.diff(steps.t)[:, None, None]
    s = fractions[None, :, None]
    move = model.difference(steps.q[:-1], steps.q[1:])[:, None, :]
    v0, v1 = steps.v[:-1, None, :], steps.v[1:, None, :]
    xi = (3 * s**2 - 2 * s**3) * move + h * ((s - 2 * s**2 + s**3) * v0 + (s**3 - s**2) * v1)
    slope = (6 * s - 6 * s**2) * move / h + (1 - 4 * s + 3 * s**2) * v0 + (3 * s**2 - 2 * s) * v1
    rows = np.repeat(steps.q[:-1, None, :], len(fractions), axis=1).reshape(-1, model.nq)
    return model.integrate(rows, xi.reshape(-1, model.nv)).reshape(*xi.shape[:2], model.nq), slope


def _passes(before: float, after: float, direction: int, turns: bool) -> bool:
    """Return whether a value passes zero in the wanted direction; from zero itself is none, nor is half a turn."""
    if turns and abs(after - before) > np.pi:
        return False
    rising, falling = before < 0 <= after, before > 0 >= after
    return (rising and direction >= 0) or (falling and direction <= 0)


def _vertex(s: Array, g: Array) -> tuple[Array, Array]:
    """Return where the parabola through three points has its extremum within them, and its value there; NaN if not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (g[1] - g[0]) / (s[1] - s[0]), (g[2] - g[1]) / (s[2] - s[1])
        bend = (second - first) / (s[2] - s[0])
        slope = first + bend * (s[1] - s[0])
        place = s[1] - slope / (2 * bend)
        outside = ~((place > s[0]) & (place < s[2]))
        place = np.where(outside, np.nan, place)
        return place, g[1] - slope * slope / (4 * bend)


def _add_dips(s: list[float], g: list[float], value: Callable[[float], float]) -> None:
    """Add points where an output that keeps its sign at three neighbours comes near zero between them."""
    k = 1
    added = 0
    while k < len(s) - 1:
        sign = np.sign(g[k])
        same = sign != 0 and np.sign(g[k - 1]) == sign == np.sign(g[k + 1])
        place, depth = _vertex(np.array(s[k - 1 : k + 2]), np.array(g[k - 1 : k + 2])) if same else (np.nan, 0.0)
        fresh = min(abs(float(place) - other) for other in s[k - 1 : k + 2]) > 1e-9
        if same and fresh and added < DIPS and depth * sign < 0.25 * abs(g[k]):
            at = k if place < s[k] else k + 1
            s.insert(at, float(place))
            g.insert(at, value(float(place)))
            added += 1
            k = max(1, at - 1)
            continue
        k += 1
