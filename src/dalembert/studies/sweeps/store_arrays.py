"""Arrays of a store: one for each variable, over the axes of the study, in chunks of consecutive cases.

The arrays form a Zarr group (format 3) that other tools open: ``xarray.open_zarr(store)``. Names of dimensions,
coordinates and units are those of the Dataset of `sweep`. ``variables.json`` holds the metadata of all arrays under a
checksum; the metadata files of Zarr, and the consolidated ones in its root, are written from it.

Several processes may write. A chunk that a block of cases covers in part is read, changed and written under a file
lock; the chunk itself is replaced in one step.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import FileError
from ...files.file_locks import FileLock
from ...result.storage.columns import require
from .recorded_outputs import Array, Column

__all__ = [
    "StoreAddress",
    "StoreArrays",
    "chunk_shape",
    "part_of",
    "read_sealed",
    "rows_by_chunk",
    "seal_of",
    "write_sealed",
]

MAX_CHUNK_BYTES = 1 << 20  # of one array: what is rewritten when one case is added
MAX_CHUNK_CASES = 1024
N_LOCKS = 64  # lock files that chunks share
LOCK_POLL = 0.002  # s
_VARIABLES = "variables.json"
_RESERVED = {"zarr.json", "study.json", "sessions.jsonl", _VARIABLES, "log", "lock", "locks", "status", "message"}
_SAFE = re.compile(r"[A-Za-z0-9][\w.\[\], -]*")
STATUS_CODES = ("not run", "finished", "failed")


@dataclass(frozen=True)
class StoreAddress:
    """Address of a store for workers.

    Attributes
    ----------
    path : str
        Folder; workers that do not see it return their values to the client.
    key : str
        Random name of the campaign, kept in the folder.
    session : int
        Number of the call of `sweep` that writes.
    shape : tuple of int
        Number of values along each axis.
    axes : tuple of str
        Names of the axes.
    """

    path: str
    key: str
    session: int
    shape: tuple[int, ...]
    axes: tuple[str, ...]

    @property
    def is_reachable(self) -> bool:
        """Whether this process sees the folder of this campaign."""
        try:
            return (Path(self.path) / "locks" / "key").read_text(encoding="utf-8") == self.key
        except OSError:
            return False


def chunk_shape(shape: Sequence[int], case_bytes: int) -> tuple[int, ...]:
    """Return the chunk shape over the axes: consecutive cases, the last axis fastest."""
    most = max(1, min(MAX_CHUNK_CASES, MAX_CHUNK_BYTES // max(1, case_bytes)))
    sizes: list[int] = []
    for n in reversed(tuple(shape)):
        size = max(1, min(n, most))
        sizes.append(size)
        most = most // n if size == n else 1
    return tuple(reversed(sizes))


class StoreArrays:
    """Arrays of a store.

    Parameters
    ----------
    address : StoreAddress
    """

    def __init__(self, address: StoreAddress) -> None:
        self.path, self.shape, self.axes = Path(address.path), address.shape, address.axes
        self.zarr = require("zarr")
        self.variables = read_variables(self.path)
        self._arrays: dict[str, Any] = {}

    def array(self, label: str) -> Any:
        """Return the Zarr array of a variable, opened by its metadata in ``variables.json``."""
        if label not in self._arrays:
            known = self.variables[label]
            self._arrays[label] = open_array(self.zarr, self.path, known["place"], known["array"])
        return self._arrays[label]

    def prepare(self, label: str, column: Column) -> dict[str, Any]:
        """Return the properties of a variable; create its array, or enlarge it for longer values."""
        inner = column.values.shape[1:]
        known = self.variables.get(label)
        if known is None or any(n > room for n, room in zip(inner, self._room(label), strict=False)):
            with self._lock("variables"):
                self.variables = read_variables(self.path)
                self._arrays.clear()
                if label not in self.variables:
                    self._create(label, column)
                elif any(n > room for n, room in zip(inner, self._room(label), strict=False)):
                    self._enlarge(label, column)
        return self.variables[label]

    def dims(self, labels: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the dimensions of those of some variables that exist."""
        if any(label not in self.variables for label in labels):
            self.variables = read_variables(self.path)
        return {label: tuple(known["dims"]) for label, known in self.variables.items()}

    def write(self, label: str, numbers: Sequence[int], values: Array) -> None:
        """Write the rows of some cases; rows that are shorter than others are padded with NaN."""
        array = self.array(label)
        room = array.shape[len(self.shape) :]
        if values.shape[1:] != room:
            padded = np.full((len(values), *room), np.nan, dtype=values.dtype)
            padded[(slice(None), *(slice(0, n) for n in values.shape[1:]))] = values
            values = padded
        self._write(array, label, numbers, values)

    def _write(self, array: Any, label: str, numbers: Sequence[int], values: Array) -> None:
        whole = tuple(slice(0, n) for n in array.shape[len(self.shape) :])
        for chunk, region, local, rows in rows_by_chunk(self.shape, array.chunks[: len(self.shape)], numbers):
            sizes = tuple(part.stop - part.start for part in region)
            full = len(rows) == int(np.prod(sizes))
            lock = nullcontext() if full else self._lock(f"{label} {chunk}")
            with lock:
                part = (
                    np.empty((*sizes, *values.shape[1:]), dtype=array.dtype) if full else part_of(array, region, whole)
                )
                part[local] = values[rows]
                array[(*region, *whole)] = part

    def write_outcomes(self, numbers: Sequence[int], errors: Sequence[str]) -> None:
        """Write the variables ``status`` and ``message`` of some cases."""
        codes = np.array([2 if error else 1 for error in errors], dtype=np.int8)
        self._write(self._outcome("status"), "status", numbers, codes)
        bad = [k for k, error in enumerate(errors) if error]
        if bad:
            messages = np.array([errors[k] for k in bad], dtype=object)
            self._write(self._outcome("message"), "message", [numbers[k] for k in bad], messages)

    def _outcome(self, name: str) -> Any:
        if name not in self._arrays:
            self._arrays[name] = self.zarr.open_array(str(self.path / name), mode="r+", zarr_format=3)
        return self._arrays[name]

    def create_frame(self, coordinates: Mapping[str, tuple[str, Array]], attributes: Mapping[str, Any]) -> None:
        """Create the group with the coordinates of the axes, ``status`` and ``message``."""
        group = self.zarr.open_group(str(self.path), mode="a", zarr_format=3, attributes=dict(attributes))
        for name, (dim, values) in coordinates.items():
            if _SAFE.fullmatch(name) and name not in _RESERVED:
                _create_coordinate(group, name, dim, values)
        more = {"shape": self.shape, "dimension_names": list(self.axes), "chunks": chunk_shape(self.shape, 64)}
        meanings = {"flag_values": [0, 1, 2], "flag_meanings": "not_run finished failed"}
        group.create_array("status", dtype="int8", fill_value=0, attributes=meanings, **more)
        group.create_array("message", dtype=self.zarr.dtype.VariableLengthUTF8(), fill_value="", **more)
        write_sealed(self.path / _VARIABLES, {})
        self.consolidate(attributes)

    def _room(self, label: str) -> tuple[int, ...]:
        return tuple(self.variables[label]["array"]["shape"][len(self.shape) :])

    def _create(self, label: str, column: Column) -> None:
        inner = column.values.shape[1:]
        dims = tuple(f"{label} {dim}" if dim in self.axes else dim for dim in column.dims)
        place = self._place(label)
        attributes = {"units": column.unit} if column.unit else {}
        if place != label:
            attributes["long_name"] = label
        kind = "complex128" if column.values.dtype.kind == "c" else "float64"
        case_bytes = (16 if kind == "complex128" else 8) * int(np.prod(inner))
        self.zarr.create_array(
            store=str(self.path),
            name=place,
            shape=(*self.shape, *inner),
            chunks=(*chunk_shape(self.shape, case_bytes), *(max(1, n) for n in inner)),
            dtype=kind,
            fill_value=float("nan") if kind == "float64" else complex(np.nan, np.nan),
            compressors=[self.zarr.codecs.ZstdCodec(level=1), self.zarr.codecs.Crc32cCodec()],
            dimension_names=[*self.axes, *dims],
            attributes=attributes,
            zarr_format=3,
        )
        coords = {name: at.tolist() for name, at in column.coords.items() if np.asarray(at).dtype.kind in "fiubU"}
        self.variables[label] = {"place": place, "dims": list(column.dims), "unit": column.unit, "coords": coords}
        self._record(label)

    def _enlarge(self, label: str, column: Column) -> None:
        known = self.variables[label]
        room = np.maximum(self._room(label), column.values.shape[1:]).tolist()
        array = open_array(self.zarr, self.path, known["place"], known["array"])
        array.resize((*self.shape, *room))
        known["coords"] = {
            name: at.tolist()
            for name, at in column.coords.items()
            if list(at[: len(known["coords"].get(name, ()))]) == known["coords"].get(name, ["?"])
        }
        self._record(label)

    def _record(self, label: str) -> None:
        known = self.variables[label]
        known["array"] = _metadata(self.path / known["place"])
        write_sealed(self.path / _VARIABLES, self.variables)
        self._write_inner_coordinates()
        self.consolidate()

    def _write_inner_coordinates(self) -> None:
        """Write coordinates of dimensions besides the axes, such as time, where all variables agree in length."""
        sizes: dict[str, set[int]] = {}
        places: dict[str, list[Any]] = {}
        for known in self.variables.values():
            room = known["array"]["shape"][len(self.shape) :]
            for dim, n in zip(known["dims"], room, strict=True):
                sizes.setdefault(dim, set()).add(n)
                if len(known["coords"].get(dim, ())) == n:
                    places.setdefault(dim, known["coords"][dim])
        group = self.zarr.open_group(str(self.path), mode="r+", zarr_format=3)
        taken = {known["place"] for known in self.variables.values()} | set(self.axes)
        for dim, found in sizes.items():
            if dim in taken or not _SAFE.fullmatch(dim) or dim in _RESERVED:
                continue
            there = group[dim].shape[0] if dim in group else None
            wanted = len(places[dim]) if dim in places and len(found) == 1 else None
            if there is not None and there != wanted:
                del group[dim]
                there = None
            if wanted is not None and there is None:
                _create_coordinate(group, dim, dim, np.array(places[dim]))

    def _place(self, label: str) -> str:
        """Return the name of the array of a variable: its label, if folders may have that name."""
        taken = {name.casefold() for name in os.listdir(self.path)} | _RESERVED
        if _SAFE.fullmatch(label) and not label.endswith((".", " ")) and label.casefold() not in taken:
            return label
        return f"v{len(self.variables)}"

    def consolidate(self, attributes: Mapping[str, Any] | None = None) -> None:
        """Write the metadata of all arrays into the root of the group, so that it is opened without a search."""
        root = self.path / "zarr.json"
        if attributes is None:
            attributes = _metadata(self.path)["attributes"]
        found = {
            entry.name: _metadata(entry)
            for entry in sorted(self.path.iterdir())
            if entry.is_dir() and (entry / "zarr.json").is_file()
        }
        data = {
            "attributes": dict(attributes),
            "zarr_format": 3,
            "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": found},
            "node_type": "group",
        }
        _replace(root, json.dumps(data))

    def restore_metadata(self, attributes: Mapping[str, Any]) -> None:
        """Write the metadata files of all variables again from ``variables.json``."""
        for known in self.variables.values():
            file = self.path / known["place"] / "zarr.json"
            wanted = json.dumps(known["array"])
            try:
                same = json.loads(file.read_text(encoding="utf-8")) == known["array"]
            except (OSError, ValueError):
                same = False
            if not same:
                file.parent.mkdir(exist_ok=True)
                _replace(file, wanted)
        self.consolidate(attributes)

    def chunk_file(self, label: str, chunk: Sequence[int]) -> Path:
        """Return the file of a chunk."""
        return self.path / self.variables[label]["place"] / "c" / "/".join(map(str, chunk))

    @contextmanager
    def _lock(self, what: str) -> Iterator[None]:
        slot = "variables" if what == "variables" else f"{int(seal_of(what), 16) % N_LOCKS:02d}"
        path = self.path / "locks" / slot
        while True:
            try:
                lock = FileLock(path, item="sweep", field="store", value=str(self.path))
                break
            except FileError:
                time.sleep(LOCK_POLL)
        try:
            yield
        finally:
            lock.release()


