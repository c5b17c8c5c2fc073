"""Results as tables for other programs: CSV with units, Excel, MAT files; and columns back from them.

In all three a column keeps its exact name. A MAT file has the names in a cell array beside the variables, because
MATLAB permits letters, digits and underscores only.
"""

from __future__ import annotations

import csv
import importlib
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...errors import FileError, ModelError
from ...files.safe_files import replacing
from ..outputs.output import without_unit
from .columns import distinct, flat_columns

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["Table", "read_table", "table_of", "write_excel", "write_mat", "write_units_csv"]

Table = tuple[dict[str, Array], dict[str, str]]
"""Columns (n,) by name, and their units by name."""

MAX_ROWS, MAX_COLUMNS = 1_048_575, 16_384  # of a sheet, without headings
_NAMED = re.compile(r"^(?P<name>.*) \[(?P<unit>[^\[\]]*)\]$", re.DOTALL)
_ENDINGS = (".csv", ".xlsx", ".mat")


def table_of(result: Result, head: str, names: Sequence[str] | None) -> Table:
    """Return the columns of a result and their units, the time axis first."""
    columns = {head: result.t} | flat_columns(result, names)
    labels = result.labels
    known = {head: "s" if head == "t" else ""}
    known |= {f"{name}.position": unit for name, unit in zip(labels.coordinates, labels.coordinate_units, strict=True)}
    known |= {f"{name}.speed": unit for name, unit in zip(labels.speeds, labels.speed_units, strict=True)}
    return columns, {column: known.get(column) or _unit(result, column) for column in columns}


def _unit(result: Result, column: str) -> str:
    """Return the unit of a column: that of the output, or of the vector that it is a component of."""
    name = re.sub(r" \(\d+\)$", "", column)
    while name:
        about = _about(result, name)
        if about is not None:
            return str(about.unit)
        name = name.rpartition(".")[0]
    return ""


def _about(result: Result, name: str) -> Any:
    try:
        return result.find_output(name)
    except ModelError:
        return None


