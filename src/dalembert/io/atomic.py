"""Files that are either old or new, never half written."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ModelError

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a place beside `path` to write a file or a folder to, and put it there when all went well.

    If writing fails, what was at `path` stays as it was and nothing else is left behind. A file is exchanged in one
    step. A folder takes two: the old one is set aside under another name first, and put back if the second step fails.

    Raises
    ------
    ModelError
        If the folder that `path` is in does not exist.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise ModelError("file", "path", str(target), f"there is no folder {str(target.parent)!r}")
    new, old = (target.parent / f".{target.name}.{uuid.uuid4().hex}.{ending}" for ending in ("new", "old"))
    try:
        yield new
        if new.is_dir() or target.is_dir():
            _exchange(new, target, old)
        else:
            _flush(new)
            os.replace(new, target)
    finally:
        _remove(new)


def _exchange(new: Path, target: Path, old: Path) -> None:
    if target.exists():
        os.rename(target, old)
    try:
        os.rename(new, target)
    except BaseException:
        if old.exists():
            os.rename(old, target)
        raise
    _remove(old)


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
