"""File locks: one writing process at a time; a lock ends with its process."""

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

LOCKED_OFFSET = 1 << 40  # bytes, beyond the contents: on Windows locked bytes cannot be read


class FileLock:
    """Lock file, held by one process at a time, with the owner written in it.

    Parameters
    ----------
    path : path
        Path of the file; created if missing, and not deleted.
    item, field, value : str
        Locked item, for error messages.

    Attributes
    ----------
    held : bool
        False if the file system does not support locks.

    Raises
    ------
    FileError
        If another process, or another run in this process, holds the lock.
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
        """Release the lock."""
        self.file.close()


_held: weakref.WeakSet[FileLock] = weakref.WeakSet()


def _leave_to_parent() -> None:
    """Close the locks of the parent in a forked process, which would keep them after the parent has ended."""
    for lock in list(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _taken(descriptor: int) -> bool:
    """Lock an open file until it is closed; return whether locks are supported; raise if it is locked."""
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, LOCKED_OFFSET, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            raise BlockingIOError from None
        return False
    return True
