"""Log of a store: a line for each written block of cases, with a checksum of its values.

Every writer has a file of its own below ``log``. A line is written after the values, so that a block is valid once its
line is complete. Of several lines about one case the last one counts.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .blocks import CaseBlock
from .recorded_outputs import Array
from .store_arrays import seal_of

__all__ = ["LoggedBlock", "append_line", "read_log", "row_seals"]


@dataclass
class LoggedBlock:
    """Line of the log.

    Attributes
    ----------
    cases : list of int
    errors, traces : dict of int to str
        Of failed cases: message, and traceback where there is one.
    notes : list of str
    columns : dict of str to list of int
        Shape of the values of one case, by variable.
    seals : list of str
        Checksum of the values of each case.
    seconds : float
        Duration.
    order : tuple
        Session and time of writing.
    """

    cases: list[int]
    errors: dict[int, str]
    traces: dict[int, str]
    notes: list[str]
    columns: dict[str, list[int]]
    seals: list[str]
    seconds: float = 0.0
    order: tuple[int, float] = field(default=(0, 0.0))


def row_seals(count: int, columns: Sequence[tuple[str, Array]]) -> list[str]:
    """Return the checksum of each row of values (count, ...) by label."""
    sealed = [hashlib.blake2b(digest_size=8) for _ in range(count)]
    for _, values in columns:
        rows = np.ascontiguousarray(values).reshape(count, -1)
        for seal, row in zip(sealed, rows, strict=True):
            seal.update(row.tobytes())
    return [seal.hexdigest() for seal in sealed]


def append_line(path: Path, session: int, block: CaseBlock, columns: Sequence[tuple[str, Array]]) -> None:
    """Append the line of a block, whose values are written."""
    line = {
        "cases": block.numbers,
        "errors": {str(k): error for k, error in zip(block.numbers, block.errors, strict=True) if error},
        "traces": {str(k): text for k, text in block.traces.items()},
        "notes": block.notes,
        "columns": {label: list(values.shape[1:]) for label, values in columns},
        "seals": row_seals(len(block.numbers), columns) if columns else [],
        "seconds": block.seconds,
        "time": time.time(),
        "session": session,
    }
    line["seal"] = seal_of(json.loads(json.dumps(line)))
    folder = path / "log"
    node = "".join(c for c in platform.node() if c.isalnum() or c in "-_")[:40]
    file = folder / f"{session:04d}-{node}-{os.getpid()}-{threading.get_native_id()}.jsonl"
    with open(file, "a+b") as log:
        if log.tell():
            log.seek(-1, os.SEEK_END)
            if log.read(1) != b"\n":  # an incomplete line of a writer that had the same number
                log.write(b"\n")
        log.write(json.dumps(line).encode() + b"\n")
        log.flush()
        os.fsync(log.fileno())


def read_log(path: Path) -> list[LoggedBlock]:
    """Return all valid lines, in the order of writing."""
    blocks = []
    for file in sorted((path / "log").glob("*.jsonl")):
        for text in file.read_bytes().split(b"\n")[:-1]:  # drop an incomplete last line
            try:
                line = json.loads(text)
                if line.pop("seal") == seal_of(line):
                    blocks.append(_block(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # invalid line: its cases run again
    return sorted(blocks, key=lambda block: block.order)


def _block(line: dict[str, Any]) -> LoggedBlock:
    return LoggedBlock(
        [int(number) for number in line["cases"]],
        {int(k): str(error) for k, error in line["errors"].items()},
        {int(k): str(text) for k, text in line["traces"].items()},
        [str(note) for note in line["notes"]],
        {str(label): [int(n) for n in shape] for label, shape in line["columns"].items()},
        [str(seal) for seal in line["seals"]],
        float(line["seconds"]),
        (int(line["session"]), float(line["time"])),
    )
