"""Results in files: NetCDF and Zarr through xarray, Parquet and CSV as flat tables.

Every format holds the states to the last bit, and a note in JSON: names, units, status, statistics, events.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from .atomic import replacing
from .columns import column_names, read_csv, read_parquet, require, write_csv, write_parquet
from .datasets import variable_name
from .zarr_stores import is_result_store, read_store

if TYPE_CHECKING:
    from ..model import Model
    from ..result import Result
    from ..system import System

__all__ = ["load_result", "save_result"]

Array = NDArray[np.float64]
PathLike = str | os.PathLike[str]

_FORMAT = 1
_DERIVED = ("a", "tau", "lam")


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
    from ..result import EventRecord, Labels, Result, Stats

    _, load = _format("load", path)
    if not Path(path).exists():
        raise ModelError("load", "path", os.fspath(path), "there is no such file")
    read, text = load(path)
    try:
        note = json.loads(text)
        if note["format"] != _FORMAT:
            remedy = "the file was written by another version of dalembert, which is needed to read it"
            raise ModelError("load", "format", note["format"], remedy)
        arrays = {name: _array(read, note["places"][name], shape) for name, shape in note["shapes"].items()}
    except (KeyError, ValueError) as error:
        raise ModelError("load", "path", os.fspath(path), f"it is damaged: {error}") from error
    t, q, v, x = (arrays.pop(name) for name in ("t", "q", "v", "x"))
    names: dict[str, Any] = {key: tuple(y) if isinstance(y, list) else y for key, y in note["labels"].items()}
    labels = Labels(**names)
    compiled = None if model is None else as_model(model)
    if compiled is not None:
        _check(labels, compiled)
    events = [EventRecord(**(e | {key: np.array(e[key]) for key in ("q", "v", "x")})) for e in note["events"]]
    return Result(
        compiled,
        t,
        q,
        v,
        x,
        stats=Stats(**note["stats"]),
        status=note["status"],
        message=note["message"],
        events=events,
        labels=labels if compiled is None else None,
        stored=arrays,
    )


def _array(read: Callable[[Any], Array], place: Any, shape: list[int]) -> Array:
    values = np.zeros(shape) if 0 in shape else read(place)
    return np.ascontiguousarray(values, dtype=float).reshape(shape)


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
    return json.dumps(note)


def _check(labels: Any, model: Model) -> None:
    """Refuse a model whose columns are others than those of the file."""
    for what, of_file, of_model in (
        ("coordinates", labels.coordinates, model.coordinate_names),
        ("speeds", labels.speeds, model.speed_names),
    ):
        if of_file != of_model:
            remedy = f"the file holds {what} {', '.join(of_file)}: give the model that it was made with, or none"
            raise ModelError("load", f"the model's {what}", ", ".join(of_model), remedy)


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
    renamed = {name: f"output {k}" for k, name in enumerate(map(str, (*data.variables, *data.dims))) if "/" in name}
    places = {name: renamed.get(place, place) for name, place in places.items()}
    data = data.drop_dims([dimension for dimension, size in data.sizes.items() if size == 0])
    data = data.rename({old: new for old, new in renamed.items() if old in data.variables or old in data.dims})
    return data.assign_attrs(dalembert=_note(result, arrays, places))


def _reader(data: Any, path: PathLike) -> tuple[Callable[[str], Array], str]:
    note = data.attrs.get("dalembert")
    if note is None:
        raise ModelError("load", "path", os.fspath(path), "it was not written by Result.save")
    return lambda place: data[place].values, note


def _save_netcdf(result: Result, path: PathLike, arrays: Mapping[str, Array]) -> None:
    data = _dataset(result, arrays)
    with replacing(path) as new:
        data.to_netcdf(new, engine="scipy")


def _load_netcdf(path: PathLike) -> tuple[Callable[[str], Array], str]:
    import xarray

    try:
        data = xarray.load_dataset(path, engine="scipy")
    except (TypeError, ValueError, OSError) as error:
        raise ModelError("load", "path", os.fspath(path), f"it cannot be read as NetCDF: {error}") from error
    return _reader(data, path)


def _save_zarr(result: Result, path: PathLike, arrays: Mapping[str, Array]) -> None:
    require("zarr")
    data = _dataset(result, arrays)
    with replacing(path, store=is_result_store) as new, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on how strings are kept
        data.to_zarr(new, mode="w", consolidated=False, zarr_format=3)


def _load_zarr(path: PathLike) -> tuple[Callable[[str], Array], str]:
    return read_store(path, require("zarr"))


def _table(result: Result, arrays: Mapping[str, Array]) -> tuple[dict[str, Array], str]:
    """Return all arrays as flat columns, and the note."""
    places = {name: column_names(result, name, array.shape[1:]) for name, array in arrays.items()}
    columns: dict[str, Array] = {}
    for name, array in arrays.items():
        flat = array.reshape(len(array), -1)
        columns |= {column: flat[:, k] for k, column in enumerate(places[name])}
    return columns, _note(result, arrays, places)


def _column_reader(columns: dict[str, Array], note: str) -> tuple[Callable[[list[str]], Array], str]:
    return lambda places: np.stack([columns[place] for place in places], axis=1), note


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
