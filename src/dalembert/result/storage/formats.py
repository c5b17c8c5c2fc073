"""File formats: named arrays and a note in JSON, with a checksum, as NetCDF, Zarr, Parquet or CSV."""

from __future__ import annotations

import json
import os
import re
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import FileError, ModelError
from ...files.checksums import check_checksum, with_checksum
from ...files.safe_files import replacing
from .columns import distinct, foreign, read_csv, read_parquet, require, write_csv, write_parquet
from .zarr_stores import is_result_store, read_store

__all__ = ["VariableNames", "damaged", "read_file", "write_file"]

PathLike = str | os.PathLike[str]
VariableNames = Mapping[str, Any]
"""Variable name, or column names, of each array."""
Reader = Callable[[Any, tuple[int, ...]], Array]

_FORMAT = 2  # format 1 had no checksum
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,() \[\]-]{0,99}")
MAX_WAIT = 20.0  # s for a store that is replaced repeatedly
RETRY_INTERVAL = 0.01  # s between tries


def write_file(
    path: PathLike,
    note: Mapping[str, Any],
    arrays: Mapping[str, Array],
    *,
    dataset: Callable[[], tuple[Any, VariableNames]],
    table: Callable[[], tuple[dict[str, Array], VariableNames]] | None,
) -> None:
    """Write arrays and a note; the suffix selects the format.

    Parameters
    ----------
    path : str or path
    note : dict
        Plain data.
    arrays : dict of str to array
        Contents returned by the reader.
    dataset, table : functions
        The arrays as an xarray Dataset, or as columns, and the location of each array in it. Without a table, only
        multi-dimensional formats are supported.
    """
    kind = _ending("save", path)
    if kind in (".nc", ".zarr"):
        data, places = dataset()
        data, places = _with_plain_names(data, places)
        data = data.drop_dims([dimension for dimension, size in data.sizes.items() if size == 0])
        data = data.assign_attrs(dalembert=_whole_note(note, arrays, places))
        (_write_netcdf if kind == ".nc" else _write_zarr)(path, data)
        return
    if table is None:
        remedy = "a table does not support so many dimensions: use .nc or .zarr, or save the runs one by one"
        raise ModelError("save", "path", os.fspath(path), remedy)
    columns, places = table()
    (write_csv if kind == ".csv" else write_parquet)(path, columns, _whole_note(note, arrays, places))


def read_file(path: PathLike) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the note and the arrays of a file; read again if it was replaced meanwhile.

    Raises
    ------
    FileError
        If it does not exist, is damaged, or was not written by this package.
    """
    _ending("load", path)
    end = time.monotonic() + MAX_WAIT
    while True:
        seen = _identity(path)
        try:
            if seen is None:
                raise FileError("load", "path", os.fspath(path), "there is no such file")
            return _read_once(path)
        except ModelError:
            if time.monotonic() > end or not (_identity(path) != seen or _being_replaced(path)):
                raise
            time.sleep(RETRY_INTERVAL)


def damaged(path: PathLike, error: Exception) -> FileError:
    """Return the error of a damaged file."""
    reason = str(error) or type(error).__name__
    remedy = f"it is damaged, or was changed after it was written: {reason}; take another copy, or save it again"
    return FileError("load", "path", os.fspath(path), remedy)


def _whole_note(note: Mapping[str, Any], arrays: Mapping[str, Array], places: VariableNames) -> str:
    shapes = {name: array.shape for name, array in arrays.items()}
    return with_checksum({"format": _FORMAT, **note, "shapes": shapes, "places": dict(places)}, arrays)


def _read_once(path: PathLike) -> tuple[dict[str, Any], dict[str, Array]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # damage raises an error with more detail than a warning
            read, text = _READERS[_ending("load", path)](path)
            note = json.loads(text)
            if note["format"] not in (1, _FORMAT):
                remedy = "the file was written by another version of dalembert, which is needed to read it"
                raise FileError("load", f"format of {os.fspath(path)!r}", note["format"], remedy)
            arrays = {name: _array(read, note["places"][name], shape) for name, shape in note["shapes"].items()}
            if note["format"] > 1:
                check_checksum(note, arrays)
            return note, arrays
    except ModelError:
        raise
    except (PermissionError, IsADirectoryError) as error:
        raise FileError("load", "path", os.fspath(path), f"it cannot be read: {error.strerror}") from error
    except Exception as error:  # damaged bytes may raise anything
        raise damaged(path, error) from error


def _array(read: Reader, place: Any, shape: list[int]) -> Array:
    size = tuple(shape)
    values = np.zeros(size) if 0 in size else read(place, size)
    return np.ascontiguousarray(values, dtype=float).reshape(size)


def _identity(path: PathLike) -> tuple[int, int] | None:
    """Return an identity of a file or folder that changes when it is replaced; None if it does not exist."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_ino, found.st_ctime_ns  # inode numbers are reused


