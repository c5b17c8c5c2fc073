"""One run: steps of the core in chunks, events between them, changes of friction and conditions.

The core takes a chunk of steps and records them. Between two chunks Python locates events, shows progress and reacts to
Ctrl-C. An event may change the conditions: a new segment of the trajectory begins there.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..errors import IntegrationError, SingularityError
from ..model import Conditions, Model, SampledControl, State
from ..result import EventRecord
from .branch_log import BranchLog
from .delay_history import record_jump, record_step
from .diagnostics.compound_branches import CompoundBranches
from .diagnostics.snap_through import compound_nodes
from .diagnostics.stagnation import StagnationMonitor, ZenoMonitor
from .events.control_sampling import ControlSampler
from .events.discontinuity_times import discontinuity_sources, discontinuity_times_until
from .events.drive_velocity_jumps import jump_events
from .events.events import EventContext, EventFunctions
from .events.velocity_jumps import velocities_after_jump, work_of_drives
from .events.zero_crossings import Crossing, find_crossings
from .failure import element_at_fold, make_error
from .friction.messages import Change
from .interrupts import Abandoned, Interrupt
from .options import Options
from .progress import Progress
from .request import SimulationRequest
from .trajectory import Segment, Trajectory

if TYPE_CHECKING:
    from .storage.stream import Stream

__all__ = ["Run"]

Rows = tuple[Array, ...]  # t, q, v, x and more of steps

REACHED, PAUSED, STIFF, STOPPED = (_core.outcomes[name] for name in ("reached", "paused", "stiff", "stopped"))

CHUNK_TIME = 0.05  # s of wall time: intended length of a chunk, so that Ctrl-C is answered soon
FIRST_CHUNK_STEPS = 16  # of a run without events
MAX_CHUNK_STEPS = 4096  # bounds the memory of a chunk
MAX_STEPS_AFTER_EVENT = 32  # before the next search for events: steps beyond an event are thrown away
MAX_STEP_WHILE_STUCK = 0.005  # of the run: the effort that holds a stuck row is sampled at least so often
FASTEST = 1e-13  # of the run: velocities that change by more than their tolerance within this time are not resolved
TRANSIENT = 1e-9  # of the run: length of the implicit step that passes such a transient
MAX_TRANSIENTS = 100  # in a run
MIN_STEP = 1e-12  # of the run: a step is not halved further to stay on a branch of an inner equilibrium


class Run:
    """State of one run between its start and its result.

    Parameters
    ----------
    request : SimulationRequest
    interrupt : Interrupt

    Attributes
    ----------
    conditions, options
        At the time reached.
    t_end : float, s
    times : (k,) s or None
        Output times; every step if None.
    discontinuity_times : (n,) s
        Discontinuity times, at which steps end.
    horizon : float, s
        Time up to which `discontinuity_times` are known.
    g : (events,)
        Values of the event functions at the time reached.
    events : list of EventRecord
    notes : list of str
    counts : (8,)
        Statistics of earlier integrators; see `total_counts`.
    trajectory : Trajectory
        Recorded states and segments.
    """

    def __init__(self, request: SimulationRequest, interrupt: Interrupt) -> None:
        self.request, self.interrupt = request, interrupt
        self.conditions, self.options = request.conditions, request.options
        self.t_end, self.times = request.t_end, request.times
        self.friction, self.history = request.friction, request.conditions.history
        self.event_functions, self.given_discontinuity_times = request.events, request.discontinuity_times
        self.progress = Progress(request.t_start, request.t_end, request.progress)
        model = request.conditions.model
        if request.drive_jumps:
            jumps = jump_events(request.drive_jumps, request.t_start, request.t_end)
            self.event_functions = EventFunctions(model, [*request.events.events, *jumps])
            self.given_discontinuity_times = np.union1d(
                request.discontinuity_times, [event.value for event in jumps]
            )  # no step crosses a jump
        if self.friction is not None:
            self.event_functions.add_internal(self.friction.events)
        sampled = isinstance(self.conditions.control, SampledControl)
        self.sampler = ControlSampler(self.conditions) if sampled else None
        self.discontinuity_times, self.horizon = np.zeros(0), -np.inf
        self.integrator = self.options.integrator(self.conditions)
        self.stream: Stream | None = None
        self.resumed_request: dict[str, Any] | None = None  # record of the request of the run that this one resumes
        self.events: list[EventRecord] = []
        self.notes: list[str] = []
        self.counts = np.zeros(8, dtype=np.int64)
        self.missed: tuple[float, int] | None = None
        self.released_branches: dict[int, float] = {}
        self.methods: list[str] = []
        self.g = np.zeros(len(self.event_functions.events))
        self.restarted = self.searching = False
        self.ignored: set[int] = set()  # events with noisy outputs
        self.transients = 0  # unresolved transients that were passed
        self.costs = (0.0, 0.0)  # s of wall time of a search for events, and of a step
        self.steps_between_events = self.steps_since_event = 0
        self.stagnation, self.zeno = StagnationMonitor(), ZenoMonitor()
        self._on_branches_cache: tuple[Conditions, Conditions] | None = None
        compounds = compound_nodes(model)
        self.compound_branches = CompoundBranches(compounds) if compounds else None
        branch_log = BranchLog(
            np.array([kind in ("integer", "table") for _, kind in model.switching_functions], dtype=bool)
        )
        needs_steps = self.event_functions.events or self.history is not None or model.switching_functions or compounds
        # the core records the output times itself unless Python needs every step
        self.trajectory = Trajectory(self.times is not None and not needs_steps, branch_log)
        self.records, self.segments = self.trajectory.records, self.trajectory.segments

    @property
    def model(self) -> Model:
        """The model with the present parameters."""
        return self.conditions.model

    @property
    def state(self) -> State:
        """State at the time reached."""
        t, q, v, x = self.integrator.state()[:4]
        return State(q=q, v=v, t=t, x=x)

    # ---- start and restart

    def start(self, state: State) -> None:
        """Start at a state."""
        if self.friction is not None:
            now = EventContext(self.conditions, state)
            self._record_friction_change(self.friction.begin(now), now)
            state = State(q=now.q, v=now.v, t=now.t, x=now.x)
            self.conditions = now.conditions
            self.integrator = self.current_options.integrator(self.conditions)
        self.records.add(state.t, state.q, state.v, state.x)
        if self.sampler is not None:
            self.sampler.take(state)
        self.update_discontinuity_times(state.t)
        self._begin_segment(state)
        self.records.replace_last(*self.integrator.state()[:4])

    def update_discontinuity_times(self, begin: float) -> None:
        """Find the discontinuity times from a time, s, up to the known end of the run."""
        longer = self.sampler is not None and np.isfinite(self.horizon)
        self.horizon = max(self.t_end, 2 * self.t_end - begin) if longer else self.t_end
        self.discontinuity_times = self.discontinuity_times_under(self.conditions, begin)
        self.integrator.set_discontinuities(self.discontinuity_times)

    def discontinuity_times_under(self, conditions: Conditions, begin: float) -> Array:
        """Return the discontinuity times under conditions, (n,) s."""
        return discontinuity_times_until(
            conditions, begin, self.horizon, smooth=not self.options.step, also=self.given_discontinuity_times
        )

    @property
    def current_options(self) -> Options:
        """Options with the step limited while a row sticks, so that its holding effort is sampled."""
        if self.friction is None or not self.friction.sticks:
            return self.options
        return replace(self.options, max_step=min(self.options.max_step, MAX_STEP_WHILE_STUCK * self.friction.span))

    def _begin_segment(self, state: State) -> None:
        self.segments.append(Segment(state.t, self.current_options, self.conditions, self.discontinuity_times))
        if not self.methods or self.methods[-1] != self.options.method:
            self.methods.append(self.options.method)
        outcome = self.integrator.start(state.t, state.q, state.v, state.x)
        if self.model.switching_functions:
            self._take_branch_changes()
        if outcome != REACHED:
            raise make_error(self, outcome)
        self._record_step(begins=True)
        if self.event_functions.events:
            self.g = self.event_values(np.array([state.t]), state.q[None], state.v[None], state.x[None])[:, 0]

    def _take_branch_changes(self) -> None:
        """Record the branches of laws in the steps taken; where a sliding mode begins or ends, begin a segment.

        After a sliding mode the motion leaves the switching surface so slowly that states do not identify the branch:
        it is held while it stays the same.
        """
        log = self.trajectory.branch_log
        for t, slides, sides in log.take(self.integrator):
            last = self.segments[-1]
            self.notes += log.notes(self.model, t, slides)
            before, ours = last.conditions, self.conditions.branches
            left = {k: float(sides[k]) for k in before.sliding - slides if abs(sides[k]) == 1.0}
            left |= {k: side for k, side in before.branches.items() if sides[k] == side}
            if slides != before.sliding or {**left, **ours} != before.branches:
                conditions = self.conditions.changed(sliding=slides, branches={**left, **ours})
                self.segments.append(
                    Segment(t, last.options, conditions, last.discontinuity_times, last.usual_min_pivot)
                )

    def change_conditions(self, conditions: Conditions) -> None:
        """Continue under other conditions."""
        t, q, v, x = self.integrator.state()[:4]
        self._collect_counts()
        step = self.integrator.step
        other = conditions.model is not self.model
        self._take_conditions(conditions)
        if other and self.model.nc:
            v = velocities_after_jump(conditions, q, v, t, None)
        state = State(q=q, v=v, t=t, x=x)
        if self.friction is not None:
            now = EventContext(conditions, state)
            self._record_friction_change(self.friction.settle(now, ()), now)
            self.conditions, state = now.conditions, State(q=now.q, v=now.v, t=t, x=x)
        self.integrator = self.current_options.integrator(self.conditions, self.discontinuity_times)
        self.records.add(t, state.q, state.v, state.x)
        self._begin_segment(state)
        self.integrator.step = step

    def _take_conditions(self, conditions: Conditions) -> None:
        """Set other conditions, with their discontinuity times."""
        moved = not np.array_equal(conditions.parameters, self.conditions.parameters)
        self.conditions = conditions
        if self.friction is not None:
            self.friction.set_model(self.model)
        if moved and discontinuity_sources(self.model).uses:
            self.update_discontinuity_times(self.segments[0].begin)

    def _record_step(self, begins: bool = False) -> None:
        """Record the last step for inputs with a delay, and the loop slack of the integrator for dense output."""
        self.segments[-1].usual_min_pivot = self.integrator.usual_min_pivot
        if self.history is not None:
            record_step(self, self.history, begins=begins)

    def _change_method(self, method: str) -> None:
        t, q, v, x = self.integrator.state()[:4]
        self._collect_counts()
        self.options = replace(self.options, method=method, detect_stiffness=False)
        self.integrator = self.current_options.integrator(self.conditions, self.discontinuity_times)
        self._begin_segment(State(q=q, v=v, t=t, x=x))

    # ---- steps

    def advance(self) -> str:
        """Take steps up to `t_end`, a terminal event, an interrupt or a failure; return the status."""
        steps = FIRST_CHUNK_STEPS if self.history is None else 1
        if self.event_functions.events:
            steps = self._steps_before_event_search()
        if self.t_end > self.horizon:
            self.update_discontinuity_times(self.segments[0].begin)
            self.segments[-1].discontinuity_times = self.discontinuity_times
        while True:
            if self.interrupt.pressed:
                return "interrupted"
            self.stagnation.check(self)
            until = self.t_end if self.sampler is None else self._pause_time()
            began = time.perf_counter()
            can_roll_back = self.event_functions.events and self.history is None
            before = (self.integrator.checkpoint(), self.g) if can_roll_back else None
            outcome, failed = self._take_steps(until, steps)
            stepped = time.perf_counter()
            rows, shorter = self._take_rows()
            if self.event_functions.events:
                try:
                    ends = self._handle_events(rows)
                except Abandoned:
                    assert before is not None
                    self._roll_back(*before)
                    return "interrupted"
                self.costs = time.perf_counter() - stepped, (stepped - began) / max(1, len(rows[0]))
                if ends:
                    return "event"
                if self.restarted:
                    steps = self._steps_before_event_search()
                    continue
            else:
                self.records.extend(*rows[:4])
            if shorter:
                self._restart_search(shorter)
                continue
            if failed is not None:
                raise failed
            if self.stream is not None:
                self.stream.flush(self)
            self.progress.show(self.integrator.t)
            if outcome == REACHED and until == self.t_end:
                return "finished"
            if outcome not in (PAUSED, REACHED, STOPPED) and self._recover(outcome):
                steps = 1
            if self.history is not None:
                continue
            used = time.perf_counter() - began
            steps = min(MAX_CHUNK_STEPS, 2 * steps) if used < CHUNK_TIME else max(1, steps // 2)

    def _take_steps(self, until: float, steps: int) -> tuple[int, Exception | None]:
        """Take up to a number of steps; return the outcome, and the exception of a user's function."""
        output_times = self._remaining_times() if self.trajectory.sampled else None
        try:
            return self.integrator.advance(until, steps, output_times, self.interrupt.flag), None
        except Exception as error:  # of a user's function; the steps before it are valid
            return PAUSED, error

    def _take_rows(self) -> tuple[Rows, float]:
        """Return the rows of the steps taken, and the longest next step if some left their compound branch, else 0."""
        rows: Rows = self.integrator.take_records()
        if self.model.switching_functions:
            self._take_branch_changes()
        if self.trajectory.sampled and self.stream is None:
            self.trajectory.add_steps(self.integrator.take_steps())
        shorter = 0.0
        if self.compound_branches is not None and len(rows[0]):
            rows, shorter = self._keep_compound_branches(rows, self.compound_branches)
        if not shorter:
            self._record_step()
        return rows, shorter

    def _recover(self, outcome: int) -> bool:
        """Change the method of a stiff run, or resolve a failure; return whether a failure was resolved."""
        if outcome == STIFF:
            self.notes.append(
                f"t = {self.integrator.t:.6g} s: stability limited the explicit steps; continued with radau"
            )
            self._change_method("radau")
            return False
        if not self._resolve_jam() and not self._restart_search() and not self._pass_transient():
            raise make_error(self, outcome)
        return True

    def _roll_back(self, checkpoint: bytes, g: Array) -> None:
        """Return to the state before steps whose events were not located."""
        self.integrator = self.current_options.integrator(self.conditions, self.discontinuity_times)
        self.integrator.restore(checkpoint)
        self.g = g
        self.trajectory.drop_branches_after(self.integrator.t)

    def _keep_compound_branches(self, rows: Rows, branches: CompoundBranches) -> tuple[Rows, float]:
        """Return the steps that stay on the branches of inner equilibria, and the longest next step, s.

        The length is 0 if all steps do.
        """
        t0, *begin = self.records.last()
        t = np.concatenate([[t0], rows[0]])
        q, v, x = (np.vstack([a, b]) for a, b in zip(begin, rows[1:4], strict=True))

        def between(k: int, fractions: Array) -> tuple[Array, Array, Array, Array]:
            ends = slice(k, k + 2)
            states = self.trajectory.within_step(t[ends], q[ends], v[ends], x[ends], fractions)
            return t[k] + fractions * (t[k + 1] - t[k]), *states

        lost = branches.lost_after(self.conditions, t, q, v, x, between, self.segments[-1].begin)
        if lost is None:
            return rows, 0.0
        length = float(t[lost + 1] - t[lost])
        if self.segments[-1].begin == t[lost]:  # it may have been tried from there
            length *= 0.5
        if length < MIN_STEP * (self.t_end - self.segments[0].begin):
            return rows, 0.0
        self.counts[0] -= len(rows[0]) - lost
        return tuple(part[:lost] for part in rows), length

    def _restart_search(self, length: float = 0.0) -> bool:
        """Begin the search for inner equilibria at the present solution, and restart; return whether this is new.

        With the length of the next step, s, the restart is made in any case.
        """
        if self.compound_branches is None:
            return False
        folded = "" if length else element_at_fold(self)
        if folded:
            raise SingularityError(folded)
        t, q, v, x = self.records.last()
        state = State(q=q, v=v, t=t, x=x)
        conditions = self.compound_branches.anchored(self.conditions, state)
        if conditions is None and not length:
            return False
        self.trajectory.drop_branches_after(t)
        self._collect_counts()
        if self.segments[-1].begin == t:
            self.segments.pop()
        self.conditions = self.conditions if conditions is None else conditions
        self.integrator = self.current_options.integrator(self.conditions, self.discontinuity_times)
        self._begin_segment(state)
        if length:
            self.integrator.set_first_step(length)
        return True

    def _pass_transient(self) -> bool:
        """Pass an unresolved transient just after a change by one implicit step; return whether there was one.

        Degrees of freedom with hardly any inertia, but damping, settle within less than the rounding of time. The
        implicit step leads to the settled state. Its error is controlled except for the velocities that change so fast.
        """
        t, q, v, x, a, _ = self.integrator.state()
        nv, span = self.model.nv, self.t_end - self.segments[0].begin
        late = t - self.segments[-1].begin > TRANSIENT * span
        if late or not (self.options.detect_stiffness or self.options.method == "radau"):
            return False
        usual = self.options.tolerances[nv : 2 * nv] + self.options.rtol * np.abs(v)
        fast = np.abs(a) * FASTEST * span > usual
        length = min(TRANSIENT * span, (self.t_end if self.sampler is None else self._pause_time()) - t)
        if not np.isfinite(a).all() or not fast.any() or self.transients >= MAX_TRANSIENTS or not length > 0:
            return False
        loose = self.options.tolerances.copy()
        loose[nv : 2 * nv][fast] = 10.0 * (np.abs(v) + np.abs(a) * length)[fast]
        options = replace(self.current_options, method="radau", detect_stiffness=False, tolerances=loose)
        stepper = options.integrator(self.conditions, self.discontinuity_times)
        if stepper.start(t, q, v, x) != REACHED:
            return False
        stepper.set_first_step(length)
        stepper.advance(t + length, 1, None, self.interrupt.flag)
        rows = stepper.take_records()
        if not len(rows[0]):
            return False
        self._collect_counts()
        self.options = replace(self.options, method="radau", detect_stiffness=False)
        self.integrator = stepper
        if self.segments[-1].begin == t:
            self.segments.pop()
        self.segments.append(Segment(t, options, self.conditions, self.discontinuity_times))
        self.records.extend(*rows[:4])
        self.transients += 1
        if self.transients == 1:
            first = sorted(np.flatnonzero(fast), key=lambda k: -abs(a[k]))[:3]
            names = ", ".join(self.model.speed_names[k] for k in first)
            self.notes.append(
                f"t = {t:.6g} s: {names} settle{'s' * (len(first) == 1)} faster than the resolution of time, for lack "
                "of inertia; one implicit step passes this after each change. Give inertia there (armature)"
            )
        self.change_conditions(self.conditions)
        return True

    def _steps_before_event_search(self) -> int:
        """Return the number of steps to take before the next search for events.

        It is the number between the last two events, limited to steps that take no longer than a search.
        """
        if self.history is not None or self.conditions.callback is not None:
            return 1
        search, step = self.costs
        if not step:
            return 1
        expected = self.steps_between_events + 1 + (self.steps_between_events > 0)
        return max(1, min(MAX_STEPS_AFTER_EVENT, expected, int(search / step)))

    def _pause_time(self) -> float:
        """Sample the control if due; return the time up to which the core may go: the end, or the next sample."""
        assert self.sampler is not None
        self.sampler.take(self.state)
        return min(self.t_end, self.sampler.next)

    def _remaining_times(self) -> Array:
        assert self.times is not None
        done = self.records.last_time()
        return np.ascontiguousarray(self.times[self.times > done])

    # ---- events

    def event_values(self, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return the outputs of events less their values, at rows of states, (events, n)."""
        if self.searching and self.interrupt.late and self.history is None:
            raise Abandoned
        values = np.zeros((0, len(t)))
        if self.event_functions.given_count:
            values = self.event_functions.values(self.trajectory.conditions, t, q, v, x)
            values[list(self.ignored)] = 1.0
        if self.friction is not None:
            internal = np.empty((len(self.friction.events), len(t)))
            for rows, at in self.trajectory.conditions(t):
                conditions = self._on_branches(at)
                internal[:, rows] = self.friction.values(conditions, t[rows], q[rows], v[rows], x[rows])
            values = np.vstack([values, internal])
        return values

    def ignore_event(self, event: int, t: float) -> None:
        """Stop the search for an event whose output changes sign as noise does.

        Raises
        ------
        IntegrationError
            If the event may change the run.
        """
        found = self.event_functions.events[event]
        noise = f"jumped from one side of its value to the other again and again within a step near t = {t:.6g} s"
        if found.active:
            raise IntegrationError(f"event {found.name!r} chatters: its output {noise}, as noise does; smooth it")
        self.ignored.add(event)
        self.notes.append(f"event {found.name!r}: its output {noise}, as noise does; the event is ignored from there")

    def _on_branches(self, at: Conditions) -> Conditions:
        """Return the present conditions with the branches and sliding modes of other conditions."""
        key = self.conditions
        if at.sliding == key.sliding and at.branches == key.branches:
            return key
        kept = self._on_branches_cache
        if kept is None or kept[0] is not key or kept[1].sliding != at.sliding or kept[1].branches != at.branches:
            self._on_branches_cache = kept = key, key.changed(sliding=at.sliding, branches=at.branches)
        return kept[1]

    def _handle_events(self, rows: Rows) -> bool:
        """Locate events in new steps and apply the first that may change the run; return whether it ends the run."""
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
        passed = [c for c in crossings if not self.event_functions.events[c.event].active]
        active = [c for c in crossings if self.event_functions.events[c.event].active]
        self._record_passed_events(passed)
        kept = active[0].step if active else len(t)
        self.steps_since_event += kept
        if active:
            self.steps_between_events, self.steps_since_event = self.steps_since_event, 0
        self.counts[0] -= max(0, len(t) - kept - 1)  # steps beyond the event
        self.records.extend(t[:kept], q[:kept], v[:kept], x[:kept])
        return (
            self._apply_events(active, [c.event for c in passed if c.moment >= active[0].moment]) if active else False
        )

    def _record_passed_events(self, crossings: list[Crossing]) -> None:
        for c in crossings:
            name = self.event_functions.events[c.event].name
            self.events.append(EventRecord(name, c.moment, c.state.q, c.state.v, c.state.x))

    def _apply_events(self, crossings: list[Crossing], also: list[int]) -> bool:
        """Apply the actions of simultaneous events and restart; return whether one of them ends the run."""
        moment, state = crossings[0].moment, crossings[0].state
        self.trajectory.drop_branches_after(moment)
        fresh = moment > self.records.last_time()
        if fresh:
            self.records.add(moment, state.q, state.v, state.x)
        before, old = state, self.conditions
        if self.history is not None:
            record_jump(self, self.history, state)
        ends = False
        given = self.event_functions.given_count
        if self.friction is not None:  # actions see user locks only
            self.conditions = self.friction.release(self.conditions)
        for crossing in crossings:
            if crossing.event < given:
                before, ended = self._apply_action(crossing, before)
                ends |= ended
        if self.friction is not None:
            before = self._update_friction(before, [c.event - given for c in crossings if c.event >= given])
        moved = any(
            not np.array_equal(a, b) for a, b in ((before.q, state.q), (before.v, state.v), (before.x, state.x))
        )
        if moved or self.conditions is not old or not fresh:
            self.records.add(moment, before.q, before.v, before.x)
        self._collect_counts()
        step = self.integrator.step
        self.integrator = self.current_options.integrator(self.conditions, self.discontinuity_times)
        self._begin_segment(before)
        if self.friction is not None:
            self.integrator.step = step
        self.records.replace_last(*self.integrator.state()[:4])
        self.g[[*(c.event for c in crossings), *also]] = 0.0
        self.restarted = True
        return ends

    def _apply_action(self, crossing: Crossing, before: State) -> tuple[State, bool]:
        """Apply the action of one event and record it; return the state after it, and whether it ends the run."""
        event, moment = self.event_functions.events[crossing.event], crossing.moment
        self.zeno.check(event.name, moment, self.t_end - self.segments[0].begin)
        now = EventContext(self.conditions, replace(before))
        event.act(now)
        after = State(q=now.q, v=now.v, t=moment, x=now.x)
        if now.before is not None:  # a velocity jump that began slightly earlier
            before = replace(now.before, t=moment)
            self.records.drop_after(now.before.t)
            self.records.add(moment, before.q, before.v, before.x)
        energy = self._energy_gain(before, now.conditions, after)
        done = ", ".join(now.done)
        record = EventRecord(event.name, moment, before.q, before.v, before.x, energy, done, now.dissipated)
        self.events.append(record)
        self._take_conditions(now.conditions)
        return after, event.terminal or now.stopped

    # ---- friction and stops

    def _update_friction(self, state: State, passed: list[int]) -> State:
        """Determine stick, slip, impact and separation at a state; return the state after that."""
        assert self.friction is not None
        now = EventContext(self.conditions, state)
        change = self.friction.settle(now, passed)
        after = State(q=now.q, v=now.v, t=state.t, x=now.x)
        gain, lost = self._impact_energy(state, now.conditions, after) if change.velocities_jumped else (0.0, 0.0)
        self._record_friction_change(change, now, gain, lost)
        self.conditions = now.conditions
        return after

    def _resolve_jam(self) -> bool:
        """Stop rows that slide with no friction consistent with their load, and restart; return whether any did."""
        if self.friction is None:
            return False
        before = self.state
        now = EventContext(self.conditions, replace(before))
        change = self.friction.jam(now)
        if change is None:
            return False
        after = State(q=now.q, v=now.v, t=before.t, x=before.x)
        self._record_friction_change(change, now, *self._impact_energy(before, now.conditions, after))
        self.conditions = now.conditions
        self._collect_counts()
        self.integrator = self.current_options.integrator(self.conditions, self.discontinuity_times)
        self.records.add(after.t, after.q, after.v, after.x)
        self._begin_segment(after)
        return True

    def _record_friction_change(
        self, change: Change, now: EventContext, energy: float = 0.0, lost: float = 0.0
    ) -> None:
        """Record a change of friction and stops as events."""
        assert self.friction is not None
        self.friction.impact_log.add(change, now.t)
        for text in change.texts:
            self.events.append(EventRecord(text, now.t, now.q, now.v, now.x, energy, dissipated=lost))
            energy = lost = 0.0

    def _impact_energy(self, before: State, conditions: Conditions, after: State) -> tuple[float, float]:
        """Return the gain of energy in an impact on stops, and the energy dissipated by it, J each."""
        assert self.friction is not None
        gain = self._energy_gain(before, conditions, after)
        rows = self.friction.rows.jacobian(after.q)
        return gain, work_of_drives(self.conditions, after.q, before.v, after.v, after.t, rows=rows) - gain

    def _energy_gain(self, before: State, conditions: Conditions, after: State) -> float:
        """Return the gain of kinetic and potential energy, with that of elements, in a change, J."""

        def energy(under: Conditions, *states: State) -> Array:
            t, q, v, x = (np.array([getattr(state, part) for state in states]) for part in ("t", "q", "v", "x"))
            return self.model.energy(q, v, t=t, x=x, conditions=under).total

        if conditions is self.conditions:
            return float(np.diff(energy(conditions, before, after))[0])
        return float((energy(conditions, after) - energy(self.conditions, before))[0])

    # ---- statistics

    def _collect_counts(self) -> None:
        self.counts += np.array(self.integrator.counts)
        self.missed = self.first_missed()
        self._record_released_branches()

    def total_counts(self) -> NDArray[np.int64]:
        """Return steps, rejected, evaluations, Jacobians, factorizations, projections, noisy and missed so far."""
        return self.counts + np.array(self.integrator.counts)

    def first_missed(self) -> tuple[float, int] | None:
        """Return time, s, and number of the first switching function that changed sign and back in a fixed step."""
        return self.integrator.missed_crossing if self.missed is None and self.integrator.counts[-1] else self.missed

    def _record_released_branches(self) -> None:
        """Record the first time, s, at which the integrator ceased to hold a branch that changes too often."""
        t, function = self.integrator.release
        if function >= 0:
            self.released_branches.setdefault(function, t)

    def all_released_branches(self) -> dict[int, float]:
        """Return switching functions whose branches are no longer held, with the times of release, s."""
        self._record_released_branches()
        return self.released_branches
