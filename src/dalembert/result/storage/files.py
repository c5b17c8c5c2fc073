"""Storage of results in files.

Every format stores the states exactly, and a note: names, units, status, statistics, events, periods of conditions, and
the data of the model.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...errors import DalembertError, FileError, ModelError
from ...model import as_model
from ...model.fingerprint import fingerprint, first_difference
from ..outputs.motion import Periods
from ..records import TIME, Axis, EventRecord, Labels, Stats
from .columns import column_names, distinct
from .datasets import variable_name
from .formats import VariableNames, damaged, read_file, write_file
from .output_metadata import output_metadata

if TYPE_CHECKING:
    from ...model import Model
    from ...system import System
    from ..result import Result

__all__ = ["check_content", "check_model", "load_result", "read_conditions", "result_of", "run_note", "save_result"]

PathLike = str | os.PathLike[str]

_DERIVED = ("a", "tau", "lam")
_SUMS = ("energy.work", "energy.dissipated")  # integrals over the steps of a run; a file stores some states only


def save_result(result: Result, path: PathLike, names: Sequence[str] = ()) -> None:
    """Write a result; see `Result.save`."""
    arrays = {"t": result.t, "q": result.q, "v": result.v, "x": result.x}
    for name in _DERIVED:
        values = result._columns_or_none(name)
        if values is not None:
            arrays[name] = values
    if result.model is not None and result.dense is not None:
        with suppress(DalembertError):  # as after a failed run
            arrays |= {name: result[name] for name in _SUMS}
    listed = [names] if isinstance(names, str) else list(names)
    arrays |= {name: result[name] for name in listed if name not in arrays}
    write_file(
        path,
        _note(result, listed),
        arrays,
        dataset=lambda: _dataset(result, arrays),
        table=lambda: _table(result, arrays),
    )


def load_result(kind: type[Result], path: PathLike, model: Model | System | None = None) -> Result:
    """Read a result of the class `kind`; see `Result.load`."""
    compiled = None if model is None else as_model(model)
    note, arrays = read_file(path)
    check_content(path, note, "result")
    try:
        if compiled is not None:
            check_model(note, compiled)
        return result_of(kind, note, arrays, compiled)
    except ModelError:
        raise
    except Exception as error:  # a file of the first format, without a checksum
        raise damaged(path, error) from error


def check_content(path: PathLike, note: Mapping[str, Any], what: str) -> None:
    """Refuse a file with contents of another kind."""
    held = note.get("holds", "result")
    if held != what:
        raise FileError("load", "path", os.fspath(path), f"read it with da.{held.title()}.load")


def check_model(note: Mapping[str, Any], model: Model) -> None:
    """Refuse a model that differs from that of the file."""
    for what, of_model in (("coordinates", model.coordinate_names), ("speeds", model.speed_names)):
        of_file = tuple(note["labels"][what])
        if of_file != of_model:
            remedy = f"the file holds {what} {', '.join(of_file)}: give the model of the file, or none"
            raise ModelError("load", f"the model's {what}", ", ".join(of_model), remedy)
    found = first_difference(note["model"], fingerprint(model)) if "model" in note else None
    if found is not None:
        remedy = (
            f"the file is of a model with {found.there!r}: give that model, or none; for this motion in another model: "
            "r = da.Result.load(path), da.Result(model, r.t, r.q, r.v, r.x)"
        )
        raise ModelError("load", f"the model's {found.item}, {found.field},", found.here, remedy)


def read_conditions(model: Model, plain: Sequence[Any], gains: Sequence[float]) -> Any:
    """Return conditions from their stored form."""
    return model.conditions(stabilization=(gains[0], gains[1])).with_plain(plain)


def result_of(kind: type[Result], note: dict[str, Any], arrays: dict[str, Array], model: Model | None) -> Result:
    """Return the result of the class `kind` for a note and arrays."""
    t, q, v, x = (arrays.pop(name) for name in ("t", "q", "v", "x"))
    names: dict[str, Any] = {key: tuple(y) if isinstance(y, list) else y for key, y in note["labels"].items()}
    events = [EventRecord(**(e | {key: np.array(e[key]) for key in ("q", "v", "x")})) for e in note["events"]]
    stats = Stats(**note["stats"])
    if note["format"] == 1:
        stats.notes.append("read from a file of an earlier version, without a checksum: damage cannot be detected")
    if model is not None and note.get("controlled"):
        stats.notes.append(
            "read from a file, which keeps no control function: a, tau and lam are those of the run, what is computed "
            "anew is without control"
        )
    periods = [] if model is None else note.get("periods", [])
    held = [read_conditions(model, plain, gains) for _, plain, gains in periods] if model is not None else []
    result = kind(
        model,
        t,
        q,
        v,
        x,
        stats=stats,
        status=note["status"],
        message=note["message"],
        events=events,
        conditions=Periods([float(begin) for begin, *_ in periods], held) if held else None,
        labels=Labels(**names) if model is None else None,
        stored=arrays,
        prescribed=bool(note.get("prescribed")),
        axis=Axis(*note["axis"]) if "axis" in note else TIME,
    )
    if model is None:
        result._kept = {name: note[name] for name in ("model", "periods", "controlled", "outputs") if name in note}
    return result


def _note(result: Result, names: Sequence[str]) -> dict[str, Any]:
    """Return the metadata of a result and of the named outputs."""
    model = result._kept
    if result.model is not None:
        model = {"model": fingerprint(result.model), "outputs": output_metadata(result, names)}
    return {"holds": "result", "labels": asdict(result.labels), **run_note(result), **model}


def run_note(result: Result) -> dict[str, Any]:
    """Return the metadata of one run of a model: status, events, periods of conditions."""
    events = [asdict(e) | {key: getattr(e, key).tolist() for key in ("q", "v", "x")} for e in result.events]
    held = result.conditions
    periods = [] if held is None else list(zip(held.begins, held.conditions, strict=True))
    return {
        "status": result.status,
        "message": result.message,
        "stats": asdict(result.stats),
        "events": events,
        "prescribed": result.prescribed,
        "axis": [result.axis.name, result.axis.unit],
        "periods": [(begin, one.to_plain(), one.stabilization) for begin, one in periods],
        "controlled": result._has_control,
    }


def _dataset(result: Result, arrays: Mapping[str, Array]) -> tuple[Any, VariableNames]:
    """Return a Dataset with all arrays, and the variable name of each."""
    states = ("t", "q", "v", "x", *_DERIVED)
    data = result.to_xarray([name for name in arrays if name not in states])
    return data, {"t": "time"} | {name: variable_name(data, name) for name in arrays if name != "t"}


def _table(result: Result, arrays: Mapping[str, Array]) -> tuple[dict[str, Array], VariableNames]:
    """Return all arrays as flat columns, and the columns of each array."""
    places: dict[str, list[str]] = {}
    columns: dict[str, Array] = {}
    for name, array in arrays.items():
        flat = array.reshape(len(array), -1)
        places[name] = distinct(column_names(result, name, array.shape[1:]), columns)
        columns |= {column: flat[:, k] for k, column in enumerate(places[name])}
    return columns, places