def part_of(array: Any, region: tuple[slice, ...], whole: tuple[slice, ...]) -> Array:
    """Return a part of an array that can be written to; values of a damaged chunk are lost."""
    try:
        return np.array(array[(*region, *whole)], dtype=object if array.dtype.kind == "T" else array.dtype)
    except (RuntimeError, ValueError):  # raised by codecs
        sizes = tuple(part.stop - part.start for part in (*region, *whole))
        return np.full(sizes, array.fill_value, dtype=array.dtype)


def rows_by_chunk(
    shape: tuple[int, ...], chunks: tuple[int, ...], numbers: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...], tuple[Array, ...], Array]]:
    """Yield chunk, region of cases, indices of the cases in it, and their rows."""
    at = np.stack(np.unravel_index(np.asarray(numbers, dtype=np.intp), shape), axis=1)
    own = at // np.array(chunks)
    order = np.lexsort(own.T[::-1])
    edges = np.flatnonzero((np.diff(own[order], axis=0) != 0).any(axis=1)) + 1
    for rows in np.split(order, edges):
        chunk = tuple(int(k) for k in own[rows[0]])
        region = tuple(slice(k * c, min((k + 1) * c, n)) for k, c, n in zip(chunk, chunks, shape, strict=True))
        yield chunk, region, tuple(at[rows, j] - part.start for j, part in enumerate(region)), rows


