"""Zarr store of a study, written block by block, so that a stopped study can be resumed.

``study.json`` describes the campaign, with a checksum: model, task, settings, recorded outputs, cases and provenance.
Values of all cases are arrays over the axes of the study (`store_arrays`); the log (`store_log`) tells which of them
are valid. Workers that see the folder write their blocks themselves.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import FileError
from ...files.file_locks import FileLock
from ...result.storage.columns import require
from .blocks import CaseBlock, join, settle
from .cases import Axis, Design
from .datasets import MemoryStore, coordinates_of
from .recorded_outputs import Column
from .store_arrays import StoreAddress, StoreArrays, part_of, read_sealed, rows_by_chunk, write_sealed
from .store_log import LoggedBlock, append_line, read_log, row_seals

__all__ = ["FORMAT", "Store", "StoredStudy", "design_of", "write_in_place"]

FORMAT = 3
FLUSH_PERIOD = 0.5  # s: single cases are collected so long before they are written
_KEY = "dalembert_sweep"


class StoredStudy:
    """Campaign in a store: description, cases, outcomes and arrays.

    Parameters
    ----------
    path : str or path
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.note = read_note(self.path)
        self.design = design_of(self.note)
        axes = tuple(axis.name for axis in self.design.axes)
        self.address = StoreAddress(str(self.path), self.note["key"], 0, self.design.shape, axes)
        self.arrays = StoreArrays(self.address)
        self.lines = read_log(self.path)
        self.last: dict[int, LoggedBlock] = {number: line for line in self.lines for number in line.cases}

    def outcomes(self) -> CaseBlock:
        """Return numbers, errors, tracebacks and notes of all cases with an outcome, without values."""
        numbers = sorted(self.last)
        errors = [self.last[number].errors.get(number, "") for number in numbers]
        traces = {number: text for number in numbers if (text := self.last[number].traces.get(number))}
        notes = list(dict.fromkeys(note for line in self.lines for note in line.notes))
        return CaseBlock(numbers, errors, {}, notes, traces=traces, seconds=sum(line.seconds for line in self.lines))

    def good(self) -> list[int]:
        """Return the numbers of finished cases."""
        return [number for number in sorted(self.last) if number not in self.last[number].errors]

    def damaged(self) -> Iterator[int]:
        """Yield finished cases whose values do not match their checksums; all values are read, chunk by chunk."""
        groups: dict[tuple[tuple[str, tuple[int, ...]], ...], list[int]] = {}
        for number in self.good():
            shapes = tuple((label, tuple(inner)) for label, inner in self.last[number].columns.items())
            groups.setdefault(shapes, []).append(number)
        for shapes, numbers in groups.items():
            if any(label not in self.arrays.variables for label, _ in shapes):
                yield from numbers
                continue
            largest = max((int(np.prod(inner)) for _, inner in shapes), default=1)
            step = max(1, (1 << 22) // max(1, largest))
            readers = {label: _RowReader(self.arrays, label) for label, _ in shapes}
            for begin in range(0, len(numbers), step):
                some = numbers[begin : begin + step]
                columns = [(label, readers[label].rows(some, inner)) for label, inner in shapes]
                places = {number: k for k, number in enumerate(some)}
                seals = row_seals(len(some), columns)
                for number in some:
                    line = self.last[number]
                    if line.seals[line.cases.index(number)] != seals[places[number]]:
                        yield number

    def missing_chunk(self) -> int | None:
        """Return a finished case whose chunk has no file, None if there is none; no values are read."""
        wanted: dict[tuple[str, tuple[int, ...]], int] = {}
        good = self.good()
        if not good:
            return None
        at = np.stack(np.unravel_index(good, self.design.shape), axis=1)
        for label in self.arrays.variables:
            chunks = self.arrays.array(label).chunks[: len(self.design.shape)]
            own = at // np.array(chunks)
            for row, number in zip(own.tolist(), good, strict=True):
                if label in self.last[number].columns:
                    wanted.setdefault((label, tuple(row)), number)
        for (label, chunk), number in wanted.items():
            inner = self.arrays.array(label).shape[len(self.design.shape) :]
            if 0 in inner:
                continue
            if not self.arrays.chunk_file(label, (*chunk, *(0 for _ in inner))).is_file():
                return number
        return None

    def whole(self) -> CaseBlock:
        """Return all results as one block, with the values in memory."""
        found = self.outcomes()
        for label, known in self.arrays.variables.items():
            array = self.arrays.array(label)
            values = np.asarray(array[...]).reshape(len(self.design), *array.shape[len(self.design.shape) :])
            coords = {name: np.array(place) for name, place in known["coords"].items()}
            found.columns[label] = Column(tuple(known["dims"]), values[found.numbers], known["unit"], coords)
        return found


class _RowReader:
    """Reader of rows of a variable; NaN in damaged chunks, which are listed."""

    def __init__(self, arrays: StoreArrays, label: str) -> None:
        self.array, self.shape = arrays.array(label), arrays.shape
        self._chunk: tuple[Any, Any] = (None, None)

    def rows(self, numbers: Sequence[int], inner: Sequence[int]) -> Any:
        """Return the values of cases, (n, *inner)."""
        values = np.full((len(numbers), *inner), np.nan, dtype=self.array.dtype)
        room = tuple(slice(0, n) for n in inner)
        for chunk, region, local, rows in rows_by_chunk(self.shape, self.array.chunks[: len(self.shape)], numbers):
            if self._chunk[0] != (chunk, room):
                self._chunk = ((chunk, room), part_of(self.array, region, room))
            values[rows] = self._chunk[1][local]
        return values


class Store(MemoryStore):
    """Store of a study on disk, held by one call of `sweep` at a time.

    Parameters
    ----------
    path : str or path
        A new folder, or the folder of the same study.
    description : dict
        Description of the campaign, see `campaign.describe`.
    design : Design
        All cases.
    retry : bool
        Whether failed cases are run again.
    differences : function of two descriptions
        Return an error text if a stored description is that of another study, else "".
    provenance : dict
        Versions, platform, instruction set and date of this call.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        description: dict[str, Any],
        design: Design,
        retry: bool,
        differences: Any,
        provenance: Mapping[str, Any],
    ) -> None:
        super().__init__()
        require("zarr")
        self.path, self.design = Path(path), design
        self._begin(description, differences, provenance)
        self.lock = FileLock(self.path / "lock", item="sweep", field="store", value=str(path))
        try:
            study = StoredStudy(self.path)
            self.attributes = study.note["attributes"]
            study.arrays.restore_metadata({**self.attributes, _KEY: FORMAT})
            bad = set(study.damaged())
            if bad:
                _remove_undecodable(study, bad)
            failed = {number for number, line in study.last.items() if number in line.errors}
            self.done = set(study.last) - bad - (failed if retry else set())
            self.sessions = self._begin_session(provenance)
        except BaseException:
            self.lock.release()
            raise
        self.address = StoreAddress(
            str(self.path), study.note["key"], len(self.sessions), study.address.shape, study.address.axes
        )
        self.arrays = StoreArrays(self.address)
        self._waiting: list[CaseBlock] = []
        self._flushed = time.monotonic()

    def _begin(self, description: dict[str, Any], differences: Any, provenance: Mapping[str, Any]) -> None:
        """Create the folder, or check that it holds the same study."""
        try:
            if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
                note = read_note(self.path)
                text = differences(note, description)
                if text:
                    remedy = f"it holds another study, with {text}: use another store, or the arguments of that study"
                    raise FileError("sweep", "store", str(self.path), remedy)
                return
            for folder in ("log", "locks"):
                (self.path / folder).mkdir(parents=True, exist_ok=True)
            key = uuid.uuid4().hex
            (self.path / "locks" / "key").write_text(key, encoding="utf-8")
            note = {"format": FORMAT, "key": key, **description}
            axes = tuple(axis.name for axis in self.design.axes)
            arrays = StoreArrays(StoreAddress(str(self.path), key, 0, self.design.shape, axes))
            coords = {name: (dims, np.asarray(at)) for name, (dims, at) in coordinates_of(self.design).items()}
            arrays.create_frame(coords, {**note["attributes"], _KEY: FORMAT})
            write_sealed(self.path / "study.json", note)  # last: the store is valid from now on
        except OSError as error:
            remedy = f"it cannot be written: {error.strerror or error}"
            raise FileError("sweep", "store", str(self.path), remedy) from error

    def _begin_session(self, provenance: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Record this call; return all calls."""
        sessions = read_sessions(self.path)
        sessions.append(dict(provenance))
        with open(self.path / "sessions.jsonl", "ab") as file:
            file.write(json.dumps(dict(provenance)).encode() + b"\n")
        return sessions

    def finished(self) -> set[int]:
        """Return the numbers of cases that are finished."""
        return self.done

    def keep(self, block: CaseBlock) -> None:
        """Write a block; if writing fails, keep it in memory."""
        if block.stored:
            return
        self._waiting.append(block)
        if time.monotonic() - self._flushed > FLUSH_PERIOD or sum(len(b.numbers) for b in self._waiting) > 64:
            self.flush()

    def flush(self) -> None:
        """Write the blocks that wait."""
        waiting, self._waiting = self._waiting, []
        self._flushed = time.monotonic()
        for block in [join(waiting)] if waiting else []:
            try:
                self._keep(block)
            except OSError as error:
                self.trouble = f"{self.path}: {error.strerror or error}"
                super().keep(block)

    def _keep(self, block: CaseBlock) -> None:
        write_block(self.arrays, self.address.session, block)

    def study(self) -> StoredStudy:
        """Return all that is stored."""
        self.flush()
        return StoredStudy(self.path)

    def close(self) -> None:
        """Write what waits, and release the folder."""
        try:
            self.flush()
        finally:
            self.lock.release()


def write_block(arrays: StoreArrays, session: int, block: CaseBlock) -> None:
    """Write a block: values first, then the line of the log that makes it valid."""
    settle(block, arrays.dims(block.columns))
    columns = []
    for label, column in block.columns.items():
        known = arrays.prepare(label, column)
        values = _numbers(label, column, known["array"]["data_type"] == "complex128")
        arrays.write(label, block.numbers, values)
        columns.append((label, values))
    arrays.write_outcomes(block.numbers, block.errors)
    append_line(arrays.path, session, block, columns)


@lru_cache(maxsize=16)
def _arrays_of(address: StoreAddress, process: int) -> StoreArrays:
    return StoreArrays(address)


def write_in_place(address: StoreAddress, block: CaseBlock) -> CaseBlock:
    """Write a block in the worker that ran it, and return it without values; unchanged if it cannot be written."""
    if not address.is_reachable:
        return block
    try:
        write_block(_arrays_of(address, os.getpid()), address.session, block)
    except OSError:
        return block  # the client tries, and keeps it in memory
    return CaseBlock(block.numbers, block.errors, {}, block.notes, block.seconds, block.traces, stored=True)


def read_sessions(path: Path) -> list[dict[str, Any]]:
    """Return provenance of every call of `sweep` that wrote to a store."""
    try:
        lines = (path / "sessions.jsonl").read_bytes().splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        try:
            found.append(dict(json.loads(line)))
        except (ValueError, TypeError):
            continue
    return found


def read_note(path: Path) -> dict[str, Any]:
    """Read the description of the study of a store."""
    remedy = "it exists and was not written by da.sweep"
    try:
        if path.is_dir() and not (path / "study.json").exists():
            _refuse_earlier_format(path)
        note: dict[str, Any] | None = read_sealed(path / "study.json", path)
    except FileError as error:
        raise FileError("sweep", "store", str(path), f"it is damaged: {error}") from error
    if note is None or not path.is_dir():
        raise FileError("sweep", "store", str(path), f"{remedy}: use another name")
    if note.get("format") != FORMAT:
        writer = note.get("attributes", {}).get("dalembert", "another version")
        versions = f"its format is {note.get('format')}, written by dalembert {writer}; this version reads {FORMAT}"
        raise FileError("sweep", "store", str(path), f"{versions}: open it with that version, or use another store")
    return note


def _refuse_earlier_format(path: Path) -> None:
    try:
        note = json.loads(json.loads((path / "zarr.json").read_text(encoding="utf-8"))["attributes"][_KEY])
        found = note["format"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    remedy = f"its format is {found}, that of an earlier version; this version reads {FORMAT}: use another store"
    raise FileError("sweep", "store", str(path), remedy)


def design_of(note: Mapping[str, Any]) -> Design:
    """Return the cases of a stored study."""
    return Design(tuple(Axis(name, columns) for name, columns in note["axes"]), note["seed"])


def _remove_undecodable(study: StoredStudy, bad: set[int]) -> None:
    """Remove chunks that cannot be decoded; they cannot be written to, either."""
    at = np.stack(np.unravel_index(sorted(bad), study.design.shape), axis=1)
    for label in study.arrays.variables:
        array = study.arrays.array(label)
        count = len(study.design.shape)
        own = {tuple(row) for row in (at // np.array(array.chunks[:count])).tolist()}
        inner = [-(-n // size) for n, size in zip(array.shape[count:], array.chunks[count:], strict=True)]
        for chunk in own:
            for rest in np.ndindex(*inner):
                whole = (*chunk, *rest)
                part = tuple(slice(k * size, (k + 1) * size) for k, size in zip(whole, array.chunks, strict=True))
                try:
                    array[part]
                except (RuntimeError, ValueError):
                    study.arrays.chunk_file(label, whole).unlink(missing_ok=True)


def _numbers(label: str, column: Column, as_complex: bool) -> Any:
    """Return values as float64 or complex128."""
    kind = column.values.dtype.kind
    if kind not in "fciub" or (kind == "c" and not as_complex):
        remedy = "a store holds numbers of one kind: leave this output out, or do not use store="
        raise FileError("sweep", f"output {label!r}", column.values.dtype, remedy)
    return np.ascontiguousarray(column.values, dtype=complex if as_complex else float)
