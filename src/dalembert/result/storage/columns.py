"""Results as flat tables: one column for each number, named like outputs; CSV and Parquet."""

from __future__ import annotations

import csv
import importlib
import os
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...errors import FileError, ModelError
from ...files.safe_files import replacing
from ..outputs.output import part_name

if TYPE_CHECKING:
    from ..result import Result

__all__ = [
    "column_names",
    "distinct",
    "flat_columns",
    "foreign",
    "read_csv",
    "read_parquet",
    "require",
    "write_csv",
    "write_parquet",
]


_META = b"dalembert"
_COMMENT = "# dalembert "


def flat_columns(result: Result, names: Sequence[str] | None = None) -> dict[str, Array]:
    """Return columns (n,) by name: of the named outputs, or of all coordinates, velocities and element states.

    Cut joints are included; a result read without its model does not have them.
    """
    if names is None:
        cut = result.cut_joints if result.model is not None else ()
        arrays = {"q": result.q} | {f"{name}.position": result[f"{name}.position"] for name in cut}
        arrays |= {"v": result.v} | {f"{name}.speed": result[f"{name}.speed"] for name in cut} | {"x": result.x}
    else:
        arrays = {name: result[name] for name in ([names] if isinstance(names, str) else names)}
    columns: dict[str, Array] = {}
    for name, values in arrays.items():
        flat = values.reshape(len(values), -1)
        own = distinct(column_names(result, name, values.shape[1:]), columns)
        columns |= {column: flat[:, k] for k, column in enumerate(own)}
    return columns


def distinct(names: Sequence[str], taken: Collection[str]) -> list[str]:
    """Return unique names of columns: ``"A.x"``, ``"A.x (2)"``."""
    found: dict[str, None] = {}
    for name in names:
        free, k = name, 1
        while free in taken or free in found:
            k += 1
            free = f"{name} ({k})"
        found[free] = None
    return list(found)


def column_names(result: Result, name: str, shape: tuple[int, ...]) -> list[str]:
    """Return the names of the columns of an output, ``"crank.velocity.x"`` and so on."""
    labels = result.labels
    named = {
        "q": [f"{coordinate}.position" for coordinate in labels.coordinates],
        "v": [f"{speed}.speed" for speed in labels.speeds],
        "a": [f"{speed}.acceleration" for speed in labels.speeds],
        "tau": [f"{speed}.tau" for speed in labels.speeds],
        "lam": list(labels.rows),
    }
    if name in named:
        return named[name]
    if not shape:
        return [name]
    if 0 in shape:
        return []
    about = result.find_output(name)
    endings = () if about is None else about.labels
    numbers = (".".join(map(str, k)) for k in product(*map(range, shape)))
    return [part_name(name, ending) for ending in endings or numbers]


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, Array], note: str = "") -> None:
    """Write columns with a heading; numbers in the shortest form that is read back exactly."""
    with replacing(path) as new, open(new, "w", newline="", encoding="utf-8") as file:
        if note:
            file.write(f"{_COMMENT}{note}\n")
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def read_csv(path: str | os.PathLike[str]) -> tuple[dict[str, Array], str]:
    """Return the columns of a CSV file, and the note in its first line."""
    with open(path, newline="", encoding="utf-8") as file:
        first = file.readline()
        if not first.startswith(_COMMENT):
            raise foreign(path)
        rows = csv.reader(file)
        heading = next(rows, [])
        table = np.array([[float(number) for number in row] for row in rows], dtype=float)
    if table.shape != (len(table), len(heading)):
        raise ValueError(f"its rows do not have {len(heading)} numbers each")
    return {name: np.ascontiguousarray(table[:, k]) for k, name in enumerate(heading)}, first[len(_COMMENT) :]


def write_parquet(path: str | os.PathLike[str], columns: Mapping[str, Array], note: str) -> None:
    """Write columns to a Parquet file."""
    pyarrow, parquet = require("pyarrow"), require("pyarrow.parquet")
    table = pyarrow.table({name: np.ascontiguousarray(column) for name, column in columns.items()})
    table = table.replace_schema_metadata({_META: note.encode()})
    with replacing(path) as new:
        parquet.write_table(table, new, write_page_checksum=True)


def read_parquet(path: str | os.PathLike[str]) -> tuple[dict[str, Array], str]:
    """Return the columns of a Parquet file, and the note in its metadata."""
    table = require("pyarrow.parquet").read_table(path, page_checksum_verification=True)
    note = (table.schema.metadata or {}).get(_META)
    if note is None:
        raise foreign(path)
    return {name: table.column(name).to_numpy().astype(float) for name in table.column_names}, note.decode()


def require(module: str) -> Any:
    """Return a module of the extra ``files``, or raise an error with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        remedy = "it is not installed: pip install 'dalembert[files]'; .nc and .csv files do not need it"
        raise ModelError("file", "package", package, remedy) from None


def foreign(path: str | os.PathLike[str]) -> FileError:
    """Return the error of a file that was not written by this package."""
    return FileError("load", "path", os.fspath(path), "it was not written by Result.save, or its heading is damaged")
