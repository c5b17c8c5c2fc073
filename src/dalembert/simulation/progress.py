"""A progress line on a terminal or in a notebook, for runs that take long enough to wonder."""

from __future__ import annotations

import sys
import time
from typing import TextIO

__all__ = ["Progress"]

MAX_WAIT = 1.0  # s of silence
INTERVAL = 0.2  # s between two looks


class Progress:
    """Shows how far a run is and how long it may still take.

    Parameters
    ----------
    begin, end : float, s
    wanted : bool or None
        None: only where someone looks, on a terminal or in a notebook.
    stream : text stream
    place : str
        How a place on the way is told.
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
        self.active = _watched(self.stream) if wanted is None else bool(wanted)
        self.patience = MAX_WAIT if wanted is None else 0.0
        self.started = self.last = time.perf_counter()
        self.shown = False

    def show(self, t: float) -> None:
        """Bring the line up to date, if it is time to."""
        now = time.perf_counter()
        if not self.active or now - self.started < self.patience or now - self.last < INTERVAL:
            return
        self.last, self.shown = now, True
        part = (t - self.begin) / (self.end - self.begin)
        left = (now - self.started) * (1 - part) / part if part > 0 else float("inf")
        bar = "#" * int(24 * part)
        eta = f"{left:.0f} s left" if left < 1e5 else ""
        self.stream.write(f"\r[{bar:<24}] {100 * part:3.0f} %  {self.place.format(t)}  {eta:<16}")
        self.stream.flush()

    def close(self) -> None:
        """Leave the line."""
        if self.shown:
            self.stream.write("\n")
            self.stream.flush()


def _watched(stream: TextIO) -> bool:
    notebook = "ipykernel" in sys.modules
    return notebook or (hasattr(stream, "isatty") and stream.isatty())
