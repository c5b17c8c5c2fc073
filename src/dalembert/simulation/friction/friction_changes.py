"""Changes of friction and stops in a run: made by the core, recorded as events and segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import DalembertError
from ...model import State
from ..options import Options
from ..trajectory import Segment
from .core_changes import ChangedConditions
from .core_friction import CoreFriction
from .friction import FrictionState

if TYPE_CHECKING:
    from ..run import Run

__all__ = ["FrictionChanges"]

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
        Tables of the core, once the run has begun.
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

    def set_core(self, run: Run, passed: Sequence[int] | None = None) -> None:
        """Let the core determine changes.

        Parameters
        ----------
        run : Run
        passed : sequence of int or None
            Modes are determined again where the integrator starts, after these functions of friction crossed zero
            there; None: present modes stay.
        """
        self.core = CoreFriction(self.friction, run.conditions)
        run.integrator.set_friction(
            self.core.table(
                run.options.max_step,
                self.stuck_step,
                passed=passed,
                # events before a change may change the run, and steps may leave branches of inner equilibria
                pauses=run.event_handler.functions.given_count > 0 or run.compound_branches is not None,
            )
        )

    def start(self, run: Run, state: State) -> None:
        """Determine the modes at the start of a run, and start the integrator there."""
        run.begin_segment(state, passed=())

    def restart(self, run: Run, state: State, passed: Sequence[int], *, keep_step: bool = False) -> None:
        """Determine the modes at a state, and start a new integrator there; see `set_core` and `Run.restart`."""
        run.conditions = self.friction.release(run.conditions)
        run.restart(state, keep_step=keep_step, passed=passed)

    def take_core_changes(self, run: Run) -> None:
        """Record the changes that the core has made."""
        found = run.integrator.take_changes()
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
        if kind == "not finite":
            return self.friction.not_finite(run.integrator.t, rows)
        return self.friction.no_solution(run.integrator.t, rows)
