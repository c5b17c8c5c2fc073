"""Locks: one process at a time writes to a place, and lets it go when it ends, however it ends."""

from __future__ import annotations

import errno
import os
import platform
import sys
import weakref
from pathlib import Path

from ..errors import FileError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["FileLock"]

MAX_DISTANCE = 1 << 40  # beyond what stands in the file: on Windows nobody can read what is locked


class FileLock:
    """A file that one holds at a time; it says who.

    Parameters
    ----------
    path : path
        Of the file, which is made if there is none and stays.
    item, field, value : str
        What is locked, as an error tells it.

    Attributes
    ----------
    held : bool
        False where the file system knows no locks.

    Raises
    ------
    FileError
        If another process, or another run of this one, holds it.
    """

    def __init__(self, path: Path, *, item: str, field: str, value: str) -> None:
        self.file = open(path, "a+b")  # noqa: SIM115  (closed by release)
        try:
            self.held = _taken(self.file.fileno())
        except BlockingIOError:
            self.file.seek(0)
            holder = self.file.read(200).decode("utf-8", "replace").strip()
            self.file.close()
            remedy = f"{holder or 'another process'} is writing to it: wait until that has ended, or give another name"
            raise FileError(item, field, value, remedy) from None
        self.file.truncate(0)
        self.file.write(f"process {os.getpid()} on {platform.node()}\n".encode())
        self.file.flush()
        _held.add(self)

    def release(self) -> None:
        """Let go."""
        self.file.close()


_held: weakref.WeakSet[FileLock] = weakref.WeakSet()


def _leave_to_parent() -> None:
    """Close what a forked process has of the locks of its parent, or it would hold them when that has died."""
    for lock in list(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _taken(descriptor: int) -> bool:
    """Lock an open file until it is closed; returns whether that is possible at all, raises if another has done so."""
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, MAX_DISTANCE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            raise BlockingIOError from None
        return False
    return True
