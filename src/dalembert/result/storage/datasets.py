"""Results, one or many, as xarray Datasets, with names and units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...arrays import Array

if TYPE_CHECKING:
    import xarray

    from ...model import Model
    from ..outputs.output import Output
    from ..records import Labels
    from ..result import Result

__all__ = ["Source", "states_dataset", "to_dataset", "variable_name"]

_DIMENSIONS = {"q": "coordinate", "v": "speed", "a": "speed", "tau": "speed", "lam": "row", "x": "state"}
_MEANINGS = {
    "q": "coordinates",
    "v": "speeds",
    "x": "states of elements",
    "a": "accelerations",
    "tau": "joint forces",
    "lam": "multipliers",
}


class Source(Protocol):
    """Result with states over time and outputs by name: a `Result`, or an `Ensemble`."""

    t: Array
    q: Array
    v: Array
    x: Array

    @property
    def labels(self) -> Labels:
        """Names and units."""

    @property
    def model(self) -> Model | None:
        """The model."""

    def find_output(self, what: str) -> Output | None:
        """Return unit, shape and meaning of an output, if known."""

    def __getitem__(self, name: str) -> Array:
        """Return an output, (..., n, ...)."""


def to_dataset(result: Result, names: Sequence[str] = ()) -> xarray.Dataset:
    """Return a Dataset with states, accelerations, multipliers and the named outputs."""
    known = {name: result._columns_or_none(name) for name in ("a", "tau", "lam")}
    data = states_dataset(result, [name for name, values in known.items() if values is not None] + _listed(names))
    return data.assign_attrs(title=result.labels.system, status=result.status, message=result.message)


def states_dataset(source: Source, names: Sequence[str] = (), lead: tuple[str, ...] = ()) -> xarray.Dataset:
    """Return a Dataset with states and the named outputs; `lead`: dimensions before that of time."""
    import xarray

    labels = source.labels
    data = xarray.Dataset(coords={"time": ("time", source.t, _about(source))})
    for dimension, entries, units in (
        ("coordinate", labels.coordinates, labels.coordinate_units),
        ("speed", labels.speeds, labels.speed_units),
        ("row", labels.rows, labels.row_units),
    ):
        data = data.assign_coords({dimension: list(entries), f"{dimension}_unit": (dimension, list(units))})
    for name in ("q", "v", "x", *_listed(names)):
        data = _with_output(data, source, name, (*lead, "time"))
    return data


def _about(source: Source) -> dict[str, str]:
    """Return the attributes of the time axis."""
    axis = getattr(source, "axis", None)
    if axis is None or axis.is_time:
        return {"units": "s"}
    return {"units": axis.unit, "long_name": axis.name}


def _listed(names: Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _with_output(data: xarray.Dataset, source: Source, name: str, lead: tuple[str, ...]) -> xarray.Dataset:
    """Return the Dataset with one more variable."""
    if name in _DIMENSIONS:
        values = np.array(getattr(source, name) if name in ("q", "v", "x") else source[name])
        data[name] = ((*lead, _DIMENSIONS[name]), values, {"long_name": _MEANINGS[name]})
        return data
    values = source[name]
    attributes: dict[str, Any] = {}
    labels: tuple[str, ...] = ()
    output = source.find_output(name)
    if output is not None:
        attributes, labels = {"units": output.unit, "long_name": output.meaning}, output.labels
    dimensions = [f"{name}_{k}" for k in range(values.ndim - len(lead))]
    if labels == ("x", "y", "z"):
        data, dimensions = data.assign_coords(axis=list(labels)), ["axis"]
    elif values.shape[len(lead) :] == (3, 3):
        axes = ["x", "y", "z"]
        data, dimensions = data.assign_coords(axis=axes, frame_axis=axes), ["axis", "frame_axis"]
    elif labels and len(dimensions) == 1:
        data = data.assign_coords({dimensions[0]: list(labels)})
    data[variable_name(data, name)] = ((*lead, *dimensions), values, attributes)
    return data


def variable_name(data: xarray.Dataset, name: str) -> str:
    """Return the name of an output's variable: its own, unless a dimension has that name."""
    return f"{name} output" if name in data.coords else name
