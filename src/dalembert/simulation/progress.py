"""Progress line of long runs, on a terminal or in a notebook."""

from __future__ import annotations

import sys
import time
from typing import TextIO

__all__ = ["Progress"]

DELAY = 1.0  # s before the line is shown by default: most runs are shorter
INTERVAL = 0.2  # s between two updates


class Progress:
    """Line with the time reached and the estimated time left.

    Parameters
    ----------
    begin, end : float, s
    wanted : bool or None
        None: only on a terminal or in a notebook, after a second.
    stream : text stream
    place : str
        Format of the value reached.
    """

    def __init__(
        self,
        begin: float,
        end: float,
        wanted: bool | None,
        stream: TextIO | None = None,
        place: str = "t = {:.6g} s",
    ) -> None:
        self.begin, self.end, self.place = begin, end, place
        self.stream = sys.stderr if stream is None else stream
        notebook = "ipykernel" in sys.modules
        terminal = hasattr(self.stream, "isatty") and self.stream.isatty()
        self.active = notebook or terminal if wanted is None else bool(wanted)
        self.delay = DELAY if wanted is None else 0.0
        self.started = self.last = time.perf_counter()
        self.shown = False

    def show(self, t: float) -> None:
        """Update the line if an interval has passed."""
        now = time.perf_counter()
        if not self.active or now - self.started < self.delay or now - self.last < INTERVAL:
            return
        self.last, self.shown = now, True
        part = (t - self.begin) / (self.end - self.begin)
        left = (now - self.started) * (1 - part) / part if part > 0 else float("inf")
        bar = "#" * int(24 * part)
        eta = f"{left:.0f} s left" if left < 1e5 else ""
        self.stream.write(f"\r[{bar:<24}] {100 * part:3.0f} %  {self.place.format(t)}  {eta:<16}")
        self.stream.flush()

    def close(self) -> None:
        """End the line."""
        if self.shown:
            self.stream.write("\n")
            self.stream.flush()
