"""Ctrl-C handling: a run stops before its next step and keeps its states.

One press ends the current run, which returns the states so far. If the program then starts another run by itself, as in
a loop, `raise_pending_interrupt` raises KeyboardInterrupt there. Resuming the interrupted run, or the next statement at
a prompt or in a notebook, clears the press. Where SIGINT is ignored, as in the background of a shell script, it stays
ignored.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # functions of `signal` convert handlers, which takes 2 us each
import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Any

from .. import _core

__all__ = [
    "Abandoned",
    "Interrupt",
    "SharedInterrupt",
    "clear_interrupt",
    "defer_interrupt",
    "raise_pending_interrupt",
]

_SIGINT, _IGNORED = int(signal.SIGINT), int(signal.SIG_IGN)

GRACE_TIME = 0.3  # s after a press: a search for events may take so long, so that the run ends with a complete step

_waiting: list[FrameType | None] = []  # the statement that was executed when the key was pressed


class Abandoned(Exception):
    """Search for events ended by Ctrl-C."""


class Interrupt:
    """Context in which Ctrl-C sets `pressed`; a second press raises KeyboardInterrupt.

    An ignored signal, as in programs that a shell runs in the background, stays ignored. A handler outside Python stays
    in place.

    Attributes
    ----------
    flag : _core.Flag
        Read by the core before every step, on all its threads.
    """

    def __init__(self) -> None:
        self.flag = _core.Flag()
        self._old: Any = None
        self._moment = 0.0

    @property
    def pressed(self) -> bool:
        """True if Ctrl-C was pressed since the context was entered."""
        return self.flag.set

    @property
    def late(self) -> bool:
        """True if Ctrl-C was pressed more than `GRACE_TIME` ago."""
        return self.pressed and time.monotonic() - self._moment > GRACE_TIME

    def __enter__(self) -> Interrupt:
        self.flag.set = False
        ours = _signal.getsignal(_SIGINT) not in (_IGNORED, None)
        if ours and threading.current_thread() is threading.main_thread():
            self._old = _signal.signal(_SIGINT, self._press)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._old is not None:
            _signal.signal(_SIGINT, self._old)
            self._old = None

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self._moment = time.monotonic()
        self.flag.set = True


class SharedInterrupt(Interrupt):
    """Interrupt of a run on another thread: pressed if that of the main thread is."""

    def __init__(self, main: Interrupt) -> None:
        super().__init__()
        self.flag = main.flag

    def __enter__(self) -> SharedInterrupt:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return


def defer_interrupt(interrupt: Interrupt) -> None:
    """Store a press for the next run."""
    if interrupt.pressed:
        _waiting[:] = [_statement()]


def clear_interrupt() -> None:
    """Clear a stored press."""
    _waiting.clear()


def raise_pending_interrupt() -> None:
    """Clear a press during an earlier run, and raise KeyboardInterrupt if that run was of the same statement."""
    if not _waiting:
        return
    statement = _waiting[0]
    clear_interrupt()
    if threading.current_thread() is threading.main_thread() and statement is _statement():
        raise KeyboardInterrupt("pressed during an earlier run")


def _statement() -> FrameType | None:
    """Return the frame of the top-level statement: a whole script, or the last input of a prompt or cell."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and not frame.f_code.co_name.startswith(("<module>", "<cell line")):
        frame = frame.f_back
    return frame