def _being_replaced(path: PathLike) -> bool:
    """Return whether a folder is being replaced at this moment; see `replacing`."""
    target = Path(os.path.realpath(path))
    name = re.sub(r"([*?\[])", r"[\1]", target.name[:100])
    return not target.exists() and any(target.parent.glob(f".{name}.*.old"))


def _ending(item: str, path: PathLike) -> str:
    """Return the suffix of a name, which selects the format."""
    supported = "use a name that ends in .nc, .zarr, .parquet or .csv"
    if not isinstance(path, (str, os.PathLike)):
        raise ModelError(item, "path", path, supported)
    ending = Path(path).suffix.lower()
    if ending in (".xlsx", ".mat"):
        remedy = "such a file contains a table, not a result: result.to_excel, result.to_mat, dalembert.io.read_table"
        raise ModelError(item, "path", os.fspath(path), remedy)
    if ending not in _READERS:
        raise ModelError(item, "path", os.fspath(path), supported)
    return ending


def _with_plain_names(data: Any, places: VariableNames) -> tuple[Any, dict[str, Any]]:
    """Return a Dataset with other names for those that some format or file system does not support or distinguish."""
    names = [str(name) for name in dict.fromkeys((*data.variables, *data.dims))]
    kept: dict[str, str] = {}
    for name in names:
        if _PLAIN_NAME.fullmatch(name) and not name.endswith((" ", ".")):
            kept.setdefault(name.casefold(), name)
    others = [name for name in names if name not in kept.values()]
    renamed = dict(zip(others, distinct(["output (1)"] * len(others), kept), strict=True))
    for old in others:
        if old in data.variables:
            data[old].attrs["name"] = old
    return data.rename(renamed), {name: renamed.get(place, place) for name, place in places.items()}


# ---- reading and writing


def _write_netcdf(path: PathLike, data: Any) -> None:
    with replacing(path) as new:
        data.to_netcdf(new, engine="scipy")


def _write_zarr(path: PathLike, data: Any) -> None:
    require("zarr")
    with replacing(path, store=is_result_store) as new, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on the storage of strings
        data.to_zarr(new, mode="w", consolidated=False, zarr_format=3)


def _read_netcdf(path: PathLike) -> tuple[Reader, str]:
    import xarray

    data = xarray.load_dataset(path, engine="scipy", decode_times=False)
    note = data.attrs.get("dalembert")
    if note is None:
        raise foreign(path)
    return lambda place, shape: data[place].values, note


def _read_table(columns: dict[str, Array], note: str) -> tuple[Reader, str]:
    return lambda places, shape: np.stack([columns[place] for place in places], axis=1), note


_READERS: dict[str, Callable[[PathLike], tuple[Reader, str]]] = {
    ".nc": _read_netcdf,
    ".zarr": lambda path: read_store(path, require("zarr")),
    ".parquet": lambda path: _read_table(*read_parquet(path)),
    ".csv": lambda path: _read_table(*read_csv(path)),
}
