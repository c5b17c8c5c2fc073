"""Contact points of a streamed run on disk: blocks of arrays, each with its length and checksum."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np

from ...errors import FileError
from ...files.checksums import block_checksum
from ..contact.contact_steps import ContactLog

__all__ = ["read_contact_blocks", "sync_contact_blocks", "truncate_contact_blocks", "write_contact_block"]

FILE_NAME = "contacts.bin"
_HEAD = struct.Struct("<Q8s")  # bytes of the block, checksum


def write_contact_block(folder: Path, log: ContactLog) -> int:
    """Append the log of steps to the file of a folder; return the length of the file, bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, **{f.name: getattr(log, f.name) for f in fields(log)})
    block = buffer.getvalue()
    with open(folder / FILE_NAME, "ab") as file:
        begin = file.tell()
        file.write(_HEAD.pack(len(block), block_checksum(block, begin)) + block)
        return file.tell()


def sync_contact_blocks(folder: Path) -> None:
    """Have the system write the file of a folder to disk, if there is one."""
    path = folder / FILE_NAME
    if path.exists():
        with open(path, "rb") as file:
            os.fsync(file.fileno())


def truncate_contact_blocks(folder: Path, length: int) -> None:
    """Drop what was written after a checkpoint, at which the file had a length in bytes."""
    path = folder / FILE_NAME
    size = path.stat().st_size if path.exists() else 0
    if size < length:
        raise _damaged(folder)
    if size > length:
        with open(path, "r+b") as file:
            file.truncate(length)


def read_contact_blocks(folder: Path) -> Iterator[ContactLog]:
    """Return the logs of all blocks, in order."""
    path = folder / FILE_NAME
    if not path.exists():
        return
    with open(path, "rb") as file:
        while head := file.read(_HEAD.size):
            begin = file.tell() - len(head)
            if len(head) < _HEAD.size:
                raise _damaged(folder)
            length, seal = _HEAD.unpack(head)
            block = file.read(length)
            if len(block) < length or block_checksum(block, begin) != seal:
                raise _damaged(folder)
            with np.load(io.BytesIO(block), allow_pickle=False) as parts:
                yield ContactLog(**{f.name: parts[f.name] for f in fields(ContactLog)})


def _damaged(folder: Path) -> FileError:
    remedy = f"contact points in {FILE_NAME} are damaged or missing; take another copy of the directory, or run again"
    return FileError("simulate", "stream", str(folder), remedy)
