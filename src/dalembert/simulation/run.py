"""A run: steps taken by the core in chunks, events between them, a track of all of it.

Steps are recorded as the core takes them. Between two chunks Python looks at the events, shows progress and can be
interrupted. Events may change the conditions: a new segment of the track then begins.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import IntegrationError, SingularityError
from ..model import Conditions, Model, State
from ..result import EventRecord
from .branch_log import BranchLog
from .delay_history import record_jump, record_step
from .diagnostics.compound_branches import CompoundBranches
from .diagnostics.stagnation import StagnationMonitor, ZenoMonitor
from .events.control_sampling import Sampling
from .events.discontinuity_times import breaks_until, timetable
from .events.events import EventContext, EventFunctions
from .events.velocity_jumps import speeds_after_jump, work_of_drives
from .events.zero_crossings import Crossing, find_crossings
from .failure import element_at_fold, make_error
from .friction.friction import Change, FrictionState
from .interrupts import Abandoned, Interrupt
from .options import Options
from .storage.resume import request_record
from .trajectory import Segment, Trajectory

if TYPE_CHECKING:
    from .progress import Progress
    from .storage.stream import Stream

__all__ = ["Run"]

Array = NDArray[np.float64]

NONE: Array = np.zeros(0)
REACHED, PAUSED, STIFF, STOPPED = (_core.outcomes[name] for name in ("reached", "paused", "stiff", "stopped"))

CHUNK_TIME = 0.05  # s of wall time between two looks at events and keys
MAX_CHUNK_STEPS = 4096  # in a chunk
MAX_STEPS_AFTER_EVENT = 32  # steps after an event before the next look
MAX_STEP_WHILE_STUCK = 0.005  # of the run: longest step while something sticks
FASTEST = 1e-13  # of the run: speeds that change by more than their tolerance within this time cannot be followed
TRANSIENT = 1e-9  # of the run: length of the step that goes over what they do after a change
MOST_TRANSIENTS = 100  # in a run
MIN_STEP = 1e-12  # of the run: a step that is not halved any more to keep to a solution of an inner equilibrium


class Run:
    """One simulation in progress.

    Parameters
    ----------
    conditions : Conditions
        To begin with.
    options : Options
    t_end : float, s
    times : (k,) s or None
        Where states are wanted; every step if None.
    watch : Watch
    progress : Progress
    interrupt : Interrupt
    dry : Dry
        Friction and stops of joints, if there are any.
    breaks : (n,) s
        Where steps have to end besides.
    """

    def __init__(
        self,
        conditions: Conditions,
        options: Options,
        t_end: float,
        times: Array | None,
        watch: EventFunctions,
        progress: Progress,
        interrupt: Interrupt,
        dry: FrictionState | None = None,
        breaks: Array = NONE,
    ) -> None:
        self.conditions, self.options = conditions, options
        self.also, self.breaks, self.horizon = breaks, NONE, -np.inf
        self.sampling = Sampling.of(conditions)
        self.t_end, self.times = t_end, times
        self.watch, self.progress, self.interrupt, self.dry = watch, progress, interrupt, dry
        if dry is not None:
            watch.also(dry.events)
        self.stream: Stream | None = None
        self.asked = request_record(options, conditions)
        self.history = conditions.history
        self.integrator = options.integrator(conditions)
        self.events: list[EventRecord] = []
        self.notes: list[str] = []
        self.counts = np.zeros(8, dtype=np.int64)
        self.missed: tuple[float, int] | None = None
        self.let_go: dict[int, float] = {}
        self.methods: list[str] = []
        self.begun = time.perf_counter()
        self.g = np.zeros(len(watch.events))
        self.restarted = self.searching = False
        self.ignored: set[int] = set()  # events whose outputs are noise
        self.transients = 0  # too fast to follow, that a step went over
        self.costs = (0.0, 0.0)  # of a look at events and of a step, s of wall time
        self.apart = self.since = 0  # steps between the last two events, and since the last
        self.pace, self.chatter = StagnationMonitor(), ZenoMonitor()
        self._branched: tuple[Conditions, Conditions] | None = None
        self.inner = CompoundBranches(self.model)
        switchings = BranchLog(np.array([kind in ("whole", "table") for _, kind in self.model.thresholds], dtype=bool))
        # the core samples; else Python does, from the steps
        looks = watch.events or self.history is not None or len(switchings.whole) or self.inner.insides
        self.track = Trajectory(times is not None and not looks, switchings)
        self.records, self.segments = self.track.records, self.track.segments

    @property
    def model(self) -> Model:
        """The model, with the numbers that it has now."""
        return self.conditions.model

    @property
    def reached(self) -> State:
        """Where it is."""
        t, q, v, x = self.integrator.state()[:4]
        return State(q=q, v=v, t=t, x=x)

    # ---- starting and restarting

    def start(self, state: State) -> None:
        """Begin at a state."""
        if self.dry is not None:
            now = EventContext(self.conditions, state)
            self._after_change(self.dry.begin(now), now)
            state = State(q=now.q, v=now.v, t=now.t, x=now.x)
            self.conditions = now.conditions
            self.integrator = self.present.integrator(self.conditions)
        self.records.add(state.t, state.q, state.v, state.x)
        if self.sampling is not None:
            self.sampling.take(state)
        self.find_breaks(state.t)
        self._begin_segment(state)
        self.records.replace_last(*self.integrator.state()[:4])

    def find_breaks(self, begin: float) -> None:
        """Look up where steps have to end, as far as the run is known to go."""
        longer = self.sampling is not None and np.isfinite(self.horizon)
        self.horizon = max(self.t_end, 2 * self.t_end - begin) if longer else self.t_end
        self.breaks = self.breaks_under(self.conditions, begin)
        self.integrator.set_breaks(self.breaks)

    def breaks_under(self, conditions: Conditions, begin: float) -> Array:
        """Return where steps have to end under conditions, (n,) s."""
        return breaks_until(conditions, begin, self.horizon, smooth=not self.options.step, also=self.also)

    @property
    def present(self) -> Options:
        """How to integrate now: while something sticks, steps must not miss what the efforts that hold it do."""
        if self.dry is None or not self.dry.sticks:
            return self.options
        return replace(self.options, max_step=min(self.options.max_step, MAX_STEP_WHILE_STUCK * self.dry.span))

    def _begin_segment(self, state: State) -> None:
        self.segments.append(Segment(state.t, self.present, self.conditions, self.breaks))
        if not self.methods or self.methods[-1] != self.options.method:
            self.methods.append(self.options.method)
        outcome = self.integrator.start(state.t, state.q, state.v, state.x)
        self._take_switchings()
        if outcome != REACHED:
            raise make_error(self, outcome)
        self._remember(begins=True)
        self.g = self.watched(np.array([state.t]), state.q[None], state.v[None], state.x[None])[:, 0]

    def _take_switchings(self) -> None:
        """Keep the branches of laws that steps were on; where the motion slides between two, a segment begins.

        After that it leaves the jump so slowly that its states do not tell the branch: it is held while it is the same.
        """
        for t, slides, sides in self.track.switchings.take(self.integrator):
            last = self.segments[-1]
            self.notes += self.track.switchings.notes(self.model, t, slides)
            before, ours = last.conditions, self.conditions.branches
            left = {k: float(sides[k]) for k in before.sliding - slides if abs(sides[k]) == 1.0}
            left |= {k: side for k, side in before.branches.items() if sides[k] == side}
            if slides != before.sliding or {**left, **ours} != before.branches:
                conditions = self.conditions.changed(sliding=slides, branches={**left, **ours})
                self.segments.append(Segment(t, last.options, conditions, last.breaks, last.usual_slack))

    def change_conditions(self, conditions: Conditions) -> None:
        """Go on from here under other conditions."""
        t, q, v, x = self.integrator.state()[:4]
        self._collect_counts()
        step = self.integrator.step
        other = conditions.model is not self.model
        self._take_conditions(conditions)
        if other and self.model.nc:
            v = speeds_after_jump(conditions, q, v, t, None)
        state = State(q=q, v=v, t=t, x=x)
        if self.dry is not None:
            now = EventContext(conditions, state)
            self._after_change(self.dry.settle(now, ()), now)
            self.conditions, state = now.conditions, State(q=now.q, v=now.v, t=t, x=x)
        self.integrator = self.present.integrator(self.conditions, self.breaks)
        self.records.add(t, state.q, state.v, state.x)
        self._begin_segment(state)
        self.integrator.step = step

    def _take_conditions(self, conditions: Conditions) -> None:
        """Take other conditions, which may break at other times."""
        moved = not np.array_equal(conditions.parameters, self.conditions.parameters)
        self.conditions = conditions
        if self.dry is not None:
            self.dry.follow(self.model)
        if moved and timetable(self.model).uses:
            self.find_breaks(self.segments[0].begin)

    def _remember(self, begins: bool = False) -> None:
        """Keep the step just taken for inputs with a delay, and what the stepper has learnt for its dense output."""
        self.segments[-1].usual_slack = self.integrator.usual_slack
        if self.history is not None:
            record_step(self, self.history, begins=begins)

    def _change_method(self, method: str) -> None:
        t, q, v, x = self.integrator.state()[:4]
        self._collect_counts()
        self.options = replace(self.options, method=method, watch=False)
        self.integrator = self.present.integrator(self.conditions, self.breaks)
        self._begin_segment(State(q=q, v=v, t=t, x=x))

    # ---- going on

    def go(self) -> str:
        """Take steps to the end, an event that stops, or trouble; returns the status."""
        steps = self._first_steps() if self.watch.events else 1 if self.history is not None else 16
        if self.t_end > self.horizon:
            self.find_breaks(self.segments[0].begin)
            self.segments[-1].breaks = self.breaks
        while True:
            if self.interrupt.pressed:
                return "interrupted"
            self.pace.mind(self)
            until = self._until()
            began = time.perf_counter()
            wanted = self._times_left() if self.track.sampled else None
            before = (self.integrator.checkpoint(), self.g) if self.watch.events and self.history is None else None
            failed: Exception | None = None
            try:
                outcome = self.integrator.advance(until, steps, wanted, self.interrupt.flag)
            except Exception as error:  # of a user's function; the steps before it are good
                failed = error
            stepped = time.perf_counter()
            rows: tuple[Array, ...] = self.integrator.take()
            self._take_switchings()
            if self.track.sampled and self.stream is None:
                self.track.add_steps(self.integrator.take_steps())
            rows, shorter = self._keep_compound_branches(rows)
            if not shorter:
                self._remember()
            if self.watch.events:
                try:
                    ends = self._handle_events(rows)
                except Abandoned:
                    assert before is not None
                    self._take_back(*before)
                    return "interrupted"
                self.costs = time.perf_counter() - stepped, (stepped - began) / max(1, len(rows[0]))
                if ends:
                    return "event"
                if self.restarted:
                    steps = self._first_steps()
                    continue
            else:
                self.records.extend(*rows[:4])
            if shorter:
                self._anchors(shorter)
                continue
            if failed is not None:
                raise failed
            if self.stream is not None:
                self.stream.flush(self)
            self.progress.show(self.integrator.t)
            if outcome == REACHED and until == self.t_end:
                return "finished"
            if outcome == STIFF:
                self.notes.append(
                    f"t = {self.integrator.t:.6g} s: stability held explicit steps back; went on with radau"
                )
                self._change_method("radau")
            elif outcome not in (PAUSED, REACHED, STOPPED):
                if not self._jams() and not self._anchors() and not self._passes_transient():
                    raise make_error(self, outcome)
                steps = 1
            used = time.perf_counter() - began
            if self.history is not None:
                continue
            steps = min(MAX_CHUNK_STEPS, 2 * steps) if used < CHUNK_TIME else max(1, steps // 2)

    def _take_back(self, checkpoint: bytes, g: Array) -> None:
        """Return to where the run was before steps whose events have not been found."""
        self.integrator = self.present.integrator(self.conditions, self.breaks)
        self.integrator.restore(checkpoint)
        self.g = g
        self.track.drop_switchings(self.integrator.t)

    def _keep_compound_branches(self, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], float]:
        """Return the steps that keep to the solutions of inner equilibria, and how long the next one may be at most.

        That is 0 if all of them do.
        """
        if not self.inner.insides or not len(rows[0]):
            return rows, 0.0
        t0, *begin = self.records.last()
        t = np.concatenate([[t0], rows[0]])
        q, v, x = (np.vstack([a, b]) for a, b in zip(begin, rows[1:4], strict=True))

        def between(k: int, fractions: Array) -> tuple[Array, Array, Array, Array]:
            ends = slice(k, k + 2)
            states = self.track.within_step(t[ends], q[ends], v[ends], x[ends], fractions)
            return t[k] + fractions * (t[k + 1] - t[k]), *states

        lost = self.inner.lost_after(self.conditions, t, q, v, x, between, self.segments[-1].begin)
        if lost is None:
            return rows, 0.0
        length = float(t[lost + 1] - t[lost])
        if self.segments[-1].begin == t[lost]:  # it may have been tried from there
            length *= 0.5
        if length < MIN_STEP * (self.t_end - self.segments[0].begin):
            return rows, 0.0
        self.counts[0] -= len(rows[0]) - lost
        return tuple(part[:lost] for part in rows), length

    def _anchors(self, length: float = 0.0) -> bool:
        """Begin searches for nodes of compounds where they are, and go on; returns whether that is anything new.

        Without a length of the next step, searches that begin there already are nothing new.
        """
        if not self.inner.insides:
            return False
        folded = "" if length else element_at_fold(self)
        if folded:
            raise SingularityError(folded)
        t, q, v, x = self.records.last()
        state = State(q=q, v=v, t=t, x=x)
        conditions = self.inner.anchored(self.conditions, state)
        if conditions is None and not length:
            return False
        self.track.drop_switchings(t)
        self._collect_counts()
        if self.segments[-1].begin == t:
            self.segments.pop()
        self.conditions = self.conditions if conditions is None else conditions
        self.integrator = self.present.integrator(self.conditions, self.breaks)
        self._begin_segment(state)
        if length:
            self.integrator.first_step(length)
        return True

    def _passes_transient(self) -> bool:
        """Go over a transient that is too fast to follow, just after a change; returns whether that was it.

        Degrees of freedom with hardly any inertia, but damping, settle within less than the rounding of time. One
        implicit step leads to where they settle. Its errors count, but for the speeds that change so fast.
        """
        t, q, v, x, a, _ = self.integrator.state()
        nv, span = self.model.nv, self.t_end - self.segments[0].begin
        late = t - self.segments[-1].begin > TRANSIENT * span
        if late or not (self.options.watch or self.options.method == "radau"):
            return False
        usual = self.options.tolerances[nv : 2 * nv] + self.options.rtol * np.abs(v)
        fast = np.abs(a) * FASTEST * span > usual
        length = min(TRANSIENT * span, self._until() - t)
        if not np.isfinite(a).all() or not fast.any() or self.transients >= MOST_TRANSIENTS or not length > 0:
            return False
        loose = self.options.tolerances.copy()
        loose[nv : 2 * nv][fast] = 10.0 * (np.abs(v) + np.abs(a) * length)[fast]
        options = replace(self.present, method="radau", watch=False, tolerances=loose)
        stepper = options.integrator(self.conditions, self.breaks)
        if stepper.start(t, q, v, x) != REACHED:
            return False
        stepper.first_step(length)
        stepper.advance(t + length, 1, None, self.interrupt.flag)
        rows = stepper.take()
        if not len(rows[0]):
            return False
        self._collect_counts()
        self.options = replace(self.options, method="radau", watch=False)
        self.integrator = stepper
        if self.segments[-1].begin == t:
            self.segments.pop()
        self.segments.append(Segment(t, options, self.conditions, self.breaks))
        self.records.extend(*rows[:4])
        self.transients += 1
        if self.transients == 1:
            first = sorted(np.flatnonzero(fast), key=lambda k: -abs(a[k]))[:3]
            names = ", ".join(self.model.speed_names[k] for k in first)
            self.notes.append(
                f"t = {t:.6g} s: {names} settle{'s' * (len(first) == 1)} faster than time can be told, for lack of "
                "inertia; one implicit step goes over that after each change. Give inertia there (armature)"
            )
        self.change_conditions(self.conditions)
        return True

    def _first_steps(self) -> int:
        """Return how many steps to take before the first look at events.

        As many as there were from one event to another, but none that would take longer than a look.
        """
        if self.history is not None or self.conditions.host is not None:
            return 1
        look, step = self.costs
        return max(1, min(MAX_STEPS_AFTER_EVENT, self.apart + 1 + (self.apart > 0), int(look / step))) if step else 1

    def _until(self) -> float:
        """Return how far the core may go: to the end, or to where a control is sampled next."""
        if self.sampling is None:
            return self.t_end
        t, q, v, x = self.integrator.state()[:4]
        self.sampling.take(State(q=q, v=v, t=t, x=x))
        return min(self.t_end, self.sampling.next)

    def _times_left(self) -> Array:
        assert self.times is not None
        done = self.records.last_time()
        return np.ascontiguousarray(self.times[self.times > done])

    # ---- events

    def watched(self, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return the outputs that events wait for less their values, at rows of states, (events, n)."""
        if self.searching and self.interrupt.late and self.history is None:
            raise Abandoned
        values = np.zeros((0, len(t)))
        if self.watch.asked:
            values = self.watch.values(self.track.conditions, t, q, v, x)
            values[list(self.ignored)] = 1.0
        if self.dry is not None:
            dry = np.empty((len(self.dry.events), len(t)))
            for rows, conditions in self.track.conditions(t):
                dry[:, rows] = self.dry.values(self._on_branches(conditions), t[rows], q[rows], v[rows], x[rows])
            values = np.vstack([values, dry])
        return values

    def ignore(self, event: int, t: float) -> None:
        """Look for an event no more, since its output jumps to and fro around its value.

        Raises
        ------
        IntegrationError
            If it is one that may change the run.
        """
        found = self.watch.events[event]
        jumps = f"jumped from one side of its value to the other again and again within a step near t = {t:.6g} s"
        if found.active:
            raise IntegrationError(f"event {found.name!r} chatters: its output {jumps}, as noise does; smooth it")
        self.ignored.add(event)
        self.notes.append(f"event {found.name!r}: its output {jumps}, as noise does; it is not looked for any more")

    def _on_branches(self, at: Conditions) -> Conditions:
        """Return the present conditions with the branches of laws, and where the motion slides, of others."""
        key = self.conditions
        if at.sliding == key.sliding and at.branches == key.branches:
            return key
        kept = self._branched
        if kept is None or kept[0] is not key or kept[1].sliding != at.sliding or kept[1].branches != at.branches:
            self._branched = kept = key, key.changed(sliding=at.sliding, branches=at.branches)
        return kept[1]

    def _handle_events(self, rows: tuple[Array, ...]) -> bool:
        """Look through new steps, stop at the first event that may change the run; returns whether that ends it."""
        self.restarted = False
        t, q, v, x, _ = rows
        if not len(t):
            return False
        t0, q0, v0, x0 = self.records.last()
        states = np.concatenate([[t0], t]), np.vstack([q0, q]), np.vstack([v0, v]), np.vstack([x0, x])
        self.searching = True
        try:
            crossings = find_crossings(self, *states)
        finally:
            self.searching = False
        passed = [c for c in crossings if not self.watch.events[c.event].active]
        active = [c for c in crossings if self.watch.events[c.event].active]
        self._note(passed)
        kept = active[0].step if active else len(t)
        self.since += kept
        if active:
            self.apart, self.since = self.since, 0
        self.counts[0] -= max(0, len(t) - kept - 1)  # steps beyond the event
        self.records.extend(t[:kept], q[:kept], v[:kept], x[:kept])
        return self._happen(active, [c.event for c in passed if c.moment >= active[0].moment]) if active else False

    def _note(self, crossings: list[Crossing]) -> None:
        for c in crossings:
            self.events.append(EventRecord(self.watch.events[c.event].name, c.moment, c.state.q, c.state.v, c.state.x))

    def _happen(self, crossings: list[Crossing], also: list[int]) -> bool:
        """Do what events at the same moment ask for, and go on from there; returns whether one of them ends the run."""
        moment, state = crossings[0].moment, crossings[0].state
        self.track.drop_switchings(moment)
        fresh = moment > self.records.last_time()
        if fresh:
            self.records.add(moment, state.q, state.v, state.x)
        before, old = state, self.conditions
        if self.history is not None:
            record_jump(self, self.history, state)
        ends = False
        asked = self.watch.asked
        if self.dry is not None:  # actions see locks of their own only
            self.conditions = self.dry.let_go(self.conditions)
        for crossing in crossings:
            if crossing.event >= asked:
                continue
            event = self.watch.events[crossing.event]
            self.chatter.mind(event.name, moment, self.t_end - self.segments[0].begin)
            now = EventContext(self.conditions, replace(before))
            event.act(now)
            after = State(q=now.q, v=now.v, t=moment, x=now.x)
            if now.before is not None:  # a jump that began a moment earlier
                before = replace(now.before, t=moment)
                self.records.drop_after(now.before.t)
                self.records.add(moment, before.q, before.v, before.x)
            energy = self._gain(before, now.conditions, after)
            done = ", ".join(now.done)
            record = EventRecord(event.name, moment, before.q, before.v, before.x, energy, done, now.dissipated)
            self.events.append(record)
            self._take_conditions(now.conditions)
            before = after
            ends |= event.terminal or now.stopped
        if self.dry is not None:
            before = self._settle(before, [c.event - asked for c in crossings if c.event >= asked])
        moved = any(
            not np.array_equal(a, b) for a, b in ((before.q, state.q), (before.v, state.v), (before.x, state.x))
        )
        if moved or self.conditions is not old or not fresh:
            self.records.add(moment, before.q, before.v, before.x)
        self._collect_counts()
        step = self.integrator.step
        self.integrator = self.present.integrator(self.conditions, self.breaks)
        self._begin_segment(before)
        if self.dry is not None:
            self.integrator.step = step
        self.records.replace_last(*self.integrator.state()[:4])
        self.g[[*(c.event for c in crossings), *also]] = 0.0
        self.restarted = True
        return ends

    def _settle(self, state: State, passed: list[int]) -> State:
        """Decide anew who sticks, slips, bounces and leaves; returns the state after that."""
        assert self.dry is not None
        now = EventContext(self.conditions, state)
        change = self.dry.settle(now, passed)
        after = State(q=now.q, v=now.v, t=state.t, x=now.x)
        gain, lost = self._impact(state, now.conditions, after) if change.loses else (0.0, 0.0)
        self._after_change(change, now, gain, lost)
        self.conditions = now.conditions
        return after

    def _jams(self) -> bool:
        """Stop what slides and finds no friction that fits its load, and go on; returns whether that was it."""
        if self.dry is None:
            return False
        t, q, v, x = self.integrator.state()[:4]
        before = State(q=q, v=v, t=t, x=x)
        now = EventContext(self.conditions, replace(before))
        change = self.dry.jam(now)
        if change is None:
            return False
        after = State(q=now.q, v=now.v, t=t, x=x)
        self._after_change(change, now, *self._impact(before, now.conditions, after))
        self.conditions = now.conditions
        self._collect_counts()
        self.integrator = self.present.integrator(self.conditions, self.breaks)
        self.records.add(t, after.q, after.v, after.x)
        self._begin_segment(after)
        return True

    def _after_change(self, change: Change, now: EventContext, energy: float = 0.0, lost: float = 0.0) -> None:
        """Put a change of friction and stops on record."""
        assert self.dry is not None
        self.dry.hits.add(change, now.t)
        for words in change.words:
            self.events.append(EventRecord(words, now.t, now.q, now.v, now.x, energy, dissipated=lost))
            energy = lost = 0.0

    def _impact(self, before: State, conditions: Conditions, after: State) -> tuple[float, float]:
        """Return by how much the energy is more after an impact on stops, and how much it has lost, J each."""
        assert self.dry is not None
        gain = self._gain(before, conditions, after)
        rows = self.dry.rows.jacobian(after.q)
        return gain, work_of_drives(self.conditions, after.q, before.v, after.v, after.t, rows=rows) - gain

    def _gain(self, before: State, conditions: Conditions, after: State) -> float:
        """Return by how much kinetic and potential energy, of elements too, is more after a change, J."""

        def energy(under: Conditions, *states: State) -> Array:
            t, q, v, x = (np.array([getattr(state, part) for state in states]) for part in ("t", "q", "v", "x"))
            total: Array = self.model.energy(q, v, t=t, x=x, conditions=under).total
            return total

        if conditions is self.conditions:
            return float(np.diff(energy(conditions, before, after))[0])
        return float((energy(conditions, after) - energy(self.conditions, before))[0])

    # ---- what it leaves

    def _collect_counts(self) -> None:
        self.counts += np.array(self.integrator.counts)
        self.missed = self.first_missed()
        self._note_let_go()

    def total_counts(self) -> NDArray[np.int64]:
        """Return steps, rejected, evaluations, Jacobians, factorizations, projections, noisy and missed so far."""
        total: NDArray[np.int64] = self.counts + np.array(self.integrator.counts)
        return total

    def first_missed(self) -> tuple[float, int] | None:
        """Return when, s, and which switching function first changed sign and back in a step of fixed length."""
        return self.integrator.missed if self.missed is None and self.integrator.counts[-1] else self.missed

    def _note_let_go(self) -> None:
        """Keep the first time, s, at which the integrator ceased to hold a branch that changes too often."""
        t, threshold = self.integrator.let_go
        if threshold >= 0:
            self.let_go.setdefault(threshold, t)

    def branches_let_go(self) -> dict[int, float]:
        """Return thresholds whose branches are not held any more, with the time from which on, s."""
        self._note_let_go()
        return self.let_go