def write_units_csv(path: str | os.PathLike[str], table: Table) -> None:
    """Write columns with headings such as ``A.position [rad]``; numbers in full."""
    columns, units = table
    with replacing(path) as new, open(new, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([f"{without_unit(name)} [{units[name]}]" for name in columns])
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def write_excel(path: str | os.PathLike[str], table: Table) -> None:
    """Write a sheet with names in the first row, units in the second, and numbers below."""
    columns, units = table
    rows = len(next(iter(columns.values())))
    if rows + 1 > MAX_ROWS or len(columns) > MAX_COLUMNS:
        size = f"{rows} by {len(columns)}"
        remedy = f"a sheet has at most {MAX_ROWS} rows and {MAX_COLUMNS} columns: use fewer samples, or to_csv"
        raise ModelError("to_excel", "size", size, remedy)
    openpyxl = _openpyxl()
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("result")
    sheet.freeze_panes = "B3"

    def text(words: str) -> Any:
        try:
            cell = openpyxl.cell.WriteOnlyCell(sheet, value=words)
        except openpyxl.utils.exceptions.IllegalCharacterError:
            raise ModelError("to_excel", "name", words, "sheets do not support this character: use to_csv") from None
        cell.data_type = "s"  # a name that begins with = is not a formula
        return cell

    def number(value: float) -> Any:
        if not math.isfinite(value):
            return text(str(value))
        if float(f"{value:.16g}") == value:  # as openpyxl writes it
            return value
        cell = openpyxl.cell.WriteOnlyCell(sheet, value=repr(value))
        cell.data_type = "n"  # all 17 digits
        return cell

    sheet.append([text(name) for name in columns])
    sheet.append([text(units[name]) for name in columns])
    for row in zip(*(column.tolist() for column in columns.values()), strict=True):
        sheet.append([number(value) for value in row])
    with replacing(path) as new:
        book.save(new)


def write_mat(path: str | os.PathLike[str], table: Table) -> None:
    """Write a MAT file (version 5): a variable for each column, and names and units in the cell array ``columns``."""
    from scipy.io import savemat

    columns, units = table
    plain = [re.sub(r"\W", "_", name, flags=re.ASCII)[:55] for name in columns]
    plain = [name if name[:1].isalpha() and name != "columns" else f"c_{name}" for name in plain]
    names = [re.sub(r" \((\d+)\)$", r"_\1", name) for name in distinct(plain, ())]
    column_info = np.array([[v, n, units[n]] for v, n in zip(names, columns, strict=True)], dtype=object)
    data: dict[str, Any] = dict(zip(names, (column[:, None] for column in columns.values()), strict=True))
    with replacing(path) as new, open(new, "wb") as file:
        savemat(file, {**data, "columns": column_info}, long_field_names=True)


def read_table(path: str | os.PathLike[str]) -> Table:
    """Return the columns and units of a table that `Result.to_csv`, `to_excel` or `to_mat` wrote.

    Other CSV files with a heading and numbers are supported too; units are those in brackets, ``t [s]``.

    Parameters
    ----------
    path : str or path
        ``.csv``, ``.xlsx`` or ``.mat``.

    Returns
    -------
    columns : dict of str to (n,) array
    units : dict of str to str

    Raises
    ------
    FileError
        If it cannot be read, or is not such a table; with the position.

    Examples
    --------
    >>> import dalembert as da, tempfile, pathlib
    >>> from dalembert.io import read_table
    >>> s = da.System("pendulum")
    >>> _ = s.connect("A", da.Revolute("y"), s.ground, s.body("bob", da.rod(length=1.0, mass=2.0)))
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "run.csv"
    >>> da.simulate(s, 0.1).to_csv(file, units=True)
    >>> read_table(file)[1]
    {'t': 's', 'A.position': 'rad', 'A.speed': 'rad/s'}
    """
    name = Path(os.fsdecode(path))
    if name.suffix.lower() not in _ENDINGS:
        raise FileError("read_table", "path", str(name), f"use a file that ends in {', '.join(_ENDINGS)}")
    if not name.is_file():
        raise FileError("read_table", "path", str(name), "there is no such file")
    reader = {".csv": _read_csv, ".xlsx": _read_excel, ".mat": _read_mat}[name.suffix.lower()]
    try:
        return reader(name)
    except ModelError:
        raise
    except Exception as error:  # damaged bytes may raise anything
        raise FileError("read_table", "path", str(name), f"it is not such a table: {error}") from error


def _read_csv(path: Path) -> Table:
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        heading = next((row for row in rows if not row[:1] or not row[0].startswith("#")), [])
        numbers = []
        for row in rows:
            if len(row) != len(heading):
                remedy = f"it has {len(row)} entries, and the heading {len(heading)}"
                raise FileError(str(path), f"line {rows.line_num}", row[:3], remedy)
            try:
                numbers.append([float(entry) for entry in row])
            except ValueError as error:
                raise FileError(str(path), f"line {rows.line_num}", row[:3], str(error)) from None
    found = [_NAMED.match(word) for word in heading]
    named = all(found) and bool(found)
    names = [match["name"] if named and match else word for match, word in zip(found, heading, strict=True)]
    units = [match["unit"] if named and match else "" for match in found]
    return _table(names, units, np.array(numbers, dtype=float).reshape(-1, len(heading)), path)


def _read_excel(path: Path) -> Table:
    book = _openpyxl().load_workbook(path, read_only=True, data_only=True)
    rows = book.worksheets[0].iter_rows(values_only=True)
    names, units = ([str(word) if word is not None else "" for word in next(rows)] for _ in range(2))
    numbers = [[math.nan if entry is None else float(entry) for entry in row] for row in rows]
    book.close()
    return _table(names, units, np.array(numbers, dtype=float).reshape(-1, len(names)), path)


def _read_mat(path: Path) -> Table:
    from scipy.io import loadmat

    data = loadmat(path)
    rows = [[str(np.squeeze(word)) if np.size(word) else "" for word in row] for row in data["columns"]]
    values = np.column_stack([np.ravel(np.asarray(data[variable], dtype=float)) for variable, _, _ in rows])
    return _table([row[1] for row in rows], [row[2] for row in rows], values, path)


def _table(names: Sequence[str], units: Sequence[str], values: Array, path: Path) -> Table:
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if list(names).count(name) > 1})
        raise FileError("read_table", f"columns of {str(path)!r}", twice, "give each column a unique name")
    columns: Mapping[str, Array] = {name: np.ascontiguousarray(values[:, k]) for k, name in enumerate(names)}
    return dict(columns), dict(zip(names, units, strict=True))


def _openpyxl() -> Any:
    try:
        importlib.import_module("openpyxl.cell")
        return importlib.import_module("openpyxl")
    except ImportError:
        remedy = "it is not installed: pip install 'dalembert[files]'; .csv and .mat files do not need it"
        raise ModelError("file", "package", "openpyxl", remedy) from None
