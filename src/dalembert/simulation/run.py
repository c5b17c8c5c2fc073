"""One run: steps of the core in chunks, events between them, changes of friction and conditions.

The core takes a chunk of steps and records them. Between two chunks Python locates events, shows progress and reacts to
Ctrl-C. An event may change the conditions: a new segment of the trajectory begins there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array, IndexArray
from ..errors import IntegrationError
from ..model import Conditions, Model, SampledControl, State
from ..result.contact_points import ContactSource
from .branch_log import BranchLog
from .contact.contact_events import ContactEvents
from .contact.contact_steps import ContactSteps, StepContacts
from .delay_history import record_change, record_step
from .diagnostics.compound_branches import CompoundBranches
from .diagnostics.snap_through import compound_nodes
from .diagnostics.stagnation import StagnationMonitor
from .events.control_sampling import ControlSampler
from .events.discontinuity_times import discontinuity_sources, discontinuity_times_until
from .events.event_handling import EventHandler
from .events.event_log import EventLog
from .events.events import EventContext
from .events.velocity_jumps import velocities_after_jump
from .failure import make_error
from .friction.core_friction import CoreFriction
from .friction.friction_changes import FrictionChanges
from .interrupts import Abandoned, Interrupt
from .options import Options
from .progress import Progress
from .recovery import keep_compound_branches, recover, restart_search
from .request import SimulationRequest
from .start import refuse_faint_inertia
from .trajectory import Segment, Trajectory

if TYPE_CHECKING:
    from .storage.stream import Stream

__all__ = ["Run"]

Rows = tuple[Array, ...]  # t, q, v, x and more of steps
# checkpoint of the integrator, values of event functions and of friction, memory of contacts
PointOfReturn = tuple[bytes, Array, Array | None, bytes | None]

REACHED, PAUSED, STOPPED, UNDECIDED, EVENT = (
    _core.outcomes[name] for name in ("reached", "paused", "stopped", "undecided", "event")
)
CONTACT_FAILED, UNDERFLOW, STAGNATED = (
    _core.outcomes[name] for name in ("contact_failed", "step_underflow", "stagnated")
)

CHUNK_TIME = 0.05  # s of wall time: intended length of a chunk, so that Ctrl-C is answered soon
FIRST_CHUNK_STEPS = 64  # of a run without events
MAX_CHUNK_STEPS = 4096  # bounds the memory of a chunk


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
    event_handler : EventHandler
    friction_changes : FrictionChanges or None
        Changes of friction and stops.
    events : EventLog
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
        self.contact: ContactEvents | ContactSteps | None = None
        if request.contact is not None:
            self.contact = request.contact.fresh(request.conditions.model)
        self.earlier_contacts: ContactEvents | None = None  # before the run went on in steps
        self.event_handler = EventHandler(request)
        self.friction_changes = None if self.friction is None else FrictionChanges(self.friction)
        self.progress = Progress(request.t_start, request.t_end, request.progress)
        model = request.conditions.model
        self.given_discontinuity_times = request.discontinuity_times
        if request.drive_jumps:
            jumps = self.event_handler.discontinuity_times
            self.given_discontinuity_times = np.union1d(request.discontinuity_times, jumps)
        sampled = isinstance(self.conditions.control, SampledControl)
        self.sampler = ControlSampler(self.conditions) if sampled else None
        self.discontinuity_times, self.horizon = np.zeros(0), -np.inf
        self.integrator = self.options.integrator(self.conditions)
        self._begun_with = (0, 0, 0)  # identities of integrator, conditions and options at its start
        self.stream: Stream | None = None
        self.resumed_request: dict[str, Any] | None = None  # record of the request of the run that this one resumes
        self.events = EventLog()
        self.notes: list[str] = []
        self.counts = np.zeros(8, dtype=np.int64)
        self.missed: tuple[float, int] | None = None
        self.released_branches: dict[int, float] = {}
        self.methods: list[str] = []
        self.transients = 0  # unresolved transients that were passed
        self.stagnation = StagnationMonitor()
        compounds = compound_nodes(model)
        self.compound_branches = CompoundBranches(compounds) if compounds else None
        branch_log = BranchLog(
            np.array([kind in ("integer", "table") for _, kind in model.switching_functions], dtype=bool)
        )
        has_changes = self.event_handler.functions.events or self.friction is not None or self.contact is not None
        needs_steps = has_changes or self.history is not None or model.switching_functions or compounds
        # the core records the output times itself unless Python needs every step
        self.trajectory = Trajectory(self.times is not None and not needs_steps, branch_log)
        if isinstance(self.contact, ContactEvents):
            self.trajectory.contacts = self.contact
        self.records, self.segments = self.trajectory.records, self.trajectory.segments
        self._before_search: PointOfReturn | None = None
        self._branches: list[tuple[float, frozenset[int], Array]] = []  # read, but not recorded in segments

    @property
    def model(self) -> Model:
        """The model with the present parameters."""
        return self.conditions.model

    @property
    def state(self) -> State:
        """State at the time reached."""
        t, q, v, x = self.integrator.motion()
        return State(q=q, v=v, t=t, x=x)

    # ---- start and restart

    def start(self, state: State) -> None:
        """Start at a state."""
        refuse_faint_inertia(self.conditions, state)
        if self.friction is not None:
            self.friction.check_start(EventContext(self.conditions, state))
        if self.contact is not None:
            self.contact.check_start(state)
        self.records.extend(np.array([state.t]), state.q[None], state.v[None], state.x[None])  # until it is replaced
        if self.sampler is not None:
            self.sampler.take(state.copy())
        self.update_discontinuity_times(state.t)
        if self.friction_changes is None:
            self.begin_segment(state)
        else:
            self.friction_changes.start(self, state)
        self.records.replace_last(*self.integrator.motion())

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
        """Options with the step limited while a row sticks."""
        return self.options if self.friction_changes is None else self.friction_changes.options(self.options)

    @property
    def core_friction(self) -> CoreFriction | None:
        """Friction and stops while the core determines their changes."""
        return None if self.friction_changes is None else self.friction_changes.core

    @property
    def searches_events(self) -> bool:
        """True if events are located in Python."""
        return self.event_handler.functions.given_count > 0 and not self.event_handler.in_core

    @property
    def has_contact_steps(self) -> bool:
        """True while rigid contact is by steps."""
        return isinstance(self.contact, ContactSteps)

    def append_segment(self, begin: float) -> None:
        """Begin a segment of the trajectory with the present conditions at a time, s."""
        self.segments.append(Segment(begin, self.current_options, self.conditions, self.discontinuity_times))

    @property
    def _can_start_again(self) -> bool:
        """True if a new integrator would have the settings of the present one."""
        is_plain = self.friction_changes is None and self.contact is None and self.history is None
        made = self._begun_with
        return is_plain and made == (id(self.integrator), id(self.conditions), id(self.options))

    def begin_segment(self, state: State, *, passed: Sequence[int] | None = None, again: bool = False) -> None:
        """Begin a segment of the trajectory, and start the integrator there.

        Parameters
        ----------
        state : State
        passed : sequence of int or None
            Functions of friction and stops that crossed zero there: modes are determined again. None: they stay.
        again : bool
            True if the integrator has its settings from an earlier segment.
        """
        if not again:
            self._prepare_integrator(passed)
        self.append_segment(state.t)
        if not self.methods or self.methods[-1] != self.options.method:
            self.methods.append(self.options.method)
        start = self.integrator.start_again if again else self.integrator.start
        outcome = start(state.t, state.q, state.v, state.x)
        if outcome == UNDECIDED and self.friction_changes is not None:
            raise self.friction_changes.failure(self)
        if passed is not None and self.friction_changes is not None and outcome == REACHED:
            self.segments.pop()
            self.friction_changes.take_core_changes(self)
        if self.model.switching_functions:
            self.take_branch_changes()
        if outcome == CONTACT_FAILED:
            self.segments.pop()
            self.pass_contact_failure()
            return
        if outcome != REACHED:
            if self.event_handler.in_core:
                self.event_handler.check_outputs(self)
            raise make_error(self, outcome)
        self.record_step(begins=True)
        if self.searches_events:
            self.event_handler.evaluate(self, self.state)

    def _prepare_integrator(self, passed: Sequence[int] | None) -> None:
        """Give events, friction and contact to an integrator that was not started yet."""
        if self.friction_changes is not None:
            self.friction_changes.set_core(self, passed)
        self.event_handler.set_core(self)
        if self.contact is not None and self.integrator.contact_memory() is None:
            self.contact.attach(self.integrator)
        self._begun_with = id(self.integrator), id(self.conditions), id(self.options)

    def restart(self, state: State, *, keep_step: bool = False, passed: Sequence[int] | None = None) -> None:
        """Begin a segment with a new integrator, for the present options and conditions; see `begin_segment`.

        With `keep_step` the next step is as long as it would have been, if the integrator has stopped at this state;
        else its length is estimated there.
        """
        if not keep_step and self._can_start_again:
            self.begin_segment(state, again=True)
            return
        self.collect_counts()
        step, memory = self.integrator.step, self.integrator.contact_memory()
        self.integrator = self.current_options.integrator(self.conditions, self.discontinuity_times)
        if self.contact is not None:
            self.contact.attach(self.integrator, memory)
        self.begin_segment(state, passed=passed)
        if keep_step and 0 < step < np.inf:
            self.integrator.set_first_step(step)

    def take_branch_changes(self) -> None:
        """Record the branches of laws in the steps taken; where a sliding mode begins or ends, begin a segment.

        After a sliding mode the motion leaves the switching surface so slowly that states do not identify the branch:
        it is held while it stays the same.
        """
        log = self.trajectory.branch_log
        self._branches += log.take(self.integrator)
        for t, slides, sides in self._branches:
            place = next(k for k in range(len(self.segments), 0, -1) if self.segments[k - 1].begin <= t)
            last = self.segments[place - 1]
            self.notes += log.notes(self.model, t, slides)
            before = last.conditions
            ours = {k: side for k, side in before.branches.items() if abs(side) != 1.0}  # of laws that hold rows
            left = {k: float(sides[k]) for k in before.sliding - slides if abs(sides[k]) == 1.0}
            left |= {k: side for k, side in before.branches.items() if sides[k] == side}
            if slides != before.sliding or {**left, **ours} != before.branches:
                conditions = before.changed(sliding=slides, branches={**left, **ours})
                self.segments.insert(
                    place, Segment(t, last.options, conditions, last.discontinuity_times, last.usual_min_pivot)
                )
        self._branches.clear()

    def drop_branches_after(self, t: float) -> None:
        """Drop branches of laws, sliding modes and changes of contacts later than a time, s."""
        if isinstance(self.contact, ContactEvents):
            self.contact.drop_after(t)
        if self.model.switching_functions:
            self._branches = [found for found in self._branches if found[0] <= t]
            self.take_branch_changes()
        self.trajectory.drop_branches_after(t)

    def change_conditions(self, conditions: Conditions) -> None:
        """Continue under other conditions."""
        t, q, v, x = self.integrator.motion()
        other = conditions.model is not self.model
        self.set_conditions(conditions)
        if other and self.model.nc:
            v = velocities_after_jump(conditions, q, v, t, None)
        state = State(q=q, v=v, t=t, x=x)
        self.records.add(t, q, v, x)
        if self.friction_changes is None:
            self.restart(state, keep_step=True)
            return
        self.friction_changes.restart(self, state, (), keep_step=True)
        self.records.replace_last(*self.integrator.motion())

    def set_conditions(self, conditions: Conditions) -> None:
        """Set other conditions, with their discontinuity times."""
        if conditions is self.conditions:
            return
        moved = not np.array_equal(conditions.parameters, self.conditions.parameters)
        self.conditions = conditions
        if self.friction is not None:
            self.friction.set_model(self.model)
        if moved and self.contact is not None:
            self.contact.set_conditions(conditions)
        if moved and discontinuity_sources(self.model).uses:
            self.update_discontinuity_times(self.segments[0].begin)

    def record_step(self, begins: bool = False, changes: dict[str, Any] | None = None) -> None:
        """Record the last step for inputs with a delay, and the loop slack of the integrator for dense output."""
        self.segments[-1].usual_min_pivot = self.integrator.usual_min_pivot
        if self.history is not None and changes is not None:
            record_change(self, self.history, changes["before"][-1])
        elif self.history is not None:
            record_step(self, self.history, begins=begins)

    # ---- steps

    def advance(self, taken: int | None = None) -> str:
        """Take steps up to `t_end`, a terminal event, an interrupt or a failure; return the status.

        `taken` is the outcome of steps that the core has taken already; it continues from there.
        """
        handler = self.event_handler
        steps = min(FIRST_CHUNK_STEPS, MAX_CHUNK_STEPS) if self.history is None else 1
        if self.searches_events:
            steps = handler.steps_before_search(self)
        if self.t_end > self.horizon:
            self.update_discontinuity_times(self.segments[0].begin)
            self.segments[-1].discontinuity_times = self.discontinuity_times
        while True:
            if self.interrupt.pressed:
                return "interrupted"
            self._check_progress()
            until = self.pause_time()
            began = time.perf_counter()
            can_roll_back = self.searches_events and self.history is None
            before = self._before_search = self._point_of_return() if can_roll_back else None
            outcome, failed = self._take_steps(until, steps) if taken is None else (taken, None)
            taken = None
            stepped = time.perf_counter()
            rows, changes, shorter = self._take_rows()
            if self.searches_events:
                try:
                    ends = handler.handle(self, rows, changes)
                except Abandoned:
                    assert before is not None
                    self._roll_back(*before)
                    return "interrupted"
                handler.costs = time.perf_counter() - stepped, (stepped - began) / max(1, len(rows[0]))
                if ends:
                    return "event"
                if handler.restarted:
                    steps = handler.steps_before_search(self)
                    continue
            else:
                self.records.extend(*rows[:4])
                handler.take_from_core(self)
                if self.friction_changes is not None and changes is not None:
                    self.friction_changes.record_core_changes(self, changes)
            if self.model.switching_functions:
                self.take_branch_changes()
            if shorter:
                restart_search(self, shorter)
                continue
            if failed is not None:
                raise failed
            if outcome == EVENT:
                if handler.apply_from_core(self):
                    return "event"
                continue
            if outcome == CONTACT_FAILED or (outcome in (UNDERFLOW, STAGNATED) and self.can_go_on_in_steps):
                self.pass_contact_failure()
                steps = 1
                continue
            if outcome == UNDECIDED:
                assert self.friction_changes is not None
                raise self.friction_changes.failure(self)
            if self.stream is not None:
                self.stream.flush(self)
            self.progress.show(self.integrator.t)
            if outcome == REACHED and self.integrator.t == self.t_end:
                return "finished"
            if outcome not in (PAUSED, REACHED, STOPPED) and recover(self, outcome):
                steps = 1
            if self.history is not None:
                continue
            used = time.perf_counter() - began
            steps = min(MAX_CHUNK_STEPS, 2 * steps) if used < CHUNK_TIME else max(1, steps // 2)

    def _check_progress(self) -> None:
        """Raise an error if the run stagnates; contact by events goes on in steps then, if it may."""
        try:
            self.stagnation.check(self)
        except IntegrationError:
            if not self.can_go_on_in_steps:
                raise
            self.pass_contact_failure()
            self.stagnation = StagnationMonitor(self.tried_steps, self.integrator.t)

    @property
    def can_go_on_in_steps(self) -> bool:
        """Whether contact by events may be continued in steps."""
        return isinstance(self.contact, ContactEvents) and self.contact.goes_on

    def pass_contact_failure(self) -> None:
        """Continue in steps where contact by events cannot go on, or raise the error."""
        contacts = self.contact
        assert isinstance(contacts, ContactEvents)
        if not contacts.goes_on:
            raise contacts.failure(self.integrator)
        contacts.go_on_in_steps(self)

    def _take_steps(self, until: float, steps: int) -> tuple[int, Exception | None]:
        """Take up to a number of steps; return the outcome, and the exception of a user's function."""
        try:
            outcome = self.integrator.advance(until, steps, self._output_times(), self.interrupt.flag)
            if self.sampler is not None and not (self.searches_events or self.history or self.compound_branches):
                outcome = self._take_periods(outcome)
            return outcome, None
        except Exception as error:  # of a user's function; the steps before it are valid
            return PAUSED, error

    def _take_periods(self, outcome: int) -> int:
        """Sample the control and take steps, period after period for about a chunk; return the outcome of the last."""
        flag, integrator, end = self.interrupt.flag, self.integrator, self.t_end
        assert self.sampler is not None
        advance, motion, take = integrator.advance, integrator.motion, self.sampler.take
        ahead, first = self._output_times(), 0
        count = 0 if ahead is None else len(ahead)
        clock = time.perf_counter
        latest = clock() + CHUNK_TIME
        t, q, v, x = motion()
        while outcome == REACHED and t < end and not flag.set and clock() < latest:
            while first < count and ahead is not None and ahead[first] <= t:
                first += 1
            until = min(end, take(State(q, v, t, x)))
            outcome = advance(until, MAX_CHUNK_STEPS, None if ahead is None else ahead[first:], flag)
            t, q, v, x = motion()
        return outcome

    def _take_rows(self) -> tuple[Rows, dict[str, Any] | None, float]:
        """Return the rows of the steps taken, and the changes of friction in them; see `Integrator.take_changes`.

        And the longest next step if some left their compound branch, else 0.
        """
        rows: Rows = self.integrator.take_records()
        if self.contact is not None:
            self.contact.take(self.integrator)
        changes = self.integrator.take_changes()
        self._branches += self.trajectory.branch_log.take(self.integrator)
        if self.trajectory.sampled and self.stream is None:
            self.trajectory.add_steps(self.integrator.take_steps())
        shorter = 0.0
        if self.compound_branches is not None and len(rows[0]):
            kept, shorter = keep_compound_branches(self, rows, changes is not None, self.compound_branches)
            if shorter:
                rows, changes = kept, None
        if not shorter:
            self.record_step(changes=changes)
        return rows, changes, shorter

    def _point_of_return(self) -> PointOfReturn:
        """Return the data of the present state for `_roll_back`."""
        integrator = self.integrator
        return (
            integrator.checkpoint(),
            self.event_handler.g,
            integrator.friction_values,
            integrator.contact_modes() if isinstance(self.contact, ContactEvents) else integrator.contact_memory(),
        )

    def _roll_back(
        self, checkpoint: bytes, g: Array, friction_values: Array | None, contact_memory: bytes | None
    ) -> None:
        """Return to the state before steps whose events were not located."""
        self.integrator = self.current_options.integrator(self.conditions, self.discontinuity_times)
        self.integrator.restore(checkpoint)
        if friction_values is not None and self.friction_changes is not None:
            self.friction_changes.set_core(self)
            self.integrator.friction_values = friction_values
        if isinstance(self.contact, ContactSteps):
            self.contact.drop_from(self.integrator.t)
        if self.contact is not None:
            self.contact.attach(self.integrator, contact_memory)
        self.event_handler.g = g
        self.drop_branches_after(self.integrator.t)

    def conditions_at(self, t: Array) -> list[tuple[IndexArray, Conditions]]:
        """Return the conditions at times in order (n,) s of the steps taken last, with loads of contacts by steps."""
        found = self.trajectory.conditions(t)
        if not isinstance(self.contact, ContactSteps):
            return found
        loads = self.contact.recent_log().sampled_loads()
        return [(rows, conditions.changed(sampled_loads=loads)) for rows, conditions in found]

    def contact_sources(self) -> tuple[ContactSource, ...]:
        """Return the contacts by steps of the steps taken last, for outputs."""
        if not isinstance(self.contact, ContactSteps):
            return ()
        return (StepContacts(self.contact.recent_log(), self.integrator.t),)

    def take_steps_again(self, until: float) -> State:
        """Take the steps since the last search for events again, up to a time, s; return the state there.

        Of contact by steps: velocities jump within steps, so a state within one is the end of a shorter one.
        """
        assert self._before_search is not None
        self._roll_back(*self._before_search)
        no_interrupt = _core.Flag()  # Ctrl-C takes effect after these few steps
        self.integrator.advance(until, np.iinfo(np.int64).max, None, no_interrupt)
        self._take_rows()
        return self.state

    def pause_time(self) -> float:
        """Sample the control if due; return the time up to which the core may go: the end, or the next sample."""
        if self.sampler is None:
            return self.t_end
        return min(self.t_end, self.sampler.take(self.state))

    def _output_times(self) -> Array | None:
        """Return the output times ahead that the core records, (n,) s; None if it records every step."""
        if not self.trajectory.sampled:
            return None
        assert self.times is not None
        return self.times[np.searchsorted(self.times, self.integrator.t, side="right") :]

    # ---- statistics

    def collect_counts(self) -> None:
        """Add the statistics of the integrator, before another one takes its place."""
        self.counts += np.array(self.integrator.counts)
        if self.contact is not None:
            self.contact.collect(self.integrator)
        self.missed = self.first_missed()
        self._record_released_branches()

    def total_counts(self) -> NDArray[np.int64]:
        """Return steps, rejected, evaluations, Jacobians, factorizations, projections, noisy and missed so far."""
        return self.counts + np.array(self.integrator.counts)

    @property
    def tried_steps(self) -> int:
        """Steps so far, with rejected ones."""
        steps, rejected = self.integrator.counts[:2]
        return int(self.counts[0]) + int(self.counts[1]) + steps + rejected

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
