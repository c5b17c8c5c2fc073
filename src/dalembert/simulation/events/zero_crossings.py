"""Zero crossings of event functions in the steps of a run.

Event functions are evaluated at the ends of steps and at inner points of a cheap interpolation. Where a sign changes,
or may change by a parabola through three neighbours, dense output is evaluated and a root finder locates the crossing
to rounding. Where functions change so fast that points do not predict those between them, up to a few thousand points
per step are used, with jittered spacing, so that no periodic function is missed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array, BoolArray
from ...model import Model, State

if TYPE_CHECKING:
    from ..run import Run

__all__ = ["Crossing", "find_crossings"]


NODES = np.array([0.0, 0.23, 0.5, 0.79, 1.0])  # fractions of a step at which event functions are evaluated
# Hermite cubics: displacement and velocity by powers of s, for displacement and velocities at both ends
CUBIC = np.array([[0, 0, 0, 0, 1, 0], [0, 1, 0, 6, -4, -2], [3, -2, -1, -6, 3, 3], [-2, 1, 1, 0, 0, 0]], dtype=float)
MAX_NODES = 4096  # in a step, where outputs change fast
INTERPOLATION_TOL = 0.1  # of the range in a step: allowed distance of a point from the line through its neighbours
RELEVANT_RANGE = 3.0  # ranges: outputs further away from their value are not refined
ESTIMATE_TOL = 0.05  # of the change between nodes: values this close to zero are looked at by dense output
MAX_SURPRISE_FRACTION = 0.2  # of the points: if more are poorly predicted, points are added
JUST_AFTER = 1e-6  # fraction of a step that gives the sign of an output that starts at its value
MAX_EXTREMUM_POINTS = 8  # added where an output nearly touches its value
CLOSE = (-3e-2, -1e-3, -1e-5, -1e-8, 0.0, 1e-8, 1e-5, 1e-3, 3e-2)  # points around a guessed root
EVEN = (0.25, 0.5, 0.75)  # and even ones, as fractions of the bracketing interval
MAX_ROOT_ITERATIONS = 60  # each leaves at most a quarter of the interval; 27 reach rounding
MAX_JUMPS = 200  # sign changes of an output within a step; more are noise
DUPLICATE_TOL = 2e-16  # fraction of a step: closer roots are one
SIMULTANEOUS_TOL = 1e-12  # of a step: closer events are simultaneous
ROUNDOFF_TOL = 4 * np.finfo(float).eps  # of a time: in short steps closer times are equal


@dataclass(frozen=True, eq=False)
class Crossing:
    """Zero crossing of an event function."""

    event: int
    step: int
    moment: float
    state: State


@dataclass(frozen=True, eq=False)
class Steps:
    """States at the n + 1 ends of successive steps."""

    t: Array
    q: Array
    v: Array
    x: Array

    def start(self, k: int) -> State:
        """Return the state at the beginning of a step."""
        return State(q=self.q[k], v=self.v[k], t=float(self.t[k]), x=self.x[k])


def find_crossings(run: Run, t: Array, q: Array, v: Array, x: Array) -> list[Crossing]:
    """Return the zero crossings in the steps between these states, in order of time.

    The list ends with the first event that may change the run, and simultaneous ones. The event functions
    of the handler are those at the first state; they are set to those at the last one.
    """
    steps = Steps(t, q, v, x)
    g = _screened(run, steps)
    run.event_handler.g = g[:, -1]
    count = len(NODES) - 1
    nodes = g[:, np.arange(0, g.shape[1] - 1, count)[:, None] + np.arange(count + 1)]  # (events, steps, nodes)
    begins = g[:, 0] == 0
    if begins.any():  # it starts at its value: the sign just after counts
        nodes[begins, 0, 0] = _just_after(run, steps)[begins]
    suspects, finer = _suspects(nodes), _finer(run, steps, nodes)
    if not suspects.any() and not finer:
        return []
    search = CrossingSearch(run, steps, g, suspects, finer)
    active = [k for k, event in enumerate(run.event_handler.functions.events) if event.active]
    first = search.first_of(active)
    limit = np.inf if first is None else first.moment + SIMULTANEOUS_TOL * (t[first.step + 1] - t[first.step])
    last = len(t) - 2 if first is None else first.step
    found = [
        crossing
        for event in range(len(run.event_handler.functions.events))
        for crossing in search.all_of(event, last)
        if crossing.moment <= limit
    ]
    if first is not None:  # an active event acts once; later crossings are found after the restart
        early = {event: min(c.moment for c in found if c.event == event) for event in active if _has(found, event)}
        found = [c for c in found if c.event not in early or c.moment == early[c.event]]
    return sorted(found, key=lambda crossing: crossing.moment)


def _has(found: list[Crossing], event: int) -> bool:
    return any(crossing.event == event for crossing in found)


class CrossingSearch:
    """Search for crossings step by step, with cached values."""

    def __init__(
        self,
        run: Run,
        steps: Steps,
        g: Array,
        suspects: BoolArray,
        finer: dict[int, tuple[Array, Array]],
    ) -> None:
        self.run, self.steps, self.g, self.finer = run, steps, g, finer
        self.inner: dict[int, Array] = {}
        self.known: dict[tuple[int, int], list[Crossing]] = {}
        for step, (_, values) in finer.items():
            signs = np.sign(values)
            suspects[:, step] |= (signs != signs[:, :1]).any(axis=1)
        self.suspects = [np.flatnonzero(row).tolist() for row in suspects]

    def first_of(self, events: list[int]) -> Crossing | None:
        """Return the earliest crossing of any of the events."""
        for step in sorted({k for event in events for k in self.suspects[event]}):
            found = [c for event in events if step in self.suspects[event] for c in self._in_step(event, step)]
            if found:
                return min(found, key=lambda crossing: crossing.moment)
        return None

    def all_of(self, event: int, last: int) -> list[Crossing]:
        """Return all crossings of an event up to a step number."""
        return [c for step in self.suspects[event] if step <= last for c in self._in_step(event, step)]

    def _in_step(self, event: int, step: int) -> list[Crossing]:
        if (event, step) not in self.known:
            self.known[event, step] = list(self._crossings(event, step))
        return self.known[event, step]

    def _crossings(self, event: int, step: int) -> list[Crossing]:
        def values(s: Array) -> Array:
            return self._values(step, s)[event]

        functions, count = self.run.event_handler.functions, len(NODES) - 1
        nodes = self.finer[step][0] if step in self.finer else NODES
        if step not in self.inner:
            self.inner[step] = self._values(step, np.concatenate([[JUST_AFTER], nodes[1:-1]]))
        ends, inner = self.g[event, [count * step, count * (step + 1)]], self.inner[step][event]
        s, g = nodes.tolist(), [ends[0], *inner[1:].tolist(), ends[1]]
        if g[0] == 0:  # it starts at its value: the sign just after counts
            s[0], g[0] = JUST_AFTER, inner[0]
        if not functions.turns[event]:
            _add_dips(s, g, lambda at: float(values(np.array([at]))[0]))
        found = functions.events[event]
        begin, end = self.steps.t[step : step + 2]
        ends_at = 1.0 - max(SIMULTANEOUS_TOL, ROUNDOFF_TOL * abs(end) / (end - begin))
        turns, once = functions.turns[event], found.active
        passes = [k for k in range(len(s) - 1) if _passes(g[k], g[k + 1], found.direction, turns)]
        # an active event acts once in a step; later crossings are found after the restart
        moments, jumps = [], 0
        for k in passes[:1] if once else passes:
            place, smooth = _root(values, s, g, k)
            moments.append(place)
            jumps += not smooth
            if jumps > MAX_JUMPS or (once and jumps and len(passes) > MAX_JUMPS):
                self.run.event_handler.ignore(self.run, event, float(begin + place * (end - begin)))
                break
        # a crossing at a discontinuity time lies at the end of the step
        states = [self._state(step, 1.0 if s > ends_at else s) for s in moments]
        return [Crossing(event, step, state.t, state) for state in states]

    def _state(self, step: int, s: float) -> State:
        if s == 1.0:
            return self.steps.start(step + 1)
        begin, h = self.steps.t[step], self.steps.t[step + 1] - self.steps.t[step]
        q, v, x = self._dense(step, np.array([s]))
        return State(q=q[0], v=v[0], t=float(begin + s * h), x=x[0])

    def _values(self, step: int, s: Array) -> Array:
        begin, h = self.steps.t[step], self.steps.t[step + 1] - self.steps.t[step]
        return self.run.event_handler.values(self.run, begin + s * h, *self._dense(step, s))

    def _dense(self, step: int, s: Array) -> tuple[Array, Array, Array]:
        pair, steps = slice(step, step + 2), self.steps
        return self.run.trajectory.within_step(steps.t[pair], steps.q[pair], steps.v[pair], steps.x[pair], s)


def _root(values: Callable[[Array], Array], s: list[float], g: list[float], k: int) -> tuple[float, bool]:
    """Return the fraction of a step at which an output crosses zero, to rounding, and whether it is smooth there.

    Parameters
    ----------
    values : function
        From fractions (n,) to outputs (n,).
    s, g : fractions in order, and outputs there
    k : int
        It crosses zero between g[k] and g[k + 1].
    """
    if g[k + 1] == 0:
        return s[k + 1], True
    x, y, rising = list(s), list(g), g[k] < 0
    for _ in range(MAX_ROOT_ITERATIONS):
        low, high = x[k], x[k + 1]
        width = high - low
        secant = low - y[k] * width / (y[k + 1] - y[k])
        near = slice(max(0, k - 1), k + 3)
        guess = _inverse(x[near], y[near])
        agreed = width < 0.01 and abs(guess - secant) <= DUPLICATE_TOL
        if not low < guess < high:
            guess = secant
        at = sorted(
            {p for p in (*(guess + width * c for c in CLOSE), *(low + width * e for e in EVEN)) if low < p < high}
        )
        if agreed or not at:
            return guess, agreed
        x[k + 1 : k + 1] = at
        y[k + 1 : k + 1] = values(np.array(at)).tolist()
        while (y[k + 1] < 0) if rising else (y[k + 1] > 0):
            k += 1
        if y[k + 1] == 0:
            return x[k + 1], True
    return x[k + 1], False


def _inverse(x: list[float], y: list[float]) -> float:
    """Return x at y = 0 by inverse interpolation through a few points; NaN if two values are equal."""
    if len(set(y)) < len(y):
        return math.nan
    others = [[v for v in y if v != mine] for mine in y]
    return sum(place * math.prod(v / (v - mine) for v in rest) for place, mine, rest in zip(x, y, others, strict=True))


def _suspects(nodes: Array) -> BoolArray:
    """Return the steps in which outputs may cross, (events, n), from values at the nodes of all steps."""
    signs = np.sign(nodes)
    suspects: BoolArray = (signs[..., :1] != signs).any(axis=-1) | (signs[..., 0] == 0)
    triples = [[k - 1, k, k + 1] for k in range(1, len(NODES) - 1)]
    place, value = _vertex(NODES[triples].T, np.moveaxis(nodes[..., triples], -1, 0))
    near = ~np.isnan(place) & (value * signs[..., 1:-1] < 0.25 * np.abs(nodes[..., 1:-1]))
    size = np.abs(nodes)
    rises = size[..., :-2] - size[..., 1:-1], size[..., 2:] - size[..., 1:-1]  # from the nodes to their neighbours
    lowest = (np.minimum(*rises) >= 0.0) & (size[..., 1:-1] < ESTIMATE_TOL * np.maximum(*rises))
    return suspects | near.any(axis=-1) | lowest.any(axis=-1)


def _finer(run: Run, steps: Steps, nodes: Array) -> dict[int, tuple[Array, Array]]:
    """Return fractions (k,) and outputs (events, k) of steps that need more nodes."""
    found: dict[int, tuple[Array, Array]] = {}
    for step in np.flatnonzero(_poorly_interpolated(run, NODES, nodes).any(axis=0)).tolist():
        fractions, values = NODES, nodes[:, step]
        while len(fractions) <= MAX_NODES and _poorly_interpolated(run, fractions, values).any():
            m = 2 * (len(fractions) - 1)
            fractions = np.arange(m + 1.0)
            fractions[1:-1] += _jittered()[: m - 1]
            fractions /= m
            one = Steps(*(part[step : step + 2] for part in (steps.t, steps.q, steps.v, steps.x)))
            inner = _screened(run, one, fractions)[:, 1:]
            values = np.column_stack([values[:, 0], inner])
            found[step] = fractions, values
    return found


@cache
def _jittered() -> Array:
    """Return the jitter of points, in parts of their spacing."""
    return np.random.default_rng(0).uniform(-0.2, 0.2, MAX_NODES)


def _poorly_interpolated(run: Run, s: Array, g: Array) -> BoolArray:
    """Return where many points (events, ..., k) are far from the lines through their neighbours, (events, ...)."""
    if any(run.event_handler.functions.turns):
        turns = np.array(run.event_handler.functions.turns, dtype=bool).reshape(-1, *[1] * (g.ndim - 1))
        g = np.where(turns, np.unwrap(g, axis=-1), g)
    weight = (s[1:-1] - s[:-2]) / (s[2:] - s[:-2])
    off = np.abs(g[..., 1:-1] - (1 - weight) * g[..., :-2] - weight * g[..., 2:])
    spread, least = np.ptp(g, axis=-1), np.abs(g).min(axis=-1)
    far = off > INTERPOLATION_TOL * spread[..., None]
    near = (least < RELEVANT_RANGE * spread) & (
        spread > 1e-12 * np.abs(g).max(axis=-1)
    )  # outputs far from their value are not refined
    return np.asarray(near & (np.mean(far, axis=-1) > MAX_SURPRISE_FRACTION))


def _screened(run: Run, steps: Steps, nodes: Array = NODES) -> Array:
    """Return the outputs at the nodes of all steps, (events, 4 n + 1), at inner nodes by interpolated states."""
    inner = nodes[1:-1]
    inner_q, inner_v = _inner(run.model, steps, inner)
    h = np.diff(steps.t)[:, None]
    t = np.column_stack([steps.t[:-1, None] + inner * h, steps.t[1:]]).ravel()
    q = np.concatenate([inner_q, steps.q[1:, None]], axis=1).reshape(-1, run.model.nq)
    v = np.concatenate([inner_v, steps.v[1:, None]], axis=1).reshape(-1, run.model.nv)
    x = np.repeat(steps.x[1:], len(nodes) - 1, axis=0)
    return np.column_stack([run.event_handler.g, run.event_handler.values(run, t, q, v, x)])


def _just_after(run: Run, steps: Steps) -> Array:
    """Return the outputs just after the first state, (events,)."""
    first = Steps(*(part[:2] for part in (steps.t, steps.q, steps.v, steps.x)))
    q, v = _inner(run.model, first, np.array([JUST_AFTER]))
    t = first.t[:1] + JUST_AFTER * (first.t[1] - first.t[0])
    return run.event_handler.values(run, t, q[0], v[0], first.x[:1] + JUST_AFTER * (first.x[1:] - first.x[:1]))[:, 0]


@lru_cache(64)
def _cubic(fractions: tuple[float, ...]) -> Array:
    """Return the weights of cubic polynomials at fractions of a step, (6, 1, k, 1): see `CUBIC`."""
    powers: Array = np.array(fractions)[:, None] ** np.arange(4)
    return (powers @ CUBIC).T[:, None, :, None]


def _inner(model: Model, steps: Steps, fractions: Array) -> tuple[Array, Array]:
    """Return coordinates and velocities (n, k, ...) at fractions of steps, by cubic interpolation."""
    h = np.diff(steps.t)[:, None, None]
    weights = _cubic(tuple(fractions.tolist()))
    move = model.difference(steps.q[:-1], steps.q[1:])[:, None, :]
    v0, v1 = steps.v[:-1, None, :], steps.v[1:, None, :]
    # in very short steps the displacement is rounding: there it is taken from the velocities
    rounding = 4 * np.finfo(float).eps * max(1.0, float(np.abs(steps.q).max(initial=0.0)))
    by_velocities = h * (v0 + v1) / 2
    move = np.where(np.abs(move - by_velocities) <= rounding, by_velocities, move)
    xi = weights[0] * move + h * (weights[1] * v0 + weights[2] * v1)
    mean = np.divide(move, h, out=(v0 + v1) / 2, where=h > 0.0)  # an impact takes no time
    slope = weights[3] * mean + weights[4] * v0 + weights[5] * v1
    rows = np.repeat(steps.q[:-1, None, :], len(fractions), axis=1).reshape(-1, model.nq)
    return model.integrate(rows, xi.reshape(-1, model.nv)).reshape(*xi.shape[:2], model.nq), slope


def _passes(before: float, after: float, direction: int, turns: bool) -> bool:
    """Return whether a value crosses zero in a direction; a start at zero and a wrap by a turn do not count."""
    if turns and abs(after - before) > np.pi:
        return False
    rising, falling = before < 0 <= after, before > 0 >= after
    return (rising and direction >= 0) or (falling and direction <= 0)


def _vertex(s: Array, g: Array) -> tuple[Array, Array]:
    """Return place and value of the extremum of the parabola through three points; NaN if it is outside."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (g[1] - g[0]) / (s[1] - s[0]), (g[2] - g[1]) / (s[2] - s[1])
        bend = (second - first) / (s[2] - s[0])
        slope = first + bend * (s[1] - s[0])
        place = s[1] - slope / (2 * bend)
        outside = ~((place > s[0]) & (place < s[2]))
        return np.where(outside, np.nan, place), np.where(outside, np.nan, g[1] - slope * slope / (4 * bend))


def _add_dips(s: list[float], g: list[float], value: Callable[[float], float]) -> None:
    """Add points near extrema at which an output of constant sign comes close to zero."""
    rows = np.arange(len(s) - 2)[:, None] + np.arange(3)
    values = np.array(g)[rows]
    places, depths = _vertex(np.array(s)[rows].T, values.T)
    if not (~np.isnan(places) & (depths * np.sign(values[:, 1]) < 0.25 * np.abs(values[:, 1]))).any():
        return
    k = 1
    added = 0
    while k < len(s) - 1:
        sign = np.sign(g[k])
        same = sign != 0 and np.sign(g[k - 1]) == sign == np.sign(g[k + 1])
        found = _vertex(np.array(s[k - 1 : k + 2]), np.array(g[k - 1 : k + 2])) if same else (np.nan, 0.0)
        place, depth = map(float, found)
        fresh = min(abs(place - other) for other in s[k - 1 : k + 2]) > 1e-9
        if same and fresh and added < MAX_EXTREMUM_POINTS and depth * sign < 0.25 * abs(g[k]):
            at = k if place < s[k] else k + 1
            s.insert(at, place)
            g.insert(at, value(place))
            added += 1
            k = max(1, at - 1)
            continue
        k += 1
