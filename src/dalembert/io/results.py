"""Results in files: NetCDF and Zarr through xarray, Parquet and CSV as flat tables.

Every format holds the states to the last bit, and a note in JSON: names, units, status, statistics, events, when which
conditions held, the data of the model, and the seal of all of it.
"""

from __future__ import annotations

import json
import os
import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError, ModelError
from ..model.likeness import difference, likeness
from .atomic import replacing
from .columns import column_names, distinct, foreign, read_csv, read_parquet, require, write_csv, write_parquet
from .datasets import variable_name
from .seals import mind_seal, sealed
from .zarr_stores import is_result_store, read_store

if TYPE_CHECKING:
    from ..model import Model
    from ..result import Result
    from ..system import System

__all__ = ["load_result", "save_result"]

Array = NDArray[np.float64]
PathLike = str | os.PathLike[str]
Reader = Callable[[Any, tuple[int, ...]], Array]

_FORMAT = 2  # 1 had no seal
_DERIVED = ("a", "tau", "lam")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,() \[\]-]{0,99}")
_TRIES = 20  # at a store that is being replaced
_PAUSE = 0.01  # s between them


def save_result(result: Result, path: PathLike, names: Sequence[str] = ()) -> None:
    """Write a result; see `Result.save`."""
    save, _ = _format("save", path)
    arrays = {"t": result.t, "q": result.q, "v": result.v, "x": result.x}
    for name in _DERIVED:
        values = result._columns_or_none(name)
        if values is not None:
            arrays[name] = values
    listed = [names] if isinstance(names, str) else list(names)
    arrays |= {name: result[name] for name in listed if name not in arrays}
    save(result, path, arrays)


def load_result(path: PathLike, model: Model | System | None = None) -> Result:
    """Read a result; see `Result.load`."""
    from ..model import as_model

    _, load = _format("load", path)
    compiled = None if model is None else as_model(model)
    note, arrays = _read(path, load)
    if compiled is not None:
        _check(note, compiled)
    try:
        return _result(note, arrays, compiled)
    except ModelError:
        raise
    except Exception as error:
        raise _damaged(path, error) from error


