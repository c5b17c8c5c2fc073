"""Description of a campaign: what was run, by which versions, and what distinguishes it from another one."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DalembertError
from ...io import save
from ...model import Model
from ...model.cache import cached_per_model
from ...model.fingerprint import fingerprint, first_difference
from .cases import Design

if TYPE_CHECKING:
    from .jobs import Job

__all__ = ["attributes_of", "describe", "differences", "function_name", "package_version", "plain", "provenance"]

MAX_SHOWN = 80  # characters of a value in a message
MAX_STORED_NUMBERS = 100_000  # of an array among the settings
_VERSIONS = ("numpy", "scipy", "xarray")


def package_version() -> str:
    """Return the version of this package."""
    import dalembert

    return str(dalembert.__version__)


def provenance() -> dict[str, str]:
    """Return versions, platform, instruction set and date as plain text."""
    import dalembert

    found = {"dalembert": package_version(), "python": platform.python_version()}
    for name in _VERSIONS:
        module = sys.modules.get(name)
        if module is not None:
            found[name] = str(module.__version__)
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return found | {"platform": platform.platform(), "isa": str(dalembert.isa), "host": platform.node(), "date": date}


def describe(job: Job, cases: Design, sampling: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description of a campaign as plain data for JSON.

    ``identity`` has what must be equal for a store to be continued, ``attributes`` what readers see.
    """
    model = job.source if isinstance(job.source, Model) else None
    source = job.source if model is None else None
    settings = {name: _readable(value) for name, value in sorted(job.settings.items())}
    axes = [
        (axis.name, {name: [_cell(value) for value in c] for name, c in axis.columns.items()}) for axis in cases.axes
    ]
    identity = {
        "system": title_of(job),
        "model": {} if model is None else json.loads(json.dumps(fingerprint(model), default=repr)),
        "function": "" if source is None else _readable(source),
        "parameters": {} if model is None else changed_parameters(model),
        "over": {name: _column(column) for axis in cases.axes for name, column in axis.columns.items()},
        "number of cases": str(len(cases)),
        "seed": str(cases.seed),
        "task": _readable(job.task),
        "settings": settings,
        "outputs": {r.label: _output(r.name, r.reduce, r.function) for r in job.readings},
    }
    description = {
        "identity": identity,
        "axes": axes,
        "seed": int(cases.seed),
        "settings": {name: plain(value) for name, value in job.settings.items()},
        "outputs": {r.label: _plain_output(r) for r in job.readings},
        "task": job.task if isinstance(job.task, str) else None,
    }
    description["attributes"] = attributes_of(job, cases, sampling, identity)
    found: dict[str, Any] = json.loads(json.dumps(description))
    return found


