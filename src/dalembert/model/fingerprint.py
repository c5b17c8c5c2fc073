"""Fingerprint of a model: numbers and names of its description as plain data for a file.

User functions cannot be compared and count as equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from ..bodies.body import Body
from ..bodies.markers import Marker
from ..connections.connection import Connection
from .cache import cached_per_model
from .model import Model

__all__ = ["Difference", "fingerprint", "first_difference"]

MAX_LISTED_ENTRIES = 64  # arrays with more entries are stored as sums
FINGERPRINT_RTOL = 1e-9  # round-off differs between machines


class Difference(NamedTuple):
    """Difference of two models: the item, its field, and the two values."""

    item: str
    field: str
    there: Any
    here: Any


@cached_per_model
def fingerprint(model: Model) -> dict[str, dict[str, Any]]:
    """Return the data of every body, connection, element and drive, by item, as plain data for JSON."""
    system = model.family.system  # of the description: other parameter values are stored with conditions
    items: dict[str, dict[str, Any]] = {}
    items["system"] = {"gravity": _plain(system.gravity), "planar": _plain(system.planar)}
    for body in system.bodies.values():
        data = {"mass": body.mass, "com": body.com, "inertia": body.inertia, "flexible": body.flexible}
        items[f"body {body.name!r}"] = {name: _plain(value) for name, value in data.items()}
    for what, parts in (
        ("connection", system.connections),
        ("coupling", system.couplings),
        ("element", system.forces),
        ("drive", system.drives),
    ):
        for name, part in parts.items():
            items[f"{what} {name!r}"] = {key: value for key, value in _plain_fields(part).items() if key != "name"}
    return items


def first_difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> Difference | None:
    """Return the first item in which two models differ, None if they are equal.

    Fields that only one of them has, as from another version of dalembert, are ignored; items are not.
    """
    for item in [*there, *(item for item in here if item not in there)]:
        if item not in here or item not in there:
            words = ["there is one" if item in side else "there is none" for side in (there, here)]
            return Difference(item, "presence", *words)
        found = _first(there[item], here[item], "")
        if found is not None:
            return Difference(item, *found)
    return None


def _first(there: Any, here: Any, path: str) -> tuple[str, Any, Any] | None:
    """Return the path at which two plain values differ, and both values."""
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        for key in there:
            if key in here:
                found = _first(there[key], here[key], f"{path}.{key}" if path else key)
                if found is not None:
                    return found
        return None
    if not _alike(there, here):
        return path, there, here
    return None


def _alike(there: Any, here: Any) -> bool:
    if _is_numbers(there) and _is_numbers(here):
        a, b = np.atleast_1d(np.array(there, dtype=float)), np.atleast_1d(np.array(here, dtype=float))
        size = np.abs(np.where(np.isfinite(b), b, 0.0)).max(initial=0.0)
        return a.shape == b.shape and np.allclose(
            a, b, rtol=FINGERPRINT_RTOL, atol=FINGERPRINT_RTOL * size, equal_nan=True
        )
    if isinstance(there, list) and isinstance(here, list):
        return len(there) == len(here) and all(_first(a, b, "") is None for a, b in zip(there, here, strict=True))
    return bool(there == here)


def _is_numbers(value: Any) -> bool:
    entries = value if isinstance(value, list) else [value]
    return bool(entries) and all(isinstance(entry, (int, float)) and not isinstance(entry, bool) for entry in entries)


def _plain(value: Any) -> Any:
    """Return a part of a description as plain data."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float, np.number)):
        return float(f"{float(value):.12g}")
    if isinstance(value, np.ndarray):
        return _numbers(value) if value.dtype.kind in "fiu" else [_plain(entry) for entry in value.ravel().tolist()]
    if isinstance(value, Marker):
        shape = {} if value.shape is None else {"shape": _plain(value.shape)}
        shape |= {} if value.arm is None else {"arm": _plain(value.arm)}
        return {"body": value.body.name, "position": _plain(value.position), "rotation": _plain(value.rotation)} | shape
    if isinstance(value, (Body, Connection)):
        return value.name
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if is_dataclass(value):
        return {"kind": type(value).__name__} | _plain_fields(value)
    if callable(value):
        return "a function"
    own = {key: entry for key, entry in vars(value).items() if key[:1] != "_"} if hasattr(value, "__dict__") else {}
    return {"kind": type(value).__name__} | {key: _plain(entry) for key, entry in own.items()} if own else str(value)


def _plain_fields(value: Any) -> dict[str, Any]:
    """Return the constructor fields of a description; derived fields are left out."""
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value) if field.init}


def _numbers(array: np.ndarray[Any, Any]) -> list[float]:
    """Return all numbers of an array; for a long array, sums that identify it."""
    flat = np.asarray(array, dtype=float).ravel()
    if len(flat) > MAX_LISTED_ENTRIES:
        waves = (np.cos(pitch * np.arange(len(flat))) @ flat for pitch in (0.0, 0.7, 1.9, 2.3))
        flat = np.array([len(flat), np.abs(flat).sum(), *waves])
    return [float(f"{number:.12g}") for number in flat.tolist()]
