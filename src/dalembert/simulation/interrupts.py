"""Ctrl-C handling: a run stops before its next step and keeps its states.

One press ends the current run, which returns the states so far. If the program then starts another run by itself, as in
a loop, `raise_pending_interrupt` raises KeyboardInterrupt there. Resuming the interrupted run, or the next statement at
a prompt or in a notebook, clears the press. Where SIGINT is ignored, as in the background of a shell script, it stays
ignored.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Any

from .. import _core

__all__ = ["Abandoned", "Interrupt", "clear_interrupt", "defer_interrupt", "raise_pending_interrupt"]

GRACE = 0.3  # s after a press: for so long a search for events may go on, to end with a step

_waiting: list[FrameType | None] = []  # the statement under way when a key was pressed, until that is answered


class Abandoned(Exception):
    """A search for events was given up because Ctrl-C was pressed."""


class Interrupt:
    """Within its context Ctrl-C sets `pressed`; a second one is raised as usual.

    Where the signal is ignored, as in programs that a shell runs in the background, it stays ignored; where a handler
    that is not Python's serves it, that keeps it.

    Attributes
    ----------
    flag : _core.Flag
        The same for the core, which looks at it before every step, on all its threads.
    """

    def __init__(self) -> None:
        self.flag = _core.Flag()
        self._old: Any = None
        self._moment = 0.0

    @property
    def pressed(self) -> bool:
        """Whether Ctrl-C was pressed since the context was entered."""
        return self.flag.set

    @property
    def late(self) -> bool:
        """Whether Ctrl-C was pressed some time ago, and an answer is due."""
        return self.pressed and time.monotonic() - self._moment > GRACE

    def __enter__(self) -> Interrupt:
        self.flag.set = False
        ours = signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None)
        if ours and threading.current_thread() is threading.main_thread():
            self._old = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._old is not None:
            signal.signal(signal.SIGINT, self._old)
            self._old = None

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self._moment = time.monotonic()
        self.flag.set = True


def defer_interrupt(interrupt: Interrupt) -> None:
    """Let the next run know that a key was pressed during this one."""
    if interrupt.pressed:
        _waiting[:] = [_statement()]


def clear_interrupt() -> None:
    """Take a press as answered."""
    _waiting.clear()


def raise_pending_interrupt() -> None:
    """Raise KeyboardInterrupt if a key was pressed during an earlier run of the same statement."""
    if not _waiting or threading.current_thread() is not threading.main_thread():
        return
    statement = _waiting[0]
    clear_interrupt()
    if statement is _statement():
        raise KeyboardInterrupt("pressed during an earlier run")


def _statement() -> FrameType | None:
    """Return the frame of the statement under way: all of a script, or what was entered last at a prompt or cell."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and not frame.f_code.co_name.startswith(("<module>", "<cell line")):
        frame = frame.f_back
    return frame
