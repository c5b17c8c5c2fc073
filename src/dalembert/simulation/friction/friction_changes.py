"""Changes of friction and stops in a run: made by the core or by `FrictionState`, recorded as events and segments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ... import _core
from ...errors import DalembertError
from ...model import Conditions, State
from ...result import EventRecord
from ..events.events import EventContext
from ..events.velocity_jumps import energy_gain, work_of_drives
from ..failure import make_error
from ..options import Options
from ..trajectory import Segment
from .core_changes import ChangedConditions
from .core_friction import CoreFriction, is_decided_in_core
from .friction import FrictionState
from .messages import Change

if TYPE_CHECKING:
    from ..run import Run

__all__ = ["FrictionChanges"]

REACHED, UNDECIDED = (_core.outcomes[name] for name in ("reached", "undecided"))
MAX_STEP_WHILE_STUCK = 0.005  # of the run: the effort that holds a stuck row is sampled at least so often


class FrictionChanges:
    """Changes of friction and stops of a run.

    Parameters
    ----------
    friction : FrictionState
        Of the run.

    Attributes
    ----------
    core : CoreFriction or None
        While the core determines the changes.
    """

    def __init__(self, friction: FrictionState) -> None:
        self.friction = friction
        self.core: CoreFriction | None = None

    @property
    def stuck_step(self) -> float:
        """Longest step while a row sticks, s, so that its holding effort is sampled."""
        return MAX_STEP_WHILE_STUCK * self.friction.span

    def options(self, options: Options) -> Options:
        """Return options with the step limited while a row sticks."""
        return self._with_stuck_step(options) if self.friction.sticks else options

    def _with_stuck_step(self, options: Options) -> Options:
        return replace(options, max_step=min(options.max_step, self.stuck_step))

    # ---- changes by the core

    def set_core(self, run: Run, *, undetermined: bool = False) -> None:
        """Let the core determine changes if it can, from present or undetermined modes."""
        friction, self.core = self.friction, None
        needs_python = run.history is not None or run.compound_branches is not None
        if needs_python or not is_decided_in_core(friction):
            return
        self.core = CoreFriction(friction, run.conditions)
        run.integrator.set_friction(
            self.core.table(
                run.options.max_step,
                self.stuck_step,
                undetermined=undetermined,
                pauses=run.event_handler.functions.given_count > 0,  # events before a change may change the run
            )
        )

    def start(self, run: Run, state: State) -> None:
        """Determine the modes at the start of a run, and start the integrator there."""
        if not self._start_in_core(run, state):
            state = self.update(run, state, [])
            run.integrator = run.current_options.integrator(run.conditions, run.discontinuity_times)
            run.begin_segment(state)

    def _start_in_core(self, run: Run, state: State) -> bool:
        """Start at a state with modes that the core determines; return whether it does."""
        self.set_core(run, undetermined=True)
        if self.core is None:
            return False
        run.event_handler.set_core(run)
        outcome = run.integrator.start(state.t, state.q, state.v, state.x)
        if outcome == UNDECIDED:
            run.append_segment(state.t)
            raise self.failure(run)
        if outcome != REACHED:
            run.append_segment(state.t)
            raise make_error(run, outcome)
        run.methods.append(run.options.method)
        self.take_core_changes(run)
        run.record_step(begins=True)
        run.event_handler.evaluate(run, run.state)
        return True

    def take_core_changes(self, run: Run) -> None:
        """Record the changes that the core has made."""
        found = None if self.core is None else run.integrator.take_changes()
        if found is not None:
            self.record_core_changes(run, found)

    def record_core_changes(self, run: Run, found: dict[str, Any], chosen: slice = slice(None)) -> None:
        """Record changes of `Integrator.take_changes`: events, segments, and the conditions after the last."""
        assert self.core is not None
        changes = self.core.take(found, chosen)
        if not len(changes):
            return
        run.events.append_source(changes)
        options = run.options, self._with_stuck_step(run.options)
        run.segments.extend(
            Segment(t, options[stuck], ChangedConditions(changes, k), run.discontinuity_times)
            for k, (t, stuck) in enumerate(zip(changes.t.tolist(), changes.sticks, strict=True))
        )
        run.conditions = run.segments[-1].conditions
        self.core.set_modes(changes, found)
        self.core.take_progress(run.integrator.friction_progress())

    def failure(self, run: Run) -> DalembertError:
        """Return the error of modes that the core could not determine."""
        kind, rows, count, time = run.integrator.friction_failure()
        if kind == "stagnation":
            return self.friction.stagnation(run.integrator.t, rows, count, time)
        return self.friction.no_solution(run.integrator.t, rows)

    # ---- changes by `FrictionState`

    def update(self, run: Run, state: State, passed: list[int]) -> State:
        """Determine stick, slip, impact and separation at a state; return the state after that."""
        now = EventContext(run.conditions, state)
        change = self.friction.settle(now, passed)
        after = State(q=now.q, v=now.v, t=state.t, x=now.x)
        energy = self._impact_energy(run, state, now.conditions, after) if change.velocities_jumped else (0.0, 0.0)
        self.record(run, change, now, *energy)
        run.conditions = now.conditions
        return after

    def change_conditions(self, run: Run, conditions: Conditions, state: State) -> State:
        """Determine the modes under other conditions; return the state after that."""
        now = EventContext(conditions, state)
        self.record(run, self.friction.settle(now, ()), now)
        run.conditions = now.conditions
        return State(q=now.q, v=now.v, t=state.t, x=state.x)

    def resolve_jam(self, run: Run) -> bool:
        """Stop rows that slide with no friction consistent with their load, and restart; return whether any did."""
        before = run.state
        now = EventContext(run.conditions, replace(before))
        change = self.friction.jam(now)
        if change is None:
            return False
        after = State(q=now.q, v=now.v, t=before.t, x=before.x)
        self.record(run, change, now, *self._impact_energy(run, before, now.conditions, after))
        run.conditions = now.conditions
        run.records.add(after.t, after.q, after.v, after.x)
        run.restart(after)
        return True

    # ---- records

    def record(self, run: Run, change: Change, now: EventContext, energy: float = 0.0, lost: float = 0.0) -> None:
        """Record a change as events; the first has the energies, J."""
        for impact in change.impacts:
            self.friction.impact_log.add(impact.row, impact.side, impact.speed, now.t)
        for text in change.texts:
            run.events.append(EventRecord(text, now.t, now.q, now.v, now.x, energy, dissipated=lost))
            energy = lost = 0.0

    def _impact_energy(self, run: Run, before: State, conditions: Conditions, after: State) -> tuple[float, float]:
        """Return the gain of energy in an impact on stops, and the energy dissipated by it, J each."""
        old = run.conditions
        gain = energy_gain(old, before, conditions, after)
        rows = self.friction.rows.jacobian(after.q)
        return gain, work_of_drives(old, after.q, before.v, after.v, after.t, rows=rows) - gain