def _read(path: PathLike, load: Callable[[PathLike], tuple[Reader, str]]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the note and the arrays of a file, once more if it was replaced while it was read."""
    for left in range(_TRIES, -1, -1):
        seen = _identity(path)
        try:
            if seen is None:
                raise FileError("load", "path", os.fspath(path), "there is no such file")
            return _read_once(path, load)
        except ModelError:
            if not left or not (_identity(path) != seen or _being_replaced(path)):
                raise
            time.sleep(_PAUSE)
    raise AssertionError


def _read_once(
    path: PathLike, load: Callable[[PathLike], tuple[Reader, str]]
) -> tuple[dict[str, Any], dict[str, Array]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is damaged more is said than a warning
            read, text = load(path)
            note = json.loads(text)
            if note["format"] not in (1, _FORMAT):
                remedy = "the file was written by another version of dalembert, which is needed to read it"
                raise FileError("load", f"format of {os.fspath(path)!r}", note["format"], remedy)
            arrays = {name: _array(read, note["places"][name], shape) for name, shape in note["shapes"].items()}
            if note["format"] > 1:
                mind_seal(note, arrays)
            return note, arrays
    except ModelError:
        raise
    except (PermissionError, IsADirectoryError) as error:
        raise FileError("load", "path", os.fspath(path), f"it cannot be read: {error.strerror}") from error
    except Exception as error:  # anything at all can come of damaged bytes
        raise _damaged(path, error) from error


def _identity(path: PathLike) -> tuple[int, int] | None:
    """Return what tells a file or folder from one that takes its place; None if there is none."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_ino, found.st_ctime_ns  # numbers are used again


def _being_replaced(path: PathLike) -> bool:
    """Return whether a folder is set aside at this moment for a new one; see `replacing`."""
    target = Path(os.path.realpath(path))
    return not target.exists() and any(target.parent.glob(f".{_escaped(target.name[:100])}.*.old"))


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def _damaged(path: PathLike, error: Exception) -> FileError:
    reason = str(error) or type(error).__name__
    remedy = f"it is damaged, or was changed after it was written: {reason}; take another copy, or save it again"
    return FileError("load", "path", os.fspath(path), remedy)


def _array(read: Reader, place: Any, shape: list[int]) -> Array:
    size = tuple(shape)
    values = np.zeros(size) if 0 in size else read(place, size)
    return np.ascontiguousarray(values, dtype=float).reshape(size)


def _result(note: dict[str, Any], arrays: dict[str, Array], model: Model | None) -> Result:
    """Return the result that a note and arrays tell of."""
    from ..result import EventRecord, Labels, Result, Stats

    t, q, v, x = (arrays.pop(name) for name in ("t", "q", "v", "x"))
    names: dict[str, Any] = {key: tuple(y) if isinstance(y, list) else y for key, y in note["labels"].items()}
    events = [EventRecord(**(e | {key: np.array(e[key]) for key in ("q", "v", "x")})) for e in note["events"]]
    stats = Stats(**note["stats"])
    if note["format"] == 1:
        stats.notes.append("read from a file of an earlier version, without a checksum: damage would go unnoticed")
    if model is not None and note.get("controlled"):
        stats.notes.append(
            "read from a file, which keeps no control function: a, tau and lam are those of the run, what is computed "
            "anew is without control"
        )
    result = Result(
        model,
        t,
        q,
        v,
        x,
        stats=stats,
        status=note["status"],
        message=note["message"],
        events=events,
        conditions=None if model is None else _periods(note.get("periods", []), model),
        labels=Labels(**names) if model is None else None,
        stored=arrays,
    )
    if model is None:
        result._kept = {name: note[name] for name in ("model", "periods", "controlled") if name in note}
    return result


def _periods(periods: list[Any], model: Model) -> Any:
    """Return when which conditions held; None if always those described."""
    from ..result import Periods

    if not periods:
        return None
    described = model.conditions()
    kept = [described.like(plain).changed(stabilization=tuple(gains)) for _, plain, gains in periods]
    return Periods([float(begin) for begin, *_ in periods], kept)


def _note(result: Result, arrays: Mapping[str, Array], places: Mapping[str, Any]) -> str:
    """Return what goes with the numbers; `places` says under which name or names each array is found."""
    events = [asdict(e) | {key: getattr(e, key).tolist() for key in ("q", "v", "x")} for e in result.events]
    note = {
        "format": _FORMAT,
        "labels": asdict(result.labels),
        "shapes": {name: array.shape for name, array in arrays.items()},
        "places": places,
        "status": result.status,
        "message": result.message,
        "stats": asdict(result.stats),
        "events": events,
    }
    return sealed(note | _origin(result), arrays)


def _origin(result: Result) -> dict[str, Any]:
    """Return what is kept of the model and of the conditions."""
    if result.model is None:
        return result._kept
    held = result.conditions
    periods = [] if held is None else list(zip(held.begins, held.conditions, strict=True))
    return {
        "model": likeness(result.model),
        "periods": [(begin, one.plain(), one.stabilization) for begin, one in periods],
        "controlled": any(one.control is not None for _, one in periods),
    }


def _check(note: Mapping[str, Any], model: Model) -> None:
    """Refuse a model that is not the one of the file."""
    for what, of_model in (("coordinates", model.coordinate_names), ("speeds", model.speed_names)):
        of_file = tuple(note["labels"][what])
        if of_file != of_model:
            remedy = f"the file holds {what} {', '.join(of_file)}: give the model that it was made with, or none"
            raise ModelError("load", f"the model's {what}", ", ".join(of_model), remedy)
    found = difference(note["model"], likeness(model)) if "model" in note else None
    if found is not None:
        remedy = (
            f"the file is of a model with {found.there!r}: give that model, or none; for this motion in another model: "
            "r = da.Result.load(path), da.Result(model, r.t, r.q, r.v, r.x)"
        )
        raise ModelError("load", f"the model's {found.item}, {found.field},", found.here, remedy)


# ---- formats


def _format(item: str, path: PathLike) -> Any:
    supported = "use a name that ends in .nc, .zarr, .parquet or .csv"
    if not isinstance(path, (str, os.PathLike)):
        raise ModelError(item, "path", path, supported)
    found = _FORMATS.get(Path(path).suffix.lower())
    if found is None:
        raise ModelError(item, "path", os.fspath(path), supported)
    return found


def _dataset(result: Result, arrays: Mapping[str, Array]) -> Any:
    """Return what goes to a file: empty variables left out, names such that every format takes them."""
    states = ("t", "q", "v", "x", *_DERIVED)
    data = result.to_xarray([name for name in arrays if name not in states])
    places = {"t": "time"} | {name: variable_name(data, name) for name in arrays if name != "t"}
    renamed = _renamed([str(name) for name in dict.fromkeys((*data.variables, *data.dims))])
    for old, new in renamed.items():
        if old in data.variables:
            data[old].attrs["name"] = old
        places = {name: new if place == old else place for name, place in places.items()}
    data = data.drop_dims([dimension for dimension, size in data.sizes.items() if size == 0])
    data = data.rename({old: new for old, new in renamed.items() if old in data.variables or old in data.dims})
    return data.assign_attrs(dalembert=_note(result, arrays, places))


def _renamed(names: list[str]) -> dict[str, str]:
    """Return other names for those that some format or file system does not take, or does not tell from others."""
    kept: dict[str, str] = {}
    for name in names:
        if _PLAIN_NAME.fullmatch(name) and not name.endswith((" ", ".")):
            kept.setdefault(name.casefold(), name)
    others = [name for name in names if name not in kept.values()]
    return dict(zip(others, distinct(["output (1)"] * len(others), kept), strict=True))


def _reader(data: Any, path: PathLike) -> tuple[Reader, str]:
    note = data.attrs.get("dalembert")
    if note is None:
        raise foreign(path)
    return lambda place, shape: data[place].values, note


def _save_netcdf(result: Result, path: PathLike, arrays: Mapping[str, Array]) -> None:
    data = _dataset(result, arrays)
    with replacing(path) as new:
        data.to_netcdf(new, engine="scipy")


def _load_netcdf(path: PathLike) -> tuple[Reader, str]:
    import xarray

    return _reader(xarray.load_dataset(path, engine="scipy", decode_times=False), path)


def _save_zarr(result: Result, path: PathLike, arrays: Mapping[str, Array]) -> None:
    require("zarr")
    data = _dataset(result, arrays)
    with replacing(path, store=is_result_store) as new, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on how strings are kept
        data.to_zarr(new, mode="w", consolidated=False, zarr_format=3)


def _load_zarr(path: PathLike) -> tuple[Reader, str]:
    return read_store(path, require("zarr"))


def _table(result: Result, arrays: Mapping[str, Array]) -> tuple[dict[str, Array], str]:
    """Return all arrays as flat columns, and the note."""
    places: dict[str, list[str]] = {}
    columns: dict[str, Array] = {}
    for name, array in arrays.items():
        flat = array.reshape(len(array), -1)
        places[name] = distinct(column_names(result, name, array.shape[1:]), columns)
        columns |= {column: flat[:, k] for k, column in enumerate(places[name])}
    return columns, _note(result, arrays, places)


def _column_reader(columns: dict[str, Array], note: str) -> tuple[Reader, str]:
    return lambda places, shape: np.stack([columns[place] for place in places], axis=1), note


_FORMATS: dict[str, Any] = {
    ".nc": (_save_netcdf, _load_netcdf),
    ".zarr": (_save_zarr, _load_zarr),
    ".parquet": (
        lambda result, path, arrays: write_parquet(path, *_table(result, arrays)),
        lambda path: _column_reader(*read_parquet(path)),
    ),
    ".csv": (
        lambda result, path, arrays: write_csv(path, *_table(result, arrays)),
        lambda path: _column_reader(*read_csv(path)),
    ),
}
