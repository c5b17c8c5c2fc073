"""Stagnation and Zeno detection: steps or events that accumulate at one time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...errors import IntegrationError, SingularityError
from ..failure import at_limit, lost_inertia
from .discontinuities import CHECK_INTERVAL, SLOW_STEP_COUNT, find_discontinuity
from .driven_angles import find_parallel_driven_axes

if TYPE_CHECKING:
    from ..run import Run

__all__ = ["StagnationMonitor", "ZenoMonitor"]

MAX_PREDICTED_STEPS = 1e9  # tried steps predicted up to the end: the run is given up
LOST_INERTIA_STEPS = 1e4  # tried steps predicted up to the end: inertia is checked
MAX_LOST_CHECKS = 3  # successive checks without inertia: some motions only come near
ZENO_COUNT = 9  # occurrences of one event with decreasing intervals
ZENO_TIME = 1e-6  # of the run: sum of the last intervals
MAX_REPEATED_EVENTS = 50  # of one event within ZENO_TIME


@dataclass
class StagnationMonitor:
    """Steps per simulated time of a run, checked at intervals of steps.

    Attributes
    ----------
    tried : int
        Steps at the last check, with rejected ones.
    t : float, s
        Time at the last check.
    until_next : int
        Tried steps up to the next check.
    lost : int
        Successive checks at which some motion had lost its inertia.
    """

    tried: int = 0
    t: float = -np.inf
    until_next: int = CHECK_INTERVAL
    lost: int = 0

    def check(self, run: Run) -> None:
        """Raise an error if the run stagnates, as with a force that does not converge as steps shrink."""
        tried, t = run.tried_steps, run.integrator.t
        number, time_taken = tried - self.tried, t - self.t
        if number < self.until_next:
            return
        ahead = number * (run.t_end - t) / time_taken if time_taken > 0 else np.inf
        stagnates = f"at t = {t:.9g} s the run stagnates, {number} steps for {time_taken:.2g} s"
        lost = lost_inertia(run) if ahead > LOST_INERTIA_STEPS else ""
        self.lost = self.lost + 1 if lost else 0
        if self.lost >= MAX_LOST_CHECKS:
            raise SingularityError(f"{stagnates}: {lost}")
        if ahead > SLOW_STEP_COUNT and not lost:
            cause = find_parallel_driven_axes(run.model, t) or find_discontinuity(
                run.conditions, run.options, run.state
            )
            if cause:
                raise IntegrationError(f"{stagnates}: {cause}")
        if ahead > MAX_PREDICTED_STEPS and number >= 4 * CHECK_INTERVAL:
            ended = at_limit(run.model, t)
            if ended:
                raise IntegrationError(f"{stagnates}: {ended}")
            raise IntegrationError(
                f"{stagnates}. A force that jumps to and fro does this: smooth it, or stop or switch it by an event"
            )
        self.tried, self.t = tried, t
        self.until_next = min(2 * self.until_next, 100 * CHECK_INTERVAL) if ahead > SLOW_STEP_COUNT else CHECK_INTERVAL


@dataclass
class ZenoMonitor:
    """Recent times of events by name, s."""

    recent: dict[str, list[float]] = field(default_factory=dict)

    def check(self, name: str, moment: float, span: float) -> None:
        """Record an event; raise an error if its occurrences accumulate at one time (Zeno behaviour).

        Parameters
        ----------
        name : str
            Of the event.
        moment : float, s
        span : float, s
            From the beginning of the run to its end.
        """
        recent = self.recent[name] = [*self.recent.get(name, [])[1 - MAX_REPEATED_EVENTS :], moment]
        soon = ZENO_TIME * span
        if len(recent) < ZENO_COUNT or moment - recent[-5] >= soon:
            return
        gaps = np.diff(recent[-ZENO_COUNT:])
        last = gaps[-4:].sum()
        faster = len(gaps) == ZENO_COUNT - 1 and last < soon and (np.diff(gaps) <= 0).all()
        if faster or (len(recent) == MAX_REPEATED_EVENTS and recent[-1] - recent[0] < soon):
            raise IntegrationError(
                f"event {name!r} chatters: its occurrences accumulate, the last 4 within {last:.2g} s at "
                f"t = {moment:.6g} s; make it terminal, or end its cause in the action, for instance by a lock"
            )
