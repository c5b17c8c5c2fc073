"""Events of a run: their search in new steps, their actions, and the restart after them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...errors import IntegrationError, UserFunctionError
from ...model import Conditions, Model, State
from ...result import EventRecord
from ..delay_history import record_jump
from ..diagnostics.stagnation import ZENO_TIME, ZenoMonitor
from ..friction.rows import friction_rows
from ..interrupts import Abandoned
from .core_events import action_text, after_action, core_event_table
from .drive_velocity_jumps import jump_events
from .events import Event, EventContext, EventFunctions
from .velocity_jumps import TotalEnergy
from .zero_crossings import Crossing, find_crossings

if TYPE_CHECKING:
    from ..request import SimulationRequest
    from ..run import Rows, Run

__all__ = ["EventHandler"]

MAX_STEPS_AFTER_EVENT = 32  # before the next search for events: steps beyond an event are thrown away


class EventHandler:
    """Events of a run between its start and its result.

    Parameters
    ----------
    request : SimulationRequest

    Attributes
    ----------
    functions : EventFunctions
        Events of the user, those of drives that jump, and internal ones of friction and stops.
    discontinuity_times : (n,) s
        Times that no step may cross: those of drives that jump.
    g : (events,)
        Values of the event functions at the time reached.
    ignored : set of int
        Events with noisy outputs.
    crowded : set of int
        Events that may occur more often in a step than they were looked for.
    restarted : bool
        True if the run was restarted at an event of the last steps.
    in_core : bool
        True while the integrator locates the given events.
    """

    def __init__(self, request: SimulationRequest) -> None:
        jumps = jump_events(request.drive_jumps, request.t_start, request.t_end) if request.drive_jumps else []
        self.discontinuity_times = np.array([event.value for event in jumps])
        given = request.events
        self.functions = EventFunctions(request.conditions.model, [*given.events, *jumps]) if jumps else given
        self.g = np.zeros(len(self.functions.events))
        self.ignored: set[int] = set()
        self.crowded: set[int] = set()
        self.restarted = self.searching = self.in_core = False
        self._replayed: dict[tuple[Conditions, int, int], tuple[Conditions, str]] = {}
        self._total_energy: TotalEnergy | None = None
        self._core_table: tuple[Model, dict[str, Any] | None] | None = None
        self.costs = (0.0, 0.0)  # s of wall time of a search for events, and of a step
        self.steps_between_events = self.steps_since_event = 0
        self.zeno = ZenoMonitor()

    def steps_before_search(self, run: Run) -> int:
        """Return the number of steps to take before the next search for events.

        It is the number between the last two events, limited to steps that take no longer than a search.
        """
        if run.history is not None or run.conditions.callback is not None:
            return 1
        search, step = self.costs
        if not step:
            return 1
        expected = self.steps_between_events + 1 + (self.steps_between_events > 0)
        return max(1, min(MAX_STEPS_AFTER_EVENT, expected, int(search / step)))

    # ---- events located by the core

    def set_core(self, run: Run) -> None:
        """Let the integrator locate the given events if it can."""
        self.in_core = False
        needs_python = run.history is not None or run.compound_branches is not None
        if run.has_contact_steps:  # forces of contacts by steps are known in Python
            needs_python |= any(output.needs == "dynamics" for output in self.functions.outputs)
        if not self.functions.given_count or needs_python:
            return
        if self._core_table is None or self._core_table[0] is not run.model:
            own = {"kept": friction_rows(run.model).friction.tolist()} if run.has_contact_steps else {}
            self._core_table = run.model, core_event_table(self.functions, run.model, **own)
        table = self._core_table[1]
        if table is not None:
            run.integrator.set_events({**table, "soon": ZENO_TIME * (run.t_end - run.request.t_start)})
            for event in self.ignored:
                run.integrator.ignore_event(event)
            self.in_core = True

    def take_from_core(self, run: Run) -> None:
        """Record the events that the integrator has located and whose actions it has applied."""
        if not self.in_core:
            return
        nq, nv = run.model.nq, run.model.nv
        numbers, times, states, energies, dissipated, acted = run.integrator.take_events()
        rows = zip(numbers, times.tolist(), states, energies.tolist(), dissipated.tolist(), acted, strict=True)
        for number, t, state, energy, lost, bits in rows:
            q, v, x = state[:nq], state[nq : nq + nv], state[nq + nv :]
            event, message = self.functions.events[number], ""
            if event.active:
                message = self._replay(run, number, t, bits)
            run.events.append(EventRecord(event.name, t, q, v, x, energy, message, lost))
        self.check_outputs(run)
        self._note_crowded(run)

    def _note_crowded(self, run: Run) -> None:
        number, t = run.integrator.crowded_event()
        if number < 0 or number in self.crowded:
            return
        self.crowded.add(number)
        run.notes.append(
            f"event {self.functions.events[number].name!r}: its formula varies so fast that not all of a step was "
            f"searched, first after t = {t:.6g} s: occurrences may be missing; max_step limits steps"
        )

    def _replay(self, run: Run, number: int, t: float, acted: int) -> str:
        """Follow the actions of an event that the integrator has applied; return what they did."""
        event, actions = self.functions.events[number], self.functions.actions[number]
        self.zeno.check(event.name, t, run.t_end - run.segments[0].begin)
        made = [action for k, action in enumerate(actions) if acted >> k & 1]
        key = run.conditions, number, acted
        if self._replayed.get(key) is None:
            conditions, texts = run.conditions, []
            for action in made:
                conditions = after_action(action, conditions)
                texts.append(action_text(action))
            self._replayed[key] = conditions, ", ".join(texts)
        conditions, text = self._replayed[key]
        if conditions is not run.conditions:
            run.set_conditions(conditions)
        if made and run.segments[-1].begin < t:
            run.append_segment(t)
        elif made:
            run.segments[-1].conditions = run.conditions
        return text

    def check_outputs(self, run: Run) -> None:
        """Raise an error if the integrator found an output of an event that is not finite."""
        number, t, value = run.integrator.event_failure()
        if number >= 0:
            raise _not_finite(self.functions.events[number], value, t)

    def apply_from_core(self, run: Run) -> bool:
        """Apply the events at the time that the integrator has reached; return whether one of them ends the run."""
        noisy, t = run.integrator.noisy_event()
        if noisy >= 0:
            self.ignore(run, noisy, t)
            run.integrator.ignore_event(noisy)
            return False
        passed, also = run.integrator.occurring_events()
        state = run.state
        crossings = [Crossing(event, 0, state.t, state) for event in passed]
        return self._apply(run, crossings, also, [] if run.friction is None else run.integrator.passed())

    # ---- event functions

    def evaluate(self, run: Run, state: State) -> None:
        """Evaluate the event functions at the time reached."""
        if run.searches_events:
            self.g = self.values(run, np.array([state.t]), state.q[None], state.v[None], state.x[None])[:, 0]
            if run.has_contact_steps:  # forces are those of the next step: its signs count
                self.g[[k for k, output in enumerate(self.functions.outputs) if output.needs == "dynamics"]] = 0.0

    def values(self, run: Run, t: Array, q: Array, v: Array, x: Array) -> Array:
        """Return the outputs of events less their values, at rows of states, (events, n)."""
        if self.searching and run.interrupt.late and run.history is None:
            raise Abandoned
        values = self.functions.values(run.conditions_at, t, q, v, x, run.contact_sources())
        values[list(self.ignored)] = 1.0
        return values

    def ignore(self, run: Run, event: int, t: float) -> None:
        """Stop the search for an event whose output changes sign as noise does.

        Raises
        ------
        IntegrationError
            If the event may change the run.
        """
        found = self.functions.events[event]
        noise = f"jumped from one side of its value to the other again and again within a step near t = {t:.6g} s"
        if found.active:
            raise IntegrationError(f"event {found.name!r} chatters: its output {noise}, as noise does; smooth it")
        self.ignored.add(event)
        run.notes.append(f"event {found.name!r}: its output {noise}, as noise does; the event is ignored from there")

    def mark_passed(self, run: Run, events: list[int]) -> None:
        """Set the functions of events that have occurred to zero: their signs just after count."""
        self.g[events] = 0.0
        if self.in_core:
            own = run.integrator.event_values
            own[events] = 0.0
            run.integrator.event_values = own

    def crossing_values(self, run: Run) -> Array:
        """Return all functions at the time reached whose zeros are searched for: in Python, and in the integrator."""
        in_core = (run.integrator.event_values, run.integrator.friction_values)
        return np.concatenate([self.g, *(values for values in in_core if values is not None)])

    def restore_crossing_values(self, run: Run, values: Array) -> None:
        """Set the values of `crossing_values`."""
        count, given = len(self.g), self.functions.given_count if self.in_core else 0
        self.g = values[:count].copy()
        if self.in_core:
            run.integrator.event_values = values[count : count + given].copy()
        if run.friction is not None:
            run.integrator.friction_values = values[count + given :].copy()

    # ---- events in new steps

    def handle(self, run: Run, rows: Rows, changes: dict[str, Any] | None) -> bool:
        """Locate events in new steps and apply the first that may change the run; return whether it ends the run.

        `changes` are those of friction in the steps, of `Integrator.take_changes`.
        """
        self.restarted = False
        count = len(rows[0]) - (0 if changes is None else len(changes["t"]))  # without the state after a change
        t, q, v, x = (part[:count] for part in rows[:4])
        if not len(t):
            self._record_core_changes(run, changes, rows)
            return False
        t0, q0, v0, x0 = run.records.last()
        states = np.concatenate([[t0], t]), np.vstack([q0, q]), np.vstack([v0, v]), np.vstack([x0, x])
        self.searching = True
        try:
            crossings = find_crossings(run, *states)
        finally:
            self.searching = False
        passed = [c for c in crossings if not self.functions.events[c.event].active]
        active = [c for c in crossings if self.functions.events[c.event].active]
        self._record_passed_events(run, passed)
        kept = active[0].step if active else len(t)
        self.steps_since_event += kept
        if active:
            self.steps_between_events, self.steps_since_event = self.steps_since_event, 0
        run.counts[0] -= max(0, len(t) - kept - 1)  # steps beyond the event
        run.records.extend(t[:kept], q[:kept], v[:kept], x[:kept])
        if active and run.has_contact_steps:
            active = [replace(c, state=run.take_steps_again(active[0].moment)) for c in active[:1]] + active[1:]
        if active:  # a change of friction at or after the event is determined again
            return self._apply(run, active, [c.event for c in passed if c.moment >= active[0].moment])
        self._record_core_changes(run, changes, rows)
        return False

    def _record_core_changes(self, run: Run, changes: dict[str, Any] | None, rows: Rows) -> None:
        """Record the last change of friction of the core, if any, and the state after it."""
        if changes is not None:
            assert run.friction_changes is not None
            run.records.extend(*(part[-1:] for part in rows[:4]))
            run.friction_changes.record_core_changes(run, changes)
            self.evaluate(run, run.state)

    def _record_passed_events(self, run: Run, crossings: list[Crossing]) -> None:
        for c in crossings:
            name = self.functions.events[c.event].name
            run.events.append(EventRecord(name, c.moment, c.state.q, c.state.v, c.state.x))

    def _apply(
        self, run: Run, crossings: list[Crossing], also: list[int], of_friction: list[int] | None = None
    ) -> bool:
        """Apply the actions of simultaneous events and restart; return whether one of them ends the run.

        `also`: events without actions at the same time. `of_friction`: functions of friction that cross zero there.
        """
        moment, state = crossings[0].moment, crossings[0].state
        run.drop_branches_after(moment)
        fresh = moment > run.records.last_time()
        if fresh:
            run.records.add(moment, state.q, state.v, state.x)
        before, old = state, run.conditions
        if run.history is not None:
            record_jump(run, run.history, state)
        ends = False
        if run.friction is not None:  # actions see user locks only
            run.conditions = run.friction.release(run.conditions)
        for crossing in crossings:
            before, ended = self._apply_action(run, crossing, before)
            ends |= ended
        if _differ(before, state) or run.conditions is not old or not fresh or run.friction is not None:
            run.records.add(moment, before.q, before.v, before.x)
        if run.friction_changes is None:
            run.restart(before)
        else:
            run.friction_changes.restart(run, before, of_friction or ())
        run.records.replace_last(*run.integrator.motion())
        self.mark_passed(run, [*(c.event for c in crossings), *also])
        self.restarted = True
        return ends

    def _apply_action(self, run: Run, crossing: Crossing, before: State) -> tuple[State, bool]:
        """Apply the action of one event and record it; return the state after it, and whether it ends the run."""
        event, moment = self.functions.events[crossing.event], crossing.moment
        self.zeno.check(event.name, moment, run.t_end - run.segments[0].begin)
        now = EventContext(run.conditions, before)
        event.act(now, self.functions.actions[crossing.event])
        after = State(q=now.q, v=now.v, t=moment, x=now.x)
        if now.before is not None:  # a velocity jump that began slightly earlier
            before = replace(now.before, t=moment)
            run.records.drop_after(now.before.t)
            run.records.add(moment, before.q, before.v, before.x)
        model = run.model
        if self._total_energy is None or self._total_energy.model is not model:
            self._total_energy = TotalEnergy(model)
        energy = self._total_energy.at(now.conditions, after) - self._total_energy.at(run.conditions, before)
        done = ", ".join(now.done)
        record = EventRecord(event.name, moment, before.q, before.v, before.x, energy, done, now.dissipated)
        run.events.append(record)
        run.set_conditions(now.conditions)
        return after, event.terminal or now.stopped


def _differ(a: State, b: State) -> bool:
    """Return whether two states differ in a number."""
    return bool((a.v != b.v).any() or (a.q != b.q).any() or (a.x != b.x).any())


def _not_finite(event: Event, value: float, t: float) -> UserFunctionError:
    return UserFunctionError(f"event {event.name!r}: its output is {value} at t = {t:.6g} s; it must be finite")
