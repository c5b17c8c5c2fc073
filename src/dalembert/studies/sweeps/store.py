"""Zarr store of a study, written block by block, so that a stopped study can be resumed.

Values of all cases are stored in float64 arrays, one row for each case. ``log.jsonl`` has a line for each block: its
cases, their errors, and a checksum of its values. A block is valid once its line is complete; a block whose values do
not match the checksum is run again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import FileError
from ...files.file_locks import FileLock
from ...result.storage.columns import require
from ...result.storage.zarr_stores import check_metadata, store_note
from .cases import Axis, Design
from .datasets import MemoryStore, ordered
from .jobs import CaseBlock, join
from .recorded_outputs import Column

__all__ = ["Store", "design_of", "read_note", "stored"]

_KEY = "dalembert_sweep"
_FORMAT = 2  # since 2, notes and variables have checksums; 1 can be read, too
CASES_PER_CHUNK = 256  # cases in a chunk of the store
_VARIABLE = {
    "place": str,
    "dims": list,
    "unit": str,
    "complex": bool,
    "coords": dict,
}  # stored properties of each variable


class Store(MemoryStore):
    """Store of a study on disk.

    Parameters
    ----------
    path : str or path
        A new folder, or the folder of the same study.
    identity : dict
        Fingerprints of the model, the varied names, the task, its settings and the recorded outputs.
    design : Design
        All cases.
    retry : bool
        Whether failed cases are run again.
    """

    def __init__(self, path: str | os.PathLike[str], identity: Mapping[str, str], design: Design, retry: bool) -> None:
        super().__init__()
        self.zarr = require("zarr")
        self.path, self.count = Path(path), len(design)
        self._begin(dict(identity), design)
        self.lock = FileLock(self.path / "lock", item="sweep", field="store", value=str(path))
        try:
            known = [block for block in _read(self.path, self.count, self.zarr, clean=True) if not block.damaged]
        except BaseException:
            self.lock.release()
            raise
        self.variables: dict[str, dict[str, Any]] = _variables(self.path)
        self.done: set[int] = set()
        for block in known:
            good = [k for k, error in enumerate(block.errors) if not (retry and error)]
            self.done |= {block.numbers[k] for k in good}
        self.log = open(self.path / "log.jsonl", "a+b")  # noqa: SIM115  (closed by close)
        self.log.seek(0)
        self.log.truncate(self.log.read().rfind(b"\n") + 1)  # drop an incomplete last line

    def _begin(self, identity: dict[str, str], design: Design) -> None:
        """Create the folder, or check that it holds the same study."""
        axes = [
            (axis.name, {name: _as_plain_values(column) for name, column in axis.columns.items()})
            for axis in design.axes
        ]
        note: dict[str, Any] = {"format": _FORMAT, "identity": identity, "count": self.count, "axes": axes}
        note["seed"] = design.seed
        note["seal"] = _seal(note)
        try:
            if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
                _check_same(self.path, identity, self.count)
                return
            self.path.mkdir(parents=True, exist_ok=True)
            self.zarr.open_group(str(self.path), mode="w-", zarr_format=3, attributes={_KEY: json.dumps(note)})
        except OSError as error:
            remedy = f"it cannot be written: {error.strerror or error}"
            raise FileError("sweep", "store", str(self.path), remedy) from error

    def finished(self) -> set[int]:
        """Return the numbers of cases that are finished."""
        return self.done

    def keep(self, block: CaseBlock) -> None:
        """Write a block; if writing fails, keep it in memory."""
        try:
            self._keep(block)
        except OSError as error:
            self.trouble = f"{self.path}: {error.strerror or error}"
            super().keep(block)

    def _keep(self, block: CaseBlock) -> None:
        """Write a block: values first, then the log line that makes it valid."""
        good = [k for k, error in enumerate(block.errors) if not error]
        rows = [block.numbers[k] for k in good]
        seal = hashlib.blake2b(digest_size=8)
        for label, column in block.columns.items():
            known = self._variable(label, column)
            values = _numbers(label, column, known["complex"])[good]
            self._write(known["place"], rows, values)
            seal.update(np.ascontiguousarray(values).tobytes())
        line = {
            "cases": block.numbers,
            "errors": {str(k): error for k, error in zip(block.numbers, block.errors, strict=True) if error},
            "notes": block.notes,
            "columns": {label: list(column.values.shape[1:]) for label, column in block.columns.items()},
            "seal": seal.hexdigest(),
        }
        self.log.write(json.dumps(line).encode() + b"\n")
        self.log.flush()
        os.fsync(self.log.fileno())

    def _variable(self, label: str, column: Column) -> dict[str, Any]:
        """Return the properties of a variable; create the array of a new one."""
        known = self.variables.get(label)
        if known is None:
            coords = {name: values.tolist() for name, values in column.coords.items() if _is_plain(values)}
            inner = (*column.values.shape[1:], 2) if _is_complex(column) else column.values.shape[1:]
            known = {
                "place": f"v{len(self.variables)}",
                "dims": column.dims,
                "unit": column.unit,
                "complex": _is_complex(column),
                "coords": coords,
            }
            self.zarr.create_array(
                store=str(self.path),
                name=known["place"],
                shape=(self.count, *inner),
                chunks=(min(CASES_PER_CHUNK, self.count), *(max(1, n) for n in inner)),
                dtype="float64",
                fill_value=float("nan"),
                zarr_format=3,
            )
            self.variables[label] = known
            _write_variables(self.path, self.variables)
        return known

    def _write(self, place: str, rows: list[int], values: Any) -> None:
        """Write rows of an array, which is enlarged for longer rows."""
        if not rows:
            return
        array = self.zarr.open_array(str(self.path / place), mode="r+", zarr_format=3)
        room = tuple(np.maximum(array.shape[1:], values.shape[1:]).tolist())
        if room != array.shape[1:]:
            array.resize((self.count, *room))
        array.oindex[(rows, *(slice(0, n) for n in values.shape[1:]))] = values

    def whole(self) -> CaseBlock:
        """Return all blocks, stored or kept in memory, as one."""
        on_disk = stored(self.path, self.count)
        return ordered([on_disk, *self.blocks]) if self.blocks else on_disk

    def close(self) -> None:
        """Close the files and release the folder."""
        self.log.close()
        self.lock.release()


class _Kept(CaseBlock):
    damaged: bool = False


def stored(path: Path, count: int) -> CaseBlock:
    """Return all blocks of a store as one, with the last result of each case."""
    blocks = _read(path, count, require("zarr"))
    broken = next((block for block in blocks if block.damaged), None)
    if broken is not None:
        remedy = "stored values do not match their checksum: run the sweep again with this store to recompute them"
        raise FileError("load_sweep", "store", str(path), f"case {broken.numbers[0]}: {remedy}")
    last: dict[int, CaseBlock] = {}
    for block in blocks:
        for k, number in enumerate(block.numbers):
            row = {label: Column(c.dims, c.values[k : k + 1], c.unit, c.coords) for label, c in block.columns.items()}
            last[number] = CaseBlock([number], [block.errors[k]], {} if block.errors[k] else row, [])
    notes = list(dict.fromkeys(note for block in blocks for note in block.notes))
    if not last:
        return CaseBlock([], [], {}, notes)
    whole = join([last[number] for number in sorted(last)])
    whole.notes = notes
    return whole


def _read(path: Path, count: int, zarr: Any, *, clean: bool = False) -> list[_Kept]:
    """Return the blocks of a store in the order of writing; `clean` removes damaged chunks.

    Values of a damaged chunk are NaN, and do not match the checksum.
    """
    variables = _variables(path)
    values = {}
    for label, known in variables.items():
        values[label], damaged = _values(_opened(path, known["place"], count, zarr), path / known["place"])
        for chunk in damaged if clean else ():
            chunk.unlink()  # a damaged chunk cannot be written to, either
    blocks = []
    try:
        lines = (path / "log.jsonl").read_bytes().split(b"\n")[:-1]  # drop an incomplete last line
    except FileNotFoundError:
        lines = []
    for text in lines:
        try:
            line = json.loads(text)
            blocks.append(_block(line, variables, values))
        except (ValueError, KeyError, TypeError, IndexError):
            continue  # invalid line: its cases run again
    return blocks


def _block(line: dict[str, Any], variables: dict[str, dict[str, Any]], values: dict[str, Any]) -> _Kept:
    numbers = [int(number) for number in line["cases"]]
    errors = [str(line["errors"].get(str(number), "")) for number in numbers]
    good = [k for k, error in enumerate(errors) if not error]
    seal, columns = hashlib.blake2b(digest_size=8), {}
    for label, shape in line["columns"].items():
        known = variables[label]
        inner = tuple(slice(0, int(n)) for n in shape) + ((slice(None),) if known["complex"] else ())
        found = np.ascontiguousarray(values[label][(numbers, *inner)])
        seal.update(np.ascontiguousarray(found[good]).tobytes())
        plain = found.view(complex)[..., 0] if known["complex"] else found
        coords = {name: np.array(place) for name, place in known["coords"].items()}
        columns[label] = Column(tuple(known["dims"]), plain, known["unit"], coords)
    block = _Kept(numbers, errors, columns, list(line["notes"]))
    block.damaged = seal.hexdigest() != line["seal"]
    return block


def _values(array: Any, folder: Path) -> tuple[Any, list[Path]]:
    """Return the values of an array, NaN in damaged chunks, and the files of these chunks."""
    try:
        return np.asarray(array[...]), []
    except (RuntimeError, ValueError):  # raised by codecs
        found, damaged = np.full(array.shape, np.nan), []
    for index in np.ndindex(*(-(-n // size) for n, size in zip(array.shape, array.chunks, strict=True))):
        part = tuple(slice(k * size, (k + 1) * size) for k, size in zip(index, array.chunks, strict=True))
        try:
            found[part] = array[part]
        except (RuntimeError, ValueError):
            damaged.append(folder / "c" / "/".join(map(str, index)))
    return found, damaged


def _opened(path: Path, place: str, count: int, zarr: Any) -> Any:
    if place not in os.listdir(path):
        raise FileError("load_sweep", "store", str(path), f"it has no array {place!r}")
    check_metadata(path / place)
    try:
        array = zarr.open_array(str(path / place), mode="r", zarr_format=3)
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise FileError("load_sweep", "store", str(path), f"array {place!r} is damaged: {error!r}") from error
    if array.shape[:1] != (count,):
        remedy = f"array {place!r} has the shape {array.shape}, not {count} rows"
        raise FileError("load_sweep", "store", str(path), remedy)
    return array


def _variables(path: Path) -> dict[str, dict[str, Any]]:
    try:
        found: dict[str, dict[str, Any]] = json.loads((path / "variables.json").read_text(encoding="utf-8"))
        if set(found) == {"seal", "variables"} and isinstance(found["seal"], str):
            if found["seal"] != _seal(found["variables"]):
                raise ValueError("it does not match its checksum")
            found = found["variables"]
        if not all({key: type(value) for key, value in known.items()} == _VARIABLE for known in found.values()):
            raise ValueError("a variable lacks a property")
        return found
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError) as error:
        raise FileError("load_sweep", "store", str(path), f"variables.json is damaged: {error}") from error


def _seal(data: Any) -> str:
    """Return the checksum of the contents of a JSON file."""
    return hashlib.blake2b(json.dumps(data, sort_keys=True).encode(), digest_size=8).hexdigest()


def _write_variables(path: Path, variables: Mapping[str, Any]) -> None:
    new = path / "variables.json.new"
    kept = {"seal": _seal(variables), "variables": variables}
    new.write_text(json.dumps(kept), encoding="utf-8")
    os.replace(new, path / "variables.json")


def _check_same(path: Path, identity: Mapping[str, str], count: int) -> None:
    """Raise unless a folder holds the same study."""
    note = read_note(path)
    for what, value in {**identity, "number of cases": str(count)}.items():
        there = {**note["identity"], "number of cases": str(note["count"])}.get(what)
        if there != value:
            remedy = (
                f"it holds another study, with a different {what}: use another store, or the arguments of that study"
            )
            raise FileError("sweep", "store", str(path), remedy)


def read_note(path: Path) -> dict[str, Any]:
    """Read the description of the study of a store."""
    try:
        note: dict[str, Any] = json.loads(store_note(path, _KEY))
        if note["format"] not in (1, _FORMAT):
            raise ValueError(f"its format is {note['format']}")
        if note["format"] == _FORMAT and note.pop("seal") != _seal(note):
            raise ValueError("it is damaged: the description of its cases does not match its checksum")
        note["identity"]["system"], note["count"], note["axes"], note["seed"]  # all entries that are read
    except (OSError, ValueError, KeyError, TypeError) as error:
        remedy = f"it exists and was not written by da.sweep ({error!r}): use another name"
        raise FileError("sweep", "store", str(path), remedy) from error
    return note


def design_of(note: Mapping[str, Any]) -> Design:
    """Return the cases of a stored study."""
    return Design(tuple(Axis(name, columns) for name, columns in note["axes"]), note["seed"])


def _as_plain_values(column: Any) -> list[Any]:
    return [value if isinstance(value, (str, int, float)) else repr(value) for value in column]


def _numbers(label: str, column: Column, as_complex: bool) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return values as float64; complex ones with an additional axis."""
    kind = column.values.dtype.kind
    if kind not in "fciub" or (kind == "c" and not as_complex):
        remedy = "a store holds numbers of one kind: leave this output out, or do not use store="
        raise FileError("sweep", f"output {label!r}", column.values.dtype, remedy)
    if as_complex:
        return np.ascontiguousarray(column.values, dtype=complex)[..., None].view(float)
    return np.ascontiguousarray(column.values, dtype=float)


def _is_complex(column: Column) -> bool:
    return column.values.dtype.kind == "c"


def _is_plain(values: Any) -> bool:
    return np.asarray(values).dtype.kind in "fiubU"
