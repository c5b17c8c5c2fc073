"""Atomic replacement of files: complete or unchanged; only files of this package are replaced."""

from __future__ import annotations

import errno
import glob
import os
import shutil
import stat
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import FileError, ModelError

__all__ = ["replacing"]

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)  # full, or broken
STALE_AGE = 86400.0  # s: no writer takes that long


@contextmanager
def replacing(path: str | os.PathLike[str], *, store: Callable[[Path], bool] | None = None) -> Iterator[Path]:
    """Yield a temporary path for a file or a folder, which replaces `path` on success.

    If writing fails, `path` is unchanged and temporary files are removed. A file is replaced in one step and keeps its
    mode; until then only its owner may read the new one. A folder needs two steps: the old one is renamed first, and
    restored if the second step fails. A symbolic link is followed: its target is replaced, the link stays. Output for a
    device or a pipe is copied into it.

    Parameters
    ----------
    path : str or path
    store : function of a path
        For folders: whether an existing folder is of that kind, and may be replaced.

    Raises
    ------
    ModelError
        If the parent folder of `path` does not exist or cannot be written to, or if `path` is neither a file nor a
        folder that may be replaced.
    FileError
        If the disk is full or broken.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise ModelError("file", "path", str(path), f"there is no folder {str(target.parent)!r}")
    mode = _mode(target, path, store)
    special = mode is not None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    place = Path(tempfile.gettempdir()) if special else target.parent
    new, old = (place / f".{target.name[:100]}.{uuid.uuid4().hex}.{ending}" for ending in ("new", "old"))
    try:
        _remove_leftovers(place, target.name[:100])
        if mode is not None and stat.S_ISREG(mode):  # with the permissions of the old file from the start
            os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, stat.S_IMODE(mode) & 0o700 | 0o600))
        yield new
        if new.is_dir():
            _exchange(new, target, old)
        elif special:
            with open(new, "rb") as source, open(target, "wb") as sink:
                shutil.copyfileobj(source, sink)
        else:
            if mode is not None:
                os.chmod(new, stat.S_IMODE(mode))
            _flush(new)
            os.replace(new, target)
    except (PermissionError, FileNotFoundError) as error:
        raise ModelError("file", "path", str(path), f"it may not be written: {error.strerror}") from error
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        remedy = f"it cannot be written: {error.strerror}; what was there before is kept"
        raise FileError("file", "path", str(path), remedy) from error
    finally:
        _remove(new)


def _remove_leftovers(folder: Path, name: str) -> None:
    """Remove temporary files of killed writers, after a day."""
    for path in folder.glob(f".{glob.escape(name)}.{'[0-9a-f]' * 32}.new*"):
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime > STALE_AGE:
                _remove(path)


def _mode(target: Path, path: str | os.PathLike[str], store: Callable[[Path], bool] | None) -> int | None:
    """Return type and permissions of the target, None if it does not exist; refuse to replace foreign files."""
    try:
        found = os.lstat(target)
        mode = found.st_mode
        ours = store is not None and stat.S_ISDIR(mode) and store(target)
        now = os.lstat(target)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ModelError("file", "path", str(path), f"it may not be written: {error.strerror}") from error
    if (found.st_ino, found.st_ctime_ns) != (now.st_ino, now.st_ctime_ns):
        return _mode(target, path, store)  # another writer has put its own file there meanwhile
    if stat.S_ISDIR(mode) and not ours:
        what = "a folder" if store is None else "a folder that was not written by Result.save"
        raise ModelError("file", "path", str(path), f"it is {what}, which is never replaced: give another name")
    if store is not None and not stat.S_ISDIR(mode):
        raise ModelError("file", "path", str(path), "it is not a folder, and a folder is written: give another name")
    return mode


def _exchange(new: Path, target: Path, old: Path) -> None:
    """Replace a folder by another; of concurrent writers the last one succeeds."""
    while True:
        with suppress(FileNotFoundError):
            os.rename(target, old)
        try:
            os.rename(new, target)
            break
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                _put_back(old, target)
                raise
            _remove(old)  # another writer was faster, and its folder is the one to be replaced
        except BaseException:
            _put_back(old, target)
            raise
    _remove(old)


def _put_back(old: Path, target: Path) -> None:
    if old.exists():
        os.rename(old, target)


def _flush(path: Path) -> None:
    """Wait until the file is on the disk: a crash must not leave the new name with old or no contents."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