def attributes_of(
    job: Job, cases: Design, sampling: Mapping[str, Any], identity: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the attributes of the Dataset of a campaign: plain text and numbers."""
    model = job.source if isinstance(job.source, Model) else None
    settings = {name: plain(value) for name, value in job.settings.items()}
    outputs = {r.label: _plain_output(r) for r in job.readings}
    text = "" if model is None else _model_text(model)
    found: dict[str, Any] = {
        "title": f"sweep of {title_of(job)}",
        "task": function_name(job.task),
        "seed": int(cases.seed),
        **sampling,
        "varied": json.dumps({axis.name: [list(axis.columns), len(axis)] for axis in cases.axes}),
        "settings": json.dumps({k: _kept(v, job.settings[k]) for k, v in settings.items()}),
        "outputs": json.dumps({k: v if v is not None else identity_of_output(job, k) for k, v in outputs.items()}),
        "model": text,
        "model_checksum": "" if model is None else model_checksum(model),
    }
    if model is not None:
        found["parameters"] = json.dumps(changed_parameters(model))
    elif callable(job.source):
        found["source"] = _source(job.source)
    if callable(job.task):
        found["task_source"] = _source(job.task)
    return found | provenance()


def _kept(value: Any, given: Any) -> Any:
    """Return a plain value, or a readable text of one that has no plain form."""
    return {"text": _readable(given)} if value is None and given is not None else value


def identity_of_output(job: Job, label: str) -> str:
    """Return a readable form of a recorded output."""
    reading = next(r for r in job.readings if r.label == label)
    return _output(reading.name, reading.reduce, reading.function)


def model_checksum(model: Model) -> str:
    """Return the checksum of the description of a model and of its parameters."""
    return _digest([fingerprint(model), changed_parameters(model)])


def changed_parameters(model: Model) -> dict[str, float]:
    """Return the parameters whose values differ from those of the description of the system."""
    family = model.family
    if family is model:
        return {}
    names = family.parameter_names
    base, here = np.asarray(family.parameters, dtype=float), np.asarray(model.parameters, dtype=float)
    if base.shape != here.shape or len(base) != len(names):
        return {}
    return {name: float(b) for name, a, b in zip(names, base, here, strict=True) if a != b}


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """Return what distinguishes a stored campaign from this one, with both values; "" if nothing does."""
    old, new = there["identity"], here["identity"]
    for what in new:
        if old.get(what) == new[what]:
            continue
        if what == "model":
            found = first_difference(old[what], new[what])
            detail = f"{found.item}, {found.field}" if found else "a number by less than 1e-9 of its value"
            return _named(what, detail, found.there if found else None, found.here if found else None)
        if isinstance(new[what], Mapping) and isinstance(old.get(what), Mapping):
            for name in [*new[what], *old[what]]:
                if old[what].get(name) != new[what].get(name):
                    return _named(what, name, *_first_entry(old[what].get(name), new[what].get(name)))
        return _named(what, "", old.get(what), new[what])
    return ""


def _named(what: str, name: str, old: Any, new: Any) -> str:
    where = f"different {what}" + (f", {name}" if name else "")
    if old is None and new is None:
        return where
    return f"{where}: {_short(old)} in the store, {_short(new)} here"


def _first_entry(old: Any, new: Any) -> tuple[Any, Any]:
    """Return the first entries of two columns that differ, if they are equally long."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        a, b = old["values"], new["values"]
        if len(a) != len(b):
            return f"{len(a)} values", f"{len(b)} values"
        return next(((x, y) for x, y in zip(a, b, strict=True) if x != y), (old, new))
    return old, new


def _short(value: Any) -> str:
    if value is None:
        return "none"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."


def _column(column: Sequence[Any]) -> dict[str, list[Any]]:
    return {"values": [_cell(value) for value in column]}


def _cell(value: Any) -> Any:
    """Return a value as it is kept in JSON: exact for numbers and text."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, (str, int, float)) else repr(value)


def plain(value: Any) -> Any:
    """Return a value as plain data from which `restored` gives it back; None if there is none."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub" and value.size <= MAX_STORED_NUMBERS:
        return {"array": value.tolist()}
    if isinstance(value, (list, tuple)):
        rows = [plain(entry) for entry in value]
        return None if any(row is None for row in rows) else rows
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        entries = {name: plain(entry) for name, entry in value.items()}
        return None if any(entry is None for entry in entries.values()) else {"dict": entries}
    return None


def _plain_output(reading: Any) -> Any:
    if reading.function is not None or (reading.reduce is not None and not isinstance(reading.reduce, str)):
        return None
    return reading.name if reading.reduce is None else [reading.name, reading.reduce]


def _output(name: str | None, reduce: Any, function: Any) -> str:
    if function is not None:
        return _readable(function)
    return str(name) if reduce is None else f"{name}, {reduce if isinstance(reduce, str) else _readable(reduce)}"


def _readable(value: Any) -> str:
    """Return a text that differs for different values; of a function, its name and a digest of its source."""
    if isinstance(value, np.ndarray):
        ends = f"{value.flat[0]!r} to {value.flat[-1]!r}" if value.size else "empty"
        return f"array {value.shape}, {ends}, checksum {_digest(value.tobytes())}"
    if isinstance(value, str):
        return value
    if callable(value):
        return f"{function_name(value)}, checksum {_digest(_source(value))}"
    return repr(value)


def function_name(function: Any) -> str:
    """Return the name of a function, or the text itself."""
    return function if isinstance(function, str) else str(getattr(function, "__qualname__", type(function).__name__))


def _source(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return ""


def title_of(job: Job) -> str:
    """Return the name of the system, or of the function that makes it."""
    return job.source.system.name if isinstance(job.source, Model) else function_name(job.source)


@cached_per_model
def _model_text(model: Model) -> str:
    """Return the model file (YAML); "" if the system has an item that such a file cannot represent."""
    handle, name = tempfile.mkstemp(suffix=".yaml")
    os.close(handle)
    try:
        save(model.family.system, name)
        return Path(name).read_text(encoding="utf-8")
    except DalembertError:
        return ""
    finally:
        os.unlink(name)


def _digest(data: Any) -> str:
    return hashlib.blake2b(repr(data).encode(), digest_size=12).hexdigest()
