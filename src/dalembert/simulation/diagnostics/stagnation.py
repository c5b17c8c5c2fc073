"""Runs that would go on without end: steps, or events, that come ever closer to each other."""

from __future__ import annotations

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


class StagnationMonitor:
    """How fast a run gets on, by looks at it now and then.

    Attributes
    ----------
    tried : int
        Steps, of those rejected too, at the last look.
    t : float, s
        Where it was then.
    until_next : int
        Tried steps to the next look.
    lost : int
        Looks in a row at which some motion had lost its inertia.
    """

    def __init__(self) -> None:
        self.tried, self.t, self.until_next, self.lost = 0, -np.inf, CHECK_INTERVAL, 0

    def mind(self, run: Run) -> None:
        """Refuse to crawl: many steps for next to nothing mean a force that does not settle as steps shrink."""
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
                run.conditions, run.options, run.reached
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


class ZenoMonitor:
    """When events happened of late, by their names, s."""

    def __init__(self) -> None:
        self.recent: dict[str, list[float]] = {}

    def mind(self, name: str, moment: float, span: float) -> None:
        """Refuse an event that comes faster and faster, or at the same moment: time would stand still.

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
