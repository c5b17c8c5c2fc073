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

MAX_PREDICTED_STEPS = 1e9  # tried steps to the end at this pace: reason to give up, whatever it is
LONG = 1e4  # tried steps to the end at this pace: reason to look for inertia that gets lost, ...
LOST_LOOKS = 3  # ... which is told when so many looks in a row found it: some motions come near and pass
CHATTER = 9  # occurrences of one event with ever shorter times between them, ...
CHATTER_TIME = 1e-6  # ... the last ones shorter than this part of the run
CHATTER_COUNT = 50  # or so many within this part of the run


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
        tried, t = int(run.total_counts()[:2].sum()), run.integrator.t
        number, time_taken = tried - self.tried, t - self.t
        if number < self.until_next:
            return
        ahead = number * (run.t_end - t) / time_taken if time_taken > 0 else np.inf
        crawls = f"at t = {t:.9g} s the run does not get on, {number} steps for {time_taken:.2g} s"
        lost = lost_inertia(run) if ahead > LONG else ""
        self.lost = self.lost + 1 if lost else 0
        if self.lost >= LOST_LOOKS:
            raise SingularityError(f"{crawls}: {lost}")
        if ahead > SLOW_STEP_COUNT and not lost:
            guilty = find_parallel_driven_axes(run.model, t) or find_discontinuity(
                run.conditions, run.options, run.state
            )
            if guilty:
                raise IntegrationError(f"{crawls}: {guilty}")
        if ahead > MAX_PREDICTED_STEPS and number >= 4 * CHECK_INTERVAL:
            ended = at_limit(run.model, t)
            if ended:
                raise IntegrationError(f"{crawls}: {ended}")
            raise IntegrationError(
                f"{crawls}. A force that jumps to and fro does this: smooth it, or stop or switch it by an event"
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
        recent = self.recent[name] = [*self.recent.get(name, [])[1 - CHATTER_COUNT :], moment]
        gaps = np.diff(recent[-CHATTER:])
        last, soon = gaps[-4:].sum(), CHATTER_TIME * span
        faster = len(gaps) == CHATTER - 1 and last < soon and (np.diff(gaps) <= 0).all()
        if faster or (len(recent) == CHATTER_COUNT and recent[-1] - recent[0] < soon):
            raise IntegrationError(
                f"event {name!r} chatters: it came again and again, the last 4 times within {last:.2g} s at "
                f"t = {moment:.6g} s; make it terminal, or let its action end what causes it, for instance by a lock"
            )
