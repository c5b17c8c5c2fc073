"""A run: steps taken by the core in chunks, events between them, records of all of it.

Steps are recorded as the core takes them. Between two chunks Python looks at the events, shows progress and can be
interrupted. The run keeps its settings by segment, because events may change them: dense output and forces at a time
are those of the segment it lies in.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import IntegrationError, ModelError
from ..model import Dynamics, ForceEnergy, Model
from ..result import EventRecord
from ..state import State
from .crossings import Crossing, find_crossings
from .events import Event, Situation, Watch
from .settings import Options, Settings

if TYPE_CHECKING:
    from .. import _core
    from .interrupt import Interrupt
    from .progress import Progress
    from .stream import Stream

__all__ = ["REACHED", "Run", "Segment"]

Array = NDArray[np.float64]

# core/integrator.hpp: Outcome
REACHED, PAUSED, UNDERFLOW, NOT_FINITE, HOST, APART, STIFF, STOPPED, UNSOLVED = range(9)

CHUNK_TIME = 0.05  # s of wall time between two looks at events and keys
MOST_STEPS = 4096  # in a chunk
CRAWL = 10_000  # steps ...
CRAWL_TIME = 1e-6  # ... for less than this part of the run are too many
CHATTER = 9  # occurrences of one event with ever shorter times between them, ...
CHATTER_TIME = 1e-6  # ... the last ones shorter than this part of the run
CHATTER_COUNT = 50  # or so many within this part of the run


@dataclass
class Segment:
    """A part of a run with the same settings and method."""

    begin: float
    options: Options
    settings: Settings
    usual_slack: float = 0.0  # of its loops, as the stepper left it
    spare: list[_core.Integrator] = field(default_factory=list)  # steppers that take its steps once more


class Run:
    """One simulation in progress.

    Parameters
    ----------
    model : Model
    options : Options
    t_end : float, s
    times : (k,) s or None
        Where states are wanted; every step if None.
    watch : Watch
    progress : Progress
    interrupt : Interrupt
    """

    def __init__(
        self,
        model: Model,
        options: Options,
        t_end: float,
        times: Array | None,
        watch: Watch,
        progress: Progress,
        interrupt: Interrupt,
    ) -> None:
        self.model, self.options, self.t_end, self.times = model, options, t_end, times
        self.watch, self.progress, self.interrupt = watch, progress, interrupt
        self.stream: Stream | None = None
        self.asked = options.plain()
        self.history = options.history
        self.settings = Settings.of(model)
        self.integrator = options.integrator(model)
        self.segments: list[Segment] = []
        self.records = Records(model)
        self.events: list[EventRecord] = []
        self.notes: list[str] = []
        self.counts = np.zeros(7, dtype=np.int64)
        self.methods: list[str] = []
        self.begun = time.perf_counter()
        self.recent: dict[str, list[float]] = {}
        self.g = np.zeros(len(watch.events))
        self.restarted = False
        self.pace = (0, -np.inf)  # steps and time at the last look
        # the core samples; else Python does, from the steps
        self.native = times is not None and not watch.events and self.history is None

    # ---- starting and restarting

    def start(self, state: State) -> None:
        """Begin at a state."""
        self.records.add(state.t, state.q, state.v, state.x)
        self._begin_segment(state)
        t, q, v, x, _ = self.integrator.state()
        self.records.replace_last(t, q, v, x)

    def _begin_segment(self, state: State) -> None:
        self.settings.apply(self.integrator)
        self.segments.append(Segment(state.t, self.options, self.settings))
        if not self.methods or self.methods[-1] != self.options.method:
            self.methods.append(self.options.method)
        outcome = self.integrator.start(state.t, state.q, state.v, state.x)
        if outcome != REACHED:
            self._fail(outcome)
        t, q, v, x, a = self.integrator.state()
        self._remember((np.array([t]), q[None], v[None], x[None], a[None]))
        self.g = self.watched(np.array([state.t]), state.q[None], state.v[None], state.x[None])[:, 0]

    def change_settings(self) -> None:
        """Go on from here under the settings that have been changed since."""
        t, q, v, x, _ = self.integrator.state()
        self._collect_counts()
        step = self.integrator.step
        self.integrator = self.options.integrator(self.model)
        self.records.add(t, q, v, x)
        self._begin_segment(State(q=q, v=v, t=t, x=x))
        self.integrator.step = step

    def _remember(self, rows: tuple[Array, ...]) -> None:
        """Keep the steps just taken for inputs with a delay."""
        if self.history is None:
            return
        with self._stepper(self.segments[-1]) as stepper:
            for t, q, v, x, a in zip(*rows, strict=True):
                dx = stepper.evaluate(np.array([t]), q[None], v[None], x[None], None, None)[4][0] if len(x) else x
                self.history.add(float(t), q, v, x, a, dx)

    def _change_method(self, method: str) -> None:
        t, q, v, x, _ = self.integrator.state()
        self._collect_counts()
        self.options = replace(self.options, method=method, watch=False)
        self.integrator = self.options.integrator(self.model)
        self._begin_segment(State(q=q, v=v, t=t, x=x))

    # ---- going on

    def go(self) -> str:
        """Take steps to the end, an event that stops, or trouble; returns the status."""
        steps = 1 if self.watch.events or self.history is not None else 16
        while True:
            if self.interrupt.pressed:
                return "interrupted"
            self._mind_pace()
            began = time.perf_counter()
            wanted = self._times_left() if self.native else None
            failed: Exception | None = None
            try:
                outcome = self.integrator.advance(self.t_end, steps, wanted)
            except Exception as error:  # of a user's function; the steps before it are good
                failed = error
            rows = self.integrator.take()
            self._remember(rows)
            if self.watch.events:
                if self._handle_events(rows):
                    return "event"
                if self.restarted:
                    steps = 1
                    continue
            else:
                self.records.extend(*rows[:4])
            if failed is not None:
                raise failed
            if self.stream is not None:
                self.stream.flush(self)
            self.progress.show(self.integrator.t)
            if outcome == REACHED:
                return "finished"
            if outcome == STIFF:
                self.notes.append(
                    f"t = {self.integrator.t:.6g} s: stability held explicit steps back; went on with radau"
                )
                self._change_method("radau")
            elif outcome != PAUSED:
                self._fail(outcome)
            used = time.perf_counter() - began
            if self.history is not None:
                continue
            steps = min(MOST_STEPS, 2 * steps) if used < CHUNK_TIME else max(1, steps // 2)

    def _mind_pace(self) -> None:
        """Refuse to crawl: thousands of steps for next to nothing mean a force that jumps to and fro."""
        taken, t = int(self.total_counts()[0]), self.integrator.t
        if taken - self.pace[0] < CRAWL:
            return
        if t - self.pace[1] < CRAWL_TIME * (self.t_end - self.segments[0].begin):
            raise IntegrationError(
                f"at t = {t:.9g} s the run crawls: {taken - self.pace[0]} steps for {t - self.pace[1]:.2g} s. A force "
                "that jumps to and fro does this: smooth it, or stop or switch it by an event"
            )
        self.pace = (taken, t)

    def _times_left(self) -> Array:
        assert self.times is not None
        done = self.records.last_time()
        return np.ascontiguousarray(self.times[self.times > done])

    # ---- events

    def watched(self, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return the outputs that events wait for less their values, at rows of states, (events, n)."""
        if not self.watch.events:
            return np.zeros((0, len(t)))
        return self.watch.values(self, t, q, v, x)

    def _handle_events(self, rows: tuple[Array, ...]) -> bool:
        """Look through new steps, stop at the first event that may change the run; returns whether that ends it."""
        self.restarted = False
        t, q, v, x, _ = rows
        if not len(t):
            return False
        t0, q0, v0, x0 = self.records.last()
        states = np.concatenate([[t0], t]), np.vstack([q0, q]), np.vstack([v0, v]), np.vstack([x0, x])
        crossings = find_crossings(self, *states)
        passed = [c for c in crossings if not self.watch.events[c.event].active]
        active = [c for c in crossings if self.watch.events[c.event].active]
        self._note(passed)
        kept = active[0].step if active else len(t)
        self.counts[0] -= max(0, len(t) - kept - 1)  # steps beyond the event
        self.records.extend(t[:kept], q[:kept], v[:kept], x[:kept])
        return self._happen(active, [c.event for c in passed if c.moment >= active[0].moment]) if active else False

    def _note(self, crossings: list[Crossing]) -> None:
        for c in crossings:
            self.events.append(EventRecord(self.watch.events[c.event].name, c.moment, c.state.q, c.state.v, c.state.x))

    def _happen(self, crossings: list[Crossing], also: list[int]) -> bool:
        """Do what events at the same moment ask for, and go on from there; returns whether one of them ends the run."""
        moment, state = crossings[0].moment, crossings[0].state
        fresh = moment > self.records.last_time()
        if fresh:
            self.records.add(moment, state.q, state.v, state.x)
        before, old = state, self.settings
        ends = False
        for crossing in crossings:
            event = self.watch.events[crossing.event]
            self._mind_chatter(event, moment)
            now = Situation(self.settings, replace(before))
            event.act(now)
            after = State(q=now.q, v=now.v, t=moment, x=now.x)
            energy = self._energy(now.settings, after) - self._energy(self.settings, before)
            record = EventRecord(event.name, moment, before.q, before.v, before.x, energy, ", ".join(now.done))
            self.events.append(record)
            self.settings, before = now.settings, after
            ends |= event.terminal or now.stopped
        moved = any(
            not np.array_equal(a, b) for a, b in ((before.q, state.q), (before.v, state.v), (before.x, state.x))
        )
        if moved or self.settings is not old or not fresh:
            self.records.add(moment, before.q, before.v, before.x)
        self._collect_counts()
        self.integrator = self.options.integrator(self.model)
        self._begin_segment(before)
        t, q, v, x, _ = self.integrator.state()
        self.records.replace_last(t, q, v, x)
        self.g[[*(c.event for c in crossings), *also]] = 0.0
        self.restarted = True
        return ends

    def _energy(self, settings: Settings, state: State) -> float:
        """Return kinetic and potential energy, of force elements too, J."""
        stored = settings.force_energy(self.options, state.t, state.q, state.v, state.x).stored
        return float(self.model.energy(state.q, state.v).total + stored)

    def _mind_chatter(self, event: Event, moment: float) -> None:
        """Refuse events that come faster and faster, or at the same moment: time would stand still."""
        recent = self.recent[event.name] = [*self.recent.get(event.name, [])[1 - CHATTER_COUNT :], moment]
        gaps = np.diff(recent[-CHATTER:])
        last, soon = gaps[-4:].sum(), CHATTER_TIME * (self.t_end - self.segments[0].begin)
        faster = len(gaps) == CHATTER - 1 and last < soon and (np.diff(gaps) <= 0).all()
        if faster or (len(recent) == CHATTER_COUNT and recent[-1] - recent[0] < soon):
            raise IntegrationError(
                f"event {event.name!r} chatters: it came again and again, the last 4 times within {last:.2g} s at "
                f"t = {moment:.6g} s; make it terminal, or let its action end what causes it, for instance by a lock"
            )

    # ---- when it cannot go on

    def _fail(self, outcome: int) -> None:
        from .failure import failure

        raise failure(self, outcome)

    # ---- stopping and going on later

    def snapshot(self) -> dict[str, Any]:
        """Return all that a run needs to go on as if it had not stopped, without the model."""
        return {
            "checkpoint": self.integrator.checkpoint(),
            "segments": [
                (
                    s.begin,
                    s.options.method,
                    s.settings.parameters.copy(),
                    sorted(s.settings.locked),
                    sorted(s.settings.off),
                )
                for s in self.segments
            ],
            "records": self.records.arrays(),
            "events": list(self.events),
            "notes": list(self.notes),
            "counts": self.counts.copy(),
            "methods": list(self.methods),
            "g": self.g.copy(),
            "recent": {name: list(times) for name, times in self.recent.items()},
            "written": 0 if self.stream is None else self.stream.written,
            "t_end": self.t_end,
            "events_watched": [event.name for event in self.watch.events],
            "coordinates": list(self.model.coordinate_names),
            "asked": self.asked,
            "features": self._features(),
        }

    def restore(self, point: dict[str, Any]) -> None:
        """Take up where a snapshot was made."""
        if point["coordinates"] != list(self.model.coordinate_names):
            raise ModelError("simulate", "resume", self.model.system.name, "the run to go on with is of another model")
        names = [event.name for event in self.watch.events]
        if point["events_watched"] != names:
            raise ModelError("simulate", "events", names, f"the run to go on with has {point['events_watched']}")
        for name, value in point["asked"].items():
            if self.asked[name] != value:
                raise ModelError("simulate", name, self.asked[name], f"the run to go on with has {value!r}")
        if point["t_end"] != self.t_end:
            self.notes.append(
                f"went on to another end than {point['t_end']:.6g} s: the last steps before it may differ"
            )
        for begin, method, parameters, locked, off in point["segments"]:
            self.options = replace(self.options, method=method, watch=self.options.watch and method == "dop853")
            self.settings = Settings(self.model, np.asarray(parameters, float), frozenset(locked), frozenset(off))
            self.segments.append(Segment(begin, self.options, self.settings))
        self.integrator = self.options.integrator(self.model)
        self.settings.apply(self.integrator)
        try:
            self.integrator.restore(point["checkpoint"])
        except ValueError as error:
            raise ModelError("simulate", "resume", f"a run of {self.model.system.name!r}", str(error)) from None
        if self.t_end < self.integrator.t:
            reached = f"the run to go on with has reached {self.integrator.t:.6g} s"
            raise ModelError("simulate", "t_end", self.t_end, reached)
        if not np.allclose(self._features(), point["features"], rtol=1e-9, atol=1e-9):
            raise ModelError("simulate", "resume", self.model.system.name, "the run to go on with is of another model")
        self.records.extend(*point["records"])
        self.events, self.notes = list(point["events"]), [*self.notes, *point["notes"]]
        self.counts, self.methods, self.g = point["counts"].copy(), list(point["methods"]), point["g"].copy()
        self.recent = {name: list(times) for name, times in point["recent"].items()}

    def _features(self) -> list[float]:
        """Return energies, momentum and places of bodies where the run is: they tell one model from another."""
        _, q, v, _, _ = self.integrator.state()
        energy, places = self.model.energy(q, v), self.model.poses(q).position
        numbers = [energy.kinetic, energy.potential, *self.model.momentum(q, v), *places.ravel()]
        return [float(number) for number in numbers]

    # ---- what it leaves

    def _collect_counts(self) -> None:
        self.segments[-1].usual_slack = self.integrator.usual_slack
        self.counts += np.array(self.integrator.counts)

    def total_counts(self) -> NDArray[np.int64]:
        """Return steps, rejected, evaluations, Jacobians, factorisations, projections and noisy steps so far."""
        total: NDArray[np.int64] = self.counts + np.array(self.integrator.counts)
        return total

    @property
    def kernels(self) -> Run | None:
        """Itself, where control, events or other parameters make more of the model than was described; else None."""
        described = self.model.parameters
        changed = len(self.segments) > 1 or not np.array_equal(self.segments[0].settings.parameters, described)
        return self if changed or self.options.control is not None or self.history is not None else None

    def segment_at(self, t: float) -> Segment:
        """Return the segment that a time lies in; where one ends and another begins, the later."""
        begins = [segment.begin for segment in self.segments]
        return self.segments[max(0, int(np.searchsorted(begins, t, side="right")) - 1)]

    def within_step(self, base: State, end: State, fractions: Array) -> tuple[Array, Array, Array]:
        """Return q, v and x at fractions (k,) of the step from `base` to `end`, by the dense output of the method."""
        with self._stepper(self.segment_at(base.t)) as stepper:
            return _dense_states(stepper, base, end, fractions)

    @contextmanager
    def _stepper(self, segment: Segment) -> Iterator[_core.Integrator]:
        """Lend a stepper that takes steps of a segment once more; a result may be read by several threads at once."""
        try:
            stepper = segment.spare.pop()
        except IndexError:
            stepper = replace(segment.options, watch=False).integrator(self.model)
            segment.settings.apply(stepper)
        own = segment is self.segments[-1]
        stepper.usual_slack = self.integrator.usual_slack if own else segment.usual_slack
        try:
            yield stepper
        finally:
            segment.spare.append(stepper)

    def dense(self, times: Array) -> tuple[Array, Array, Array]:
        """Return q, v and x at times (k,) within the run, by the steps that were taken."""
        t, q, v, x = self.records.arrays()
        q_out, v_out, x_out = (np.empty((len(times), part.shape[1])) for part in (q, v, x))
        place = np.clip(np.searchsorted(t, times, side="right") - 1, 0, max(len(t) - 2, 0))
        states = _sampled_states if self.native else _dense_states
        for k in np.unique(place):
            mine = np.flatnonzero(place == k)
            base, end = (State(q=q[i], v=v[i], t=float(t[i]), x=x[i]) for i in (k, min(k + 1, len(t) - 1)))
            if end.t == base.t:
                q_out[mine], v_out[mine], x_out[mine] = base.q, base.v, base.x
                continue
            fractions = np.ascontiguousarray((times[mine] - base.t) / (end.t - base.t))
            with self._stepper(self.segment_at(base.t)) as stepper:
                q_out[mine], v_out[mine], x_out[mine] = states(stepper, base, end, fractions)
        return q_out, v_out, x_out

    def _segments_of(self, t: Array) -> NDArray[np.intp]:
        """Return the numbers of the segments that rows in order of time lie in."""
        begins = np.array([segment.begin for segment in self.segments])
        before = np.append(t[:-1] == t[1:], False)  # the first of two states at a jump belongs to what was before it
        place = np.where(before, np.searchsorted(begins, t, side="left"), np.searchsorted(begins, t, side="right")) - 1
        numbers: NDArray[np.intp] = np.clip(place, 0, None)
        return numbers

    def parameter(self, name: str, t: Array) -> Array:
        """Return a number of a force element, ``"k.stiffness"``, at rows in order of time, (n,)."""
        column = np.array([segment.settings.parameters[self.model.parameter_names[name]] for segment in self.segments])
        return column[self._segments_of(t)]

    def _by_segment(
        self, method: str, t: Array, q: Array, v: Array, x: Array, **how: bool
    ) -> list[tuple[NDArray[np.intp], tuple[Array, ...]]]:
        place = self._segments_of(t)
        parts = []
        for k in np.unique(place):
            mine = np.flatnonzero(place == k)
            segment = self.segments[k]
            values = getattr(segment.settings, method)(segment.options, t[mine], q[mine], v[mine], x[mine], **how)
            parts.append((mine, values))
        return parts

    def dynamics(self, t: Array, q: Array, v: Array, x: Array, *, share: bool = True) -> Dynamics:
        """Return accelerations, hinge forces and multipliers at rows of states, under the settings of their times."""
        return Dynamics(*_joined(self._by_segment("dynamics", t, q, v, x, share=share), len(t)))

    def applied_loads(self, t: Array, q: Array, v: Array, x: Array) -> tuple[Array, Array]:
        """Return hinge forces and loads of the force elements at rows of states."""
        tau, loads = _joined(self._by_segment("applied_loads", t, q, v, x), len(t))
        return tau, loads

    def force_energy(self, t: Array, q: Array, v: Array, x: Array) -> ForceEnergy:
        """Return energies and powers of the force elements at rows of states."""
        return ForceEnergy(*_joined(self._by_segment("force_energy", t, q, v, x), len(t)))


class Records:
    """Rows of t, q, v and x as they come."""

    def __init__(self, model: Model) -> None:
        self.parts: list[tuple[Array, Array, Array, Array]] = []
        self.model = model

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


def _joined(parts: list[tuple[NDArray[np.intp], tuple[Array, ...]]], n: int) -> list[Array]:
    columns = [np.empty((n, *np.shape(part)[1:])) for part in parts[0][1]]
    for mine, values in parts:
        for column, value in zip(columns, values, strict=True):
            column[mine] = value
    return columns


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
