"""Zarr stores of results: identification of folders, and safe reading of numeric arrays only.

A store is not trusted. Filters of Zarr can run code from the store (pickled objects), so metadata are checked first: an
array is opened only if it has plain numbers and codecs that only unpack bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...errors import FileError

__all__ = ["check_metadata", "is_result_store", "read_store", "store_note"]


_NOTE = "dalembert"
_CODECS = {"bytes", "zstd", "gzip", "blosc", "crc32c"}


def is_result_store(path: Path) -> bool:
    """Return whether a folder is a Zarr store that `Result.save` wrote."""
    try:
        return _NOTE in _metadata(path)["attributes"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


def read_store(path: str | os.PathLike[str], zarr: Any) -> tuple[Callable[[str, tuple[int, ...]], Array], str]:
    """Return a function that reads an array by name and shape, and the note of the store.

    Parameters
    ----------
    path : str or path
    zarr : module
    """
    folder = Path(path)
    try:
        note = _metadata(folder)["attributes"][_NOTE]
    except (OSError, ValueError, KeyError, TypeError) as error:
        remedy = f"it cannot be read as Zarr, or was not written by Result.save: {error!r}"
        raise FileError("load", "path", os.fspath(path), remedy) from error
    known = set(os.listdir(folder))

    def read(name: str, shape: tuple[int, ...]) -> Array:
        if name not in known:  # names are those of entries only, not paths
            raise FileError("load", "path", os.fspath(path), f"it has no array {name!r}")
        check_metadata(folder / name)
        array = zarr.open_array(str(folder / name), mode="r", zarr_format=3)
        if array.shape != shape:  # before memory is allocated
            raise FileError("load", "path", os.fspath(path), f"its array {name!r} is {array.shape}, not {shape}")
        return np.asarray(array[...], dtype=float)

    return read, str(note)


def store_note(folder: Path, key: str) -> str:
    """Return an attribute of a store; raise an error if the folder is not a store."""
    return str(_metadata(folder)["attributes"][key])


def _metadata(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "zarr.json").read_text(encoding="utf-8"))


def check_metadata(folder: Path) -> None:
    """Refuse an array that is not of 64-bit floating-point numbers with known codecs."""
    item = f"array {folder.name!r} of {str(folder.parent)!r}"
    try:
        array = _metadata(folder)
        codecs = [codec["name"] for codec in array["codecs"]]
        kind, further = array["data_type"], array.get("storage_transformers") or []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError("load", item, str(folder), f"its metadata are damaged: {error!r}") from error
    if kind != "float64" or further or not set(codecs) <= _CODECS:
        what = f"data type {kind!r}, codecs {codecs}, storage transformers {further}"
        raise FileError("load", item, what, f"only float64 behind {', '.join(sorted(_CODECS))} is read from a file")
