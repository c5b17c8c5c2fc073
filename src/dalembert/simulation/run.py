"""A run: steps taken by the core in chunks, events between them, records of all of it.

Steps are recorded as the core takes them. Between two chunks Python looks at the events, shows progress and can be
interrupted. The run keeps its settings by segment, because events may change them: dense output and forces at a time
are those of the segment it lies in.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DalembertError, IntegrationError, ModelError
from ..model import Dynamics, ForceEnergy, Model
from ..result import EventRecord
from ..state import State
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
REACHED, PAUSED, UNDERFLOW, NOT_FINITE, HOST, APART, STIFF, STOPPED = range(8)

CHUNK_TIME = 0.05  # s of wall time between two looks at events and keys
MOST_STEPS = 4096  # in a chunk
INNER = np.array([0.25, 0.5, 0.75])  # fractions of a step at which events are looked for besides its end
CHATTER = 9  # occurrences of one event with ever shorter times between them, ...
CHATTER_TIME = 1e-6  # ... the last ones shorter than this part of the run


@dataclass
class Segment:
    """A part of a run with the same settings and method."""

    begin: float
    options: Options
    settings: Settings


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
        self.native = times is not None and not watch.events  # the core samples; else Python does, from the steps

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
        self.g = self._watched(np.array([state.t]), state.q[None], state.v[None], state.x[None])[:, 0]

    def _change_method(self, method: str) -> None:
        t, q, v, x, _ = self.integrator.state()
        self._collect_counts()
        self.options = replace(self.options, method=method, watch=False)
        self.integrator = self.options.integrator(self.model)
        self._begin_segment(State(q=q, v=v, t=t, x=x))

    # ---- going on

    def go(self) -> str:
        """Take steps to the end, an event that stops, or trouble; returns the status."""
        steps = 1 if self.watch.events else 16
        while True:
            if self.interrupt.pressed:
                return "interrupted"
            began = time.perf_counter()
            wanted = self._times_left() if self.native else None
            trouble: DalembertError | None = None
            try:
                outcome = self.integrator.advance(self.t_end, steps, wanted)
            except DalembertError as error:  # of a user's function: the steps before it count
                outcome, trouble = PAUSED, error
            rows = self.integrator.take()
            if self.watch.events:
                if self._handle_events(rows):
                    return "event"
                if self.restarted:
                    steps = 1
                    continue
            else:
                self.records.extend(*rows[:4])
            if self.stream is not None:
                self.stream.flush(self)
            if trouble is not None:
                raise trouble
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
            steps = min(MOST_STEPS, 2 * steps) if used < CHUNK_TIME else max(1, steps // 2)

    def _times_left(self) -> Array:
        assert self.times is not None
        done = self.records.last_time()
        return np.ascontiguousarray(self.times[self.times > done])

    # ---- events

    def _watched(self, t: Array, q: Array, v: Array, x: Array) -> Array:
        if not self.watch.events:
            return np.zeros((0, len(t)))
        return self.watch.values(self, t, q, v, x)

    def _handle_events(self, rows: tuple[Array, ...]) -> bool:
        """Look through new steps; stop at the first event among them. Returns whether it ends the run."""
        self.restarted = False
        t, q, v, x, a = rows
        if not len(t):
            return False
        t0, q0, v0, x0 = self.records.last()
        starts = State(q=np.vstack([q0, q[:-1]]), v=np.vstack([v0, v[:-1]]), t=0.0, x=np.vstack([x0, x[:-1]]))
        begins = np.concatenate([[t0], t[:-1]])
        found = self._first_crossing(begins, starts, t, q, v, x, a)
        if found is None:
            self.records.extend(t, q, v, x)
            return False
        step, event, moment, state = found
        self.records.extend(t[:step], q[:step], v[:step], x[:step])
        return self._happen(event, moment, state)

    def _first_crossing(
        self, begins: Array, starts: State, t: Array, q: Array, v: Array, x: Array, a: Array
    ) -> tuple[int, int, float, State] | None:
        inner_t, inner_q, inner_v = _inner(self.model, begins, starts, t, q, v)
        count = len(INNER) + 1
        all_t = np.column_stack([inner_t, t]).ravel()
        all_q = np.concatenate([inner_q, q[:, None]], axis=1).reshape(-1, self.model.nq)
        all_v = np.concatenate([inner_v, v[:, None]], axis=1).reshape(-1, self.model.nv)
        all_x = np.repeat(x, count, axis=0)
        g = np.column_stack([self.g, self._watched(all_t, all_q, all_v, all_x)])
        signs = np.sign(g)
        self.g = g[:, -1]
        best: tuple[int, int, float, State] | None = None
        for event, row in enumerate(signs):
            passing = _passings(row, self.watch.events[event].direction)
            for place in passing:
                step = int(place // count)
                if best is not None and step > best[0]:
                    break
                base = State(q=starts.q[step], v=starts.v[step], t=float(begins[step]), x=starts.x[step])
                moment = self._locate(event, base, float(t[step]), int(place % count))
                if moment is not None:
                    if best is None or moment[0] < best[2]:
                        best = (step, event, *moment)
                    break
        return best

    def _locate(self, event: int, base: State, end: float, part: int) -> tuple[float, State] | None:
        """Return the moment of a crossing within a part of a step, on the dense output; None if there is none."""
        from scipy.optimize import brentq

        h = end - base.t
        helper = self.options.integrator(self.model)
        self.settings.apply(helper)

        def state(s: float) -> State:
            q, v, x = _dense_states(helper, base, end, np.array([base.t + s * h]))
            return State(q=q[0], v=v[0], t=base.t + s * h, x=x[0])

        def value(s: float) -> float:
            now = state(s)
            return float(self._watched(np.array([now.t]), now.q[None], now.v[None], now.x[None])[event, 0])

        ends = np.concatenate([[0.0], INNER, [1.0]])
        low, high = float(ends[part]), float(ends[part + 1])
        first, last = value(low), value(high)
        if first == 0 or np.sign(first) == np.sign(last):
            return None
        s = high if last == 0 else float(brentq(value, low, high, xtol=1e-15, rtol=8.9e-16))
        return base.t + s * h, state(s)

    def _happen(self, number: int, moment: float, state: State) -> bool:
        event = self.watch.events[number]
        self._mind_chatter(event, moment)
        now = Situation(self.settings, state)
        if event.action is not None:
            event.action(now)
        self.records.add(moment, state.q, state.v, state.x)
        if now.changed:
            self.records.add(moment, now.q, now.v, now.x)
        self.events.append(
            EventRecord(event.name, moment, state.q, state.v, state.x, -now.energy_loss, ", ".join(now.done))
        )
        self.settings = now.settings
        self._collect_counts()
        self.integrator = self.options.integrator(self.model)
        self._begin_segment(State(q=now.q, v=now.v, t=moment, x=now.x))
        t, q, v, x, _ = self.integrator.state()
        self.records.replace_last(t, q, v, x)
        self.g[number] = 0.0
        self.restarted = True
        return event.terminal or now.stopped

    def _mind_chatter(self, event: Event, moment: float) -> None:
        """Refuse events that come faster and faster, or at the same moment: time would stand still."""
        recent = self.recent.setdefault(event.name, [])
        recent.append(moment)
        gaps = np.diff(recent[-CHATTER:])
        last, run = gaps[-4:].sum(), self.t_end - self.segments[0].begin
        if len(gaps) == CHATTER - 1 and last < CHATTER_TIME * run and (np.diff(gaps) <= 0).all():
            raise IntegrationError(
                f"event {event.name!r} chatters: it came {len(recent)} times, the last 4 within {last:.2g} s "
                f"at t = {moment:.6g} s; make it terminal, or let its action end what causes it, for instance by a lock"
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
        }

    def restore(self, point: dict[str, Any]) -> None:
        """Take up where a snapshot was made."""
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
        self.integrator.restore(point["checkpoint"])
        self.records.extend(*point["records"])
        self.events, self.notes = list(point["events"]), [*self.notes, *point["notes"]]
        self.counts, self.methods, self.g = point["counts"].copy(), list(point["methods"]), point["g"].copy()
        self.recent = {name: list(times) for name, times in point["recent"].items()}

    # ---- what it leaves

    def _collect_counts(self) -> None:
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
        return self if changed or self.options.control is not None else None

    def segment_at(self, t: float) -> Segment:
        """Return the segment that a time lies in; where one ends and another begins, the later."""
        begins = [segment.begin for segment in self.segments]
        return self.segments[max(0, int(np.searchsorted(begins, t, side="right")) - 1)]

    def dense(self, times: Array) -> tuple[Array, Array, Array]:
        """Return q, v and x at times (k,) within the run, by the steps that were taken."""
        t, q, v, x = self.records.arrays()
        q_out, v_out, x_out = (np.empty((len(times), part.shape[1])) for part in (q, v, x))
        place = np.clip(np.searchsorted(t, times, side="right") - 1, 0, max(len(t) - 2, 0))
        for k in np.unique(place):
            mine = np.flatnonzero(place == k)
            base = State(q=q[k], v=v[k], t=float(t[k]), x=x[k])
            end = float(t[min(k + 1, len(t) - 1)])
            if end == base.t:
                q_out[mine], v_out[mine], x_out[mine] = base.q, base.v, base.x
                continue
            segment = self.segment_at(base.t)
            helper = segment.options.integrator(self.model)
            segment.settings.apply(helper)
            states = _sampled_states if self.native else _dense_states
            q_out[mine], v_out[mine], x_out[mine] = states(helper, base, end, times[mine])
        return q_out, v_out, x_out

    def _by_segment(
        self, method: str, t: Array, q: Array, v: Array, x: Array, **how: bool
    ) -> list[tuple[NDArray[np.intp], tuple[Array, ...]]]:
        begins = np.array([segment.begin for segment in self.segments])
        place = np.clip(np.searchsorted(begins, t, side="right") - 1, 0, None)
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


def _dense_states(integrator: _core.Integrator, base: State, end: float, times: Array) -> tuple[Array, Array, Array]:
    """Return states within the step from `base` to `end`, taken once more."""
    integrator.start(base.t, base.q, base.v, base.x)
    h = end - base.t
    _, _, q, v, x = integrator.dense(h, np.ascontiguousarray((times - base.t) / h))
    if len(q) != len(times):
        raise ModelError("dense output", "t", base.t, "the step that was taken here cannot be taken again")
    return q, v, x


def _sampled_states(integrator: _core.Integrator, base: State, end: float, times: Array) -> tuple[Array, Array, Array]:
    """Return states between two samples, by the method itself from the first of them."""
    integrator.start(base.t, base.q, base.v, base.x)
    order = np.argsort(times, kind="stable")
    later = times[order] > base.t
    integrator.advance(end, np.iinfo(np.int64).max, np.ascontiguousarray(times[order][later]))
    _, *found, _ = integrator.take()
    states = []
    for start, rows in zip((base.q, base.v, base.x), found, strict=True):
        full = np.empty((len(times), len(start)))
        full[order[~later]] = start
        full[order[later]] = rows
        states.append(full)
    return states[0], states[1], states[2]


def _inner(model: Model, begins: Array, starts: State, t: Array, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """Return times (n, k), coordinates and speeds at inner fractions of steps, good enough to look for sign changes."""
    h = (t - begins)[:, None, None]
    s = INNER[None, :, None]
    step = model.difference(starts.q, q)[:, None, :]
    v0, v1 = starts.v[:, None, :], v[:, None, :]
    xi = (3 * s**2 - 2 * s**3) * step + h * ((s - 2 * s**2 + s**3) * v0 + (s**3 - s**2) * v1)
    slope = (6 * s - 6 * s**2) * step / h + (1 - 4 * s + 3 * s**2) * v0 + (3 * s**2 - 2 * s) * v1
    rows = np.repeat(starts.q[:, None, :], len(INNER), axis=1)
    q_inner = model.integrate(rows.reshape(-1, model.nq), xi.reshape(-1, model.nv)).reshape(len(t), -1, model.nq)
    return begins[:, None] + INNER[None] * (t - begins)[:, None], q_inner, slope


def _passings(signs: Array, direction: int) -> NDArray[np.intp]:
    """Return the places after which a row of signs passes zero in the wanted direction; from zero itself is none."""
    before, after = signs[:-1], signs[1:]
    rising, falling = (before < 0) & (after >= 0), (before > 0) & (after <= 0)
    wanted = rising if direction > 0 else falling if direction < 0 else rising | falling
    return np.flatnonzero(wanted)