def open_array(zarr: Any, path: Path, place: str, metadata: Mapping[str, Any]) -> Any:
    """Open an array by given metadata, whatever its own metadata file holds."""
    from zarr.storage import LocalStore, StorePath

    array = zarr.Array.from_dict(StorePath(LocalStore(path), place), dict(metadata))
    return array.with_config({"write_empty_chunks": True})  # a missing file is then a loss


def _create_coordinate(group: Any, name: str, dim: str, values: Array) -> None:
    import zarr

    text = values.dtype.kind not in "fiub"
    kind: Any = zarr.dtype.VariableLengthUTF8() if text else values.dtype.str[1:]  # type: ignore[attr-defined]
    array = group.create_array(name, shape=values.shape, dtype=kind, dimension_names=[dim])
    array[:] = values.astype(object) if text else values


def read_variables(path: Path) -> dict[str, Any]:
    """Return the properties of all variables of a store."""
    found = read_sealed(path / _VARIABLES, path)
    return {} if found is None else found


def read_sealed(file: Path, store: Path) -> Any:
    """Return the contents of a JSON file with a checksum; None if there is no such file."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if set(found) != {"seal", "data"} or found["seal"] != seal_of(found["data"]):
            raise ValueError("it does not match its checksum")
        return found["data"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise FileError("load_sweep", "store", str(store), f"{file.name} is damaged: {error}") from error


def write_sealed(file: Path, data: Any) -> None:
    """Write a JSON file with its checksum in one step."""
    data = json.loads(json.dumps(data))  # as it will be read
    _replace(file, json.dumps({"seal": seal_of(data), "data": data}))


def seal_of(data: Any) -> str:
    """Return the checksum of plain data."""
    return hashlib.blake2b(json.dumps(data, sort_keys=True).encode(), digest_size=8).hexdigest()


def _replace(file: Path, text: str) -> None:
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, file)


def _metadata(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "zarr.json").read_text(encoding="utf-8"))
    return found
